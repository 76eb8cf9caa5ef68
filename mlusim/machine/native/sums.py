"""Off-chip sums of the tasks of a launch on several threads: recorded by each thread, and added in the order of tasks.

The thread with the first tasks adds at once; the others record the values and addresses (`machine.native.text.sums`).
A launch runs in waves of tasks, so that the records stay small.
"""

import ctypes
import itertools
import mmap
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.lazy import lazy
from mlusim.machine.native.text.sums import LATER, SUMMED
from mlusim.memory.allocation import Allocation

if TYPE_CHECKING:
    from concurrent import futures
else:  # for launches on threads
    (futures,) = lazy("concurrent.futures")

ROOM = 256 << 20  # bytes of a thread's records in a wave; the system provides pages as they are written
KEPT = 32 << 20  # bytes kept for the next launch, and the intended bytes of a thread in a wave
PAGE = 4096  # bytes of a page, which has a bit for each of its 64 lines
LINE = PAGE // 64
HEAD = 3  # words: the manner, the number of logs, the address of the bits of each memory; then three for each log

_rooms: list[mmap.mmap] = []


class Sums:
    """The sums of one of *many* threads, to the memories in *numbers*; *manner* is one of `machine.native.text.sums`."""

    def __init__(self, numbers: Mapping[Allocation, int], many: int, manner: int) -> None:
        self.manner = manner
        self.lines = {key: np.zeros(-(-a.nbytes // PAGE), np.uint64) for a, key in numbers.items()}
        pointers = np.zeros(max(self.lines, default=0) + 1, np.uint64)
        for key, lines in self.lines.items():
            pointers[key] = lines.ctypes.data
        self._pointers = pointers  # read by C
        self._words = np.zeros(HEAD + 3 * many, np.uint64)
        self._words[:HEAD] = manner, many, pointers.ctypes.data
        self._logs = self._words[HEAD:].reshape(many, 3)  # beginning, current end and limit of each
        self._room: mmap.mmap | None = None
        if manner == LATER:
            self._room = _rooms.pop() if _rooms else mmap.mmap(-1, ROOM)
            first, each = ctypes.addressof(ctypes.c_char.from_buffer(self._room)), ROOM // many // PAGE * PAGE
            for n, log in enumerate(self._logs):
                log[:] = first + n * each, first + n * each, first + (n + 1) * each
        self.at = int(self._words.ctypes.data)
        self._group = -1
        self._groups: list[tuple[int, Any]] = []  # with the ends of the logs at the beginning of each

    def begin(self, group: int) -> None:
        """Record that the tasks of *group* begin."""
        if group != self._group:
            self._group = group
            self._groups.append((group, self._logs[:, 1].copy()))

    def written(self) -> list[tuple[int, Any, Any]]:
        """Return for each group of the wave the beginning and the end of its records in each log."""
        marks = [*self._groups, (-1, self._logs[:, 1])]
        return [(group, start, end) for (group, start), (_, end) in itertools.pairwise(marks)]

    @property
    def nbytes(self) -> int:
        """Return the number of recorded bytes."""
        return int((self._logs[:, 1] - self._logs[:, 0]).sum())

    def begin_again(self) -> None:
        """Clear the records, which have been added."""
        self._logs[:, 1] = self._logs[:, 0]
        self._group, self._groups = -1, []

    def end(self) -> None:
        """Make the space available to later launches."""
        room, self._room = self._room, None
        if room is not None:
            if self.nbytes > KEPT and hasattr(mmap, "MADV_DONTNEED"):
                room.madvise(mmap.MADV_DONTNEED)
            _rooms.append(room)


def add_up(library: ctypes.CDLL, targets: Any, sums: Sequence[Sums], pool: "futures.Executor") -> None:
    """Add the records of the threads of a wave in the order of groups; each worker adds those for its pages of *targets*.

    A row of *targets* is the memory of a number: its address, its bytes, and the address of its kept pages.
    """
    written = sorted((part for of_thread in sums for part in of_thread.written()), key=lambda part: part[0])
    if any(of_thread.nbytes for of_thread in sums):
        # unlike a function of PyDLL it releases Python's lock
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(
            ctypes.cast(getattr(library, SUMMED), ctypes.c_void_p).value or 0
        )

        def work(log: int) -> None:
            places = np.array([(start[log], end[log]) for _, start, end in written], np.uint64)
            function(targets.ctypes.data, places.ctypes.data, len(places))

        others = [pool.submit(work, log) for log in range(1, len(sums))]
        try:
            work(0)
        finally:
            futures.wait(others)
    for of_thread in sums:
        of_thread.begin_again()


def apart_from(touched: "np.ndarray[Any, Any]", sums: Sequence[Sums]) -> bool:
    """Return whether no *touched* bytes, rows of low, high, memory, are in a line to which something was added."""
    for number in {number for of_thread in sums for number in of_thread.lines}:
        pages = np.bitwise_or.reduce([of_thread.lines[number] for of_thread in sums])
        inside = touched[touched[:, 2] == number]
        if not len(inside) or not pages.any():
            continue
        added = np.unpackbits(pages.view(np.uint8), bitorder="little")  # a page's word in the order of lines
        before = np.concatenate(([0], np.cumsum(added, dtype=np.int64)))
        first, end = inside[:, 0] // LINE, -(-inside[:, 1] // LINE)
        if np.any(before[end] != before[first]):
            return False
    return True
