"""Many calls: operators x cases x boards, one after the other or in several processes.

Calls share nothing, so that records come out the same, and in the same order, whatever the number
of processes.
"""

import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from typing import TypeVar

from attrs import frozen

from mlusim.errors import Fault, UsageError
from mlusim.operators.records import record_of, record_of_fault
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import run_case
from mlusim.operators.spec import Case, Operator
from mlusim.report.record import Record

MOST_WORKERS = 4  # a large case takes a gigabyte and more, and every process has one

Done = Callable[[Record], None]
J = TypeVar("J")
R = TypeVar("R")


@frozen
class Job:
    """One case of one operator on one board, by name; *check* are names of checkers, *policy* None the usual one."""

    operator: str
    case: str
    board: str
    check: tuple[str, ...] = ()
    seed: int | None = None
    effects: str = "late"
    reference: bool = True
    policy: str | None = None

    def __str__(self) -> str:
        chosen = "" if self.policy is None else f", {self.policy}"
        return f"{self.operator} {self.case}{chosen} on {self.board}"


def matching_cases(
    operator: Operator, board: str, *, group: str | None = None, names: Sequence[str] = ()
) -> Iterator[Case]:
    """The cases of *operator* that run on *board*: those named, or those of *group* (None: any) but the slow."""
    for case in operator.cases:
        wanted = case.name in names if names else not case.slow and group in {None, case.group}
        if wanted and (not case.boards or board in case.boards):
            yield case


def perform(job: Job) -> Record:
    """Run one job; a fault becomes its record, any other failure is noted to be this job's."""
    case = find_case(find_operator(job.operator), job.case)
    try:
        run = run_case(
            job.operator,
            case,
            board=job.board,
            observe=job.check,
            seed=job.seed,
            effects=job.effects,
            reference=job.reference,
            policy=job.policy,
        )
    except Fault as fault:
        return record_of_fault(fault, job.operator, job.case, job.board, case.status.name, job.policy)
    except Exception as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        error.add_note(f"{job} at {Path(at.filename).name}:{at.lineno}")
        raise
    return record_of(run)


def usual_workers(jobs: Sequence[object]) -> int:
    """Processes for *jobs* when nobody says how many: one per CPU, few enough for the memory."""
    return max(1, min(len(jobs), os.cpu_count() or 1, MOST_WORKERS))


def perform_all(jobs: Sequence[Job], workers: int = 1, done: Done | None = None) -> list[Record]:
    """Run *jobs* in *workers* processes (1: in this one) and return their records in the order of *jobs*.

    *done* is called with each record as it comes.  Raises `UsageError` when a process dies.
    """
    return spread(perform, jobs, workers, done)


def spread(
    work: Callable[[J], R], jobs: Sequence[J], workers: int = 1, done: Callable[[R], None] | None = None
) -> list[R]:
    """Call *work*, a function of a module, with each of *jobs*, as `perform_all` does."""
    tell = done or (lambda _: None)
    if workers <= 1 or len(jobs) <= 1:
        return [_told(work(job), tell) for job in jobs]
    before = set(multiprocessing.active_children())
    futures: list[Future[R]] = []
    executor = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_quiet)
    try:
        futures = [executor.submit(work, job) for job in jobs]
        _follow(futures, tell)
        return [future.result() for future in futures]
    except BrokenProcessPool:
        raise UsageError(
            "a process that ran a case has died, perhaps for lack of memory; use fewer of them with --jobs 1"
        ) from None
    finally:
        unfinished = not all(future.done() for future in futures)
        executor.shutdown(wait=not unfinished, cancel_futures=True)
        if unfinished:
            _end(set(multiprocessing.active_children()) - before)


def _follow(futures: Iterable["Future[R]"], done: Callable[[R], None]) -> None:
    pending = set(futures)
    while pending:
        ended, pending = wait(pending, return_when=FIRST_COMPLETED)
        for future in ended:
            done(future.result())


def _told(record: R, done: Callable[[R], None]) -> R:
    done(record)
    return record


def _quiet() -> None:
    """In a process of the pool: leave the interrupt key to the parent, who ends the pool."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _end(processes: Iterable[multiprocessing.process.BaseProcess]) -> None:
    for process in processes:
        process.terminate()
