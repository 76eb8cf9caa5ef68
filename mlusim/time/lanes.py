"""The lanes of the vector unit that a launch used, and those that it paid for."""

from attrs import frozen


@frozen
class Lanes:
    """Lanes of the vector unit, in bytes: those that held an element, and those of all lines that were taken."""

    used: int
    paid: int
