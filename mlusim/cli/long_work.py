"""Long work whose results are stored in a file, run to its end on this machine or on a Dask cluster."""

import argparse
import contextlib
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import Any, TypeVar

from mlusim.cli.show import remark
from mlusim.errors import UsageError
from mlusim.installing import missing_packages
from mlusim.operators.kept_work import InOrder

R = TypeVar("R")


def refuse_odd(args: argparse.Namespace, file: str | None, option: str) -> None:
    """Raise `UsageError` if ``--restart`` has no *file* by *option* to start over, or if both ``--dask`` and ``--jobs`` are given."""
    if args.restart and file is None:
        raise UsageError(f"--restart starts a file over; name it with {option}")
    refuse_dask_with_jobs(args)


def refuse_dask_with_jobs(args: argparse.Namespace) -> None:
    """Raise `UsageError` if both a cluster and processes of this machine are requested."""
    if args.dask is not None and args.jobs is not None:
        raise UsageError("--dask and --jobs exclude each other; the cluster has its own processes")


def collected(work: InOrder[R], file: str | None, what: str) -> list[R]:
    """Run *work* to its end; report how many *what* were in *file* already and, if interrupted, that the file has the finished ones."""
    if work.reused:
        remark(f"{file}: {work.reused} of {work.total} {what} are there already")
    try:
        with work:
            return list(work)
    except KeyboardInterrupt:
        if file is not None:
            remark(f"{file} holds what has ended; the same command goes on")
        raise


# -- a Dask cluster that reports when it has no worker left --------------------------------------------

CONNECT = 10  # seconds in which the scheduler must answer
PATIENCE = 30.0  # seconds without a worker
CHATTY = ("distributed", "tornado", "asyncio")  # loggers of Dask and its libraries
KEPT = "what has ended is kept where -o or --keep says, and the same command goes on"


class DaskExecutor(Executor):
    """The executor of a Dask *client*; `complaint` returns a sentence once no job will end any more, with what is *kept*; otherwise None."""

    def __init__(self, client: Any, address: str, patience: float = PATIENCE, safe: str = KEPT) -> None:
        self._client = client
        self._kept = safe
        self._address = address
        self._patience = patience
        self._inner: Executor = client.get_executor()
        self._last = self._heard = time.monotonic()  # the last times of a worker, and of an answer

    def submit(self, work: Callable[..., Any], /, *words: object, **named: object) -> "Future[Any]":
        """Submit a call to the cluster."""
        future: Future[Any] = self._inner.submit(work, *words, **named)
        return future

    def complaint(self) -> str | None:
        """Return a sentence if the scheduler is gone, or has had no worker for a while; otherwise None.

        A scheduler that is slow to answer, as on a busy machine, has as much time as one without workers.
        """
        gone = f"the Dask scheduler at {self._address} does not answer any more; {self._kept}"
        if self._client.status != "running":  # Dask has given up the submitted jobs
            return gone
        try:
            workers = self._client.sync(self._client.scheduler.ncores, callback_timeout=CONNECT)
        except Exception:  # noqa: BLE001 - a broken connection raises anything
            return None if time.monotonic() - self._heard < self._patience else gone
        now = self._heard = time.monotonic()
        if workers:
            self._last = now
        if now - self._last < self._patience:
            return None
        return (
            f"the Dask scheduler at {self._address} has had no worker for {self._patience:g} s; "
            f"start one with `dask worker {self._address}`; {self._kept}"
        )


def machines(
    args: argparse.Namespace, safe: str = KEPT
) -> contextlib.AbstractContextManager[DaskExecutor | None]:
    """Return the cluster of ``--dask``, as `cluster` does; without the option None, this machine."""
    return cluster(args.dask, safe) if args.dask is not None else contextlib.nullcontext()


@contextlib.contextmanager
def cluster(address: str, safe: str = KEPT) -> Iterator[DaskExecutor]:
    """Yield an executor for the cluster of the scheduler at *address*; raises `UsageError` if it does not answer.

    *safe* is the part of the message about a lost cluster that says which results are not lost.
    """
    if not re.fullmatch(r"(tcp|tls|ws|wss|ucx)://\S+:\d+", address):  # Dask would take 20 s to refuse it
        raise UsageError(f"--dask {address!r} is not an address of a scheduler; write it as tcp://host:8786")
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError:
        raise missing_packages("--dask", "dask", "distributed") from None
    for name in (*CHATTY, *logging.root.manager.loggerDict):
        if name.partition(".")[0] in CHATTY:  # each part has a logger, which reports each broken connection
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    try:
        client = Client(address, timeout=CONNECT, set_as_default=False)
    except Exception as error:  # noqa: BLE001 - an unreachable address raises anything
        raise UsageError(f"there is no Dask scheduler at {address!r}: {str(error)[:200]}") from None
    try:
        yield DaskExecutor(client, address, PATIENCE, safe)
    finally:
        with contextlib.suppress(Exception):
            client.close(timeout=CONNECT if client.status == "running" else 2)
