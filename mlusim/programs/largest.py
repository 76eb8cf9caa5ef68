"""The largest values of arguments and macros with which a BANG C kernel or a host function runs, found by running it.

Launches without observers, natively where possible, search the largest value without a fault: values are doubled from
the initial one, then the interval is bisected.  Below that value the same search finds the largest value at which no
part of an on-chip array overwrites another (`carve`).  Some smaller values are tried as well, since a kernel may
branch by its shape, but not all.  For a host function, values that its own checks refuse are distinguished from
values that they accept and that then fail, which are a gap in the checks.
"""

import contextlib
import io
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from mlusim.arch.catalog import board_constants
from mlusim.bangc import ir, types as t
from mlusim.bangc.errors import SourceError
from mlusim.bangc.ir.walk import walk
from mlusim.counted import counted
from mlusim.document import members
from mlusim.errors import Fault, LaunchError, LimitReached, MlusimError, StatusError, UsageError, shown_file
from mlusim.formula.expr import INT32_MAX
from mlusim.machine.core import RunningLaunch
from mlusim.machine.hub import Observer, attending
from mlusim.machine.limits import Limit, limiting
from mlusim.observe.finding import Finding
from mlusim.programs.argument_forms import DRAW, NUMBER
from mlusim.programs.carving import Carving, carve, totals_of
from mlusim.programs.kernel_call import MacroTexts
from mlusim.programs.launch_again import LaunchAgain, LaunchKeeper
from mlusim.programs.native_parts import overlaps_in_c
from mlusim.programs.other_calls import Came, HostFunctionCall, by_itself

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import KernelCall

    SearchedCall = KernelCall | HostFunctionCall

FAR = Limit(seconds=10, growth=1 << 30)
"""Limits of a launch of the search: of time and memory, since only Python counts instructions, and there a launch takes a hundred times as long."""
MOST_BYTES = 256 << 20
"""Bytes of all arrays of one launch of the search."""
DIMS = ("dim.x", "dim.y", "dim.z")  # the numbers of tasks of a launch
BRANCHES = 4  # branches that are listed
ELSEWHERE = 60  # values of a macro to compile with if the source refuses its default
ASSERTED = "static assertion failed", "#error"
"""Messages of the compiler for a value of a macro that the source refuses."""
PASSED = ("fault", "overlap", "launch")
"""The kinds of failures of values that the checks of a host function accept."""


