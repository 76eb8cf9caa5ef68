"""Running jobs on an executor of `concurrent.futures`: in this process, in processes of our own, or on the caller's executor."""

import ctypes
import functools
import multiprocessing
import os
import platform
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor as Broken,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from contextlib import contextmanager
from itertools import islice
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from mlusim.engine.preference import asked_threads, on_threads, preferred, preferring
from mlusim.errors import UsageError
from mlusim.machine.limits import Limit, limit_of, limiting

LOOK = 5.0  # seconds after which an executor with a method `complaint` is asked whether it still works
WAITING = 4096  # jobs submitted to the caller's executor at a time
GRACE = 0.5  # seconds in which the processes of an interrupted pool may report where they were; an interrupted loop reports at once

J = TypeVar("J")
R = TypeVar("R")


class WorkerDied(UsageError):
    """The process that ran a job died, and died again when the job ran alone."""


def carried(
    work: Callable[[J], R], jobs: Sequence[J], *, executor: Executor | None = None, workers: int | None = None
) -> Generator[tuple[int, "Future[R]"], None, None]:
    """Call *work*, a module-level function, with each of *jobs*; yield (index, ended future) as the jobs end.

    Jobs start in their order, on *executor*, or else in *workers* processes (None: in this one).  If a process dies,
    each job that was running runs again alone; if its process dies again, its future fails with `WorkerDied`, which
    names the job; the other jobs go on.  Launches have the limits, the engine and the threads of the calling block,
    wherever they run. Closing the iterator cancels the remaining jobs.  Raises `UsageError` if no process can start,
    as in a script that does not test ``__name__ == "__main__"``.
    """
    if executor is None and workers is None:
        return _here(work, jobs)
    # These are context variables of this process, which a worker process does not inherit.
    there = functools.partial(_under, limit_of(None), preferred(), asked_threads(), work)
    if executor is not None:
        return _given(there, jobs, executor, workers or 1)
    return _own(there, list(enumerate(jobs)), workers or 1)


def _under(limit: Limit, engine: str, threads: int | None, work: Callable[[J], R], job: J) -> R:
    """Call *work* with *job*; its launches have *limit*, run on *engine*, and use *threads* threads."""
    with limiting(limit), preferring(engine), on_threads(threads):
        return work(job)


def _here(work: Callable[[J], R], jobs: Sequence[J]) -> Generator[tuple[int, "Future[R]"], None, None]:
    for index, job in enumerate(jobs):
        future: Future[R] = Future()
        try:
            future.set_result(work(job))
        except Exception as error:  # noqa: BLE001 - the future carries the exception to the caller
            future.set_exception(error)
        yield index, future


def _given(
    work: Callable[[J], R], jobs: Sequence[J], executor: Executor, workers: int
) -> Generator[tuple[int, "Future[R]"], None, None]:
    """Run on the caller's executor; jobs that are lost because one of its processes dies run again in processes of our own.

    At most `WAITING` jobs are submitted at a time, so that *jobs* may be an endless iterator.
    """
    running: dict[Future[R], int] = {}
    lost = []
    complaint: Callable[[], str | None] = getattr(executor, "complaint", lambda: None)
    waiting = iter(enumerate(jobs))
    try:
        while True:
            for index, job in islice(waiting, WAITING - len(running)):
                try:
                    running[executor.submit(work, job)] = index
                except Broken:
                    lost.append(index)
            if not running:
                lost += [index for index, _ in waiting]  # the executor accepts no more jobs
                break
            for index, future in _ended(running, LOOK):
                if future.cancelled():
                    _refuse(complaint() or f"the executor has given up {jobs[index]}")
                if _is_lost(future):
                    lost.append(index)
                else:
                    yield index, future
            _refuse(complaint())
    finally:
        for future in running:
            future.cancel()
    if lost:
        yield from _own(work, [(index, jobs[index]) for index in sorted(lost)], workers)


def _own(
    work: Callable[[J], R], jobs: Iterable[tuple[int, J]], workers: int
) -> Generator[tuple[int, "Future[R]"], None, None]:
    waiting = deque(jobs)
    while waiting:
        suspects = yield from _until_broken(work, waiting, min(workers, len(waiting)))
        if suspects:
            _refuse_if_none_lives()
        for index, job in suspects:
            lost = yield from _until_broken(work, deque([(index, job)]), 1)
            if lost:
                yield index, _dead(job)


