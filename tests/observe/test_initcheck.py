"""initcheck: bytes that were never written, carried along and reported where they escape."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import (
    GDRAM2GDRAM,
    GDRAM2NRAM,
    GDRAM2SRAM,
    NRAM2GDRAM,
    NRAM2NRAM,
    SRAM2NRAM,
    float32,
    half,
    int8,
    int32,
    kernel,
)

INIT = ["initcheck"]
T = 64


@kernel
def vector_add(mlu, z, x, y, count, short):
    a = mlu.nram(float32, T)
    b = mlu.nram(float32, T)
    for done in range(0, count, T):
        n = min(T, count - done)
        mlu.memcpy(a, x + done, n * 4, GDRAM2NRAM)
        mlu.memcpy(b, y + done, (n - short) * 4, GDRAM2NRAM)
        mlu.bang_add(a, a, b, T)
        mlu.memcpy(z + done, a, n * 4, NRAM2GDRAM)


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_padding_that_is_computed_on_but_never_stored_is_silent(count):
    """The tail is added with its padding; only what counts is stored."""
    assert () == found(vector_add, floats(200), floats(200), floats(200), count, 0, observe=INIT)


def test_the_finding_says_where_from_through_what_and_what_stopped_short():
    """Declared where, added where, stored where, and which copy ended one element early."""
    (finding,) = found(vector_add, floats(64), floats(64), floats(64), 50, 1, observe=INIT)

    assert "initcheck-undefined-stored" == finding.id
    assert line_of(vector_add, "z + done, a") == finding.line
    assert "stores 4 bytes" in finding.message
    assert [line_of(vector_add, "bang_add")] == [p.line for p in finding.places]
    declared, last, operand = finding.context
    assert (
        f"byte 196 of NRAM float[64] declared at tests/observe/test_initcheck.py:{line_of(vector_add, 'b = ')}"
        in declared
    )
    assert f"__memcpy at line {line_of(vector_add, 'memcpy(b')}" in last
    assert last.endswith("stopped at byte 196")
    assert "src is a" == operand


def test_scalars_are_reported_where_python_reads_them():
    """Whatever the kernel decides with the value, the load is the place."""

    def decide(mlu):
        a = mlu.nram(int32, 4)
        if a[2] < 0:
            a[0] = 1

    (finding,) = found(decide, observe=INIT)

    assert ("initcheck-undefined-scalar", line_of(decide, "if a[2]")) == (finding.id, finding.line)
    assert "load or fill the buffer before it is used" == finding.hint


@pytest.mark.parametrize("flown", [False, True])
def test_a_scalar_that_python_keeps_and_nothing_reads_is_no_use(flown):
    """Dropped, or in a variable that the function reads nowhere: loads of NRAM and GDRAM, in flight and not, and results."""

    def keep(mlu, dst, src):
        a = mlu.nram(float32, 64)
        if flown:
            mlu.memcpy_async(a, src, 256, GDRAM2NRAM)
        a[2]
        _first = a[0]
        _second = (a + 1).v
        _third = dst[3]
        _most = mlu.bang_count(a, 64)
        mlu.sync()

    def read(mlu, dst, src, wanted):
        a = mlu.nram(float32, 64)
        first = a[0]  # here
        if wanted:
            dst[0] = first

    assert () == found(keep, (64, "float32"), floats(64), observe=INIT)
    for wanted in (False, True):  # what becomes of it is not known
        (finding,) = found(read, (64, "float32"), floats(64), wanted, observe=INIT)
        assert ("initcheck-undefined-scalar", line_of(read, "# here")) == (finding.id, finding.line)


def test_no_number_of_python_tells_what_is_computed_from_it():
    """Why scalars of kernels in Python are not followed: a kernel has to get numbers that are as NumPy's float32 in all."""

    class Sub(np.float32):
        pass

    class Wide(float):
        pass

    class Around:
        def __init__(self, value):
            self.value = value

        def __float__(self):
            return float(self.value)

    def load(mlu, dst):
        a = mlu.nram(float32, 1)
        a[0] = 0.1
        assert a[0].__class__ is np.float32
        dst[0] = a[0] + a[0] * np.float32(3)

    found(load, (1, "float32"), observe=INIT)
    one = np.float32(0.1)
    assert (Sub(one) + Sub(one)).__class__ is np.float32
    assert float(Wide(one) * 3) != float(one * np.float32(3))
    assert not isinstance(Around(one), float | np.floating)
    with pytest.raises(TypeError, match="sqrt"):
        np.sqrt(Around(one))


