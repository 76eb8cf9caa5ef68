"""Judging many candidates on any executor, with verdicts in a file, resumed after a kill."""

import functools
import hashlib
import json
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from mlusim.arch.catalog import find_board
from mlusim.document import members, plain
from mlusim.errors import UsageError, said
from mlusim.files.reading import shown
from mlusim.judge.bench import Bench, EndedProcess
from mlusim.judge.reference import Draw, digest, loaded, with_launch
from mlusim.judge.verdict import DIED, REFUSED, verdict
from mlusim.operators.executors import WorkerDied, carried
from mlusim.operators.kept_work import InOrder, Keep, KeptWork, WorkerAnswer, in_order, sources_of
from mlusim.programs.argument_forms import AskedCall
from mlusim.toolkit.messages import LONGEST

SECONDS, MEMORY, DRAWS = 60.0, 2 << 30, 2


@frozen
class JudgeTask:
    """The task of a run: each candidate is called as *asked* with inputs from the reference's file; ``sources`` is a hash of mlusim and that file.

    ``cases`` are names (empty: all cases), ``dim`` and ``kind`` replace those of the file, ``memory`` is in bytes.
    """

    reference: str
    sources: str
    asked: AskedCall
    cases: tuple[str, ...] = ()
    draws: int = DRAWS
    dim: tuple[int, int, int] | None = None
    kind: str | None = None
    seconds: float = SECONDS
    memory: int = MEMORY


@frozen
class Candidate:
    """A candidate's file, and a hash of its bytes ("": it cannot be read)."""

    path: str
    digest: str
    task: JudgeTask

    def __str__(self) -> str:
        return self.path


def task_of(reference: str, asked: AskedCall, **options: Any) -> JudgeTask:
    """Return the task of a reference's file.  If *asked* has no seed one is drawn, so that no candidate knows its inputs.

    Raises `UsageError` for an unknown board, and for a file that cannot be read.
    """
    if not hasattr(os, "fork"):
        raise UsageError(
            "mlusim judge forks a process for each candidate, which this system cannot; run it on Linux"
        )
    # From the system: a candidate that could predict the seed would know its inputs.
    drawn = int.from_bytes(os.urandom(4), "little") if asked.seed is None else asked.seed
    asked = evolve(asked, board=find_board(asked.board).name, seed=drawn)
    return JudgeTask(reference, f"{sources_of(())}-{digest(reference)}", asked, **options)


def candidates(task: JudgeTask, paths: Iterable[str]) -> list[Candidate]:
    """Return the candidates in *paths*, each file once; one that cannot be read is refused in its verdict."""
    # The hash is computed now: a file that changes while it waits is another candidate.
    return [Candidate(path, _hash_of(path), task) for path in dict.fromkeys(paths)]


def _hash_of(path: str) -> str:
    try:
        return digest(path)
    except UsageError:
        return ""


@frozen(eq=False)
class _Workplace:
    """The objects of a worker for a task: the draws with their expected outputs, and a fork server that has only the inputs."""

    draws: Sequence[Draw]
    weak: Sequence[str]
    bench: Bench


# One task at a time: its fork server holds the inputs in memory.
@functools.lru_cache(maxsize=1)
def _workplace(task: JudgeTask) -> _Workplace:
    reference = loaded(task.reference)
    draws, weak = reference.draws(_seed(task), task.draws, task.cases)
    draws = [with_launch(draw, task.dim, task.kind) for draw in draws]
    bench = Bench(task.asked, draws, reference.bind, seconds=task.seconds, memory=task.memory)
    return _Workplace(draws, weak, bench)


def leave() -> None:
    """End the fork server of this process, if it has one; the next candidate starts another."""
    _workplace.cache_clear()


def prepare(task: JudgeTask) -> Sequence[str]:
    """Draw everything once, so that errors in the reference are reported before any run; return the weaknesses of the reference."""
    reference = loaded(task.reference)
    return reference.draws(_seed(task), task.draws, task.cases)[1]


def _seed(task: JudgeTask) -> int:
    return task.asked.seed or 0  # drawn by `task_of` if it was None


def judged(candidate: Candidate) -> dict[str, Any]:
    """Run *candidate* in this process's fork server and return its verdict."""
    task = candidate.task
    if not candidate.digest:
        return _not_run(candidate, REFUSED, _why_unreadable(candidate.path))
    place = _workplace(task)
    ended = place.bench.run(candidate.path)
    reached = verdict(candidate.path, ended, place.draws, _about(task), place.weak, place.bench.confinement)
    plained: dict[str, Any] = plain(reached)
    return plained


