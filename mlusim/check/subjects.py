"""The subjects of other schedules: a case of an operator or a script, with its results and how they differ."""

import contextlib
import hashlib
import io
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

from mlusim.counted import counted
from mlusim.errors import Fault, UsageError
from mlusim.files.reading import brief, path_of
from mlusim.machine.hub import Observer
from mlusim.machine.observed import Effect
from mlusim.machine.scheduling.schedule import Director, directing
from mlusim.machine.tensor import leaves
from mlusim.operators.accuracy import bit_equal, judge
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import Run, run_case
from mlusim.operators.spec import Operator, Thresholds
from mlusim.programs.program import ScriptProgram

if TYPE_CHECKING:
    from mlusim.machine.observed import Core, Launch

Array = np.ndarray[Any, Any]
ROUNDED = Thresholds(diff1=1e-5, diff2=1e-5)
"""Errors that adding in another order may make in a script, which says no thresholds of its own."""


@frozen
class OperatorSubject:
    """A *case* of an *operator* on a *board*, by name.

    Outputs are compared bit for bit; those of floating-point type whose kernels use atomics, which add
    in any order, within the operator's thresholds.  A fault on one side only, or another one, differs too.
    """

    operator: str
    case: str
    board: str

    @property
    def name(self) -> str:
        """The operator, its case and its board."""
        return f"{self.operator} {self.case} on {self.board}"

    def outcome(self, effects: str, director: Director) -> Run | Fault:
        """Run the case and return its outcome."""
        spec = find_operator(self.operator)
        try:
            with directing(director):
                case = find_case(spec, self.case)
                return run_case(spec, case, board=self.board, effects=effects, reference=False)
        except Fault as fault:
            return fault

    def difference(self, usual: Run | Fault, other: Run | Fault) -> str | None:
        """Say how *other* differs from *usual*."""
        return difference(find_operator(self.operator), usual, other)

    def asynchronous(self, outcome: Run | Fault) -> bool:
        """Return True where an asynchronous intrinsic ran, or may have run before a fault."""
        return isinstance(outcome, Fault) or any("async" in name for name in outcome.instructions)

    def again(self, seed: int | None, effects: str) -> str:
        """Return the command of the debugger."""
        seeded = "" if seed is None else f" --seed {seed}"
        return (
            f"the debugger stops in this schedule with `mlusim debug {self.operator} --case {self.case} "
            f"--board {self.board}{seeded} --effects {effects}`"
        )

    def facts(self) -> dict[str, Any]:
        """Return the names of operator, case and board."""
        return {"operator": self.operator, "case": self.case, "board": self.board}


def difference(operator: Operator, usual: Run | Fault, other: Run | Fault) -> str | None:
    """Say how *other* differs from *usual*, two runs of *operator*; None where it does not."""
    if isinstance(usual, Fault) or isinstance(other, Fault):
        return None if type(usual) is type(other) else f"it ends {_ending(other)}, not {_ending(usual)}"
    if usual.status != other.status:
        return f"the status is {other.status.name}, not {usual.status.name}"
    atomic = any("atomic" in name for name in (*usual.instructions, *other.instructions))
    for name, expected in usual.outputs.items():
        found = other.outputs[name]
        if not _same(found, expected, operator.thresholds.get(name) if atomic else None):
            return _elements(name, found, expected)
    return None


# -- scripts ---------------------------------------------------------------------------------------


@define
class LeftTensors:
    """The outcome of one launch: its kernel, its tensors by the place of the argument, whether atomics added."""

    kernel: str
    tensors: dict[int, Array] = field(factory=dict)
    atomic: bool = False
    asynchronous: bool = False
    fault: str | None = None


class Leavings(Observer):
    """Copies what every launch leaves in the tensors among its arguments."""

    name = "leavings"

    def __init__(self) -> None:
        self.launches: list[LeftTensors] = []

    def launch_begin(self, launch: "Launch") -> None:
        """Begin a launch with no copies."""
        self.launches.append(LeftTensors(launch.request.kernel.name))

    def issue(self, effect: Effect) -> bool:
        """Note whether there are atomics, and what could land at another time."""
        self.launches[-1].asynchronous |= effect.asynchronous
        row = effect.step.row
        if row is not None and row.atomic:
            self.launches[-1].atomic = True
        return True

    def launch_end(self, launch: "Launch") -> None:
        """Copy the tensors that the launch leaves."""
        for place, argument in enumerate(leaves(launch.request)):
            allocation = getattr(getattr(argument, "view", argument), "allocation", None)
            if allocation is not None and allocation.writable:
                raw = allocation.raw.copy()
                whole = len(raw) % argument.dtype.size == 0
                self.launches[-1].tensors[place] = raw.view(argument.dtype.dtype) if whole else raw

    def fault(self, core: "Core", fault: Fault) -> None:
        """Note how the launch has ended."""
        del core
        self.launches[-1].fault = type(fault).__name__


