"""Cases of three_interpolate_backward: the document's twenty, the vendor's test zoo's, and the edges."""

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from mlusim.host import Status
from mlusim.operators.spec import Case

Array = np.ndarray[Any, Any]
Inputs = dict[str, Array]
Made = tuple[Inputs, dict[str, Any]]

BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM

# (B, C, N, M) by the document's case number
NETWORK = {
    1: (16, 512, 64, 16),
    2: (16, 256, 256, 64),
    3: (16, 256, 1024, 256),
    4: (16, 128, 4096, 1024),
    5: (16, 16, 64, 512),
    6: (16, 64, 256, 256),
    7: (16, 1024, 4096, 128),
    8: (16, 1, 128, 1024),
    9: (16, 128, 512, 256),
    10: (16, 512, 2048, 128),
}
ZERO = {
    11: (0, 128, 128, 128),
    12: (16, 0, 128, 0),
    13: (16, 128, 128, 0),
    14: (16, 128, 0, 128),
    15: (0, 0, 0, 0),
}
# The document gives grad_output of case 12 no channels, but grad_features 128 and no points.
OUTPUTS = {12: {"grad_features": (16, 128, 0)}}
BOUNDARY = {
    16: (1, 1, 1, 1),
    17: (7, 63, 129, 127),
    18: (15, 1025, 1023, 1023),
    19: (25, 1029, 1025, 1027),
    20: (29, 2047, 999, 2033),
}
TYPES = {"": "float32", "_half": "float16"}  # by the suffix of a case's name
LARGE = 1 << 28  # bytes
LONG = (18, 19, 20)  # tens of millions of row additions with a small M tile


def points(
    rng: np.random.Generator,
    *,
    shape: tuple[int, int, int, int],
    dtype: str = "float32",
    named: tuple[int, int] | None = None,
    reach: tuple[float, float] = (0.0, 1.0),
) -> Made:
    """Make inputs for *shape* (B, C, N, M): indices in the half-open range *named*, values in *reach*.

    By default the indices lie in [0, M) and the values in [0, 1), as in the document's example.
    """
    b, c, n, m = shape
    low, high = (0, max(m, 1)) if named is None else named
    inputs = {
        "grad_output": _values(rng, (b, c, n), reach).astype(dtype, copy=False),
        "indices": rng.integers(low, high, (b, n, 3)).astype(np.int32),
        "weights": _values(rng, (b, n, 3), reach).astype(dtype, copy=False),
    }
    return inputs, {"m": m}


def _values(rng: np.random.Generator, shape: tuple[int, ...], reach: tuple[float, float]) -> Array:
    low, high = np.float32(reach[0]), np.float32(reach[1])
    values = rng.random(shape, np.float32)
    if reach != (0.0, 1.0):
        values *= high - low
        values += low
    return values


def _edited(
    rng: np.random.Generator, *, base: Callable[[np.random.Generator], Made], edit: Callable[[Inputs], None]
) -> Made:
    inputs, params = base(rng)
    edit(inputs)
    return inputs, params


def _effort(shape: tuple[int, int, int, int]) -> float:
    """Return the approximate seconds of a case: every tile of M and C adds the rows of all points."""
    return 4e-9 * math.prod(shape)


def _memory(shape: tuple[int, int, int, int], dtype: str) -> int:
    """Return the approximate bytes of a case, or 0 if they are few: gradients, features and their reference."""
    b, c, n, m = shape
    nbytes = np.dtype(dtype).itemsize * b * c * (n + 2 * m)
    return nbytes if nbytes >= LARGE else 0


def _scales(group: str, scales: dict[int, tuple[int, int, int, int]]) -> Iterator[Case]:
    """Yield scales of the document by their numbers, each in float and in half."""
    for suffix, dtype in TYPES.items():
        for number, shape in scales.items():
            note = (
                "tens of millions of row additions on a board with 512 KiB of NRAM" if number in LONG else ""
            )
            yield Case(
                f"case_{number}{suffix}",
                group,
                partial(points, shape=shape, dtype=dtype),
                note=note,
                effort=_effort(shape),
                memory=_memory(shape, dtype),
            )


def _network() -> Iterator[Case]:
    """Yield the document's network scales."""
    yield from _scales("network", NETWORK)


