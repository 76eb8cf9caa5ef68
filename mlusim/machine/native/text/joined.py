"""Instructions that follow each other, joined: one C function checks them all, and runs once over their elements.

A row's own door checks its operands, loads them and stores its result, once more for each instruction. Where several rows
work on the same number of elements, a joined function keeps what one has computed for the next, and stores only what
is left in the end. It performs all of them, or none: if a check fails, if numbers of elements differ, or if two of
their operands overlap, the doors are called one after the other.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from attrs import define, field, frozen

from mlusim.arch.board import Arch
from mlusim.machine.native.text.door import Lane, Use, lane
from mlusim.machine.native.text.templates import SUFFIX
from mlusim.memory.space import Space

MOST_ROWS = 16
MOST_POINTERS = 10  # of which each is compared with those that are written


@frozen
class JoinedCall:
    """A call that may be joined with others: its *use* and location, and its arguments as C without effects."""

    use: Use
    values: tuple[str, ...]
    site: int


@frozen
class _Place:
    """A pointer of the joined calls: its bytes per element, its memories, whether it is written, and whether by atomics."""

    size: int
    spaces: frozenset[Space]
    written: bool
    atomic: bool

    def meets(self, other: "_Place") -> bool:
        """Return whether an overlap with *other* would matter."""
        return (self.written or other.written) and bool(self.spaces & other.spaces)


@define
class Joined:
    """The joined functions of a program, and the functions that they call."""

    arch: Arch
    texts: dict[str, str] = field(factory=dict)  # by name

    def fits(self, calls: Sequence[JoinedCall], call: JoinedCall) -> bool:
        """Return whether *call* can be joined with *calls* before it."""
        if lane(call.use, self.arch) is None:
            return False
        function = _Function([*calls, call], self.arch)
        if not calls:
            return function.places is not None
        shared = set(_Function(calls, self.arch).pointers) & set(_Function([call], self.arch).pointers)
        return bool(shared) and function.places is not None

    def call(self, calls: Sequence[JoinedCall]) -> str:
        """Return a call in C that performs *calls*, all or none, and returns whether it did."""
        function, name = _Function(calls, self.arch), f"joined_{len(self.texts)}"
        for part in function.lanes:
            self.texts[part.use.name] = f"{part.checks}\n{part.charges}\n"
        self.texts[name] = "\n".join(function.lines(name)) + "\n"
        return f"{name}({', '.join(['m', *function.pointers, *function.counts, *function.numbers])})"


class _Function:
    """The joined function of *calls*; ``places`` describe its pointers, or are None if it cannot be rendered."""

    def __init__(self, calls: Sequence[JoinedCall], arch: Arch) -> None:
        self.calls = calls
        self.lanes = [part for call in calls if (part := lane(call.use, arch)) is not None]
        self.pointers: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.numbers: list[str] = []
        self._parameters: list[str] = []
        # The arguments of each call as parameters of the function, by name.
        self._arguments = [self._taken(part, call) for part, call in zip(self.lanes, calls, strict=True)]
        self.places = self._described()

    def _taken(self, part: Lane, call: JoinedCall) -> dict[str, str]:
        taken: dict[str, str] = {}
        for name, argument, value in zip(part.names, call.use.arguments, call.values, strict=True):
            if argument.pointer:
                taken[name] = f"p_{self.pointers.setdefault(value, len(self.pointers))}"
            elif name == "elem_count":
                taken[name] = f"n_{self.counts.setdefault(value, len(self.counts))}"
            else:
                taken[name] = f"g_{len(self.numbers)}"
                suffix = SUFFIX[argument.dtype.name]  # type: ignore[union-attr]
                self._parameters.append(f"T_{suffix} {taken[name]}")
                self.numbers.append(value)
        return taken

    def _described(self) -> list[_Place] | None:
        if len(self.calls) > MOST_ROWS or len(self.pointers) > MOST_POINTERS:
            return None
        places: dict[str, _Place] = {}
        for part, arguments in zip(self.lanes, self._arguments, strict=True):
            if not {name for _, name, _ in part.each.numbers} <= arguments.keys():
                return None
            for o in part.row.operands.values():
                at = arguments[o.name]
                if not at.startswith("p_"):
                    continue
                written = o.access != "read"
                new = _Place(
                    part.types[o.name].size, frozenset(o.spaces), written, written and part.row.atomic
                )
                old = places.setdefault(at, new)
                if (old.size, old.atomic) != (new.size, new.atomic):
                    return None
                places[at] = _Place(new.size, old.spaces & new.spaces, old.written or written, new.atomic)
        return [places[f"p_{n}"] for n in range(len(places))]

    def lines(self, name: str) -> Iterator[str]:
        """Render the function, line by line."""
        parameters = [
            "Core *m",
            *(f"Ptr p_{n}" for n in self.pointers.values()),
            *(f"int64_t n_{n}" for n in self.counts.values()),
            *self._parameters,
        ]
        yield f"static __attribute__((noinline)) int {name}({', '.join(parameters)}) {{"
        yield from (f"  if (UNLIKELY({test})) return 0;" for test in self._broken())
        for n in self.pointers.values():
            yield f"  uint8_t *x_{n} = at(see(m, p_{n}));"
        yield from self._numbers()
        yield "  INDEPENDENT for (int64_t i = 0; i < n_0; i++) {"
        yield from self._loop()
        yield "  }"
        yield from self._charges()
        sites = [call.site for part, call in zip(self.lanes, self.calls, strict=True) if part.settles]
        yield from (f"  m->site = {site};" for site in sites[-1:])
        yield "  return 1;"
        yield "}"

    def _broken(self) -> Iterator[str]:
        """Yield the conditions under which the doors are called."""
        yield from (f"n_{n} != n_0" for n in range(1, len(self.counts)))
        if any(part.settles for part in self.lanes):
            yield "m->pending"
        tests = (
            f"!{part.use.name}_fits({', '.join(['m', *arguments.values()])})"
            for part, arguments in zip(self.lanes, self._arguments, strict=True)
        )
        yield from dict.fromkeys(tests)
        for (n, one), (k, other) in combinations(enumerate(self.places or ()), 2):
            if one.meets(other):
                # Atomics read and write the memory itself, one after the other.
                exact = int(one.atomic and other.atomic and one.size == other.size)
                spans = f"see(m, p_{n}), n_0 * {one.size}, see(m, p_{k}), n_0 * {other.size}"
                yield f"laps({spans}, {exact})"

    def _numbers(self) -> Iterator[str]:
        """Render the scalars of each call, converted to the type of its operands."""
        for n, (part, arguments) in enumerate(zip(self.lanes, self._arguments, strict=True)):
            for _, name, _ in part.each.numbers:
                yield f"  const {part.numbers[name](f'c_{n}_{name}', arguments[name])}"

    def _loop(self) -> Iterator[str]:
        """Render what happens to one element; numbers in memory that one core alone sees are kept until all are computed."""
        held: dict[str, tuple[str, str]] = {}  # what each pointer's element is, with its type
        places = dict(enumerate(self.places or ()))
        for n, (part, arguments) in enumerate(zip(self.lanes, self._arguments, strict=True)):
            reads = []
            for letter, name, suffix in part.each.reads:
                at = arguments[name].removeprefix("p_")
                element = f"((T_{suffix} *)x_{at})[i]"
                if not places[int(at)].atomic:
                    if at not in held:
                        held[at] = f"e_{at}", suffix
                        yield f"    T_{suffix} e_{at} = {element};"
                    element = _seen(*held[at], suffix)
                reads.append(f"U_{suffix} {letter} = GET_{suffix}({element});")
            reads += [f"const U_{s} {x} = GET_{s}(c_{n}_{name});" for x, name, s in part.each.numbers]
            at, suffix = arguments["dst"].removeprefix("p_"), part.each.suffix
            value, atomic = f"PUT_{suffix}({part.each.text});", places[int(at)].atomic
            if not atomic:
                held[at] = f"r_{n}", suffix
                yield f"    T_{suffix} r_{n};"
            to = f"((T_{suffix} *)x_{at})[i]" if atomic else f"r_{n}"
            yield f"    {{ {' '.join(reads)} {to} = {value} }}"
        for at, (name, suffix) in held.items():
            if places[int(at)].written:
                yield f"    ((T_{suffix} *)x_{at})[i] = {name};"

    def _charges(self) -> Iterator[str]:
        """Render the accounts of all calls, those of equal ones together."""
        for n, (part, arguments) in enumerate(zip(self.lanes, self._arguments, strict=True)):
            same = [k for k, other in enumerate(self.lanes) if other.use == part.use]
            if part.repeats and same[0] < n:
                continue
            text = f"{part.use.name}_paid({', '.join(['m', *arguments.values()])}"
            yield f"  {text}, {len(same) if part.repeats else 1});"


def _seen(name: str, have: str, suffix: str) -> str:
    """Render the number *name* with the type suffix *have* as one with the same bits of the type *suffix*."""
    if have == suffix:
        return name
    return f"({{ T_{suffix} w_; memcpy(&w_, &{name}, sizeof w_); w_; }})"
