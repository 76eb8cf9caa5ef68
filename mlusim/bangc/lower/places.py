"""Places: storage locations and pointers to them; also decides which variables become bytes of simulated memory."""

from collections.abc import Iterable, Iterator, Set as AbstractSet

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import acts, innermost, walk
from mlusim.bangc.lower.conversions import convert, empty
from mlusim.bangc.lower.scope import (
    FunctionScope,
    first_at,
    fixed_words,
    followed,
    local_value,
    number,
    sequence,
)  # fmt: skip
from mlusim.bangc.parse.nodes import Declaration, Node
from mlusim.bangc.parse.type_reader import ends

_CASTS = ("CXX_STATIC_CAST_EXPR", "CSTYLE_CAST_EXPR")
WRAPPERS = ("PAREN_EXPR", "UNEXPOSED_EXPR", "CXX_CONST_CAST_EXPR", *_CASTS)
_NAMED = ("DECL_REF_EXPR", "MEMBER_REF_EXPR", "ARRAY_SUBSCRIPT_EXPR", "CXX_THIS_EXPR")
_ASSIGNING = ("COMPOUND_ASSIGNMENT_OPERATOR",)
TRANSPARENT = ("move", "forward")  # std::move and std::forward return their argument
_CHOOSING = {"min": "<", "max": ">"}  # std::min and std::max return a reference to one argument
BY_MEMBER = (".*", "->*")
VARIABLES = ("VAR_DECL", "PARM_DECL", "UNEXPOSED_DECL")


def bare(node: Node) -> Node:
    """Return *node* without parentheses and implicit steps that keep the type."""
    while node.kind in WRAPPERS and node.children and _same_object(node, node.children[-1]):
        node = node.children[-1]
    return node


def _same_object(node: Node, inner: Node) -> bool:
    """Return whether a step leads from an object to itself, or to its base, which shares its members."""
    if node.kind in _CASTS and not _to_reference(node):
        return False
    if inner.type == node.type:
        return True
    both = isinstance(node.type, t.Struct) and isinstance(inner.type, t.Struct)
    return both and node.kind == "UNEXPOSED_EXPR" and is_place(inner)


def is_place(node: Node) -> bool:
    """Return whether *node* has an address."""
    node = bare(node)
    if node.kind in _NAMED:
        if node.decl is None:
            return node.kind != "DECL_REF_EXPR"  # a template argument's value
        declaration = node.decl
        # A number of the device or of a header, such as taskId, has no address.
        numbers = isinstance(node.type, t.Arithmetic)
        supplied = declaration.kind == "VAR_DECL" and declaration.from_prelude and numbers
        return not (declaration.kind == "ENUM_CONSTANT_DECL" or declaration.bit_field or supplied)
    if node.kind == "UNARY_OPERATOR":
        return node.op in ("*", "++x", "--x")
    if node.kind == "CALL_EXPR":
        return node.decl is not None and t.refers(node.decl.result)
    if node.kind in _CASTS and t.derives(node.type, node.children[-1].type):
        return is_place(node.children[-1])
    if node.kind == "CONDITIONAL_OPERATOR":
        return all(is_place(c) for c in node.children[1:])
    if node.kind == "BINARY_OPERATOR":
        return node.op in ("=", *BY_MEMBER) or (node.op == "," and is_place(node.children[-1]))
    return node.kind in _ASSIGNING or reinterprets(node)


def _to_reference(node: Node) -> bool:
    """Return whether a cast is to a reference; a cast to a value contains an implicit load or copy."""
    inner = node.children[-1]
    while inner.kind == "PAREN_EXPR":
        inner = inner.children[-1]
    loads = inner.kind == "UNEXPOSED_EXPR" and not isinstance(inner.type, t.Struct)
    return is_place(inner) and not loads


