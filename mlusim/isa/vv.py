"""Vector registers: functions of ``__mlu_vector__`` kernels that compute without memory.

All of these are inferred from the vendor's index generators and random numbers, and from public declarations.
A register holds 256 bytes, 64 elements of 32 bits, 128 of 16 or 256 of 8; declare one with `vv_float()`,
`vv_int32()`, `vv_uint32()`, `vv_half()`, `vv_int16()`, `vv_uint16()`, `vv_int8()` or `vv_uint8()` of
`mlusim.bang`. The length is derived: the vendor's index generator fills 2048 bytes with eight registers, and
its random numbers take 64 words of each, on every architecture from 372 on. A public script steps by 512
bytes, but does not check its results; a loop that calls ``__vv_get_length()`` is right for any length. A
number in place of a source register stands for a register with that number in every lane.

A mask, `vv_bool()`, has a lane for each element of the registers that ``__vv_setp_*`` has compared; it may be
used with registers of as many elements or fewer. ``_m`` at the end of a name: lanes whose mask is not set
stay as they are; ``_z``: they become 0.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import VECTOR_REGISTER, Pipe
from mlusim.arch.dtypes import DType, boolean, float32, half, int8, int16, int32, uint8, uint16, uint32
from mlusim.isa.declare import Cost, CType, Intrinsic, Refused, Tile, demand, intrinsic, refuse_zero

BYTES = VECTOR_REGISTER
LANES = BYTES // 4  # for 32-bit elements
ABSENT = 2  # lane values of a mask are 0 and 1; 2 means that the compared registers have no such lane


class Register:
    """One vector register of 256 bytes, 64 elements of 32 bits, 128 of 16 or 256 of 8; or a mask.

    It has no value until an instruction writes it; ``values`` are the elements, None before. Create one with
    `vv_float`, `vv_int32` or a similar function, which correspond to declarations in C.
    """

    __slots__ = ("dtype", "values")

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.values: np.ndarray[Any, Any] | None = None

    @property
    def lanes(self) -> int:
        """The number of elements of the register."""
        return BYTES // self.dtype.size

    def __repr__(self) -> str:
        return f"<vv_{self.dtype}{'' if self.values is None else f' {self.values[:4]}...'}>"


def vv_float() -> Register:
    """Declare a register of float."""
    return Register(float32)


def vv_int32() -> Register:
    """Declare a register of int32."""
    return Register(int32)


def vv_uint32() -> Register:
    """Declare a register of uint32."""
    return Register(uint32)


def vv_half() -> Register:
    """Declare a register of half."""
    return Register(half)


def vv_int16() -> Register:
    """Declare a register of int16."""
    return Register(int16)


def vv_uint16() -> Register:
    """Declare a register of uint16."""
    return Register(uint16)


def vv_int8() -> Register:
    """Declare a register of int8."""
    return Register(int8)


def vv_uint8() -> Register:
    """Declare a register of uint8."""
    return Register(uint8)


def vv_bool() -> Register:
    """Declare a mask."""
    return Register(boolean)


ELEMENTS = (float32, int32, uint32, half, int16, uint16, int8, uint8)
INTEGERS = (int32, uint32, int16, uint16, int8, uint8)
Whole = Annotated[Register, CType("{vv}")]
Number = Annotated[Register | int | float | np.generic, CType("{T}")]
Target = Annotated[Register, CType("{vv} &")]
Source = Annotated[Register | int | float | np.generic, CType("{vv}", "{T}")]  # a number stands for all lanes
Mask = Annotated[Register, CType("vv_bool")]
MaskTarget = Annotated[Register, CType("vv_bool &")]

_SINCE: dict[str, Any] = {
    "since": 372,
    "certainty": "I",
    "source": "vendor kernels, index generators and random numbers",
}
_DECLARED = _SINCE | {"source": "public kernels and declarations of vector registers"}


def target_of(dst: Any, elements: tuple[DType, ...] = ELEMENTS) -> Register:
    """Return *dst* if it is a register of one of the types *elements*; raises `Refused` otherwise."""
    if not isinstance(dst, Register):
        raise Refused(
            f"dst is {dst!r:.80}", operand="dst", legal="a register: vv_float(), vv_int32(), vv_half(), ..."
        )
    if dst.dtype not in elements:
        legal = f"a register of {', '.join(map(str, elements))}"
        raise Refused(f"dst is a register of {dst.dtype}", operand="dst", legal=legal)
    return dst


def source_of(name: str, value: Any, dtype: DType) -> Any:
    """Return the elements of a source register, or a number as *dtype*; raises `Refused` for anything else."""
    if isinstance(value, Register):
        if value.values is None:
            raise Refused(
                f"{name} is a register that nothing has written",
                operand=name,
                legal="a register with a value",
            )
        if value.dtype is not dtype:
            text = f"{name} is a register of {value.dtype}, dst of {dtype}"
            raise Refused(text, operand=name, legal="one element type for all registers")
        return value.values
    try:
        if isinstance(value, int | float | np.generic) and dtype is not boolean:
            return dtype.dtype.type(dtype(value))
    except (TypeError, ValueError, OverflowError):
        pass
    legal = "a mask: vv_bool()" if dtype is boolean else f"a register, or a number that {dtype} can hold"
    raise Refused(f"{name} is {value!r:.80}", operand=name, legal=legal)


def lanes_of(mask: Any, lanes: int) -> Any:
    """Return a boolean for each of the first *lanes* lanes of a mask; raises `Refused` if *mask* is not a mask or has fewer lanes."""
    if not isinstance(mask, Register) or mask.dtype is not boolean:
        raise Refused(f"mask is {mask!r:.80}", operand="mask", legal="a mask: vv_bool()")
    if mask.values is None:
        text = "mask is one that nothing has written"
        raise Refused(text, operand="mask", legal="a mask with a value, as __vv_setp_ne gives one")
    have = int(np.count_nonzero(mask.values != ABSENT))
    if have < lanes:
        text = f"the lanes of mask are {have}, those of the register {lanes}"
        raise Refused(text, operand="mask", legal="a mask of registers of elements as wide, or narrower")
    return mask.values[:lanes] == 1


def _kept(register: Register, merging: bool) -> Any:
    """Return the values of the lanes that a mask does not set; raises `Refused` if they are needed but were never written."""
    if not merging:
        return register.dtype.dtype.type(0)
    if register.values is None:
        raise Refused(
            "dst is a register that nothing has written, and the mask may leave lanes of it as they are",
            operand="dst",
            legal="a register with a value, or the form that ends in _z",
        )
    return register.values


def _row(
    spelling: str, elements: tuple[DType, ...] = ELEMENTS, since: dict[str, Any] = _SINCE
) -> Callable[[Callable[..., Any]], Intrinsic]:
    return intrinsic(spelling, form="register", elements=elements, **since)


@intrinsic("__vv_get_length", pipe=Pipe.SCALAR, memory_core=True, native=f"result = {BYTES};", **_SINCE)
def vv_get_length() -> int:
    """Return how many bytes a register holds: ``256``, on a memory core too, where kernels divide by it."""
    return BYTES


@_row("__vv_index")
def vv_index(dst: Target, start: Number, step: Number) -> None:
    """Count: ``dst[i] = start + i * step``."""
    target = target_of(dst)
    # In the register's type from the start, so that the lanes wrap and round as on the device (inferred).
    lane = np.arange(target.lanes).astype(target.dtype.dtype)
    first, distance = source_of("start", start, target.dtype), source_of("step", step, target.dtype)
    target.values = first + lane * distance


# -- lane-wise operations, each without and with a mask --------------------------------------------


@frozen
class LaneOperation:
    """One lane-wise operation: the function ``of``, its ``formula``, and the types ``elements`` of its registers.

    A ``masked`` operation also has forms with a mask; one that ``divides`` refuses an integer divisor of 0 in
    an active lane.
    """

    name: str
    of: Callable[..., Any]
    formula: str
    elements: tuple[DType, ...] = ELEMENTS
    masked: bool = False
    source: str = "public kernels and declarations of vector registers"
    divides: bool = False

    def sources(self) -> list[str]:
        """Return the names of the operation's sources."""
        return [name for name in ("src", "src0", "src1", "src2") if f"{name}[i]" in self.formula]

    def compute(self, dst: Any, sources: dict[str, Any], mask: Any = None, *, merging: bool = False) -> None:
        """Compute *dst*; lanes that a mask does not set keep their value (*merging*) or become 0."""
        target = target_of(dst, self.elements if mask is None else _numbers(self.elements))
        values = [source_of(name, value, target.dtype) for name, value in sources.items()]
        chosen = True if mask is None else lanes_of(mask, target.lanes)
        if self.divides and target.dtype in INTEGERS:
            refuse_zero(values[1], chosen)
        if target.dtype is boolean:
            absent = functools.reduce(np.logical_or, (value == ABSENT for value in values))
            result = np.where(absent, ABSENT, self.of(*(value == 1 for value in values)))
        else:
            result = np.broadcast_to(self.of(*values), (target.lanes,))
        if mask is not None:
            result = np.where(chosen, result, _kept(target, merging))
        target.values = np.array(result, target.dtype.dtype)

    def rows(self) -> Iterator[Intrinsic]:
        """Yield the rows of the operation."""
        yield self._row("", _BODIES[len(self.sources())](self))
        if self.masked:
            yield self._row("_m", _MASKED[len(self.sources())](self, True))
            yield self._row("_z", _MASKED[len(self.sources())](self, False))

    def _row(self, how: str, body: Callable[..., None]) -> Intrinsic:
        elements = _numbers(self.elements) if how else self.elements
        unset = {
            "": "",
            "_m": " where the mask is set; the other lanes stay",
            "_z": " where the mask is set, else 0",
        }
        if boolean in elements:
            what = "; of integers and masks" if float32 not in elements else "; a mask, too"
        else:
            what = "; of integers" if elements == INTEGERS else ""
        body.__doc__ = f"Compute lane by lane: ``dst[i] = {self.formula}``{unset[how]}{what}."
        if self.divides:
            body.__doc__ += "\n\nIntegers are divided as in C, toward 0; a divisor of 0 is refused unless the mask excludes its lane (inferred)."
        return _row(f"__vv_{self.name}{how}", elements, _SINCE | {"source": self.source})(body)


