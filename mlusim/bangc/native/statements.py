"""Statements and functions of the intermediate form in C."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.waits import waits_of
from mlusim.bangc.ir.walk import DEEP, changed, uses_of, walk
from mlusim.bangc.native import returning, screening, values
from mlusim.bangc.native.emit import (
    CWalker,
    NoForm,
    ctype,
    element_size,
    in_cell,
    in_frame,
    in_register,
    late,
    line_of,
    literal,
    name,
)
from mlusim.bangc.runtime.ended import FUNCTION
from mlusim.isa.table import ISA

MANY_ZEROS = 16  # from this many zero elements on, a loop stores them


def prototype(function: ir.Function) -> str:
    """Render the prototype of a function in C."""
    parameters = ", ".join(["Core *m", *(f"{ctype(p.type)} {_given(p)}" for p in function.parameters)])
    return f"static {ctype(function.result)} k_{function.symbol}({parameters})"


def _given(local: ir.Local) -> str:
    return name(local) if in_register(local) else f"g_{local.name}"


def function(c: CWalker, form: ir.Function, *, calls: bool, recursive: bool) -> str:
    """Render a function: its locals at the start, its statements with their source lines.

    A function that *calls* others counts as a loop iteration, as a tree of calls may take as long as a loop.
    Variables with an address are in cells, which are released on return.
    """
    if form.problem is not None:
        raise NoForm(form.problem.construct)
    lines = [line_of(form.span), f"{prototype(form)} {{"]
    c.symbol, c.deep, c.addressed, c.leaving = form.symbol, recursive, [], []
    c.ending = set(c.outliving.locals)
    c.within = form.framed
    c.waits = waits_of(form)
    c.unset = screening.unset(form) if c.checked else frozenset()
    c.held = screening.held(form) if c.checked else frozenset()
    c.assigned = uses_of(form).assigned if c.checked else {}
    inner = [
        *c.passed(form.span),
        *values.looked_up(c, form),
        *ahead(c, form),
        *c.body(form.body),
        *returning.returned(c, form.span._replace(line=form.end)),
    ]
    cells = [p for p in (*form.locals, *c.addressed) if in_frame(p)]
    if cells or recursive:
        # The compiler's cleanup attribute releases the cells at every return.
        lines.append("  Frame f_ __attribute__((cleanup(leave_))) = enter_(m);")
    if recursive:
        lines.append(f"  DEEPER_(m, {DEEP}, {c.site(form.span)});")
    if calls:
        lines.append(f"  TURN(m, {c.site(form.span)});")
    # Declare all variables before the first statement, because a goto may jump over a declaration in the source.
    for local in (*form.locals, *c.addressed):
        lines += _local(c, local)
    lines += inner
    if not isinstance(form.result, t.Void):
        # Unreachable if the source returns on every path; without it compilers warn.
        lines.append(f"  return {_zero(form.result)};")
    return "\n".join(_at_their_lines([*lines, "}"]))


def _at_their_lines(lines: list[str]) -> Iterator[str]:
    """Join the lines between two ``#line`` directives, as the compiler would count further lines as lines of the source."""
    whole: list[str] = []
    for line in lines:
        if line.startswith("#line") and whole:
            yield " ".join(whole)
            whole = []
        if line.startswith("#line"):
            yield line
        else:
            whole.append(line)
    yield " ".join(whole)


def _zero(kind: t.Type) -> str:
    if isinstance(kind, t.Struct):
        return f"({ctype(kind)}){{{{0}}}}"
    if isinstance(kind, t.VectorRegister):
        return "0"
    return literal(0.0 if isinstance(kind, t.Arithmetic) and kind.kind == "float" else 0, kind)


def _local(c: CWalker, local: ir.Local) -> Iterator[str]:
    kind, variable = local.type, name(local)
    if in_register(local):
        if not local.parameter:
            yield f"  {ctype(kind)} {variable} = {_zero(kind)};"
        if local in c.unset:
            yield f"  uint8_t {screening.flag(local)} = 0;"
        if local in c.held:
            yield f"  Held_ {late(local)} = {{0, 0}};"
    elif in_cell(local):
        yield from _cell_of(c, local)
    else:
        place = _place(c, local)
        yield f"  Ptr {variable} = PLACES_(m)[{place}];"
        if local.parameter:
            yield from _met(c, local, place, local.span)
            if isinstance(kind, t.Struct):
                yield f"{{ {values.put_record(c, kind, variable, _given(local), local.span)} }}"
            else:
                yield c.put(kind, variable, "0", _given(local), local.span) + ";"


