"""Every row with a body in C: the same bytes, counts, charges and faults as Python's."""

import re
import shlex

import numpy as np
import pytest
from hypothesis import given, strategies as st
from isa_native import Setting, board_with, cases, program_of, run, same_numbers, some_cases, use_of
from isa_rows import counts_of

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.isa.table import FAMILIES, ISA
from mlusim.isa.tensor import FILTERS
from mlusim.machine.native.build import available
from mlusim.machine.native.core import NativeCore
from mlusim.machine.native.text import layout
from mlusim.machine.native.text.door import is_native

FAMILY = {row.name: f.name for f in FAMILIES for row in f.rows}
ROWS = [  # tests/bangc/test_bangc_native_registers.py calls every form of those of registers, which lie in no memory
    row
    for row in ISA.values()
    if not row.control and row.form not in ("copy", "gather", "discrete") and FAMILY[row.name] != "vv"
]
REFUSED = (  # here: of scalars alone with a count of vectors, and of operands that are too large for the memory
    "bang_fusion",
    "bang_reshape_filter",
    "bang_reshape_nchw2nhwc",
    "bang_reshape_nhwc2nchw",
    "bang_tiling_2d_b1024",
)
MEASURES = (
    "instructions",
    "traffic",
    "lanes",
    "memory",
    "scalar_loads",
    "scalar_stores",
    "busy_us",
    "time_us",
    "io_bytes",
)


def _without_place(message):
    """A sentence without the line of a declaration, which in these kernels is the test's own on one side."""
    return re.sub(r"declared at \S+", "declared", message)


def compare(row, types, scalars, counts, *, every=False, board=None, **options):
    """Run the call on both engines; True where both did the same."""
    board = board_with(row) if board is None else find_board(board)
    uses, program = program_of(FAMILY[row.name], board, every)
    use = use_of(row, types, scalars)
    if use not in uses:
        return False
    setting = Setting(row, types, scalars, counts, **options)
    python, first = run(setting, "python", board)
    if available() is None:  # then Python is the only engine there is
        return True
    native, second = run(setting, "native", board, program, uses[use])

    if python is None or native is None:
        assert type(first) is type(second), f"{first!s} / {second!s}"
        assert _without_place(first.message) == _without_place(second.message)
        return True
    for name in MEASURES:
        assert getattr(first, name) == getattr(second, name), name
    assert [t.log.key for t in first.tasks] == [t.log.key for t in second.tasks]
    for name, left in python.items():
        same = same_numbers(left, native[name], types[name].dtype if name else np.dtype(np.float64))
        assert same, f"{name} of {use.name}"
    return True


@pytest.fixture
def ups(monkeypatch):
    """The rows that C left to Python, by number, while the test runs."""
    found = []

    def noted(core, number, _):
        found.append(number)
        NativeCore._row(core, number, _)

    monkeypatch.setitem(NativeCore._UPS, layout.ROW, noted)
    return found


@pytest.fixture(autouse=True)
def _quick_compiler(monkeypatch):
    """Less optimisation for many functions that run once; the compiler stays the same."""
    command = available()
    if command is not None:
        monkeypatch.setenv("MLUSIM_CC", shlex.join((*command, "-O1")))


def try_row(row, types, scalars, **options):
    """Whole lines, then tails; where C has the row. Returns whether it has."""
    counts = counts_of(row)
    for n, count in enumerate((None, 1, 61)):
        if count is None or ("elem_count" in counts and not row.rules):
            changed = {} if count is None else {"elem_count": count}
            if not compare(row, types, scalars, counts | changed, seed=n, **options):
                return False
    return True


@pytest.mark.parametrize(("height", "width"), [(8, 8), (19, 27), (3, 40)])
def test_a_matrix_of_any_size_is_turned(height, width):
    """C turns words of 32 bits eight rows by eight; what is left at the edges follows one by one."""
    row = ISA["bang_transpose"]
    types, scalars = next((t, s) for t, s in cases(row) if {d.name for d in t.values()} == {"float"})

    assert compare(row, types, scalars, counts_of(row, height=height, width=width), every=True)