def test_a_reduction_over_padding_is_reported_where_it_mixes_once_it_escapes():
    """The sum of a padded row is stored: the sum is the place, the store takes part."""

    def total(mlu, dst, src):
        a = mlu.nram(float32, 64)
        mlu.memcpy(a, src, 200, GDRAM2NRAM)
        mlu.bang_reduce_sum(a, a, 64)
        mlu.memcpy(dst, a, 256, NRAM2GDRAM)

    def first_only(mlu, dst, src):
        a = mlu.nram(float32, 64)
        mlu.memcpy(a, src, 200, GDRAM2NRAM)
        mlu.bang_reduce_sum(a, a, 64)
        mlu.memcpy(dst, a, 4, NRAM2GDRAM)

    mixed = [
        f for f in found(total, (64, "float32"), floats(50), observe=INIT) if f.id == "initcheck-lanes-mixed"
    ]

    assert [line_of(total, "reduce_sum")] == [f.line for f in mixed]
    assert line_of(total, "memcpy(dst") == mixed[0].places[-1].line
    assert () == found(first_only, (64, "float32"), floats(50), observe=INIT)


def test_transposed_padding_keeps_its_place():
    """A transpose moves what has no value and mixes nothing: storing the valid part is silent."""

    def turn(mlu, dst, src, rows):
        a, b = mlu.nram(float32, 64), mlu.nram(float32, 64)
        for row in range(8):
            mlu.memcpy(a + row * 8, src + row * rows, rows * 4, GDRAM2NRAM)
        mlu.bang_transpose(b, a, 8, 8)
        mlu.memcpy(dst, b, 4 * 8 * 5, NRAM2GDRAM)

    assert () == found(turn, (64, "float32"), floats(40), 5, observe=INIT)

    (finding,) = found(turn, (64, "float32"), floats(40), 4, observe=INIT)

    assert ("initcheck-undefined-stored", line_of(turn, "memcpy(dst")) == (finding.id, finding.line)
    assert [line_of(turn, "bang_transpose")] == [p.line for p in finding.places]


def test_what_a_mask_takes_away_has_a_value():
    """And with zero bits is zero whatever the other operand holds; with one bits it is not."""

    def masked(mlu, dst, bits):
        a, m = mlu.nram(int32, 32), mlu.nram(int32, 32)
        mlu.bang_write_value(m, 32, int32(bits))
        mlu.bang_band(a.cast(int8), a.cast(int8), m.cast(int8), 128)
        mlu.memcpy(dst, a, 128, NRAM2GDRAM)

    assert () == found(masked, (32, "int32"), 0, observe=INIT)
    assert ["initcheck-undefined-stored"] == [f.id for f in found(masked, (32, "int32"), 1, observe=INIT)]


def test_widening_and_narrowing_carry_flags_by_element():
    """Five half elements become five floats; the sixth has no value in either type."""

    def widen(mlu, dst, src, stored):
        h, f = mlu.nram(half, 64), mlu.nram(float32, 64)
        mlu.memcpy(h, src, 10, GDRAM2NRAM)
        mlu.bang_half2float(f, h, 64)
        mlu.memcpy(dst, f, stored * 4, NRAM2GDRAM)

    src = np.ones(5, np.float16)

    assert () == found(widen, (64, "float32"), src, 5, observe=INIT)
    (finding,) = found(widen, (64, "float32"), src, 6, observe=INIT)
    assert "stores 4 bytes" in finding.message


def test_atomics_into_a_tensor_that_nobody_zeroed():
    """Adding to what was never written is the fault of who forgot to fill the output."""

    def add(mlu, dst):
        a = mlu.nram(float32, 8, [1.0] * 8)
        mlu.bang_atomic_reduce_add(dst, a, 8)

    (finding,) = found(add, (8, "float32"), observe=INIT)

    assert "initcheck-undefined-stored" == finding.id
    assert "fill the tensor before this launch" in finding.hint
    assert () == found(add, floats(8), observe=INIT)


