"""A file as intermediate form: from the cache where nothing that it includes has changed, else parsed and lowered."""

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mlusim.arch.board import Board
from mlusim.frontend.bangc import cache, form_data, ir
from mlusim.frontend.bangc.errors import SourceError
from mlusim.frontend.bangc.lower.module import ERROR, lower
from mlusim.frontend.bangc.parse import trial
from mlusim.frontend.bangc.parse.interrupts import kept_interrupts
from mlusim.frontend.bangc.parse.library import library
from mlusim.frontend.bangc.parse.precompiled import headers, state
from mlusim.frontend.bangc.parse.sources import read
from mlusim.frontend.bangc.parse.unit import Options, ParsedFile, digest, parsed
from mlusim.frontend.bangc.translated import Template, Translated


def translate(path: str, options: Options, requests: Sequence[str] = ()) -> Translated:
    """Translate a file; raises as `parsed` does, and `SourceError` where every kernel has an error."""
    source = read(path)
    where = (
        path,
        *options.include,
        repr(options.define),
        options.board.name,
        repr((options.vouched, options.before)),
        *requests,
    )
    name = f"{cache.FOLDER}/{cache.key_of(state(), library().full_version, _own(), source, *where)}.ir"
    kept = _kept(name)
    if kept is not None and _fresh(kept.form):
        return kept
    prepare([options.board])
    content = trial.in_child(path, lambda: form_data.write(made(path, options, requests)))
    if content is None:  # it raises, which is for this process to see
        translated = made(path, options, requests)
        content = form_data.write(translated)
    else:
        translated = form_data.read(content)
    cache.write(name, content)
    return translated


def prepare(boards: Sequence[Board]) -> None:
    """Have the headers for *boards* ready, which a child process would make and forget."""
    for board in boards:
        headers(library(), board)


def made(path: str, options: Options, requests: Sequence[str] = ()) -> Translated:
    """A file parsed and lowered here and now.  Raises as `translate`."""
    with kept_interrupts(), parsed(path, options, requests) as unit:
        templates = tuple(Template(d.name, "global" in d.annotations) for d in unit.templates)
        requested = {n: (d.definition or d).symbol for n, d in unit.requested.items()}
        return Translated(_lowered(unit, path, options, requests), templates, requested)


def _kept(name: str) -> Translated | None:
    """What is kept in the cache under *name*; None where that is nothing, or no form: it is made again."""
    content = cache.read(name)
    if content is None:
        return None
    with contextlib.suppress(form_data.DataError):
        return form_data.read(content)
    return None


def _lowered(unit: ParsedFile, path: str, options: Options, requests: Sequence[str]) -> ir.TranslationUnit:
    """*unit* lowered; where methods of templates are wanted that it does not show, parsed again with functions that name them."""
    form, hidden = lower(unit)
    kernels = (f for f in form.functions.values() if f.kind == "kernel" and not f.external)
    if (
        unit.broken
        and not options.vouched
        and all(f.problem is not None and f.problem.construct == ERROR for f in kernels)
    ):
        raise SourceError(tuple(one.diagnostic for one in unit.broken))
    names = [name for name in sorted(hidden) if "(" not in name]
    if not names:
        return form
    try:
        with parsed(path, options, (*requests, *names)) as again:
            return lower(again)[0]
    except SourceError:  # a class that has no name outside its function
        return form


def _fresh(form: ir.TranslationUnit) -> bool:
    """Whether every file that was read has the content that it had."""
    for path, known in form.includes.items():
        try:
            if digest(Path(path).read_bytes().decode("utf-8", "replace")) != known:
                return False
        except OSError:
            return False
    return True


def _own() -> str:
    """The state of the front end itself."""
    here = Path(__file__).parent
    files: list[Any] = [*here.glob("*.py"), *(here / "lower").glob("*.py"), *(here / "ir").glob("*.py")]
    return cache.stamp_of([*files, *(here / "parse").glob("*.py")])
