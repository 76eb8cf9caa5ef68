"""Pointers: C arithmetic, casts, comparison, scalar access; allocations and arenas."""

import itertools

import numpy as np
import pytest
from hypothesis import given, strategies as st

import mlusim
from mlusim.arch.dtypes import DTYPES
from mlusim.bang import float32, half, int8, int16, int32, kernel, uint8
from mlusim.errors import OutOfBounds, OutOfMemory, RuleFault, UsageError, WrongSpace
from mlusim.memory.allocation import Arena, MemoryDeclaration, Pool
from mlusim.memory.space import NRAM


def on_core(body, *args, board="MLU370-X4"):
    """Run *body* as a kernel on one core and return what it returns."""
    result = []
    device = mlusim.Device(board)
    device.launch(kernel(lambda mlu, *a: result.append(body(mlu, *a))), args=[device.put(a) for a in args])
    return result[0]


@given(st.integers(-50, 50), st.integers(-50, 50), st.sampled_from(DTYPES))
def test_arithmetic_is_that_of_c(i, j, dtype):
    """P + i + j, differences, addresses and comparisons agree with integers times the size."""

    def body(mlu):
        p = mlu.nram(int8, 4096).cast(dtype) + 100
        q, r = p + i, p + i + j

        assert r - p == i + j
        assert r.address - q.address == j * dtype.size
        assert (q < r, q <= r, q == r, q != r, q > r, q >= r) == (
            0 < j,
            0 <= j,
            j == 0,
            j != 0,
            0 > j,
            0 >= j,
        )
        assert (j + q) == r
        assert (r - j) == q

    on_core(body)


@given(st.integers(0, 60), st.sampled_from(DTYPES), st.sampled_from(DTYPES))
def test_casts_keep_the_address(at, one, other):
    """There and back again is the same pointer, at odd addresses too."""

    def body(mlu):
        p = (mlu.nram(uint8, 256) + at).cast(one)

        assert p.cast(other).address == p.address
        assert p.cast(other).cast(one) == p
        assert p.cast(other).dtype is other

    on_core(body)


def test_scalar_accesses_are_typed():
    """A load gives a typed scalar; a store converts as a C assignment does."""

    def body(mlu):
        h = mlu.nram(half, 4, values=[1.5])
        i = mlu.nram(int16, 4)
        i[0] = 70000
        i[1] = -2.9
        return h[0], h[1], i[0], i[1]

    loaded = on_core(body)

    assert [np.float16, np.float16, np.int16, np.int16] == [type(v) for v in loaded]
    assert [1.5, 0.0, 70000 - 65536, -2] == [float(v) for v in loaded]


def test_numpy_integers_move_pointers():
    """NumPy integers of any width are offsets; they do not overflow and stay out of the pointer."""

    def body(mlu):
        p = mlu.nram(float32, 400) + np.uint8(200) + np.int32(100)
        return (np.int64(5) + p) - p, type(p.index), p.offset

    assert (5, int, 1200) == on_core(body)


def test_bytes_of_another_type_are_seen_through_a_cast():
    """The bits of 1.0f are 0x3f800000."""
    assert on_core(lambda mlu: int(mlu.nram(float32, 1, values=[1.0]).cast(int32)[0])) == 0x3F800000


@pytest.mark.parametrize(
    ("use", "kind", "sentence"),
    [
        (
            lambda p: p[4],
            OutOfBounds,
            r"scalar load: bytes \[16, 20\) of NRAM float\[4\].*reach 4 bytes past",
        ),
        (lambda p: p[-1], OutOfBounds, "4 bytes before its start"),
        (lambda p: p.__setitem__(4, 1), OutOfBounds, "scalar store"),
        (lambda p: p + 1.5, RuleFault, "a pointer moves by whole elements, not by 1.5"),
        (lambda p: p["a"], RuleFault, "whole elements"),
        (lambda p: p - p.cast(int8), UsageError, "has no unit"),
        (lambda p: p.cast("complex64"), UsageError, "is not an element type"),
    ],
)
def test_wrong_uses_have_sentences(use, kind, sentence):
    """What C would let pass silently is refused."""
    with pytest.raises(kind, match=sentence):
        on_core(lambda mlu: use(mlu.nram(float32, 4)))


