"""The door: straight-line code for every row, through which each effect on memory passes.

`mlu_class` writes one Python method per row and architecture: resolve the operands to views, check
kinds, bounds, overlaps and rules, announce, perform, account.  The method is what the row says and
nothing else; what a check has to say is composed by `machine.refuse`, off the fast path.
`source_of` shows the code; a debugger shows it too.
"""

import functools
import linecache
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import as_dtype
from mlusim.isa.declare import Intrinsic, Operand, Parameter, Pipe, Refused
from mlusim.isa.table import ISA
from mlusim.machine.copies import COPY_METHODS
from mlusim.machine.events import Access
from mlusim.machine.mlu import Mlu
from mlusim.machine.refuse import count_of, refuse, refuse_here, unsupported
from mlusim.errors import RuleFault
from mlusim.memory.pointer import KINDS, Ptr, View

PIPE_INDEX: Mapping[Pipe, int] = {p: i for i, p in enumerate(Pipe)}
LINE = 128  # bytes that the vector unit takes in a cycle; a shorter operand costs as much


@functools.cache
def mlu_class(arch: Arch, *, memory_core: bool = False) -> type[Mlu]:
    """The `Mlu` of *arch*: the base class with one method per intrinsic."""
    methods: dict[str, Any] = {"__slots__": (), "__doc__": Mlu.__doc__}
    for number, row in enumerate(ISA.values()):
        methods[row.name] = _method(row, number, arch, memory_core=memory_core)
    return type(f"Mlu_{arch.name}", (Mlu,), methods)


def source_of(row: Intrinsic, arch: Arch) -> str:
    """The generated code of *row* on *arch*, for reading."""
    return "\n".join(_Writer(row, 0, arch).lines()) + "\n"


def _method(row: Intrinsic, number: int, arch: Arch, *, memory_core: bool) -> Callable[..., Any]:
    if not row.available(arch.bang_arch) or (memory_core and not row.memory_core):

        def refused(mlu: Mlu, *_: Any, **__: Any) -> None:
            raise unsupported(mlu, row)

        return refused
    if row.form == "copy":
        return COPY_METHODS[row.name](row, number, arch)
    writer = _Writer(row, number, arch)
    text = "\n".join(writer.lines()) + "\n"
    filename = f"<mlusim {arch.name} {row.name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names = writer.names()
    exec(compile(text, filename, "exec"), names)  # noqa: S102 - the text is generated from the row above
    method: Callable[..., Any] = names[row.name]
    method.__doc__ = row.doc
    return method


def overlap(first: View, i: int, j: int, second: View, k: int, m: int, exact: bool) -> bool:
    """Whether elements [i, j) of *first* and [k, m) of *second* overlap; *exact* forgives equal starts."""
    a, b = first.phase + i * first.itemsize, first.phase + j * first.itemsize
    c, d = second.phase + k * second.itemsize, second.phase + m * second.itemsize
    return a < d and c < b and not (exact and a == c)