def _numbers(elements: tuple[DType, ...]) -> tuple[DType, ...]:
    return tuple(dtype for dtype in elements if dtype is not boolean)


def _of_one(operation: LaneOperation) -> Callable[..., None]:
    def body(dst: Target, src: Source) -> None:
        operation.compute(dst, {"src": src})

    return body


def _of_two(operation: LaneOperation) -> Callable[..., None]:
    def body(dst: Target, src0: Source, src1: Source) -> None:
        operation.compute(dst, {"src0": src0, "src1": src1})

    return body


def _of_three(operation: LaneOperation) -> Callable[..., None]:
    def body(dst: Target, src0: Source, src1: Source, src2: Source) -> None:
        operation.compute(dst, {"src0": src0, "src1": src1, "src2": src2})

    return body


def _masked_of_one(operation: LaneOperation, merging: bool) -> Callable[..., None]:
    def body(dst: Target, src: Source, mask: Mask) -> None:
        operation.compute(dst, {"src": src}, mask, merging=merging)

    return body


def _masked_of_two(operation: LaneOperation, merging: bool) -> Callable[..., None]:
    def body(dst: Target, src0: Source, src1: Source, mask: Mask) -> None:
        operation.compute(dst, {"src0": src0, "src1": src1}, mask, merging=merging)

    return body


