"""Long work whose results are appended to a file: the file, the results in the order of the jobs, and a hash of the sources.

If the process is killed, at most the last line is incomplete; it is dropped when the work is resumed.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, nullcontext
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np
from attrs import frozen

import mlusim
from mlusim.document import plain
from mlusim.errors import UsageError
from mlusim.files.reading import brief, path_of, shown
from mlusim.files.writing import Unwritten, kept_elsewhere, lock, write
from mlusim.operators import shipped
from mlusim.operators.registry import find_operator
from mlusim.operators.spec import Operator

# -- the file: one line of JSON that describes the work, then one for each result -------------------------

FORMAT = 2

J = TypeVar("J")


@frozen
class KeptWork(Generic[J]):
    """A kind of long work whose results a file holds: its *word*, and functions that convert a job to plain data and back.

    *check* raises `UsageError` for a record that is invalid or belongs to another job; its last argument is the
    record's place.  With *drops* the result of a job that is not requested is ignored; otherwise it means that the
    file is another sweep's, and is refused.  *more* is stored in the first line.  *basis* describes in words which
    sources are hashed.
    """

    word: str
    facts: Callable[[J], Mapping[str, Any]]
    job: Callable[[Mapping[str, Any]], J]
    check: Callable[[J, Mapping[str, Any], str], object]
    drops: bool = False
    more: Mapping[str, Any] = {}
    basis: str = "sources of mlusim, its operators or NumPy"

    @property
    def key(self) -> str:
        """Return the words with which the first line begins."""
        return f"mlusim {self.word}"


class Keep(Generic[J]):
    """The results that the file *name* holds for *jobs* (None: all), by job, in ``known``; `add` appends to them.

    Raises `UsageError` for a file that is not a sweep's, is in use by another sweep, was made from other
    *sources*, or holds a job that is not in *jobs*: no file is overwritten except with *restart*.
    """

    def __init__(
        self, name: str, jobs: Sequence[J] | None, sources: str, work: KeptWork[J], *, restart: bool = False
    ) -> None:
        self.name = name
        self.known: dict[J, Mapping[str, Any]] = {}
        self._work = work
        self._head = {work.key: FORMAT, "mlusim": mlusim.__version__, "sources": sources, **work.more}
        self._file = _opened(name, work.word)
        try:
            size = 0 if restart and self._is_ours() else self._read(None if jobs is None else frozenset(jobs))
            # A line torn by a kill is cut off, so that the next result begins a line.
            self._file.truncate(size)
            self._file.seek(size)
            if size == 0:
                self._append(_text(self._head))
        except OSError as error:
            self._file.close()
            raise Unwritten(f"{name} cannot be written: {brief(error)}") from None
        except BaseException:
            self._file.close()
            raise

    def add(self, job: J, document: Mapping[str, Any], *, again: bool = False) -> None:
        """Append the record of *job* (as JSON has it); with *again*, a resumed sweep runs the job once more."""
        self.known[job] = document
        line = {"job": self._work.facts(job), "record": document} | ({"again": True} if again else {})
        text = _text(line | {"sum": _sum(line)})
        try:
            self._append(text)
        except OSError as error:
            raise self._refused(error, text) from None

    def finish(self, jobs: Sequence[J]) -> None:
        """Rewrite the file with its lines in the order of *jobs*, whole or not at all, so that it does not depend on the order of the ends."""
        self._file.seek(0)
        head, *lines = self._file.read().splitlines(keepends=True)
        # A job that was run again has several lines, of which the last one counts.
        latest = {self._work.job(json.loads(line)["job"]): line for line in lines}
        with contextlib.suppress(Unwritten):  # all lines are in the file, in the order of their ends
            write(self.name, lambda file: file.write(b"".join([head, *(latest[job] for job in jobs)])))

    def close(self) -> None:
        """Release the lock of the file."""
        self._file.close()

    def _append(self, text: bytes) -> None:
        """Append *text* as a whole; if the system refuses, leave the file as it was."""
        start, left = self._file.tell(), memoryview(text)
        try:
            # FileIO may write only a part; a buffered file would write the rest at an unknown time.
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with contextlib.suppress(OSError):
                self._file.seek(start)
                self._file.truncate()
            raise

    def _refused(self, error: OSError, text: bytes) -> Unwritten:
        """Make the error for a file that cannot be extended, and save its contents with *text* elsewhere if possible."""
        self._file.seek(0)
        whole = self._file.read() + text
        rescued = kept_elsewhere(self.name, lambda file: file.write(whole))
        instead = (
            "what it holds already is whole, and the same command goes on from there"
            if rescued is None
            else f"all results until now are in {rescued}, and the same command with that file goes on from there"
        )
        return Unwritten(f"{self.name} cannot be written: {brief(error)}; {instead}", rescued)

    def _is_ours(self) -> bool:
        """Return True if the file is empty or a sweep's, possibly with an incomplete first line; else raise `UsageError`."""
        self._file.seek(0)
        wanted = f'{{"{self._work.key}": '.encode()
        if not wanted.startswith(self._file.read(len(wanted))):
            raise UsageError(f"{self.name} is not the file of a {self._work.word}; name another one")
        return True

    def _read(self, jobs: frozenset[J] | None) -> int:
        """Read the results that the file holds, and return where its last complete line ends, in bytes."""
        self._is_ours()
        self._file.seek(0)
        whole = 0
        for number, line in enumerate(io.BytesIO(self._file.read()), 1):
            if not line.endswith(b"\n"):
                break  # torn by a kill
            if number == 1:
                self._check_head(_decoded(line, f"{self.name}, line 1"))
            else:
                self._take(_decoded(line, f"{self.name}, line {number}"), f"{self.name}, line {number}", jobs)
            whole += len(line)
        return whole

    def _check_head(self, head: Mapping[str, Any]) -> None:
        if head.get(self._work.key) != FORMAT:
            raise UsageError(
                f"{self.name} has format {head.get(self._work.key)!r:.20}, this mlusim reads {FORMAT}; "
                "--restart starts it over"
            )
        if head.get("sources") != self._head["sources"]:
            origin = shown(f"{head.get('mlusim')!s:.20}, {head.get('sources')!s:.20}")
            raise UsageError(
                f"the results in {self.name} are of other {self._work.basis} "
                f"(mlusim {origin}) than these "
                f"({self._head['mlusim']}, {self._head['sources']}); name another file, or --restart to start it over"
            )

    def _take(self, line: Mapping[str, Any], where: str, jobs: frozenset[J] | None) -> None:
        try:
            job = self._work.job(line["job"])
            document, total = line["record"], line["sum"]
        except (KeyError, TypeError):
            raise UsageError(
                f"{where} is not a result of a {self._work.word}; name another file, or --restart"
            ) from None
        asked = jobs is None or job in jobs
        if not asked and not self._work.drops:
            self._work.check(job, document, where)
            raise UsageError(
                f"{self.name} belongs to another {self._work.word}: it has {brief_of(job)}, which is not one of these calls; "
                "name another file, or --restart to start it over"
            )
        self._work.check(job, document, where)
        if total != _sum({key: part for key, part in line.items() if key != "sum"}):
            raise UsageError(f"{where} has been changed since it was written; --restart starts the file over")
        if not asked:
            return
        # The record stays in the file for people to read, and the job runs once more.
        if line.get("again") is True:
            self.known.pop(job, None)
        else:
            self.known[job] = document


