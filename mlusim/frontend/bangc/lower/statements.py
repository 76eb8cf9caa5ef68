"""Lowering of statements to the form."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir import (
    Assign,
    Block,
    Break,
    Call,
    Comma,
    Compare,
    Compose,
    Continue,
    Declare,
    Element,
    Evaluate,
    Expr,
    If,
    Load,
    Local,
    LocalStorage,
    Loop,
    Offset,
    Place,
    Return,
    Section,
    Span,
    Statement,
    Storage,
    Switch,
    Temporary,
    Update,
)  # fmt: skip
from mlusim.frontend.bangc.ir.walk import parts_of
from mlusim.frontend.bangc.lower import (
    assembly,
    bindings,
    braces,
    control,
    copies,
    effects,
    endings,
    headers,
    places,
)
from mlusim.frontend.bangc.lower.arguments import argument
from mlusim.frontend.bangc.lower.conversions import convert, letters, string
from mlusim.frontend.bangc.lower.scope import FunctionScope, number
from mlusim.frontend.bangc.parse.nodes import BEGIN, STOP, Declaration, Node
from mlusim.frontend.bangc.parse.type_reader import ends

Body = tuple[Statement, ...]
_IGNORED = (
    "TYPE_ALIAS_DECL",
    "TYPEDEF_DECL",
    "STATIC_ASSERT",
    "USING_DECLARATION",
    "USING_DIRECTIVE",
    "STRUCT_DECL",
    "ENUM_DECL",
)
# What their heads declare ends with them.
_SCOPES = (
    "IF_STMT",
    "FOR_STMT",
    "WHILE_STMT",
    "CXX_FOR_RANGE_STMT",
    "SWITCH_STMT",
)


def body(scope: FunctionScope, node: Node) -> Body:
    """Return the statements of a block, or one statement."""
    if node.kind != "COMPOUND_STMT":
        return tuple(statement(scope, node))
    scope.blocks.append(node.span)
    made = control.block(scope, node.children, statement)
    scope.blocks.pop()
    return made


def statement(scope: FunctionScope, node: Node) -> list[Statement]:
    """Lower one statement; to nothing where it has no effect."""
    mark = len(scope.loose)
    made = _ended(scope, _made(scope, node), mark, node)
    return made if node.invoked is None else [Block((), node.invoked), *made]  # one stops there, too


def _ended(scope: FunctionScope, made: list[Statement], mark: int, node: Node) -> list[Statement]:
    """*made* of *node*, and the ends of its temporary objects."""
    loose = scope.loose[mark:]
    if not loose:
        return made
    alone = all(isinstance(s, Evaluate | Declare) for s in made)
    # A reference makes the object that it is bound to live as long as itself.
    extended = any(isinstance(s, Declare) and isinstance(s.local.type, t.Pointer) for s in made)
    result = made[-1].value if made and isinstance(made[-1], Return) else None
    before, after = made, list[Statement]()
    # A result is computed before the temporary objects end that it comes from.
    if result is not None and isinstance(result.type, t.Arithmetic):
        held = LocalStorage(scope.hold(result.type, node.span), result.type, node.span)
        before = [Evaluate(Assign(held, result, result.type, node.span), node.span)]
        after = [Return(Load(held, result.type, node.span), node.span)]
    elif not alone or extended:
        scope.refuse_loose(mark, node.span)
    del scope.loose[mark:]
    return [*before, *(s for local in reversed(loose) for s in endings.of_local(scope, local)), *after]


def _made(scope: FunctionScope, node: Node) -> list[Statement]:
    maker = _MAKERS.get(node.kind)
    if node.kind in _SCOPES and maker is not None:
        scope.blocks.append(node.span)
        made = maker(scope, node)
        scope.blocks.pop()
        return made
    if maker is not None:
        return maker(scope, node)
    if node.type is None:
        word = node.kind.removesuffix("_STMT").lower().replace("_", " ")
        return scope.refuse(word, f"this kind of statement ({word}) is not supported", node.span)
    return [Evaluate(effect(scope, node), node.span)]


def effect(scope: FunctionScope, node: Node) -> Expr:
    """Return an expression whose value is not used."""
    while node.kind in ("PAREN_EXPR", "UNEXPOSED_EXPR") or (
        node.kind == "CSTYLE_CAST_EXPR" and isinstance(node.type, t.Void)
    ):
        node = node.children[-1]
    made = scope.call(node) if node.kind == "CALL_EXPR" else scope.value(node)
    if isinstance(made.type, t.Record) and ends(made.type) and not places.is_place(node):
        return places.address_of(scope, places.made_place(scope, made), node.span)
    return made


def _block(scope: FunctionScope, node: Node) -> list[Statement]:
    inner = body(scope, node)
    return [Block(inner, node.span)] if inner else []


def _nothing(_scope: FunctionScope, _node: Node) -> list[Statement]:
    return []


def _attributed(scope: FunctionScope, node: Node) -> list[Statement]:
    return statement(scope, node.children[-1])


def _declarations(scope: FunctionScope, node: Node) -> list[Statement]:
    made: list[Statement] = []
    for child in node.children:
        if child.kind == "VAR_DECL" and child.decl is not None:
            made += declare(scope, child.decl, child.span)
        elif bindings.binds(child):
            made += bindings.declare(scope, child)
        elif child.kind not in _IGNORED:
            word = child.kind.removesuffix("_DECL").lower().replace("_", " ")
            scope.refuse(word, f"a local {word} is not supported", child.span)
    return made


def declare(scope: FunctionScope, declaration: Declaration, span: Span) -> list[Statement]:
    """Lower the declaration of a variable of a function."""
    initial = declaration.initialiser
    kind = declaration.type
    if isinstance(kind, t.ClassType) and kind.name.endswith("]"):
        scope.refuse(
            "array", f"{declaration.name} has a length that is no constant; give it the largest one", span
        )
    if isinstance(kind, t.Pointer) and kind.reference and initial is not None:
        bound = argument(scope, initial, kind)
        return [Declare(scope.add(declaration), bound, span)]
    if initial is None:
        made = Declare(scope.add(declaration), None, span)
        if made.local.storage is Storage.STATIC and isinstance(kind, t.Array):
            made.value = Compose((), kind, span)  # zeros
        if (
            not scope.loops
            or made.local.storage is Storage.STATIC
            or not isinstance(kind, t.Arithmetic | t.Pointer)
        ):
            return [made]
        scope.hidden.append(made)  # keeps what the turn before left, as a register does (inferred)
        return []
    if isinstance(kind, t.Array | t.Record) and initial.kind == "INIT_LIST_EXPR":
        value: Expr | None = braces.compose(scope, initial, kind)
    elif isinstance(kind, t.Array) and initial.kind == "STRING_LITERAL":
        value = letters(string(scope, initial).value, kind, span)
    elif isinstance(kind, t.Array | t.Record) and initial.kind == "CALL_EXPR":
        return _constructed(scope, declaration, initial, span)
    else:
        value = scope.valued(initial, kind)
    return [Declare(scope.add(declaration), value, span)]


def _constructed(
    scope: FunctionScope, declaration: Declaration, initial: Node, span: Span
) -> list[Statement]:
    """Lower a record that a call makes: straight in its place where that is a constructor of the sources."""
    value = scope.call(initial)
    empty = not getattr(value, "values", (1,)) and not initial.children
    if places.new_object(value) is not None and not declaration.static:
        assert isinstance(value, Comma)
        assert isinstance(value.first, Call)
        scope.forget(value.first.arguments[0])  # the temporary object, which is not made
        local = scope.add(declaration)
        here = scope.address(LocalStorage(local, local.type, span), t.Pointer(local.type), span)
        made = Call(
            value.first.symbol, value.first.name, (here, *value.first.arguments[1:]), t.VOID, value.first.span
        )
        return [Declare(local, None, span), Evaluate(made, span)]
    value = places.loaded(value, initial)
    return [Declare(scope.add(declaration), None if empty else value, span)]


# -- control flow ----------------------------------------------------------------------------------


def _begun(scope: FunctionScope, node: Node) -> list[Statement]:
    """Lower the declaration in the head of a statement: ``if (int n = ...)``, ``if (int n = ...; n > 2)``."""
    if node.kind == "VAR_DECL" and node.decl is not None:
        return declare(scope, node.decl, node.span)
    return statement(scope, node)


def _if(scope: FunctionScope, node: Node) -> list[Statement]:
    parts = list(node.children)
    before: list[Statement] = []
    while parts and parts[0].type is None:
        before += _begun(scope, parts.pop(0))
    test, then, other = parts[0], parts[1], parts[2] if len(parts) > 2 else None
    known = effects.decided(scope, test)
    if known is not None:
        live = then if known else other  # what never runs need not translate
        made = [] if live is None else statement(scope, live)
    else:
        tested = scope.valued(test, t.BOOL)
        made = [If(tested, body(scope, then), () if other is None else body(scope, other), node.span)]
    return [Block((*before, *made), node.span)] if before else made


def turn(scope: FunctionScope, node: Node) -> tuple[Statement, ...]:
    """Return the body of a loop."""
    scope.loops += 1
    made = body(scope, node)
    scope.loops -= 1
    return made


def _for(scope: FunctionScope, node: Node) -> list[Statement]:
    first, test, step = headers.parts(scope, node)
    before = [] if first is None else statement(scope, first)
    tested, leave = _tested(scope, node, test)
    stepped = None if step is None else effect(scope, step)
    loop = Loop(tested, stepped, (*leave, *turn(scope, node.children[-1])), False, node.span)
    return [Block((*before, loop), node.span)] if before else [loop]


def _each(scope: FunctionScope, node: Node) -> list[Statement]:
    """``for (auto x : elements)``."""
    variable, source, inner = node.children[0], node.children[1], node.children[-1]
    before: list[Statement] = []
    first, last = _ends(scope, source, before)
    kind, span = first.type, node.span
    assert isinstance(kind, t.Pointer)
    at, stop = (LocalStorage(scope.hold(kind, span), kind, span) for _ in range(2))
    here = Load(at, kind, span)
    declaration = variable.decl
    assert declaration is not None
    if isinstance(declaration.type, t.Pointer) and declaration.type.reference:
        value: Expr = here
    else:
        element_at = Element(here, number(0, t.INT64, node), kind.to, span)
        value = Load(element_at, kind.to, span)
        if isinstance(kind.to, t.Record) and isinstance(declaration.type, t.Record):
            value = copies.copied(scope, element_at, declaration.type, span)
        else:
            value = convert(scope, value, declaration.type, span)
    if bindings.binds(variable):
        bound = bindings.bound(scope, variable, value)
    else:
        bound = Declare(scope.add(declaration), value, variable.span)
    body = (bound, *turn(scope, inner))
    test = Compare("!=", here, Load(stop, kind, span), t.BOOL, span)  # as C++ has it: iterators need no order
    step = Update(at, "+", number(1, t.INT64, node), kind, False, kind, span)
    loop = Loop(test, step, body, False, span)
    return [Block((*before, Declare(at.local, first, span), Declare(stop.local, last, span), loop), span)]


def _ends(scope: FunctionScope, source: Node, before: list[Statement]) -> tuple[Expr, Expr]:
    """Return the pointers to the first element and behind the last; a value is held *before* that."""
    kind, span = source.type, source.span
    if isinstance(kind, t.Array):
        first = scope.address(places.place(scope, source), t.Pointer(kind.of), span)
        return first, Offset(first, number(kind.count, t.INT64, source), False, first.type, span)
    if isinstance(kind, t.Record):
        this = places.address_of(scope, _held(scope, source, before), span)
        begin, end = (_own_end(scope, kind, word, this, source) for word in (BEGIN, STOP))
        if begin and end and isinstance(begin.type, t.Pointer) and isinstance(end.type, t.Pointer):
            return begin, end
    return scope.refuse("loop over elements", f"a loop over the elements of {kind} is not supported", span)


def _held(scope: FunctionScope, source: Node, before: list[Statement]) -> Place:
    """Return the place of the elements; a value is held *before* the loop."""
    held = places.place(scope, source)
    if not isinstance(held, Temporary):
        return held
    scope.refuse_destructor(source.type, source.span)
    kept = LocalStorage(scope.hold(source.type, source.span), source.type, source.span)
    before.append(Declare(kept.local, held.value, source.span))
    return kept


def _own_end(scope: FunctionScope, kind: t.Record, word: str, this: Expr, source: Node) -> Expr | None:
    """Return the result of ``begin`` or ``end`` of a class of the sources."""
    unit = scope.around.unit
    name = "begin" if word == BEGIN else "end"
    shown = (unit.reader.method(kind, name, (constant,)) for constant in ("False", "True"))
    target = next((f for f in shown if f is not None), None) or unit.named.get(f"{word}{kind.name}>")
    if target is None:
        scope.around.hidden.add(f"{word}{kind.name}>")
        return None
    return Call(scope.around.need(target), target.title, (this,), target.result, source.span)


def _while(scope: FunctionScope, node: Node) -> list[Statement]:
    tested, leave = _tested(scope, node, node.children[-2])
    return [Loop(tested, None, (*leave, *turn(scope, node.children[-1])), False, node.span)]


def _tested(scope: FunctionScope, node: Node, test: Node | None) -> tuple[Expr | None, Body]:
    """Return the test of a loop; where it declares a variable, what every turn begins with instead."""
    declared = [child for child in node.children[:-1] if child.kind == "VAR_DECL"]
    begun = [s for child in declared for s in _begun(scope, child)]
    tested = None if test is None else scope.valued(test, t.BOOL)
    if not begun or tested is None:
        return tested, ()
    return None, (*begun, If(tested, (), (Break(node.span),), node.span))


def _do(scope: FunctionScope, node: Node) -> list[Statement]:
    inner, test = node.children[0], node.children[-1]
    made = turn(scope, inner)
    known = effects.decided(scope, test)
    if known == 0 and not _leaves(made):  # do ... while (0), as macros have it: no loop
        return [Block(made, node.span)] if made else []
    return [Loop(scope.valued(test, t.BOOL), None, made, True, node.span)]


def _leaves(made: Body, *, switched: bool = False) -> bool:
    """Return whether a break or a continue belongs to the loop around *made*."""
    kinds = Continue if switched else Break | Continue  # a break in a switch ends that
    for inner in made:
        if isinstance(inner, kinds):
            return True
        if isinstance(inner, Switch):
            if any(_leaves(s.body, switched=True) for s in inner.sections):
                return True
        elif any(_leaves(part, switched=switched) for part in parts_of(inner)):
            return True
    return False


def _break(_scope: FunctionScope, node: Node) -> list[Statement]:
    return [Break(node.span)]


def _continue(_scope: FunctionScope, node: Node) -> list[Statement]:
    return [Continue(node.span)]


def _return(scope: FunctionScope, node: Node) -> list[Statement]:
    if not node.children:
        return [Return(None, node.span)]
    given = node.children[0]
    if isinstance(scope.result, t.Void):
        return [Evaluate(effect(scope, given), node.span), Return(None, node.span)]
    local = _named_result(scope, given)
    if local is not None:
        whole = Load(LocalStorage(local, local.type, given.span), local.type, given.span)
        if not ends(local.type):
            return [Return(whole, node.span)]
        said = LocalStorage(scope.elide(local, node.span), t.BOOL, node.span)
        stored = Assign(said, number(True, t.BOOL, node), t.BOOL, node.span)
        return [Evaluate(stored, node.span), Return(whole, node.span)]
    return [Return(argument(scope, given, scope.result), node.span)]


def _named_result(scope: FunctionScope, given: Node) -> Local | None:
    """Return the object of the function that is its result, which is not copied: C++ allows that, and compilers do it."""
    if not isinstance(scope.result, t.Record):
        return None
    target = given.decl
    if (
        given.kind == "CALL_EXPR"
        and target is not None
        and target.kind == "CONSTRUCTOR"
        and target.makes_copy
    ):
        given = places.bare(given.children[-1])
    local = None if given.kind != "DECL_REF_EXPR" or given.decl is None else scope.local(given.decl)
    if local is None or local.parameter or local.storage is Storage.STATIC or local.type is not scope.result:
        return None
    return local


def _switch(scope: FunctionScope, node: Node) -> list[Statement]:
    before = [s for child in node.children[:-2] for s in _begun(scope, child)]
    if headers.divided(scope, node, "switch"):
        scope.refuse(
            "switch", "a switch with an initialiser is not supported; write it before the switch", node.span
        )
    value = scope.value(node.children[-2])
    sections: list[Section] = []
    inner = node.children[-1]
    for child in inner.children if inner.kind == "COMPOUND_STMT" else [inner]:
        labels, default, rest = _labels(scope, child)
        if labels or default:
            sections.append(Section(tuple(labels), default, (), child.span))
        if not sections:
            scope.refuse("switch", "a statement before the first case is not supported", child.span)
        sections[-1].body += tuple(statement(scope, rest))
    made = Switch(value, tuple(sections), node.span)
    return [Block((*before, made), node.span)] if before else [made]


def _labels(scope: FunctionScope, node: Node) -> tuple[list[int], bool, Node]:
    labels, default = [], False
    while node.kind in ("CASE_STMT", "DEFAULT_STMT"):
        if node.kind == "DEFAULT_STMT":
            default = True
        else:
            found = scope.around.unit.reader.value(node.children[0])
            if found is None or len(node.children) > 2:  # two numbers: a range of GNU C
                scope.refuse("case", "the value of this case is not a known constant", node.span)
            labels.append(int(found))
        node = node.children[-1]
    return labels, default, node


def _try(scope: FunctionScope, node: Node) -> list[Statement]:
    return scope.refuse("try", "try is of the host, not of the device; return a status", node.span)


_MAKERS: Mapping[str, Callable[[FunctionScope, Node], list[Statement]]] = MappingProxyType(
    {
        "COMPOUND_STMT": _block,
        "NULL_STMT": _nothing,
        "UNEXPOSED_STMT": _attributed,
        "DECL_STMT": _declarations,
        "IF_STMT": _if,
        "FOR_STMT": _for,
        "WHILE_STMT": _while,
        "CXX_FOR_RANGE_STMT": _each,
        "DO_STMT": _do,
        "BREAK_STMT": _break,
        "CONTINUE_STMT": _continue,
        "RETURN_STMT": _return,
        "SWITCH_STMT": _switch,
        "GOTO_STMT": control.goto,
        "CXX_TRY_STMT": _try,
        "ASM_STMT": assembly.statement,
        "GCC_ASM_STMT": assembly.statement,
    }
)
