"""The hits of a stop: who asked for it, written into it."""

from mlusim.debug.stop.breakpoints import Stopper
from mlusim.debug.stop.moments import Stop


def with_hits(hits: list[tuple[Stopper, str]], stop: Stop) -> Stop:
    """*stop*, and who asked for it."""
    stop.reasons = tuple(why for _, why in hits)
    stop.hits = tuple(b for s, _ in hits if (b := s.breakpoint) is not None)
    stop.value = next((s.value for s, _ in hits if s.value), ())
    return stop
