"""A recipe as C: the function of one row for the operand types of a call, with its checks, its charges and its body.

The checks and charges are those of the recipe (`engine.recipes.recipe`), as in Python's door.  A failed check leaves
the whole call to Python's door, which reports the error, or handles a case that C does not support; so nothing is
rejected here, and C accepts exactly what Python's door accepts.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence

from attrs import field, frozen

from mlusim.arch.board import Arch, Pipe
from mlusim.arch.dtypes import MEMORY_TYPES, DType, float32, int32, uint32
from mlusim.engine import strides
from mlusim.engine.contract import Mode
from mlusim.engine.recipes import actions
from mlusim.engine.recipes.recipe import LaunchPolicy, Recipe, lanes_of, recipe
from mlusim.formula.expr import Expr, SizeOf
from mlusim.formula.render import c_leaf, to_c
from mlusim.isa.declare import Intrinsic, Operand, Passes
from mlusim.isa.table import ISA, NUMBERS, settles
from mlusim.machine.native.text.screen import (
    Footprint,
    asking,
    before,
    behind,
    beside,
    is_asked,
    numbers_before,
    numbers_behind,
)
from mlusim.machine.native.text.sums import adds, later
from mlusim.machine.native.text.templates import SUFFIX, Each, RowCall, body, each
from mlusim.memory.space import Space
from mlusim.time.log import FOR_ALL, FOR_IO, FOR_MOVE
from mlusim.time.work import IN_SRAM, READS, TENSOR_SETUP, WRITES, macs

MOST = 1 << 24  # larger counts are left to Python, and so are
MOST_PRODUCT = "1e15"  # larger products of three or more counts, so that no formula overflows
IDS: Mapping[DType, int] = {d: n for n, d in enumerate(MEMORY_TYPES)}
_RESERVED = {"new": "new_", "register": "register_", "m": "m_"}  # words of C, and the core


class Unknown(Exception):
    """Raised if the call cannot be rendered to C."""


@frozen
class NativeArgument:
    """An argument of a call: a pointer to elements of *dtype* (None: untyped), or a number of that type."""

    pointer: bool
    dtype: DType | None


@frozen
class Use:
    """A call of a row: its name and its arguments, in the order of the parameters."""

    row: str
    arguments: tuple[NativeArgument, ...]
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        types = (
            ("p" if g.pointer else "") + (SUFFIX[g.dtype.name] if g.dtype else "v") for g in self.arguments
        )
        object.__setattr__(self, "name", "_".join((self.row, *types)))


def result_type(row: Intrinsic) -> str:
    """Render the C type of a row's result: the computing type for elements, int64_t for numbers and bool."""
    if row.returns == "None":
        return "void"
    if row.returns in ("int", "bool", "Unsigned"):
        return "int64_t"
    return "U_$src" if row.form == "load" else "float"


@functools.lru_cache(maxsize=4096)
def door(use: Use, arch: Arch, mode: Mode = Mode.ALONE) -> str | None:
    """Render the C function of *use* on *arch*, with the name of *use*; None if the row has no C for these types.

    In the *mode* `SCREENED` it performs the checkers' tests, in `BESIDE` it records off-chip accesses
    (`machine.native.text.screen`).
    """
    try:
        head, *lines = _Door(use, arch, mode).lines()
    except Unknown:
        return None
    # Without it the text is the same for several architectures, and is compiled once for them.
    if any("generation" in line for line in lines):
        head += f"\n  enum {{ generation = {arch.generation} }};"
    return "\n".join([head, *lines]) + "\n"


@frozen
class LaneOperand:
    """A pointer of a `Lane`: its name, its bytes per element, its memories, whether it is written, or by an atomic, and read; the type of its numbers."""

    name: str
    size: int
    spaces: frozenset[Space]
    written: bool
    atomic: bool = False
    read: bool = False
    dtype: DType | None = None


