"""Intervals, trends, normal forms: what is claimed holds for every value."""

import pytest
from hypothesis import given, strategies as st
from plan_strategies import NAMES, environments, formulas

from mlusim.errors import UsageError
from mlusim.plan import PAD_UP, Var, minimum
from mlusim.plan.formulas import Interval, Trend, difference, extremes, formula, interval, normal, trend

S, T = Var("S"), Var("T")
BOX = {**{name: Interval(0, 24) for name in NAMES}, "sizeof_D": Interval(2, 4)}


@given(formulas, environments)
def test_intervals_hold_every_value(expr, env):
    """No value lies outside the interval, nor outside the extremes."""
    value = expr.evaluate(env)

    assert value in interval(expr, BOX)
    assert value in extremes(expr, BOX)[0]


@given(formulas)
def test_extremes_are_reached_where_they_say(expr):
    """Where witnesses are given, the bounds are exact."""
    span, low, high = extremes(expr, BOX)
    if low is not None and high is not None:
        assert span.low == expr.evaluate(low)
        assert span.high == expr.evaluate(high)


@given(formulas, environments, st.sampled_from(NAMES))
def test_trends_are_true(expr, env, name):
    """A proven trend is the trend of every single step."""
    proven = trend(expr, name, BOX)
    below = {**env, name: min(env[name], 23)}
    step = expr.evaluate({**below, name: below[name] + 1}) - expr.evaluate(below)

    assert proven is not Trend.UP or step >= 0
    assert proven is not Trend.DOWN or step <= 0
    assert proven is not Trend.STILL or step == 0


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (S * T + S, Trend.UP),
        (minimum(S, T) + 1, Trend.UP),
        (100 - S, Trend.DOWN),
        (1000 // (S + 1), Trend.DOWN),
        (PAD_UP(S, 8), Trend.UP),
        (S * T - S * T, Trend.STILL),
        (S * (T + 1) - S, Trend.UP),
        (S - minimum(S, T), None),
        (T, Trend.STILL),
    ],
)
def test_trends_are_found(expr, expected):
    """The usual shapes of sizes are proven, by structure or by their step."""
    assert expected == trend(expr, "S", BOX)


def test_a_divisor_that_may_be_zero_is_refused():
    """Bounds do not guess what a division by zero would give."""
    with pytest.raises(UsageError, match="so that it stays above 0"):
        interval(S // T, BOX)


@given(formulas, environments)
def test_normal_form_means_the_same(expr, env):
    """A formula and its sum of products have one value."""
    assert expr.evaluate(env) == formula(normal(expr)).evaluate(env)


@given(formulas, formulas)
def test_difference_with_itself_is_nothing(a, b):
    """Order and grouping do not matter: a+b less b+a is 0."""
    assert {} == difference(a + b, b + a)
    assert {} == difference(a * (b + 2), b * a + 2 * a)


def test_min_of_a_pair_has_no_order():
    """min(S,T) is min(T,S), and min(S,S) is S."""
    assert {} == difference(minimum(S, T), minimum(T, S))
    assert {} == difference(minimum(S, S), S)
