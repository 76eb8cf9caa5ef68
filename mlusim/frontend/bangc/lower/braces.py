"""Objects and their values: from lists in braces, from constructors, and where nothing is said about them."""

import itertools
from collections.abc import Iterator, Mapping

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Assign,
    Call,
    Comma,
    Compose,
    Const,
    Expr,
    Load,
    LocalStorage,
    Member,
    Span,
)
from mlusim.frontend.bangc.lower import arguments, copies, dispatch
from mlusim.frontend.bangc.lower.conversions import convert, letters, string
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import Declaration, Node


def value(scope: FunctionScope, node: Node) -> Expr:
    """Return the value of a list in braces."""
    if isinstance(node.type, t.Array | t.Record):
        return compose(scope, node, node.type)
    scope.refuse_class(node.type, node.span)
    if not node.children:
        return convert(scope, number(0, t.INT32, node), node.type, node.span)
    return scope.valued(node.children[0], node.type)


def compose(scope: FunctionScope, node: Node, kind: t.Type) -> Expr:
    """Return the value of an array or a record from a list in braces, the inner braces of which may be left out."""
    given = iter(node.children)
    return _filled(scope, given, kind, node)


def _filled(scope: FunctionScope, given: "Iterator[Node]", kind: t.Type, node: Node) -> Compose:
    assert isinstance(kind, t.Array | t.Record)
    parts = [kind.of] * kind.count if isinstance(kind, t.Array) else [f.type for f in kind.fields]
    # A list gives a value to the first member of a union.
    most = 1 if isinstance(kind, t.Record) and kind.union else len(parts)
    values: list[Expr] = []
    while len(values) < most:
        child = next(given, None)
        if child is None:
            break
        if _designates(child):
            at = _designated(scope, child, kind, child.span if child.span.line else node.span)
            if at < len(values):
                scope.refuse("designator", "write the values of a list in the order of its parts", child.span)
            values += _rest(scope, kind, len(values), at, child.span)
            child = child.children[-1]
        values.append(_part(scope, child, given, parts[len(values)], node))
    if most == len(parts) and has_values(scope, kind):
        values += _rest(scope, kind, len(values), most, node.span)
    return Compose(tuple(values), kind, node.span)


def _rest(scope: FunctionScope, kind: t.Array | t.Record, first: int, end: int, span: Span) -> list[Expr]:
    """Return the parts of a *kind* from *first* to before *end*, which the list leaves out."""
    if isinstance(kind, t.Array):
        return [made(scope, kind.of, span) for _ in range(first, end)]
    usual = scope.around.unit.reader.member_values(kind)
    for field in kind.fields[first:end]:
        given = usual.get(field.name)
        if given is not None and _reads(given):
            scope.refuse(
                "member initialiser",
                f"the initialiser of {field.name} reads another member, which is not supported in braces",
                span,
            )
    return [_member(scope, usual.get(f.name), f.type, span) for f in kind.fields[first:end]]


def _member(scope: FunctionScope, given: Node | None, kind: t.Type, span: Span) -> Expr:
    return made(scope, kind, span) if given is None else initial(scope, given, kind)


def _designates(child: Node) -> bool:
    """Return whether *child* of a list is ``.member = value`` or ``[index] = value``."""
    # The compiler library has no kind for it.
    return child.kind == "UNEXPOSED_EXPR" and child.type == t.VOID and len(child.children) > 1


def _designated(scope: FunctionScope, child: Node, kind: t.Array | t.Record, span: Span) -> int:
    """Return the number of the part of a *kind* that *child* is the value of."""
    designator, *others = child.children[:-1]
    if others:
        scope.refuse(
            "designator",
            "a designator of a range, of several steps or into an anonymous member is not supported; nest the braces",
            span,
        )
    if isinstance(kind, t.Array):
        found = scope.around.unit.reader.value(designator)
        if found is not None:
            return int(found)
    name = scope.around.unit.reader.text(designator)
    for n, field in enumerate(kind.fields if isinstance(kind, t.Record) else ()):
        if field.name == name:
            return n
    return scope.refuse("designator", "this designator is not supported", span)


def _part(scope: FunctionScope, child: Node, given: "Iterator[Node]", part: t.Type, node: Node) -> Expr:
    if child.kind == "INIT_LIST_EXPR":
        return _listed(scope, child, part)
    if isinstance(part, t.Pointer) and part.reference:
        return arguments.argument(scope, child, part)
    if child.kind == "STRING_LITERAL" and isinstance(part, t.Array):
        return letters(string(scope, child).value, part, child.span)
    made = _object(scope, child, part) if isinstance(part, t.Record) else None
    if made is not None:
        return made
    if isinstance(part, t.Array) or (isinstance(part, t.Record) and child.type is not part):
        # The inner braces are left out: child is the first inside.
        return _filled(scope, itertools.chain((child,), given), part, node)
    return scope.valued(child, part)


