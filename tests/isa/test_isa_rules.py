"""The rules of every row, data that bodies refuse, and what each architecture has."""

import re

import numpy as np
import pytest
from isa_rows import (
    BOARDS,
    COUNTS,
    DENSE_ROWS,
    MEMORY_ROWS,
    Sample,
    all_refused,
    board_of,
    check_teaches,
    counts_of,
    dtype_cases,
    ids,
    on_core,
    refused,
)

import mlusim
from mlusim.arch.dtypes import half, int8, int32, uint32
from mlusim.errors import Fault, OutOfBounds, RuleFault, Unsupported, UsageError, WrongSpace
from mlusim.formula.render import to_python
from mlusim.isa.table import ISA
from mlusim.memory.space import SRAM

HERE = __file__.rsplit("/", 1)[-1]

# -- rules -----------------------------------------------------------------------------------------

CANDIDATES = (0, 1, 3, 7, 30, 33, 65, 100, 130, 200, -1, -128, 300)


def breaking_counts(row, rule):
    """Counts that break *rule*, found by trying."""
    legal = counts_of(row)
    for name in legal:
        for count in CANDIDATES:
            counts = legal | {name: count}
            try:
                if rule.fails.evaluate(counts):
                    return counts
            except (UsageError, TypeError):
                return None
    return None


def misalign(name):
    """Move an operand by one byte."""

    def change(sample):
        pointer = sample.pointer(name)
        sample.arguments[name] = (pointer.cast(int8) + 1).cast(pointer.dtype)

    return change


def recast(name, dtype):
    """See an operand through another type."""

    def change(sample):
        sample.arguments[name] = sample.pointer(name).cast(dtype)

    return change


def without(*names):
    """Leave arguments out."""

    def change(sample):
        for name in names:
            sample.arguments.pop(name)

    return change


def scalars(**values):
    """Give scalars."""

    def change(sample):
        sample.arguments.update(values)

    return change


def narrow_rows(sample):
    """A count that is not a multiple of 512 bytes of the sources' type."""
    sample.arguments["elem_count"] = 32


# Rules that no count alone breaks: by a part of their text.
BREAKERS = {
    "phase(dst)": misalign("dst"),
    "phase(src1)": misalign("src1"),
    "sizeof(src) != sizeof(dst)": recast("src", ISA["bang_lut"].operands["src"].dtypes[1]),
    "sizeof(dst) != sizeof(src)": recast("dst", uint32),
    "sizeof(index)": recast("index", uint32),
    "in_dh is not None": scalars(in_dh=1, in_dw=1, out_dh=1, out_dw=1),
    "out_dh != 1": scalars(out_dw=2),
    "in_dh < 1": scalars(in_dh=0),
    "in_dw < 1": scalars(in_dw=0),
    "else fix_pos) >= height": scalars(kernel_height=1000),
    "* in_dh >= height": scalars(kernel_height=2, in_dh=1000),
    "* in_dw >= width": scalars(kernel_width=2, in_dw=1000),
    "fix_pos < 1": scalars(fix_pos=0, dilation_w=1, dilation_h=1, out_dw=1),
    "dilation_h != 1 or out_dw": scalars(fix_pos=1, dilation_w=1, dilation_h=1, out_dw=2),
    "src12_elem_count is None": without("src12_elem_count"),
    "not pointer(src1)": scalars(src1=1, src2=2),
    "src12_elem_count > 0": scalars(src12_elem_count=100),
    "elem_count * sizeof(src0) % 512": narrow_rows,
    "height == 1 and": scalars(height=1, pad_left=8, pad_right=8),
    "height * width * channel * sizeof(src)": scalars(height=1, width=1, channel=3),
    "(stride_w is None) != (stride_h is None)": without("stride_h"),
    "channel * sizeof(src) % 128": scalars(channel=4),
    "kind(dst) == 'int'": recast("dst", int32),
    "height * sizeof(src)": scalars(height=8, width=128),
    "width * sizeof(src)": scalars(height=128, width=8),
}

RULED = tuple(row for row in MEMORY_ROWS if row.rules)


@pytest.mark.parametrize("row", RULED, ids=ids(RULED))
def test_every_rule_has_a_call_that_breaks_it(row):
    """The fault says what the rule says, and what is legal instead."""
    on_boards = {}
    for rule in row.rules:
        generation = rule.generations[0] if rule.generations else None
        on_boards.setdefault(BOARDS[generation] if generation else board_of(row), []).append(rule)

    for board, rules in on_boards.items():
        faults = all_refused(row, *(breaking(row, rule) for rule in rules), board=board)
        for fault, rule in zip(faults, rules, strict=True):
            check_teaches(fault, row)
            assert isinstance(fault, RuleFault)
            assert rule.legal == fault.legal
            assert re.match(re.sub(r"\\\{.*?\\\}", ".*", re.escape(rule.sentence)), fault.message)


