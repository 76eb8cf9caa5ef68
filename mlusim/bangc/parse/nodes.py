"""The parser's results as plain objects: nodes of bodies, declarations, types, and the reader that creates them from cursors.

The rest of the front end uses these objects only, never the library.
"""

import ctypes
import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from mlusim.bangc.errors import Diagnostic
from mlusim.bangc.ir import Span
from mlusim.bangc.parse.library import (
    BINARY,
    UNARY,
    ClangLocation,
    ClangString,
    ClangTree,
    Cursor,
    Library,
)
from mlusim.bangc.parse.sources import SourceTexts, is_invocation
from mlusim.bangc.parse.type_reader import CLOSURE, TypeReader, block, destructor
from mlusim.bangc.types import Array, Pointer, Struct, Type, element_of, referent

END = "__mlusim_end<"  # a helper function that reveals a destructor
BEGIN, STOP = "__mlusim_begin<", "__mlusim_stop<"  # helper functions that call begin() and end()


_OWN = ("INTERNAL", "UNIQUE_EXTERNAL")  # static, and in an unnamed namespace


class Node:
    """A node of a body: ``kind`` is the library's name of the kind, ``op`` the operator, if it has one.

    ``type`` is set for expressions; ``decl`` is the declaration to which a name, a member or a call refers,
    or that a declaration node contains; ``count`` the number of arguments of a call. ``in_macro`` says that
    the location is in the body of a macro; ``invoked`` is the location of the invocation, for the first
    statement of a macro.
    """

    __slots__ = ("children", "count", "cursor", "decl", "in_macro", "invoked", "kind", "op", "span", "type")

    def __init__(self, kind: str, span: Span, cursor: Cursor, *children: "Node") -> None:
        self.kind = kind
        self.span = span
        self.cursor = cursor
        self.children: list[Node] = [*children]
        self.op = ""
        self.type: Any = None
        self.decl: Declaration | None = None
        self.count = 0
        self.in_macro = False
        self.invoked: Span | None = None

    def __repr__(self) -> str:
        return f"<{self.kind} {self.op} {self.span}>"

    @property
    def left_out(self) -> bool:
        """True for an argument that is not in the source, because the call uses the parameter's default."""
        return self.kind == "UNEXPOSED_EXPR" and not self.children and not self.span.file


_LAMBDA = re.compile(r"\(lambda at [^()]*?:(\d+):\d+\)")


def _vendor(spelling: Any) -> str:
    """Return a type in BANG C's spelling of half and bfloat16_t, and lambdas by their line."""
    text = str(spelling).replace("_Float16", "half").replace("__bf16", "bfloat16_t")
    return _LAMBDA.sub(r"lambda:\1", text) if "(lambda at " in text else text


def _integer(cursor: Cursor, n: int) -> int:
    """Return template argument *n*; ``true`` is a single bit, which would be -1 if it were read as signed."""
    signed = int(cursor.get_template_argument_value(n))
    return 1 if cursor.get_template_argument_unsigned_value(n) == 1 else signed


_ALIGNMENT = re.compile(r"\b(?:alignas|aligned)\b(?:\(((?:[^()]|\([^()]*\))*)\))?")
_WIDEST = 16  # of ``aligned`` without a number, as on the compiler's host
_WIDTHS: Mapping[str, int] = {
    "char": 1, "short": 2, "_Float16": 2, "int": 4, "unsigned int": 4, "float": 4, "half": 2, "long": 8, "unsigned long": 8,
    "long long": 8, "unsigned long long": 8, "double": 8,
}  # fmt: skip


def _bytes_of(text: str) -> int | None:
    """Return the value of a product or quotient of numbers and type sizes, or the size of a type; None for other text."""
    if text in ("", *_WIDTHS):
        return _WIDTHS.get(text, _WIDEST)
    sized = re.sub(r"sizeof\(([\w ]+)\)", lambda m: str(_WIDTHS.get(m[1], m[1])), text)
    plain = re.sub(r"(?<=\d)[uUlL]+", "", sized.removeprefix("(").removesuffix(")"))
    if not re.fullmatch(r"\d{1,9}(?: [*/] [1-9]\d{0,8}){0,3}", plain):
        return None
    number, *rest = plain.split()
    value = int(number)
    for op, factor in zip(rest[::2], rest[1::2], strict=True):
        value = value * int(factor) if op == "*" else value // int(factor)
    return value


