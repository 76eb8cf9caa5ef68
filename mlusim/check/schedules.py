"""Schedules: the results of a program must depend neither on the order of the tasks nor on when copies land.

The default schedule (tasks in their order, asynchronous effects as late as allowed) is compared with
others.  The first schedule with other results is reduced to the fewest decisions that still make a difference,
which a replay file repeats exactly.  A subject is what is run and compared: a case of an operator, a script or a call
of a kernel, with its results and a way to compare them.
"""

import contextlib
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from attrs import define, field, frozen

from mlusim.counted import counted
from mlusim.errors import Fault, UsageError
from mlusim.files.reading import brief, path_of
from mlusim.machine.core import Core, RunningLaunch
from mlusim.machine.hub import Effect, Observer
from mlusim.machine.scheduling.schedule import EFFECTS, LAND, NEXT, STOP, Decision, Director, directing
from mlusim.observe.finding import Finding
from mlusim.operators.accuracy import bit_equal, judge
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import Run, run_case
from mlusim.operators.spec import Operator, Thresholds
from mlusim.programs.kernel_call import CallProgram
from mlusim.programs.program import ScriptProgram

Array = np.ndarray[Any, Any]
ROUNDED = Thresholds(diff1=1e-5, diff2=1e-5)
"""Errors that another order of additions may cause in a script, which declares no thresholds."""


