"""The command `why`: the chain of causes of an expression's value or of a branch, in a paused session."""

from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
from attrs import fields_dict

from mlusim.bangc.c_syntax import Item, MemberAccess, Name, NoExpression, Prefix, Tree, parse_c
from mlusim.bangc.c_values import static_type
from mlusim.bangc.ir import Storage
from mlusim.bangc.types import INT8, UINT8, Array
from mlusim.debug.look.causes import FAR, MANY, NO_FRAME, CauseSearch
from mlusim.debug.look.describe import value_text
from mlusim.debug.look.evaluate import parse, reasons
from mlusim.debug.look.origins import DEPTH, NODES, Byte, Origin
from mlusim.debug.look.places import owner_in
from mlusim.debug.source.pieces import LOCAL, POINTEE, Read, spelled
from mlusim.errors import UsageError
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.bangc.c_scope import FrameNames
    from mlusim.debug.session import DebugSession
    from mlusim.machine.core import Core

Asked = Read | tuple[Byte, str]
"""A variable, or a byte with its name for the user."""


def writer_of(session: "DebugSession", place: str, depth: int = DEPTH) -> Origin:
    """Return the last write of the first byte of *place*, with its sources over *depth* links."""
    span = session.resolve(place)
    session.leave_interrupt()
    with closing(search_from(session, depth)) as search:
        return search.of_byte(Byte(span.space, span.low, span.owner), place)


def cause_of(session: "DebugSession", words: str, depth: int = FAR) -> Origin:
    """Return the origin of the value of the expression *words*, or of a decision if they are ``branch [LINE]`` or empty.

    Raises `UsageError` for an expression without a value here, and if no task is in a function.
    """
    text = words.strip()
    first, _, line = (word.strip() for word in text.partition(" "))
    branch = first in ("", "branch")
    if branch and line and not line.isdigit():
        raise UsageError(f"why branch takes the number of a line, and {line!r} is not one")
    session.leave_interrupt()
    most = max(MANY, 8 * depth) if depth > FAR else MANY
    if branch:
        if session.frame() is None:
            raise UsageError(NO_FRAME)
        with closing(search_from(session, depth, most)) as search:
            return search.of_branch(int(line) if line else None)
    reads, made = _reads_of(session, text), None
    if reads is None:
        span = session.resolve(text)
        reads = [(Byte(span.space, span.low, span.owner), _with_value(session, text))]
    elif len(reads) != 1 or getattr(reads[0], "text", "") != text:
        made = Origin(_with_value(session, text), note="computed here")
    with closing(search_from(session, depth, most)) as search:
        found = [
            search.of_variable(read) if isinstance(read, Read) else search.of_byte(*read) for read in reads
        ]
    if made is None:
        return found[0]
    made.sources = found
    return made


def _with_value(session: "DebugSession", text: str) -> str:
    """Return ``text = value`` for an expression, or the text alone if it is only a place."""
    try:
        value = session.ask(text).value
    except UsageError:
        return text
    return text if isinstance(value, Ptr | np.ndarray) else f"{text} = {value_text(value)}"


def search_from(session: "DebugSession", depth: int = DEPTH, nodes: int | None = None) -> CauseSearch:
    """Return a search that begins at the position of *session*."""
    most = nodes or (NODES if depth <= DEPTH else 8 * depth)
    return CauseSearch(session.runs, session.position, session.focus, session.level, max(1, depth), most)


def _reads_of(session: "DebugSession", words: str) -> "list[Asked] | None":
    """Return the variables and the bytes that an expression reads; None if it names a place in memory."""
    frame = session.frame()
    if frame is None:
        return None
    scope = session.scope()
    if scope is None:
        return _of_python(session, words)
    try:
        tree = parse_c(words, scope.is_type)
    except NoExpression:
        return None
    alone = _variable(tree, scope, words)
    if alone is not None:
        return [alone]
    if isinstance(tree, Name | MemberAccess | Prefix | Item):
        return None
    found = [one for part in _parts(tree) if (one := _asked(part, scope, session.core())) is not None]
    return list(dict.fromkeys(found)) or None


def _asked(part: Tree, scope: "FrameNames", core: "Core | None") -> "Asked | None":
    """Return a part of an expression as a variable, or as a byte with its name; None for a pointer to memory."""
    read = _variable(part, scope, "")
    if read is not None:
        return None if isinstance(scope.frame.f_locals.get(read.name), Ptr) else read
    try:
        with reasons(core):
            value = scope.value_of(part)
    except (NoExpression, UsageError):
        return None
    if not isinstance(value.place, Ptr):
        return None
    where = value.place
    text = f"{value.text} = {value_text(value.shown)}"
    return Byte(where.space, where.address, owner_in(where.space, core)), text


def _variable(tree: Tree, scope: "FrameNames", text: str) -> Read | None:
    """Return the variable, or the member of a variable, that *tree* names; None for memory and for computed values."""
    path: tuple[str, ...] = ()
    base, arrow = tree, False
    while isinstance(base, MemberAccess | Item):
        if isinstance(base, Item):
            path, base = (f"[{scope.value_of(base.index).number}]", *path), base.base
        else:
            path, arrow, base = (base.name, *path), base.arrow, base.base
    pointed = isinstance(base, Prefix) and base.op == "*"
    inner = base.operand if isinstance(base, Prefix) and pointed else base
    local = scope.local(inner.text) if isinstance(inner, Name) else None
    if local is None or local.storage is Storage.MEMORY or (isinstance(local.type, Array) and not path):
        return None
    if path and path[0].startswith("[") and not isinstance(local.type, Array):
        return None  # an element behind a pointer is in memory
    reference = getattr(local.type, "reference", False)
    leads = pointed or arrow or reference
    if leads and isinstance(scope.frame.f_locals.get(local.name), Ptr):
        return None
    shown = text or spelled(local.source_name, path)
    char = static_type(tree, lambda name: getattr(scope.local(name), "type", None)) in (INT8, UINT8)
    return Read(POINTEE if leads else LOCAL, local.name, shown, path, char=char)


def _parts(tree: Tree) -> list[Tree]:
    """Return the variables, members and elements in *tree*, with those in the indices of elements."""
    if isinstance(tree, Name | MemberAccess):
        return [tree]
    if isinstance(tree, Prefix) and tree.op == "*":
        return [tree]
    if isinstance(tree, Item):
        return [tree, *_parts(tree.index)]
    trees: list[Tree] = []
    for name in fields_dict(type(tree)):
        value = getattr(tree, name)
        for one in value if isinstance(value, tuple) else (value,):
            if isinstance(one, Tree):
                trees += _parts(one)
    return trees


def _of_python(session: "DebugSession", words: str) -> "list[Asked] | None":
    frame = session.frame()
    assert frame is not None
    if words.isidentifier():
        value = frame.f_locals.get(words)
        return [Read(LOCAL, words, words)] if words in frame.f_locals and not isinstance(value, Ptr) else None
    try:
        names = [n for n in dict.fromkeys(parse(words).names) if n in frame.f_locals]
    except UsageError:
        return None
    if "[" in words or ("+" in words and any(isinstance(frame.f_locals[n], Ptr) for n in names)):
        return None
    return [Read(LOCAL, n, n) for n in names if not isinstance(frame.f_locals[n], Ptr)] or None
