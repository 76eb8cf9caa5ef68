"""Judging in windows and by cells is the same as holding every pair of accesses against each other."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import MEMORY_TYPES
from mlusim.machine.hub import SharedRun
from mlusim.machine.native.screen import StoredWords
from mlusim.machine.native.text.screen import SHARED, TYPE_BYTES
from mlusim.machine.observed import Site
from mlusim.memory.allocation import Allocation
from mlusim.memory.footprint import Access
from mlusim.memory.space import GDRAM
from mlusim.observe.races import sharing as module
from mlusim.observe.races.clocks import Clocks
from mlusim.observe.races.sharing import ATOMIC, READ, WRITE, KeptValues, Sharing

SIZE = 24
TENSOR = Allocation(GDRAM, 0, np.zeros(SIZE, np.uint8), "tensor")


def _bytes(access):
    """Every byte of an access, one by one."""
    offsets = [access.start]
    for stride, count in access.steps:
        offsets = [o + stride * n for o in offsets for n in range(count)]
    return {o + n for o in offsets for n in range(access.size)}


accesses = st.builds(
    lambda start, size, steps: Access(TENSOR, start, size, tuple(steps)),
    st.integers(0, 6),
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3)), max_size=2),
)


@settings(max_examples=400, deadline=None)
@given(accesses, accesses)
def test_the_bytes_in_common_are_those_of_both(first, second):
    """Exact for strides that interleave, repeat or overlap themselves."""
    both = first.common(second)

    shared = _bytes(first) & _bytes(second)
    assert bool(shared) == (both is not None)
    if both is not None:
        assert set(range(*both)) <= shared


events = st.one_of(
    st.tuples(
        st.just("access"),
        st.integers(0, 3),
        st.sampled_from([READ, ATOMIC, WRITE]),
        st.integers(0, SIZE - 4),
        st.integers(1, 4),
    ),
    st.tuples(st.just("barrier"), st.sets(st.integers(0, 3), min_size=2)),
    st.tuples(st.just("lock"), st.integers(0, 3), st.integers(0, 1)),
    st.tuples(st.just("unlock"), st.integers(0, 3), st.integers(0, 1)),
)


def _effect(number):
    step = SimpleNamespace(name=f"op{number}", pipe=Pipe.IO, site=Site("k.py", number))
    return SimpleNamespace(step=step, number=number)


@pytest.mark.parametrize("window", [1, 3, 1000])
@settings(max_examples=150, deadline=None)
@given(st.lists(events, max_size=24))
def test_a_race_is_told_exactly_when_some_pair_is_in_no_order(window, run):
    """Against a model that keeps every access and compares all pairs by what each task knows."""
    told, clocks = [], Clocks()
    for _ in range(4):
        clocks.begin()
    sharing = Sharing(clocks, told.extend)
    sharing._window = window
    done, knows, counts, mutex = [], [set() for _ in range(4)], 0, [set(), set()]
    racing = False
    for number, event in enumerate(run):
        if event[0] == "access":
            _, task, kind, start, size = event
            sharing.add(_effect(number), Access(TENSOR, start, size), kind, task)
            sharing._window = window
            for other, was, low, length, mark in done:
                overlaps = low < start + size and start < low + length
                plain = {kind, was} not in ({READ}, {ATOMIC})
                racing |= overlaps and plain and other != task and mark not in knows[task]
            done.append((task, kind, start, size, counts))
            knows[task].add(counts)
            counts += 1
        elif event[0] == "barrier":
            clocks.meet(sorted(event[1]))
            together = set().union(*(knows[t] for t in event[1]))
            for t in event[1]:
                knows[t] = set(together)
        elif event[0] == "lock":
            clocks.acquire(event[1], event[2])
            knows[event[1]] |= mutex[event[2]]
        else:
            clocks.release(event[1], event[2])
            mutex[event[2]] |= knows[event[1]]
    sharing.judge()

    assert racing == bool(told)


def test_a_window_keeps_what_a_later_access_may_conflict_with():
    """Ten thousand writes of one word by one task leave one row, and the foreign read is found."""
    told, clocks = [], Clocks()
    first, second = clocks.begin(), clocks.begin()
    sharing = Sharing(clocks, told.extend)
    for number in range(10_000):
        sharing.add(_effect(number % 3), Access(TENSOR, 0, 4), WRITE, first)
    sharing.judge()

    assert [1] == [len(table) for table in sharing.tables().values()]
    sharing.add(_effect(5), Access(TENSOR, 2, 4), READ, second)
    sharing.judge()
    assert [(2, 6)] == [(c.second.low, c.second.high) for c in told]
    assert module.WINDOW >= 1 << 12


@pytest.mark.parametrize("pieces", [1, 5])
def test_a_run_is_taken_as_its_accesses_are_one_by_one(pieces):
    """The windows end at the same accesses, behind all pieces of an operand, so that the same conflicts are told."""
    many = 100
    draw = np.random.default_rng(7)
    low, kind, task, place = (draw.integers(0, most, many) for most in (SIZE - 20, 3, 3, 4))
    effects = [_effect(int(n)) for n in place]
    run, told = [], []
    for n in range(many):
        effects[n].number = n + 1
        run += [(low[n] + 4 * piece, 4, kind[n], task[n], place[n], n + 1) for piece in range(pieces)]
    statements = [(one.step.name, one.step.pipe, one.step.site) for one in map(_effect, range(4))].__getitem__
    ahead = [(SIZE, 1, READ, 0, 0, 0)] * (
        module.WINDOW - 64
    )  # by one instruction, so that the window ends soon
    ends = np.ones(len(ahead) + len(run), np.bool_)
    ends[: len(ahead) - 1] = False
    ends[len(ahead) :] = np.arange(len(run)) % pieces == pieces - 1
    none = KeptValues()
    taken = SharedRun(
        np.array(ahead + run),
        np.zeros(len(ends), np.int64),
        ends,
        [TENSOR],
        statements,
        none.get,
        none.equal,
        [],
    )
    for whole in (False, True):
        clocks, found = Clocks(), []
        for _ in range(3):
            clocks.begin()
        sharing = Sharing(clocks, found.append)
        if not whole:
            sharing.add(_effect(0), Access(TENSOR, SIZE, 1, ((0, len(ahead)),)), READ, 0)
        for n in range(0 if whole else many):
            access = Access(TENSOR, int(low[n]), 4, ((4, pieces),) * (pieces > 1))
            sharing.add(effects[n], access, int(kind[n]), int(task[n]))
        sharing.take(taken, 0, whole * len(ends))
        sharing.judge()
        told.append([sorted((c.first[0], c.second[0], len(c.pairs)) for c in part) for part in found])

    assert told[0] == told[1]
    assert 2 == len(told[0])


stored = st.tuples(
    st.sampled_from([0, TYPE_BYTES, *range(1, len(MEMORY_TYPES) + 1)]),
    st.sampled_from([0, 1, 1 << 15, 1 << 31, 1 << 63, 0x7FC0, 0x3C00, 0x3F800000, 0x7FC00000]),
    st.integers(1, 8),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(stored, min_size=1, max_size=6), st.lists(st.tuples(*[st.integers(0, 7)] * 2), max_size=6))
def test_values_that_c_has_recorded_are_equal_if_they_are_one_by_one(rows, asked):
    """Zeros of both signs are equal, a NaN equals nothing, and neither does a store of which the value or the time is not known."""
    table = np.zeros(len(rows), SHARED)
    one_by_one = KeptValues()
    for number, (entry, (kind, bits, copied)) in enumerate(zip(table, rows, strict=True), 1):
        dtype = None if kind <= 0 else MEMORY_TYPES[kind - 1].dtype
        size = dtype.itemsize if dtype else copied
        raw = (bits % (1 << 8 * size)).to_bytes(8, "little")
        entry["time"], entry["type"], entry["high"] = number, kind, size
        entry["value"] = np.frombuffer(raw, np.int64)[0]
        if kind:
            one_by_one.put(number, raw[:size] if dtype is None else np.frombuffer(raw, dtype, 1)[0])
    words, (first, second) = StoredWords(table), np.array(asked, np.int64).reshape(-1, 2).T

    assert one_by_one.equal(first, second).tolist() == words.equal(first, second).tolist()
    for time in range(len(rows) + 2):
        values = one_by_one.get(time), words.get(time)
        assert type(values[0]) is type(values[1])
        assert values[0] is None or np.array(values[0]).tobytes() == np.array(values[1]).tobytes()