def breaking(row, rule):
    """A change of a legal call that breaks *rule*."""
    counts = breaking_counts(row, rule)
    if counts is not None:
        return scalars(**counts)
    return next(how for text, how in BREAKERS.items() if text in to_python(rule.fails))


# -- data that a body refuses ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("bang_lut", lambda s: s.pointer("src").__setitem__(2, 64), r"src\[2\] = 64 is not an index"),
        (
            "bang_lut_s32",
            lambda s: s.pointer("src").__setitem__(2, -2 % 2**32),
            r"src\[2\] = 4294967294 is not an index",
        ),
        ("bang_maxpool_bp", lambda s: s.pointer("index").__setitem__(3, 6), r"index\[3\] = 6 is not a place"),
        ("bang_div", lambda s: s.pointer("src1").__setitem__(3, 0), r"src1\[3\] is 0"),
        ("bang_div", scalars(src1=0), "src1 is 0"),
        ("bang_rem", lambda s: s.pointer("src1").__setitem__(0, 0), r"src1\[0\] is 0"),
        ("bang_fusion", scalars(op=8), "op = 8 is not a fusion"),
        ("bang_fcmpfilter", scalars(mode=6), "mode = 6 is not a comparison"),
        ("bang_unpool", lambda s: s.pointer("index").__setitem__(3, 6), r"index\[3\] = 6 is not a place"),
        ("bang_avgpool_bp", scalars(overlap=2), "overlap = 2"),
        ("cn_vector_mod_scalar_u64", scalars(value=0), "value is 0"),
        ("bang_mul_scalar", scalars(value="3"), "value is '3'"),
        ("bang_mul_scalar", scalars(value=None), "value is None"),
        ("bang_write_value", scalars(value=0.5), "has no C type"),
        ("bang_write_value", scalars(value="x"), "has no C type"),
        ("bang_atomic_reduce_add", scalars(src=[1, 2]), r"src is \[1, 2\]"),
    ],
)
def test_illegal_data_is_refused(name, change, said):
    """Indices beyond a table, divisors of zero, unknown operations, scalars that are not numbers."""
    row = ISA[name]
    case = next(
        c
        for c in dtype_cases(row)
        if c[next(iter(c))].kind != "float" or name not in ("bang_div", "bang_rem")
    )

    fault = refused(row, change, case=case)

    check_teaches(fault, row)
    assert re.search(said, fault.message)


def test_an_integer_vector_takes_scalars_as_c_does():
    """A fraction is cut off, a large number wraps, an infinity saturates, NaN becomes 0."""

    def run(mlu, heap):
        a = mlu.nram(int32, 2, [10, 20])
        mlu.bang_add_scalar(a, a, 2.9, 2)
        mlu.bang_mul_scalar(a, a, 0xFFFFFFFF, 2)
        mlu.bang_add_scalar(a, a, np.float32(-1.5), 2)
        mlu.bang_add_scalar(a, a, float("nan"), 2)
        mlu.bang_mineq_scalar(a + 1, a + 1, float("-inf"), 1)
        return [int(a[0]), int(a[1])]

    assert [-13, -(1 << 31)] == on_core(run)