@frozen
class ScriptSubject:
    """A script with its arguments; what each launch leaves in its tensors is compared, element by element.

    Tensors have to be equal to the bit, but for floating-point ones of launches with atomics: these add in any
    order, and the sums may differ by rounding.  What the script prints goes nowhere.
    """

    script: str
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the script in sentences."""
        return self.script

    def outcome(self, effects: str, director: Director) -> tuple[LeftTensors, ...]:
        """Run the script and return its outcome."""
        leavings = Leavings()
        director.effects = effects
        # The run under the checkers tells them.
        errors = contextlib.suppress(Exception, SystemExit, GeneratorExit)
        with directing(director), errors, contextlib.redirect_stdout(io.StringIO()):
            ScriptProgram(self.script, self.arguments).run((leavings,))
        return tuple(leavings.launches)

    def difference(self, usual: tuple[LeftTensors, ...], other: tuple[LeftTensors, ...]) -> str | None:
        """Say what the first launch with a difference left."""
        for number, (expected, found) in enumerate(zip(usual, other, strict=False), 1):
            where = f"launch {number}, {expected.kernel}"
            if expected.kernel != found.kernel:
                return f"launch {number} is of {found.kernel}, not of {expected.kernel}"
            if expected.fault != found.fault:
                return f"{where}, ends with {found.fault or 'no fault'}, not with {expected.fault or 'none'}"
            told = _tensors(expected, found)
            if told is not None:
                return f"{where}: {told}"
        if len(usual) != len(other):
            return f"it makes {counted(len(other), 'launch', 'launches')}, not {len(usual)}"
        return None

    def asynchronous(self, outcome: tuple[LeftTensors, ...]) -> bool:
        """Return True where an asynchronous intrinsic ran."""
        return any(left.asynchronous for left in outcome)

    def again(self, seed: int | None, effects: str) -> str:
        """Say how the schedule is chosen."""
        chosen = [f'effects="{effects}"', *(() if seed is None else (f"seed={seed}",))]
        return f"choose this schedule with {', '.join(chosen)} in `device.launch`"

    def facts(self) -> dict[str, Any]:
        """Return the command, and the hash of the script's text."""
        return {
            "script": self.script,
            "arguments": list(self.arguments),
            "sha256": script_digest(self.script),
        }


Subject = OperatorSubject | ScriptSubject
"""What can be run in any schedule, and whose outcomes can be compared."""


def script_digest(script: str) -> str:
    """Return the SHA-256 of the file *script*, in hexadecimal digits; raises `UsageError` where it cannot be read."""
    try:
        return hashlib.sha256(path_of(script).read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{script} cannot be read: {brief(error)}") from None


def _tensors(expected: LeftTensors, found: LeftTensors) -> str | None:
    atomic = expected.atomic or found.atomic
    for place, array in expected.tensors.items():
        if not _same(found.tensors[place], array, ROUNDED if atomic else None):
            return _elements(f"argument {place}", found.tensors[place], array)
    return None


# -- arrays ----------------------------------------------------------------------------------------


def _ending(outcome: Run | Fault) -> str:
    return f"in a fault ({outcome.message})" if isinstance(outcome, Fault) else "without a fault"


def _same(found: Array, expected: Array, allowed: Thresholds | None) -> bool:
    if bit_equal(found, expected):
        return True
    integer = found.dtype.kind in "biu"
    return allowed is not None and not integer and judge(found, expected, allowed).passed


def _elements(name: str, found: Array, expected: Array) -> str:
    """Return which elements of the output *name* differ, by their bytes."""
    width = found.dtype.itemsize
    raw = [np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(-1, width) for a in (found, expected)]
    places = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
    at = tuple(int(n) for n in np.unravel_index(places[0], found.shape))
    return (
        f"{len(places)} of {found.size} elements of {name} differ, the first at {list(at)}: "
        f"{found[at]} instead of {expected[at]}"
    )
