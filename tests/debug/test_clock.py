"""Predicted time of moments: the timeline's, for every task; going there and stopping there."""

import pytest
from debug_kernels import beyond_program, counting_program, line, scale_program, staged_program
from debug_tools import console_on, place, refuses, says

from mlusim.debug import DebugSession, OperatorProgram
from mlusim.debug.look.clock import clock_of
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator

CALLS = [
    ("mutual_information_backward", "network", "MLU370-X4"),
    ("tin_shift_forward", "golden_document", "MLU590-M9"),
]


@pytest.mark.parametrize("program", [scale_program, staged_program, counting_program])
def test_every_instruction_has_the_time_of_the_timeline(program):
    """As many as there are, ascending in each task, within the launch; and the clock is made once."""
    with console_on(program) as console:
        clock = clock_of(console.session.runs, 1)
        assert 0 == clock.unknown
        assert all(times == sorted(times) and times[-1] < clock.whole_us for times in clock.times.values())
        assert all(moments == sorted(moments) for moments in clock.moments.values())
        assert clock is clock_of(console.session.runs, 1)


@pytest.mark.parametrize(("name", "case", "board"), CALLS)
def test_operators_have_times(name, case, board):
    """On both generations: not one instruction is unknown, and the time is the program's own."""
    spec = find_operator(name)
    found = find_case(spec, case)
    inputs, params = found.make(case_generator(found))
    session = DebugSession(OperatorProgram(spec, inputs, params, board))
    session.forward()
    for number, launch in enumerate(session.host.result.launches, 1):
        clock = clock_of(session.runs, number)

        assert 0 == clock.unknown
        assert launch.time_us == pytest.approx(clock.whole_us)
    session.close()


def test_going_to_a_time_and_stopping_there():
    """The first instruction of the task in focus; of each task."""
    with console_on(staged_program) as console:
        says(console, "tbreak task 0", "run", "stepi")
        whole = clock_of(console.session.runs, 1).whole_us
        says(console, "goto 0.3us")
        assert ("task 0", line("staged-fetch")) == place(console)[:2]
        rows = says(console, "info time")
        assert f"the launch is predicted to take {whole:.3f} us" in rows
        assert "cycles at 1000 MHz" in rows

        says(console, "goto begin", "break time 0.3us")
        stops = [says(console, "c") and place(console)[:2] for _ in range(4)]
        assert {(f"task {n}", line("staged-fetch")) for n in range(4)} == set(stops)
        assert "has ended" in says(console, "c")


def test_who_wrote_knows_the_time_once_it_is_known():
    """Asked for once, it is shown with each write."""
    with console_on(scale_program) as console:
        says(console, "break bang_add_scalar", "run")
        assert " us" not in says(console, "who-wrote nram+0")
        says(console, "info time")
        assert says(console, "who-wrote nram+0").splitlines()[0].endswith("us")


def test_times_that_are_none():
    """No number, beyond the end, of a launch that fails."""
    with console_on(scale_program) as console:
        assert "'soon' is not a time" in refuses(console, "break time soon")
        assert "no instruction begins at 9999 us or later" in refuses(console, "break time 9999us")
        assert "no instruction of task 0 begins at 9999 us" in refuses(console, "goto 9999us")
    with console_on(beyond_program) as console:
        assert "launch 1 ends with OutOfBounds, so it has no predicted time" in refuses(console, "info time")


def test_the_clock_is_silent(capsys):
    """Running twice more prints nothing, and leaves the place alone."""
    with console_on(counting_program) as console:
        says(console, "start")
        before = console.session.position, console.session.digest()
        says(console, "info time")

        assert before == (console.session.position, console.session.digest())
    assert "" == capsys.readouterr().out
