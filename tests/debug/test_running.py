"""Running forwards: breakpoints of every kind, steps, conditions, counts."""

import contextlib
import io
from pathlib import Path

import numpy as np
import pytest
from debug_kernels import (
    beyond_program,
    broken_program,
    counting_program,
    data,
    line,
    scale_program,
    staged_program,
    unwritten_program,
)
from debug_tools import console_on, place, refuses, says

import mlusim
from mlusim.bang import float32, kernel
from mlusim.debug import Console, DebugSession, ScriptProgram
from mlusim.errors import OutOfBounds


def at(console):
    """The task and the line."""
    return place(console)[:2]


def test_it_begins_at_the_first_launch():
    """Nothing has run; the kernel and its arguments are known."""
    with console_on(scale_program) as console:
        assert "launch 1 begins: scale with dim 4 x 1 x 1, BLOCK, on MLU370-X4" == console.stop_text()
        assert "scaled" in says(console, "info functions")
        assert "factor    2.0" in says(console, "info launch")


def test_without_breakpoints_the_program_runs_to_its_end():
    """`run` ends with what the program returns, and its result is what it would have been."""
    with console_on(scale_program) as console:
        answer = says(console, "run")

        assert "launch 2 (scale) has ended" in answer
        assert "the program has ended" in answer
        assert np.array_equal((data() * 2 + 1) * 3 + 1, console.session.host.result)


@pytest.mark.parametrize(
    ("where", "mark", "word"),
    [
        (f"debug_kernels.py:{line('scale-add')}", "scale-add", "tests/debug/debug_kernels.py"),
        (f"{line('scaled-times')}", "scaled-times", "tests/debug/debug_kernels.py"),
        ("scaled", "scaled-mul", "scaled"),
        ("scale", "scale-first", "scale"),
        ("bang_add_scalar", "scale-add", "__bang_add_scalar"),
        ("__bang_mul_scalar", "scaled-mul", "__bang_mul_scalar"),
    ],
)
def test_a_breakpoint_stops_in_every_task(where, mark, word):
    """Lines, functions and intrinsics stop once in each of the four tasks."""
    with console_on(scale_program) as console:
        says(console, f"break {where}")
        stops = []
        for command in ("run", "c", "c", "c"):
            assert f"Breakpoint 1, {word}" in says(console, command)
            stops.append(at(console))

        assert [(f"task {n}", line(mark)) for n in range(4)] == stops


def test_a_breakpoint_of_a_pipe_stops_at_all_that_it_takes():
    """The load and the store of each task go through the IO-DMA."""
    with console_on(scale_program) as console:
        says(console, "break pipe IO-DMA")
        stops = []
        for command in ("run", "c", "c"):
            assert "Breakpoint 1, pipe IO-DMA" in says(console, command)
            stops.append(at(console))

        marks = [("task 0", "scale-load"), ("task 0", "scale-store"), ("task 1", "scale-load")]
        assert [(task, line(mark)) for task, mark in marks] == stops


def test_a_breakpoint_of_a_task_stops_at_its_first_line():
    """Only that task stops, before anything of it has run."""
    with console_on(scale_program) as console:
        answer = says(console, "break task 2", "run")

        assert "Breakpoint 1, beginning of task 2" in answer
        assert ("task 2", line("scale-first")) == at(console)


def test_a_breakpoint_of_a_moment_stops_there():
    """`cycle` and `moment` are the same word for the number of a stop."""
    with console_on(scale_program) as console:
        says(console, "break cycle 9", "tbreak moment 4", "run")
        first = console.session.position.moment
        says(console, "c")

        assert (4, 9) == (first, console.session.position.moment)
        assert "breakpoint 1: moment 9; 1 hit" == says(console, "info breakpoints")


def test_conditions_are_in_the_variables_of_the_kernel():
    """A condition chooses the task, and one that cannot be evaluated stops and says so."""
    with console_on(scale_program) as console:
        says(console, "break bang_add_scalar if mlu.taskId == 3 and buffer[1] > 90", "run")
        first = at(console)
        answer = says(console, "delete", "break scaled if times > 1", "c")

        assert ("task 3", line("scale-add")) == first
        assert "its condition cannot be evaluated: name 'times' is not defined" in answer


def test_a_condition_leaves_no_trace_in_the_machine():
    """The loads of an evaluated pointer are not counted."""
    with console_on(counting_program) as console:
        says(console, f"break {line('counting-store')} if sums[3] < 0 or sums[2] == 30", "run")
        counted = list(console.session.core().loads)
        says(console, "print sums[0] + sums[1] + sums[2]", "print out")

        assert counted == console.session.core().loads


