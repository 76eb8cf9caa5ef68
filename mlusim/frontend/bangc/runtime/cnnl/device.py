"""The protocol of the device that the stand-ins work on."""

from typing import Protocol

from mlusim.memory.pointer import Ptr


class StandInDevice(Protocol):
    """Notes which bytes got values."""

    def filled(self, pointer: Ptr, nbytes: int) -> None:
        """Note that a stand-in gave these bytes values."""
        ...
