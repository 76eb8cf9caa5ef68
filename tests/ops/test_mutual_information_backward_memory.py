"""mutual_information_backward against its plan and its listing: NRAM to the byte, instructions in order."""

import numpy as np
import pytest

import ops
from mlusim import Observer
from mlusim.errors import StatusError
from mlusim.host import Status
from ops.mutual_information_backward.cases import FAMILIES, GAPS, LIMIT_ROWS, largest_t
from ops.mutual_information_backward.inputs import uniform, zeros
from ops.mutual_information_backward.plan import PLAN

NAME = "mutual_information_backward"
FLOAT = 4  # bytes
BOARDS = {"mlu370": "MLU370-X4", "mlu590": "MLU590-H8"}


class Highest(Observer):
    """The byte of NRAM behind the last one that an instruction touched."""

    def __init__(self):
        self.touched = 0

    def effect(self, effect):
        """Look at everything that is read or written."""
        for access in effect.reads + effect.writes:
            if access.allocation.space.name == "NRAM":
                self.touched = max(self.touched, access.span[1])


@pytest.mark.parametrize(
    ("s", "t"), [(15, 104), (1, 8), (2, 5), (3, 9), (4, 7), (7, 3), (8, 1), (9, 0), (1, 0), (1, 1), (20, 20)]
)
@pytest.mark.parametrize("board", BOARDS.values())
def test_the_kernel_takes_what_the_plan_says(board, s, t):
    """The bytes declared, and the bytes touched, are the high-water mark of the plan."""
    inputs, params = uniform(np.random.default_rng(1), b=2, s=s, t=t, reach=1.0)
    highest = Highest()

    run = ops.run(NAME, inputs, params, board=board, observe=[highest])

    expected = PLAN.layout(board, S=s, T=t).high_water
    assert expected == run.memory["NRAM"].high_water
    assert expected == highest.touched


@pytest.mark.parametrize("t", [1, 2, 9])
def test_without_symbols_the_last_float_of_mask_is_spare(t):
    """With S = 0 there is no term1, so of mask only T of its T + 1 floats are used; they are declared all the same."""
    inputs, params = uniform(np.random.default_rng(1), b=2, s=0, t=t, reach=1.0)
    highest = Highest()

    run = ops.run(NAME, inputs, params, observe=[highest])

    expected = PLAN.layout("MLU370-X4", S=0, T=t).high_water
    assert expected == run.memory["NRAM"].high_water
    assert expected - FLOAT == highest.touched


LIMITS = [(family, s, largest_t(s, FAMILIES[family][1])) for family in BOARDS for s in LIMIT_ROWS[family]]


@pytest.mark.parametrize(("family", "s", "t"), LIMITS)
def test_one_past_the_limit_is_refused_before_the_launch(family, s, t):
    """The largest T of a row fits (the cases of the group "limit" run it), the next is NOT_SUPPORTED."""
    board = BOARDS[family]
    inputs, params = zeros(None, b=1, s=s, t=t + 1)

    with pytest.raises(StatusError, match=f"S = {s} and T = {t + 1} need .* bytes of NRAM") as refused:
        ops.run(NAME, inputs, params, board=board)

    assert Status.MLUOP_STATUS_NOT_SUPPORTED == refused.value.status
    assert PLAN.layout(board, S=s, T=t).slack >= 0 > PLAN.layout(board, S=s, T=t + 1).slack


@pytest.mark.parametrize(("family", "s", "t"), [(f, s, t) for f in BOARDS for s, t in GAPS[f]])
def test_shapes_that_only_the_document_admits_are_refused(family, s, t):
    """D1: the plan's own limit counts, which is stricter than the document's on these shapes."""
    inputs, params = zeros(None, b=1, s=s, t=t)
    capacity = FAMILIES[family][1]
    terms = t * (s + 1) + (t + 1) * s

    with pytest.raises(StatusError, match="bytes of NRAM") as refused:
        ops.run(NAME, inputs, params, board=BOARDS[family])

    assert Status.MLUOP_STATUS_NOT_SUPPORTED == refused.value.status
    assert terms + 5 * t <= capacity
    assert terms + (t + 1) * (s + 1) + 3 * min(s, t) + 1 <= capacity


class Recorder(Observer):
    """Every memory and vector operation: its name (the direction of a copy) and the bytes it writes."""

    def __init__(self):
        self.seen = []

    def effect(self, effect):
        """Write one line; a scalar load is counted by what it reads."""
        accesses = effect.writes or effect.reads
        spaces = "2".join(a.allocation.space.name for a in effect.reads + effect.writes)
        name = {"memcpy": spaces}.get(effect.name, effect.name)
        self.seen.append((f"{name} {spaces}" if "scalar " in name else name, sum(a.nbytes for a in accesses)))