PRODUCTS = (
    *((dict(zip("mkn", sizes, strict=True)), ()) for sizes in ((1, 1, 64), (1, 33, 128), (37, 24, 192), (9, 100, 64))),
    ({"inputs": 100, "outputs": 128}, ()),
    *(
        ({"ci": 3, "height": 9, "width": 8, "kernel_height": 3, "kernel_width": 2, "co": 128} | changed, ("stride_w", "stride_h"))
        for changed in (
            {"stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1},
            {"stride_h": 2, "stride_w": 3, "dilation_h": 2, "dilation_w": 3},
            {"stride_h": 3, "stride_w": 1, "kernel_height": 1, "kernel_width": 1, "dilation_h": 1, "dilation_w": 1},
        )
    ),
)  # fmt: skip
"""Sizes of calls of the tensor unit, and which of a row's counts must be among them."""


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
@pytest.mark.parametrize("name", FILTERS)
def test_the_tensor_unit_multiplies_the_same(name, board, ups):
    """Products of every type, scaled or not: what C adds up is what NumPy does, to the last bit of a NaN."""
    row, tried = ISA[name], 0
    for n, (sizes, asked) in enumerate(PRODUCTS):
        if not {*sizes, *asked} <= {p.name for p in row.given}:
            continue
        for k, (types, scalars) in enumerate(cases(row)):
            crooked = (n + k) % 2  # a power of two, and floats at odd places
            counts = counts_of(row) | sizes | {"fix_pos": -3 * crooked}
            options = {"offsets": dict.fromkeys(types, 2 * crooked), "seed": n, "room": 1 << 16}
            assert compare(row, types, scalars, counts, every=True, board=board, **options)
            tried += 1

    assert tried
    assert not ups


@pytest.mark.parametrize("op", range(8))
def test_every_fusion_is_the_same(op):
    """Vectors that are used again; floats and integers."""
    row = ISA["bang_fusion"]
    for types, scalars in cases(row):
        if types["dst"].name in ("half", "bfloat16", "float", "int16"):
            counts = counts_of(row, src12_elem_count=32)
            assert compare(row, types, scalars, counts, every=True, numbers={"op": op}, seed=op)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_both_engines_do_the_same(row, ups):
    """Random bits, one element type, whole lines and tails; a form for each kind of operand.

    C does what it has a body for: it leaves calls to Python that are refused.
    """
    for types, scalars in some_cases(row):
        try_row(row, types, scalars)

        assert not ups or row.name in REFUSED


@pytest.mark.attack
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_both_engines_do_the_same_with_every_type(row):
    """Random bits, all element types, whole lines and tails."""
    for types, scalars in cases(row):
        try_row(row, types, scalars, every=True)


ON_2XX = tuple(row for row in ROWS if row.operands and row.available(270))


@pytest.mark.attack
@pytest.mark.parametrize("row", ON_2XX, ids=lambda row: row.name)
def test_both_engines_do_the_same_on_mlu2xx(row):
    """Random bits, all element types that these boards have, whole lines and tails, which they refuse."""
    for types, scalars in cases(row):
        try_row(row, types, scalars, every=True, board="MLU270-S4")


VARIED_ON_2XX = (  # by generation, as far as C has them, and some that are not
    *("bang_filter", "bang_select_bitindex", "bang_fcmpfilter", "bang_reduce_sum", "bang_float2half_up"),
    *("bang_add", "bang_mul_scalar", "bang_cycle_add", "bang_transpose", "bang_count", "bang_write_zero"),
)


@given(
    name=st.sampled_from(VARIED_ON_2XX),
    count=st.sampled_from([None, 32, 64, 96, 512, 1024, 61]),
    offsets=st.lists(st.sampled_from([0, 64, 128, 192, 2, 4, 32, 96]), min_size=3, max_size=3),
    seed=st.integers(0, 99),
)
def test_mlu2xx_refuses_operands_at_odd_places_on_both_engines(name, count, offsets, seed):
    """Wherever operands begin and end: the same bytes where the board takes them, else the same sentence."""
    row = ISA[name]
    counts = counts_of(row)
    changed = {"elem_count": count} if count and "elem_count" in counts else {}
    for types, scalars in some_cases(row, 2):
        places = dict(zip(types, offsets, strict=False))

        assert compare(row, types, scalars, counts | changed, board="MLU270-S4", offsets=places, seed=seed)


def test_most_rows_have_a_body_in_c():
    """What has none is rare on the boards that exist; the reference page of each row says which."""
    arch = find_board("MLU590-H8").arch
    native = [row for row in ISA.values() if is_native(row, arch)]

    assert len(native) >= 400


def test_a_conversion_to_wider_integers_in_place_reads_each_source_first(tmp_path):
    """The engines agree, and with a conversion to other memory."""
    modes = ("", "_tz", "_oz", "_up", "_dn", "_rd", "_rn", "_rm")
    cases = "".join(
        f"  __memcpy(from, in, 128, GDRAM2NRAM); __bang_half2int32{mode}(to, from, 64, 0); __bang_half2int32{mode}((int *)from, from, 64, 0);\n"
        f"  __memcpy(out + {128 * n}, to, 256, NRAM2GDRAM); __memcpy(out + {128 * n + 64}, from, 256, NRAM2GDRAM);\n"
        for n, mode in enumerate(modes)
    )
    source = f"__nram__ half from[128];\n__nram__ int to[64];\n__mlu_global__ void wider(int *out, half *in) {{\n{cases}}}\n"
    (tmp_path / "wider.mlu").write_text(source)
    kernel = bangc.load(tmp_path / "wider.mlu", board="MLU370-X4")["wider"]
    halves = np.random.default_rng(1).normal(scale=99, size=64).astype(np.float16)
    stored = []
    for engine in ("python", "native"):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(128 * len(modes), np.int32))
        device.launch(kernel, args=(out, device.put(halves)), engine=engine)
        stored.append(device.get(out).reshape(len(modes), 2, 64))

    assert stored[0].tobytes() == stored[1].tobytes()
    assert stored[1][:, 0].tolist() == stored[1][:, 1].tolist()