@frozen
class Lane:
    """A call that does the same to each of a number of elements, in parts: what `text.joined` joins with others.

    *checks* is a C function ``fits_`` and *name*, of the call's arguments, that returns whether C performs it, *charges*
    one ``paid_`` and *name* that accounts for *many_* calls; *names* are their arguments. *settles* says whether the call
    first settles a pipe, *repeats* whether only the number of elements decides its charges. *numbers* are declarations
    of the scalars that *each* names, of a name and a given value. *row* is None for a copy.
    """

    name: str
    names: tuple[str, ...]
    operands: tuple[LaneOperand, ...]
    each: Each
    checks: str
    charges: str
    settles: bool
    repeats: bool = False
    numbers: Mapping[str, Callable[[str, str], str]] = {}
    row: Intrinsic | None = None


@functools.lru_cache(maxsize=4096)
def lane(use: Use, arch: Arch) -> Lane | None:
    """Return the parts of *use* on *arch*; None if its row is not done element by element, or has no C."""
    try:
        return _Door(use, arch, Mode.ALONE).lane()
    except Unknown:
        return None


@functools.cache
def _recipe(name: str, arch: Arch, *, memory_core: bool = False) -> Recipe:
    return recipe(ISA[name], NUMBERS[name], LaunchPolicy(arch, memory_core))


def _leaf(part: Expr) -> str:
    """Return a leaf of a formula as its name in C."""
    name = c_leaf(part)
    return _RESERVED.get(name, name)


