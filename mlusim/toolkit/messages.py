"""Messages between processes of mlusim: facts as a line of JSON, followed by pieces of bytes; without pickles.

On a socket a message is preceded by its length.  This file imports only the standard library: a process without
mlusim on its path loads it by its path.
"""

import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

SIZE = struct.Struct("<Q")  # before each message on a socket: its length in bytes
LONGEST = 1 << 26  # bytes of a message without its pieces
_encoded = json.JSONEncoder(check_circular=False).encode


class Message(NamedTuple):
    """*facts*, as JSON has them, and *pieces* of bytes."""

    facts: Mapping[str, Any]
    pieces: Sequence[bytes | memoryview] = ()

    def packed(self) -> bytes:
        """Return the message as bytes, without the length."""
        sizes = [len(piece) for piece in self.pieces]
        head = _encoded({"facts": self.facts, "pieces": sizes}).encode() + b"\n"
        return b"".join([head, *self.pieces])


def unpacked(data: bytes | bytearray) -> Message:
    """Parse a message; its pieces are views of *data*.

    Raises `ValueError`, `TypeError`, `KeyError`, `RecursionError` or `OverflowError` for any other bytes.
    """
    at = data.find(b"\n", 0, LONGEST) + 1
    told = json.loads(data[:at].decode())  # json.loads would first detect the encoding of bytes
    facts, pieces, view = dict(told["facts"]), [], memoryview(data)
    for size in map(abs, map(int, told["pieces"])):
        pieces.append(view[at : at + size])
        at += size
    if at != len(data):
        raise ValueError("what was sent is not a whole message")
    return Message(facts, pieces)


def send(end: socket.socket, message: Message) -> None:
    """Send *message* to *end*, preceded by its length."""
    data = message.packed()
    end.sendall(SIZE.pack(len(data)) + data)


def received(end: socket.socket) -> Message:
    """Return the next message from *end*.  Raises `EOFError` if the other side has closed it, and the exceptions of `unpacked`."""
    (size,) = SIZE.unpack(read_exactly(end.recv_into, SIZE.size))
    return unpacked(read_exactly(end.recv_into, size))


def read_exactly(receive_into: Callable[[memoryview], int], nbytes: int) -> bytearray:
    """Read *nbytes* bytes with *receive_into*, which fills a view; raises `EOFError` if the stream ends earlier."""
    data = bytearray(nbytes)
    view, at = memoryview(data), 0
    while at < nbytes:
        got = receive_into(view[at:])
        if not got:
            raise EOFError
        at += got
    return data