def _boundary() -> Iterator[Case]:
    """Yield the document's boundary scales, and sizes around the alignment of a tile."""
    yield from _scales("boundary", BOUNDARY)
    for dtype, unit in [("float32", 32), ("float16", 64)]:
        for extent in (unit - 1, unit, unit + 1):
            make = partial(points, shape=(2, extent, extent, extent), dtype=dtype)
            yield Case(f"cube_{extent}_{dtype}", "boundary", make)
    shapes = {
        "one_point": (3, 40, 1, 50),
        "one_channel": (3, 1, 70, 50),
        "one_feature": (3, 40, 70, 1),
        "m_tiles": (2, 33, 65, 3001),
        "n_tiles": (2, 5, 3001, 65),
        "c_tiles": (2, 3001, 65, 33),
        "more_batches_than_cores": (97, 3, 5, 7),
    }
    for name, shape in shapes.items():
        yield Case(name, "boundary", partial(points, shape=shape))


def _random() -> Iterator[Case]:
    """Yield the vendor's test zoo, and signed values of odd sizes."""
    zoo_1 = partial(points, shape=(16, 128, 32, 16), dtype="float16", reach=(0.1, 100.0))
    zoo_1 = partial(_edited, base=zoo_1, edit=partial(_evenly_named, m=16))
    note = "every cell is named six times: no sum can leave the range of half"
    yield Case("zoo_1", "random", zoo_1, note=note)
    yield Case("zoo_2", "random", partial(points, shape=(13, 128, 64, 17), reach=(0.1, 100.0)))
    for shape in [(1, 7, 19, 5), (3, 50, 33, 100), (5, 129, 65, 31), (2, 100, 300, 700)]:
        title = "x".join(str(extent) for extent in shape)
        yield Case(f"signed_{title}", "random", partial(points, shape=shape, reach=(-2.0, 2.0)))
        half = partial(points, shape=shape, dtype="float16", reach=(-2.0, 2.0))
        yield Case(f"signed_{title}_half", "random", half)


def _evenly_named(inputs: Inputs, *, m: int) -> None:
    """Name every cell of every batch equally often, in an order that the drawn indices decide."""
    flat = inputs["indices"].reshape(inputs["indices"].shape[0], -1)
    flat[:] = np.argsort(flat, axis=1, kind="stable") % m


def _extreme_indices(inputs: Inputs) -> None:
    """Mix in the ends of int32, the neighbours of the legal range, and -1."""
    wild = np.array([-1, -(2**31), 2**31 - 1, 2**24 + 1, 100, 99, 0], np.int32)
    flat = inputs["indices"].reshape(-1)
    flat[::2] = np.resize(wild, flat[::2].size)


def _same_neighbour(inputs: Inputs) -> None:
    """Let all three neighbours of a point be the same, and every fourth point name cell 7."""
    inputs["indices"][:] = inputs["indices"][:, :, :1]
    inputs["indices"][:, ::4] = 7


def _not_finite_weights(inputs: Inputs) -> None:
    """Give non-finite weights to three distant cells: no other cell may be affected."""
    indices, weights = inputs["indices"], inputs["weights"]
    for cell, value in [(0, np.nan), (1500, np.inf), (2999, -np.inf)]:
        indices[indices == cell] = cell + 2 if cell < 2000 else cell - 2
        indices[0, 3 + cell % 7, 1], weights[0, 3 + cell % 7, 1] = cell, value


def _not_finite_gradients(inputs: Inputs) -> None:
    grad = inputs["grad_output"]
    grad[0, 1, 5], grad[0, 2, 6], grad[-1, 3, 7], grad[-1, 4, 0] = np.nan, np.inf, -np.inf, np.nan


def _not_finite_outside(inputs: Inputs) -> None:
    inputs["indices"][:, 4] = (-1, 3000, 2**31 - 1)
    inputs["weights"][:, 4] = (np.nan, np.inf, np.nan)


def _opposite_infinities(inputs: Inputs) -> None:
    inputs["grad_output"][:] = np.abs(inputs["grad_output"]) + 0.5
    inputs["indices"][0, 2], inputs["weights"][0, 2] = (9, 9, 3), (np.inf, -np.inf, np.inf)