class _Door:
    def __init__(self, use: Use, arch: Arch, mode: Mode) -> None:
        self.use, self.arch, self.mode = use, arch, mode
        self.actions = _recipe(use.row, arch).actions
        self.row = ISA[use.row]
        self.number = NUMBERS[use.row]
        names = [p.name for p in self.row.given]
        if len(use.arguments) > len(names) or any(p.kind == "rest" for p in self.row.given):
            raise Unknown(use.row)
        self.given = dict(zip(names, use.arguments, strict=False))
        self.scalars = frozenset(n for n, g in self.given.items() if not g.pointer and n in self.row.operands)
        self.absent = frozenset(names) - set(self.given)
        self.operands = [o for o in self.row.operands.values() if o.name not in self.scalars]
        self._check_supported()
        self.types = self._types()
        self._check_given()

    # -- facts about the call --------------------------------------------------------------

    def _check_supported(self) -> None:
        row = self.row
        strides = {
            n for action in self.actions if isinstance(action, actions.Strided) for n in action.strides
        }
        if (
            row.form not in ("dense", "load", "store", "strided")
            or row.control
            or actions.Refuse() in self.actions
            or strides & set(self.given)
        ):
            raise Unknown(row.name)

    def _types(self) -> dict[str, DType]:
        """Return the element type of each operand, and of arguments in place of operands; those of untyped ones follow from the row."""
        types: dict[str, DType] = {}
        retyped = {action.name: action.dtype for action in self.actions if isinstance(action, actions.Retype)}
        for o in self.row.operands.values():
            if o.name not in self.given:
                raise Unknown(o.name)
            dtype = self.given[o.name].dtype
            how = retyped.get(o.name)
            if how is not None and o.name not in self.scalars:
                dtype = self.given[how].dtype if isinstance(how, str) else how
            if dtype is None:
                raise Unknown(o.name)
            types[o.name] = dtype
        lead = types[self.row.same[0]] if self.row.same else None
        for name in self.row.same:
            if name in self.scalars:
                types[name] = lead  # type: ignore[assignment]
            elif types[name] is not lead:
                raise Unknown(name)
        for p in self.row.given:  # numbers of rows without operands, such as conversions of registers
            if p.kind == "any" and p.name in self.given and self.given[p.name].dtype is not None:
                types.setdefault(p.name, self.given[p.name].dtype)  # type: ignore[arg-type]
        return types

    def _check_given(self) -> None:
        for condition in self._conditions():
            if isinstance(condition, actions.OfKind):
                name = condition.operand.name
                if self.types[name] not in condition.dtypes:
                    raise Unknown(name)
        for p in self.row.given:
            if p.name in self.absent and p.default is inspect.Parameter.empty:
                raise Unknown(p.name)

    def _facts(self) -> Iterator[str]:
        """Render the facts used by formulas: omitted arguments, sizes, kinds and phases of operands."""
        facts: dict[str, int | str] = {}
        for p in self.row.given:
            facts[f"{_RESERVED.get(p.name, p.name)}_given"] = int(p.name in self.given)
            if p.name in self.row.operands:
                facts[f"pointer_{p.name}"] = int(p.name not in self.scalars)
                facts[f"sizeof_{p.name}"] = self.types[p.name].size
                facts[f"kind_{p.name}"] = f"KIND_{self.types[p.name].kind.upper()}"
        if facts:
            yield f"  enum {{ {', '.join(f'{name} = {value}' for name, value in facts.items())} }};"
        for o in self.operands:
            yield f"  At a_{o.name} = see(m, p_{o.name}); const int64_t phase_{o.name} = a_{o.name}.o % {self.types[o.name].size}; (void)phase_{o.name};"
            if self.row.form == "strided":
                yield self._repetitions(o)
        for p in self.row.given:
            if p.name in self.absent and p.kind == "count":
                default = p.default if isinstance(p.default, int) else 0
                yield f"  const int64_t {p.name} = {default}; (void){p.name};"

    def _repetitions(self, o: Operand) -> str:
        """Render the number of repetitions of the pieces of *o*, and their distance in bytes; without strides there is one piece."""
        if not o.strides:
            return f"  enum {{ more_{o.name} = 0, step_{o.name} = 0 }};"
        ((stride, more),) = ((self.formula(s, o), self.formula(m, o)) for s, m in o.strides)
        return f"  const int64_t more_{o.name} = {more}, step_{o.name} = more_{o.name} ? {stride} : 0;"

    def formula(self, formula: Expr, operand: Operand) -> str:
        """Render a formula of the row in C, with the types of *operand*."""
        size = self.types[operand.name].size

        def leaf(part: Expr) -> str:
            return str(size) if isinstance(part, SizeOf) and part.type.name == "T" else _leaf(part)

        return to_c(formula, leaf)

    # -- the function ---------------------------------------------------------------------------

    def lines(self) -> Iterator[str]:
        """Render the function, line by line."""
        row = self.row
        result = result_type(row).replace(
            "$src", SUFFIX[self.types["src"].name] if "src" in self.types else ""
        )
        text = self._body()
        # If it were inlined, its tiles would be on the stack of the kernel's own function.
        apart = "__attribute__((noinline)) " if "TILE" in text else ""
        yield f"PART {apart}{result} {self.use.name}(Core *m, {', '.join([*self._parameters(), 'int site'])}) {{"
        if result != "void":
            yield f"  {result} result = 0;"
        if self._idle:
            yield f"  IDLE_(m->memory_core, {'' if result == 'void' else 'result'})"
        if self._asked:
            yield "  Asked_ asked_; asked_.all = 0;"
        yield from self._begun()
        yield from (f"  if (UNLIKELY({condition})) goto slow;" for condition in self._broken())
        yield from self._values()
        yield from self._arrays()
        looks = self.mode in (Mode.SCREENED, Mode.BESIDE) and not self._sums
        spans = [self._touched(o) for o in self.operands] if looks else ()
        yield from beside(row, spans) if self.mode is Mode.BESIDE else self._before(spans)
        settling = (action.pipe.name for action in self.actions if isinstance(action, actions.Settle))
        yield from (f"  m->site = site; settle_(m, P_{pipe});" for pipe in settling)
        spins = any(isinstance(action, actions.Spin) for action in self.actions)
        yield from self._performed(spans, f"{'int changed_ = 0; ' if spins else ''}{text}", result)
        if self.mode is Mode.SCREENED:
            yield from behind(row, spans, settles)
            yield from numbers_behind(row, self.number, spans, returns=self._returns_float)
        if spins:  # before registers hold counts, which differ each time
            yield "  if (!changed_ && !m->inside) state_now_(m);"
        yield from self._accounts() if row.form == "strided" else charges(self.actions, self)
        if spins:
            yield "  m->site = site; atomic_step_(m, !changed_);"
        yield from self._slow(result, "forgets_(&asked_); " * self._asked)
        yield "}"

    def _begun(self) -> Iterator[str]:
        """Render what precedes the checks, which are made again when more of a memory has become poison."""
        yield from self._noted()
        yield "again:;"
        yield from self._facts()
        for o in self.operands:
            if o.partial:  # as far as the data may point
                yield f"  if (UNLIKELY(out(a_{o.name}, {self._extent(o)}) && deepen_(m))) goto again;"

    def lane(self) -> Lane | None:
        """Return the parts of the call; None if it is not one loop over its elements."""
        whole = each(RowCall(self.row, self.types, self.scalars | self.absent))
        counts = [p.name for p in self.row.given if p.kind == "count" and p.name in self.given]
        pointers = {name for name, argument in self.given.items() if argument.pointer}
        if (
            whole is None
            or self._varies
            or self.row.form != "dense"
            or self.row.returns != "None"
            or counts != ["elem_count"]
            or pointers != {o.name for o in self.operands}
            or any(o.partial or self.formula(o.extent, o) != "elem_count" for o in self.operands)
            or any(isinstance(action, actions.Spin) for action in self.actions)
        ):
            return None
        parameters, name = ", ".join(["Core *m", *self._parameters()]), self.use.name
        facts, charged = list(self._facts()), list(charges(self.actions, self, "many_"))
        passes = f"  return !({' || '.join(self._broken())});"
        lead = self.types[self.row.same[0]] if self.row.same else next(iter(self.types.values()))
        return Lane(
            name=name,
            names=tuple(self.given),
            operands=tuple(map(self._of_lane, self.operands)),
            each=whole,
            checks="\n".join([f"ALWAYS int fits_{name}({parameters}) {{", *facts, passes, "}"]),
            charges="\n".join(
                [f"ALWAYS void paid_{name}({parameters}, int64_t many_) {{", *facts, *charged, "}"]
            ),
            settles=any(isinstance(action, actions.Settle) for action in self.actions),
            repeats=len(charged) == 1 and charged[0].startswith(REPEATED),
            numbers={
                name: functools.partial(self._converted, name, self.types.get(name) or lead)
                for name in self.given
                if name not in pointers and name != "elem_count"
            },
            row=self.row,
        )

    @property
    def _varies(self) -> bool:
        """Return whether what the row does depends on the generation."""
        return any(p.kind == "generation" for p in self.row.parameters)

    def _body(self) -> str:
        """Render what the row does."""
        row = self.row
        text = body(RowCall(row, self.types, self.scalars | self.absent))
        # On MLU2xx such a row does something else, and its C has to say what.
        if text is None or (self._varies and self.arch.generation == 2 and "generation" not in text):
            raise Unknown(row.name)
        return text

    def _of_lane(self, o: Operand) -> LaneOperand:
        written = o.access != "read"
        dtype = self.types[o.name]
        atomic, read = written and self.row.atomic, o.access != "write"
        return LaneOperand(o.name, dtype.size, frozenset(o.spaces), written, atomic, read, dtype)

    @property
    def _asked(self) -> bool:
        """Return whether the body is tested for its result from uninitialized bytes."""
        return self.mode is Mode.SCREENED and is_asked(
            self.row, [self._touched(o) for o in self.operands], settles
        )

    @property
    def _sums(self) -> bool:
        """Return whether it is a sum that may be deferred."""
        return self.mode is Mode.BESIDE and adds(self.row)

    def _performed(self, spans: Sequence[Footprint], text: str, result: str) -> Iterator[str]:
        """Render *text*, the row's body with a *result* of this type, as required by the mode."""
        if self._sums:
            extent, dtype = self._extent(self.row.operands["dst"]), self.types["dst"]
            yield from later(extent, IDS[dtype], text, scalar="src" in self.scalars)
        elif self._asked:
            types = [f"T_{SUFFIX[self.types[o.name].name]}" for o in self.operands]
            yield from asking(self.row, spans, types, text, result)
        else:
            yield f"  {text}"

    def _noted(self) -> Iterator[str]:
        """Render the beginning of the instruction, with its number of elements; 0 if no argument has it."""
        if self.mode is not Mode.NOTED:
            return
        names = [p.name for p in self.row.given]
        place = lanes_of(self.row)
        name = names[place] if place >= 0 else ""
        lanes = _RESERVED.get(name, name) if name in self.given and self._whole(name) else "0"
        yield f"  begins_(m, site, {self.number}, {lanes});"

    def _before(self, spans: Sequence[Footprint]) -> Iterator[str]:
        yield from before(self.row, self.number, spans, asked=self._asked)
        if self.mode is Mode.SCREENED:
            floats = [
                f"GET_{SUFFIX[argument.dtype.name]}(g_{name})"
                for name, argument in self.given.items()
                if not argument.pointer
                and not self._whole(name)
                and argument.dtype
                and argument.dtype.kind == "float"
            ]
            yield from numbers_before(self.row, self.number, spans, floats, returns=self._returns_float)

    @property
    def _returns_float(self) -> bool:
        source = self.types.get("src")
        return self.row.returns != "None" and source is not None and source.kind == "float"

    def _accounts(self) -> Iterator[str]:
        """Render the work of a strided row: the lines of its largest operand, piece by piece."""
        number = self.number
        yield "  int64_t paid_ = 0, used_ = 0;"
        for o in self.operands:
            pieces, nbytes = f"(more_{o.name} + 1)", f"({self._extent(o)})"
            yield f"  paid_ = larger_(paid_, {pieces} * chip_lines({nbytes})); used_ = larger_(used_, {pieces} * {nbytes});"
        yield f"  m->counts[{number}]++; m->work[W_VECTOR] += paid_ + START;"
        yield f"  ((int64_t *)m->lines)[{number}] += paid_; ((int64_t *)m->spare)[{number}] += paid_ * LINE - used_;"

    def _arrays(self) -> Iterator[str]:
        for o in self.operands:
            const = "const " if o.access == "read" else ""
            suffix = SUFFIX[self.types[o.name].name]
            yield f"  {const}T_{suffix} *{o.name} = ({const}T_{suffix} *)at(a_{o.name}); (void){o.name};"
            if o.partial:
                yield f"  const int64_t room_{o.name} = {self._span(o)} / {self.types[o.name].size};"

    def _slow(self, result: str, before: str) -> Iterator[str]:
        """Render the call of Python's method for the row, and the text *before* it."""
        up = f"UP(m, {self.number}, site, {', '.join(self._arguments())})"
        yield f"  return{'' if result == 'void' else ' result'};"
        yield "slow:"
        yield "  if (deepen_(m)) goto again;"
        if result == "void":
            yield f"  {before}{up};"
        else:
            back = f"r.kind == IS_FLOAT ? ({result})float_of(r) : ({result})(int64_t)r.bits"
            yield f"  Argument r = {up}; return {back};"

    def _parameters(self) -> Iterator[str]:
        for name, argument in self.given.items():
            if argument.pointer:
                yield f"Ptr {'p_' if name in self.row.operands else ''}{name}"
            elif self._whole(name):
                yield f"int64_t {_RESERVED.get(name, name)}"
            else:
                yield f"T_{self._suffix(name)} g_{name}"

    def _whole(self, name: str) -> bool:
        """Return whether a parameter is a count, or a number whose type is irrelevant."""
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
        """Render the arguments for Python's method."""
        for name, argument in self.given.items():
            if argument.pointer:
                dtype = self.types.get(name, argument.dtype) if name in self.row.void else argument.dtype
                shown = f"p_{name}" if name in self.row.operands else name
                yield f"a_pointer({shown}, {IDS[dtype] if dtype else -1})"
            elif self._whole(name):
                yield f"a_integer({_RESERVED.get(name, name)}, -1)"
            elif argument.dtype is not None and argument.dtype.kind == "float":
                yield f"a_float(GET_{self._suffix(name)}(g_{name}), {IDS[argument.dtype]})"
            else:
                yield f"a_integer((int64_t)g_{name}, {IDS[argument.dtype] if argument.dtype else -1})"

    def _values(self) -> Iterator[str]:
        """Yield the numbers as elements of the operands' type, converted by C; counts are left out."""
        row = self.row
        lead = self.types[row.same[0]] if row.same else next(iter(self.types.values()), None)
        for p in row.given:
            name = _RESERVED.get(p.name, p.name)
            if p.name in self.absent:
                if isinstance(p.default, int) and p.kind == "value" and lead is not None:
                    yield f"  T_{SUFFIX[lead.name]} {name} = 0;"
            elif not self.given[p.name].pointer and not self._whole(p.name):
                target = self.types.get(p.name) or lead
                yield f"  {self._converted(p.name, target, name, f'g_{p.name}')}"

    def _converted(self, name: str, target: DType | None, shown: str, given: str) -> str:
        dtype = self.given[name].dtype
        if dtype is None or target is None:
            raise Unknown(name)
        suffix = SUFFIX[target.name]
        if dtype is target:
            return f"T_{suffix} {shown} = {given};"
        # C leaves this undefined out of range, where Python's door saturates.
        if dtype.kind == "float" and target.kind != "float":
            raise Unknown(name)
        value = f"GET_{SUFFIX[dtype.name]}({given})"
        return f"T_{suffix} {shown} = PUT_{suffix}({value});"

    # -- checks ---------------------------------------------------------------------------------

    def _extent(self, o: Operand) -> str:
        return f"{self.formula(o.extent, o)} * {self.types[o.name].size}"

    def _checks(self) -> Iterator[actions.CheckAll | actions.Apart]:
        """Render the recipe's checks of the operands that are pointers in this call."""
        for action in self.actions:
            if isinstance(action, actions.Either) and action.operand.name not in self.scalars:
                yield action.check
                yield from action.apart
            elif isinstance(action, actions.CheckAll | actions.Apart):
                yield action

    @property
    def _idle(self) -> bool:
        """Return whether it has no effect on a memory core."""
        return actions.Refuse() in _recipe(self.use.row, self.arch, memory_core=True).actions

    def _conditions(self) -> Iterator[actions.Condition]:
        for action in self._checks():
            if isinstance(action, actions.CheckAll):
                yield from action.conditions

    def _broken(self) -> Iterator[str]:
        """Render the condition under which C leaves the call to Python."""
        if self._idle:
            yield "m->memory_core"
        counts = [
            _RESERVED.get(p.name, p.name)
            for p in self.row.given
            if p.kind == "count" and p.name in self.given
        ]
        for name in counts:
            yield f"(uint64_t){name} + {MOST} > {2 * MOST}"  # a single comparison for both signs
        if len(counts) > 2:
            yield f"{' * '.join(f'(1 + fabs((double){name}))' for name in counts)} > {MOST_PRODUCT}"
        for condition in self._conditions():
            yield from self._condition(condition)
        for action in self._checks():
            if isinstance(action, actions.Apart):
                source, target = action.source, action.target
                spans = f"a_{target.name}, {self._span(target)}, a_{source.name}, {self._span(source)}"
                yield f"laps({spans}, {int(action.how in ('exact', 'early', 'piece'))})"

    def _condition(self, condition: actions.Condition) -> Iterator[str]:
        """Render the negation of *condition*; types are known already."""
        if isinstance(condition, actions.Holds):
            yield to_c(condition.rule.fails, _leaf)
            return
        o = condition.operand
        match condition:
            case actions.OfKind():
                spaces = " && ".join(f"a_{o.name}.a->space != {s.name}" for s in condition.spaces)
                yield f"({spaces})" if len(condition.spaces) > 1 else spaces
            case actions.Filled():
                yield f"{self.formula(o.extent, o)} <= 0"
            case actions.Inside():
                yield from self._leaves(o)
            case actions.Writable():
                yield f"!a_{o.name}.a->writable"
            case actions.Aligned():
                nbytes = self._span(o) if o.partial else self._extent(o)
                yield f"((a_{o.name}.a->address + (uint64_t)a_{o.name}.o) % 64 || {nbytes} % 128)"

    def _leaves(self, o: Operand) -> Iterator[str]:
        touched = self._extent(o)
        if self.row.form == "strided":
            # Pieces that go backwards, or that overlap and are written, are left to Python.
            least = "0" if o.access == "read" else touched
            yield f"more_{o.name} < 0 || more_{o.name} > {strides.MOST} || (more_{o.name} && step_{o.name} < {least})"
            touched = self._span(o)
        yield f"out(a_{o.name}, {self.types[o.name].size if o.partial else touched})"

    def _span(self, o: Operand) -> str:
        """Render the bytes that *o* may access; if the data decide, they extend to the end of the memory."""
        if self.row.form == "strided":
            return f"(more_{o.name} * step_{o.name} + {self._extent(o)})"
        if not o.partial:
            return self._extent(o)
        return f"smaller_({self._extent(o)}, a_{o.name}.a->nbytes - a_{o.name}.o)"

    def _touched(self, o: Operand) -> Footprint:
        dtype, place = self.types[o.name], list(self.given).index(o.name)
        size = dtype.size
        if self.row.form == "strided":
            return Footprint(
                o, place, self._extent(o), size, f"more_{o.name}", f"step_{o.name}", shaped=bool(o.strides)
            )
        skip = o.step_on(self.arch.generation, size)
        if skip > 1:
            return Footprint(
                o,
                place,
                str(size),
                size,
                f"(({self.formula(o.extent, o)} + {skip - 1}) / {skip} - 1)",
                str(skip * size),
                shaped=True,
                dtype=dtype,
            )
        return Footprint(o, place, self._span(o), size, "0", "0", dtype=dtype)


