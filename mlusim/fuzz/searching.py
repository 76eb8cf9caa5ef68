"""The search for a failing call, stored ones first, then drawn ones, each under the checkers and against a reference; and its reduction."""

import functools
import hashlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.check.findings import Checked
from mlusim.document import members
from mlusim.errors import UsageError
from mlusim.fuzz.corpus import Corpus, CorpusState, KeptCall
from mlusim.fuzz.draws import CallDraw, smaller
from mlusim.fuzz.trial import FillDraw, Trial, TrialDraws
from mlusim.machine.hub import attending
from mlusim.machine.limits import Limit, limiting
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.observe.coverage import LineCoverage
from mlusim.observe.finding import NOTE
from mlusim.operators.executors import carried
from mlusim.operators.kept_work import sources_of
from mlusim.programs.argument_values import known_to, misspelt
from mlusim.report.coverage import CoverageRecord, record_of

if TYPE_CHECKING:
    from mlusim.fuzz.subjects import FuzzSubject, TriedCall

Array = np.ndarray[Any, Any]
CUT_OFF = "fault-limit-reached"
WRONG = "wrong-result"
"""The id of the fault of a result that differs from the reference."""
MOST_RUNS = 1 << 20
Met = tuple[str, int] | tuple[str, int, int, bool]
"""A line of a file, or an outcome of the condition at a line and column of it."""


@frozen
class FuzzTask:
    """The task of a search: what is called, the draws, the checkers."""

    subject: "FuzzSubject"
    draw: CallDraw
    checkers: tuple[str, ...]
    seed: int
    limit: Limit

    @property
    def word(self) -> str:
        """Return a hash of everything that a search depends on: the task, the files, mlusim, operators."""
        digest = hashlib.sha256(repr(self).encode())
        for path in self.subject.files:
            digest.update(Path(path).read_bytes())
        return f"{digest.hexdigest()[:16]}-{sources_of(self.subject.operators)}"


@frozen
class FoundFault:
    """The first failure of a run: the id of a rule, or `WRONG`; a sentence; the place."""

    id: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = f" ({self.file}:{self.line})" if self.file else ""
        return f"{self.id}: {self.message}{where}"


@frozen(eq=False)
class FailingCall:
    """A failing call: its folder, its fault, and how it was found.

    ``number`` is that of the draw (None: the call was stored), ``runs`` the number of runs that reduced it.
    """

    place: Path
    call: KeptCall
    fault: FoundFault
    checked: Checked
    number: int | None = None
    runs: int = 0


@frozen(eq=False)
class FuzzResult:
    """The result of a search over the draws ``first`` to ``done`` - 1.

    ``kept`` counts the stored calls that ran, ``cut_off`` the runs beyond the limit, ``refused`` the calls that a
    host function refused, the first with the sentence ``refusal``; ``lines`` has the lines of the kernel that ran,
    and the outcomes of its conditions.  ``took`` is the time of the whole search, with stored calls and the
    reduction.
    """

    failing: FailingCall | None
    first: int
    done: int
    kept: int = 0
    cut_off: int = 0
    refused: int = 0
    refusal: str = ""
    lines: CoverageRecord = field(factory=lambda: record_of({}, 0, {}))
    took: "Took" = field(factory=lambda: Took(0.0, 0.0))


@frozen
class Took:
    """The time of a search: ``seconds`` of elapsed time, and ``cpu`` seconds in all processes that ran calls."""

    seconds: float
    cpu: float

    def __str__(self) -> str:
        return f"{self.seconds:.1f} s ({self.cpu:.1f} s of CPU)"


class Stopwatch:
    """Measures the time from its construction on."""

    def __init__(self) -> None:
        self._begun, self._cpu = time.monotonic(), _cpu()

    @property
    def seconds(self) -> float:
        """The seconds of elapsed time."""
        return time.monotonic() - self._begun

    @property
    def cpu(self) -> float:
        """The CPU seconds of this process and of its child processes that have ended."""
        return _cpu() - self._cpu


def _cpu() -> float:
    return sum(os.times()[:4])


