"""Sweeps: operators x cases x boards x policies, on any executor, with results in a file, resumed after a kill."""

import platform
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future
from functools import partial
from os import PathLike, fspath
from typing import Any

from attrs import asdict, evolve

from mlusim.arch.catalog import find_board
from mlusim.document import plain
from mlusim.errors import UsageError, said
from mlusim.files.reading import typed
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.observe.names import observers_of
from mlusim.operators.campaign import Job, longest_first, perform, unused_memory, usual_workers
from mlusim.operators.executors import carried
from mlusim.operators.kept_work import InOrder, Keep, KeptWork, WorkerAnswer, brief_of, in_order, sources_of
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.spec import policy_of
from mlusim.report.record import FAULTED, CallRecord, restored

Sweep = InOrder[CallRecord]
"""The records of a sweep, as JSON has them: without spans of tasks and NRAM plans."""


def sweep(
    jobs: Iterable[Job],
    executor: Executor | None = None,
    *,
    keep: str | PathLike[str] | None = None,
    progress: Callable[[CallRecord], object] | None = None,
    workers: int | None = None,
    restart: bool = False,
) -> Sweep:
    """Run *jobs*, each once, and yield their records in the order of *jobs*, whatever the executor.

    *executor* is any of `concurrent.futures`, or ``client.get_executor()`` of Dask; None starts *workers*
    processes on this machine (1: this process; None: one per CPU, at most 4).  Long jobs start first.
    Results are appended to the file *keep* as the jobs end; a sweep of the same jobs with the same sources
    resumes from it (*restart*: starts again).  *progress* is called with each record as its job ends.

    A job that faults has a record.  So has a job that fails otherwise, or whose process dies: its
    ``status`` is `FAULTED`, the other jobs go on, and it runs again when the sweep is resumed from its file.
    Raises `UsageError` for unknown names, for a file of another kind, and if a worker has other sources;
    `Unwritten` if *keep* cannot be extended, with the name of the file that has the results instead.
    """
    # A job that is listed twice runs once: its record would be the same.
    wanted = list(dict.fromkeys(_checked(job) for job in jobs))
    operators = tuple(sorted({job.operator for job in wanted}))
    sources = sources_of(operators)
    keeper = None if keep is None else Keep(fspath(keep), wanted, sources, SWEEP, restart=restart)
    ended_before = () if keeper is None else keeper.known
    # Long jobs first, so that no worker runs the longest one alone at the end.
    waiting = longest_first([job for job in wanted if job not in ended_before])
    work = partial(_work, operators, sources)
    # One worker is this process, so that debuggers and profilers see it, and nothing is pickled.
    number = None if workers == 1 else workers or usual_workers(waiting)
    ended = carried(work, waiting, executor=executor, workers=number)
    return in_order(
        wanted, waiting, ended, keeper, _outcome, lambda job, document: restored(document, str(job)), progress
    )


def _outcome(job: Job, future: "Future[WorkerAnswer]") -> tuple[Mapping[str, Any], bool]:
    """Return the record of *job* as JSON has it, and whether it failed by an accident that may not happen again."""
    try:
        # A broken pool is one of these errors: a job whose process died must not end the sweep.
        answer = future.result()
    except Exception as error:  # noqa: BLE001 - whatever an operator or an executor raises is this job's result
        return plain(_failed(job, error).to_json()), True
    if answer.document is None:
        raise UsageError(
            f"a worker on {answer.machine} has other sources of mlusim, its operators or NumPy ({answer.sources}); "
            "install the same everywhere, and restart the workers"
        )
    return answer.document, False


def _failed(job: Job, error: Exception) -> CallRecord:
    """Return the record of *job*, which ended in an exception other than a fault of the machine."""
    sentence = "; ".join([f"{type(error).__name__}: {said(error)}", *getattr(error, "__notes__", ())])
    return CallRecord(
        operator=job.operator,
        case=job.case,
        board=job.board,
        status=FAULTED,
        expected=find_case(find_operator(job.operator), job.case).status.name,
        passed=False,
        message=sentence,
        memory=unused_memory(find_board(job.board)),
        fault={"type": type(error).__name__, "message": sentence},
        policy=job.policy,
    )


def _work(operators: tuple[str, ...], sources: str, job: Job) -> WorkerAnswer:
    """Run one job in whichever process this is, if its sources are the same."""
    here = sources_of(operators)
    same = here == sources
    # The sources are compared where the work is done: results of two versions must not mix.
    return WorkerAnswer(platform.node(), plain(perform(job).to_json()) if same else None, here)


def _checked(job: Job) -> Job:
    """Return *job* with the board's full name.  Raises `UsageError` for an unknown operator, case, board, checker or policy."""
    operator = find_operator(job.operator)
    find_case(operator, job.case)
    observers_of(job.check)
    if job.policy is not None:
        policy_of(operator.name, operator.policies, job.policy)
    if job.effects not in EFFECTS:
        raise UsageError(f"effects = {job.effects!r:.40} is unknown; use {' or '.join(map(repr, EFFECTS))}")
    # The full name: two spellings of a board must not make two jobs.
    return evolve(job, board=find_board(job.board).name, check=tuple(job.check))


def jobs_of(jobs: Iterable[Job], policies: Iterable[str] = ()) -> list[Job]:
    """Return each of *jobs* under each of *policies* that its operator declares; "all" stands for all that it declares.

    An operator that declares none of them runs as usual.  Raises `UsageError` for a policy that no operator
    of *jobs* declares.
    """
    listed, names = list(jobs), list(dict.fromkeys(policies))
    declared = {job.operator: [p.name for p in find_operator(job.operator).policies] for job in listed}
    every = dict.fromkeys(name for policies_ in declared.values() for name in policies_)
    for name in names:
        if name != ALL and name not in every:
            legal = f"there are {', '.join(every)}" if every else "they declare none"
            raise UsageError(f"none of these operators has a policy {name!r}; {legal}")
    chosen = {
        operator: [p for p in policies_ if p in names or ALL in names]
        for operator, policies_ in declared.items()
    }
    # An operator without these policies runs once as usual.
    return [evolve(job, policy=policy) for job in listed for policy in chosen[job.operator] or (None,)]


ALL = "all"
"""Stands for every policy."""


def _refuse_another(job: Job, document: Mapping[str, Any], where: str) -> None:
    """Raise `UsageError` if *document* is not a record, or the record of another call than *job*."""
    record: CallRecord = restored(document, where)
    wanted = (job.operator, job.case, job.board, job.policy)
    if wanted != (record.operator, record.case, record.board, record.policy):
        raise UsageError(
            f"{where}: the record is of {brief_of(f'{record.operator} {record.case} on {record.board}')}, and its job is "
            f"{brief_of(job)}; --restart starts the file over"
        )


SWEEP: KeptWork[Job] = KeptWork("sweep", asdict, lambda facts: typed(Job, facts, "the job"), _refuse_another)
