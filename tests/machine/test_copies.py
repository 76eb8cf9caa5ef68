"""Copies against a byte-by-byte model, their checks, and where asynchronous ones land."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.bang import (
    GDRAM2GDRAM,
    GDRAM2NRAM,
    GDRAM2SRAM,
    GDRAM2WRAM,
    LDRAM2LDRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    NRAM2SRAM,
    float32,
    int8,
    kernel,
)
from mlusim.errors import Fault, OutOfBounds, ReadOnly, RuleFault, Unsupported, WrongSpace

SPACE = 4096


def on_core(body, *args, board="MLU370-X4", **launch):
    """Run *body* as a kernel on one core and return the launch."""
    device = mlusim.Device(board)
    given_args = [device.put(a) if isinstance(a, np.ndarray) else a for a in args]
    return device.launch(kernel(body), args=given_args, **launch)


def model(dst, src, size, d0, s0, d_steps, s_steps):
    """The copy by definition: byte by byte, the source read whole first."""
    frozen = src.copy()
    d_at = [
        d0 + sum(i * s for i, (s, _) in zip(index, d_steps, strict=True))
        for index in np.ndindex(*[n for _, n in d_steps])
    ]
    s_at = [
        s0 + sum(i * s for i, (s, _) in zip(index, s_steps, strict=True))
        for index in np.ndindex(*[n for _, n in s_steps])
    ]
    for d, s in zip(d_at, s_at, strict=True):
        for byte in range(size):
            dst[d + byte] = frozen[s + byte]


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_two_d_copies_move_the_bytes_of_the_definition(data):
    """Any legal size, offset, stride and count moves what the byte model moves, blocking and not."""
    size = data.draw(st.integers(1, 40), "size")
    count = data.draw(st.integers(1, 12), "count")
    dst_stride = data.draw(st.integers(size, size + 24), "dst_stride")
    src_stride = data.draw(st.integers(0, 60), "src_stride")
    d0, s0 = data.draw(st.integers(0, 32), "d0"), data.draw(st.integers(0, 32), "s0")
    asynchronous = data.draw(st.booleans(), "async")
    source = np.random.default_rng(0).integers(0, 256, SPACE).astype(np.uint8).view(np.int8)
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(SPACE, np.int8))

    @kernel
    def copy(mlu, out, src):
        """Copy through NRAM, strided on the way in."""
        a = mlu.nram(int8, SPACE, values=[0])
        move = mlu.memcpy_async if asynchronous else mlu.memcpy
        move(a + d0, src + s0, size, GDRAM2NRAM, dst_stride, src_stride, count - 1)
        mlu.sync()
        mlu.memcpy(out, a, SPACE, NRAM2GDRAM)

    launch = device.launch(copy, args=(out, device.put(source)))
    expected = np.zeros(SPACE, np.int8)
    model(expected, source, size, d0, s0, [(dst_stride, count)], [(src_stride, count)])

    assert np.array_equal(expected, device.get(out))
    assert launch.traffic["GDRAM2NRAM"] == size * count


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_three_d_copies_move_the_bytes_of_the_definition(data):
    """3-D copies map the k-th source segment to the k-th destination segment."""
    size = data.draw(st.integers(1, 9))
    n1, n2 = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 4))
    swap = data.draw(st.booleans())
    m1, m2 = (n2, n1) if swap else (n1, n2)
    d0 = data.draw(st.integers(size, size + 8))
    d1 = data.draw(st.integers(d0 * n1, d0 * n1 + 16))
    s0, s1 = data.draw(st.integers(0, 30)), data.draw(st.integers(0, 90))
    source = np.random.default_rng(1).integers(-128, 128, SPACE).astype(np.int8)
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(SPACE, np.int8))

    @kernel
    def copy(mlu, out, src):
        """One 3-D copy and a plain one."""
        a = mlu.nram(int8, SPACE, values=[0])
        mlu.memcpy(a, src, size, GDRAM2NRAM, d0, n1 - 1, d1, n2 - 1, s0, m1 - 1, s1, m2 - 1)
        mlu.memcpy(out, a, SPACE, NRAM2GDRAM)

    device.launch(copy, args=(out, device.put(source)))
    expected = np.zeros(SPACE, np.int8)
    model(expected, source, size, 0, 0, [(d1, n2), (d0, n1)], [(s1, m2), (s0, m1)])

    assert np.array_equal(expected, device.get(out))


FAULTS = [
    (lambda m, a, g: m.memcpy(a, g, 40, NRAM2GDRAM), WrongSpace, "needs dst in GDRAM, but it points into NRAM.*GDRAM2NRAM"),
    (lambda m, a, g: m.memcpy(g, a, 40, NRAM2NRAM), WrongSpace, "needs dst in NRAM"),
    (lambda m, a, g: m.memcpy(a, g, 0, GDRAM2NRAM), RuleFault, "size is 0 bytes"),
    (lambda m, a, g: m.memcpy(a, None, 0, GDRAM2NRAM), RuleFault, "size is 0 bytes"),
    (lambda m, a, g: m.memcpy(a, g, -4, GDRAM2NRAM), RuleFault, "size is -4 bytes"),
    (lambda m, a, g: m.memcpy(a, g, 4.5, GDRAM2NRAM), RuleFault, "size = 4.5 is not an integer"),
    (lambda m, a, g: m.memcpy(a, g, 4, GDRAM2NRAM, 4, 8, -1), RuleFault, "segment count argument is -1"),
    (lambda m, a, g: m.memcpy(a, g, 4, GDRAM2NRAM, 4, 8, 65536), RuleFault, "0 to 65535"),
    (lambda m, a, g: m.memcpy(a, g, 8, GDRAM2NRAM, 4, 8, 3), RuleFault, "segments of 8 bytes, 4 bytes apart, overlap"),
    (lambda m, a, g: m.memcpy(a, g, 4, GDRAM2NRAM, 4), RuleFault, "takes no destination cluster"),
    (lambda m, a, g: m.memcpy(a, g, 4, GDRAM2NRAM, 4, 4), RuleFault, "2 numbers follow the direction"),
    (lambda m, a, g: m.memcpy(a, g, 4, "GDRAM2NRAM"), RuleFault, "is not a copy direction"),
    (lambda m, a, g: m.memcpy(a, 7, 4, GDRAM2NRAM), WrongSpace, "src is 7, which is not a pointer"),
    (lambda m, a, g: m.memcpy(a, g, 404, GDRAM2NRAM), OutOfBounds, r"reach 4 bytes past its end; legal: bytes \[0, 400\)"),
    (lambda m, a, g: m.memcpy(a - 1, g, 40, GDRAM2NRAM), OutOfBounds, "4 bytes before its start"),
    (lambda m, a, g: m.memcpy(a, g + 99, 8, GDRAM2NRAM), OutOfBounds, "src: .* reach 4 bytes past"),
    (lambda m, a, g: m.memcpy(a, g, 4, GDRAM2NRAM, 4, 40, 10), OutOfBounds, "src"),
    (lambda m, a, g: m.memcpy(a, g, 4, GDRAM2NRAM, 4, 1, 8, 1, 4, 2, 8, 0), RuleFault, "destination has 4 segments and the source 3"),
    (lambda m, a, g: m.memcpy(g, g, 4, GDRAM2SRAM), WrongSpace, "needs dst in SRAM"),
    (lambda m, a, g: m.memcpy(m.wram(float32, 64), g, 20, GDRAM2WRAM), RuleFault, "multiples of 16 bytes"),
    (lambda m, a, g: m.memcpy(m.ldram(float32, 4), m.ldram(float32, 4), 4, LDRAM2LDRAM), Unsupported, "no 1-D copy LDRAM2LDRAM"),
    (lambda m, a, g: m.memcpy_async(m.ldram(float32, 4), a, 4, mlusim.bang.NRAM2LDRAM), Unsupported, "asynchronous"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "kind", "sentence"), FAULTS)
def test_each_wrong_copy_has_its_own_sentence(call, kind, sentence):
    """Every way to get a copy wrong is a fault that says what, where, and what is legal."""

    def wrong(mlu, g):
        """Make the call."""
        call(mlu, mlu.nram(float32, 100), g)

    with pytest.raises(kind, match=sentence) as caught:
        on_core(wrong, np.zeros(100, np.float32))
    assert caught.value.intrinsic in ("__memcpy", "__memcpy_async")
    assert caught.value.file == __file__


def test_copy_to_a_const_tensor_is_refused():
    """A store into a lent tensor is a fault."""
    device = mlusim.Device("MLU370-X4")

    @kernel
    def store(mlu, dst):
        """Store into a const tensor, plain and strided."""
        a = mlu.nram(float32, 4)
        mlu.memcpy(dst, a, 4, NRAM2GDRAM, 8, 4, 1)

    with pytest.raises(ReadOnly, match="const"):
        device.launch(store, args=(device.share(np.zeros(4, np.float32)),))


def test_memory_core_cannot_copy_into_nram():
    """A copy by a memory core into NRAM has its own sentence."""
    device = mlusim.Device("MLU370-X4")
    kept = []

    @kernel
    def wrong(mlu, g):
        """Let the memory core use an IPU core's pointer."""
        if mlu.is_ipu():
            kept.append(mlu.nram(float32, 4))
            mlu.sync_cluster()
            return
        mlu.sync_cluster()

    device.launch(wrong, dim=4, kind=mlusim.UNION1, args=(device.empty(4, "float"),))

    @kernel
    def copies(mlu, g):
        """Copy into NRAM from the memory core."""
        if mlu.is_ipu():
            kept.append(mlu.nram(float32, 4))
        mlu.sync_cluster()
        if mlu.is_mpu():
            mlu.memcpy(kept[-1], g, 16, GDRAM2NRAM)
        mlu.sync_cluster()

    with pytest.raises(Unsupported, match="a memory core cannot copy GDRAM2NRAM: it has no NRAM"):
        device.launch(copies, dim=4, kind=mlusim.UNION1, args=(device.empty(4, "float"),))