class Workplace:
    """The objects of a process that runs calls of a task."""

    def __init__(self, task: FuzzTask) -> None:
        self.task = task
        self.subject = task.subject.opened()
        self._reached = LineCoverage(once=True)
        self._told: dict[Met, bool] = {}

    @functools.cached_property
    def draws(self) -> TrialDraws:
        """Return the source of draws, which uses the subject's landmarks on the first board."""
        board = self.task.draw.boards[0]
        subject = self.subject
        # One source for all boards, so that draw N is the same call whichever board it names.
        return TrialDraws(
            self.task.draw,
            self.task.subject.asked.define,
            subject.usual(board),
            subject.marks(board),
            subject.limit,
        )

    def trial(self, number: int) -> Trial:
        """Return the draw *number*."""
        return self.draws.drawn(self.task.seed, number)

    def call(self, trial: Trial) -> tuple[KeptCall, Mapping[str, Array]]:
        """Return the call that *trial* makes."""
        subject, board = self.subject, trial.board
        parts = self.draws.made(trial, subject.parameters(board))
        texts, arrays = subject.settled(board, parts.texts, parts.arrays)
        asked = evolve(
            self.task.subject.asked,
            arguments=texts,
            seed=trial.schedule,
            **members(trial, "dim", "board", "effects"),
        )
        # Under the name in the sources: the kernel of a file with one kernel need not be named in the task.
        if asked.function is None and not self.task.subject.operators:
            asked = evolve(asked, kernel=subject.name(board))
        return KeptCall(asked, ""), arrays

    def run(self, call: KeptCall, arrays: Mapping[str, Array], *, plans: bool) -> "TriedCall":
        """Run *call* under the checkers and compare it with the reference."""
        quiet = np.errstate(all="ignore")  # a reference may compute with NaN and infinity
        try:
            with limiting(self.task.limit), attending([self._reached]), quiet:
                return self.subject.run(call, arrays, self.task.checkers, plans=plans)
        finally:
            self._reached.stop()

    def fresh(self) -> dict[Met, bool]:
        """Return lines and outcomes of conditions with whether this process has reached them; each is returned once."""
        reached = self._reached
        now: dict[Met, bool] = {
            (file, line): bool(ran) for file, lines in reached.lines.items() for line, ran in lines.items()
        }
        for file, tests in reached.branches.items():
            for place, outcomes in tests.items():
                now |= {(file, *place, outcome): bool(came) for outcome, came in outcomes.items()}
        # Only changes are sent to the searching process: after a few draws most lines have been reported.
        news = {met: came for met, came in now.items() if self._told.get(met) != came}
        self._told.update(news)
        return news


def faults_in(done: Checked) -> tuple[FoundFault, ...]:
    """Return the failures of a run: findings of the checkers, then a wrong result."""
    faults = [FoundFault(f.id, f.message, f.file, f.line) for f in done.findings if f.level != NOTE]
    return *faults, *([FoundFault(WRONG, done.problem)] if done.problem else [])


@frozen
class Tried:
    """The outcome of one draw: its faults, whether it was cut off or refused, the lines and outcomes that this process reached for the first time, and its CPU seconds."""

    fault: FoundFault | None
    cut_off: bool
    refused: str
    fresh: Mapping[Met, bool]
    cpu: float


_ONE = threading.Lock()
"""The lock around a draw: a worker of Dask may have several threads, but observers attend to all launches of a process."""


@functools.lru_cache(maxsize=1)
def _workplace(task: FuzzTask, search_of: str = "") -> Workplace:
    """Return the workplace of *task* for the search *search_of*."""
    # *search_of* is only a key of the cache: a workplace reports each line once, so that a later search needs
    # a new one.
    del search_of
    return Workplace(task)


def _tried(job: tuple[FuzzTask, str, int]) -> Tried:
    """Run one draw, and return its outcome."""
    task, search_of, number = job
    with _ONE:
        watch = Stopwatch()
        place = _workplace(task, search_of)
        trial = place.trial(number)
        done = place.run(*place.call(trial), plans=trial.plans)
        faults = faults_in(done.checked)
        beyond = any(fault.id == CUT_OFF for fault in faults)
        fault = faults[0] if faults and not beyond else None
        return Tried(fault, beyond, done.refused, place.fresh(), watch.cpu)


