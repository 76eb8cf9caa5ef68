"""C text: types, literals, arithmetic with the device's rules, and the walker with the program's tables.

C does not define the order of evaluation of arguments, so values with side effects are computed into
temporaries, from left to right.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, field

from mlusim.arch.dtypes import MEMORY_TYPES, DType, bfloat16
from mlusim.bangc import ir, types as t
from mlusim.bangc.ir.leaving import STAYING, Outliving
from mlusim.bangc.ir.walk import acts, effectful, innermost, walk
from mlusim.bangc.scalars import BINARY, REALS, SHIFTS, Real, most_shift
from mlusim.bangc.walker import Walker
from mlusim.engine.contract import Mode

if TYPE_CHECKING:
    from mlusim.arch.board import Arch

IDS: Mapping[DType, int] = {d: n for n, d in enumerate(MEMORY_TYPES)}
_REALS: Mapping[str, Real] = {r.c: r for r in REALS.values()}


class NoForm(Exception):
    """A construct that cannot be rendered in C; the message names it."""


def floating(kind: t.Arithmetic) -> str:
    """Return the name of the floating type *kind*: "f16", "b16", "f32" or "f64"."""
    if kind.size == 8:
        return "f64"
    return suffix(kind)


def suffix(kind: t.Arithmetic) -> str:
    """Return the suffix of the element type for memory of *kind*."""
    seen = t.memory_dtype(kind)
    number = f"{seen.kind[0]}{8 * seen.size}"
    return "b16" if seen is bfloat16 else number


def dtype_of(kind: t.Type) -> DType | None:
    """Return the element type of memory of *kind*; None if it has no numbers."""
    kind = t.element_of(kind)
    return t.memory_dtype(kind) if isinstance(kind, t.Arithmetic) else None


def ctype(kind: t.Type) -> str:
    """Return the C type of a value of *kind*."""
    if isinstance(kind, t.Pointer | t.FunctionType):
        return "Ptr"
    if isinstance(kind, t.Void):
        return "void"
    if isinstance(kind, t.Struct):
        return f"R_{kind.size}"
    if isinstance(kind, t.VectorRegister):
        return "const uint8_t *"
    if not isinstance(kind, t.Arithmetic):
        raise NoForm(f"a value of {kind}")
    if kind.kind != "float":
        return f"{'uint' if kind.kind == 'bool' else kind.kind}{8 * kind.size}_t"
    return _REALS[floating(kind)].c_type


def real(text: str, kind: t.Arithmetic) -> str:
    """Render a floating-point number of type *kind* as a float or double of C."""
    return _REALS[floating(kind)].c_read.format(text)


def rounded(text: str, kind: t.Arithmetic, *, wide: bool) -> str:
    """Render a float (with *wide*: a double) rounded to *kind*."""
    row = _REALS[floating(kind)]
    return (row.c_of_double if wide else row.c_of_float).format(text)


def converted(text: str, have: t.Arithmetic, to: t.Arithmetic) -> str:
    """Render a number of type *have* as one of type *to*."""
    if to.kind == "bool":
        return f"({real(text, have) if have.kind == 'float' else text} != 0)"
    if to.kind == "float":
        if have.kind != "float":
            return _REALS[floating(to)].c_of_whole.format(text)
        if floating(have) == floating(to):
            return text
        return rounded(real(text, have), to, wide=have.size == 8)
    if have.kind == "float":
        # No cast: out-of-range values are undefined in C, but saturate on the device.
        return f"{ctype(to)}_of({real(text, have)})"
    return f"(({ctype(to)})({text}))"


def computed(op: str, left: str, right: str, kind: t.Arithmetic, site: int) -> str:
    """Render ``left op right`` in the type *kind*; the right operand of a shift may have any integer type."""
    if kind.kind == "float":
        return rounded(f"({real(left, kind)} {op} {real(right, kind)})", kind, wide=False)
    c_type = ctype(kind)
    if BINARY[op].c:
        return f"{BINARY[op].c}_{suffix(kind)}(m, {left}, {right}, {site})"
    if op in SHIFTS:
        # The count is taken modulo the width; checked runs report a count out of range first.
        right = f"({right} & {most_shift(kind)})"
    return f"(({c_type})({left} {op} {right}))"


def name(local: ir.Local) -> str:
    """Render a local's name in C."""
    return f"v_{local.name}"


