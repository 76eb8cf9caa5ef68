"""Tiles, products along channels, sequences, strided copies of the old form: definitions by loops."""

import numpy as np
import pytest
from isa_exact import BF16, exact, samples
from isa_rows import BOARDS, LATER, execute, on_core, refused

from mlusim.bang import int32, uint8
from mlusim.errors import RuleFault, Unsupported
from mlusim.isa.table import ISA

TILED = [name for name in ISA if "tiling" in name]


@pytest.mark.parametrize("board", BOARDS.values())
@pytest.mark.parametrize("name", TILED)
@pytest.mark.parametrize(("h", "w"), [(1, 1), (3, 5), (7, 2)])
def test_tiles(name, h, w, board):
    """Rows at distances of 64-byte units on both sides; transposed or not; what lies between stays."""
    size = int(name.rpartition("_b")[2]) // 8
    rows, columns = (w, h) if "trans" in name else (h, w)
    to, frm = -(-columns * size // 64) + 1, -(-w * size // 64)

    def run(mlu, _):
        src, dst = mlu.nram(uint8, h * frm * 64), mlu.nram(uint8, rows * to * 64)
        src.view.array[:] = np.random.default_rng(2).integers(0, 255, src.view.size)
        dst.view.array[:] = 255
        getattr(mlu, name)(dst, src, h, w, to, frm)
        return src.view.array.copy(), dst.view.array.copy()

    src, after = on_core(run, board=board)
    expected = np.full(rows * to * 64, 255, np.uint8)
    for i in range(h):
        for j in range(w):
            y, x = (j, i) if "trans" in name else (i, j)
            for b in range(size):
                expected[y * to * 64 + x * size + b] = src[i * frm * 64 + j * size + b]

    assert np.array_equal(expected, after)


def test_a_row_of_a_tile_does_not_reach_into_the_next():
    """A stride shorter than a row of the destination."""
    fault = refused(ISA["bang_tiling_2d_b32"], lambda s: s.arguments.update(width=17, dst_stride=1))

    assert isinstance(fault, RuleFault)
    assert "overlap each other" in fault.message


@pytest.mark.parametrize("board", BOARDS.values())
@pytest.mark.parametrize(
    ("size", "to", "frm", "pieces"), [(128, 128, 128, 1), (128, 192, 64, 5), (256, 256, 0, 4)]
)
def test_the_old_strided_copy_counts_pieces(size, to, frm, pieces, board):
    """As many pieces as the last argument says, not one more; a source stride of 0 repeats one piece."""

    def run(mlu, _):
        src, dst = mlu.nram(uint8, 2048), mlu.nram(uint8, 2048)
        src.view.array[:] = np.arange(2048) % 253
        dst.view.array[:] = 255
        mlu.memcpy_nram_to_nram(dst, src, size, to, frm, pieces)
        return dst.view.array.copy()

    after = on_core(run, board=board)
    expected = np.full(2048, 255, np.uint8)
    for k in range(pieces):
        for i in range(size):
            expected[k * to + i] = (k * frm + i) % 253

    assert np.array_equal(expected, after)


@pytest.mark.parametrize("count", [1, 31, 64, 129])
def test_incseq_counts_from_zero(count):
    """0, 1, 2 and so on, on an architecture above 592."""
    after = execute("bang_incseq", LATER, dst=np.full(count, -1, np.int32), elem_count=count)["dst"]

    for i in range(count):
        assert i == after[i]


@pytest.mark.parametrize("name", ["bang_incseq"])
@pytest.mark.parametrize("board", BOARDS.values())
def test_what_came_after_592_is_refused_on_every_board_of_the_catalogue(name, board):
    """The fault names the architecture and from which one on there is the instruction."""
    fault = refused(ISA[name], lambda s: None, board=board)

    assert isinstance(fault, Unsupported)
    assert "does not have it" in fault.message
    assert "from __BANG_ARCH__ 593 on" in fault.legal


@pytest.mark.parametrize(("n", "channels"), [(1, 1), (3, 7), (33, 64)])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(np.float32)])
def test_each_place_multiplies_all_its_channels(dtype, n, channels):
    """One factor a place; the second row adds the product to other data, each step rounded; in place too."""
    small, big = samples(dtype, n, 1), samples(dtype, n * channels, 2)
    small[~np.isfinite(small)] = 2
    big[~np.isfinite(big)] = 3
    base = samples(dtype, n * channels, 3)
    base[~np.isfinite(base)] = 1
    given = {
        "small": small,
        "wram": np.zeros(-(-channels // 64), dtype),
        "big": big,
        "n": n,
        "channels": channels,
    }

    room = np.zeros(n * channels, dtype)

    product = execute("bang_expand_channel_mul", "MLU590-H8", dst=room, **given)["dst"]
    added = execute("bang_expand_channel_mul_add", "MLU590-H8", dst=room, add=base, **given)["dst"]

    for i in range(n):
        for c in range(channels):
            at = i * channels + c
            expected = exact(lambda a, b: a * b, dtype, small[i], big[at])
            total = (
                exact(lambda a, b: a + b, dtype, base[at], expected) if np.isfinite(expected) else expected
            )

            assert expected == float(product[at])
            assert total == float(added[at])


@pytest.mark.parametrize(("name", "entry", "index"), [
    ("bang_lut_s16", np.int16, np.uint16), ("bang_lut_s16", np.float16, np.uint16),
    ("bang_lut_s16", np.int16, np.int16), ("bang_lut_s32", np.float32, np.int32),
    ("bang_lut_s32", np.int32, np.uint32), ("bang_lut_s32", np.float32, np.uint32),
])  # fmt: skip
@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("count", [1, 31, 77, 128])
def test_the_old_look_ups(name, entry, index, count, board):
    """Elements of 16 bits or of 32 bits, and no others."""
    table = np.arange(128).astype(entry) * entry(3)
    src = np.random.default_rng(1).integers(0, 128, count).astype(index)

    given = {"dst": np.zeros(count, entry), "src": src, "table": table}
    after = execute(name, board, **given, elem_count=count, table_length=128)["dst"]

    for i in range(count):
        assert table[src[i]] == after[i]
    assert {np.dtype(entry).itemsize} == {d.size for o in ISA[name].operands.values() for d in o.dtypes}


def test_a_sequence_is_what_arange_by_doubling_makes():
    """The path of older architectures, by additions, ends in the same numbers."""

    def doubling(mlu, _):
        numbers = mlu.nram(int32, 64, [0])
        done = 1
        while done < 64:
            mlu.bang_add_scalar(numbers + done, numbers, done, done)
            done *= 2
        return numbers.view.array.copy()

    assert np.array_equal(
        on_core(doubling), execute("bang_incseq", LATER, dst=np.zeros(64, np.int32), elem_count=64)["dst"]
    )
