"""The values of arguments and macros with which a kernel of BANG C still runs, found by running it.

Launches without observers, which run natively where they can, find the largest value without a fault: values are
doubled from the one that was given, then the interval is bisected.  Below it the same search finds the largest value at
which no part of an on-chip array overwrites another (`carve`).  Some values in between are tried as well, for a kernel
may branch by its shape; the others are not.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from attrs import define, evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.counted import counted
from mlusim.errors import Fault, LimitReached, UsageError, shown_file
from mlusim.formula.expr import INT32_MAX
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.ir.walk import walk
from mlusim.machine.limits import Limit, limiting
from mlusim.programs.argument_forms import DRAW, NUMBER
from mlusim.programs.carving import ArrayPart, Carving, carve
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.memory_totals import totals_of

FAR = Limit(instructions=5e6, growth=1 << 30)
"""How far a launch of the search may go; counted, so that the answer is the same on every machine."""
MOST_BYTES = 256 << 20
"""Bytes of the arrays of one launch of the search."""
DIMS = ("dim.x", "dim.y", "dim.z")  # the tasks of a launch
BRANCHES = 4  # places of branches that are told


@frozen
class Failure:
    """A *value* with which the kernel does not run: what is wrong, as a sentence, and where.

    ``kind`` is "fault", "overlap", "refused" where the sources or the launch are, or "limit" where the launch took more
    than the search waits for.  ``space`` is the memory that a fault is about, ``address`` and ``nbytes`` the access, and
    ``declared`` the place of the array.
    """

    value: int
    kind: str
    sentence: str
    file: str | None = None
    line: int | None = None
    space: str | None = None
    address: int | None = None
    nbytes: int | None = None
    declared: tuple[str, int] | None = None

    @property
    def told(self) -> str:
        """Return a phrase for what happens there."""
        what = {
            "fault": "fails",
            "overlap": "overlaps",
            "refused": "is refused",
            "limit": "takes more than the search waits for",
        }
        where = f" ({shown_file(self.file)}:{self.line})" if self.kind == "overlap" and self.file else ""
        return f"{what[self.kind]}: {self.sentence}{where}"

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a document of JSON."""
        return {
            "value": self.value,
            "kind": self.kind,
            "sentence": self.sentence,
            "file": self.file,
            "line": self.line,
        }


@frozen
class Binding:
    """The thing that binds at the largest value: a pointer into an array, an array or a memory, by *name*, and its place.

    ``used`` and ``next`` are its bytes at the largest value and at the next, ``capacity`` those that it has; None where
    they are not known.
    """

    name: str
    file: str | None = None
    line: int | None = None
    used: int | None = None
    next: int | None = None
    capacity: int | None = None


