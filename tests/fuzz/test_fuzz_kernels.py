"""Whatever a kernel does with pointers and copies, it works or is told in one sentence; checkers stay on their feet."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import mlusim
from mlusim.bang import float32, half, int8, int32, kernel
from mlusim.errors import MlusimError
from mlusim.memory.direction import DIRECTIONS
from mlusim.observe.names import CHECKERS

STEPS = 14  # things that one try does; 1,000 tries of them are more than ten thousand
numbers = st.one_of(
    st.integers(-3, 40), st.sampled_from([64, 128, 256, 4096, 1 << 20, 1 << 31, -(1 << 33), 65536])
)
dtypes = st.sampled_from([float32, half, int8, int32])
places = st.integers(0, 7)

steps = st.one_of(
    st.tuples(st.just("move"), places, numbers),
    st.tuples(st.just("cast"), places, dtypes),
    st.tuples(st.just("load"), places, numbers),
    st.tuples(
        st.just("store"), places, numbers, st.one_of(numbers, st.floats(), st.none(), st.text(max_size=2))
    ),
    st.tuples(st.just("difference"), places, places),
    st.tuples(st.just("copy"), st.booleans(), places, places, numbers, st.sampled_from(DIRECTIONS)),
    st.tuples(
        st.just("copy"),
        st.booleans(),
        places,
        places,
        numbers,
        st.sampled_from(DIRECTIONS),
        *[st.integers(-9, 40)] * 3,
    ),
    st.tuples(
        st.just("copy"),
        st.booleans(),
        places,
        places,
        st.integers(1, 9),
        st.sampled_from(DIRECTIONS),
        *[st.integers(0, 12)] * 8,
    ),
    st.tuples(st.just("add"), places, places, places, numbers),
    st.tuples(st.just("scale"), places, places, st.one_of(numbers, st.floats(), st.booleans()), numbers),
    st.tuples(st.just("fill"), places, numbers, st.one_of(st.integers(-9, 9), st.floats())),
    st.tuples(st.just("sum"), places, places, numbers),
    st.tuples(st.just("transpose"), places, places, st.integers(-1, 9), st.integers(-1, 9)),
    st.tuples(st.just("atomic"), places, places, numbers),
    st.tuples(
        st.just("sync"), st.sampled_from(["sync", "sync_io", "sync_move", "sync_compute", "sync_cluster"])
    ),
)


def act(mlu, pointers, step):
    """Do one thing."""
    what, *given_ = step
    p = pointers[given_[0] % len(pointers)] if isinstance(given_[0], int) else None
    if what == "move":
        pointers.append(p + given_[1])
    elif what == "cast":
        pointers.append(p.cast(given_[1]))
    elif what == "load":
        p[given_[1]]
    elif what == "store":
        p[given_[1]] = given_[2]
    elif what == "difference":
        p - pointers[given_[1] % len(pointers)]
    elif what == "copy":
        asynchronous, dst, src, *rest = given_
        call = mlu.memcpy_async if asynchronous else mlu.memcpy
        call(pointers[dst % len(pointers)], pointers[src % len(pointers)], *rest)
    elif what == "sync":
        getattr(mlu, given_[0])()
    else:
        operands = [pointers[n % len(pointers)] for n in given_[:3] if isinstance(n, int)]
        {
            "add": lambda: mlu.bang_add(*operands[:3], given_[3]),
            "scale": lambda: mlu.bang_mul_scalar(*operands[:2], *given_[2:]),
            "fill": lambda: mlu.bang_write_value(operands[0], *given_[1:]),
            "sum": lambda: mlu.bang_reduce_sum(*operands[:2], given_[2]),
            "transpose": lambda: mlu.bang_transpose(*operands[:2], *given_[2:]),
            "atomic": lambda: mlu.bang_atomic_reduce_add(*operands[:2], given_[2]),
        }[what]()


@pytest.mark.slow
@settings(max_examples=1000, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(steps, min_size=STEPS, max_size=STEPS),
    st.sampled_from(["MLU370-X4", "MLU270-S4"]),
    st.booleans(),
    st.booleans(),
)
def test_kernels_work_or_are_told(program, board, watched, union):
    """Only mlusim's own errors come out, with and without checkers, in one sentence or two."""
    device = mlusim.Device(board)
    tensors = [device.empty(64, "float32"), device.put(np.ones(64, np.float32))]
    checkers = [checker() for checker in CHECKERS.values()] if watched else []

    @kernel
    def body(mlu, first, second):
        pointers = [first, second]
        if union:
            pointers.append(mlu.shared(float32, 32))
        if mlu.is_ipu():
            pointers += [
                mlu.nram(float32, 64),
                mlu.nram(int8, 96),
                mlu.wram(float32, 32),
                mlu.ldram(half, 16),
            ]
        for step in program:
            try:
                act(mlu, pointers, step)
            except MlusimError as error:
                said.append(error)

    said = []
    try:
        device.launch(body, 4, mlusim.UNION1 if union else mlusim.BLOCK, tensors, observe=checkers)
    except MlusimError as error:
        said.append(error)

    assert all(str(error) and "\n" not in str(error) for error in said)
    assert all("please report" not in str(error) for error in said)
    assert all(str(finding) for checker in checkers for finding in checker.findings)
