"""Every instruction in its log: nothing changes by it, its parts add up, and no pipe is in two places at once."""

import numpy as np
import pytest
from any_kernel import launched, plans
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.machine.hub import EveryStep
from mlusim.time import log as notes
from mlusim.time.row_times import ON_IO, ON_STORE, WAITING, pieces, tracks
from mlusim.time.timing import Beside, groups_of, timed_group

NEAR = 1e-9  # us


def pieces_of(launch, *, named=True):
    """The pieces of each task of *launch*, by themselves, and its track."""
    board = mlusim.find_board(launch.board)
    for group in groups_of(launch.tasks):
        found = tracks(timed_group(group, board, Beside(4, 1, 0)), board)
        for task, track in zip(group, found, strict=True):
            yield task, track, pieces(track, task.steps if named else None)


@settings(deadline=None, max_examples=50)
@given(plan=plans, tasks=st.sampled_from([4, 8]))
def test_keeping_every_step_changes_nothing(plan, tasks):
    """Time, logs and counts are those of a launch that keeps none; with checkers, too."""
    plain, kept = launched(plan, tasks), launched(plan, tasks, observe=[EveryStep()])
    checked = launched(plan, tasks, observe=[EveryStep(), "memcheck", "racecheck"])

    assert plain.time_us == kept.time_us == checked.time_us
    assert [t.log.key for t in plain.tasks] == [t.log.key for t in kept.tasks]
    assert [t.steps.key for t in kept.tasks] == [t.steps.key for t in checked.tasks]
    assert plain.instructions == kept.instructions == checked.instructions


@settings(deadline=None, max_examples=50)
@given(plan=plans)
def test_every_instruction_is_counted_once(plan):
    """By name, over all tasks; scalar accesses are counted too."""
    launch = launched(plan, observe=[EveryStep()])
    counted = {}
    for task in launch.tasks:
        for step, times in zip(task.steps.table.steps, task.steps.times, strict=False):
            name = task.steps.table.name(step.at.number).lstrip("_")
            counted[name] = counted.get(name, 0) + int(times) * step.issued
    loads, stores = counted.pop("scalar load", 0), counted.pop("scalar store", 0)
    counted.pop("end of the task", 0)

    assert dict(launch.instructions) == {name: n for name, n in counted.items() if n}
    assert (sum(launch.scalar_loads.values()), sum(launch.scalar_stores.values())) == (loads, stores)


@settings(deadline=None, max_examples=60)
@given(plan=plans, named=st.booleans())
def test_pieces_add_up_and_do_not_overlap(plan, named):
    """On each pipe the pieces are as long as the pipe is busy, one behind the other, within the task."""
    launch = launched(plan, observe=[EveryStep()])
    busy = {(span.task, span.memory_core): span.busy_us for span in launch.timeline}
    for task, track, found in pieces_of(launch, named=named):
        for pipe in range(5):
            own = found.chosen(found.where == pipe)
            stores = found.chosen(found.where == ON_STORE)
            beside = (stores.end - stores.start).sum() if pipe == ON_IO else 0.0
            least = (own.end - own.start).sum()

            # While both channels of the IO-DMA are busy the time counts once.
            assert least - NEAR <= busy[task.task, task.memory_core][pipe] <= least + beside + NEAR
            assert (stores.start[1:] >= stores.end[:-1] - NEAR).all()
            assert (own.start[1:] >= own.end[:-1] - NEAR).all()
        held = found.chosen((found.where == WAITING) | (found.where == 0))

        assert (held.start[1:] >= held.end[:-1] - NEAR).all()
        assert found.end.max(initial=0.0) <= track.end + NEAR
        assert not named or (found.step >= 0).all()


@pytest.fixture
def few_steps(monkeypatch):
    """Let a core keep twelve steps in turn from now on, where many thousands would take seconds: ``few_steps()``."""
    return lambda: monkeypatch.setattr(notes, "MOST_STEPS", 12)


def test_a_log_of_steps_is_bounded(few_steps):
    """Beyond the bound steps are counted, and pieces are whole rows; both still add up."""
    plan = [("add", 64), ("load later", 64), ("sync", 1)] * 30
    whole = launched(plan, 1, mlusim.BLOCK, observe=[EveryStep()])
    few_steps()
    bounded = launched(plan, 1, mlusim.BLOCK, observe=[EveryStep()])
    (_, _, every), (task, _, some) = next(pieces_of(whole)), next(pieces_of(bounded))

    assert 12 == len(task.steps.turns)
    assert np.array_equal(whole.tasks[0].steps.times, task.steps.times)
    assert (every.step >= 0).all()
    assert 0 < (some.step >= 0).sum() < len(every)
    for pipe in range(6):
        lasting = [(p.end - p.start)[p.where == pipe].sum() for p in (every, some)]

        assert lasting[0] == pytest.approx(lasting[1])


def test_a_row_that_is_kept_in_part_begins_with_its_steps(few_steps):
    """A blocking kernel is one row: what is kept of it comes first, the rest behind it."""
    few_steps()
    launch = launched([("load", 64), ("add", 64)] * 50, 1, mlusim.BLOCK, observe=[EveryStep()])
    _, track, found = next(pieces_of(launch))
    kept, rest = found.chosen(found.step >= 0), found.chosen((found.step < 0) & (found.where < WAITING))

    assert 0 < len(kept) <= 12
    assert 2 == len(rest)
    assert kept.end.max() <= rest.start.min() + NEAR
    assert track.end == pytest.approx(rest.end.max())


def test_a_sync_of_the_compute_stream_waits_at_its_own_line():
    """The wait that the next copy would note belongs to the sync."""
    launch = launched(
        [("add", 2048), ("sync compute", 1), ("load later", 64)], 1, mlusim.BLOCK, observe=[EveryStep()]
    )
    task, _, found = next(pieces_of(launch))
    waits = found.chosen(found.where == WAITING)
    names = [task.steps.table.name(task.steps.table.steps[n].at.number) for n in waits.step]

    assert ["__sync_compute", "end of the task"] == names
