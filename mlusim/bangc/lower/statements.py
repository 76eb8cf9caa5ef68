"""Lowers statements to the intermediate form."""

import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NoReturn

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import parts_of
from mlusim.bangc.lower import assembly, objects, places, switches
from mlusim.bangc.lower.arguments import argument
from mlusim.bangc.lower.conversions import convert, letters, string
from mlusim.bangc.lower.scope import FunctionScope, first_at, followed, local_value, number
from mlusim.bangc.parse.nodes import BEGIN, STOP, Declaration, Node
from mlusim.bangc.parse.type_reader import ends
from mlusim.counted import counted

MOST_INITIAL = 1 << 20
"""Limit, in bytes, of a local array with an initialiser list: more than a core's NRAM."""

Body = tuple[ir.Statement, ...]
_Parts = tuple[Node | None, Node | None, Node | None]  # of a ``for``: initialisation, test and step
_Spot = tuple[int, int]  # line and column
_IGNORED = (
    "TYPE_ALIAS_DECL",
    "TYPEDEF_DECL",
    "STATIC_ASSERT",
    "USING_DECLARATION",
    "USING_DIRECTIVE",
    "STRUCT_DECL",
    "CLASS_DECL",
    "UNION_DECL",
    "ENUM_DECL",
    "FUNCTION_DECL",
    "NAMESPACE_ALIAS",
)
# Variables declared in the head of a statement end with it.
_SCOPES = ("IF_STMT", "FOR_STMT", "WHILE_STMT", "CXX_FOR_RANGE_STMT", "SWITCH_STMT")


def body(scope: FunctionScope, node: Node) -> Body:
    """Return the statements of a block, or one statement."""
    if node.kind != "COMPOUND_STMT":
        return tuple(statement(scope, node))
    scope.blocks.append(node.span)
    statements = block(scope, node.children)
    scope.blocks.pop()
    return statements