def test_the_host_cannot_look_through_a_device_pointer():
    """A pointer without a core answers nothing."""
    tensor = mlusim.Device("MLU370-X4").put(np.zeros(4, np.float32))

    with pytest.raises(WrongSpace, match=r"use device.get\(\)"):
        tensor.ptr[0]


def test_offset_pointers_are_kernel_arguments():
    """`tensor + n` passes a pointer to element n."""
    device = mlusim.Device("MLU370-X4")
    seen = []
    device.launch(
        kernel(lambda mlu, p: seen.append(float(p[0]))),
        args=(device.put(np.arange(9, dtype=np.float32)) + 7,),
    )

    assert [7.0] == seen


def test_repr_shows_what_a_person_needs():
    """Type, space, offset, address, where it was declared, the first values."""
    text = on_core(lambda mlu: repr(mlu.nram(float32, 8, values=[1, 2]) + 1))

    assert text.startswith(
        "<float * NRAM+0x4 (0x200004) of NRAM float[8] declared at tests/memory/test_pointer.py:"
    )
    assert text.endswith("[2., 0., 0., 0.]>")


def test_addresses_lie_in_the_windows_of_their_space():
    """A printed address says its space."""

    def body(mlu):
        return [p.address for p in (mlu.nram(int8, 1), mlu.wram(int8, 1), mlu.ldram(int8, 1))]

    nram, wram, ldram = on_core(body)

    assert (0x200000, 0x300000) == (nram, wram)
    assert ldram >= 0x4000_0000