def _refuse_if_none_lives() -> None:
    """Raise `UsageError` if no worker process can start at all, whatever the job."""
    with _processes(1) as pool:
        try:
            with _uninterrupted():
                asked = pool.submit(os.getpid)
            asked.result()
        except Broken:
            raise UsageError(
                "processes of this program die as they start; put what the program does under "
                '`if __name__ == "__main__":`, or do the work in this process, with workers=1'
            ) from None


def _until_broken(
    work: Callable[[J], R], waiting: deque[tuple[int, J]], workers: int
) -> Generator[tuple[int, "Future[R]"], None, list[tuple[int, J]]]:
    """Run jobs from *waiting* in a pool until none is left or the pool breaks; return the jobs that were lost with it."""
    lost: list[int] = []
    started: dict[int, J] = {}
    running: dict[Future[R], int] = {}
    with _processes(workers) as pool, _telling(running):
        while running or (waiting and not lost):
            while waiting and len(running) < workers and not lost:
                index, job = waiting.popleft()
                started[index] = job
                try:
                    with _uninterrupted():
                        running[pool.submit(_stoppable, work, job)] = index
                except Broken:
                    lost.append(index)
            for index, future in _ended(running):
                if _is_lost(future):
                    lost.append(index)
                else:
                    yield index, future
    return [(index, started[index]) for index in sorted(lost)]


def _refuse(complaint: str | None) -> None:
    """Raise `UsageError` with the executor's *complaint* that no job will end any more."""
    if complaint is not None:
        raise UsageError(complaint)


def _ended(
    running: "dict[Future[R], int]", seconds: float | None = None
) -> Generator[tuple[int, "Future[R]"], None, None]:
    """Wait at most *seconds* for the next of *running* to end; remove all that have ended from *running* and yield them."""
    if running:
        ended, _ = wait(running, timeout=seconds, return_when=FIRST_COMPLETED)
        yield from sorted((running.pop(future), future) for future in ended)


def _is_lost(future: "Future[Any]") -> bool:
    return not future.cancelled() and isinstance(future.exception(), Broken)


def _dead(job: object) -> "Future[Any]":
    future: Future[Any] = Future()
    sentence = (
        f"the process that ran {job} has died, and again with no other beside it, possibly for lack of memory; "
        "run it while the machine is free, or a smaller case"
    )
    future.set_exception(WorkerDied(sentence))
    return future


def _begun(before: set[BaseProcess]) -> set[BaseProcess]:
    """Return the child processes that have started since *before* was taken."""
    return set(multiprocessing.active_children()) - before


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of fresh processes; end them if the block is left by an exception."""
    before = _begun(set())
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_quiet)
    whole = False
    try:
        yield pool
        whole = True
    finally:
        if not whole:
            for process in _begun(before):
                process.kill()
        # Repeat until none is left: if two threads terminate one process at the same time, both may miss its
        # end.
        pool.shutdown(cancel_futures=True)


@contextmanager
def _telling(running: "Mapping[Future[Any], object]") -> Iterator[None]:
    """If the interrupt key ends the block, ask the processes for the positions of the calls *running* in them, and note the answers."""
    before = _begun(set())
    try:
        yield
    except KeyboardInterrupt as stop:
        for process in _begun(before):
            process.terminate()
        for future in wait(running, timeout=GRACE).done:
            for note in () if future.cancelled() else getattr(future.exception(), "__notes__", ()):
                stop.add_note(note)
        raise


def _stoppable(work: Callable[[J], R], job: J) -> R:
    """Call *work* with *job* in a process of a pool, where `terminate` interrupts it as the interrupt key would."""
    usual = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        return work(job)
    finally:
        signal.signal(signal.SIGTERM, usual)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay the interrupt key until the block ends; a process that starts in the block ignores it.

    Otherwise a process that is still starting would report the end of its parent in a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _quiet() -> None:
    """Set up a process of the pool: ignore the interrupt key, keep freed memory, and end with the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    keep_freed_memory()
    threading.Thread(target=_leave_with_parent, daemon=True).start()


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's malloc.h
MOST = (1 << 31) - 1  # bytes that may lie free at the end of the heap before it shrinks


def keep_freed_memory() -> None:
    """Have ``malloc`` take arrays of any size from the heap, which keeps up to 2 GiB of freed memory; without glibc do nothing.

    For processes that run many calls: each call has arrays of megabytes, and whenever a page is touched for the first
    time, the system clears it and, in a virtual machine, also maps it.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, MOST)
