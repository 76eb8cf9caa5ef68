"""Limits of a launch: instructions, CPU time, growth; where the kernel was, and how to raise them."""

import inspect
import sys
import threading

import numpy as np
import pytest

import mlusim
from mlusim import Limit
from mlusim.bang import float32, kernel
from mlusim.errors import LimitReached, UsageError
from mlusim.machine.limits import UNLIMITED, USUAL, Meter, left_of, limit_in, limiting
from mlusim.observe.collect import collecting


@kernel
def nothing(mlu):
    pass


@kernel
def computes(mlu):
    buffer = mlu.nram(float32, 8)
    while True:
        mlu.bang_write_zero(buffer, 8)


@kernel
def thinks(mlu):
    count = 0
    while True:
        count += 1


@kernel
def stores(mlu):
    buffer = mlu.nram(float32, 8)
    while True:
        buffer[0] = 1.0


@kernel
def on_one_line(mlu):
    count = 0
    while True: count += 1  # noqa: E701 - the jump back is to the same line  # fmt: skip


@kernel
def prints(mlu):
    while True:
        mlu.bang_printf("a line")


@kernel
def meets(mlu):
    while True:
        mlu.sync_all()


@kernel
def insists(mlu):
    buffer = mlu.nram(float32, 8)
    while True:
        try:
            mlu.bang_write_zero(buffer, 8)
        except BaseException:  # noqa: BLE001, S112 - the worst that a kernel can do
            continue


def lines_of(body):
    """The lines of the loop of *body*."""
    lines, start = inspect.getsourcelines(body.body)
    first = next(n for n, line in enumerate(lines) if "while True" in line)
    return range(start + first, start + len(lines))


def ended(body, limit, observe=()):
    """The fault that ends a launch of *body* within *limit*."""
    union = (4, mlusim.UNION1) if body is meets else (1, mlusim.BLOCK)
    with pytest.raises(LimitReached) as caught:
        mlusim.Device().launch(body, *union, limit=limit, observe=observe)
    return caught.value