@frozen
class OperatorSubject:
    """A *case* of an *operator* on a *board*, by name.

    Outputs are compared bit for bit, except floating-point outputs of kernels with atomics, which add in any order:
    these are compared within the operator's thresholds.  A fault on one side only, or another fault, is a difference.
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
        """Return a sentence about the difference of *other* from *usual*; None if there is none."""
        return difference(find_operator(self.operator), usual, other)

    def asynchronous(self, outcome: Run | Fault) -> bool:
        """Return True if an asynchronous intrinsic ran, or may have run before a fault."""
        return isinstance(outcome, Fault) or any("async" in name for name in outcome.instructions)

    def again(self, seed: int | None, effects: str) -> str:
        """Return a sentence with the command that debugs this schedule."""
        seeded = "" if seed is None else f" --seed {seed}"
        return (
            f"the debugger stops in this schedule with `mlusim debug {self.operator} --case {self.case} "
            f"--board {self.board}{seeded} --effects {effects}`"
        )

    def facts(self) -> dict[str, Any]:
        """Return the names of operator, case and board."""
        return {"operator": self.operator, "case": self.case, "board": self.board}


def difference(operator: Operator, usual: Run | Fault, other: Run | Fault) -> str | None:
    """Return a sentence about the difference of *other* from *usual*, both runs of *operator*; None if there is none."""
    if isinstance(usual, Fault) or isinstance(other, Fault):
        return None if type(usual) is type(other) else f"it ends {_ending(other)}, not {_ending(usual)}"
    if usual.status != other.status:
        return f"the status is {other.status.name}, not {usual.status.name}"
    atomic = any("atomic" in name for name in (*usual.instructions, *other.instructions))
    for name, expected in usual.outputs.items():
        actual = other.outputs[name]
        if not _same(actual, expected, operator.thresholds.get(name) if atomic else None):
            return _elements(name, actual, expected)
    return None


# -- scripts ---------------------------------------------------------------------------------------


@define
class LeftTensors:
    """The outcome of one launch: its kernel, the contents of its tensors by argument number, and whether it had atomics."""

    kernel: str
    tensors: dict[int, Array] = field(factory=dict)
    atomic: bool = False
    asynchronous: bool = False
    fault: str | None = None


class Leavings(Observer):
    """Copies the tensors among the arguments of every launch when it ends."""

    name = "leavings"

    def __init__(self) -> None:
        self.launches: list[LeftTensors] = []

    def launch_begin(self, launch: RunningLaunch) -> None:
        """Begin the record of a launch."""
        self.launches.append(LeftTensors(launch.request.kernel.name))

    def issue(self, effect: Effect) -> bool:
        """Note whether the launch has atomics, and whether it has effects that could land at another time."""
        self.launches[-1].asynchronous |= effect.asynchronous
        row = effect.step.row
        if row is not None and row.atomic:
            self.launches[-1].atomic = True
        return True

    def launch_end(self, launch: RunningLaunch) -> None:
        """Copy the tensors as the launch leaves them."""
        for place, argument in enumerate(launch.request.leaves):
            allocation = getattr(getattr(argument, "view", argument), "allocation", None)
            if allocation is not None and allocation.writable:
                raw = allocation.raw.copy()
                whole = len(raw) % argument.dtype.size == 0
                self.launches[-1].tensors[place] = raw.view(argument.dtype.dtype) if whole else raw

    def fault(self, core: Core, fault: Fault) -> None:
        """Note the fault that ends the launch."""
        del core
        self.launches[-1].fault = type(fault).__name__


class LaunchesSubject:
    """A subject that makes launches; the tensors that each leaves are compared, element by element.

    Tensors have to be equal to the bit, except floating-point tensors of launches with atomics: these add in any
    order, so that the sums may differ by rounding.  Printed output is discarded.
    """

    def launched(self, effects: str, observe: Iterable[Observer]) -> None:
        """Run the subject with *effects* and the observers *observe*."""
        raise NotImplementedError

    def outcome(self, effects: str, director: Director) -> tuple[LeftTensors, ...]:
        """Return the tensors that each launch leaves."""
        leavings = Leavings()
        director.effects = effects
        # Errors are ignored here; the run under the checkers reports them.
        errors = contextlib.suppress(Exception, SystemExit, GeneratorExit)
        with directing(director), errors, contextlib.redirect_stdout(io.StringIO()):
            self.launched(effects, (leavings,))
        return tuple(leavings.launches)

    def difference(self, usual: tuple[LeftTensors, ...], other: tuple[LeftTensors, ...]) -> str | None:
        """Return a sentence about the first launch that differs; None if none does."""
        for number, (expected, actual) in enumerate(zip(usual, other, strict=False), 1):
            where = f"launch {number}, {expected.kernel}"
            if expected.kernel != actual.kernel:
                return f"launch {number} is of {actual.kernel}, not of {expected.kernel}"
            if expected.fault != actual.fault:
                return f"{where}, ends with {actual.fault or 'no fault'}, not with {expected.fault or 'none'}"
            told = _tensors(expected, actual)
            if told is not None:
                return f"{where}: {told}"
        if len(usual) != len(other):
            return f"it makes {counted(len(other), 'launch', 'launches')}, not {len(usual)}"
        return None

    def asynchronous(self, outcome: tuple[LeftTensors, ...]) -> bool:
        """Return True if an asynchronous intrinsic ran."""
        return any(left.asynchronous for left in outcome)


@frozen
class ScriptSubject(LaunchesSubject):
    """A script with its arguments."""

    script: str
    arguments: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The path of the script."""
        return self.script

    def launched(self, effects: str, observe: Iterable[Observer]) -> None:
        """Run the script; its launches have the effects of the director."""
        del effects
        ScriptProgram(self.script, self.arguments).run(tuple(observe))

    def again(self, seed: int | None, effects: str) -> str:
        """Return a sentence with the options that choose this schedule."""
        chosen = [f'effects="{effects}"', *(() if seed is None else (f"seed={seed}",))]
        return f"choose this schedule with {', '.join(chosen)} in `device.launch`"

    def facts(self) -> dict[str, Any]:
        """Return the command, and the hash of the script's text."""
        return {
            "script": self.script,
            "arguments": list(self.arguments),
            "sha256": script_digest(self.script),
        }


