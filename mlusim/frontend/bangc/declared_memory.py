"""The on-chip memory that a kernel and the functions below it declare, against what an architecture has."""

from collections.abc import Iterator

from attrs import frozen

from mlusim.arch.board import Arch
from mlusim.counted import plural
from mlusim.errors import shown_file
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.link import LinkPlan

SPACES = ("NRAM", "WRAM", "SRAM")


@frozen
class DeclaredMemory:
    """The memory that a kernel declares: ``nbytes`` of each on-chip space, and ``largest``, the words for the variable that takes most."""

    nbytes: dict[str, int]
    largest: dict[str, str]

    def too_large(self, name: str, arch: Arch) -> Iterator[str]:
        """Return a sentence for each space of which the kernel *name* declares more than *arch* has, which the vendor's compiler refuses."""
        for space, limit in arch.limits(compiled=True).items():
            have = self.nbytes[space]
            if have > limit:
                yield (
                    f"{name} declares {have:,} {plural(have, 'byte')} of {space}, {have - limit:,} more than the "
                    f"{limit:,} of {arch.name}, most for {self.largest[space]}; declare less, or let arrays share their bytes"
                )


def declared_memory(plan: LinkPlan) -> DeclaredMemory:
    """Return what *plan* declares of each on-chip space."""
    nbytes = dict.fromkeys(SPACES, 0)
    most: dict[str, tuple[int, str]] = {}
    for space, name, size, span in _variables(plan):
        nbytes[space] += size
        if space not in most or size > most[space][0]:
            most[space] = size, f"{name} ({shown_file(span.file)}:{span.line})"
    return DeclaredMemory(nbytes, {space: told for space, (_, told) in most.items()})


def _variables(plan: LinkPlan) -> Iterator[tuple[str, str, int, ir.Span]]:
    """Yield the space, name, bytes and place of each on-chip variable, of the files and of the functions that are reached."""
    for part in plan.parts:
        for symbol in part.symbols:
            variable = part.file.form.globals[symbol]
            if variable.space.upper() in SPACES:
                yield variable.space.upper(), variable.name, variable.type.size, variable.span
        for symbol in part.code:
            for local in part.file.form.functions[symbol].locals:
                if local.space.upper() in SPACES:
                    yield local.space.upper(), local.source_name, local.type.size, local.span
