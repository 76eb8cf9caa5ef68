"""Breakpoints that wait for their file, stop at helpers, and know the variables of their place."""

import sys
import textwrap

import pytest
from debug_kernels import line, scale_program
from debug_tools import console_on, refuses, says

from mlusim.debug import Console, DebugSession, ScriptProgram

LATE = """
    import sys
    import mlusim
    from mlusim.bang import kernel

    @kernel
    def early(mlu):
        mlu.sync()

    device = mlusim.Device("MLU370-X4")
    device.launch(early)
    import late_kernels
    device.launch(late_kernels.final)
"""
KERNELS = """
    from mlusim.bang import float32, kernel, mluop_exp

    @kernel
    def final(mlu):
        buffer = mlu.nram(float32, 64)
        mlu.bang_write_value(buffer, 64, float32(1.0))
        mluop_exp(mlu, buffer, buffer, None, 0, 64)
"""
BOTH = """
    from pathlib import Path
    import numpy as np
    import mlusim
    from mlusim import bangc

    device = mlusim.Device("MLU370-X4")
    for kind, number in {"float": np.float32, "int": np.int32}.items():
        source = Path(__file__).with_name(f"{kind}.mlu")
        device.launch(bangc.load(source)[f"Part<{kind}>"], args=(device.put(np.zeros(1, number)),))
"""
ODD = """
    import mlusim
    from mlusim.bang import kernel

    class Lazy:
        def __getattr__(self, name):
            raise SystemExit(f"{name} was asked for")

    class Closed:
        @property
        def body(self):
            raise ValueError("closed")

    lazy, closed = Lazy(), Closed()

    @kernel
    def plain(mlu):
        lazy, closed
        mlu.sync()

    mlusim.Device("MLU370-X4").launch(plain)
"""


@pytest.fixture
def late(tmp_path):
    """A script whose second kernel is in a module that it imports behind its first launch."""
    (tmp_path / "late.py").write_text(textwrap.dedent(LATE))
    (tmp_path / "late_kernels.py").write_text(textwrap.dedent(KERNELS))
    session = DebugSession(ScriptProgram(str(tmp_path / "late.py")))
    yield Console(session)
    session.close()
    sys.modules.pop("late_kernels", None)


def test_a_line_of_a_file_that_is_not_loaded_is_kept(late):
    """It says that it waits, and stops once the file is there."""
    assert "breakpoint 1: late_kernels.py:7 (pending: no such file is loaded yet)" == says(
        late, "break late_kernels.py:7"
    )
    answer = says(late, "run")

    assert "Breakpoint 1" in answer
    assert "mlu.bang_write_value" in answer


def test_a_function_that_is_not_loaded_is_waited_for(late):
    """So is a name that no function has: the program may still load one."""
    assert "breakpoint 1: final (pending: no function of this name is loaded yet)" == says(
        late, "break final"
    )
    says(late, "break no_function_of_any_test", "break late_kernels.py:999")
    answer = says(late, "run")

    assert "Breakpoint 1, final" in answer
    assert "mlu.nram(float32, 64)" in answer
    assert says(late, "info breakpoints").splitlines()[1:] == [
        "breakpoint 2: no_function_of_any_test (pending: no function of this name is loaded yet)",
        "breakpoint 3: late_kernels.py:999 (pending: there is no code of a function at late_kernels.py:999; the last line with code is 8)",
    ]


def test_a_template_has_instances_that_are_loaded_later(tmp_path):
    """A breakpoint by its name stops in these, too."""
    (tmp_path / "part.h").write_text("template <typename T> __mlu_entry__ void Part(T *p) { p[0] = 1; }\n")
    for kind in ("float", "int"):
        text = f'#include "part.h"\ntemplate __mlu_entry__ void Part<{kind}>({kind} *p);\n'
        (tmp_path / f"{kind}.mlu").write_text(text)
    (tmp_path / "both.py").write_text(textwrap.dedent(BOTH))
    session = DebugSession(ScriptProgram(str(tmp_path / "both.py")))
    console = Console(session)
    said = says(console, "break Part", "run", "continue")
    session.close()

    assert "task 0 in Part<int> at part.h:1" in said


def test_a_line_without_code_of_a_file_that_is_not_loaded_becomes_one_of_it(late):
    """Once the file is there, the breakpoint is at the next line with code; one behind all functions waits."""
    says(late, "break late_kernels.py:5", "break late_kernels.py:999", "run")

    assert [6, None] == [getattr(b.location, "line", None) for b in late.session.breakpoints.values()]


def test_a_helper_of_the_library_is_a_place(late):
    """`break mluop_exp` stops at each line of the kernel that names it."""
    says(late, "break task 0", "continue", "continue", "delete 1")
    says(late, "break mluop_exp")

    assert "mluop_exp(mlu, buffer" in says(late, "continue")


def test_a_condition_is_checked_when_it_is_set():
    """Names that the function at the place does not have are refused; names of other places are not asked for."""
    with console_on(scale_program) as console:
        wrong = refuses(console, f"break {line('scale-add')} if tims > 1")
        says(console, f"break {line('scale-add')} if times > 1 and mlu.taskId == 2")

        assert "names tims, which scale does not have" in wrong
        assert "times" in wrong
        assert "scaled does not have" in refuses(console, "break scaled if buffer > 1")
        assert "does not have" in refuses(console, "condition 1 nothing")


def test_objects_of_a_script_are_not_asked_for_what_they_lack(tmp_path):
    """A module's lazy objects and properties may do anything; looking for functions asks none of them."""
    (tmp_path / "odd.py").write_text(textwrap.dedent(ODD))
    session = DebugSession(ScriptProgram(str(tmp_path / "odd.py")))
    console = Console(session)

    assert "odd.py:19" in says(console, "break odd.py:19")
    assert "Breakpoint 1" in says(console, "run")
    assert "plain" in says(console, "info functions")
    session.close()
