"""Spans on the board, arrows, and lines: they agree with the prediction and with each other."""

import itertools

import numpy as np
import pytest
from any_kernel import launched, plans
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.errors import UsageError
from mlusim.machine.hub import EveryStep
from mlusim.time import log as notes
from mlusim.time.timeline import STORE
from mlusim.time.timing import PIPES, launch_us

NEAR = 1e-7  # us
START = launch_us(mlusim.find_board("MLU370-X4"))
TRAFFIC = 100 * [("load", 2048), ("add", 64)]
# Blocking loads wait for their latency, and leave the memory free.
AHEAD = 100 * [("load later", 2048), ("add", 64)]


def tracks_of(scenes):
    """The spans of each core and place in the order of their start."""
    found = {}
    for scene in scenes:
        for span in scene.spans:
            core = scene.cores[span.member]
            found.setdefault((core.cluster, core.core, span.where), []).append(span)
    return {key: sorted(spans, key=lambda s: (s.start_us, s.end_us)) for key, spans in found.items()}


@settings(deadline=None, max_examples=60)
@given(plan=plans, tasks=st.sampled_from([4, 36]), named=st.booleans())
def test_spans_agree_with_the_prediction(plan, tasks, named):
    """No pipe does two things at once; busy times and the end are the launch's."""
    launch = launched(plan, tasks, observe=[EveryStep()] if named else [])
    scenes = list(launch.timeline.scenes())
    for spans in tracks_of(scenes).values():
        assert all(a.end_us <= b.start_us + NEAR for a, b in itertools.pairwise(spans))
    everything = [span for scene in scenes for span in scene.spans]
    for pipe in PIPES:
        busy = sum(span.busy_us for span in everything if span.where == pipe)
        beside = sum(span.busy_us for span in everything if span.where == STORE) if pipe == "IO-DMA" else 0.0

        assert busy - NEAR <= launch.profile.busy_us[pipe] <= busy + beside + NEAR
    assert launch.time_us == pytest.approx(START + max(s.end_us for scene in scenes for s in scene.cores))
    assert max((s.end_us for s in everything), default=0.0) <= launch.time_us - START + NEAR
    assert all(span.name and (span.line > 0 or not named or "end of" in span.name) for span in everything)
    assert named == launch.timeline.named


@settings(deadline=None, max_examples=60)
@given(plan=plans, named=st.booleans())
def test_arrows_lead_from_what_was_waited_for(plan, named):
    """From the pipe's last effect, which ends when the wait does at the latest; or from the last to arrive."""
    launch = launched(plan, observe=[EveryStep()] if named else [])
    for scene in launch.timeline.scenes():
        for arrow in scene.arrows:
            cause, wait = scene.spans[arrow.cause], scene.spans[arrow.wait]

            assert "wait" == wait.where
            assert arrow.barrier == (cause.where == "wait") == (cause.member != wait.member)
            assert arrow.barrier or cause.end_us <= wait.end_us + NEAR
            if arrow.barrier and "halves" not in dict(plan):
                assert cause.end_us == pytest.approx(wait.end_us)
            assert cause.end_us <= wait.end_us + NEAR
            assert cause.start_us <= wait.end_us


def test_a_barrier_has_an_arrow_to_everybody_but_the_last():
    """Four IPU cores and a memory core meet: four arrows, from the core that works longest."""
    scene = next(launched([("add", 2048), ("meet", 1)], observe=[EveryStep()]).timeline.scenes())
    arrows = [arrow for arrow in scene.arrows if arrow.barrier]
    longest = [scene.spans[arrow.cause].member for arrow in arrows]

    assert 4 == len(arrows)
    assert 1 == len(set(longest))
    assert scene.cores[longest[0]].task in {0, 3}


def test_half_a_barrier_has_arrows_from_the_last_to_arrive_to_those_who_wait():
    """Five cores arrive at their own times and all wait; none waits at its arrival for others."""
    scene = next(launched([("add", 2048), ("halves", 64)], observe=[EveryStep()]).timeline.scenes())
    arrows = [arrow for arrow in scene.arrows if arrow.barrier]
    names = {(scene.spans[a.cause].name, scene.spans[a.wait].name) for a in arrows}

    assert arrows
    assert {("__sync_cluster_arrive", "__sync_cluster_wait")} == names
    assert 1 == len({arrow.cause for arrow in arrows})


def test_a_wait_for_the_memory_stretches_copies_and_nothing_else():
    """Where all cores copy, copies last longer than they take by themselves; vector work does not."""
    launch = launched(AHEAD, 32, mlusim.BLOCK, observe=[EveryStep()])
    scenes = list(launch.timeline.scenes())
    spans = [span for scene in scenes for span in scene.spans]
    copies = [s for s in spans if s.where == "IO-DMA"]
    others = [s for s in spans if s.where == "vector"]

    longer = sum(s.end_us - s.start_us - s.busy_us for s in copies)

    assert launch.profile.memory_wait_us == pytest.approx(longer)
    assert longer > 5
    assert all(s.end_us - s.start_us == pytest.approx(s.busy_us) for s in others)


