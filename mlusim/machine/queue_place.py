"""The place of a launch in a queue of a program's driver, for charts of a whole program."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from attrs import frozen


@frozen(eq=False)
class QueuePlace:
    """A queue by its number, and what tells when the launch begins there: us, by the predicted times of what is before it."""

    number: int
    begin: Callable[[], float]


_PLACE: ContextVar[QueuePlace | None] = ContextVar("queue_place", default=None)


@contextmanager
def in_queue(place: QueuePlace) -> Iterator[None]:
    """Launches of the block are given to a queue at *place*."""
    token = _PLACE.set(place)
    try:
        yield
    finally:
        _PLACE.reset(token)


def queue_place() -> QueuePlace | None:
    """Return the place of a launch that is made now; None where no queue is known."""
    return _PLACE.get()
