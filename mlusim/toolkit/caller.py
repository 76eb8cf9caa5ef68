"""``caller.py LIBRARY SOCKET``: calls functions of a library for another process, which survives a crash here.

It imports nothing of mlusim except the format of messages, and ends when the socket is closed.  A request has the
function's name, the piece of memory for each argument, and pointers between pieces; the reply is the return value and
the contents of the pieces.  Before the first reply, it sends the load address of the library.
"""

import ctypes
import mmap
import os
import runpy
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

RESULT = 4096  # bytes of the largest return value


# By path, so that no folder is searched for modules.
messages = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("messages.py"))))


class Guarded:
    """Memory that ends at the end of a page; the page after it is inaccessible."""

    def __init__(self, content: memoryview) -> None:
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
        """Return the current contents."""
        return bytes(self._map[self._at : self._at + self._size])


LIBC = ctypes.CDLL(None)


class Known(ctypes.Structure):
    """The facts of dladdr(3) about an address."""

    _fields_ = (
        ("file", ctypes.c_char_p), ("first", ctypes.c_void_p), ("symbol", ctypes.c_char_p), ("address", ctypes.c_void_p),
    )  # fmt: skip


def first_of(address: int | None) -> int:
    """Return the load address of the library that contains *address*; 0 if unknown."""
    library = Known()
    LIBC.dladdr(ctypes.c_void_p(address), ctypes.byref(library))
    return library.first or 0


def main(argv: list[str]) -> None:
    """Answer requests until the other end is closed."""
    end = socket.socket(fileno=int(argv[2]))
    LIBC.dlopen.restype = ctypes.c_void_p
    # An undefined function is an error only when it is called.
    handle = LIBC.dlopen(argv[1].encode(), os.RTLD_LAZY)
    if not handle:
        LIBC.dlerror.restype = ctypes.c_char_p
        sys.exit(f"error: {LIBC.dlerror().decode()}")
    library: Any = ctypes.CDLL(argv[1], handle=handle)
    count = ctypes.c_uint()
    library.cnrtGetDeviceCount(ctypes.byref(count))  # connects to the simulator
    refusal = (ctypes.c_char * 1024).in_dll(library, "mlusim_refusal")
    messages.send(end, messages.Message({"first": first_of(ctypes.addressof(refusal))}))
    while True:
        try:
            asked, contents = messages.received(end)
        except (EOFError, ConnectionError):
            os._exit(0)
        pieces = [Guarded(content) for content in contents]
        for where, offset, to in asked["links"]:  # a pointer in one piece to another piece
            ctypes.c_uint64.from_address(pieces[where].address + offset).value = pieces[to].address
        addresses = [pieces[n].address for n in asked["arguments"]]
        result = ctypes.create_string_buffer(RESULT)
        refusal.value = b""
        getattr(library, asked["name"])((ctypes.c_void_p * max(1, len(addresses)))(*addresses), result)
        LIBC.fflush(None)
        told = {"refusal": refusal.value.decode("utf-8", "replace")}
        messages.send(end, messages.Message(told, [result.raw, *(piece.content() for piece in pieces)]))


if __name__ == "__main__":
    main(sys.argv)