@pytest.mark.parametrize("meets", [False, True])
def test_cores_of_a_union_wait_for_the_memory(meets):
    """Without barriers each core ends when its task does, stretched by itself; with them all keep one time."""
    launch = launched([*AHEAD, *([("meet", 1)] if meets else [])], 32, observe=[EveryStep()])
    tasks = {(span.task, span.memory_core): span.end_us for span in launch.timeline}
    scenes = list(launch.timeline.scenes())
    ends = {(c.task, c.memory_core): c.end_us for scene in scenes for c in scene.cores}
    longer = sum(
        s.end_us - s.start_us - s.busy_us for scene in scenes for s in scene.spans if s.where != "wait"
    )
    for spans in tracks_of(scenes).values():
        assert all(a.end_us <= b.start_us + NEAR for a, b in itertools.pairwise(spans))

    assert launch.profile.memory_wait_us > 10
    assert max(ends.values()) == pytest.approx(max(tasks.values()))
    assert meets or ends == pytest.approx(tasks)
    assert meets or longer == pytest.approx(launch.profile.memory_wait_us)
    assert longer > 0


def test_spans_are_bounded_and_what_is_left_out_is_known():
    """The first spans of the first tasks; the tasks behind them have their place, and no spans."""
    launch = launched(TRAFFIC, 70, mlusim.BLOCK, observe=[EveryStep()])
    scenes = list(launch.timeline.scenes(most=500))
    whole = [scene for scene in scenes if scene.complete]
    begun = scenes[len(whole)]

    assert 70 == len(scenes)
    assert 500 == sum(len(scene.spans) for scene in scenes)
    assert 2 == len(whole)
    assert 0 < len(begun.spans) < len(scenes[0].spans)
    assert all(not scene.spans for scene in scenes[3:])
    assert [s.name for s in begun.spans] == [s.name for s in scenes[0].spans[: len(begun.spans)]]


@settings(deadline=None, max_examples=60)
@given(plan=plans, tasks=st.sampled_from([4, 8, 36]))
def test_lines_add_up(plan, tasks):
    """Counts, bytes, busy times and waits of all lines are those of the launch."""
    launch = launched(plan, tasks, observe=[EveryStep()])
    found, profile = launch.lines, launch.profile
    scalars = sum(launch.scalar_loads.values()) + sum(launch.scalar_stores.values())
    waits = profile.pipe_wait_us + profile.core_wait_us

    assert sum(launch.instructions.values()) + scalars == sum(line.count for line in found)
    assert sum(launch.traffic.values()) == sum(line.nbytes for line in found)
    assert waits == pytest.approx(sum(line.wait_us for line in found), abs=NEAR)
    assert profile.memory_wait_us == pytest.approx(sum(line.memory_us for line in found), abs=NEAR)
    for pipe in PIPES:
        lasting = sum(line.busy_us[pipe] for line in found)

        assert profile.busy_us[pipe] <= lasting + NEAR
        # Loads and stores that overlap count once for the pipe, and at each line for the line.
        assert pipe == "IO-DMA" or profile.busy_us[pipe] == pytest.approx(lasting, abs=NEAR)


def test_lines_of_a_long_task_are_complete(monkeypatch):
    """What is no longer kept in turn is still counted, at its line."""
    whole = launched(TRAFFIC, 4, mlusim.BLOCK, observe=[EveryStep()]).lines
    monkeypatch.setattr(notes, "MOST_STEPS", 10)
    bounded = launched(TRAFFIC, 4, mlusim.BLOCK, observe=[EveryStep()]).lines

    assert [(a.line, a.count, a.nbytes) for a in whole] == [(b.line, b.count, b.nbytes) for b in bounded]
    assert np.allclose([a.time_us for a in whole], [b.time_us for b in bounded])


def test_lines_of_another_board():
    """The same instructions at the other board's pace."""
    launch = launched(TRAFFIC, 4, mlusim.BLOCK, observe=[EveryStep()])
    moved = launch.on("MLU370-X8")

    assert [line.count for line in launch.lines] == [line.count for line in moved.lines]
    assert moved.profile.busy_us["vector"] == pytest.approx(
        sum(line.busy_us["vector"] for line in moved.lines)
    )


def test_a_launch_that_kept_nothing_has_no_lines():
    """It says how to keep them."""
    with pytest.raises(UsageError, match="EveryStep"):
        _ = launched([("add", 5)]).lines