def test_boards_without_sram_have_no_sram_copies():
    """CE3226 has no SRAM; a copy to it is refused whatever the pointers are."""

    def wrong(mlu, g):
        """Name an SRAM direction."""
        mlu.memcpy(g, g, 4, NRAM2SRAM)

    with pytest.raises(Fault, match="SRAM"):
        on_core(wrong, np.zeros(4, np.float32), board="CE3226-V101")


def test_asynchronous_copies_of_one_pipe_land_in_order():
    """Two loads into one buffer: the later one wins after the sync; a blocking copy waits its turn."""
    seen = {}

    def order(mlu, g):
        """Load twice into the same place."""
        a = mlu.nram(float32, 1)
        mlu.memcpy_async(a, g, 4, GDRAM2NRAM)
        mlu.memcpy_async(a, g + 1, 4, GDRAM2NRAM)
        seen["before"] = a[0]
        mlu.memcpy(mlu.nram(float32, 1), g, 4, GDRAM2NRAM)  # the IO pipe is in order
        seen["after"] = float(a[0])

    on_core(order, np.array([1, 2], np.float32))

    assert np.isnan(seen["before"])
    assert seen["after"] == 2


def test_syncs_wait_for_their_own_pipe_only():
    """sync_io leaves a move in flight, sync_move lands it."""
    seen = []

    def pipes(mlu, g):
        """One copy on each DMA."""
        a, b, c = (mlu.nram(float32, 1, values=[v]) for v in (5, 0, 0))
        mlu.memcpy_async(b, a, 4, NRAM2NRAM)
        mlu.memcpy_async(c, g, 4, GDRAM2NRAM)
        seen.append((float(b[0]), float(c[0])))
        mlu.sync_io()
        seen.append((float(b[0]), float(c[0])))
        mlu.sync_move()
        seen.append((float(b[0]), float(c[0])))

    on_core(pipes, np.array([7], np.float32))

    assert [(0, 0), (0, 7), (5, 7)] == seen


