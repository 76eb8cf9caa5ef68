"""Display of C values: structs by their members, arrays by their elements, enumerations by their names."""

from collections.abc import Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.bangc import types as t
from mlusim.bangc.c_values import Enumerator, Letter, Truth, Typed
from mlusim.bangc.runtime.layouts import ArrayLayout, Object, PointerArray, StructPointer
from mlusim.bangc.runtime.pointers import Items, see
from mlusim.bangc.runtime.variables import Cell
from mlusim.counted import plural
from mlusim.debug.look.describe import WIDE, Parted, address_text, elements, pointer_text
from mlusim.debug.look.evaluate import Answer, c_scope
from mlusim.debug.look.paused_run import PausedRun
from mlusim.debug.source.frames import variables_of
from mlusim.errors import UsageError
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.bangc.c_scope import FrameNames


# The forms of numbers, as in ``print/x``.

FORM_LETTERS = ("x", "d", "u", "o", "t", "z", "a", "c", "f")
"""Hexadecimal, signed, unsigned, octal, binary, hexadecimal with leading zeros, an address, a character, a float."""


def in_form(value: Any, letter: str, bits: int = 0) -> str:
    """Return a number, a pointer's address or the elements of an array in the form *letter*.

    *bits* is the width of the number's type if the value does not have it.  Raises `UsageError` for a value without
    this form.
    """
    if isinstance(value, np.ndarray):
        return "{" + ", ".join(in_form(number, letter) for number in value.reshape(-1)) + "}"
    if isinstance(value, Ptr):
        value = value.address
    if not isinstance(value, int | float | np.generic):
        raise UsageError(f"print/{letter} takes numbers, pointers, arrays and structs, and this is {value!r}")
    if letter == "f":
        return f"{float(value):.9g}"
    if not np.isfinite(float(value)):
        return str(float(value))  # nan and inf cannot be converted to an integer
    whole = int(value)
    bits = 8 * value.dtype.itemsize if isinstance(value, np.generic) else bits or 32
    if letter == "d":
        return str(whole)
    if letter == "c":
        return f"{whole} {chr(whole)!r}" if 0 <= whole < 0x110000 else str(whole)
    if whole < 0:  # in two's complement, as in the machine
        whole %= 1 << max(bits, whole.bit_length() + 1)
    if letter == "z":
        return f"0x{whole:0{bits // 4}x}"
    return {"u": str(whole), "o": f"0{whole:o}", "t": f"{whole:#b}"}.get(letter, f"{whole:#x}")


SHOWN = 16  # elements of an array that are shown on one line
Enumerations = Mapping[str, Mapping[str, int]]


@frozen(eq=False)
class CValue(Parted):
    """A C value with parts: a struct, an array, or a pointer to a struct."""

    value: Any
    type: t.Type
    enumerations: Enumerations

    @property
    def kind(self) -> str:
        """The type, in the syntax of the source."""
        return str(self.type)

    @property
    def count(self) -> int:
        """The number of parts."""
        kind = self.type
        if isinstance(kind, t.Array):
            return kind.count
        return len(_fields(kind.to if isinstance(kind, t.Pointer) else kind))

    def parts(self, first: int = 0, stop: int | None = None) -> list[tuple[str, str, Any]]:
        """Return the members or elements: the name, the text that selects it in an expression (``.name``, ``[3]``), and the value.

        This does not count as a load of the kernel.
        """
        kind = self.type
        if isinstance(kind, t.Array):
            step, every = t.elements_in(kind.of), range(kind.count)[first:stop]
            pairs = ((n, self._part(_element(self.value, n * step, kind.of), kind.of)) for n in every)
            return [(f"[{n}]", f"[{n}]", part) for n, part in pairs]
        arrow = "->" if isinstance(kind, t.Pointer) else "."
        fields = _fields(kind.to if isinstance(kind, t.Pointer) else kind)[first:stop]
        return [(f.name, f"{arrow}{f.name}", self._part(_member(self.value, f), f.type)) for f in fields]

    def _part(self, value: Any, kind: t.Type) -> Any:
        return seen(value, kind, self.enumerations, whole=True)

    def text(self, paused: PausedRun | None = None, letter: str = "") -> str:
        """Return the value on one line, with numbers in the form *letter*; raises `UsageError` for a form that does not fit."""
        if isinstance(self.value, Ptr) and not letter:
            return pointer_text(self.value, paused, SHOWN, t.elements_in(self.type))
        return _braces(self, paused, letter)


def displayed(answer: Answer, *, whole: bool = False) -> Any:
    """Return the value of *answer* for display; with *whole* always all elements of an array; raises `UsageError` as its value does."""
    if answer.typed is None or answer.scope is None:
        return answer.value
    return seen(answer.typed.value, answer.typed.type, answer.scope.module.enumerations, whole=whole)


def bits_of(kind: t.Type | None) -> int:
    """Return the width in bits of a C type; 0 if it is not that of a number."""
    return 8 * kind.size if isinstance(kind, t.Arithmetic) else 0


def elements_from(answer: Answer, count: int, place: str) -> CValue | None:
    """Return *count* structs, or elements outside of memory, from *place* on, whose value is *answer*; None for numbers in memory.

    Raises `UsageError` if there are fewer.
    """
    if answer.typed is None or answer.scope is None or (begun := _begun(answer.typed)) is None:
        return None
    held, kind, there = begun
    if not 1 <= count <= there:
        some = f"give 1 to {there} {plural(there, 'element')}"
        has = some if there else "a value that is computed has no place"
        raise UsageError(f"{place}@{count} reaches beyond its memory; {has}")
    return CValue(held, t.Array(kind, count), answer.scope.module.enumerations)


