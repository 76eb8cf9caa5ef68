"""Rows of parameter checks: what each refuses, with which status and sentence, and in which order."""

import numpy as np
import pytest

from mlusim.errors import UsageError
from mlusim.host import Handle, Status, TensorDescriptor, checks as c

BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM
NOT_SUPPORTED = Status.MLUOP_STATUS_NOT_SUPPORTED
SUCCESS = Status.MLUOP_STATUS_SUCCESS
NULL = None


@pytest.fixture
def handle():
    """Give a handle on an MLU370-X4 that remembers an older failure."""
    made = Handle("MLU370-X4")
    made.last_error = "of an older call"
    return made


def desc(*shape, dtype="float", **more):
    """Describe a tensor."""
    return TensorDescriptor(shape, dtype, **more)


GOOD = {
    "x_desc": desc(2, 3),
    "y_desc": desc(3, 2),
    "z_desc": desc(2, 3),
    "x": Handle("MLU370-X4").device.empty((2, 3), "float32"),
    "size": [0],
}

ROWS = [
    (c.not_null("x_desc"), {"x_desc": NULL}, BAD_PARAM, "x_desc is a null descriptor"),
    (c.not_null("x_desc", "x"), {"x": NULL}, BAD_PARAM, "x is a null pointer"),
    (c.out("size"), {"size": NULL}, BAD_PARAM, "size is a null pointer"),
    (c.out("size"), {"size": []}, BAD_PARAM, "cannot receive a number; give a list of one element"),
    (c.out("size"), {"size": 5}, BAD_PARAM, "size = 5 cannot receive a number"),
    (c.rank("x_desc", 2), {"x_desc": desc(2)}, BAD_PARAM, "x_desc has 1 dimension; it must have 2"),
    (
        c.rank("x_desc", 2, NOT_SUPPORTED), {"x_desc": desc()}, NOT_SUPPORTED,
        "x_desc has 0 dimensions; it must have 2",
    ),
    (
        c.dim("x_desc", 1, lambda a: 3, "three of them"), {"x_desc": desc(2, 4)}, BAD_PARAM,
        "x_desc dim 1 is 4; it must be 3, three of them",
    ),
    (
        c.same_dim("x_desc", 0, "y_desc", 1), {"y_desc": desc(3, 5)}, BAD_PARAM,
        "x_desc dim 0 is 2; it must be 5, dim 1 of y_desc",
    ),
    (
        c.same_shape("x_desc", "z_desc"), {"z_desc": desc(2, 4)}, BAD_PARAM,
        r"x_desc is \[2, 3\]; it must be \[2, 4\], as z_desc",
    ),
    (
        c.dtype("x_desc", "half", "float"), {"x_desc": desc(2, 3, dtype="int32")}, BAD_PARAM,
        "x_desc is int32; it must be half or float",
    ),
    (
        c.dtype("x_desc", "half", "float"), {"x_desc": desc(2, 3, dtype="float64")}, BAD_PARAM,
        "x_desc is float64; it must be half or float",
    ),
    (
        c.same_dtype("x_desc", "z_desc"), {"z_desc": desc(2, 3, dtype="half")}, BAD_PARAM,
        "x_desc is float; it must be half, as z_desc",
    ),
    (
        c.layout("x_desc", "ARRAY"), {"x_desc": desc(2, 3, layout="NC")}, BAD_PARAM,
        "x_desc has layout NC; it must have ARRAY",
    ),
    (
        c.contiguous("x_desc", "y_desc"), {"y_desc": desc(3, 2, strides=(1, 3))}, NOT_SUPPORTED,
        "y_desc is strided; make the tensor contiguous",
    ),
    (
        c.not_large("x_desc"), {"x_desc": desc(1 << 16, 1 << 15)}, NOT_SUPPORTED,
        "x_desc has 2147483648 elements; it must have fewer than 2147483648",
    ),
    (
        c.architectures("mtp_220", "mtp_592"),
        {},
        Status.MLUOP_STATUS_ARCH_MISMATCH,
        "MLU370-X4 is mtp_372; the architectures supported are mtp_220, mtp_592",
    ),
    (c.demand(lambda a: a.x_desc.size == 1, "one"), {}, BAD_PARAM, "one"),
]  # fmt: skip


@pytest.mark.parametrize(("row", "wrong", "status", "sentence"), ROWS)
def test_each_row_refuses_what_it_is_for(handle, row, wrong, status, sentence):
    """The status is the row's, the sentence begins with the function and stays in the handle."""
    found = c.verify(handle, "mluOpSample", [row], GOOD | wrong)

    assert status is found
    with pytest.raises(AssertionError, match=f"^mluOpSample: .*{sentence}"):
        raise AssertionError(handle.last_error)