@frozen
class LargestValue:
    """The largest value that ran, None where none did; ``fails`` is the smallest above it that was seen to fail.

    Without ``fails`` every value that was tried ran, up to the largest of the variable's type.  ``tried`` has the
    values in the order of the search, ``below`` what failed of those under the largest, and ``branches`` the places where
    the kernel branches.
    """

    kernel: str
    board: str
    variable: str
    largest: int | None
    fails: Failure | None
    tried: tuple[int, ...]
    binding: Binding | None = None
    below: tuple[Failure, ...] = ()
    branches: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``plan FILE.mlu --max``."""
        binds = self.binding
        return {
            "kernel": self.kernel,
            "board": self.board,
            "variable": self.variable,
            "sampled": True,
            "largest": self.largest,
            "next": None if self.fails is None else self.fails.value,
            "used_at_largest": None if binds is None else binds.used,
            "used_at_next": None if binds is None else binds.next,
            "capacity": None if binds is None else binds.capacity,
            "binding": None if binds is None else binds.name,
            "binding_at": None if binds is None or binds.file is None else f"{binds.file}:{binds.line}",
            "fails": None if self.fails is None else self.fails.to_json(),
            "fails_below": [failure.to_json() for failure in self.below],
            "branches": list(self.branches),
            "tried": list(self.tried),
        }


def largest_value(call: KernelCall, variable: str) -> LargestValue:
    """Return the largest *variable* with which *call* runs without a fault and without an overlap on chip.

    The search begins at the value that the call has, or at 1.  Raises `UsageError` where the kernel has no such
    integer, and for what no value of it mends.
    """
    shapes = Shapes(call)
    start = shapes.given(variable)
    largest, fails = shapes.largest(variable, {}, start)
    kernel, board = shapes.kernel, call.sources.board.name
    tried = [shape[variable] for shape in shapes.tried]
    if largest is None:
        return LargestValue(kernel, board, variable, None, fails, tuple(tried))
    step = shapes.step(variable)
    parts = _between(largest // step, few=shapes.is_macro(variable) or variable in DIMS)
    more = [value * step for value in parts if value * step not in tried]
    below = tuple(failure for value in more if (failure := shapes.fault({variable: value}, variable)))
    binding = None if fails is None else shapes.binding({variable: largest}, fails, variable)
    return LargestValue(
        kernel, board, variable, largest, fails, (*tried, *more), binding, below, shapes.branches()
    )


def _between(largest: int, *, few: bool) -> list[int]:
    """Return the values below *largest* that are tried because the kernel may branch: odd and even ones, large and small."""
    # Few where each value is a compilation, or a launch of many tasks.
    parts = (largest - 1, largest // 2 + 1) if few else (
        largest - 1, largest - 2, largest - largest // 16, largest * 3 // 4 | 1, largest // 2 + 1, largest // 3, largest // 7, 3, 2, 1,
    )  # fmt: skip
    return list(dict.fromkeys(value for value in parts if 0 < value < largest))


def ascend(
    start: int, top: int, failing: Callable[[int], Failure | None]
) -> tuple[int | None, Failure | None]:
    """Return the largest value up to *top* that is not *failing*, and the failure above it."""
    value = min(start, top)
    failure = failing(value)
    low = value if failure is None else None
    while failure is None and value < top:
        value = min(2 * value, top)
        failure = failing(value)
        low = low if failure is not None else value
    # Downwards by halves: what is given may fail itself.
    while low is None and value > 1:
        value //= 2
        below = failing(value)
        low = value if below is None else None
        failure = below or failure
    while low is not None and failure is not None and failure.value - low > 1:
        value = (low + failure.value) // 2
        between = failing(value)
        low, failure = (value, failure) if between is None else (low, between)
    return low, failure


@define(eq=False)
class Shapes:
    """One call with other values of its variables: its integers, the numbers of its formulas, and macros of ``-D``.

    ``tried`` are the values of each launch, in order.
    """

    call: KernelCall
    tried: list[Mapping[str, int]] = field(factory=list)
    _faults: dict[tuple[tuple[str, int], ...], Failure | None] = field(factory=dict)
    _carved: dict[tuple[tuple[str, int], ...], Carving] = field(factory=dict)

    @property
    def kernel(self) -> str:
        """The kernel's name."""
        return self.call.loaded().name

    def variables(self) -> dict[str, int]:
        """Return the largest value of each variable, by its name."""
        parameters = self.call.loaded().form.parameters
        found = {
            p.source_name: p.type.high
            for p in parameters
            if isinstance(p.type, t.Arithmetic) and p.type.kind in ("int", "uint")
        }
        scope, names = self.call.scope(), {p.source_name for p in parameters}
        for name in self.call.arguments:
            if name not in names and scope.value(name, f"--arg {name}").form in (NUMBER, DRAW):
                found[name] = INT32_MAX
        return found | dict.fromkeys(self._macros(), INT32_MAX)

    def top(self, name: str) -> int:
        """Return the largest value that *name* may have, of a variable or of the tasks."""
        if name in DIMS:
            return find_board(self.call.sources.board).max_dim[DIMS.index(name)]
        return self.variables()[name]

    def _macros(self) -> list[str]:
        return [name for name, text in self.call.sources.define.items() if text and text.isdigit()]

    def step(self, name: str) -> int:
        """Return by how much *name* grows at least: dim.x of a union by its cores."""
        cores = find_board(self.call.sources.board).arch.cores_per_cluster
        return max(1, self.call.kind.unions * cores) if name == DIMS[0] else 1

    def is_macro(self, name: str) -> bool:
        """Return whether *name* is a macro, each value of which is compiled."""
        return name in self._macros() and name not in self.call.arguments

    def given(self, name: str) -> int:
        """Return the value that the call gives *name*, at least 1.  Raises `UsageError` where there is no such variable."""
        if name in DIMS:
            return self.call.dim[DIMS.index(name)]
        known = self.variables()
        if name not in known:
            legal = ", ".join(known) or "it has none"
            raise UsageError(
                f"{self.kernel} has no integer {name!r} to look for; its integers, and macros of -D: {legal}; besides, {', '.join(DIMS)}"
            )
        if name not in self.call.arguments and name not in self._macros():
            return 1
        try:
            return max(self.call.scope().whole(name), 1)
        except UsageError as error:
            raise UsageError(f"{error}, for the search to begin at") from None

    def is_plain(self, name: str) -> bool:
        """Return whether argument *name* is a number that is written out."""
        return self.call.arguments.get(name, "").isdigit()

    def of(self, values: Mapping[str, int]) -> KernelCall:
        """Return the call with *values* of its variables."""
        macros = {name: str(value) for name, value in values.items() if self.is_macro(name)}
        arguments = {name: str(v) for name, v in values.items() if name not in macros and name not in DIMS}
        x, y, z = (values.get(name, own) for name, own in zip(DIMS, self.call.dim, strict=True))
        return evolve(self.call.with_values(arguments, macros), dim=(x, y, z))

    def largest(
        self, name: str, fixed: Mapping[str, int], start: int, top: int | None = None
    ) -> tuple[int | None, Failure | None]:
        """Return the largest *name*, the others *fixed*, that ends in no fault and no overlap, and what fails above it."""
        top, step = self.top(name) if top is None else top, self.step(name)

        def failing(
            look: Callable[[Mapping[str, int], str], Failure | None],
        ) -> Callable[[int], Failure | None]:
            def steps(many: int) -> Failure | None:
                found = look({**fixed, name: many * step}, name)
                return None if found is None else evolve(found, value=many)

            return steps

        largest, fails = ascend(max(1, start // step), top // step, failing(self.fault))
        fitting, overlap = None, None
        if largest is not None:
            fitting, overlap = ascend(largest, largest, failing(self.overlap))
        beyond = overlap or fails
        return (
            None if fitting is None else fitting * step,
            None if beyond is None else evolve(beyond, value=beyond.value * step),
        )

    def failure(self, values: Mapping[str, int], name: str) -> Failure | None:
        """Return how a launch with *values* fails: by a fault, else by an overlap; told as the value of *name*."""
        return self.fault(values, name) or self.overlap(values, name)

    def fault(self, values: Mapping[str, int], name: str) -> Failure | None:
        """Return how a launch without observers fails with *values*; None where it does not."""
        key = tuple(sorted(values.items()))
        if key not in self._faults:
            first = not self._faults
            self._faults[key] = self._tried(values, name, lambda call: call.run(()), first=first)
        found = self._faults[key]
        return None if found is None else evolve(found, value=values[name])

    def overlap(self, values: Mapping[str, int], name: str) -> Failure | None:
        """Return which part of an array overwrites another with *values*."""
        return self._tried(values, name, lambda call: self._overlap(call, values, name), first=False)

    def _overlap(self, call: KernelCall, values: Mapping[str, int], name: str) -> Failure | None:
        found = self.carved(values, call)
        if not found.findings:
            return None
        first = found.findings[0]
        return Failure(values[name], "overlap", first.message, first.file, first.line)

    def carved(self, values: Mapping[str, int], call: KernelCall | None = None) -> Carving:
        """Return how the kernel divides its arrays with *values*."""
        key = tuple(sorted(values.items()))
        if key not in self._carved:
            self._carved[key] = carve(call or self.of(values))
        return self._carved[key]

    def _tried(
        self, values: Mapping[str, int], name: str, look: Callable[[KernelCall], Any], *, first: bool
    ) -> Failure | None:
        value = values[name]
        if values not in self.tried:
            self.tried.append(dict(values))
        try:
            call = self.of(values)
            nbytes = call.nbytes()
            if nbytes > MOST_BYTES:
                told = (
                    f"its arrays have {counted(nbytes, 'byte')}, and the search gives a launch {MOST_BYTES:,}"
                )
                return Failure(value, "limit", told)
            with limiting(FAR):
                found = look(call)
        except LimitReached as fault:
            return Failure(value, "limit", str(fault), fault.file, fault.line)
        except Fault as fault:
            where = (fault.file, fault.line, fault.space, fault.address, fault.nbytes, fault.declared)
            return Failure(value, "fault", str(fault), *where)
        except UsageError as error:
            if first:  # what no value mends
                raise
            return Failure(value, "refused", str(error))
        return found if isinstance(found, Failure) else None

    # -- what binds --------------------------------------------------------------------------------

    def binding(self, values: Mapping[str, int], fails: Failure, name: str) -> Binding:
        """Return the thing that binds with *values*, the largest *name*, where a larger one is as *fails* says."""
        if fails.kind == "overlap":
            beyond = self.carved({**values, name: fails.value})
            by, of = beyond.overlaps[0]
            file, line = (by.names[0].file, by.names[0].line) if by.names else (by.array.file, by.array.line)
            return Binding(f"{by.text} overwrites {of.text}", file, line)
        if fails.kind != "fault":
            what = "the limit of the search" if fails.kind == "limit" else fails.sentence
            return Binding(what, fails.file, fails.line)
        if fails.space == "GDRAM":
            return Binding("an array given with --arg", fails.file, fails.line)
        found, arch = self.carved(values), find_board(self.call.sources.board).arch
        bases = {"NRAM": arch.nram_base, "WRAM": arch.wram_base, "SRAM": arch.sram_base}
        if fails.space not in bases or fails.address is None:
            return Binding(fails.sentence, fails.file, fails.line)
        start = fails.address - bases[fails.space]
        end = None if fails.nbytes is None else start + fails.nbytes
        array = next((a for a in found.arrays if (a.file, a.line) == fails.declared), None)
        if array is None:
            total = totals_of(found).get(fails.space)
            used, limit = (None, None) if total is None else (total.declared, total.limit)
            return Binding(fails.space, None, None, used, end, limit)
        part = _at(found.parts_of(array), start - array.start)
        name, file, line = array.name, array.file, array.line
        if part is not None and part.names:
            name, file, line = f"{part.text} in {array.name}", part.names[0].file, part.names[0].line
        following = None if end is None else end - array.start
        return Binding(name, file, line, found.touched(array), following, array.bytes)

    def branches(self) -> tuple[str, ...]:
        """Return the places where the kernel and the functions that it calls branch, as ``k.mlu:12``."""
        plan = self.call.loaded().plan
        functions = [part.file.form.functions[symbol] for part in plan.parts for symbol in part.code]
        return tuple(dict.fromkeys(_branches(functions)))


def _at(parts: Iterable[ArrayPart], offset: int) -> ArrayPart | None:
    """Return the part of *parts* that has the byte *offset* of its array."""
    before = [part for part in parts if part.offset <= offset]
    return max(before, key=lambda part: part.offset, default=None)


def _branches(functions: Iterable[ir.Function]) -> Iterable[str]:
    for function in functions:
        for node in walk(function.body):
            if isinstance(node, ir.If | ir.Switch | ir.Conditional):
                yield f"{shown_file(node.span.file)}:{node.span.line}"
