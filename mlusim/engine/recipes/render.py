"""Writes the Python method of a recipe: straight-line code with all checks in one condition.

Each action yields lines of code. In the code, operand *n* of the row is the view ``vn`` and its elements
[``in``, ``jn``).
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import as_dtype
from mlusim.engine.arguments import (
    LEFT,
    Padded,
    count_code,
    open_signature,
    other_form,
    padded_count,
    present,
)
from mlusim.engine.contract import POLL_BYTES
from mlusim.engine.offsets import names_of
from mlusim.engine.recipes import actions, copy_rows as at
from mlusim.engine.refuse import (
    C_TYPES,
    MOST_READ_FIRST,
    asked_of_arguments,
    constant,
    count_of,
    in_code,
    overlap,
    refuse,
    refuse_body,
    typed,
)
from mlusim.engine.strides import strided
from mlusim.errors import RuleFault
from mlusim.formula.expr import ONE, Expr
from mlusim.isa.declare import CallStyle, Operand, Parameter, Passes, Refused
from mlusim.kernel_frames import caller
from mlusim.memory.pointer import KINDS, Ptr
from mlusim.time import copy_costs, quantities, work
from mlusim.time.work import VECTOR_BYTES as LINE

if TYPE_CHECKING:
    from mlusim.arch.board import Arch
    from mlusim.engine.recipes.recipe import Recipe

NO_DEFAULT = inspect.Parameter.empty
Lines = Iterator[str]

# The extra condition, on elements of one view, under which an overlap is a fault.
SAME_VIEW: Mapping[str, str] = {
    "exact": "i{0} != i{1} and ",
    "early": f"i{{0}} < i{{1}} and (j{{1}} - i{{1}}) * v{{1}}.itemsize > {MOST_READ_FIRST} and ",
    "whole": "(i{0} != i{1} or j{0} != j{1}) and ",
    "piece": "(i{1} < i{0} or j{0} < j{1} or (i{1} - i{0}) % (j{1} - i{1})) and ",
}


class Writer:
    """Writes the method of one recipe."""

    def __init__(self, recipe: "Recipe") -> None:
        self.recipe = recipe
        self.row = recipe.row
        self.number = recipe.number
        self.arch = recipe.policy.arch
        self.operands = tuple(self.row.operands.values())
        self.at: Mapping[str, int] = {o.name: n for n, o in enumerate(self.operands)}
        self.kinds = {p.name: p.kind for p in self.row.parameters}

    def names(self) -> dict[str, Any]:
        """Return the names that the generated code refers to, with their values."""
        names: dict[str, Any] = {
            "row": self.row,
            "body": self.row.body,
            "refuse": refuse,
            "strided": strided,
            "refuse_body": refuse_body,
            "count_of": count_of,
            "padded_count": padded_count,
            "Padded": Padded,
            "constant": constant,
            "overlap": overlap,
            "typed": typed,
            "C_TYPES": C_TYPES,
            "Ptr": Ptr,
            "Refused": Refused,
            "RuleFault": RuleFault,
            "charge_line": work.charge_line,
            "crowded": work.crowded,
            "macs": work.macs(self.arch),
            "IO": Pipe.IO,
            "MOVE": Pipe.MOVE,
            "VECTOR": Pipe.VECTOR,
            "LEFT": LEFT,
            "present": present,
            "caller": caller,
        }
        for p in self.row.given:
            if p.default is not NO_DEFAULT:
                names[f"default_{p.name}"] = p.default
        for o in self.operands:
            types = o.dtypes_on(self.arch.generation)
            names[f"kinds_{o.name}"] = frozenset(KINDS[s, d] for s in o.spaces for d in types)
        for dtype in set(self.row.void.values()) - set(self.kinds):
            names[f"void_{dtype}"] = as_dtype(dtype)
        return names

    def lines(self) -> Lines:
        """Yield the method, line by line."""
        refused = actions.Refuse() in self.recipe.actions
        yield f"def {self.row.name}({'mlu, *_, **__' if refused else self._signature()}):"
        for action in self.recipe.actions:
            for line in RENDERED[type(action)](self, action):
                yield "    " + line

    def _signature(self) -> str:
        star = {"rest": "*"}
        default = {p.name: "" if p.default is NO_DEFAULT else f"=default_{p.name}" for p in self.row.given}
        if self.row.overload is not None:
            return open_signature(self.row)
        if any(isinstance(action, actions.AtOffsets) and not action.whole for action in self.recipe.actions):
            return "mlu, *given, **named"
        return ", ".join(("mlu", *(star.get(p.kind, "") + p.name + default[p.name] for p in self.row.given)))

    @property
    def arguments(self) -> str:
        """The code of a dictionary of all arguments by name."""
        return "{" + ", ".join(f"{p.name!r}: {p.name}" for p in self.row.given) + "}"

    @property
    def refused(self) -> str:
        """The statement that runs if a check fails."""
        return f"raise refuse(mlu, row, {self.arguments})"

    def expression(self, o: Operand, formula: Expr) -> str:
        """Render an extent, a step or a cost of the row in the names of the generated code."""
        width = f"v{self.at[o.name]}.itemsize"
        return in_code(formula, {"sizeof_T": width, "generation": str(self.arch.generation)})

    def part(self, o: Operand) -> str:
        """Render the elements of *o* that the row uses, as an array."""
        n = self.at[o.name]
        step = "" if o.step == ONE else f":{self.expression(o, o.step)}"
        return f"v{n}.array[i{n}:j{n}{step}]"


# -- resolving operands ------------------------------------------------------------------------------


def _type_of(_: Writer, action: actions.TypeOf) -> Lines:
    how = action.name
    yield f"type_of_{how} = C_TYPES.get({how}.__class__)"
    yield f"if type_of_{how} is None: {how}, type_of_{how} = typed(mlu, row, {how!r}, {how})"


def _retype(writer: Writer, action: actions.Retype) -> Lines:
    name, how = action.name, writer.row.void[action.name]
    dtype = f"type_of_{how}" if isinstance(action.dtype, str) else f"void_{how}"
    yield f"if {name}.__class__ is Ptr and {name}.view.dtype is not {dtype}: {name} = {name}.cast({dtype})"


def _strided(writer: Writer, action: actions.Strided) -> Lines:
    taken = f"return strided(mlu, row, {writer.number}, {writer.arguments})"
    condition = " or ".join(f"{name} is not None" for name in action.strides)
    yield f"if {condition}: {taken}" if condition else taken


def _resolve(writer: Writer, action: actions.Resolve) -> Lines:
    if writer.operands:
        yield "core = mlu.core"
    if action.operands:
        yield "try:"
        for o in action.operands:
            yield f"    {_resolved(writer, o)}"
        # A value without a view is not a pointer; a value with a view needs no further test.
        yield "except (AttributeError, TypeError):"
        yield f"    {writer.refused} from None"


def _resolved(writer: Writer, o: Operand) -> str:
    n = writer.at[o.name]
    extent = writer.expression(o, o.extent)
    stop = f"i{n} + {extent if extent.isidentifier() else f'({extent})'}"
    if o.partial:
        stop = f"min({stop}, v{n}.size)"
    return f"v{n} = {o.name}.view; i{n} = {o.name}.index; j{n} = {stop}"


# -- checks --------------------------------------------------------------------------------------------


def _condition(writer: Writer, condition: actions.Condition) -> str:
    """Render the condition under which *condition* fails."""
    if isinstance(condition, actions.Holds):
        return f"({asked_of_arguments(condition.rule.fails)})"
    o = condition.operand
    n = writer.at[o.name]
    match condition:
        case actions.OfKind():
            return _kind(writer, condition, n)
        case actions.Filled():
            return f"j{n} <= i{n}"
        case actions.Inside():
            return f"i{n} < 0 or j{n} > v{n}.size"
        case actions.Writable():
            return f"not v{n}.allocation.writable"
        case actions.Aligned():
            return f"({o.name}.address % 64 or (j{n} - i{n}) * v{n}.itemsize % 128)"


def _kind(writer: Writer, kind: actions.OfKind, n: int) -> str:
    o, first = kind.operand, kind.like
    if first is None:
        return f"v{n}.kind not in kinds_{o.name} or v{n}.port is not core"
    lead = writer.at[first.name]
    if len(o.spaces) == 1 and (o.spaces, o.dtypes, o.dtypes_2xx) == (
        first.spaces,
        first.dtypes,
        first.dtypes_2xx,
    ):
        # Most operands lie in one buffer, so one test covers their memory and their owner.
        return f"v{n} is not v{lead} and (v{n}.kind is not v{lead}.kind or v{n}.port is not core)"
    return f"v{n}.dtype is not v{lead}.dtype or v{n}.kind not in kinds_{o.name} or v{n}.port is not core"


def _check(writer: Writer, action: actions.CheckAll) -> Lines:
    if action.conditions:
        yield f"if {' or '.join(_condition(writer, c) for c in action.conditions)}:"
        yield f"    {writer.refused}"


def _apart(writer: Writer, action: actions.Apart) -> Lines:
    n, t, how = writer.at[action.source.name], writer.at[action.target.name], action.how
    same = SAME_VIEW.get(how, "").format(n, t)
    yield f"if v{n} is v{t}:"
    yield f"    if {same}i{n} < j{t} and i{t} < j{n}: {writer.refused}"
    met = f"overlap(v{t}, i{t}, j{t}, v{n}, i{n}, j{n}, {how!r})"
    yield f"elif v{n}.raw is v{t}.raw and {met}: {writer.refused}"


def _either(writer: Writer, action: actions.Either) -> Lines:
    o, lead = action.operand, writer.at[action.like.name]
    n = writer.at[o.name]
    yield f"if {o.name}.__class__ is Ptr:"
    yield f"    {_resolved(writer, o)}"
    for line in _check(writer, action.check):
        yield f"    {line}"
    for apart in action.apart:
        for line in _apart(writer, apart):
            yield f"    {line}"
    yield f"    a{n} = v{n}.array[i{n}:j{n}]"
    yield "else:"
    yield f"    v{n} = None; i{n} = j{n} = 0"
    yield f"    a{n} = constant(mlu, row, {o.name!r}, v{lead}, {o.name})"


def _constants(writer: Writer, action: actions.Constants) -> Lines:
    lead = writer.at[action.like.name]
    for name in action.names:
        slow = f"constant(mlu, row, {name!r}, v{lead}, {name})"
        # A view has a buffer for one scalar; a second scalar is rare and is converted by a call.
        if name != action.names[0]:
            yield f"c_{name} = {slow}"
        else:
            yield f"cell = v{lead}.cell"
            fits = f"{name}.__class__ in v{lead}.accepts and v{lead}.low <= {name} <= v{lead}.high"
            yield f"cell[()] = {name} if {fits} else {slow}"
            yield f"c_{name} = cell"


# -- charges: before the effect, since the code behind a vector's stores may stall on the host ---------


def _amount(writer: Writer, amount: actions.ChargedElements) -> tuple[str, int]:
    """Return the code for a number of elements, and the index of the operand that has them."""
    n = writer.at[amount.operand.name]
    if amount.whole:
        return f"(j{n} - i{n})", n
    return f"({writer.expression(amount.operand, amount.extent)})", n


def _vector(writer: Writer, action: actions.ChargeVector) -> Lines:
    (count, _), number = _amount(writer, action.amount), writer.number
    width = _width(writer, action.width)
    # A line is a power of two, so a shift and a mask suffice in this code that every vector instruction runs.
    yield f"used = {count} * {width}; paid = used + {LINE - 1} >> {LINE.bit_length() - 1}"
    yield _passes(action.passes, count)
    yield f"mlu.lines[{number}] += paid"
    yield f"if used & {LINE - 1}: mlu.spare[{number}] += -used & {LINE - 1}"
    extent = writer.expression(action.amount.operand, action.amount.extent)
    before = f"{_before_padding(action.counts, extent)} * {width}"
    # Padding lanes are charged but compute nothing.
    yield f"if unpadded is not None: mlu.spare[{number}] += used - {before}"


def _before_padding(counts: Sequence["Parameter"], extent: str) -> str:
    """Return the code that computes *extent* from the unpadded values of *counts*, which are in the variable ``unpadded``."""
    names = [p.name for p in counts]
    if [extent] == names:
        return "unpadded"
    values = "unpadded" if len(names) == 1 else ", ".join(f"unpadded.get({n!r}, {n})" for n in names)
    return f"(lambda {', '.join(names)}: {extent})({values})"


def _passes(passes: Passes, count: str) -> str:
    """Render the line that charges an instruction of *count* elements, whose number of lines is in ``paid``."""
    if passes is Passes.TRANSPOSE:
        return f"mlu.work[{quantities.VECTOR}] += {copy_costs.START}; mlu.work[{quantities.TRANSPOSED}] += {count}; mlu.work[{quantities.TRANSPOSITIONS}] += 1"
    lines = f"mlu.work[{quantities.VECTOR}] += paid + {copy_costs.START}"
    place = work.SEVERAL.get(passes.name)
    return lines if place is None else f"{lines}; mlu.work[{place}] += paid"


def _width(writer: Writer, width: actions.Width) -> str:
    n = writer.at[width.lead.name]
    size = f"v{n}.itemsize"
    if width.beside:
        beside = ", ".join(f"v{writer.at[o.name]}.itemsize" for o in width.beside)
        size = f"max({size}, {beside})"
        return size if width.least == 1 else f"max({size}, {width.least})"
    # The view has the width of its lanes ready, so that no comparison is needed here.
    return size if width.least == 1 else f"v{n}.lane"


def _tensor(writer: Writer, action: actions.ChargeTensor) -> Lines:
    count, n = _amount(writer, action.amount)
    yield f"products = {count}"
    yield f"mlu.work[{quantities.TENSOR}] += products"
    yield f"mlu.work[{quantities.TENSOR_CYCLES}] += -(-products // macs[v{n}.dtype]) + {work.TENSOR_SETUP}"


def _transfer(writer: Writer, action: actions.ChargeTransfer) -> Lines:
    count, n = _amount(writer, action.amount)
    yield f"nbytes = {count} * v{n}.itemsize; start = v{n}.phase + i{n} * v{n}.itemsize"
    yield f"charge_line(mlu.work, {action.pipe.name}, {action.direction.value}, start, start, nbytes)"
    if action.atomic and action.pipe is Pipe.IO:
        yield f"mlu.work[{quantities.ATOMICS}] += {count}"
        yield f"mlu.work[{quantities.CROWDED}] += crowded(nbytes, v{n}.allocation.nbytes)"


# -- effects -------------------------------------------------------------------------------------------


def _announce(writer: Writer, action: actions.Announce) -> Lines:
    at = (writer.at[o.name] for o in action.operands)
    operands = "".join(f"v{n}, i{n}, j{n}, " for n in at)
    arguments = "".join(f"{name}, " for name in action.arguments)
    yield f"seen = None if mlu.watch is None else mlu.watch.row(row, caller(1), ({operands}), ({arguments}))"


def _whole(writer: Writer, o: Operand) -> str:
    n = writer.at[o.name]
    return f"v{n}.array[i{n}:j{n}]"


def _access(_: Writer, action: actions.AccessScalar) -> Lines:
    if action.stored is None:
        yield "mlu.core.scalar_load(v0, i0)"
    else:
        yield f"mlu.core.scalar_store(v0, i0, c_{action.stored}[()])"


def _body(writer: Writer, action: actions.CallBody) -> Lines:
    arguments = [_given(writer, p) for p in action.arguments]
    if action.call is not CallStyle.BODY:
        dst, *sources = [g for g, p in zip(arguments, action.arguments, strict=True) if p.kind != "count"]
        called = ", ".join(sources)
        yield {
            CallStyle.INTO: f"body({called}, {dst})",
            CallStyle.ASSIGN: f"{dst} = body({called})",
        }[action.call]
        return
    yield "try:"
    yield f"    {'result = ' * action.result}body({', '.join(arguments)})"
    yield "except Refused as refused:"
    yield f"    raise refuse_body(mlu, row, refused, {writer.arguments}) from None"


def _given(writer: Writer, p: Parameter) -> str:
    if p.kind == "generation":
        return str(writer.arch.generation)
    if p.name in writer.at:
        n = writer.at[p.name]
        return f"a{n}" if p.kind == "either" else writer.part(writer.row.operands[p.name])
    before = {"value": "c_", "rest": "*", "method": "mlu.core.", "memory core": "mlu.core.place."}
    return before.get(p.kind, "") + p.name


def _at_offsets(writer: Writer, action: actions.AtOffsets) -> Lines:
    names = ", ".join(map(repr, names_of(writer.row)))
    arguments = writer.arguments if action.whole else f"arguments_of(mlu, row, {names}, given, named)"
    yield f"{action.function}(mlu, row, {writer.number}, {arguments})"


RENDERED: Mapping[type, Callable[[Writer, Any], Iterable[str]]] = {
    actions.Refuse: lambda _writer, _step: ["raise unsupported(mlu, row)"],
    actions.PassOn: lambda writer, _step: other_form(writer.row, writer.arguments),
    actions.Integers: lambda _writer, action: count_code(list(action.counts), vector=action.padded),
    actions.TypeOf: _type_of,
    actions.Retype: _retype,
    actions.Strided: _strided,
    actions.Resolve: _resolve,
    actions.CheckAll: _check,
    actions.Either: _either,
    actions.Apart: _apart,
    actions.Constants: _constants,
    actions.Settle: lambda _writer, action: [f"if mlu.core.pending: mlu.core.settle({action.pipe.name})"],
    actions.Announce: _announce,
    actions.KeepBefore: lambda writer, action: [f"before = {_whole(writer, action.operand)}.tobytes()"],
    actions.AccessScalar: _access,
    actions.CallBody: _body,
    actions.Retire: lambda _writer, action: [
        f"if seen is not None: {'seen.result = result; ' * action.result}mlu.watch.retire(seen)"
    ],
    actions.Spin: lambda writer, action: [
        f"mlu.core.atomic_step(before == {_whole(writer, action.operand)}.tobytes())"
    ],
    actions.ReturnResult: lambda _writer, _step: ["return result"],
    actions.Count: lambda writer, _step: [f"mlu.counts[{writer.number}] += 1"],
    actions.ChargeScalar: lambda _writer, _step: [f"mlu.work[{quantities.SCALAR}] += 1"],
    actions.ChargeRegisters: lambda writer, action: [
        f"mlu.work[{quantities.VECTOR}] += {action.lines + copy_costs.START}",
        f"mlu.lines[{writer.number}] += {action.lines}",
    ],
    actions.ChargeVector: _vector,
    actions.ChargeTensor: _tensor,
    actions.ChargeTransfer: _transfer,
    actions.AtOffsets: _at_offsets,
    at.Copy: lambda writer, action: copy_lines(writer.arch, writer.number, action),
}


# -- copies: for each form one condition that joins all checks, then the effect ------------------------

# In the code ``to`` and ``frm`` are the views of both sides, ``d`` and ``s`` the offsets of their first
# bytes.
STRIDES = ", ".join(at.STRIDES)
_EXPLAINED = (
    "size = explain_copy(mlu, row, dst, src, size, direction, (), asynchronous=False)",
    "return memcpy(mlu, dst, src, size, direction)",  # only the type of the size was at fault
)
_VIEWS = {"dst": ("to", "d"), "src": ("frm", "s")}


def copy_lines(arch: "Arch", number: int, copy: at.Copy) -> Lines:
    """Yield the body of the method of a copy, row *number* of the table, on *arch*."""
    taken = f"strided_copy(mlu, row, {number}, (dst, src, size, direction, shape), asynchronous={copy.asynchronous})"
    for form in copy.forms:
        if form.shaped:
            yield "if shape:"
            yield f"    if len(shape) != {len(at.STRIDES)}: return {taken}"
            yield f"    {STRIDES} = shape"
            yield from (f"    {line}" for line in _form(arch, number, form, (f"return {taken}",)))
            yield "    return"
        elif form.shaped is False:
            yield from _form(arch, number, form, _EXPLAINED)
        else:  # compiled code renders this form; Python uses the general copy
            yield taken
            yield "remember_flight(mlu.core, dst, src, size, shape)"


def _form(arch: "Arch", number: int, form: at.CopyForm, otherwise: tuple[str, ...]) -> Lines:
    rows = bool(form.shaped)
    yield "try:"
    yield "    core, to, frm = mlu.core, dst.view, src.view"
    yield "    d = to.phase + dst.index * to.itemsize"
    yield "    s = frm.phase + src.index * frm.itemsize"
    yield f"    pipe = mlu.directions.{form.lanes}[direction]"
    held = [text for condition in form.conditions for text in _held(arch, condition, rows=rows)]
    yield "    legal = ("
    yield from (f"        {'and ' * bool(n)}{text}" for n, text in enumerate(held))
    yield "    )"
    yield "except (AttributeError, KeyError, TypeError):"
    yield "    legal = False"
    yield "if not legal:"
    yield from (f"    {line}" for line in otherwise)
    for action in form.actions:
        yield from DONE[type(action)](number, rows)


def _held(arch: "Arch", condition: at.CopyCondition, *, rows: bool) -> Iterator[str]:
    match condition:
        case at.Unobserved():
            yield "mlu.watch is None"
        case at.PlainIntegers(names):
            yield f"{'.__class__ is '.join(names)}.__class__ is int"
        case at.HasBytes():
            yield "size > 0"
        case at.Segments():
            yield f"size <= dst_stride and 0 <= segnum <= {at.MOST_SEGMENTS} and src_stride >= 0"
        case at.TargetWritable():
            yield "to.allocation.writable"
        case at.SidesApart(in_front):
            reach = "segnum * max(dst_stride, src_stride) + size" if rows else "size"
            apart = f"d <= s or d - s >= {reach}" if in_front else f"abs(d - s) >= {reach}"
            yield f"(to.allocation is not frm.allocation or {apart})"
        case at.Grained():
            asked = f"misaligned({arch.generation}, direction, d, s, size)"
            on_2xx = f"not {asked}"  # on other generations only WRAM has alignment rules
            yield on_2xx if arch.generation == 2 else f"(to.space is not WRAM is not frm.space or {on_2xx})"
        case _:
            yield _end(condition, rows=rows)


def _end(condition: at.OfThisCore | at.Within | at.Directed, *, rows: bool) -> str:
    """Render the condition on one side of the copy."""
    view, first = _VIEWS[condition.side]
    match condition:
        case at.OfThisCore():
            return f"{view}.port is core"
        case at.Within(side):
            spread = f"segnum * {side}_stride + " * rows
            return f"{first} >= 0 and {first} + {spread}size <= {view}.nbytes"
        case at.Directed(side):
            return f"{view}.space is direction.{side}"


def _traffic(_: int, rows: bool) -> Lines:
    nbytes = "size"
    if rows:
        nbytes = "nbytes"
        yield "nbytes = size * (segnum + 1)"
    yield f"mlu.traffic[direction.value] += {nbytes}"
    yield f"frm.read += {nbytes}"


def _move_rows(_: int, __: bool) -> Lines:
    # The most frequent cases are plain slices of arrays: one segment, whose stride has no effect, or segments
    # of one element.
    yield "step, skip = dst_stride // size, src_stride // size"
    yield "if segnum == 0: to.raw[d : d + size] = frm.raw[s : s + size]"
    yield "elif to.dtype is frm.dtype and size == to.itemsize and skip and step * size == dst_stride and skip * size == src_stride:"
    yield "    i, j = dst.index, src.index"
    yield "    to.array[i : i + segnum * step + 1 : step] = frm.array[j : j + segnum * skip + 1 : skip]"
    yield "else: move_rows(to, frm, d, s, size, dst_stride, src_stride, segnum + 1)"


DONE: Mapping[type, Callable[[int, bool], Iterable[str]]] = {
    at.SettlePipe: lambda _number, _rows: ["if core.pending: core.settle(pipe)"],
    at.MoveBytes: lambda _number, _rows: [
        "if mlu.watch is None: to.raw[d : d + size] = frm.raw[s : s + size]",
        "else: observed_copy(mlu.watch, row, pipe, (dst, src, size, direction), d, s)",
    ],
    at.MoveRows: _move_rows,
    at.ChargeLine: lambda _number, _rows: ["charge_line(mlu.work, pipe, direction.value, d, s, size)"],
    at.ChargeRows: lambda _number, _rows: [
        (
            "charge(mlu.work, pipe, rows_load(pipe, direction.value, d & 63, dst_stride, s & 63, src_stride, "
            "size, segnum + 1), nbytes)"
        )
    ],
    at.Traffic: _traffic,
    at.Remember: lambda _number, _rows: [
        f"if size > {POLL_BYTES} and (frm.allocation is not core.source or s != core.source_at):",
        "    core.source, core.source_at = frm.allocation, s",
        f"else: look(core, to, frm, s, size, small=size <= {POLL_BYTES})",
    ],
    actions.Count: lambda number, _rows: [f"mlu.counts[{number}] += 1"],
}
