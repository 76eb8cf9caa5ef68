"""Instructions that follow each other, joined: one C function checks them all, and runs once over their elements.

A row's own door checks its operands, loads them and stores its result, once more for each instruction. Where several rows
work on the same number of elements, a joined function keeps what one has computed for the next, and stores only what
is left in the end. It performs all of them, or none: if a check fails, if numbers of elements differ, or if two of
their operands overlap, the doors are called one after the other.  A blocking copy of one piece does the same to each
element as well: it is joined with what computes on the bytes that it loads or stores.  In a screened run `text.quiet` adds tests and records.
"""

import functools
from collections.abc import Iterator, Sequence
from itertools import combinations

from attrs import define, evolve, field, frozen

from mlusim.arch.board import Arch
from mlusim.engine.contract import Mode
from mlusim.machine.native.text.copies import lane_parts
from mlusim.machine.native.text.door import Lane, LaneOperand, Use, lane
from mlusim.machine.native.text.quiet import Quiet, QuietCall, tried
from mlusim.machine.native.text.templates import SUFFIX, Each
from mlusim.memory.space import DIRECTIONS, GDRAM, LDRAM, SRAM

MOST_ROWS = 16
MOST_POINTERS = 10  # of which each is compared with those that are written
MOST_FUNCTIONS = 16  # of a program; a C compiler takes 0.1 s for one of sixteen rows
# Bytes of an operand whose numbers are looked at first: more leave the fastest cache meanwhile.
MOST_LOOKED = 1 << 14
COPY = "memcpy"


@frozen
class JoinedCall:
    """A call that may be joined with others: its *use* and location, and its arguments as C without effects.

    Of a copy, the first three, and its *direction*.
    """

    use: Use
    values: tuple[str, ...]
    site: int
    direction: int = -1

    def lane(self, arch: Arch) -> Lane | None:
        """Return its parts; None if it is not done element by element."""
        return lane(self.use, arch) if self.direction < 0 else _copy(self.use, self.direction)

    @property
    def polls(self) -> bool:
        """Return whether a repetition of it may be polling."""
        way = DIRECTIONS[self.direction]
        return self.direction >= 0 and way.src in (GDRAM, SRAM) and way.dst not in (GDRAM, SRAM)


@functools.cache
def _copy(use: Use, direction: int) -> Lane:
    size, way = max(a.dtype.size for a in use.arguments if a.dtype), DIRECTIONS[direction]
    checks, charges = lane_parts(direction)
    return Lane(
        name=f"copy_{direction}",
        names=("dst", "src", "size"),
        operands=(
            LaneOperand("dst", size, frozenset([way.dst]), written=True),
            LaneOperand("src", size, frozenset([way.src]), written=False, read=True),
        ),
        each=Each("a", (("a", "src", f"u{8 * size}"),), (), f"u{8 * size}"),
        checks=checks,
        charges=charges,
        settles=True,
    )


@define
class Joined:
    """The joined functions of a program, and the functions that they call."""

    arch: Arch
    mode: Mode = Mode.ALONE
    texts: dict[str, str] = field(factory=dict)  # by name
    names: dict[tuple[str, ...], str] = field(factory=dict)  # of the joined functions, by their lines

    def fits(self, calls: Sequence[JoinedCall], call: JoinedCall) -> bool:
        """Return whether *call* can be joined with *calls* before it."""
        if len(calls) == MOST_ROWS:
            return False
        function = _Function([*calls, call], self.arch, self.mode)
        return function.places is not None and (call.polls or function.shares(len(calls)))

    def call(self, calls: Sequence[JoinedCall]) -> str:
        """Return a call in C that performs *calls*, all or none, and returns whether it did.

        "" if that is not worth it: all are copies, one has no pointer of another, or the program has the most functions.
        """
        function = _Function(calls, self.arch, self.mode)
        if all(c.direction >= 0 for c in calls) or not all(map(function.shares, range(len(calls)))):
            return ""
        screened = self.mode is Mode.SCREENED
        arguments = [tried(a) if screened else a for a in function.arguments]
        name = None if None in arguments else self._named(function)
        if name is None or not screened:
            call = f"{name}({', '.join(function.arguments)})"
            return "" if name is None else f"{call} || ({function.reached} && {call})"
        texts = " ".join(f"const __auto_type y_{n} = {text};" for n, text in enumerate(arguments))
        call = f"{name}({', '.join(f'y_{n}' for n in range(len(arguments)))})"
        return f"({{ int fails_ = 0; {texts} !fails_ && {call}; }})"

    def _named(self, function: "_Function") -> str | None:
        """Return the name of *function*, which the program has from now on; None if it has the most functions."""
        lines = tuple(function.lines())
        name = self.names.get(lines)
        if name is None:
            if len(self.names) == MOST_FUNCTIONS:
                return None
            for part in function.lanes:
                self.texts[part.name] = f"{part.checks}\n{part.charges}\n"
            name = self.names[lines] = f"joined_{len(self.names)}"
            self.texts[name] = "\n".join(
                [f"static __attribute__((noinline)) int {name}{lines[0]}", *lines[1:], ""]
            )
        return name


