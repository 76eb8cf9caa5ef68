"""Cases of mutual_information_backward: the document's, the vendor's test zoo's, and the limits."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mlusim.host import Status
from mlusim.operators.spec import Case
from .inputs import Inputs, Made, edited, lattice_of_log_probabilities as likely, single, uniform, zeros

MLU370 = ("MLU370-S4", "MLU370-X4", "MLU370-X8", "MLU370-M8")
MLU590 = ("MLU590-H8", "MLU590-M9", "MLU590-M9DG", "MLU590-M9B", "MLU590-M9C")
FAMILIES = {"mlu370": (MLU370, 163840), "mlu590": (MLU590, 98304)}  # boards, floats of NRAM for a kernel

NOT_SUPPORTED = Status.MLUOP_STATUS_NOT_SUPPORTED
BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM

# Values of S for which the largest T is tested: on both sides of the point where the plan's second inequality
# replaces the first (3 and 4), and of the largest square lattice.
LIMIT_ROWS = {
    "mlu370": (0, 1, 3, 4, 9, 15, 100, 232, 233),
    "mlu590": (0, 1, 3, 4, 9, 15, 100, 179, 180),
}

# Every (S, T) that the document's scale limit admits and its partition plan cannot hold.
GAPS = {
    "mlu370": (
        *((0, 27306), (3, 13653), (5, 9636), (9, 5648), (14, 3722), (3722, 14)),
        *((5648, 9), (9636, 5), (14893, 3), (81918, 0), (81919, 0)),
    ),
    "mlu590": (
        *((0, 16384), (2, 9830), (4, 7020), (5, 5781), (11, 2807), (13, 2396), (22, 1444), (25, 1275)),
        *((36, 892), (127, 255), (255, 127), (892, 36), (1275, 25), (1444, 22), (2396, 13), (2807, 11)),
        *((5781, 5), (7020, 4), (8935, 3), (19659, 1), (49150, 0), (49151, 0)),
    ),
}


def plan_floats(s: int, t: int) -> int:
    """Count the floats of NRAM that the partition plan needs: the larger of its two stages."""
    terms = s * (t + 1) + (s + 1) * t
    return terms + max(5 * (t + 1), (s + 1) * (t + 1) + 3 * min(s, t) + 4)


def largest_t(s: int, capacity: int) -> int:
    """Find the largest T that fits *capacity* floats with S = *s*."""
    low, high = 0, capacity
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if plan_floats(s, middle) <= capacity else (low, middle - 1)
    return low


def _network() -> Iterator[Case]:
    """Yield the scale of the document (B = 4, S = 15, T = 104), three ways."""
    ones = partial(likely, b=4, s=15, t=104, ans_grad=1.0)
    yield Case("network", "network", ones, note="ans_grad of ones, as the network has it")
    yield Case("network_keep_ans_grad", "network", partial(ones, overwrite=False))
    box = [[0, 0, 15, 104], [0, 0, 9, 80], [3, 10, 15, 104], [2, 5, 12, 60]]
    yield Case("network_boundary", "network", partial(ones, boundary=box))


def _boundary() -> Iterator[Case]:
    """Yield degenerate lattices and regions."""
    for s, t in [(7, 0), (0, 9), (6, 1), (1, 8), (1, 1), (1, 0), (0, 1)]:
        yield Case(f"s{s}_t{t}", "boundary", partial(likely, b=3, s=s, t=t))
    yield Case(
        "s0_boundary", "boundary", partial(likely, b=2, s=0, t=9, boundary=[[0, 2, 0, 7], [0, 9, 0, 9]])
    )
    yield Case(
        "t0_boundary", "boundary", partial(likely, b=2, s=8, t=0, boundary=[[1, 0, 6, 0], [0, 0, 0, 0]])
    )
    regions = {
        "same_symbol": [[3, 0, 3, 11], [0, 2, 0, 9], [6, 1, 6, 11]],
        "same_frame": [[0, 4, 6, 4], [1, 0, 5, 0], [2, 11, 6, 11]],
        "single_cell": [[2, 3, 2, 3], [0, 0, 0, 0], [6, 11, 6, 11]],
        "inverted": [[4, 2, 1, 9], [0, 0, 6, 11], [0, 9, 6, 3]],
        "all_inverted": [[5, 0, 2, 11], [1, 8, 6, 7], [6, 11, 0, 0]],
        "mixed": [[1, 2, 5, 9], [0, 0, 6, 11], [3, 0, 4, 11]],
    }
    for name, boundary in regions.items():
        yield Case(name, "boundary", partial(likely, b=3, s=6, t=11, boundary=boundary))
    unread = partial(likely, b=3, s=6, t=11, boundary=regions["mixed"], outside=np.nan)
    yield Case("outside_is_nan", "boundary", unread, note="what lies outside the region must not be read")


def _random() -> Iterator[Case]:
    """Yield the vendor's test zoo, more batches than cores, and values that no forward pass produced."""
    for name, box in [("zoo_1", [2, 3, 179, 180]), ("zoo_1_v1", [0, 0, 10, 10])]:
        yield Case(name, "random", partial(uniform, b=1, s=179, t=180, reach=2.5, boundary=[box]))
    zoo_2 = partial(uniform, b=2, s=380, t=380, reach=1.5, boundary=[[5, 2, 380, 380], [5, 2, 3, 1]])
    yield Case("zoo_2", "random", zoo_2, NOT_SUPPORTED, note="larger than the partition plan of any board")
    yield Case(
        "zoo_2_small",
        "random",
        partial(uniform, b=2, s=38, t=38, reach=1.5, boundary=[[5, 2, 38, 38], [5, 2, 3, 1]]),
    )
    for b, s, t in [(1, 2, 2), (5, 8, 8), (2, 31, 17), (3, 17, 31), (67, 4, 6)]:
        yield Case(f"forward_{b}x{s}x{t}", "random", partial(likely, b=b, s=s, t=t))
    for b, s, t in [(2, 3, 5), (3, 12, 7), (2, 20, 20)]:
        arbitrary = partial(uniform, b=b, s=s, t=t, reach=0.5, overwrite=b == 2)
        yield Case(f"uniform_{b}x{s}x{t}", "random", arbitrary)