def reinterprets(node: Node) -> bool:
    """Return whether *node* is ``reinterpret_cast<T &>(x)`` or ``(T &)x``, which reads x as another type."""
    if node.kind == "CXX_REINTERPRET_CAST_EXPR":
        return not isinstance(node.type, t.Pointer) and _to_reference(node)
    if node.kind != "CSTYLE_CAST_EXPR" or not isinstance(node.type, t.Arithmetic | t.Pointer | t.Struct):
        return False
    return node.type != node.children[-1].type and _to_reference(node)


def place(scope: FunctionScope, node: Node) -> ir.Place:
    """Return the place of *node*; a value gets temporary storage."""
    at = _place(scope, node)
    return as_part(at, node.type, node.span) if isinstance(node.type, t.Struct) else at


def as_part(at: ir.Place, kind: t.Struct, span: ir.Span) -> ir.Place:
    """Return the place of the base *kind* of the object at a place, or the place itself for any other kind."""
    for field in (at.type.part(kind) or ()) if isinstance(at.type, t.Struct) else ():
        at = ir.Member(at, field, span)
    return at


def _place(scope: FunctionScope, node: Node) -> ir.Place:
    node = bare(node)
    maker = _MAKERS.get(node.kind)
    if maker is not None:
        return maker(scope, node)
    if is_place(node):
        return _dereferenced(scope, node)
    inner = node.children[-1] if node.kind == "UNEXPOSED_EXPR" and node.children else node
    if inner.type is not None and t.derives(inner.type, node.type):
        return place(scope, inner)  # a new object, accessed as its base
    return made_place(scope, scope.value(node))


def made_place(scope: FunctionScope, value: ir.Expr) -> ir.Place:
    """Return storage for a value; an object with a destructor lives until the end of its full expression."""
    if isinstance(value.type, t.Array) and isinstance(value, ir.Compose):
        return _made_array(scope, value, value.type)
    if not isinstance(value.type, t.Struct) or not ends(value.type):
        return ir.Temporary(value, value.span)
    kind, span = value.type, value.span
    local = new_object(value)
    if local is None:
        held = scope.temporary(kind, span)
        local, value = held.local, ir.Assign(held, value, span)
    scope.loose.append(local)
    here = scope.address(ir.LocalStorage(local, span), t.Pointer(kind), span)
    return referred(ir.Comma(value, here, here.type, span), span)


def _made_array(scope: FunctionScope, composed: ir.Compose, kind: t.Array) -> ir.Place:
    """Return storage for a braced list: an unnamed array, whose elements are stored one by one."""
    span = composed.span
    held = scope.temporary(kind, span)
    here = scope.address(held, t.Pointer(kind), span)
    first = scope.address(held, t.Pointer(kind.of), span)
    return referred(sequence([*stores(first, composed, kind)], here, span), span)


def stores(first: ir.Expr, whole: ir.Expr, kind: t.Array) -> Iterator[ir.Expr]:
    """Yield the stores of the elements of *whole* from the pointer *first* on; missing elements are zeros."""
    values = whole.values if isinstance(whole, ir.Compose) else ()
    for n in range(kind.count):
        value = values[n] if n < len(values) else None
        at = ir.Element(first, number(n, t.INT64, whole.span), whole.span)
        if isinstance(kind.of, t.Array):
            inner = ir.AddressOf(at, t.Pointer(kind.of.of), whole.span)
            yield from stores(inner, value or ir.Compose((), kind.of, whole.span), kind.of)
        else:
            yield ir.Assign(at, empty(kind.of, whole.span) if value is None else value, whole.span)


def new_object(value: ir.Expr) -> ir.Local | None:
    """Return the variable of a temporary object that a constructor just created; None for other values."""
    if not (isinstance(value, ir.Comma) and isinstance(value.first, ir.Call) and value.first.arguments):
        return None
    this, whole = value.first.arguments[0], value.second
    if not (
        isinstance(this, ir.AddressOf)
        and isinstance(this.place, ir.LocalStorage)
        and isinstance(whole, ir.Load)
    ):
        return None
    same = isinstance(whole.place, ir.LocalStorage) and whole.place.local is this.place.local
    return this.place.local if same and not this.place.local.source_name else None