def _not_run(candidate: Candidate, how: str, error: str) -> dict[str, Any]:
    """Return the verdict *how* of a candidate that left nothing to judge."""
    empty = verdict(candidate.path, EndedProcess(), (), _about(candidate.task), (), None)
    plained: dict[str, Any] = plain(empty | {"verdict": how, "error": error})
    return plained


def _why_unreadable(path: str) -> str:
    try:
        digest(path)
    except UsageError as error:
        return f"it was not judged: {error}"
    return "it was not judged: it could not be read when the run began"


def _about(task: JudgeTask) -> dict[str, Any]:
    return {"reference": task.reference, **members(task.asked, "board", "seed")}


def _work(candidate: Candidate) -> WorkerAnswer:
    task = candidate.task
    same = (
        task.sources == f"{sources_of(())}-{digest(task.reference)}"
        and _hash_of(candidate.path) == candidate.digest
    )
    return WorkerAnswer(platform.node(), judged(candidate) if same else None)


Judging = InOrder[dict[str, Any]]
"""The verdicts of a run, in the order of the candidates."""


def judge(
    wanted: Sequence[Candidate],
    executor: Executor | None = None,
    *,
    keep: str | None = None,
    workers: int | None = None,
    restart: bool = False,
    progress: Callable[[Mapping[str, Any]], object] | None = None,
) -> Judging:
    """Judge *wanted*, candidates of one task, and yield their verdicts in order.

    They run in *workers* processes (1: this one; None: one per CPU), or on *executor*.  Verdicts are appended to the
    file *keep* as candidates end; the same task resumes from it (*restart*: starts again), and a candidate whose file
    has changed is judged again. Raises `UsageError` if *keep* is another kind of file, and if a worker has other
    sources.
    """
    keeper = None
    if keep is not None and wanted:
        task = wanted[0].task
        # A hash of everything that a verdict depends on besides the candidate.
        word = hashlib.sha256(repr(task).encode()).hexdigest()[:16]
        keeper = Keep(keep, wanted, word, _kept_work(task), restart=restart)
    judged_before = () if keeper is None else keeper.known
    waiting = [candidate for candidate in wanted if candidate not in judged_before]
    number = None if workers == 1 else workers or min(os.cpu_count() or 1, max(1, len(waiting)))
    ended = carried(_work, waiting, executor=executor, workers=number)
    return in_order(wanted, waiting, ended, keeper, _outcome, lambda _, document: dict(document), progress)


def _outcome(candidate: Candidate, future: "Future[WorkerAnswer]") -> tuple[dict[str, Any], bool]:
    """Return the verdict of *candidate*, and whether it failed by an accident that may not happen again."""
    try:
        answer = future.result()
    except Exception as error:
        if isinstance(error, UsageError) and not isinstance(error, WorkerDied):
            raise
        return _not_run(candidate, DIED, f"{type(error).__name__}: {said(error)}"), True
    if answer.document is None:
        raise UsageError(
            f"a worker on {answer.machine} has other sources of mlusim, another reference or another {candidate.path}; "
            "install the same everywhere, and keep the files in a folder that all machines share"
        )
    return dict(answer.document), False


# -- the file --------------------------------------------------------------------------------------


def _kept_work(task: JudgeTask) -> KeptWork[Candidate]:
    def candidate_of(facts: Mapping[str, Any]) -> Candidate:
        return Candidate(str(facts["path"]), str(facts["digest"]), task)

    return KeptWork(
        "judge",
        lambda candidate: {"path": candidate.path, "digest": candidate.digest},
        candidate_of,
        _check,
        drops=True,
        more=members(task.asked, "seed"),
        basis="sources of mlusim or NumPy, or of another reference, seed, board, selection or limit",
    )


def _check(candidate: Candidate, document: Mapping[str, Any], where: str) -> None:
    if (
        not isinstance(document, Mapping)
        or document.get("candidate") != candidate.path
        or "verdict" not in document
    ):
        raise UsageError(
            f"{where} is not a verdict of {shown(candidate.path)}; --restart starts the file over"
        )


def kept_seed(name: str) -> int | None:
    """Return the seed of the verdicts in the file *name*; None if it has none."""
    try:
        if not Path(name).is_file():
            return None
        with Path(name).open("rb") as file:
            seed = json.loads(file.readline(LONGEST)).get("seed")
    except (OSError, ValueError, AttributeError, RecursionError):
        return None
    return seed if isinstance(seed, int) else None
