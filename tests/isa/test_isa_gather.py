"""Gather and scatter against a loop over pieces; their checks; where asynchronous ones land."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from isa_rows import BOARDS, on_core

from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, NRAM2SRAM, float32, int8, uint8, uint32
from mlusim.errors import Fault, OutOfBounds, ReadOnly, RuleFault, Unsupported, WrongSpace

BOARD = BOARDS[5]
ROOM = 512


def run(call, offsets, *, bits=None, gdram=False, **options):
    """Run *call*(mlu, far, near, offset, bitmask) on 592; give both memories afterwards."""

    def body(mlu, heap):
        far = mlu.core.bind(heap.allocation, uint8) if gdram else mlu.nram(uint8, ROOM)
        near = mlu.nram(uint8, ROOM)
        far.view.array[:ROOM] = np.arange(ROOM) % 251
        near.view.array[:] = 255
        offset = mlu.nram(uint32, len(offsets), offsets)
        bitmask = None if bits is None else mlu.nram(uint8, len(bits), bits)
        call(mlu, far, near, offset, bitmask)
        return far.view.array[:ROOM].copy(), near.view.array.copy()

    return on_core(body, board=BOARD, **options)


PIECES = st.lists(st.integers(0, 400), min_size=1, max_size=30)


@given(
    PIECES,
    st.integers(1, 16),
    st.integers(0, 3),
    st.binary(min_size=4, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_gather_takes_each_piece_from_its_offset(offsets, size, gap, mask, masked, gdram):
    """Any offsets and sizes; a bit that is 0 leaves its piece alone; from GDRAM and inside NRAM."""
    count, stride = min(len(offsets), ROOM // (size + gap)), size + gap
    direction = GDRAM2NRAM if gdram else NRAM2NRAM

    def call(mlu, far, near, offset, bitmask):
        if not masked:
            mlu.gather(near, far, offset, size, direction, stride, count)
        elif size % 3 == 0:
            mlu.gather(near, far, offset, bitmask, size, direction, stride, count)
        elif size % 3 == 1:
            mlu.gather_async(near, far, offset, bitmask, size, direction, stride, count)
        else:
            mlu.bang_gather_async(near, far, offset, bitmask, size, stride, count)
        mlu.sync()

    far, near = run(call, offsets, bits=list(mask) if masked else None, gdram=gdram)
    expected = np.full(ROOM, 255, np.uint8)
    for i in range(count):
        if not masked or mask[i // 8] >> i % 8 & 1:
            expected[i * stride : i * stride + size] = far[offsets[i] : offsets[i] + size]

    assert np.array_equal(expected, near)


@given(PIECES, st.integers(1, 16), st.booleans(), st.booleans(), st.booleans())
def test_scatter_puts_each_piece_at_its_offset(offsets, size, gdram, waits, masked):
    """In the order of the pieces, so that the last one stays where two meet; a bit of 0 leaves its piece out."""
    count = min(len(offsets), 30)
    direction = NRAM2GDRAM if gdram else NRAM2NRAM
    expected = (np.arange(ROOM) % 251).astype(np.uint8)
    source = np.arange(ROOM, dtype=np.uint8)

    bits = [0b10110101] * 4

    def call(mlu, far, near, offset, bitmask):
        near.view.array[:] = source
        scatter = mlu.scatter if waits else mlu.scatter_async
        scatter(far, near, offset, *[bitmask] * masked, size, direction, size, count)
        if not waits:
            mlu.sync()

    far, _ = run(call, offsets, bits=bits if masked else None, gdram=gdram)
    for i in range(count):
        if masked and not bits[i // 8] >> i % 8 & 1:
            continue
        expected[offsets[i] : offsets[i] + size] = source[i * size : (i + 1) * size]

    assert np.array_equal(expected, far)


def test_gather_of_assembly_is_in_order_with_vectors():
    """Byte offsets inside NRAM; the counts come in the order of the instruction; MLU370 has it too."""

    def body(mlu, _):
        near, far = mlu.nram(float32, 4), mlu.nram(float32, 8)
        far.view.array[:] = range(8)
        mlu.mlisa_gather_vector(near, far, mlu.nram(uint32, 4, [28, 0, 4, 8]), 4, 4, 4)
        return near.view.array.tolist()

    for board in (BOARDS[3], BOARD):
        assert [7, 0, 1, 2] == on_core(body, board=board)


def test_extension_repeats_each_piece():
    """As often as its byte says, 0 times too; the rest of the destination stays."""

    def body(mlu, _):
        dst, src = mlu.nram(float32, 8), mlu.nram(float32, 3, [5, 6, 7])
        dst.view.array[:] = -1
        mlu.extension(dst, src, mlu.nram(uint8, 3, [2, 0, 3]), 4, NRAM2NRAM, 3)
        wide = mlu.nram(uint8, 6)
        mlu.extension(wide, src.cast(uint8), mlu.nram(uint8, 3, [1, 1, 1]), 2, NRAM2NRAM, 3)
        return dst.view.array.tolist(), wide.view.array.tobytes() == src.cast(uint8).view.array[:6].tobytes()

    assert ([5, 5, 7, 7, 7, -1, -1, -1], True) == on_core(body, board=BOARD)


EXTENSIONS = [
    ({"count": 0}, RuleFault, "count = 0"),
    ({"size": 0}, RuleFault, "size = 0"),
    ({"direction": GDRAM2NRAM}, RuleFault, "direction = GDRAM2NRAM"),
    ({"count": 5}, OutOfBounds, "past its end"),
    ({"dst": 3}, WrongSpace, "dst is 3"),
    ({"dst": "src"}, RuleFault, "dst overlaps src"),
    ({"dst": "repeats"}, OutOfBounds, "past its end"),
]


@pytest.mark.parametrize(("change", "kind", "said"), EXTENSIONS)
def test_extension_refuses(change, kind, said):
    """Counts, direction, rooms of all operands, overlaps."""

    def body(mlu, _):
        call = {
            "dst": mlu.nram(uint8, 16),
            "src": mlu.nram(uint8, 4),
            "repeats": mlu.nram(uint8, 4, [1, 2, 0, 1]),
        }
        call |= {"size": 1, "direction": NRAM2NRAM, "count": 4}
        call |= {
            name: call.get(value, value) if isinstance(value, str) else value
            for name, value in change.items()
        }
        if change.get("dst") == "src":
            call["size"], call["src"] = 1, call["dst"]
        if change.get("dst") == "repeats":
            call["repeats"].view.array[:] = 255
        try:
            mlu.extension(**call)
        except Fault as fault:
            return fault
        return None

    fault = on_core(body, board=BOARD)

    assert isinstance(fault, kind)
    assert said in fault.message


def test_asynchronous_rows_land_at_the_sync_of_their_pipe():
    """IO for GDRAM, move-DMA inside NRAM; eager effects land at once."""
    seen = []

    def call(mlu, far, near, offset, bitmask):
        mlu.bang_gather_async(near, far, offset, bitmask, 1, 1, 2)
        seen.append(int(near[0]))
        mlu.sync_io()
        seen.append(int(near[0]))
        mlu.sync_move()
        seen.append(int(near[0]))

    run(call, [7, 9], bits=[3])
    run(call, [7, 9], bits=[3], effects="eager")
    run(call, [7, 9], bits=[3], gdram=True)

    assert [255, 255, 7, 7, 7, 7, 255, 7, 7] == seen


def test_traffic_and_counts():
    """Only the pieces that move are counted."""

    def body(mlu, heap):
        near, offset = mlu.nram(float32, 8), mlu.nram(uint32, 3, [0, 64, 128])
        mlu.gather_async(
            near,
            mlu.core.bind(heap.allocation, float32),
            offset,
            mlu.nram(uint8, 1, [5]),
            4,
            GDRAM2NRAM,
            4,
            3,
        )
        mlu.sync_io()
        return mlu.traffic[GDRAM2NRAM.value]

    assert on_core(body, board=BOARD) == 8


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"size": 0}, RuleFault, "size = 0"),
        ({"count": -1}, RuleFault, "count = -1"),
        ({"count": 2.5}, RuleFault, "count = 2.5 is not an integer"),
        ({"size": 1 << 31}, RuleFault, "size = 2147483648 is not an int of C"),
        (
            {"stride": 1 << 70},
            RuleFault,
            r"stride = 1180591620717411303424 is not an int of C; legal: up to 2\*\*31 - 1",
        ),
        ({"count": 1 << 30}, OutOfBounds, "bytes past its end"),
        ({"stride": 3}, RuleFault, "stride = 3 makes pieces of 4 bytes overlap"),
        ({"direction": NRAM2SRAM}, RuleFault, "direction = NRAM2SRAM"),
        ({"direction": GDRAM2NRAM}, WrongSpace, "src points into NRAM"),
        ({"dst": None}, WrongSpace, "dst is None"),
        ({"offsets": [0, 509]}, OutOfBounds, r"offset\[1\] = 509 of src"),
        ({"stride": 600}, OutOfBounds, "piece 1 of dst"),
        ({"count": 3}, OutOfBounds, "past its end"),
        ({"cast": int8}, WrongSpace, "offset is int8"),
        ({"const": True}, ReadOnly, "it would change NRAM uint8.*which is const there"),
    ],
)
def test_bad_calls_are_refused(change, kind, said):
    """Sizes, strides, directions, pointers, offsets; the fault names the piece and the file."""

    def body(mlu, heap):
        dst, src = mlu.nram(uint8, ROOM), mlu.nram(uint8, ROOM)
        offset = mlu.nram(uint32, 2, change.get("offsets", [0, 8]))
        if "cast" in change:
            offset = offset.cast(change["cast"])
        if "const" in change:
            dst.view.allocation.writable = False
        given_arguments = {"dst": dst, "size": 4, "direction": NRAM2NRAM, "stride": 4, "count": 2} | {
            k: v for k, v in change.items() if k not in ("offsets", "cast", "const")
        }
        try:
            mlu.gather(src=src, offset=offset, **given_arguments)
        except Fault as fault:
            return fault
        return None

    fault = on_core(body, board=BOARD)

    assert isinstance(fault, kind)
    assert fault.intrinsic == "__gather"
    assert fault.file.endswith("test_isa_gather.py")
    with pytest.raises(kind, match=said):
        raise fault


def test_a_wrong_number_of_arguments_shows_the_signature():
    """And an older architecture has ``__gather`` alone of these rows."""

    def body(mlu, heap):
        with pytest.raises(RuleFault, match=r"3 arguments; legal: __gather\("):
            mlu.gather(None, None, None)
        return True

    assert on_core(body, board=BOARD)

    def old(mlu, heap):
        with pytest.raises(Unsupported, match="from __BANG_ARCH__ 592 on"):
            mlu.gather_async(None, None, None, 1, NRAM2NRAM, 1, 1)
        src, dst = mlu.nram(uint32, 4, [7, 8, 9, 10]), mlu.nram(uint32, 2)
        mlu.gather(dst, src, mlu.nram(uint32, 2, [12, 4]), 4, NRAM2NRAM, 4, 2)
        return dst.view.array.tolist()

    assert [10, 8] == on_core(old)