def in_register(local: ir.Local) -> bool:
    """Return whether a local is a plain C variable."""
    return local.storage is ir.Storage.VALUE and not isinstance(local.type, t.VectorRegister)


def in_cell(local: ir.Local) -> bool:
    """Return whether a local is outside memory but has an address."""
    return in_frame(local) or (local.storage is ir.Storage.STATIC and not local.in_memory)


def in_frame(local: ir.Local) -> bool:
    """Return whether a local lives in the frame of its function and has an address."""
    register = isinstance(local.type, t.VectorRegister) and local.storage is ir.Storage.VALUE
    return local.storage is ir.Storage.CELL or register


def element_size(kind: t.Type) -> int:
    """Return the *element* argument of `form.nowhere`: bytes of an array's elements, or a struct's negative size."""
    if isinstance(kind, t.Array):
        return t.element_of(kind).size
    return -kind.size if isinstance(kind, t.Struct | t.VectorRegister) else 0


def pointers_at(kind: t.Type, offset: int = 0) -> Iterator[int]:
    """Yield the offsets of the words in a *kind* that are pointers, or tell the class of an object."""
    if isinstance(kind, t.Array):
        for n in range(kind.count):
            yield from pointers_at(kind.of, offset + n * kind.of.size)
    elif isinstance(kind, t.Struct):
        first = [at for field_ in kind.fields for at in pointers_at(field_.type, offset + field_.offset)]
        yield from first if offset in first or not kind.virtual else (offset, *first)
    elif isinstance(kind, t.Pointer):
        yield offset


def word_lists(c: "CWalker") -> Iterator[str]:
    """Yield the lists of the words that are pointers."""
    for (size, *offsets), number in c.pointers.items():
        words = ", ".join(map(str, (size, len(offsets), *offsets)))
        yield f"static const int64_t w_{number}[] = {{{words}}};"


def literal(value: object, kind: t.Type) -> str:
    """Render a constant as a literal of C."""
    if value is None:
        return "((Ptr)0)"
    if isinstance(kind, t.Pointer):
        return f"((Ptr){int(value)}ull)"  # type: ignore[call-overload]
    assert isinstance(kind, t.Arithmetic)
    if kind.kind != "float":
        number = int(value)  # type: ignore[call-overload]
        if kind.kind in ("uint", "bool"):
            return f"(({ctype(kind)}){number}ull)"
        # The smallest long has no literal: C reads a minus applied to a number out of range.
        return f"(({ctype(kind)})({number}ll))" if number > -(1 << 63) else f"(({ctype(kind)})INT64_MIN)"
    return rounded(_real_literal(float(value)), kind, wide=True)  # type: ignore[arg-type]


def _real_literal(value: float) -> str:
    if value != value:  # noqa: PLR0124 - NaN is what differs from itself
        return "((double)NAN)"
    if value in (float("inf"), float("-inf")):
        return f"((double){'-' if value < 0 else ''}INFINITY)"
    # A hexadecimal literal needs no rounding.
    return f"({value.hex()})"


def line_of(span: ir.Span) -> str:
    """Render a #line directive, with which debuggers and sanitizers show the kernel's line."""
    file = span.file.replace("\\", "\\\\").replace('"', '\\"')
    return f'#line {span.line} "{file}"'


def _in_memory(kind: t.Type) -> str:
    """Return the name part of the functions that load and store a *kind*."""
    if not isinstance(kind, t.Pointer | t.Arithmetic):
        raise NoForm(f"a {kind} in memory")
    return "pointer" if isinstance(kind, t.Pointer) else suffix(kind)


Signature = tuple[str, ...]  # of a function: its C result type, and its C parameter types


