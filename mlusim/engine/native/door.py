"""The C function of one row for the operand types of a call: its checks, its accounts, its body.

A check that fails leaves the whole call to Python's door, which says what is wrong, or does what C does not know; so
nothing is refused here, and what C lets pass is what Python's door lets pass.
"""

import functools
from collections.abc import Iterator, Mapping
from inspect import Parameter

from attrs import field, frozen

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DTYPES, DType, as_dtype
from mlusim.arch.pipe import Pipe
from mlusim.engine.native.strided import accounts, repetition_conditions, repetitions, spanned
from mlusim.engine.native.templates import SUFFIX, body
from mlusim.formula.c import c_leaf, to_c
from mlusim.formula.expr import Expr, SizeOf
from mlusim.isa.declare import Intrinsic, Operand, Passes
from mlusim.isa.table import ISA

MOST = 1 << 24  # counts from here on are left to Python, and
MOST_PRODUCT = "1e15"  # products of more than two of them, so that no formula overflows
IDS: Mapping[DType, int] = {d: n for n, d in enumerate(DTYPES)}
NUMBERS: Mapping[str, int] = {name: n for n, name in enumerate(ISA)}
_RESERVED = {"new": "new_", "register": "register_"}


class Unknown(Exception):
    """The call has no C."""


@frozen
class NativeArgument:
    """An argument of a call: a pointer to elements of *dtype* (None: untyped), or a number of that type."""

    pointer: bool
    dtype: DType | None


@frozen
class Use:
    """How a row is called: its name and what is given for its parameters, in order."""

    row: str
    given: tuple[NativeArgument, ...]
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        types = (("p" if g.pointer else "") + (SUFFIX[g.dtype.name] if g.dtype else "v") for g in self.given)
        object.__setattr__(self, "name", "_".join((self.row, *types)))


def result_type(row: Intrinsic) -> str:
    """The C type of what a row returns: what it computes in for elements, int64_t for numbers and bool."""
    if row.returns == "None":
        return "void"
    if row.returns in ("int", "bool", "Unsigned"):
        return "int64_t"
    return "U_$src" if row.form == "load" else "float"


@functools.lru_cache(maxsize=4096)
def door(use: Use, arch: Arch) -> str | None:
    """The C function of *use* on *arch*, named as it is; None where the row has no C for these types."""
    try:
        lines = list(_Door(use, arch).lines())
    except Unknown:
        return None
    return "\n".join(lines) + "\n"


