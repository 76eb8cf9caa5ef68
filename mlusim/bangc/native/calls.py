"""Calls in C: instructions, C library functions, inline assembly, and calls through function pointers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from mlusim.arch.dtypes import boolean
from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.walk import walk
from mlusim.bangc.native import screening
from mlusim.bangc.native.emit import (
    IDS,
    CWalker,
    NoForm,
    Signature,
    ctype,
    dtype_of,
    real,
    rounded,
    suffix,
)
from mlusim.bangc.native.joining import lasts
from mlusim.bangc.native.values import class_number, register_kept, register_place, spread
from mlusim.counted import plural
from mlusim.engine.contract import Mode
from mlusim.engine.recipes.recipe import lanes_of
from mlusim.errors import UsageError
from mlusim.isa.mlisa import Argument, AssemblyCall, assembly_calls
from mlusim.isa.table import ISA, NUMBERS
from mlusim.machine.native.text.door import (
    MEETS,
    REGISTER_MEMORY,
    REGISTERS,
    RUN_TIME,
    NativeArgument,
    Use,
    door,
    lane,
    waits_for,
)
from mlusim.machine.native.text.joined import COPY, JoinedCall
from mlusim.machine.native.text.layout import MOST_ARGUMENTS
from mlusim.machine.native.text.templates import SUFFIX
from mlusim.memory.space import DIRECTIONS, code_address
from mlusim.time.log import FOR_ALL


def intrinsic(c: CWalker, node: ir.IntrinsicCall) -> str:
    """Render an instruction: a run-time function, the row's door in C, or a call of Python's door."""
    code = _intrinsic(c, node)
    return (
        code
        if waits_for(ISA[node.row], c.arch) is not None or node.row in MEETS
        else screening.with_pointers(c, node.arguments, code, node.span)
    )


def _intrinsic(c: CWalker, node: ir.IntrinsicCall) -> str:
    number, site = NUMBERS[node.row], c.site(node.span)
    c.calls.setdefault((site, number), []).append(node)
    pipes = waits_for(ISA[node.row], c.arch)
    if pipes is not None:
        return f"(m->site = {site}, wait_(m, {number}, {pipes}))"
    if node.row in MEETS:
        passes = "m->memory_core" if MEETS[node.row] == "ipu" else "0"
        return f"meet_(m, {number}, {site}, {passes})"
    if node.row == "sync_compute":
        return f"(m->site = {site}, wait_compute_(m, {number}))"
    if node.row in ("is_mpu", "is_ipu"):
        noted = f"begins_(m, {site}, {number}, 0), " if c.mode is Mode.NOTED else ""
        return f"({noted}m->counts[{number}]++, {'' if node.row == 'is_mpu' else '!'}m->memory_core)"
    # Copies of one and two dimensions; others are left to Python.
    if node.row in ("memcpy", "memcpy_async") and len(node.arguments) in (4, 7):
        return _copy(c, node, number, site)
    if node.row in REGISTERS and not ISA[node.row].available(c.arch.bang_arch):
        raise NoForm(f"{ISA[node.row].spelling}, which {c.arch.name} does not have")  # Python reports it
    if node.row in REGISTER_MEMORY:
        return register_transfer(c, node, _kinds(node))
    if node.row in REGISTERS:
        return register_call(c, node, _kinds(node))
    use = _door(c, node)
    if use is not None:
        code = c.in_order(node.arguments, lambda *a: f"{use.name}({', '.join(('m', *a, str(site)))})")
        return _result(node, code)
    return _python(c, node, _up(c, node.row, site))


def _up(c: CWalker, row: str, site: int) -> str:
    """Render the start of a call of *row* that Python executes; a recorded instruction is logged first."""
    number = NUMBERS[row]
    if c.mode is not Mode.NOTED:
        return f"UP(m, {number}, {site}"
    return f"UP_NOTED(m, {number}, {site}, {lanes_of(ISA[row])}, {int(not ISA[row].memory_core)}"


def _kinds(node: ir.IntrinsicCall) -> list[t.Type]:
    return [*node.overload, *(a.type for a in node.arguments[len(node.overload) :])]


def uses(c: CWalker) -> list[Use]:
    """Return the C doors that the program's calls use."""
    called = (node for nodes in c.calls.values() for node in nodes if node.row not in RUN_TIME)
    return [use for node in called if (use := _door(c, node)) is not None]