# -- the charges of a recipe: an instruction's additions to the counters of its core ---------------------

PRODUCTS = 8  # products of the tensor unit that take about as long as a byte of a simple instruction


REPEATED = "  vectors_("


def charges(recipe: Sequence[object], call: "_Door", many: str = "1") -> Iterator[str]:
    """Render the lines that count one execution, and its work unless the operand is a number in *call*.

    Lines that begin with `REPEATED` count *many* executions.
    """
    charged = False
    for action in recipe:
        match action:
            case actions.ChargeVector(amount=amount) if amount.operand.name not in call.scalars:
                yield _vector(action, call, many)
                charged = True
            case actions.Count():
                counted = f"  m->counts[{call.number}]++;"
            case actions.ChargeScalar():
                yield f"{counted} m->work[W_SCALAR]++;"
                charged = True
            case actions.AccessScalar():
                yield from _access(action, counted, noted=call.mode is Mode.NOTED)
                charged = True
            case actions.ChargeTensor():
                yield f"{counted} {_tensor(action, call)}"
                charged = True
            case actions.ChargeTransfer(amount=amount) if amount.operand.name not in call.scalars:
                yield counted
                yield from _transfer(action, call)
                charged = True
    if not charged:
        yield counted


def _access(action: actions.AccessScalar, counted: str, *, noted: bool) -> Iterator[str]:
    """Yield C that accounts for loads and stores in the same way as through a pointer."""
    o = action.operand
    places = "loads" if action.stored is None else "stores"
    yield f"{counted} m->{places}[a_{o.name}.a->space]++;"
    if noted:
        yield f"  accesses_(m, site, {'' if action.stored is None else 'LOAD_PLACES + '}a_{o.name}.a->space);"
    if action.stored is None and any(s.shared for s in o.spaces):
        yield f"  m->site = site; poll_load(m, a_{o.name}.a->address + (uint64_t)a_{o.name}.o);"