FUNCTIONS = (
    "FUNCTION_DECL",
    "CXX_METHOD",
    "CONSTRUCTOR",
    "DESTRUCTOR",
    "CONVERSION_FUNCTION",
    "FUNCTION_TEMPLATE",
)


class Declaration:
    """A function, a variable, a parameter, a field, an enumerator or a type of the sources."""

    def __init__(self, reader: "CursorReader", cursor: Cursor) -> None:
        self._reader = reader
        self._cursor = cursor
        self.kind: str = reader.kinds[cursor._kind_id]
        self.name: str = cursor.spelling
        self.node: Node | None = None  # the node in a body that declares it

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @cached_property
    def span(self) -> Span:
        """The location of its name."""
        location = self._cursor.location
        line, column = location.line, location.column
        return Span(str(location.file), line, column, line, column + len(self.name))

    @cached_property
    def from_prelude(self) -> bool:
        """Return whether a header that mlusim supplies declares it."""
        return self._reader.is_prelude(self.span.file)

    @cached_property
    def type(self) -> Type:
        """Its type; a parameter declared as an array is a pointer."""
        kind = self._reader.types.of(self._cursor.type)
        return Pointer(kind.of) if self.decayed and isinstance(kind, Array) else kind

    @cached_property
    def bit_field(self) -> bool:
        """True for a member that is a bit field."""
        return self.kind == "FIELD_DECL" and bool(self._cursor.is_bitfield())

    @cached_property
    def decayed(self) -> bool:
        """True for a parameter declared as an array."""
        return self.kind == "PARM_DECL" and isinstance(self._reader.types.of(self._cursor.type), Array)

    @cached_property
    def spelling(self) -> str:
        """Its type as spelled in the source."""
        return _vendor(self._cursor.type.spelling)

    @cached_property
    def constant(self) -> bool:
        """True if its type is const."""
        kind = self._cursor.type
        return bool(kind.is_const_qualified() or kind.get_canonical().is_const_qualified())

    @cached_property
    def result(self) -> Type:
        """The type of a function's result."""
        return self._reader.types.of(self._cursor.result_type)

    @cached_property
    def symbol(self) -> str:
        """The mangled name, or the plain name if it has none."""
        if self.of_lambda:  # the library renumbers lambdas on every access
            return self._reader.numbered(self)
        name = str(self._cursor.mangled_name or self._cursor.get_usr())
        if self.kind == "VAR_DECL" or "global" in self.annotations:  # launches know kernels by their names
            return name
        # Static functions in different files may have the same name.
        private = self._cursor.linkage.name in _OWN or name.startswith("_ZZL")
        return f"{name}{self._reader.suffix}" if private else name

    @cached_property
    def of_lambda(self) -> bool:
        """True for the body of a lambda."""
        parent = self._cursor.semantic_parent
        return self.kind == "CXX_METHOD" and parent is not None and parent.type.spelling.startswith(CLOSURE)

    @cached_property
    def variadic(self) -> bool:
        """True if it accepts more arguments than parameters."""
        kind = self._cursor.type
        return kind.kind.name == "FUNCTIONPROTO" and bool(kind.is_function_variadic())

    @cached_property
    def call_operator(self) -> "Declaration | None":
        """The method that is called when an object of this type is called; None for a template or if there is none."""
        whole = self._cursor.type.get_declaration()
        methods = (c for c in whole.get_children() if c.kind.name == "CXX_METHOD")
        return next((self._reader.declaration(c) for c in methods if c.spelling == "operator()"), None)

    @cached_property
    def parameters(self) -> tuple["Declaration", ...]:
        """The parameters of a function."""
        return tuple(self._reader.declaration(c) for c in self._cursor.get_arguments())

    @cached_property
    def default(self) -> "Node | None":
        """The default argument of a parameter, or the default value of a member."""
        name = self._cursor.location.offset  # template arguments of the type come before the name
        expressions = (c for c in self._cursor.get_children() if c.kind.is_expression())
        values = [c for c in expressions if c.extent.start.offset >= name]
        if self._cursor.type.get_canonical().kind.name.endswith("ARRAY"):  # the bounds come first
            values = [c for c in values if c.kind.name in ("INIT_LIST_EXPR", "STRING_LITERAL")]
        if self.bit_field:  # the width comes first
            del values[0]
        return self._reader.tree(values[-1]) if values else None

    @property
    def _arguments(self) -> list[Any]:
        """The arguments of a specialisation: types of the library, and integers."""
        cursor, numbers = self._cursor, range(max(0, self._cursor.get_num_template_arguments()))
        kinds = [cursor.get_template_argument_type(n) for n in numbers]
        return [kinds[n] if kinds[n]._kind_id else _integer(cursor, n) for n in numbers]

    @cached_property
    def type_arguments(self) -> tuple[Type | int, ...]:
        """The arguments of a specialisation as types and integers."""
        of = self._reader.types.of
        return tuple(a if isinstance(a, int) else of(a) for a in self._arguments)

    @cached_property
    def title(self) -> str:
        """The name for display, with template arguments."""
        if self.of_lambda:
            return f"lambda:{self.span.line}"
        arguments = [_vendor(a if isinstance(a, int) else a.spelling) for a in self._arguments]
        return f"{self.name}<{', '.join(arguments)}>" if arguments else self.name

    @cached_property
    def definition(self) -> "Declaration | None":
        """The declaration with the body or the value."""
        definition = self._cursor.get_definition()
        return None if definition is None else self._reader.declaration(definition)

    @cached_property
    def defined(self) -> bool:
        """Return whether it is a definition itself."""
        return bool(self._cursor.is_definition())

    @cached_property
    def parent(self) -> "Declaration | None":
        """The enclosing declaration."""
        parent = self._cursor.semantic_parent
        return None if parent is None else self._reader.declaration(parent)

    @cached_property
    def annotations(self) -> tuple[str, ...]:
        """The words of its attributes: "nram", "global", "device", ..."""
        names = {
            "ANNOTATE_ATTR": None, "CUDAGLOBAL_ATTR": "global", "CUDADEVICE_ATTR": "device", "ALIGNED_ATTR": "aligned",
        }  # fmt: skip
        return tuple(
            names[c.kind.name] or c.spelling for c in self._cursor.get_children() if c.kind.name in names
        )

    @property
    def alignment(self) -> int | None:
        """The largest ``alignas`` or ``aligned`` in bytes; 1 without one, None if one is not a literal number."""
        if "aligned" not in self.annotations:
            return 1
        asked = _ALIGNMENT.findall(self._reader.library.printed(self._cursor))
        numbers = [n for n in map(_bytes_of, asked) if n is not None]
        return max(1, *numbers) if len(numbers) == len(asked) > 0 else None

    @property
    def static(self) -> bool:
        """True if it is declared ``static``."""
        return bool(self._cursor.storage_class == self._reader.library.ci.StorageClass.STATIC)

    @property
    def of_function(self) -> bool:
        """True for a local variable of a function."""
        parent = self._cursor.semantic_parent
        return self.kind == "VAR_DECL" and parent is not None and parent.kind.name in FUNCTIONS

    def inside(self, symbol: str) -> bool:
        """Return whether it is declared inside the function with that symbol."""
        parent = self.parent
        return parent is not None and parent.symbol == symbol

    @property
    def static_method(self) -> bool:
        """True for a static method."""
        return bool(self._cursor.is_static_method())

    @property
    def implicit(self) -> bool:
        """True if the compiler generated it: at the location of its class, or ``= default``."""
        parent = self._cursor.semantic_parent
        beside_class = parent is not None and parent.location == self._cursor.location
        return bool(beside_class or self._cursor.is_default_method())

    @property
    def makes_copy(self) -> bool:
        """True for a copy or move constructor."""
        return bool(self._cursor.is_copy_constructor() or self._cursor.is_move_constructor())

    @property
    def takes_temporary(self) -> bool:
        """True if its first parameter is ``T &&``, so that it moves."""
        first = next(iter(self._cursor.type.argument_types()), None)
        return first is not None and first.get_canonical().kind.name == "RVALUEREFERENCE"

    @cached_property
    def value(self) -> int | float | None:
        """The value of an enumerator or of a constant variable, or None."""
        if self.kind == "ENUM_CONSTANT_DECL":
            return self._reader.types.enumerator(self._cursor)
        return self._reader.library.evaluate(self._cursor)

    @cached_property
    def initialiser(self) -> "Node | None":
        """The initial value of a variable, as written."""
        cursor = self._reader.library.lib.clang_Cursor_getVarDeclInitializer(self._cursor)
        if cursor._kind_id in self._reader.nothing:
            return None
        cursor._tu = self._cursor._tu
        return self._reader.tree(cursor, self.node)

    @cached_property
    def body(self) -> "Node | None":
        """The body of a function."""
        cursor = block(self._cursor)
        return None if cursor is None else self._reader.tree(cursor)

    @property
    def body_span(self) -> Span | None:
        """The extent of a function's body, or None."""
        cursor = block(self._cursor)
        if cursor is None:
            return None
        first, last = cursor.extent.start, cursor.extent.end
        return Span(str(first.file), first.line, first.column, last.line, last.column)

    def surrounds(self, place: Diagnostic) -> bool:
        """Return whether the location of a compiler message is inside the body."""
        body = self.body_span
        if body is None or body.file != place.file:
            return False
        return (body.line, body.column) <= (place.line, place.column) <= (body.end_line, body.end_column)

    @property
    def invalid(self) -> bool:
        """True if the compiler could not create it, such as a specialisation without a body."""
        return bool(self._reader.library.lib.clang_isInvalidDeclaration(self._cursor))

    @property
    def qualified(self) -> str:
        """Its name as in the compiler's notes: with its scopes and canonical template arguments."""
        arguments = [str(a) if isinstance(a, int) else a.get_canonical().spelling for a in self._arguments]
        name = f"{self.name}<{', '.join(arguments)}>" if arguments else self.name
        parent = self._cursor.semantic_parent
        while parent is not None and parent.kind.name != "TRANSLATION_UNIT":
            kind = parent.type.get_canonical().spelling
            if kind:  # of a class, including its scopes
                return f"{kind}::{name}"
            name, parent = f"{parent.spelling}::{name}", parent.semantic_parent
        return name

    @property
    def scope(self) -> str:
        """The names of the enclosing scopes, each followed by "::"; unnamed scopes are omitted."""
        names, parent = "", self._cursor.semantic_parent
        while parent is not None and parent.kind.name != "TRANSLATION_UNIT":
            if parent.spelling and not parent.is_anonymous():
                names = f"{parent.spelling}::{names}"
            parent = parent.semantic_parent
        return names

    @cached_property
    def initialisers(self) -> "tuple[Node, ...]":
        """The member initialisers of a constructor: each a reference to the member, then its value."""
        children = [c for c in self._cursor.get_children() if c.kind.name != "COMPOUND_STMT"]
        return tuple(
            self._reader.tree(c) for c in children if c.kind.name == "MEMBER_REF" or c.kind.is_expression()
        )

    @property
    def virtual(self) -> bool:
        """True for a virtual method."""
        return bool(self._cursor.is_virtual_method())

    @property
    def pure(self) -> bool:
        """True for a pure virtual method."""
        return bool(self._cursor.is_pure_virtual_method())

    @cached_property
    def signature(self) -> tuple[str, ...]:
        """The types of the parameters, and whether the method is const."""
        kind = self._cursor.type.get_canonical()
        constant = str(self._cursor.is_const_method())
        return (*(str(a.get_canonical().spelling) for a in kind.argument_types()), constant)

    @cached_property
    def fields(self) -> "tuple[Declaration, ...]":
        """The members of a class; ``default`` is the default value of a member."""
        whole = self._cursor.get_definition() or self._cursor
        # The library shows members of a specialisation without their default values.
        pattern = self._reader.library.template(whole)
        if pattern is not None and pattern.location == whole.location:  # an explicit one shows its own values
            whole = pattern
        members = (c for c in whole.get_children() if c.kind.name == "FIELD_DECL")
        return tuple(self._reader.declaration(c) for c in members)

    @cached_property
    def original(self) -> "Declaration | None":
        """The constructor itself, or the base's constructor that ``using`` inherits; None if the library does not show it."""
        owner = self._cursor.semantic_parent
        if self.name.partition("<")[0] == owner.spelling.partition("<")[0]:
            return self
        bases = [c.type.get_canonical() for c in owner.get_children() if c.kind.name == "CXX_BASE_SPECIFIER"]
        wanted = [a.get_canonical() for a in self._cursor.type.argument_types()]
        for child in self._reader.library.used(owner):
            of_base = child.kind.name == "CONSTRUCTOR" and child.semantic_parent.type.get_canonical() in bases
            if of_base and wanted == [a.get_canonical() for a in child.type.argument_types()]:
                return self._reader.declaration(child)
        return None

    @property
    def children(self) -> "Iterator[Declaration]":
        """Yield the declarations inside."""
        for child in self._cursor.get_children():
            if child.kind.is_declaration():
                yield self._reader.declaration(child)


