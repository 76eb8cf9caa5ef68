"""`Edit`: a change that the user has made to a run by hand; every run of the launch makes it again at its place."""

from collections.abc import Callable
from typing import Any

from attrs import frozen

from mlusim.debug.stop.moments import Position


@frozen(eq=False)
class Edit:
    """A change at *position*; ``apply`` makes it in the run that a tracer listens to, ``text`` says what it is."""

    position: Position
    text: str
    apply: Callable[[Any], None]