def _indices() -> Iterator[Case]:
    """Yield indices that are out of range or repeated, and values that are not finite."""
    wide, tiles = (2, 40, 64, 100), (2, 33, 64, 3000)
    outside = partial(points, shape=wide, named=(-50, 150), reach=(-1.0, 1.0))
    yield Case("out_of_range", "boundary", outside, note="such an index contributes nothing")
    yield Case("out_of_range_half", "boundary", partial(outside, dtype="float16"))
    yield Case("all_negative", "boundary", partial(points, shape=wide, named=(-9, 0)), note="all zero")
    yield Case("all_past_the_end", "boundary", partial(points, shape=wide, named=(100, 200)), note="all zero")
    yield Case(
        "one_cell", "boundary", partial(points, shape=wide, named=(99, 100)), note="a sum of 192 terms"
    )
    edits: list[tuple[str, tuple[int, int, int, int], Callable[[Inputs], None]]] = [
        ("extreme_indices", wide, _extreme_indices),
        ("duplicates", wide, _same_neighbour),
        ("nan_weights_of_other_tiles", tiles, _not_finite_weights),
        ("nan_gradients", tiles, _not_finite_gradients),
        ("nan_weights_out_of_range", tiles, _not_finite_outside),
        ("opposite_infinities", wide, _opposite_infinities),
    ]
    for name, shape, edit in edits:
        for suffix, dtype in TYPES.items():
            base = partial(points, shape=shape, dtype=dtype, reach=(-1.0, 1.0))
            yield Case(name + suffix, "boundary", partial(_edited, base=base, edit=edit))


def _by_hand(_rng: np.random.Generator) -> Made:
    """Make two channels, three points, three features; cell 1 is named twice by the second point."""
    grad = np.array([[[1, 2, 3], [-1, 0, 4]]], np.float32)
    indices = np.array([[[0, 1, 2], [1, 1, 0], [2, 0, 1]]], np.int32)
    weights = np.array([[[0.5, 0.25, 0.25], [1, 2, 0.5], [1, 0, 0.5]]], np.float32)
    return {"grad_output": grad, "indices": indices, "weights": weights}, {"m": 3}


def _golden() -> Iterator[Case]:
    example = partial(points, shape=(2, 128, 256, 64), named=(0, 63))
    note = "the document's example: its indices never reach M - 1, so the last column is 0"
    yield Case("document_example", "golden", example, note=note)
    yield Case("by_hand", "golden", _by_hand)


def _replace(inputs: Inputs, *, name: str, shape: tuple[int, ...], dtype: str) -> None:
    inputs[name] = np.zeros(shape, dtype)


def _no_data(inputs: Inputs, *, dtype: str) -> None:
    for name in ("grad_output", "weights"):
        inputs[name] = np.zeros(inputs[name].shape, dtype)


def _refused() -> Iterator[Case]:
    """Yield the calls that the host interface refuses: zero elements, and tensors that do not fit together."""
    for suffix, dtype in TYPES.items():
        for number, shape in ZERO.items():
            make, outputs = partial(points, shape=shape, dtype=dtype), OUTPUTS.get(number, {})
            yield Case(f"case_{number}{suffix}", "zero", make, BAD_PARAM, outputs=outputs)
    yield Case("no_channels", "zero", partial(points, shape=(16, 0, 128, 128)), BAD_PARAM)
    rows: list[tuple[str, str, tuple[int, ...], str]] = [
        ("indices_columns", "indices", (4, 16, 4), "int32"),
        ("weights_columns", "weights", (4, 16, 4), "float32"),
        ("indices_batch", "indices", (5, 16, 3), "int32"),
        ("weights_batch", "weights", (3, 16, 3), "float32"),
        ("indices_points", "indices", (4, 15, 3), "int32"),
        ("weights_points", "weights", (4, 17, 3), "float32"),
        ("indices_rank_2", "indices", (4, 16), "int32"),
        ("weights_rank_4", "weights", (4, 16, 3, 1), "float32"),
        ("indices_int64", "indices", (4, 16, 3), "int64"),
        ("indices_float", "indices", (4, 16, 3), "float32"),
        ("weights_half", "weights", (4, 16, 3), "float16"),
        ("grad_output_half", "grad_output", (4, 8, 16), "float16"),
        ("grad_output_points", "grad_output", (4, 8, 17), "float32"),
    ]
    base = partial(points, shape=(4, 8, 16, 5))
    for title, name, dims, dtype in rows:
        edit = partial(_replace, name=name, shape=dims, dtype=dtype)
        yield Case(f"refused_{title}", "limit", partial(_edited, base=base, edit=edit), BAD_PARAM)
    data = partial(_edited, base=base, edit=partial(_no_data, dtype="int32"))
    yield Case("refused_int32_data", "limit", data, BAD_PARAM)
    columns = partial(_replace, name="indices", shape=(4, 16, 4), dtype="int32")
    both = partial(_edited, base=partial(_edited, base=base, edit=columns), edit=_four_weights)
    yield Case("refused_four_neighbours", "limit", both, BAD_PARAM)


def _four_weights(inputs: Inputs) -> None:
    inputs["weights"] = np.zeros((4, 16, 4), np.float32)


CASES: tuple[Case, ...] = (*_network(), *_boundary(), *_indices(), *_random(), *_golden(), *_refused())
