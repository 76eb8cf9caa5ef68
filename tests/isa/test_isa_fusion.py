"""Fusion against exact rational numbers: what rounds once and what rounds twice."""

import operator

import numpy as np
import pytest
from hypothesis import given, strategies as st
from isa_exact import FLOATS, exact, fraction, nearest, same, samples
from isa_rows import execute

from mlusim.bang import (
    FUSION_FAA,
    FUSION_FAM,
    FUSION_FAS,
    FUSION_FMA,
    FUSION_FMS,
    FUSION_FSA,
    FUSION_FSM,
    FUSION_FSS,
)

FUSED = {FUSION_FMA: lambda a, b, c: a * b + c, FUSION_FMS: lambda a, b, c: a * b - c}
TWICE = {
    FUSION_FAM: (operator.add, operator.mul),
    FUSION_FSM: (operator.sub, operator.mul),
    FUSION_FAA: (operator.add, operator.add),
    FUSION_FAS: (operator.add, operator.sub),
    FUSION_FSS: (operator.sub, operator.sub),
    FUSION_FSA: (operator.sub, operator.add),
}


def fusion(op, a, b, c, dtype):
    """The definition: FMA and FMS round once, the others after each operation."""
    if op in FUSED:
        return exact(FUSED[op], dtype, a, b, c)
    first, second = TWICE[op]
    return exact(second, dtype, exact(first, dtype, a, b), c)


def test_fusion_constants_have_the_values_of_the_vendor():
    """FMA, FMS, FAM, FSM, FAA, FAS, FSS, FSA are 0 to 7 in this order."""
    order = (FUSION_FMA, FUSION_FMS, FUSION_FAM, FUSION_FSM, FUSION_FAA, FUSION_FAS, FUSION_FSS, FUSION_FSA)

    assert tuple(range(8)) == order


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("op", [*FUSED, *TWICE])
def test_fusion_of_vectors_scalars_and_cycles(op, dtype):
    """Whole vectors, short vectors that repeat, and scalars in either place."""
    count = 96
    a, b, c = (samples(dtype, count, seed) for seed in (1, 2, 3))
    for src1, src2, m in (
        (b, c, 96),
        (b[:32], c[:32], 32),
        (b[:1], c[40], 1),
        (b[50], c[:48], 48),
        (b[20], c[30], None),
    ):
        extra = {} if m is None else {"src12_elem_count": m}
        after = execute(
            "bang_fusion",
            op=op,
            dst=np.zeros(count, dtype),
            src0=a,
            src1=src1,
            src2=src2,
            elem_count=count,
            **extra,
        )["dst"]
        for i in range(count):
            x = src1[i % m] if isinstance(src1, np.ndarray) else src1
            y = src2[i % m] if isinstance(src2, np.ndarray) else src2

            assert same(fusion(op, a[i], x, y, dtype), after[i]), (i, a[i], x, y, after[i])


FLOAT_BITS = st.integers(0, 0xFFFFFFFF)


@given(st.lists(st.tuples(FLOAT_BITS, FLOAT_BITS, FLOAT_BITS), min_size=20, max_size=40))
def test_fused_multiply_add_rounds_once(triples):
    """Any three floats, of any bits: one rounding, no second one on the way through float64."""
    a, b, c = (np.array(x, np.uint32).view(np.float32) for x in zip(*triples, strict=True))
    n = len(triples)
    after = execute(
        "bang_fusion",
        op=FUSION_FMA,
        dst=np.zeros(n, np.float32),
        src0=a,
        src1=b,
        src2=c,
        elem_count=n,
        src12_elem_count=n,
    )["dst"]
    for i in range(n):
        assert same(exact(FUSED[FUSION_FMA], np.dtype(np.float32), a[i], b[i], c[i]), after[i])


def test_fused_multiply_add_at_a_halfway_point():
    """A product beside a tie, moved over it by a tiny addend that float64 alone would lose."""
    a = np.array([1 + 2**-12, 1 + 2**-12, 1 + 2**-12], np.float32)
    c = np.array([2.0**-60, -(2.0**-60), 0], np.float32)
    b = np.array([1 + 2**-12] * 3, np.float32)

    after = execute(
        "bang_fusion",
        op=FUSION_FMA,
        dst=np.zeros(3, np.float32),
        src0=a,
        src1=b,
        src2=c,
        elem_count=3,
        src12_elem_count=3,
    )["dst"]

    assert [1 + 2**-11 + 2**-23, 1 + 2**-11, 1 + 2**-11] == after.tolist()
    assert nearest(fraction(a[0]) * fraction(b[0]) + fraction(c[0]), np.float32) == after[0]


@pytest.mark.parametrize("op", FUSED)
def test_bfloat16_is_rounded_once_beside_a_tie(op):
    """A tie of bfloat16 and a tiny addend that is lost in float: by way of float it would be the even neighbour."""
    bfloat16 = next(d for d in FLOATS if np.dtype(d).name == "bfloat16")
    a, b, c = (np.array([x, -x], bfloat16) for x in (2.5, 9.570149328041574e16, 1.828125))
    sign = 1 if op == FUSION_FMA else -1

    after = execute(
        "bang_fusion",
        op=op,
        dst=np.zeros(2, bfloat16),
        src0=a,
        src1=np.abs(b),
        src2=c * bfloat16.type(sign),
        elem_count=2,
        src12_elem_count=2,
    )["dst"]

    wanted = [
        nearest(fraction(x) * fraction(y) + fraction(z), bfloat16)
        for x, y, z in zip(a, np.abs(b), c, strict=True)
    ]

    assert wanted == after.tolist()