def search(
    task: FuzzTask,
    corpus: Corpus,
    *,
    runs: int | None = None,
    seconds: float | None = None,
    workers: int = 1,
    executor: Executor | None = None,
    restart: bool = False,
    typed: Callable[[KeptCall, Path], str] = lambda *_: "",
    progress: Callable[[str], object] = lambda _: None,
) -> FuzzResult:
    """Search for a failing call: stored calls first, then draws from where the last search of the task ended.

    The search ends after *runs* draws or *seconds*, or at the failing draw with the lowest number, which is reduced
    and stored.  Draws run in *workers* processes, or on *executor*.  *typed* makes the command of a call.  Raises
    `UsageError` for draws that do not fit the subject.
    """
    watch = Stopwatch()
    search_of = secrets.token_hex(8)
    place = _workplace(task, search_of)
    # Stored calls first: a fault that has not been fixed is reported at once.
    failing_before, replayed = _first_kept(place, corpus, typed)
    if failing_before is not None:
        return FuzzResult(failing_before, 0, 0, replayed, took=Took(watch.seconds, watch.cpu))
    state = corpus.state()
    same = state is not None and (state.word, state.seed) == (task.word, task.seed)
    drawn = _Drawn(task, state.done if state is not None and same and not restart else 0)
    jobs = [(task, search_of, drawn.first + n) for n in range(runs or MOST_RUNS)]
    end = None if seconds is None else watch.seconds + seconds
    cpu = watch.cpu
    try:
        several = None if workers == 1 else workers
        with closing(carried(_tried, jobs, executor=executor, workers=several)) as running:
            for index, future in running:
                drawn.add(drawn.first + index, future.result())
                progress(f"draw {drawn.first + index}")
                if drawn.ended or (end is not None and watch.seconds >= end):
                    break
    finally:  # after the interrupt key, or the loss of a cluster
        corpus.note(CorpusState(task.word, task.seed, drawn.reached))
    cpu += (
        drawn.cpu - watch.cpu
    )  # the CPU time of the draws, in whichever processes, not that of this process
    number = min(drawn.failed, default=None)
    failing = None if number is None else _smallest(place, corpus, number, typed)
    return FuzzResult(
        failing,
        drawn.first,
        drawn.reached,
        replayed,
        drawn.cut_off,
        drawn.refused,
        drawn.refusal,
        drawn.record(),
        Took(watch.seconds, cpu + watch.cpu),
    )


