"""Writes the method of one row for one architecture: straight-line code, every check in one condition.

The pieces come in the order of `METHOD`; each yields lines.  In the code, operand *n* of the row is
the view ``vn`` and its elements ``in`` to ``jn``.
"""

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import as_dtype
from mlusim.arch.pipe import Pipe
from mlusim.engine.environment import asked_of_arguments, in_code
from mlusim.engine.overload import LEFT, open_signature, other_form, present
from mlusim.engine.padding import Padded, before_padding, count_code, padded_count
from mlusim.engine.passes import tensor_work, vector_work
from mlusim.engine.refuse import C_TYPES, constant, count_of, overlap, refuse, refuse_body, typed
from mlusim.engine.strides import strided
from mlusim.errors import RuleFault
from mlusim.formula.expr import Expr
from mlusim.formula.rows import ONE
from mlusim.isa.declare import CallStyle, Intrinsic, Operand, Refused
from mlusim.isa.parameters import Parameter
from mlusim.isa.register import BYTES as REGISTER
from mlusim.memory.direction import GDRAM2GDRAM, NRAM2GDRAM, SRAM2SRAM
from mlusim.memory.pointer import KINDS, Ptr
from mlusim.time import work
from mlusim.time.work import VECTOR_BYTES as LINE

NO_DEFAULT = inspect.Parameter.empty

# Scalar loads and stores are accounted and announced by the core, as those through a pointer are.
SCALAR_ACCESS: Mapping[str, str] = {
    "load": "mlu.core.scalar_load(v0, i0)",
    "store": "mlu.core.scalar_store(v0, i0, c_value[()])",
}

# What must hold besides, of elements of one view, for an overlap to be a fault.
SAME_VIEW: Mapping[str, str] = {"exact": "i{0} != i{1} and ", "whole": "(i{0} != i{1} or j{0} != j{1}) and "}