@frozen(eq=False)
class CallSubject(LaunchesSubject):
    """A call of a kernel, or of a host function that launches kernels, in the file *path*."""

    call: CallProgram
    path: str

    @property
    def name(self) -> str:
        """The kernel or function, and its file."""
        return f"{self.call.called} of {self.path}"

    def launched(self, effects: str, observe: Iterable[Observer]) -> None:
        """Make the call with *effects*."""
        self.call.asking(effects=effects).run(tuple(observe))

    def again(self, seed: int | None, effects: str) -> str:
        """Return a sentence with the options of the debugger that choose this schedule."""
        seeded = "" if seed is None else f"--seed {seed} "
        return f"the debugger stops in this schedule with `mlusim debug` of the same call and {seeded}--effects {effects}"

    def facts(self) -> dict[str, Any]:
        """Return the file, and the name of the kernel or function."""
        return {"program": self.path, "kernel": self.call.called}


Recorded = OperatorSubject | ScriptSubject
"""The subjects that a replay file can describe."""
Subject = Recorded | CallSubject
"""Everything that can run in any schedule, and whose outcomes can be compared."""


def script_digest(script: str) -> str:
    """Return the SHA-256 of the file *script*, in hexadecimal digits; raises `UsageError` if it cannot be read."""
    try:
        return hashlib.sha256(path_of(script).read_bytes()).hexdigest()
    except OSError as error:
        raise UsageError(f"{script} cannot be read: {brief(error)}") from None


def _tensors(expected: LeftTensors, actual: LeftTensors) -> str | None:
    atomic = expected.atomic or actual.atomic
    for place, array in expected.tensors.items():
        if not _same(actual.tensors[place], array, ROUNDED if atomic else None):
            return _elements(f"argument {place}", actual.tensors[place], array)
    return None


# -- arrays ----------------------------------------------------------------------------------------


def _ending(outcome: Run | Fault) -> str:
    return f"in a fault ({outcome.message})" if isinstance(outcome, Fault) else "without a fault"


def _same(actual: Array, expected: Array, allowed: Thresholds | None) -> bool:
    if bit_equal(actual, expected):
        return True
    integer = actual.dtype.kind in "biu"
    return allowed is not None and not integer and judge(actual, expected, allowed).passed


def _elements(name: str, actual: Array, expected: Array) -> str:
    """Return a phrase that names the elements of the output *name* that differ in their bytes."""
    width = actual.dtype.itemsize
    raw = [np.ascontiguousarray(a).reshape(-1).view(np.uint8).reshape(-1, width) for a in (actual, expected)]
    places = np.flatnonzero((raw[0] != raw[1]).any(axis=1))
    at = tuple(int(n) for n in np.unravel_index(places[0], actual.shape))
    return (
        f"{len(places)} of {actual.size} elements of {name} differ, the first at {list(at)}: "
        f"{actual[at]} instead of {expected[at]}"
    )


RULE = "schedule-difference"
TRIES = 300  # runs that reducing a difference may take
REPEATED = 8  # consecutive draws that repeat earlier schedules, after which no new schedule is expected
SHOWN = 12  # decisions that the text of a finding lists


@frozen
class Schedule:
    """A legal schedule: *seed* selects it (None: tasks in their order), *effects* is "late" or "eager".

    *decisions* are the departures from the default schedule to keep, out of those of the seed; None keeps all of
    them.
    """

    seed: int | None
    effects: str
    decisions: tuple[Decision, ...] | None = None

    def __str__(self) -> str:
        order = "the default order" if self.seed is None else f"seed {self.seed}"
        if self.decisions is not None and self.seed is not None:
            count = len(self.decisions)
            order = f"{count} decision{'' if count == 1 else 's'} of {order}"
        return f"{order} and {self.effects} effects"

    def director(self) -> Director:
        """Return the observer that imposes this schedule on the launches of a run."""
        return Director(self.seed) if self.decisions is None else Director(decisions=self.decisions)


USUAL = Schedule(None, EFFECTS[0])


@frozen
class Explored:
    """The number of different schedules that were compared with the default one, and the difference, if any."""

    compared: int
    finding: Finding | None
    schedule: Schedule | None = None


