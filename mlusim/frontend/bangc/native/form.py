"""The native form of a kernel of BANG C sources: its C, and what it is given."""

import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, NoReturn

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DTYPES, int8, int16, int32, int64
from mlusim.counted import plural
from mlusim.engine.contract import Mode
from mlusim.errors import Fault, LaunchError
from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.fitting import limits_of, packed_number, packed_structure
from mlusim.frontend.bangc.ir.walk import DEEP, circles
from mlusim.frontend.bangc.native import calls, emit
from mlusim.frontend.bangc.native.emit import CWalker, NoForm, ctype, dtype_of, literal, literal_bytes
from mlusim.frontend.bangc.native.statements import STATEMENTS, cell, function, prototype
from mlusim.frontend.bangc.native.values import VALUES, parts, registers_in_union, stamped, uses_registers
from mlusim.frontend.bangc.runtime.core import by_zero, no_code, too_deep
from mlusim.frontend.bangc.runtime.layouts import lock, no_class, pure
from mlusim.frontend.bangc.runtime.library import LIBRARY
from mlusim.frontend.bangc.runtime.pointers import Address, TextPointer, beyond, no_number, too_far
from mlusim.frontend.bangc.runtime.variables import VariableOfC
from mlusim.frontend.bangc.scalars import converted
from mlusim.kernel_frames import own_file
from mlusim.machine.native.core import NativeCore
from mlusim.machine.native.run import CIRCLES, FRAMES, Loaded, NativeProgram, Word, assemble, vector_registers
from mlusim.machine.native.text.door import REGISTERS
from mlusim.machine.native.text.layout import CELL_BYTES, DEEP_CELL_BYTES, LITERAL, MOST_CELLS
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import LDRAM, NRAM, SRAM, WRAM

if TYPE_CHECKING:
    from mlusim.frontend.bangc.link import LinkPlan


# By the numbers that scalars.h gives FAULT_CELLS and those behind it.
FAULTS: tuple[Callable[..., Fault], ...] = (too_deep, by_zero, too_deep, beyond, no_number, no_class, too_far)
MASK = (1 << 64) - 1
SIZED = {d.size: d for d in (int8, int16, int32, int64)}  # elements of so many bytes
_SPACES = {
    "nram": NRAM,
    "wram": WRAM,
    "sram": SRAM,
    "ldram": LDRAM,
    "": LDRAM,
}  # "": an array of a function, on its stack


class CProgram(CWalker):
    """A program while it is rendered in C, by the tables of this room."""

    values, statements = {**VALUES, **calls.CALLS}, STATEMENTS