@pytest.mark.parametrize(("row", "wrong"), [(row, wrong) for row, wrong, _, _ in ROWS if wrong])
def test_each_row_lets_good_arguments_pass(handle, row, wrong):
    """And clears the sentence of an older failure."""
    assert c.verify(handle, "mluOpSample", [row], GOOD) is None
    assert "" == handle.last_error


def test_the_first_row_that_fails_wins(handle):
    """Rows may be nested; they are tried in their order."""
    rows = (c.not_null("x"), [c.rank("x_desc", 3), (c.rank("y_desc", 4),)], c.not_null("x_desc"))

    assert BAD_PARAM is c.verify(handle, "f", rows, GOOD | {"y_desc": NULL})
    assert "f: x_desc has 2 dimensions; it must have 3" == handle.last_error


def test_nothing_to_do_ends_with_success(handle):
    """What comes behind a stop is not looked at, and no sentence is left."""
    rows = (c.stop(lambda a: a.x_desc.size == 0), c.not_null("x"))

    assert SUCCESS is c.verify(handle, "f", rows, {"x_desc": desc(0, 4), "x": NULL})
    assert "" == handle.last_error
    assert BAD_PARAM is c.verify(handle, "f", rows, {"x_desc": desc(1, 4), "x": NULL})


def test_a_call_like_one_that_passed_is_not_checked_again(handle):
    """But one with another descriptor, number, policy, board or null pointer is; and rows in a list, which may change, are always asked."""
    asked = []
    row = c.demand(lambda a: asked.append(1) is None and not c.is_null(a, "x") and a.n < 3, "wrong")
    good = {"x_desc": desc(2, 3), "x": handle.device.empty((2, 3), "float"), "n": 1}

    def calls(rows, *others, by=handle):
        asked.clear()
        return [c.verify(by, "f", rows, good | other) for other in others], len(asked)

    other = {"x_desc": desc(2, 3), "x": handle.device.empty((9,), "half"), "n": 1}
    assert ([None] * 3, 1) == calls(rows := (row, [row][:0]), {}, {}, other)
    assert ([None, BAD_PARAM, BAD_PARAM], 3) == calls(rows, {"x_desc": desc(3, 2)}, {"x": NULL}, {"n": 3})
    assert ([None, None], 1) == calls(rows, {"n": True}, {})
    assert ([None], 1) == calls(rows, {}, by=Handle("MLU290"))
    assert ([None], 1) == calls(rows, {}, by=Handle("MLU370-X4", policy="least"))
    assert ([None, None], 2) == calls([row], {}, {})
    assert "" == handle.last_error


def test_a_call_whose_memories_a_check_looks_at_is_asked_each_time(handle):
    """Calls alike may then differ: whether two pointers are one, and what shape a tensor has."""
    first, other = (handle.device.empty((n, 3), "float") for n in (2, 4))
    apart = (c.demand(lambda a: a.x is not a.y, "x is y"),)
    rows = (c.demand(lambda a: a.x.shape[0] == 2, "x has another number of rows"),)
    asked = []
    null = (c.demand(lambda a: asked.append(1) is None and c.is_null(a, "x"), "x is not null"),)

    pairs = [c.verify(handle, "f", apart, {"x": first, "y": y}) for y in (other, first, other, first)]
    shapes = [c.verify(handle, "f", rows, {"x": x}) for x in (first, other, first, other)]
    nulls = [c.verify(handle, "f", null, {"x": x}) for x in (NULL, first, NULL)]

    assert [None, BAD_PARAM] * 2 == pairs == shapes
    assert [None, BAD_PARAM, None] == nulls
    assert 2 == len(asked)


def test_strides_and_sizes_of_null_descriptors_are_not_looked_at(handle):
    """Whether a descriptor may be null is another row's business."""
    rows = (c.contiguous("x_desc"), c.not_large("x_desc"))

    assert c.verify(handle, "f", rows, {"x_desc": NULL}) is None


def test_without_a_handle_there_is_no_place_for_a_sentence():
    """The status is all that comes back, as in C."""
    assert BAD_PARAM is c.verify(None, "f", (), {})


def test_what_c_would_not_compile_is_refused(handle):
    """A number is not a handle, an array no descriptor, and host memory no device memory."""
    with pytest.raises(UsageError, match="f: 5 is not a handle"):
        c.verify(5, "f", (), {})
    with pytest.raises(UsageError, match=r"f: x_desc = \[2, 3\] is not a descriptor; give TensorDescriptor"):
        c.verify(handle, "f", (), {"x_desc": [2, 3]})
    for name, value in (("x", 3), ("x", np.zeros((2, 3), np.float32)), ("workspace", bytearray(8))):
        with pytest.raises(
            UsageError, match=rf"f: {name} = .* is not a device memory; make it with handle.device"
        ):
            c.verify(handle, "f", (), {"x_desc": desc(2, 3), name: value})
