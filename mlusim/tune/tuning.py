"""Tries candidates on any executor, stores results as they arrive, and resumes after an interruption; each result is a document of plain data.

It tries the whole grid, or the candidates that a search draws from a larger space, which depend on the seed
only, not on the number of processes. A candidate that ends in a fault, overwrites a part of an on-chip array
that is still needed, or gives wrong results is rejected with the reason.
"""

import functools
import hashlib
import math
import platform
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import numpy as np
from attrs import evolve, frozen

from mlusim.bangc.errors import SourceError
from mlusim.counted import precise
from mlusim.document import plain
from mlusim.errors import Fault, UsageError, said
from mlusim.files.reading import shown
from mlusim.installing import missing_packages
from mlusim.machine.limits import Limit, limiting
from mlusim.operators.executors import WorkerDied, carried
from mlusim.operators.kept_work import InOrder, Keep, KeptWork, WorkerAnswer, in_order, sources_of
from mlusim.programs.argument_forms import Criterion
from mlusim.programs.carving import carve
from mlusim.programs.expectation import CLOSE, Compared, beside, expectation_of, function_of
from mlusim.programs.kernel_call import Called, KernelCall
from mlusim.report.efficiency import efficiency
from mlusim.report.explain import because
from mlusim.report.figures import shares
from mlusim.tune import ranking
from mlusim.tune.ranking import mechanisms
from mlusim.tune.space import Setting, Settings, TriedTask, TuneJob, TuneParameter, told, with_settings

CARVED = Limit(instructions=2e4, growth=1 << 28)
"""Limit of the observed runs in Python that show how a kernel divides its arrays: some seconds."""
MOST_RUN = 16
"""Limit of candidates run to find results for comparison."""


@frozen
class TuneTask(TriedTask):
    """The data shared by all candidates of one call of a kernel."""

    def call(self, settings: Settings, board: str) -> KernelCall:
        """Return the call with *settings* on *board*."""
        return with_settings(KernelCall(evolve(self.asked, board=board)), settings)

    def tried(self, job: "TuneJob") -> dict[str, Any]:
        """Run the call with the job's settings and return its document."""
        outcome = job.empty()
        try:
            with limiting(self.limit):
                call = self.call(job.settings, job.board)
                done = call.run(())
                outcome["right"], why = _right(self, job, call, done)
        except SourceError as error:
            why = f"it does not compile: {error.args[0]}"
            outcome |= {"verdict": ranking.UNTRANSLATED, "fits": False, "why": why}
        except (Fault, UsageError) as error:
            outcome |= ranking.out(error)
        else:
            outcome |= _timed(call, done)
            if outcome["right"] is False:
                outcome |= {"verdict": ranking.WRONG, "why": why}
            else:
                outcome |= _carved(call) or {"why": why}
        document: dict[str, Any] = plain(outcome)
        return document


def task_of(call: KernelCall, wanted: Sequence[Settings], limit: Limit) -> TuneTask:
    """Return the task for trying *wanted* of *call*, with *limit* for each launch.

    Raises `UsageError` for a missing reference, and `SourceError` if none of *wanted* compiles.
    """
    digests, criterion = _digests(call, wanted), call.asked.criterion
    texts = [*call.arguments.values(), *criterion.expect.values()]
    texts += [setting.value for settings in wanted for setting in settings]
    sources = f"{sources_of(())}-{files_word(digests, texts, criterion)}"
    return TuneTask(call.asked, sources, limit=limit)


def _digests(call: KernelCall, wanted: Iterable[Settings]) -> Mapping[str, str]:
    """Return the digests of the source files for the first of *wanted* that compiles."""
    # Settings that do not compile are candidates too, but their included files are unknown.
    first: SourceError | None = None
    for settings in wanted:
        try:
            digests: Mapping[str, str] = with_settings(call, settings).recorded()[0]["digests"]
        except SourceError as error:
            first = first or error
        else:
            return digests
    raise first or UsageError("there is nothing to try")


def files_word(digests: Mapping[str, str], texts: Iterable[str], criterion: Criterion) -> str:
    """Return a digest of the source files (by *digests*), the files named in arguments, and the reference's module."""
    digest = hashlib.sha256(repr(sorted(digests.items())).encode())
    code = getattr(function_of(criterion.reference, criterion.folder), "__code__", None)
    for text in [*dict.fromkeys(texts), *([code.co_filename] if code else [])]:
        value = text.removeprefix("inout:")
        path = Path(f"{value.partition('.npz:')[0]}.npz" if ".npz:" in value else value)
        # By content: stored results are valid for the arrays from which they were computed, whatever their
        # file names.
        if path.suffix in (".npy", ".npz", ".py") and path.is_file():
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


