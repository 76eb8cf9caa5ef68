"""How objects come to life, from lists in braces, constructors, copies, lambdas or no initialiser at all, and how they end."""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence

from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.lower import arguments, places
from mlusim.frontend.bangc.lower.conversions import convert, letters, string
from mlusim.frontend.bangc.lower.scope import Captures, FunctionScope, element_of, number
from mlusim.frontend.bangc.parse.nodes import END, Declaration, Node
from mlusim.frontend.bangc.parse.type_reader import ends


def of_braces(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return the value of a list in braces."""
    if isinstance(node.type, t.Array | t.Record):
        return compose(scope, node, node.type)
    scope.refuse_class(node.type, node.span)
    if not node.children:
        return convert(scope, number(0, t.INT32, node), node.type, node.span)
    return scope.valued(node.children[0], node.type)


def compose(scope: FunctionScope, node: Node, kind: t.Type) -> ir.Expr:
    """Return the value of an array or a record from a list in braces, the inner braces of which may be left out."""
    given = iter(node.children)
    return _filled(scope, given, kind, node)


def _filled(scope: FunctionScope, given: "Iterator[Node]", kind: t.Type, node: Node) -> ir.Compose:
    assert isinstance(kind, t.Array | t.Record)
    parts = [kind.of] * kind.count if isinstance(kind, t.Array) else [f.type for f in kind.fields]
    # A list gives a value to the first member of a union.
    most = 1 if isinstance(kind, t.Record) and kind.union else len(parts)
    values: list[ir.Expr] = []
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
    return ir.Compose(tuple(values), kind, node.span)


def _rest(
    scope: FunctionScope, kind: t.Array | t.Record, first: int, end: int, span: ir.Span
) -> list[ir.Expr]:
    """Return the parts of a *kind* from *first* to before *end*, which the list leaves out."""
    if isinstance(kind, t.Array):
        return [made(scope, kind.of, span) for _ in range(first, end)]
    usual = scope.around.unit.reader.member_values(kind)
    for field in kind.fields[first:end]:
        given = usual.get(field.name)
        if given is not None and _reads(given):
            scope.refuse(
                "member initialiser",
                f"the initialiser of {field.name} reads another member, which is not supported in braces; give its value",
                span,
            )
    return [_member(scope, usual.get(f.name), f.type, span) for f in kind.fields[first:end]]


def _member(scope: FunctionScope, given: Node | None, kind: t.Type, span: ir.Span) -> ir.Expr:
    return made(scope, kind, span) if given is None else initial(scope, given, kind)


def _designates(child: Node) -> bool:
    """Return whether *child* of a list is ``.member = value`` or ``[index] = value``."""
    # The compiler library has no kind for it.
    return child.kind == "UNEXPOSED_EXPR" and child.type == t.VOID and len(child.children) > 1


def _designated(scope: FunctionScope, child: Node, kind: t.Array | t.Record, span: ir.Span) -> int:
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
    return scope.refuse(
        "designator", "this designator is not supported; write the values in the order of the parts", span
    )


def _part(scope: FunctionScope, child: Node, given: "Iterator[Node]", part: t.Type, node: Node) -> ir.Expr:
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


def _listed(scope: FunctionScope, child: Node, part: t.Type) -> ir.Expr:
    """Return a part from inner braces."""
    made = listed(scope, child, part) if isinstance(part, t.Record) else None
    if made is not None:
        return made
    if isinstance(part, t.Array | t.Record):
        return compose(scope, child, part)
    return of_braces(scope, child) if child.type == part else scope.valued(child, part)


def _object(scope: FunctionScope, child: Node, part: t.Record) -> ir.Expr | None:
    """Return a copy of the object that *child* is, or what a constructor makes of it; None of the first of several values."""
    if isinstance(child.type, t.Record) and part in (child.type, *child.type.bases):
        return copy_of_node(scope, child, part)
    return converted(scope, child, part)


def zero(kind: t.Type, span: ir.Span) -> ir.Expr:
    """Return the value of a member that has no initialiser."""
    if isinstance(kind, t.Arithmetic):
        return number(0.0 if kind.kind == "float" else 0, kind, span)
    return ir.Const(None, kind, span) if isinstance(kind, t.Pointer) else ir.Compose((), kind, span)


def initial(scope: FunctionScope, node: Node, kind: t.Type) -> ir.Expr:
    """Return the value that a member is declared with."""
    if isinstance(kind, t.Array | t.Record) and node.kind == "INIT_LIST_EXPR":
        return compose(scope, node, kind)
    return arguments.argument(scope, node, kind)  # a reference is bound


# -- what nothing is said about ------------------------------------------------------------------


def made(scope: FunctionScope, kind: t.Type, span: ir.Span) -> ir.Expr:
    """Return the value of an object without an initialiser: as its class makes it, or zero."""
    if isinstance(kind, t.Array) and has_values(scope, kind):
        return ir.Compose(tuple(made(scope, kind.of, span) for _ in range(kind.count)), kind, span)
    if not isinstance(kind, t.Record):
        return zero(kind, span)
    constructor = constructor_of(scope, kind)
    if constructor is None:
        return plain(scope, kind, span)
    return built(scope, Node("CALL_EXPR", span, None), constructor, kind, [])


def plain(scope: FunctionScope, kind: t.Record, span: ir.Span) -> ir.Expr:
    """Return an object without a constructor of its own: members as they are declared, its base as that is made."""
    if not has_values(scope, kind):
        return ir.Compose((), kind, span)
    usual = scope.around.unit.reader.member_values(kind)
    if kind.union:
        return _union(scope, kind, usual, span)
    scope.refuse_hidden(kind, span)
    if any(map(_reads, usual.values())):
        return _by_members(scope, kind, usual, span)
    values = tuple(_member(scope, usual.get(f.name), f.type, span) for f in kind.fields)
    whole = ir.Compose(values, kind, span)
    base = constructor_of(scope, kind.bases[0]) if kind.bases else None
    if base is None:
        return whole
    held = ir.LocalStorage(scope.temporary(kind, span), kind, span)
    this = scope.address(held, t.Pointer(kind), span)
    call: ir.Expr = construct(scope, base, this, span)
    if kind.virtual:
        call = ir.Comma(call, arguments.become(this, kind, span), t.VOID, span)
    return ir.Comma(
        ir.Assign(held, whole, kind, span), ir.Comma(call, ir.Load(held, kind, span), kind, span), kind, span
    )


def _reads(node: Node) -> bool:
    """Return whether the value of a member reads the object: another member, or ``this``."""
    own = node.kind == "MEMBER_REF_EXPR" and not any(c.type is not None for c in node.children)
    return own or node.kind == "CXX_THIS_EXPR" or any(map(_reads, node.children))


def _by_members(scope: FunctionScope, kind: t.Record, usual: Mapping[str, Node], span: ir.Span) -> ir.Expr:
    """Return an object whose members are made one after the other, for some read others."""
    held = ir.LocalStorage(scope.temporary(kind, span), kind, span)
    here = t.Pointer(kind)
    this = ir.LocalStorage(scope.hold(here, span), here, span)
    steps: list[ir.Expr] = [ir.Assign(this, scope.address(held, here, span), here, span)]
    base = constructor_of(scope, kind.bases[0]) if kind.bases else None
    if base is not None:
        steps.append(construct(scope, base, ir.Load(this, here, span), span))
    if kind.virtual:
        steps.append(arguments.become(ir.Load(this, here, span), kind, span))
    around = scope.this, scope.captures
    scope.this, scope.captures = this.local, None  # values of members name the object as `this`
    done = len(kind.bases[0].fields) if base is not None else 0
    for field in kind.fields[done:]:
        value = _member(scope, usual.get(field.name), field.type, span)
        at = ir.Member(held, field.name, field.offset, field.type, span)
        steps.append(ir.Assign(at, value, field.type, span))
    scope.this, scope.captures = around
    made: ir.Expr = ir.Load(held, kind, span)
    for step in reversed(steps):
        made = ir.Comma(step, made, kind, span)
    return made


def _union(scope: FunctionScope, kind: t.Record, usual: Mapping[str, Node], span: ir.Span) -> ir.Expr:
    first = kind.fields[0]
    if [first.name] != [*usual]:
        scope.refuse(
            "union",
            f"only the first member of {kind} may be declared with a value; assign the other one",
            span,
        )
    return ir.Compose((initial(scope, usual[first.name], first.type),), kind, span)


def construct(scope: FunctionScope, constructor: Declaration, this: ir.Expr, span: ir.Span) -> ir.Call:
    """Return the call of a constructor without arguments for the object at *this*."""
    given = arguments.passed(scope, Node("CALL_EXPR", span, None), constructor, [])
    return ir.Call(scope.around.need(constructor), constructor.title, (this, *given), t.VOID, span)


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
) -> ir.Expr:
    """Return an object that a constructor of the sources makes; *own* are members that the constructor does not know."""
    local = scope.temporary(kind, node.span)
    held = ir.LocalStorage(local, kind, node.span)
    this = scope.address(held, t.Pointer(kind), node.span)
    made: ir.Expr = ir.Call(
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
            at = ir.Member(held, field.name, field.offset, field.type, node.span)
            stored = ir.Assign(at, initial(scope, first, field.type), field.type, node.span)
            made = ir.Comma(made, stored, t.VOID, node.span)
    return ir.Comma(made, ir.Load(held, kind, node.span), kind, node.span)


def listed(scope: FunctionScope, node: Node, kind: t.Record) -> ir.Expr | None:
    """Return an object from inner braces, where its class has constructors: the library names none of them there."""
    found = scope.around.unit.reader.constructors(kind)
    acting = [c for c in found if arguments.acts(c) and not c.makes_copy]
    if not acting or kind.name.startswith("std::pair<"):  # whose constructor sets its members
        return None
    fitting = [c for c in acting if len(c.parameters) == len(node.children)]
    if len(fitting) != 1:
        scope.refuse("braces", f"write the name of the class before these braces: {kind}{{...}}", node.span)
    return built(scope, node, fitting[0], kind, node.children)


def converted(scope: FunctionScope, node: Node, kind: t.Record) -> ir.Expr | None:
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


# Copies of objects as C++ makes them: by the copy constructors and assignments of classes, their members and bases.

Find = Callable[[FunctionScope, t.Record, ir.Span, bool], Declaration | None]
_MOST = 1024  # elements of an array that are copied one by one


def copy_of_node(scope: FunctionScope, node: Node, kind: t.Record, *, moved: bool = False) -> ir.Expr:
    """Return a copy of the object that *node* names, as a *kind*; a new object is taken as it is."""
    if not places.is_place(node) or not _calls(scope, kind, node.span, _constructor, moved=moved):
        made = scope.value(node)
        derived = isinstance(made.type, t.Record) and kind in made.type.bases
        return base_of(scope, made, kind, node.span) if derived else convert(scope, made, kind, node.span)
    return copied(scope, places.place(scope, node), kind, node.span, moved=moved)


def copied(
    scope: FunctionScope, at: ir.Place, kind: t.Type, span: ir.Span, *, moved: bool = False
) -> ir.Expr:
    """Return a new object of *kind* from that at a place, whose class may be derived from it."""
    if not _calls(scope, kind, span, _constructor, moved=moved):
        if kind is at.type or not isinstance(kind, t.Record) or not isinstance(at.type, t.Record):
            return ir.Load(at, at.type, span)
        return sliced(scope, at, kind, span)
    before, at = _steady(scope, at, span)
    to = ir.LocalStorage(scope.temporary(kind, span), kind, span)
    return _after(
        [*before, *filled_by_copy(scope, to, at, kind, span, moved=moved)], ir.Load(to, kind, span), span
    )


def sliced(scope: FunctionScope, at: ir.Place, kind: t.Record, span: ir.Span) -> ir.Expr:
    """Return the members that the base *kind* of the object at a place has, as an object of that class."""
    assert isinstance(at.type, t.Record)
    scope.refuse_beside(at.type, kind, span)
    if not kind.fields:
        return ir.Compose((), kind, span)
    before, at = _steady(scope, at, span)
    parts = (ir.Load(ir.Member(at, f.name, f.offset, f.type, span), f.type, span) for f in kind.fields)
    return _after(before, ir.Compose(tuple(parts), kind, span), span)


def base_of(scope: FunctionScope, made: ir.Expr, kind: t.Record, span: ir.Span) -> ir.Expr:
    """Return the base *kind* of a value."""
    at = made.place if isinstance(made, ir.Load) else ir.Temporary(made, made.type, span)
    return sliced(scope, at, kind, span)


def filled_by_copy(
    scope: FunctionScope, to: ir.Place, at: ir.Place, kind: t.Type, span: ir.Span, *, moved: bool = False
) -> list[ir.Expr]:
    """Return the statements that make the object at one place a copy of that at another."""
    return _each(scope, to, at, kind, span, _constructor, moved=moved)


def assigned(
    scope: FunctionScope, to: ir.Place, given: Node, kind: t.Record, span: ir.Span, *, moved: bool
) -> ir.Expr:
    """Return the assignment that the compiler makes of those of the members and bases."""
    if not _calls(scope, kind, span, _assignment, moved=moved):
        if ends(kind) and not places.is_place(given):  # what is new ends after that
            return ir.Assign(to, copied(scope, places.place(scope, given), kind, span), kind, span)
        return ir.Assign(to, copy_of_node(scope, given, kind), kind, span)
    first, at = _steady(scope, places.place(scope, given), span)
    second, to = _steady(scope, to, span)
    reference = t.Pointer(kind, reference=True)
    here = convert(scope, places.address_of(scope, to, span), reference, span)
    here.type = reference  # convert() leaves an alike pointer as it is
    return _after([*first, *second, *_each(scope, to, at, kind, span, _assignment, moved=moved)], here, span)


# -- which functions ---------------------------------------------------------------------------------


def _calls(scope: FunctionScope, kind: t.Type, span: ir.Span, find: Find, *, moved: bool) -> bool:
    """Return whether a copy of *kind* is more than its bytes."""
    kind = element_of(kind)
    if not isinstance(kind, t.Record) or kind.union:
        return False
    known = scope.around.copying.get((kind.name, find, moved))
    if known is None:
        parts = (*kind.bases[:1], *(f.type for f in kind.fields))
        known = find(scope, kind, span, moved) is not None or any(
            _calls(scope, part, span, find, moved=moved) for part in parts
        )
        scope.around.copying[kind.name, find, moved] = known
    return known


def _constructor(scope: FunctionScope, kind: t.Record, span: ir.Span, moved: bool) -> Declaration | None:
    """Return the constructor of the sources that copies, or moves, objects of a class."""
    reader = scope.around.unit.reader
    found = [c for c in reader.constructors(kind) if c.makes_copy and not c.implicit]
    if not found and reader.hides(kind, "CONSTRUCTOR"):
        _refuse_hidden(scope, kind, "copy constructor", span)
    return _chosen(found, moved=moved)


def _assignment(scope: FunctionScope, kind: t.Record, span: ir.Span, moved: bool) -> Declaration | None:
    """Return the ``operator=`` of the sources for objects of a class."""
    reader = scope.around.unit.reader
    found = [m for m in reader.assignments(kind) if not m.implicit]
    if not found and reader.hides(kind, "CXX_METHOD"):
        _refuse_hidden(scope, kind, "operator=", span)
    return _chosen(found, moved=moved)


def _chosen(found: Sequence[Declaration], *, moved: bool) -> Declaration | None:
    """Return the one for what is given of those that copy and move: what is moved is copied where nothing moves."""
    moving = [f for f in found if f.takes_temporary]
    copying = [f for f in found if not f.takes_temporary]
    return next(iter([*moving, *copying] if moved else copying), None)


def _refuse_hidden(scope: FunctionScope, kind: t.Record, what: str, span: ir.Span) -> None:
    scope.refuse(
        "copy",
        f"the {what} of {kind}, which is made from a template, is not known here; copy its members",
        span,
    )


# -- the parts ---------------------------------------------------------------------------------------


def _each(
    scope: FunctionScope, to: ir.Place, at: ir.Place, kind: t.Type, span: ir.Span, find: Find, *, moved: bool
) -> list[ir.Expr]:
    """Return the copies of an object, or of its base and members, or of the elements of an array."""
    if not _calls(scope, kind, span, find, moved=moved):
        value: ir.Expr = ir.Load(at, kind, span)
        if isinstance(kind, t.Record) and isinstance(at.type, t.Record) and kind is not at.type:
            value = sliced(scope, at, kind, span)
        return [ir.Assign(to, value, kind, span)]
    if isinstance(kind, t.Array):
        return _elements(scope, to, at, kind, span, find, moved=moved)
    assert isinstance(kind, t.Record)
    target = find(scope, kind, span, moved)
    if target is not None:
        this = convert(scope, places.address_of(scope, to, span), t.Pointer(kind), span)
        source = convert(scope, places.address_of(scope, at, span), t.Pointer(kind), span)
        if not (isinstance(target.parameters[0].type, t.Pointer)):
            source = copied(scope, at, kind, span)  # by value
        rest = arguments.passed(scope, Node("CALL_EXPR", span, None), target, [], first=1)
        return [ir.Call(scope.around.need(target), target.title, (this, source, *rest), target.result, span)]
    made: list[ir.Expr] = []
    inherited = len(kind.bases[0].fields) if kind.bases else 0
    if kind.bases:
        first, second = (_as_base(scope, one, kind.bases[0], span) for one in (to, at))
        made += _each(scope, first, second, kind.bases[0], span, find, moved=moved)
        if kind.virtual and find is _constructor:
            made.append(arguments.become(places.address_of(scope, to, span), kind, span))
    for field in kind.fields[inherited:]:
        if field.bits:
            scope.refuse(
                "bit field", f"{field.name} of {kind} is a bit field; use shifts and masks instead", span
            )
        here, there = (ir.Member(one, field.name, field.offset, field.type, span) for one in (to, at))
        made += _each(scope, here, there, field.type, span, find, moved=moved)
    return made


def _as_base(scope: FunctionScope, at: ir.Place, base: t.Record, span: ir.Span) -> ir.Element:
    here = convert(scope, places.address_of(scope, at, span), t.Pointer(base), span)
    return ir.Element(here, number(0, t.INT64, span), base, span)


def _elements(
    scope: FunctionScope, to: ir.Place, at: ir.Place, kind: t.Array, span: ir.Span, find: Find, *, moved: bool
) -> list[ir.Expr]:
    if kind.count > _MOST:
        scope.refuse(
            "copy", f"a copy of {kind.count} {kind.of} by their class is not supported; write a loop", span
        )
    first = [scope.address(one, t.Pointer(kind.of), span) for one in (to, at)]
    made: list[ir.Expr] = []
    for n in range(kind.count):
        here, there = (ir.Element(one, number(n, t.INT64, span), kind.of, span) for one in first)
        made += _each(scope, here, there, kind.of, span, find, moved=moved)
    return made


def _steady(scope: FunctionScope, at: ir.Place, span: ir.Span) -> tuple[list[ir.Expr], ir.Place]:
    """Find a place once; return what comes before that, and the place."""
    inner = at
    while isinstance(inner, ir.Member):
        inner = inner.base
    if isinstance(inner, ir.LocalStorage | ir.GlobalPlace):
        return [], at
    if isinstance(at, ir.Temporary):
        held = ir.LocalStorage(scope.temporary(at.type, span), at.type, span)
        return [ir.Assign(held, at.value, at.type, span)], held
    here = places.address_of(scope, at, span)
    pointer = ir.LocalStorage(scope.hold(here.type, span), here.type, span)
    found = ir.Element(ir.Load(pointer, here.type, span), number(0, t.INT64, span), at.type, span)
    return [ir.Assign(pointer, here, here.type, span)], found


def _after(before: list[ir.Expr], made: ir.Expr, span: ir.Span) -> ir.Expr:
    for step in reversed(before):
        made = ir.Comma(step, made, made.type, span)
    return made


# The ends of objects: destructors, those of members and bases behind their own.

Statements = tuple[ir.Statement, ...]


def ending_of_local(scope: FunctionScope, local: ir.Local) -> Statements:
    """Return the statements at the end of a local."""
    return ending_of_place(scope, ir.LocalStorage(local, local.type, local.span), local.span)


def ending_of_place(scope: FunctionScope, at: ir.Place, span: ir.Span) -> Statements:
    """Return the statements at the end of the object at a place."""
    kind = at.type
    if isinstance(kind, t.Array):
        scope.refuse(
            "destructor",
            f"an array of {kind.of}, which has a destructor, is not supported; declare single objects",
            span,
        )
    assert isinstance(kind, t.Record)
    reader = scope.around.unit.reader
    found = reader.destructor(kind)
    if found is None and kind.destroyed and reader.hidden_end(kind):
        scope.around.hidden.add(f"{END}{kind.name}>")
        text = f"the destructor of {kind}, which is made from a template, is not known; give its class a name"
        scope.refuse("destructor", text, span)
    if found is not None:
        this = scope.address(at, t.Pointer(kind), span)
        return (ir.Evaluate(ir.Call(scope.around.need(found), found.title, (this,), t.VOID, span), span),)
    return ending_of_parts(scope, kind, at, span)


def ending_of_parts(scope: FunctionScope, kind: t.Record, at: ir.Place, span: ir.Span) -> Statements:
    """Return the ends of the members of an object, the last first, and of its base."""
    base = kind.bases[0] if kind.bases else None
    inherited = len(base.fields) if base is not None else 0
    made: list[ir.Statement] = []
    for field in reversed(kind.fields[inherited:]):
        if ends(field.type):
            made += ending_of_place(scope, ir.Member(at, field.name, field.offset, field.type, span), span)
    if base is not None and base.destroyed:
        this = scope.address(at, t.Pointer(base), span)
        made += ending_of_place(scope, ir.Element(this, number(0, t.INT64, span), base, span), span)
    return tuple(made)


# Lambdas: an object of what is captured, and a body that finds it there.

_THIS = "this"
_DECLARING = ("VAR_DECL", "UNEXPOSED_DECL")  # their values are no children
_UNEVALUATED = "CXX_UNARY_EXPR"  # sizeof and alignof


def of_lambda(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return the object that a lambda is: its captured values and references, in order."""
    kind = node.type
    assert isinstance(kind, t.Record)
    wanted = list(_wanted(scope, node, kind))
    if len(wanted) != len(kind.fields):
        scope.refuse("lambda", "what this lambda captures is not known; name each variable in [ ]", node.span)
    captures = Captures()
    names: dict[str, None] = {}
    for captured in wanted:
        name = _THIS if captured is None else captured.name
        while name in names:
            name += "_"
        names[name] = None
        captures.members[captured] = name
    kind.fields = tuple(t.Field(n, f.type, f.offset) for n, f in zip(names, kind.fields, strict=True))
    scope.around.closures[kind.name] = captures
    made = [_captured(scope, c, f.type, node) for c, f in zip(wanted, kind.fields, strict=True)]
    return ir.Compose(tuple(made), kind, node.span)


def _wanted(scope: FunctionScope, node: Node, kind: t.Record) -> Iterator[Declaration | None]:
    """Yield the variables in the order of the record's members; None is the object around the lambda."""
    named = [c.decl for c in node.children if c.kind == "VARIABLE_REF" and c.decl is not None]
    members = list(kind.fields)
    # In an instance of a template the library shows the captures themselves instead of the body.
    body = next((c for c in reversed(node.children) if c.kind == "COMPOUND_STMT"), node)
    used = list(_met(scope, body, set(named)))
    # A constant is captured only where its address matters, which its use does not tell: by their number all are, or none.
    constants = [d for d in used if d.constant and isinstance(d.type, t.Arithmetic) and d.value is not None]
    others = len(used) - len(constants)
    if len(members) - len(named) - any(_is_this(scope, m.type) for m in members) <= others:
        used = [d for d in used if d not in constants]
    for member in members:
        if named and _fits(member.type, named[0].type):
            yield named.pop(0)
        elif _is_this(scope, member.type):
            yield None
        elif used and _fits(member.type, used[0].type):
            yield used.pop(0)
        else:
            return
    if used:
        scope.refuse(
            "lambda",
            "which constants this lambda captures is not known; name each variable in [ ]",
            node.span,
        )


def _met(scope: FunctionScope, node: Node, known: set[Declaration]) -> Iterator[Declaration]:
    """Yield the variables of the function around a lambda in the order in which its body uses them."""
    if node.kind == _UNEVALUATED:
        return
    for inner in node.children:
        declaration = inner.decl
        if inner.kind in _DECLARING and declaration is not None and declaration.initialiser is not None:
            yield from _met(scope, Node("", inner.span, None, declaration.initialiser), known)
        if (
            inner.kind == "DECL_REF_EXPR"
            and declaration is not None
            and declaration not in known
            and scope.knows(declaration)
            and not declaration.static
        ):
            known.add(declaration)
            yield declaration
        yield from _met(scope, inner, known)


def _fits(member: t.Type, have: t.Type) -> bool:
    """Return whether a member may hold a variable of type *have*, or refer to one."""
    if isinstance(have, t.Pointer) and have.reference:
        have = have.to
    if isinstance(member, t.Pointer) and member.reference:
        member = member.to
    return member == have


def _is_this(scope: FunctionScope, kind: t.Type) -> bool:
    around = scope.this_type
    return around is not None and (kind == around or (isinstance(around, t.Pointer) and kind is around.to))


def _captured(scope: FunctionScope, captured: Declaration | None, kind: t.Type, node: Node) -> ir.Expr:
    span = node.span
    if captured is None:
        around = places.this(scope, node)
        if isinstance(kind, t.Pointer):
            return around
        return ir.Load(ir.Element(around, number(0, t.INT64, span), kind, span), kind, span)
    if not scope.knows(captured) and captured.initialiser is not None:  # [q = value]
        if isinstance(kind, t.Pointer) and kind.reference:
            return convert(scope, places.pointer(scope, captured.initialiser), kind, span)
        return scope.valued(captured.initialiser, kind)
    at = places.named(scope, captured, node)
    if isinstance(kind, t.Pointer) and kind.reference:
        return convert(scope, places.address_of(scope, at, span), kind, span)
    if isinstance(kind, t.Array):
        scope.refuse(
            "lambda", f"{captured.name} is an array that is captured by value; capture it by reference", span
        )
    return copied(scope, at, kind, span)


def call_operator(scope: FunctionScope, node: Node) -> Declaration | None:
    """Return the function that a call of the object *node* calls; None where it is none, or takes ``auto``."""
    if not isinstance(node.type, t.Record):
        return None
    return scope.around.unit.reader.class_of(node).call_operator
