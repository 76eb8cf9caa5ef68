"""Random kernels, random walks: a visit to the same place finds the same bytes, frames and variables."""

import numpy as np
from debug_tools import console_on
from hypothesis import given, settings, strategies as st

import mlusim
from mlusim.bang import GDRAM2NRAM, GDRAM2SRAM, NRAM2GDRAM, SRAM2NRAM, Mlu, Ptr, float32, kernel

ROOM = 64  # floats


def twice(mlu: Mlu, data: Ptr, count: int) -> float:
    """A function with a loop, an intrinsic and a value."""
    total = 0.0
    for i in range(2):
        mlu.bang_add(data, data, data, count)
        total += float(data[i])
    return total


def critical(mlu: Mlu, memory: Ptr) -> None:
    """One after the other."""
    mlu.bang_lock(1, 1)
    memory[0] = memory[0] + 1.0
    mlu.bang_unlock(1, 1)


DOES = {
    "load": lambda mlu, memory, near, room: mlu.memcpy_async(near, memory, 4 * ROOM, GDRAM2NRAM),
    "store": lambda mlu, memory, near, room: mlu.memcpy(memory + ROOM * mlu.taskId, near, 4 * ROOM, NRAM2GDRAM),
    "fetch": lambda mlu, memory, near, room: mlu.memcpy(near, room, 4 * ROOM, SRAM2NRAM),
    "sync": lambda mlu, memory, near, room: mlu.sync(),
    "twice": lambda mlu, memory, near, room: twice(mlu, near, ROOM),
    "critical": lambda mlu, memory, near, room: critical(mlu, memory),
    "print": lambda mlu, memory, near, room: mlu.bang_printf("%d", mlu.taskId),
}  # fmt: skip


@kernel
def anything(mlu: Mlu, memory: Ptr, plan: list[str], own: list[int]) -> None:
    """Do what *plan* says; the memory core stages data at each barrier; task *own* leaves half of it out."""
    room = mlu.shared(float32, ROOM)
    near = mlu.nram(float32, ROOM) if mlu.is_ipu() else None
    for n, what in enumerate(plan):
        if what == "meet":
            if mlu.is_mpu():
                mlu.memcpy_async(room, memory, 4 * ROOM, GDRAM2SRAM)
            mlu.sync_cluster()
        elif mlu.is_ipu() and not (mlu.taskId in own and n % 2):
            DOES[what](mlu, memory, near, room)


def program_of(plan, own, seed):
    """One union of four tasks."""

    def program(observe):
        device = mlusim.Device("MLU590-M9" if len(plan) % 2 else "MLU370-X4")
        memory = device.put(np.arange(4 * ROOM, dtype=np.float32))
        device.launch(anything, 4, mlusim.UNION1, (memory, plan, own), observe=observe, seed=seed)

    return program


PLANS = st.lists(st.sampled_from([*DOES, "meet"]), min_size=1, max_size=8)
STEPS = """
step next stepi step_all next_all stepi_all finish until reverse-step reverse-next reverse-stepi
reverse-step_all reverse-stepi_all goto c reverse-continue task
"""
MOVES = st.lists(st.sampled_from(STEPS.split()), min_size=4, max_size=16)


@settings(max_examples=40, deadline=None)
@given(
    PLANS,
    st.lists(st.integers(0, 3)),
    st.none() | st.integers(0, 9),
    MOVES,
    st.randoms(use_true_random=False),
)
def test_whoever_comes_again_finds_the_same(plan, own, seed, moves, draw):
    """By steps of every kind, forwards and backwards, by breakpoints, by number; then everywhere once more."""
    with console_on(program_of(plan, own, seed)) as console:
        session, seen = console.session, {}
        last = session.runs.moments(1)
        console.execute("break bang_add")
        console.execute("start")
        for move in moves:
            if session.position.exact and not session.at_host:
                assert session.digest() == seen.setdefault(session.position, session.digest())
            line = move.replace("_", " ")
            line = f"goto 1:{draw.randrange(last)}" if move == "goto" else line
            console.execute(f"task {draw.randrange(4)}" if move == "task" else line)
        places = list(seen)
        draw.shuffle(places)
        for place in places:
            session.travel(place)

            assert seen[place] == session.digest()