# -- one candidate -----------------------------------------------------------------------------------


def _right(task: TuneTask, job: TuneJob, call: KernelCall, done: Called) -> tuple[bool | None, str]:
    """Return whether the outputs are right (None: unknown), and the reason if not."""
    expected = expectation_of(task.asked.criterion, "expect")
    if expected is not None:
        return _verdict(expected.compared(call.scope(), call.inputs, done.outputs), "")
    itself = (job.settings, job.board) == (task.first, task.asked.board)
    if task.first is None or itself or not done.outputs:
        return (True if done.outputs and itself else None), ""
    right = _right_of(evolve(task, first=None), task.first)
    for name, array in done.outputs.items():
        if name not in right or right[name].shape != array.shape:
            other = f"{name} has other sizes than that of {told(task.first)}"
            return None, f"{other}, so nothing says whether it is right"
    compared = {name: beside(array, right[name], CLOSE) for name, array in done.outputs.items()}
    return _verdict(compared, f"unlike {told(task.first)}: ")


@functools.lru_cache(maxsize=2)
def _right_of(task: TuneTask, settings: Settings) -> Mapping[str, np.ndarray[Any, Any]]:
    """Return the outputs of the candidate with which others are compared."""
    return dict(task.call(settings, task.asked.board).run(()).outputs)


def _verdict(judged: Mapping[str, Compared], unlike: str) -> tuple[bool, str]:
    wrong = next(
        ((name, compared) for name, compared in judged.items() if not compared.accuracy.passed), None
    )
    return (True, "") if wrong is None else (False, f"{unlike}{wrong[0]} is wrong, {wrong[1].told}")


def _timed(call: KernelCall, done: Called) -> dict[str, Any]:
    launch = done.launch
    moved = sum(array.nbytes for array in (*call.arrays().values(), *done.outputs.values()))
    first = next(iter((*call.arrays().values(), *done.outputs.values())), np.zeros(0, np.float32))
    theory = efficiency(
        call.board, "half" if first.dtype.itemsize == 2 else "float", 0, moved, launch.time_us
    )
    return {
        "time_us": launch.time_us,
        "time_band": list(launch.time_band),
        "bound": launch.bound,
        "because": list(because(launch)),
        "io_efficiency": theory.io_efficiency,
        "compute_efficiency": shares([launch])[1],
        "memory": {n: {"capacity": u.capacity, "high_water": u.high_water} for n, u in launch.memory.items()},
        "mechanisms": mechanisms([launch]),
        "engine": launch.engine,
    }


def _carved(call: KernelCall) -> dict[str, Any]:
    """Return what is wrong with the division of the kernel's arrays; empty if nothing is, or if it takes too long to check."""
    call.supplied = {
        name.removeprefix("input."): array for name, array in call.arrays().items()
    }  # drawn once
    try:
        with limiting(CARVED):
            findings = carve(call).findings
    except Fault:  # only Python runs raise it, for example at their limit
        return {}
    if not findings:
        return {"carved": True}
    first = findings[0]
    where = f" ({shown(first.file)}:{first.line})" if first.file else ""
    return {"carved": True, "verdict": ranking.OVERLAP, "fits": False, "why": f"{first.message}{where}"}


# -- many candidates ---------------------------------------------------------------------------------


def compared_to(task: TuneTask, wanted: Sequence[Settings]) -> TuneTask:
    """Return *task* with the candidate for comparison; unchanged if the criterion has expected results, or if none of *wanted* runs.

    It is the first of *wanted* that runs and has no NaN in its outputs (unwritten elements are NaN); if there
    is none, the first that runs.
    """
    if expectation_of(task.asked.criterion, "expect") is not None:
        return task
    ran: Settings | None = None
    for settings in wanted[:MOST_RUN]:
        try:
            with limiting(task.limit):
                outputs = _right_of(task, settings)
        except (Fault, UsageError):
            continue
        ran = ran or settings
        if not any(array.dtype.kind == "f" and np.isnan(array).any() for array in outputs.values()):
            return evolve(task, first=settings)
    return evolve(task, first=ran)


