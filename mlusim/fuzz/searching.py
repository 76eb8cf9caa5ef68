"""The search for a call that fails: kept ones first, then drawn ones, each under the checkers and against a reference."""

import functools
import hashlib
import re
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.check.findings import Checked
from mlusim.check.kernel_calls import check_call
from mlusim.errors import UsageError
from mlusim.frontend.bangc import types as t
from mlusim.fuzz.corpus import Corpus, CorpusState, KeptCall
from mlusim.fuzz.numbers import landmarks
from mlusim.fuzz.shrinking import shrunk
from mlusim.fuzz.specification import CallDraw
from mlusim.fuzz.trial import Trial, TrialDraws
from mlusim.machine.hub import attending
from mlusim.machine.kernel import KINDS
from mlusim.machine.limits import Limit, limiting
from mlusim.observe.coverage import LineCoverage
from mlusim.observe.finding import NOTE
from mlusim.operators.executors import carried
from mlusim.operators.source_digest import sources_of
from mlusim.programs.expectation import Expectation, function_of
from mlusim.programs.kernel_call import KernelCall, Sources
from mlusim.report.coverage import FORM, CoverageRecord, record_of

Array = np.ndarray[Any, Any]
CUT_OFF = "fault-limit-reached"
WRONG = "wrong-result"
"""The id of a result that is not the reference's."""
MOST_RUNS = 1 << 20


@frozen
class FuzzTask:
    """The task of a search: a kernel of sources, the calls that are drawn, what watches and what is expected."""

    paths: tuple[str, ...]
    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    kernel: str | None
    kind: str
    draw: CallDraw
    reference: str | None
    checkers: tuple[str, ...]
    seed: int
    limit: Limit

    @property
    def word(self) -> str:
        """A word that changes with whatever a search depends on: the task, the files, mlusim."""
        found = hashlib.sha256(repr(self).encode())
        for path in self.paths:
            found.update(Path(path).read_bytes())
        return f"{found.hexdigest()[:16]}-{sources_of(())}"


@frozen
class FoundFault:
    """The first failure of a run: the id of a rule, or `WRONG`; a sentence; where."""

    id: str
    message: str
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = f" ({self.file}:{self.line})" if self.file else ""
        return f"{self.id}: {self.message}{where}"


@frozen(eq=False)
class FailingCall:
    """A call that fails: where it is kept, what was found in it, and how it was come by.

    ``number`` is that of the draw (None: it was kept), ``runs`` those that made it small.
    """

    place: Path
    call: KeptCall
    fault: FoundFault
    checked: Checked
    number: int | None = None
    runs: int = 0


@frozen(eq=False)
class FuzzResult:
    """The end of a search, from draw ``first`` to before draw ``done``.

    ``kept`` counts the kept calls that were tried, ``cut_off`` the runs that went beyond the limit; ``lines`` says of the
    kernel's which ran in the draws.
    """

    failing: FailingCall | None
    first: int
    done: int
    kept: int = 0
    cut_off: int = 0
    lines: CoverageRecord = field(factory=lambda: CoverageRecord(FORM, 0, {}))