def _door(c: CWalker, node: ir.IntrinsicCall) -> Use | None:
    """Return the use of the row's C door; None if there is none, or if an argument is neither number nor pointer."""
    arguments = []
    for kind in _kinds(node):
        if isinstance(kind, t.Pointer):
            arguments.append(NativeArgument(True, dtype_of(kind.to)))
        # C doors take no double.
        elif isinstance(kind, t.Arithmetic) and not (kind.kind == "float" and kind.size == 8):
            arguments.append(NativeArgument(False, dtype_of(kind)))
        else:
            return None
    use = Use(node.row, tuple(arguments))
    return None if door(use, c.arch, c.mode) is None else use


def joined_call(c: CWalker, call: ir.IntrinsicCall) -> JoinedCall | None:
    """Return *call* as one that may be joined with others.

    None if it does not do the same to each element, has no door in C, or if its arguments do not last.
    """
    direction = call.arguments[3] if call.row == COPY and len(call.arguments) == 4 else None
    if isinstance(direction, ir.Const) and 0 <= direction.value < len(DIRECTIONS):
        use, way, values = _copied(call), int(direction.value), call.arguments[:3]
    else:
        use, way, values = None if call.row in RUN_TIME else _door(c, call), -1, call.arguments
    if use is None or (way < 0 and lane(use, c.arch) is None) or not all(map(lasts, values)):
        return None
    return JoinedCall(use, tuple(map(c.value, values)), c.site(call.span), way)


def _copied(call: ir.IntrinsicCall) -> Use | None:
    """Return the use of a copy with the types that its pointers had before they became ``void *``.

    None if they differ in size, or if C has no functions for their elements, as for doubles.
    """
    dtypes = []
    for argument in call.arguments[:2]:
        side = argument
        while isinstance(side, ir.Convert) and isinstance(side.value.type, t.Pointer):
            side = side.value
        dtypes.append(dtype_of(side.type.to) if isinstance(side.type, t.Pointer) else None)
    sizes = {dtype.size for dtype in dtypes if dtype is not None}
    if len(sizes) != 1 or not {dtype.name for dtype in dtypes if dtype is not None} <= SUFFIX.keys():
        return None
    return Use(COPY, tuple(NativeArgument(True, dtype) for dtype in dtypes))


def _copy(c: CWalker, node: ir.IntrinsicCall, number: int, site: int) -> str:
    ids = [_id(k) for k in _kinds(node)[:2]]

    def render(dst: str, src: str, size: str, direction: str, *shape: str) -> str:
        front = f"m, {number}, {dst}, {src}, {size}, {direction}"
        if node.row == "memcpy":
            name = "memcpy_rows" if shape else "memcpy_1d"
            return f"{name}({', '.join((front, *shape))}, {ids[0]}, {ids[1]}, {site})"
        shaped = ", ".join(("1", *shape)) if shape else "0, 0, 0, 0"
        return f"memcpy_start({front}, {shaped}, {ids[0]}, {ids[1]}, {site})"

    return c.in_order(node.arguments, render)


def _id(kind: t.Type) -> int:
    dtype = dtype_of(kind.to) if isinstance(kind, t.Pointer) else None
    return -1 if dtype is None else IDS[dtype]


