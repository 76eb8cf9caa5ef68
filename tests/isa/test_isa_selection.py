"""Filter, select, masked move, reductions, look-up, transpose, fills: definitions by loops."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, strategies as st
from isa_exact import TAILS, exact, samples
from isa_rows import execute, on_core

from mlusim.bang import CMP_EQ, CMP_GE, CMP_GT, CMP_LE, CMP_LT, CMP_NE, uint32
from mlusim.isa.table import ISA

BF16 = np.dtype(ml_dtypes.bfloat16)
DTYPES = (
    *tuple(
        np.dtype(t) for t in ("float16", "float32", "int8", "int16", "int32", "uint8", "uint16", "uint32")
    ),
    BF16,
)


def bits_of(chosen):
    """Booleans packed into bytes, the least significant bit first."""
    packed = np.zeros(-(-len(chosen) // 8), np.uint8)
    for i, flag in enumerate(chosen):
        packed[i // 8] |= flag << (i % 8)
    return packed


def mask_of(chosen, dtype, seed):
    """A mask: zeros where not chosen, anything else where chosen."""
    values = np.random.default_rng(seed).integers(1, 100, len(chosen)).astype(dtype)
    return np.where(chosen, values, dtype.type(0)).astype(dtype)


def drawn(count, seed):
    """Some elements chosen."""
    return np.random.default_rng(seed).random(count) < (0.5, 0.1, 0.9, 0, 1)[seed % 5]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_filter_keeps_the_chosen_in_order(dtype):
    """The count comes back as a Python int; the rest of the destination does not change; old names and bit masks too."""
    for count in TAILS:
        chosen, src = drawn(count, count), samples(dtype, count, count)
        expected = [src[i].tobytes() for i in range(count) if chosen[i]]
        marks = np.full(count, 7, dtype)
        calls = [(name, {"mask": mask_of(chosen, dtype, count)}) for name in ("bang_filter", "bang_collect")]
        if count % 8 == 0:
            names = ("bang_filter_bitindex", "bang_collect_bitindex", "bang_maskmove_bitindex")
            calls += [(name, {"bitmask": bits_of(chosen)}) for name in names]
        for name, mask in calls:
            after = execute(name, dst=marks, src=src, elem_count=count, **mask)

            assert len(expected) == after["result"]
            assert type(after["result"]) is int
            assert expected == [x.tobytes() for x in after["dst"][: len(expected)]]
            assert (after["dst"][len(expected) :] == marks[0]).all()


def test_filter_takes_nan_as_chosen_and_minus_zero_as_not():
    """The truth of floats in masks."""
    after = execute(
        "bang_filter",
        dst=np.zeros(4, np.float32),
        src=np.arange(4, dtype=np.float32),
        mask=np.array([math.nan, -0.0, 0.0, -2.0], np.float32),
        elem_count=4,
    )

    assert after["result"] == 2
    assert [0.0, 3.0] == after["dst"][:2].tolist()


def test_filter_on_2xx_fills_the_last_line_with_zeros():
    """A line is 128 bytes."""
    mask = np.zeros(64, np.float32)
    mask[:3] = 1

    after = execute(
        "bang_filter",
        "MLU270-S4",
        dst=np.full(64, 7, np.float32),
        src=np.arange(1, 65, dtype=np.float32),
        mask=mask,
        elem_count=64,
    )

    assert [1.0, 2.0, 3.0] + [0.0] * 29 + [7.0] * 32 == after["dst"].tolist()


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU270-S4"])
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), np.dtype(np.float32)], ids=str)
def test_select_has_a_line_with_the_count(dtype, board):
    """A uint32, then the chosen elements from byte 128 on, zeros to a whole line."""
    line = 128 // dtype.itemsize
    count = 1024
    for seed in range(5):
        chosen, src = drawn(count, seed), samples(dtype, count, seed)
        kept = [src[i].tobytes() for i in range(count) if chosen[i]]
        for name, mask in (
            ("bang_select", {"index": mask_of(chosen, dtype, seed)}),
            ("bang_select_bitindex", {"bitmask": bits_of(chosen)}),
        ):
            after = execute(
                name, board, dst=np.full(count + 2 * line, 7, dtype), src=src, elem_count=count, **mask
            )["dst"]
            end = line + -(-len(kept) // line) * line

            assert len(kept) == after.view(np.uint32)[0]
            assert (after[4 // dtype.itemsize : line] == (0 if board == "MLU270-S4" else 7)).all()
            assert kept == [x.tobytes() for x in after[line : line + len(kept)]]
            assert (after[line + len(kept) : end] == 0).all()
            assert (after[end:] == 7).all()


def test_compare_and_filter():
    """Each mode keeps the first source's elements that compare true."""
    a, b = np.arange(64, dtype=np.float32) % 7, np.arange(64, dtype=np.float32) % 5
    for mode, compare in (
        (CMP_EQ, lambda x, y: x == y),
        (CMP_NE, lambda x, y: x != y),
        (CMP_LT, lambda x, y: x < y),
        (CMP_LE, lambda x, y: x <= y),
        (CMP_GT, lambda x, y: x > y),
        (CMP_GE, lambda x, y: x >= y),
    ):
        for board, head, second in (("MLU370-X4", 1, b), ("MLU370-X4", 1, b[:1]), ("MLU590-H8", 32, b)):
            given = second if second.size > 1 else np.float32(2)
            dst = np.zeros(96, np.float32)
            after = execute("bang_fcmpfilter", board, mode=mode, dst=dst, src0=a, src1=given, elem_count=64)[
                "dst"
            ]
            other = np.broadcast_to(given, 64)
            expected = [x for x, y in zip(a.tolist(), other.tolist(), strict=True) if compare(x, y)]

            assert len(expected) == after.view(np.uint32)[0]
            assert expected == after[head : head + len(expected)].tolist()


