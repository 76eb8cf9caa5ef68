"""Detects bad results of vector instructions: integer overflow, infinities or NaN from finite numbers, bytes read as another type.

A row is inspected if it computes or converts; rows that move, select or compare numbers, or work on bits, are
not. Python inspects results with `Look` and `Types`, C with code rendered by `machine.native.text.screen` and
functions at the end of ``c/screen.h``.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from attrs import define, frozen

from mlusim.arch.dtypes import MEMORY_TYPES, DType, bfloat16, float32
from mlusim.isa.declare import Intrinsic
from mlusim.isa.rounding import TO_WHOLE, saturate
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import NRAM

Numbers = np.ndarray[Any, Any]

RULES = NOT_FINITE, OVERFLOWS, RETYPED = "not-finite", "vector-overflow", "retyped"
RINGS = {
    np.add: "add", np.subtract: "sub", np.multiply: "mul", np.square: "square", np.negative: "neg", np.absolute: "abs",
}  # fmt: skip
"""The functions whose exact result can be computed in a wider type, with the name of each in C."""
_FUNCTIONS = {*RINGS, np.reciprocal, np.sqrt, np.exp, np.exp2, np.log, np.log2, np.hypot} - {
    np.negative,
    np.absolute,
}
_TEMPLATES = {
    "fusion", "divide", "remainder", "exponential", "expand", "shares", "matmul", "conv", "mlp", "narrowing", "from_int",
}  # fmt: skip
_OF_A_FUNCTION = {"cycle", "pool", "loop", "reduction", "fetching"}
_BY_NAME = frozenset(
    {
        "bang_add_tz", "bang_sub_tz", "bang_mul_tz", "bang_cycle_add_tz", "bang_div_addition", "bang_rsqrt", "bang_active_rsqrt",
        "bang_active_rsqrthp", "bang_sum", "bang_reduce_sum", "bang_maxpool_bp", "mlisa_div_scalar",
        *(f"mlisa_fuse_{n}" for n in range(1, 6)),
    }
)  # fmt: skip


_WIDENINGS = ("bang_half2float", "bang_bfloat162float")


class VectorChange(NamedTuple):
    """A bad element in the result of the vector instruction *name*: index *element*, of C type *kind*.

    *rule* says what is wrong. Not finite: the element is *value*, an infinity or NaN; *kind* is "" for a
    returned scalar. Overflow: the exact result would be *value*, but the instruction stored *stored*.
    Retyped: bytes last written as type *have* at location *wrote* are read as *kind*.
    """

    rule: str
    name: str
    kind: str
    element: int
    value: float
    stored: int = 0
    have: str = ""
    wrote: tuple[str, int] = ("", 0)


def _template(row: Intrinsic) -> tuple[Any, ...]:
    return row.native if isinstance(row.native, tuple) else ("",)


def function_of(row: Intrinsic) -> Callable[..., Any] | None:
    """Return the NumPy function of one or two sources that *row* applies, also if a source repeats; None for other rows."""
    name, *how = _template(row)
    return how[0] if name == "cycle" else row.body


def is_ring(row: Intrinsic) -> bool:
    """Return whether *row* adds, subtracts or multiplies: lane by lane, over segments, or as a fusion of two operations."""
    return function_of(row) in RINGS or _template(row)[0] == "fusion"


def to_whole(row: Intrinsic) -> str:
    """Return the rounding suffix of a *row* that converts floats to integers, else ""."""
    name, *how = _template(row)
    return how[0] if name == "to_int" else ""


def makes_numbers(row: Intrinsic) -> bool:
    """Return whether *row* can produce an infinity or NaN from finite numbers."""
    if row.form != "dense" or any(operand.partial for operand in row.operands.values()):
        return False
    name, *how = _template(row)
    of_a_function = name in _OF_A_FUNCTION and how[0] in _FUNCTIONS
    return row.body in _FUNCTIONS or name in _TEMPLATES or of_a_function or row.name in _BY_NAME


def is_looked_at(row: Intrinsic) -> bool:
    """Return whether *row* is inspected, because it computes or converts."""
    if row.form != "dense" or any(operand.partial for operand in row.operands.values()):
        return False
    return makes_numbers(row) or is_ring(row) or bool(to_whole(row)) or row.name in _WIDENINGS


SMALL = (
    4096  # number of floats up to which the dot product with itself is the fastest test for finite elements
)


@define(eq=False)
class MemoryOperand:
    """An operand in memory."""

    name: str
    access: Access
    dtype: DType
    _raw: Numbers | None = None
    _numbers: Numbers | None = None

    def numbers(self) -> Numbers:
        """Return the elements; of a single piece a view, which is cached."""
        access, raw = self.access, self.access.allocation.raw
        if access.steps:
            return access.rows_of(raw).reshape(-1).view(self.dtype.dtype)
        numbers = self._numbers
        if numbers is None or raw is not self._raw:
            piece = raw[access.start : access.start + access.size]
            self._raw, self._numbers = raw, (numbers := piece.view(self.dtype.dtype))
        return numbers

    def finite(self) -> bool:
        """Return whether no element is an infinity or a NaN."""
        numbers = self.numbers()
        if self.dtype is float32 and numbers.size <= SMALL and math.isfinite(numbers.dot(numbers)):
            return True
        return bool(np.isfinite(numbers).all())


@frozen
class Look:
    """How to inspect one call of *row*; its operands are floats or, with *exact*, the sources of integer results.

    ``early`` has the sources that the instruction may overwrite, ``late`` the others, ``values`` the indices
    of scalar arguments.
    """

    row: Intrinsic
    early: tuple[MemoryOperand, ...]
    late: tuple[MemoryOperand, ...]
    targets: tuple[MemoryOperand, ...]
    values: tuple[int, ...]
    exact: bool
    floats: bool  # whether the result is inspected after the call

    def before(self, arguments: Sequence[Any]) -> tuple[VectorChange | None, bool]:
        """Before a call with *arguments*, return the first integer that will overflow, and whether `after` must be called."""
        if self.exact:
            by_name = {p.name: a for p, a in zip(self.row.given, arguments, strict=True)}
            by_name |= {part.name: part.numbers() for part in (*self.early, *self.late)}
            return overflow(self.row, self.targets[0].dtype, by_name), False
        if not self.floats:
            return None, False
        for place in self.values:
            if not math.isfinite(arguments[place]):
                return None, False
        for part in self.early:
            if not part.finite():
                return None, False
        return None, True

    def after(self, result: object) -> VectorChange | None:
        """Return the first element written, or the returned number, that is not finite although all sources were finite."""
        for part in self.targets:
            if part.dtype.kind == "float" and not part.finite() and self._were_finite():
                numbers = part.numbers()
                index = int(np.flatnonzero(~np.isfinite(numbers))[0])
                return VectorChange(NOT_FINITE, self.row.name, part.dtype.c, index, float(numbers[index]))
        if _is_float(result) and not math.isfinite(result) and self._were_finite():  # type: ignore[arg-type]
            return VectorChange(NOT_FINITE, self.row.name, "", 0, float(result))  # type: ignore[arg-type]
        return None

    @property
    def floats_read(self) -> tuple[MemoryOperand, ...]:
        """The operands in memory with floats that the instruction reads."""
        return tuple(part for part in (*self.early, *self.late) if part.dtype.kind == "float")

    def _were_finite(self) -> bool:
        return all(part.finite() for part in self.late)


def _is_float(value: object) -> bool:
    # bfloat16 is not a NumPy float class.
    return isinstance(value, float | np.floating) or getattr(value, "dtype", None) == bfloat16.dtype


def look_at(
    row: Intrinsic, reads: Sequence[Access], writes: Sequence[Access], arguments: Sequence[Any]
) -> Look | None:
    """Return how to inspect a call of *row* with *reads*, *writes* and *arguments*; None for a row that is not inspected."""
    if row.name not in _known:
        _known[row.name] = _places(row) if is_looked_at(row) else None
    places = _known[row.name]
    if places is None:
        return None
    reads_of, writes_of, values = places
    sources, targets = _parts(reads_of, reads, arguments), _parts(writes_of, writes, arguments)
    exact = bool(to_whole(row)) or (is_ring(row) and [t.dtype.kind for t in targets] == ["int"])
    floats = any(t.dtype.kind == "float" for t in targets) or (not targets and row.returns != "None")
    if not exact:
        sources = [s for s in sources if s.dtype.kind == "float"]
    early = tuple(s for s in sources if any(s.access.meets(t.access) for t in targets))
    late = tuple(s for s in sources if s not in early)
    numbers = tuple(place for place in values if _is_float(arguments[place]))
    return Look(row, early, late, tuple(targets), numbers, exact, floats and makes_numbers(row))


_Place = tuple[str, int]  # of an operand: its name and its index among the arguments


_Places = tuple[list[_Place], list[_Place], list[int]]
_known: dict[str, _Places | None] = {}  # by row


def _places(row: Intrinsic) -> _Places:
    places = {p.name: n for n, p in enumerate(row.given)}
    operands = [(name, places[name], o.access) for name, o in row.operands.items()]
    return (
        [(name, n) for name, n, access in operands if access != "write"],
        [(name, n) for name, n, access in operands if access != "read"],
        [n for n, p in enumerate(row.given) if p.kind in ("any", "either", "value")],
    )


def _parts(
    places: Sequence[_Place], accesses: Sequence[Access], arguments: Sequence[Any]
) -> list[MemoryOperand]:
    """Return the operands at *places* that are pointers, each with its access."""
    pointers = [(name, arguments[n].dtype) for name, n in places if isinstance(arguments[n], Ptr)]
    return [
        MemoryOperand(name, access, dtype) for (name, dtype), access in zip(pointers, accesses, strict=False)
    ]


def overflow(row: Intrinsic, dtype: DType, arguments: Mapping[str, Any]) -> VectorChange | None:
    """Return the first element of an integer result, or of floats rounded to integers, whose exact value does not fit *dtype*."""
    exact = _exact(row, dtype, arguments)
    if exact is None:
        return None
    limits = np.iinfo(dtype.dtype)
    low, high = int(limits.min), int(limits.max)
    bad = np.flatnonzero(~((exact >= low) & (exact <= high)))  # NaN is never in range
    if not bad.size:
        return None
    index = int(bad[0])
    if to_whole(row):
        return saturated(row, dtype, index, float(exact[index]))
    value = int(exact[index])
    return VectorChange(
        OVERFLOWS, row.name, dtype.c, index, value, (value - low) % (1 << 8 * dtype.size) + low
    )


def saturated(row: Intrinsic, dtype: DType, index: int, whole: float) -> VectorChange:
    """Return the change for *row* that rounded the float at *index* to *whole*, which *dtype* cannot hold."""
    stored = int(saturate(np.array([whole]), dtype.dtype)[0])
    return VectorChange(OVERFLOWS, row.name, dtype.c, index, whole, stored)


_FUSED = (
    (np.multiply, np.add), (np.multiply, np.subtract), (np.add, np.multiply), (np.subtract, np.multiply),
    (np.add, np.add), (np.add, np.subtract), (np.subtract, np.subtract), (np.subtract, np.add),
)  # fmt: skip
"""The two operations of each fusion, in the order of `isa.fusion`."""


FUSED_IN_C = tuple(
    f"(a_ {first} b_) {second} c_"
    for first, second in (("*", "+"), ("*", "-"), ("+", "*"), ("-", "*"), ("+", "+"), ("+", "-"), ("-", "-"), ("-", "+"))
)  # fmt: skip
_IN_C = {
    "add": "a_ + b_", "sub": "a_ - b_", "mul": "a_ * b_", "square": "a_ * a_", "neg": "-a_", "abs": "a_ < 0 ? -a_ : a_",
}  # fmt: skip


def in_c(row: Intrinsic, pointers: Collection[str]) -> tuple[str | None, list[str], str]:
    """Return the C formula of *row* in a_, b_ and c_, the C text of each source element, and the count after which sources repeat.

    The formula is None for a fusion, which has one formula per operation. Source elements are indexed by i,
    or by j if the source repeats; *pointers* are the operands in memory.
    """
    fused, cycles = _template(row)[0] == "fusion", _template(row)[0] == "cycle"
    sources = _sources(row)
    again = set(sources[1:]) if fused or cycles else set()
    elements = [f"{n}[{'j' if n in again else 'i'}]" if n in pointers else n for n in sources]
    repeats = "seg_elem_num" if cycles else "src12_elem_count" if fused and again & set(pointers) else ""
    formula = None if fused else _IN_C[RINGS[function_of(row)]]  # type: ignore[index]
    return formula, elements, repeats


def made_by(
    row: Intrinsic,
    rule: str,
    whole: int,
    real: int,
    told: Sequence[Any],
    sites: Sequence[tuple[str, int]],
) -> VectorChange:
    """Return the change that C reported for *row* as the numbers *told*.

    They are, by rule: index and float; three integers and the operation of a fusion; or two types and an index into *sites*.

    *whole* is the index in `MEMORY_TYPES` of the integers' type, *real* of the float's type, or -1 for a
    returned scalar.
    """
    index, value, *rest = told
    if rule == RETYPED:
        return VectorChange(
            RETYPED, row.name, MEMORY_TYPES[value].c, 0, 0, 0, MEMORY_TYPES[index].c, sites[rest[0]]
        )
    if rule == OVERFLOWS and to_whole(row):
        return saturated(row, MEMORY_TYPES[whole], int(index), value)
    if rule == OVERFLOWS:
        return overflow_of(row, MEMORY_TYPES[whole], int(index), [value, *rest[:2]], rest[2])
    kind = "" if real < 0 else MEMORY_TYPES[real].c
    return VectorChange(NOT_FINITE, row.name, kind, int(index), float(value))


def overflow_of(row: Intrinsic, dtype: DType, index: int, numbers: Sequence[int], op: int) -> VectorChange:
    """Return the change of *row* (of a fusion: operation *op*) whose result from *numbers* of *dtype* at *index* overflows."""
    change = overflow(row, dtype, dict(zip(_sources(row), numbers, strict=False)) | {"op": op})
    assert change is not None
    return change._replace(element=index)


def _sources(row: Intrinsic) -> list[str]:
    """Return the names of the operands and scalars that *row* computes with."""
    operands = [n for n, o in row.operands.items() if o.access == "read"]
    return operands + [p.name for p in row.given if p.kind == "value"]


def _exact(row: Intrinsic, dtype: DType, arguments: Mapping[str, Any]) -> Numbers | None:
    """Return the exact elements of the result as integers; None if the row refuses its arguments."""
    if mode := to_whole(row):
        return TO_WHOLE[mode](np.ldexp(arguments["src"].astype(np.float64), -arguments["pos"]))  # type: ignore[no-any-return]
    fused = _template(row)[0] == "fusion"
    # 64 bits hold the result of two 32-bit integers, but not of three.
    wide = np.dtype(object if dtype.size > 4 or fused else np.int64)
    sources = (arguments[name] for name in _sources(row))
    numbers = (np.asarray(a if isinstance(a, np.ndarray) else dtype(a)) for a in sources)
    operands = [a.reshape(-1).astype(wide) for a in numbers]
    length = len(operands[0])
    operands = [np.resize(o, length) if 1 < len(o) < length else o for o in operands]
    if not fused:
        return function_of(row)(*operands)  # type: ignore[misc, no-any-return]
    if not 0 <= arguments["op"] < len(_FUSED):
        return None
    first, second = _FUSED[arguments["op"]]
    return second(first(*operands[:2]), operands[2])


# -- bytes that are read as another type than they were last written as; one table layout for Python and C ----
#
# Not every store is observed, so an entry is valid only while the bytes are unchanged.

MOST_TYPED, SAMPLE = 256, 16  # number of entries, and bytes per entry
EXPONENTS: Mapping[str, int] = {
    "half": 0x7C00,
    "bfloat16": 0x7F80,
    "float": 0x7F800000,
}  # the exponent bits, by type


class _Typed(NamedTuple):
    address: int
    dtype: DType
    sample: bytes
    site: tuple[str, int]


class Types:
    """The element type that vector instructions of a core last wrote, by address in NRAM."""

    def __init__(self) -> None:
        self._known: dict[int, _Typed] = {}

    def wrote(self, part: MemoryOperand, site: tuple[str, int]) -> None:
        """Record that the instruction at *site* wrote *part*."""
        content = _sample(part)
        if content is not None and part.dtype.size > 1:
            address = part.access.allocation.address + part.access.start
            self._put(_slot(address), _Typed(address, part.dtype, content, site))

    def read(self, row: Intrinsic, part: MemoryOperand) -> VectorChange | None:
        """Return the change if *row* reads the floats *part* as another type than they were written as, else None."""
        address = part.access.allocation.address + part.access.start
        written = self._get(_slot(address))
        if written is None or written.address != address or written.dtype is part.dtype:
            return None
        if written.sample != _sample(part) or not _other(written.dtype, written.sample, part.dtype):
            return None
        return VectorChange(RETYPED, row.name, part.dtype.c, 0, 0, 0, written.dtype.c, written.site)

    def _get(self, slot: int) -> _Typed | None:
        return self._known.get(slot)

    def _put(self, slot: int, typed: _Typed) -> None:
        self._known[slot] = typed


class TypesInC(Types):
    """The types in C's *table*, for rows that Python executes in a native run; *site* returns the index of the current one of *sites*."""

    def __init__(self, table: Numbers, sites: Sequence[tuple[str, int]], site: Callable[[], int]) -> None:
        super().__init__()
        self._table, self._sites, self._site = table, sites, site

    def _get(self, slot: int) -> _Typed | None:
        address, kind, site, sample = self._table[slot]
        place = self._sites[int(site)]
        return _Typed(int(address), MEMORY_TYPES[kind & 255], sample.tobytes(), place) if address else None

    def _put(self, slot: int, typed: _Typed) -> None:
        how = typed.dtype.size | 256 * (typed.dtype.kind == "float")
        kind = MEMORY_TYPES.index(typed.dtype) | how << 8
        self._table[slot] = typed.address, kind, self._site(), np.void(typed.sample)


TYPED = np.dtype([("address", "u8"), ("dtype", "i4"), ("site", "i4"), ("sample", f"V{SAMPLE}")])
"""An entry of the table, as in `screen.h`: ``dtype`` has the type's index in its low byte, above it the size, plus 256 for floats."""


def _slot(address: int) -> int:
    return ((address >> 5) * 0x9E3779B1 & 0xFFFFFFFF) >> 16 & MOST_TYPED - 1


def _sample(part: MemoryOperand) -> bytes | None:
    access = part.access
    if access.steps or access.size < SAMPLE or access.allocation.space is not NRAM:
        return None
    return access.allocation.raw[access.start : access.start + SAMPLE].tobytes()


def _other(have: DType, sample: bytes, kind: DType) -> bool:
    """Return whether bytes written as *have* are not valid floats of *kind*; integers may be the bits of floats."""
    if not any(sample):
        return False
    if have.kind == "float" or have.size != kind.size:
        return True
    numbers = np.frombuffer(sample, f"u{kind.size}")
    return not np.any(numbers & EXPONENTS[kind.name])
