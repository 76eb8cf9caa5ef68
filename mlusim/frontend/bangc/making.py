"""A file made into intermediate form: parsed and lowered, here and now."""

from collections.abc import Sequence

from mlusim.arch.board import Board
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.errors import ERROR, SourceError
from mlusim.frontend.bangc.lower.module import lower
from mlusim.frontend.bangc.parse.interrupts import kept_interrupts
from mlusim.frontend.bangc.parse.library import library
from mlusim.frontend.bangc.parse.options import Options
from mlusim.frontend.bangc.parse.precompiled import headers
from mlusim.frontend.bangc.parse.unit import ParsedFile, parsed
from mlusim.frontend.bangc.translated import Template, Translated


def prepare(boards: Sequence[Board], standard: str) -> None:
    """Have the headers for *boards* in a *standard* of C++ ready, which a child process would make and forget."""
    for board in boards:
        headers(library(), board, standard)


def made(path: str, options: Options, requests: Sequence[str] = ()) -> Translated:
    """Return a file parsed and lowered here and now.

    Raises as `parsed` does, and `SourceError` where every kernel, or in a file without one every function, has an error.
    """
    with kept_interrupts(), parsed(path, options, requests) as unit:
        templates = tuple(Template(d.name, "global" in d.annotations) for d in unit.templates)
        requested = {n: (d.definition or d).symbol for n, d in unit.requested.items()}
        return Translated(_lowered(unit, path, options, requests), templates, requested)


def _lowered(unit: ParsedFile, path: str, options: Options, requests: Sequence[str]) -> ir.TranslationUnit:
    """*unit* lowered; where methods of templates are wanted that it does not show, parsed again with functions that name them."""
    form, hidden = lower(unit)
    own = [f for f in form.functions.values() if not f.external]
    wanted = [f for f in own if f.kind == "kernel"] or own  # a file of host functions alone has no kernel
    if (
        unit.broken
        and not options.vouched
        and all(f.problem is not None and f.problem.construct == ERROR for f in wanted)
    ):
        raise SourceError(tuple(one.diagnostic for one in unit.broken))
    names: list[str] = []
    while more := [name for name in sorted(hidden) if "(" not in name and name not in names]:
        names += more
        try:
            with parsed(path, options, (*requests, *names)) as again:
                form, hidden = lower(again)
        except SourceError:  # a class that has no name outside its function
            break
    return form