def _python(c: CWalker, node: ir.IntrinsicCall | ir.LibraryCall, head: str) -> str:
    """Render a call that Python executes."""
    if len(node.arguments) > MOST_ARGUMENTS:
        raise NoForm(
            f"a call with {len(node.arguments)} {plural(len(node.arguments), 'argument')} (more than {MOST_ARGUMENTS})"
        )
    kinds = _kinds(node) if isinstance(node, ir.IntrinsicCall) else [a.type for a in node.arguments]
    texts = [c.text(a.value) if isinstance(a, ir.Text) else None for a in node.arguments]
    plain = tuple(a for a in node.arguments if not isinstance(a, ir.Text))
    typed = ISA[node.row].typing if isinstance(node, ir.IntrinsicCall) else ()

    def render(*values: str) -> str:
        left = iter(values)
        arguments = [
            f"a_text({text})" if text is not None else _argument(next(left), kind, typed=n in typed)
            for n, (text, kind) in enumerate(zip(texts, kinds, strict=True))
        ]
        if not arguments:
            name, _, rest = head.partition("(")
            return f"{_WITHOUT[name]}({rest}, 0, 0)"
        return f"{head}, {', '.join(arguments)})"

    called = c.in_order(plain, render)
    if isinstance(node.type, t.Void):
        return f"((void){called})"
    if c.checked and isinstance(node, ir.LibraryCall) and node.type == t.FLOAT:
        return screening.converted(c, f"number_of({called})", t.DOUBLE, t.FLOAT, c.site(node.span))
    return _answer(called, node.type)


# The functions behind the macros of calls to Python, for calls without arguments.
_WITHOUT = {"UP": "row_up", "UP_NOTED": "row_up_noted_", "CALL_UP": "library_up"}


def _argument(text: str, kind: t.Type, *, typed: bool) -> str:
    """Render an argument for Python; a number keeps its element type if *typed*, else it is a plain number."""
    if isinstance(kind, t.Pointer):
        return f"a_pointer({text}, {_id(kind)})"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"an argument of {kind}")
    if kind.name == "mluMemcpyDirection_t":
        return f"a_direction({text})"
    plain = not typed or kind.kind == "bool" or (kind.kind == "float" and kind.size == 8)
    dtype_id = -1 if plain else IDS[dtype_of(kind)]  # type: ignore[index]
    if kind.kind == "float":
        return f"a_float({real(text, kind)}, {dtype_id})"
    # An int64_t holds the values of all other integer types.
    maker = "a_unsigned" if plain and kind.kind == "uint" and kind.size == 8 else "a_integer"
    return f"{maker}((int64_t)({text}), {dtype_id})"


def _answer(called: str, kind: t.Type) -> str:
    """Render the conversion of Python's result to *kind*."""
    if isinstance(kind, t.Pointer):
        return f"({called}.bits)"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"a result of {kind}")
    if kind.kind == "float":
        return rounded(f"number_of({called})", kind, wide=True)
    return f"(({ctype(kind)})whole_of({called}))"


def _result(node: ir.IntrinsicCall, code: str) -> str:
    """Render the result of a C door, converted to the type in the source."""
    kind = node.type
    if isinstance(kind, t.Void) or ISA[node.row].returns == "None":
        return code
    assert isinstance(kind, t.Arithmetic)
    if kind.kind == "float":
        return rounded(code, kind, wide=False)
    return f"(({ctype(kind)})({code}))"


# -- the C library -----------------------------------------------------------------------------------

_IN_DOUBLE: Mapping[str, str] = {
    "sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint", "fabs": "fabs",
    "round": "round_half_away",
}  # fmt: skip


_ABSOLUTE = ("abs", "labs", "llabs")
_OF_BITS = ("clz", "ctz", "ffs", "popcount", "parity", "clrsb", "bswap")


def library(c: CWalker, node: ir.LibraryCall) -> str:
    """Render a C library function: C's own if it is exact, else a call of the Python engine's function."""
    if node.name == BECOME:
        return become(c, node)
    in_c = _own(node)
    if in_c is not None:
        return c.in_order(node.arguments, in_c)
    return _python(c, node, f"CALL_UP(m, {c.function(node.name)}, {c.site(node.span)}")


