"""Frontiers of random plans against looking at every shape."""

import pytest
from fuzz_plans import BOARD, by_frontier, by_looking, plan_of

from mlusim.plan import Plan, Region, Stage, Var, int8, maximum, nbytes


@pytest.mark.parametrize("part", range(4))
def test_a_share_of_the_frontiers(part):
    """No point is missing, none is too many, and each y is the largest."""
    for seed in range(part, 120, 4):
        plan = plan_of(seed)

        assert by_looking(plan) == by_frontier(plan), seed


@pytest.mark.attack
@pytest.mark.parametrize("part", range(40))
def test_every_frontier(part):
    """The same for 4,000 plans more."""
    for seed in range(1000 + part, 5000, 40):
        plan = plan_of(seed)

        assert by_looking(plan) == by_frontier(plan), seed


def test_an_end_that_only_a_larger_y_reaches():
    """Regions that shrink as y grows: with the smallest y the plan ends long before it ends."""
    x, y = Var("x", low=1, high=6000), Var("y", high=3000)
    plan = Plan("shrinks", [Stage("s", [Region("r", maximum(x - y, 0), int8)])], capacity=nbytes(1000))
    frontier = plan.frontier("x", "y", board=BOARD)

    assert (4000, 3000) == (frontier.xs[-1], frontier.ys[-1])
    assert len(frontier) == 4000


def test_a_lower_bound_above_the_smallest_value():
    """`requires y >= 3` says that the smallest y is not a legal one; the limit is that over the other variables."""
    x, y = Var("x", low=1), Var("y", low=1)
    plan = Plan("bounded", [Stage("s", [Region("r", x * y, int8)])], requires=[y >= 3], capacity=nbytes(300))
    frontier = plan.frontier("x", "y", board=BOARD)

    assert (100, 3) == (frontier.xs[-1], frontier.ys[-1])
    assert [300 // x for x in range(1, 101)] == frontier.ys.tolist()


def test_a_frontier_without_a_point():
    """Where no y fits any x there is a sentence, not a picture of nothing."""
    x, y = Var("x", low=1), Var("y", low=1)
    plan = Plan("none", [Stage("s", [Region("r", x * y, int8)])], requires=[y >= 30], capacity=nbytes(20))

    assert len(plan.frontier("x", "y", board=BOARD)) == 0