def test_counts_tasks_and_switches():
    """`ignore`, `task`, `disable`, `enable`, `condition` and `tbreak` do what gdb's do."""
    with console_on(counting_program) as console:
        says(console, f"break {line('counting-add')} task 1 ignore 5", "run")
        assert ("task 1", "i = 5") == (at(console)[0], says(console, "print i"))

        says(console, "ignore 1 2", "c")
        assert "i = 8" == says(console, "print i")

        says(console, "condition 1 i == 15", "c")
        assert "i = 15" == says(console, "print i")

        says(console, "disable 1", f"tbreak {line('counting-store')}", "c")
        assert ("task 1", line("counting-store")) == at(console)
        assert ", disabled" in says(console, "info breakpoints")
        assert "the program has ended" in says(console, "c")


def test_steps_by_line():
    """`step` enters functions, `next` does not, `finish` shows the value, `until` leaves a loop."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-call')}", "run")
        says(console, "step")
        assert line("scaled-mul") == at(console)[1]
        assert "value returned: 1" in says(console, "finish")
        assert line("scale-add") == at(console)[1]
        says(console, "next")
        assert line("scale-store") == at(console)[1]
        says(console, "start", "next 4")
        assert line("scale-call") == at(console)[1]
        says(console, "next")
        assert line("scale-add") == at(console)[1]


def test_until_leaves_a_loop():
    """`until` at the end of a loop goes beyond it; `until LINE` goes to the line."""
    with console_on(counting_program) as console:
        says(console, f"break {line('counting-add')} ignore 3", "run", "delete")
        says(console, f"until {line('counting-store')}")

        assert ("task 0", line("counting-store")) == at(console)


def test_stepi_goes_from_intrinsic_to_intrinsic():
    """Of the task in focus, or with `all` of whichever comes first."""
    with console_on(staged_program) as console:
        says(console, "tbreak task 1", "run", "stepi")
        names = [console.session.stop.op.name]
        for _ in range(3):
            says(console, "stepi")
            names.append(console.session.stop.op.name)
        assert ["memcpy_async", "sync_cluster", "memcpy", "bang_add"] == names
        assert "task 1" == console.session.focus

        says(console, "goto begin", "stepi all", "stepi all", "stepi all")
        assert "task 0" == console.session.focus


def test_next_over_a_barrier_comes_back_to_the_same_task():
    """The other tasks go on by the schedule meanwhile."""
    with console_on(staged_program) as console:
        says(console, f"tbreak {line('staged-barrier')} task 2", "run", "next")

        assert ("task 2", line("staged-barrier") + 1) == at(console)
        assert "2 ended" not in says(console, "info tasks")


def test_a_step_at_the_end_of_a_task_says_so():
    """The task ends; the next one has not begun."""
    with console_on(scale_program) as console:
        says(console, f"tbreak {line('scale-store')}", "run")

        assert "task 0 ends" in says(console, "next")
        assert "task 1" in says(console, "step")
        assert "1 ended, 2 not begun" in says(console, "info tasks")


def test_a_fault_stops_at_the_intrinsic_before_its_effect():
    """The program's own run stops, with the kernel's frames; `continue` hands the fault on."""
    with console_on(beyond_program) as console:
        answer = says(console, "run")
        assert "fault: __memcpy: dst: bytes [0, 68)" in answer
        assert ("task 1", line("beyond-store")) == at(console)
        assert "count  16" in says(console, "info args")
        assert "failed" in says(console, "info tasks")
        assert "1, 1, 1, 1" in says(console, "print out")  # what task 0 stored, and nothing else

        assert "the program has ended with OutOfBounds" in says(console, "c")
        assert isinstance(console.session.host.failure, OutOfBounds)


def test_a_fault_stops_under_breakpoints_too():
    """With a breakpoint behind it the stop is the same."""
    with console_on(beyond_program) as console:
        says(console, "break bang_write_value task 1", "run")
        answer = says(console, "c")

        assert "fault: __memcpy: dst: bytes [0, 68)" in answer
        assert ("task 1", line("beyond-store")) == at(console)
        assert "the program has ended with OutOfBounds" in says(console, "c")


def test_an_error_of_python_stops_where_it_is_raised():
    """The frames are those of the kernel that raised it."""
    with console_on(broken_program) as console:
        answer = says(console, "run")

        assert "error: IndexError: list index out of range" in answer
        assert ("task 1", line("broken-index")) == at(console)
        assert "numbers = [1, 2, 3]" == says(console, "print numbers")


def test_a_finding_of_a_checker_stops_where_it_is_found():
    """The run stops before the store of unwritten bytes; going back finds it again."""
    with console_on(unwritten_program) as console:
        says(console, "break finding initcheck")
        answer = says(console, "run")
        assert "Breakpoint 1, initcheck-" in answer
        assert ("task 2", line("unwritten-store")) == at(console)
        assert "poison" in says(console, "x/2f buffer")

        position = console.session.position
        says(console, "c", "reverse-continue")
        assert position == console.session.position


def test_mistakes_are_one_sentence_and_the_session_goes_on():
    """A wrong command, place, address, task or expression."""
    with console_on(scale_program) as console:
        says(console, "break scaled", "run")
        mistakes = {
            "florp": "there is no command 'florp'",
            "re": "re may be reverse-continue, reverse-step, reverse-next, reverse-stepi, reverse-finish",
            "break 1": "there is no code of a function at",
            "list nowhere.py:4": "no file of the kernel is called nowhere.py",
            "break scaled if nothing > 1": "the condition names nothing, which scaled does not have; it has count, data",
            "break not_there_at_all": "there is no function, intrinsic or file 'not_there_at_all'",
            "break scaled if 1 +": "'1 +' is not an expression",
            "break pipe fast": "there is no pipe 'fast'",
            "break finding nocheck": "there is no checker 'nocheck'",
            "watch nram+0x100000": "there is no declared memory at NRAM 0x300000",
            "x/4f 0x99": "no memory of the device is at 0x99",
            "x/9999f data": "9999 elements of float reach",
            "x/4z data": "x/z is not a form",
            "task 7": "the launch has the tasks 0 to 3, and no task 7",
            "task x": "'x' is not a task",
            "print 1 // 0": "the expression raises ZeroDivisionError",
            "print mlu.bang_add(data, data, data, 4)": "an expression of the debugger cannot execute intrinsics",
            "print mlu.sync()": "an expression of the debugger changes nothing in the machine",
            "delete 9": "there is no breakpoint '9'; there are: 1",
            "step -1": "'-1' is not a count",
            "goto 99999": "launch 1 has",
            "goto 7:1": "there is no launch 7",
            "diff data nothing.npy": "'nothing.npy' is neither @MOMENT, nor a file, nor an array",
            "dump data file.txt": "dump takes a place and a file",
            "info florp": "info shows one of: tasks",
            "up 9": "the stack has the frames 0 to 1",
            "source nothing.txt": "nothing.txt cannot be read",
            "break bang_add if": "`if` takes an expression",
            "break scaled if i == 3 task 1": "'i == 3 task 1' is not an expression: invalid syntax; write `task 1` in front of `if`",
            "break scaled often": "'often' after scaled is neither",
            "break cycle 0": "'0' is not a cycle; give a whole number from 1 on",
            "list 0": "tests/debug/debug_kernels.py has the lines 1 to",
            "list 99999": "tests/debug/debug_kernels.py has the lines 1 to",
            "task 0m": "the launch has no memory cores: BLOCK on MLU370-X4",
            "task 3": "task 3 has not begun; running now: task 0",
            "watch 3": "3 is not a place in memory",
            "watch [data] * 1000": "[data] * 1000 is [&",
            "watch nram+0:0": "nram+0:0 means 0 bytes; give 1 to",
            "print exit()": "name 'exit' is not defined",
            "print data.nothing": "the expression raises AttributeError",
            "print data.__class__": "an expression of the debugger cannot use .__class__, which leads beyond the program's values",
            "display florp": "name 'florp' is not defined in any function of the kernel; `info locals` lists what there is",
            "x data['a']": "['a'] is not a number of an element; write [3], or [2:8] for several",
            "x sram+0": "a Block task has no SRAM; the clusters of a union have",
            "rwatch count": "count is not in memory, so its reads are not seen; `watch` stops where its value changes",
            "up x": "'x' is not a count of frames; give a whole number, as in `up 2`",
            "list/x": "list takes no /x; x, print, why, display take a form",
            "why/x": "why/ takes the number of links to follow in a chain, as in `why/12 count`",
            "info macro": "this kernel is written in Python, which has no macros; `info locals` lists its variables",
            "source": "source takes a file of commands, one a line, as in `source stops.txt`",
            "replay": "replay takes the file of a recording, as in `replay wrong.mlusim`",
        }
        for text, sentence in mistakes.items():
            answer = refuses(console, text)
            assert answer.startswith(f"error: {sentence}"), answer
            assert "\n" not in answer

        assert "Breakpoint 1, scaled" in says(console, "c")


def test_places_that_no_board_has_are_refused_ahead():
    """Before a task has begun an offset is held against the board's memory, elements against the region."""
    with console_on(scale_program) as console:
        for text in ("watch nram-4", "watch nram+0x7fffffff", "watch nram+0:0", "watch wram+1:99999999"):
            assert "is not a run of bytes of" in refuses(console, text)
        assert "of any task" in says(console, "watch nram+4:4")
        assert "note: the launch has the tasks 0 to 3, and no task 9" in says(console, "break scaled task 9")


