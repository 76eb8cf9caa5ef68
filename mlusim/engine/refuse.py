"""Faults of refused instructions: turns a failed check into a message, off the fast path.

The formulas of a row are evaluated for the arguments of a call here, or rendered into code that evaluates
them.
"""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.dtypes import DTYPES, DType, as_dtype, float32, int32, is_number
from mlusim.counted import plural
from mlusim.errors import Fault, RuleFault, Unsupported, UsageError, WrongSpace
from mlusim.formula.expr import Expr, Fact, SizeOf, symbol
from mlusim.formula.render import to_python
from mlusim.isa.declare import READ_FIRST, Intrinsic, Operand, Refused, not_in_memory
from mlusim.memory.pointer import Ptr, View, bounds_fault
from mlusim.memory.space import LDRAM, Space

if TYPE_CHECKING:
    from mlusim.engine.contract import IssuingMlu


def environment(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the names that formulas of a row may use in a call, with their values: *arguments*, and facts about the operands."""
    scope: dict[str, Any] = {}
    for name, value in arguments.items():
        pointer = isinstance(value, Ptr)
        scope[f"pointer_{name}"] = pointer
        if pointer:
            view = value.view
            scope[f"sizeof_{name}"], scope[f"phase_{name}"] = view.itemsize, view.phase
            scope[f"kind_{name}"] = view.dtype.kind
        else:
            scope[name] = value
    return scope


def value(formula: Expr, arguments: Mapping[str, Any]) -> Any:
    """Return the value of *formula* in a call with *arguments*."""
    return formula.evaluate(environment(arguments))


def extent(operand: Operand, arguments: Mapping[str, Any]) -> int:
    """Return the number of elements of *operand* in a call with *arguments*."""
    scope = environment(arguments)
    scope["sizeof_T"] = arguments[operand.name].view.itemsize
    return operand.extent.evaluate(scope)


def in_code(formula: Expr, names: Mapping[str, str]) -> str:
    """Return the source of *formula*; *names* gives the code of some leaves, the others keep their names."""
    return to_python(formula, lambda leaf: names.get(symbol(leaf), symbol(leaf)))


def asked_of_arguments(rule: Expr) -> str:
    """Return the source of *rule*, for code in which the arguments have their own names."""
    return to_python(rule, _argument)


def _argument(leaf: Expr) -> str:
    if isinstance(leaf, SizeOf):
        return f"{leaf.type.name}.view.itemsize"
    if isinstance(leaf, Fact):
        how = {"phase": ".view.phase", "kind": ".view.dtype.kind", "pointer": ".__class__ is Ptr"}
        return leaf.operand + how[leaf.what]
    return symbol(leaf)


def refuse(mlu: "IssuingMlu", row: Intrinsic, arguments: Mapping[str, Any]) -> Fault:
    """Return the fault of a call of *row* with *arguments* that failed some check."""
    fault = _diagnose(mlu, row, arguments)
    fault.intrinsic = row.spelling
    return mlu.core.blame(fault)


def refuse_here(mlu: "IssuingMlu", row: Intrinsic, fault: Fault) -> Fault:
    """Complete *fault* with the instruction and the place."""
    fault.intrinsic = row.spelling
    return mlu.core.blame(fault)


def unsupported(mlu: "IssuingMlu", row: Intrinsic) -> Fault:
    """Return the fault of an intrinsic that the architecture or a memory core does not have."""
    arch = mlu.core.machine.board.arch
    if mlu.core.place.memory_core and not row.memory_core:
        fault = Unsupported(
            "a memory core has no vector or tensor unit and no NRAM",
            legal="copies between GDRAM, SRAM and LDRAM, scalar code and barriers",
            hint="leave it to the IPU cores: `if mlu.is_mpu(): return`",
        )
    else:
        excluded = f", not {', '.join(map(str, row.not_on))}" if row.not_on else ""
        fault = Unsupported(
            f"{arch.name} does not have it",
            legal=f"architectures from __BANG_ARCH__ {row.since} on{excluded}",
            hint="use reciprocal and multiply" if "div" in row.spelling else "guard it by BANG_ARCH",
        )
    return refuse_here(mlu, row, fault)


def count_of(mlu: "IssuingMlu", row: Intrinsic, name: str, value: Any) -> int:
    """Return *value* as a Python integer; raises a fault if it is not an integer."""
    try:
        return value.__index__()  # type: ignore[no-any-return]
    except (AttributeError, TypeError):
        raise refuse_here(
            mlu,
            row,
            RuleFault(f"{name} = {value!r} is not an integer", operand=name, hint="divide with `//` or cdiv"),
        ) from None


def refuse_body(mlu: "IssuingMlu", row: Intrinsic, refused: Refused, arguments: Mapping[str, Any]) -> Fault:
    """Return the fault of a call that the body of *row* refused because of its data."""
    fault: Fault = RuleFault(str(refused), operand=refused.operand, legal=refused.legal)
    if refused.needs is not None and refused.operand is not None:
        pointer = arguments[refused.operand]
        beyond = bounds_fault(pointer.view, pointer.offset, refused.needs * pointer.view.itemsize)
        if beyond is not None:
            beyond.operand = refused.operand
            beyond.message = f"{refused}; {beyond.message}"
            fault = beyond
    return refuse_here(mlu, row, fault)


def no_pointer(name: str, value: object, space: object) -> Fault:
    """Return the fault of an operand that is not a pointer although it should point into *space*."""
    # Tested by attributes, because `Tensor` and variables of C belong to a higher layer.
    tensor = hasattr(value, "allocation") and hasattr(value, "device")
    hint = "a tensor becomes a pointer when it is an argument of the launch" if tensor else None
    what, instead = not_in_memory(value)
    return WrongSpace(
        f"{name} is {what}", operand=name, legal=f"a pointer into {space}", hint=instead or hint
    )


def forgotten(view: View, space: Space) -> str | None:
    """Return how to declare in *space* a variable of BANG C that lies in LDRAM; None for other memory or without a name."""
    declared = view.allocation.declared
    if declared.name is None or declared.space != LDRAM:
        return None
    word = "__mlu_shared__" if space.name == "SRAM" else f"__{space.name.lower()}__"
    name, dtype = declared.name, declared.dtype.c
    if declared.count == 1:
        return f"{name} is one {dtype} in LDRAM; give an array, declared as `{word} {dtype} {name}[N]`"
    if declared.stack:
        told = f"{dtype} {name}[{declared.count}]"
        return f"declare it `{word} {told}`: a local array that names no memory lies on the task's stack, in LDRAM"
    return f"{name} lies in LDRAM, as local variables do; declare it `{word}` if {space.name} is meant"


def foreign(mlu: "IssuingMlu", name: str, pointer: Ptr) -> Fault | None:
    """Return the fault of a pointer that does not belong to this core, but to another core, another launch or the host."""
    view, port = pointer.view, pointer.view.port
    if port is mlu.core:
        return None
    if port is not None and (view.nbytes < 0 or not view.allocation.live):
        return bounds_fault(view, pointer.offset, 1)
    owner = "the host" if port is None else f"{port.place.label}, not of {mlu.core.place.label}"
    if port is not None and port.machine is not mlu.core.machine:
        owner = "another launch"
    return WrongSpace(
        f"{name} is a pointer of {owner}, into {view.allocation.site}",
        operand=name,
        address=pointer.address,
        space=view.space.name,
        legal="what this task was passed or declares itself",
        hint="pass tensors as arguments of the launch; let every task declare its own memory",
    )


MOST_READ_FIRST = max(READ_FIRST.values())  # only one architecture is listed


def _allowed(how: str, first: int, last: int, low: int, high: int) -> bool:
    """Return whether the row allows a destination [*first*, *last*) over a source [*low*, *high*)."""
    # Decision 0003 lists the ways to overlap, with the vendor's kernels that rely on each.
    if how == "tail":
        return first < low and last <= high
    if how == "piece":
        return low <= first and last <= high and (first - low) % (last - first) == 0
    if how == "early" and (first <= low or last - first <= MOST_READ_FIRST):
        return True
    return first == low and (how in ("exact", "early") or (how == "whole" and last == high))


LEGAL: Mapping[str, str] = {
    "exact": "exactly at {} or ",
    "whole": "exactly at {} and as long, or ",
    "tail": "in front of {} and ending with it or before, or ",
    "piece": "exactly at {} or at a piece of it as long as itself, or ",
    "early": f"at {{}} or in front of it, or no longer than {MOST_READ_FIRST} bytes, or ",
    "disjoint": "",
}


def overlap(first: View, i: int, j: int, second: View, k: int, m: int, how: str) -> bool:
    """Return whether elements [i, j) of a destination and [k, m) of a source overlap in a way that the row does not allow."""
    a, b = first.phase + i * first.itemsize, first.phase + j * first.itemsize
    c, d = second.phase + k * second.itemsize, second.phase + m * second.itemsize
    return a < d and c < b and not _allowed(how, a, b, c, d)


# -- scalar operands -------------------------------------------------------------------------------

C_TYPES: Mapping[type, DType] = {d.dtype.type: d for d in DTYPES}  # by NumPy class of a scalar


def constant(mlu: "IssuingMlu", row: Intrinsic, name: str, view: View, value: object) -> Any:
    """Return *value* as an element of *view*, converted as in C; raises a fault if it is not a number."""
    try:
        if value.__class__ is int or isinstance(value, (int, float, np.generic)):
            return view.dtype(value)
    except (TypeError, ValueError, OverflowError, UsageError):
        pass
    raise refuse_here(
        mlu,
        row,
        WrongSpace(
            f"{name} is {value!r}",
            operand=name,
            legal=f"a number that {view.dtype} can hold",
            hint="load it with [0] if the first element is meant" if isinstance(value, Ptr) else None,
        ),
    )


def typed(mlu: "IssuingMlu", row: Intrinsic, name: str, value: Any) -> tuple[Any, DType]:
    """Return a scalar whose own type selects the instruction, and its element type."""
    if isinstance(value, int):
        # A Python int stands for an int of C, and wraps like one.
        return (value if -(1 << 31) <= value < 1 << 31 else int32(value)), int32
    if is_number(value) and not isinstance(value, float):  # a Python float could be half or float
        try:
            return value[()], as_dtype(value.dtype)
        except UsageError:
            pass
    raise refuse_here(
        mlu,
        row,
        RuleFault(
            f"{name} = {value!r} has no C type, and the type decides how wide the elements are",
            operand=name,
            legal=f"a typed scalar, as {float32.name}32(0.5) or half(0.5), or an int",
        ),
    )


# -- the message of a failed check -----------------------------------------------------------------


def _diagnose(mlu: "IssuingMlu", row: Intrinsic, arguments: Mapping[str, Any]) -> Fault:
    arch = mlu.core.machine.board.arch
    numbers = {p.name for p in row.parameters if p.kind == "either"}
    return (
        check_operands(mlu, row, arguments, numbers)
        or check_rules(row, arguments, arch.generation)
        or _check_ranges(row, arguments, arch.bang_arch)
        or _check_alignment(row, arguments, arch.generation)
        # An error in mlusim: a check failed although every rule is satisfied.
        or Fault(f"an operand was refused although each rule of {row.name} holds", hint="please report this")
    )


def check_operands(
    mlu: "IssuingMlu", row: Intrinsic, arguments: Mapping[str, Any], numbers: Collection[str] = ()
) -> Fault | None:
    """Return the fault of an operand that is not a pointer of this core or has the wrong kind; those in *numbers* may be scalars."""
    first: View | None = None
    for operand in row.operands.values():
        pointer = arguments[operand.name]
        if isinstance(pointer, Ptr):
            generation = mlu.core.machine.board.arch.generation
            fault = foreign(mlu, operand.name, pointer)
            fault = fault or _check_kind(row, operand, pointer.view, first, generation)
            if fault is not None:
                return fault
            if operand.name in row.same:
                first = first or pointer.view
        elif operand.name not in numbers:
            return no_pointer(operand.name, pointer, _spaces(operand))
    return None


def _spaces(operand: Operand) -> str:
    """Return the memories that *operand* may point into, in words."""
    return " or ".join(space.name for space in operand.spaces)


_BROUGHT: Mapping[str, str] = {
    "read": "copy it there with mlu.memcpy first",
    "write": "write it there, and copy it on with mlu.memcpy",
    "update": "copy it there with mlu.memcpy first, and back after",
}


def _check_kind(
    row: Intrinsic, operand: Operand, view: View, first: View | None, generation: int
) -> Fault | None:
    """Return the fault of an operand in the wrong memory or of the wrong type; *first* gives the common type."""
    name = operand.name
    if view.space not in operand.spaces:
        return WrongSpace(
            f"{name} points into {view.space}",
            operand=name,
            space=view.space.name,
            legal=_spaces(operand),
            hint=forgotten(view, operand.spaces[0]) or _BROUGHT[operand.access],
        )
    if view.dtype not in operand.dtypes_on(generation):
        return WrongSpace(
            f"{name} is {view.dtype}",
            operand=name,
            legal=", ".join(d.name for d in operand.dtypes_on(generation)),
            hint="cast the pointer, or convert the data",
        )
    if name in row.same and first is not None and view.dtype is not first.dtype:
        return WrongSpace(
            f"{name} is {view.dtype} and {row.same[0]} is {first.dtype}",
            operand=name,
            legal="one element type for all operands",
            hint="convert the data first, or cast the pointer if the bytes are what you mean",
        )
    return None


def _check_ranges(row: Intrinsic, arguments: Mapping[str, Any], bang_arch: int) -> Fault | None:
    spans = {}
    for operand in row.operands.values():
        pointer = arguments[operand.name]
        if not isinstance(pointer, Ptr):
            continue
        count = extent(operand, arguments)
        if count <= 0:
            return RuleFault(
                f"{operand.name} has {to_python(operand.extent)} = {count} {plural(count, 'element')}",
                operand=operand.name,
                legal="1 or more",
                hint="guard the call with `if n > 0`",
            )
        if operand.partial:
            # The data decide how many elements are written; one must fit in any case.
            count = max(1, min(count, pointer.view.size - pointer.index))
        fault: Fault | None = bounds_fault(pointer.view, pointer.offset, count * pointer.view.itemsize)
        if fault is None and operand.access != "read" and not pointer.view.allocation.writable:
            fault = pointer.view.allocation.const_fault()
        if fault is not None:
            fault.operand = operand.name
            fault.hint = _of_bytes(operand, pointer, count) or fault.hint
            fault.message = f"{operand.name} takes {to_python(operand.extent)} = {count} {plural(count, 'element')}; {fault.message}"
            return fault
        spans[operand.name] = (pointer, pointer.address, pointer.address + count * pointer.view.itemsize)
    return _check_overlap(row, spans, bang_arch)


def _of_bytes(operand: Operand, pointer: Ptr, count: int) -> str | None:
    """Return a hint if *count* looks like a size in bytes: *count* elements do not fit, but *count* bytes would."""
    meant, rest = divmod(count, pointer.view.itemsize)
    left = pointer.view.size - pointer.index
    # The count may fit the whole array, but not behind the pointer.
    if rest or meant == count or not 0 < meant <= left or count <= pointer.view.size:
        return None
    return (
        f"{to_python(operand.extent)} counts elements, and {count} {plural(count, 'byte')} of {pointer.dtype} are {meant}: leave "
        "sizeof out if that is meant"
    )


def _check_overlap(row: Intrinsic, spans: Mapping[str, tuple[Ptr, int, int]], bang_arch: int) -> Fault | None:
    targets = [o.name for o in row.operands.values() if o.access != "read" and o.name in spans]
    for source in row.overlap:
        how = row.overlap_on(source, bang_arch)
        if source not in spans or how == "free":
            continue
        _, low, high = spans[source]
        for target in targets:
            _, first, last = spans[target]
            shared = min(high, last) - max(low, first)
            if shared > 0 and not _allowed(how, first, last, low, high):
                return RuleFault(
                    f"{target} overlaps {source} by {shared} {plural(shared, 'byte')}",
                    operand=target,
                    address=max(low, first),
                    legal=f"{target} {LEGAL[how].format(source)}apart from {source}",
                    hint="move one of them; check the region sizes in front of it",
                )
    return None


def check_rules(row: Intrinsic, arguments: Mapping[str, Any], generation: int) -> Fault | None:
    """Return the fault of the first rule of *row* that is not satisfied."""
    scope = environment(arguments)
    for rule in row.rules:
        if rule.generations and generation not in rule.generations:
            continue
        if rule.fails.evaluate(scope):
            return RuleFault(rule.sentence.format(**arguments), legal=rule.legal)
    return None


def _check_alignment(row: Intrinsic, arguments: Mapping[str, Any], generation: int) -> Fault | None:
    for operand in row.operands.values():
        pointer = arguments[operand.name]
        if generation != 2 or operand.name not in row.aligned or not isinstance(pointer, Ptr):
            continue
        count = extent(operand, arguments)
        if operand.partial:  # as far as its memory reaches
            count = min(count, pointer.view.size - pointer.index)
        nbytes = count * pointer.view.itemsize
        if pointer.address % 64 or nbytes % 128:
            return RuleFault(
                f"{operand.name} has {nbytes} {plural(nbytes, 'byte')} at {pointer.address:#x}",
                operand=operand.name,
                address=pointer.address,
                legal="on MLU2xx an address that is a multiple of 64 and a multiple of 128 bytes",
                hint="pad the count with PAD_UP and the buffer with it",
            )
    return None
