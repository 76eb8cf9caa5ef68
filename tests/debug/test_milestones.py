"""Snapshots and marks: shorter ways to the same moments, within a stated bound of memory."""

import random

import pytest
from debug_kernels import counting_program, line, staged_program
from debug_tools import console_on, place, says

from mlusim.debug import DebugSession, Position
from mlusim.debug.run.moments import MARKS, SNAPSHOTS, Mark, Milestones, Snapshot
from mlusim.debug.run.runs import LaunchRun
from mlusim.debug.stop.stops import END
from mlusim.memory.allocation import Allocation, fresh_bytes
from mlusim.memory.space import GDRAM


def _digest_from_the_beginning(session, position):
    """The digest of a run that is watched from the first moment on."""
    kept = session._run
    run = LaunchRun(session.launches[position.launch - 1])
    assert run.go(goal=position).position == position
    session._run, session.stop = run, run.stop
    digest = session.digest()
    run.abandon()
    session._run = kept
    return digest


@pytest.mark.parametrize(
    ("program", "options"),
    [
        (counting_program, {"tasks": 60, "rounds": 60}),
        (staged_program, {"tasks": 96}),
        (staged_program, {"seed": 3}),
    ],
    ids=["block", "unions", "seeded"],
)
def test_short_ways_lead_to_the_same_bytes(program, options):
    """From snapshots and past marks the machine is what it is from the beginning, at places all over the launch."""
    draw = random.Random(11)
    with console_on(program, **options) as console:
        session = console.session
        count = session.runs.moments(1)
        for moment in [draw.randrange(1, count) for _ in range(12)]:
            session.travel(Position(1, moment))
            digest = session.digest()

            assert digest == _digest_from_the_beginning(session, Position(1, moment))


def test_block_tasks_leave_snapshots_and_marks():
    """A later run begins near where it goes: it hears of a small part of the launch."""
    with console_on(counting_program, tasks=60, rounds=60) as console:
        session = console.session
        count = session.runs.moments(1)
        run = session.runs.aside(Position(1, count - 10))
        heard = len(run.tracer.recent)
        run.abandon()

        assert count > 7_000
        assert heard < 300
        assert session.launches[0].milestones.snapshot(count).moment > count // 2


@pytest.mark.parametrize(
    ("program", "options"),
    [(counting_program, {"tasks": 1, "rounds": 60}), (staged_program, {"tasks": 16})],
    ids=["scalars", "flights"],
)
def test_a_way_through_a_task_is_counted_and_not_announced(program, options):
    """A run hears of the moments behind *since* alone, though no mark is near, and of effects in flight as they land."""
    with console_on(program, **options) as console:
        session = console.session
        count = session.runs.moments(1)
        for since in range(count - 60, count - 20, 5):
            session.launches[0].milestones = Milestones(0)
            run = LaunchRun(session.launches[0], since=since)
            run.go(goal=Position(1, since + 15))
            assert [op.moment for op in run.tracer.recent] == list(range(since, since + 16))
            session._run, session.stop = run, run.stop
            digest = session.digest()
            assert digest == _digest_from_the_beginning(session, run.stop.position)
            run.abandon()


def test_searches_look_further_back_where_they_must():
    """The only hit lies at the very beginning of a long launch."""
    with console_on(counting_program, tasks=60, rounds=60) as console:
        says(console, f"break {line('counting-add')} task 0 if i == 2", "goto end", "reverse-continue")
        assert ("task 0", line("counting-add"), "i = 2") == (*place(console)[:2], says(console, "print i"))

        says(console, "goto end", "reverse-step")
        assert ("task 59", line("counting-store")) == place(console)[:2]
        assert "task 0, scalar store" in says(console, "who-wrote out[0]")


def test_snapshots_keep_to_their_room():
    """However many are made, they take no more than was said, and none is made of what is too large."""
    milestones = Milestones(room=10_000)
    allocation = Allocation(GDRAM, 0, fresh_bytes(900), "tensor")
    made = 0
    for moment in range(0, 2_000_000, 500):
        if milestones.wanted(moment, 900):
            milestones.keep(Snapshot(moment, moment, moment, moment, {allocation: fresh_bytes(900)}))
            made += 1
        assert sum(one.nbytes for one in milestones._snapshots) <= 10_000
    assert 4 <= len(milestones._snapshots) <= SNAPSHOTS
    assert made < 100
    assert not Milestones(room=1000).wanted(10**6, 900)


def test_marks_keep_to_their_number():
    """They get sparser, and the last one before a moment is still found."""
    milestones = Milestones(room=0)
    for rare in range(1, 5 * MARKS // 2):
        milestones.note(Mark(rare * 3, rare))

    assert len(milestones._marks) <= MARKS
    moment, rare, *_ = milestones.mark(6_000)
    assert (moment, True) == (rare * 3, 6_000 - moment < 100)
    assert milestones.mark(0) is None


def test_copies_of_tensors_are_bounded():
    """The copies of all launches together stay below the history that was asked for."""

    def program(observe):
        for _ in range(5):
            counting_program(observe, rounds=3)

    session = DebugSession(program, history=16)
    session.forward()

    assert 5 == len(session.launches)
    assert sum(one.nbytes for one in session.launches) <= 16
    assert session.position == Position(5, END)
    session.close()