class BangForm:
    """The ``native`` form of a kernel: made once for each architecture; ``problem`` says why there is none."""

    def __init__(self, form: ir.Function, plan: "Callable[[], LinkPlan]", bang_arch: int) -> None:
        self.form = form
        self._plan = plan
        self._bang_arch = bang_arch
        self._made: dict[tuple[str, Mode, bool], NativeProgram | None] = {}
        self._places: list[Any] = []
        self._whole = [limits_of(p) for p in form.parameters]
        self.problem: str | None = None

    def program(self, arch: Arch, mode: Mode = Mode.ALONE, *, covered: bool = False) -> NativeProgram | None:
        """Return the kernel's C for *arch*; None where something in it has none.

        A screened one ends where checkers may have something to report, a *covered* one of any mode counts what it passes.
        """
        key = arch.name, mode, covered
        if key not in self._made:
            try:
                self._made[key] = self._render(arch, mode, covered)
            except NoForm as why:
                if mode is Mode.ALONE:  # the others have fewer forms, and Python runs the rest
                    self.problem = str(why)
                self._made[key] = None
        return self._made[key]

    def loaded(
        self,
        arch: Arch,
        compiler: tuple[str, ...] | None = None,
        mode: Mode = Mode.ALONE,
        *,
        covered: bool = False,
    ) -> Loaded | None:
        """Return the kernel's C for *arch*, compiled by *compiler*, or by the one there is, and loaded, for one launch.

        None where something in it has no C.
        """
        program = self.program(arch, mode, covered=covered)
        return None if program is None else Loaded(self, program, compiler)

    def _refuse(self, arch: Arch, plan: "LinkPlan") -> None:
        """Raise `NoForm` if no C can be rendered, whatever the functions contain."""
        if arch.bang_arch != self._bang_arch:
            raise NoForm("another architecture than the one it was loaded for")
        for p in self.form.parameters:
            if not isinstance(p.type, t.Arithmetic | t.Pointer | t.Record):
                raise NoForm(f"an argument of {p.type}")
        if plan.absent:
            raise NoForm(f"a call of {next(iter(plan.absent))}, which does not translate")

    def _render(self, arch: Arch, mode: Mode, covered: bool) -> NativeProgram:
        plan = self._plan()
        self._refuse(arch, plan)
        c = CProgram(
            arch=arch,
            pointed={symbol: n for n, symbol in enumerate(plan.pointed)},
            mode=mode,
            checked=mode is Mode.SCREENED,
            covered=covered,
        )
        forms = [part.file.form.functions[s] for part in plan.parts for s in part.code]
        variables = [(part, v) for part in plan.parts for v in _variables(part)]
        for _, variable in variables:
            c.place(variable)
        called = calls.called_functions(forms, tuple(plan.pointed))
        deep = circles(called)
        bodies, more = [], list[tuple[str, int]]()
        for f in forms:
            bodies.append(function(c, f, calls=bool(called[f.symbol]), recursive=f.symbol in deep))
            more += [(f.symbol, local.type.size) for local in c.addressed]
        first = [line for part, v in variables if not v.space for line in _constant(c, part, v)]
        cells = [local for local in c.statics.values() if emit.in_cell(local)]
        first += [f"  PLACES_(m)[{c.static(local)}] = {_zeros(c, local.type)};" for local in cells]
        more += [("", local.type.size) for local in cells]
        more += [("", v.type.size) for _, v in variables if not v.space]
        first = [*_literals(c), *first]
        more += [("", len(literal_bytes(text))) for text in c.literals]
        heads = [f"{prototype(f)};" for f in forms]
        by_pointer = [*calls.pointer_bodies(c, {f.symbol: f for f in forms}), *calls.class_bodies(c)]
        heads += [*calls.pointer_heads(c), *calls.class_heads(c)]
        check_room(forms, bodies, deep, more)
        kinds = _records("".join((*heads, *bodies, *first)))
        if any(uses_registers(f) for f in forms) or not REGISTERS.isdisjoint(plan.rows):
            kinds.insert(0, _registers(mode, forms))
        text = "\n".join([*kinds, *heads, *bodies, *by_pointer, self._entry(first)])
        self._places = list(c.places)
        return NativeProgram(
            assemble(arch, calls.uses(c), text, mode),
            "mlusim_enter",
            self._sites(c),
            list(c.texts),
            [self._function(n) for n in c.library],
            recursive=bool(deep),
            mode=mode,
            crowded=frozenset(
                at for at, calls in c.calls.items() if any(call is not calls[0] for call in calls)
            ),
            followed=(tuple(c.symbols), tuple(c.locals)),
            covers=tuple(c.covers),
            changes=tuple(c.changes),
        )

    def _sites(self, c: CWalker) -> Sequence[tuple[str, int]]:
        """Return the lines that the places in *c* mean.  Raises `NoForm` where instructions that are noted belong to the lines that call their function."""
        if c.mode is Mode.NOTED and any(own_file(file) for file, _ in c.sites):
            raise NoForm("a function of mlusim's own")
        return list(c.sites) or [(self.form.span.file, self.form.span.line)]

    def _entry(self, first: Sequence[str]) -> str:
        arguments, records, at = [], "", 0
        for n, p in enumerate(self.form.parameters):
            arguments.append(f"a_{n}" if isinstance(p.type, t.Record) else _taken(f"w[{at}]", p.type))
            if isinstance(p.type, t.Record):
                records += f"  {ctype(p.type)} a_{n}; memcpy(&a_{n}, w + {at}, sizeof a_{n});\n"
            at += _many(p.type)
        return (
            '#line 1 "entry"\nstatic __attribute__((noinline)) void begun_(Core *m, const uint64_t *w) {\n  (void)w;\n'
            f"{records}"
            f"{_FRAME if first else ''}{''.join(first)}"
            f"  k_{self.form.symbol}({', '.join(['m', *arguments])});\n}}\n"
            "VISIBLE void mlusim_enter(Core *m, const uint64_t *w) {\n"
            "  if (setjmp(*(jmp_buf *)m->jump)) return;\n  BEGIN_(m);\n"  # a fault comes back here by longjmp
            '  begun_(m, w);\n  __asm__ volatile("" ::: "memory");\n}\n'  # a frame of its own, which the stack begins below
        )

    # -- while it runs ---------------------------------------------------------------------------

    @property
    def constants(self) -> tuple[bool, ...]:
        """For each parameter, whether it is written as a pointer to what is const."""
        return tuple(
            isinstance(p.type, t.Pointer) and "const" in p.spelling.partition("*")[0].split()
            for p in self.form.parameters
        )

    def numbers(self, arguments: Sequence[Any], word: Word) -> list[int] | None:
        """Return the *arguments*, which fit, as words of 64 bits; *word* names a tensor, or a pointer.  None where one is a structure."""
        words: list[int] = []
        for a, p, (low, high) in zip(arguments, self.form.parameters, self._whole, strict=True):
            if a.__class__ is int and low <= a <= high:
                words.append(a & MASK)
            elif isinstance(a, DeviceTensor | Ptr):
                words.append(word(a))
            elif isinstance(p.type, t.Record):
                return None
            else:
                words.append(_word(a, p, word))
        return words

    def words(self, core: NativeCore, arguments: Sequence[Any], word: Word) -> tuple[list[int], list[int]]:
        """Return the arguments as words of 64 bits, and the variables at file scope, which are declared here."""
        if len(arguments) != len(self.form.parameters):
            raise LaunchError(
                f"{self.form.name} takes {len(self.form.parameters)} {plural(len(self.form.parameters), 'argument')}, not {len(arguments)}"
            )
        places = [
            self._declared(core, place) if isinstance(place, ir.Global) and place.space else 0
            for place in self._places
        ]
        words: list[int] = []
        for a, p, (low, high) in zip(arguments, self.form.parameters, self._whole, strict=True):
            if isinstance(p.type, t.Record):
                raw = packed_structure(a, p.type, word)
                # Padded to whole words.
                words += struct.unpack(f"={_many(p.type)}Q", raw + bytes(-len(raw) % 8))
            else:
                words.append(a & MASK if a.__class__ is int and low <= a <= high else _word(a, p, word))
        return words, places

    def _declared(self, core: NativeCore, variable: Any) -> int:
        """Return the pointer to memory that is declared at the variable's own line."""
        kind, span = variable.type, variable.span
        if variable.space == ir.GDRAM:
            number = list(self._plan().variables).index(variable)
            tensor = core.session.request.variables[number]
            return core.pointer(core.bind(tensor.allocation, tensor.dtype))
        leaf = dtype_of(kind)
        dtype = leaf or DTYPES[7]  # uint8, for records and pointers
        count = kind.size // dtype.size
        with core.declaring(span.file, span.line):
            if variable.space == "sram":
                pointer = core.declare_shared(dtype, count, variable.name, align=variable.align)
            else:
                pointer = core.declare(
                    _SPACES[variable.space],
                    dtype,
                    count,
                    variable.initial,
                    variable.name,
                    align=variable.align,
                )
            if variable.fixed:
                lock(pointer)
        return core.pointer(pointer)

    def _function(self, name: str) -> Callable[..., Any]:
        if name == "__declare":
            return self._local
        if name in _OWN:
            return _OWN[name]
        if name not in LIBRARY:
            raise NoForm(f"a call of {name}")
        return lambda _core, *values: LIBRARY[name](*values)

    def _local(self, core: NativeCore, place: int) -> Any:
        """Declare the memory of a local array when control first reaches its declaration, and return it."""
        _, local = self._places[place]
        kind = local.type
        dtype = dtype_of(kind) or DTYPES[7]
        count = kind.size // dtype.size
        space, name = _SPACES[local.space], local.source_name
        return core.declare_local(place, space, dtype, count, name, stack=local.stack, align=local.align)

    @staticmethod
    def nowhere(number: int, offset: int, size: int, nbytes: int, element: int, words: str) -> Any:
        """Return a pointer to no memory of the board, whose uses Python refuses: an address, or a variable that is kept in a register.

        It is *offset* bytes into what has *nbytes* and the *number*, and its own elements have *size* bytes.  *element* is
        that of an array's elements, 0 of a number or a pointer, and the negative size of a record.  *words* name a constant,
        which a store does not change; they are "" for what may change.
        """
        if element == LITERAL:
            return TextPointer.at(literal_bytes(words), offset, SIZED[size])
        if number == 0:
            return Address(offset, size)
        return VariableOfC(offset, size, nbytes, element, words)

    @staticmethod
    def fault(why: int, *values: int) -> Fault:
        """Return the fault for an operation that C leaves undefined: *why* is a number of `scalars.h`, which says what the *values* are."""
        return FAULTS[why](*values)