class Writer:
    """Writes the method of one row for one architecture."""

    def __init__(self, row: Intrinsic, number: int, arch: Arch) -> None:
        self.row = row
        self.number = number
        self.arch = arch
        self.operands = tuple(row.operands.values())
        self.at = {o.name: n for n, o in enumerate(self.operands)}
        self.kinds = {p.name: p.kind for p in row.parameters}

    def names(self) -> dict[str, Any]:
        """What the generated code refers to."""
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
            "macs": work.macs(self.arch),
            "IO": Pipe.IO,
            "MOVE": Pipe.MOVE,
            "LEFT": LEFT,
            "present": present,
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

    def lines(self) -> Iterator[str]:
        """The method, line by line."""
        yield f"def {self.row.name}({self._signature()}):"
        for piece in METHOD:
            for line in piece(self):
                yield "    " + line

    def _signature(self) -> str:
        star = {"rest": "*"}
        default = {p.name: "" if p.default is NO_DEFAULT else f"=default_{p.name}" for p in self.row.given}
        if self.row.overload is not None:
            return open_signature(self.row)
        return ", ".join(("mlu", *(star.get(p.kind, "") + p.name + default[p.name] for p in self.row.given)))

    def _arguments(self) -> str:
        return "{" + ", ".join(f"{p.name!r}: {p.name}" for p in self.row.given) + "}"

    @property
    def _refuse(self) -> str:
        return f"raise refuse(mlu, row, {self._arguments()})"

    # -- what is asked -------------------------------------------------------------------------

    def other_form(self) -> Iterator[str]:
        """Leave a call with the operand of the longer form to its row; that operand stands before the counts."""
        if self.row.overload is not None:
            yield from other_form(self.row, self._arguments())

    def counts(self) -> Iterator[str]:
        """Make the counts Python integers; of those of vector instructions know what they were before padding."""
        yield from count_code(self._counts, vector=self.row.pipe is Pipe.VECTOR)

    @property
    def _counts(self) -> list[Parameter]:
        return [p for p in self.row.given if p.kind == "count"]

    def untyped(self) -> Iterator[str]:
        """See untyped pointers through the type of a value, or through a fixed one."""
        for how in dict.fromkeys(self.row.void.values()):
            if how in self.kinds:
                yield f"type_of_{how} = C_TYPES.get({how}.__class__)"
                yield f"if type_of_{how} is None: {how}, type_of_{how} = typed(mlu, row, {how!r}, {how})"
        for name, how in self.row.void.items():
            dtype = f"type_of_{how}" if how in self.kinds else f"void_{how}"
            yield f"if {name}.__class__ is Ptr and {name}.view.dtype is not {dtype}: {name} = {name}.cast({dtype})"

    def _expression(self, o: Operand, formula: Expr) -> str:
        """An extent, a step or a cost of the row, in terms of the generated code."""
        width = f"v{self.at[o.name]}.itemsize"
        return in_code(formula, {"sizeof_T": width, "generation": str(self.arch.generation)})

    def _resolve(self, o: Operand) -> Iterator[str]:
        n = self.at[o.name]
        extent = self._expression(o, o.extent)
        stop = f"i{n} + {extent if extent.isidentifier() else f'({extent})'}"
        if o.partial:
            stop = f"min({stop}, v{n}.size)"
        yield f"v{n} = {o.name}.view; i{n} = {o.name}.index; j{n} = {stop}"

    def elsewhere(self) -> Iterator[str]:
        """Leave the strided form of the row to `engine.strides`."""
        strides = {name for o in self.operands for name in o.stride_names}
        given = [f"{p.name} is not None" for p in self.row.given if p.name in strides]
        if self.row.form in ("async", "strided"):
            yield f"return strided(mlu, row, {self.number}, {self._arguments()})"
        elif given:
            yield f"if {' or '.join(given)}: return strided(mlu, row, {self.number}, {self._arguments()})"

    def views(self) -> Iterator[str]:
        """Resolve pointers to views and elements."""
        if self.operands:
            yield "core = mlu.core"
        plain = [o for o in self.operands if self.kinds[o.name] != "either"]
        if plain:
            yield "try:"
            for o in plain:
                for line in self._resolve(o):
                    yield "    " + line
            yield "except (AttributeError, TypeError):"
            yield f"    {self._refuse} from None"

    # -- what is checked -----------------------------------------------------------------------

    def _conditions(self, o: Operand) -> Iterator[str]:
        n = self.at[o.name]
        lead = self.at[self.row.same[0]] if o.name in self.row.same else n
        first = self.operands[lead]
        alike = (o.spaces, o.dtypes, o.dtypes_2xx) == (first.spaces, first.dtypes, first.dtypes_2xx)
        if lead == n:
            yield f"v{n}.kind not in kinds_{o.name} or v{n}.port is not core"
        elif alike and len(o.spaces) == 1:
            # Most operands lie in one buffer, so that one test answers for its kind and its owner.
            yield f"v{n} is not v{lead} and (v{n}.kind is not v{lead}.kind or v{n}.port is not core)"
        else:
            yield f"v{n}.dtype is not v{lead}.dtype or v{n}.kind not in kinds_{o.name} or v{n}.port is not core"
        if lead == n or o.extent != first.extent:
            yield f"j{n} <= i{n}"
        yield f"i{n} < 0 or j{n} > v{n}.size"
        if o.access != "read" and any(s.name == "GDRAM" for s in o.spaces):
            yield f"not v{n}.allocation.writable"
        if self.arch.generation == 2 and o.name in self.row.aligned:
            yield f"({o.name}.address % 64 or (j{n} - i{n}) * v{n}.itemsize % 128)"

    def checks(self) -> Iterator[str]:
        """Check kinds, bounds and rules."""
        conditions = [c for o in self.operands if self.kinds[o.name] != "either" for c in self._conditions(o)]
        rules = [
            f"({asked_of_arguments(r.fails)})"
            for r in self.row.rules
            if not r.generations or self.arch.generation in r.generations
        ]
        if conditions or rules:
            yield f"if {' or '.join(conditions + rules)}:"
            yield f"    {self._refuse}"
        for o in self.operands:
            if self.kinds[o.name] == "either":
                yield from self._either(o)

    def _either(self, o: Operand) -> Iterator[str]:
        n = self.at[o.name]
        yield f"if {o.name}.__class__ is Ptr:"
        for line in self._resolve(o):
            yield "    " + line
        yield f"    if {' or '.join(self._conditions(o))}:"
        yield f"        {self._refuse}"
        for line in self._overlap_with_targets(o):
            yield "    " + line
        yield f"    a{n} = v{n}.array[i{n}:j{n}]"
        yield "else:"
        yield f"    v{n} = None; i{n} = j{n} = 0"
        yield f"    a{n} = constant(mlu, row, {o.name!r}, v{self.at[self._lead()]}, {o.name})"

    def _lead(self) -> str:
        """The operand whose dtype scalars take."""
        return self.row.same[0] if self.row.same else self.operands[0].name

    def overlaps(self) -> Iterator[str]:
        """Refuse destinations that overlap a source as the row does not allow."""
        for o in self.operands:
            if self.kinds[o.name] != "either":
                yield from self._overlap_with_targets(o)

    def _overlap_with_targets(self, o: Operand) -> Iterator[str]:
        how = self.row.overlap.get(o.name, "free")
        if how == "free":
            return
        n = self.at[o.name]
        for target in self.operands:
            if target.access == "read" or not set(target.spaces) & set(o.spaces):
                continue
            t = self.at[target.name]
            same = SAME_VIEW.get(how, "").format(n, t)
            yield f"if v{n} is v{t}:"
            yield f"    if {same}i{n} < j{t} and i{t} < j{n}: {self._refuse}"
            yield f"elif v{n}.raw is v{t}.raw and overlap(v{t}, i{t}, j{t}, v{n}, i{n}, j{n}, {how!r}): {self._refuse}"

    def values(self) -> Iterator[str]:
        """Make scalar operands elements, as C does."""
        lead = self.at[self._lead()] if self.operands else 0
        scalars = [p for p in self.row.given if p.kind == "value" and p.name not in self.row.void.values()]
        for p in scalars:
            slow = f"constant(mlu, row, {p.name!r}, v{lead}, {p.name})"
            if p is not scalars[0]:
                yield f"c_{p.name} = {slow}"
            else:
                yield f"cell = v{lead}.cell"
                fits = f"{p.name}.__class__ in v{lead}.accepts and v{lead}.low <= {p.name} <= v{lead}.high"
                yield f"cell[()] = {p.name} if {fits} else {slow}"
                yield f"c_{p.name} = cell"

    # -- what is done --------------------------------------------------------------------------

    def announce(self) -> Iterator[str]:
        """Tell the observers what will be read and written."""
        if not self.operands or self.row.form in SCALAR_ACCESS:
            return
        if self.row.pipe in (Pipe.IO, Pipe.MOVE):
            yield f"if mlu.core.pending: mlu.core.settle({self.row.pipe.name})"
        operands = "".join(f"v{n}, i{n}, j{n}, " for n in range(len(self.operands)))
        arguments = "".join(f"{p.name}, " for p in self.row.given)
        yield f"seen = None if mlu.watch is None else mlu.watch.row(row, ({operands}), ({arguments}))"

    def _given(self, p: Parameter) -> str:
        if p.kind == "generation":
            return str(self.arch.generation)
        if p.name in self.at:
            n = self.at[p.name]
            return f"a{n}" if p.kind == "either" else self._array(self.row.operands[p.name])
        return {"value": "c_", "rest": "*"}.get(p.kind, "") + p.name

    def _array(self, o: Operand) -> str:
        n = self.at[o.name]
        step = "" if o.step == ONE else f":{self._expression(o, o.step)}"
        return f"v{n}.array[i{n}:j{n}{step}]"

    def perform(self) -> Iterator[str]:
        """Call the body."""
        row = self.row
        if row.polls and row.atomic:
            yield f"before = {self._target()}.tobytes()"
        given = [self._given(p) for p in row.parameters]
        if row.call is not CallStyle.BODY:
            dst, *sources = [g for g, p in zip(given, row.parameters, strict=True) if p.kind != "count"]
            called = ", ".join(sources)
            yield {
                CallStyle.INTO: f"body({called}, {dst})",
                CallStyle.NAMED: f"body({called}, out={dst})",
                CallStyle.ASSIGN: f"{dst} = body({called})",
            }[row.call]
            return
        if row.form in SCALAR_ACCESS:
            yield SCALAR_ACCESS[row.form]
        result = "" if row.returns == "None" else "result = "
        yield "try:"
        yield f"    {result}body({', '.join(['mlu.core'] * row.control + given)})"
        yield "except Refused as refused:"
        yield f"    raise refuse_body(mlu, row, refused, {self._arguments()}) from None"

    def _target(self) -> str:
        n = next(self.at[o.name] for o in self.operands if o.access == "update")
        return f"v{n}.array[i{n}:j{n}]"

    def account(self) -> Iterator[str]:
        """Count the instruction and its work; before it is done, since what follows a vector's stores may stall."""
        yield f"mlu.counts[{self.number}] += 1"
        yield from self._work()

    def finish(self) -> Iterator[str]:
        """Tell the observers that it is done, let others run where it may spin, and return the result."""
        row = self.row
        if self.operands and row.form not in SCALAR_ACCESS:
            result = "" if row.returns == "None" else "seen.result = result; "
            yield f"if seen is not None: {result}mlu.watch.retire(seen)"
        if row.polls and row.atomic:
            yield f"mlu.core.atomic_step(before == {self._target()}.tobytes())"
        if row.returns != "None":
            yield "return result"

    def _work(self) -> Iterator[str]:
        """Add the work to `Mlu.work`; what its places mean is in `time.work`."""
        row = self.row
        if row.pipe is Pipe.SCALAR:
            if not row.control and row.form not in SCALAR_ACCESS:
                yield f"mlu.work[{work.SCALAR}] += 1"
            return
        if row.form == "register":
            yield f"mlu.work[{work.VECTOR}] += {REGISTER // LINE + work.START}"
            yield f"mlu.lines[{self.number}] += {REGISTER // LINE}"
        if row.cost is None or row.cost.operand not in self.at:
            return
        n = self.at[row.cost.operand]
        operand = row.operands[row.cost.operand]
        whole = row.cost.extent == operand.extent
        count = f"(j{n} - i{n})" if whole else f"({self._expression(operand, row.cost.extent)})"
        yield from {Pipe.VECTOR: self._vector, Pipe.TENSOR: tensor_work}.get(row.pipe, self._dma)(count, n)

    def _vector(self, count: str, n: int) -> Iterator[str]:
        yield f"used = {count} * {self._width(n)}; paid = used + {LINE - 1} >> {LINE.bit_length() - 1}"
        yield vector_work(self.row.passes, count)
        extent = "0" if self.row.cost is None else self._expression(self.operands[n], self.row.cost.extent)
        yield f"mlu.lines[{self.number}] += paid"
        yield f"if used & {LINE - 1}: mlu.spare[{self.number}] += -used & {LINE - 1}"
        before = f"{before_padding(self._counts, extent)} * {self._width(n)}"
        yield f"if unpadded is not None: mlu.spare[{self.number}] += used - {before}"

    def _width(self, n: int) -> str:
        """Bytes of an element on the vector unit: of the widest operand; single bytes count as two to a lane."""
        row, lead = self.row, self.operands[n]
        beside = [
            m
            for m, o in enumerate(self.operands)
            if o.extent == lead.extent
            and self.kinds[o.name] == "tile"
            and o.name not in (lead.name, *row.same)
        ]
        width = f"v{n}.itemsize"
        if beside and len({d.size for o in self.operands for d in o.dtypes}) > 1:
            width = f"max({width}, {', '.join(f'v{m}.itemsize' for m in beside)})"
        narrow = any(d.size == 1 for d in lead.dtypes_on(self.arch.generation))
        if not narrow or row.void:
            return width
        return f"v{n}.lane" if width == f"v{n}.itemsize" else f"max({width}, 2)"

    def _dma(self, count: str, n: int) -> Iterator[str]:
        """An atomic or a fill: it reads and writes the lines that it touches."""
        yield f"nbytes = {count} * v{n}.itemsize; start = v{n}.phase + i{n} * v{n}.itemsize"
        if self.row.pipe is Pipe.MOVE:
            yield f"charge_line(mlu.work, MOVE, {SRAM2SRAM.value}, start, start, nbytes)"
            return
        direction = GDRAM2GDRAM if self.row.atomic else NRAM2GDRAM
        yield f"charge_line(mlu.work, IO, {direction.value}, start, start, nbytes)"
        if self.row.atomic:
            yield f"mlu.work[{work.ATOMICS}] += {count}"


METHOD = (
    Writer.other_form,
    Writer.counts,
    Writer.untyped,
    Writer.elsewhere,
    Writer.views,
    Writer.checks,
    Writer.overlaps,
    Writer.values,
    Writer.announce,
    Writer.account,
    Writer.perform,
    Writer.finish,
)
