"""Returns the intermediate form of a file: from the cache if no included file has changed, else parsed and lowered."""

import contextlib
import importlib
from collections.abc import Sequence
from pathlib import Path

from mlusim.bangc import cache, form_data, ir
from mlusim.bangc.form_data import Translated
from mlusim.bangc.parse import trial
from mlusim.bangc.parse.precompiled import library_state, state
from mlusim.bangc.parse.sources import Options, digest, read
from mlusim.errors import UsageError

_MAKING = "mlusim.bangc.making"  # by name: a cached file needs no parser


def translate(path: str, options: Options, requests: Sequence[str] = ()) -> Translated:
    """Translate a file. Raises like `making.made`."""
    source = read(path)
    here = Path(__file__).parent
    front_end = cache.stamp_of(
        file for folder in ("", "ir", "lower", "parse") for file in (here / folder).glob("*.py")
    )
    where = (
        path,
        *options.include,
        repr(options.define),
        options.board.name,
        repr((options.vouched, options.before, options.standard)),
        *requests,
    )
    name = f"{cache.FOLDER}/{cache.key_of(state(), library_state(), front_end, source, *where)}.ir"
    cached = _kept(name)
    if cached is not None and _fresh(cached.form):
        return cached
    making = importlib.import_module(_MAKING)
    making.prepare([options.board], options.standard)
    content = trial.in_child(path, lambda: form_data.write(making.made(path, options, requests)))
    if content is None:  # repeat in this process to get the exception
        try:
            translated: Translated = making.made(path, options, requests)
            content = form_data.write(translated)
        except RecursionError:
            raise UsageError(f"{path}: a type or an expression is nested too deeply; take it apart") from None
    else:
        try:
            translated = form_data.read(content)
        except form_data.DataError as problem:  # larger than the limits of a form
            raise UsageError(f"{path}: {problem}") from None
    cache.write(name, content)
    return translated


def _kept(name: str) -> Translated | None:
    """Return the form stored under *name* in the cache, or None."""
    content = cache.read(name)
    if content is None:
        return None
    with contextlib.suppress(form_data.DataError):
        return form_data.read(content)
    return None


def _fresh(form: ir.TranslationUnit) -> bool:
    """Return whether all files that were read still have the same content."""
    for path, recorded in form.includes.items():
        try:
            if digest(Path(path).read_bytes().decode("utf-8", "replace")) != recorded:
                return False
        except OSError:
            return False
    return True