def schedules(count: int) -> tuple[Schedule, ...]:
    """Return more than *count* schedules: the default order with eager effects, then seeds with both landing times.

    More, since some may turn out to be the same schedule.
    """
    seeds = range(2 * count + REPEATED)
    return (Schedule(None, "eager"), *(Schedule(seed, effects) for seed in seeds for effects in EFFECTS))


def explore(subject: Subject, others: Iterable[Schedule], enough: int = 0) -> Explored:
    """Compare *subject* in *others* with the usual schedule until it differs, or until *enough* schedules were compared.

    A schedule that repeats an earlier one does not count; after eight repetitions in a row the search
    ends (``enough`` 0: run all of *others*).  A difference is reduced to the fewest decisions.
    """
    usual = _outcome(subject, USUAL.effects, USUAL.director())
    tried: set[tuple[str, tuple[Decision, ...]]] = {(USUAL.effects, ())}
    repeated = 0
    for schedule in others:
        if enough and (len(tried) > enough or repeated > REPEATED):
            break
        director = schedule.director()
        other = _outcome(subject, schedule.effects, director)
        effects = schedule.effects if subject.asynchronous(other) else USUAL.effects
        mark = effects, director.taken
        repeated = repeated + 1 if mark in tried else 0
        if mark not in tried and subject.difference(usual, other) is not None:
            fewest = _reduced(subject, usual, schedule)
            director = fewest.director()
            told = subject.difference(usual, _outcome(subject, fewest.effects, director)) or "it differs"
            return Explored(len(tried), _finding(subject, fewest, told, director.words), fewest)
        tried.add(mark)
    return Explored(len(tried) - 1, None)


def _outcome(subject: Subject, effects: str, director: Director) -> Any:
    """Run *subject* and return its outcome, which only `subject.difference` can interpret."""
    return subject.outcome(effects, director)


def _reduced(subject: Subject, usual: Any, schedule: Schedule) -> Schedule:
    """Return the schedule with the fewest of the decisions of *schedule* that still gives other results than the usual one."""
    if schedule.decisions is not None or schedule.seed is None:
        return schedule
    whole = schedule.director()
    _outcome(subject, schedule.effects, whole)

    def still(decisions: Sequence[Decision], effects: str = schedule.effects) -> bool:
        tried = Schedule(schedule.seed, effects, tuple(decisions))
        return subject.difference(usual, _outcome(subject, effects, tried.director())) is not None

    late = schedule.effects != USUAL.effects and still(whole.taken, USUAL.effects)
    effects = USUAL.effects if late else schedule.effects
    return Schedule(schedule.seed, effects, smallest(whole.taken, lambda part: still(part, effects), TRIES))


def _finding(subject: Subject, schedule: Schedule, told: str, words: Mapping[Decision, str]) -> Finding:
    decisions = schedule.decisions
    return Finding(
        RULE,
        f"{subject.name} with {schedule}: {told}",
        context=(f"compared with {USUAL}", *_shown(schedule, words)),
        note="no schedule that the board may choose should change what comes out",
        hint=f"see what racecheck says; {subject.again(schedule.seed, schedule.effects)}",
        facts=subject.facts()
        | {
            "seed": schedule.seed,
            "effects": schedule.effects,
            "decisions": None if decisions is None else [list(decision) for decision in decisions],
        },
    )


def _shown(schedule: Schedule, words: Mapping[Decision, str]) -> Iterator[str]:
    """Yield the decisions in words; if there are many, only the first ones and a count."""
    decisions = schedule.decisions or ()
    for decision in decisions[:SHOWN]:
        yield f"launch {decision.launch + 1}: {words[decision]}" if decision in words else str(decision)
    if len(decisions) > SHOWN:
        yield f"and {len(decisions) - SHOWN} decisions more"


# -- delta debugging: the smallest part of a list that has the same effect as the whole list -----------

T = TypeVar("T")


