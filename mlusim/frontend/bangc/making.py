"""A file made into intermediate form: parsed and lowered, here and now."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlusim.arch.board import Board
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.errors import ERROR, SourceError
from mlusim.frontend.bangc.form_data import Template, Translated
from mlusim.frontend.bangc.lower.module import lower
from mlusim.frontend.bangc.parse.library import library
from mlusim.frontend.bangc.parse.precompiled import headers
from mlusim.frontend.bangc.parse.sources import Options
from mlusim.frontend.bangc.parse.unit import ParsedFile, parsed


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
    """Lower *unit*; where it lacks methods of templates that are called, parse again with functions that name them."""
    form, hidden = lower(unit)
    defined = [f for f in form.functions.values() if not f.external]
    wanted = [
        f for f in defined if f.kind == "kernel"
    ] or defined  # a file of host functions alone has no kernel
    if (
        unit.broken
        and not options.vouched
        and all(f.problem is not None and f.problem.construct == ERROR for f in wanted)
    ):
        raise SourceError(tuple(declaration.diagnostic for declaration in unit.broken))
    names: list[str] = []
    while more := [name for name in sorted(hidden) if "(" not in name and name not in names]:
        names += more
        try:
            with parsed(path, options, (*requests, *names)) as again:
                form, hidden = lower(again)
        except SourceError:  # a class that has no name outside its function
            break
    return form


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """Raise at the end of the block an interrupt that a callback from C has dropped inside of it.

    What Python raises in such a callback goes to `sys.unraisablehook`, which writes it, and C goes on.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread is interrupted
        return
    before, dropped = sys.unraisablehook, list[KeyboardInterrupt]()

    def hear(unraisable: Any) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            dropped.append(unraisable.exc_value)
        else:
            before(unraisable)

    sys.unraisablehook = hear
    try:
        yield
    finally:
        sys.unraisablehook = before
        if dropped:  # even where the block raises for what its callback left out
            raise dropped[0]