_RECURSE, _CONTINUE = 2, 1
SPELLS = 19  # first library version that locates pieces inside a macro's body
_EXPRESSIONS = range(100, 200)
REFERRING = frozenset((101, 102, 103))  # DeclRefExpr, MemberRefExpr, CallExpr
_BINARY = frozenset((114, 115))  # BinaryOperator, CompoundAssignOperator
_UNARY = 112
_CALL = 103
_CAPTURED = 50  # VariableRef: in the capture list of a lambda
_DECLARATIONS = range(1, 40)
_BRANCHES = range(200, 230)  # statements except declarations
_HOLDERS = frozenset(("COMPOUND_STMT", "CASE_STMT", "DEFAULT_STMT", "LABEL_STMT"))  # of statements


def _digest(path: str) -> str:
    return hashlib.blake2b(path.encode(), digest_size=4).hexdigest()


class CursorReader:
    """Converts the library's cursors to nodes and declarations; one object per cursor."""

    def __init__(
        self,
        library: Library,
        prelude: tuple[str, ...],
        rows: Mapping[int, str],
        sources: SourceTexts,
        path: str,
    ) -> None:
        self.suffix = f"_of_{_digest(path)}"  # suffix for symbols of functions local to this file
        self.library = library
        self.sources = sources
        self.kinds = {number: kind.name for number, kind in enumerate(library.ci.CursorKind._kinds) if kind}
        self.nothing = frozenset(range(70, 74))  # kinds of invalid cursors
        self.types = TypeReader(library, self.is_prelude)
        self._prelude = prelude
        self._bodies = tuple(f"{folder}/core/" for folder in prelude)
        self.rows = rows  # rows of the instruction set, by the header line that declares a form
        self.ends: dict[str, Declaration] = {}  # destructors of templates, by struct
        self._known: dict[tuple[int, ...], Declaration] = {}
        self._numbers: dict[int, int] = {}  # of lambda bodies
        self._files: dict[int, str] = {}
        self._file_slot = (ctypes.c_void_p * 1)()
        self._line_slot = (ctypes.c_uint * 1)()
        self._column_slot = (ctypes.c_uint * 1)()
        at = ctypes.CFUNCTYPE(None, library.ci.SourceLocation, *[ctypes.c_void_p] * 4)
        # Only later library versions locate pieces inside a macro's body; earlier ones give the location of
        # the invocation.
        spells = library.version >= SPELLS
        self._locate = at(("clang_getSpellingLocation" if spells else "clang_getFileLocation", library.lib))
        self._invoked = at(("clang_getExpansionLocation", library.lib)) if spells else None
        self._written = at(("clang_getFileLocation", library.lib))
        self._name = ctypes.CFUNCTYPE(ClangString, ctypes.c_void_p)(("clang_getFileName", library.lib))
        visitor = ctypes.CFUNCTYPE(ctypes.c_int, library.ci.Cursor, library.ci.Cursor, ctypes.py_object)
        self._visitor_type = visitor
        self._visit = ctypes.CFUNCTYPE(ctypes.c_uint, library.ci.Cursor, visitor, ctypes.py_object)(
            ("clang_visitChildren", library.lib)
        )

    def is_prelude(self, path: str) -> bool:
        """Return whether *path* is a supplied header whose functions the run-time library implements."""
        return path.startswith(self._prelude) and not path.startswith(self._bodies)

    def declaration(self, cursor: Cursor) -> Declaration:
        """Return the declaration of *cursor*."""
        # The second word tells the first declaration of a group, but not in references to it.
        key = (cursor._kind_id, cursor.data[0] or 0)
        declaration = self._known.get(key)
        if declaration is None:
            declaration = self._known[key] = Declaration(self, cursor)
        return declaration

    def numbered(self, declaration: Declaration) -> str:
        """Return a symbol for the body of a lambda."""
        span = declaration.span
        n = self._numbers.setdefault(id(declaration), len(self._numbers))
        return f"_lambda_{_digest(span.file)}_{span.line}_{span.column}_{n}{self.suffix}"

    def class_of(self, node: Node) -> Declaration:
        """Return the class of an object."""
        return self.declaration(node.cursor.type.get_canonical().get_declaration())

    def constructors(self, struct: Struct) -> tuple[Declaration, ...]:
        """Return the constructors that the class of a struct declares."""
        children = self.types.declared[struct.name].get_children()
        return tuple(self.declaration(c) for c in children if c.kind.name == "CONSTRUCTOR")

    def mutable(self, kind: Type) -> bool:
        """Return whether an object of *kind* has a mutable member."""
        kind = element_of(kind)
        if not isinstance(kind, Struct):
            return False
        declared = self.types.declared.get(kind.name)
        fields = () if declared is None else declared.get_children()
        if any(c.kind.name == "FIELD_DECL" and c.is_mutable_field() for c in fields):
            return True
        return any(self.mutable(part) for part in (*(f.type for f in kind.fields), *kind.bases))

    def assignments(self, struct: Struct) -> tuple[Declaration, ...]:
        """Return the ``operator=`` methods of a struct's class that take an object of the class."""
        methods = (c for c in self.types.declared[struct.name].get_children() if c.kind.name == "CXX_METHOD")
        operators = (self.declaration(c) for c in methods if c.spelling == "operator=")
        return tuple(
            m for m in operators if len(m.parameters) == 1 and referent(m.parameters[0].type) is struct
        )

    def hides(self, struct: Struct, kind: str) -> bool:
        """Return whether a struct's template declares a copy constructor or assignment (*kind*) that the library does not show."""
        pattern = self.library.template(self.types.declared[struct.name])
        if pattern is None:
            return False
        declarations = (self.declaration(c) for c in pattern.get_children() if c.kind.name == kind)
        if kind == "CONSTRUCTOR":
            return any(c.makes_copy and not c.implicit for c in declarations)
        return any(c.name == "operator=" and len(c.parameters) == 1 and not c.implicit for c in declarations)

    def destructor(self, struct: Struct) -> Declaration | None:
        """Return the destructor declared by a struct's class; None without one, or if it is defaulted."""
        if self.types.patterned.get(struct.name) and destructor(self.types.declared[struct.name]) is None:
            return self.ends.get(struct.name)
        cursor = destructor(self.types.declared[struct.name])
        return None if cursor is None or cursor.is_default_method() else self.declaration(cursor)

    def method(self, struct: Struct, name: str, signature: tuple[str, ...]) -> Declaration | None:
        """Return the method with these parameters declared by a struct's class."""
        return next((d for d in self.methods(struct, name) if d.signature == signature), None)

    def methods(self, struct: Struct, name: str) -> Iterator[Declaration]:
        """Yield the methods called *name* declared by a struct's class."""
        children = self.types.declared[struct.name].get_children()
        return (self.declaration(c) for c in children if c.kind.name == "CXX_METHOD" and c.spelling == name)

    def hidden_end(self, struct: Struct) -> bool:
        """Return whether a struct's template has a destructor that the library has not shown yet."""
        return bool(self.types.patterned.get(struct.name)) and self.destructor(struct) is None

    def is_dynamic(self, node: Node) -> bool:
        """Return whether a call is virtual."""
        return bool(self.library.lib.clang_Cursor_isDynamicCall(node.cursor))

    def tree(self, root: Cursor, around: Node | None = None) -> Node:
        """Return *root* and everything below it as nodes; *around* is the enclosing node."""
        unit = root._tu
        top = self._node(root, unit)
        if self._invoked is not None:
            self._in_macro(top, around or Node("", top.span, None))
        stack = [(_key(root), top)]

        def visit(cursor: Cursor, parent: Cursor) -> int:
            key = _key(parent)
            if not top.children:
                stack[0] = (key, top)  # the library's kind from here on
            elif stack[-1][0] != key:
                above = (n for n in range(len(stack) - 1, -1, -1) if stack[n][0] == key)
                # The library skips casts of captured values: such a parent was not shown.
                del stack[next(above, len(stack) - 1) + 1 :]
            node = self._node(cursor, unit)
            if self._invoked is not None:
                self._in_macro(node, stack[-1][1])
            stack[-1][1].children.append(node)
            if node.decl is not None and node.decl.decayed and node.kind == "DECL_REF_EXPR":
                _decay((node, *(outer for _, outer in reversed(stack))))
            if cursor._kind_id in _DECLARATIONS:
                return _CONTINUE
            stack.append((_key(cursor), node))
            return _RECURSE

        self._through(root, visit)
        return top

    def visit(self, root: Cursor, met: Callable[[Any], None]) -> None:
        """Call *met* with every cursor below *root*."""
        unit = root._tu

        def visit(cursor: Cursor, _parent: Cursor) -> int:
            cursor._tu = unit
            met(cursor)
            return _RECURSE

        self._through(root, visit)

    def _through(self, root: Cursor, visit: Callable[[Cursor, Cursor], int]) -> None:
        """Call *visit* with cursors below *root* and the parent of each; its result says where the traversal continues."""
        failed: list[BaseException] = []

        def safe(cursor: Cursor, parent: Cursor, _: Any) -> int:
            try:
                return visit(cursor, parent)
            except BaseException as error:  # noqa: BLE001 - no exception passes through C
                failed.append(error)
                return 0

        self._visit(root, self._visitor_type(safe), None)
        if failed:
            raise failed[0]

    def _node(self, cursor: Cursor, unit: ClangTree) -> Node:
        cursor._tu = unit
        number = cursor._kind_id
        node = Node(self.kinds[number], self._span(cursor), cursor)
        if number in _EXPRESSIONS:
            node.type = self.types.of_cursor(cursor)
            if number in REFERRING:
                node.decl = self._referenced(cursor, unit)
                if number == _CALL:
                    node.count = self.library.lib.clang_Cursor_getNumArguments(cursor)
            elif number in _BINARY:
                node.op = BINARY[self.library.lib.clang_getCursorBinaryOperatorKind(cursor)]
            elif number == _UNARY:
                node.op = UNARY[self.library.lib.clang_getCursorUnaryOperatorKind(cursor)]
        elif number in _DECLARATIONS:
            node.decl = self.declaration(cursor)
            node.decl.node = node
        elif number == _CAPTURED:
            node.decl = self._referenced(cursor, unit)
        return node

    def _referenced(self, cursor: Cursor, unit: ClangTree) -> Declaration | None:
        target = self.library.lib.clang_getCursorReferenced(cursor)
        if target is None:
            return None
        target._tu = unit
        return self.declaration(target)

    def _span(self, cursor: Cursor) -> Span:
        lib = self.library.lib
        extent = lib.clang_getCursorExtent(cursor)
        first = self._place(lib.clang_getRangeStart(extent))
        last = self._place(lib.clang_getRangeEnd(extent))
        if last[0] != first[0] or last < first:
            last = first
        return Span(first[0], first[1], first[2], last[1], last[2])

    def spelled(self, node: Node) -> Span:
        """Return the location of the text of *node*, also inside a macro."""
        return self._span(node.cursor)

    def _in_macro(self, node: Node, above: Node) -> None:
        """Set the location of a node that comes from a macro.

        A statement has the location of its line in the macro's body if it is completely there, else that of
        the invocation. Its parts have the same location, including arguments and constants of other macros.
        """
        lib = self.library.lib
        extent = lib.clang_getCursorExtent(node.cursor)
        start = lib.clang_getRangeStart(extent)
        spelled, written = self._place(start), self._at(self._written, start)
        if spelled == written == self._at(self._invoked, start):
            return
        held = above.kind in _HOLDERS
        if held or node.cursor._kind_id in _BRANCHES:
            end = self._place(lib.clang_getRangeEnd(extent))
            node.in_macro = spelled != written and (
                above.in_macro or is_invocation(self.sources.between(written[0], written[1:], end[1:]))
            )
            if node.in_macro and held and not above.in_macro:
                node.invoked = Span(*written, *written[1:])
        elif above.in_macro:
            node.in_macro, node.span = True, above.span
            if node.kind == "VAR_DECL":  # its type may come from yet another macro
                name = self._place(lib.clang_getCursorLocation(node.cursor))
                node.span = Span(*name, *name[1:])
        if not node.in_macro:
            node.span = Span(*written, *written[1:])

    def _place(self, location: ClangLocation) -> tuple[str, int, int]:
        place = self._at(self._locate, location)
        # A token created by ## only has the location of its use.
        return place if place[0] else self._at(self._written, location)

    def _at(self, locate: Any, location: ClangLocation) -> tuple[str, int, int]:
        file, line, column = self._file_slot, self._line_slot, self._column_slot
        locate(location, file, line, column, None)
        return self._file(file[0]), line[0], column[0]

    def _file(self, pointer: int | None) -> str:
        if pointer is None:
            return ""
        name = self._files.get(pointer)
        if name is None:
            name = self._files[pointer] = self._name(pointer).text(self.library.lib)
        return name

    def value(self, node: Node) -> int | float | None:
        """Return the value of a constant expression, or None."""
        return self.library.evaluate(node.cursor)

    def default_of(self, function: Declaration, n: int) -> "Node | None":
        """Return the default of parameter *n* in the template of which *function* is a specialisation."""
        template = self.library.template(function._cursor)
        if template is None:
            return None
        parameters = [c for c in template.get_children() if c.kind.name == "PARM_DECL"]
        return self.declaration(parameters[n]).default if n < len(parameters) else None

    def member_values(self, struct: Struct) -> dict[str, Node]:
        """Return the default values of members of a struct and of its bases, by name."""
        values: dict[str, Node] = {}
        for part in (*reversed(struct.bases), struct):
            fields = self.declaration(self.types.declared[part.name]).fields
            values |= {part.called(f.name): f.default for f in fields if f.default is not None}
        return values

    def text(self, node: Node) -> str:
        """Return the library's spelling of *node*, such as the text of a literal."""
        return str(node.cursor.spelling)


def _decay(nodes: Iterable[Node]) -> None:
    """Give a parameter declared as an array, and the nodes computed from it, the pointer type; the library says array for both.

    *nodes* begins with the name of the parameter; each further node encloses the previous one.
    """
    written = None
    for node in nodes:
        written = written or node.type
        if not isinstance(written, Array) or node.type != written:
            return
        node.type = Pointer(written.of)


def _key(cursor: Cursor) -> tuple[Any, Any, Any]:
    data = cursor.data
    return data[0], data[1], cursor._kind_id