def tune(
    task: TriedTask,
    wanted: Sequence[Settings],
    executor: Executor | None = None,
    *,
    boards: Sequence[str] = (),
    keep: str | None = None,
    workers: int | None = None,
    restart: bool = False,
    progress: Callable[[Mapping[str, Any]], object] | None = None,
) -> InOrder[dict[str, Any]]:
    """Try each of *wanted* once on each of *boards* (default: that of *task*); yield the documents in order, board after board.

    They run in *workers* processes (None: this process), or on a given *executor*. Documents are appended to
    the file *keep* as they arrive; the same task resumes from it (*restart*: starts over), with more
    candidates or fewer. Raises `UsageError` for the file of another task, and for a worker with different
    files.
    """
    every = dict.fromkeys(wanted)
    jobs = [TuneJob(settings, board, task) for board in boards or (task.asked.board,) for settings in every]
    keeper = None if keep is None else Keep(keep, jobs, _word(task), _kept_work(task), restart=restart)
    ended_before = () if keeper is None else keeper.known
    waiting = [job for job in jobs if job not in ended_before]
    ended = carried(_work, waiting, executor=executor, workers=workers if len(waiting) > 1 else None)
    return in_order(jobs, waiting, ended, keeper, _outcome, lambda _, document: dict(document), progress)


class SearchFile:
    """The file of a search that resumes from earlier results: documents by settings, appended as they arrive.

    With the same results, a search requests the same candidates in the same order, so a resumed search finds
    them here. The *words* describe the request. Raises `UsageError` for the file of another search.
    """

    def __init__(self, task: TuneTask, words: Sequence[object], name: str, *, restart: bool) -> None:
        self._task = evolve(task, first=None)  # `first` differs between rungs
        word = _word(self._task, *words)
        self._kept = Keep(name, None, word, _kept_work(self._task, ", limit or search"), restart=restart)
        self.reused = len(self._kept.known)

    def find(self, settings: Settings) -> dict[str, Any] | None:
        """Return the document of *settings*, or None if the file has none."""
        document = self._kept.known.get(self._job(settings))
        return None if document is None else dict(document)

    def add(self, settings: Settings, document: Mapping[str, Any]) -> None:
        """Append the document of *settings*; if its worker died, a resumed search tries it once more."""
        self._kept.add(self._job(settings), document, again=document["verdict"] == ranking.DIED)

    def close(self) -> None:
        """Release the lock on the file."""
        self._kept.close()

    def _job(self, settings: Settings) -> TuneJob:
        return TuneJob(settings, self._task.asked.board, self._task)


def _work(job: TuneJob) -> WorkerAnswer:
    task = job.task
    same = task.sources.partition("-")[0] == sources_of(())
    return WorkerAnswer(platform.node(), job.task.tried(job) if same else None)


def _outcome(job: TuneJob, future: "Future[WorkerAnswer]") -> tuple[dict[str, Any], bool]:
    """Return the document of *job*, and whether it is due to an accident that may not recur."""
    try:
        answer = future.result()
    except WorkerDied as error:
        return job.empty() | {"verdict": ranking.DIED, "fits": False, "why": said(error)}, True
    if answer.document is None:
        raise UsageError(
            f"a worker on {answer.machine} has other sources of mlusim or NumPy; install the same everywhere, and keep the files in a "
            "folder that all machines share"
        )
    return dict(answer.document), False


def _word(task: TriedTask, *more: object) -> str:
    """Return a digest of everything on which a document depends besides the settings."""
    return hashlib.sha256(repr((task, *more)).encode()).hexdigest()[:16]


def _kept_work(task: TriedTask, last: str = " or limit") -> KeptWork[TuneJob]:
    def job_of(facts: Mapping[str, Any]) -> TuneJob:
        return TuneJob(tuple(Setting(*map(str, row)) for row in facts["settings"]), str(facts["board"]), task)

    return KeptWork(
        "tune",
        lambda job: {"settings": [[s.name, s.role, s.value] for s in job.settings], "board": job.board},
        job_of,
        _check,
        drops=True,
        basis=f"sources of mlusim, NumPy or the kernel, or of another call, reference{last}",
    )


def _check(job: TuneJob, document: Mapping[str, Any], where: str) -> None:
    settings = {s.name: s.value for s in job.settings}
    if (
        not isinstance(document, Mapping)
        or document.get("parameters") != settings
        or "verdict" not in document
    ):
        raise UsageError(f"{where} is not a result of {shown(str(job))}; --restart starts the file over")


