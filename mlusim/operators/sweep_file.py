"""The file of a sweep: one JSON line for what made it, then one for each result, as they come.

A process that is killed leaves at most its last line torn; that one is dropped when the sweep goes on.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from attrs import asdict

import mlusim
from mlusim.errors import UsageError
from mlusim.operators.campaign import Job
from mlusim.report.json_values import plain
from mlusim.report.record_reader import restored

FORMAT = 1
_START = b'{"mlusim sweep": '

Documents = dict[Job, Mapping[str, Any]]


class Keep:
    """The results in the file *name* that are those of *jobs*, by job, in ``known``; `add` appends to them.

    Raises `UsageError` for a file that is no sweep's, is in use by another sweep, was made from other
    *sources*, or holds a job that is none of *jobs*: nothing is ever overwritten but on *restart*.
    """

    def __init__(self, name: str, jobs: Sequence[Job], sources: str, *, restart: bool = False) -> None:
        self.name = name
        self.known: Documents = {}
        self._head = {"mlusim sweep": FORMAT, "mlusim": mlusim.__version__, "sources": sources}
        self._file = _opened(name)
        try:
            _lock(self._file, name)
            size = 0 if restart and self._is_ours() else self._read(frozenset(jobs))
            self._file.truncate(size)
            self._file.seek(size)
            if size == 0:
                self._write(self._head)
        except BaseException:
            self._file.close()
            raise

    def add(self, job: Job, document: Mapping[str, Any], *, again: bool = False) -> None:
        """Append the record of *job* (as JSON has it); with *again*, a sweep that goes on runs it once more."""
        self.known[job] = document
        self._write({"job": asdict(job), "record": document} | ({"again": True} if again else {}))

    def finish(self, jobs: Sequence[Job]) -> None:
        """Put the lines into the order of *jobs*, whole or not at all: the file no longer tells who was faster."""
        self._file.seek(0)
        head, *lines = self._file.read().splitlines(keepends=True)
        latest = {_job(json.loads(line)["job"]): line for line in lines}
        target = Path(self.name).resolve()
        beside = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            beside.write_bytes(b"".join([head, *(latest[job] for job in jobs)]))
            beside.replace(target)
        except OSError as error:
            raise UsageError(f"{self.name} cannot be written: {error.strerror}") from None
        finally:
            beside.unlink(missing_ok=True)

    def close(self) -> None:
        """Give the file up to others."""
        self._file.close()

    def _write(self, line: Mapping[str, Any]) -> None:
        text = json.dumps(plain(line), ensure_ascii=False, allow_nan=False) + "\n"
        try:
            self._file.write(text.encode())
            self._file.flush()
        except OSError as error:
            raise UsageError(f"{self.name} cannot be written: {error.strerror}") from None

    def _is_ours(self) -> bool:
        """Whether the file is empty or a sweep's, perhaps with a torn first line."""
        self._file.seek(0)
        start = self._file.read(len(_START))
        if not _START.startswith(start):
            raise UsageError(f"{self.name} is not the file of a sweep; name another one")
        return True

    def _read(self, jobs: frozenset[Job]) -> int:
        """Take in what is there, and return where the last whole line ends, in bytes."""
        self._is_ours()
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(self._file, 1):
            if not line.endswith(b"\n"):
                break  # torn by a kill
            if number == 1:
                self._check_head(_decoded(line, f"{self.name}, line 1"))
            else:
                self._take(_decoded(line, f"{self.name}, line {number}"), f"{self.name}, line {number}", jobs)
            whole += len(line)
        return whole

    def _check_head(self, head: Mapping[str, Any]) -> None:
        if head.get("mlusim sweep") != FORMAT:
            raise UsageError(
                f"{self.name} has format {head.get('mlusim sweep')!r:.20}, this mlusim reads {FORMAT}; "
                "--restart starts it over"
            )
        if head.get("sources") != self._head["sources"]:
            raise UsageError(
                f"the results in {self.name} are of other sources of mlusim, its operators or NumPy "
                f"(mlusim {head.get('mlusim')!s:.20}, {head.get('sources')!s:.20}) than these "
                f"({self._head['mlusim']}, {self._head['sources']}); name another file, or --restart to start it over"
            )

    def _take(self, line: Mapping[str, Any], where: str, jobs: frozenset[Job]) -> None:
        try:
            job = _job(line["job"])
            document = line["record"]
        except (KeyError, TypeError):
            raise UsageError(f"{where} is no result of a sweep; name another file, or --restart") from None
        restored(document, where)
        if job not in jobs:
            raise UsageError(
                f"{self.name} belongs to another sweep: it has {job}, which is none of these calls; "
                "name another file, or --restart to start it over"
            )
        if line.get("again") is True:
            self.known.pop(job, None)
        else:
            self.known[job] = document


def _job(facts: Mapping[str, Any]) -> Job:
    job = Job(**dict(facts) | {"check": tuple(facts["check"])})
    hash(job)  # a list where a word should be
    return job


def _decoded(line: bytes, where: str) -> Mapping[str, Any]:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError(f"{where} is no JSON object; name another file, or --restart to start it over")
    return found


def _opened(name: str) -> BinaryIO:
    path = Path(name)
    if path.exists() and not path.is_file():
        kind = "a directory" if path.is_dir() else "no regular file"
        raise UsageError(f"{name} is {kind}; results are kept in a file")
    try:
        path.touch()
        return path.open("r+b")
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {error.strerror}") from None


def _lock(file: BinaryIO, name: str) -> None:
    """Hold the file for this process alone, where the system can; it lets go when the process ends, however."""
    for module in _locks():
        try:
            module.flock(file, module.LOCK_EX | module.LOCK_NB)
        except BlockingIOError:
            raise UsageError(
                f"{name} is in use by another sweep; wait for it, or name another file"
            ) from None
        except OSError:
            return  # a file system without locks


def _locks() -> Iterator[Any]:
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        return
    yield fcntl