_BODIES = {1: _of_one, 2: _of_two, 3: _of_three}
_MASKED = {1: _masked_of_one, 2: _masked_of_two}


def _high(a: Tile, b: Tile) -> Any:
    """Return the upper half of each product's bits."""
    dtype = np.asarray(a).dtype
    wide = np.int64 if dtype.kind == "i" else np.uint64  # the full product has twice the bits
    return np.multiply(a, b, dtype=wide) >> wide(8 * dtype.itemsize)


def _shifted(shift: np.ufunc, kind: str, a: Tile, count: Tile) -> Any:
    """Shift the bits of *a* as an integer of *kind*; an (unsigned) count of all bits or more shifts everything out."""
    width = np.asarray(a).dtype.itemsize
    bits, counts = np.asarray(a).view(f"{kind}{width}"), np.asarray(count).view(f"u{width}")
    within = counts < 8 * width
    # Of a signed number, the sign remains.
    shifted = shift(bits, np.minimum(counts, 8 * width - 1).astype(bits.dtype))
    return (
        (shifted if kind == "i" else np.where(within, shifted, 0))
        .astype(bits.dtype)
        .view(np.asarray(a).dtype)
    )


def _divisor(b: Tile) -> Any:
    """Return *b* with 1 in place of 0; a divisor of 0 in an active lane has been refused before."""
    return np.where(np.equal(b, 0), np.asarray(b).dtype.type(1), b)


