"""The results of long work in the order of its jobs: they come in any order, and a file keeps them as they come."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing, nullcontext
from typing import Any, Generic, Self, TypeVar

from mlusim.operators.sweep_file import Keep

J = TypeVar("J")
R = TypeVar("R")


class InOrder(Iterator[R], Generic[R]):
    """Results in the order of their jobs; ``total`` jobs, of which ``reused`` were in the file.

    `close` gives up what has not ended, as leaving a ``with`` block does.
    """

    def __init__(
        self, total: int, reused: int, results: Generator[R, None, None], kept: Keep[Any] | None
    ) -> None:
        self.total = total
        self.reused = reused
        self._results = results
        self._kept = kept

    def __next__(self) -> R:
        return next(self._results)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what has not ended; what is in the file stays there."""
        self._results.close()
        if self._kept is not None:
            self._kept.close()


def in_order(
    wanted: Sequence[J],
    waiting: Sequence[J],
    ended: Generator[tuple[int, "Future[Any]"], None, None],
    kept: Keep[J] | None,
    outcome: Callable[[J, "Future[Any]"], tuple[Mapping[str, Any], bool]],
    result: Callable[[J, Mapping[str, Any]], R],
    progress: Callable[[R], object] | None,
) -> InOrder[R]:
    """Return the results of *wanted*: those that *kept* knows, and those of *waiting*, by index, as *ended* brings them.

    *outcome* makes a document of an ended job, and says whether it is of an accident that another attempt may not have; *result* makes
    of a document what is yielded, and told to *progress* as it comes.
    """
    known = {} if kept is None else dict(kept.known)
    results = _results(wanted, known, waiting, ended, kept, outcome, result, progress or (lambda _: None))
    return InOrder(len(wanted), len(known), results, kept)


def _results(
    wanted: Sequence[J],
    known: Mapping[J, Mapping[str, Any]],
    waiting: Sequence[J],
    ended: Generator[tuple[int, "Future[Any]"], None, None],
    kept: Keep[J] | None,
    outcome: Callable[[J, "Future[Any]"], tuple[Mapping[str, Any], bool]],
    result: Callable[[J, Mapping[str, Any]], R],
    tell: Callable[[R], object],
) -> Generator[R, None, None]:
    ready = {job: result(job, document) for job, document in known.items()}
    for found in ready.values():
        tell(found)
    with closing(ended), closing(kept) if kept is not None else nullcontext():
        for due in wanted:
            while due not in ready:
                index, future = next(ended)
                job = waiting[index]
                document, again = outcome(job, future)
                ready[job] = result(job, document)
                try:
                    if kept is not None:
                        kept.add(job, document, again=again)
                finally:  # a disk may be full
                    tell(ready[job])
            yield ready.pop(due)
        if kept is not None:
            kept.finish(wanted)
