"""Freed memory that a process keeps for its next arrays, instead of giving it back to the system at once."""

import ctypes
import platform

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of glibc's malloc.h
MOST = (1 << 31) - 1  # bytes that lie free at the end of the heap; more go back


def keep_freed_memory() -> None:
    """Have ``malloc`` take arrays of any size from the heap, which keeps up to 2 GiB; nothing happens without glibc.

    For processes that work off many calls: each has arrays of megabytes, and the system clears a page, and in a
    virtual machine maps it too, whenever it is touched for the first time.
    """
    if platform.libc_ver()[0] == "glibc":
        libc = ctypes.CDLL(None)
        libc.mallopt(M_MMAP_MAX, 0)
        libc.mallopt(M_TRIM_THRESHOLD, MOST)