def _put(inputs: Inputs, *, name: str, cells: list[tuple[Any, ...]], value: float) -> None:
    for cell in cells:
        inputs[name][cell] = value


def _last_row_at_minus_infinity(inputs: Inputs) -> None:
    inputs["p"][:, -1] = -np.inf
    inputs["p"][0, -1, -1] = 0.0
    inputs["py"][:, -1] = -0.25


def _infinity_meets_zero(inputs: Inputs) -> None:
    inputs["ans_grad"][0] = np.inf
    inputs["px"][0, 2, 3] = -np.inf


def _not_finite() -> Iterator[Case]:
    """Yield NaN and infinity in places where the rules of the clamp and of the safe exponential matter."""
    puts: dict[str, tuple[str, list[tuple[Any, ...]], float]] = {
        "p_minus_inf_cell": ("p", [(0, 2, 3), (1, 4, 5)], -np.inf),
        "p_minus_inf_pair": ("p", [(0, 2, 3), (0, 3, 3), (1, 1, 1), (1, 1, 2)], -np.inf),
        "p_plus_inf": ("p", [(0, 2, 3), (1, 0, 4)], np.inf),
        "p_nan": ("p", [(0, 2, 3), (1, 0, 4)], np.nan),
        "p_below_clamp": ("p", [(0, 2, 3), (0, 2, 4), (1, 3, 3)], -3.0e38),
        "px_nan": ("px", [(0, 1, 2), (1, 4, 0)], np.nan),
        "px_minus_inf": ("px", [(0, 1, slice(None)), (1, 2, 2)], -np.inf),
        "py_plus_inf": ("py", [(0, 3, 2), (1, 5, 6)], np.inf),
        "exp_overflow": ("px", [(0, 1, 2), (1, 4, 0)], 120.0),
        "ans_grad_inf": ("ans_grad", [(0,)], np.inf),
        "ans_grad_nan": ("ans_grad", [(1,)], np.nan),
    }
    base = partial(likely, b=2, s=5, t=7)
    for name, (tensor, cells, value) in puts.items():
        edit = partial(_put, name=tensor, cells=cells, value=value)
        yield Case(name, "boundary", partial(edited, base=base, edit=edit))
    last_row = partial(edited, base=base, edit=_last_row_at_minus_infinity)
    yield Case("p_minus_inf_last_row", "boundary", last_row, note="the last row of p is clamped too")
    last_row = partial(edited, base=partial(likely, b=2, s=0, t=2), edit=_last_row_at_minus_infinity)
    yield Case("p_minus_inf_only_row", "boundary", last_row)
    meets = partial(edited, base=base, edit=_infinity_meets_zero)
    yield Case("ans_grad_inf_term_zero", "boundary", meets, note="0 * infinity is NaN and is kept")


def _zero() -> Iterator[Case]:
    """Yield calls that succeed without computing; a single empty gradient is not such a call (see s7_t0, s0_t9)."""
    yield Case("b0", "zero", partial(zeros, b=0, s=15, t=104))
    yield Case("b0_s0_t0", "zero", partial(zeros, b=0, s=0, t=0))
    yield Case("s0_t0", "zero", partial(likely, b=4, s=0, t=0), note="ans_grad keeps its values")