# -- searches: random draws, successive halving, and Optuna's estimator --------------------------------

RANDOM, HALVING, TPE = "random", "halving", "tpe"
KEPT = 3  # one in this many candidates advances to the next rung
TOGETHER = 4  # candidates that Optuna proposes before it receives their results
PATIENCE = 50  # consecutive repeated proposals after which the search ends

Run = Callable[[Sequence[Settings]], list[dict[str, Any]]]
"""A function that tries candidates and returns their documents in order."""


def drawn(parameters: Sequence[TuneParameter], number: int, seed: int) -> list[Settings]:
    """Return *number* distinct combinations of values, or all if there are fewer, in grid order."""
    total = math.prod(len(parameter.values) for parameter in parameters)
    places = random.Random(seed).sample(range(total), min(number, total))  # noqa: S311 - no secret
    return [_at(parameters, place) for place in sorted(places)]


def _at(parameters: Sequence[TuneParameter], place: int) -> Settings:
    settings = []
    for parameter in reversed(parameters):
        place, index = divmod(place, len(parameter.values))
        settings.append(Setting(parameter.name, parameter.role, parameter.values[index]))
    return tuple(reversed(settings))


def halved(
    wanted: Sequence[Settings], rungs: TuneParameter, objective: str, run: Run
) -> list[dict[str, Any]]:
    """Try *wanted* with the first value of *rungs*, the best third of them with the next value, and so on; return the last document of each.

    A candidate that does not advance has the verdict `PRUNED`, and its document says at which value and why.
    """
    out: list[dict[str, Any]] = []
    # The cheap calls are accurate enough to drop most candidates; only the best run the large call.
    alive = list(wanted)
    for number, value in enumerate(rungs.values, 1):
        results = run([(*settings, Setting(rungs.name, rungs.role, value)) for settings in alive])
        good = [candidate for candidate in ranking.ranked(results, objective) if ranking.able(candidate)]
        if number == len(rungs.values) or not good:
            return results + out
        best = good[: math.ceil(len(good) / KEPT)]
        on = [candidate["parameters"] for candidate in best]
        for candidate in results:
            if candidate["parameters"] in on:
                continue
            why = f"with {rungs.name}={value} it takes {precise(candidate['time_us'])} us and is not among the best {len(best)}, which went on"
            pruned = {"verdict": ranking.PRUNED, "why": why} if ranking.able(candidate) else {}
            out.append({**candidate, **pruned})
        alive = [
            settings
            for settings, candidate in zip(alive, results, strict=True)
            if candidate["parameters"] in on
        ]
    return out


def proposed(
    parameters: Sequence[TuneParameter], number: int, seed: int, objective: str, run: Run
) -> list[dict[str, Any]]:
    """Try at most *number* candidates proposed by Optuna's tree-structured Parzen estimator, in batches.

    Raises `UsageError` if the extra mlusim[tune] is not installed.
    """
    try:
        import optuna  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_packages("--search tpe", "tune", "optuna") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(TOGETHER, number // KEPT))
    study = optuna.create_study(sampler=sampler, direction="minimize")
    space: Any = {p.name: optuna.distributions.CategoricalDistribution(p.values) for p in parameters}
    number = min(number, math.prod(len(parameter.values) for parameter in parameters))
    results: dict[Settings, dict[str, Any]] = {}
    idle = 0
    while len(results) < number and idle < PATIENCE:
        asked: dict[Settings, Any] = {}
        while len(asked) < min(TOGETHER, number - len(results)) and idle < PATIENCE:
            trial = study.ask(space)
            settings = tuple(Setting(p.name, p.role, trial.params[p.name]) for p in parameters)
            if settings in results or settings in asked:
                idle += 1
                _tell(study, trial, results.get(settings), objective)
                continue
            asked[settings], idle = trial, 0
        for (settings, trial), result in zip(asked.items(), run(list(asked)), strict=True):
            results[settings] = result
            _tell(study, trial, result, objective)
    return list(results.values())


def _tell(study: Any, trial: Any, result: Mapping[str, Any] | None, objective: str) -> None:
    """Report the result of *trial* to Optuna; a rejected candidate counts as failed."""
    from optuna.trial import TrialState  # noqa: PLC0415 - an extra

    if result is None or not ranking.able(result):
        study.tell(trial, state=TrialState.FAIL)
        return
    value = result[ranking.OBJECTIVES[objective]]
    study.tell(trial, value if objective == ranking.TIME else -value)