def _vector(action: actions.ChargeVector, call: "_Door", many: str) -> str:
    """Return the lines of the vector unit; the function of the run-time counts the instruction too."""
    width = max(call.types[o.name].size for o in (action.width.lead, *action.width.beside))
    count = call.formula(action.amount.extent, action.amount.operand)
    used = f"{count} * {max(width, action.width.least)}"
    match action.passes:
        case Passes.TRANSPOSE:
            return f"  transpose_(m, {call.number}, {used}, {count});"
        case Passes.FUNCTION | Passes.EXPONENTIAL | Passes.REDUCTION | Passes.FUSION | Passes.POOLING:
            return f"  passes_(m, {call.number}, {used}, W_{action.passes.name}S);"
    return f"{REPEATED}m, {call.number}, {used}, {many});"


def _tensor(action: actions.ChargeTensor, call: "_Door") -> str:
    lead = action.amount.operand
    rate = macs(call.arch)[call.types[lead.name]]
    return (
        f"const int64_t products_ = {call.formula(action.amount.extent, lead)}; m->work[W_TENSOR] += products_; "
        f"m->work[W_TENSOR_CYCLES] += (products_ + {rate - 1}) / {rate} + {TENSOR_SETUP}; m->fuel -= products_ / {PRODUCTS};"
    )


