"""Telling polling from reading on a core that runs in C: the same account, kept in the C structure."""

import ctypes
from typing import Any


class NativePolls:
    """`machine.polls.Polls` over the C structure, for what Python executes on the kernel's behalf."""

    __slots__ = ("_c", "_library")

    def __init__(self, c: Any, library: ctypes.PyDLL) -> None:
        self._c, self._library = c, library

    def load(self, address: int) -> None:
        """Account for a scalar load."""
        self._call("mlusim_poll_load", address)

    def copy(self, address: int) -> None:
        """Account for a small copy."""
        self._call("mlusim_poll_copy", address)

    def again(self) -> None:
        """Account for a large copy of the bytes that were copied last."""
        self._call("mlusim_poll_again", 0)

    def _call(self, name: str, address: int) -> None:
        getattr(self._library, name)(ctypes.addressof(self._c), address)