def test_compare_and_filter_in_place():
    """The elements that are positive onto the vector itself, which has four bytes more, as an accepted kernel has it."""
    values = np.array([-1, 2, 3, -4, 5, 0, 7, 8], np.float16)

    def run(mlu, _):
        room = mlu.nram(np.float16, 10)
        room.view.array[:8] = values
        mlu.bang_fcmpfilter(CMP_GT, room, room, 0.0, 8)
        return room.view.array.copy()

    after = on_core(run)

    assert after[:2].view(np.uint32)[0] == 5
    assert [2, 3, 5, 7, 8] == after[2:7].tolist()


@given(st.binary(min_size=4, max_size=40), st.integers(0, 2**32 - 1))
def test_maskmove_moves_bytes(data, seed):
    """A byte of the mask that is not zero moves that byte."""
    n = len(data)
    rng = np.random.default_rng(seed)
    dst, mask = rng.integers(0, 256, n, np.uint8), (rng.random(n) < 0.5) * rng.integers(0, 256, n)
    src = np.frombuffer(data, np.uint8)

    after = execute("bang_maskmove", dst=dst, src=src, mask=mask.astype(np.uint8), elem_count=n)["dst"]

    assert [s if m else d for d, s, m in zip(dst, src, mask, strict=True)] == after.tolist()


# -- reductions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_counts_and_searches(dtype):
    """How many are not zero, the first and the last of them; all ones where there is none."""
    for count in TAILS:
        mask = mask_of(drawn(count, count), dtype, count)
        found = [i for i in range(count) if mask[i] != 0]

        assert len(found) == execute("bang_count", src=mask, elem_count=count)["result"]
        for name, expected in (("bang_findfirst1", found[:1]), ("bang_findlast1", found[-1:])):
            result = execute(name, src=mask, elem_count=count)["result"]

            assert (expected or [0xFFFFFFFF]) == [result]
            assert type(result) is int


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
def test_the_older_form_stores_its_result(dtype, board):
    """With a destination in front, by position and by name, or through the row of its own."""
    for count in (1, 33, 129):
        mask = mask_of(drawn(count, count), dtype, count)
        found = [i for i in range(count) if mask[i] != 0] or [0xFFFFFFFF]
        expected = {
            "bang_count": int(np.sum(mask != 0)),
            "bang_findfirst1": found[0],
            "bang_findlast1": found[-1],
        }

        def run(mlu, _, mask=mask, count=count):
            src, dst, got = mlu.nram(mask.dtype, count), mlu.nram(uint32, 4), {}
            src.view.array[:] = mask
            for name in ("bang_count", "bang_findfirst1", "bang_findlast1"):
                dst.view.array[:] = 77
                results = [
                    getattr(mlu, name)(dst, src, count),
                    getattr(mlu, name)(dst=dst + 1, src=src, elem_count=count),
                    getattr(mlu, f"{name}_stored")(dst + 2, src, count),
                ]
                got[name] = results, dst.view.array.tolist()
            return got

        for name, (results, stored) in on_core(run, board=board).items():
            assert [None] * 3 == results
            assert [expected[name]] * 3 + [77] == stored


def test_popcnt_counts_bits():
    """Of each element."""
    for dtype in (np.uint16, np.uint32):
        src = samples(np.dtype(dtype), 65, 3)

        after = execute("bang_popcnt", dst=np.zeros(65, dtype), src=src, elem_count=65)["dst"]

        assert [x.bit_count() for x in src.tolist()] == after.tolist()


