"""Everything that a caller may pass to a device works, and everything else is refused with a message."""

import functools
import math
import sys

import numpy as np
import pytest

import mlusim
from mlusim import BLOCK
from mlusim.bang import kernel
from mlusim.errors import LaunchError, OutOfMemory, UsageError
from mlusim.kernel_frames import kernel_site


@pytest.fixture
def device():
    """Give an MLU370-X4."""
    return mlusim.Device("MLU370-X4")


@kernel
def idle(mlu, *args):
    """Do nothing."""


@kernel
def two(mlu, a, b):
    """Take two arguments."""


@pytest.mark.parametrize("how", ["put", "share"])
@pytest.mark.parametrize(
    ("array", "sentence"),
    [
        ([[1, 2], [3]], "is not an array"),
        (None, "not an element type of BANG C"),
        ("abc", "not an element type of BANG C"),
        (2**70, "not an element type of BANG C"),
        (1.5, "not an element type of BANG C"),
        (np.zeros(3, bool), "not an element type of BANG C"),
        (np.zeros(3, ">f4"), "change the byte order"),
        (np.zeros(3, [("a", "i4")]), "not an element type of BANG C"),
        (np.array([None]), "not an element type of BANG C"),
    ],
)
def test_what_no_memory_can_hold_is_refused(device, how, array, sentence):
    """Ragged lists, objects, texts, structures, the other byte order."""
    with pytest.raises(UsageError, match=sentence):
        getattr(device, how)(array)


@pytest.mark.parametrize("how", ["put", "share"])
@pytest.mark.parametrize(
    "array",
    [
        np.array(3, np.float32),
        np.zeros((0, 4), np.int8),
        np.broadcast_to(np.float32(1), (3, 4)),
        np.arange(16, dtype=np.float32).reshape(4, 4)[::2, ::-1],
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.frombuffer(b"12345678", np.uint16),
        [[1, 2], [3, 4]],
    ],
    ids=["0-d", "empty", "strides of 0", "reversed", "Fortran", "read-only", "list"],
)
def test_every_arrangement_of_numbers_comes_back(device, how, array):
    """Shape, dtype and values survive whatever the strides are."""
    back = device.get(getattr(device, how)(array))

    assert np.asarray(array).dtype == back.dtype
    assert np.shape(array) == back.shape
    assert np.array_equal(array, back)


def test_elements_lie_where_the_device_has_them(device):
    """Without a copy: what is written to GDRAM later is seen, and a tensor that was freed has none."""
    tensor = device.put(np.arange(6, dtype=np.int32).reshape(2, 3))
    seen, copied = device.elements(tensor), device.get(tensor)
    device.set(tensor, 0)

    assert seen.shape == (2, 3)
    assert not seen.any()
    assert copied.tolist() == [[0, 1, 2], [3, 4, 5]]
    device.free(tensor)
    with pytest.raises(UsageError, match="was freed"):
        device.elements(tensor)


@pytest.mark.parametrize("shape", [2.5, (2.5, 3), "34", None, (None,), {2}, np.array(3), [[1]], object()])
def test_what_is_no_shape_is_refused(device, shape):
    """A size is an integer; nothing is rounded to one."""
    with pytest.raises(UsageError, match="is not a shape; give an integer or a sequence of them"):
        device.empty(shape, "float")


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 40), (1 << 32, 1 << 32), 1 << 70, (1 << 31, 1 << 31, 4)])
def test_huge_shapes_do_not_wrap_around(device, shape):
    """The bytes of a shape are counted without overflow, so more than fits never becomes a tensor."""
    with pytest.raises(OutOfMemory) as caught:
        device.empty(shape, "float")

    assert f"{4 * math.prod(np.atleast_1d(np.array(shape, object)))} bytes" in str(caught.value)


@pytest.mark.parametrize("dtype", [None, "abc(", "f4,,", ("f4", (2, -1)), {}, [], 5, object()])
def test_what_is_no_element_type_is_refused(device, dtype):
    """Whatever NumPy makes of it, the sentence is the same."""
    with pytest.raises(UsageError, match="is not an element type of BANG C; use one of half"):
        device.empty(3, dtype)