class _Function:
    """The joined function of *calls*; ``places`` describe its pointers, or are None if it cannot be rendered."""

    def __init__(self, calls: Sequence[JoinedCall], arch: Arch, mode: Mode) -> None:
        self.calls = calls
        self.lanes = [part for call in calls if (part := call.lane(arch)) is not None]
        self.pointers: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        self.numbers: list[str] = []
        self._parameters: list[str] = []
        self._bytes: set[int] = set()  # the counts that are of bytes
        # The arguments of each call as parameters of the function, by name.
        self._arguments = [self._taken(part, call) for part, call in zip(self.lanes, calls, strict=True)]
        self.places = self._described()
        self.quiet: Quiet | None = None
        if mode is Mode.SCREENED and self.places is not None:
            parts = zip(self.lanes, self._arguments, calls, strict=True)
            looked = [QuietCall(part, a, f"s_{n}", c.direction) for n, (part, a, c) in enumerate(parts)]
            self.quiet = Quiet(looked, self.places)
            if not self.quiet.possible:
                self.places = None

    def _taken(self, part: Lane, call: JoinedCall) -> dict[str, str]:
        taken: dict[str, str] = {}
        for n, (name, value) in enumerate(zip(part.names, call.values, strict=True)):
            if any(o.name == name for o in part.operands):
                taken[name] = f"p_{self.pointers.setdefault(value, len(self.pointers))}"
            elif name in ("elem_count", "size"):
                counted = value if name == "elem_count" else f"(int64_t)({value})"
                number = self.counts.setdefault(counted, len(self.counts))
                taken[name] = f"n_{number}"
                if name == "size":
                    self._bytes.add(number)
            else:
                taken[name] = f"g_{len(self.numbers)}"
                suffix = SUFFIX[call.use.arguments[n].dtype.name]  # type: ignore[union-attr]
                self._parameters.append(f"T_{suffix} {taken[name]}")
                self.numbers.append(value)
        return taken

    def _described(self) -> list[LaneOperand] | None:
        if len(self.pointers) > MOST_POINTERS:
            return None
        places: dict[str, LaneOperand] = {}
        for part, arguments in zip(self.lanes, self._arguments, strict=True):
            if not {name for _, name, _ in part.each.numbers} <= arguments.keys():
                return None
            for new in part.operands:
                old = places.setdefault(arguments[new.name], new)
                if (old.size, old.atomic) != (new.size, new.atomic):
                    return None
                written = old.written or new.written
                places[arguments[new.name]] = evolve(old, spaces=old.spaces & new.spaces, written=written)
        if self._bytes and len({place.size for place in places.values()}) > 1:
            return None
        return [places[f"p_{n}"] for n in range(len(places))]

    def shares(self, nth: int) -> bool:
        """Return whether the call *nth* has a pointer of another."""
        others = {a for n, arguments in enumerate(self._arguments) if n != nth for a in arguments.values()}
        return any(a in others for a in self._arguments[nth].values() if a.startswith("p_"))

    # -- the text ----------------------------------------------------------------------------------

    @property
    def arguments(self) -> list[str]:
        """Return the arguments of a call of the function: those that the calls share once, and where the last that settles a pipe is."""
        sites = [call.site for part, call in zip(self.lanes, self.calls, strict=True) if part.settles]
        told = [f"{self.calls[n].site}" for n in (self.quiet.told if self.quiet else ())]
        return ["m", f"{(sites or [0])[-1]}", *told, *self.pointers, *self.counts, *self.numbers]

    @property
    def reached(self) -> str:
        """Return a call that lets a task see more of its memories, and returns whether the pointers are within them then."""
        sizes = ", ".join(str(place.size) for place in self.places or ())
        count = f"{next(iter(self.counts))}{f' / {self._size}' if 0 in self._bytes else ''}"
        return f"reach_(m, {count}, {len(self.pointers)}, (const Ptr[]){{{', '.join(self.pointers)}}}, (const int[]){{{sizes}}})"

    def lines(self) -> Iterator[str]:
        """Render the function from its parameters on, line by line; the same for calls that differ in their arguments alone."""
        parameters = [
            "Core *m",
            "int site",
            *(f"int s_{n}" for n in (self.quiet.told if self.quiet else ())),
            *(f"Ptr p_{n}" for n in self.pointers.values()),
            *(f"int64_t n_{n}" for n in self.counts.values()),
            *self._parameters,
        ]
        yield f"({', '.join(parameters)}) {{"
        yield f"  const int64_t n_ = n_0{f' / {self._size}' if 0 in self._bytes else ''};"
        yield from (f"  if (UNLIKELY({test})) return 0;" for test in self._broken())
        for n in self.pointers.values():
            yield f"  uint8_t *x_{n} = at(see(m, p_{n}));"
        yield from self._numbers()
        yield from self._tested()
        yield from (f"  {line}" for line in (self.quiet.before() if self.quiet else ()))
        yield from self._streamed()
        yield f"  INDEPENDENT for (int64_t i = {'4 * part' if self._loaded or self._stored else 0}; i < n_; i++) {{"
        yield from self._element(())
        yield "  }"
        yield from (f"  {line}" for line in (self.quiet.behind() if self.quiet else ()))
        yield from self._charges()
        if any(part.settles for part in self.lanes):
            yield "  m->site = site;"
        yield "  return 1;"
        yield "}"

    @property
    def _size(self) -> int:
        return next(place.size for place in self.places or ())

    @property
    def _loaded(self) -> list[int]:
        """Return the pointers from which copies load off chip."""
        return self._copied("src")

    @property
    def _stored(self) -> list[int]:
        """Return the pointers to which copies store off chip."""
        return [n for n in self._copied("dst") if GDRAM in (self.places or ())[n].spaces]

    def _copied(self, side: str) -> list[int]:
        far = {GDRAM, LDRAM}
        pointers = (
            int(a[side][2:]) for a, c in zip(self._arguments, self.calls, strict=True) if c.direction >= 0
        )
        return [n for n in dict.fromkeys(pointers) if (self.places or ())[n].spaces & far]

    def _broken(self) -> Iterator[str]:
        """Yield the conditions under which the doors are called."""
        for n in self.counts.values():
            if n in self._bytes:
                yield f"n_{n} != n_ * {self._size}"
            elif n:
                yield f"n_{n} != n_"
        yield from self._polled()
        tests = (
            f"!fits_{part.name}({', '.join(['m', *arguments.values()])})"
            for part, arguments in zip(self.lanes, self._arguments, strict=True)
        )
        yield from dict.fromkeys(tests)
        for (n, one), (k, other) in combinations(enumerate(self.places or ()), 2):
            # An overlap with memory that is written matters.
            if (one.written or other.written) and one.spaces & other.spaces:
                # Atomics read and write the memory itself, one after the other.
                exact = int(one.atomic and other.atomic and one.size == other.size)
                spans = f"see(m, p_{n}), n_ * {one.size}, see(m, p_{k}), n_ * {other.size}"
                yield f"laps({spans}, {exact})"
        for n in self._stored:
            yield f"n_ * {self._size} >= STREAMED && (uintptr_t)at(see(m, p_{n})) % HOST_LINE"
        if any(part.settles for part in self.lanes):
            yield "pends_(m)" if self.lanes[0].settles else "m->pending"
        if self.quiet:
            yield from self.quiet.broken()

    def _polled(self) -> Iterator[str]:
        """Yield the conditions under which a copy may be polling: that the copy before it had its source."""
        before = ""
        for call, arguments in zip(self.calls, self._arguments, strict=True):
            if call.polls:
                source = arguments["src"]
                last = f"m->source == number_({source}) && m->source_at == offset_({source})"
                yield f"{source} == {before}" if before else last
            if call.direction >= 0:
                before = arguments["src"]

    def _numbers(self) -> Iterator[str]:
        """Render the scalars of each call, converted to the type of its operands."""
        for n, (part, arguments) in enumerate(zip(self.lanes, self._arguments, strict=True)):
            for _, name, _ in part.each.numbers:
                yield f"  const {part.numbers[name](f'c_{n}_{name}', arguments[name])}"

    def _tested(self) -> Iterator[str]:
        """Render a loop that looks at the numbers of a screened run and stores none."""
        extremes = list(self.quiet.extremes()) if self.quiet else []
        if not self.quiet or not extremes:
            return
        yield "  if (VECTORS(m)) {"
        yield f"    if (n_ * {self._size} > {MOST_LOOKED}) return 0;"
        yield from (f"    {line}" for line in extremes)
        yield "    INDEPENDENT for (int64_t i = 0; i < n_; i++) {"
        yield from self._element((), self.quiet)
        yield "    }"
        yield f"    if (UNLIKELY({' || '.join(self.quiet.outside())})) return 0;"
        yield "  }"

    def _streamed(self) -> Iterator[str]:
        """Render the loop over four parts at once, line by line, of operands that copies carry off chip and that are as long as those written past the caches."""
        if not self._loaded and not self._stored:
            return
        size, lines = self._size, f"HOST_LINE / {self._size}"
        yield f"  const int64_t part = n_ * {size} >= STREAMED ? n_ / 4 & -(int64_t)({lines}) : 0;"
        yield f"  for (int64_t q = 0; q < part; q += {lines}) for (int64_t k = 0; k < 4; k++) {{"
        yield "    const int64_t b = k * part + q;"
        yield from (f"    FETCH_(x_{n} + b * {size} + FETCHED);" for n in self._loaded)
        for n in self._stored:
            yield f"    uint8_t l_{n}[HOST_LINE] __attribute__((aligned(HOST_LINE)));"
        yield f"    INDEPENDENT for (int64_t i = b; i < b + {lines}; i++) {{"
        yield from self._element(self._stored)
        yield "    }"
        yield from (f"    line_past_(x_{n} + b * {size}, l_{n});" for n in self._stored)
        yield "  }"
        if self._stored:  # the next elements are fetched faster when no line is still under way
            yield "  if (part) ALL_ARE_PUT_();"

    def _element(self, lines: Sequence[int], quiet: Quiet | None = None) -> Iterator[str]:
        """Render what happens to one element; all but the targets of atomics are kept until all are computed.

        What is stored to the pointers *lines* goes to a line ``l_``. With *quiet*, nothing is stored, and it looks at the numbers.
        """
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
            look = quiet.looked(n, to) if quiet else ""
            does = "" if quiet and atomic else f"{to} = {value} "
            yield f"    {{ {' '.join(reads)} {does}{look}}}"
        if quiet:
            return
        for at, (name, suffix) in held.items():
            if int(at) in lines:
                yield f"    ((T_{suffix} *)l_{at})[i - b] = {name};"
            elif places[int(at)].written:
                yield f"    ((T_{suffix} *)x_{at})[i] = {name};"

    def _charges(self) -> Iterator[str]:
        """Render the accounts of all calls, those of equal ones together."""
        for n, (part, arguments) in enumerate(zip(self.lanes, self._arguments, strict=True)):
            same = [k for k, other in enumerate(self.lanes) if other.name == part.name]
            if not part.repeats or same[0] == n:
                text = f"paid_{part.name}({', '.join(['m', *arguments.values()])}"
                yield f"  {text}, {len(same) if part.repeats else 1});"


def _seen(name: str, have: str, suffix: str) -> str:
    """Render the number *name* with the type suffix *have* as one with the same bits of the type *suffix*."""
    if have == suffix:
        return name
    return f"({{ T_{suffix} w_; memcpy(&w_, &{name}, sizeof w_); w_; }})"