def _own(node: ir.LibraryCall) -> Callable[..., str] | None:
    name, kind = node.name, node.type
    bare = name.removeprefix("__builtin_")
    if bare != name and bare.startswith(_OF_BITS):
        return lambda a: _bits(name, a)
    if bare in _ABSOLUTE or bare.removesuffix("f") in _IN_DOUBLE:
        name = bare
    bare = name.removesuffix("f") if name.removesuffix("f") in _IN_DOUBLE else name
    if bare in _IN_DOUBLE and isinstance(kind, t.Arithmetic) and kind.kind == "float":
        have = node.arguments[0].type
        if isinstance(have, t.Arithmetic):
            in_double = real if have.kind == "float" else lambda text, _: text
            return lambda a: rounded(f"{_IN_DOUBLE[bare]}((double){in_double(a, have)})", kind, wide=True)
    if name in ("min", "max") and isinstance(kind, t.Arithmetic) and len(node.arguments) == 2:
        sign = "<" if name == "min" else ">"
        return lambda a, b: _smaller(a, b, sign, kind)
    if name in _ABSOLUTE and isinstance(kind, t.Arithmetic) and kind.kind == "int":
        return lambda a: f"({{ {ctype(kind)} x_ = {a}; ({ctype(kind)})(x_ < 0 ? -x_ : x_); }})"
    if name == "__builtin_expect":
        return lambda a, _: a
    return None


def _bits(name: str, a: str) -> str:
    """Render a bit function on integers; for zero, the compiler's own are undefined."""
    kind, wide = ("uint64_t", 64) if name.endswith(("l", "64")) else ("uint32_t", 32)
    if not name.startswith(("__builtin_clz", "__builtin_ctz")):
        return f"{name}({a})"
    return f"({{ {kind} x_ = {a}; x_ ? {name}(x_) : {wide}; }})"


def _smaller(a: str, b: str, sign: str, kind: t.Arithmetic) -> str:
    """Render the first of two values, unless the second compares better by *sign*."""
    c_type = ctype(kind)
    test = f"{real('y_', kind)} {sign} {real('x_', kind)}" if kind.kind == "float" else f"y_ {sign} x_"
    return f"({{ {c_type} x_ = {a}; {c_type} y_ = {b}; {test} ? y_ : x_; }})"


# Inline assembly in C: each instruction as a call of its row.


def assembly(c: CWalker, node: ir.Asm) -> str:
    """Render the instructions in order, after their operands, which are evaluated once."""
    try:
        calls = assembly_calls(node.text)
    except UsageError:  # the Python engine reports it when it is executed
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
    c: CWalker,
    call: AssemblyCall,
    inputs: dict[str, tuple[str, t.Type]],
    outputs: dict[str, ir.Place],
    span: ir.Span,
) -> str:
    number, site = NUMBERS[call.row], c.site(span)
    if call.row == "sync":
        return f"m->site = {site}; wait_(m, {number}, {FOR_ALL});"
    arguments = ", ".join(_operand(c, argument, inputs, outputs) for argument in call.arguments)
    up_call = f"{_up(c, call.row, site)}, {arguments})"
    if call.result is None:
        return f"(void){up_call};"
    at = outputs[call.result.name]
    if not isinstance(at.type, t.Arithmetic):
        raise NoForm("inline assembly with vectors in registers")
    answer = f"number_of({up_call})" if at.type.kind == "float" else f"whole_of({up_call})"
    held = c.temporary()
    value = (
        rounded(answer, at.type, wide=True) if at.type.kind == "float" else f"(({ctype(at.type)}){answer})"
    )
    stored = spread(c, at, lambda p, i: c.put(at.type, p, i, held, span))
    return f"{{ {ctype(at.type)} {held} = {value}; {stored}; }}"


def _operand(
    c: CWalker, argument: Argument, inputs: dict[str, tuple[str, t.Type]], outputs: dict[str, ir.Place]
) -> str:
    """Render an assembly operand for Python: memory as elements of the mnemonic's type, a register, a number or a word."""
    if isinstance(argument, str):
        return f"a_text({c.text(argument)})"
    if isinstance(argument, float):
        return f"a_float({argument.hex()}, -1)"  # hexadecimal is exact
    if isinstance(argument, int):
        return f"a_integer({argument}ll, -1)"
    if argument.name not in inputs:
        at = outputs[argument.name]
        if not isinstance(at.type, t.VectorRegister):
            raise NoForm("inline assembly that reads what it writes")
        return _register(register_place(c, at, at.span), at.type)
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


