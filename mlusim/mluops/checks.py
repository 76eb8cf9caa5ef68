"""Checks of helpers' operands, before the first instruction, with messages in the helper's terms."""

import operator
from typing import Any

from attrs import frozen

from mlusim.arch.dtypes import DType, float32, half, is_number
from mlusim.counted import plural
from mlusim.engine.refuse import foreign, no_pointer
from mlusim.errors import Fault, RuleFault, WrongSpace
from mlusim.machine.mlu import Mlu
from mlusim.memory.pointer import Ptr, bounds_fault
from mlusim.memory.space import NRAM, Space

FLOATING = (half, float32)
ORDER = "addition, is_high_precision and n are the last operands, in this order"


@frozen
class OperandSpan:
    """An operand, and the number of bytes that a helper accesses."""

    name: str
    pointer: Ptr
    nbytes: int


@frozen
class Helper:
    """A helper, by its vendor spelling; its methods check operands and raise faults with its name."""

    spelling: str

    def blame(self, mlu: Mlu, fault: Fault) -> Fault:
        """Return *fault* with the helper's name and the kernel's file and line."""
        fault.intrinsic = self.spelling
        return mlu.core.blame(fault)

    def refuse(self, mlu: Mlu, kind: type[Fault], message: str, **facts: Any) -> Fault:
        """Return a fault of class *kind* with the helper's name and the kernel's location."""
        return self.blame(mlu, kind(message, **facts))

    def count(self, mlu: Mlu, name: str, value: Any, least: int = 1) -> int:
        """Return *value* as a Python integer; raise the fault if it is not one, or is less than *least*."""
        try:
            # Not int(): 3.0 or "3" is a mistake in the kernel, and C would not accept it either.
            number = operator.index(value)
        except TypeError:
            said, cure = f"{name} = {value!r:.80} is not an integer", "divide with `//` or cdiv"
            raise self.refuse(mlu, RuleFault, said, operand=name, hint=cure) from None
        if number < least:
            hint = f"guard the call with `if {name} > 0`" if least == 1 and number == 0 else None
            said, wanted = f"{name} = {number} is too small", f"{least} or more"
            raise self.refuse(mlu, RuleFault, said, operand=name, legal=wanted, hint=hint)
        return number

    def flag(self, mlu: Mlu, name: str, value: object) -> bool:
        """Return *value* as a C condition: any number; 0 is false."""
        if not is_number(value):
            said = f"{name} is {value!r:.80}"
            raise self.refuse(mlu, WrongSpace, said, operand=name, legal="True or False", hint=ORDER)
        return bool(value)

    def number(self, mlu: Mlu, name: str, value: object) -> Any:
        """Return *value*; raise the fault if it is not a single number."""
        if not is_number(value):
            raise self.refuse(mlu, WrongSpace, f"{name} is {value!r:.80}", operand=name, legal="a number")
        return value

    def span(
        self,
        mlu: Mlu,
        name: str,
        pointer: Any,
        nbytes: int,
        dtypes: tuple[DType, ...] = (),
        space: Space = NRAM,
        hint: str | None = None,
    ) -> OperandSpan:
        """Return the *nbytes* at *pointer*, which must point into *space* and have one of *dtypes* (empty: any type)."""
        fault: Fault | None
        if not isinstance(pointer, Ptr):
            fault = no_pointer(name, pointer, space)
            fault.hint = hint or fault.hint
        else:
            # Check the owner before the type: the bytes of another core are not accessible at all.
            fault = foreign(mlu, name, pointer) or _misplaced(name, pointer, dtypes, space)
        if fault is None:
            fault = bounds_fault(pointer.view, pointer.offset, nbytes)
            if fault is not None:
                fault.operand = name
                fault.message = f"{name} takes {nbytes} {plural(nbytes, 'byte')}; {fault.message}"
                fault.hint = hint or fault.hint
        if fault is not None:
            raise self.blame(mlu, fault)
        return OperandSpan(name, pointer, nbytes)

    def vectors(
        self, mlu: Mlu, count: int, dtypes: tuple[DType, ...] = FLOATING, **pointers: object
    ) -> list[OperandSpan]:
        """Return the spans of operands in NRAM with *count* elements each, all of one type."""
        spans = [
            self.span(mlu, name, p, count * p.dtype.size if isinstance(p, Ptr) else 0, dtypes)
            for name, p in pointers.items()
        ]
        first, *others = spans
        for other in others:
            if other.pointer.dtype is not first.pointer.dtype:
                said = f"{other.name} is {other.pointer.dtype} and {first.name} is {first.pointer.dtype}"
                legal, hint = "one element type for all operands", "convert the data first"
                raise self.refuse(mlu, WrongSpace, said, operand=other.name, legal=legal, hint=hint)
        return spans

    def scratch(self, mlu: Mlu, name: str, pointer: object, count: int, *users: OperandSpan) -> Ptr:
        """Return *pointer*, of any type, as a buffer for *count* floats that does not overlap *users*."""
        hint = f"half goes through float: give {name} room for {count} floats, twice the bytes of the data"
        room = self.span(mlu, name, pointer, 4 * count, hint=hint)
        for user in users:
            self.apart(mlu, room, user, "it is overwritten before that is read for the last time")
        return room.pointer.cast(float32)

    def apart(self, mlu: Mlu, first: OperandSpan, second: OperandSpan, why: str) -> None:
        """Raise the fault if two operands share bytes; *why* says what would go wrong."""
        low = max(first.pointer.address, second.pointer.address)
        shared = min(first.pointer.address + first.nbytes, second.pointer.address + second.nbytes) - low
        # Addresses are comparable only within one memory.
        if shared > 0 and first.pointer.space is second.pointer.space:
            raise self.refuse(
                mlu,
                RuleFault,
                f"{first.name} overlaps {second.name} by {shared} {plural(shared, 'byte')}",
                operand=first.name,
                address=low,
                space=first.pointer.space.name,
                legal=f"{first.name} apart from {second.name}",
                hint=why,
            )


def _misplaced(name: str, pointer: Ptr, dtypes: tuple[DType, ...], space: Space) -> Fault | None:
    if pointer.space is not space:
        return WrongSpace(
            f"{name} points into {pointer.space}",
            operand=name,
            space=pointer.space.name,
            legal=str(space),
            hint="copy it there with mlu.memcpy first" if space is NRAM else None,
        )
    if dtypes and pointer.dtype not in dtypes:
        return WrongSpace(
            f"{name} is {pointer.dtype}",
            operand=name,
            legal=", ".join(d.name for d in dtypes),
            hint="cast the pointer, or convert the data",
        )
    return None
