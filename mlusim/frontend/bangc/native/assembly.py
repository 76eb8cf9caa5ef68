"""Inline assembly in C: each instruction of its text as a call of the row that it is."""

from mlusim.engine.native.door import NUMBERS
from mlusim.errors import UsageError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.native import registers
from mlusim.frontend.bangc.native.numbers import IDS, NoForm, ctype, dtype_of, real, rounded
from mlusim.frontend.bangc.native.rendering import Rendering
from mlusim.isa.assembly import Argument, AssemblyCall, assembly_calls
from mlusim.time.log import FOR_ALL


def assembly(c: Rendering, node: ir.Asm) -> str:
    """Render the instructions in order, behind their operands, which are evaluated once."""
    try:
        calls = assembly_calls(node.text)
    except UsageError:  # the Python engine says so where it is met
        raise NoForm("inline assembly that is not known") from None
    lines, inputs = [], dict[str, tuple[str, t.Type]]()
    for operand in node.inputs:
        kind, name = operand.value.type, c.temporary()
        lines.append(f"{ctype(kind)} {name} = {c.value(operand.value)}; (void){name};")  # type: ignore[arg-type]
        inputs[operand.name] = name, kind
    outputs: dict[str, ir.Place] = {o.name: o.value for o in node.outputs}  # type: ignore[misc]
    lines += [_instruction(c, call, inputs, outputs, node.span) for call in calls]
    return f"({{ {' '.join(lines)} (void)0; }})"


def _register(name: str, kind: t.VectorRegister) -> str:
    return f"a_register({name}, {IDS[dtype_of(kind.of)]})"  # type: ignore[index]


def _instruction(
    c: Rendering,
    call: AssemblyCall,
    inputs: dict[str, tuple[str, t.Type]],
    outputs: dict[str, ir.Place],
    span: ir.Span,
) -> str:
    number, site = NUMBERS[call.row], c.site(span)
    if call.row == "sync":
        return f"m->site = {site}; wait_(m, {number}, {FOR_ALL});"
    given = ", ".join(_argument(c, argument, inputs, outputs) for argument in call.arguments)
    made = f"UP(m, {number}, {site}, {given})"
    if call.result is None:
        return f"(void){made};"
    at = outputs[call.result.name]
    if not isinstance(at.type, t.Arithmetic):
        raise NoForm("inline assembly with vectors in registers")
    answer = f"number_of({made})" if at.type.kind == "float" else f"whole_of({made})"
    held = c.temporary()
    given = (
        rounded(answer, at.type, wide=True) if at.type.kind == "float" else f"(({ctype(at.type)}){answer})"
    )
    stored = c.spread(at, lambda p, i: c.put(at.type, p, i, held, span))
    return f"{{ {ctype(at.type)} {held} = {given}; {stored}; }}"


def _argument(
    c: Rendering, argument: Argument, inputs: dict[str, tuple[str, t.Type]], outputs: dict[str, ir.Place]
) -> str:
    """Render an argument for Python: memory as elements of the mnemonic's type, a register, a plain number, a word."""
    if isinstance(argument, str):
        return f"a_text({c.text(argument)})"
    if isinstance(argument, float):
        return f"a_float({argument.hex()}, -1)"  # in hexadecimal it is exact
    if isinstance(argument, int):
        return f"a_integer({argument}ll, -1)"
    if argument.name not in inputs:
        at = outputs[argument.name]
        if not isinstance(at.type, t.VectorRegister):
            raise NoForm("inline assembly that reads what it writes")
        return _register(registers.place(c, at, at.span), at.type)
    name, kind = inputs[argument.name]
    if isinstance(kind, t.VectorRegister):
        return _register(name, kind)
    if argument.memory and isinstance(kind, t.Pointer):
        dtype = argument.dtype or dtype_of(kind.to)
        return f"a_pointer({name}, {-1 if dtype is None else IDS[dtype]})"
    if argument.memory or not isinstance(kind, t.Arithmetic):
        raise NoForm("inline assembly with these operands")
    if kind.kind == "float":
        return f"a_float({real(name, kind)}, -1)"
    unsigned = kind.kind == "uint" and kind.size == 8
    return f"{'a_unsigned' if unsigned else 'a_integer'}((int64_t){name}, -1)"
