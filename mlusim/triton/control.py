"""Lowers loops and branches, with the values that they carry and return."""

from collections.abc import Sequence

from attrs import evolve

from mlusim.triton import ttir
from mlusim.triton.lowering import KernelLowering, Lowered, Operations, c_type
from mlusim.triton.ttir import TtirOperation, count, shape_and_element
from mlusim.triton.values import BYTES, Mask, Ramp, ScalarValue, Shape, Tile, Uniform, Value, dims_of, element

POINTER = "pointer to "


def loop(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``scf.for``: carried values are in variables and blocks that every iteration writes."""
    first, last, step, *initial = low.operands(op)
    index, *names = op.arguments[0]
    carried = carried_values(low, initial, names, op.regions[0])
    low.values.update(zip(names, carried, strict=True))
    assert isinstance(first, ScalarValue)
    assert isinstance(last, ScalarValue)
    assert isinstance(step, ScalarValue)
    counter = low.text.name(index)
    low.values[index] = ScalarValue(counter, first.type)
    with low.text.inside(
        f"for ({first.type} {counter} = {first.c}; {counter} < {last.c}; {counter} += {step.c})", loop=True
    ):
        _round(low, op.regions[0], carried)
    return carried


def while_loop(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``scf.while``."""
    carried = carried_values(low, low.operands(op), op.arguments[0], op.regions[1])
    low.values.update(zip(op.arguments[0], carried, strict=True))
    *tests, condition = op.regions[0]
    # The test is in the middle of the loop, because the body may use values that it computes.
    with low.text.inside("for (;;)", loop=True):
        low.body(tests)
        test, *passed = low.operands(condition)
        assert isinstance(test, ScalarValue)
        if any(now is not before for now, before in zip(passed, carried, strict=True)):
            raise low.refuse("a loop whose test changes what it carries has no form in BANG C here")
        low.text.line(f"if (!({test.c})) break;")
        low.values.update(zip(op.arguments[1], passed, strict=True))
        _round(low, op.regions[1], carried)
    return carried


def carried_values(
    low: KernelLowering, values: Sequence[Value], names: Sequence[str], body: Sequence[TtirOperation]
) -> list[Value]:
    """Return storage for the *values* that a loop carries under *names*: separate variables and blocks."""
    ends = body[-1].operands if body and body[-1].name == "scf.yield" else names
    makers = {result: operation.name for operation in body for result in operation.results}
    return [
        _carried(low, value, name, makers.get(end, ""))
        for value, name, end in zip(values, names, ends, strict=True)
    ]


def _carried(low: KernelLowering, value: Value, name: str, maker: str) -> Value:
    """Return the value that a loop carries for *value*; operation *maker* of the body computes the next one ("": none does)."""
    # Integers with a stride stay a formula while the body only adds to them; any other operation makes them
    # data.
    stepping = maker in ("", "arith.addi", "arith.subi") or maker.startswith("scf.")
    if isinstance(value, Ramp) and not value.pointer and not stepping:
        value = low.whole(value, value.shape)
    if isinstance(value, ScalarValue):
        kind = f"{value.type} *" if value.c in low.pointers else value.type
        variable = low.text.name(name)
        low.text.line(f"{kind} {variable} = {value.c};")
        return ScalarValue(variable, value.type)
    if isinstance(value, Ramp) and (value.pointer or not value.terms):
        # The strides stay; only the base moves, which a C variable can hold.
        base = low.text.name(name)
        low.text.line(f"int64_t {base} = {value.base};")
        return evolve(value, base=base)
    source = low.whole(value, value.shape) if not isinstance(value, Uniform) else value
    logic = isinstance(source, Tile) and source.logic
    block = low.text.block(source.type, value.shape, "carried by a loop", word=name, logic=logic)
    if isinstance(source, Uniform):
        low.fill(block, source.c)
    else:
        size = count(block.shape) * BYTES[block.type]
        low.text.line(f"__bang_move({block.name}, {source.name}, {size});", block.name, [source.name])
    return block


def _round(low: KernelLowering, operations: Sequence[TtirOperation], carried: Sequence[Value]) -> None:
    """Lower one iteration, at whose end *carried* take their next values simultaneously."""
    *inner, end = operations
    if end.name != "scf.yield":
        low.body(operations)
        return
    low.body(inner)
    low.text.place = end.place or low.text.place
    assign(low, carried, low.operands(end))


def assign(low: KernelLowering, targets: Sequence[Value], values: Sequence[Value]) -> None:
    """Assign *values* to *targets*, as if simultaneously."""
    # Simultaneously: two tensors that are swapped must both be read before one is written.
    names = {t.name for t in targets if isinstance(t, Tile)} | {
        t.c for t in targets if isinstance(t, ScalarValue)
    }
    ready = [_ready(low, target, value, names) for target, value in zip(targets, values, strict=True)]
    for target, value in zip(targets, ready, strict=True):
        if isinstance(target, ScalarValue) and isinstance(value, ScalarValue):
            low.text.line(f"{target.c} = {value.c};")
        elif isinstance(target, Ramp) and isinstance(value, Ramp):
            low.text.line(f"{target.base} = {value.base};")
        elif isinstance(target, Tile) and isinstance(value, Uniform):
            low.fill(target, value.c)
        elif isinstance(target, Tile) and isinstance(value, Tile) and target.name != value.name:
            low.text.line(
                f"__bang_move({target.name}, {value.name}, {count(target.shape) * BYTES[target.type]});"
            )


def _ready(low: KernelLowering, target: Value, value: Value, names: set[str]) -> Value:
    """Return *value* in the form that *target* needs, independent of the other assignments."""
    if isinstance(target, ScalarValue) and isinstance(value, ScalarValue):
        if value.c in names and value.c != target.c:
            copy = low.text.name("next")
            low.text.line(f"{value.type}{' *' if value.c in low.pointers else ''} {copy} = {value.c};")
            return ScalarValue(copy, value.type)
        return value
    if isinstance(target, Ramp):
        steps = target.strides, target.pointer, target.terms
        alike = isinstance(value, Ramp) and (value.strides, value.pointer, value.terms) == steps
        if not isinstance(value, Ramp) or not alike:
            raise low.refuse(
                "strides, pointers or data that change from round to round have no form in BANG C here"
            )
        return evolve(value, base=low.text.variable(value.base, "int64_t", "next"))
    assert isinstance(target, Tile)
    if isinstance(value, Uniform):
        return value
    block = low.whole(value, target.shape)
    if block.name in names and block.name != target.name:
        moved = low.text.block(block.type, block.shape, "next round")
        size = count(block.shape) * BYTES[block.type]
        low.text.line(f"__bang_move({moved.name}, {block.name}, {size});", moved.name)
        return moved
    if block.type != target.type:
        raise low.refuse(
            f"a mask that is {block.type} in one round and {target.type} in the next has no form here"
        )
    return block


def branch(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``scf.if``."""
    (test, *_) = low.operands(op)
    assert isinstance(test, ScalarValue)
    results = (
        [
            _result(low, kind, name)
            for kind, name in zip(op.types[-len(op.results) :], op.results, strict=False)
        ]
        if op.results
        else []
    )
    with low.text.inside(f"if ({test.c})"):
        _branch(low, op.regions[0], results)
        if len(op.regions) > 1 and op.regions[1]:
            low.text.otherwise()
            _branch(low, op.regions[1], results)
    return results or None


def _branch(low: KernelLowering, operations: Sequence[TtirOperation], results: Sequence[Value]) -> None:
    # The results of a branch are stored where both sides can write them.
    inner = [operation for operation in operations if operation.name != "scf.yield"]
    low.body(inner)
    if results:
        assign(low, results, low.operands(operations[-1]))


def _result(low: KernelLowering, kind: str, name: str) -> Value:
    """Return storage for a result of a branch."""
    if kind.startswith("!tt.ptr"):
        of, variable = c_type(ttir.pointed(kind)), low.text.name(name)
        low.text.line(f"{of} *{variable};")
        low.pointers.add(variable)
        return ScalarValue(variable, of)
    if not ttir.is_tensor(kind):
        variable = low.text.name(name)
        low.text.line(f"{c_type(kind)} {variable};")
        return ScalarValue(variable, c_type(kind))
    shape, element_type = shape_and_element(kind)
    if element_type.startswith("!tt.ptr"):
        raise low.refuse("a branch that gives back a tensor of pointers has no form in BANG C here")
    logic = element_type == "i1"
    return low.text.block(
        "float" if logic else c_type(element_type), shape, "result of a branch", word=name, logic=logic
    )


def arrive(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower a jump: return the values that it passes as the arguments of the target block."""
    return low.operands(op)


def leave(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower the end of a function or a region, for which C has the closing brace."""
    return None


PRINTED = {"half": "%f", "bfloat16_t": "%f", "float": "%f", "int64_t": "%ld"}
"""The print directive of a type; ``%d`` for other types."""
LABEL = r'("(?:[^"\\]|\\.)*")'


def show(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.print``: one line for each element of each operand, beginning with the program and the indices."""
    label = op.word(LABEL)[1:-1].replace("%", "%%")
    for value in low.operands(op):
        if isinstance(value, Ramp) and value.pointer:
            raise low.refuse("addresses have no form to print here; print what they lead to")
        shape = () if isinstance(value, ScalarValue) else value.shape
        kind = "int" if isinstance(value, Mask) or (isinstance(value, Tile) and value.logic) else value.type
        directive = "%lx" if "hex = true" in op.attributes else PRINTED.get(kind, "%d")
        cast = "float" if directive == "%f" else "int64_t" if directive in ("%ld", "%lx") else "int"
        indices, heads = _each(low, shape)
        places = f" idx ({', '.join(['%d'] * len(shape))})" if shape else ""
        words = ", ".join(["taskIdX", "taskIdY", "taskIdZ", *indices, f"({cast})({element(value, indices)})"])
        text = f"pid (%d, %d, %d){places}{label}{directive}\\n"
        low.text.line(f'{heads} __bang_printf("{text}", {words});'.lstrip())
    return None


def require(low: KernelLowering, op: TtirOperation) -> Lowered:
    """Lower ``tt.assert``: the first false element ends the kernel with the condition and its location."""
    (value,) = low.operands(op)
    indices, heads = _each(low, () if isinstance(value, ScalarValue) else value.shape)
    place = low.text.place
    where = '"", 0' if place is None else f'"{place.file}", {place.line}'
    told = f'{op.word(LABEL)}, {where}, "{low.function.name}"'
    low.text.line(f"{heads} if (!({element(value, indices)})) __assert_fail({told});".lstrip())
    return None


def _each(low: KernelLowering, shape: Shape) -> tuple[list[str], str]:
    """Return the indices of an element of *shape*, and the heads of loops over all elements."""
    indices, loops = dims_of(shape, lambda: low.text.name("i"))
    return indices, " ".join(f"for (int {index} = 0; {index} < {size}; ++{index})" for index, size in loops)


OPERATIONS: Operations = {
    "tt.print": show,
    "tt.assert": require,
    "scf.if": branch,
    "cf.pass": arrive,
    "tt.return": leave,
    "scf.yield": leave,
}