def _quotient(a: Tile, b: Tile) -> Any:
    """Return the quotient: of floats as in IEEE 754, of integers toward 0 as in C; the smallest integer by -1 wraps."""
    if np.asarray(b).dtype.kind == "f":
        return np.divide(a, b)
    # Exact: integers have at most 32 bits.
    return np.divide(a, _divisor(b), dtype=np.float64).astype(np.int64)


_COMPARED = {
    "eq": (np.equal, "=="),
    "ne": (np.not_equal, "!="),
    "lt": (np.less, "<"),
    "le": (np.less_equal, "<="),
    "gt": (np.greater, ">"),
    "ge": (np.greater_equal, ">="),
}
_KERNELS = str(_SINCE["source"])
OPERATIONS = (
    LaneOperation("move", lambda a: a, "src[i]", (*ELEMENTS, boolean), True, _KERNELS),
    LaneOperation("add", np.add, "src0[i] + src1[i]", masked=True, source=_KERNELS),
    LaneOperation("sub", np.subtract, "src0[i] - src1[i]", masked=True),
    LaneOperation("mul", np.multiply, "src0[i] * src1[i]", masked=True, source=_KERNELS),
    LaneOperation("mulh", _high, "(src0[i] * src1[i]) >> bits of an element", INTEGERS, source=_KERNELS),
    LaneOperation("div", _quotient, "src0[i] / src1[i]", masked=True, divides=True),
    LaneOperation(
        "rem", lambda a, b: np.fmod(a, _divisor(b)), "src0[i] % src1[i]", INTEGERS, masked=True, divides=True
    ),
    # 0 - x would lose the sign of a zero; unsigned numbers wrap.
    LaneOperation("neg", np.negative, "-src[i]", masked=True),
    LaneOperation("and", np.bitwise_and, "src0[i] & src1[i]", (*INTEGERS, boolean), True),
    LaneOperation("or", np.bitwise_or, "src0[i] | src1[i]", (*INTEGERS, boolean), True),
    LaneOperation("xor", np.bitwise_xor, "src0[i] ^ src1[i]", (*INTEGERS, boolean), True, _KERNELS),
    LaneOperation("not", np.invert, "~src[i]", (*INTEGERS, boolean), True),
    LaneOperation(
        "trixor", lambda a, b, c: a ^ b ^ c, "src0[i] ^ src1[i] ^ src2[i]", INTEGERS, source=_KERNELS
    ),
    LaneOperation("land", np.logical_and, "src0[i] && src1[i]", masked=True),
    LaneOperation("lor", np.logical_or, "src0[i] || src1[i]", masked=True),
    LaneOperation("lxor", np.logical_xor, "!src0[i] != !src1[i]", masked=True),
    LaneOperation("lnot", np.logical_not, "!src[i]", masked=True),
    LaneOperation("sll", functools.partial(_shifted, np.left_shift, "u"), "src0[i] << src1[i]", INTEGERS),
    LaneOperation(
        "srl", functools.partial(_shifted, np.right_shift, "u"), "unsigned(src0[i]) >> src1[i]", INTEGERS
    ),
    LaneOperation(
        "sra", functools.partial(_shifted, np.right_shift, "i"), "signed(src0[i]) >> src1[i]", INTEGERS
    ),
    *(LaneOperation(name, of, f"src0[i] {sign} src1[i]") for name, (of, sign) in _COMPARED.items()),
)
"""The lane-wise operations; each gives one row, and two more if it is masked."""
globals().update({row.name: row for operation in OPERATIONS for row in operation.rows()})


