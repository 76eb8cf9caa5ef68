"""``caller.py LIBRARY SOCKET``: calls the functions of a library for another process, which a crash here leaves alone.

It imports nothing of mlusim, and ends when the socket is closed.  A request is the length of the rest, the function's name, and
its arguments, each in memory of its own; the answer is what the function returned and the same memory.  Before the first, it sends
the address from which the library lies.
"""

import ctypes
import mmap
import os
import socket
import struct
import sys
from typing import Any

RESULT = 4096  # bytes of the largest value that is returned
HEAD = struct.Struct("<III")  # bytes of the name, how many pieces of memory, how many arguments
PIECE = struct.Struct("<Q")  # bytes of a piece


def received(end: socket.socket, count: int) -> bytearray:
    """*count* bytes; ends the process where the other end is gone."""
    found = bytearray(count)
    view, at = memoryview(found), 0
    while at < count:
        got = end.recv_into(view[at:])
        if not got:
            os._exit(0)
        at += got
    return found


class Guarded:
    """Memory whose last byte is the last of its page: the next one may not be touched."""

    def __init__(self, content: bytes) -> None:
        size = len(content)
        pages = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        self._map = mmap.mmap(-1, pages + mmap.PAGESIZE)
        self._anchor = ctypes.c_char.from_buffer(self._map)
        first = ctypes.addressof(self._anchor)
        LIBC.mprotect(ctypes.c_void_p(first + pages), mmap.PAGESIZE, 0)
        self._at = (pages - size) // 16 * 16
        self._size = size
        self._map[self._at : self._at + size] = content
        self.address = first + self._at

    def content(self) -> bytes:
        """Return its present content."""
        return bytes(self._map[self._at : self._at + self._size])


LIBC = ctypes.CDLL(None)


class Known(ctypes.Structure):
    """Facts of an address, as dladdr(3) gives them."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("first", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p),
    )  # fmt: skip


def first_of(address: int) -> int:
    """Return the address from which the library lies that has *address*; 0 where that is not known."""
    known = Known()
    LIBC.dladdr(ctypes.c_void_p(address), ctypes.byref(known))
    return known.first or 0


def main(argv: list[str]) -> None:
    """Answer until the other end is gone."""
    end = socket.socket(fileno=int(argv[2]))
    LIBC.dlopen.restype = ctypes.c_void_p
    # A function that no file defines is missed when it is called.
    handle = LIBC.dlopen(argv[1].encode(), os.RTLD_LAZY)
    if not handle:
        LIBC.dlerror.restype = ctypes.c_char_p
        sys.exit(f"error: {LIBC.dlerror().decode()}")
    library: Any = ctypes.CDLL(argv[1], handle=handle)
    count = ctypes.c_uint()
    library.cnrtGetDeviceCount(ctypes.byref(count))  # connects to the simulator
    refusal = (ctypes.c_char * 1024).in_dll(library, "mlusim_refusal")
    end.sendall(struct.pack("<QQ", 8, first_of(ctypes.addressof(refusal))))
    while True:
        (size,) = struct.unpack("<Q", received(end, 8))
        request = bytes(received(end, size))
        length, count, words = HEAD.unpack_from(request)
        at = HEAD.size + length
        name = request[HEAD.size : at].decode()
        sizes = [PIECE.unpack_from(request, at + n * PIECE.size)[0] for n in range(count)]
        at += count * PIECE.size
        arguments = [PIECE.unpack_from(request, at + n * PIECE.size)[0] for n in range(words)]
        at += words * PIECE.size
        (links,) = struct.unpack_from("<I", request, at)
        linked = [struct.unpack_from("<III", request, at + 4 + n * 12) for n in range(links)]
        at += 4 + links * 12
        pieces = []
        for piece in sizes:
            pieces.append(Guarded(request[at : at + piece]))
            at += piece
        for where, offset, to in linked:  # a pointer in a piece to another piece
            ctypes.c_uint64.from_address(pieces[where].address + offset).value = pieces[to].address
        given = (ctypes.c_void_p * max(1, words))(*(pieces[n].address for n in arguments))
        result = ctypes.create_string_buffer(RESULT)
        refusal.value = b""
        getattr(library, name)(given, result)
        LIBC.fflush(None)
        said = refusal.value
        contents = b"".join(piece.content() for piece in pieces)
        answer = struct.pack("<I", len(said)) + said + result.raw + contents
        end.sendall(struct.pack("<Q", len(answer)) + answer)


if __name__ == "__main__":
    main(sys.argv)