@frozen
class Failure:
    """A *value* with which the kernel does not run: a sentence about the failure, and its place.

    ``kind`` is "fault", "overlap", "refused" for a refused launch, "source" for an assertion of the source, "check"
    for a refusal by a host function, "launch" for a launch that is refused after the host function accepted the
    value, or "limit" for a launch beyond the limits of the search. ``space`` is the memory of a fault, ``address``
    and ``nbytes`` describe the access, and ``declared`` is the place of the array's declaration.
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
        """Return a phrase for the failure."""
        what = {
            "fault": "fails",
            "overlap": "overlaps",
            "refused": "is refused",
            "source": "is refused",
            "check": "is refused by the function's own checks",
            "launch": "is launched with what the board refuses",
            "limit": "takes more than the search waits for",
        }
        where = f" ({shown_file(self.file)}:{self.line})" if self.kind == "overlap" and self.file else ""
        return f"{what[self.kind]}: {self.sentence}{where}"

    def to_json(self) -> dict[str, Any]:
        """Return the answer as a document of JSON."""
        return members(self, "value", "kind", "sentence", "file", "line")


@frozen
class Binding:
    """The thing that limits the largest value: a pointer into an array, an array or a memory, by *name*, and its place.

    ``used`` and ``next`` are its bytes at the largest value and at the next one, ``capacity`` the available bytes;
    None if unknown.
    """

    name: str
    file: str | None = None
    line: int | None = None
    used: int | None = None
    next: int | None = None
    capacity: int | None = None


@frozen
class Steps:
    """The searched values of a variable: multiples of *step*, or with *powers* the powers of two, numbered from 1."""

    step: int = 1
    powers: bool = False

    def value(self, number: int) -> int:
        """Return the value with the number *number*."""
        return 1 << (number - 1) if self.powers else number * self.step

    def number(self, value: int) -> int:
        """Return the number of the largest value that is at most *value*; 0 if there is none."""
        return value.bit_length() if self.powers else value // self.step

    def __str__(self) -> str:
        return "powers of two" if self.powers else f"steps of {self.step:,}"


@frozen
class Passed:
    """A gap in the checks of a host function: the smallest and the largest tried value that they accept and that then fails.

    ``refused`` is the first refusal above the largest; None if none was seen.
    """

    first: Failure
    last: Failure
    refused: Failure | None

    def to_json(self) -> dict[str, Any]:
        """Return the facts."""
        return {
            "largest": self.last.to_json(),
            "smallest": self.first.to_json(),
            "refused": None if self.refused is None else self.refused.to_json(),
        }


@frozen
class LargestValue:
    """The largest value that ran, None if none did; ``fails`` is the smallest larger value that failed.

    Without ``fails`` every tried value ran, up to the largest of the variable's type.  ``tried`` has the values in
    the order of the search, ``below`` the failures under the largest value, and ``branches`` the places where the
    kernel branches.  If ``function`` says that it is a host function, ``passed`` are values that it accepts and that
    fail; ``steps`` are the searched values, and ``odd`` is how other values are refused. ``safe`` is the largest
    value at which the arrays leave the stack's reserve free, None if none was found, and ``declared`` the bytes of
    each memory at the largest value. ``unwatched`` says that parts may overlap, since the search for overlaps took
    too long. ``carved`` is the division of the arrays at the largest value, if requested, and ``uncarved`` the reason
    why it is unknown.
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
    function: bool = False
    passed: Passed | None = None
    steps: Steps = Steps()
    odd: Failure | None = None
    unwatched: bool = False
    carved: tuple[Carving, ...] = ()
    uncarved: str = ""
    safe: int | None = None
    declared: Mapping[str, int] = field(factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``plan FILE.mlu --max``."""
        binds, passed = self.binding, None if self.passed is None else self.passed.to_json()
        return {
            "function" if self.function else "kernel": self.kernel,
            **members(self, "board", "variable"),
            "sampled": True,
            **({"accepted_and_fails": passed, "step": self.steps.step} if self.function else {}),
            "largest": self.largest,
            "largest_with_stack": self.safe,
            "declared_at_largest": dict(self.declared),
            "next": None if self.fails is None else self.fails.value,
            "used_at_largest": None if binds is None else binds.used,
            "used_at_next": None if binds is None else binds.next,
            "capacity": None if binds is None else binds.capacity,
            "binding": None if binds is None else binds.name,
            "binding_at": None if binds is None or binds.file is None else f"{binds.file}:{binds.line}",
            "fails": None if self.fails is None else self.fails.to_json(),
            "fails_below": [failure.to_json() for failure in self.below],
            "branches": list(self.branches),
            "overlaps_unknown": self.unwatched,
            "tried": list(self.tried),
        }


def largest_value(call: "SearchedCall", variable: str, *, carved: bool = False) -> LargestValue:
    """Return the largest *variable* with which *call* runs without a fault and without overlapping parts on chip.

    The search begins at the value in the call, or at 1.  With *carved* the answer has the division of the arrays at
    the largest value, which takes a launch in Python if nothing on chip is the limit.  Raises `UsageError` if the
    kernel has no such integer, and for failures that do not depend on it.
    """
    shapes = Shapes(call)
    start = shapes.given(variable)
    largest, fails = shapes.largest(variable, {}, start)
    kernel, board, function = shapes.kernel, call.board.name, _is_function(call)
    below: tuple[Failure, ...] = ()
    if largest is not None:
        steps, tried = shapes.steps(variable), shapes.values_tried(variable)
        parts = _between(steps.number(largest), few=shapes.is_macro(variable) or variable in DIMS)
        more = [value for value in map(steps.value, parts) if value not in tried]
        below = tuple(failure for value in more if (failure := shapes.fault({variable: value}, variable)))
    passed = shapes.passed(variable) if function else None
    binding = None
    if largest is not None and fails is not None:
        binding = shapes.binding({variable: largest}, fails, variable)
    division, uncarved = shapes.division({variable: largest}) if carved and largest is not None else ((), "")
    safe = None if largest is None else shapes.with_stack(variable, largest, start)
    return LargestValue(
        *(kernel, board, variable, largest, fails, tuple(shapes.values_tried(variable))),
        binding,
        below,
        () if largest is None else _branches_of(shapes.call),
        function,
        passed,
        shapes.steps(variable),
        shapes.odd(variable),
        shapes.unwatched,
        division,
        uncarved,
        safe,
        {} if largest is None else shapes.declared({variable: largest}),
    )


def _between(largest: int, *, few: bool) -> list[int]:
    """Return values below *largest* to try, since the kernel may branch: odd and even ones, large and small."""
    # Few if each value needs a compilation, or a launch of many tasks.
    parts = (largest - 1, largest // 2 + 1) if few else (
        largest - 1, largest - 2, largest - largest // 16, largest * 3 // 4 | 1, largest // 2 + 1, largest // 3, largest // 7, 3, 2, 1,
    )  # fmt: skip
    return list(dict.fromkeys(value for value in parts if 0 < value < largest))


def _elsewhere(default: int, written: Iterable[int]) -> list[int]:
    """Return values of a macro to try if the source refuses its *default*.

    They are numbers *written* in the source, with which an assertion may compare it, parts of the default, and the
    numbers times powers of two.
    """
    parts = [default >> n for n in range(1, default.bit_length())]
    near = [value for value in written if 1 < value <= INT32_MAX and value != default]
    doubled = [value << n for n in range(1, 11) for value in near if value << n <= INT32_MAX]
    return list(dict.fromkeys([*near, *parts, *doubled]))[:ELSEWHERE]


def ascend(
    start: int, top: int, failing: Callable[[int], Failure | None], *, near: bool = False
) -> tuple[int | None, Failure | None]:
    """Return the largest value up to *top* for which *failing* returns None, and the failure above it.

    With *near* the result is expected close to *start*, so that the first steps from there are small.  The exact
    value of a failure of kind "limit" is not searched, since each try takes as long as the limit.
    """
    value = min(start, top)
    stride = 1 if near else value
    failure = failing(value)
    low = value if failure is None else None
    while failure is None and value < top:
        value, stride = min(value + stride, top), 2 * stride
        failure = failing(value)
        low = low if failure is not None else value
    # Downwards, at most by half each time, since the initial value may fail itself.
    while low is None and value > 1:
        slow = failure is not None and failure.kind == "limit"
        value, stride = value // 2 if slow else max(value - stride, value // 2), 2 * stride
        below = failing(value)
        low = value if below is None else None
        failure = below or failure
    while low is not None and failure is not None and failure.value - low > 1:
        if failure.kind == "limit" and failure.value - low <= low // 2:
            break
        value = (low + failure.value) // 2
        between = failing(value)
        low, failure = (value, failure) if between is None else (low, between)
    return low, failure


@define(eq=False)
class Shapes:
    """One call with other values of its variables: its integers, the numbers of its formulas, and macros of ``-D``.

    ``tried`` are the values of each launch, in order.
    """

    call: "SearchedCall"
    tried: list[Mapping[str, int]] = field(factory=list)
    unwatched: bool = False  # set once overlaps are no longer searched, since that took too long
    until: float = math.inf  # of `time.monotonic`, the end of the whole search
    _faults: dict[tuple[tuple[str, int], ...], Failure | None] = field(factory=dict)
    _many: dict[tuple[tuple[str, int], ...], int] = field(factory=dict)  # instructions of a kernel call
    _carved: dict[tuple[tuple[str, int], ...], list[Carving]] = field(factory=dict)
    _overlaps: dict[tuple[tuple[str, int], ...], Failure | None] = field(factory=dict)
    _steps: dict[str, Steps] = field(factory=dict)
    _odd: dict[str, Failure | None] = field(factory=dict)
    _declared: dict[tuple[tuple[str, int], ...], Mapping[str, int]] = field(factory=dict)

    @property
    def kernel(self) -> str:
        """The name of the kernel, or of the host function."""
        return self.call.called

    @property
    def over(self) -> bool:
        """Return whether the time of the whole search is over, so that nothing more is launched."""
        return self.until < math.inf and time.monotonic() >= self.until

    def values_tried(self, name: str) -> list[int]:
        """Return the values of *name* that were tried, in order."""
        return [shape[name] for shape in self.tried]

    def variables(self) -> dict[str, int]:
        """Return the largest value of each variable, by its name."""
        return _integers_of(self.call) | dict.fromkeys(self._macros(), INT32_MAX)

    def top(self, name: str) -> int:
        """Return the largest legal value of *name*, a variable or a number of tasks."""
        if name in DIMS:
            return self.call.board.max_dim[DIMS.index(name)]
        return self.variables()[name]

    def _macros(self) -> list[str]:
        return [name for name, text in self.call.macros.items() if text and text.isdigit()]

    def steps(self, name: str) -> Steps:
        """Return the values of *name* to search: dim.x of a union in steps of its cores, others as a host function or an assertion requires."""
        cores = self.call.board.arch.cores_per_cluster
        usual = max(1, self.call.kind.unions * cores) if name == DIMS[0] else 1
        return self._steps.get(name, Steps(usual))

    def is_macro(self, name: str) -> bool:
        """Return whether *name* is a macro, so that each value needs a compilation."""
        return name in self._macros() and name not in self.call.arguments

    def given(self, name: str) -> int:
        """Return the value of *name* in the call, at least 1.  Raises `UsageError` if there is no such variable."""
        if name in DIMS:
            return self.call.dim[DIMS.index(name)]
        self._settle_macro(name)
        variables = self.variables()
        if name not in variables:
            legal = ", ".join(variables) or "it has none"
            raise UsageError(
                f"{self.kernel} has no integer {name!r} to look for; its integers, and macros of -D: {legal}; besides, {', '.join(DIMS)}"
            )
        if name not in self.call.arguments and name not in self._macros():
            return 1
        try:
            return max(self.call.scope().whole(name), 1)
        except UsageError as error:
            raise UsageError(f"{error}, for the search to begin at") from None

    def settle(self, words: Iterable[str]) -> None:
        """Define each macro among *words* as its number in the sources, so that it is a variable.

        Raises `UsageError` for a macro that the sources define regardless of ``-D``.
        """
        constants = board_constants(self.call.board)
        for word in words:
            if word not in constants:
                self._settle_macro(word)

    def _settle_macro(self, name: str) -> None:
        """Define macro *name* as its number in the sources, unless ``-D`` does.

        Raises `UsageError` for a macro that the sources do not use, or define regardless of ``-D``.
        """
        if name in self.call.arguments:
            return
        texts = MacroTexts.of(self.call.asked)
        texts.refuse_fixed(name)
        number = texts.defined(name)
        if number is not None and not self.is_macro(name):
            self.call = self.call.with_values({}, {name: str(number)}, self.call.dim)
        if self.is_macro(name):
            if name not in texts.identifiers():
                raise UsageError(f"the source of {self.kernel} uses no macro {name}, which -D defines")
            self._begin_where_it_compiles(name, texts)

    def _begin_where_it_compiles(self, name: str, texts: MacroTexts) -> None:
        """If the sources do not compile with the default of macro *name*, define it as a number with which they do.

        Raises the compiler's error for the default if no such number is found.
        """
        try:
            self.call.formals()
        except SourceError:
            default = int(self.call.macros[name] or 1)
            for value in _elsewhere(default, texts.numbers()):
                other = self.call.with_values({}, {name: str(value)}, self.call.dim)
                with contextlib.suppress(SourceError):
                    other.formals()
                    self.call = other
                    return
            raise

    def is_plain(self, name: str) -> bool:
        """Return whether argument *name* is a literal number."""
        return self.call.arguments.get(name, "").isdigit()

    def of(self, values: Mapping[str, int]) -> "SearchedCall":
        """Return the call with *values* for its variables."""
        macros = {name: str(value) for name, value in values.items() if self.is_macro(name)}
        arguments = {name: str(v) for name, v in values.items() if name not in macros and name not in DIMS}
        x, y, z = (values.get(name, size) for name, size in zip(DIMS, self.call.dim, strict=True))
        return self.call.with_values(arguments, macros, (x, y, z))

    def largest(
        self, name: str, fixed: Mapping[str, int], start: int, *, near: bool = False
    ) -> tuple[int | None, Failure | None]:
        """Return the largest *name*, the others *fixed*, without a fault or an overlap, and the failure above it.

        With *near* the result is expected close to *start*.
        """
        wants_multiples = self.is_macro(name) or _is_function(self.call)
        if wants_multiples and name not in (*DIMS, *self._steps):
            self._find_steps(name, fixed, start)
        steps = self.steps(name)

        def failing(
            look: Callable[[Mapping[str, int], str], Failure | None],
        ) -> Callable[[int], Failure | None]:
            def numbered(number: int) -> Failure | None:
                failure = look({**fixed, name: steps.value(number)}, name)
                return None if failure is None else evolve(failure, value=number)

            return numbered

        first, top = max(1, steps.number(start)), steps.number(self.top(name))
        largest, fails = ascend(first, top, failing(self.fault), near=near)
        fitting, overlap = None, None
        if largest is not None:
            fitting, overlap = ascend(largest, largest, failing(self.overlap), near=near)
        beyond = overlap or fails
        return (
            None if fitting is None else steps.value(fitting),
            None if beyond is None else evolve(beyond, value=steps.value(beyond.value)),
        )

    def failure(self, values: Mapping[str, int], name: str) -> Failure | None:
        """Return the failure of a launch with *values*, a fault or else an overlap, as a failure of the value of *name*."""
        return self.fault(values, name) or self.overlap(values, name)

    def fault(self, values: Mapping[str, int], name: str) -> Failure | None:
        """Return the failure of a launch with *values* without observers; None if it does not fail."""
        key = tuple(sorted(values.items()))
        if (
            key not in self._faults and self.over
        ):  # not stored: a later part of the search may have time for this value
            return Failure(values[name], "limit", "the time of the search is over")
        if key not in self._faults:
            first = not self._faults
            self._faults[key] = self._tried(
                values, name, lambda call: self._run(call, values, name), first=first
            )
        failure = self._faults[key]
        return None if failure is None else evolve(failure, value=values[name])

    def _run(self, call: "SearchedCall", values: Mapping[str, int], name: str) -> Failure | None:
        """Run *call*, with *values*; a host function that launches nothing counts as refusing the value of *name*."""
        key, declared = tuple(sorted(values.items())), Declared()
        with attending([declared]):
            done = call.run(())
        self._declared[key] = declared.most
        if not isinstance(done, Came):
            self._many[key] = sum(done.launch.instructions.values())
        elif not done.launches:
            returned = "" if done.returned is None else f", and returns {done.returned}"
            return Failure(values[name], "check", f"no kernel is launched{returned}")
        return None

    def declared(self, values: Mapping[str, int]) -> Mapping[str, int]:
        """Return the most bytes of each on-chip memory that a launch with *values* declares; empty if no launch completed."""
        return self._declared.get(tuple(sorted(values.items())), {})

    def with_stack(self, name: str, largest: int, start: int) -> int | None:
        """Return the largest *name* up to *largest* at which the arrays leave the stack's reserve free; None if there is none."""
        arch, steps = self.call.board.arch, self.steps(name)

        def taking(number: int) -> Failure | None:
            values = {name: steps.value(number)}
            failure = self.fault(values, name)
            taken = any(arch.stack_taken(space, nbytes) for space, nbytes in self.declared(values).items())
            return (
                evolve(failure, value=number) if failure else Failure(number, "stack", "") if taken else None
            )

        if taking(steps.number(largest)) is None:
            return largest
        safe, _ = ascend(max(1, steps.number(start)), steps.number(largest), taking)
        return None if safe is None else steps.value(safe)

    def overlap(self, values: Mapping[str, int], name: str) -> Failure | None:
        """Return the failure of *values* by a part of an array that overwrites another one."""
        key = tuple(sorted(values.items()))
        if key not in self._overlaps and self.over:
            self.unwatched = True
            return None
        if key not in self._overlaps:
            failure = self._tried(values, name, lambda call: self._overlap(call, values, name), first=False)
            if failure is not None and failure.kind == "limit":
                self.unwatched, failure = True, None
            self._overlaps[key] = failure
        failure = self._overlaps[key]
        return None if failure is None else evolve(failure, value=values[name])

    def odd(self, name: str) -> Failure | None:
        """Return the failure of a value of *name* outside of the searched ones, if a host function or the source requires those."""
        return self._odd.get(name)

    def _overlap(self, call: "SearchedCall", values: Mapping[str, int], name: str) -> Failure | None:
        many = self._many.get(tuple(sorted(values.items())), 0)
        first = next(_overlaps_of(call, many), None)
        if first is None:
            return None
        return Failure(values[name], "overlap", first.message, first.file, first.line)

    def carved(self, values: Mapping[str, int], call: "SearchedCall | None" = None) -> list[Carving]:
        """Return the division of the arrays with *values*: of the kernel, or of each kernel that the host function launches."""
        key = tuple(sorted(values.items()))
        if key not in self._carved:
            self._carved[key] = carvings_of(call or self.of(values))
        return self._carved[key]

    def division(self, values: Mapping[str, int]) -> tuple[tuple[Carving, ...], str]:
        """Return the division of the arrays with *values*, which run, or the reason why it is unknown."""
        try:
            with limiting(FAR), _silent():
                return tuple(self.carved(values)), ""
        except MlusimError as error:  # observed in Python the launch may take longer than the limit
            return (), str(error)

    def _tried(
        self, values: Mapping[str, int], name: str, look: Callable[["SearchedCall"], Any], *, first: bool
    ) -> Failure | None:
        value = values[name]
        if values not in self.tried:
            self.tried.append(dict(values))
        try:
            call = self.of(values)
            with _silent():  # notes about the sources were printed with the first value
                nbytes = call.scope().nbytes()
            if nbytes > MOST_BYTES:
                told = (
                    f"its arrays have {counted(nbytes, 'byte')}, and the search gives a launch {MOST_BYTES:,}"
                )
                return Failure(value, "limit", told)
            with limiting(FAR), _silent() as printed:
                outcome = look(call)
        except LimitReached as fault:
            return Failure(value, "limit", str(fault), fault.file, fault.line)
        except Fault as fault:
            where = (fault.file, fault.line, fault.space, fault.address, fault.nbytes, fault.declared)
            return Failure(value, "fault", str(fault), *where)
        except StatusError as refusal:
            outcome = Failure(value, "check", str(refusal))
        except UsageError as error:
            refused = isinstance(error, LaunchError)
            unfit = _is_function(self.call) and refused
            asserted = any(word in str(error) for word in ASSERTED)
            # A macro may declare arrays that are too large for the board; no other refusal depends on a
            # value.
            if first and not unfit and not ((refused or asserted) and self.is_macro(name)):
                raise
            kind = "launch" if unfit else "source" if asserted else "refused"
            outcome = Failure(value, kind, str(error).partition("\n")[0])
        if isinstance(outcome, Failure) and outcome.kind == "check":
            outcome = evolve(outcome, sentence="; ".join((outcome.sentence, *printed())))
        return outcome if isinstance(outcome, Failure) else None

    # -- what limits the largest value ---------------------------------------------------------------

    def binding(self, values: Mapping[str, int], fails: Failure, name: str) -> Binding:
        """Return what limits *values*, the largest *name*, of which a larger one fails as *fails* says."""
        if fails.kind == "overlap":
            beyond = [
                pair for carving in self.carved({**values, name: fails.value}) for pair in carving.overlaps
            ]
            by, of = beyond[0]
            file, line = (by.names[0].file, by.names[0].line) if by.names else (by.array.file, by.array.line)
            return Binding(f"{by.text} overwrites {of.text}", file, line)
        if fails.kind != "fault":
            what = "the limit of the search" if fails.kind == "limit" else fails.sentence
            return Binding(what, fails.file, fails.line)
        if fails.space == "GDRAM":
            return Binding("an array given with --arg", fails.file, fails.line)
        arch = self.call.board.arch
        bases = {"NRAM": arch.nram_base, "WRAM": arch.wram_base, "SRAM": arch.sram_base}
        if fails.space not in bases or fails.address is None:
            return Binding(fails.sentence, fails.file, fails.line)
        start = fails.address - bases[fails.space]
        end = None if fails.nbytes is None else start + fails.nbytes
        every, unknown = self.division(values)
        if unknown:
            return Binding(fails.space, *(fails.declared or (None, None)))
        declared = [
            (carving, a) for carving in every for a in carving.arrays if (a.file, a.line) == fails.declared
        ]
        if not declared:
            totals = [held[fails.space] for carving in every if fails.space in (held := totals_of(carving))]
            total = max(totals, key=lambda total: total.declared, default=None)
            used, limit = (None, None) if total is None else (total.declared, total.limit)
            return Binding(fails.space, None, None, used, end, limit)
        carving, array = declared[0]
        before = [part for part in carving.parts_of(array) if part.offset <= start - array.start]
        part = max(before, key=lambda part: part.offset, default=None)
        name, file, line = array.name, array.file, array.line
        if part is not None and part.names:
            name, file, line = f"{part.text} in {array.name}", part.names[0].file, part.names[0].line
        following = None if end is None else end - array.start
        return Binding(name, file, line, carving.touched(array), following, array.bytes)

    # -- values that a host function's checks accept and that fail ------------------------------------

    def passed(self, name: str) -> Passed | None:
        """Return which values of *name* are accepted and fail, among the tried values and up to the refused ones above."""
        seen = self._passed(name)
        if not seen:
            return None
        steps = self.steps(name)

        def refused(number: int) -> Failure | None:
            failure = self.failure({name: steps.value(number)}, name)
            return None if failure is None or failure.kind in PASSED else evolve(failure, value=number)

        _, above = ascend(steps.number(seen[-1].value), steps.number(self.top(name)), refused)
        seen = self._passed(name)
        return Passed(
            seen[0], seen[-1], None if above is None else evolve(above, value=steps.value(above.value))
        )

    def _passed(self, name: str) -> list[Failure]:
        """Return the failures of values of *name* that the function accepted, ordered by value."""
        failures = [
            (dict(key)[name], failure or self._overlaps.get(key)) for key, failure in self._faults.items()
        ]
        passed = [evolve(f, value=value) for value, f in failures if f is not None and f.kind in PASSED]
        return sorted(passed, key=lambda failure: failure.value)

    def _find_steps(self, name: str, fixed: Mapping[str, int], start: int) -> None:
        """Find the step between values of *name*, if the checks of a host function or an assertion of the source accept only some values.

        They may be multiples of a divisor of *start*, or powers of two.
        """

        def refused(value: int) -> Failure | None:
            failure = self.fault({**fixed, name: value}, name)
            return failure if failure is not None and failure.kind in ("check", "source") else None

        def taken(value: int) -> bool:
            return 0 < value <= self.top(name) and refused(value) is None

        if not taken(start):
            return
        for step in (divisor for divisor in range(1, start + 1) if start % divisor == 0):
            if taken(start - step) or taken(start + step):
                # Half and double of a power of two, which are not neighbours of it among multiples.
                doubled = step > 1 and start & (start - 1) == 0 and 2 * step >= start
                powers = doubled and (taken(step // 2) or (taken(4 * step) and not taken(3 * step)))
                self._steps[name] = Steps(1 if powers else step, powers)
                self._odd[name] = refused(start - 1 or start + 1)
                return


@contextlib.contextmanager
def _silent() -> Iterator[Callable[[], list[str]]]:
    """Capture the output of the block; yield a function that returns its last line of standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield lambda: [line.strip() for line in err.getvalue().splitlines() if line.strip()][-1:]


@define(eq=False)
class Declared(Observer):
    """Records the most bytes of each on-chip memory that launches declare."""

    between = True
    name: str = field(default="declared", init=False)
    most: dict[str, int] = field(factory=dict, init=False)

    def launch_end(self, launch: RunningLaunch) -> None:
        """Add the bytes that this launch declares."""
        for space, usage in launch.tally.memory.items():
            self.most[space] = max(self.most.get(space, 0), usage.high_water)


# -- calls of kernels, and of host functions -------------------------------------------------------


def _is_function(call: "SearchedCall") -> bool:
    """Return whether *call* calls a host function, which has checks of its own."""
    return isinstance(call, HostFunctionCall)


def _integers_of(call: "SearchedCall") -> dict[str, int]:
    """Return the largest value of each integer of *call*, by name: parameters, and numbers of formulas."""
    formals = call.formals()
    largest = {
        p.source_name: p.type.high
        for p in formals
        if isinstance(p.type, t.Arithmetic) and p.type.kind in ("int", "uint") and by_itself(p) is None
    }
    scope, names = call.scope(), {p.source_name for p in formals}
    for name in call.arguments:
        if name not in names and scope.value(name, f"--arg {name}").form in (NUMBER, DRAW):
            largest[name] = INT32_MAX
    return largest


def carvings_of(call: "SearchedCall") -> list[Carving]:
    """Return how each kernel that *call* launches divides its on-chip arrays; a host function is first called once.

    Raises the exceptions of the launches.
    """
    return (
        [carve(launch) for launch in _launches(call)] if isinstance(call, HostFunctionCall) else [carve(call)]
    )


def _launches(call: HostFunctionCall) -> Iterable[LaunchAgain]:
    """Return the launches that a call of a host function makes."""
    keeper = LaunchKeeper()
    with attending([keeper]):
        call.run(())
    return keeper.launches.values()


def _overlaps_of(call: "SearchedCall", length: int) -> Iterator[Finding]:
    """Yield the findings about parts of arrays that overwrite each other in the kernels that *call* launches.

    *length* is the number of instructions and scalar accesses of a kernel call.
    """
    calls: list[tuple[KernelCall | LaunchAgain, int]]
    if isinstance(call, HostFunctionCall):
        calls = [(launch, launch.length) for launch in _launches(call)]
    else:
        calls = [(call, length)]
    for launched, many in calls:
        yield from (overlaps_in_c(launched, many) or carve(launched)).findings


def _branches_of(call: "SearchedCall") -> tuple[str, ...]:
    """Return the places where the kernel of *call* and the functions that it calls branch, as file and line; none for a host function."""
    if isinstance(call, HostFunctionCall):
        return ()
    functions = [
        part.file.form.functions[symbol] for part in call.loaded().plan.parts for symbol in part.code
    ]
    nodes = (node for function in functions for node in walk(function.body))
    return tuple(
        dict.fromkeys(
            f"{shown_file(n.span.file)}:{n.span.line}"
            for n in nodes
            if isinstance(n, ir.If | ir.Switch | ir.Conditional)
        )
    )