@define(eq=False)
class CWalker(Walker[str, str]):
    """The state of rendering a program in C, function by function: everything that it refers to, by number."""

    prefix = "t_"

    arch: "Arch" = field(kw_only=True)
    sites: dict[tuple[str, int], int] = field(factory=dict)
    calls: dict[tuple[int, int], list[ir.IntrinsicCall]] = field(factory=dict)  # by row and location
    texts: dict[str, int] = field(factory=dict)
    library: dict[str, int] = field(factory=dict)
    places: dict[Any, int] = field(factory=dict)  # variables at file scope and local arrays
    outliving: Outliving = STAYING  # of the current function: variables that pointers may outlive
    ending: set[ir.Local] = field(factory=set)  # those, and the temporary values, in their cells
    near: tuple[ir.Local, ...] = ()  # of the current function: see `values.looked_up`
    addressed: list[ir.Local] = field(factory=list)  # of the current function: values whose address is taken
    # Types with pointers: their size, and the offsets of the pointers in them.
    pointers: dict[tuple[int, ...], int] = field(factory=dict)
    # Static variables of functions, by their key.
    statics: dict[str, ir.Local] = field(factory=dict)
    # String literals, and the indices of their pointers.
    literals: dict[str, int] = field(factory=dict)
    pointed: dict[str, int] = field(factory=dict)  # functions whose address is taken
    classes: dict[tuple[str, ...], int] = field(factory=dict)  # classes with virtual methods, by their names
    dispatches: dict[int, tuple[int, ir.Dispatch]] = field(factory=dict)  # virtual calls
    casts: dict[str, int] = field(factory=dict)  # target classes of dynamic casts
    # The loops, switches, labels and objects with destructors around the current statement.
    leaving: list[Any] = field(factory=list)
    signatures: dict[Signature, int] = field(factory=dict)  # of calls through pointers
    mode: Mode = Mode.ALONE
    joining: Any = None  # how instructions are joined (`native.joining`), if they are
    covers: dict[tuple[str, int, int, bool | None], int] = field(factory=dict)
    """Statements (None) and outcomes of tests, with the numbers of their counters."""
    unset: frozenset[ir.Local] = frozenset()
    """In the current function: variables declared without a value."""
    deciding: bool = False  # whether a test is being rendered that depends on one load
    held: frozenset[ir.Local] = frozenset()
    """In the current function: variables that hold one loaded number, for a screen."""
    deciding_late: ir.Local | None = None
    """That of them on which alone the test that is being rendered depends."""
    holding: ir.Local | None = None
    """That of them whose number is being loaded."""
    changes: dict[Any, int] = field(factory=dict)  # values that change silently, as a screen reports them
    symbols: dict[str, int] = field(factory=dict)  # functions, and
    locals: dict[ir.Local, int] = field(factory=dict)  # pointer variables that a screen tracks
    assigned: Mapping[ir.Local, list[ir.Expr]] = field(factory=dict)
    """In the current function: the values assigned to its variables, for a screen."""
    within: tuple[str, int, str] = "", 0, ""  # the current function, as `kernel_frames.function_of`
    reaching: frozenset[str] = frozenset()  # the kernel, and functions that may reach a barrier, for a screen
    returns: dict[tuple[tuple[str, int, str], int], int] = field(factory=dict)  # their returns, and
    reached: dict[tuple[str, int], int] = field(factory=dict)  # the calls of them, by number

    def valued(self, rendered: str, node: ir.Expr) -> str:  # noqa: ARG002 - source lines are attached to statements
        """Return *rendered*, the value of *node*, unchanged."""
        return rendered

    def located(self, rendered: list[str], node: ir.Statement | ir.Expr) -> list[str]:
        """Return the lines of a statement or step, after its #line directive."""
        return [line_of(node.span), *rendered]

    def truth(self, test: ir.Expr) -> str:
        """Render the value of a number or a pointer as a condition."""
        return self.decided((test,), test.span, lambda: self.value(test))

    def decided(self, nodes: tuple[ir.Expr, ...], span: ir.Span, render: Callable[[], str]) -> str:
        """Return what *render* makes of *nodes*, on which a test at *span* depends; for a screen, the one number that it loads decides."""
        before = self.deciding, self.deciding_late
        self.deciding = self.checked and _decisive(nodes, span)
        self.deciding_late = _decisive_late(nodes, span, self.held) if self.held else None
        rendered = render()
        self.deciding, self.deciding_late = before
        return rendered

    def outcome(self, rendered: str, span: ir.Span) -> str:
        """Render the value of the test at *span* together with the count of its outcome."""
        return f"tested_(m, ({rendered}) ? 1 : 0, {self._covered(span, True)}, {self._covered(span, False)})"

    def count(self, span: ir.Span) -> str:
        """Render the coverage count of the statement at *span*."""
        return f"PASSED_(m, {self._covered(span, None)});"

    def chosen(self, node: ir.Conditional) -> list[str]:
        """Render a conditional expression for its effect."""
        code = [f"if ({self.tested(node.test)}) {{", *self.evaluated(node.then), "}"]
        other = self.evaluated(node.other)
        return [*code, "else {", *other, "}"] if other else code

    def effect(self, node: ir.Expr) -> list[str]:
        """Render the effect of any other expression."""
        return [f"{self.value(node)};"]

    def _covered(self, span: ir.Span, outcome: bool | None) -> int:
        return self.covers.setdefault((span.file, span.line, span.column, outcome), len(self.covers))

    def site(self, span: ir.Span) -> int:
        """Return the number of a source location."""
        return self.sites.setdefault((span.file, span.line), len(self.sites))

    def words(self, kind: t.Type) -> str:
        """Render the list of the words in a *kind* that are pointers, as in scalars.h; 0 if there are none."""
        element = t.element_of(kind)
        if isinstance(kind, t.VectorRegister) or isinstance(element, t.VectorRegister):
            return "0"
        at = tuple(pointers_at(element))
        return f"w_{self.pointers.setdefault((element.size, *at), len(self.pointers))}" if at else "0"

    def text(self, text: str) -> int:
        """Return the number of a string."""
        return self.texts.setdefault(text, len(self.texts))

    def literal(self, text: str) -> int:
        """Return the index of the pointer to a string literal."""
        place = self.place(("literal", text))
        return self.literals.setdefault(text, place)

    def function(self, name: str) -> int:
        """Return the number of a function of the C library."""
        return self.library.setdefault(name, len(self.library))

    def place(self, variable: object) -> int:
        """Return the index of a variable that Python declares."""
        return self.places.setdefault(variable, len(self.places))

    def static(self, local: ir.Local) -> int:
        """Return the index of a static variable, which several functions may share."""
        first = self.statics.setdefault(local.home, local)
        return self.place((local.home, first))

    def in_order(self, nodes: tuple[ir.Expr, ...], make: Callable[..., str]) -> str:
        """Render ``make`` applied to the values of *nodes*, evaluated from left to right."""
        if not self.order_matters(nodes):
            return make(*(self.value(n) for n in nodes))
        names = [self.temporary() for _ in nodes]
        values = " ".join(
            f"{ctype(n.type)} {name} = {self.value(n)};" for n, name in zip(nodes, names, strict=True)
        )
        return f"({{ {values} {make(*names)}; }})"

    def order_matters(self, nodes: Iterable[ir.Expr]) -> bool:
        """Return whether the order in which *nodes* are evaluated shows: one has an effect, or several may fault or tell a checker something."""
        several = [n for n in nodes if not isinstance(n, ir.Const)]
        return len(several) > 1 and (any(map(effectful, several)) or sum(map(self._tells, several)) > 1)

    def _tells(self, node: ir.Expr) -> bool:
        """Return whether evaluating *node* may end in a fault, or have something to tell a checker."""
        return any(map(self._tells_itself, walk(node)))

    def _tells_itself(self, node: object) -> bool:
        if isinstance(node, ir.Load):
            local = getattr(innermost(node.place), "local", None)
            return local is None or local in self.unset or local in self.held
        if isinstance(node, ir.Binary):
            return self.checked or bool(BINARY[node.op].c)
        if isinstance(node, ir.Convert | ir.Unary) and self.checked:
            return isinstance(node.type, t.Arithmetic) and not isinstance(node.value, ir.Const)
        return False

    def fetched(self, kind: t.Type, pointer: str, index: str, span: ir.Span, waits: int = 0) -> str:
        """Render the load of element *index* at *pointer*; *waits* is its wait class."""
        more = "" if isinstance(kind, t.Pointer) else f", {waits}"
        load = f"load_{_in_memory(kind)}(m, {pointer}, {index}, {self.site(span)}{more})"
        if self.deciding and isinstance(kind, t.Arithmetic):
            load = (
                f"DECIDES_({_in_memory(kind)}, {kind.size}, {pointer}, {index}, {self.site(span)}, {waits})"
            )
        elif self.holding is not None:
            at = f"{_in_memory(kind)}, {kind.size}, {pointer}, {index}, {self.site(span)}, {waits}"
            load = f"HOLDS_({at}, {late(self.holding)})"
        # A byte of memory may have any value.
        return f"({load} != 0)" if isinstance(kind, t.Arithmetic) and kind.kind == "bool" else load

    def put(self, kind: t.Type, pointer: str, index: str, value: str, span: ir.Span) -> str:
        """Render a store to element *index* at *pointer*; the expression's value is the stored value."""
        return f"store_{_in_memory(kind)}(m, {pointer}, {index}, {value}, {self.site(span)})"

    def first(self, kind: t.Type, pointer: str, index: str, value: str, span: ir.Span) -> str:
        """Render the same of an initial value, of which checkers hear as a part of the declaration."""
        stored = self.put(kind, pointer, index, value, span)
        alone = self.checked and isinstance(kind, t.Arithmetic)
        return f"first_{stored.removeprefix('store_')}" if alone else stored


