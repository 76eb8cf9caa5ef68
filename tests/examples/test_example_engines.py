"""The examples in BANG C do the same on both engines."""

from pathlib import Path

import pytest

from mlusim.machine.native.build import available
from mlusim.programs.argument_forms import AskedCall
from mlusim.programs.native_program import HostProgram
from mlusim.report.profiled import Profiled

SOURCES = sorted((Path(__file__).parents[2] / "examples").glob("*.mlu"))
NATIVE = "native" if available() is not None else "python"  # without a compiler there is one engine
MEASURES = (
    "kernel", "dim", "instructions", "traffic", "lanes", "memory", "scalar_loads", "scalar_stores", "busy_us", "time_us",
    "bound", "io_bytes", "printed",
)  # fmt: skip


def executed(path, words, engine, capfd):
    """What was printed, and the launches of a program."""
    found = Profiled(lines=False)
    program = HostProgram(AskedCall((str(path),), words=tuple(words), engine=engine))
    program.run([found])
    return capfd.readouterr().out, found.launches


@pytest.mark.parametrize("words", [[], ["1"], ["16385"]], ids=["plain", "one", "tail"])
@pytest.mark.parametrize("path", SOURCES, ids=[path.stem for path in SOURCES])
def test_both_engines_do_the_same(path, words, capfd):
    """Output of the program; counts, traffic, memory, predicted times and logs of its launches."""
    text, first = executed(path, words, "python", capfd)
    same, native = executed(path, words, "native", capfd)

    assert text == same != ""
    assert [NATIVE] == [launch.engine for launch in native]
    for ours, theirs in zip(first, native, strict=True):
        assert {m: getattr(ours, m) for m in MEASURES} == {m: getattr(theirs, m) for m in MEASURES}
        assert [task.log.key for task in ours.tasks] == [task.log.key for task in theirs.tasks]