def _place(c: CWalker, local: ir.Local) -> str:
    """Return the C index of a local in simulated memory; on the stack, each recursive call has its own."""
    if local.storage is ir.Storage.STATIC:
        return str(c.static(local))
    place = c.place((c.symbol, local))
    if not c.deep or local.space != "ldram":
        return str(place)
    for level in range(1, DEEP):
        c.place((level, local))
    return f"{place - 1} + m->depth"  # the outermost call has depth 1


def cell(c: CWalker, kind: t.Type) -> str:
    """Return C that creates the cell of a variable with an address. Raises `NoForm` if it cannot have one."""
    if not isinstance(t.element_of(kind), t.Arithmetic | t.Pointer | t.Struct | t.VectorRegister):
        raise NoForm(f"a {kind} that has an address")
    begun = f"cell_(m, {kind.size}, {element_size(kind)})"
    words = c.words(kind)
    return f"with_(m, {begun}, {words})" if words != "0" else begun


def _cell_of(c: CWalker, local: ir.Local) -> Iterator[str]:
    """Render a variable with an address: its cell, and a C pointer to its bytes."""
    inner, variable = t.element_of(local.type), name(local)
    source = cell(c, local.type) if in_frame(local) else f"PLACES_(m)[{c.static(local)}]"
    if local in c.ending:
        source = source.replace("cell_(", "outlived_(")
    at = "uint8_t" if isinstance(inner, t.Struct | t.VectorRegister) else ctype(inner)
    yield f"  Ptr {variable} = {source}; {at} *d_{local.name} = ({at} *)at(see(m, {variable})); (void)d_{local.name};"
    if local in c.ending:
        text = c.text(FUNCTION.format(values.called(local), c.within[2]))
        end = f"{{m, &{variable}, {text}}}"
        yield f"  Outlived e_{local.name} __attribute__((cleanup(ended_))) = {end}; (void)e_{local.name};"
    if local in c.unset:
        yield f"  uint8_t *{screening.flags(local)} = flagged_(m, {variable}, {local.type.size});"
    if local.parameter and isinstance(local.type, t.VectorRegister):
        yield values.register_arrives(local.name)
    elif local.parameter:
        yield f"  memcpy(d_{local.name}, &{_given(local)}, sizeof {_given(local)});"


def _declare(c: CWalker, node: ir.Declare) -> list[str]:
    local, kind = node.local, node.local.type
    if in_register(local):
        c.holding = local if local in c.held else None
        value = _zero(kind) if node.value is None else c.value(node.value)
        c.holding = None
        lacks = [screening.declared(local)] if local in c.unset else []
        return [f"{name(local)} = {value};", *lacks]
    if in_cell(local):
        again = [values.renewed(c, local)] if local in c.outliving.again else []
        return [*again, *_cell(c, node)] if in_frame(local) else _once(c, node)
    place = _place(c, local)
    lines = [f"{name(local)} = PLACES_(m)[{place}];"]
    lines += _met(c, local, place, node.span)
    filled = [] if node.value is None else _filled(c, node.value, kind, name(local), node.span)
    if local.storage is ir.Storage.STATIC:  # only the first time
        if local.fixed:
            filled.append(
                f"CALL_UP(m, {c.function('__lock')}, {c.site(node.span)}, a_pointer({name(local)}, -1));"
            )
        return [lines[0], f"if (!{name(local)}) {{", *lines[1:], *filled, "}"]
    if c.checked and local.constant and node.value is not None:
        return [*lines, _writable(local, 1), *filled, _writable(local, 0)]
    return [*lines, *filled]


def _writable(local: ir.Local, answer: int) -> str:
    """Render an assignment of *answer* to the writable flag of a local; stores through a cast do not change a const one."""
    return f"see(m, {name(local)}).a->writable = {answer};"


def _once(c: CWalker, node: ir.Declare) -> list[str]:
    """Return the lines that set a static variable outside memory the first time its declaration is reached; before, it is zero."""
    if node.value is None:
        return []
    met = f"PLACES_(m)[{c.place(('met', node.local.home))}]"
    fixed = [f"fixed_(m, {name(node.local)}, {c.text(node.local.fixed)});"] if node.local.fixed else []
    return [f"if (!{met}) {{ {met} = 1;", *_cell(c, node), *fixed, "}"]


def _met(c: CWalker, local: ir.Local, place: str, span: ir.Span) -> Iterator[str]:
    """Yield the lines that declare the memory of *local*, index *place*, if that has not happened yet."""
    declared = f"declared_(m, {c.function('__declare')}, {c.site(span)}, {place})"
    yield f"if (UNLIKELY(!{name(local)})) {name(local)} = PLACES_(m)[{place}] = {declared};"