# -- masks -----------------------------------------------------------------------------------------


def _setp(name: str, of: Callable[..., Any], sign: str) -> Intrinsic:
    """Declare a comparison that sets a mask."""

    def body(dst: MaskTarget, src0: Whole, src1: Source) -> None:
        target = target_of(dst, (boolean,))
        if not isinstance(src0, Register):
            raise Refused(f"src0 is {src0!r:.80}", operand="src0", legal="a register")
        result = np.full(BYTES, ABSENT, np.uint8)
        values = source_of("src0", src0, src0.dtype), source_of("src1", src1, src0.dtype)
        result[: src0.lanes] = of(*values)
        target.values = result

    body.__doc__ = f"Compare lane by lane, and keep it as a mask: ``dst[i] = src0[i] {sign} src1[i]``."
    return _row(f"__vv_setp_{name}", ELEMENTS, _DECLARED)(body)


globals().update({row.name: row for row in (_setp(name, *how) for name, how in _COMPARED.items())})


@_row("__vv_select", ELEMENTS, _DECLARED)
def vv_select(dst: Target, src0: Whole, src1: Whole, mask: Mask) -> None:
    """Choose lane by lane: ``dst[i] = mask[i] ? src0[i] : src1[i]``."""
    target = target_of(dst)
    values = source_of("src0", src0, target.dtype), source_of("src1", src1, target.dtype)
    target.values = np.where(lanes_of(mask, target.lanes), *values).astype(target.dtype.dtype)


# -- memory ----------------------------------------------------------------------------------------

_STORED = f"{BYTES} // sizeof(T) if elem_count is None else elem_count"
_COUNTED = f"1 to {BYTES // 4} elements of 32 bits, {BYTES // 2} of 16, or {BYTES} of 8"


def _counted(operand: str) -> Any:
    """Return the rule for the number of elements moved between a register and *operand*."""
    fails = f"elem_count is not None and (elem_count < 1 or elem_count * sizeof({operand}) > {BYTES})"
    return demand(fails, "elem_count = {elem_count} is out of range", _COUNTED)


def _stored(register: Any, dst: Tile) -> Any:
    """Return the elements of *register* for a store to *dst*; raises `Refused` if it cannot be stored."""
    if not isinstance(register, Register):
        raise Refused(f"register is {register!r:.80}", operand="register", legal="a register")
    if register.dtype is boolean or register.dtype.dtype != dst.dtype:
        text = f"register is of {register.dtype} and dst of {dst.dtype}"
        raise Refused(text, operand="register", legal="one element type for both")
    if register.values is None:
        text = "register is one that nothing has written"
        raise Refused(text, operand="register", legal="a register with a value")
    return register.values


def _loaded(dst: Any, src: Tile) -> Register:
    """Return *dst* if it is a register of the type of *src*; raises `Refused` otherwise."""
    target = target_of(dst)
    if target.dtype.dtype != src.dtype:
        text = f"dst is a register of {target.dtype}, src of {src.dtype}"
        raise Refused(text, operand="dst", legal="one element type for both")
    return target


@intrinsic(
    "__vv_load",
    reads={"src": _STORED},
    dtypes=ELEMENTS,
    cost=Cost(_STORED, "src"),
    rules=(_counted("src"),),
    **_DECLARED,
)
def vv_load(dst: Target, src: Tile, elem_count: int | None = None) -> None:
    """Load the first elements of a register from NRAM: ``dst[i] = src[i]``, all elements without a count.

    Elements after the count become 0 (unknown on the hardware, default chosen).
    """
    target = _loaded(dst, src)
    values = np.zeros(target.lanes, target.dtype.dtype)
    values[: len(src)] = src
    target.values = values


def _load_where(dst: Register, src: Tile, mask: Register, merging: bool) -> None:
    target = _loaded(dst, src)
    chosen = lanes_of(mask, target.lanes)[: len(src)]
    values = np.array(np.broadcast_to(_kept(target, merging), target.lanes))
    np.copyto(values[: len(src)], src, where=chosen)
    target.values = values