def _lock(core: NativeCore, pointer: Ptr) -> Ptr:
    """Let the static array that *pointer* leads to be a constant, now that it has its values."""
    lock(pointer)
    core.described_again(pointer)
    return pointer


def _no_code(_core: NativeCore, pointer: object) -> NoReturn:
    if isinstance(pointer, Address):
        pointer()
    raise no_code()


# What C calls Python for by a name of its own.
_OWN: Mapping[str, Callable[..., Any]] = {
    "__no_code": _no_code,
    "__pure": lambda _core, name: pure(name),
    "__lock": _lock,
}


def _variables(part: Any) -> list[ir.Global]:
    globals_ = part.file.form.globals
    return sorted((globals_[s] for s in part.symbols), key=lambda g: (g.span.file, g.span.line))


_FRAME = "  Frame f_ __attribute__((cleanup(leave_))) = enter_(m);\n"


def _zeros(c: CProgram, kind: t.Type) -> str:
    """Return C that makes the cell of a variable that begins as zeros."""
    stamps = stamped(c, kind, "at(see(m, p_))")
    return f"({{ Ptr p_ = {cell(kind)}; memset(at(see(m, p_)), 0, {kind.size}); {stamps} p_; }})"


def _constant(c: CProgram, part: Any, variable: ir.Global) -> Iterator[str]:
    """Yield the lines that make a variable at file scope that is not memory of the device."""
    kind, place = variable.type, f"PLACES_(m)[{c.place(variable)}]"
    yield f"  {place} = {_zeros(c, kind)};"
    expression = part.file.form.initialisers.get(variable.symbol)
    if expression is not None:
        stores = " ".join(parts(c, "b_", kind, 0, expression))
        yield f" {{ uint8_t *b_ = at(see(m, {place})); (void)b_; {stores} }}\n"
    elif variable.initial is not None:
        yield from _scalars(kind, iter(variable.initial), place, 0)
    if variable.fixed:
        yield f"  fixed_(m, {place}, {c.text(variable.fixed)});\n"