# Function pointers in C: their values, and calls through them.
#
# A function pointer is an address that no memory has. C dispatches a call to the functions of the same type
# whose address is taken in the program.


def pointer(c: CWalker, node: ir.FunctionAddress) -> str:
    """Render the address of a function."""
    return f"((Ptr){code_address(c.pointed[node.symbol])}ull)"


def invoked(c: CWalker, node: ir.Invoke) -> str:
    """Render a call through a pointer; as in Python, its target is checked first."""
    signature = ctype(node.type), *(ctype(a.type) for a in node.arguments)
    number = c.signatures.setdefault(signature, len(c.signatures))
    nodes = (node.function, *node.arguments)
    code = c.in_order(nodes, lambda *a: f"through_{number}({', '.join(('m', *a))}, {c.site(node.span)})")
    return register_kept(c, code, node.span) if isinstance(node.type, t.VectorRegister) else code


def pointer_heads(c: CWalker) -> Iterator[str]:
    """Render the prototypes of the functions that dispatch calls through pointers."""
    for signature, number in c.signatures.items():
        yield f"{_head(signature, number)};"


def _head(signature: Signature, number: int) -> str:
    result, *parameters = signature
    listed = "".join(f", {kind} a_{n}" for n, kind in enumerate(parameters))
    return f"static {result} through_{number}(Core *m, Ptr f{listed}, int site)"


def pointer_bodies(c: CWalker, forms: Mapping[str, ir.Function]) -> Iterator[str]:
    """Render the functions that dispatch calls through pointers, one per signature."""
    for signature, number in c.signatures.items():
        result, *parameters = signature
        passed = "".join(f", a_{n}" for n in range(len(parameters)))
        cases = []
        for symbol, place in c.pointed.items():
            if signature_of(forms.get(symbol)) == signature:
                done = (
                    f"k_{symbol}(m{passed}); return;"
                    if result == "void"
                    else f"return k_{symbol}(m{passed});"
                )
                cases.append(f"case {code_address(place)}ull: {done}")
        # The program leaves for Python here, so the function that the compiler sees next is never reached.
        lost = f"CALL_UP(m, {c.function('__no_code')}, site, a_pointer(f, -1)); __builtin_unreachable();"
        yield f"{_head(signature, number)} {{ switch (f) {{ {' '.join(cases)} default: break; }} {lost} }}"


def signature_of(form: ir.Function | None) -> Signature | None:
    """Return the C signature of a function, or None."""
    if form is None:
        return None
    try:
        return ctype(form.result), *(ctype(p.type) for p in form.parameters)
    except NoForm:
        return None


def called_functions(forms: Sequence[ir.Function], pointed: Sequence[str]) -> dict[str, set[str]]:
    """Return the functions that each function may call: by name, or through a pointer."""
    callees: dict[str, set[str]] = {}
    for form in forms:
        nodes = walk(form.body)
        named = {n.symbol for n in nodes if isinstance(n, ir.Call | ir.FunctionAddress)}
        named.update(*(n.targets.values() for n in nodes if isinstance(n, ir.Dispatch)))
        if any(isinstance(n, ir.Invoke) for n in nodes):
            named.update(pointed)
        callees[form.symbol] = named
    return callees


# Calls of rows on vector registers.

LOAD = "vv_load"
_WHOLE, _FORMS = "ALL_LANES_", {"m": "KEEPS_LANES_", "z": "CLEARS_LANES_"}
_COMPARING, _COUNTED = "vv_setp_", "_counted"


