"""The native form of a BANG C kernel: its C program, and the arguments and variables for a launch."""

import functools
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence, Set as AbstractSet
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DTYPES, int8, int16, int32, int64
from mlusim.bangc import ir, types as t
from mlusim.bangc.fitting import limits_of, packed_number, packed_structure
from mlusim.bangc.ir.leaving import STAYING, Outliving
from mlusim.bangc.ir.walk import DEEP, circles
from mlusim.bangc.native import calls, emit, returning
from mlusim.bangc.native.emit import CWalker, NoForm, ctype, dtype_of, literal, literal_bytes, word_lists
from mlusim.bangc.native.joining import Joining
from mlusim.bangc.native.statements import STATEMENTS, cell, function, prototype
from mlusim.bangc.native.values import VALUES, parts, registers_in_union, stamped, uses_registers
from mlusim.bangc.runtime.core import by_zero, no_code, too_deep
from mlusim.bangc.runtime.ended import EndedVariable
from mlusim.bangc.runtime.layouts import lock, no_class, pure
from mlusim.bangc.runtime.library import LIBRARY
from mlusim.bangc.runtime.pointers import Address, TextPointer, beyond, no_number, too_far
from mlusim.bangc.runtime.variables import VariableOfC
from mlusim.bangc.scalars import converted
from mlusim.counted import plural
from mlusim.engine.contract import Mode
from mlusim.errors import Fault, LaunchError
from mlusim.kernel_frames import own_file
from mlusim.machine.native.core import NativeCore, marks
from mlusim.machine.native.run import CIRCLES, FRAMES, Loaded, NativeProgram, Word, assemble, vector_registers
from mlusim.machine.native.text.door import REGISTERS
from mlusim.machine.native.text.joined import Joined, JoinedCall
from mlusim.machine.native.text.layout import CELL_BYTES, DEEP_CELL_BYTES, LITERAL, MOST_CELLS, MOST_OUTLIVED
from mlusim.machine.native.text.screen import Returns
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import LDRAM, NRAM, SRAM, WRAM

if TYPE_CHECKING:
    from mlusim.bangc.link import LinkPlan


# Indexed by the number that scalars.h gives the fault, from FAULT_CELLS on.
FAULTS: tuple[Callable[..., Fault], ...] = (too_deep, by_zero, too_deep, beyond, no_number, no_class, too_far)
MASK = (1 << 64) - 1
SIZED = {d.size: d for d in (int8, int16, int32, int64)}  # integer element types by size in bytes
_SPACES = {
    "nram": NRAM,
    "wram": WRAM,
    "sram": SRAM,
    "ldram": LDRAM,
    "": LDRAM,
}  # "": a local array on the stack


@define(eq=False)
class CProgram(CWalker):
    """A program during its rendering in C; the walker with this room's tables."""

    values, statements = {**VALUES, **calls.CALLS}, STATEMENTS
    joined: Joined | None = None

    def body(self, nodes: Sequence[ir.Statement]) -> list[str]:
        """Render statements in order, instructions that can be joined as one call."""
        joining: Joining[JoinedCall] | None = self.joining
        return super().body(nodes) if joining is None else joining.body(self, nodes, super().body)

    def joined_functions(self) -> Iterator[str]:
        """Yield the functions that perform several instructions."""
        yield from () if self.joined is None else self.joined.texts.values()

    def join(self, functions: Mapping[str, ir.Function]) -> None:
        """Let instructions of *functions* be joined."""
        self.joined = joined = Joined(self.arch, self.mode)
        translated = functools.partial(calls.joined_call, self)
        self.joining = Joining(functions, translated, joined.fits, joined.call, strict=self.checked)


def _walker(
    arch: Arch, plan: "LinkPlan", functions: Mapping[str, ir.Function], mode: Mode, *, covered: bool
) -> CProgram:
    """Return the walker for a program of *functions*; where each instruction counts by itself, none are joined."""
    c = CProgram(
        arch=arch,
        pointed={symbol: n for n, symbol in enumerate(plan.pointed)},
        mode=mode,
        checked=mode is Mode.SCREENED,
        covered=covered,
    )
    if mode in (Mode.ALONE, Mode.SCREENED) and not covered:
        c.join(functions)
    return c


def nowhere(number: int, offset: int, size: int, nbytes: int, element: int, words: str) -> Any:
    """Return a pointer to no memory, whose uses Python refuses: an invalid address, or a variable in a register.

    It points *offset* bytes into the variable *number* of *nbytes* bytes, with elements of *size* bytes.
    *element* is the size of an array's elements, 0 for a number or a pointer, and the negative size of a
    struct. *words* describe a constant; they are "" for a variable that may change. A variable that has ended
    has less than no bytes, and its *words* say so.
    """
    if nbytes < 0:
        return EndedVariable(words)
    if element == LITERAL:
        return TextPointer.at(literal_bytes(words), offset, SIZED[size])
    if number == 0:
        return Address(offset, size)
    return VariableOfC(offset, size, nbytes, element, words)


