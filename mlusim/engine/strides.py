"""The strided forms of rows: operands that repeat at distances in bytes; also fills and atomics that land later.

They are rarer than the dense forms, so a function interprets the row instead of generated code. Checks,
announcements and charges are the same.
"""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.counted import plural
from mlusim.engine import refuse
from mlusim.engine.contract import Flight, IssuingMlu
from mlusim.errors import Fault, RuleFault
from mlusim.formula.render import to_python
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.time.copy_costs import LINE
from mlusim.time.quantities import ATOMICS, CROWDED
from mlusim.time.work import charge, charge_flight, crowded, load_of

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic, Operand

IN_PLACE = ("exact", "whole")  # the ways to overlap that a strided form may use
MOST = 65535  # iterations beyond the first; documented for the copies, inferred for the other rows


def strided(mlu: IssuingMlu, row: "Intrinsic", number: int, arguments: Mapping[str, Any]) -> None:
    """Execute the strided form of *row*; raises faults of operands and of strides."""
    fault = _check(mlu, row, arguments)
    if fault is not None:
        raise refuse.refuse_here(mlu, row, fault)
    operands = [o for o in row.operands.values() if o.name not in scalars_of(row, arguments)]
    accesses = {o.name: access_of(o, arguments) for o in operands}
    values = [_given(mlu, row, p.name, arguments, accesses.get(p.name)) for p in row.given]
    act = functools.partial(row.body, *values)
    reads = tuple(accesses[o.name] for o in operands if o.access != "write")
    writes = tuple(accesses[o.name] for o in operands if o.access != "read")
    core, watch = mlu.core, mlu.watch
    load = load_of(row.pipe, reads[0] if reads else None, writes[0])
    if row.form == "async":
        seen = (
            None if watch is None else watch.flight(row, row.pipe, reads, writes, tuple(arguments.values()))
        )
        core.fly(Flight(row.pipe, act, seen), load)
        charge_flight(mlu.work, row.pipe, writes[0].nbytes)
    else:
        if core.pending and row.pipe in (Pipe.IO, Pipe.MOVE):
            core.settle(row.pipe)
        before = values[0].tobytes() if row.atomic else b""  # the destination is always the first operand
        seen = None if watch is None else watch.copy(row, row.pipe, reads, writes, tuple(arguments.values()))
        act()
        if seen is not None:
            watch.retire(seen)
        charge(mlu.work, row.pipe, load, writes[0].nbytes)
        if row.atomic:
            core.atomic_step(before == values[0].tobytes())
        if row.pipe is Pipe.VECTOR:
            mlu.lines[number] += load.lines
            mlu.spare[number] += load.lines * LINE - max(side.nbytes for side in (*reads, *writes))
    if row.atomic:
        mlu.work[ATOMICS] += values[0].size
        mlu.work[CROWDED] += crowded(writes[0].nbytes, writes[0].allocation.nbytes)
    mlu.counts[number] += 1


def scalars_of(row: "Intrinsic", arguments: Mapping[str, Any]) -> frozenset[str]:
    """Return the operands of *row* for which a scalar was passed."""
    either = (p.name for p in row.parameters if p.kind == "either")
    return frozenset(name for name in either if not isinstance(arguments[name], Ptr))


def _given(
    mlu: IssuingMlu, row: "Intrinsic", name: str, arguments: Mapping[str, Any], access: Access | None
) -> Any:
    """Return what the body of *row* receives for *name*: the elements of *access*, a scalar of their type, or the argument."""
    if access is not None:
        view = arguments[name].view
        counts = (*(count for _, count in access.steps), access.size // view.itemsize)
        strides = (*(stride for stride, _ in access.steps), view.itemsize)
        return np.ndarray(counts, view.dtype.dtype, view.raw, access.start, strides)
    if name not in row.operands:
        return arguments[name]
    return refuse.constant(mlu, row, name, arguments[next(iter(row.operands))].view, arguments[name])


def access_of(operand: "Operand", arguments: Mapping[str, Any]) -> Access:
    """Return the access of *operand* in a strided call."""
    pointer = arguments[operand.name]
    view = pointer.view
    scope = refuse.environment(arguments)
    with_strides = not any(arguments[name] is None for name in operand.stride_names)
    pairs = (
        (s.evaluate(scope), more.evaluate(scope)) for s, more in (operand.strides if with_strides else ())
    )
    steps = tuple((stride if more else 0, more + 1) for stride, more in pairs)  # a single one has stride 0
    size = refuse.extent(operand, arguments) * view.itemsize
    return Access(view.allocation, view.phase + pointer.index * view.itemsize, size, steps)


def _check(mlu: IssuingMlu, row: "Intrinsic", arguments: Mapping[str, Any]) -> Fault | None:
    names = [n for o in row.operands.values() for n in sorted(o.stride_names)]
    missing = [n for n in names if arguments[n] is None]
    # A dense call of a row that lands later also comes here.
    if missing and not (row.form == "async" and len(missing) == len(names)):
        return RuleFault(
            f"{missing[0]} is missing", operand=missing[0], legal="all strides and iterations, or none"
        )
    return (
        refuse.check_operands(mlu, row, arguments, scalars_of(row, arguments))
        or refuse.check_rules(row, arguments, mlu.core.machine.board.arch.generation)
        or _check_ranges(row, arguments)
    )


def _check_ranges(row: "Intrinsic", arguments: Mapping[str, Any]) -> Fault | None:
    numbers = scalars_of(row, arguments)
    for operand in row.operands.values():
        if operand.name in numbers:
            continue
        access, view = access_of(operand, arguments), arguments[operand.name].view
        for _, more in operand.strides if access.steps else ():
            if not 0 <= (repeated := refuse.value(more, arguments)) <= MOST:
                text = to_python(more)
                return RuleFault(f"{text} = {repeated} is out of range", operand=text, legal=f"0 to {MOST}")
        if access.size <= 0:
            return RuleFault(
                f"{operand.name} has {to_python(operand.extent)} = {access.size // view.itemsize} {plural(access.size // view.itemsize, 'element')}",
                operand=operand.name,
                legal="1 or more",
                hint="guard the call with `if n > 0`",
            )
        low, high = access.span
        fault: Fault | None = bounds_fault(view, access.start, high - low, low - access.start)
        if fault is not None:
            fault.operand = operand.name
            return fault
    for operand in (o for o in row.operands.values() if o.access != "read"):
        fault = _check_target(row, operand, access_of(operand, arguments), arguments)
        if fault is not None:
            fault.operand = operand.name
            return fault
    return None


def _check_target(
    row: "Intrinsic", operand: "Operand", access: Access, arguments: Mapping[str, Any]
) -> Fault | None:
    view = arguments[operand.name].view
    if not view.allocation.writable:
        fault: Fault = view.allocation.const_fault()
        return fault
    # An atomic adds piece after piece, and the vendor's attention kernels let pieces overlap.
    if not row.atomic and not access.apart:
        return RuleFault(
            f"the repetitions of {operand.name} overlap each other",
            legal=f"strides that put every repetition of {access.size} {plural(access.size, 'byte')} on bytes of its own",
        )
    numbers = scalars_of(row, arguments)
    for source in (o for o in row.operands.values() if o.name not in numbers):
        how = row.overlap.get(source.name, "free")
        taken = access_of(source, arguments)
        if how != "free" and access.meets(taken) and not (how in IN_PLACE and access.begins_with(taken)):
            exact = f"exactly at {source.name} or " if how in IN_PLACE else ""
            return RuleFault(
                f"{operand.name} overlaps {source.name}",
                legal=f"{operand.name} {exact}apart from {source.name}",
            )
    return None
