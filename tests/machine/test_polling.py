"""Tasks that wait by looking at memory again and again: they meet, and where they cannot, it is said at once."""

import itertools
import random

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

import mlusim
from mlusim import UNION1
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, int32, kernel
from mlusim.engine.contract import POLL_BYTES
from mlusim.errors import Deadlock
from mlusim.machine.hub import Observer

FREE, TAKEN = 0, 1
MANY = 20_000  # looks at memory by which a launch that cannot end has ended


class Count(Observer):
    """Counts what was issued, by name."""

    def __init__(self):
        self.counts = {}

    def issue(self, effect):
        """Count it."""
        self.counts[effect.name] = self.counts.get(effect.name, 0) + 1


@pytest.fixture
def device():
    """Return a fresh board."""
    return mlusim.Device("MLU370-X4")


def lock(mlu, flag, old):
    """Take the flag, as long as it may take."""
    while True:
        mlu.bang_atomic_cas(old, flag, FREE, TAKEN)
        if old[0] == FREE:
            return


@kernel
def count_up(mlu, flag, total, rounds, work):
    """Add 1 to total *rounds* times, with *work* instructions between load and store."""
    if mlu.is_mpu():
        return
    old, number, scratch = mlu.nram(int32, 1), mlu.nram(int32, 1), mlu.nram(float32, 8)
    for _ in range(rounds):
        lock(mlu, flag, old)
        mlu.memcpy(number, total, 4, GDRAM2NRAM)
        for _ in range(work):
            mlu.bang_write_zero(scratch, 8)
        mlu.bang_add_scalar(number, number, 1, 1)
        mlu.memcpy(total, number, 4, NRAM2GDRAM)
        mlu.bang_atomic_exch(old, flag, FREE, 1)


def counted(device, rounds, work, **options):
    """Let 32 tasks count up together; return the total and the launch."""
    flag, total = (device.put(np.zeros(1, np.int32)) for _ in range(2))
    launch = device.launch(count_up, (4, 8, 1), UNION1, (flag, total, rounds, work), **options)
    return int(device.get(total)[0]), launch


@pytest.mark.parametrize("seed", [None, *range(8)])
def test_a_flag_excludes(device, seed):
    """Load, add and store under a flag lose nothing, whichever comes first; and tasks do find it taken."""
    total, launch = counted(device, 3, 2, seed=seed)

    assert 96 == total == launch.instructions["__bang_atomic_exch"]
    assert launch.instructions["__bang_atomic_cas"] > 96


def test_a_flag_held_for_long_is_no_deadlock(device):
    """31 tasks may spin as long as the one that has the flag works, however often they look."""
    total, launch = counted(device, 1, 400, seed=1)

    assert 32 == total
    assert launch.instructions["__bang_atomic_cas"] > MANY


def test_a_flag_that_nobody_releases(device):
    """Every task that needs it is named, up to six, after a bounded number of attempts."""
    flag = device.put(np.full(1, TAKEN, np.int32))
    count = Count()

    with pytest.raises(Deadlock, match=r"task 0 spins at .*; task 5 spins at .*; and 26 more") as caught:
        device.launch(count_up, (4, 8, 1), UNION1, (flag, flag, 1, 0), observe=[count])

    assert "release the lock on every path" in str(caught.value)
    assert caught.value.file == __file__
    assert count.counts["bang_atomic_cas"] < MANY


def test_a_task_that_gives_up_is_no_deadlock(device):
    """A hundred attempts in vain and then another way: nothing is stuck."""
    flag = device.put(np.full(1, TAKEN, np.int32))
    gave_up = []

    @kernel
    def patient(mlu, flag):
        """Try a hundred times."""
        old = mlu.nram(int32, 1)
        for _ in range(100):
            mlu.bang_atomic_cas(old, flag, FREE, TAKEN)
        gave_up.append(mlu.taskId)

    device.launch(patient, dim=8, args=(flag,))

    assert list(range(8)) == sorted(gave_up)


