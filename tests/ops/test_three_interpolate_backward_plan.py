"""What three_interpolate_backward does in NRAM: to the byte, and in which order."""

import re
from pathlib import Path

import numpy as np
import pytest
from three_interpolate_tools import UNIT, Recorder, expected_of, integers, launched, layout_of

import ops
from mlusim.errors import OutOfMemory
from mlusim.host import Handle
from ops.three_interpolate_backward.host import tile_layout
from ops.three_interpolate_backward.tiles import Tiles, document_tiles, shipped_tiles


@pytest.mark.parametrize(
    ("shape", "dtype", "board"),
    [
        ((2, 40, 70, 50), "float32", "MLU370-X4"),
        ((2, 40, 70, 50), "float16", "MLU370-X4"),
        ((1, 512, 64, 16), "float32", "MLU590-H8"),
        ((1, 7, 1500, 9), "float32", "MLU370-X4"),
        ((3, 1, 1, 1), "float16", "MLU590-H8"),
    ],
)
def test_the_kernel_uses_exactly_the_bytes_of_the_plan(shape, dtype, board):
    """Declared bytes, the plan's bytes and the byte behind the last touched one are the same number."""
    b, c, n, m = shape
    recorder = Recorder()
    expected = tile_layout(Handle(board), dtype, c, n, m).high_water

    run = ops.run(
        "three_interpolate_backward", integers(shape, dtype=dtype), {"m": m}, board=board, observe=[recorder]
    )

    assert expected == run.memory["NRAM"].high_water
    assert expected == recorder.highest("NRAM")
    assert expected <= run.memory["NRAM"].capacity
    assert run.launches[0].dim[1] == min(-(-b // 4), Handle(board).clusters)


@pytest.mark.parametrize(
    ("board", "dtype", "axis", "largest", "used", "after"),
    [
        ("MLU370-X4", "float32", 1, 1440, 643584, 657792),
        ("MLU370-X4", "float16", 1, 1472, 644224, 671872),
        ("MLU590-H8", "float32", 1, 864, 387840, 402048),
        ("MLU590-H8", "float16", 1, 832, 367744, 395392),
        ("MLU370-X4", "float32", 2, 2496, 649216, 657408),
        ("MLU590-H8", "float16", 2, 1408, 380032, 396416),
    ],
)
def test_the_largest_tile_runs_and_the_next_one_is_refused(board, dtype, axis, largest, used, after):
    """The tile of N, or of M, that fills NRAM computes the right sums; one unit more does not fit."""
    tiles = [UNIT[dtype]] * 3
    tiles[axis] = largest
    n, m = ((largest, 3), (3, largest))[axis - 1]
    inputs = integers((1, 2, n, m), dtype=dtype)

    found, launch = launched(inputs, m, tiles, board=board)
    assert np.array_equal(expected_of(inputs, m), found)
    assert used == launch.memory["NRAM"].high_water

    tiles[axis] += UNIT[dtype]
    beyond = layout_of(tiles, dtype=dtype, board=board)
    assert (after, False) == (beyond.high_water, beyond.fits)
    with pytest.raises(OutOfMemory):
        launched(inputs, m, tiles, board=board)


@pytest.mark.parametrize(
    ("board", "dtype", "side"),
    [
        ("MLU370-X4", "float32", 192),
        ("MLU370-X4", "float16", 256),
        ("MLU590-H8", "float32", 128),
        ("MLU590-H8", "float16", 192),
    ],
)
def test_the_policy_never_leaves_nram(board, dtype, side):
    """Shapes of which one unit more does not fit as a whole get tiles that do fit."""
    unit = UNIT[dtype]
    whole = document_tiles(board, dtype, C=side, N=side, M=side)
    assert (side, side, side) == (whole.Co, whole.No, whole.Mo)

    beyond = document_tiles(board, dtype, C=side + unit, N=side + unit, M=side + unit)
    assert layout_of((beyond.Co, beyond.No, beyond.Mo), dtype=dtype, board=board).fits
    assert side + unit > min(beyond.Co, beyond.Mo)


# What one core does for tiles of 32 x 32 x 32 floats, written down from the document's steps.
UNIT_F, WORD = 32, 4


def padded(count):
    """Round up to the unit of a tile."""
    return -(-count // UNIT_F) * UNIT_F


def parts(total):
    """Split a dimension into tiles; the last one may be short."""
    return [min(UNIT_F, total - begin) for begin in range(0, total, UNIT_F)]


def neighbour_sequence(n_real, n_deal, c_deal):
    """Steps 5 to 9 for one neighbour: its rows selected, the product turned round, the rows added."""
    lanes, product = n_deal * WORD, c_deal * n_deal * WORD
    yield "bang_ge_scalar", lanes  # inside the tile of features?
    yield "bang_lt_scalar", lanes
    yield "bang_and", lanes
    yield "bang_sub_scalar", lanes  # relative row where inside, spare row elsewhere
    yield "bang_mul", lanes
    yield "bang_not", lanes
    yield "bang_mul_scalar", lanes
    yield "bang_add", lanes
    yield "bang_mul_scalar", lanes  # as an offset in elements
    yield "bang_mul_scalar", lanes  # weight 0 elsewhere
    yield "bang_band", lanes
    yield "bang_cycle_mul", product  # step 5
    yield "bang_transpose", product  # step 6
    for _ in range(n_real):  # steps 8 and 9
        yield "scalar load", WORD
        yield "bang_add", c_deal * WORD


def tile_sequence(c_real, m_real, n):
    """Steps 3 to 11 for one tile of channels of one tile of features."""
    c_deal, m_deal = padded(c_real), padded(m_real)
    yield "bang_write_zero", (UNIT_F + 1) * c_deal * WORD  # step 7
    for n_real in parts(n):  # step 10
        n_deal = padded(n_real)
        if n_real < n_deal:
            yield "bang_write_value", 3 * n_deal * WORD
            yield "bang_write_zero", 3 * n_deal * WORD
        for _ in ("indices", "weights"):  # step 3
            yield "memcpy GDRAM2NRAM", 3 * n_real * WORD
            yield "bang_transpose", 3 * n_deal * WORD
        if (c_real, n_real) != (c_deal, n_deal):
            yield "bang_write_zero", c_deal * n_deal * WORD
        yield "memcpy GDRAM2NRAM", c_real * n_real * WORD  # step 4
        for _ in range(3):
            yield from neighbour_sequence(n_real, n_deal, c_deal)
    yield "bang_transpose", m_deal * c_deal * WORD  # back to channels first
    yield "memcpy NRAM2GDRAM", c_real * m_real * WORD  # step 11


def core_sequence(task, tasks, shape):
    """Steps 12 and 13: the tiles of features that a core owns, every tile of channels of each."""
    b, c, n, m = shape
    items = [m_real for _ in range(b) for m_real in parts(m)]  # step 1: B * ceil(M / Mo)
    share, rest = divmod(len(items), tasks)
    begin = task * share + min(task, rest)
    for m_real in items[begin : begin + share + (task < rest)]:
        for c_real in parts(c):
            yield from tile_sequence(c_real, m_real, n)


def test_every_core_does_the_documents_steps_in_their_order():
    """The instructions with their sizes, task by task, for a shape with tails in C, N and M."""
    shape = (2, 40, 70, 50)
    recorder = Recorder()
    launched(integers(shape), shape[3], (UNIT_F,) * 3, clusters=2, observe=[recorder])

    for task in range(8):
        assert list(core_sequence(task, 8, shape)) == recorder.rows.get(task, [])


def test_half_narrows_the_mask_to_its_width():
    """With half the sequence has one conversion more: the mask of 32 bits becomes one of 16 (inferred)."""
    recorder = Recorder()
    inputs = integers((1, 3, 4, 5), dtype="float16")
    launched(inputs, 5, (64,) * 3, observe=[recorder])

    names = [name for name, _ in recorder.rows[0]]
    assert 3 == names.count("bang_int322int16")
    assert [("bang_int322int16", 64 * 2), ("bang_band", 64 * 2)] == [
        row for row in recorder.rows[0] if row[0] in ("bang_int322int16", "bang_band")
    ][:2]


def test_each_row_addition_loads_its_offset_as_a_scalar():
    """One scalar load of NRAM per row addition, and one addition per point, neighbour and tile."""
    shape = (2, 40, 70, 50)
    _, launch = launched(integers(shape), 50, (UNIT_F,) * 3)

    additions = 2 * 2 * 2 * 70 * 3  # batches, tiles of M, tiles of C, points, neighbours
    selections = 2 * 2 * 2 * 3 * 3  # one addition of offsets per tile of N and neighbour
    assert {"NRAM": additions} == dict(launch.scalar_loads)
    assert additions + selections == launch.instructions["bang_add"]
    assert not launch.scalar_stores


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("tiles", [(64, 128, 64), (128, 64, 128), (64, 64, 192)])
def test_what_tiles_load_is_what_the_kernel_loads(tiles, dtype):
    """The bytes that the comparison of the two priority rules counts are those of a launch."""
    b, c, n, m = shape = (2, 100, 150, 140)
    co, no, mo = tiles

    _, launch = launched(integers(shape, dtype=dtype), m, tiles)

    assert (
        Tiles(co, no, mo).loads(np.dtype(dtype).itemsize, B=b, C=c, N=n, M=m) == launch.traffic["GDRAM2NRAM"]
    )


def test_the_page_compares_the_two_priority_rules():
    """Tiles and bytes loaded of every row of the table, by the document's rule and by the library's, float."""
    page = Path(__file__).parents[2] / "docs" / "operators" / "three_interpolate_backward.md"
    row = re.compile(r"\| \((.*?)\) \| (MLU\S+) \| (.*?) \| (\S+) \| (.*?) \| (\S+) \|")
    rows = row.findall(page.read_text(encoding="utf-8"))

    assert 8 == len(rows)
    for shape, board, *printed in rows:
        b, c, n, m = (int(size) for size in shape.split(", "))
        found = []
        for tiles in (
            document_tiles(board, "float", C=c, N=n, M=m),
            shipped_tiles(board, "float", B=b, C=c, N=n, M=m),
        ):
            loaded = tiles.loads(4, B=b, C=c, N=n, M=m)
            found += [f"{tiles.Co}, {tiles.No}, {tiles.Mo}", f"{loaded / 2**20:.1f}"]
        assert printed == found
