"""Time travel: exact to the byte, in every direction, from everywhere."""

import random

import pytest
from debug_kernels import (
    COUNT,
    beyond_program,
    broken_program,
    counting_program,
    line,
    scale_program,
    staged_program,
)
from debug_tools import console_on, place, refuses, says

from mlusim.debug import DebugSession, OperatorProgram
from mlusim.debug.look.paused_run import Focus
from mlusim.debug.look.places import resolve
from mlusim.debug.look.regions import array_of
from mlusim.machine.scheduling.schedule import Director, directing
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator

PROGRAMS = {
    "scale": (scale_program, {}),
    "staged": (staged_program, {"tasks": 8}),
    "staged, seeded": (staged_program, {"tasks": 8, "seed": 5}),
    "counting": (counting_program, {}),
    "beyond": (beyond_program, {}),
    "broken": (broken_program, {}),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_back_and_forth_is_the_same_to_the_byte(name):
    """A walk of forward steps, then the same places again in a drawn order, each with the same bytes and frames."""
    program, options = PROGRAMS[name]
    draw = random.Random(7)
    with console_on(program, **options) as console:
        session, seen = console.session, {}
        says(console, "start")
        for _ in range(40):
            seen[session.position] = session.digest()
            if session.position.at_end:
                break
            says(console, draw.choice(["step", "next", "stepi", "stepi all", "step all", "next all"]))
        places = [p for p in seen if not p.at_end]
        draw.shuffle(places)
        for position in places[:20]:
            session.travel(position)

            assert seen[position] == session.digest()
        assert len(seen) > 3


@pytest.mark.parametrize("name", ["scale", "staged", "counting"])
def test_reverse_undoes_forward(name):
    """`reverse-stepi` after `stepi`, and `reverse-step` after `step`, come back to where they were."""
    program, options = PROGRAMS[name]
    with console_on(program, **options) as console:
        session = console.session
        for forward, backward in (("stepi", "reverse-stepi"), ("step", "reverse-step")):
            says(console, "tbreak task 1", "run", "stepi" if forward == "stepi" else "step")
            trail = []
            for _ in range(3):
                trail.append((session.position, session.digest()))
                says(console, forward)
            for position, digest in reversed(trail):
                says(console, backward)

                assert (position, digest) == (session.position, session.digest())


def test_before_the_first_step_of_a_task_is_its_beginning():
    """Going back beyond the first line or intrinsic of a task stops where it begins; then any task's are meant."""
    with console_on(scale_program) as console:
        says(console, "break task 1", "run")
        assert "task 1 begins" in says(console, "reverse-step")
        says(console, "reverse-step")
        assert ("task 0", line("scale-store")) == place(console)[:2]


def test_reverse_next_goes_over_calls():
    """Behind a call it goes to the line of the call, not into the function."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-add')}", "run", "reverse-next")
        assert line("scale-call") == place(console)[1]

        says(
            console,
            f"goto {console.session.position.moment}",
            f"tbreak {line('scale-add')}",
            "c",
            "reverse-step",
        )
        assert line("scaled-times") + 1 == place(console)[1]
        says(console, "reverse-finish")
        assert line("scale-call") == place(console)[1]


def test_reverse_continue_finds_the_stop_before():
    """It stops where `continue` stopped, in the opposite order, and at the beginning of history at last."""
    with console_on(scale_program) as console:
        says(console, "break bang_add_scalar if mlu.taskId % 2", "run")
        stops = [console.session.position]
        while "has ended" not in says(console, "c"):
            stops.append(console.session.position)
        assert 4 == len(stops)  # two launches, two odd tasks each
        for position in reversed(stops):
            assert "Breakpoint 1, __bang_add_scalar" in says(console, "reverse-continue")
            assert position == console.session.position
        assert "here the history begins" in says(console, "reverse-continue")
        assert 0 == console.session.position.moment


def test_from_the_end_back_into_the_last_launch():
    """After the program has ended its launches can be visited, and `continue` leads to the end again."""
    with console_on(scale_program) as console:
        says(console, "run", "reverse-stepi")
        assert ("task 3", line("scale-store")) == place(console)[:2]
        assert 2 == console.session.position.launch

        says(console, "goto 1:begin", "break scaled", "c")
        assert (1, "task 0") == (console.session.position.launch, console.session.focus)
        says(console, "delete")
        assert "the program has ended" in says(console, "c")
        assert (COUNT - 1) * 2 * 3 + 3 + 1 == console.session.host.result[-1]


def test_back_from_a_fault():
    """From the fault to the instruction before it, and on to the same fault."""
    with console_on(beyond_program) as console:
        says(console, "run", "reverse-stepi")
        assert ("task 1", line("beyond-store") - 2) == place(console)[:2]
        assert "fault: __memcpy: dst: bytes [0, 68)" in says(console, "continue")


def test_goto_stops_before_the_effect():
    """At a moment the instruction has not had its effect, one moment later it has."""
    with console_on(scale_program) as console:
        says(console, "break bang_mul_scalar task 1", "run")
        moment = console.session.position.moment
        before = says(console, "x/2f data")
        after = says(console, f"goto {moment + 1}", "x/2f buffer")

        assert before.endswith("16  17")
        assert after.endswith("32  34")
        assert before == says(console, f"goto {moment}", "up", "x/2f buffer")


def test_a_launch_behind_the_history_is_refused():
    """With no room for copies only the last launch can be visited."""
    with console_on(scale_program, history=0) as console:
        says(console, "run", "goto 2:5")
        sentence = refuses(console, "goto 1:5")

        assert (
            "launch 1 is no longer in the debugger's history; start again with a larger --history" in sentence
        )
        assert "no longer kept" in says(console, "info launches")
        assert 2 == console.session.position.launch


def test_the_program_itself_runs_once():
    """However far one goes back, the host's side of the program is not repeated."""
    calls = []

    def program(observe):
        calls.append("begin")
        scale_program(observe)
        calls.append("end")

    with console_on(program) as console:
        says(
            console,
            "break scaled",
            "run",
            "rc",
            "c",
            "goto 1:end",
            "goto 1:begin",
            "delete",
            "c",
            "goto 1:3",
            "c",
        )

        assert ["begin", "end"] == calls


@pytest.mark.parametrize(("seed", "effects"), [(None, "late"), (9, "late"), (None, "eager")])
def test_what_is_shown_is_what_the_program_did(seed, effects):
    """The tensors at the end of the shown launch are, to the byte, the outputs of the program itself."""
    spec = find_operator("mutual_information_backward")
    case = find_case(spec, "s6_t1")
    inputs, params = case.make(case_generator(case))
    session = DebugSession(OperatorProgram(spec, inputs, params, seed=seed, effects=effects))
    session.forward()
    outputs, paused = session.host.result.outputs, session.look()

    assert {"px_grad", "py_grad", "ans_grad"} == set(outputs)
    for name, expected in outputs.items():
        shown = array_of(Focus(paused), resolve(name, Focus(paused)))
        assert expected.tobytes() == shown.tobytes()
    session.close()


def test_a_directed_schedule_is_shown_as_it_was():
    """Choices that neither the launch nor its seed knows of are made again in what is shown."""
    orders = []

    def program(observe):
        with directing(Director(seed=12)):
            staged_program(observe, tasks=8)

    for _ in range(2):
        with console_on(program) as console:
            says(console, f"break {line('staged-fetch')}", "run")
            orders.append([])
            while not console.session.position.at_end:
                orders[-1].append(console.session.focus)
                says(console, "c")

    assert orders[0] == orders[1]
    assert sorted(orders[0]) == [f"task {n}" for n in range(8)] != orders[0]