@given(st.lists(st.tuples(st.integers(1, 400), st.sampled_from([1, 2, 4, 8])), max_size=12))
def test_arena_hands_out_disjoint_aligned_pieces(asks):
    """Declarations never overlap, are aligned, stay inside, and what does not fit is refused."""
    arena, declared = Arena(NRAM, 0x200000, 1024, Pool()), MemoryDeclaration(NRAM, int8, 1)
    pieces = []
    for nbytes, align in asks:
        start = -(-arena.top // align) * align
        if start + nbytes > 1024:
            with pytest.raises(OutOfMemory):
                arena.allocate(nbytes, align, declared)
            continue
        pieces.append(arena.allocate(nbytes, align, declared))

        assert pieces[-1].address % align == 0
        assert (pieces[-1].raw == 0xFF).all()

    spans = sorted((p.address, p.address + p.nbytes) for p in pieces)
    assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    assert all(0x200000 <= low and high <= 0x200000 + 1024 for low, high in spans)


def test_misaligned_casts_work_like_the_hardware_s_any_address():
    """A float at an odd byte address is loaded and stored whole."""

    def body(mlu):
        p = (mlu.nram(int8, 16) + 3).cast(float32)
        p[0], p[1] = 2.5, -1.0
        mlu.bang_add(p, p, p, 2)
        return float(p[0]), float(p[1])

    assert (5.0, -2.0) == on_core(body)


WRONG = [None, "1", b"1", [1], (1,), {}, np.array([1, 2]), 1j, np.complex64(1), np.str_("1"), object()]


@pytest.mark.parametrize("dtype", [float32, int32, half], ids=str)
@pytest.mark.parametrize("value", WRONG, ids=lambda value: type(value).__name__)
def test_only_numbers_are_stored(dtype, value):
    """What is not a number changes nothing: None is not a NaN, and a text no number."""

    def body(mlu):
        p = mlu.nram(dtype, 4, [1, 2, 3, 4])
        with pytest.raises(
            RuleFault, match=f"scalar store: .* is not a number that {dtype} can hold"
        ) as caught:
            p[1] = value
        return [p[i] for i in range(4)], caught.value.file, mlu.core.stores

    kept, file, stores = on_core(body)

    assert [1, 2, 3, 4] == kept
    assert __file__ == file
    assert 0 == sum(stores)


@pytest.mark.parametrize(
    ("value", "stored"), [(True, 1), (np.bool_(True), 1), (np.array(3), 3), (np.float64(2.7), 2), (-1, -1)]
)
def test_every_kind_of_number_is_stored(value, stored):
    """Python's and NumPy's, with or without dimensions of none, toward zero as C does."""

    def body(mlu):
        p = mlu.nram(int32, 1)
        p[0] = value
        return p[0]

    assert stored == on_core(body)


def test_a_number_beyond_every_float_is_refused():
    """Ten to the 400th has no C type at all."""

    def body(mlu):
        mlu.nram(float32, 1)[0] = 10**400

    with pytest.raises(RuleFault, match="is not a number that float can hold"):
        on_core(body)


@pytest.mark.parametrize("other", [None, 5, "p", np.int32(5), [1]])
def test_pointers_are_ordered_among_themselves(other):
    """A comparison with something else is Python's own TypeError; none of them is equal."""

    def body(mlu):
        p = mlu.nram(float32, 4)
        for compare in (p.__lt__, p.__le__, p.__gt__, p.__ge__, p.__eq__):
            assert compare(other) is NotImplemented
        with pytest.raises(TypeError, match="'<' not supported"):
            p < other  # noqa: B015 - what is tested
        return p != other

    assert on_core(body) is True


@pytest.mark.parametrize(
    "n", [np.array([1]), np.array(1.5), np.float32(1), None, "1", slice(1), (1,)], ids=repr
)
def test_what_is_no_integer_moves_no_pointer(n):
    """Whatever its `__index__` says of it."""

    def body(mlu):
        p = mlu.nram(float32, 4)
        for move in (lambda: p + n, lambda: p - n, lambda: p[n]):
            with pytest.raises(RuleFault, match="a pointer moves by whole elements"):
                move()
        return True

    assert on_core(body)


def test_a_difference_has_one_memory_and_whole_elements():
    """C leaves both open; here they are refused."""

    def body(mlu, g):
        p, w = mlu.nram(int32, 4), mlu.wram(int32, 4)
        odd = (p.cast(int8) + 3).cast(int32)
        with pytest.raises(UsageError, match="a pointer into NRAM and one into WRAM means nothing"):
            p - w
        with pytest.raises(UsageError, match="3 bytes apart, no multiple of the 4 bytes of int32"):
            odd - p
        return odd.cast(int8) - p.cast(int8), (g + 3) - (g + 5)

    assert (3, -2) == on_core(body, np.zeros(8, np.int32))


@pytest.mark.parametrize(
    ("dtype", "values", "stored"),
    [
        (int8, [300, -1], [44, -1, 0]),
        (int8, (1.9, -1.9), [1, -1, 0]),
        (float32, np.arange(3), [0, 1, 2]),
        (float32, range(2), [0, 1, 0]),
        (int16, [np.int8(-1), True], [-1, 1, 0]),
        (half, [], [0, 0, 0]),
    ],
)
def test_initial_values_are_those_of_c(dtype, values, stored):
    """They are converted as an assignment converts, and zeros follow."""
    assert stored == on_core(lambda mlu: [mlu.nram(dtype, 3, values)[i] for i in range(3)])


@pytest.mark.parametrize(
    "values", [5, "ab", [None], ["1"], [[1], [2]], [[1], [1, 2]], {1: 2}, [1j], [1, 2, 3, 4]]
)
def test_initial_values_that_cannot_be(values):
    """No row of numbers, or more of them than elements."""
    with pytest.raises(RuleFault, match="for 3 elements; legal: as many or fewer"):
        on_core(lambda mlu: mlu.nram(float32, 3, values))


def test_memory_without_bytes_has_no_legal_range():
    """A tensor of no elements can be passed and pointed at, and holds nothing."""

    def body(mlu, g):
        assert g == g.cast(int8)
        with pytest.raises(OutOfBounds, match="legal: none, for it has no bytes"):
            g[0]
        return repr(g + 1)

    assert "outside>" in on_core(body, np.zeros((0, 3), np.float32))