@pytest.mark.parametrize(
    "observe", [(), ("memcheck", "initcheck", "racecheck", "synccheck")], ids=["alone", "watched"]
)
@pytest.mark.parametrize(
    ("body", "limit", "said"),
    [
        (computes, 100, "executed 100 simulated instructions, its limit.*--limit instructions=1000 "),
        (computes, 1, "executed 1 simulated instruction, its limit"),
        (prints, Limit(instructions=100), "executed 100 simulated instructions"),
        (meets, "instructions=100", "executed 100 simulated instructions"),
        (insists, 100, "executed 100 simulated instructions"),
        (thinks, 100, "made 100 turns of its loops, its limit of instructions.*--limit instructions=1000 "),
        (stores, "instructions=100", "made 100 turns of its loops"),
        (on_one_line, 100, "made 100 turns of its loops"),
        (prints, "growth=1KiB", r"more than 1,024 bytes, its limit.*launch\(limit='growth=10240'\)"),
        (meets, "growth=64k", "what the launch prints and logs takes more than 64,000 bytes"),
        (computes, "seconds=0.05", "has run for 0.05 seconds, its limit.*--limit seconds=0.5 "),
        (thinks, "seconds=0.05", "has run for 0.05 seconds"),
        (stores, "seconds=0.05", "has run for 0.05 seconds"),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_kernel_that_never_ends_is_ended(body, limit, said, observe):
    """Whatever it does, with and without checkers; the fault says where it was and what to do."""
    fault = ended(body, limit, observe)

    assert __file__ == fault.file
    assert fault.line in lines_of(body)
    with pytest.raises(LimitReached, match=said):
        raise fault


@pytest.mark.parametrize(
    ("cpu", "clock", "left"), [(60, 300, 240), (300, 300, 0), (0, 2999, 1), (0, 3000, 0), (600, 300, -300)]
)
def test_seconds_are_those_of_the_cpu(cpu, clock, left):
    """A busy machine ends no launch early; one that waits without a CPU ends by the clock."""
    assert left == left_of(300, cpu, clock)


def test_the_limit_of_instructions_is_exact_and_the_same_each_time():
    """As many as the launch counts are allowed, one more is not; all tasks count together."""

    @kernel
    def counted(mlu):
        buffer = mlu.nram(float32, 8)
        for _ in range(10):
            mlu.bang_write_zero(buffer, 8)

    launch = mlusim.Device().launch(counted, 3, limit=30)

    assert 30 == sum(launch.instructions.values())
    assert (2, 2) == (_fault(counted, 29).task, _fault(counted, 29).task)


def _fault(body, limit):
    with pytest.raises(LimitReached) as caught:
        mlusim.Device().launch(body, 3, limit=limit)
    return caught.value


def test_a_launch_inside_a_kernel_has_its_own_limit():
    """The outer one's alarm goes through the inner launch; the inner one's fault is the inner kernel's."""

    @kernel
    def outer(mlu, inner_limit):
        mlusim.Device().launch(thinks, limit=inner_limit)

    with pytest.raises(LimitReached, match=r"0\.05 seconds"):
        mlusim.Device().launch(outer, args=("seconds=60",), limit="seconds=0.05")
    with pytest.raises(LimitReached, match=r"0\.06 seconds"):
        mlusim.Device().launch(outer, args=("seconds=0.06",), limit="seconds=60")


def test_a_launch_that_ends_in_time_leaves_nothing_behind():
    """No alarm goes off later."""

    @kernel
    def short(mlu, out):
        out[0] = 1.0

    device = mlusim.Device()
    out = device.put(np.zeros(1, np.float32))
    for _ in range(20):
        device.launch(short, args=(out,), limit="seconds=30")

    assert 1.0 == device.get(out)[0]


def test_functions_can_be_traced_after_an_alarm():
    """An interruption taken back halfway would hold up the first traced call for ever."""
    ended(thinks, "seconds=0.05")
    lines = []
    sys.settrace(lambda frame, event, _: lines.append(event))
    try:
        limit_in("seconds=60", UNLIMITED)
    finally:
        sys.settrace(None)

    assert "call" in lines


def test_launches_with_a_limit_of_seconds_share_one_thread(calls_of):
    """Another launch begins none, and a short limit rings behind a long one."""
    device = mlusim.Device()
    device.launch(nothing, limit="seconds=60")
    with calls_of(threading.Thread.start) as started:
        for _ in range(3):
            device.launch(nothing, limit="seconds=60")
        with pytest.raises(LimitReached):
            device.launch(thinks, limit="seconds=0.05")

    assert "mlusim-alarm" not in {call["self"].name for call in started}


def test_a_block_gives_its_limit_to_launches_without_one():
    """As check, report and the plugin do; a launch's own limit counts before it."""
    with limiting(Limit(instructions=10)), pytest.raises(LimitReached, match="executed 10 "):
        mlusim.Device().launch(computes)
    with limiting(Limit(instructions=10)), pytest.raises(LimitReached, match="executed 20 "):
        mlusim.Device().launch(computes, limit=20)


def test_a_check_tells_the_limit_as_a_finding():
    """By its own rule, with the line."""
    with collecting() as collector, pytest.raises(LimitReached):
        mlusim.Device().launch(computes, limit=10)
    (finding,) = collector.found

    assert ("fault-limit-reached", lines_of(computes)[-1]) == (finding.id, finding.line)


def test_limits_are_read_from_text():
    """Units, parts of a base, none; and back again."""
    assert Limit(seconds=60, instructions=1e6, growth=1 << 28) == limit_in(
        "seconds=60, instructions=1M,growth=256MiB", UNLIMITED
    )
    assert Limit(seconds=1, growth=USUAL.growth) == limit_in("seconds=1", USUAL)
    assert Limit(growth=USUAL.growth) == limit_in("seconds=none", USUAL)
    assert UNLIMITED == limit_in("none", USUAL)
    assert USUAL == limit_in(str(USUAL), UNLIMITED)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "seconds",
        "seconds=",
        "seconds=x",
        "seconds=0",
        "seconds=-1",
        "turns=3",
        "seconds=inf",
        "seconds=nan",
    ],
)
def test_other_texts_are_refused_with_an_example(bad):
    """One sentence each."""
    with pytest.raises(UsageError, match=r"--limit seconds=60|give a positive number"):
        limit_in(bad, UNLIMITED)


@pytest.mark.parametrize("bad", [0, -1, True, float("nan"), [1]])
def test_other_limits_of_a_launch_are_refused(bad):
    """Numbers that are none, and what is not a number."""
    with pytest.raises(UsageError, match="give a positive number"):
        mlusim.Device().launch(computes, limit=bad)


def test_a_compiler_that_a_launch_waits_for_takes_none_of_its_time():
    """An alarm that rings there would end it outside of every kernel; behind it another one begins."""
    with Meter(Limit(seconds=1000)) as meter:
        before = meter._alarm
        with meter.paused():
            inside = before.over
        after = meter._alarm

        assert (True, False, True) == (inside, after.over, after is not before)
    assert after.over