def _limit() -> Iterator[Case]:
    """Yield the largest lattices of the partition plan, and the next ones."""
    for family, (boards, capacity) in FAMILIES.items():
        for s in LIMIT_ROWS[family]:
            t = largest_t(s, capacity)
            yield Case(f"fits_{family}_s{s}_t{t}", "limit", partial(likely, b=1, s=s, t=t), boards=boards)
            if (s, t + 1) not in GAPS[family]:
                past = partial(zeros, b=1, s=s, t=t + 1)
                yield Case(f"past_{family}_s{s}_t{t + 1}", "limit", past, NOT_SUPPORTED, boards)
        s = (capacity - 5) // 2  # S of the tallest lattice without frames: 2 S + 1 + 4 floats
        tall = partial(likely, b=1, s=s, t=0)
        note = f"{s + 1} rows and as many anti-diagonals, one element each"
        yield Case(f"fits_{family}_s{s}_t0", "limit", tall, boards=boards, note=note)
        note = "admitted by the document's scale limit, but its own partition plan overflows NRAM"
        for s, t in GAPS[family]:
            gap = partial(zeros, b=1, s=s, t=t)
            yield Case(f"gap_{family}_s{s}_t{t}", "limit", gap, NOT_SUPPORTED, boards, note=note)


def _replace(inputs: Inputs, *, name: str, shape: tuple[int, ...], dtype: str) -> None:
    inputs[name] = np.zeros(shape, dtype)


def _refused() -> Iterator[Case]:
    """Yield the calls that the host interface refuses; the base is B = 4, S = 15, T = 104 with a boundary."""
    rows: list[tuple[str, str, tuple[int, ...], str, Status]] = [
        ("px_rank_2", "px", (4, 15), "float32", BAD_PARAM),
        ("py_rank_2", "py", (4, 16), "float32", BAD_PARAM),
        ("p_rank_2", "p", (4, 16), "float32", BAD_PARAM),
        ("ans_grad_rank_2", "ans_grad", (4, 1), "float32", BAD_PARAM),
        ("boundary_rank_1", "opt_boundary", (16,), "int64", BAD_PARAM),
        ("py_batch", "py", (3, 16, 104), "float32", BAD_PARAM),
        ("py_symbols", "py", (4, 15, 104), "float32", BAD_PARAM),
        ("py_modified", "py", (4, 16, 107), "float32", NOT_SUPPORTED),
        ("boundary_batch", "opt_boundary", (3, 4), "int64", BAD_PARAM),
        ("boundary_columns", "opt_boundary", (4, 3), "int64", BAD_PARAM),
        ("p_batch", "p", (3, 16, 105), "float32", BAD_PARAM),
        ("p_symbols", "p", (4, 20, 105), "float32", BAD_PARAM),
        ("p_frames", "p", (4, 16, 10), "float32", BAD_PARAM),
        ("ans_grad_batch", "ans_grad", (1,), "float32", BAD_PARAM),
        ("px_half", "px", (4, 15, 105), "float16", NOT_SUPPORTED),
        ("py_int32", "py", (4, 16, 104), "int32", NOT_SUPPORTED),
        ("p_half", "p", (4, 16, 105), "float16", NOT_SUPPORTED),
        ("ans_grad_half", "ans_grad", (4,), "float16", NOT_SUPPORTED),
        ("boundary_float", "opt_boundary", (4, 4), "float32", NOT_SUPPORTED),
    ]
    base = partial(zeros, b=4, s=15, t=104, boundary=[[0, 0, 15, 104]] * 4)
    for title, name, shape, dtype, status in rows:
        edit = partial(_replace, name=name, shape=shape, dtype=dtype)
        yield Case(f"refused_{title}", "limit", partial(edited, base=base, edit=edit), status)


def _pascal(_rng: np.random.Generator) -> Made:
    """Make all logarithms 0: every path counts 1, so the gradient of p is Pascal's triangle."""
    return single(np.zeros((5, 7)), np.zeros((6, 6)), np.zeros((6, 7)), 1.0)


def _two_paths(_rng: np.random.Generator) -> Made:
    """Make S = T = 1 with paths of probability 1/8 and 3/8: their shares of the gradient are 1/4 and 3/4."""
    px, py = np.log([[3 / 4, 1 / 4]]), np.log([[1 / 2], [1 / 2]])
    p = np.log([[1, 1 / 2], [3 / 4, 1 / 2]])
    return single(px, py, p, 1.0)


CASES: tuple[Case, ...] = (
    *_network(),
    *_boundary(),
    *_not_finite(),
    *_random(),
    *_zero(),
    Case("pascal", "golden", _pascal, note="gradients are binomial coefficients"),
    Case("two_paths", "golden", _two_paths, note="px_grad 3/4 and 1/4, py_grad 1/4 and 3/4"),
    *_limit(),
    *_refused(),
)
