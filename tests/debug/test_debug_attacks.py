"""What attacks on the debugger have found: merged operands, wrong counts, hostile lines."""

import numpy as np
from debug_kernels import counting_program, line, scale_program
from debug_tools import console_on, refuses, says

import mlusim
from mlusim.bang import GDRAM2NRAM, Mlu, Ptr, float32, kernel
from mlusim.debug.run import runs


@kernel
def halves(mlu: Mlu, src: Ptr, count: int) -> None:
    """Adds the two halves of a buffer, which lie behind each other."""
    both = mlu.nram(float32, 3 * count)
    mlu.memcpy(both, src, 2 * count * 4, GDRAM2NRAM)
    mlu.bang_add(both + 2 * count, both, both + count, count)


def halves_program(observe):
    """One task on a matrix of 4 by 16."""
    device = mlusim.Device("MLU370-X4")
    src = device.put(np.arange(64, dtype=np.float32).reshape(4, 16))
    device.launch(halves, 1, mlusim.BLOCK, (src, 32), observe=observe)


def test_operands_that_touch_each_other_are_told_apart():
    """Two sources behind each other are two ranges, not one that looks too long."""
    with console_on(halves_program) as console:
        shown = says(console, "break bang_add", "run")

        assert "writes both[64:96], reads both[0:32]; both[32:64]" in shown


def test_a_form_without_a_count_shows_all_of_a_run():
    """`x/f p[2:8]` shows the six elements, in the form that was asked for."""
    with console_on(halves_program) as console:
        says(console, "break bang_add", "run")

        assert ["2", "3", "4", "5", "6", "7"] == says(console, "x/f src[2:8]").split()[1:]
        assert ["2"] == says(console, "x/1f src[2:8]").split()[1:]


def test_one_element_is_a_number():
    """Indices with a comma give the element, a run an array."""
    with console_on(halves_program) as console:
        says(console, "break bang_add", "run")

        assert "src[1,2] = 18.0 (float32)" == says(console, "print src[1,2]")
        assert "src[1:3] = float32[2] [1. 2.]" == says(console, "print src[1:3]")


def test_a_place_before_the_start_is_no_matter_of_the_count():
    """The sentence names the offset."""
    with console_on(halves_program) as console:
        says(console, "break bang_add", "run")

        assert "check the offset" in refuses(console, "print src[-1]")


def test_any_count_of_steps_back_ends():
    """At the beginning of the task, or of the launch with `all`; the help says so."""
    with console_on(scale_program) as console:
        for words, where in (
            ("reverse-stepi 99999999", "task 2 begins"),
            ("reverse-step 99999999", "task 2 begins"),
            ("reverse-next 99999999", "there is nothing before this in the launch"),
            ("reverse-continue 99999999", "here the history begins"),
            ("reverse-stepi 99999999 all", "task 0 in scale"),
        ):
            says(console, "delete", f"break {line('scale-add')} task 2", "run")
            assert where in says(console, words)
        assert "the first launch" in says(console, "help rc")


def test_a_count_of_steps_back_is_that_many_steps(monkeypatch):
    """Three at once come to where three single ones come, few or more than a search keeps."""
    monkeypatch.setattr(runs, "KEPT", 600)
    with console_on(counting_program, rounds=700, tasks=1) as console:
        session = console.session
        says(console, f"break {line('counting-store')}", "run", "rsi", "rsi", "rsi")
        single = session.position
        says(console, "c", "rsi 3")
        assert single == session.position
        says(console, "c", "rs 1000")
        far = session.position
        says(console, "c", "rs 500", "rs 500")
        assert far == session.position
        says(console, "c", "rsi 1000")
        many = session.position
        says(console, "c", "rsi 500", "rsi 500")

        assert many == session.position


def test_hostile_lines_are_refused_in_a_sentence():
    """A very long expression and a NUL in a path are mistakes like any other."""
    with console_on(halves_program) as console:
        says(console, "break bang_add", "run")

        assert "split it" in refuses(console, "print " + "+".join(["1"] * 5000))
        assert "no NUL" in refuses(console, "source a\0b")
        assert "count = 32" == says(console, "print count")