def _scalars(kind: t.Type, values: Iterator[Any], place: str, offset: int) -> Iterator[str]:
    """Yield the stores of the numbers of a *kind*, in order, *offset* bytes into the cell at *place*."""
    if isinstance(kind, t.Array):
        for n in range(kind.count):
            yield from _scalars(kind.of, values, place, offset + n * kind.of.size)
    elif isinstance(kind, t.Record):
        for part in kind.fields:
            yield from _scalars(part.type, values, place, offset + part.offset)
    else:
        value = next(values, 0)
        if not (value is None or isinstance(value, int | float)):
            raise NoForm("this initial value")
        text = literal(value, kind)
        yield f" {{ {ctype(kind)} i_ = {text}; memcpy(at(see(m, {place})) + {offset}, &i_, sizeof i_); }}\n"


def _many(kind: t.Type) -> int:
    """Return the words that an argument of *kind* takes."""
    return -(-kind.size // 8) if isinstance(kind, t.Record) else 1


def _taken(word: str, kind: t.Type) -> str:
    """Render an argument of the kernel from its word."""
    if isinstance(kind, t.Arithmetic) and kind.kind == "float":
        # Its bits lie in the word; a cast would convert the number.
        return f"(*(const {ctype(kind)} *)&{word})"
    return f"({ctype(kind)}){word}"


def _word(argument: object, parameter: ir.Local, word: Word) -> int:
    """Return a kernel's argument as 64 bits."""
    kind = parameter.type
    if isinstance(kind, t.Pointer):
        return word(argument) if isinstance(argument, Ptr) else 0
    if not isinstance(kind, t.Arithmetic):
        raise LaunchError(f"{parameter.source_name} of {kind} has no form in C")
    value = argument.item() if hasattr(argument, "item") else argument
    if not isinstance(value, int | float):
        raise LaunchError(
            f"{parameter.source_name} of {kind} at {parameter.span} is given {argument!r:.80}; give a number"
        )
    if kind.kind != "float":
        return int(converted(value, kind)) & MASK
    return int.from_bytes(packed_number(value, kind), "little")


def _records(text: str) -> list[str]:
    """Return the declarations of the records by value that *text* names, which are bytes to it."""
    return [
        f"typedef struct {{ uint8_t b[{n}]; }} R_{n};"
        for n in sorted({int(n) for n in RECORDS.findall(text)})
    ]


def _registers(mode: Mode, forms: Sequence[ir.Function]) -> str:
    """Return the C of vector registers, which *forms* use."""
    if any(registers_in_union(local.type) for f in forms for local in f.locals):
        raise NoForm("a union with vectors in registers")
    if mode is not Mode.ALONE:
        raise NoForm("vector registers, of which only Python knows whether they have a value")
    return vector_registers()


def _literals(c: CWalker) -> Iterator[str]:
    """Render what the beginning of the kernel stores: each string literal once, outside of simulated memory."""
    for text, place in c.literals.items():
        content = literal_bytes(text)
        numbers = ",".join(map(str, content))
        yield (
            f"  {{ static const uint8_t s_[] = {{{numbers}}}; Ptr p_ = cell_(m, {len(content)}, {LITERAL});"
            f" memcpy(at(see(m, p_)), s_, sizeof s_); PLACES_(m)[{place}] = fixed_(m, p_, {c.text(text)}); }}\n"
        )


# The room of a kernel's functions: their values on the stack, and their variables with addresses.

RECORDS = re.compile(r"\bR_(\d+)\b")  # where C holds a record of so many bytes by value


def check_room(
    forms: Sequence[ir.Function],
    bodies: Sequence[str],
    deep: AbstractSet[str],
    more: Sequence[tuple[str, int]],
) -> None:
    """Raise `NoForm` where *bodies*, the C of *forms*, may need more than there is.

    Each mention of a record is one on the stack and one on its way to a call; functions in *deep* are inside
    themselves as often as calls can be.  *more* are further variables with addresses: a function of each, "" for none,
    and the bytes.
    """
    sizes = {f.symbol: [int(n) for n in RECORDS.findall(text)] for f, text in zip(forms, bodies, strict=True)}
    plain = sum(2 * sum(of_function) for symbol, of_function in sizes.items() if symbol not in deep)
    level = sum(2 * sum(sizes[symbol]) for symbol in deep)
    if max(plain, level) > FRAMES or level * DEEP > CIRCLES:
        largest = max(n for of_function in sizes.values() for n in of_function)
        raise NoForm(f"records by value of {largest} {plural(largest, 'byte')}, which fill the stack")
    cells = [(f.symbol in deep, p.type.size + 15) for f in forms for p in f.locals if emit.in_frame(p)]
    cells += [(symbol in deep, size + 15) for symbol, size in more]
    nbytes = sum(size * (DEEP if inside else 1) for inside, size in cells)
    if (
        nbytes > (DEEP_CELL_BYTES if deep else CELL_BYTES)
        or sum(DEEP if inside else 1 for inside, _ in cells) > MOST_CELLS
    ):
        raise NoForm(
            f"variables with addresses of {nbytes} {plural(nbytes, 'byte')} in functions that are inside each other"
        )
