"""Converts the library's types to types of the intermediate form."""

from collections.abc import Callable, Container, Iterator, Mapping
from typing import Any

from mlusim.bangc import types as t
from mlusim.bangc.parse.library import ClangType, Cursor, Library

SCALARS: Mapping[int, t.Arithmetic | t.Void] = {
    2: t.VOID,
    3: t.BOOL,
    4: t.UINT8,
    5: t.UINT8,
    6: t.UINT16,
    7: t.UINT32,
    8: t.UINT16,
    9: t.UINT32,
    10: t.UINT64,
    11: t.UINT64,
    13: t.INT8,
    14: t.INT8,
    15: t.INT32,
    16: t.INT16,
    17: t.INT32,
    18: t.INT64,
    19: t.INT64,
    21: t.FLOAT,
    22: t.DOUBLE,
    23: t.DOUBLE,
    31: t.HALF,
    32: t.HALF,
    39: t.BFLOAT16,
}
_WITH_BODIES = ("pair", "initializer_list", "integer_sequence")
CLOSURE = "(lambda"  # prefix of the library's name for a lambda's class
NULLPTR, POINTER, LVALUE, RVALUE, RECORD, ENUM = 24, 101, 103, 104, 105, 106
FUNCTION, CONSTANT_ARRAY, INCOMPLETE_ARRAY, MEMBER = 111, 112, 114, 117
REGISTERS: Mapping[str, t.Arithmetic] = {
    "vv_bool": t.BOOL,
    "vv_float": t.FLOAT,
    "vv_half": t.HALF,
    "vv_bfloat16": t.BFLOAT16,
    "vv_int8": t.INT8,
    "vv_uint8": t.UINT8,
    "vv_int16": t.INT16,
    "vv_uint16": t.UINT16,
    "vv_int32": t.INT32,
    "vv_uint32": t.UINT32,
    "vv_int64": t.INT64,
    "vv_uint64": t.UINT64,
}