def fault(why: int, *values: int) -> Fault:
    """Return the fault for an undefined operation; *why* is a number from `scalars.h`, which defines the meaning of *values*."""
    return FAULTS[why](*values)


class BangForm:
    """The ``native`` form of a kernel, rendered once per architecture; ``problem`` says why it has no C program."""

    def __init__(self, form: ir.Function, plan: "Callable[[], LinkPlan]", bang_arch: int) -> None:
        self.form = form
        self._plan = plan
        self._bang_arch = bang_arch
        self._made: dict[tuple[str, Mode, bool], NativeProgram | None] = {}
        self._places: list[Any] = []
        self._whole = [limits_of(p) for p in form.parameters]
        self.problem: str | None = None

    def program(self, arch: Arch, mode: Mode = Mode.ALONE, *, covered: bool = False) -> NativeProgram | None:
        """Return the kernel's C program for *arch*, or None if it cannot be rendered.

        A screened program stops at a possible finding of a checker; a *covered* program, of any mode, counts
        statements and outcomes.
        """
        key = arch.name, mode, covered
        if key not in self._made:
            try:
                self._made[key] = self._render(arch, mode, covered)
            except NoForm as why:
                if mode is Mode.ALONE:  # other modes support fewer kernels; Python runs the rest
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
        """Return the kernel's C program for *arch*, compiled by *compiler* (or the default one) and loaded for a launch.

        None if it cannot be rendered.
        """
        program = self.program(arch, mode, covered=covered)
        return None if program is None else Loaded(program, compiler)

    def _refuse(self, arch: Arch, plan: "LinkPlan") -> None:
        """Raise `NoForm` for reasons that do not depend on the bodies of functions."""
        if arch.bang_arch != self._bang_arch:
            raise NoForm("another architecture than the one it was loaded for")
        for p in self.form.parameters:
            if not isinstance(p.type, t.Arithmetic | t.Pointer | t.Struct):
                raise NoForm(f"an argument of {p.type}")
        if plan.absent:
            raise NoForm(f"a call of {next(iter(plan.absent))}, which does not translate")

    def _render(self, arch: Arch, mode: Mode, covered: bool) -> NativeProgram:
        plan = self._plan()
        self._refuse(arch, plan)
        forms = [part.file.form.functions[s] for part in plan.parts for s in part.code]
        by_symbol = {f.symbol: f for f in forms}
        c = _walker(arch, plan, by_symbol, mode, covered=covered)
        variables = [(part, v) for part in plan.parts for v in _variables(part)]
        for _, variable in variables:
            c.place(variable)
        called = calls.called_functions(forms, tuple(plan.pointed))
        deep = circles(called)
        c.reaching = returning.reaching(self.form, forms, called) if c.checked else frozenset()
        bodies, more = [], list[tuple[str, int]]()
        for f in forms:
            c.outliving = plan.leaving.get(f.symbol, STAYING)
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
        by_pointer = [*calls.pointer_bodies(c, by_symbol), *calls.class_bodies(c)]
        heads += [*calls.pointer_heads(c), *calls.class_heads(c)]
        check_room(forms, bodies, deep, more, plan.leaving)
        kinds = [*_structs("".join((*heads, *bodies, *first))), *word_lists(c)]
        if any(uses_registers(f) for f in forms) or not REGISTERS.isdisjoint(plan.rows):
            kinds.insert(0, _registers(mode, forms))
        text = "\n".join([*kinds, *c.joined_functions(), *heads, *bodies, *by_pointer, self._entry(first)])
        self._places = list(c.places)
        return NativeProgram(
            assemble(arch, calls.uses(c), text, mode),
            "mlusim_enter",
            self._sites(c),
            list(c.texts),
            [self._function(n) for n in c.library],
            fault=fault,
            nowhere=nowhere,
            recursive=bool(deep),
            mode=mode,
            crowded=frozenset(at for at, rows in c.calls.items() if any(row is not rows[0] for row in rows)),
            followed=(tuple(c.symbols), tuple(c.locals)),
            covers=tuple(c.covers),
            changes=tuple(c.changes),
            returns=_returns(c, forms, set(plan.pointed)),
        )

    def _sites(self, c: CWalker) -> Sequence[tuple[str, int]]:
        """Return the source lines of the sites in *c*. Raises `NoForm` if recorded instructions belong to a helper of mlusim's."""
        if c.mode is Mode.NOTED and any(own_file(file) for file, _ in c.sites):
            raise NoForm("a function of mlusim's own")
        return list(c.sites) or [(self.form.span.file, self.form.span.line)]

    def _entry(self, first: Sequence[str]) -> str:
        arguments, structs, at = [], "", 0
        for n, p in enumerate(self.form.parameters):
            arguments.append(f"a_{n}" if isinstance(p.type, t.Struct) else _taken(f"w[{at}]", p.type))
            if isinstance(p.type, t.Struct):
                structs += f"  {ctype(p.type)} a_{n}; memcpy(&a_{n}, w + {at}, sizeof a_{n});\n"
            at += _many(p.type)
        return (
            '#line 1 "entry"\nstatic __attribute__((noinline)) void begun_(Core *m, const uint64_t *w) {\n  (void)w;\n'
            f"{structs}"
            f"{_FRAME if first else ''}{''.join(first)}"
            f"  k_{self.form.symbol}({', '.join(['m', *arguments])});\n}}\n"
            "VISIBLE void mlusim_enter(Core *m, const uint64_t *w) {\n"
            "  if (setjmp(*(jmp_buf *)m->jump)) return;\n  BEGIN_(m);\n"  # a fault returns here by longjmp
            '  begun_(m, w);\n  __asm__ volatile("" ::: "memory");\n}\n'  # a separate frame, below which the stack begins
        )

    # -- while it runs ---------------------------------------------------------------------------

    @property
    def constants(self) -> tuple[bool, ...]:
        """For each parameter, whether it is a pointer to const."""
        return tuple(
            isinstance(p.type, t.Pointer) and "const" in p.spelling.partition("*")[0].split()
            for p in self.form.parameters
        )

    def numbers(self, arguments: Sequence[Any], word: Word) -> list[int] | None:
        """Return the *arguments*, which fit, as 64-bit words; *word* converts a tensor or a pointer. None if one is a structure."""
        words: list[int] = []
        for a, p, (low, high) in zip(arguments, self.form.parameters, self._whole, strict=True):
            if a.__class__ is int and low <= a <= high:
                words.append(a & MASK)
            elif isinstance(a, DeviceTensor | Ptr):
                words.append(word(a))
            elif isinstance(p.type, t.Struct):
                return None
            else:
                words.append(_word(a, p, word))
        return words

    def words(self, core: NativeCore, arguments: Sequence[Any], word: Word) -> tuple[list[int], list[int]]:
        """Return the arguments as 64-bit words, and the pointers to variables at file scope, which are declared here."""
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
            if isinstance(p.type, t.Struct):
                raw = packed_structure(a, p.type, word)
                # Padded to whole words.
                words += struct.unpack(f"={_many(p.type)}Q", raw + bytes(-len(raw) % 8))
            else:
                words.append(a & MASK if a.__class__ is int and low <= a <= high else _word(a, p, word))
        return words, places

    def _declared(self, core: NativeCore, variable: Any) -> int:
        """Declare the memory of a variable at file scope, at its source line, and return its pointer."""
        kind, span = variable.type, variable.span
        if variable.space == ir.GDRAM:
            number = list(self._plan().variables).index(variable)
            tensor = core.machine.request.variables[number]
            return core.pointer(core.bind(tensor.allocation, tensor.dtype))
        leaf = dtype_of(kind)
        dtype = leaf or DTYPES[7]  # uint8, for structs and pointers
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
        """Declare the memory of a local array, when its declaration is first reached, and return it."""
        _, local = self._places[place]
        kind = local.type
        dtype = dtype_of(kind) or DTYPES[7]
        count = kind.size // dtype.size
        space, name = _SPACES[local.space], local.source_name
        return core.declare_local(place, space, dtype, count, name, stack=local.stack, align=local.align)


