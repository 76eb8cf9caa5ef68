"""Messages with arrays, between a judge and the processes that run candidates."""

import math
import socket
from collections.abc import Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.document import plain
from mlusim.errors import UsageError
from mlusim.toolkit import messages

Array = np.ndarray[Any, Any]
ROOM = 64 << 20  # bytes that a candidate may write in addition to its outputs
BROKEN = ValueError, TypeError, KeyError, RecursionError, OverflowError, UsageError


class BrokenMessage(UsageError):
    """The bytes are not a message, or only a part of one."""


@frozen(eq=False)
class ArrayMessage:
    """A message of *facts*, as JSON has them, and *arrays* by name, each with its type and shape."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(factory=dict)

    @property
    def message(self) -> messages.Message:
        """The message that is sent."""
        shapes = [[name, as_dtype(a.dtype).name, list(a.shape)] for name, a in self.arrays.items()]
        pieces = [np.ascontiguousarray(a).tobytes() for a in self.arrays.values()]
        return messages.Message({"facts": plain(self.facts), "arrays": shapes}, pieces)

    def packed(self) -> bytes:
        """Return the message as bytes."""
        return self.message.packed()


def unpacked(data: bytes) -> ArrayMessage:
    """Return the message in *data*.  Raises `BrokenMessage` for any other bytes."""
    try:
        return _with_arrays(messages.unpacked(data))
    except BROKEN:
        raise BrokenMessage("what was sent is not a whole message") from None


def _with_arrays(message: messages.Message) -> ArrayMessage:
    arrays: dict[str, Array] = {}
    for (name, dtype, shape), piece in zip(message.facts["arrays"], message.pieces, strict=True):
        kind, sizes = as_dtype(dtype).dtype, tuple(map(abs, map(int, shape)))
        if math.prod(sizes) * kind.itemsize != len(piece):
            raise ValueError(name)
        arrays[str(name)] = np.frombuffer(piece, kind).reshape(sizes)
    return ArrayMessage(dict(message.facts["facts"]), arrays)


def send(end: socket.socket, message: ArrayMessage) -> None:
    """Send *message* to *end*."""
    messages.send(end, message.message)


def received(end: socket.socket) -> ArrayMessage:
    """Return the next message from *end*.  Raises `EOFError` if the other side has closed it, and `BrokenMessage`."""
    try:
        return _with_arrays(messages.received(end))
    except BROKEN:
        raise BrokenMessage("what was sent is not a whole message") from None
