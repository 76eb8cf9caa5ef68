"""Handing work to an executor of `concurrent.futures`: this process, processes of our own, or a given executor."""

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

LOOK = 5.0  # seconds after which an executor that may complain is asked
WAITING = 4096  # jobs that a given executor has at a time
GRACE = 0.5  # seconds in which the processes of an interrupted pool may say where they were; a loop does so at once

J = TypeVar("J")
R = TypeVar("R")


class WorkerDied(UsageError):
    """A process that ran a job has died, and died again when nothing else ran beside it."""


def carried(
    work: Callable[[J], R], jobs: Sequence[J], *, executor: Executor | None = None, workers: int | None = None
) -> Generator[tuple[int, "Future[R]"], None, None]:
    """Call *work*, a function of a module, with each of *jobs*; yield positions and ended futures as they come.

    Jobs start in their order, on *executor*, or else in *workers* processes (None: in this one).  Where a
    process dies, what ran at that moment runs again alone, and what dies again ends in `WorkerDied`, which
    names the job; all others go on.  Launches have the limit, engine and threads of the block that calls this, wherever they run.
    Closing the iterator gives up what has not ended.  Raises `UsageError` where no process lives, as those of a script that does
    not ask for ``__main__``.
    """
    if executor is None and workers is None:
        return _here(work, jobs)
    # They are context variables of this process, which a worker does not have.
    there = functools.partial(_under, limit_of(None), preferred(), asked_threads(), work)
    if executor is not None:
        return _given(there, jobs, executor, workers or 1)
    return _own(there, list(enumerate(jobs)), workers or 1)


def _under(limit: Limit, engine: str, threads: int | None, work: Callable[[J], R], job: J) -> R:
    """Call *work* with *job*, every launch under *limit*, on *engine* and on *threads* threads."""
    with limiting(limit), preferring(engine), on_threads(threads):
        return work(job)


def _here(work: Callable[[J], R], jobs: Sequence[J]) -> Generator[tuple[int, "Future[R]"], None, None]:
    for index, job in enumerate(jobs):
        future: Future[R] = Future()
        try:
            future.set_result(work(job))
        except Exception as error:  # noqa: BLE001 - the caller hears of it from the future
            future.set_exception(error)
        yield index, future


def _given(
    work: Callable[[J], R], jobs: Sequence[J], executor: Executor, workers: int
) -> Generator[tuple[int, "Future[R]"], None, None]:
    """Run on a given executor; jobs that are lost because one of its processes dies run again in processes of our own.

    It holds `WAITING` jobs at a time, so that a search without end may give it jobs.
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
                lost += [index for index, _ in waiting]  # if the executor accepts no more
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
    """Raise `UsageError` where no process lives at all, whatever it would run."""
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
    """Take jobs from *waiting*, at most as many as can run, until none is left or the pool breaks; return the lost ones."""
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
    """Raise `UsageError` where the executor says that nothing will end any more."""
    if complaint is not None:
        raise UsageError(complaint)


def _ended(
    running: "dict[Future[R], int]", seconds: float | None = None
) -> Generator[tuple[int, "Future[R]"], None, None]:
    """Wait for the next of *running* to end, at most *seconds*; take it, and what ended with it, out of them."""
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
    """Return the processes that have begun since there were those of *before*."""
    return set(multiprocessing.active_children()) - before


@contextmanager
def _processes(workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool of fresh processes; when its user leaves early, they are ended."""
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
        # Until none is left: two threads that ask for the end of one process take turns to miss it.
        pool.shutdown(cancel_futures=True)


@contextmanager
def _telling(running: "Mapping[Future[Any], object]") -> Iterator[None]:
    """Ask the processes which calls are *running* in them where the interrupt key ends the block, and note the answers."""
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
    """Let the interrupt key wait for the block; a process that starts then never hears of it.

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
MOST = (1 << 31) - 1  # bytes that lie free at the end of the heap; more go back


def keep_freed_memory() -> None:
    """Have ``malloc`` take arrays of any size from the heap, which keeps up to 2 GiB; nothing happens without glibc.

    For processes that work off many calls: each has arrays of megabytes, and the system clears a page, and in a
    virtual machine maps it too, whenever it is touched for the first time.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, MOST)