@marks
def _lock(core: NativeCore, pointer: Ptr) -> Ptr:
    """Make the static array at *pointer* constant, after its values were stored."""
    lock(pointer)
    core.described_again(pointer)
    return pointer


def _no_code(_core: NativeCore, pointer: object) -> NoReturn:
    if isinstance(pointer, Address):
        pointer()
    raise no_code()


# Python functions that C calls by name.
_OWN: Mapping[str, Callable[..., Any]] = {
    "__no_code": _no_code,
    "__pure": lambda _core, name: pure(name),
    "__lock": _lock,
}


def _variables(part: Any) -> list[ir.Global]:
    globals_ = part.file.form.globals
    return sorted((globals_[s] for s in part.symbols), key=lambda g: (g.span.file, g.span.line))


def _returns(c: CProgram, forms: Sequence[ir.Function], pointed: AbstractSet[str]) -> Returns | None:
    """Return the returns that a screen can follow; None if there are others."""
    if any(returning.hidden(c.reaching, form, pointed) for form in forms):
        return None
    return Returns(tuple(c.returns), tuple(c.reached))


_FRAME = "  Frame f_ __attribute__((cleanup(leave_))) = enter_(m);\n"


def _zeros(c: CProgram, kind: t.Type) -> str:
    """Return C that creates the cell of a variable, filled with zeros."""
    stamps = stamped(c, kind, "at(see(m, p_))")
    return f"({{ Ptr p_ = {cell(c, kind)}; memset(at(see(m, p_)), 0, {kind.size}); {stamps} p_; }})"


