"""The solver against exhaustive search: largest values, frontiers, claims."""

from hypothesis import HealthCheck, given, settings, strategies as st
from plan_strategies import VARIABLES, plans, sizes

from mlusim.plan import Plan, Region, ScaleLimit, Stage, Value, Var, float32, int8, maximum, minimum, nbytes
from mlusim.plan.claims import Verdict

BOARD = "MLU370-X4"
S, T = VARIABLES[:2]
SPAN = range(S.low, S.high + 1)
FEWER = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def fits(plan, **values):
    """Return whether the layout, resolved region by region, fits."""
    return plan.layout(BOARD, values).fits


@given(plans(), st.integers(0, 24))
@FEWER
def test_largest_is_the_last_that_fits(plan, s):
    """The answer is the last value that a search through all of them finds, and its bytes are right."""
    legal = [t for t in SPAN if fits(plan, S=s, T=t)]
    found = plan.largest("T", board=BOARD, S=s)

    assert (legal[-1] if legal else None) == found.largest
    if found.largest is not None:
        assert plan.layout(BOARD, S=s, T=found.largest).high_water == found.used_at_largest
        assert found.next == found.largest + 1
    if found.next <= T.high:
        assert plan.layout(BOARD, S=s, T=found.next).high_water == found.used_at_next


@given(plans(), st.integers(0, 24))
@FEWER
def test_what_binds_is_broken_at_the_next(plan, s):
    """The binding stage is one that overflows one step further, by the most."""
    found = plan.largest("T", board=BOARD, S=s)
    if found.stage is not None and found.next <= T.high:
        beyond = plan.layout(BOARD, S=s, T=found.next)

        assert beyond.stage(found.stage).used == beyond.high_water > beyond.capacity


@given(plans())
@FEWER
def test_frontier_is_every_largest(plan):
    """For every S the frontier has what the solver, and a search, would say."""
    frontier = plan.frontier("S", "T", board=BOARD)
    expected = {}
    for s in SPAN:
        legal = [t for t in SPAN if fits(plan, S=s, T=t)]
        expected[s] = legal[-1] if legal else -1
    got = dict(zip(frontier.xs.tolist(), frontier.ys.tolist(), strict=True))

    assert {s: t for s, t in got.items() if t >= 0} == {
        s: t for s, t in expected.items() if t >= 0 and s in got
    }
    assert all(not fits(plan, S=s, T=0) for s in SPAN if s not in got)


@given(plans(), sizes, st.integers(0, 300))
@FEWER
def test_claims_list_every_difference(plan, need, room):
    """Counter-examples and needless refusals are exactly what looking at all shapes finds."""
    claim = ScaleLimit("stated", [need + S * 0 + T * 0 <= room], over=("S", "T"))
    found = plan.compare(claim, board=BOARD)
    generous, strict = set(), set()
    for s in SPAN:
        for t in SPAN:
            stated = claim.limits[0].holds({"S": s, "T": t})
            if stated != fits(plan, S=s, T=t):
                (generous if stated else strict).add((s, t))

    assert generous == shapes(found.generous)
    assert strict == shapes(found.strict)
    assert (found.verdict is Verdict.SAME) == (not generous and not strict)


def shapes(runs):
    """Return the (S, T) pairs of runs over either of them."""
    pairs = set()
    for run in runs:
        for value in range(run.first, run.last + 1, run.step):
            shape = {**run.at, run.variable: value}
            pairs.add((shape["S"], shape["T"]))
    return pairs


def test_a_plan_that_is_not_monotone_is_searched():
    """A size that shrinks again is solved exactly, and the answer says that it was searched."""
    bump = maximum(S * (18 - S), 0)
    plan = Plan("bump", [Stage("all", [Region("r", bump, int8)])], capacity=nbytes(50))
    found = plan.largest("S", board=BOARD)

    assert 24 == found.largest
    assert "interval search" in found.proof
    assert [0, 1, 2, 3, *range(15, 25)] == [s for s in SPAN if fits(plan, S=s)]


def test_a_step_is_kept():
    """A variable that must be a multiple takes multiples only, in answers and at one more."""
    n = Var("n", low=1, multiple_of=32)
    plan = Plan("steps", [Stage("all", [Region("r", n, float32)])], capacity=nbytes(1000))
    found = plan.largest("n", board=BOARD)

    assert (224, 256, 896, 1024) == (found.largest, found.next, found.used_at_largest, found.used_at_next)


def test_nothing_fits():
    """Where not even the smallest value fits there is no largest, and the smallest says why."""
    n = Var("n", low=10)
    plan = Plan("none", [Stage("all", [Region("r", n, float32)])], capacity=nbytes(39))
    found = plan.largest("n", board=BOARD)

    assert found.largest is None
    assert found.used_at_largest is None
    assert (10, 40) == (found.next, found.used_at_next)


def test_a_variable_that_costs_nothing_ends_at_its_range():
    """Without a constraint the variable's own range binds, and the answer says so."""
    plan = Plan("free", [Stage("all", [Region("r", minimum(S, 3), int8)])])
    found = plan.largest("S", board=BOARD)

    assert 24 == found.largest
    assert "the range of S" in found.binding


def test_claims_without_end_are_compared_in_steps():
    """A limit that admits every S at T=0, and every T at S=0, is compared to the last shape."""
    wide, high = Var("S"), Var("T")
    plan = Plan("wide", [Stage("all", [Region("r", (wide + 1) * (high + 1), int8)])], capacity=nbytes(100))
    found = plan.compare(ScaleLimit("stated", [wide * high <= 10], over=("S", "T")), board=BOARD)
    expected = sum(
        2**31 - 100 if s in {0, 1} and s == 0 else max(0, (10 // s if s else 0) - (100 // (s + 1) - 1))
        for s in range(100)
    )

    assert Verdict.BOTH is found.verdict
    assert "S=0, T=100..2147483647" == str(found.generous[0])
    assert "S=100..2147483647, T=0" == str(found.generous[-1])
    assert expected + 2**31 - 100 == found.counter_examples
    assert sum(max(0, 100 // (s + 1) - 1 - 10 // s) for s in range(1, 100)) == sum(
        r.count for r in found.strict
    )


def test_a_stated_tile_is_held_against_the_largest():
    """A stated tile formula is found to be exact, too strict or too generous."""
    c = Var("C", low=1, high=200)
    n = Var("n", low=1)
    plan = Plan(
        "tiles", [Stage("all", [Region("r", n * c, int8), Region("h", c, int8)])], capacity=nbytes(1000)
    )
    exact = plan.compare(Value("exact", "n", (nbytes(1000) - c) // c, over="C"), board=BOARD)
    loose = plan.compare(Value("header forgotten", "n", nbytes(1000) // c, over="C"), board=BOARD)

    assert Verdict.SAME is exact.verdict
    assert Verdict.GENEROUS is loose.verdict
    assert 200 == loose.counter_examples