def test_steps_out_of_a_fault_are_refused():
    """By line and by instruction, of this task and of all; `continue` hands the fault on."""
    with console_on(beyond_program) as console:
        says(console, "run")
        for text in ("step", "step all", "next", "next all", "stepi", "stepi all", "finish", "until"):
            assert "the kernel has failed here" in refuses(console, text)

        assert "the program has ended with OutOfBounds" in says(console, "continue")
        for text in ("step", "next", "stepi all", "finish", "until"):
            assert "the program has ended" in refuses(console, text)


def test_a_program_that_fails_says_where(tmp_path):
    """Before any launch, and between launches: the error with its line."""
    script = tmp_path / "broken.py"
    script.write_text("numbers = []\nnumbers[3]\n")
    session = DebugSession(ScriptProgram(str(script)))

    assert f"IndexError: list index out of range at {script}:2" in Console(session).stop_text()
    session.close()


def test_a_run_without_stops_executes_each_kernel_once():
    """Showing the end and its place runs nothing again; looking at what was there does."""
    executed = []

    @kernel
    def counted(mlu):
        executed.append(mlu.taskId)
        mlu.nram(float32, 8)

    def program(observe):
        mlusim.Device("MLU370-X4").launch(counted, 3, mlusim.BLOCK, observe=observe)

    with console_on(program) as console:
        assert "the program has ended" in says(console, "run")
        assert (None, None) == (console.session.site(), console.session.core())
        assert "no task is in the kernel here" in says(console, "info locals")
        assert [0, 1, 2] == executed

        says(console, "reverse-step")
        assert [0, 1, 2] * 2 <= executed