def _listed(scope: FunctionScope, child: Node, part: t.Type) -> Expr:
    """Return a part from inner braces."""
    made = listed(scope, child, part) if isinstance(part, t.Record) else None
    if made is not None:
        return made
    if isinstance(part, t.Array | t.Record):
        return compose(scope, child, part)
    return value(scope, child) if child.type == part else scope.valued(child, part)


def _object(scope: FunctionScope, child: Node, part: t.Record) -> Expr | None:
    """Return a copy of the object that *child* is, or what a constructor makes of it; None of the first of several values."""
    if isinstance(child.type, t.Record) and part in (child.type, *child.type.bases):
        return copies.of_node(scope, child, part)
    return converted(scope, child, part)


def zero(kind: t.Type, span: Span) -> Expr:
    """Return the value of a member that has no initialiser."""
    if isinstance(kind, t.Arithmetic):
        return number(0.0 if kind.kind == "float" else 0, kind, span)
    return Const(None, kind, span) if isinstance(kind, t.Pointer) else Compose((), kind, span)


def initial(scope: FunctionScope, node: Node, kind: t.Type) -> Expr:
    """Return the value that a member is declared with."""
    if isinstance(kind, t.Array | t.Record) and node.kind == "INIT_LIST_EXPR":
        return compose(scope, node, kind)
    return arguments.argument(scope, node, kind)  # a reference is bound


# -- what nothing is said about ------------------------------------------------------------------


def made(scope: FunctionScope, kind: t.Type, span: Span) -> Expr:
    """Return the value of an object without an initialiser: as its class makes it, or zero."""
    if isinstance(kind, t.Array) and has_values(scope, kind):
        return Compose(tuple(made(scope, kind.of, span) for _ in range(kind.count)), kind, span)
    if not isinstance(kind, t.Record):
        return zero(kind, span)
    constructor = constructor_of(scope, kind)
    if constructor is None:
        return plain(scope, kind, span)
    return built(scope, Node("CALL_EXPR", span, None), constructor, kind, [])


def plain(scope: FunctionScope, kind: t.Record, span: Span) -> Expr:
    """Return an object without a constructor of its own: members as they are declared, its base as that is made."""
    if not has_values(scope, kind):
        return Compose((), kind, span)
    usual = scope.around.unit.reader.member_values(kind)
    if kind.union:
        return _union(scope, kind, usual, span)
    scope.refuse_hidden(kind, span)
    if any(map(_reads, usual.values())):
        return _by_members(scope, kind, usual, span)
    values = tuple(_member(scope, usual.get(f.name), f.type, span) for f in kind.fields)
    whole = Compose(values, kind, span)
    base = constructor_of(scope, kind.bases[0]) if kind.bases else None
    if base is None:
        return whole
    held = LocalStorage(scope.temporary(kind, span), kind, span)
    this = scope.address(held, t.Pointer(kind), span)
    call: Expr = construct(scope, base, this, span)
    if kind.virtual:
        call = Comma(call, dispatch.become(this, kind, span), t.VOID, span)
    return Comma(Assign(held, whole, kind, span), Comma(call, Load(held, kind, span), kind, span), kind, span)


def _reads(node: Node) -> bool:
    """Return whether the value of a member reads the object: another member, or ``this``."""
    own = node.kind == "MEMBER_REF_EXPR" and not any(c.type is not None for c in node.children)
    return own or node.kind == "CXX_THIS_EXPR" or any(map(_reads, node.children))


def _by_members(scope: FunctionScope, kind: t.Record, usual: Mapping[str, Node], span: Span) -> Expr:
    """Return an object whose members are made one after the other, for some read others."""
    held = LocalStorage(scope.temporary(kind, span), kind, span)
    here = t.Pointer(kind)
    this = LocalStorage(scope.hold(here, span), here, span)
    steps: list[Expr] = [Assign(this, scope.address(held, here, span), here, span)]
    base = constructor_of(scope, kind.bases[0]) if kind.bases else None
    if base is not None:
        steps.append(construct(scope, base, Load(this, here, span), span))
    if kind.virtual:
        steps.append(dispatch.become(Load(this, here, span), kind, span))
    around = scope.this, scope.captures
    scope.this, scope.captures = this.local, None  # values of members name the object as `this`
    done = len(kind.bases[0].fields) if base is not None else 0
    for field in kind.fields[done:]:
        value = _member(scope, usual.get(field.name), field.type, span)
        at = Member(held, field.name, field.offset, field.type, span)
        steps.append(Assign(at, value, field.type, span))
    scope.this, scope.captures = around
    made: Expr = Load(held, kind, span)
    for step in reversed(steps):
        made = Comma(step, made, kind, span)
    return made


