"""Creation of objects (from braced lists, constructors, copies, lambdas, or without initialiser) and their destruction."""

import itertools
from collections.abc import Iterator, Mapping

from attrs import frozen

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import innermost
from mlusim.bangc.lower import arguments, bits, places
from mlusim.bangc.lower.conversions import convert, empty, letters, string
from mlusim.bangc.lower.scope import Captures, FunctionScope, first_at, number, sequence
from mlusim.bangc.parse.nodes import END, Declaration, Node
from mlusim.bangc.parse.type_reader import ends
from mlusim.counted import counted

# Limit of array elements, or objects, that a braced list may omit.
MOST_LEFT_OUT = 1 << 16


def of_braces(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return the value of a braced list."""
    if isinstance(node.type, t.Array | t.Struct):
        return compose(scope, node, node.type)
    scope.refuse_class(node.type, node.span)
    if not node.children:
        return convert(scope, number(0, t.INT32, node), node.type, node.span)
    return scope.valued(node.children[0], node.type)


def compose(scope: FunctionScope, node: Node, kind: t.Type) -> ir.Expr:
    """Return the value of an array or a struct from a braced list, whose inner braces may be omitted."""
    return _filled(scope, iter(node.children), kind, node)


def _filled(scope: FunctionScope, nodes: Iterator[Node], kind: t.Type, node: Node) -> ir.Compose:
    assert isinstance(kind, t.Array | t.Struct)
    parts = () if isinstance(kind, t.Array) else kind.parts
    whole = kind.count if isinstance(kind, t.Array) else len(parts)
    # A list initialises the first member of a union.
    most = 1 if isinstance(kind, t.Struct) and kind.union else whole
    values = [*_of_base(scope, nodes, kind)]
    while len(values) < most:
        child = next(nodes, None)
        if child is None:
            break
        if isinstance(kind, t.Struct) and _empty_base(child, parts[len(values)].type):
            continue
        # The compiler library has no node kind for a designator, `.member = value` or `[index] = value`.
        if child.kind == "UNEXPOSED_EXPR" and child.type == t.VOID and len(child.children) > 1:
            at = _designated(scope, child, kind, child.span if child.span.line else node.span)
            if at < len(values):
                scope.refuse("designator", "write the values of a list in the order of its parts", child.span)
            values += _rest(scope, kind, len(values), at, child.span)
            child = child.children[-1]
        values.append(
            _part(
                scope,
                child,
                nodes,
                kind.of if isinstance(kind, t.Array) else parts[len(values)].type,
                node,
            )
        )
    if most == whole and has_values(scope, kind):
        values += _rest(scope, kind, len(values), most, node.span)
    if isinstance(kind, t.Struct) and kind.bitfields and values:
        return ir.Compose(bits.packed(scope, kind, values, node.span), kind, node.span)
    return ir.Compose(tuple(values), kind, node.span)


def _empty_base(child: Node, part: t.Type) -> bool:
    """Return whether *child* is the value of an empty base class, although a *part* is expected."""
    kind = child.type
    return (
        child.kind == "INIT_LIST_EXPR" and isinstance(kind, t.Struct) and not kind.fields and kind is not part
    )


def _of_base(scope: FunctionScope, nodes: Iterator[Node], kind: t.Array | t.Struct) -> Iterator[ir.Expr]:
    """Yield the members of the first base if the first value of the list is an object of that base."""
    base = kind.bases[0] if isinstance(kind, t.Struct) and kind.bases else None
    first = next(nodes, None) if base is not None else None
    if base is None or first is None:
        return
    if first.kind == "INIT_LIST_EXPR":
        whole = of_braces(scope, first)
    elif first.type is base or t.derives(first.type, base):
        whole = scope.value(first)
    else:  # the braces of the base are omitted
        whole = _filled(scope, itertools.chain((first,), nodes), base, first)
    values = whole.values if isinstance(whole, ir.Compose) else ()
    if isinstance(whole, ir.Compose):
        yield from values
        yield from _rest(scope, base, len(values), len(base.fields), first.span)
        return
    steps, held = list[ir.Expr](), scope.temporary(base, first.span)
    steps.append(
        ir.Assign(
            held, base_of(scope, whole, base, first.span) if whole.type is not base else whole, first.span
        )
    )
    for field in base.fields:
        yield sequence(steps, ir.Load(ir.Member(held, field, first.span), first.span), first.span)
        steps = []


def _rest(
    scope: FunctionScope, kind: t.Array | t.Struct, first: int, end: int, span: ir.Span
) -> list[ir.Expr]:
    """Return the values of the parts of *kind* from *first* to *end* (exclusive), which the list omits."""
    if end - first > MOST_LEFT_OUT:
        text = f"a list in braces leaves {counted(end - first, 'element')} out, more than {MOST_LEFT_OUT:,}; give their values in a loop"
        scope.refuse("initial value", text, span)
    if isinstance(kind, t.Array):
        return [default_value(scope, kind.of, span) for _ in range(first, end)]
    usual = scope.reader.member_values(kind)
    for field in kind.parts[first:end]:
        default = usual.get(field.name)
        if default is not None and _reads(default):
            scope.refuse(
                "member initialiser",
                f"the initialiser of {field.name} reads another member, which is not supported in braces; give its value",
                span,
            )
    return [_member(scope, usual.get(f.name), f.type, span) for f in kind.parts[first:end]]


def _member(scope: FunctionScope, value: Node | None, kind: t.Type, span: ir.Span) -> ir.Expr:
    return default_value(scope, kind, span) if value is None else initial(scope, value, kind)


def _designated(scope: FunctionScope, child: Node, kind: t.Array | t.Struct, span: ir.Span) -> int:
    """Return the index of the part of *kind* that *child* initialises."""
    designator, *others = child.children[:-1]
    if others:
        scope.refuse(
            "designator",
            "a designator of a range, of several steps or into an anonymous member is not supported; nest the braces",
            span,
        )
    if isinstance(kind, t.Array):
        index = scope.reader.value(designator)
        if index is not None:
            return int(index)
    word = scope.reader.text(designator)
    names = [field.name for field in kind.parts] if isinstance(kind, t.Struct) else []
    hiding = t.hides(word, len(kind.bases)) if isinstance(kind, t.Struct) else ""
    for name in (hiding, word):
        if name in names:
            return names.index(name)
    return scope.refuse(
        "designator", "this designator is not supported; write the values in the order of the parts", span
    )


def _part(scope: FunctionScope, child: Node, nodes: Iterator[Node], part: t.Type, node: Node) -> ir.Expr:
    if child.kind == "INIT_LIST_EXPR":
        return _listed(scope, child, part)
    if child.kind == "STRING_LITERAL" and isinstance(part, t.Array):
        return letters(string(scope, child).value, part, child.span)
    if isinstance(part, t.Struct):
        same = child.type is part or t.derives(child.type, part)
        copy = copy_of_node(scope, child, part) if same else converted(scope, child, part)
        if copy is not None:
            return copy
    if isinstance(part, t.Array) or (isinstance(part, t.Struct) and child.type is not part):
        # The inner braces are omitted: child is the first inner value.
        return _filled(scope, itertools.chain((child,), nodes), part, node)
    return arguments.argument(scope, child, part)  # a reference is bound


def _listed(scope: FunctionScope, child: Node, part: t.Type) -> ir.Expr:
    """Return the value of a part that has inner braces."""
    value = listed(scope, child, part) if isinstance(part, t.Struct) else None
    if value is not None:
        return value
    if isinstance(part, t.Array | t.Struct):
        return compose(scope, child, part)
    return of_braces(scope, child) if child.type == part else scope.valued(child, part)


def initial(scope: FunctionScope, node: Node, kind: t.Type) -> ir.Expr:
    """Return the default value in a member's declaration."""
    if isinstance(kind, t.Array | t.Struct) and node.kind == "INIT_LIST_EXPR":
        return compose(scope, node, kind)
    return arguments.argument(scope, node, kind)  # a reference is bound


# -- without an initialiser ------------------------------------------------------------------------


def default_value(scope: FunctionScope, kind: t.Type, span: ir.Span) -> ir.Expr:
    """Return the value of an object without initialiser: from its default constructor, or zero."""
    if isinstance(kind, t.Array) and has_values(scope, kind):
        return ir.Compose(tuple(default_value(scope, kind.of, span) for _ in range(kind.count)), kind, span)
    if not isinstance(kind, t.Struct):
        return empty(kind, span)
    constructor = constructor_of(scope, kind)
    if constructor is None:
        return plain(scope, kind, span)
    return built(scope, Node("CALL_EXPR", span, None), constructor, kind, [])


def plain(scope: FunctionScope, kind: t.Struct, span: ir.Span) -> ir.Expr:
    """Return an object without constructor: members with their declared values, and a default-constructed base."""
    if not has_values(scope, kind):
        return ir.Compose((), kind, span)
    usual = scope.reader.member_values(kind)
    if kind.union:
        return _union(scope, kind, usual, span)
    if any(map(_reads, usual.values())):
        return _by_members(scope, kind, usual, span)
    values = tuple(_member(scope, usual.get(f.name), f.type, span) for f in kind.fields)
    whole = ir.Compose(values, kind, span)
    base = constructor_of(scope, kind.bases[0]) if kind.bases else None
    if base is None:
        return whole
    held = scope.temporary(kind, span)
    this = scope.address(held, t.Pointer(kind), span)
    steps: list[ir.Expr] = [ir.Assign(held, whole, span), construct(scope, base, this, span)]
    if kind.virtual:
        steps.append(arguments.become(this, kind, span))
    return sequence(steps, ir.Load(held, span), span)


def _reads(node: Node) -> bool:
    """Return whether the value of a member depends on the object: on another member or ``this``."""
    member = node.kind == "MEMBER_REF_EXPR" and not any(c.type is not None for c in node.children)
    return member or node.kind == "CXX_THIS_EXPR" or any(map(_reads, node.children))


def _by_members(scope: FunctionScope, kind: t.Struct, usual: Mapping[str, Node], span: ir.Span) -> ir.Expr:
    """Return an object whose members are initialised one after the other, because some depend on others."""
    held, steps = scope.temporary(kind, span), list[ir.Expr]()
    this = scope.kept(scope.address(held, t.Pointer(kind), span), steps)
    base = constructor_of(scope, kind.bases[0]) if kind.bases else None
    if base is not None:
        steps.append(construct(scope, base, this, span))
    if kind.virtual:
        steps.append(arguments.become(this, kind, span))
    around = scope.this, scope.captures
    assert isinstance(this.place, ir.LocalStorage)
    scope.this, scope.captures = this.place.local, None  # values of members refer to the object as `this`
    done = len(kind.bases[0].fields) if base is not None else 0
    for field in kind.fields[done:]:
        value = _member(scope, usual.get(field.name), field.type, span)
        steps.append(ir.Assign(ir.Member(held, field, span), value, span))
    scope.this, scope.captures = around
    return sequence(steps, ir.Load(held, span), span)


def _union(scope: FunctionScope, kind: t.Struct, usual: Mapping[str, Node], span: ir.Span) -> ir.Expr:
    first = kind.fields[0]
    if [first.name] != [*usual]:
        scope.refuse(
            "union",
            f"only the first member of {kind} may be declared with a value; assign the other one",
            span,
        )
    return ir.Compose((initial(scope, usual[first.name], first.type),), kind, span)


def construct(scope: FunctionScope, constructor: Declaration, this: ir.Expr, span: ir.Span) -> ir.Call:
    """Return the call of a default constructor for the object at *this*."""
    values = arguments.passed(scope, Node("CALL_EXPR", span, None), constructor, [])
    return scope.calling(constructor, (this, *values), span)


def has_values(scope: FunctionScope, kind: t.Type) -> bool:
    """Return whether an object of *kind* without initialiser has values other than zero, or needs a constructor."""
    kind = t.element_of(kind)
    if not isinstance(kind, t.Struct) or kind.closure:
        return False
    if scope.reader.member_values(kind) or any(has_values(scope, f.type) for f in kind.fields):
        return True
    return any(constructor_of(scope, part) is not None for part in (kind, *kind.bases))


def constructor_of(scope: FunctionScope, kind: t.Struct) -> Declaration | None:
    """Return the default constructor of *kind* if it has an effect, or None."""
    acting = (c for c in scope.reader.constructors(kind) if arguments.acts(c))
    return next((c for c in acting if all(p.default is not None for p in c.parameters)), None)


# -- by constructors ---------------------------------------------------------------------------------


def built(
    scope: FunctionScope,
    node: Node,
    target: Declaration,
    kind: t.Struct,
    nodes: list[Node],
    members: tuple[Declaration, ...] = (),
) -> ir.Expr:
    """Return an object created by a constructor of the sources; *members* are members unknown to the constructor."""
    held = scope.temporary(kind, node.span)
    this = scope.address(held, t.Pointer(kind), node.span)
    values = arguments.passed(scope, node, target, nodes)
    steps: list[ir.Expr] = [scope.calling(target, (this, *values), node.span)]
    usual = {kind.named(f.name).name: f.default for f in members}
    for field in kind.fields:
        first = usual.get(field.name)
        if first is not None:
            at = ir.Member(held, field, node.span)
            steps += member_stores(scope, at, initial(scope, first, field.type), node.span)
    return sequence(steps, ir.Load(held, node.span), node.span)


def member_stores(scope: FunctionScope, at: ir.Member, value: ir.Expr, span: ir.Span) -> Iterator[ir.Expr]:
    """Yield the stores of *value* to a member; an array is stored element by element."""
    if isinstance(at.type, t.Array) and isinstance(value, ir.Compose):
        yield from places.stores(scope.address(at, t.Pointer(at.type.of), span), value, at.type)
    else:
        yield ir.Assign(at, value, span)


def listed(scope: FunctionScope, node: Node, kind: t.Struct) -> ir.Expr | None:
    """Return an object from inner braces if its class has constructors; the library does not say which one is called."""
    constructors = scope.reader.constructors(kind)
    acting = [c for c in constructors if arguments.acts(c) and not c.makes_copy]
    if not acting or kind.name.startswith("std::pair<"):  # its constructor sets its members
        return None
    fitting = [c for c in acting if len(c.parameters) == len(node.children)]
    if len(fitting) != 1:
        scope.refuse("braces", f"write the name of the class before these braces: {kind}{{...}}", node.span)
    return built(scope, node, fitting[0], kind, node.children)


def converted(scope: FunctionScope, node: Node, kind: t.Struct) -> ir.Expr | None:
    """Return an object converted from one value by a constructor, which the library does not show; None without constructors."""
    constructors = [c for c in scope.reader.constructors(kind) if not c.implicit and not c.makes_copy]
    if not constructors or kind.name.startswith("std::"):
        return None
    single = [
        c for c in constructors if c.parameters and all(p.default is not None for p in c.parameters[1:])
    ]
    # Constructors that need no conversion come first.
    exact = [c for c in single if t.referent(c.parameters[0].type) == node.type] or single
    if len(exact) != 1:
        scope.refuse("braces", f"write the name of the class: {kind}(...)", node.span)
    if not arguments.acts(exact[0]):
        return plain(scope, kind, node.span)
    return built(scope, node, exact[0], kind, [node])


# Copies of objects as in C++: by copy constructors and assignment operators of classes, their members and
# bases.

_MOST = 1024  # limit of array elements that are copied one by one


def copy_of_node(scope: FunctionScope, node: Node, kind: t.Struct, *, moved: bool = False) -> ir.Expr:
    """Return a copy of the object *node* as a *kind*; a temporary object is used without a copy."""
    if not places.is_place(node) or not Copying(scope, node.span, moved).calls(kind):
        value = scope.value(node)
        derived = t.derives(value.type, kind)
        return base_of(scope, value, kind, node.span) if derived else convert(scope, value, kind, node.span)
    return copied(scope, places.place(scope, node), kind, node.span, moved=moved)


def copied(
    scope: FunctionScope, at: ir.Place, kind: t.Type, span: ir.Span, *, moved: bool = False
) -> ir.Expr:
    """Return a new object of *kind*, copied from the object at a place, whose class may be derived from *kind*."""
    copying = Copying(scope, span, moved)
    if isinstance(kind, t.Struct):
        at = places.as_part(at, kind, span)
    if not copying.calls(kind):
        if kind is at.type or not isinstance(kind, t.Struct) or not isinstance(at.type, t.Struct):
            return ir.Load(at, span)
        return sliced(scope, at, kind, span)
    steps = list[ir.Expr]()
    at = _steady(scope, at, span, steps)
    to = scope.temporary(kind, span)
    return sequence([*steps, *copying.each(to, at, kind)], ir.Load(to, span), span)


def copied_array(scope: FunctionScope, at: ir.Place, kind: t.Array, span: ir.Span) -> ir.Compose:
    """Return copies of the elements of the array at a place."""
    if kind.count > _MOST:
        scope.refuse(
            "copy",
            f"a copy of an array of {kind.count} elements by value is not supported; write a loop",
            span,
        )
    first = (
        places.address_of(scope, at, span)
        if isinstance(at, ir.Element)
        else scope.address(at, t.Pointer(kind.of), span)
    )
    first = convert(scope, first, t.Pointer(kind.of), span)
    elements = (ir.Element(first, number(n, t.INT64, span), span) for n in range(kind.count))
    of = kind.of
    parts = (
        copied_array(scope, e, of, span) if isinstance(of, t.Array) else copied(scope, e, of, span)
        for e in elements
    )
    return ir.Compose(tuple(parts), kind, span)


def sliced(scope: FunctionScope, at: ir.Place, kind: t.Struct, span: ir.Span) -> ir.Expr:
    """Return the base *kind* of the object at a place, as an object of that class."""
    assert isinstance(at.type, t.Struct)
    scope.refuse_beside(at.type, kind, span)
    at = places.as_part(at, kind, span)
    if at.type is kind:
        return ir.Load(at, span)
    if not kind.fields:
        return ir.Compose((), kind, span)
    steps = list[ir.Expr]()
    at = _steady(scope, at, span, steps)
    parts = (ir.Load(ir.Member(at, f, span), span) for f in kind.fields)
    return sequence(steps, ir.Compose(tuple(parts), kind, span), span)


def base_of(scope: FunctionScope, value: ir.Expr, kind: t.Struct, span: ir.Span) -> ir.Expr:
    """Return the base *kind* of a value."""
    at = value.place if isinstance(value, ir.Load) else ir.Temporary(value, span)
    return sliced(scope, at, kind, span)


def assigned(
    scope: FunctionScope, to: ir.Place, node: Node, kind: t.Struct, span: ir.Span, *, moved: bool
) -> ir.Expr:
    """Return the implicit assignment, which assigns the members and bases."""
    copying = Copying(scope, span, moved, assigning=True)
    if not copying.calls(kind):
        if ends(kind) and not places.is_place(node):  # a temporary is destroyed after the copy
            return ir.Assign(to, copied(scope, places.place(scope, node), kind, span), span)
        return ir.Assign(to, copy_of_node(scope, node, kind), span)
    steps = list[ir.Expr]()
    at = _steady(scope, places.place(scope, node), span, steps)
    to = _steady(scope, to, span, steps)
    reference = t.Pointer(kind, reference=True)
    here = convert(scope, places.address_of(scope, to, span), reference, span)
    return sequence([*steps, *copying.each(to, at, kind)], here, span, reference)


@frozen
class Copying:
    """The compiler's copies of objects, by copy constructors or, if *assigning*, by ``operator=``.

    With *moved*, classes that have a move operation use it.
    """

    scope: FunctionScope
    span: ir.Span
    moved: bool = False
    assigning: bool = False

    def calls(self, kind: t.Type) -> bool:
        """Return whether a copy of *kind* involves calls, not only a copy of bytes."""
        kind = t.element_of(kind)
        if not isinstance(kind, t.Struct) or kind.union:
            return False
        key, copying = (kind.name, self.assigning, self.moved), self.scope.around.copying
        if key not in copying:
            parts = (*kind.bases[:1], *(f.type for f in kind.fields))
            copying[key] = self.chosen(kind) is not None or any(map(self.calls, parts))
        return copying[key]

    def chosen(self, kind: t.Struct) -> Declaration | None:
        """Return the source's function that copies or moves objects of a class, or None."""
        reader = self.scope.reader
        every = [*reader.assignments(kind)] if self.assigning else reader.constructors(kind)
        candidates = [f for f in every if (self.assigning or f.makes_copy) and not f.implicit]
        if not candidates and reader.hides(kind, "CXX_METHOD" if self.assigning else "CONSTRUCTOR"):
            what = "operator=" if self.assigning else "copy constructor"
            text = f"the {what} of {kind}, which is made from a template, is not known here; copy its members"
            self.scope.refuse("copy", text, self.span)
        moving = [f for f in candidates if f.takes_temporary and self.moved]  # otherwise it is copied
        return next(iter([*moving, *(f for f in candidates if not f.takes_temporary)]), None)

    def each(self, to: ir.Place, at: ir.Place, kind: t.Type) -> list[ir.Expr]:
        """Return the copies of an object: of its base and members, or of the elements of an array."""
        scope, span = self.scope, self.span
        if not self.calls(kind):
            slices = isinstance(kind, t.Struct) and isinstance(at.type, t.Struct) and kind is not at.type
            value = sliced(scope, at, kind, span) if slices else ir.Load(at, span)  # type: ignore[arg-type]
            return [ir.Assign(to, value, span)]
        if isinstance(kind, t.Array):
            return self._elements(to, at, kind)
        assert isinstance(kind, t.Struct)
        target = self.chosen(kind)
        if target is not None:
            this, source = (
                convert(scope, places.address_of(scope, place, span), t.Pointer(kind), span)
                for place in (to, at)
            )
            if not isinstance(target.parameters[0].type, t.Pointer):
                source = arguments.by_value(scope, copied(scope, at, kind, span), kind, span)
            rest = arguments.passed(scope, Node("CALL_EXPR", span, None), target, [], first=1)
            return [scope.calling(target, (this, source, *rest), span)]
        copies: list[ir.Expr] = []
        if kind.bases:
            base = kind.bases[0]
            copies += self.each(as_base(scope, to, base, span), as_base(scope, at, base, span), base)
            if kind.virtual and not self.assigning:
                copies.append(arguments.become(places.address_of(scope, to, span), kind, span))
        for field in kind.own_fields:
            copies += self.each(ir.Member(to, field, span), ir.Member(at, field, span), field.type)
        return copies

    def _elements(self, to: ir.Place, at: ir.Place, kind: t.Array) -> list[ir.Expr]:
        if kind.count > _MOST:
            text = f"a copy of {kind.count} {kind.of} by their class is not supported; write a loop"
            self.scope.refuse("copy", text, self.span)
        ends = [self.scope.address(place, t.Pointer(kind.of), self.span) for place in (to, at)]
        copies: list[ir.Expr] = []
        for n in range(kind.count):
            here, there = (ir.Element(place, number(n, t.INT64, self.span), self.span) for place in ends)
            copies += self.each(here, there, kind.of)
        return copies


def as_base(scope: FunctionScope, at: ir.Place, base: t.Struct, span: ir.Span) -> ir.Element:
    """Return the place of the *base* of the object at a place."""
    return first_at(convert(scope, places.address_of(scope, at, span), t.Pointer(base), span), span)


def _steady(scope: FunctionScope, at: ir.Place, span: ir.Span, before: list[ir.Expr]) -> ir.Place:
    """Return the same place with its address evaluated once, by the steps *before*."""
    if isinstance(innermost(at), ir.LocalStorage | ir.GlobalPlace):
        return at
    if isinstance(at, ir.Temporary):
        held = scope.temporary(at.type, span)
        before.append(ir.Assign(held, at.value, span))
        return held
    here = places.address_of(scope, at, span)
    pointer = scope.hold(here.type, span)
    before.append(ir.Assign(pointer, here, span))
    return first_at(ir.Load(pointer, span), span)


# Destruction of objects: their own destructors, then those of members and bases.

Statements = tuple[ir.Statement, ...]


def ending_of_local(scope: FunctionScope, local: ir.Local) -> Statements:
    """Return the statements that destroy a local."""
    return ending_of_place(scope, ir.LocalStorage(local, local.span), local.span)


def ending_of_place(scope: FunctionScope, at: ir.Place, span: ir.Span) -> Statements:
    """Return the statements that destroy the object at a place."""
    kind = at.type
    if isinstance(kind, t.Array):
        return (_ending_of_array(scope, at, kind, span),)
    assert isinstance(kind, t.Struct)
    reader = scope.reader
    target = reader.destructor(kind)
    if target is None and kind.destroyed and reader.hidden_end(kind):
        scope.around.hidden.add(f"{END}{kind.name}>")
        text = f"the destructor of {kind}, which is made from a template, is not known; give its class a name"
        scope.refuse("destructor", text, span)
    if target is not None:
        this = scope.address(at, t.Pointer(kind), span)
        return (ir.Evaluate(scope.calling(target, (this,), span), span),)
    return ending_of_parts(scope, kind, at, span)


def _ending_of_array(scope: FunctionScope, at: ir.Place, kind: t.Array, span: ir.Span) -> ir.Block:
    """Return the destruction of the elements of an array, from last to first."""
    left = scope.hold(t.INT64, span)
    first = scope.address(at, t.Pointer(kind.of), span)
    element = ir.Element(first, ir.Load(left, span), span)
    step = ir.Evaluate(ir.Update(left, "-", number(1, t.INT64, span), t.INT64, False, span), span)
    test = ir.Compare(">", ir.Load(left, span), number(0, t.INT64, span), span)
    loop = ir.Loop(test, None, (step, *ending_of_place(scope, element, span)), False, span)
    return ir.Block((ir.Declare(left.local, number(kind.count, t.INT64, span), span), loop), span)


def ending_of_parts(scope: FunctionScope, kind: t.Struct, at: ir.Place, span: ir.Span) -> Statements:
    """Return the destruction of an object's members, from last to first, and of its base."""
    base = kind.bases[0] if kind.bases else None
    endings: list[ir.Statement] = []
    for field in reversed(kind.own_fields):
        if ends(t.element_of(field.type)):
            endings += ending_of_place(scope, ir.Member(at, field, span), span)
    if base is not None and base.destroyed:
        this = scope.address(at, t.Pointer(base), span)
        endings += ending_of_place(scope, first_at(this, span), span)
    return tuple(endings)


# Lambdas: a struct of the captured variables, and a body that accesses them there.

_THIS = "this"
_DECLARING = ("VAR_DECL", "UNEXPOSED_DECL")  # their values are not children
_UNEVALUATED = "CXX_UNARY_EXPR"  # sizeof and alignof


def of_lambda(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return a lambda as a struct: its captured values and references, in order."""
    kind = node.type
    assert isinstance(kind, t.Struct)
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
    # For a parameter declared as an array, the library says array in the captures too.
    types = (
        c.type if isinstance(f.type, t.Array) and c is not None and c.decayed else f.type
        for f, c in zip(kind.fields, wanted, strict=True)
    )
    kind.fields = tuple(
        t.Field(n, type_, f.offset) for n, type_, f in zip(names, types, kind.fields, strict=True)
    )
    scope.around.closures[kind.name] = captures
    values = [_captured(scope, c, f.type, node) for c, f in zip(wanted, kind.fields, strict=True)]
    return ir.Compose(tuple(values), kind, node.span)


def _wanted(scope: FunctionScope, node: Node, kind: t.Struct) -> Iterator[Declaration | None]:
    """Yield the captured variables in the order of the struct's members; None stands for ``this``."""
    named = [c.decl for c in node.children if c.kind == "VARIABLE_REF" and c.decl is not None]
    members = list(kind.fields)
    # In a template instance, the library shows the captures instead of the body.
    body = next((c for c in reversed(node.children) if c.kind == "COMPOUND_STMT"), node)
    used = list(_met(scope, body, set(named)))
    # A constant is captured only if its address is needed, which its use does not show: the count decides for
    # all or none.
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


def _met(scope: FunctionScope, node: Node, listed: set[Declaration]) -> Iterator[Declaration]:
    """Yield the outer function's variables in the order in which the body of a lambda uses them."""
    if node.kind == _UNEVALUATED:
        return
    for inner in node.children:
        declaration = inner.decl
        if inner.kind in _DECLARING and declaration is not None and declaration.initialiser is not None:
            yield from _met(scope, Node("", inner.span, None, declaration.initialiser), listed)
        if (
            inner.kind == "DECL_REF_EXPR"
            and declaration is not None
            and declaration not in listed
            and scope.knows(declaration)
            and not declaration.static
        ):
            listed.add(declaration)
            yield declaration
        yield from _met(scope, inner, listed)


def _fits(member: t.Type, have: t.Type) -> bool:
    """Return whether a captured member may hold, or refer to, a variable of type *have*."""
    same = t.referent(member) == t.referent(have)
    return same or (isinstance(member, t.Array) and have == t.Pointer(member.of))


def _is_this(scope: FunctionScope, kind: t.Type) -> bool:
    around = scope.this_type
    return around is not None and (kind == around or (isinstance(around, t.Pointer) and kind is around.to))


def _captured(scope: FunctionScope, captured: Declaration | None, kind: t.Type, node: Node) -> ir.Expr:
    span = node.span
    if captured is None:
        around = places.this(scope, node)
        if isinstance(kind, t.Pointer):
            return around
        return ir.Load(first_at(around, span), span)
    if not scope.knows(captured) and captured.initialiser is not None:  # [q = value]
        if t.refers(kind):
            return convert(scope, places.pointer(scope, captured.initialiser), kind, span)
        return scope.valued(captured.initialiser, kind)
    at = places.named(scope, captured, node)
    if t.refers(kind):
        return convert(scope, places.address_of(scope, at, span), kind, span)
    if isinstance(kind, t.Array):
        return copied_array(scope, at, kind, span)
    return copied(scope, at, kind, span)


def call_operator(scope: FunctionScope, node: Node) -> Declaration | None:
    """Return the function called by calling the object *node*; None if there is none, or if it takes ``auto``."""
    if not isinstance(node.type, t.Struct):
        return None
    return scope.reader.class_of(node).call_operator
