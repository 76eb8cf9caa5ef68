"""The order of work of border_align_backward: what each core executes is what the corrected listing says."""

import numpy as np
import pytest
from border_align_tools import BOARDS, Recorder, exact, launched, layout_of

from mlusim.arch.catalog import find_board

ALIGN = {4: 32, 2: 64}  # elements of 128 bytes by element size


def low_and_high(at, size):
    """Return the cells before and after a coordinate."""
    low = min(int(max(at, 0)), size - 1)
    return low, min(low + 1, size - 1)


def points_of(box, border, params):
    """Yield (index, y cells, x cells) of the points of a border that lie inside."""
    pool, height, width = params["pool_size"], params["height"], params["width"]
    x0, y0, x1, y1 = (float(v) for v in box)
    for i in range(pool + 1):
        x = (x0 + (x1 - x0) * i / pool, x0, x1 - (x1 - x0) * i / pool, x1)[border]
        y = (y0, y0 + (y1 - y0) * i / pool, y1, y1 - (y1 - y0) * i / pool)[border]
        if -1 <= y <= height and -1 <= x <= width:
            yield i, low_and_high(y, height), low_and_high(x, width)


def passes_of(channels, deal_num, align):
    """Yield (first, count, padded) of the passes over a border's channels."""
    for first in range(0, channels, deal_num):
        count = min(deal_num, channels - first)
        yield first, count, -(-count // align) * align


def of_point(es, source, targets, count, padded):
    """Yield the rows of one point: two loads, the mask, and for every tap weight, mask, add."""
    yield "memcpy", 4 * count, 4 * source
    yield "memcpy", es * count, es * source
    yield "bang_eq_scalar", 4 * padded
    yield "bang_mul_scalar", 4 * padded
    if es == 2:
        yield "bang_int322int16", 2 * padded
    for target in targets:
        yield "bang_mul_scalar", es * padded
        yield "bang_band", es * padded
        yield "bang_atomic_reduce_add", es * count, es * target


def of_border(made, number, deal_num):
    """Yield the rows of one border: the box, then pass by pass its points."""
    inputs, params = made
    grads, boxes = inputs["grad_output"], inputs["boxes"]
    es, channels = grads.itemsize, grads.shape[3]
    height, width = params["height"], params["width"]
    n, k, border = np.unravel_index(number, grads.shape[:3])
    yield "memcpy", 4 * es, (number - border) * es
    for first, count, padded in passes_of(channels, deal_num, ALIGN[es]):
        for _, y_cells, x_cells in points_of(boxes[n, k], border, params):
            cells = [(n * height + y) * width + x for y in y_cells for x in x_cells]
            targets = [(cell * 4 + border) * channels + first for cell in cells]
            yield from of_point(es, number * channels + first, targets, count, padded)


def expected(made, cores, deal_num):
    """Return the rows of every core: runs of borders, the first ones with one border more."""
    total = made[0]["grad_output"][..., 0].size
    parts = np.array_split(np.arange(total), cores)
    return {
        core: [row for b in part for row in of_border(made, int(b), deal_num)]
        for core, part in enumerate(parts)
    }


SHAPES = {
    "one pass": ((2, (3, 4), 3, 4), None),
    "aligned": ((1, (2, 2), 64, 2), None),
    "tail of a half line": ((1, (2, 3), 33, 2), None),
    "fewer borders than cores": ((1, (1, 1), 5, 8), None),
    "passes": ((1, (2, 2), 200, 2), 64),
    "passes without a tail": ((1, (1, 2), 192, 1), 64),
}


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", SHAPES)
def test_instructions_and_addresses_are_those_of_the_listing(board, dtype, name):
    """Instructions, sizes, and addresses in GDRAM, core by core, are those of the listing."""
    shape, deal_num = SHAPES[name]
    made = exact(*shape, dtype=dtype, seed=1)
    label = {"float32": "float", "float16": "half"}[dtype]
    layout = layout_of(shape[2], dtype=label, board=board, deal_num=deal_num)
    seen = Recorder()
    launched(made, board=board, last=layout, clusters=2, observe=[seen])
    cores = 2 * find_board(board).arch.cores_per_cluster
    wanted = {core: rows for core, rows in expected(made, cores, layout.values["deal_num"]).items() if rows}

    assert wanted == seen.rows


@pytest.mark.parametrize("channels", [3, 200])
def test_counts_and_traffic_follow_from_the_sequence(channels):
    """What a launch reports adds up to the same rows; corners are read as scalars, six a border and pass."""
    made = exact(1, (2, 3), channels, 4)
    layout = layout_of(channels, deal_num=64)
    _, launch = launched(made, last=layout)
    rows = [row for part in expected(made, 4, 64).values() for row in part]
    loads = sum(row[1] for row in rows if row[0] == "memcpy")
    adds = sum(row[1] for row in rows if row[0] == "bang_atomic_reduce_add")
    passes = -(-channels // 64)

    assert {name: sum(row[0] == name for row in rows) for name in {row[0] for row in rows}} == {
        name: number for name, number in launch.instructions.items() if name != "is_mpu"
    }
    assert {"GDRAM2NRAM": loads} == launch.traffic
    assert adds > 0
    assert {"NRAM": 24 * (4 + 2 * passes)} == launch.scalar_loads


@pytest.mark.parametrize("clusters", [1, 3])
def test_memory_cores_do_nothing(clusters):
    """The memory core of a union leaves at once; only IPU cores work."""
    seen = Recorder()
    made = exact(1, (2, 2))
    launched(made, clusters=clusters, observe=[seen])

    assert set(range(min(4 * clusters, 16))) == set(seen.rows)
