"""Names for memory: declarations by their variables, and what a region and a tensor share."""

import pytest
from debug_tools import console_on, refuses, says

import mlusim
from mlusim.bang import Mlu, float32, half, kernel
from mlusim.debug import Console, DebugSession, OperatorProgram
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import case_generator


def inner(mlu: Mlu) -> None:
    """A function that knows none of its caller's variables."""
    mlu.sync()


@kernel
def declaring(mlu: Mlu) -> None:
    """Every way to keep a declaration."""
    alone = mlu.nram(float32, 8)
    first, second, third = mlu.nram(float32, 4), mlu.wram(half, 16), mlu.nram(float32, 4)
    pair = [mlu.nram(float32, 2) for _ in range(2)]
    both = [mlu.nram(float32, 3), mlu.nram(float32, 3)]
    annotated: object = mlu.ldram(float32, 4)
    for value, one in enumerate((alone, first, third, *pair, *both)):
        mlu.bang_write_value(one, 2, float32(value))
    mlu.bang_write_value(mlu.nram(float32, 1), 1, float32(9))
    inner(mlu)
    del second, annotated


def declaring_program(observe):
    """One task."""
    mlusim.Device("MLU370-X4").launch(declaring, observe=observe)


@pytest.fixture
def neighbours():
    """three_interpolate_backward behind its first copy: it has tensors and regions of the same names."""
    spec = find_operator("three_interpolate_backward")
    inputs, params = spec.cases[0].make(case_generator(spec.cases[0]))
    session = DebugSession(OperatorProgram(spec, inputs, params))
    console = Console(session)
    says(console, "break bang_transpose task 1", "run")
    yield console
    session.close()


def test_declarations_are_called_by_their_variables():
    """In tables, in what instructions touch, and in expressions of another function."""
    with console_on(declaring_program) as console:
        says(console, "break inner", "run")
        rows = [text.split()[0] for text in says(console, "info regions").splitlines()[1:]]

        assert {"alone", "first", "second", "third", "pair[0]", "pair[1]", "both[0]", "both[1]"} < set(rows)
        assert "annotated" in rows
        assert any(
            row.startswith("tests/debug/test_debug_names.py:") for row in rows
        )  # the last one is not kept
        assert "third[0:2]" in says(console, "history 40")
        assert "pair[1][0:2]" in says(console, "history 40")
        assert says(console, "x/2f third").endswith(": 2  2")
        assert says(console, "print first[1]").endswith("= 1.0 (float32)")
        assert "third" in console.complete("x thi")
        says(console, "up", "watch pair[1]", "watch pair[1] + 1")
        spans = [made.location.span for number, made in console.session.breakpoints.items() if number > 1]
        assert [8, 4] == [span.nbytes for span in spans]


def test_a_region_and_a_tensor_of_one_name_are_told_apart(neighbours):
    """What an instruction touches says which, and so may the user."""
    says(neighbours, "delete", "break memcpy task 1", "reverse-continue")
    answer = says(neighbours, "where") + neighbours.stop_text()
    assert "writes region.indices[0:192], reads tensor.indices[192:384]" in answer

    assert says(neighbours, "x/2d region.indices").startswith("0x2")
    assert says(neighbours, "x/2d tensor.indices").startswith("0x1000")
    assert "NRAM" in says(neighbours, "watch region.indices")
    assert "GDRAM" in says(neighbours, "watch tensor.indices[0, 0, 2]")
    assert "as the host gave it" in says(neighbours, "who-wrote tensor.indices[5]")
    assert says(neighbours, "print tensor.indices").startswith("tensor.indices = int32 * GDRAM")
    refuses(neighbours, "x region.nothing")


def test_a_shape_goes_with_the_tensor_only(neighbours):
    """Several indices are for the tensor; the region of that name has one."""
    says(neighbours, "next")
    assert "has 3 indices; give one" in refuses(neighbours, "x/1 region.weights[0, 0, 2]")
    assert says(neighbours, "x/1 tensor.weights[1, 0, 2]").startswith("0x1000")