def test_tensors_are_remembered_between_launches():
    """What the first launch wrote has a value in the second, the rest has not; memset gives all one."""
    device = mlusim.Device()
    tensor, out = device.empty(64, "float32"), device.empty(64, "float32")

    @kernel
    def half_of_it(mlu, dst):
        a = mlu.nram(float32, 32, [1.0] * 32)
        mlu.memcpy(dst, a, 128, NRAM2GDRAM)

    @kernel
    def read(mlu, dst, src, count):
        a = mlu.nram(float32, 64)
        mlu.memcpy(a, src, count * 4, GDRAM2NRAM)
        mlu.memcpy(dst, a, count * 4, NRAM2GDRAM)

    def ids(count):
        return [f.id for f in device.launch(read, args=(out, tensor, count), observe=INIT).findings]

    device.launch(half_of_it, args=(tensor,), observe=INIT)

    assert [] == ids(32)
    assert ["initcheck-undefined-stored"] == ids(33)
    device.set(tensor, 0)
    assert [] == ids(64)


def test_a_launch_that_nobody_watched_may_have_written_everything():
    """Unknown is not undefined: after an unwatched launch nothing is claimed."""
    device = mlusim.Device()
    tensor, out = device.empty(64, "float32"), device.empty(64, "float32")

    @kernel
    def nothing(mlu, dst):
        del dst

    @kernel
    def read(mlu, dst, src):
        mlu.memcpy(dst, src, 256, GDRAM2GDRAM)

    first = device.launch(read, args=(out, tensor), observe=INIT).findings
    device.launch(nothing, args=(tensor,))

    assert ["initcheck-undefined-stored"] == [f.id for f in first]
    assert () == device.launch(read, args=(out, tensor), observe=INIT).findings


def test_shared_memory_and_strided_copies_carry_flags():
    """Through SRAM, in columns: the column that was never filled is found, the others are not."""

    def columns(mlu, dst, src, stored):
        s = mlu.shared(float32, 64)
        if mlu.is_mpu():
            mlu.memcpy(s, src, 4 * 7, GDRAM2SRAM, 4 * 8, 4 * 7, 7)
        mlu.sync_cluster()
        if mlu.is_mpu() or mlu.taskId:
            return
        a = mlu.nram(float32, 64)
        mlu.memcpy(a, s, 256, SRAM2NRAM)
        mlu.memcpy(dst, a, 4 * stored, NRAM2GDRAM, 4 * 8, 4 * 8, 7)

    args = (64, "float32"), floats(56)

    assert () == found(columns, *args, 7, observe=INIT, dim=(4, 1, 1), kind=mlusim.UNION1)
    (finding,) = found(columns, *args, 8, observe=INIT, dim=(4, 1, 1), kind=mlusim.UNION1)
    assert "stores 32 bytes" in finding.message
    assert "byte 28 of SRAM float[64]" in finding.context[0]


def test_a_copy_in_flight_is_named():
    """Storing what an asynchronous copy has not delivered yet: the hint is to wait."""

    def early(mlu, dst, src):
        a = mlu.nram(float32, 16)
        mlu.memcpy_async(a, src, 64, GDRAM2NRAM)
        mlu.bang_add(a, a, a, 16)
        mlu.sync_io()
        mlu.memcpy(dst, a, 64, NRAM2GDRAM)

    def scalar(mlu, src):
        a = mlu.nram(float32, 16)
        mlu.memcpy_async(a, src, 64, GDRAM2NRAM)
        a[3] = a[3] + 1

    assert () == found(early, (16, "float32"), floats(16), observe=INIT)
    (finding,) = found(scalar, floats(16), observe=INIT)
    assert "wait for the asynchronous copy first" == finding.hint


def test_initialised_declarations_have_values():
    """Values given, and the zeros that C puts behind them."""

    def table(mlu, dst):
        a = mlu.nram(int32, 16, [1, 2])
        mlu.memcpy(dst, a, 64, NRAM2GDRAM)

    assert () == found(table, (16, "int32"), observe=INIT)