@pytest.mark.parametrize("value", [256, -1, "x", None, 1.5, b"a"])
def test_memset_takes_bytes(device, value):
    """A value outside 0 to 255 is refused and nothing changes."""
    tensor = device.put(np.arange(4, dtype=np.int8))

    with pytest.raises(UsageError, match="is not a byte"):
        device.set(tensor, value)
    assert [0, 1, 2, 3] == device.get(tensor).tolist()


def test_memset_of_a_lent_array_is_refused(device):
    """The host's own array does not change behind its back."""
    host = np.arange(4, dtype=np.int32)

    with pytest.raises(UsageError, match="lent with share"):
        device.set(device.share(host), 1)
    assert [0, 1, 2, 3] == host.tolist()


def test_a_freed_tensor_is_nothing_any_more(device):
    """A freed tensor cannot be pointed to, read or freed again."""
    tensor = device.put(np.zeros(4, np.float32))
    device.free(tensor)

    for use in (
        lambda: tensor.ptr,
        lambda: tensor + 1,
        lambda: device.get(tensor),
        lambda: device.free(tensor),
    ):
        with pytest.raises(UsageError, match="was freed"):
            use()


def test_what_a_launch_uses_cannot_be_freed(device):
    """Neither freed nor taken while a kernel may look at it; afterwards it can."""
    tensor, other = device.put(np.arange(4, dtype=np.int32)), device.put(np.zeros(4, np.int32))

    def body(mlu, pointer):
        for end in (device.free, device.take):
            with pytest.raises(UsageError, match="is an argument of a launch that runs"):
                end(tensor)
        device.free(other)
        assert 1 == pointer[0]

    device.launch(body, args=(tensor + 1,))

    assert [0, 1, 2, 3] == device.take(tensor).tolist()


def test_a_tensor_is_no_host_array(device):
    """NumPy does not make an object of it; the sentence says how to get the values."""
    tensor = device.put(np.zeros(4, np.float32))

    with pytest.raises(UsageError, match=r"copy it to the host with device\.get"):
        np.asarray(tensor)
    assert (tensor + 1) == (1 + tensor) == (np.int64(1) + tensor)


@pytest.mark.parametrize(
    ("launch", "sentence"),
    [
        ({"args": 5}, "args = 5 is not a sequence"),
        ({"args": None}, "args = None is not a sequence"),
        ({"args": "ab"}, r"is one argument; give a sequence, as \(argument,\)"),
        ({"observe": 3}, "observe = 3 is not a sequence"),
        ({"kind": np.zeros(3)}, "is not a task type"),
        ({"kind": []}, "is not a task type"),
        ({"effects": np.zeros(2)}, "use 'late' or 'eager'"),
        ({"effects": []}, "use 'late' or 'eager'"),
        ({"seed": 1.5}, "seed = 1.5 is not an integer"),
    ],
)
def test_wrong_arguments_of_a_launch_are_refused(device, launch, sentence):
    """Before anything runs, with the name of the argument."""
    with pytest.raises(LaunchError, match=sentence):
        device.launch(idle, **launch)


def test_one_tensor_instead_of_a_sequence_is_refused(device):
    """The forgotten comma."""
    tensor = device.put(np.zeros(4, np.float32))

    for one in (tensor, tensor.ptr):
        with pytest.raises(LaunchError, match="is one argument; give a sequence"):
            device.launch(idle, args=one)


def test_numpy_integers_are_integers(device):
    """Sizes and seeds may come from NumPy."""
    launch = device.launch(idle, dim=(np.int64(2), np.int32(1), np.uint8(1)), seed=np.int64(3))

    assert ((2, 1, 1), 3) == (launch.dim, launch.seed)
    assert (5,) == device.empty(np.int64(5), "float").shape


