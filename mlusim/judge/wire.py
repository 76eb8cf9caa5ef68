"""Messages with arrays as bytes, between a judge and the processes that run candidates: data alone, no pickle.

A message is a line of JSON, whose "arrays" say name, element type and shape of each array, followed by the bytes of the arrays.
"""

import json
import math
import socket
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.errors import UsageError
from mlusim.report.json_values import plain

Array = np.ndarray[Any, Any]
SIZE = struct.Struct("<Q")  # before each message on a socket: its bytes
ROOM = 64 << 20  # bytes that a candidate may write besides its outputs
LONGEST = 1 << 26  # bytes of a message without its arrays


class BrokenMessage(UsageError):
    """Bytes that are no message, or only a part of one."""


@frozen(eq=False)
class ArrayMessage:
    """*facts* out of what JSON has, and *arrays* by name."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(factory=dict)

    def packed(self) -> bytes:
        """Return the message as bytes."""
        shapes = [[name, as_dtype(a.dtype).name, list(a.shape)] for name, a in self.arrays.items()]
        head = json.dumps({"facts": plain(self.facts), "arrays": shapes}, allow_nan=False).encode() + b"\n"
        return b"".join([head, *(np.ascontiguousarray(a).tobytes() for a in self.arrays.values())])


def unpacked(data: bytes) -> ArrayMessage:
    """Return the message that *data* is.  Raises `BrokenMessage` for anything else, however it came about."""
    head, newline, rest = data.partition(b"\n")
    try:
        told = json.loads(head if newline and len(head) <= LONGEST else b"")
        facts, arrays, at = dict(told["facts"]), {}, 0
        for name, dtype, shape in told["arrays"]:
            kind, sizes = as_dtype(dtype).dtype, tuple(map(abs, map(int, shape)))
            count = math.prod(sizes)
            arrays[str(name)] = (
                np.frombuffer(rest, kind, count, at).reshape(sizes) if count else np.empty(sizes, kind)
            )
            at += count * kind.itemsize
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError, UsageError):
        at = -1
    if at != len(rest):
        raise BrokenMessage("what was sent is no whole message")
    return ArrayMessage(facts, arrays)


def send(end: socket.socket, message: ArrayMessage) -> None:
    """Send *message* to *end*, its bytes counted before it."""
    data = message.packed()
    end.sendall(SIZE.pack(len(data)) + data)


def received(end: socket.socket) -> ArrayMessage:
    """Return the next message that *end* sends.  Raises `EOFError` where that has gone, and `BrokenMessage`."""
    (size,) = SIZE.unpack(read_exactly(end.recv, SIZE.size))
    return unpacked(read_exactly(end.recv, size))


def read_exactly(receive: Callable[[int], bytes], nbytes: int) -> bytes:
    """*nbytes* bytes from *receive*; raises `EOFError` where it ends before."""
    got = bytearray()
    while len(got) < nbytes:
        some = receive(min(nbytes - len(got), 1 << 20))
        if not some:
            raise EOFError
        got += some
    return bytes(got)