def test_one_waits_at_a_barrier_and_the_others_for_it(device):
    """The holder waits for tasks that spin on what it holds: both places are named."""
    flag = device.put(np.full(1, FREE, np.int32))

    @kernel
    def holds(mlu, flag):
        """Take the flag and wait for all others with it."""
        if mlu.is_mpu():
            return
        lock(mlu, flag, mlu.nram(int32, 1))
        mlu.sync_all_ipu()

    with pytest.raises(
        Deadlock,
        match=r"task 0 waits in __sync_all_ipu at .*task 1 spins at .* on memory that no task changes",
    ):
        device.launch(holds, (4, 1, 1), UNION1, (flag,))


def poll(mlu, how, flag, old):
    """Look at the flag once."""
    if how == "scalar":
        return flag[0]
    if how == "memcpy":
        mlu.memcpy(old, flag, 4, GDRAM2NRAM)
    elif how == "memcpy_async":
        mlu.memcpy_async(old, flag, 4, GDRAM2NRAM)
        mlu.sync_io()
    else:
        mlu.bang_atomic_or(old, flag, 0, 1)
    return old[0]


WAYS = ["scalar", "memcpy", "memcpy_async", "atomic"]


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize("how", WAYS)
def test_a_flag_that_another_task_raises(device, how, seed):
    """The waiting task lets the others run, however it looks; a chain of eight comes to its end."""
    flags = device.put(np.zeros(8, np.int32))

    @kernel
    def chain(mlu, flags):
        """Wait for the next task's flag, then raise one's own."""
        old = mlu.nram(int32, 1)
        while mlu.taskId < 7 and not poll(mlu, how, flags + mlu.taskId + 1, old):
            pass
        mlu.bang_write_value(old, 1, 1)
        mlu.memcpy(flags + mlu.taskId, old, 4, NRAM2GDRAM)

    device.launch(chain, dim=8, args=(flags,), seed=seed)

    assert [1] * 8 == device.get(flags).tolist()


@pytest.mark.parametrize("how", WAYS)
def test_a_flag_that_nobody_raises(device, how):
    """It is a deadlock, however the tasks look."""
    flag = device.put(np.zeros(1, np.int32))

    @kernel
    def waits(mlu, flag):
        """Wait for no task."""
        old = mlu.nram(int32, 1)
        while not poll(mlu, how, flag, old):
            pass

    with pytest.raises(Deadlock, match=r"task 0 spins at .* on memory that no task changes"):
        device.launch(waits, dim=2, args=(flag,))


def test_small_copies_that_do_work_are_no_polling(device):
    """Thousands of small copies of the same bytes are work as long as something comes of them."""
    data = device.put(np.arange(4, dtype=np.int32))
    rounds = 40_000

    @kernel
    def sums(mlu, data):
        """Add the same words again and again."""
        total, word = mlu.nram(int32, 4), mlu.nram(int32, 4)
        mlu.bang_write_zero(total, 4)
        for _ in range(rounds):
            mlu.memcpy(word, data, 16, GDRAM2NRAM)
            mlu.bang_add(total, total, word, 4)
        mlu.memcpy(data, total, 16, NRAM2GDRAM)

    device.launch(sums, args=(data,))

    assert [0, rounds, 2 * rounds, 3 * rounds] == device.get(data).tolist()