@pytest.mark.parametrize(
    ("args", "sentence"),
    [
        (
            (1,),
            r"two\(mlu, a, b\) does not fit the 1 argument given behind mlu: missing a required argument: 'b'",
        ),
        ((1, 2, 3), "does not fit the 3 arguments given behind mlu: too many positional arguments"),
    ],
)
def test_arguments_that_a_kernel_does_not_take(device, args, sentence):
    """The kernel's signature is checked before the launch."""
    with pytest.raises(LaunchError, match=sentence):
        device.launch(two, args=args)


def test_a_body_that_would_not_run_is_no_kernel(device):
    """The call of a generator or a coroutine runs nothing, which must not pass for a launch."""

    def later(mlu):
        yield mlu

    async def never(mlu):
        mlu.sync()

    for body in (later, never):
        with pytest.raises(UsageError, match="is a generator or a coroutine"):
            kernel(body)
        with pytest.raises(UsageError, match="is a generator or a coroutine"):
            device.launch(body)
    with pytest.raises(UsageError, match="5 is not a function"):
        kernel(5)


def test_anything_callable_is_a_kernel(device):
    """A partial function and an object need no name of their own."""

    class Body:
        def __call__(self, mlu):
            mlu.sync()

    assert "partial" == device.launch(functools.partial(lambda mlu, a: None, a=1)).kernel
    assert "Body" == device.launch(Body()).kernel


def test_a_pointer_to_a_tensor_of_another_device_is_no_argument(device):
    """Two devices have the same addresses; the pointer knows whose it is."""
    other = mlusim.Device("MLU590-H8").put(np.zeros(4, np.float32))

    with pytest.raises(UsageError, match="a pointer into another device"):
        device.launch(idle, args=(other + 1,))


def test_on_chip_memory_of_a_launch_is_no_argument_of_another(device):
    """A launch inside a kernel cannot reach the outer core's NRAM, but its device's GDRAM it can."""
    tensor = device.put(np.zeros(4, np.int32))

    def inner(mlu, pointer):
        pointer[0] = pointer[0] + 1

    @kernel
    def outer(mlu, data):
        device.launch(inner, args=(data + 1,))
        device.launch(inner, args=(mlu.nram("int32", 4),))

    with pytest.raises(UsageError, match="a pointer into NRAM of another launch"):
        device.launch(outer, args=(tensor,))
    assert [0, 1, 0, 0] == device.get(tensor).tolist()


def test_launches_leave_no_memory_behind(device):
    """What a launch took on chip is free when it is over, whether it succeeded or not."""

    @kernel
    def fill(mlu, fails):
        pool.append(mlu.core.machine.pool)
        arenas.extend(mlu.core.arenas.values())
        mlu.nram("int8", mlu.MAX_NRAM_SIZE)
        mlu.shared("int8", mlu.MAX_SRAM_SIZE) if mlu.clusterDim else None
        if fails:
            raise ZeroDivisionError
        mlu.sync_all_ipu()

    for kind in (BLOCK, mlusim.UNION1):
        for fails in (False, True):
            pool, arenas = [], []
            try:
                device.launch(_ipu_only(fill), dim=4, kind=kind, args=(fails,))
            except ZeroDivisionError:
                assert fails
            held = [a for a in arenas if a.raw is not None]

            assert [] == held
            assert 0 < len(pool)
            assert all(not p._free for p in pool)


def _ipu_only(body):
    def guarded(mlu, *args):
        if mlu.is_ipu():
            body(mlu, *args)

    return guarded


def test_kernels_beside_the_package_are_kernels():
    """Only files inside mlusim's own directory are the machine's; a package called mlusim_more is not."""
    path = sys.modules["mlusim"].__file__.replace("mlusim/__init__.py", "mlusim_more/kernels.py")
    names = {"kernel_site": kernel_site}
    exec(compile("def where():\n    return kernel_site()\n", path, "exec"), names)  # noqa: S102 - a file that is not there

    assert (path, 2) == names["where"]()