@pytest.mark.parametrize(
    "name", ["bang_filter", "bang_filter_bitindex", "bang_select", "bang_select_bitindex"]
)
def test_only_what_is_chosen_must_fit(name):
    """A destination smaller than the source is legal as long as the chosen elements fit."""
    row = ISA[name]

    def run(mlu, heap, chosen):
        sample = Sample(
            mlu,
            row,
            {
                o: half if o in ("dst", "src", "mask", "index") else dtype_cases(row)[0][o]
                for o in row.operands
            },
            heap,
        )
        mask = sample.arguments.get("mask") or sample.arguments.get("index") or sample.arguments["bitmask"]
        mask.view.raw.fill(0)
        if "bitmask" in sample.arguments:
            mask.view.raw[: chosen // 8] = 0xFF
        else:
            mask.view.array[:chosen] = 1
        room = 16 if "filter" in name else 128
        sample.arguments["dst"] = mlu.nram(half, room)
        try:
            return sample.call(), None
        except Fault as fault:
            return None, fault

    result, fault = on_core(lambda mlu, heap: run(mlu, heap, 16))

    assert fault is None
    assert result == (16 if "filter" in name else None)

    result, fault = on_core(lambda mlu, heap: run(mlu, heap, 72))

    check_teaches(fault, row, row.operands["dst"])
    assert isinstance(fault, OutOfBounds)
    assert "72 elements are chosen" in fault.message


# -- architectures ---------------------------------------------------------------------------------


def test_division_is_refused_on_372_and_taken_on_592():
    """__bang_div and __bang_rem exist from 322 on, not on 372, whose kernels multiply by a reciprocal."""
    for name in ("bang_div", "bang_rem"):
        fault = refused(ISA[name], lambda s: None, board="MLU370-X4")

        assert isinstance(fault, Unsupported)
        assert "not 372" in fault.legal
        assert on_core(
            lambda mlu, heap, name=name: (
                Sample(mlu, ISA[name], dtype_cases(ISA[name])[0], heap).call() or True
            ),
            board="MLU590-H8",
        )


LATE = [row for row in MEMORY_ROWS if row.since > 290]


@pytest.mark.parametrize("row", LATE, ids=ids(LATE))
def test_later_rows_are_refused_on_2xx(row):
    """An intrinsic that came with the third generation does not exist on MLU270."""
    fault = refused(row, lambda s: None, board="MLU270-S4")

    check_teaches(fault, row)
    assert isinstance(fault, Unsupported)


EARLY = [row for row in DENSE_ROWS if row.available(270) and row.aligned]


@pytest.mark.parametrize("row", EARLY, ids=ids(EARLY))
def test_2xx_wants_aligned_operands(row):
    """Addresses of 64 bytes and multiples of 128 bytes, on MLU2xx only."""
    case = next(c for c in dtype_cases(row) if all(c[o.name] in o.dtypes_2xx for o in row.operands.values()))
    counts = {"elem_count": 1024, "src_elem_num": 1024, "seg_elem_num": 512, "height": 2, "width": 512}
    if row.name == "bang_transpose":
        counts = {"height": 128, "width": 128}
    elif "n" in counts_of(row):
        counts = {"n": 64 if "filter" in row.name else 1, "width": 2, "channel": 128}
    elif "channel" in counts_of(row):
        counts = {"height": 5, "width": 5, "channel": 128}
    legal = {name: counts.get(name, 1 if "n" in counts else COUNTS.get(name, 0)) for name in counts_of(row)}
    aligned = next(o for o in row.operands.values() if o.name in row.aligned)

    def run(mlu, heap, move, name, count):
        sample = Sample(mlu, row, case, heap, counts=legal, room=16384)
        if move:
            sample.arguments[aligned.name] = sample.pointer(aligned.name) + move
        if name:
            sample.arguments[name] = count
        try:
            sample.call()
        except Fault as fault:
            return fault
        return None

    assert on_core(lambda m, h: run(m, h, 0, None, 0), board="MLU270-S4") is None
    moved = on_core(lambda m, h: run(m, h, 1, None, 0), board="MLU270-S4")

    check_teaches(moved, row)
    assert "64" in moved.legal
    assert on_core(lambda m, h: run(m, h, 1, None, 0), board=board_of(row)) is None
    lengths = {"elem_count", "src_elem_num", "size", "width", "channel"} & set(legal)
    shorter = [on_core(lambda m, h, n=n: run(m, h, 0, n, legal[n] - 1), board="MLU270-S4") for n in lengths]
    faults = [fault for fault in shorter if fault is not None]

    assert faults
    for fault in faults:
        check_teaches(fault, row)
        assert "multiple" in f"{fault.message} {fault.legal}"


def test_bfloat16_and_integers_came_with_the_third_generation():
    """On MLU270 an addition takes half and float only."""
    row = ISA["bang_add"]
    for case in dtype_cases(row):
        taken = case["dst"].name in ("half", "float")

        def run(mlu, heap, case=case):
            try:
                Sample(mlu, row, case, heap).call()
            except WrongSpace as fault:
                return fault.legal
            return None

        assert (None if taken else "half, float") == on_core(run, board="MLU270-S4")


def test_a_memory_core_has_no_vector_unit():
    """On the memory core every row that needs NRAM says so."""

    def body(mlu, _):
        if mlu.is_mpu():
            mlu.bang_add(None, None, None, 1)

    with pytest.raises(Unsupported, match="a memory core has no vector") as caught:
        mlusim.Device("MLU370-X4").launch(body, dim=4, kind=mlusim.UNION1, args=(0,))

    assert caught.value.file.endswith(HERE)
    assert SRAM.name in caught.value.legal
