"""Reads what the parser found: the library's cursors as nodes and declarations."""

import ctypes
import hashlib
from collections.abc import Callable, Mapping
from typing import Any

from mlusim.frontend.bangc.ir.names import Span
from mlusim.frontend.bangc.parse.library import BINARY, UNARY, ClangString, Library
from mlusim.frontend.bangc.parse.macros import is_invocation
from mlusim.frontend.bangc.parse.nodes import Declaration, Node
from mlusim.frontend.bangc.parse.sources import SourceTexts
from mlusim.frontend.bangc.parse.type_reader import TypeReader, destructor
from mlusim.frontend.bangc.types import Array, Record, Type, referent

_RECURSE, _CONTINUE = 2, 1
SPELLS = 19  # the version from which on the library says where in a macro's body a piece stands
_EXPRESSIONS = range(100, 200)
REFERRING = frozenset((101, 102, 103))  # DeclRefExpr, MemberRefExpr, CallExpr
_BINARY = frozenset((114, 115))  # BinaryOperator, CompoundAssignOperator
_UNARY = 112
_CALL = 103
_CAPTURED = 50  # VariableRef: in the brackets of a lambda
_DECLARATIONS = range(1, 40)
_BRANCHES = range(200, 230)  # statements but declarations
_HOLDERS = frozenset(("COMPOUND_STMT", "CASE_STMT", "DEFAULT_STMT", "LABEL_STMT"))  # of statements


def _digest(path: str) -> str:
    return hashlib.blake2b(path.encode(), digest_size=4).hexdigest()