def register_call(c: CWalker, node: ir.IntrinsicCall, kinds: list[t.Type]) -> str:
    """Render a call of a row on registers."""
    number, site = NUMBERS[node.row], c.site(node.span)
    base, how = _how(node.row)
    register = kinds[0].to if isinstance(kinds[0], t.Pointer) else kinds[0]
    sources = kinds[1:] if how == _WHOLE else kinds[1:-1]
    if node.row.startswith(_COMPARING):  # use the compared registers, not the mask
        register = sources[0]
    assert isinstance(register, t.VectorRegister)
    dtype = register.dtype
    if dtype not in ISA[node.row].elements:
        raise NoForm(f"{ISA[node.row].spelling} of {register}")
    helper = f"{base}_{'mask' if dtype is boolean else suffix(register.of)}"
    if any(k != register and (not isinstance(k, t.Arithmetic) or dtype_of(k) is not dtype) for k in sources):
        raise NoForm(f"{ISA[node.row].spelling} of {', '.join(map(str, kinds))}")

    def render(to: str, *values: str) -> str:
        rooms = list(_rooms(c, values[: len(sources)], sources))
        # Each of the functions takes three sources and a mask.
        arguments = [f"register_(m, {to}, {site})", *(lanes for _, lanes in rooms)] + ["0"] * (3 - len(rooms))
        arguments += ["0" if how == _WHOLE else values[-1], how]
        return f"({{ {' '.join(r for r, _ in rooms)} {helper}(m, {number}, {site}, {_register_id(register)}, {', '.join(arguments)}); }})"

    return c.in_order(node.arguments, render)


def _how(row: str) -> tuple[str, str]:
    """Return the C function of a row, and its treatment of lanes outside the mask."""
    row = row.removesuffix(_COUNTED)
    if row == "vv_select":
        return row, "CHOOSES_LANES_"
    base, _, form = row.rpartition("_")
    return (base, _FORMS[form]) if form in _FORMS else (row, _WHOLE)


def _register_id(register: t.VectorRegister) -> int:
    return IDS.get(register.dtype, -1)  # a mask has no element type of memory


def _rooms(c: CWalker, values: tuple[str, ...], kinds: list[t.Type]) -> Iterator[tuple[str, str]]:
    """Yield a declaration and the bytes of each register of a call; a number is broadcast to a temporary register."""
    for value, kind in zip(values, kinds, strict=True):
        if isinstance(kind, t.VectorRegister):
            yield "", value
        else:
            room = c.temporary()
            yield f"uint8_t {room}[REGISTER_BYTES];", f"lanes_{suffix(kind)}({room}, {value})"  # type: ignore[arg-type]


def register_transfer(c: CWalker, node: ir.IntrinsicCall, kinds: list[t.Type]) -> str:
    """Render a load or a store of a register."""
    number, site = NUMBERS[node.row], c.site(node.span)
    return c.in_order(node.arguments, lambda *a: _moved(node.row, number, site, kinds, a))


def _moved(row: str, number: int, site: int, kinds: list[t.Type], values: tuple[str, ...]) -> str:
    base, how = _how(row)
    loads = base == LOAD
    memory, register = (kinds[1], kinds[0]) if loads else (kinds[0], kinds[1])
    if isinstance(register, t.Pointer):
        register = register.to
    assert isinstance(memory, t.Pointer)
    assert isinstance(register, t.VectorRegister)
    have, size = dtype_of(memory.to), register.of.size
    pointer_to = f"a_pointer({values[loads]}, {-1 if have is None else IDS[have]})"
    held = f"register_(m, {values[0]}, {site})" if loads else values[1]
    sides = [pointer_to, f"a_register({held}, {_register_id(register)})"]
    to, from_ = reversed(sides) if loads else sides
    common = f"m, {number}, {site}, {int(have is register.dtype)}, {size}, {to}, {from_}"
    counted = len(values) > (2 if how == _WHOLE else 3)
    sizes = f"{values[2] if counted else register.size // size}, {int(counted)}"
    if how != _WHOLE:
        return f"vv_masked_({common}, {sizes}, {values[-1]}, {how if loads else _WHOLE})"
    return f"{base}_({common}, {sizes})"


# Virtual calls, and dynamic casts.

BECOME = "__mlusim_become"


def become(c: CWalker, node: ir.LibraryCall) -> str:
    """Set an object's class while its base is constructed or destroyed, which selects its virtual methods."""
    this, names = node.arguments
    assert isinstance(names, ir.Text)
    return f"become_(m, {c.value(this)}, {class_number(c, tuple(names.value.split(chr(10))))})"