def test_small_copies_of_many_addresses_are_no_polling(device):
    """A task that walks through memory in small copies, and keeps nothing, is slow, not stuck."""
    size = 4 * 100_000
    data = device.put(np.zeros(size // 4, np.int32))

    @kernel
    def walk(mlu, data):
        """Look at everything once."""
        word = mlu.nram(int32, POLL_BYTES // 4)
        for at in range(0, size // 4, POLL_BYTES // 4):
            mlu.memcpy(word, data + at, POLL_BYTES, GDRAM2NRAM)

    launch = device.launch(walk, args=(data,))

    assert size == launch.traffic["GDRAM2NRAM"]


class Tries:
    """Counts down in an object of the kernel's own."""

    __slots__ = ("left",)

    def __init__(self, many):
        self.left = many

    def __bool__(self):
        self.left -= 1
        return self.left > 0


def tries(kind, many):
    """What a loop of *many* turns goes by, which no local number shows."""
    if kind == "object":
        return Tries(many)
    return (number > 0 for number in range(many, -1, -1)) if kind == "generator" else [many]


@pytest.mark.parametrize("kind", ["object", "generator", "list"])
def test_a_loop_that_counts_its_turns_is_no_deadlock(device, kind):
    """Attempts in vain have an end if something moves toward it, wherever that is kept; nothing is stuck before."""
    many, done = 5000, []

    @kernel
    def patient(mlu, flag):
        old, left = mlu.nram(int32, 1), tries(kind, many)
        while next(left) if kind == "generator" else left:
            mlu.bang_atomic_cas(old, flag, FREE, TAKEN)
            if kind == "list":
                left[0] -= 1
                if not left[0]:
                    break
        done.append(mlu.taskId)

    device.launch(patient, args=(device.put(np.full(1, TAKEN, np.int32)),))

    assert [0] == done


def test_a_loop_that_counts_in_memory_is_no_deadlock(device):
    """The counter may be an element of NRAM; and the other task, which waits for what comes then, meets it."""
    flag = device.put(np.zeros(1, np.int32))

    @kernel
    def slow(mlu, flag):
        old, left = mlu.nram(int32, 1), mlu.nram(int32, 1)
        left[0] = 5000
        while mlu.taskId == 0 and left[0]:
            mlu.bang_atomic_or(old, flag, 0, 1)
            left[0] = left[0] - 1
        mlu.bang_atomic_add(old, flag, 1, 1)
        while flag[0] < 2:
            pass

    device.launch(slow, dim=2, args=(flag,))

    assert [2] == device.get(flag).tolist()


def test_a_loop_that_comes_round_after_several_looks_is_a_deadlock(device):
    """Three flags in turn, in a helper: the state is the same every third look, and none of them will be raised."""

    def look(mlu, old, flag):
        mlu.bang_atomic_or(old, flag, 0, 1)
        return old[0]

    @kernel
    def turns(mlu, flag):
        old, at = mlu.nram(int32, 1), 0
        while not look(mlu, old, flag + at):
            at = (at + 1) % 3

    with pytest.raises(Deadlock, match="task 0 spins at .* on memory that no task changes"):
        device.launch(turns, args=(device.put(np.zeros(3, np.int32)),))


def test_a_mutex_that_is_never_given_back(device):
    """The one that has it waits for a flag of the one that waits for it."""

    @kernel
    def holds(mlu, flag):
        mlu.bang_lock(1, 1)
        while not flag[0]:
            pass

    with pytest.raises(
        Deadlock, match=r"task 0 spins at .*task 1 spins at .* on memory that no task changes"
    ):
        device.launch(holds, dim=2, args=(device.put(np.zeros(1, np.int32)),))


def look(mlu, old, flag):
    """Look at the flag once, and return what is there."""
    mlu.bang_atomic_or(old, flag, 0, 1)
    return old[0]


TURNS = [0]  # looked at by all tasks, and by no digest of a task's variables


def outside():
    """Count a turn of all tasks, as a clock does; return how many there were."""
    TURNS[0] += 1
    return TURNS[0]


def by_an_iterator(mlu, old, flag, many):
    """Turn as often as an iterator says, whose element is the same each time."""
    for _ in itertools.repeat(0, many):
        look(mlu, old, flag)


def by_next(mlu, old, flag, many):
    """Ask an iterator in a variable."""
    left = iter([1] * many)
    while next(left, 0):
        look(mlu, old, flag)


def by_a_comprehension(mlu, old, flag, many):
    """Keep what a list has so far on the stack."""
    assert [0] * many == [int(look(mlu, old, flag)) for _ in range(many)]


def by_a_clock(mlu, old, flag, many):
    """Wait for a moment that no variable names."""
    while outside() < TURNS[1] + many:
        look(mlu, old, flag)


def by_chance(mlu, old, flag, many):
    """Go on until a random number, which has a state of its own, is small."""
    while random.random() > 1 / many:
        look(mlu, old, flag)


def by_recursion(mlu, old, flag, many):
    """Turn by calling itself."""
    if many:
        look(mlu, old, flag)
        by_recursion(mlu, old, flag, many - 1)


def by_a_sum(mlu, old, flag, many):
    """Count in memory, in the middle of an expression."""
    old[1] = 0
    while old[1] + look(mlu, old, flag) < many:
        old[1] = old[1] + 1


def by_two(mlu, old, flag, many):
    """Count in a variable of the kernel, with another loop inside that ends each time."""
    left = many
    while left and not look(mlu, old, flag):
        for _ in range(3):
            look(mlu, old, flag)
        left -= 1


WAYS_TO_COUNT = (
    by_an_iterator, by_next, by_a_comprehension, by_a_clock, by_chance, by_recursion, by_a_sum, by_two,
)  # fmt: skip


@hypothesis.settings(max_examples=80, deadline=None, derandomize=True)
@hypothesis.given(way=st.sampled_from(WAYS_TO_COUNT), many=st.integers(1, 60), tasks=st.integers(1, 4))
def test_a_task_that_comes_to_an_end_is_never_told_of(way, many, tasks):
    """Whatever its turns go by: as long as it may go on, nothing says that no task can."""
    device, ended = mlusim.Device("MLU370-X4"), []
    TURNS[:] = [0, 0]
    random.seed(many)

    @kernel
    def turns(mlu, flag):
        way(mlu, mlu.nram(int32, 2), flag, many)
        ended.append(mlu.taskId)

    device.launch(turns, dim=tasks, args=(device.put(np.zeros(1, np.int32)),))

    assert list(range(tasks)) == sorted(ended)


@pytest.mark.parametrize("tasks", [1, 3, 8])
def test_what_shows_all_is_told_after_a_few_looks(device, tasks):
    """A loop whose variables say everything is reported as soon as each task has come round."""
    count = Count()

    @kernel
    def waits(mlu, flag):
        """Wait for a flag, in a helper, for each of three turns."""
        old, turn = mlu.nram(int32, 1), 0
        while turn < 3:
            if look(mlu, old, flag) == 1:
                turn += 1

    with pytest.raises(Deadlock) as caught:
        device.launch(waits, dim=tasks, args=(device.put(np.zeros(1, np.int32)),), observe=[count])

    assert (0, tasks) == (caught.value.task, len(caught.value.spins))
    assert 4 * tasks + 4 > count.counts["bang_atomic_or"]


def test_a_mutex_that_is_kept_is_told_at_once(device):
    """Who waits for a mutex that no task can release any more has looked at it once."""
    count, flag = Count(), device.put(np.zeros(1, np.int32))

    @kernel
    def keeps(mlu, flag):
        """Keep it, and go."""
        mlu.bang_lock(1, 1)
        flag[0] = flag[0] + 1

    with pytest.raises(Deadlock, match="task 1 spins at .*task 2 spins at") as caught:
        device.launch(keeps, dim=3, args=(flag,), observe=[count])

    assert (1, 1) == (caught.value.task, count.counts["scalar store"])


@pytest.mark.parametrize("engine_seed", [None, 3, 5])
def test_a_store_in_flight_lands_before_no_task_can_go_on(device, engine_seed):
    """The task that issued it waits for another one, which waits for the store."""
    flags = device.put(np.zeros(2, np.int32))

    @kernel
    def hands(mlu, flags):
        """Tell the other task by a store that nothing waits for."""
        one, old = mlu.nram(int32, 1, [1]), mlu.nram(int32, 1)
        if mlu.taskId == 1:
            while not look(mlu, old, flags):
                pass
        mlu.memcpy_async(flags + mlu.taskId, one, 4, NRAM2GDRAM)
        while not look(mlu, old, flags + 1 - mlu.taskId):
            pass

    device.launch(hands, dim=2, args=(flags,), seed=engine_seed)

    assert [1, 1] == device.get(flags).tolist()
