"""Commands at breakpoints, breakpoints in files, one command for all tasks, values under a watchpoint."""

from debug_kernels import line, scale_program, staged_program
from debug_tools import console_on, refuses, says


def test_commands_of_a_breakpoint_are_executed_where_it_stops():
    """Typed until `end` or behind it; one that moves brings those of the next stop."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-add')}", "commands", "print mlu.taskId", "continue")
        assert "breakpoint 1: print mlu.taskId; continue" == says(console, "end")
        answer = says(console, "run")
        assert ["mlu.taskId = 0", "mlu.taskId = 1", "mlu.taskId = 2", "mlu.taskId = 3"] * 2 == [
            text for text in answer.splitlines() if text.startswith("mlu.taskId")
        ]
        says(console, "commands 1 info line; whatis buffer")
        assert "buffer: float * NRAM" in says(console, "run")
        assert "breakpoint 1: no commands" == says(console, "commands 1 ;")
        assert "there is no breakpoint '7'" in refuses(console, "commands 7")


def test_breakpoints_are_kept_in_a_file(tmp_path):
    """Places, conditions, tasks, commands and whether they are switched on."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-call')} task 2 if count > 3", "commands 1 where")
        says(console, "tbreak bang_add_scalar", "watch gdram+0", "disable 3")
        before = says(console, "info breakpoints")
        assert "3 written" in says(console, f"save breakpoints {tmp_path}/stops")
        says(console, "delete", f"source {tmp_path}/stops")
        numbered = (
            says(console, "info breakpoints").replace("point 4", "point 1").replace("point 5", "point 2")
        )

        assert before == numbered.replace("point 6", "point 3")
        assert {4: ["where"]} == {n: c for n, c in console.attached.items() if n > 3}
        assert "save takes" in refuses(console, "save")


def test_one_command_for_several_tasks():
    """The focus comes back; a command that moves ends it."""
    with console_on(staged_program) as console:
        says(console, f"break {line('staged-barrier')} task 3", "run")
        answer = says(console, "task apply all print mlu.taskId")
        assert ["task 0:", "mlu.taskId = 0", "task 0m:"] == answer.splitlines()[:3]
        assert "task 2:\nmlu.taskId = 2" == says(console, "task apply 2 print mlu.taskId")
        assert "task 3" == console.session.focus
        assert "has moved" in says(console, "task apply all step")
        assert "task apply takes" in refuses(console, "task apply all")


def test_a_watchpoint_shows_the_value_of_before_and_of_behind():
    """Of one element, of several, and of an asynchronous copy that lands."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-call')} task 1", "run", "watch buffer[3]")
        assert "buffer[3]: 19 -> 38" in says(console, "continue")
        assert "buffer[3]: 38 -> 39" in says(console, "continue")
        says(console, "delete", "watch out")
        answer = says(console, "continue")

        assert "out[16]: poison -> 33" in answer
        assert "and 12 more" in answer
