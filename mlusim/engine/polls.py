"""Telling polling from reading: a core that looks at the same shared bytes again and again lets others run."""

from collections.abc import Callable

# Both engines count alike: when a core lets others run decides the order of float atomics, and so their last bits.
SPIN_LOADS = 256  # polls of shared memory after which a core lets others run
POLLED = 16  # addresses that a polling loop may look at
POLL_BYTES = 64  # a copy of no more may be a look at a flag
POLL_COPIES = 16  # such looks after which a core lets others run


class Polls:
    """The loads of shared memory that one core has made."""

    __slots__ = ("_addresses", "_loads", "_looks", "_repeats", "_spin")

    def __init__(self, spin: Callable[[], None]) -> None:
        self._spin = spin  # lets others run
        self._addresses: set[int] = set()
        self._loads = 0
        self._repeats = 0
        self._looks = 0

    def load(self, address: int) -> None:
        """Account for a scalar load: a core that keeps to a few addresses polls."""
        if address in self._addresses:
            self._loads += 1
            if self._loads % SPIN_LOADS == 0:
                self._spin()
        elif len(self._addresses) < POLLED:
            self._addresses.add(address)
        else:
            self._addresses = {address}
            self._loads = 0

    def copy(self, address: int) -> None:
        """Account for a small copy: the same bytes again and again are polling too."""
        if address in self._addresses:
            self._looks += 1
            if self._looks % POLL_COPIES == 0:
                self._spin()
        elif len(self._addresses) < POLLED:
            self._addresses.add(address)
        else:
            self._addresses = {address}

    def again(self) -> None:
        """Account for a large copy of the bytes that were copied last: work it may be, or polling."""
        self._repeats += 1
        if self._repeats % POLL_COPIES == 0:
            self._spin()