_UNCLEAR = (
    ir.Call,
    ir.IntrinsicCall,
    ir.LibraryCall,
    ir.Invoke,
    ir.Logical,
    ir.Conditional,
    ir.Comma,
)


def _decisive(nodes: tuple[ir.Expr, ...], span: ir.Span) -> bool:
    """Return whether *nodes* load one number from memory, on the line of *span*, and nothing else but variables."""
    every = [n for node in nodes for n in walk(node)]
    loads = [n for n in every if isinstance(n, ir.Load) and not isinstance(n.place, ir.LocalStorage)]
    if len(loads) != 1 or any(isinstance(n, _UNCLEAR) or acts(n) for n in every if isinstance(n, ir.Expr)):
        return False
    at = loads[0].span
    return isinstance(loads[0].place, ir.Element) and (at.file, at.line) == (span.file, span.line)


def _decisive_late(nodes: tuple[ir.Expr, ...], span: ir.Span, held: frozenset[ir.Local]) -> ir.Local | None:
    """Return the variable of *held* that *nodes* read, on the line of *span*, if they load nothing, and read it once and no other of these."""
    every = [n for node in nodes for n in walk(node)]
    loads = [n for n in every if isinstance(n, ir.Load)]
    reads = [(n.place.local, n.span) for n in loads if isinstance(n.place, ir.LocalStorage)]
    late = [(local, at) for local, at in reads if local in held]
    if len(reads) < len(loads) or len(late) != 1:
        return None
    if any(isinstance(n, _UNCLEAR) or acts(n) for n in every if isinstance(n, ir.Expr)):
        return None
    local, at = late[0]
    return local if (at.file, at.line) == (span.file, span.line) else None


def late(local: ir.Local) -> str:
    """Render what a screen knows of the number that *local* holds."""
    return f"h_{local.name}"


def literal_bytes(text: str) -> bytes:
    """Return the bytes of a string literal, with the terminating zero."""
    return text.encode("utf-8", "surrogateescape") + b"\0"


def literal_pointer(c: CWalker, node: ir.Text) -> str:
    """Render a pointer to the first character of a string literal."""
    return f"PLACES_(m)[{c.literal(node.value)}]"
