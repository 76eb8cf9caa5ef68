"""The functions that a function refers to: those that its text names, calls, or makes objects with."""

from typing import Any

from attrs import define, field

from mlusim.frontend.bangc.parse.library import Cursor
from mlusim.frontend.bangc.parse.nodes import FUNCTIONS, REFERRING, CursorReader, Declaration

_LAMBDA = 144  # LambdaExpr


@define(eq=False)
class _References:
    """The functions that were met, by their identity, and the variables whose values are still to be looked at."""

    reader: CursorReader
    functions: dict[int, Declaration] = field(factory=dict)
    variables: list[Any] = field(factory=list)

    def meet(self, cursor: Cursor) -> None:
        """Note what *cursor* refers to."""
        if cursor._kind_id == _LAMBDA:  # whose body the library does not show in instances of templates
            self._keep(self.reader.declaration(cursor.type.get_declaration()).call_operator)
        if cursor._kind_id not in REFERRING:
            return
        named = self.reader.library.lib.clang_getCursorReferenced(cursor)
        if named is None:
            return
        named._tu = cursor._tu
        kind = self.reader.kinds[named._kind_id]
        if kind in FUNCTIONS:
            self._keep(self.reader.declaration(named))
        elif kind == "VAR_DECL":
            self.variables.append(named)

    def _keep(self, function: Declaration | None) -> None:
        if function is not None and not (function.from_prelude and function.definition is None):
            self.functions[id(function)] = function


def referred(reader: CursorReader, function: Declaration) -> list[Declaration]:
    """Return the functions that the text of *function* refers to, and the values of variables that it names."""
    found = _References(reader)
    reader.visit(function._cursor, found.meet)
    seen: set[int] = set()
    while found.variables:  # tables of functions
        one = found.variables.pop()
        if id(reader.declaration(one)) not in seen:
            seen.add(id(reader.declaration(one)))
            reader.visit(one, found.meet)
    return [*found.functions.values()]
