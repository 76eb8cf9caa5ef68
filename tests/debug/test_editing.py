"""Changes by hand: variables and memory, which every later visit sees, and the program after the launch."""

import numpy as np
from debug_kernels import line, scale_program
from debug_tools import console_on, refuses, says


def test_a_variable_is_changed_and_the_run_forks():
    """`set var` changes what the kernel computes from there on; going back and forth keeps it."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-add')} task 1", "run")
        told = says(console, "set var times = 50")
        assert "launch 1 forks here" in told
        assert "times = 50" == says(console, "print times")
        says(console, f"break {line('scale-store')} task 1", "continue")
        after = says(console, "print buffer[1]")
        says(console, "goto begin")
        assert "times = 50" == says(console, "continue", "print times")

        assert "buffer[1] = 84.0 (float32)" == after  # 2 * 17 + 50
        assert after == says(console, "continue", "print buffer[1]")


def test_memory_is_changed_element_by_element():
    """`set PLACE = EXPR` takes one value or several, of the task in focus; a later launch reads what came of it."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-store')} task 2", "run", "set buffer[0:2] = [7, 9]")
        assert "7, 9" in says(console, "print buffer")
        told = says(console, "set data[1] = 3")
        assert "forks" not in told
        says(console, "delete", "break task 0", "continue")
        assert 2 == console.session.position.launch

        assert "data[32:35] = float32[3] [ 7.  9. 69.]" == says(console, "print data[32:35]")


def test_the_program_goes_on_with_the_fork():
    """What the host gets back is what the changed run has computed."""
    with console_on(scale_program) as console:
        says(console, "break bang_add_scalar task 3", "continue 2")
        assert 2 == console.session.position.launch
        says(console, "set buffer[0:16] = 0", "delete", "continue")
        result = console.session.host.result

        assert np.array_equal(np.ones(16), result[48:])
        assert not np.array_equal(np.ones(16), result[:16])


def test_changes_that_cannot_be_are_refused():
    """One sentence each, and nothing has changed."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-store')} task 2", "run")
        before = console.session.digest()
        for words, sentence in (
            ("set", "set takes"),
            ("set var nothing = 1", "there is no variable nothing"),
            ("set buffer[0] = 'a'", "cannot hold"),
            ("set buffer[9999] = 1", "there is no declared memory"),
            ("set var times = nothing", "nothing"),
        ):
            assert sentence in refuses(console, words)

        assert before == console.session.digest()
        says(console, "delete", "continue")
        assert "no task is running here" in refuses(console, "set out[0] = 1")


def test_expressions_are_displayed_at_every_stop():
    """`display` shows them until `undisplay`; where one has no value, why."""
    with console_on(scale_program) as console:
        says(console, f"break {line('scale-call')} task 1", "run")
        assert "1: share * 2 = 32" == says(console, "display share * 2")
        says(console, "display times")
        stop = says(console, "next")

        assert "1: share * 2 = 32\n2: times = 0" in stop or "2: times = 1" in stop
        assert "times" not in says(console, "undisplay 2")
        assert "buffer: float * NRAM" == says(console, "whatis buffer")
        assert "there is no display '7'" in refuses(console, "undisplay 7")
