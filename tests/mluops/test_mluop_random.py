"""Philox4x32-10 against the published vectors and an independent count in NumPy; what becomes of the words."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from mluops_tools import BOARDS, CANARY, OLD, get, on_core, result_of

from mlusim.bang import float32, half, mluop_cvt_uniform, mluop_gen_random_u32, mluop_gen_uniform, uint32
from mlusim.errors import OutOfBounds, RuleFault, Unsupported, WrongSpace

WORD = st.integers(0, 2**64 - 1)

# Random123's kat_vectors for philox4x32 with 10 rounds: counter, key, result.
PUBLISHED = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000", "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff", "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0", "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


def words(text):
    """Words of 32 bits, from hexadecimal text."""
    return [int(word, 16) for word in text.split()]


def long(low, high):
    """Two words as a number of 64 bits."""
    return low | high << 32


def block(counter, key):
    """One block, with Python's integers, as the paper defines it."""
    c, k = list(counter), list(key)
    for _ in range(10):
        first, second = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [
            (second >> 32) ^ c[1] ^ k[0],
            second & 0xFFFFFFFF,
            (first >> 32) ^ c[3] ^ k[1],
            first & 0xFFFFFFFF,
        ]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def stream(count, seed, offset, subsequence):
    """*count* words of a stream."""
    halves = [[v & 0xFFFFFFFF, v >> 32] for v in (seed, subsequence)]
    blocks = [(offset + b) % 2**64 for b in range(count // 4)]
    return [w for b in blocks for w in block([b & 0xFFFFFFFF, b >> 32, *halves[1]], halves[0])]


def generated(count, *stream_of, board=OLD):
    """*count* words that the helper generates; canaries behind both operands must stay."""

    def body(mlu):
        dst, addition = mlu.nram(uint32, count + 4), mlu.nram(uint32, count + 4)
        dst.view.array[:] = addition.view.array[:] = CANARY
        mluop_gen_random_u32(mlu, dst, addition, count, *stream_of)
        return get(dst), get(addition)

    dst, addition = result_of(body, board)
    assert (dst[count:] == CANARY).all()
    assert (addition[count:] == CANARY).all()
    return dst[:count].tolist()


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize(("counter", "key", "expected"), PUBLISHED)
def test_published_vectors(counter, key, expected, board):
    """The generator, and the reference of this file, are the published ones."""
    c, k = words(counter), words(key)

    assert words(expected) == block(c, k)
    assert words(expected) == generated(4, long(*k), long(*c[:2]), long(*c[2:]), board=board)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 40), WORD, WORD, WORD)
def test_any_block_of_any_random_stream_is_right(blocks, seed, offset, subsequence):
    """Any number of blocks of any stream."""
    assert stream(4 * blocks, seed, offset, subsequence) == generated(4 * blocks, seed, offset, subsequence)


@pytest.mark.parametrize("blocks", [63, 64, 65, 600])
def test_long_streams(blocks):
    """More blocks than a register has lanes."""
    assert stream(4 * blocks, 3, 2**32 - 700, 1) == generated(4 * blocks, 3, 2**32 - 700, 1)


def test_a_register_of_blocks_takes_ten_rounds():
    """Six instructions each, as the paper counts them; and older architectures have no registers."""

    def body(mlu):
        mluop_gen_random_u32(mlu, mlu.nram(uint32, 256), mlu.nram(uint32, 256), 256, 1)

    _, launch, _ = on_core(body)

    assert {"vv_mulh": 20, "vv_mul": 20, "vv_trixor": 20, "vv_index": 1, "vv_move": 3, "vv_store": 4} == {
        name: n for name, n in launch.instructions.items() if name.startswith("vv_")
    }
    with pytest.raises(Unsupported, match="__vv_index: tp_322 does not have it"):
        result_of(body, "CE3226-V101")


@pytest.mark.parametrize("offset", [2**32 - 3, 2**64 - 3, 2**32 - 8, 2**33 - 1])
def test_counters_carry(offset):
    """From the low word to the high one, and over the end of the subsequence."""
    assert stream(32, 5, offset, 9) == generated(32, 5, offset, 9)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 20), st.integers(1, 20), WORD)
def test_parts_of_a_stream_are_the_stream(first, second, seed):
    """So tasks can generate theirs alone."""
    whole = generated(4 * (first + second), seed, 100)

    assert whole == generated(4 * first, seed, 100) + generated(4 * second, seed, 100 + first)


