"""The on-chip memory that a kernel and the functions below it declare, against what an architecture has."""

from collections.abc import Iterator, Mapping

from mlusim.arch.board import Arch
from mlusim.counted import plural
from mlusim.frontend.bangc.link import LinkPlan

SPACES = ("NRAM", "WRAM", "SRAM")


def declared_memory(plan: LinkPlan) -> dict[str, int]:
    """Return the bytes of each on-chip space that *plan* declares."""
    found = dict.fromkeys(SPACES, 0)
    for part in plan.parts:
        for symbol in part.symbols:
            variable = part.file.form.globals[symbol]
            if variable.space.upper() in found:
                found[variable.space.upper()] += variable.type.size
        for symbol in part.code:
            for local in part.file.form.functions[symbol].locals:
                if local.space.upper() in found:
                    found[local.space.upper()] += local.type.size
    return found


def too_large(name: str, memory: Mapping[str, int], arch: Arch) -> Iterator[str]:
    """Return a sentence for each space of which the kernel *name* declares more than *arch* has, which the vendor's compiler refuses."""
    for space, limit in arch.limits(compiled=True).items():
        over = memory[space] - limit
        if over > 0:
            yield (
                f"{name} declares {memory[space]:,} {plural(memory[space], 'byte')} of {space}, {over:,} more than the "
                f"{limit:,} of {arch.name}; declare less, or let arrays share their bytes"
            )
