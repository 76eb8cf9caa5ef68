"""Does every row tell the truth?  What it reads, what it writes, how its lanes depend on each other."""

from functools import partial

import numpy as np
import pytest
from isa_rows import (
    DENSE_ROWS,
    MEMORY_ROWS,
    Sample,
    board_of,
    counts_of,
    dtype_cases,
    ids,
    is_lanewise,
    large,
    on_core,
)

from mlusim.arch.catalog import find_board
from mlusim.engine.issue import source_of
from mlusim.engine.refuse import extent
from mlusim.engine.strides import access_of
from mlusim.formula.parse import names_in
from mlusim.isa.declare import Tile, intrinsic
from mlusim.isa.table import ISA, find_intrinsic

POISONS = (0x00, 0xFF, 0xA5)
LANE = 5


def touched(sample, operand):
    """Which bytes of an operand's allocation the row says that it touches."""
    pointer = sample.pointer(operand.name)
    mask = np.zeros(pointer.view.raw.size, bool)
    if operand.partial:
        mask[: extent(operand, sample.arguments) * pointer.view.itemsize] = True
        return mask
    if sample.row.form == "strided":
        access = access_of(operand, sample.arguments)
        mask[np.add.outer(access.starts, np.arange(access.size))] = True
        return mask
    step = operand.step_on(sample.mlu.core.machine.board.arch.generation, pointer.view.itemsize)
    mask.reshape(-1, pointer.view.itemsize)[: extent(operand, sample.arguments) : step] = True
    return mask


def outcome(mlu, heap, *, row, case, poison, either_as_value):
    """Run a sample with all undeclared memory poisoned; give the written bytes and check the rest."""
    sample = Sample(mlu, row, case, heap, poison=poison, either_as_value=either_as_value)
    before = {o.name: sample.bytes_of(o.name) for o in row.operands.values() if sample.pointer(o.name)}
    result = sample.call()
    written = {}
    for operand in row.operands.values():
        if sample.pointer(operand.name) is None:
            continue
        after = sample.bytes_of(operand.name)
        mask = touched(sample, operand) & (operand.access != "read")

        assert np.array_equal(before[operand.name][~mask], after[~mask]), operand.name

        if operand.partial:
            mask &= after != poison
        written[operand.name] = after[mask].tobytes()
    return written, result


def outcomes(given, mlu, heap):
    """The outcome under each poison, in one launch."""
    return [outcome(mlu, heap, poison=p, **given) for p in POISONS]


def check_footprint(row):
    """Fail unless the result is independent of undeclared bytes and no undeclared byte changes."""
    forms = {p.kind == "either" for p in row.parameters} | {False}
    for case in dtype_cases(row):
        for either_as_value in forms:
            given = {"row": row, "case": case, "either_as_value": either_as_value}
            if large(counts_of(row)):  # three samples of these would not fit
                seen = [on_core(partial(outcome, poison=p, **given), board=board_of(row)) for p in POISONS]
            else:
                seen = on_core(partial(outcomes, given), board=board_of(row))

            assert repr(seen[0][1]) == repr(seen[1][1]) == repr(seen[2][1])
            if not any(o.partial for o in row.operands.values()):
                assert seen[0][0] == seen[1][0] == seen[2][0]


def check_sources(row):
    """Fail unless the row works on sources that NumPy protects from writing."""

    def run(mlu, heap):
        sample = Sample(mlu, row, dtype_cases(row)[0], heap)
        for operand in row.operands.values():
            if operand.access == "read" and sample.pointer(operand.name):
                sample.pointer(operand.name).view.array.flags.writeable = False
        sample.call()
        return True

    assert on_core(run, board=board_of(row))


def check_lanes(row):
    """Fail unless a change of one source element leaves all other elements of the destination alone."""
    sources = [o for o in row.operands.values() if o.access != "write"]
    few = range(0, len(sources), 2)  # what a core's memory holds
    for case in dtype_cases(row):
        for some in (sources[n : n + 2] for n in few):
            moved = on_core(
                lambda mlu, heap, case=case, some=some: [
                    moved_lanes(mlu, heap, row, case, o.name) for o in some
                ],
                board=board_of(row),
            )

            assert all(lanes <= {LANE} for lanes in moved), [o.name for o in some]


def moved_lanes(mlu, heap, row, case, source):
    """The elements of the destinations that change with element LANE of *source*."""
    moved, after = set(), []
    targets = [o.name for o in row.operands.values() if o.access != "read"]
    for change in (0, 7):
        sample = Sample(mlu, row, case, heap)
        sample.pointer(source).view.array[LANE] += change
        sample.call()
        after.append({t: sample.pointer(t).view.array[:128].copy() for t in targets})
    for target in targets:
        first, second = (a[target].view(f"u{a[target].itemsize}") for a in after)
        moved |= set(np.flatnonzero(first != second).tolist())
    return moved


