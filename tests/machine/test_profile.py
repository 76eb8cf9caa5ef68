"""The profile of a launch: what it says of pipes, cores and waves agrees with the prediction."""

import math

import pytest
from any_kernel import launched, plans
from attrs import evolve
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.time.replay import replay
from mlusim.time.row_times import LAST, tracks
from mlusim.time.timing import groups_of, launch_us, neighbours, timed_group


@settings(deadline=None, max_examples=60)
@given(plan=plans, tasks=st.sampled_from([4, 8, 36, 100]))
def test_the_replay_with_notes_ends_when_the_one_without_does(plan, tasks):
    """Every core ends at the same moment, to the last bit, whatever overlaps and meets, and whether or not cores of one log share a clock."""
    launch = launched(plan, tasks)
    board = mlusim.find_board(launch.board)
    beside = neighbours(launch.tasks, board)
    for group in groups_of(launch.tasks):
        logs = timed_group(group, board, beside)
        each_its_own = [evolve(log) for log in logs]

        assert replay(logs, board) == replay(each_its_own, board)
        assert replay(logs, board).ends == tuple(track.end for track in tracks(each_its_own, board))


@settings(deadline=None, max_examples=60)
@given(plan=plans, tasks=st.sampled_from([4, 36, 100]))
def test_a_profile_agrees_with_the_prediction(plan, tasks):
    """Busy times are the tasks'; the last core ends with the launch; overlap is what busy times exceed."""
    launch = launched(plan, tasks)
    found = launch.profile
    busy = [sum(span.busy_us[n] for span in launch.timeline) for n in range(5)]

    assert busy == pytest.approx(list(found.busy_us.values()))
    assert launch.time_us == pytest.approx(
        launch_us(mlusim.find_board(launch.board)) + max(core.end_us for core in found.cores)
    )
    assert found.active_us <= sum(busy) + 1e-6
    assert 0 <= found.overlap_us <= sum(busy) - found.active_us + 1e-6
    assert found.active_us == pytest.approx(sum(core.active_us for core in found.cores))
    assert len(launch.tasks) == sum(core.tasks for core in found.cores)
    assert tasks // 4 == sum(found.waves)
    assert 1 <= found.balance <= 32


@settings(deadline=None, max_examples=40)
@given(plan=plans)
def test_rows_follow_each_other(plan):
    """On the issuing side a core is never in two rows at once, nor does it go back in time."""
    launch = launched(plan)
    board = mlusim.find_board(launch.board)
    group = groups_of(launch.tasks)[0]
    for track in tracks(timed_group(group, board, neighbours(launch.tasks, board)), board):
        times = track.times

        assert (times[:, 0] <= times[:, 3]).all()
        assert (times[1:, 0] >= times[:-1, 3]).all()
        assert (times[:, LAST] >= times[:, 4]).all()


def test_a_blocking_kernel_is_busy_all_the_time_and_overlaps_nothing():
    """Load, add, store: one after the other, no wait."""
    found = launched([("load", 512), ("add", 512), ("store", 512)], 1, mlusim.BLOCK).profile

    assert 0 == found.overlap_us == found.pipe_wait_us == found.core_wait_us
    assert math.isclose(found.elapsed_us, found.active_us)


def test_an_asynchronous_load_runs_beside_the_vector_unit():
    """What overlaps is the shorter of both; the sync waits for the rest."""
    found = launched([("load later", 2048), *[("add", 2048)] * 8, ("sync", 1)], 1, mlusim.BLOCK).profile

    assert math.isclose(found.busy_us["IO-DMA"], found.overlap_us, rel_tol=0.02)
    assert found.pipe_wait_us > 0


def test_waits_for_others_are_told_from_waits_for_pipes():
    """The memory core waits for the IPU cores, and for none of its own pipes."""
    found = launched([("load", 2048), ("meet", 1)]).profile
    alone = launched([("load", 2048), ("sync", 1)]).profile

    assert found.core_wait_us > 0 == found.pipe_wait_us
    assert 0 == alone.core_wait_us


def test_waves_and_places():
    """Seventy tasks on 32 cores: 32, 32 and 6."""
    found = launched([("add", 64)], 70, mlusim.BLOCK).profile

    assert ((32, 32, 6), 32) == (found.waves, found.places)
    assert (32, {2, 3}) == (len(found.cores), {core.tasks for core in found.cores})


def test_sharing_the_memory_is_waiting_for_it():
    """All cores that copy wait for their share; one core alone does not."""
    plan = [("load", 2048), ("store", 2048)] * 20

    assert 0 == pytest.approx(launched(plan, 1, mlusim.BLOCK).profile.memory_wait_us, abs=1e-6)
    assert launched(plan, 32, mlusim.BLOCK).profile.memory_wait_us > 0


def test_an_untimed_launch_has_an_empty_profile():
    """Without timing there is nothing to say."""
    found = launched([("add", 64)], timing=False).profile

    assert {} == found.busy_us
    assert (0.0, 1.0) == (found.overlap, found.balance)