def test_an_interrupt_of_the_program_is_a_place():
    """Ctrl-C while nothing watches: the place is said, and steps go on from the last instruction that had begun."""

    @kernel
    def interrupted(mlu):
        buffer = mlu.nram(float32, 64)
        for i in range(100):
            mlu.bang_add(buffer, buffer, buffer, 64)
            if i == 40 and not stopped:
                stopped.append(i)
                session.interrupt()

    stopped = []

    def program(observe):
        mlusim.Device("MLU370-X4").launch(interrupted, observe=observe)

    with console_on(program) as console:
        session = console.session
        assert says(console, "run").startswith("interrupted\ntask 0 in interrupted")
        assert says(console, "where").startswith("task 0, interrupted in launch 1")
        assert "i = 40" == says(console, "print i")
        says(console, "step")
        assert "i = 40" == says(console, "print i")
        says(console, "reverse-stepi")

        assert "i = 40" == says(console, "print i")
        assert "the program has ended" in says(console, "c")


def test_an_interrupt_inside_a_write_of_the_program_loses_no_output():
    """A stream has its lock while a signal's handler runs; the program is left behind the write, not in it."""

    class Interrupting(io.RawIOBase):
        """Standard output, in whose first write the signal comes."""

        def writable(self):
            return True

        def write(self, text):
            written.append(bytes(text))
            if len(written) == 1:
                console.session.interrupt()
            return len(text)

    @kernel
    def talking(mlu):
        mlu.sync()
        print("started", flush=True)  # noqa: T201
        mlu.sync()

    written, stream = [], io.TextIOWrapper(io.BufferedWriter(Interrupting()))
    program = lambda observe: mlusim.Device("MLU370-X4").launch(talking, observe=observe)  # noqa: E731
    with contextlib.redirect_stdout(stream), console_on(program) as console:
        answer = says(console, "run")
        print("behind it", flush=True)  # noqa: T201

    assert answer.startswith("interrupted\ntask 0 in talking")
    assert b"started\nbehind it\n" == b"".join(written)


def test_a_breakpoint_in_a_kernel_of_a_later_launch():
    """A script's functions can be named before they are launched, by name and by line."""
    script = Path(mlusim.__file__).parents[1] / "examples" / "11_elementwise.py"
    session = DebugSession(ScriptProgram(str(script)))
    console = Console(session)
    assert "transpose" not in says(console, "info functions")
    last = next(n for n, text in enumerate(script.read_text().splitlines(), 1) if "def transpose" in text) + 2

    assert "breakpoint 1: transpose" == says(console, "break transpose")
    assert f"11_elementwise.py:{last}" in says(console, f"break {last}")
    says(console, "run")
    assert "transpose" == session.recorded.kernel
    session.close()
