"""The cases of tin_shift; forward and backward differ only in their network scale.

A limit case has exactly a size at which the kernel divides a channel in another way, or one more: a whole
channel of T*HW elements fits the NRAM, some frames of HW fit, or not even one fits.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np

from mlusim.host import Status
from mlusim.operators.spec import Case

Array = np.ndarray[Any, Any]
Maker = Callable[[np.random.Generator], tuple[dict[str, Array], dict[str, Any]]]

BAD_PARAM = Status.MLUOP_STATUS_BAD_PARAM
HALF, FLOAT = np.float16, np.float32
USABLE_NRAM = {"MLU370-X4": 655360, "MLU590-H8": 393216}  # bytes a kernel may declare
NETWORK_SHIFTS = (
    (14, 9, 6, 4, -1, -14, 7, -3),
    (-2, -3, 19, 10, -9, -2, -4, -19),
    (6, 0, 17, 10, 16, -18, -19, -18),
)


def _cases(source: str, network_width: int) -> tuple[Case, ...]:
    """Return the cases of one direction; *source* names its data, *network_width* is HW there."""
    return tuple(
        chain(
            _network(source, network_width),
            _golden(source),
            _boundary(source),
            _random(source),
            _limit(source),
            _zero(source),
            _refused(source),
        )
    )


def _make(
    source: str, shape: tuple[int, ...], shifts: Any, dtype: Any = FLOAT, *, bits: bool = False
) -> Maker:
    """Return a maker of data of *shape*: values in [-100, 100), or with *bits* every bit pattern of *dtype*."""

    def make(generator: np.random.Generator) -> tuple[dict[str, Array], dict[str, Any]]:
        kind = np.dtype(dtype)
        if bits:
            nbytes = math.prod(shape) * kind.itemsize
            words = generator.integers(0, np.iinfo(np.uint64).max, -(-nbytes // 8), np.uint64, endpoint=True)
            data = words.astype("<u8", copy=False).view(np.uint8)[:nbytes].view(kind).reshape(shape)
        else:
            drawn = generator.random(shape, FLOAT)
            drawn *= 200
            drawn -= 100
            data = drawn.astype(kind, copy=False)
        moves = shifts if isinstance(shifts, np.ndarray) else np.array(shifts, np.int32)
        return {source: data, "shifts": moves.copy()}, {}

    return make


def _network(source: str, width: int) -> Iterator[Case]:
    """Yield the scale of the vendor's own test, in raw bits: NaN payloads must survive."""
    make = _make(source, (3, 15, 16, width), NETWORK_SHIFTS, HALF, bits=True)
    nbytes = 3 * 3 * 15 * 16 * width * 2  # data, output and reference
    yield Case(
        f"network_3x15x16x{width}_half",
        "network",
        make,
        note="the vendor's test of this direction",
        memory=nbytes if nbytes >= 1 << 28 else 0,
    )


def _golden(source: str) -> Iterator[Case]:
    """Yield the document's drawing: six frames, three groups of two channels, moved by -1, 0 and 2."""

    def make(_: np.random.Generator) -> tuple[dict[str, Array], dict[str, Any]]:
        frame, channel = np.ogrid[1:7, 1:7]
        data = (10 * frame + channel).astype(FLOAT).reshape(1, 6, 6, 1)
        return {source: data, "shifts": np.array([[-1, 0, 2]], np.int32)}, {}

    yield Case("golden_document", "golden", make, note="element = 10 * frame + channel, counted from 1")


def _boundary(source: str) -> Iterator[Case]:
    """Yield shifts at and beyond the ends, dimensions of one, and job counts around the core counts."""
    top, bottom = np.iinfo(np.int32).max, np.iinfo(np.int32).min
    rows: tuple[tuple[str, tuple[int, ...], Any, Any, bool], ...] = (
        ("shift_all_out", (1, 4, 6, 5), ((4, -4, 5, -5, 100, -100),), FLOAT, False),
        ("shift_one_frame_left", (1, 4, 2, 5), ((3, -3),), HALF, False),
        ("shift_int32_ends", (1, 4, 4, 3), ((top, bottom, top - 3, bottom + 1),), FLOAT, False),
        ("shift_none", (2, 3, 4, 7), ((0, 0), (0, 0)), HALF, False),
        ("shift_clears_stale_frames", (1, 5, 96, 8), (tuple(np.resize((0, 4, -4, 5), 96)),), FLOAT, False),
        ("one_frame", (2, 1, 3, 9), ((0, 1, -1), (-1, 0, 1)), FLOAT, False),
        ("one_element", (1, 1, 1, 1), ((0,),), HALF, False),
        ("one_group", (2, 6, 5, 4), ((2,), (-3,)), FLOAT, False),
        ("channel_per_group", (1, 6, 7, 4), ((-3, -2, -1, 0, 1, 2, 3),), HALF, False),
        ("jobs_33", (3, 4, 11, 2), ((1,), (-1,), (2,)), FLOAT, False),
        ("jobs_49", (7, 3, 7, 5), tuple((n - 3,) for n in range(7)), HALF, False),
        ("bits_float", (2, 5, 4, 33), ((1, -2), (0, 3)), FLOAT, True),
        ("bits_half", (2, 5, 4, 33), ((1, -2), (0, 3)), HALF, True),
    )
    for name, shape, shifts, dtype, bits in rows:
        yield Case(name, "boundary", _make(source, shape, shifts, dtype, bits=bits))