def test_what_is_in_flight_lands_at_the_end_of_the_task():
    """A store without a sync is complete when the launch is."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty(2, "float")

    @kernel
    def store(mlu, out):
        """Store and leave."""
        a = mlu.nram(float32, 2, values=[3, 4])
        mlu.memcpy_async(out, a, 8, NRAM2GDRAM)

    device.launch(store, args=(out,))

    assert [3, 4] == device.get(out).tolist()


def test_nram_to_nram_is_compute_work_on_2xx():
    """On 2xx an asynchronous NRAM2NRAM copy equals the blocking one."""
    seen = []

    def move(mlu):
        """Copy inside NRAM."""
        a, b = mlu.nram(float32, 32, values=[9]), mlu.nram(float32, 32, values=[0])
        mlu.memcpy_async(b, a, 128, NRAM2NRAM)
        seen.append(float(b[0]))

    on_core(move, board="MLU270-S4")
    on_core(move, board="MLU370-X4")

    assert [9, 0] == seen


def test_gdram_to_gdram_copies_between_tensors():
    """A core may copy inside GDRAM."""
    device = mlusim.Device("MLU370-X4")
    out = device.empty(4, "float")

    @kernel
    def clone(mlu, out, src):
        """Copy a tensor."""
        mlu.memcpy(out, src, 16, GDRAM2GDRAM)

    device.launch(clone, args=(out, device.put(np.arange(4, dtype=np.float32))))

    assert [0, 1, 2, 3] == device.get(out).tolist()


@pytest.mark.parametrize("direction", [GDRAM2NRAM, NRAM2GDRAM])
@pytest.mark.parametrize("watched", [False, True])
def test_the_strides_of_one_segment_take_no_time(direction, watched):
    """A 2-D copy of a single segment asks as much of the memory as a plain one, watched or not."""

    def body(mlu, tensor, *shape):
        buffer = mlu.nram(int8, 4096)
        dst, src = (buffer, tensor + 32) if direction is GDRAM2NRAM else (tensor + 32, buffer)
        mlu.memcpy(dst, src, 96, direction, *shape)

    observers = [mlusim.EveryStep()] if watched else []
    tensor = np.zeros(4096, np.int8)
    plain, segment = (on_core(body, tensor, *shape, observe=observers) for shape in ((), (100, 100, 0)))

    assert plain.io_bytes == segment.io_bytes
    assert plain.tasks[0].log.total.tolist() == segment.tasks[0].log.total.tolist()