def _transfer(action: actions.ChargeTransfer, call: "_Door") -> Iterator[str]:
    lead = action.amount.operand
    count = call.formula(action.amount.extent, lead)
    nbytes = f"{count} * {call.types[lead.name].size}"
    if action.pipe is Pipe.MOVE:
        yield f"  move_line(m, {IN_SRAM[action.direction.value]}, {nbytes});"
        return
    reads, writes = (int(sides[action.direction.value]) for sides in (READS, WRITES))
    yield f"  io_line(m, {reads}, {writes}, a_{lead.name}.o, a_{lead.name}.o, {nbytes});"
    if action.atomic:
        yield f"  m->work[W_ATOMICS] += {count}; m->work[W_CROWDED] += crowded({nbytes}, a_{lead.name}.a->nbytes);"


_PIPES = {"all": FOR_ALL, "io": FOR_IO, "move": FOR_MOVE}
# The rows that only wait for pipes, with these pipes.
WAITS: Mapping[str, int] = {
    row.name: _PIPES[row.native[1]] for row in ISA.values() if row.native and row.native[0] == "wait"
}
# The rows that wait for other cores, with the kind of core; Python knows the cores.
MEETS: Mapping[str, str] = {
    row.name: row.native[1] for row in ISA.values() if row.native and row.native[0] == "meet"
}
# Rows of vector registers, whose C is in registers.h.
REGISTER_MEMORY = frozenset(name for name in ISA if name.startswith(("vv_load", "vv_store")))
REGISTERS = frozenset({row.name for row in ISA.values() if row.form == "register"} | REGISTER_MEMORY)
# Rows that the run-time itself performs.
RUN_TIME = frozenset({"memcpy", "memcpy_async", "sync_compute", "is_mpu", "is_ipu", *WAITS, *REGISTERS})


