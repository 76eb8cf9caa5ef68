"""Ctrl-C and the parser's library: it is not lost in callbacks, nor in a finaliser amid a kernel."""

import contextlib
import ctypes
import gc
import signal

import pytest

from mlusim import bangc
from mlusim.bangc import making
from mlusim.bangc.errors import SourceError
from mlusim.bangc.parse import trial
from mlusim.bangc.parse.library import library
from mlusim.errors import UsageError

GOOD = "__mlu_global__ void K(float *p) { p[0] = 1; }\n"


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """No kept translation is found."""
    monkeypatch.setenv("MLUSIM_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("source", "requests"),
    [(GOOD, ()), ("template <typename T> " + GOOD, ("K<float>",)), (GOOD + "int f( {\n", ()), ("}\n", ())],
)
def test_no_tree_of_the_library_is_left_to_a_finaliser(tmp_path, own_cache, monkeypatch, source, requests):
    """Freeing a tree takes milliseconds; a finaliser that does it would drop an interrupt of that time."""
    finalised = []
    monkeypatch.setattr(library().ci.TranslationUnit, "__del__", finalised.append)
    (tmp_path / "k.mlu").write_text(source)
    with contextlib.suppress(SourceError):
        module = bangc.load(tmp_path / "k.mlu")
        for request in requests:
            module[request]
    gc.collect()

    assert [] == finalised


@pytest.mark.parametrize("problem", [None, UsageError("it lacks something")])
def test_an_interrupt_in_a_callback_of_the_parser_ends_the_translation(
    tmp_path, own_cache, monkeypatch, problem
):
    """What a callback raises is dropped by ctypes; the translation raises it at its end, whatever it lacks by then."""
    real = making.lower

    def interrupted():
        raise KeyboardInterrupt

    def lower(unit):
        ctypes.CFUNCTYPE(None)(interrupted)()
        if problem is not None:
            raise problem
        return real(unit)

    monkeypatch.setattr(making, "lower", lower)
    (tmp_path / "k.mlu").write_text(GOOD)
    with pytest.raises(KeyboardInterrupt):
        bangc.load(tmp_path / "k.mlu")


def test_an_interrupt_that_ends_the_parse_too_stays_an_interrupt(monkeypatch):
    """From a terminal it goes to the child as well, which may be gone when its parent hears of it."""

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.delenv("MLUSIM_PARSE_TRIAL", raising=False)
    before = signal.signal(signal.SIGCHLD, interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            trial.in_child("k.mlu", lambda: b"made")
    finally:
        signal.signal(signal.SIGCHLD, before)

    assert signal.getsignal(signal.SIGCHLD) == before