class Workplace:
    """The equipment of a process that runs the calls of a task; sources are loaded once a board."""

    def __init__(self, task: FuzzTask) -> None:
        self.task = task
        self.expected = (
            None if task.reference is None else Expectation(task.reference, function_of(task.reference), {})
        )
        self._calls: dict[str, KernelCall] = {}
        self._reached = LineCoverage(once=True)
        self._told: dict[str, dict[int, int]] = {}

    def base(self, board: str) -> KernelCall:
        """Return a call of the kernel on *board*, with its sources loaded."""
        if board not in self._calls:
            task = self.task
            sources = Sources(task.paths, find_board(board), task.include, dict(task.define))
            kind = next(kind for kind in KINDS if kind.name == task.kind)
            self._calls[board] = KernelCall(sources, task.kernel, (1, 1, 1), kind, {})
            self._calls[board].loaded()
        return self._calls[board]

    def parameters(self, board: str) -> tuple[str, ...]:
        """Return the names of the kernel's parameters."""
        return tuple(p.source_name for p in self.base(board).loaded().form.parameters)

    @functools.cached_property
    def draws(self) -> TrialDraws:
        """Return the source of calls; the kernel of the first board says what is known of it."""
        board = self.task.draw.boards[0]
        base = self.base(board)
        usual = {
            p.source_name: dtype
            for p in base.loaded().form.parameters
            if isinstance(p.type, t.Pointer)
            and isinstance(p.type.to, t.Arithmetic)
            and (dtype := t.DTYPE_OF.get(p.type.to)) is not None
        }
        marks = landmarks(base.module, find_board(board))
        return TrialDraws(self.task.draw, dict(self.task.define), usual, marks)

    def trial(self, number: int) -> Trial:
        """Return the draw *number*."""
        return self.draws.drawn(self.task.seed, number)

    def call(self, trial: Trial) -> tuple[KeptCall, Mapping[str, Array]]:
        """Return the call that *trial* makes."""
        parts = self.draws.made(trial, self.parameters(trial.board))
        kernel = self.base(trial.board).loaded().name
        around = (kernel, trial.dim, self.task.kind, trial.board, trial.effects, trial.schedule)
        return KeptCall(*around, parts.texts, ""), parts.arrays

    def run(self, call: KeptCall, arrays: Mapping[str, Array], *, plans: bool) -> Checked:
        """Run *call* under the checkers and compare it with the reference."""
        program = self.base(call.board).given_arrays(
            call.arguments, arrays, dim=call.dim, seed=call.schedule, effects=call.effects
        )
        quiet = np.errstate(all="ignore")  # of a reference that meets NaN and infinity
        with limiting(self.task.limit), attending([self._reached]), quiet:
            return check_call(program, self.task.paths[0], self.task.checkers, self.expected, plans=plans)

    def fresh_lines(self) -> dict[str, dict[int, int]]:
        """Return, by file and line, what was not returned before: 1 for a line that ran, 0 for one that could."""
        found: dict[str, dict[int, int]] = {}
        for file, lines in self._reached.lines.items():
            told = self._told.setdefault(file, {})
            fresh = {line: int(bool(ran)) for line, ran in lines.items() if told.get(line) != int(bool(ran))}
            if fresh:
                told.update(fresh)
                found[file] = fresh
        return found


def faults_in(done: Checked) -> tuple[FoundFault, ...]:
    """Return what failed in a run, what the checkers found first."""
    found = [FoundFault(f.id, f.message, f.file, f.line) for f in done.findings if f.level != NOTE]
    return *found, *([FoundFault(WRONG, done.problem)] if done.problem else [])


@functools.lru_cache(maxsize=1)
def _workplace(task: FuzzTask) -> Workplace:
    return Workplace(task)


def _tried(job: tuple[FuzzTask, int]) -> tuple[FoundFault | None, bool, dict[str, dict[int, int]]]:
    """Run a draw; what failed in it, whether it was cut off, and lines that ran in this process for the first time."""
    task, number = job
    place = _workplace(task)
    trial = place.trial(number)
    found = faults_in(place.run(*place.call(trial), plans=trial.plans))
    if any(one.id == CUT_OFF for one in found):
        return None, True, place.fresh_lines()
    return (found[0] if found else None), False, place.fresh_lines()


def search(
    task: FuzzTask,
    corpus: Corpus,
    *,
    runs: int | None = None,
    seconds: float | None = None,
    workers: int = 1,
    restart: bool = False,
    typed: Callable[[KeptCall, Path], str] = lambda *_: "",
    progress: Callable[[str], object] = lambda _: None,
) -> FuzzResult:
    """Search for a call that fails; kept calls first, then draws from where the last search of the task ended.

    It ends after *runs* draws or *seconds*, or at the failing draw with the lowest number, made small and kept.  *typed* makes the command
    of a call.  Raises `UsageError` for draws that the kernel cannot take.
    """
    place, kept = _workplace(task), 0
    for folder, call in corpus.calls():
        done = _kept(place, corpus, folder, call)
        if done is None:
            continue
        kept += 1
        if found := faults_in(done):
            now = evolve(call, command=typed(call, folder))  # from here, where other options may be
            return FuzzResult(FailingCall(folder, now, found[0], done), 0, 0, kept)
    state = corpus.state()
    going_on = state is not None and not restart and (state.word, state.seed) == (task.word, task.seed)
    first = state.done if going_on and state is not None else 0
    lines: dict[str, dict[int, int]] = {}
    number, reached, cut_off = _first_failing(task, first, runs, seconds, workers, lines, progress)
    corpus.note(CorpusState(task.word, task.seed, reached))
    failing = None if number is None else _smallest(place, corpus, number, typed)
    ran = record_of(
        {f: {n: {0: 1} if r else {} for n, r in of.items()} for f, of in lines.items()}, reached - first
    )
    return FuzzResult(failing, first, reached, kept, cut_off, ran)


