"""The examples in BANG C do the same on both engines."""

from pathlib import Path

import pytest

from mlusim import bangc
from mlusim.engine.native.build import available

SOURCES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlu"))
NATIVE = "native" if available() is not None else "python"  # without a compiler there is one engine
MEASURES = (
    "kernel", "dim", "instructions", "traffic", "lanes", "memory", "scalar_loads", "scalar_stores", "busy_us", "time_us",
    "bound", "io_bytes", "printed",
)  # fmt: skip


def executed(module, words, engine, capfd):
    """The exit status, what was printed, and the launches of a program."""
    launches = []
    status = module.run_main(words, options={"engine": engine}, launches=launches)
    return status, capfd.readouterr().out, launches


@pytest.mark.parametrize("words", [[], ["1"], ["16385"]], ids=["plain", "one", "tail"])
@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_both_engines_do_the_same(path, words, capfd):
    """Output and status of the program; counts, traffic, memory, predicted times and logs of its launches."""
    module = bangc.load([path])
    status, text, first = executed(module, words, "python", capfd)
    native = executed(module, words, "native", capfd)

    assert (status, text) == native[:2]
    assert text
    assert [NATIVE] == [launch.engine for launch in native[2]]
    for ours, theirs in zip(first, native[2], strict=True):
        assert {m: getattr(ours, m) for m in MEASURES} == {m: getattr(theirs, m) for m in MEASURES}
        assert [task.log.key for task in ours.tasks] == [task.log.key for task in theirs.tasks]