@define
class _Drawn:
    """The outcomes of draws from ``first`` on; all draws before ``reached`` were tried, and none of them failed."""

    task: FuzzTask
    first: int
    reached: int = field(init=False)
    failed: set[int] = field(factory=set)
    cut_off: int = 0
    refused: int = 0
    refusal: str = ""
    cpu: float = 0.0
    _ended: set[int] = field(factory=set)
    _met: dict[Met, bool] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Begin at the first draw."""
        self.reached = self.first

    @property
    def ended(self) -> bool:
        """Return whether the failing draw with the lowest number is known."""
        return self.reached in self.failed

    def add(self, number: int, tried: Tried) -> None:
        """Record the outcome of draw *number*; outcomes come in any order."""
        for met, came in tried.fresh.items():
            self._met[met] = came or self._met.get(met, False)
        self._ended.add(number)
        self.cut_off += tried.cut_off
        self.cpu += tried.cpu
        self.refused += bool(tried.refused)
        self.refusal = self.refusal or tried.refused
        if tried.fault is not None:
            self.failed.add(number)
        # A later draw may fail first; the lowest number is the draw that one process alone would have found.
        while self.reached in self._ended and self.reached not in self.failed:
            self._ended.discard(self.reached)
            self.reached += 1

    def record(self) -> CoverageRecord:
        """Return the lines and outcomes of conditions that ran in any of the draws, and those that could have run."""
        lines: dict[str, dict[int, dict[int, int]]] = {}
        tests: dict[str, dict[tuple[int, int], dict[bool, dict[int, int]]]] = {}
        for (file, line, *test), came in self._met.items():
            tasks = {0: 1} if came else {}
            if test:
                column, outcome = test
                both = tests.setdefault(file, {}).setdefault((line, column), {True: {}, False: {}})
                both[bool(outcome)] = tasks
            else:
                lines.setdefault(file, {})[line] = tasks
        return record_of(lines, self.reached - self.first, tests)


def _first_kept(
    place: Workplace, corpus: Corpus, typed: Callable[[KeptCall, Path], str]
) -> tuple[FailingCall | None, int]:
    """Run stored calls until one fails; return the failing one, or None, and the number of calls that ran."""
    replayed = 0
    for folder, call in corpus.calls():
        done = _kept(place, corpus, folder, call)
        if done is None:
            continue
        replayed += 1
        if faults := faults_in(done):
            # The command for the current folder, where other options may be needed.
            now = evolve(call, command=typed(call, folder))
            return FailingCall(folder, now, faults[0], done), replayed
    return None, replayed


def _kept(place: Workplace, corpus: Corpus, folder: Path, call: KeptCall) -> Checked | None:
    """Run a stored call; None if it is another subject's, or if the subject's parameters have changed."""
    board = call.asked.board
    if board not in place.task.draw.boards or call.asked.called != place.subject.name(board):
        return None
    arguments = set(call.asked.arguments)
    if not set(place.subject.needed(board)) <= arguments <= set(place.subject.parameters(board)):
        return None
    return place.run(call, corpus.arrays(folder, call), plans=True).checked


def _smallest(
    place: Workplace, corpus: Corpus, number: int, typed: Callable[[KeptCall, Path], str]
) -> FailingCall:
    """Reduce the failing draw *number*, and store it."""
    # Run again here: another process may have run the draw, and it returned the outcome without the arrays.
    trial = place.trial(number)
    wanted = {_kind(fault) for fault in faults_in(place.run(*place.call(trial), plans=trial.plans).checked)}
    if not wanted:
        raise UsageError(
            f"draw {number} failed once and not again; a reference that draws or keeps something makes it so"
        )

    def faults(candidate: Trial) -> tuple[FoundFault, ...]:
        failures = faults_in(place.run(*place.call(candidate), plans=candidate.plans).checked)
        # A launch that was cut off may have failed only for that reason, and each try would take the whole
        # limit.
        return () if any(fault.id == CUT_OFF for fault in failures) else failures

    smallest, runs = shrunk(
        place.draws, trial, lambda candidate: any(_kind(fault) in wanted for fault in faults(candidate))
    )
    call, arrays = place.call(smallest)
    done = place.run(call, arrays, plans=smallest.plans).checked
    fault = next(fault for fault in faults_in(done) if _kind(fault) in wanted)
    call = evolve(call, found=str(fault))
    folder = corpus.place(call, arrays)
    call = evolve(call, command=typed(call, folder))
    corpus.add(folder, call, arrays, bundled=place.task.subject.bundled)
    return FailingCall(folder, call, fault, done, number, runs)


def _kind(fault: FoundFault) -> tuple[str, str | None, int | None]:
    """Return what a reduced call must have in common with the drawn one: the rule and the place."""
    return fault.id, fault.file, fault.line


def refuse_unfit(task: FuzzTask) -> None:
    """Raise `UsageError` if a parameter has no draw, or if an argument is neither a parameter nor used in a formula."""
    place = _workplace(task)
    values = {
        argument.name: [option.value for option in argument.options] for argument in task.draw.arguments
    }
    subject = place.subject
    for board in task.draw.boards:
        parameters, name = subject.parameters(board), subject.name(board)
        needed, usable = subject.needed(board), known_to(find_board(board), task.subject.asked.define)
        sentence = misspelt(name, parameters, needed, values, usable)
        if sentence is not None:
            raise UsageError(sentence)
        lacking = next((parameter for parameter in needed if parameter not in values), None)
        if lacking is not None:
            pointed = subject.usual(board).get(lacking)
            example = "int:1..20000" if pointed is None else f"in:{pointed.name}:64"
            raise UsageError(
                f"the parameter {lacking} of {name} is given no value; give one with --arg, as --arg {lacking}={example}"
            )


# -- reduction of a failing call: the first schedule and grid, the smallest numbers, the simplest values -

RUNS_TO_SHRINK = 400
"""Runs that reducing a call may take."""


@define
class _Smallest:
    """The smallest failing call so far, and the number of remaining runs."""

    draws: TrialDraws
    best: Trial
    fails: Callable[[Trial], bool]
    left: int

    def take(self, candidate: Trial) -> bool:
        """Run *candidate*, adjusted to its ranges; if it fails, make it the smallest so far and return True."""
        fitted = self.draws.fitted(candidate)
        if fitted is None or fitted == self.best or self.left <= 0:
            return False
        self.left -= 1
        if not self.fails(fitted):
            return False
        self.best = fitted
        return True


def shrunk(draws: TrialDraws, trial: Trial, fails: Callable[[Trial], bool]) -> tuple[Trial, int]:
    """Return the smallest call found for which *fails* is true, as it is for *trial*, and the number of runs."""
    search = _Smallest(draws, trial, fails, RUNS_TO_SHRINK)
    changed = True
    # In rounds: with a smaller number, a simpler grid or value may fail that did not fail before.
    while changed and search.left > 0:
        before = search.best
        for candidate in _surroundings(search.best, draws.draw):
            search.take(candidate(search.best))
        for make_simpler in (_alternatives, _number, _values):
            for argument in draws.draw.arguments:
                make_simpler(search, argument.name)
        changed = search.best != before
    return search.best, RUNS_TO_SHRINK - search.left


def _surroundings(trial: Trial, draw: CallDraw) -> Iterator[Callable[[Trial], Trial]]:
    """Yield simplifications of everything but the arguments."""
    if trial.effects != EFFECTS[0]:
        yield lambda t: evolve(t, effects=EFFECTS[0])
    if trial.schedule is not None:
        yield lambda t: evolve(t, schedule=None)
    for board in draw.boards[: draw.boards.index(trial.board)]:
        yield lambda t, board=board: evolve(t, board=board)  # type: ignore[misc]
    for dim in draw.dims[: draw.dims.index(trial.dim)]:
        yield lambda t, dim=dim: evolve(t, dim=dim)  # type: ignore[misc]


def _alternatives(search: _Smallest, name: str) -> None:
    """Try the alternatives that precede the chosen one."""
    for index in range(search.best.chosen[name]):
        if search.take(evolve(search.best, chosen={**search.best.chosen, name: index})):
            return


def _number(search: _Smallest, name: str) -> None:
    """Try smaller numbers until none of them fails."""
    here = search.draws.option(search.best, name)
    if not here.is_number:
        return
    if here.reals is not None:
        for value in (0.0, 1.0, here.reals[0]):
            if value == search.best.numbers[name]:
                return
            if here.reals[0] <= value <= here.reals[1] and _with_number(search, name, value):
                return
        return
    while True:
        low, high = search.draws.range(search.best, name)
        target = min(max(low, 0), high)  # towards 0 from either side
        value = int(search.best.numbers[name])
        sign = 1 if value >= target else -1
        if not any(_with_number(search, name, sign * v) for v in smaller(sign * value, sign * target)):
            return


def _with_number(search: _Smallest, name: str, value: float) -> bool:
    return search.take(evolve(search.best, numbers={**search.best.numbers, name: value}))


def _values(search: _Smallest, name: str) -> None:
    """Try simpler values of an array."""
    here = search.draws.option(search.best, name)
    if not here.is_filled:
        return
    fill, names = search.best.fills[name], search.draws.names(here, name)
    for pattern in names[: names.index(fill.pattern)]:
        if search.take(evolve(search.best, fills={**search.best.fills, name: FillDraw(pattern, 0)})):
            return
    if fill.seed:
        search.take(evolve(search.best, fills={**search.best.fills, name: evolve(fill, seed=0)}))
