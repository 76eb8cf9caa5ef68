"""Errors of the compiler that stand in the body of one function: the file's other functions are good.

A syntax error, and one outside of all bodies, concerns the whole file.
"""

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any

from attrs import evolve, frozen

from mlusim.frontend.bangc.errors import Diagnostic
from mlusim.frontend.bangc.parse.library import ClangDiagnostic, ClangLocation, Cursor
from mlusim.frontend.bangc.parse.nodes import Declaration, Node
from mlusim.frontend.bangc.parse.type_reader import block

_SEMANTIC = "Semantic Issue"  # the library's category of what is not about the grammar
_FATAL = 4  # its severity of what ends the parse
DEDUCED = "AUTO"  # the result of a function that only its body tells
_INSTANCE = "in instantiation of "
_SCOPES = frozenset(
    (
        "NAMESPACE",
        "LINKAGE_SPEC",
        "UNEXPOSED_DECL",
        "STRUCT_DECL",
        "CLASS_DECL",
        "CLASS_TEMPLATE",
        "CLASS_TEMPLATE_PARTIAL_SPECIALIZATION",
    )
)
_UNKNOWN = re.compile(r"use of undeclared identifier '(\w+)'")
_UNRESOLVED = "OVERLOADED_DECL_REF"  # a name that no call of a good function still has


@frozen
class BrokenCall:
    """One such error; ``instance`` is the specialisation in which alone it is one, as the compiler names it, or ""."""

    diagnostic: Diagnostic
    instance: str


def instance_of(error: ClangDiagnostic) -> str:
    """Return the specialisation that was being made where the library met *error*; "" where the source itself is wrong."""
    for note in error.children:
        text = str(note.spelling)
        if text.startswith(_INSTANCE):
            return text.partition("'")[2].rpartition("'")[0]
    return ""


def outside(errors: Sequence[Any], root: object, own: Container[str]) -> list[Any]:
    """Return those of *errors* that do not stand in the body of a function of the files *own*, below *root*."""
    bodies = list(_bodies(root, own)) if errors else []
    return [
        error
        for error in errors
        if error.category_name != _SEMANTIC
        or error.severity >= _FATAL
        or error.location.file is None
        or not any(_within(body, error.location) for body in bodies)
    ]


def _within(body: Cursor, place: ClangLocation) -> bool:
    """Return whether *place* is in the extent *body*, whose own question does not look at all columns."""
    first, last = body.start, body.end
    return bool(
        first.file is not None
        and first.file.name == place.file.name
        and (first.line, first.column) <= (place.line, place.column) <= (last.line, last.column)
    )


def _bodies(cursor: Cursor, own: Container[str]) -> Iterator[Any]:
    """Find the bodies of functions and methods that have a type without its body.

    Of a broken one whose type is deduced the compiler leaves out the calls in other functions, and does not say so.
    """
    for child in cursor.get_children():
        file = child.location.file
        if file is None or file.name not in own:
            continue
        kind = child.kind.name
        if kind in _SCOPES:
            yield from _bodies(child, own)
        elif child.is_definition():
            body = block(child)
            if body is not None and child.result_type.kind.name != DEDUCED:
                yield body.extent


def broken_in(declaration: Declaration, errors: Iterable[BrokenCall]) -> Diagnostic | None:
    """Return which of *errors* the body of *declaration* has; None where it is good.

    Where it cannot be told from other specialisations of its template, it is not.
    """
    errors = tuple(errors)
    if not errors or declaration.from_prelude:
        return None
    name = declaration.qualified
    if declaration.invalid:
        mine = [e for e in errors if e.instance == name]
        return _with_names(mine[0] if mine else errors[0], mine)
    inside = [e for e in errors if declaration.surrounds(e.diagnostic)]
    for error in inside:
        other = error.instance and error.instance != name and _plain(error.instance) == _plain(name)
        if not other:
            return _with_names(error, [e for e in inside if e.instance == error.instance])
    body = declaration.body if inside else None
    return inside[0].diagnostic if body is not None and _unresolved(body) else None


def _with_names(first: BrokenCall, all_: Sequence[BrokenCall]) -> Diagnostic:
    """Return the diagnostic of *first*, which also says the further names that *all_* do not know."""
    unknown = [m[1] for e in all_ if (m := _UNKNOWN.match(e.diagnostic.message))]
    own = _UNKNOWN.match(first.diagnostic.message)
    more = [name for name in dict.fromkeys(unknown) if own is None or name != own[1]]
    if not more:
        return first.diagnostic
    either = "not known" if own is None else "not known either"
    return evolve(first.diagnostic, message=f"{first.diagnostic.message} ({either}: {', '.join(more)})")


def _plain(name: str) -> str:
    """Return a name without the arguments of its templates."""
    depth, kept = 0, []
    for letter in name:
        depth += letter == "<"
        if depth == 0:
            kept.append(letter)
        depth -= letter == ">"
    return "".join(kept)


def _unresolved(node: Node) -> bool:
    return node.kind == _UNRESOLVED or any(map(_unresolved, node.children))