def safe_exp(n):
    """The listing's safeExp over n lanes: filter, exponential, mask of the filter again, filter."""
    names = ["bang_sub", "bang_eq_scalar", "bang_float2int32_rn", "bang_mul_scalar", "bang_band"]
    return [(name, n * FLOAT) for name in (*names, "bang_mul_scalar", "bang_pow2", "bang_band", *names)]


def term(n):
    """One exponential over n lanes: add p, subtract its neighbour, safeExp."""
    return [("bang_add", n * FLOAT), ("bang_sub", n * FLOAT), *safe_exp(n)]


def terms(rows, n):
    """Step 1 of the listing over *rows* rows of n cells."""
    yield "bang_write_value", 2 * n * FLOAT
    right = n > 1
    for _ in range(rows - 1):
        yield "GDRAM2NRAM", n * FLOAT
        if right:
            yield "GDRAM2NRAM", (n - 1) * FLOAT
        yield "GDRAM2NRAM", 2 * n * FLOAT
        yield "bang_nan_maximum", 2 * n * FLOAT
        yield from term(n)
        if right:
            yield from term(n - 1)
    if right:
        yield "GDRAM2NRAM", (n - 1) * FLOAT
        yield "GDRAM2NRAM", n * FLOAT
        yield "bang_nan_maximum", n * FLOAT
        yield from term(n - 1)


def diagonals(rows, columns):
    """For each anti-diagonal but the first, from the last cell on: its cells, with a cell below, to the right."""
    for i in range(1, rows + columns - 1):
        cells = [(s, i - s) for s in range(rows) if 0 <= i - s < columns]  # distances from the last cell
        yield len(cells), sum(s > 0 for s, _ in cells), sum(t > 0 for _, t in cells)


def p_grad(S, T, rows, columns, *, overwrite):
    """Step 2 of the listing: the sums along anti-diagonals, with the value that starts them."""
    yield "bang_write_value", (3 * (min(S, T) + 1) + 1) * FLOAT
    yield from [("scalar load GDRAM", FLOAT), ("scalar store NRAM", FLOAT)]
    before = 1
    for cells, below, right in diagonals(rows, columns):
        yield from [("NRAM2NRAM", n * FLOAT) for n in (below, right, before) if n]
        yield from [("bang_mul", n * FLOAT) for n in (below, right) if n]
        yield from [("bang_add", cells * FLOAT), ("NRAM2NRAM", cells * FLOAT)]
        before = cells
    if overwrite:
        yield from [("scalar load NRAM", FLOAT), ("scalar store GDRAM", FLOAT)]


def listing(S, T, box, *, overwrite):
    """The sequence that the corrected listing implies for one batch entry."""
    s0, t0, s1, t1 = box or (0, 0, S, T)
    rows, columns = s1 - s0 + 1, t1 - t0 + 1
    if box:
        yield from [("scalar load GDRAM", 8)] * 4
        yield "bang_write_zero", (S * (T + 1) + (S + 1) * T) * FLOAT
    if rows > 0 and columns > 0:
        yield from terms(rows, columns)
        yield from p_grad(S, T, rows, columns, overwrite=overwrite)
        widths = [columns, columns - 1] * (rows - 1) + [columns - 1]
        yield from [("bang_mul", n * FLOAT) for n in widths if n]
    yield from [("NRAM2GDRAM", n * FLOAT) for n in (S * (T + 1), (S + 1) * T) if n]


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize(
    ("S", "T", "boxes"),
    [
        *((s, t, None) for s, t in [(3, 4), (4, 3), (2, 2), (1, 1), (0, 3), (3, 0), (1, 6), (6, 1)]),
        (5, 7, [(1, 2, 4, 6), (0, 0, 5, 7), (2, 3, 2, 3), (3, 1, 2, 5), (1, 4, 5, 4), (2, 0, 2, 6)]),
    ],
)
def test_the_sequence_is_the_listing_s(S, T, boxes, overwrite):
    """Every copy, vector instruction and scalar access comes in the listing's order, with its number of bytes."""
    inputs, params = uniform(
        np.random.default_rng(1),
        b=len(boxes or [0]),
        s=S,
        t=T,
        reach=1.0,
        boundary=boxes,
        overwrite=overwrite,
    )
    recorder = Recorder()

    ops.run(NAME, inputs, params, observe=[recorder])

    expected = [step for box in boxes or [None] for step in listing(S, T, box, overwrite=overwrite)]
    assert expected == recorder.seen
