"""The host library's context, and what it is told about tensors."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import float32, kernel
from mlusim.errors import LaunchError, UsageError
from mlusim.host import Handle, Status, TensorDescriptor
from mlusim.host.library import LAYOUTS


@kernel
def idle(mlu):
    """Do nothing."""


@kernel
def fails(mlu):
    """Declare more than there is."""
    mlu.nram(float32, 1 << 30)


@pytest.mark.parametrize(
    ("board", "cores", "clusters", "nram"), [("MLU370-X4", 4, 8, 655360), ("MLU590-H8", 4, 12, 393216)]
)
def test_a_handle_knows_its_board(board, cores, clusters, nram):
    """The capabilities are those that the vendor's library reports."""
    handle = Handle(board)

    assert (cores, clusters, nram) == (handle.cores_per_cluster, handle.clusters, handle.nram_size)
    assert board == handle.board.name == handle.device.board.name
    assert ("", []) == (handle.last_error, handle.launches)


def test_a_handle_keeps_its_launches():
    """Each launch that came to its end, in order, with the options of the handle; a fault leaves none."""
    handle = Handle(seed=7, effects="eager")
    first = handle.launch(idle, (4, 2, 1))
    with pytest.raises(mlusim.errors.OutOfMemory):
        handle.launch(fails, (4, 1, 1))
    second = handle.launch(idle, (3, 1, 1), mlusim.BLOCK)

    assert [first, second] == handle.launches
    assert [("UNION1", 7, "eager"), ("BLOCK", 7, "eager")] == [
        (launch.kind, launch.seed, launch.effects) for launch in handle.launches
    ]


@pytest.mark.parametrize("observe", ["memcheck", ["memcheck"], iter(["memcheck"])])
def test_every_launch_is_observed(observe):
    """One name, or several; also from an iterator, which a second launch would find empty."""
    handle = Handle(observe=observe)
    observers = [[o.name for o in handle.launch(idle, (4, 1, 1)).observers] for _ in range(2)]

    assert [["memcheck"], ["memcheck"]] == observers


def test_wrong_options_are_refused_at_the_launch():
    """As by a device."""
    with pytest.raises(LaunchError, match="observe = 5 is not a sequence"):
        Handle(observe=5).launch(idle, (4, 1, 1))
    with pytest.raises(UsageError, match="no board is called 'MLU999'"):
        Handle("MLU999")


def test_status_has_the_vendor_s_numbers():
    """Zero is success; the names are in the vendor's order."""
    assert list(range(9)) == [status.value for status in Status]
    assert Status(0) is Status.MLUOP_STATUS_SUCCESS
    assert all(status.name.startswith("MLUOP_STATUS_") for status in Status)


@pytest.mark.parametrize(
    ("shape", "rank", "size"),
    [((), 0, 1), ((3,), 1, 3), ((2, 0, 5), 3, 0), ([np.int64(2), 3], 2, 6), ((1 << 40, 1 << 40), 2, 1 << 80)],
)
def test_rank_and_size(shape, rank, size):
    """Sizes multiply without overflow; no dimensions are one element."""
    desc = TensorDescriptor(shape, "float")

    assert (rank, size) == (desc.rank, desc.size)
    assert all(type(n) is int for n in desc.shape)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("half", "half"),
        (np.float32, "float"),
        (np.dtype(np.int32), "int32"),
        (mlusim.bang.bfloat16, "bfloat16"),
        (np.float64, "float64"),
        ("bool", "bool"),
        (np.dtype(">f4"), ">f4"),
    ],
)
def test_dtypes(dtype, expected):
    """Types of the board in the vendor's spelling, others by NumPy's name, for the checks to refuse."""
    assert expected == str(TensorDescriptor((2,), dtype).dtype)


@pytest.mark.parametrize(
    ("shape", "strides", "contiguous"),
    [
        ((2, 3), None, True),
        ((2, 3), (3, 1), True),
        ((2, 3), [np.int32(3), 1], True),
        ((2, 3), (1, 2), False),
        ((2, 3), (4, 1), False),
        ((1, 3), (99, 1), True),
        ((2, 1), (1, 99), True),
        ((2, 0), (7, 7), True),
        ((), (), True),
        ((2,), (0,), False),
        ((2,), (-1,), False),
    ],
)
def test_contiguous(shape, strides, contiguous):
    """Dense row-major order; the stride of a dimension of size 1 does not matter, no elements are dense."""
    assert contiguous is TensorDescriptor(shape, "float", strides=strides).contiguous


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"shape": 5}, "shape 5 is not a sequence of integers"),
        ({"shape": "23"}, "shape '23' is not a sequence of integers"),
        ({"shape": (2.5,)}, r"shape \(2.5,\) is not a sequence of integers"),
        ({"shape": (2, None)}, "is not a sequence of integers"),
        ({"shape": (-1, 2)}, "has a negative size"),
        ({"strides": (1.0, 1)}, r"strides \(1.0, 1\) is not a sequence of integers"),
        ({"strides": 3}, "strides 3 is not a sequence of integers"),
        ({"strides": (1,)}, r"strides \(1,\) are 1 numbers for 2 dimensions"),
        ({"dtype": None}, "None is not a dtype"),
        ({"dtype": "f4,,"}, "'f4,,' is not a dtype"),
        ({"dtype": 3}, "3 is not a dtype"),
        ({"layout": "NHCW"}, "layout 'NHCW' is unknown; use one of ARRAY, NHWC"),
        ({"layout": None}, "layout None is unknown"),
    ],
)
def test_wrong_descriptions_are_refused(wrong, sentence):
    """Nothing is rounded, nothing is guessed."""
    with pytest.raises(UsageError, match=sentence):
        TensorDescriptor(**{"shape": (2, 3), "dtype": "float"} | wrong)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    """Every layout of the vendor's library is taken as it is."""
    assert layout == TensorDescriptor((1, 2, 3, 4), "half", layout).layout


def test_a_status_prints_its_name():
    """A status is a number too, as in the vendor's header, though its name says more."""
    assert "MLUOP_STATUS_BAD_PARAM" == f"{Status.MLUOP_STATUS_BAD_PARAM}" == str(Status(3))
    assert 3 == Status.MLUOP_STATUS_BAD_PARAM
