"""Requests and answers as they come over the socket; their numbers are those of ``lib/protocol.h`` and ``cnrt.h``."""

import re
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from mlusim.frontend.bangc import prelude

_ROOM = Path(__file__).parents[1]
_PROTOCOL = (_ROOM / "lib" / "protocol.h").read_text(encoding="utf-8")
_CNRT = (prelude.DRIVER / "cnrt.h").read_text(encoding="utf-8")

OPS: Mapping[str, int] = MappingProxyType(
    {name: int(number) for name, number in re.findall(r"\bOP_(\w+) = (\d+)", _PROTOCOL)}
)
CODES: Mapping[str, int] = MappingProxyType(
    {name: int(number) for name, number in re.findall(r"X\((cnrt\w+), (\d+), ", _CNRT)}
)
PACKET = int(re.findall(r"PACKET = (\d+)", _PROTOCOL)[0])  # bytes of the longest packet
_REQUEST = struct.Struct("<IiQ5QQ")  # op, device, caller, five words, bytes that follow
_ANSWER = struct.Struct("<iIIIQ")  # code, bytes of three texts, value


class ProgramRequest(NamedTuple):
    """One call of the program: its number, the device, the address it was called from, five words and bytes."""

    op: int
    device: int
    caller: int
    words: tuple[int, ...]
    payload: bytes


class ProgramReply(NamedTuple):
    """The reply to a program: the value, bytes, the code, and texts for the program's standard output and error."""

    value: int = 0
    payload: bytes = b""
    code: int = 0
    said: str = ""
    printed: str = ""


class ProgramSocket:
    """The server's end of one program's socket."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._buffer = bytearray(PACKET)

    def receive(self) -> ProgramRequest | None:
        """Return the next request; None where the program is gone."""
        try:
            got = self.socket.recv_into(self._buffer)
        except ConnectionError:
            return None
        if got < _REQUEST.size:  # 0 bytes: the program has closed its end
            return None
        op, device, caller, *words, length = _REQUEST.unpack_from(self._buffer)
        payload = bytes(self._buffer[_REQUEST.size : got]) if length else b""
        while len(payload) < length:
            more = self.socket.recv(PACKET)
            if not more:
                return None
            payload += more
        return ProgramRequest(op, device, caller, tuple(words), payload)

    def answer(self, reply: ProgramReply) -> None:
        """Send *reply*; a program that is gone is told nothing."""
        said = reply.said.encode("utf-8", "backslashreplace")
        printed = reply.printed.encode("utf-8", "backslashreplace")
        head = _ANSWER.pack(
            reply.code, len(said), len(printed), len(reply.payload), reply.value & (1 << 64) - 1
        )
        text = head + said + printed + reply.payload
        try:
            for start in range(0, len(text), PACKET):
                self.socket.sendall(text[start : start + PACKET])
        except (BrokenPipeError, ConnectionError):
            return
