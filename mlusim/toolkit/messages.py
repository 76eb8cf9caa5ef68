"""Messages between processes of mlusim: facts as a line of JSON, pieces of bytes behind it; data alone, no pickle.

On a socket the bytes of a message are counted before it.  This file imports the standard library alone: a process that has nothing of
mlusim loads it by its path.
"""

import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

SIZE = struct.Struct("<Q")  # before each message on a socket: its bytes
LONGEST = 1 << 26  # bytes of a message without its pieces
_encoded = json.JSONEncoder(check_circular=False).encode


class Message(NamedTuple):
    """*facts* out of what JSON has, and *pieces* of bytes."""

    facts: Mapping[str, Any]
    pieces: Sequence[bytes | memoryview] = ()

    def packed(self) -> bytes:
        """Return the message as bytes, which are not counted."""
        sizes = [len(piece) for piece in self.pieces]
        head = _encoded({"facts": self.facts, "pieces": sizes}).encode() + b"\n"
        return b"".join([head, *self.pieces])


def unpacked(data: bytes | bytearray) -> Message:
    """Return the message that *data* is, its pieces as views of it.

    Raises `ValueError`, `TypeError`, `KeyError`, `RecursionError` or `OverflowError` for anything else, however it came about.
    """
    at = data.find(b"\n", 0, LONGEST) + 1
    told = json.loads(data[:at].decode())  # of bytes it would ask first in which encoding they are
    facts, pieces, view = dict(told["facts"]), [], memoryview(data)
    for size in map(abs, map(int, told["pieces"])):
        pieces.append(view[at : at + size])
        at += size
    if at != len(data):
        raise ValueError("what was sent is not a whole message")
    return Message(facts, pieces)


def send(end: socket.socket, message: Message) -> None:
    """Send *message* to *end*, its bytes counted before it."""
    data = message.packed()
    end.sendall(SIZE.pack(len(data)) + data)


def received(end: socket.socket) -> Message:
    """Return the next message that *end* sends.  Raises `EOFError` where that has gone, and as `unpacked`."""
    (size,) = SIZE.unpack(read_exactly(end.recv_into, SIZE.size))
    return unpacked(read_exactly(end.recv_into, size))


def read_exactly(receive_into: Callable[[memoryview], int], nbytes: int) -> bytearray:
    """*nbytes* bytes that *receive_into* puts where it is told; raises `EOFError` where it ends before."""
    data = bytearray(nbytes)
    view, at = memoryview(data), 0
    while at < nbytes:
        got = receive_into(view[at:])
        if not got:
            raise EOFError
        at += got
    return data