def _kept(place: Workplace, corpus: Corpus, folder: Path, call: KeptCall) -> Checked | None:
    """Run a kept call; None for one of another kernel, or of one that takes other arguments now."""
    if call.board not in place.task.draw.boards or set(call.arguments) != set(place.parameters(call.board)):
        return None
    if call.kernel != place.base(call.board).loaded().name:
        return None
    return place.run(call, corpus.arrays(folder, call), plans=True)


def _first_failing(
    task: FuzzTask,
    first: int,
    runs: int | None,
    seconds: float | None,
    workers: int,
    lines: dict[str, dict[int, int]],
    progress: Callable[[str], object],
) -> tuple[int | None, int, int]:
    """Return the lowest number of a draw that fails, the number before which all were tried, and how many were cut off.

    *lines* takes the lines that ran, or could, by file.
    """
    end = None if seconds is None else time.monotonic() + seconds
    jobs = [(task, first + n) for n in range(runs or MOST_RUNS)]
    ended: set[int] = set()
    failed: list[int] = []
    reached, cut_off = first, 0
    with closing(carried(_tried, jobs, workers=None if workers == 1 else workers)) as running:
        for index, future in running:
            fault, beyond, fresh = future.result()
            for file, of in fresh.items():
                into = lines.setdefault(file, {})
                into.update({line: max(ran, into.get(line, 0)) for line, ran in of.items()})
            number = first + index
            ended.add(number)
            cut_off += beyond
            progress(f"draw {number}")
            if fault is not None:
                failed.append(number)
            while reached in ended and reached not in failed:
                ended.discard(reached)
                reached += 1
            if reached in failed:
                return reached, reached, cut_off
            if end is not None and time.monotonic() >= end:
                break
    return (min(failed) if failed else None), reached, cut_off


def _smallest(
    place: Workplace, corpus: Corpus, number: int, typed: Callable[[KeptCall, Path], str]
) -> FailingCall:
    """Make the failing draw *number* small, and keep it."""
    trial = place.trial(number)
    wanted = {_kind(one) for one in faults_in(place.run(*place.call(trial), plans=trial.plans))}
    if not wanted:
        raise UsageError(
            f"draw {number} failed once and not again; a reference that draws or keeps something makes it so"
        )

    def faults(candidate: Trial) -> tuple[FoundFault, ...]:
        found = faults_in(place.run(*place.call(candidate), plans=candidate.plans))
        return () if any(one.id == CUT_OFF for one in found) else found

    smallest, runs = shrunk(
        place.draws, trial, lambda candidate: any(_kind(one) in wanted for one in faults(candidate))
    )
    call, arrays = place.call(smallest)
    done = place.run(call, arrays, plans=smallest.plans)
    fault = next(one for one in faults_in(done) if _kind(one) in wanted)
    call = evolve(call, found=str(fault))
    folder = corpus.place(call, arrays)
    call = evolve(call, command=typed(call, folder))
    corpus.add(folder, call, arrays)
    return FailingCall(folder, call, fault, done, number, runs)


def _kind(fault: FoundFault) -> tuple[str, str | None, int | None]:
    """Return what a smaller call must share with the one that was drawn: the rule and the place."""
    return fault.id, fault.file, fault.line


def refuse_unfit(task: FuzzTask) -> None:
    """Raise `UsageError` where a parameter has nothing to draw, or an argument is no parameter and in no formula."""
    place = _workplace(task)
    texts = {one.name: " ".join(option.value.text for option in one.options) for one in task.draw.arguments}
    for board in task.draw.boards:
        parameters = place.parameters(board)
        kernel = place.base(board).loaded().name
        lacking = next((name for name in parameters if name not in texts), None)
        if lacking is not None:
            raise UsageError(
                f"the parameter {lacking} of {kernel} is given no value; give one with --arg, as --arg {lacking}=int:1..20000"
            )
        for name in texts:
            others = " ".join(text for other, text in texts.items() if other != name)
            if name not in parameters and not re.search(rf"\b{re.escape(name)}\b", others):
                legal = ", ".join(parameters) or "it has none"
                raise UsageError(
                    f"{kernel} has no parameter {name!r}, and no formula names it; its parameters: {legal}"
                )
