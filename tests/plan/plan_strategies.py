"""Hypothesis strategies for formulas, values and small plans."""

from hypothesis import strategies as st

from mlusim.plan import (
    PAD_DOWN,
    PAD_UP,
    ElementType,
    Plan,
    Region,
    Stage,
    Var,
    ceil_div,
    float32,
    half,
    int8,
    int32,
    maximum,
    minimum,
    nbytes,
    sizeof,
)

NAMES = ("S", "T", "n")
VARIABLES = tuple(Var(name, low=0, high=24) for name in NAMES)
ELEMENT = ElementType("D", (float32, half))

leaves = st.one_of(
    st.sampled_from(VARIABLES),
    st.integers(0, 9).map(lambda v: VARIABLES[0] * 0 + v),
    st.just(sizeof(ELEMENT)),
)
divisors = st.one_of(
    st.integers(1, 6), st.sampled_from([sizeof(ELEMENT), VARIABLES[0] + 1, VARIABLES[1] * 2 + 3])
)


def grow(inner):
    """Combine formulas by every operation; divisors stay above 0."""
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] - p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: minimum(*p)),
        st.tuples(inner, inner, inner).map(lambda p: maximum(*p)),
        st.tuples(inner, divisors).map(lambda p: p[0] // p[1]),
        st.tuples(inner, divisors).map(lambda p: ceil_div(*p)),
        st.tuples(inner, divisors).map(lambda p: PAD_UP(*p)),
        st.tuples(inner, divisors).map(lambda p: PAD_DOWN(*p)),
    )


formulas = st.recursive(leaves, grow, max_leaves=7)

environments = st.fixed_dictionaries(
    {**{name: st.integers(0, 24) for name in NAMES}, "sizeof_D": st.sampled_from([2, 4])}
)


def _positive(inner):
    """Combine sizes so that they stay at 0 or above, some of them not monotone."""
    pairs = st.tuples(inner, inner)
    return st.one_of(
        pairs.map(lambda p: p[0] + p[1]),
        pairs.map(lambda p: p[0] * p[1]),
        pairs.map(lambda p: minimum(*p)),
        pairs.map(lambda p: maximum(p[0] - p[1], 0)),
        st.tuples(inner, st.integers(1, 5)).map(lambda p: p[0] // p[1]),
        st.tuples(inner, st.sampled_from([3, VARIABLES[1] + 1])).map(lambda p: PAD_UP(*p)),
    )


sizes = st.recursive(st.one_of(st.sampled_from(VARIABLES[:2]), st.integers(0, 4)), _positive, max_leaves=5)


@st.composite
def plans(draw):
    """Return a plan of one stage or two over S and T, with alignments, that a few hundred bytes may hold."""
    counts = [draw(st.integers(1, 3)), draw(st.integers(0, 2))]
    number = 0
    stages = []
    for which, count in enumerate(counts):
        regions = []
        for _ in range(count):
            dtype = draw(st.sampled_from([int8, float32, int32]))
            align = draw(st.sampled_from([1, 1, 4, 16]))
            regions.append(Region(f"r{number}", draw(sizes), dtype, align=align))
            number += 1
        keeps = tuple(r.name for r in stages[0].regions[: draw(st.integers(0, 2))]) if which else ()
        if regions or keeps:
            stages.append(Stage(f"s{which}", regions, keeps=keeps))
    # S and T are part of every plan, so that both can always be asked for
    stages[0] = Stage("s0", [*stages[0].regions, Region("tail", VARIABLES[0] + VARIABLES[1], int8)])
    return Plan("random", stages, capacity=nbytes(draw(st.integers(0, 400))))