def _constant(c: CProgram, part: Any, variable: ir.Global) -> Iterator[str]:
    """Yield the lines that create a variable at file scope outside device memory."""
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
    """Yield the stores of the numbers in a *kind*, in order, *offset* bytes into the cell at *place*."""
    if isinstance(kind, t.Array):
        for n in range(kind.count):
            yield from _scalars(kind.of, values, place, offset + n * kind.of.size)
    elif isinstance(kind, t.Struct):
        for part in kind.fields:
            yield from _scalars(part.type, values, place, offset + part.offset)
    else:
        value = next(values, 0)
        if not (value is None or isinstance(value, int | float)):
            raise NoForm("this initial value")
        text = literal(value, kind)
        yield f" {{ {ctype(kind)} i_ = {text}; memcpy(at(see(m, {place})) + {offset}, &i_, sizeof i_); }}\n"


def _many(kind: t.Type) -> int:
    """Return the number of words for an argument of *kind*."""
    return -(-kind.size // 8) if isinstance(kind, t.Struct) else 1


def _taken(word: str, kind: t.Type) -> str:
    """Render a kernel argument from its word."""
    if isinstance(kind, t.Arithmetic) and kind.kind == "float":
        # The bits are in the word; a cast would convert the number.
        return f"(*(const {ctype(kind)} *)&{word})"
    return f"({ctype(kind)}){word}"


def _word(argument: object, parameter: ir.Local, word: Word) -> int:
    """Return a kernel argument as a 64-bit word."""
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


def _structs(text: str) -> list[str]:
    """Return the C declarations of the by-value structs that *text* uses; in C they are byte arrays."""
    return [
        f"typedef struct {{ uint8_t b[{n}]; }} R_{n};"
        for n in sorted({int(n) for n in STRUCTS.findall(text)})
    ]


def _registers(mode: Mode, forms: Sequence[ir.Function]) -> str:
    """Return the C code for vector registers, which *forms* use."""
    if any(registers_in_union(local.type) for f in forms for local in f.locals):
        raise NoForm("a union with vectors in registers")
    if mode is not Mode.ALONE:
        raise NoForm("vector registers, of which only Python knows whether they have a value")
    return vector_registers()


def _literals(c: CWalker) -> Iterator[str]:
    """Render the code at the kernel's start that stores each string literal once, outside simulated memory."""
    for text, place in c.literals.items():
        content = literal_bytes(text)
        numbers = ",".join(map(str, content))
        yield (
            f"  {{ static const uint8_t s_[] = {{{numbers}}}; Ptr p_ = cell_(m, {len(content)}, {LITERAL});"
            f" memcpy(at(see(m, p_)), s_, sizeof s_); PLACES_(m)[{place}] = fixed_(m, p_, {c.text(text)}); }}\n"
        )


# Stack space of a kernel's functions: by-value structs, and variables with addresses.

STRUCTS = re.compile(r"\bR_(\d+)\b")  # a by-value struct of that many bytes in C


def check_room(
    forms: Sequence[ir.Function],
    bodies: Sequence[str],
    deep: AbstractSet[str],
    more: Sequence[tuple[str, int]],
    leaving: Mapping[str, Outliving],
) -> None:
    """Raise `NoForm` if *bodies*, the C text of *forms*, may need more stack than there is, or variables in *leaving* more numbers.

    Each mention of a struct counts as one on the stack and one as an argument; recursive functions, *deep*,
    count with the maximal depth. *more* has other variables with addresses: the symbol of the function (or
    ""), and the bytes.
    """
    many = sum(len([*of.locals, *of.temporaries]) * (DEEP if s in deep else 1) for s, of in leaving.items())
    if many > MOST_OUTLIVED:
        raise NoForm(
            "more variables to which pointers may be left, in functions inside each other, than have numbers"
        )
    sizes = {f.symbol: [int(n) for n in STRUCTS.findall(text)] for f, text in zip(forms, bodies, strict=True)}
    plain = sum(2 * sum(of_function) for symbol, of_function in sizes.items() if symbol not in deep)
    level = sum(2 * sum(sizes[symbol]) for symbol in deep)
    if max(plain, level) > FRAMES or level * DEEP > CIRCLES:
        largest = max(n for of_function in sizes.values() for n in of_function)
        raise NoForm(f"structs by value of {largest} {plural(largest, 'byte')}, which fill the stack")
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
