"""Translates a file in this process: parses and lowers it."""

import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from mlusim.arch.board import Board
from mlusim.bangc import ir
from mlusim.bangc.errors import ERROR, SourceError
from mlusim.bangc.form_data import Template, Translated
from mlusim.bangc.lower.module import lower
from mlusim.bangc.parse.library import library
from mlusim.bangc.parse.precompiled import headers
from mlusim.bangc.parse.sources import Options
from mlusim.bangc.parse.unit import ParsedFile, parsed


def prepare(boards: Sequence[Board], standard: str) -> None:
    """Precompile the headers for *boards* and *standard* of C++ in this process, since a child process would lose them."""
    for board in boards:
        headers(library(), board, standard)


def made(path: str, options: Options, requests: Sequence[str] = ()) -> Translated:
    """Parse and lower a file in this process.

    Raises like `parsed`, and `SourceError` if all kernels (in a file without kernels: all functions) have an
    error.
    """
    with kept_interrupts(), parsed(path, options, requests) as unit:
        templates = tuple(Template(d.name, "global" in d.annotations) for d in unit.templates)
        requested = {n: (d.definition or d).symbol for n, d in unit.requested.items()}
        return Translated(_lowered(unit, path, options, requests), templates, requested)


def _lowered(unit: ParsedFile, path: str, options: Options, requests: Sequence[str]) -> ir.TranslationUnit:
    """Lower *unit*; if called template methods are missing, parse again with added functions that name them."""
    form, hidden = lower(unit)
    defined = [f for f in form.functions.values() if not f.external]
    wanted = [f for f in defined if f.kind == "kernel"] or defined  # a file with host functions only
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
        except SourceError:  # a class without a name outside its function
            break
    return form


@contextmanager
def kept_interrupts() -> Iterator[None]:
    """At the end of the block, raise a KeyboardInterrupt that was dropped inside a callback from C.

    An exception in such a callback goes to `sys.unraisablehook`, which prints it, and the C code continues.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread receives interrupts
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
        if dropped:  # even if the block raises because of the aborted callback
            raise dropped[0]