def smallest(items: Sequence[T], still: Callable[[Sequence[T]], bool], tries: int) -> tuple[T, ...]:
    """Remove items as long as *still* is true of the remaining ones, in at most *tries* calls of *still*.

    If the tries suffice, no single item of the result can be removed.  *still* is true of *items*.
    """
    rest, pieces = tuple(items), 2
    while rest and tries > 0:
        size = -(-len(rest) // pieces)
        parts = [rest[at : at + size] for at in range(0, len(rest), size)]
        if len(parts) > 2:
            parts += [
                tuple(item for part in parts[:n] + parts[n + 1 :] for item in part) for n in range(len(parts))
            ]
        candidates = parts if len(rest) > 1 else [()]
        smaller = None
        for candidate in candidates:
            tries -= 1
            if still(candidate):
                smaller = candidate
                break
            if tries <= 0:
                break
        if smaller is not None:
            pieces = max(pieces - 1, 2) if len(smaller) > size else 2
            rest = tuple(smaller)
        elif size == 1:
            break
        else:
            pieces = min(2 * pieces, len(rest))
    return rest


# -- replay files: a program and the decisions of a schedule in which it has other results ---------------

FORMAT = 1


@frozen
class Replay:
    """The contents of a replay file: a subject and a schedule."""

    subject: Recorded
    schedule: Schedule


def replay_document(finding: Finding, version: str) -> dict[str, Any]:
    """Return the replay file of the finding about a difference; *version* is mlusim's."""
    return {"replay": FORMAT, "mlusim": version} | dict(finding.facts)


def replay_in(text: str, name: str) -> Replay:
    """Read the replay file *name*, whose contents are *text*.

    Raises `UsageError` if it is not a replay file, and for values that no run can have.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} is not a replay file: {error}") from None
    if not isinstance(document, Mapping) or document.get("replay") != FORMAT:
        raise UsageError(f'{name} is not a replay file of format {FORMAT}; it has "replay": {FORMAT}')
    subject = _subject_in(document, name)
    seed, effects = document.get("seed"), document.get("effects")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool)):
        raise UsageError(f"{name} has the seed {seed!r:.40}; it must be a whole number or null")
    if effects not in EFFECTS:
        raise UsageError(f"{name} has the effects {effects!r:.40}; they must be {' or '.join(EFFECTS)}")
    return Replay(subject, Schedule(seed, effects, _decisions_in(document.get("decisions"), name)))


def _subject_in(document: Mapping[str, Any], name: str) -> Recorded:
    script, arguments = document.get("script"), document.get("arguments", [])
    if isinstance(script, str):
        if not isinstance(arguments, list) or not all(isinstance(word, str) for word in arguments):
            raise UsageError(f"{name} has the arguments {arguments!r:.80}; they must be a list of words")
        if not isinstance(digest := document.get("sha256"), str):
            raise UsageError(
                f"{name} names the script {script!r:.80} without its hash; record the replay again"
            )
        if script_digest(script) != digest:
            raise UsageError(
                f"{script!r:.80} is not the script that {name} was recorded with; record the replay again"
            )
        return ScriptSubject(script, tuple(arguments))
    words = {key: document.get(key) for key in ("operator", "case", "board")}
    wrong = next((key for key, word in words.items() if not isinstance(word, str)), None)
    if wrong is not None:
        raise UsageError(f"{name} names no {wrong}; record the replay again")
    return OperatorSubject(*(str(word) for word in words.values()))


def _decisions_in(listed: Any, name: str) -> tuple[Decision, ...] | None:
    """Return the decisions in a replay file; None if it has none.  Raises `UsageError` for an invalid decision."""
    if listed is None:
        return None
    decisions = []
    for entry in listed if isinstance(listed, list) else [listed]:
        fits = isinstance(entry, list) and [type(part) for part in entry[:4]] == [int, str, int, int]
        if not fits or len(entry) != 5 or entry[1] not in (LAND, STOP, NEXT):
            raise UsageError(f"{name} has the decision {entry!r:.80}; record the replay again")
        decisions.append(Decision(*entry))
    return tuple(decisions)
