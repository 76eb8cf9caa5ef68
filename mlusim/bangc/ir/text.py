"""The intermediate form as text, one line per statement, with every conversion and storage class."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from mlusim.bangc import ir

_INDENT = "    "


def module_text(module: ir.TranslationUnit) -> str:
    """Return a whole translation unit as text: its variables at file scope, then its functions."""
    parts = [f"{g.space or 'host'} {g.type} {g.name}" for g in module.globals.values()]
    return "\n".join([*parts, *(function_text(f) for f in module.functions.values())])


def function_text(function: ir.Function) -> str:
    """Return one function as text."""
    parameters = ", ".join(f"{p.type} {p.name}{_storage(p)}" for p in function.parameters)
    head = f"{function.kind} {function.result} {function.name}({parameters})"
    if function.problem is not None:
        return f"{head}: {function.problem.message}"
    return "\n".join([f"{head}:", *_body(function.body, 1)])


def expression_text(node: object) -> str:
    """Return an expression or a place as text."""
    return _EXPRESSIONS[type(node)](node)


def _storage(local: ir.Local) -> str:
    if local.storage is ir.Storage.VALUE:
        return ""
    return f" @{local.storage.value}{' ' + local.space if local.space else ''}"


def _body(body: Iterable[ir.Statement], depth: int) -> Iterator[str]:
    for statement in body:
        for line in _STATEMENTS[type(statement)](statement, depth):
            # Lines of a nested body are indented already.
            yield line if line.startswith(_INDENT) else _INDENT * depth + line


def _lines(*texts: str) -> Callable[..., Iterator[str]]:
    return lambda _node, _depth: iter(texts)


def _declare(node: ir.Declare, _depth: int) -> Iterator[str]:
    local = node.local
    value = "" if node.value is None else f" = {expression_text(node.value)}"
    yield f"{local.type} {local.name}{_storage(local)}{value}"


def _if(node: ir.If, depth: int) -> Iterator[str]:
    yield f"if {expression_text(node.test)}:"
    yield from _body(node.then, depth + 1)
    if node.other:
        yield _INDENT * depth + "else:"
        yield from _body(node.other, depth + 1)


def _loop(node: ir.Loop, depth: int) -> Iterator[str]:
    test = "true" if node.test is None else expression_text(node.test)
    step = "" if node.step is None else f"; {expression_text(node.step)}"
    yield f"{'do' if node.late else 'while'} {test}{step}:"
    yield from _body(node.body, depth + 1)


def _switch(node: ir.Switch, depth: int) -> Iterator[str]:
    yield f"switch {expression_text(node.value)}:"
    for section in node.sections:
        labels = [str(n) for n in section.labels] + ["default"] * section.default
        yield _INDENT * depth + f"case {', '.join(labels)}:"
        yield from _body(section.body, depth + 1)


def _labelled(node: ir.Labelled, depth: int) -> Iterator[str]:
    yield "labelled:"
    for label, section in zip(("", *node.labels), node.sections, strict=True):
        if label:
            yield _INDENT * depth + f"label {label}:"
        yield from _body(section, depth + 1)


def _finally(node: ir.Finally, depth: int) -> Iterator[str]:
    yield "block:"
    yield from _body(node.body, depth + 1)
    yield _INDENT * depth + "at its end:"
    yield from _body(node.last, depth + 1)


def _arguments(arguments: Iterable[Any]) -> str:
    return ", ".join(expression_text(a) for a in arguments)


def _asm(node: ir.Asm) -> str:
    operands = [f"{o.name}={expression_text(o.value)}" for o in (*node.outputs, *node.inputs)]
    return f"asm({', '.join([repr(node.text), *operands])})"


_STATEMENTS: Mapping[type, Callable[[Any, int], Iterator[str]]] = {
    ir.Declare: _declare,
    ir.Evaluate: lambda n, _: iter((expression_text(n.value),)),
    ir.If: _if,
    ir.Loop: _loop,
    ir.Switch: _switch,
    ir.Break: _lines("break"),
    ir.Continue: _lines("continue"),
    ir.Return: lambda n, _: iter(("return" if n.value is None else f"return {expression_text(n.value)}",)),
    ir.Block: lambda n, depth: iter(("block:", *_body(n.body, depth + 1))),
    ir.Labelled: _labelled,
    ir.Goto: lambda n, _: iter((f"goto {n.label}",)),
    ir.Finally: _finally,
}
_EXPRESSIONS: Mapping[type, Callable[[Any], str]] = {
    ir.LocalStorage: lambda n: n.local.name,
    ir.GlobalPlace: lambda n: n.variable.name,
    ir.Element: lambda n: f"{expression_text(n.pointer)}[{expression_text(n.index)}]",
    ir.Member: lambda n: f"{expression_text(n.base)}.{n.name}",
    ir.Temporary: lambda n: f"temporary({expression_text(n.value)})",
    ir.Const: lambda n: "null" if n.value is None else f"{n.value!r}:{n.type}",
    ir.Text: lambda n: repr(n.value),
    ir.Builtin: lambda n: n.name,
    ir.Load: lambda n: expression_text(n.place),
    ir.AddressOf: lambda n: f"&{expression_text(n.place)}",
    ir.Convert: lambda n: f"<{n.type}>({expression_text(n.value)})",
    ir.Unary: lambda n: f"({n.op}:{n.type} {expression_text(n.value)})",
    ir.Binary: lambda n: f"({expression_text(n.left)} {n.op}:{n.type} {expression_text(n.right)})",
    ir.Compare: lambda n: f"({expression_text(n.left)} {n.op} {expression_text(n.right)})",
    ir.Logical: lambda n: f"({expression_text(n.left)} {n.op} {expression_text(n.right)})",
    ir.Conditional: lambda n: (
        f"({expression_text(n.test)} ? {expression_text(n.then)} : {expression_text(n.other)})"
    ),
    ir.Comma: lambda n: f"({expression_text(n.first)}, {expression_text(n.second)})",
    ir.Offset: lambda n: (
        f"({expression_text(n.pointer)} {'-' if n.back else '+'}:{n.type} {expression_text(n.count)})"
    ),
    ir.Distance: lambda n: f"({expression_text(n.left)} - {expression_text(n.right)})",
    ir.Assign: lambda n: f"({expression_text(n.place)} = {expression_text(n.value)})",
    # After the colon, the type of the computation.
    ir.Update: lambda n: (
        f"({expression_text(n.place)} {n.op}:{n.within} {expression_text(n.value)}{', old' if n.old else ''})"
    ),
    ir.Call: lambda n: f"{n.name}({_arguments(n.arguments)})",
    ir.IntrinsicCall: lambda n: f"{n.row}({_arguments(n.arguments)})",
    ir.LibraryCall: lambda n: f"{n.name}({_arguments(n.arguments)})",
    ir.Dispatch: lambda n: f"virtual {n.name}({_arguments(n.arguments)})",
    ir.DynamicCast: lambda n: f"dynamic<{n.name}>({expression_text(n.value)})",
    ir.Compose: lambda n: f"{{{_arguments(n.values)}}}",
    ir.FunctionAddress: lambda n: f"&{n.name}",
    ir.Invoke: lambda n: f"({expression_text(n.function)})({_arguments(n.arguments)})",
    ir.Asm: _asm,
}
