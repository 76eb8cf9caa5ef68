"""The types of the intermediate form: C types with the sizes of the device's ABI."""

import functools
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from attrs import define, field, frozen

from mlusim.arch import dtypes
from mlusim.arch.board import VECTOR_REGISTER
from mlusim.arch.dtypes import DType


@frozen
class Arithmetic:
    """A number type: ``kind`` is "bool", "int", "uint" or "float", ``size`` is in bytes, ``name`` is its C name."""

    name: str
    kind: str
    size: int

    @property
    def low(self) -> int:
        """The smallest value of an integer type."""
        return -(1 << (8 * self.size - 1)) if self.kind == "int" else 0

    @property
    def high(self) -> int:
        """The largest value of an integer type."""
        return {"bool": 1, "int": (1 << (8 * self.size - 1)) - 1}.get(self.kind, (1 << (8 * self.size)) - 1)

    @property
    def whole(self) -> bool:
        """True for integer types, bool included."""
        return self.kind != "float"

    def wrapped(self, value: int) -> int:
        """Return *value* wrapped to the range of this integer type."""
        low, span = self.low, self.high - self.low + 1
        return (value - low) % span + low

    def __str__(self) -> str:
        return self.name


@frozen
class Void:
    """No value; the target type of an untyped pointer."""

    size = 1  # for arithmetic on ``void *``, as in GNU C

    def __str__(self) -> str:
        return "void"


@frozen
class Pointer:
    """A pointer; with *reference*, a C++ reference, which is never null."""

    to: "Type"
    reference: bool = False
    size = 8

    def __str__(self) -> str:
        mark = "&" if self.reference else "*"
        if isinstance(self.to, Array):
            return f"{self.to.of} ({mark})[{self.to.count}]"
        return f"{self.to}{'' if str(self.to).endswith('*') else ' '}{mark}"


@frozen
class Array:
    """*count* elements of type *of*, which may be an array too."""

    of: "Type"
    count: int

    @property
    def size(self) -> int:
        """The size of a value of the type, in bytes."""
        return self.of.size * self.count

    def __str__(self) -> str:
        counts, inner = [], self
        while isinstance(inner, Array):
            counts.append(f"[{inner.count}]")
            inner = inner.of  # type: ignore[assignment]
        return f"{inner}{''.join(counts)}"


# Attributes that structs of the Python engine, and pointers to them, have themselves.
_TAKEN = "_ahead _c_acting _c_home _unit address assign cast copied exists field here layout leaf load part raw spot"
RECORD_ATTRIBUTES = frozenset(_TAKEN.split())
_OF_PYTHON = frozenset(("None", "True", "False"))  # these are not attributes
MARK = "\N{MIDDLE DOT}"


def attribute_of(member: str) -> str:
    """Return the attribute name for a *member* of a struct in the Python engine: marked if structs already have such an attribute."""
    ours = member in RECORD_ATTRIBUTES or member in _OF_PYTHON or member.endswith(MARK)
    return member + MARK if ours else member


UNNAMED = "unnamed_"
BASE = f"{UNNAMED}base"  # name prefix of members for base classes other than the first


def hides(name: str, depth: int) -> str:
    """Return the distinct name of member *name* in a class with *depth* bases, one of which has a member of that name."""
    return f"{name}{MARK}{depth}"


@frozen
class Field:
    """A member of a struct at *offset* bytes; the name of an anonymous union or structure begins with `UNNAMED`."""

    name: str
    type: "Type"
    offset: int


@frozen
class BitField:
    """A bit field of *width* bits, which begins at bit *start* of *storage*, a member of shared bytes."""

    name: str
    type: Arithmetic
    start: int
    width: int
    storage: str