def _masked_load(how: str, unset: str) -> tuple[Intrinsic, Intrinsic]:
    """Declare masked loads: of a whole register, and of its first elements."""

    def body(dst: Target, src: Tile, mask: Mask) -> None:
        _load_where(dst, src, mask, how == "m")

    def counted(dst: Target, src: Tile, elem_count: int, mask: Mask) -> None:
        _load_where(dst, src, mask, how == "m")

    name = f"vv_load_{how}"
    body.__doc__ = (
        f"Load a register from NRAM where the mask is set: ``dst[i] = src[i]``; {unset}.\n\n"
        f"*src* has a whole register's elements.  A call with a count before the mask means ``__{name}_counted``."
    )
    counted.__doc__ = (
        f"Load the first elements of a register from NRAM where the mask is set: ``dst[i] = src[i]``; {unset}.\n\n"
        f"The form of ``__{name}`` with a count, which comes before the mask (inferred from the store)."
    )
    size, loads = f"{BYTES} // sizeof(T)", _DECLARED | {"dtypes": ELEMENTS}
    whole = loads | {"reads": {"src": size}, "cost": Cost(size, "src")}
    first = loads | {"reads": {"src": "elem_count"}, "cost": Cost("elem_count", "src")}
    return (
        intrinsic(f"__{name}", overload=(f"{name}_counted", "elem_count"), **whole)(body),
        intrinsic(f"__{name}_counted", rules=(_counted("src"),), **first)(counted),
    )


vv_load_m, vv_load_m_counted = _masked_load("m", "the other lanes stay")
vv_load_z, vv_load_z_counted = _masked_load("z", "the other lanes become 0")


@intrinsic(
    "__vv_store",
    writes={"dst": _STORED},
    dtypes=ELEMENTS,
    cost=Cost(_STORED, "dst"),
    rules=(_counted("dst"),),
    **_SINCE,
)
def vv_store(dst: Tile, register: Whole, elem_count: int | None = None) -> None:
    """Store the first elements of a register in NRAM: ``dst[i] = register[i]``, all elements without a count."""
    dst[...] = _stored(register, dst)[: len(dst)]


def _store_where(dst: Tile, register: Register, mask: Register, elem_count: int | None = None) -> None:
    values = _stored(register, dst)
    chosen = lanes_of(mask, len(values))[:elem_count]
    needs = int(np.flatnonzero(chosen)[-1]) + 1 if chosen.any() else 0
    if needs > len(dst):
        raise Refused(
            f"the mask has lane {needs - 1} set, the length of dst is {len(dst)}", operand="dst", needs=needs
        )
    within = min(len(dst), len(chosen))
    np.copyto(dst[:within], values[:within], where=chosen[:within])


@intrinsic(
    "__vv_store_m",
    writes={"dst": f"{BYTES} // sizeof(T)"},
    dtypes=ELEMENTS,
    partial=("dst",),
    cost=Cost(f"{BYTES} // sizeof(T)", "dst"),
    overload=("vv_store_m_counted", "elem_count"),
    **_DECLARED,
)
def vv_store_m(dst: Tile, register: Whole, mask: Mask) -> None:
    """Store the elements of a register in NRAM where the mask is set: ``dst[i] = register[i]``; the others stay.

    Only the elements that are stored must lie within the memory. A call with a count before the mask is a
    call of ``__vv_store_m_counted``.
    """
    _store_where(dst, register, mask)


@intrinsic(
    "__vv_store_m_counted",
    writes={"dst": "elem_count"},
    dtypes=ELEMENTS,
    partial=("dst",),
    cost=Cost("elem_count", "dst"),
    rules=(_counted("dst"),),
    **_DECLARED,
)
def vv_store_m_counted(dst: Tile, register: Whole, elem_count: int, mask: Mask) -> None:
    """Store the first elements of a register in NRAM where the mask is set: ``dst[i] = register[i]``; the others stay.

    The form of ``__vv_store_m`` with a count, as a public kernel calls it. Only the elements that are stored
    must lie within the memory.
    """
    _store_where(dst, register, mask, elem_count)
