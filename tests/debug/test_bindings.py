"""What a program rebinds between its launches, and errors that end more than a kernel."""

import numpy as np
import pytest
from debug_tools import console_on, says

import mlusim
from mlusim.bang import NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.debug import Console, DebugSession, ScriptProgram

SCRIPT = """
import mlusim
from mlusim.bang import NRAM2GDRAM, float32

device = mlusim.Device("MLU370-X4")
FACTOR = 0.0
outs = []


def helper():
    return FACTOR


for scale in (1.0, 2.0, 3.0):
    FACTOR = scale * 10

    def body(mlu, out):
        data = mlu.nram(float32, 8)
        mlu.bang_write_value(data, 8, float32(scale + helper()))
        mlu.memcpy(out, data, 32, NRAM2GDRAM)

    outs.append(device.empty(8, float32))
    device.launch(body, args=(outs[-1],))
print([float(device.get(out)[0]) for out in outs], scale, FACTOR)
"""


def closures(observe):
    """Three launches of kernels that read a variable of this function, which goes on."""
    device = mlusim.Device("MLU370-X4")
    found = []
    for value in (1.0, 2.0, 3.0):

        @kernel
        def body(mlu: Mlu, out: Ptr) -> None:
            data = mlu.nram(float32, 8)
            mlu.bang_write_value(data, 8, float32(value))  # noqa: B023 - on purpose
            mlu.memcpy(out, data, 32, NRAM2GDRAM)

        out = device.empty(8, float32)
        device.launch(body, args=(out,), observe=observe)
        found.append(float(device.get(out)[0]))
    return found, value


def finished(console):
    """What is said when the program has come to its end, however often one has to continue."""
    while console.execute("c").ok:
        pass
    return console.stop_text()


def test_every_launch_reads_what_was_bound_when_it_began():
    """In any order, from closures; the program's own variables are as it left them."""
    with console_on(closures) as console:
        says(console, "run")
        for launch in (2, 1, 3, 1):
            says(console, f"goto {launch}:end")
            assert says(console, "x/1f out").endswith(f": {launch}")
            says(console, f"goto {launch}:2")
            assert f"value = {launch}.0" == says(console, "print value")
        finished(console)

        assert ([1.0, 2.0, 3.0], 3.0) == console.session.host.result


def test_variables_of_a_script(tmp_path, capsys):
    """Globals that the kernel and a helper read; a session in the middle changes nothing of the program's result."""
    (tmp_path / "script.py").write_text(SCRIPT)
    session = DebugSession(ScriptProgram(str(tmp_path / "script.py")))
    console = Console(session)
    says(console, "break bang_write_value", "run", "c", "goto 1:2")
    assert "scale + FACTOR = 11.0" == says(console, "print scale + FACTOR")
    says(console, "reverse-continue", "info time", "goto 2:2")
    assert "helper() = 20.0" == says(console, "print helper()")
    says(console, "delete")
    finished(console)

    assert "[11.0, 22.0, 33.0] 3.0 30.0\n" == capsys.readouterr().out
    says(console, "goto 1:end")
    assert says(console, "x/1f out").endswith(": 11")
    session.close()


def test_the_programs_own_variables_are_back_behind_each_command():
    """Code that drives the console from Python sees its own."""
    with console_on(closures) as console:
        says(console, "run", "goto 1:2", "print value")
        frame = console.session.frame()
        assert 1.0 == frame.f_locals["value"]
        console.execute("info locals")

        assert 3.0 == console.session.host.result[1]
        assert console.session.runs.holder.current is None


@pytest.mark.parametrize("error", [SystemExit(3), GeneratorExit(), StopIteration(4), RecursionError("deep")])
def test_an_error_that_is_no_exception_stops_too(error):
    """At its line, with the frames and bytes as they are; the console goes on."""

    @kernel
    def leaving(mlu: Mlu, out: Ptr) -> None:
        data = mlu.nram(float32, 8)
        mlu.bang_write_value(data, 8, float32(7))
        if mlu.taskId == 1:
            raise error
        mlu.memcpy(out, data, 32, NRAM2GDRAM)

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(8, np.float32))
        device.launch(leaving, 2, mlusim.BLOCK, (out,), observe=observe)

    for lines in (["run"], ["break bang_mul", "run"]):
        with console_on(program) as console:
            answer = says(console, *lines)
            assert f"error: {type(error).__name__}" in answer
            assert "raise error" in answer
            assert says(console, "x/1f data").endswith(": 7")
            assert "task 1" == console.session.focus

            says(console, "reverse-stepi")
            assert f"the program has ended with {type(error).__name__}" in finished(console)