def test_filtered_elements_have_values_and_the_rest_of_the_destination_has_not():
    """A write whose size depends on the data: the part that was left alone keeps its flags."""

    def keep(mlu, dst, src, mask, stored):
        a, m, b = mlu.nram(float32, 64), mlu.nram(float32, 64), mlu.nram(float32, 64)
        mlu.memcpy(a, src, 256, GDRAM2NRAM)
        mlu.memcpy(m, mask, 256, GDRAM2NRAM)
        mlu.bang_filter(b, a, m, 64)
        mlu.memcpy(dst, b, stored * 4, NRAM2GDRAM)

    mask = np.zeros(64, np.float32)
    mask[[3, 9, 11]] = 1
    args = (64, "float32"), floats(64), mask

    assert () == found(keep, *args, 3, observe=INIT)
    assert ["initcheck-undefined-stored"] == [f.id for f in found(keep, *args, 4, observe=INIT)]


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_stored_bytes_are_reported_exactly_when_some_was_never_written(data):
    """Random fills and copies inside NRAM against a model of one flag per element."""
    size = 24
    moves = data.draw(
        st.lists(
            st.tuples(
                st.sampled_from(["load", "move", "add"]),
                *[st.integers(0, size - 1)] * 2,
                st.integers(1, size),
            ),
            max_size=12,
        )
    )
    first = data.draw(st.integers(0, size - 1))
    count = data.draw(st.integers(1, size - first))
    flags = np.zeros(size, bool)

    def body(mlu, dst, src):
        a = mlu.nram(float32, size)
        for what, to, frm, most in moves:
            n = min(most, size - max(to, frm))
            if what == "load":
                mlu.memcpy(a + to, src, n * 4, GDRAM2NRAM)
                flags[to : to + n] = True
            elif what == "move" and abs(to - frm) >= n:
                mlu.memcpy(a + to, a + frm, n * 4, NRAM2NRAM)
                flags[to : to + n] = flags[frm : frm + n]
            elif what == "add" and abs(to - frm) >= n:
                mlu.bang_add(a + to, a + to, a + frm, n)
                flags[to : to + n] &= flags[frm : frm + n]
        mlu.memcpy(dst, a + first, count * 4, NRAM2GDRAM)

    findings = found(body, (size, "float32"), floats(size), observe=INIT)

    missing = 4 * int(np.count_nonzero(~flags[first : first + count]))
    assert [missing] * bool(missing) == [f.facts["bytes"] for f in findings]


@pytest.mark.parametrize(("used", "rules"), [(False, []), (True, ["initcheck-undefined-scalar"])])
def test_a_count_that_nobody_takes_depends_on_nothing(used, rules):
    """The count that `bang_collect` returns depends on its mask; the bytes of the source that it leaves out are not to blame."""

    def take(mlu, dst, src):
        xy, mask, x = (mlu.nram(float32, 64) for _ in range(3))
        mlu.memcpy(xy, src, 4 * 16, GDRAM2NRAM)
        for n in range(60):
            mask[n] = float(n < 8)
        if used:
            dst[0] = mlu.bang_collect(x, xy, mask, 64)
        else:
            mlu.bang_collect(x, xy, mask, 64)
        mlu.memcpy(dst + 1, x, 32, NRAM2GDRAM)

    findings = found(take, floats(64), floats(64), observe=["initcheck"])

    assert rules == [f.id for f in findings]
    for finding in findings:
        assert f"depends on {4 * 4} bytes" in finding.message
        assert f"byte {4 * 60} of" in finding.context[0]


def _spread(stored):
    """Scalars without a value go into lanes of which *stored* are stored."""

    def body(mlu, dst, src):
        x, y = mlu.nram(float32, 16), mlu.nram(float32, 64)
        mlu.memcpy(x, src, 4 * 4, GDRAM2NRAM)
        for n in range(5):
            mlu.bang_write_value(y + n * 8, 8, x[n])  # passes it
        mlu.memcpy(dst, y, 4 * stored, NRAM2GDRAM)  # stores

    return body, found(body, floats(64), floats(64), observe=["initcheck"])


def test_a_scalar_that_is_handed_to_lanes_is_told_where_they_are_stored():
    """To load it is not a finding where nothing stored depends on it."""
    assert () == _spread(32)[1]

    body, (finding,) = _spread(40)

    assert "initcheck-undefined-stored" == finding.id
    assert line_of(body, "# stores") == finding.line
    assert line_of(body, "# passes it") in {place.line for place in finding.places}
    assert "byte 16 of" in finding.context[0]


def test_a_scalar_that_is_compared_is_told_at_its_load():
    """What a branch depends on is used."""

    def branch(mlu, dst, src):
        x = mlu.nram(float32, 16)
        mlu.memcpy(x, src, 4 * 4, GDRAM2NRAM)
        if x[8] > 0:  # here
            mlu.bang_write_value(x, 4, 0.0)
        mlu.memcpy(dst, x, 4 * 4, NRAM2GDRAM)

    (finding,) = found(branch, floats(64), floats(64), observe=["initcheck"])

    assert ("initcheck-undefined-scalar", line_of(branch, "# here")) == (finding.id, finding.line)