@functools.cache
def barrier(name: str) -> tuple[str, str]:
    """Return the spelling and the scope of the barrier of row *name*."""
    asked: list[tuple[str, str]] = []
    ISA[name].body(lambda *call: asked.append(call))
    return asked[0]


def waits_for(row: Intrinsic, arch: Arch) -> int | None:
    """Return the pipes for which *row* only waits on *arch*; None if it does more, or waits for others than in C."""
    return None if arch.generation == 2 and row.name == "sync_copy_nram_to_nram" else WAITS.get(row.name)


def is_native(row: Intrinsic, arch: Arch) -> bool:
    """Return whether the native engine has *row* in C on *arch*, for at least one element type."""
    if row.name in WAITS:
        return waits_for(row, arch) is not None
    if row.name in RUN_TIME:
        return row.available(arch.bang_arch)
    return any(door(use, arch) is not None for use in _uses(row.name))


@functools.cache
def _uses(name: str) -> list[Use]:
    """Return the calls of the row *name* with operands of each type, without optional arguments."""
    row = ISA[name]
    lead = next(
        (o for o in row.operands.values() if o.name in row.same), next(iter(row.operands.values()), None)
    )
    uses = []
    for dtype in lead.dtypes if lead is not None else (float32, uint32):
        arguments = []
        for p in row.given:
            if p.default is None:
                break
            operand = row.operands.get(p.name)
            if operand is not None:
                fitting = [d for d in operand.dtypes if d.size == dtype.size] or operand.dtypes
                element = dtype if p.name in row.same or not fitting else fitting[0]
                arguments.append(NativeArgument(True, None if p.name in row.void else element))
            elif p.name == "pointer":
                arguments.append(NativeArgument(True, None))
            else:
                typed = p.kind == "value" or p.name in row.void.values()
                whole = not typed and (p.kind == "count" or bool(row.operands))
                arguments.append(NativeArgument(False, int32 if whole else dtype))
        uses.append(Use(row.name, tuple(arguments)))
    return uses