def dispatch(c: CWalker, node: ir.Dispatch) -> str:
    """Render a call of a virtual method."""
    place = c.dispatches.setdefault(id(node), (len(c.dispatches), node))[0]
    return c.in_order(
        node.arguments, lambda *a: f"virtual_{place}({', '.join(('m', *a))}, {c.site(node.span)})"
    )


def dynamic(c: CWalker, node: ir.DynamicCast) -> str:
    """Render ``dynamic_cast``: the pointer, or null if its object has another class."""
    place = c.casts.setdefault(node.name, len(c.casts))
    kind = _pointee(node.value)
    return f"dynamic_{place}(m, {c.value(node.value)}, {class_number(c, kind.names)}, {int(kind.derived)}, {c.site(node.span)})"


def _pointee(node: ir.Expr) -> t.Struct:
    kind = node.type.to if isinstance(node.type, t.Pointer) else node.type
    if not isinstance(kind, t.Struct):
        raise NoForm("a virtual call of what is not an object")
    return kind


def class_heads(c: CWalker) -> Iterator[str]:
    """Render the prototypes of the functions for virtual calls and dynamic casts."""
    for place, node in c.dispatches.values():
        yield f"{_class_head(place, node)};"
    for place in c.casts.values():
        yield f"static Ptr dynamic_{place}(Core *m, Ptr p, uint64_t own, int derived, int site);"


def _class_head(place: int, node: ir.Dispatch) -> str:
    listed = "".join(f", {ctype(a.type)} a_{n}" for n, a in enumerate(node.arguments))
    return f"static {ctype(node.type)} virtual_{place}(Core *m{listed}, int site)"


def class_bodies(c: CWalker) -> Iterator[str]:
    """Render the functions for virtual calls and dynamic casts."""
    for place, node in c.dispatches.values():
        yield _chosen(c, place, node)
    for name, place in c.casts.items():
        cases = "".join(f"case {n}: " for names, n in c.classes.items() if name in names)
        chosen = f"switch (class_(m, p, own, derived, site)) {{ {cases}return p; default: return 0; }}"
        yield (
            f"static Ptr dynamic_{place}(Core *m, Ptr p, uint64_t own, int derived, int site)"
            f" {{ if (!p) return 0; {chosen if cases else 'return 0;'} }}"
        )


def _chosen(c: CWalker, place: int, node: ir.Dispatch) -> str:
    kind, void = _pointee(node.arguments[0]), isinstance(node.type, t.Void)
    passed = "".join(f", a_{n}" for n in range(len(node.arguments)))
    cases = []
    for names, n in c.classes.items():
        symbol = node.targets.get(names[0])
        if symbol is not None:
            called = f"k_{symbol}(m{passed});"
            cases.append(f"case {n}: {called} return;" if void else f"case {n}: return {called}")
    # A pure virtual method, or an object that was never constructed: Python reports which.
    lost = f"CALL_UP(m, {c.function('__pure')}, site, a_text({c.text(node.name)})); __builtin_unreachable();"
    looked = f"class_(m, a_0, {class_number(c, kind.names)}, {int(kind.derived)}, site)"
    return (
        f"{_class_head(place, node)} {{ switch ({looked}) {{ {' '.join(cases)} default: break; }} {lost} }}"
    )


def called(c: CWalker, node: ir.Call) -> str:
    """Render a call of a function of the sources."""
    if c.checked and not isinstance(node.type, t.VectorRegister):
        return screening.with_call(c, node)
    code = c.in_order(node.arguments, lambda *a: f"k_{node.symbol}({', '.join(('m', *a))})")
    if not isinstance(node.type, t.Void):
        ctype(node.type)  # raises for a type without C form
    return register_kept(c, code, node.span) if isinstance(node.type, t.VectorRegister) else code


CALLS: Mapping[type, Callable[[CWalker, Any], str]] = {
    ir.Call: called,
    ir.FunctionAddress: pointer,
    ir.Invoke: invoked,
    ir.Dispatch: dispatch,
    ir.DynamicCast: dynamic,
    ir.IntrinsicCall: intrinsic,
    ir.LibraryCall: library,
    ir.Asm: assembly,
}