def uniform(count, dtype, seed=1, low=0.0, high=1.0, board=OLD):
    """*count* numbers; half has twice the room."""

    def body(mlu):
        room = count * 4 // dtype.size
        dst = mlu.nram(dtype, room + 4)
        dst.view.array[:] = CANARY
        mluop_gen_uniform(mlu, dst, mlu.nram(uint32, count), count, seed, low=low, high=high)
        return get(dst), room

    got, room = result_of(body, board)
    assert (got[room:] == CANARY).all()
    return got[:count]


@pytest.mark.parametrize("board", BOARDS)
def test_uniform_numbers_are_the_upper_bits(board):
    """23 of them as a fraction, exactly; half is that rounded down."""
    fractions = (np.array(stream(400, 1, 0, 0)) >> 9) / 2**23

    assert np.array_equal(fractions.astype(np.float32), uniform(400, float32, board=board))
    halves = uniform(400, half, board=board)
    assert (halves <= fractions).all()
    assert (np.nextafter(halves, np.float16(2)) > fractions).all()


def test_uniform_numbers_are_uniform():
    """Mean and spread of many, and every tenth of the range has its share."""
    numbers = uniform(20000, float32, seed=3).astype(float)
    shares = np.histogram(numbers, 10, (0, 1))[0] / len(numbers)

    assert abs(numbers.mean() - 0.5) < 0.01
    assert abs(numbers.var() - 1 / 12) < 0.002
    assert (abs(shares - 0.1) < 0.01).all()


BOUNDS = st.floats(-(2.0**14), 2.0**14, width=16)


@settings(max_examples=60, deadline=None)
@given(BOUNDS, BOUNDS, WORD, st.sampled_from([half, float32]))
def test_uniform_numbers_keep_their_bounds(a, b, seed, dtype):
    """The lower one is possible, the upper one is not, whatever is rounded."""
    low, high = min(a, b), max(a, b)
    if low == high:
        high = low + 64
    numbers = uniform(64, dtype, seed, low, high).astype(float)

    assert (numbers >= low).all()
    assert (numbers < high).all()


def test_the_upper_bound_is_never_reached():
    """The largest word, in a range where its fraction is rounded up to the bound; src becomes dst."""

    def body(mlu):
        word = mlu.nram(uint32, 2, [0xFFFFFFFF, 0])
        dst = word.cast(float32)
        mluop_cvt_uniform(mlu, dst, word, 2, 2**24, 2**24 + 2)
        return get(dst).tolist()

    assert [np.nextafter(np.float32(2**24 + 2), np.float32(0)), 2**24] == result_of(body)


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"n": 6}, RuleFault, "n = 6 is no multiple of 4.*PAD_UP"),
        ({"n": 0}, RuleFault, "n = 0 is too small"),
        ({"n": 12}, OutOfBounds, "dst takes 48 bytes"),
        ({"seed": -1}, RuleFault, r"seed = -1 is too small; legal: 0 to 2\*\*64 - 1"),
        ({"seed": 2**64}, RuleFault, "seed = 0x10000000000000000 has more than 64 bits"),
        ({"offset": 0.5}, RuleFault, "offset = 0.5 is no integer"),
        ({"low": 1}, RuleFault, "low = 1 and high = 1.0 enclose no float"),
        ({"high": float("nan")}, RuleFault, "high = nan enclose no float"),
        ({"high": float("inf")}, RuleFault, "high = inf enclose no float"),
        ({"high": "2"}, WrongSpace, "high is '2'; legal: a number"),
        ({"addition": None}, WrongSpace, "addition is None"),
        ({"addition": "dst"}, RuleFault, "addition overlaps dst by 32 bytes"),
        ({"dst": uint32}, WrongSpace, "dst is uint32; legal: half, float"),
        (
            {"dst": half},
            OutOfBounds,
            "dst takes 32 bytes.*half writes words into dst: give it twice the room",
        ),
    ],
    ids=lambda value: None,
)
def test_bad_calls_are_refused(change, kind, said):
    """One sentence in the name of the helper."""

    def body(mlu):
        dst = mlu.nram(change.get("dst", float32), 8)
        given_arguments = {"addition": mlu.nram(uint32, 8), "n": 8, "seed": 1} | change | {"dst": dst}
        if change.get("addition") == "dst":
            given_arguments["addition"] = dst
        mluop_gen_uniform(mlu, **given_arguments)

    with pytest.raises(kind, match=f"__mluop_gen_uniform: .*{said}"):
        result_of(body)