def lane_sum(values, dtype):
    """The order that is documented: lanes of a line of 128 bytes, then halves onto halves, each step rounded."""
    lanes = [0.0] * (128 // dtype.itemsize)
    for i, value in enumerate(values):
        k = i % len(lanes)
        lanes[k] = exact(lambda a, b: a + b, dtype, lanes[k], value)
    while len(lanes) > 1:
        half = len(lanes) // 2
        lanes = [exact(lambda a, b: a + b, dtype, lanes[i], lanes[i + half]) for i in range(half)]
    return lanes[0]


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BF16, np.dtype(np.float32)], ids=str)
def test_sums_add_lanes_and_then_halves(dtype):
    """bang_sum gives a typed scalar; bang_reduce_sum the sum of every 128 bytes in its first element."""
    line = 128 // dtype.itemsize
    for count in (*TAILS, 1000):
        src = (np.random.default_rng(count).standard_normal(count) * 3).astype(dtype)
        result = execute("bang_sum", src=src, elem_count=count)["result"]

        assert dtype == result.dtype
        assert lane_sum(src, dtype) == float(result)

        after = execute("bang_reduce_sum", dst=np.full(count, 7, dtype), src=src, elem_count=count)["dst"]
        for i in range(count):
            expected = lane_sum(src[i : i + line], dtype) if i % line == 0 else 7.0

            assert expected == float(after[i])


def test_reduce_sum_on_2xx_clears_the_other_elements():
    """The rest of each line becomes zero."""
    after = execute(
        "bang_reduce_sum",
        "MLU270-S4",
        dst=np.full(64, 7, np.float32),
        src=np.ones(64, np.float32),
        elem_count=64,
    )["dst"]

    assert ([32.0] + [0.0] * 31) * 2 == after.tolist()


EXTREMES = {
    "argmax": (max, lambda x: x),
    "argmin": (min, lambda x: x),
    "max": (max, lambda x: x),
    "min": (min, lambda x: x),
    "fabsmax": (max, abs),
    "fabsmin": (min, abs),
}


@pytest.mark.parametrize(
    ("name", "dtype"),
    [(n, d.dtype) for n in EXTREMES for d in ISA[f"bang_{n}"].operands["src"].dtypes],
    ids=str,
)
def test_extremes_come_with_their_first_index(name, dtype):
    """A value, then eight bytes of index; NaN loses against every number."""
    choose, key = EXTREMES[name]
    room = 1 + 8 // dtype.itemsize
    for seed, count in enumerate((*TAILS, 1000)):
        src = np.random.default_rng(seed).integers(-20, 20, count).astype(dtype)
        if count > 4:
            src[[0, count // 2]] = math.nan
        after = execute(f"bang_{name}", dst=np.full(room + 3, 7, dtype), src=src, elem_count=count)["dst"]
        keys = [key(x) for x in src.tolist() if not math.isnan(x)]
        best = choose(keys)
        index = next(i for i, x in enumerate(src.tolist()) if key(x) == best)

        assert best == after[0]
        assert index == after[1:room].view(np.uint64)[0]
        assert index == (after.view(np.uint32)[1] if dtype.itemsize == 4 else after.view(np.uint16)[1])
        assert (after[room:] == 7).all()


def test_extremes_of_nothing_but_nan():
    """The result is NaN, and its index 0."""
    after = execute(
        "bang_argmax", dst=np.zeros(3, np.float32), src=np.full(9, math.nan, np.float32), elem_count=9
    )

    assert math.isnan(after["dst"][0])
    assert after["dst"].view(np.uint32)[1] == 0


def test_argmax_of_infinities_beside_nan():
    """Infinities are numbers."""
    for name, values, index in (
        ("bang_argmax", [math.nan, -math.inf, math.nan], 1),
        ("bang_argmin", [math.nan, math.inf, math.nan], 1),
        ("bang_argmax", [1, math.inf, math.inf], 1),
    ):
        after = execute(name, dst=np.zeros(3, np.float32), src=np.array(values, np.float32), elem_count=3)[
            "dst"
        ]

        assert values[index] == after[0]
        assert index == after.view(np.uint32)[1]


# -- tables and shapes -----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [d.dtype for d in ISA["bang_lut"].operands["dst"].dtypes], ids=str)
def test_lut_looks_up(dtype):
    """dst[i] = table[src[i]], for tables of 64 and more."""
    index = np.dtype(f"u{dtype.itemsize}")
    for count in TAILS:
        for size in (64, 256):
            table = samples(dtype, size, size) if dtype.kind == "i" else np.arange(size).astype(dtype)
            src = np.random.default_rng(count).integers(0, size, count).astype(index)
            after = execute(
                "bang_lut",
                dst=np.zeros(count, dtype),
                src=src,
                table=table,
                elem_count=count,
                table_length=size,
            )["dst"]

            assert [table[k].tobytes() for k in src] == [x.tobytes() for x in after]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_transpose(dtype):
    """dst[w][h] = src[h][w], for rows and columns of any length."""
    for height, width in ((1, 1), (1, 65), (65, 1), (31, 33), (64, 128), (129, 3)):
        src = samples(dtype, height * width, height).reshape(height, width)
        after = execute(
            "bang_transpose", dst=np.zeros((width, height), dtype), src=src, height=height, width=width
        )["dst"]
        for h in range(height):
            for w in range(width):
                assert src[h, w].tobytes() == after[w, h].tobytes()