def pointer(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return the address of *node*."""
    return address_of(scope, place(scope, node), node.span)


def reference(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return a reference to *node*: an address at which an object exists."""
    return address_of(scope, place(scope, node), node.span, referred=True)


def address_of(scope: FunctionScope, at: ir.Place, span: ir.Span, *, referred: bool = False) -> ir.Expr:
    """Return the address of a place in its simplest form; *referred*: an object exists there."""
    if isinstance(at, ir.Element):
        pointer = convert(scope, at.pointer, t.Pointer(at.type), span)
        if isinstance(at.index, ir.Const) and at.index.value == 0:
            return pointer
        return ir.Offset(pointer, at.index, False, span, referred)
    return scope.address(at, t.Pointer(at.type), span)


def _name(scope: FunctionScope, node: Node) -> ir.Place:
    declaration = node.decl
    if declaration is None or declaration.kind not in VARIABLES:
        return ir.Temporary(scope.value(node), node.span)
    return named(scope, declaration, node)


def named(scope: FunctionScope, declaration: Declaration, node: Node) -> ir.Place:
    """Return the place of the variable that *declaration* declares, accessed by *node*."""
    part = scope.bindings.get(id(declaration))
    if part is not None:
        return part
    local = scope.local(declaration) or _unnamed(scope, declaration)
    member = _captured(scope, declaration, node.span) if local is None else None
    if member is not None:
        return member
    local = local or scope.static(declaration)
    if local is None:
        return _outer(scope, declaration, node)
    at = ir.LocalStorage(local, node.span)
    to_function = isinstance(local.type, t.Pointer) and isinstance(local.type.to, t.FunctionType)
    return at if to_function else followed(at, node.span)


def _unnamed(scope: FunctionScope, declaration: Declaration) -> ir.Local | None:
    """Return the variable of an anonymous union in the function, which no statement declares; else None."""
    if declaration.name or declaration.kind != "VAR_DECL" or not declaration.inside(scope.symbol):
        return None
    local = scope.add(declaration)
    scope.hidden.append(ir.Declare(local, None, declaration.span))
    return local


def _captured(scope: FunctionScope, declaration: Declaration | None, span: ir.Span) -> ir.Place | None:
    """Return the place of a captured variable (None: of the captured ``this``), or None."""
    this = scope.this
    if scope.captures is None or this is None:
        return None
    name = scope.captures.members.get(declaration)
    if name is None:
        return None
    assert isinstance(this.type, t.Pointer)
    struct = this.type.to
    assert isinstance(struct, t.Struct)
    member = ir.Member(first_at(local_value(this, span), span), struct.field(name), span)
    return followed(member, span)


def _outer(scope: FunctionScope, declaration: Declaration, node: Node) -> ir.Place:
    """Return the place of a variable at file scope or of a static class member."""
    if (
        not {*declaration.annotations} - {"aligned"}
        and declaration.constant
        and isinstance(declaration.type, t.Arithmetic)
    ):
        constant = declaration.value if declaration.value is not None else scope.reader.value(node)
        if constant is not None:
            value = number(constant, declaration.type, node)
            return ir.Temporary(value, node.span, fixed_words(declaration))
    if declaration.kind in ("PARM_DECL", "UNEXPOSED_DECL") or declaration.of_function:
        where = "is declared by a part of a statement that is not supported; declare it before the statement"
        if not declaration.inside(scope.symbol):
            where = "belongs to another function; pass it as an argument"
        scope.refuse("captured variable", f"{declaration.name} {where}", node.span)
    variable = scope.around.variable(declaration)
    return ir.GlobalPlace(variable, node.span)


def _subscript(scope: FunctionScope, node: Node) -> ir.Place:
    base, index = node.children[0], node.children[-1]
    if isinstance(base.type, t.Arithmetic):  # 2[p] is p[2]
        base, index = index, base
    at = scope.value(base)
    return ir.Element(at, scope.value(index), node.span)


def _unary(scope: FunctionScope, node: Node) -> ir.Place:
    if node.op == "*":
        return first_at(scope.value(node.children[0]), node.span)
    value = scope.value(node)
    return _after(scope, node, value) if node.op in ("++x", "--x") else ir.Temporary(value, node.span)


def _after(scope: FunctionScope, node: Node, done: ir.Expr) -> ir.Place:
    """Return the place to which the assignment *done* stored, evaluated once, before the assignment."""
    store = done.second if isinstance(done, ir.Comma) else done
    if not isinstance(store, ir.Assign | ir.Update):  # of a bit field
        return ir.Temporary(done, node.span)
    here = address_of(scope, store.place, node.span)
    if acts(here):
        before = list[ir.Expr]()
        here = scope.kept(here, before)
        store.place = referred(sequence(before, here, node.span), node.span)
    return referred(ir.Comma(done, here, here.type, node.span), node.span)


def _member(scope: FunctionScope, node: Node) -> ir.Place:
    declaration = node.decl
    if declaration is None:
        return scope.refuse("member", f"the member {node!r} is not known", node.span)
    if declaration.bit_field:
        return ir.Temporary(scope.value(node), node.span)
    if declaration.kind == "VAR_DECL":  # a static member belongs to no object
        return _outer(scope, declaration, node)
    base = member_base(scope, node)
    kind = base.type
    if not isinstance(kind, t.Struct):
        return scope.refuse("member", f"{kind} has no known member {declaration.name}", node.span)
    owner = None if declaration.parent is None else declaration.parent.type
    if isinstance(owner, t.Struct) and owner.fields:
        scope.refuse_beside(kind, owner, node.span)
        if kind.part(owner) is not None:
            return _of_owner(scope, as_part(base, owner, node.span), owner, declaration.name, node)
    at = _member_of(scope, base, kind, declaration.name, node)
    hidden = isinstance(owner, t.Struct) and "(" not in owner.name and at is not None and at.base is base
    if at is None or hidden:
        text = f"{declaration.name} is a member of a base class that is not known, as one that is a parameter of a template; name the base class"
        return scope.refuse("inheritance", text, node.span)
    return followed(at, node.span)


def _of_owner(scope: FunctionScope, at: ir.Place, owner: t.Struct, name: str, node: Node) -> ir.Place:
    """Return the place of member *name*, declared in class *owner*, of the object at a place."""
    if owner.declares(name):
        field = owner.named(name)
        return followed(ir.Member(at, field, node.span), node.span)
    inner = _member_of(scope, at, owner, name, node)
    assert inner is not None
    return inner


def _member_of(
    scope: FunctionScope, base: ir.Place, kind: t.Struct, name: str, node: Node
) -> ir.Member | None:
    """Return member *name* of *kind* at *base*, also inside anonymous unions or structures, one of which *node* may name."""
    for field in kind.fields:
        at = ir.Member(base, field, node.span)
        if field.name == name:
            return at
        if field.name.startswith(t.UNNAMED) and isinstance(field.type, t.Struct):
            inner = at if field.type is node.type else _member_of(scope, at, field.type, name, node)
            if inner is not None:
                return inner
    return None


def this(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return ``this``; in a lambda the captured object."""
    if scope.captures is not None:
        at = _captured(scope, None, node.span)
        if at is not None:
            return (
                ir.Load(at, node.span) if isinstance(at.type, t.Pointer) else address_of(scope, at, node.span)
            )
    elif scope.this is not None:
        return local_value(scope.this, node.span)
    return scope.refuse("this", "there is no object here; use `this` in a method only", node.span)


def member_base(scope: FunctionScope, node: Node) -> ir.Place:
    """Return the object of ``object.member``, ``pointer->member``, or of a member without a prefix."""
    inner = [c for c in node.children if c.type is not None]
    if not inner:
        return first_at(this(scope, node), node.span)
    if isinstance(inner[0].type, t.Pointer):
        return first_at(scope.value(inner[0]), node.span)
    return place(scope, inner[0])


def offset_of_member(scope: FunctionScope, node: Node) -> ir.Expr | None:
    """Return ``&A::x`` as the member's offset plus one; None if *node* is not a member of a class."""
    declaration = node.decl
    if node.kind != "DECL_REF_EXPR" or declaration is None or declaration.kind != "FIELD_DECL":
        return None
    owner = None if declaration.parent is None else declaration.parent.type
    names = [f.name for f in owner.fields] if isinstance(owner, t.Struct) else []
    if declaration.name not in names:
        scope.refuse("pointer to member", f"where {declaration.name} is in its class is not known", node.span)
    assert isinstance(owner, t.Struct)
    return number(owner.named(declaration.name).offset + 1, t.INT64, node)


def object_of(scope: FunctionScope, node: Node) -> ir.Expr:
    """Return the address of the object in ``object.*member`` and ``pointer->*member``."""
    left = node.children[0]
    return scope.value(left) if node.op == "->*" else pointer(scope, left)


def _by_member(scope: FunctionScope, node: Node) -> ir.Place:
    """Return the place to which a pointer to member leads."""
    this, at, span = object_of(scope, node), scope.value(node.children[-1]), node.span
    whole = this.type.to if isinstance(this.type, t.Pointer) else this.type
    if isinstance(whole, t.Struct):
        scope.around.as_bytes.add(whole.name)
    behind = ir.Offset(ir.Convert(this, t.Pointer(t.UINT8), span), at, False, span)
    there = ir.Offset(behind, number(1, t.INT64, span), True, span)
    return first_at(ir.Convert(there, t.Pointer(node.type), span), span)


def _assignment(scope: FunctionScope, node: Node) -> ir.Place:
    if node.op in BY_MEMBER:
        return _by_member(scope, node)
    if node.op == "," and is_place(node):
        first, last = node.children
        here = pointer(scope, last)
        return referred(ir.Comma(scope.value(first), here, here.type, node.span), node.span)
    value = scope.value(node)
    if node.kind == "BINARY_OPERATOR" and node.op != "=":
        return ir.Temporary(value, node.span)
    return _after(scope, node, value)


def _conditional(scope: FunctionScope, node: Node) -> ir.Place:
    if not is_place(node):
        return ir.Temporary(scope.value(node), node.span)
    test, then, other = node.children
    first, second = pointer(scope, then), pointer(scope, other)
    return first_at(ir.Conditional(scope.value(test), first, second, first.type, node.span), node.span)


def _call(scope: FunctionScope, node: Node) -> ir.Place:
    target = node.decl
    if target is not None and target.from_prelude and target.kind == "FUNCTION_DECL":
        nodes = [c for c in node.children if c.type is not None][1:]
        if target.name in TRANSPARENT:
            return place(scope, nodes[0])
        numbers = isinstance(node.type, t.Arithmetic)
        if target.name in _CHOOSING and len(nodes) == 2 and numbers and all(is_place(g) for g in nodes):
            return _chosen(scope, node, _CHOOSING[target.name], nodes)
    result = scope.call(node)
    if t.refers(result.type):
        return referred(result, node.span)
    return _after(scope, node, result) if isinstance(result, ir.Assign) else made_place(scope, result)


def _chosen(scope: FunctionScope, node: Node, op: str, nodes: list[Node]) -> ir.Place:
    """Return the second of two places if it is less (or greater) than the first, else the first; both are evaluated once."""
    before: list[ir.Expr] = []
    pointers = (pointer(scope, g) for g in nodes)
    first, second = (scope.kept(at, before) if acts(at) else at for at in pointers)
    left, right = (ir.Load(referred(at, at.span), at.span) for at in (first, second))
    better = ir.Compare(op, right, left, node.span)  # if both are equal, the first
    chosen = ir.Conditional(better, second, first, first.type, node.span)
    return referred(sequence(before, chosen, node.span), node.span)


def referred(pointer: ir.Expr, span: ir.Span) -> ir.Element:
    """Return the place to which a reference refers; a pointer plus an offset becomes an element."""
    if isinstance(pointer, ir.Offset) and not pointer.back:
        return ir.Element(pointer.pointer, pointer.count, span)
    return first_at(pointer, span)


def _dereferenced(scope: FunctionScope, node: Node) -> ir.Place:
    """Lower ``reinterpret_cast<T &>(x)`` to the place of *x*."""
    at = pointer(scope, node.children[-1])
    return ir.Element(
        convert(scope, at, t.Pointer(node.type), node.span), number(0, t.INT64, node), node.span
    )


_MAKERS = {
    "DECL_REF_EXPR": _name,
    "ARRAY_SUBSCRIPT_EXPR": _subscript,
    "UNARY_OPERATOR": _unary,
    "MEMBER_REF_EXPR": _member,
    "BINARY_OPERATOR": _assignment,
    "COMPOUND_ASSIGNMENT_OPERATOR": _assignment,
    "CONDITIONAL_OPERATOR": _conditional,
    "CALL_EXPR": _call,
}


def loaded(value: ir.Expr, node: Node) -> ir.Expr:
    """Return *value*; if it is a reference returned from a call, the value to which it refers."""
    if t.refers(value.type) and not isinstance(node.type, t.FunctionType):
        return ir.Load(referred(value, node.span), node.span)
    return value


# Storage of locals: which variables become bytes of simulated memory.


def to_memory(pointer: ir.Expr) -> ir.Local | None:
    """Move the local to which *pointer* points to memory, because an instruction uses its bytes, and return it."""
    while isinstance(pointer, ir.Convert | ir.Offset):
        pointer = pointer.value if isinstance(pointer, ir.Convert) else pointer.pointer
    if isinstance(pointer, ir.AddressOf):
        at = innermost(pointer.place)
        if isinstance(at, ir.LocalStorage):
            _move(at.local)
            return at.local
    return None


def settle(functions: Iterable[ir.Function], as_bytes: AbstractSet[str]) -> None:
    """Move to memory all locals that need bytes: unions, structs accessed as bytes, arrays of these, and variables with numeric addresses."""
    for function in functions:
        for local in function.locals:
            if _in_bytes(local.type, as_bytes):
                _move(local)
        _addresses(function)


def _in_bytes(kind: t.Type, names: AbstractSet[str]) -> bool:
    """Return whether *kind* is or contains a union, or one of the structs *names*."""
    kind = t.element_of(kind)
    if not isinstance(kind, t.Struct):
        return False
    itself = kind.union or not names.isdisjoint(kind.names)
    return itself or any(_in_bytes(f.type, names) for f in kind.fields)


def _addresses(function: ir.Function) -> None:
    """Move variables to memory whose addresses are converted to numbers, directly or through a pointer variable."""
    nodes = walk(function.body)
    numbers = [
        n.value
        for n in nodes
        if isinstance(n, ir.Convert)
        and isinstance(n.type, t.Arithmetic)
        and isinstance(n.value.type, t.Pointer)
    ]
    held = {
        id(n.place.local) for n in numbers if isinstance(n, ir.Load) and isinstance(n.place, ir.LocalStorage)
    }
    for node in nodes if held else ():
        value = getattr(node, "value", None)
        to = node.local if isinstance(node, ir.Declare) else None
        if isinstance(node, ir.Assign) and isinstance(node.place, ir.LocalStorage):
            to = node.place.local
        if value is not None and id(to) in held:
            numbers.append(value)
    for value in numbers:
        to_memory(value)


def _move(local: ir.Local) -> None:
    if local.storage in (ir.Storage.VALUE, ir.Storage.CELL) and not isinstance(
        local.type, t.ClassType | t.VectorRegister
    ):
        local.storage, local.space = ir.Storage.MEMORY, "ldram"  # the space of a task's stack
