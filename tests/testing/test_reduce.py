"""Delta debugging: small, still failing, and not one item too many."""

from hypothesis import given, settings, strategies as st

from mlusim.check.schedules import smallest


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 40), st.data())
def test_what_is_needed_is_kept_and_nothing_else(size, data):
    """For a test that needs a set of items, just these are left, in their order."""
    items = list(range(size))
    needed = data.draw(st.sets(st.sampled_from(items), max_size=5)) if items else set()

    found = smallest(items, lambda part: needed <= set(part), 100_000)

    assert tuple(sorted(needed)) == found


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=25), st.integers(1, 40))
def test_no_single_item_can_be_left_out(items, enough):
    """For any test, here a sum: the result passes it, and is minimal by one item."""

    def still(part):
        return sum(part) >= enough

    if not still(items):
        return
    found = smallest(items, still, 100_000)

    assert still(found)
    assert not any(still(found[:n] + found[n + 1 :]) for n in range(len(found)))


def test_the_tries_are_an_upper_bound():
    """What is left when they are used up still passes."""
    calls = []

    def still(part):
        calls.append(part)
        return 63 in part

    found = smallest(range(64), still, 4)

    assert 4 >= len(calls)
    assert 63 in found