class TypeReader:
    """Converts types, with one object per struct of the file."""

    def __init__(self, library: Library, is_prelude: Callable[[str], bool]) -> None:
        self._library = library
        self._is_prelude = is_prelude
        self._known: dict[tuple[Any, ...], t.Type] = {}
        self.structs: dict[str, t.Struct] = {}
        self.patterned: dict[str, bool] = {}  # whether the templates of structs declare destructors
        self.declared: dict[str, Any] = {}  # the library's declarations of structs, by name
        self._structs: dict[tuple[Any, str], t.Struct] = {}
        self.enumerations: dict[str, dict[str, int]] = {}  # numbers by name, by the name of the type

    def of_cursor(self, cursor: Cursor) -> t.Type:
        """Return the type of an expression."""
        kind = self._library.lib.clang_getCursorType(cursor)
        key = (kind._kind_id, kind.data[0], kind.data[1])
        cached = self._known.get(key)
        if cached is None:
            kind._tu = cursor._tu
            cached = self._known[key] = self.of(kind)
        return cached

    def of(self, kind: ClangType) -> t.Type:
        """Return the type for the library's type *kind*."""
        kind = kind.get_canonical()
        number = kind._kind_id
        if number in SCALARS:
            return SCALARS[number]
        if number == NULLPTR:
            return t.Pointer(t.VOID)
        if number == POINTER:
            return t.Pointer(self.of(kind.get_pointee()))
        if number in (LVALUE, RVALUE):
            return t.Pointer(self.of(kind.get_pointee()), reference=True)
        if number in (CONSTANT_ARRAY, INCOMPLETE_ARRAY):
            return t.Array(self.of(kind.element_type), kind.element_count if number == CONSTANT_ARRAY else 0)
        if number == ENUM:
            return self._enumeration(kind.get_declaration())
        if number == RECORD:
            return self._struct(kind)
        if number == FUNCTION:
            parameters = tuple(self.of(p) for p in kind.argument_types())
            return t.FunctionType(self.of(kind.get_result()), parameters)
        if number == MEMBER:
            return self._member_pointer(kind)
        # The library has no number for the rest; libclang 18 and before have none for bfloat16.
        bfloat16 = kind.spelling.split()[-1:] == ["__bf16"]
        return t.BFLOAT16 if bfloat16 else t.ClassType(kind.spelling or "?")

    def _member_pointer(self, kind: ClangType) -> t.Type:
        """Return the type of a pointer to member: of a method, a function with its object; of a field, an integer (offset plus one)."""
        pointee = self.of(kind.get_pointee())
        if not isinstance(pointee, t.FunctionType):
            return t.INT64
        this = t.Pointer(self.of(kind.get_class_type()))
        return t.Pointer(t.FunctionType(pointee.result, (this, *pointee.parameters)))

    def _enumeration(self, declaration: Cursor) -> t.Type:
        carrier = self.of(declaration.enum_type)
        assert isinstance(carrier, t.Arithmetic)
        name = declaration.type.spelling
        if name not in self.enumerations:
            constants = (c for c in declaration.get_children() if c.kind.name == "ENUM_CONSTANT_DECL")
            self.enumerations[name] = {c.spelling: self.enumerator(c) for c in constants}
        return t.Arithmetic(name, carrier.kind, carrier.size)

    def enumerator(self, cursor: Cursor) -> int:
        """Return the value of an enumerator; the bindings misread unsigned types behind a typedef, and bool, as signed."""
        carrier = self.of(cursor.semantic_parent.enum_type)
        assert isinstance(carrier, t.Arithmetic)
        return carrier.wrapped(int(cursor.enum_value))

    def _struct(self, kind: ClangType) -> t.Type:
        declaration = kind.get_declaration()
        name = kind.spelling.removeprefix("const ")
        if name in REGISTERS:
            return t.VectorRegister(REGISTERS[name])
        if self._is_class(declaration):
            return self._class(kind, declaration)
        key = (declaration.canonical.data[0], name)
        struct = self._structs.get(key)
        if struct is None:
            while name in self.structs:  # the name exists in another function or instantiation
                name += "'"
            struct = self._structs[key] = self.structs[name] = t.Struct(name)
            self.declared[name] = declaration
            self._fill(struct, kind, declaration)
        return struct

    def _fill(self, struct: t.Struct, kind: ClangType, declaration: Cursor) -> None:
        """Read the members and bases of *struct*, which is registered already, because they may point to it."""
        struct.closure = struct.name.startswith(CLOSURE)
        struct.bases, struct.others, beside = self._bases(declaration)
        first = struct.bases[0].fields if struct.bases else ()
        for base in (*struct.bases, *(f.type for f in beside)):
            base.derived = True  # type: ignore[union-attr]
        above = {f.name for f in (*first, *beside)}
        struct.union = declaration.kind.name == "UNION_DECL"
        bits = tuple(self._bit_fields(struct, kind))
        struct.bitfields = (*(struct.bases[0].bitfields if struct.bases else ()), *(b for _, b in bits))
        plain = (
            self._field(struct, n, f, above) for n, f in enumerate(kind.get_fields()) if not f.is_bitfield()
        )
        declared = (*plain, *dict.fromkeys(field for field, _ in bits))
        if bits:
            declared = tuple(sorted(declared, key=lambda field: field.offset))
        struct.fields = (*first, *beside, *declared)
        struct.size, struct.align = max(kind.get_size(), 0), max(kind.get_align(), 1)
        parts = (*struct.bases, *(t.element_of(f.type) for f in struct.fields))
        pattern = self._library.template(declaration)
        if pattern is not None:  # a specialisation does not show its destructor
            self.patterned[struct.name] = destructor(pattern) is not None
            declaration = pattern
        struct.destroyed = _destroyed(declaration) or any(map(ends, parts))
        methods = _declared(declaration, "CXX_METHOD", "DESTRUCTOR")
        struct.virtual = any(m.is_virtual_method() for m in methods) or any(b.virtual for b in struct.bases)

    def _field(self, struct: t.Struct, n: int, field: Cursor, above: Container[str]) -> t.Field:
        """Return member number *n* declared in a class; a member that hides one of *above* gets a distinct name."""
        name = field.spelling
        if not name.isidentifier():
            name = f"{'captured_' if struct.closure else t.UNNAMED}{n}"
        if name in above:
            name = t.hides(name, len(struct.bases))
        return t.Field(name, self.of(field.type), field.get_field_offsetof() // 8)

    def _bit_fields(self, struct: t.Struct, kind: ClangType) -> Iterator[tuple[t.Field, t.BitField]]:
        """Yield the bit fields of a class, each with the field of bytes that consecutive bit fields share."""
        runs: list[list[Any]] = [[]]
        for field in kind.get_fields():
            if not field.is_bitfield() or struct.union:
                runs.append([])
            if field.is_bitfield() and field.spelling:
                runs[-1].append(field)
        for n, run in enumerate(runs):
            ends = [(f.get_field_offsetof(), f.get_field_offsetof() + f.get_bitfield_width()) for f in run]
            first = min((start // 8 for start, _ in ends), default=0)
            last = max((-(-end // 8) for _, end in ends), default=0)
            held = t.Field(f"{t.UNNAMED}bits{len(struct.bases)}_{n}", t.Array(t.UINT8, last - first), first)
            for field, (start, end) in zip(run, ends, strict=True):
                number = self.of(field.type)
                assert isinstance(number, t.Arithmetic)
                yield held, t.BitField(field.spelling, number, start - 8 * first, end - start, held.name)

    def _bases(
        self, declaration: Cursor
    ) -> tuple[tuple[t.Struct, ...], tuple[t.Struct, ...], tuple[t.Field, ...]]:
        """Return the first base class with its bases; other bases as which objects cannot be accessed; and the remaining bases as members."""
        definition = declaration.get_definition() or declaration
        specifiers = [c for c in definition.get_children() if c.kind.name == "CXX_BASE_SPECIFIER"]
        kinds = [(self.of(c.type), c) for c in specifiers]
        structs = [(kind, c) for kind, c in kinds if isinstance(kind, t.Struct)]
        if not structs or kinds[0][0] is not structs[0][0]:
            return (), (), ()
        base, at = structs[0][0], _data_size(*structs[0])
        refused, beside = [*base.others], list[t.Field]()
        for n, (kind, specifier) in enumerate(structs[1:], 1):
            if kind.virtual or self._library.lib.clang_isVirtualBase(specifier):
                refused += [kind, *kind.bases, *kind.others]
            elif kind.fields:
                at = -(-at // kind.align) * kind.align
                beside.append(t.Field(f"{t.BASE}{len(base.bases)}_{n}", kind, at))
                at += _data_size(kind, specifier)
        return (base, *base.bases), tuple(refused), tuple(beside)

    def _is_class(self, declaration: Cursor) -> bool:
        """Return whether *declaration* is a class with methods in a supplied header; plain data structures have none.

        Classes of ``bang::`` and a few of ``std::`` have bodies and are translated like those of a source.
        """
        if not self._is_prelude(str(declaration.location.file)) or _inside(declaration, "bang"):
            return False
        if declaration.spelling in _WITH_BODIES and _inside(declaration, "std"):
            return False
        # A specialisation shows only its used members.
        whole = self._library.template(declaration) or declaration
        methods = _declared(whole, "CONSTRUCTOR", "CXX_METHOD", "FUNCTION_TEMPLATE")
        return whole.get_definition() is None or any(True for _ in methods)

    def _class(self, kind: ClangType, declaration: Cursor) -> t.Type:
        arguments: list[t.Type | int] = []
        for n in range(max(0, kind.get_num_template_arguments())):
            argument = kind.get_template_argument_type(n)
            if argument._kind_id:
                arguments.append(self.of(argument))
            else:
                arguments.append(int(declaration.get_template_argument_value(n)))
        scope = declaration.semantic_parent
        prefix = "std::" if scope is not None and scope.spelling == "std" else ""
        return t.ClassType(prefix + declaration.spelling, tuple(arguments))


def _data_size(struct: t.Struct, specifier: Cursor) -> int:
    """Return the size of a base class to the end of its data; the next base may use the tail, except after plain data [Itanium ABI]."""
    if specifier.type.is_pod() and struct.fields:
        return struct.size
    return max((f.offset + f.type.size for f in struct.fields), default=8 if struct.virtual else 0)


def _inside(declaration: Cursor, namespace: str) -> bool:
    """Return whether *declaration* is in *namespace*, at any depth."""
    scope = declaration.semantic_parent
    while scope is not None and scope.kind.name == "NAMESPACE":
        if scope.spelling == namespace:
            return True
        scope = scope.semantic_parent
    return False


def block(cursor: Cursor) -> Any | None:
    """Return the cursor of a function's body, or None."""
    return next((child for child in cursor.get_children() if child.kind.name == "COMPOUND_STMT"), None)


def _destroyed(declaration: object) -> bool:
    """Return whether a class has a destructor with an effect."""
    method = destructor(declaration)
    if method is None or method.is_default_method():
        return False
    body = block(method)
    return body is None or next(iter(body.get_children()), None) is not None


def destructor(declaration: Cursor) -> Any:
    """Return the destructor declared by a class, or None."""
    return next(_declared(declaration, "DESTRUCTOR"), None)


def _declared(declaration: Cursor, *kinds: str) -> Iterator[Any]:
    """Yield the declarations of some *kinds* in the definition of a class, if it has one."""
    definition = declaration.get_definition()
    return (c for c in (() if definition is None else definition.get_children()) if c.kind.name in kinds)


def ends(kind: t.Type) -> bool:
    """Return whether *kind* is a struct with a destructor."""
    return isinstance(kind, t.Struct) and kind.destroyed
