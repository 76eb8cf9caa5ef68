"""Kernels out of whatever intrinsics, copies, pointers and numbers: they work, or are told in one sentence."""

import numpy as np
from fuzz_guided import Target
from hypothesis import strategies as st

import mlusim
from mlusim.bang import float32, half, int8, int32, kernel
from mlusim.errors import MlusimError
from mlusim.isa.table import ISA
from mlusim.memory.space import DIRECTIONS
from mlusim.observe.collect import _noting
from mlusim.observe.names import CHECKERS

STEPS = 14
BOARDS = ("MLU370-X4", "MLU270-S4", "MLU590-H8")
# What waits for others would only end every try with a deadlock; the barriers below do it often enough.
WAITS = tuple(name for name, row in ISA.items() if "sync_" in name or "lock" in name or "poll" in row.name)
CALLS = tuple(name for name, row in ISA.items() if name not in WAITS and row.form != "load")

numbers = st.one_of(
    st.integers(-3, 40), st.sampled_from([64, 128, 256, 4096, 1 << 20, 1 << 31, -(1 << 33), 65536])
)
dtypes = st.sampled_from([float32, half, int8, int32])
places = st.integers(0, 11)
values = st.one_of(numbers, st.floats(), st.none(), st.booleans(), st.text(max_size=2))
operands = st.one_of(places.map(lambda n: ("pointer", n)), numbers, values)
directions = st.sampled_from(DIRECTIONS)
barriers = st.sampled_from(
    ["sync", "sync_io", "sync_move", "sync_compute", "sync_cluster", "sync_all", "sync_all_ipu"]
)
strides = [st.integers(-9, 40)] * 3
volumes = [st.integers(0, 12)] * 8

steps = st.one_of(
    st.tuples(st.just("move"), places, numbers),
    st.tuples(st.just("cast"), places, dtypes),
    st.tuples(st.just("load"), places, st.one_of(numbers, values)),
    st.tuples(st.just("store"), places, numbers, values),
    st.tuples(st.just("difference"), places, places),
    st.tuples(st.just("compare"), places, places),
    st.tuples(st.just("copy"), st.booleans(), places, places, numbers, directions),
    st.tuples(st.just("copy"), st.booleans(), places, places, numbers, directions, *strides),
    st.tuples(st.just("copy"), st.booleans(), places, places, st.integers(1, 9), directions, *volumes),
    st.tuples(st.just("call"), st.sampled_from(CALLS), st.lists(operands, min_size=20, max_size=20)),
    st.tuples(st.just("add"), places, places, places, numbers),
    st.tuples(st.just("atomic"), places, places, numbers),
    st.tuples(st.just("sync"), barriers),
)


def _copy(mlu, at, asynchronous, dst, src, *rest):
    (mlu.memcpy_async if asynchronous else mlu.memcpy)(at(dst), at(src), *rest)


def _call(mlu, at, name, given):
    chosen = [at(a[1]) if isinstance(a, tuple) else a for a in given]
    getattr(mlu, name)(*chosen[: len(ISA[name].given)])


ACTS = {
    "move": lambda mlu, at, n, by: at(n) + by,
    "cast": lambda mlu, at, n, dtype: at(n).cast(dtype),
    "load": lambda mlu, at, n, index: at(n)[index],
    "store": lambda mlu, at, n, index, value: at(n).__setitem__(index, value),
    "difference": lambda mlu, at, n, m: at(n) - at(m),
    "compare": lambda mlu, at, n, m: at(n) < at(m),
    "copy": _copy,
    "call": _call,
    "add": lambda mlu, at, dst, a, b, count: mlu.bang_add(at(dst), at(a), at(b), count),
    "atomic": lambda mlu, at, dst, src, count: mlu.bang_atomic_reduce_add(at(dst), at(src), count),
    "sync": lambda mlu, at, name: getattr(mlu, name)(),
}


def act(mlu, pointers, step):
    """Do one thing; where it makes a pointer, later steps may use it."""
    what, *told = step
    made = ACTS[what](mlu, lambda n: pointers[n % len(pointers)], *told)
    if what in ("move", "cast"):
        pointers.append(made)


def launch(program, board, watched, union):
    """Launch *program*: only mlusim's own errors come out, with and without checkers, in one sentence or two."""
    device = mlusim.Device(board)
    tensors = [device.empty(64, "float32"), device.put(np.ones(64, np.float32)), device.empty(40, "int32")]
    checkers = [_noting(name) for name in CHECKERS] if watched else []
    said = []

    @kernel
    def body(mlu, first, second, third):
        pointers = [first, second, third]
        if union:
            pointers.append(mlu.shared(float32, 32))
        if mlu.is_ipu():
            pointers += [
                *(mlu.nram(float32, 64), mlu.nram(int8, 96), mlu.nram(int32, 40)),
                *(mlu.wram(float32, 32), mlu.ldram(half, 16), mlu.nram(half, 64)),
            ]
        for step in program:
            try:
                act(mlu, pointers, step)
            except MlusimError as error:
                said.append(error)

    try:
        device.launch(body, 4, mlusim.UNION1 if union else mlusim.BLOCK, tensors, observe=checkers)
    except MlusimError as error:
        said.append(error)

    assert all(str(error) and "\n" not in str(error) for error in said)
    assert all("please report" not in str(error) for error in said)
    assert all(
        (str(finding) and finding.line is not None) or finding.id.startswith("plancheck")
        for checker in checkers
        for finding in checker.findings
    )


KERNELS = (
    Target(
        "kernels",
        launch,
        (
            st.lists(steps, min_size=STEPS, max_size=STEPS),
            st.sampled_from(BOARDS),
            st.booleans(),
            st.booleans(),
        ),
    ),
)