class _Door:
    def __init__(self, use: Use, arch: Arch) -> None:
        self.use, self.arch = use, arch
        self.row = ISA[use.row]
        self.number = NUMBERS[use.row]
        names = [p.name for p in self.row.given]
        if len(use.given) > len(names) or any(p.kind == "rest" for p in self.row.given):
            raise Unknown(use.row)
        self.given = dict(zip(names, use.given, strict=False))
        self.scalars = frozenset(n for n, g in self.given.items() if not g.pointer and n in self.row.operands)
        self.absent = frozenset(names) - set(self.given)
        self.operands = [o for o in self.row.operands.values() if o.name not in self.scalars]
        self._check_supported()
        self.types = self._types()
        self._check_given()

    # -- what is known of the call --------------------------------------------------------------

    def _check_supported(self) -> None:
        row, arch = self.row, self.arch
        strides = {n for o in row.operands.values() for n in o.stride_names}
        if (
            row.form not in ("dense", "load", "store", "strided")
            or row.control
            or row.pipe is Pipe.TENSOR
            or arch.generation == 2
            or not row.available(arch.bang_arch)
            or (strides & set(self.given) and row.form != "strided")
        ):
            raise Unknown(row.name)

    def _types(self) -> dict[str, DType]:
        """The element type of each operand, and of what stands for one; those of untyped ones follow from the row."""
        found: dict[str, DType] = {}
        for o in self.row.operands.values():
            if o.name not in self.given:
                raise Unknown(o.name)
            dtype = self.given[o.name].dtype
            how = self.row.void.get(o.name)
            if how is not None and o.name not in self.scalars:
                dtype = self.given[how].dtype if how in self.given else as_dtype(how)
            if dtype is None or (
                o.name not in self.scalars and dtype not in o.dtypes_on(self.arch.generation)
            ):
                raise Unknown(o.name)
            found[o.name] = dtype
        lead = found[self.row.same[0]] if self.row.same else None
        for name in self.row.same:
            if name in self.scalars:
                found[name] = lead  # type: ignore[assignment]
            elif found[name] is not lead:
                raise Unknown(name)
        for p in self.row.given:  # numbers of rows without operands, as conversions of registers
            if p.kind == "any" and p.name in self.given and self.given[p.name].dtype is not None:
                found.setdefault(p.name, self.given[p.name].dtype)  # type: ignore[arg-type]
        return found

    def _check_given(self) -> None:
        for p in self.row.given:
            if p.name in self.absent and p.default is Parameter.empty:
                raise Unknown(p.name)

    def _facts(self) -> Iterator[str]:
        """What formulas may ask: what was left out, sizes, kinds and phases of operands."""
        facts: dict[str, int | str] = {"generation": self.arch.generation}
        for p in self.row.given:
            facts[f"{p.name}_given"] = int(p.name in self.given)
            if p.name in self.row.operands:
                facts[f"pointer_{p.name}"] = int(p.name not in self.scalars)
                facts[f"sizeof_{p.name}"] = self.types[p.name].size
                facts[f"kind_{p.name}"] = f"KIND_{self.types[p.name].kind.upper()}"
        yield f"  enum {{ {', '.join(f'{name} = {value}' for name, value in facts.items())} }};"
        for o in self.operands:
            yield f"  At a_{o.name} = see(m, p_{o.name}); const int64_t phase_{o.name} = a_{o.name}.o % {self.types[o.name].size}; (void)phase_{o.name};"
            if self.row.form == "strided":
                yield from repetitions(o, functools.partial(self._formula, operand=o))
        for p in self.row.given:
            if p.name in self.absent and p.kind == "count":
                default = p.default if isinstance(p.default, int) else 0
                yield f"  const int64_t {p.name} = {default}; (void){p.name};"

    def _formula(self, formula: Expr, operand: Operand) -> str:
        size = self.types[operand.name].size

        def leaf(part: Expr) -> str:
            return str(size) if isinstance(part, SizeOf) and part.type.name == "T" else c_leaf(part)

        return to_c(formula, leaf)

    # -- the function ---------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The function, line by line."""
        row = self.row
        result = result_type(row).replace(
            "$src", SUFFIX[self.types["src"].name] if "src" in self.types else ""
        )
        text = body(row, self.types, self.scalars | self.absent)
        if text is None:
            raise Unknown(row.name)
        yield f"PART {result} {self.use.name}(Core *m, {', '.join([*self._parameters(), 'int site'])}) {{"
        if result != "void":
            yield f"  {result} result = 0;"
        yield from self._facts()
        conditions = list(self._conditions())
        if conditions:
            yield f"  if (UNLIKELY({' || '.join(conditions)})) goto slow;"
        yield from self._values()
        yield from self._arrays()
        if row.pipe in (Pipe.IO, Pipe.MOVE):
            yield f"  m->site = site; settle_(m, P_{row.pipe.name});"
        spins = row.polls and row.atomic
        yield f"  {'int changed_ = 0; ' if spins else ''}{text}"
        yield from self._accounts()
        if spins:
            yield "  m->site = site; up_(m, UP_ATOMIC, !changed_, 0);"
        yield from self._slow(result)
        yield "}"

    def _arrays(self) -> Iterator[str]:
        for o in self.operands:
            const = "const " if o.access == "read" else ""
            suffix = SUFFIX[self.types[o.name].name]
            yield f"  {const}T_{suffix} *{o.name} = ({const}T_{suffix} *)at(a_{o.name}); (void){o.name};"
            if o.partial:
                yield f"  const int64_t room_{o.name} = {self._span(o)} / {self.types[o.name].size};"

    def _slow(self, result: str) -> Iterator[str]:
        """The call of Python's door."""
        up = f"UP(m, {self.number}, site, {', '.join(self._arguments())})"
        if result == "void":
            yield "  return;"
            yield f"slow: {up};"
        else:
            yield "  return result;"
            back = f"r.kind == IS_FLOAT ? ({result})float_of(r) : ({result})(int64_t)r.bits"
            yield f"slow: {{ Argument r = {up}; return {back}; }}"

    def _parameters(self) -> Iterator[str]:
        for name, given in self.given.items():
            if given.pointer:
                yield f"Ptr {'p_' if name in self.row.operands else ''}{name}"
            elif self._whole(name):
                yield f"int64_t {_RESERVED.get(name, name)}"
            else:
                yield f"T_{self._suffix(name)} g_{name}"

    def _whole(self, name: str) -> bool:
        """Whether a parameter is a count, or a number whose type says nothing."""
        kind = next(p.kind for p in self.row.given if p.name == name)
        return kind == "count" or (
            kind == "any" and name not in self.row.void.values() and bool(self.row.operands)
        )

    def _suffix(self, name: str) -> str:
        dtype = self.given[name].dtype
        if dtype is None:
            raise Unknown(name)
        return SUFFIX[dtype.name]

    def _arguments(self) -> Iterator[str]:
        """What Python's door is called with."""
        for name, given in self.given.items():
            if given.pointer:
                dtype = self.types.get(name, given.dtype) if name in self.row.void else given.dtype
                shown = f"p_{name}" if name in self.row.operands else name
                yield f"a_pointer({shown}, {IDS[dtype] if dtype else -1})"
            elif self._whole(name):
                yield f"a_integer({_RESERVED.get(name, name)}, -1)"
            elif given.dtype is not None and given.dtype.kind == "float":
                yield f"a_float(GET_{self._suffix(name)}(g_{name}), {IDS[given.dtype]})"
            else:
                yield f"a_integer((int64_t)g_{name}, {IDS[given.dtype] if given.dtype else -1})"

    def _values(self) -> Iterator[str]:
        """Numbers as elements of the operands' type, as C converts them; counts that are left out."""
        row = self.row
        lead = self.types[row.same[0]] if row.same else next(iter(self.types.values()), None)
        for p in row.given:
            name = _RESERVED.get(p.name, p.name)
            if p.name in self.absent:
                if isinstance(p.default, int) and p.kind == "value" and lead is not None:
                    yield f"  T_{SUFFIX[lead.name]} {name} = 0;"
            elif not self.given[p.name].pointer and not self._whole(p.name):
                target = self.types.get(p.name) or lead
                yield f"  {self._converted(p.name, name, target)}"

    def _converted(self, name: str, shown: str, target: DType | None) -> str:
        given = self.given[name].dtype
        if given is None or target is None:
            raise Unknown(name)
        suffix = SUFFIX[target.name]
        if given is target:
            return f"T_{suffix} {shown} = g_{name};"
        if given.kind == "float" and target.kind != "float":
            raise Unknown(name)
        value = f"GET_{SUFFIX[given.name]}(g_{name})"
        return f"T_{suffix} {shown} = PUT_{suffix}({value});"

    # -- checks ---------------------------------------------------------------------------------

    def _extent(self, o: Operand) -> str:
        return f"{self._formula(o.extent, o)} * {self.types[o.name].size}"

    def _conditions(self) -> Iterator[str]:
        row = self.row
        if not row.memory_core:
            yield "m->memory_core"
        counts = [p.name for p in row.given if p.kind == "count" and p.name in self.given]
        for name in counts:
            yield f"{name} > {MOST} || {name} < -{MOST}"
        if len(counts) > 2:
            yield f"{' * '.join(f'(1 + fabs((double){name}))' for name in counts)} > {MOST_PRODUCT}"
        for o in self.operands:
            yield from self._operand_conditions(o)
        for rule in row.rules:
            if not rule.generations or self.arch.generation in rule.generations:
                yield to_c(rule.fails)
        for o in self.operands:
            yield from self._overlaps(o, row.overlap.get(o.name, "free"))

    def _overlaps(self, o: Operand, how: str) -> Iterator[str]:
        for target in self.operands:
            if how != "free" and target.access != "read" and set(target.spaces) & set(o.spaces):
                spans = f"a_{target.name}, {self._span(target)}, a_{o.name}, {self._span(o)}"
                yield f"laps({spans}, {int(how == 'exact')})"

    def _operand_conditions(self, o: Operand) -> Iterator[str]:
        extent = self._formula(o.extent, o)
        first = self.row.operands[self.row.same[0]] if o.name in self.row.same else o
        if o is first or o.extent != first.extent:
            yield f"{extent} <= 0"
        spaces = " && ".join(f"a_{o.name}.a->space != {s.name}" for s in o.spaces)
        yield f"({spaces})" if len(o.spaces) > 1 else spaces
        if self.row.form == "strided":
            yield from repetition_conditions(o, self._extent(o))
        if o.partial:
            yield f"out(a_{o.name}, {self.types[o.name].size})"
        elif self.row.form == "strided":
            yield f"out(a_{o.name}, {self._span(o)})"
        else:
            yield f"out(a_{o.name}, {self._extent(o)})"
        if o.access != "read" and any(s.name == "GDRAM" for s in o.spaces):
            yield f"!a_{o.name}.a->writable"

    def _span(self, o: Operand) -> str:
        """The bytes that *o* may touch: of a part that depends on the data, as far as the memory goes."""
        if self.row.form == "strided":
            return spanned(o, self._extent(o))
        if not o.partial:
            return self._extent(o)
        return f"smaller_({self._extent(o)}, a_{o.name}.a->nbytes - a_{o.name}.o)"

    # -- accounts -------------------------------------------------------------------------------

    def _accounts(self) -> Iterator[str]:
        row, cost = self.row, self.row.cost
        if row.form in ("load", "store"):
            yield from self._scalar_access()
            return
        if row.pipe is Pipe.SCALAR:
            yield f"  m->counts[{self.number}]++; m->work[W_SCALAR]++;"
            return
        if row.form == "strided":
            yield from accounts(self.number, self.operands, self._extent)
            return
        if cost is None or cost.operand in self.scalars or cost.operand not in row.operands:
            yield f"  m->counts[{self.number}]++;"
            return
        lead = row.operands[cost.operand]
        count = self._formula(cost.extent, lead)
        if row.pipe is Pipe.VECTOR:
            used = f"{count} * {self._width(lead)}"
            match row.passes:
                case Passes.TRANSPOSE:
                    yield f"  transpose_(m, {self.number}, {used}, {count});"
                case Passes.FUNCTION:
                    yield f"  function_(m, {self.number}, {used});"
                case _:
                    yield f"  vector_(m, {self.number}, {used});"
            return
        yield f"  m->counts[{self.number}]++;"
        nbytes = f"{count} * {self.types[lead.name].size}"
        if row.pipe is Pipe.MOVE:
            yield f"  move_line(m, 2, {nbytes});"
        else:
            yield f"  io_line(m, {int(row.atomic)}, 1, a_{lead.name}.o, a_{lead.name}.o, {nbytes});"
        if row.atomic:
            yield f"  m->work[W_ATOMICS] += {count};"

    def _scalar_access(self) -> Iterator[str]:
        """Loads and stores are accounted as those through a pointer are."""
        o = self.operands[0]
        places = "loads" if self.row.form == "load" else "stores"
        yield f"  m->counts[{self.number}]++; m->{places}[a_{o.name}.a->space]++;"
        if self.row.form == "load" and any(s.shared for s in o.spaces):
            yield f"  m->site = site; poll_load(m, a_{o.name}.a->address + (uint64_t)a_{o.name}.o);"

    def _width(self, lead: Operand) -> int:
        """Bytes of an element on the vector unit, as Python's door has it: of the widest operand, two at least for bytes."""
        row = self.row
        tiles = {p.name for p in row.given if p.kind == "tile"}
        beside = [
            self.types[o.name].size
            for o in row.operands.values()
            if o.extent == lead.extent and o.name in tiles and o.name not in (lead.name, *row.same)
        ]
        width = max([self.types[lead.name].size, *beside])
        narrow = any(d.size == 1 for d in lead.dtypes_on(self.arch.generation))
        return max(width, 2) if narrow and not row.void else width
