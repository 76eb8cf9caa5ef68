"""memcheck: what it says, and where."""

import numpy as np
import pytest
from observe_tools import floats, found, line_of

import mlusim
from mlusim.bang import GDRAM2NRAM, GDRAM2WRAM, NRAM2GDRAM, NRAM2WRAM, float32, int8, kernel
from mlusim.errors import Fault, UsageError
from mlusim.observe.collect import collecting
from mlusim.observe.memcheck import MemCheckNotes

KEPT = []


@kernel
def copy_out(mlu, dst, src, count):
    a = mlu.nram(float32, 16)
    mlu.memcpy(a, src, 64, GDRAM2NRAM)
    mlu.memcpy(dst, a, count * 4, NRAM2GDRAM)  # line of the store


STORE = copy_out.body.__code__.co_firstlineno + 4


def _findings(body, *args, board="MLU370-X4", dim=(1, 1, 1), observe=("memcheck",)):
    device = mlusim.Device(board)
    tensors = [device.put(a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        return device.launch(kernel(body), dim, args=tensors, observe=observe).findings
    except Fault as fault:
        return fault.findings


def _floats(n):
    return np.ones(n, np.float32)


def test_a_correct_kernel_is_silent():
    """Nothing is said of a kernel that keeps to its memory."""
    assert () == _findings(copy_out.body, _floats(16), _floats(16), 16)


def test_a_store_past_a_tensor_names_line_task_and_neighbour():
    """The finding stands on the line of the store and says what lies behind the tensor."""
    (finding,) = _findings(copy_out.body, _floats(8), _floats(16), 16)

    assert "memcheck-out-of-bounds" == finding.id
    assert (__file__, STORE, 0) == (finding.file, finding.line, finding.task)
    assert "32 bytes past its end" in finding.message
    assert any("behind it lies tensor float[16]" in line for line in finding.context)
    assert "GDRAM" == finding.facts["space"]


def test_the_fault_is_raised_as_without_checkers():
    """A checker changes nothing: the fault still ends the launch."""
    device = mlusim.Device()
    args = (device.put(_floats(8)), device.put(_floats(16)), 16)

    with pytest.raises(Fault, match="past its end"):
        device.launch(copy_out, args=args, observe=["memcheck"])


def test_memory_of_a_finished_launch_is_named_as_such():
    """A pointer that a kernel kept from its last launch points nowhere."""
    device = mlusim.Device()

    @kernel
    def keep(mlu):
        KEPT.append(mlu.nram(float32, 4))

    @kernel
    def use(mlu):
        KEPT[-1][0] = 1.0

    device.launch(keep)
    with pytest.raises(Fault) as caught:
        device.launch(use, observe=["memcheck"])

    assert ["memcheck-use-after-end"] == [f.id for f in caught.value.findings]


def test_a_pointer_to_a_freed_tensor_is_no_argument():
    """The launch refuses it before anything runs."""
    device = mlusim.Device()
    tensor = device.put(_floats(8))
    pointer = tensor + 2
    device.free(tensor)

    with pytest.raises(UsageError, match="no longer exists"):
        device.launch(copy_out, args=(pointer, pointer, 1))


def test_misaligned_scalars_are_found_once_with_a_count():
    """The same statement in every task is one finding."""

    def odd(mlu):
        p = (mlu.nram(int8, 64) + 3).cast(float32)
        p[0] = 1.0

    (finding,) = _findings(odd, dim=(3, 1, 1))

    assert ("memcheck-misaligned", 3) == (finding.id, finding.count)


def test_broken_rules_of_the_architecture():
    """WRAM takes multiples of 16 bytes on 3xx; the finding says what is legal."""

    def wram(mlu):
        a, w = mlu.nram(int8, 64), mlu.wram(int8, 64)
        mlu.memcpy(w, a, 24, NRAM2WRAM)

    (finding,) = _findings(wram)

    assert "memcheck-broken-rule" == finding.id
    assert "legal: to and from WRAM, multiples of 16 bytes" in finding.context


def test_wasted_lanes_are_a_note_on_request():
    """A vector of 100 bytes leaves lanes of its line idle; who does not ask is not told."""

    def short(mlu):
        a = mlu.nram(float32, 64, [1.0] * 64)
        mlu.bang_add(a, a, a, 25)
        mlu.bang_add(a, a, a, 64)

    (note,) = _findings(short, observe=[MemCheckNotes()])

    assert ("memcheck-lanes-wasted", "note", 7) == (note.id, note.level, note.facts["idle_lanes"])
    assert () == _findings(short)


@pytest.mark.parametrize(
    ("begin", "count", "lines", "idle"), [(1, 32, 2, 32), (1, 31, 1, 1), (20, 40, 2, 24)]
)
def test_a_vector_that_begins_inside_a_line_touches_one_more(begin, count, lines, idle):
    """MLU2xx wants multiples of 64 bytes; later boards only take longer."""

    def shifted(mlu):
        a, b = mlu.nram(float32, 64, [1.0] * 64), mlu.nram(float32, 64, [1.0] * 64)
        mlu.bang_add(a + begin, a + begin, b, count)
        mlu.bang_add(a + 16, a + 16, b, 32)

    (note,) = _findings(shifted, observe=[MemCheckNotes()])

    assert idle == note.facts["idle_lanes"]
    assert f"{begin * 4 % 64} bytes behind a multiple of 64, takes {lines} line" in note.message


def test_a_comment_allows_a_finding_on_its_line_with_a_reason():
    """`# mlusim: allow id: reason` silences that rule there; without a reason it does nothing."""

    def allowed(mlu):
        p = (mlu.nram(int8, 64) + 1).cast(float32)
        p[0] = 1.0  # mlusim: allow memcheck-misaligned: the board takes it, as measured
        # mlusim: allow memcheck-misaligned: so does it here
        p[2] = 1.0
        p[1] = 1.0  # mlusim: allow memcheck-misaligned

    (finding,) = _findings(allowed)

    assert allowed.__code__.co_firstlineno + 5 == finding.line


def test_checkers_are_named_when_one_is_unknown():
    """The sentence lists what there is."""
    with pytest.raises(UsageError, match="memcheck"):
        _findings(copy_out.body, observe=["memchek"])


def test_scalar_code_does_not_reach_wram():
    """A card gives no value for it."""

    def load(mlu, dst):
        w = mlu.wram(float32, 64)
        mlu.memcpy(w, dst, 256, GDRAM2WRAM)
        dst[0] = w[3]  # here

    (finding,) = found(load, floats(64), observe=["memcheck"])

    assert ("memcheck-wrong-space", line_of(load, "# here")) == (finding.id, finding.line)
    assert "scalar code does not reach WRAM" in finding.message


def _product(goes, *, reshapes=True, filters=128):
    """A kernel that multiplies by *filters* of 16 elements and copies *goes*, "before" or "after" the reshape, to WRAM."""

    @kernel
    def product(mlu, out, left, right):
        a, c = mlu.nram(float32, 4 * 16), mlu.nram(float32, 4 * filters)
        before, after = mlu.nram(float32, filters * 16), mlu.nram(float32, filters * 16)
        held = mlu.wram(float32, filters * 16)
        mlu.memcpy(a, left, 4 * 4 * 16, GDRAM2NRAM)
        mlu.memcpy(before, right, 4 * filters * 16, GDRAM2NRAM)
        if reshapes:
            mlu.bang_reshape_filter(after, before, filters, 1, 1, 16)
        mlu.memcpy(held, {"before": before, "after": after}[goes], 4 * filters * 16, NRAM2WRAM)
        mlu.bang_matmul(c, a, held, 4, 16, filters)
        mlu.memcpy(out, c, 4 * 4 * filters, NRAM2GDRAM)

    return product


def _laid(body, right, *, notes=False):
    """The ids of what `mlusim check` finds in *body*, called with the filters *right*, lanes left idle apart."""
    device = mlusim.Device("MLU370-X4")
    left = device.put(np.ones((4, 16), np.float32))
    with collecting(notes=notes) as collector:
        device.launch(body, args=(device.empty((4, right.shape[0]), float32), left, device.put(right)))
    return [f.id for f in collector.found if "filters" in f.id]


FILTERS_OF = {n: np.arange(n * 16, dtype=np.float32).reshape(n, 16) for n in (64, 128)}


def test_filters_that_pass_their_reshape_by_are_told():
    """The source of the reshape goes to WRAM; its destination is right, and of 64 filters either is."""
    passed = ["memcheck-filters-before-reshape"]

    assert passed == _laid(_product("before"), FILTERS_OF[128])
    assert [] == _laid(_product("after"), FILTERS_OF[128], notes=True)
    assert [] == _laid(_product("before", filters=64), FILTERS_OF[64], notes=True)


def test_filters_that_nothing_reshapes_are_a_note():
    """The host may have laid them out; who does not ask is not told, and neither where the order makes no difference."""
    bare = _product("before", reshapes=False)

    assert ["memcheck-filters-not-reshaped"] == _laid(bare, FILTERS_OF[128], notes=True)
    assert [] == _laid(bare, FILTERS_OF[128])
    assert [] == _laid(bare, np.ones((128, 16), np.float32), notes=True)
    assert [] == _laid(_product("before", reshapes=False, filters=64), FILTERS_OF[64], notes=True)


def test_filters_that_an_earlier_kernel_reshaped_are_not_told():
    """An earlier kernel reshapes the filters; the one that multiplies copies them as they are."""
    device = mlusim.Device("MLU370-X4")
    laid = device.empty((128, 16), float32)

    @kernel
    def lay(mlu, out, right):
        before, after = mlu.nram(float32, 128 * 16), mlu.nram(float32, 128 * 16)
        mlu.memcpy(before, right, 4 * 128 * 16, GDRAM2NRAM)
        mlu.bang_reshape_filter(after, before, 128, 1, 1, 16)
        mlu.memcpy(out, after, 4 * 128 * 16, NRAM2GDRAM)

    left, out = device.put(np.ones((4, 16), np.float32)), device.empty((4, 128), float32)
    with collecting(notes=True) as collector:
        device.launch(lay, args=(laid, device.put(FILTERS_OF[128])))
        device.launch(_product("before", reshapes=False), args=(out, left, laid))

    assert [] == [f.id for f in collector.found if "filters" in f.id]


def test_filters_laid_out_by_strided_copies_are_not_told():
    """One copy with strides takes every 64th filter to its lane."""

    @kernel
    def strided(mlu, out, left, right):
        a, c, held = mlu.nram(float32, 4 * 16), mlu.nram(float32, 4 * 128), mlu.wram(float32, 128 * 16)
        mlu.memcpy(a, left, 4 * 4 * 16, GDRAM2NRAM)
        for half in range(2):
            mlu.memcpy(held + half * 16, right + half * 64 * 16, 64, GDRAM2WRAM, 128, 64, 63)
        mlu.bang_matmul(c, a, held, 4, 16, 128)
        mlu.memcpy(out, c, 4 * 4 * 128, NRAM2GDRAM)

    assert [] == _laid(strided, FILTERS_OF[128], notes=True)


def test_tensors_have_the_names_of_the_variables_that_hold_them():
    """Those of the nearest caller that has some, at each launch again, where someone watches it."""
    device = mlusim.Device()
    out, given = device.put(_floats(8)), device.put(_floats(16))

    def launch(*args, **options):
        with pytest.raises(Fault) as caught:
            device.launch(copy_out, args=args, **options)
        return str(caught.value)

    unwatched = launch(out, given, 16)
    first = launch(out, given, 16, observe=["memcheck"])
    out, given, other = given, None, out
    second = launch(other + 0, out, 16, observe=["memcheck"])

    assert "of tensor float[8] reach" in unwatched
    assert "of tensor out float[8] reach" in first
    assert "of tensor other float[8] reach" in second
    assert given is None