def _begun(typed: Typed) -> tuple[Any, t.Type, int] | None:
    """Return the first element, the element type, and the number of elements; None for numbers in memory."""
    held, kind = typed.value, typed.type
    if isinstance(kind, t.Pointer):
        kind = kind.to
    elif not isinstance(kind, t.Array):
        held = typed.place
    kind = t.element_of(kind)  # those of an array are adjacent
    if isinstance(held, Items):
        return held, kind, len(held.items) - held.offset
    if isinstance(held, StructPointer) and isinstance(kind, t.Struct):
        return held, kind, (held.raw.view.size - held.raw.index) // kind.size
    if isinstance(held, Object | Cell):
        return Items([held.here], None), kind, 1
    if held is None:  # a single variable, or a computed value that is not in memory
        return Items([typed.value], None), kind, 1 if typed.text else 0
    return None


def shown_variables(frame: FrameType) -> dict[str, Any]:
    """Return the variables of a frame by name, for display."""
    scope, held = c_scope(frame), variables_of(frame)
    return held if scope is None else {name: shown_local(scope, name, value) for name, value in held.items()}


def shown_local(scope: "FrameNames", name: str, value: Any) -> Any:
    """Return the *value* of a local of *scope*, for display."""
    local = scope.local(name)
    if local is None:
        return value
    kind = local.type
    if isinstance(kind, t.Pointer) and kind.reference and isinstance(kind.to, t.Struct):
        kind = kind.to
    return seen(value, kind, scope.module.enumerations)


def seen(value: Any, kind: t.Type, enumerations: Enumerations, *, whole: bool = False) -> Any:
    """Return *value* of type *kind*, for display; pointers and plain numbers stay as they are.

    An array of numbers that reaches to the end of its allocation is shown as a pointer to them, unless *whole*.
    """
    if isinstance(kind, t.Arithmetic):
        if kind == t.BOOL and isinstance(value, int | np.integer):
            return Truth(value)
        names = enumerations.get(kind.name)
        if names is None or not isinstance(value, int | np.integer):
            return Letter.of(value, kind)
        return Enumerator.of(value, names)
    struct = kind.to if isinstance(kind, t.Pointer) else kind
    if isinstance(struct, t.Struct) and isinstance(value, Object | StructPointer):
        return CValue(value, kind, enumerations)
    if isinstance(kind, t.Array) and isinstance(value, Items | StructPointer | PointerArray):
        return CValue(value, kind, enumerations)
    if isinstance(kind, t.Array) and isinstance(value, Ptr):
        rest = value.view.size - value.index
        # If more bytes follow the array, as after a member of a struct, only its own elements are shown.
        return CValue(value, kind, enumerations) if whole or t.elements_in(kind) < rest else value
    return value


def _fields(kind: t.Type) -> tuple[t.Field, ...]:
    return kind.fields if isinstance(kind, t.Struct) else ()


def _element(array: Any, n: int, kind: t.Type) -> Any:
    """Return the *n*-th number or struct, or the beginning of the *n*-th inner array of an array of arrays."""
    if isinstance(array, Items) and not isinstance(kind, t.Array):
        return array.items[array.offset + n]
    place = array + n
    return _number(place) if isinstance(array, Ptr) and not isinstance(kind, t.Array) else place


def _member(holder: Any, field: t.Field) -> Any:
    """Return a member of a struct, from memory without a counted load."""
    if not isinstance(holder, StructPointer):
        return getattr(holder, t.attribute_of(field.name))
    layout, offset = holder.layout.fields[t.attribute_of(field.name)]
    place = see(holder.raw + offset, layout.leaf if isinstance(layout, ArrayLayout) else layout)
    return _number(place) if isinstance(place, Ptr) and isinstance(field.type, t.Arithmetic) else place


def _number(place: Ptr) -> Any:
    array = place.view.array
    return array[place.index] if 0 <= place.index < array.size else None


def _braces(whole: CValue, paused: PausedRun | None, letter: str) -> str:
    named = not isinstance(whole.type, t.Array)
    parts = whole.parts(0, None if named else SHOWN)
    texts = [(f"{name} = " if named else "") + _inside(part, paused, letter) for name, _, part in parts]
    texts += ["..."] * (len(parts) < whole.count)
    text = "{" + ", ".join(texts) + "}"
    return text if len(text) <= 4 * WIDE else text[: 4 * WIDE - 3] + "..."


def _inside(part: Any, paused: PausedRun | None, letter: str) -> str:
    """Return the text of a part between braces: numbers without their types, pointers by their targets."""
    if isinstance(part, CValue):
        pointer = isinstance(part.type, t.Pointer)
        return f"&{part.type.to}" if pointer else _braces(part, paused, letter)  # type: ignore[union-attr]
    if isinstance(part, Ptr):
        return f"&{address_text(part, paused)}"
    if part is None:
        return "outside"
    if letter and isinstance(part, int | float | np.generic):
        return in_form(part, letter)
    if isinstance(part, np.generic):
        return elements(np.array([part]))[0]
    return repr(part)