def _union(scope: FunctionScope, kind: t.Record, usual: Mapping[str, Node], span: Span) -> Expr:
    first = kind.fields[0]
    if [first.name] != [*usual]:
        scope.refuse("union", f"only the first member of {kind} may be declared with a value", span)
    return Compose((initial(scope, usual[first.name], first.type),), kind, span)


def construct(scope: FunctionScope, constructor: Declaration, this: Expr, span: Span) -> Call:
    """Return the call of a constructor without arguments for the object at *this*."""
    given = arguments.passed(scope, Node("CALL_EXPR", span, None), constructor, [])
    return Call(scope.around.need(constructor), constructor.title, (this, *given), t.VOID, span)


def has_values(scope: FunctionScope, kind: t.Type) -> bool:
    """Return whether something of *kind* that nothing is said about is other than zero, or made by a constructor."""
    while isinstance(kind, t.Array):
        kind = kind.of
    if not isinstance(kind, t.Record) or kind.closure:
        return False
    if scope.around.unit.reader.member_values(kind) or any(has_values(scope, f.type) for f in kind.fields):
        return True
    return any(constructor_of(scope, part) is not None for part in (kind, *kind.bases))


def constructor_of(scope: FunctionScope, kind: t.Record) -> Declaration | None:
    """Return the constructor without arguments that does something."""
    for found in scope.around.unit.reader.constructors(kind):
        if arguments.acts(found) and all(p.default is not None for p in found.parameters):
            return found
    return None


# -- by constructors ---------------------------------------------------------------------------------


def built(
    scope: FunctionScope,
    node: Node,
    target: Declaration,
    kind: t.Record,
    given: list[Node],
    own: tuple[Declaration, ...] = (),
) -> Expr:
    """Return an object that a constructor of the sources makes; *own* are members that the constructor does not know."""
    local = scope.temporary(kind, node.span)
    held = LocalStorage(local, kind, node.span)
    this = scope.address(held, t.Pointer(kind), node.span)
    made: Expr = Call(
        scope.around.need(target),
        target.title,
        (this, *arguments.passed(scope, node, target, given)),
        t.VOID,
        node.span,
    )
    usual = {f.name: f.default for f in own}
    for field in kind.fields:
        first = usual.get(field.name)
        if first is not None:
            at = Member(held, field.name, field.offset, field.type, node.span)
            stored = Assign(at, initial(scope, first, field.type), field.type, node.span)
            made = Comma(made, stored, t.VOID, node.span)
    return Comma(made, Load(held, kind, node.span), kind, node.span)


def listed(scope: FunctionScope, node: Node, kind: t.Record) -> Expr | None:
    """Return an object from inner braces, where its class has constructors: the library names none of them there."""
    found = scope.around.unit.reader.constructors(kind)
    acting = [c for c in found if arguments.acts(c) and not c.makes_copy]
    if not acting or kind.name.startswith("std::pair<"):  # whose constructor sets its members
        return None
    fitting = [c for c in acting if len(c.parameters) == len(node.children)]
    if len(fitting) != 1:
        scope.refuse("braces", f"write the name of the class before these braces: {kind}{{...}}", node.span)
    return built(scope, node, fitting[0], kind, node.children)


def converted(scope: FunctionScope, node: Node, kind: t.Record) -> Expr | None:
    """Return an object of a class with constructors from one value, which the library shows without them; None of another."""
    found = [c for c in scope.around.unit.reader.constructors(kind) if not c.implicit and not c.makes_copy]
    if not found or kind.name.startswith("std::"):
        return None
    one = [c for c in found if c.parameters and all(p.default is not None for p in c.parameters[1:])]
    # Those that convert nothing come first.
    exact = [c for c in one if t.referent(c.parameters[0].type) == node.type] or one
    if len(exact) != 1:
        scope.refuse("braces", f"write the name of the class: {kind}(...)", node.span)
    if not arguments.acts(exact[0]):
        return plain(scope, kind, node.span)
    return built(scope, node, exact[0], kind, [node])
