"""The parser's results as plain objects: nodes of bodies, declarations, types.

The rest of the front end reads these and never sees the library.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mlusim.frontend.bangc.errors import Diagnostic
from mlusim.frontend.bangc.ir.names import Span
from mlusim.frontend.bangc.parse.type_reader import CLOSURE, block
from mlusim.frontend.bangc.types import Array, Pointer, Type

if TYPE_CHECKING:
    from mlusim.frontend.bangc.parse.tree import CursorReader

END = "__mlusim_end<"  # a function whose body names a destructor
BEGIN, STOP = "__mlusim_begin<", "__mlusim_stop<"  # functions that call begin() and end()


_OWN = ("INTERNAL", "UNIQUE_EXTERNAL")  # static, and in a namespace without a name


class Node:
    """A piece of a body: ``kind`` is the library's name for it, ``op`` the operator of one that has one.

    ``type`` is set for expressions; ``decl`` is what a name, a member or a call refers to, or what
    a declaration declares; ``count`` the number of arguments of a call.  ``in_macro`` says that the
    place is in the body of a macro; ``invoked`` is set for the statements with which a macro begins.
    """

    __slots__ = ("children", "count", "cursor", "decl", "in_macro", "invoked", "kind", "op", "span", "type")

    def __init__(self, kind: str, span: Span, cursor: Any, *children: "Node") -> None:
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
        """Return whether it is nowhere in the source: an argument that a call leaves to the default of its parameter."""
        return self.kind == "UNEXPOSED_EXPR" and not self.children and not self.span.file


def _vendor(spelling: Any) -> str:
    """Return a type as BANG C writes it: half and bfloat16_t are other words to the compiler."""
    return str(spelling).replace("_Float16", "half").replace("__bf16", "bfloat16_t")


def _integer(cursor: Any, n: int) -> int:
    """Return argument *n* of a template; ``true``, one bit, is -1 where it is read with a sign."""
    signed = int(cursor.get_template_argument_value(n))
    return 1 if cursor.get_template_argument_unsigned_value(n) == 1 else signed


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

    def __init__(self, reader: "CursorReader", cursor: Any) -> None:
        self._reader = reader
        self._cursor = cursor
        self.kind: str = reader.kinds[cursor._kind_id]
        self.name: str = cursor.spelling
        self.node: Node | None = None  # where a body declares it

    def __repr__(self) -> str:
        return f"<{self.kind} {self.name}>"

    @cached_property
    def span(self) -> Span:
        """Return the place where it is written: its name, not its body."""
        location = self._cursor.location
        line, column = location.line, location.column
        return Span(str(location.file), line, column, line, column + len(self.name))

    @cached_property
    def from_prelude(self) -> bool:
        """Return whether a header that mlusim supplies declares it."""
        return self._reader.is_prelude(self.span.file)

    @cached_property
    def type(self) -> Type:
        """Its type; a parameter that is written as an array is a pointer."""
        found = self._reader.types.of(self._cursor.type)
        return Pointer(found.of) if self.kind == "PARM_DECL" and isinstance(found, Array) else found

    @cached_property
    def spelling(self) -> str:
        """Its type as the programmer wrote it."""
        return _vendor(self._cursor.type.spelling)

    @cached_property
    def constant(self) -> bool:
        """Return whether its type is const."""
        kind = self._cursor.type
        return bool(kind.is_const_qualified() or kind.get_canonical().is_const_qualified())

    @cached_property
    def result(self) -> Type:
        """Return the type of a function's result."""
        return self._reader.types.of(self._cursor.result_type)

    @cached_property
    def symbol(self) -> str:
        """The mangled name, or the plain one of what has none."""
        if self.of_lambda:  # the library numbers those of a function again each time
            return self._reader.numbered(self)
        name = str(self._cursor.mangled_name or self._cursor.get_usr())
        return f"{name}{self._reader.own}" if self._is_own(name) else name

    def _is_own(self, name: str) -> bool:
        """Return whether other files may have another function of the same *name*.  Launches know kernels by their names."""
        if self.kind == "VAR_DECL" or "global" in self.annotations:
            return False
        return self._cursor.linkage.name in _OWN or name.startswith("_ZZL")

    @cached_property
    def of_lambda(self) -> bool:
        """Return whether it is the body of a lambda."""
        parent = self._cursor.semantic_parent
        return self.kind == "CXX_METHOD" and parent is not None and parent.type.spelling.startswith(CLOSURE)

    @cached_property
    def variadic(self) -> bool:
        """Return whether it takes more arguments than it has parameters."""
        kind = self._cursor.type
        return kind.kind.name == "FUNCTIONPROTO" and bool(kind.is_function_variadic())

    @cached_property
    def call_operator(self) -> "Declaration | None":
        """Return the method that a call of an object of this type calls; None where that is a template, or nothing."""
        whole = self._cursor.type.get_declaration()
        found = (c for c in whole.get_children() if c.kind.name == "CXX_METHOD")
        return next((self._reader.declaration(c) for c in found if c.spelling == "operator()"), None)

    @cached_property
    def parameters(self) -> tuple["Declaration", ...]:
        """The parameters of a function."""
        return tuple(self._reader.declaration(c) for c in self._cursor.get_arguments())

    @cached_property
    def default(self) -> "Node | None":
        """The default argument of a parameter."""
        found = [c for c in self._cursor.get_children() if c.kind.is_expression()]
        if self._cursor.type.get_canonical().kind.name.endswith("ARRAY"):  # the bounds come first
            found = [c for c in found if c.kind.name in ("INIT_LIST_EXPR", "STRING_LITERAL")]
        return self._reader.tree(found[-1]) if found else None

    @cached_property
    def template_arguments(self) -> tuple[Any, ...]:
        """The arguments of a specialisation: types as text, and integers."""
        cursor, found = self._cursor, []
        for n in range(max(0, cursor.get_num_template_arguments())):
            text = cursor.get_template_argument_type(n).spelling
            found.append(text or _integer(cursor, n))
        return tuple(found)

    @cached_property
    def type_arguments(self) -> tuple[Type | int, ...]:
        """The arguments of a specialisation as types and integers."""
        cursor, found = self._cursor, []
        for n in range(max(0, cursor.get_num_template_arguments())):
            kind = cursor.get_template_argument_type(n)
            found.append(self._reader.types.of(kind) if kind._kind_id else _integer(cursor, n))
        return tuple(found)

    @cached_property
    def title(self) -> str:
        """How it is shown: with the arguments of its template."""
        if self.of_lambda:
            return f"lambda:{self.span.line}"
        arguments = [_vendor(a) for a in self.template_arguments]
        return f"{self.name}<{', '.join(arguments)}>" if arguments else self.name

    @cached_property
    def definition(self) -> "Declaration | None":
        """The declaration that has the body or the value."""
        found = self._cursor.get_definition()
        return None if found is None else self._reader.declaration(found)

    @cached_property
    def defined(self) -> bool:
        """Return whether it is a definition itself."""
        return bool(self._cursor.is_definition())

    @cached_property
    def parent(self) -> "Declaration | None":
        """Return the declaration around it."""
        found = self._cursor.semantic_parent
        return None if found is None else self._reader.declaration(found)

    @cached_property
    def annotations(self) -> tuple[str, ...]:
        """The words of its attributes: "nram", "global", "device", ..."""
        names = {"ANNOTATE_ATTR": None, "CUDAGLOBAL_ATTR": "global", "CUDADEVICE_ATTR": "device"}
        return tuple(
            names[c.kind.name] or c.spelling for c in self._cursor.get_children() if c.kind.name in names
        )

    @property
    def static(self) -> bool:
        """Return whether it is declared ``static``."""
        return bool(self._cursor.storage_class == self._reader.library.ci.StorageClass.STATIC)

    @property
    def of_function(self) -> bool:
        """Return whether it is a variable of a function."""
        parent = self._cursor.semantic_parent
        return self.kind == "VAR_DECL" and parent is not None and parent.kind.name in FUNCTIONS

    def inside(self, symbol: str) -> bool:
        """Return whether it is declared in the function of that symbol."""
        parent = self.parent
        return parent is not None and parent.symbol == symbol

    @property
    def static_method(self) -> bool:
        """Return whether it is a method that has no object."""
        return bool(self._cursor.is_static_method())

    @property
    def implicit(self) -> bool:
        """Return whether the compiler made it: it stands where its class does, or is declared ``= default``."""
        parent = self._cursor.semantic_parent
        made = parent is not None and parent.location == self._cursor.location
        return bool(made or self._cursor.is_default_method())

    @property
    def makes_copy(self) -> bool:
        """Return whether it is a constructor that copies or moves."""
        return bool(self._cursor.is_copy_constructor() or self._cursor.is_move_constructor())

    @property
    def takes_temporary(self) -> bool:
        """Return whether its first parameter is ``T &&``: it moves."""
        first = next(iter(self._cursor.type.argument_types()), None)
        return first is not None and first.get_canonical().kind.name == "RVALUEREFERENCE"

    @cached_property
    def value(self) -> int | float | None:
        """The value of an enumerator or of a constant variable; None where there is none."""
        if self.kind == "ENUM_CONSTANT_DECL":
            return self._reader.types.enumerator(self._cursor)
        return self._reader.library.evaluate(self._cursor)

    @cached_property
    def initialiser(self) -> "Node | None":
        """The initial value of a variable, as written."""
        found = self._reader.library.lib.clang_Cursor_getVarDeclInitializer(self._cursor)
        if found._kind_id in self._reader.nothing:
            return None
        found._tu = self._cursor._tu
        return self._reader.tree(found, self.node)

    @cached_property
    def body(self) -> "Node | None":
        """The body of a function."""
        found = block(self._cursor)
        return None if found is None else self._reader.tree(found)

    @property
    def body_span(self) -> Span | None:
        """Return the extent of a function's body; None where it has none."""
        found = block(self._cursor)
        if found is None:
            return None
        first, last = found.extent.start, found.extent.end
        return Span(str(first.file), first.line, first.column, last.line, last.column)

    def surrounds(self, place: Diagnostic) -> bool:
        """Return whether its body is around the place of a remark."""
        body = self.body_span
        if body is None or body.file != place.file:
            return False
        return (body.line, body.column) <= (place.line, place.column) <= (body.end_line, body.end_column)

    @property
    def invalid(self) -> bool:
        """Return whether the compiler could not make it, as a specialisation without a body."""
        return bool(self._reader.library.lib.clang_isInvalidDeclaration(self._cursor))

    @property
    def qualified(self) -> str:
        """Its name as the compiler's notes have it: what it is in, and the canonical arguments of its template."""
        cursor, arguments = self._cursor, []
        for n in range(max(0, cursor.get_num_template_arguments())):
            kind = cursor.get_template_argument_type(n)
            arguments.append(kind.get_canonical().spelling or str(_integer(cursor, n)))
        name = f"{self.name}<{', '.join(arguments)}>" if arguments else self.name
        parent = cursor.semantic_parent
        while parent is not None and parent.kind.name != "TRANSLATION_UNIT":
            kind = parent.type.get_canonical().spelling
            if kind:  # of a class, with everything that is around it
                return f"{kind}::{name}"
            name, parent = f"{parent.spelling}::{name}", parent.semantic_parent
        return name

    @property
    def scope(self) -> str:
        """The names of what it is in, each with "::" behind it; what has no name is left out."""
        names, parent = "", self._cursor.semantic_parent
        while parent is not None and parent.kind.name != "TRANSLATION_UNIT":
            if parent.spelling and not parent.is_anonymous():
                names = f"{parent.spelling}::{names}"
            parent = parent.semantic_parent
        return names

    @cached_property
    def initialisers(self) -> "tuple[Node, ...]":
        """Member initialisers of a constructor: a reference to the member, then its value."""
        found = [c for c in self._cursor.get_children() if c.kind.name != "COMPOUND_STMT"]
        return tuple(
            self._reader.tree(c) for c in found if c.kind.name == "MEMBER_REF" or c.kind.is_expression()
        )

    @property
    def virtual(self) -> bool:
        """Return whether it is a method that the object's class chooses."""
        return bool(self._cursor.is_virtual_method())

    @property
    def pure(self) -> bool:
        """Return whether it is a virtual method without a body."""
        return bool(self._cursor.is_pure_virtual_method())

    @cached_property
    def signature(self) -> tuple[str, ...]:
        """The types of its parameters, and whether its object is const."""
        kind = self._cursor.type.get_canonical()
        constant = str(self._cursor.is_const_method())
        return (*(str(a.get_canonical().spelling) for a in kind.argument_types()), constant)

    @cached_property
    def fields(self) -> "tuple[Declaration, ...]":
        """The members of a class; ``default`` is the value that one is declared with."""
        whole = self._cursor.get_definition() or self._cursor
        template = self._reader.library.lib.clang_getSpecializedCursorTemplate(whole)
        if template is not None:  # the specialisation has its members without their values
            template._tu = whole._tu
            whole = template
        found = (c for c in whole.get_children() if c.kind.name == "FIELD_DECL")
        return tuple(self._reader.declaration(c) for c in found)

    @cached_property
    def original(self) -> "Declaration | None":
        """The constructor of a direct base that is one of this by ``using``; it has the base's name.  None: not shown."""
        own = self._cursor.semantic_parent
        if self.name.partition("<")[0] == own.spelling.partition("<")[0]:
            return self
        bases = [c.type.get_canonical() for c in own.get_children() if c.kind.name == "CXX_BASE_SPECIFIER"]
        wanted = [a.get_canonical() for a in self._cursor.type.argument_types()]
        for child in self._reader.library.used(own):
            of_base = child.kind.name == "CONSTRUCTOR" and child.semantic_parent.type.get_canonical() in bases
            if of_base and wanted == [a.get_canonical() for a in child.type.argument_types()]:
                return self._reader.declaration(child)
        return None

    @property
    def children(self) -> "Iterator[Declaration]":
        """Return the declarations inside."""
        for child in self._cursor.get_children():
            if child.kind.is_declaration():
                yield self._reader.declaration(child)