def _cell(c: CWalker, node: ir.Declare) -> list[str]:
    local, kind = node.local, node.local.type
    if isinstance(kind, t.VectorRegister):
        return values.register_declared(c, node)
    if isinstance(kind, t.Array):
        lines = [
            f"memset(d_{local.name}, 0, {kind.size});",
            values.cleared(kind, f"(uint8_t *)d_{local.name}"),
        ]
        lines.append(values.stamped(c, kind, f"(uint8_t *)d_{local.name}"))
        return (
            lines if node.value is None else [*lines, *_filled(c, node.value, kind, name(local), node.span)]
        )
    stamps = values.stamped(c, kind, f"(uint8_t *)d_{local.name}")
    fixed = _writable(local, 0) if c.checked and local.constant else ""
    if node.value is None and local in c.unset:
        fixed = screening.declared(local)
    if node.value is None:
        unset = values.cleared(kind, f"(uint8_t *)d_{local.name}")
        return [f"memset(d_{local.name}, 0, {kind.size}); {unset} {stamps} {fixed}"]
    value = c.value(node.value)
    return [f"{{ {ctype(kind)} i_ = {value}; memcpy(d_{local.name}, &i_, sizeof i_); }} {stamps} {fixed}"]


def _filled(c: CWalker, node: ir.Expr, kind: t.Type, pointer: str, span: ir.Span) -> list[str]:
    """Return the stores of an array's values, of a number, or of a struct; an array without *node* is zero."""
    if isinstance(kind, t.Arithmetic):
        return [c.first(kind, pointer, "0", c.value(node), span) + ";"]
    if isinstance(kind, t.Struct):
        held = c.temporary()
        stored = values.put_record(c, kind, pointer, held, span)
        return [f"{{ {ctype(kind)} {held} = {c.value(node)}; {stored} }}"]
    if not isinstance(node, ir.Compose) or not isinstance(kind, t.Array):
        raise NoForm("this initial value")
    of = kind.of
    lines: list[str] = []
    alike = isinstance(of, t.Arithmetic) and kind.count - len(node.values) > MANY_ZEROS
    for n in range(len(node.values) if alike else kind.count):
        value = node.values[n] if n < len(node.values) else None
        if isinstance(of, t.VectorRegister):
            if value is not None and not isinstance(value, ir.Compose):
                at = f"register_(m, moved_({pointer}, {n}, {of.size}), {c.site(span)})"
                lines.append(f"memmove({at}, {c.value(value)}, REGISTER_BYTES);")
        elif isinstance(of, t.Array | t.Struct):
            whole = ir.Compose((), of, span) if value is None else value
            lines += _filled(c, whole, of, f"moved_({pointer}, {n * of.size}, 1)", span)
        else:
            lines.append(
                c.first(of, pointer, str(n), _zero(of) if value is None else c.value(value), span) + ";"
            )
    if alike:
        at = c.temporary()
        zero = c.first(of, pointer, at, _zero(of), span)
        lines.append(f"for (int64_t {at} = {len(node.values)}; {at} < {kind.count}; {at}++) {zero};")
    return lines


def _if(c: CWalker, node: ir.If) -> list[str]:
    lines = [f"if ({c.tested(node.test)}) {{", *c.body(node.then), "}"]
    return [*lines, "else {", *c.body(node.other), "}"] if node.other else lines


def _loop(c: CWalker, node: ir.Loop) -> list[str]:
    test = "1" if node.test is None else c.tested(node.test)
    # Once per iteration: counts instructions, polls for Ctrl-C and lets other cores run.
    turn = f"TURN(m, {c.site(node.span)});"
    c.leaving.append(node)
    inner = c.body(node.body)
    c.leaving.pop()
    if node.late:
        return ["do {", turn, *inner, f"}} while ({test});"]
    c.stepping = True
    step = [] if node.step is None else c.evaluated(node.step)
    c.stepping = False
    # A step must be one C expression; several statements become a statement expression.
    stepped = step[0].removesuffix(";") if len(step) == 1 else f"({{ {' '.join(step)} }})"
    return [f"for (; {test}; {stepped if step else ''}) {{", turn, *inner, "}"]


def _switch(c: CWalker, node: ir.Switch) -> list[str]:
    lines = [f"switch ((int64_t)({c.value(node.value)})) {{"]
    c.leaving.append(node)
    for section in node.sections:
        lines += [f"case {label}ll:" for label in section.labels] + ["default:"] * section.default
        lines += ["{", *c.body(section.body), "}"]
    c.leaving.pop()
    return [*lines, "}"]


def _return(c: CWalker, node: ir.Return) -> list[str]:
    left = [*_left(c, ()), *returning.returned(c, node.span)]
    if node.value is None:
        return [*left, "return;"]
    if isinstance(node.value.type, t.Void):
        return [f"{c.value(node.value)};", *left, "return;"]
    # If objects end here, the value is computed before their destructors, as in C++, and returned after them.
    if not left:
        return [f"return {c.value(node.value)};"]
    held = c.temporary()
    return [f"{{ {ctype(node.value.type)} {held} = {c.value(node.value)};", *left, f"return {held}; }}"]