def brief_of(what: object) -> str:
    """Return *what* as text for a sentence, shortened, since a file may hold any text of any length."""
    return f"{shown(str(what)):.160}"


def _text(line: Mapping[str, Any]) -> bytes:
    return (json.dumps(plain(line), ensure_ascii=False, allow_nan=False) + "\n").encode()


def _sum(line: Mapping[str, Any]) -> str:
    """Return a checksum of *line*, of 16 hexadecimal digits."""
    text = json.dumps(plain(line), ensure_ascii=False, allow_nan=False, sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _decoded(line: bytes, where: str) -> Mapping[str, Any]:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise UsageError(f"{where} is not a JSON object; name another file, or --restart to start it over")
    return document


def _opened(name: str, word: str) -> io.FileIO:
    """Return the open file *name*, locked by this process if the system has locks; if the file was replaced before the lock, open the new one.

    Without a buffer: bytes that a full disk has refused must not be written again when the file is closed.
    """
    path = path_of(name)
    try:
        if path.exists() and not path.is_file():
            kind = "a directory" if path.is_dir() else "not a regular file"
            raise UsageError(f"{name} is {kind}; results are kept in a file")
        while True:
            path.touch()
            file = io.FileIO(path, "r+b")
            if not lock(file):
                file.close()
                raise UsageError(f"{name} is in use by another {word}; wait for it, or name another file")
            # Between opening and locking, another sweep may have ended and replaced the file by its sorted
            # one.
            if _same(file, path):
                return file
            file.close()
    except OSError as error:
        raise UsageError(f"{name} cannot be written: {brief(error)}") from None


def _same(file: io.FileIO, path: Path) -> bool:
    """Return whether *path* still leads to *file*: a sweep that ends replaces its file by a new one."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


@frozen
class WorkerAnswer:
    """The answer of a worker: its machine, the hash of its sources, and a document as JSON has it (None: its sources differ)."""

    machine: str
    document: Mapping[str, Any] | None
    sources: str = ""


# -- results in the order of their jobs, whatever the order in which they end -----------------------------

R = TypeVar("R")


class InOrder(Iterator[R], Generic[R]):
    """An iterator over results in the order of their jobs; ``total`` jobs, of which ``reused`` were in the file.

    `close` cancels the remaining jobs, as leaving a ``with`` block does.
    """

    def __init__(
        self, total: int, reused: int, results: Generator[R, None, None], keeper: Keep[Any] | None
    ) -> None:
        self.total = total
        self.reused = reused
        self._results = results
        self._kept = keeper

    def __next__(self) -> R:
        return next(self._results)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Cancel the remaining jobs; the results in the file stay there."""
        self._results.close()
        if self._kept is not None:
            self._kept.close()


def in_order(
    wanted: Sequence[J],
    waiting: Sequence[J],
    ended: Generator[tuple[int, "Future[Any]"], None, None],
    keeper: Keep[J] | None,
    outcome: Callable[[J, "Future[Any]"], tuple[Mapping[str, Any], bool]],
    result: Callable[[J, Mapping[str, Any]], R],
    progress: Callable[[R], object] | None,
) -> InOrder[R]:
    """Return the results of *wanted*: those that *keeper* holds, and those of *waiting*, which *ended* yields by index.

    *outcome* converts an ended job to a document, and says whether it failed by an accident that may not happen
    again; *result* converts a document to the value that is yielded, and passed to *progress* when the job ends.
    """
    ended_before = {} if keeper is None else dict(keeper.known)
    tell = progress or (lambda _: None)

    def results() -> Generator[R, None, None]:
        ready = {job: result(job, document) for job, document in ended_before.items()}
        for stored in ready.values():
            tell(stored)
        with closing(ended), closing(keeper) if keeper is not None else nullcontext():
            for due in wanted:
                while due not in ready:
                    index, future = next(ended)
                    job = waiting[index]
                    document, again = outcome(job, future)
                    ready[job] = result(job, document)
                    try:
                        if keeper is not None:
                            keeper.add(job, document, again=again)
                    finally:  # a full disk may raise here
                        tell(ready[job])
                yield ready.pop(due)
            if keeper is not None:
                keeper.finish(wanted)

    return InOrder(len(wanted), len(ended_before), results(), keeper)


# -- the sources that results depend on --------------------------------------------------------------


def sources_of(operators: tuple[str, ...]) -> str:
    """Return a hash, of 16 digits, of all source files that runs of *operators* (names) depend on.

    These are the files of mlusim and of the packages that the operators' functions are in, as they are on the disk at
    the first call in this process; the version of NumPy counts too.
    """
    return word_of(
        frozenset({"mlusim"}.union(*(_packages(find_operator(operator)) for operator in operators)))
    )


@functools.cache
def word_of(packages: frozenset[str]) -> str:
    """Return the hash of the files of *packages*.

    The cache is keyed by packages, not by names of operators: the same name may later be another operator, from
    another distribution.
    """
    digest = hashlib.sha256(f"mlusim {mlusim.__version__}, numpy {np.__version__}\n".encode())
    for package in sorted(packages):
        for name, path in _files(package):
            digest.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:16]


def _packages(operator: Operator) -> set[str]:
    """Return the packages that the functions of *operator* come from; a module outside of a package counts as one."""
    parts = [operator.call, operator.reference, operator.shapes, operator.theory]
    parts += [case.make for case in operator.cases] + [policy.rule for policy in operator.policies]
    inner = [getattr(part, "func", part) for part in parts]  # the function inside a functools.partial
    names = {str(getattr(part, "__module__", None) or "mlusim") for part in inner}
    return {shipped.INSTALLED if shipped.owns(name) else name.partition(".")[0] for name in names}


def _files(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the source files of *package*, sorted, with their names in it; nothing for a module that has no file."""
    module = shipped.package() if package == shipped.INSTALLED else sys.modules.get(package)
    for folder in getattr(module, "__path__", ()):
        for path in sorted(Path(folder).rglob("*.py")):
            yield f"{package}/{path.relative_to(folder).as_posix()}", path
    alone = getattr(module, "__file__", None)
    if alone is not None and not hasattr(module, "__path__"):
        yield package, Path(alone)