class CursorReader:
    """Turns the library's cursors into nodes and declarations, each once."""

    def __init__(
        self,
        library: Library,
        prelude: tuple[str, ...],
        rows: Mapping[int, str],
        sources: SourceTexts,
        path: str,
    ) -> None:
        self.own = f"_of_{_digest(path)}"  # behind the symbols of functions that only this file knows
        self.library = library
        self.sources = sources
        self.kinds = {number: kind.name for number, kind in enumerate(library.ci.CursorKind._kinds) if kind}
        self.nothing = frozenset(range(70, 74))  # kinds of cursors that stand for nothing
        self.types = TypeReader(library, self.is_prelude)
        self._prelude = prelude
        self._bodies = tuple(f"{folder}/core/" for folder in prelude)
        self.rows = rows  # of the instruction set, by the line that declares a form
        self.ends: dict[str, Declaration] = {}  # destructors of templates, by the record
        self._known: dict[tuple[int, ...], Declaration] = {}
        self._numbers: dict[int, int] = {}  # of the bodies of lambdas
        self._files: dict[int, str] = {}
        self._file_slot = (ctypes.c_void_p * 1)()
        self._line_slot = (ctypes.c_uint * 1)()
        self._column_slot = (ctypes.c_uint * 1)()
        at = ctypes.CFUNCTYPE(None, library.ci.SourceLocation, *[ctypes.c_void_p] * 4)
        # Only later libraries say where in a macro's body a piece stands; others take all of it for the invocation.
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
        """Return whether *path* is a header that mlusim supplies, whose functions the run-time has."""
        return path.startswith(self._prelude) and not path.startswith(self._bodies)

    def declaration(self, cursor: Any) -> Declaration:
        """Return the declaration of *cursor*."""
        # The second word says whether it is the first of its group: not so where it is referred to.
        key = (cursor._kind_id, cursor.data[0] or 0)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Declaration(self, cursor)
        return found

    def numbered(self, declaration: Declaration) -> str:
        """Return a symbol for the body of a lambda."""
        span = declaration.span
        n = self._numbers.setdefault(id(declaration), len(self._numbers))
        return f"_lambda_{_digest(span.file)}_{span.line}_{span.column}_{n}{self.own}"

    def class_of(self, node: Node) -> Declaration:
        """Return the class of an object."""
        return self.declaration(node.cursor.type.get_canonical().get_declaration())

    def constructors(self, record: Record) -> tuple[Declaration, ...]:
        """Return those that the class of a record declares."""
        children = self.types.declared[record.name].get_children()
        return tuple(self.declaration(c) for c in children if c.kind.name == "CONSTRUCTOR")

    def mutable(self, kind: Type) -> bool:
        """Return whether an object of a *kind* has a member that may change where the object is const."""
        while isinstance(kind, Array):
            kind = kind.of
        if not isinstance(kind, Record):
            return False
        declared = self.types.declared.get(kind.name)
        fields = () if declared is None else declared.get_children()
        if any(c.kind.name == "FIELD_DECL" and c.is_mutable_field() for c in fields):
            return True
        return any(self.mutable(part) for part in (*(f.type for f in kind.fields), *kind.bases))

    def assignments(self, record: Record) -> tuple[Declaration, ...]:
        """Return each ``operator=`` of the class of a record that takes an object of the class."""
        found = (c for c in self.types.declared[record.name].get_children() if c.kind.name == "CXX_METHOD")
        made = (self.declaration(c) for c in found if c.spelling == "operator=")
        return tuple(m for m in made if len(m.parameters) == 1 and referent(m.parameters[0].type) is record)

    def hides(self, record: Record, kind: str) -> bool:
        """Return whether a record is of a template that declares a copy of this *kind*, which the library does not show."""
        pattern = self.library.lib.clang_getSpecializedCursorTemplate(self.types.declared[record.name])
        if pattern is None:
            return False
        pattern._tu = self.types.declared[record.name]._tu
        found = (self.declaration(c) for c in pattern.get_children() if c.kind.name == kind)
        if kind == "CONSTRUCTOR":
            return any(c.makes_copy and not c.implicit for c in found)
        return any(c.name == "operator=" and len(c.parameters) == 1 and not c.implicit for c in found)

    def destructor(self, record: Record) -> Declaration | None:
        """Return the destructor that the class of a record declares, where it does something or is virtual."""
        if self.types.patterned.get(record.name) and destructor(self.types.declared[record.name]) is None:
            return self.ends.get(record.name)
        found = destructor(self.types.declared[record.name])
        return None if found is None or found.is_default_method() else self.declaration(found)

    def method(self, record: Record, name: str, signature: tuple[str, ...]) -> Declaration | None:
        """Return the method of these parameters that the class of a record declares."""
        for child in self.types.declared[record.name].get_children():
            if child.kind.name == "CXX_METHOD" and child.spelling == name:
                found = self.declaration(child)
                if found.signature == signature:
                    return found
        return None

    def hidden_end(self, record: Record) -> bool:
        """Return whether a record has a destructor, of a template, that the library has not shown."""
        return bool(self.types.patterned.get(record.name)) and self.destructor(record) is None

    def is_dynamic(self, node: Node) -> bool:
        """Return whether a call chooses a virtual method by the class of the object."""
        return bool(self.library.lib.clang_Cursor_isDynamicCall(node.cursor))

    def tree(self, root: Any, around: Node | None = None) -> Node:
        """*root* and everything in it; it is a piece of *around*."""
        unit = root._tu
        top = self._node(root, unit)
        if self._invoked is not None:
            self._in_macro(top, around or Node("", top.span, None))
        stack = [(_key(root), top)]
        failed: list[BaseException] = []

        def visit(cursor: Any, parent: Any, _: Any) -> int:
            try:
                key = _key(parent)
                if not top.children:
                    stack[0] = (key, top)  # as the library calls it from here on
                elif stack[-1][0] != key:
                    above = (n for n in range(len(stack) - 1, -1, -1) if stack[n][0] == key)
                    # The library passes over casts of what a lambda captures: such a parent was not shown.
                    del stack[next(above, len(stack) - 1) + 1 :]
                node = self._node(cursor, unit)
                if self._invoked is not None:
                    self._in_macro(node, stack[-1][1])
                stack[-1][1].children.append(node)
                if cursor._kind_id in _DECLARATIONS:
                    return _CONTINUE
                stack.append((_key(cursor), node))
            except BaseException as error:  # noqa: BLE001 - no exception passes through C
                failed.append(error)
                return 0
            return _RECURSE

        self._visit(root, self._visitor_type(visit), None)
        if failed:
            raise failed[0]
        return top

    def visit(self, root: Any, met: Callable[[Any], None]) -> None:
        """Call *met* with every cursor in *root*."""
        unit = root._tu
        failed: list[BaseException] = []

        def visit(cursor: Any, _parent: Any, _: Any) -> int:
            cursor._tu = unit
            try:
                met(cursor)
            except BaseException as error:  # noqa: BLE001 - no exception passes through C
                failed.append(error)
                return 0
            return _RECURSE

        self._visit(root, self._visitor_type(visit), None)
        if failed:
            raise failed[0]

    def _node(self, cursor: Any, unit: Any) -> Node:
        cursor._tu = unit
        number = cursor._kind_id
        node = Node(self.kinds[number], self._span(cursor), cursor)
        if number in _EXPRESSIONS:
            node.type = self.types.of_cursor(cursor)
            if number in REFERRING:
                lib = self.library.lib
                found = lib.clang_getCursorReferenced(cursor)
                if found is not None:
                    found._tu = unit
                    node.decl = self.declaration(found)
                if number == _CALL:
                    node.count = lib.clang_Cursor_getNumArguments(cursor)
            elif number in _BINARY:
                node.op = BINARY[self.library.lib.clang_getCursorBinaryOperatorKind(cursor)]
            elif number == _UNARY:
                node.op = UNARY[self.library.lib.clang_getCursorUnaryOperatorKind(cursor)]
        elif number in _DECLARATIONS:
            node.decl = self.declaration(cursor)
            node.decl.node = node
        elif number == _CAPTURED:
            found = self.library.lib.clang_getCursorReferenced(cursor)
            found._tu = unit
            node.decl = self.declaration(found)
        return node

    def _span(self, cursor: Any) -> Span:
        lib = self.library.lib
        extent = lib.clang_getCursorExtent(cursor)
        first = self._place(lib.clang_getRangeStart(extent))
        last = self._place(lib.clang_getRangeEnd(extent))
        if last[0] != first[0] or last < first:
            last = first
        return Span(first[0], first[1], first[2], last[1], last[2])

    def spelled(self, node: Node) -> Span:
        """Return the place of the text of *node*, which a macro may have written."""
        return self._span(node.cursor)

    def _in_macro(self, node: Node, above: Node) -> None:
        """Return the place at which a piece that a macro wrote is executed.

        A statement stands in its line of the macro's body if all of it is there, otherwise at the
        invocation; its pieces stand with it, arguments and constants of other macros, too.
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

    def _place(self, location: Any) -> tuple[str, int, int]:
        found = self._at(self._locate, location)
        return (
            found if found[0] else self._at(self._written, location)
        )  # of what ## has made: where it is used

    def _at(self, locate: Any, location: Any) -> tuple[str, int, int]:
        file, line, column = self._file_slot, self._line_slot, self._column_slot
        locate(location, file, line, column, None)
        return self._file(file[0]), line[0], column[0]

    def _file(self, pointer: int | None) -> str:
        if pointer is None:
            return ""
        found = self._files.get(pointer)
        if found is None:
            found = self._files[pointer] = self._name(pointer).text(self.library.lib)
        return found

    def value(self, node: Node) -> int | float | None:
        """Return the value of a constant expression; None where it is none."""
        return self.library.evaluate(node.cursor)

    def default_of(self, function: Declaration, n: int) -> "Node | None":
        """Return the default of parameter *n* in the template that *function* is a specialisation of."""
        template = self.library.ci.conf.lib.clang_getSpecializedCursorTemplate(function._cursor)
        if template is None:
            return None
        found = [c for c in template.get_children() if c.kind.name == "PARM_DECL"]
        return self.declaration(found[n]).default if n < len(found) else None

    def member_values(self, record: Record) -> dict[str, Node]:
        """Return the values that members of a record, and of its bases, are declared with, by name."""
        found: dict[str, Node] = {}
        for part in (*reversed(record.bases), record):
            fields = self.declaration(self.types.declared[part.name]).fields
            found |= {f.name: f.default for f in fields if f.default is not None}
        return found

    def tokens(self, node: Node) -> list[str]:
        """Return the words of *node*'s text; none where a macro wrote it."""
        return [t.spelling for t in node.cursor.get_tokens()]

    def text(self, node: Node) -> str:
        """Return the library's spelling of *node*: the text of a literal."""
        return str(node.cursor.spelling)


def _key(cursor: Any) -> tuple[Any, Any, Any]:
    data = cursor.data
    return data[0], data[1], cursor._kind_id