def _ended(c: CWalker, node: ir.Finally) -> list[str]:
    """Render statements, with the destruction of their objects at the end and before every jump out of them."""
    c.leaving.append(node)
    inner = c.body(node.body)
    c.leaving.pop()
    return ["{", *inner, *c.body(node.last), "}"]


def _left(c: CWalker, until: tuple[type, ...], to: ir.Labelled | None = None) -> list[str]:
    """Return the destruction of objects on the way to the innermost statement of types *until*, to the statement *to*, or out of the function."""
    lines: list[str] = []
    around = c.leaving
    for n in range(len(around) - 1, -1, -1):
        node = around[n]
        if node is to or isinstance(node, until):
            break
        if isinstance(node, ir.Finally):
            # A return inside a destruction leaves the outer objects, not the same one again.
            c.leaving = around[:n]
            lines += c.body(node.last)
    c.leaving = around
    return lines


def _leave(word: str, *until: type) -> Callable[[CWalker, Any], list[str]]:
    return lambda c, _: [*_left(c, until), f"{word};"]


def _goto(c: CWalker, node: ir.Goto) -> list[str]:
    inner = [n for n in c.leaving if isinstance(n, ir.Labelled) and node.label in n.labels]
    return [*_left(c, (), to=inner[-1] if inner else None), f"goto l_{node.label};"]


def _labelled(c: CWalker, node: ir.Labelled) -> list[str]:
    lines: list[str] = []
    c.leaving.append(node)
    for label, section in zip(("", *node.labels), node.sections, strict=True):
        lines += [f"l_{label}: TURN(m, {c.site(node.span)});"] if label else []
        lines += c.body(section)
    c.leaving.pop()
    # C requires a statement after a label.
    return [*lines, ";"]


STATEMENTS: Mapping[type, Callable[[CWalker, Any], list[str]]] = {
    ir.Declare: _declare,
    ir.Evaluate: lambda c, node: c.evaluated(node.value) or [";"],
    ir.If: _if,
    ir.Loop: _loop,
    ir.Switch: _switch,
    ir.Break: _leave("break", ir.Loop, ir.Switch),
    ir.Continue: _leave("continue", ir.Loop),
    ir.Return: _return,
    ir.Block: lambda c, node: ["{", *c.body(node.body), "}"],
    ir.Labelled: _labelled,
    ir.Goto: _goto,
    ir.Finally: _ended,
}


# Memory requests for later atomics, issued at the start of a function if its parameters already determine
# them.

_SIMPLE = ("+", "-", "*")  # operators that never fault


def ahead(c: CWalker, form: ir.Function) -> Iterator[str]:
    """Yield the lines for the start of *form* if its statements are straight-line code with an atomic after other instructions."""
    _, *later = _in_order(form.body) or (None,)
    stores = changed(walk(form.body))
    for call in later:
        if call is None or not ISA[call.row].atomic or len(call.arguments) != 3:
            continue
        to, _, count = call.arguments
        if isinstance(to.type, t.Pointer) and _known(to, stores) and _known(count, stores):
            yield f"ahead_(m, {c.value(to)}, (int64_t)({c.value(count)}) * {to.type.to.size});"


def _in_order(body: Sequence[ir.Statement]) -> "list[ir.IntrinsicCall | None]":
    """Return the instruction calls of the straight-line code *body*, None for other expressions; empty if it branches."""
    calls: list[ir.IntrinsicCall | None] = []
    for node in body:
        if isinstance(node, ir.Block):
            inner = _in_order(node.body)
            if node.body and not inner:
                return []
            calls += inner
        elif isinstance(node, ir.Evaluate):
            calls.append(node.value if isinstance(node.value, ir.IntrinsicCall) else None)
        else:
            return []
    return calls


def _known(node: ir.Expr, stores: Mapping[ir.Local, int]) -> bool:
    """Return whether *node* has the same value from the start of the function on, and computing it has no side effect."""
    if isinstance(node, ir.Const):
        return True
    if isinstance(node, ir.Load):
        place = node.place
        return (
            isinstance(place, ir.LocalStorage)
            and place.local.parameter
            and place.local.storage is ir.Storage.VALUE
            and not stores.get(place.local)
        )
    if isinstance(node, ir.Convert):
        return _known(node.value, stores)
    if isinstance(node, ir.Offset):
        return _known(node.pointer, stores) and _known(node.count, stores)
    return (
        isinstance(node, ir.Binary)
        and node.op in _SIMPLE
        and _known(node.left, stores)
        and _known(node.right, stores)
    )