def _random(source: str) -> Iterator[Case]:
    """Yield shapes, groups and shifts drawn at random, in both types."""

    def drawn(dtype: Any) -> Maker:
        def make(generator: np.random.Generator) -> tuple[dict[str, Array], dict[str, Any]]:
            batch, frames, groups, each, width = (
                int(generator.integers(1, top)) for top in (5, 13, 7, 5, 200)
            )
            shifts = generator.integers(-frames - 2, frames + 3, (batch, groups), np.int32)
            return _make(source, (batch, frames, groups * each, width), shifts, dtype)(generator)

        return make

    for index in range(4):
        yield Case(f"random_{index}_float", "random", drawn(FLOAT))
        yield Case(f"random_{index}_half", "random", drawn(HALF))


def _limit(source: str) -> Iterator[Case]:
    """Yield, for each board and type, both sides of each size at which a channel is divided in another way."""
    for (board, nram), dtype in ((b, d) for b in USABLE_NRAM.items() for d in (FLOAT, HALF)):
        kind = np.dtype(dtype)
        fits = nram // kind.itemsize  # elements
        factor = next((t for t in range(2, 10) if (fits + 1) % t == 0), None)
        rows: list[tuple[str, int, int, Sequence[int]]] = [
            ("channel_fits", 4, fits // 4, (1, -2)),
            ("channel_one_frame_more", 5, fits // 4, (1, -2)),
            ("channel_two_elements_more", 2, fits // 2 + 1, (1, -1)),
            ("frame_fits", 3, fits, (1, -2)),
            ("frame_one_element_more", 2, fits + 1, (1, -1)),
            ("frame_two_pieces", 1, 2 * fits, (0, 1)),
            ("frame_two_pieces_and_one", 1, 2 * fits + 1, (0, -1)),
            ("three_frames_a_pass", 7, fits // 3, (-7, -4, -3, -1, 0, 2, 3, 5, 7)),
        ]
        if factor is not None:
            rows.append(("channel_one_element_more", factor, (fits + 1) // factor, (1, -1)))
        for name, frames, width, shifts in rows:
            make = _make(source, (1, frames, len(shifts), width), (shifts,), dtype)
            yield Case(f"{name}_{_label(kind)}_{board}", "limit", make, boards=(board,))


def _label(kind: np.dtype[Any]) -> str:
    return "half" if kind == HALF else "float"


def _zero(source: str) -> Iterator[Case]:
    """Yield zero elements: zero frames succeed without a write, every other empty dimension is refused."""
    shifts = np.ones((4, 2), np.int32)
    yield Case("zero_frames", "zero", _make(source, (4, 0, 4, 9), shifts))
    rows: tuple[tuple[str, tuple[int, ...], Array], ...] = (
        ("zero_batch", (0, 3, 4, 9), shifts[:0]),
        ("zero_channels", (4, 3, 0, 9), shifts),
        ("zero_width", (4, 3, 4, 0), shifts),
        ("zero_groups", (4, 3, 4, 9), shifts[:, :0]),
        ("zero_frames_and_batch", (0, 0, 4, 9), shifts[:0]),
        ("zero_frames_and_channels", (4, 0, 0, 9), shifts),
        ("zero_frames_and_width", (4, 0, 4, 0), shifts),
    )
    for name, shape, moves in rows:
        yield Case(name, "zero", _make(source, shape, moves), status=BAD_PARAM)


def _refused(source: str) -> Iterator[Case]:
    """Yield calls that the host refuses: ranks, groups, batches and types that do not fit together."""
    shape, shifts = (4, 3, 4, 9), np.ones((4, 2), np.int32)
    rows: tuple[tuple[str, tuple[int, ...], Array, Any], ...] = (
        ("refused_data_rank_3", (4, 3, 4), shifts, FLOAT),
        ("refused_data_rank_5", (4, 3, 4, 3, 3), shifts, FLOAT),
        ("refused_shifts_rank_1", shape, shifts[:, 0], FLOAT),
        ("refused_shifts_rank_3", shape, shifts[:, :, None], FLOAT),
        ("refused_groups_do_not_divide", shape, np.ones((4, 3), np.int32), FLOAT),
        ("refused_more_groups_than_channels", shape, np.ones((4, 8), np.int32), FLOAT),
        ("refused_shifts_batch", shape, shifts[:2], FLOAT),
        ("refused_data_int32", shape, shifts, np.int32),
        ("refused_shifts_float", shape, shifts.astype(FLOAT), FLOAT),
        ("refused_shifts_int64", shape, shifts.astype(np.int64), HALF),
    )
    for name, data_shape, moves, dtype in rows:
        yield Case(name, "limit", _make(source, data_shape, moves, dtype), status=BAD_PARAM)


FORWARD_CASES = _cases("input", 45435)
BACKWARD_CASES = _cases("grad_output", 262144)
