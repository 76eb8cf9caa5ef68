"""Documents with arrays as bytes, between a judge and the processes that run candidates: data alone, no pickle.

A document is a line of JSON, whose "arrays" say name, element type and shape of each array, followed by the bytes of the arrays.
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
SIZE = struct.Struct("<Q")  # before each document on a socket: its bytes
ROOM = 64 << 20  # bytes that a candidate may write besides its outputs
LONGEST = 1 << 26  # bytes of a document without its arrays


class BrokenDocument(UsageError):
    """Bytes that are no document, or only a part of one."""


@frozen(eq=False)
class Document:
    """*facts* out of what JSON has, and *arrays* by name."""

    facts: Mapping[str, Any]
    arrays: Mapping[str, Array] = field(factory=dict)

    def packed(self) -> bytes:
        """Return the message as bytes."""
        shapes = [[name, as_dtype(a.dtype).name, list(a.shape)] for name, a in self.arrays.items()]
        head = json.dumps({"facts": plain(self.facts), "arrays": shapes}, allow_nan=False).encode() + b"\n"
        return b"".join([head, *(np.ascontiguousarray(a).tobytes() for a in self.arrays.values())])


def unpacked(data: bytes) -> Document:
    """Return the document that *data* is.  Raises `BrokenDocument` for anything else, however it came about."""
    head, newline, rest = data.partition(b"\n")
    try:
        document = json.loads(head if newline and len(head) <= LONGEST else b"")
        facts, arrays, at = dict(document["facts"]), {}, 0
        for name, dtype, shape in document["arrays"]:
            kind, sizes = as_dtype(dtype).dtype, tuple(map(abs, map(int, shape)))
            count = math.prod(sizes)
            arrays[str(name)] = (
                np.frombuffer(rest, kind, count, at).reshape(sizes) if count else np.empty(sizes, kind)
            )
            at += count * kind.itemsize
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError, UsageError):
        at = -1
    if at != len(rest):
        raise BrokenDocument("what was sent is no whole document")
    return Document(facts, arrays)


def send(end: socket.socket, document: Document) -> None:
    """Send *document* to *end*, its bytes counted before it."""
    data = document.packed()
    end.sendall(SIZE.pack(len(data)) + data)


def received(end: socket.socket) -> Document:
    """Return the next document that *end* sends.  Raises `EOFError` where that has gone, and `BrokenDocument`."""
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