@define(eq=False)
class Struct:
    """A struct or a union; one object per struct in a module, because structs may point to themselves."""

    name: str
    fields: tuple[Field, ...] = ()
    size: int = 0
    align: int = 1
    union: bool = False
    destroyed: bool = False  # it has a destructor
    virtual: bool = False  # it has virtual methods
    bases: "tuple[Struct, ...]" = ()  # the first base class, its first base, and so on
    derived: bool = False  # it is a base of another struct
    closure: bool = False  # it has the captures of a lambda
    others: "tuple[Struct, ...]" = ()  # other bases with virtual methods, or virtual bases

    bitfields: "tuple[BitField, ...]" = ()  # in order of declaration

    @property
    def parts(self) -> "tuple[Field | BitField, ...]":
        """The members as declared: bit fields instead of the bytes that hold them."""
        if not self.bitfields:
            return self.fields
        parts: list[Field | BitField] = []
        for member in self.fields:
            held = [bits for bits in self.bitfields if bits.storage == member.name]
            parts += held or [member]
        return tuple(parts)

    @property
    def own_fields(self) -> tuple[Field, ...]:
        """The members after those of the base."""
        return self.fields[len(self.bases[0].fields) if self.bases else 0 :]

    def part(self, base: "Struct") -> "tuple[Field, ...] | None":
        """Return the path of members to a *base*, outermost first: () for the first base and the struct itself, None if it is no base."""
        if base is self or base in self.bases:
            return ()
        for field_ in self.fields:
            if field_.name.startswith(BASE) and isinstance(field_.type, Struct):
                inner = field_.type.part(base)
                if inner is not None:
                    return (field_, *inner)
        return None

    def declares(self, name: str) -> bool:
        """Return whether the struct or its first base has a member called *name*."""
        return any(f.name in (name, hides(name, len(self.bases))) for f in self.fields)

    def named(self, name: str) -> Field:
        """Return the member that the class itself declares as *name*, which may hide a base's member."""
        hiding = hides(name, len(self.bases))
        return next((f for f in self.fields if f.name == hiding), None) or self.field(name)

    def called(self, name: str) -> str:
        """Return the name in this struct for *name*; bit fields and members of anonymous unions keep their names."""
        return self.named(name).name if self.declares(name) else name

    def field(self, name: str) -> Field:
        """Return the member called *name*."""
        return next(f for f in self.fields if f.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the struct and of its bases."""
        return (self.name, *(b.name for b in self.bases))

    def related(self, other: "Struct") -> bool:
        """Return whether one of the two is a base of the other."""
        return self.part(other) is not None or other.part(self) is not None

    @property
    def as_tuple(self) -> str:
        """A description of the Python value for this type."""
        return f"a tuple of {', '.join(f.name for f in self.fields)}"

    def paired(self, values: object) -> list[tuple[Field, object]] | None:
        """Return the leading members, each paired with its value; None if *values* is not a sequence or is too long."""
        if isinstance(values, str) or not isinstance(values, Sequence) or len(values) > len(self.fields):
            return None
        return list(zip(self.fields, values, strict=False))

    def __str__(self) -> str:
        return self.name


@frozen
class VectorRegister:
    """``vv_float`` or a similar type: a register with one element type."""

    of: Arithmetic
    size = VECTOR_REGISTER

    @property
    def dtype(self) -> DType:
        """The element type; for a mask, that of masks."""
        return dtypes.boolean if self.of == BOOL else memory_dtype(self.of)

    def __str__(self) -> str:
        return f"vv_{ {'signed char': 'int8', 'unsigned char': 'uint8', 'short': 'int16', 'int': 'int32', 'unsigned short': 'uint16', 'unsigned int': 'uint32'}.get(self.of.name, self.of.name) }"


@frozen
class ClassType:
    """A class of the C++ library or of a supplied header, such as ``std::vector<float>``.

    The run-time library knows its members by name; sources use its methods only.
    """

    name: str
    arguments: "tuple[Type | int, ...]" = ()
    size: int = 8

    def __str__(self) -> str:
        return f"{self.name}<{', '.join(map(str, self.arguments))}>" if self.arguments else self.name


@frozen
class FunctionType:
    """The target type of a function pointer."""

    result: "Type"
    parameters: "tuple[Type, ...]" = field(default=())
    size = 1

    def __str__(self) -> str:
        return f"{self.result} ({', '.join(map(str, self.parameters))})"


def refers(kind: "Type | None") -> TypeGuard[Pointer]:
    """Return whether *kind* is a reference type."""
    return isinstance(kind, Pointer) and kind.reference


def referent(kind: "Type") -> "Type":
    """Return the target type of a reference; other types unchanged."""
    return kind.to if refers(kind) else kind


def derives(kind: "Type", base: "Type") -> bool:
    """Return whether *base* is a base class of *kind*."""
    both = isinstance(kind, Struct) and isinstance(base, Struct)
    return both and kind is not base and kind.part(base) is not None  # type: ignore[union-attr, arg-type]


def alike(kind: "Type", other: "Type") -> bool:
    """Return whether values of both are the same bytes: the types are equal, or numbers of one kind and size."""
    if isinstance(kind, Arithmetic) and isinstance(other, Arithmetic):
        return (kind.kind, kind.size) == (other.kind, other.size)
    return kind == other


def element_of(kind: "Type") -> "Type":
    """Return the innermost element type of an array; other types unchanged."""
    while isinstance(kind, Array):
        kind = kind.of
    return kind


def elements_in(kind: "Type") -> int:
    """Return the number of innermost elements in a *kind*: 1 unless it is an array."""
    return kind.count * elements_in(kind.of) if isinstance(kind, Array) else 1


Type = Arithmetic | Void | Pointer | Array | Struct | VectorRegister | ClassType | FunctionType

VOID = Void()
BOOL = Arithmetic("bool", "bool", 1)
INT8 = Arithmetic("signed char", "int", 1)
UINT8 = Arithmetic("unsigned char", "uint", 1)
INT16 = Arithmetic("short", "int", 2)
UINT16 = Arithmetic("unsigned short", "uint", 2)
INT32 = Arithmetic("int", "int", 4)
UINT32 = Arithmetic("unsigned int", "uint", 4)
INT64 = Arithmetic("long", "int", 8)
UINT64 = Arithmetic("unsigned long", "uint", 8)
HALF = Arithmetic("half", "float", 2)
BFLOAT16 = Arithmetic("bfloat16_t", "float", 2)
FLOAT = Arithmetic("float", "float", 4)
DOUBLE = Arithmetic("double", "float", 8)

SCALARS = (BOOL, INT8, UINT8, INT16, UINT16, INT32, UINT32, INT64, UINT64, HALF, BFLOAT16, FLOAT, DOUBLE)

# The element types for scalar accesses to memory. No instruction works on doubles, but scalar code does, as
# in C.
DTYPE_OF: Mapping[Arithmetic, DType] = {
    BOOL: dtypes.uint8,
    INT8: dtypes.int8,
    UINT8: dtypes.uint8,
    INT16: dtypes.int16,
    UINT16: dtypes.uint16,
    INT32: dtypes.int32,
    UINT32: dtypes.uint32,
    INT64: dtypes.int64,
    UINT64: dtypes.uint64,
    HALF: dtypes.half,
    BFLOAT16: dtypes.bfloat16,
    FLOAT: dtypes.float32,
    DOUBLE: dtypes.float64,
}


def pointed_dtype(kind: "Type") -> DType | None:
    """Return the element type of a pointer to numbers; None for other types."""
    return DTYPE_OF.get(kind.to) if isinstance(kind, Pointer) and isinstance(kind.to, Arithmetic) else None


@functools.lru_cache(maxsize=256)
def memory_dtype(kind: Arithmetic) -> DType:
    """Return the element type of memory with numbers of type *kind*."""
    plain = next(s for s in SCALARS if alike(s, kind) and element_name(s) == element_name(kind))
    return DTYPE_OF[plain]


def element_name(kind: Arithmetic) -> str:
    """Return the name of a number's element type; an enumeration has that of its integers."""
    return (
        {"bool": "bool", "float": f"float{8 * kind.size}"}.get(kind.kind, f"{kind.kind}{8 * kind.size}")
        if kind.name not in (BFLOAT16.name, "bfloat16")  # the names in sources and in layouts
        else "bfloat16"
    )
