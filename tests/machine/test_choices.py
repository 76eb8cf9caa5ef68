"""Schedules as decisions: what a seed drew can be given again, whole or in part."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int32, kernel
from mlusim.machine.scheduling.schedule import Decision, Director, directing

N = 16


@kernel
def racy(mlu, counter, order, src):
    """Counts with a race, keeps the order of the tasks, and reads a copy that may not have landed."""
    if mlu.is_mpu():
        return
    a = mlu.nram(float32, N)
    mlu.memcpy_async(a, src, 4 * N, GDRAM2NRAM)
    seen = counter[0]
    mlu.bang_write_zero(mlu.nram(int32, N), N)
    counter[0] = seen + 1
    order[int(seen)] = mlu.taskId
    mlu.bang_add(a, a, a, N)
    mlu.sync_all_ipu()
    mlu.memcpy(src + N * (mlu.taskId + 1), a, 4 * N, NRAM2GDRAM)


def outcome(director=None, effects="late"):
    """The bytes of all tensors after two launches."""
    device = mlusim.Device()
    tensors = [
        device.put(np.zeros(1, np.int32)),
        device.put(np.zeros(32, np.int32)),
        device.put(np.arange(9 * N, dtype=np.float32)),
    ]
    with directing(director or Director()):
        for _ in range(2):
            device.launch(racy, (4, 2, 1), mlusim.UNION1, tensors, effects=effects)
    return [device.get(t).tobytes() for t in tensors]


def test_without_decisions_the_schedule_is_the_default():
    """A director that decides nothing changes nothing."""
    director = Director()

    assert outcome() == outcome(director)
    assert () == director.taken


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["late", "eager"]))
def test_what_a_seed_drew_can_be_given_again(seed, effects):
    """The same bytes, and the same decisions are taken."""
    drawn = Director(seed)
    expected = outcome(drawn, effects)
    again = Director(decisions=drawn.taken)

    assert expected == outcome(again, effects)
    assert drawn.taken == again.taken


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1000), st.data())
def test_a_part_of_the_decisions_is_a_schedule_too(seed, data):
    """Whatever is left out, the launch ends, and what was taken is among what was given."""
    drawn = Director(seed)
    outcome(drawn)
    part = data.draw(st.lists(st.sampled_from(drawn.taken), unique=True)) if drawn.taken else []
    director = Director(decisions=part)
    outcome(director)

    assert set(director.taken) <= set(part)


def test_decisions_that_cannot_be_taken_are_left_out():
    """Cores, pipes and points that there are not."""
    impossible = (
        Decision(0, "land", 0, 1, "IO-DMA"),
        Decision(0, "land", 0, 2, "no pipe"),
        Decision(0, "next", -1, 1, 99),
        Decision(7, "stop", 0, 1, 1),
    )
    director = Director(decisions=impossible)

    assert outcome() == outcome(director)
    assert () == director.taken


def test_a_seed_alone_is_the_same_with_and_without_a_director():
    """`seed=` draws what a director with that seed draws in its first launch."""
    results = []
    for options, director in (({"seed": 5}, None), ({}, Director(5))):
        device = mlusim.Device()
        tensors = [device.put(np.zeros(n, np.int32)) for n in (1, 32)]
        tensors.append(device.put(np.ones(9 * N, np.float32)))
        if director is None:
            device.launch(racy, (8, 1, 1), mlusim.UNION2, tensors, **options)
        else:
            with directing(director):
                device.launch(racy, (8, 1, 1), mlusim.UNION2, tensors)
        results.append([device.get(t).tobytes() for t in tensors])

    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("decision", "words"),
    [
        (
            Decision(0, "land", 3, 7, "IO-DMA"),
            "the oldest effect on the IO-DMA pipe lands before instruction 7",
        ),
        (Decision(1, "stop", 2, 5, 1), "launch 2, core 2: lets others go before instruction 5"),
        (Decision(0, "next", -1, 1, 4), "launch 1: core 4 begins"),
        (Decision(0, "next", 2, 1, 4), "at stop 1, core 4 goes next"),
    ],
)
def test_decisions_are_told_in_words(decision, words):
    """For the finding that a difference makes."""
    assert words in str(decision)