class _Writer:
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
            "refuse_here": refuse_here,
            "count_of": count_of,
            "overlap": overlap,
            "typed": _typed,
            "Ptr": Ptr,
            "Access": Access,
            "Refused": Refused,
            "RuleFault": RuleFault,
            "IO": Pipe.IO,
            "MOVE": Pipe.MOVE,
        }
        for p in self.row.parameters:
            if p.default is not Parameter.__attrs_attrs__.default.default:
                names[f"default_{p.name}"] = p.default
        for o in self.operands:
            names[f"kinds_{o.name}"] = frozenset(KINDS[s, d] for s in o.spaces for d in o.dtypes)
        for dtype in set(self.row.void.values()) - set(self.kinds):
            names[f"void_{dtype}"] = as_dtype(dtype)
        return names

    # -- the pieces, in order ------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """The method, line by line."""
        yield f"def {self.row.name}({self._signature()}):"
        for piece in (
            self._scalars,
            self._void,
            self._views,
            self._checks,
            self._overlaps,
            self._values,
            self._announce,
            self._perform,
            self._account,
        ):
            for line in piece():
                yield "    " + line

    def _signature(self) -> str:
        shown = ["mlu"]
        for p in self.row.parameters:
            has_default = p.default is not Parameter.__attrs_attrs__.default.default
            shown.append(f"{p.name}=default_{p.name}" if has_default else p.name)
        return ", ".join(shown)

    def _arguments(self) -> str:
        return "{" + ", ".join(f"{p.name!r}: {p.name}" for p in self.row.parameters) + "}"

    @property
    def _refuse(self) -> str:
        return f"raise refuse(mlu, row, {self._arguments()})"

    def _scalars(self) -> Iterator[str]:
        for p in self.row.parameters:
            if p.kind == "count":
                optional = f"{p.name} is not None and " if p.default is None else ""
                yield f"if {optional}{p.name}.__class__ is not int: {p.name} = count_of(mlu, row, {p.name!r}, {p.name})"

    def _void(self) -> Iterator[str]:
        for name, how in self.row.void.items():
            if how in self.kinds:
                yield f"{how}, type_of_{name} = typed(mlu, row, {how!r}, {how})"
                yield f"if {name}.__class__ is Ptr: {name} = {name}.cast(type_of_{name})"
            else:
                yield f"if {name}.__class__ is Ptr: {name} = {name}.cast(void_{how})"

    def _resolve(self, o: Operand) -> Iterator[str]:
        n = self.at[o.name]
        yield f"v{n} = {o.name}.view; i{n} = {o.name}.index; j{n} = i{n} + ({o.extent})"

    def _views(self) -> Iterator[str]:
        plain = [o for o in self.operands if self.kinds[o.name] != "either"]
        if plain:
            yield "try:"
            for o in plain:
                for line in self._resolve(o):
                    yield "    " + line
            yield "except AttributeError:"
            yield f"    {self._refuse} from None"

    def _conditions(self, o: Operand) -> Iterator[str]:
        n = self.at[o.name]
        lead = self.at[self.row.same[0]] if o.name in self.row.same else n
        if lead == n:
            yield f"v{n}.kind not in kinds_{o.name}"
        elif o.spaces == self.operands[lead].spaces and o.dtypes == self.operands[lead].dtypes:
            yield f"v{n}.kind is not v{lead}.kind"
        else:
            yield f"v{n}.dtype is not v{lead}.dtype or v{n}.kind not in kinds_{o.name}"
        yield f"j{n} <= i{n} or i{n} < 0 or j{n} > v{n}.size"
        if o.access != "read" and any(s.name == "GDRAM" for s in o.spaces):
            yield f"not v{n}.allocation.writable"
        if self.arch.generation == 2 and self.row.aligned:
            yield f"({o.name}.address % 64 or (j{n} - i{n}) * v{n}.itemsize % 128)"

    def _checks(self) -> Iterator[str]:
        conditions = [c for o in self.operands if self.kinds[o.name] != "either" for c in self._conditions(o)]
        rules = [
            f"({r.fails})" for r in self.row.rules if not r.generations or self.arch.generation in r.generations
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
        yield f"    v{n} = None"
        yield f"    a{n} = v{self.at[self._lead()]}.scalar({o.name})"

    def _lead(self) -> str:
        """The operand whose dtype scalars take."""
        return self.row.same[0] if self.row.same else self.operands[0].name

    def _overlaps(self) -> Iterator[str]:
        for o in self.operands:
            if self.kinds[o.name] != "either":
                yield from self._overlap_with_targets(o)

    def _overlap_with_targets(self, o: Operand) -> Iterator[str]:
        how = self.row.overlap.get(o.name, "free")
        if how == "free":
            return
        n = self.at[o.name]
        exact = how == "exact"
        for target in self.operands:
            if target.access == "read" or not set(target.spaces) & set(o.spaces):
                continue
            t = self.at[target.name]
            same = f"i{n} != i{t} and " if exact else ""
            yield f"if v{n} is v{t}:"
            yield f"    if {same}i{n} < j{t} and i{t} < j{n}: {self._refuse}"
            yield f"elif v{n}.raw is v{t}.raw and overlap(v{t}, i{t}, j{t}, v{n}, i{n}, j{n}, {exact}): {self._refuse}"

    def _values(self) -> Iterator[str]:
        for p in self.row.parameters:
            if p.kind == "value" and p.name not in self.row.void.values():
                yield f"{p.name} = v{self.at[self._lead()]}.scalar({p.name})"

    def _announce(self) -> Iterator[str]:
        if not self.operands:
            return
        yield "if mlu.watch is not None:"
        reads = self._accesses("read", "update")
        writes = self._accesses("write", "update")
        yield f"    seen = mlu.watch(row, {reads}, {writes})"

    def _accesses(self, *kinds: str) -> str:
        parts = []
        for o in self.operands:
            if o.access in kinds:
                n = self.at[o.name]
                access = f"Access(v{n}.allocation, v{n}.phase + i{n} * v{n}.itemsize, (j{n} - i{n}) * v{n}.itemsize)"
                parts.append(f"*(() if v{n} is None else ({access},))" if self.kinds[o.name] == "either" else access)
        return "(" + "".join(part + ", " for part in parts) + ")"

    def _given(self, p: Parameter) -> str:
        if p.name in self.at:
            n = self.at[p.name]
            return f"a{n}" if p.kind == "either" else f"v{n}.array[i{n}:j{n}]"
        return p.name

    def _perform(self) -> Iterator[str]:
        row = self.row
        if row.pipe in (Pipe.IO, Pipe.MOVE) and self.operands:
            yield f"if mlu.core.flights: mlu.core.drain({row.pipe.name})"
        if row.atomic:
            n = next(self.at[o.name] for o in self.operands if o.access == "update")
            yield f"before = v{n}.array[i{n}:j{n}].tobytes()"
        if row.ufunc:
            sources = [self._given(p) for p in row.parameters if p.kind != "count"]
            yield f"body({', '.join(sources[1:] + sources[:1])})"
        elif row.control:
            given = ", ".join(["mlu.core", *(p.name for p in row.parameters)])
            yield f"result = body({given})"
        else:
            yield "try:"
            yield f"    result = body({', '.join(self._given(p) for p in row.parameters)})"
            yield "except Refused as refused:"
            yield "    raise refuse_here(mlu, row, RuleFault(str(refused))) from None"

    def _account(self) -> Iterator[str]:
        row = self.row
        yield f"mlu.counts[{self.number}] += 1"
        if row.cost is not None and row.cost.operand in self.at:
            n = self.at[row.cost.operand]
            operand = row.operands[row.cost.operand]
            count = f"(j{n} - i{n})" if row.cost.extent == operand.extent else f"({row.cost.extent})"
            pipe = PIPE_INDEX[row.pipe]
            work = {
                Pipe.VECTOR: f"({count} * v{n}.itemsize + {LINE - 1}) // {LINE}",
                Pipe.TENSOR: count,
            }.get(row.pipe, f"{count} * v{n}.itemsize")
            yield f"mlu.work[{pipe}] += {work}"
        if self.operands:
            yield "if mlu.watch is not None: mlu.core.retire(seen)"
        if row.atomic:
            n = next(self.at[o.name] for o in self.operands if o.access == "update")
            yield f"mlu.core.atomic_step(before == v{n}.array[i{n}:j{n}].tobytes())"
        if row.returns != "None":
            yield "return result"


def _typed(mlu: Mlu, row: Intrinsic, name: str, value: Any) -> tuple[Any, Any]:
    """A scalar whose own type decides the instruction: (the scalar, its DType)."""
    if value.__class__ is int:
        int32 = as_dtype("int32")
        return int32(value), int32
    if value.__class__ is float:
        raise refuse_here(
            mlu,
            row,
            RuleFault(
                f"{name} = {value!r} has no C type, and the type decides how wide the elements are",
                operand=name,
                legal="a typed scalar, as float32(0.5) or half(0.5), or an int",
            ),
        )
    return value, as_dtype(getattr(value, "dtype", type(value)))