def statement(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower one statement; the list is empty if it has no effect."""
    mark = len(scope.loose)
    statements = _ended(scope, _lowered(scope, node), mark, node)
    # The debugger also stops at the invocation of a macro.
    return statements if node.invoked is None else [ir.Block((), node.invoked), *statements]


def _ended(scope: FunctionScope, statements: list[ir.Statement], mark: int, node: Node) -> list[ir.Statement]:
    """Return *statements*, lowered from *node*, with the destruction of their temporary objects."""
    loose = scope.loose[mark:]
    if not loose:
        return statements
    alone = all(isinstance(s, ir.Evaluate | ir.Declare) for s in statements)
    # A reference extends the life of the object to which it is bound.
    extended = any(isinstance(s, ir.Declare) and isinstance(s.local.type, t.Pointer) for s in statements)
    result = statements[-1].value if statements and isinstance(statements[-1], ir.Return) else None
    before, after = statements, list[ir.Statement]()
    # A result is computed before the temporary objects end on which it depends.
    if result is not None and isinstance(result.type, t.Arithmetic):
        held = scope.hold(result.type, node.span)
        before = [ir.Evaluate(ir.Assign(held, result, node.span), node.span)]
        after = [ir.Return(ir.Load(held, node.span), node.span)]
    elif (
        statements
        and isinstance(statements[-1], ir.If | ir.Switch)
        and all(isinstance(s, ir.Declare) for s in statements[:-1])
    ):
        return _tested_first(scope, statements, loose, mark, node)
    elif not alone or extended:
        scope.refuse_loose(mark, node.span)
    del scope.loose[mark:]
    return [*before, *(s for local in reversed(loose) for s in objects.ending_of_local(scope, local)), *after]


def _tested_first(
    scope: FunctionScope, statements: list[ir.Statement], loose: list[ir.Local], mark: int, node: Node
) -> list[ir.Statement]:
    """Return an ``if`` or a switch whose test creates temporary objects; they are destroyed right after the test."""
    *before, last = statements
    assert isinstance(last, ir.If | ir.Switch)
    tested = last.test if isinstance(last, ir.If) else last.value
    held = scope.hold(tested.type, node.span)
    first = ir.Evaluate(ir.Assign(held, tested, node.span), node.span)
    if isinstance(last, ir.If):
        last.test = ir.Load(held, node.span)
    else:
        last.value = ir.Load(held, node.span)
    del scope.loose[mark:]
    endings = (s for local in reversed(loose) for s in objects.ending_of_local(scope, local))
    return [*before, first, *endings, last]


def _lowered(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    maker = _MAKERS.get(node.kind)
    if node.kind in _SCOPES and maker is not None:
        scope.blocks.append(node.span)
        statements = maker(scope, node)
        scope.blocks.pop()
        return statements
    if maker is not None:
        return maker(scope, node)
    if node.type is None:
        word = node.kind.removesuffix("_STMT").lower().replace("_", " ")
        return scope.refuse(
            word, f"this kind of statement ({word}) is not supported; write it another way", node.span
        )
    return [ir.Evaluate(effect(scope, node), node.span)]


def effect(scope: FunctionScope, node: Node) -> ir.Expr:
    """Lower an expression whose value is not used."""
    while node.kind in ("PAREN_EXPR", "UNEXPOSED_EXPR") or (
        node.kind == "CSTYLE_CAST_EXPR" and isinstance(node.type, t.Void)
    ):
        node = node.children[-1]
    value = scope.call(node) if node.kind == "CALL_EXPR" else scope.value(node)
    if isinstance(value.type, t.Struct) and ends(value.type) and not places.is_place(node):
        return places.address_of(scope, places.made_place(scope, value), node.span)
    return value


def _block(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    inner = body(scope, node)
    return [ir.Block(inner, node.span)] if inner else []


def _declarations(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    statements: list[ir.Statement] = []
    for child in node.children:
        if child.kind == "VAR_DECL" and child.decl is not None:
            statements += declare(scope, child.decl, child.span)
        elif binds(child):
            assert child.decl is not None
            statements.append(declare_bindings(scope, child.decl, child.span))
        elif child.kind not in _IGNORED:
            word = child.kind.removesuffix("_DECL").lower().replace("_", " ")
            scope.refuse(
                word, f"a local {word} is not supported; declare it outside of the function", child.span
            )
    return statements


def declare(scope: FunctionScope, declaration: Declaration, span: ir.Span) -> list[ir.Statement]:
    """Lower the declaration of a local variable."""
    initial = declaration.initialiser
    kind = declaration.type
    if isinstance(kind, t.ClassType) and kind.name.endswith("]"):
        scope.refuse(
            "array",
            f"{declaration.name} has a length that is not a constant; declare it with the largest length",
            span,
        )
    if scope.in_gdram(declaration):
        return []
    if initial is not None and isinstance(kind, t.Array) and kind.size > MOST_INITIAL:
        text = f"{declaration.name} has {counted(kind.size, 'byte')} with values, more than the {MOST_INITIAL:,} that a task may give values to at once; fill it in a loop"
        scope.refuse("initial value", text, span)
    if initial is None:
        declared = ir.Declare(scope.add(declaration), None, span)
        if declared.local.storage is ir.Storage.STATIC and isinstance(kind, t.Array):
            declared.value = ir.Compose((), kind, span)  # zeros
        if (
            not scope.loops
            or declared.local.storage is ir.Storage.STATIC
            or not isinstance(kind, t.Arithmetic | t.Pointer)
        ):
            return [declared]
        scope.hidden.append(declared)  # keeps the value of the previous iteration (inferred)
        return []
    if isinstance(kind, t.Array | t.Struct) and initial.kind == "INIT_LIST_EXPR":
        value: ir.Expr = objects.compose(scope, initial, kind)
    elif isinstance(kind, t.Array) and initial.kind == "STRING_LITERAL":
        value = letters(string(scope, initial).value, kind, span)
    elif isinstance(kind, t.Array | t.Struct) and initial.kind == "CALL_EXPR":
        return _constructed(scope, declaration, initial, span)
    else:
        value = argument(scope, initial, kind)  # a reference is bound
    return [ir.Declare(scope.add(declaration), value, span)]


def _constructed(
    scope: FunctionScope, declaration: Declaration, initial: Node, span: ir.Span
) -> list[ir.Statement]:
    """Lower the initialisation of a struct by a call; a constructor initialises it in place, without a temporary."""
    value = scope.call(initial)
    empty = not getattr(value, "values", (1,)) and not initial.children
    if places.new_object(value) is not None and not declaration.static:
        assert isinstance(value, ir.Comma)
        assert isinstance(value.first, ir.Call)
        scope.forget(value.first.arguments[0])  # no temporary object is created
        local = scope.add(declaration)
        here = scope.address(ir.LocalStorage(local, span), t.Pointer(local.type), span)
        construction = ir.Call(
            value.first.symbol, value.first.name, (here, *value.first.arguments[1:]), t.VOID, value.first.span
        )
        return [ir.Declare(local, None, span), ir.Evaluate(construction, span)]
    value = places.loaded(value, initial)
    return [ir.Declare(scope.add(declaration), None if empty else value, span)]


# -- control flow ----------------------------------------------------------------------------------


def _begun(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower a declaration in the head of a statement: ``if (int n = ...)``, ``if (int n = ...; n > 2)``."""
    if node.kind == "VAR_DECL" and node.decl is not None:
        return declare(scope, node.decl, node.span)
    return statement(scope, node)


def _if(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    parts = list(node.children)
    before: list[ir.Statement] = []
    while parts and parts[0].type is None:
        before += _begun(scope, parts.pop(0))
    test, then, other = parts[0], parts[1], parts[2] if len(parts) > 2 else None
    outcome = scope.decided(test)
    if outcome is not None:
        live = then if outcome else other  # a branch that never runs need not translate
        statements = [] if live is None else statement(scope, live)
    else:
        tested = scope.valued(test, t.BOOL)
        statements = [
            ir.If(tested, body(scope, then), () if other is None else body(scope, other), node.span)
        ]
    return [ir.Block((*before, *statements), node.span)] if before else statements


def turn(scope: FunctionScope, node: Node) -> tuple[ir.Statement, ...]:
    """Return the body of a loop."""
    scope.loops += 1
    statements = body(scope, node)
    scope.loops -= 1
    return statements


def loop_parts(scope: FunctionScope, node: Node) -> tuple[Node | None, Node | None, ir.Expr | None]:
    """Return the initialisation of a loop, its test, and its step, lowered."""
    if any(child.kind == "VAR_DECL" for child in node.children):
        return scope.refuse(
            "case", "a case inside of a loop that declares a variable in its test is not supported", node.span
        )
    if node.kind != "FOR_STMT":
        return None, node.children[-1 if node.kind == "DO_STMT" else -2], None
    first, test, step = _parts_of_for(scope, node)
    return first, test, None if step is None else effect(scope, step)


def _for(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    first, test, step = _parts_of_for(scope, node)
    before = [] if first is None else statement(scope, first)
    tested, leave = _tested(scope, node, test)
    stepped = None if step is None else effect(scope, step)
    unrolled = node.span.line in _behind_pragmas(scope.around.unit.text_of(node.span.file))
    loop = ir.Loop(tested, stepped, (*leave, *turn(scope, node.children[-1])), False, node.span, unrolled)
    return [ir.Block((*before, loop), node.span)] if before else [loop]


@functools.lru_cache(maxsize=8)
def _behind_pragmas(text: str) -> frozenset[int]:
    """Return the lines of *text* that follow a pragma which requests loop unrolling."""
    lines = enumerate(text.splitlines(), 2) if "unroll" in text else ()
    return frozenset(number for number, line in lines if line.split()[:2] == ["#pragma", "unroll"])


def _each(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower ``for (auto x : elements)``."""
    variable, source, inner = node.children[0], node.children[1], node.children[-1]
    before: list[ir.Statement] = []
    first, last = _ends(scope, source, before)
    kind, span = first.type, node.span
    at, stop = (scope.hold(kind, span) for _ in range(2))
    test, here, step = (_over_class if isinstance(kind, t.Struct) else _over_pointers)(
        scope, at, stop, source
    )
    declaration = variable.decl
    assert declaration is not None
    begun, value = _element(scope, declaration.type, here, span)
    if binds(variable):
        bound = bound_names(scope, declaration, value, variable.span)
    else:
        bound = ir.Declare(scope.add(declaration), value, variable.span)
    loop = ir.Loop(test, step, (*begun, bound, *turn(scope, inner)), False, span)
    ends_of_it = ir.Declare(at.local, first, span), ir.Declare(stop.local, last, span)
    return [ir.Block((*before, *ends_of_it, loop), span)]


def _element(scope: FunctionScope, kind: t.Type, here: ir.Expr, span: ir.Span) -> tuple[Body, ir.Expr]:
    """Return the value of a loop variable of *kind* for the element at (or that is) *here*, and the statements before it."""
    if t.refers(kind):
        if isinstance(here, ir.Load) or t.refers(here.type):
            return (), here
        held = scope.hold(here.type, span)  # store the value in a variable of the iteration
        return (ir.Declare(held.local, here, span),), places.address_of(scope, held, span)
    if not isinstance(here, ir.Load) and not t.refers(here.type):
        return (), convert(scope, here, kind, span)
    element = first_at(here, span)
    if isinstance(element.type, t.Struct) and isinstance(kind, t.Struct):
        return (), objects.copied(scope, element, kind, span)
    return (), convert(scope, ir.Load(element, span), kind, span)


Turns = tuple[ir.Expr, ir.Expr, ir.Expr]  # the test, the element and the step of a range-based for


def _over_pointers(_: FunctionScope, at: ir.LocalStorage, stop: ir.LocalStorage, source: Node) -> Turns:
    kind, span = at.type, source.span
    assert isinstance(kind, t.Pointer)
    here = ir.Load(at, span)
    # As in C++ the test is != instead of <: iterators need no order.
    test = ir.Compare("!=", here, ir.Load(stop, span), span)
    step = ir.Update(at, "+", number(1, t.INT64, source), kind, False, span)
    return test, here, step


def _over_class(scope: FunctionScope, at: ir.LocalStorage, stop: ir.LocalStorage, source: Node) -> Turns:
    """Return the calls of the iterator class's operators."""
    kind, span = at.type, source.span
    assert isinstance(kind, t.Struct)
    scope.refuse_destructor(kind, span)
    this = places.address_of(scope, at, span)
    differs, element, step = (
        next(
            (d for d in scope.around.unit.reader.methods(kind, f"operator{name}") if len(d.signature) == n),
            None,
        )
        for name, n in (("!=", 2), ("*", 1), ("++", 1))
    )
    if differs is None or element is None or step is None:
        return _no_loop(scope, source.type, source)
    other = places.address_of(scope, stop, span)
    if not t.refers(differs.parameters[0].type):
        other = objects.copied(scope, first_at(other, span), kind, span)
    calls = (
        scope.calling(f, (this, *more), span) for f, more in ((differs, (other,)), (element, ()), (step, ()))
    )
    test, here, stepped = calls
    return convert(scope, test, t.BOOL, span), here, stepped


def _ends(scope: FunctionScope, source: Node, before: list[ir.Statement]) -> tuple[ir.Expr, ir.Expr]:
    """Return pointers to the first element and past the last; statements that hold a value are added to *before*."""
    kind, span = source.type, source.span
    if isinstance(kind, t.Array):
        first = scope.address(places.place(scope, source), t.Pointer(kind.of), span)
        return first, ir.Offset(first, number(kind.count, t.INT64, source), False, span)
    if isinstance(kind, t.Struct):
        this = places.address_of(scope, _held(scope, source, before), span)
        begin, end = (_own_end(scope, kind, word, this, source) for word in (BEGIN, STOP))
        if begin and end and begin.type == end.type and isinstance(begin.type, t.Pointer | t.Struct):
            return begin, end
    return _no_loop(scope, kind, source)


def _no_loop(scope: FunctionScope, kind: t.Type, source: Node) -> NoReturn:
    text = f"a loop over the elements of {kind} is not supported; count with an index"
    scope.refuse("loop over elements", text, source.span)


def _held(scope: FunctionScope, source: Node, before: list[ir.Statement]) -> ir.Place:
    """Return the place of the elements; a temporary is stored in a variable *before* the loop."""
    held = places.place(scope, source)
    if not isinstance(held, ir.Temporary):
        return held
    scope.refuse_destructor(source.type, source.span)
    stored = scope.hold(source.type, source.span)
    before.append(ir.Declare(stored.local, held.value, source.span))
    return stored


def _own_end(scope: FunctionScope, kind: t.Struct, word: str, this: ir.Expr, source: Node) -> ir.Expr | None:
    """Return the result of ``begin`` or ``end`` of a class in the sources."""
    unit = scope.around.unit
    name = "begin" if word == BEGIN else "end"
    constant = source.cursor.type.get_canonical().is_const_qualified()
    shown = (unit.reader.method(kind, name, (c,)) for c in (["True"] if constant else ["False", "True"]))
    target = next((f for f in shown if f is not None), None) or unit.named.get(f"{word}{kind.name}>")
    if target is None:
        scope.around.hidden.add(f"{word}{kind.name}>")
        return None
    return scope.calling(target, (this,), source.span)


def _while(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    tested, leave = _tested(scope, node, node.children[-2])
    return [ir.Loop(tested, None, (*leave, *turn(scope, node.children[-1])), False, node.span)]


def _tested(scope: FunctionScope, node: Node, test: Node | None) -> tuple[ir.Expr | None, Body]:
    """Return the test of a loop, or, if it declares a variable, the statements at the start of every iteration instead."""
    declared = [child for child in node.children[:-1] if child.kind == "VAR_DECL"]
    begun = [s for child in declared for s in _begun(scope, child)]
    tested = None if test is None else scope.valued(test, t.BOOL)
    if not begun or tested is None:
        return tested, ()
    return None, (*begun, ir.If(tested, (), (ir.Break(node.span),), node.span))


def _do(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    inner, test = node.children[0], node.children[-1]
    repeated = turn(scope, inner)
    outcome = scope.decided(test)
    if outcome == 0 and not _leaves(repeated):  # do ... while (0), as in macros: no loop
        return [ir.Block(repeated, node.span)] if repeated else []
    return [ir.Loop(scope.valued(test, t.BOOL), None, repeated, True, node.span)]


def _leaves(statements: Body, *, switched: bool = False) -> bool:
    """Return whether *statements* contain a break or continue of the loop around them."""
    kinds = ir.Continue if switched else ir.Break | ir.Continue  # a break in a switch leaves the switch
    for inner in statements:
        if isinstance(inner, kinds):
            return True
        if isinstance(inner, ir.Switch):
            if any(_leaves(s.body, switched=True) for s in inner.sections):
                return True
        elif any(_leaves(part, switched=switched) for part in parts_of(inner)):
            return True
    return False


def _return(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    if not node.children:
        return [ir.Return(None, node.span)]
    value = node.children[0]
    if isinstance(scope.result, t.Void):
        return [ir.Evaluate(effect(scope, value), node.span), ir.Return(None, node.span)]
    local = _named_result(scope, value)
    if local is not None:
        whole = local_value(local, value.span)
        if not ends(local.type):
            return [ir.Return(whole, node.span)]
        flag = ir.LocalStorage(scope.elide(local, node.span), node.span)
        stored = ir.Assign(flag, number(True, t.BOOL, node), node.span)
        return [ir.Evaluate(stored, node.span), ir.Return(whole, node.span)]
    return [ir.Return(argument(scope, value, scope.result), node.span)]


def _named_result(scope: FunctionScope, value: Node) -> ir.Local | None:
    """Return the local object that is the function's result without a copy (NRVO), which C++ allows and compilers do."""
    if not isinstance(scope.result, t.Struct):
        return None
    target = value.decl
    if (
        value.kind == "CALL_EXPR"
        and target is not None
        and target.kind == "CONSTRUCTOR"
        and target.makes_copy
    ):
        value = places.bare(value.children[-1])
    local = None if value.kind != "DECL_REF_EXPR" or value.decl is None else scope.local(value.decl)
    if (
        local is None
        or local.parameter
        or local.storage is ir.Storage.STATIC
        or local.type is not scope.result
    ):
        return None
    return local


def _switch(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    before = [s for child in node.children[:-2] for s in _begun(scope, child)]
    text = _initialiser(scope, node)
    for declared in switches.head(scope, node, text) if text else ():
        before += declare(scope, declared, node.span)
    statements = [*before, *switches.switch(scope, node)]
    return [ir.Block(tuple(statements), node.span)] if len(statements) > 1 else statements


# ``auto [a, b] = pair``: names for the members of a struct or the elements of an array.


def binds(node: Node) -> bool:
    """Return whether a declaration is a structured binding."""
    return node.kind == "UNEXPOSED_DECL" and node.decl is not None and node.decl.name.startswith("[")


def declare_bindings(scope: FunctionScope, declaration: Declaration, span: ir.Span) -> ir.Declare:
    """Declare an unnamed variable for the value, and bind the names to its parts."""
    initial = declaration.initialiser
    if initial is None:
        return scope.refuse("structured binding", "this binding has no value; give it one", span)
    if isinstance(declaration.type, t.Array):
        source = places.place(scope, initial.children[0])
        value: ir.Expr = objects.copied_array(scope, source, declaration.type, span)
    else:
        value = argument(scope, initial, declaration.type)
    return bound_names(scope, declaration, value, span)


def bound_names(scope: FunctionScope, declaration: Declaration, value: ir.Expr, span: ir.Span) -> ir.Declare:
    """Bind the names in *declaration* to the parts of *value*, and return the declaration of the unnamed variable."""
    local = scope.unnamed(declaration)
    held = followed(ir.LocalStorage(local, span), span)
    for n, part in enumerate(declaration.children):
        scope.bindings[id(part)] = _part(scope, held, n, part)
    return ir.Declare(local, value, span)


def _part(scope: FunctionScope, held: ir.Place, n: int, part: Declaration) -> ir.Place:
    whole = held.type
    if isinstance(whole, t.Struct) and not whole.bitfields:
        return followed(ir.Member(held, whole.fields[n], part.span), part.span)
    if isinstance(whole, t.Array):
        first = scope.address(held, t.Pointer(whole.of), part.span)
        return ir.Element(first, number(n, t.INT64, part.span), part.span)
    return scope.refuse(
        "structured binding", f"the parts of {whole} cannot be named; bind a structure or an array", part.span
    )


# Jumps out of statements: ``goto``, and the destruction of objects at the end of their block.


def block(scope: FunctionScope, children: list[Node]) -> Body:
    """Return the statements of a block; objects that it declares end with it."""
    if any(child.kind == "LABEL_STMT" for child in children):
        return (_labelled(scope, children),)
    statements: list[ir.Statement] = []
    for n, child in enumerate(children):
        mark = len(scope.owned)
        statements += statement(scope, child)
        owned = scope.owned[mark:]
        del scope.owned[mark:]
        if owned:
            if child.kind != "DECL_STMT":
                scope.refuse(
                    "destructor", "declare an object with a destructor in a block of its own", child.span
                )
            rest = block(scope, children[n + 1 :])
            for local in reversed(owned):
                last = objects.ending_of_local(scope, local)
                flag = scope.elided.get(local)
                if flag is not None:  # the caller destroys the result
                    last = (ir.If(local_value(flag, local.span), (), last, local.span),)
                rest = (ir.Finally(rest, last, local.span),)
            return (*statements, *rest)
    return tuple(statements)


def _labelled(scope: FunctionScope, children: list[Node]) -> ir.Labelled:
    names: list[str] = []
    sections: list[list[Node]] = [[]]
    for child in children:
        node = child
        while node.kind == "LABEL_STMT":
            names.append(scope.reader.text(node))
            sections.append([])
            node = node.children[-1]
        sections[-1].append(node)
    scope.labels.append(names)
    scope.loops += 1  # a goto leads back
    bodies = []
    for section in sections:
        inner = block(scope, section)
        if section is not sections[-1] and any(isinstance(s, ir.Finally) for s in inner):
            scope.refuse(
                "goto",
                "a label behind an object with a destructor is not supported; put the object into a block of its own",
                section[0].span,
            )
        bodies.append(inner)
    scope.loops -= 1
    scope.labels.pop()
    return ir.Labelled(tuple(bodies), tuple(names), children[0].span)


def goto(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower ``goto`` to a label in an enclosing block."""
    label = scope.reader.text(node.children[0])
    if not any(label in names for names in scope.labels):
        scope.refuse(
            "goto",
            f"this goto leads into the block of {label}, which is not supported; put the label into a block around the goto",
            node.span,
        )
    return [ir.Goto(label, node.span)]


_MAKERS: Mapping[str, Callable[[FunctionScope, Node], list[ir.Statement]]] = {
    "COMPOUND_STMT": _block,
    "NULL_STMT": lambda _scope, _node: [],
    "UNEXPOSED_STMT": lambda scope, node: statement(scope, node.children[-1]),  # with attributes,
    "DECL_STMT": _declarations,
    "IF_STMT": _if,
    "FOR_STMT": _for,
    "WHILE_STMT": _while,
    "CXX_FOR_RANGE_STMT": _each,
    "DO_STMT": _do,
    "BREAK_STMT": lambda _scope, node: [ir.Break(node.span)],
    "CONTINUE_STMT": lambda _scope, node: [ir.Continue(node.span)],
    "RETURN_STMT": _return,
    "SWITCH_STMT": _switch,
    "GOTO_STMT": goto,
    "CXX_TRY_STMT": lambda scope, node: scope.refuse(
        "try", "try is of the host, not of the device; return a status", node.span
    ),
    "ASM_STMT": assembly.statement,
    "GCC_ASM_STMT": assembly.statement,
}


# The three parts of a ``for``: the library omits absent parts and does not say which.

# Pieces that are skipped as a whole, and the marks to count.
_PIECE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\b\'(?=\w)|\'(?:[^\'\\\n]|\\.)*\'|[()\[\]{};]', re.DOTALL
)


def _parts_of_for(scope: FunctionScope, node: Node) -> _Parts:
    """Return the initialisation of a loop, its test and its step."""
    parts = [part for part in node.children[:-1] if part.kind != "VAR_DECL"]  # a test that declares follows
    taken: Sequence[int] | None = (
        _by_position(scope, node, parts) if 0 < len(parts) < 3 else [*range(len(parts))]
    )
    if taken is None:  # some parts come from a macro
        # A declaration is the initialisation, a bool the test; an expression without effect is neither
        # initialisation nor step.
        every = itertools.combinations(range(3), len(parts))
        fitting = [ns for ns in every if all(_may_be(scope, p, n) for p, n in zip(parts, ns, strict=True))]
        if len(fitting) != 1:
            scope.refuse(
                "for",
                "a macro writes this for, and leaves out parts of it that cannot be told apart; write the loop without the macro",
                node.span,
            )
        (taken,) = fitting
    where = dict(zip(taken, parts, strict=True))
    return where.get(0), where.get(1), where.get(2)


def _by_position(scope: FunctionScope, node: Node, parts: list[Node]) -> Sequence[int] | None:
    """Return the indices of the *parts*, by the semicolons of the header; None if not all are written there."""
    reader = scope.reader
    spans = [reader.spelled(n) for n in (node, *parts)] if node.in_macro else [n.span for n in (node, *parts)]
    stops = list(_semicolons(scope.around.unit.text_of(spans[0].file), spans[0]))
    if len(stops) != 3 or any(s.file != spans[0].file or s[1:3] <= spans[0][1:3] for s in spans[1:]):
        return None
    taken = [sum(span[1:3] > stop for stop in stops) for span in spans[1:]]
    return taken if len({*taken} - {3}) == len(parts) else None


def _initialiser(scope: FunctionScope, node: Node) -> str:
    """Return the text of the initialiser in the head of a switch, which the library omits; "" without one."""
    span = scope.reader.spelled(node)
    text = scope.around.unit.text_of(span.file)
    stops = [*_semicolons(text, span, "switch")]
    if len(stops) < 2:
        return ""
    first, last = (_position(text, *at) for at in ((span.line, span.column), stops[0]))
    return text[first:last].partition("(")[2]


def _position(text: str, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    return start + column - 1


def _semicolons(text: str, span: ir.Span, word: str = "for") -> Iterator[_Spot]:
    """Yield the positions of the semicolons in a statement's head and of its closing parenthesis; nothing if it is not there."""
    start = _position(text, span.line, span.column)
    if not re.compile(rf"{word}\b").match(text, start):
        return
    depth = 0
    for piece in _PIECE.finditer(text, start):
        mark = piece[0]
        if mark in ("(", "[", "{"):
            depth += 1
        elif mark in (")", "]", "}"):
            depth -= 1
        if (mark == ";" and depth == 1) or (mark == ")" and depth == 0):
            at = piece.start()
            yield text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
        if depth == 0:
            return


def _may_be(scope: FunctionScope, part: Node, n: int) -> bool:
    if part.kind == "DECL_STMT":
        return n == 0
    # A test would be wrapped in a load.
    stored = part.kind == "COMPOUND_ASSIGNMENT_OPERATOR" or part.op in ("=", "++x", "--x")
    return part.type == t.BOOL and not stored if n == 1 else scope.acts(part)
