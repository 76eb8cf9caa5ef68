"""Rows that Python executes in a run in C that looks for what checkers may report: what they touch goes to the same record."""

from collections.abc import Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define

from mlusim.arch.pipe import Pipe
from mlusim.engine.native.door import NUMBERS
from mlusim.engine.native.screen import (
    CHANGES,
    HEAD,
    LISTS,
    MOST_SPANS,
    READS,
    SPAN_LISTS,
    SPAN_WORDS,
    WRITES,
    Screened,
    Suspicion,
)
from mlusim.isa.declare import Intrinsic
from mlusim.machine.announcer import accesses_of
from mlusim.memory.footprint import Access
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import GDRAM

if TYPE_CHECKING:
    from mlusim.machine.native.core import NativeCore
    from mlusim.machine.native.screen import Screen

Accesses = tuple[Access, ...]
EXACT = ("gather", "discrete", "copy")  # forms whose accesses are the bytes that they touch
BLOCKING = {Pipe.IO: "MOVE", Pipe.MOVE: "IO"}  # the pipe that a row on this one does not wait for


@define
class _Announced:
    result: Any = None
    landed: bool = False


class RowWatch:
    """Hears of the rows that Python executes on *core*, before they act, and keeps in *screen* what `screen.h` would keep.

    Raises `Suspicion` where a checker may have something to report.
    """

    def __init__(self, screen: "Screen", core: "NativeCore") -> None:
        self._screen = screen
        self._core = core
        self.heard = False

    def row(
        self, row: Intrinsic, frame: FrameType, operands: tuple[Any, ...], arguments: tuple[Any, ...]
    ) -> _Announced:
        """A dense row, of which *operands* are (view, first element, one after the last) of each in turn."""
        del frame
        generation = self._core.session.board.arch.generation
        return self.copy(row, row.pipe, *accesses_of(row, operands, generation), arguments)

    def copy(
        self, row: Intrinsic, pipe: Pipe, reads: Accesses, writes: Accesses, arguments: tuple[Any, ...]
    ) -> _Announced:
        """Judge a blocking effect by what is in flight, where races are looked for."""
        self.heard = True
        if self._screen.looks & Screened.RACE:
            ahead = [BLOCKING[pipe], "STORES"] if pipe in BLOCKING else ["IO", "MOVE"]
            self._in_order(ahead, reads, writes)
            if pipe in BLOCKING:
                assert self._core.seat is not None
                self._core.seat.over((pipe.name, "COMPUTE", "SCALAR"))
            elif self._core.flies:
                self._keep("COMPUTE", reads, writes)
        self._told(row, reads, writes, arguments)
        return _Announced()

    def flight(
        self, row: Intrinsic, pipe: Pipe, reads: Accesses, writes: Accesses, arguments: tuple[Any, ...]
    ) -> _Announced:
        """An asynchronous effect is issued."""
        self.heard = True
        if row.form in ("gather", "discrete") or not self._core.flies:  # its offsets are read at once
            raise Suspicion
        if self._screen.looks & Screened.RACE:
            self._in_order([name for name in LISTS if name != pipe.name], reads, writes)
            self._keep(pipe.name, reads, writes)
        self._told(row, reads, writes, arguments)
        return _Announced()

    def lands(self, effect: _Announced) -> None:
        """Nothing is learned when it lands."""

    def retire(self, effect: _Announced) -> None:
        """Note that it is over."""
        effect.landed = True

    # -- on the core -----------------------------------------------------------------------------

    def _spans(self) -> "tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]":
        assert self._core.seat is not None
        words = self._core.seat.span_words()
        return words[:SPAN_LISTS], words[SPAN_LISTS:SPAN_WORDS].reshape(SPAN_LISTS, MOST_SPANS, 4)

    def _in_order(self, names: Sequence[str], reads: Accesses, writes: Accesses) -> None:
        """Ask whether what is not over in the lists *names* meets one of the accesses, one of the two a write."""
        many, spans = self._spans()
        for name in names:
            number = LISTS.index(name)
            held = spans[number, : many[number]]
            for accesses, stores in ((reads, 0), (writes, 1)):
                for access in accesses if len(held) else ():
                    low, high = access.span
                    met = (held[:, 0] == self._core.number_of(access.allocation)) & (held[:, 1] < high)
                    if (met & (held[:, 2] > low) & (held[:, 3] | stores).astype(bool)).any():
                        raise Suspicion

    def _keep(self, name: str, reads: Accesses, writes: Accesses) -> None:
        """Note that the accesses are not over."""
        many, spans = self._spans()
        number = LISTS.index(name)
        for accesses, stores in ((reads, 0), (writes, 1)):
            for access in accesses:
                if many[number] == MOST_SPANS:
                    raise Suspicion
                spans[number, many[number]] = self._core.number_of(access.allocation), *access.span, stores
                many[number] += 1

    # -- values, and what is shared ----------------------------------------------------------------

    def _told(self, row: Intrinsic, reads: Accesses, writes: Accesses, arguments: tuple[Any, ...]) -> None:
        screen = self._screen
        if screen.looks & Screened.PARTS:
            pointers = [(n, a) for n, a in enumerate(arguments) if isinstance(a, Ptr)]
            for kind, accesses in ((READS, reads), (WRITES, writes)):
                for access in accesses:
                    through = (
                        n
                        for n, p in pointers
                        if p.view.allocation is access.allocation and p.offset == access.start
                    )
                    given, memory = next(through, len(arguments)), self._core.number_of(access.allocation)
                    screen.parts.touches(self._core, (NUMBERS[row.name], given, memory, kind), access)
        lacks = any(_at(screen.flags_of(self._core, a.allocation), a).any() for a in reads)
        if lacks and (row.returns != "None" or row.form != "dense"):
            raise Suspicion
        exact = row.form in EXACT or not any(o.partial for o in row.operands.values() if o.access != "read")
        for access in writes:
            self._put(access, lacks=lacks, exact=exact)
        if screen.looks & Screened.RACE:
            self._share(row, reads, writes)

    def _put(self, access: Access, *, lacks: bool, exact: bool) -> None:
        """The bytes of *access*, or with *exact* all of them, are made of some that have a value, or *lacks* it."""
        flags = self._screen.flags_of(self._core, access.allocation)
        if flags is None:
            if lacks:
                raise Suspicion
            return
        if access.allocation.space is GDRAM and (lacks or not exact):
            raise Suspicion
        if exact or lacks:  # otherwise what had no value may still have none
            flags[HEAD - 1] = 1
            for low in access.starts.tolist():
                flags[HEAD + low : HEAD + low + access.size] = int(lacks)

    def _share(self, row: Intrinsic, reads: Accesses, writes: Accesses) -> None:
        changed = {a.allocation for a in writes} if row.atomic else ()
        kinds = [(READS, a) for a in reads if a.allocation not in changed and a.allocation.writable]
        kinds += [(CHANGES if row.atomic else WRITES, a) for a in writes]
        for kind, access in kinds:
            if access.allocation.space.shared:
                self._screen.share(self._core, kind, access)


def _at(flags: "np.ndarray[Any, Any] | None", access: Access) -> "np.ndarray[Any, Any]":
    """Return the flags of the bytes of *access*; without *flags* all have a value."""
    if flags is None:
        return np.zeros(0, np.uint8)
    return np.concatenate([flags[HEAD + low : HEAD + low + access.size] for low in access.starts.tolist()])