@pytest.mark.parametrize("row", MEMORY_ROWS, ids=ids(MEMORY_ROWS))
def test_a_row_touches_what_it_declares_and_nothing_else(row):
    """The result does not depend on undeclared bytes, and no undeclared byte changes."""
    check_footprint(row)


@pytest.mark.parametrize("row", MEMORY_ROWS, ids=ids(MEMORY_ROWS))
def test_a_row_does_not_write_its_sources(row):
    """It works on sources that NumPy protects from writing."""
    check_sources(row)


LANEWISE_ROWS = tuple(r for r in DENSE_ROWS if is_lanewise(r))


@pytest.mark.parametrize("row", LANEWISE_ROWS, ids=ids(LANEWISE_ROWS))
def test_a_lanewise_row_keeps_its_lanes_apart(row):
    """A change of one source element changes no other element of the destination."""
    check_lanes(row)


def liar(body):
    """A made-up row that says that it copies elem_count elements lane by lane."""
    return intrinsic(
        "__bang_liar",
        writes={"dst": "elem_count"},
        reads={"src": "elem_count"},
        source="vendor declaration header",
    )(body)


@liar
def writes_a_source(dst: Tile, src: Tile, elem_count: int) -> None:
    """Write a source."""
    dst[...] = src
    src[0] = 0


@liar
def reads_its_destination(dst: Tile, src: Tile, elem_count: int) -> None:
    """Read what was never written."""
    np.add(dst, src, out=dst)


@liar
def leaves_declared_bytes(dst: Tile, src: Tile, elem_count: int) -> None:
    """Leave the last element unwritten."""
    dst[:-1] = src[:-1]


@liar
def reaches_beyond(dst: Tile, src: Tile, elem_count: int) -> None:
    """Write an element more than declared."""
    np.frombuffer(dst.base, dst.dtype)[: elem_count + 1] = src[0]


@liar
def shifts(dst: Tile, src: Tile, elem_count: int) -> None:
    """Say lanewise and shift."""
    dst[...] = np.roll(src, 1)


@pytest.mark.parametrize(
    ("check", "row", "error"),
    [
        (check_sources, writes_a_source, "read-only"),
        (check_footprint, reads_its_destination, "assert"),
        (check_footprint, leaves_declared_bytes, "assert"),
        (check_footprint, reaches_beyond, "dst"),
        (check_lanes, shifts, "src"),
    ],
    ids=["writes a source", "reads its destination", "leaves bytes", "reaches beyond", "shifts"],
)
def test_a_planted_liar_is_caught(check, row, error):
    """Each check fails for the lie that it is there to find."""
    with pytest.raises((AssertionError, ValueError), match=error):
        check(row)


def test_every_row_is_documented():
    """A formula or a sentence, a mark of certainty and a source; its text is whole."""
    for row in ISA.values():
        assert row.doc[0].isupper() or row.doc.startswith("Whether"), row.name
        assert row.summary.endswith((".", ":")), row.name
        assert row.certainty in ("C", "D", "I", "U"), row.name
        assert row.source.startswith(("vendor ", "develop guide", "public kernels")), row.name
        assert row.spelling.startswith("__"), row.name
        if row.certainty == "U":
            assert "unknown" in row.doc or "default chosen" in row.doc, row.name


def test_every_row_on_memory_gives_its_formula():
    """The documentation holds a formula in code."""
    assert [] == [row.name for row in MEMORY_ROWS if "``" not in row.doc]


def test_every_row_is_consistent():
    """Operands are parameters, extents are made of counts, scalars have an operand to take the type of."""
    for row in ISA.values():
        names = {p.name for p in row.parameters}
        counts = {p.name for p in row.parameters if p.kind == "count"}

        assert set(row.operands) <= names, row.name
        for operand in row.operands.values():
            words = set(names_in(operand.extent))

            assert words <= counts, row.name
            assert operand.dtypes, row.name
            assert operand.access in ("read", "write", "update"), row.name
            assert set(operand.dtypes_2xx) <= set(operand.dtypes), row.name
        assert set(row.void) <= set(row.operands), row.name
        assert set(row.overlap) <= set(row.operands), row.name
        assert row.cost is None or row.cost.operand in row.operands, row.name


def test_every_row_is_found_by_either_spelling():
    """The table is keyed by the spelling of Python; the vendor's finds the same row."""
    for name, row in ISA.items():
        assert find_intrinsic(name) is row
        assert find_intrinsic(row.spelling) is row


def test_the_door_has_straight_line_code_for_every_dense_row():
    """The generated method of a dense row has no loop."""
    arch = find_board("MLU590-H8").arch
    for row in DENSE_ROWS:
        text = source_of(row, arch)

        assert " for " not in text
        assert text.startswith(f"def {row.name}(mlu")
