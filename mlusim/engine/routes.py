"""Which directions a core may copy, which pipe carries each, and how the stride arguments read."""

import functools
from collections.abc import Mapping

from attrs import frozen

from mlusim.arch.board import Arch, Pipe
from mlusim.memory.space import (
    DIRECTIONS,
    NRAM,
    NRAM2NRAM,
    ONE_D,
    ONE_D_ASYNC,
    SRAM,
    THREE_D,
    TWO_D,
    TWO_D_ASYNC,
    WRAM,
    Direction,
)

Lanes = Mapping[Direction, Pipe]


@frozen(eq=False)
class Routes:
    """Which directions a core may copy, by form, and which pipe carries each."""

    one: Lanes
    one_async: Lanes
    two: Lanes
    two_async: Lanes
    three: Lanes
    rows: Lanes  # of `two`, those that need no alignment

    def form(self, numbers: int, asynchronous: bool) -> Lanes:
        """Return the directions of the copy with so many *numbers* behind its direction; a KeyError for no form."""
        if numbers == 0:
            return self.one_async if asynchronous else self.one
        if numbers == 3:
            return self.two_async if asynchronous else self.two
        if numbers == 8:
            return self.three
        raise KeyError(numbers)


@functools.cache
def routes(arch: Arch, *, memory_core: bool, block: bool) -> Routes:
    """Return the legal directions of a core of *arch*; a memory core reaches GDRAM, LDRAM and SRAM only."""

    def lanes(allowed: frozenset[Direction]) -> Lanes:
        kept = {}
        for token in DIRECTIONS:
            ends = {token.src, token.dst}
            no_sram = SRAM in ends and (arch.sram == 0 or block)
            if token in allowed and not no_sram and not (memory_core and ends & {NRAM, WRAM}):
                kept[token] = _pipe(token, arch)
        return kept

    three = THREE_D if arch.bang_arch >= 322 else frozenset()
    two = lanes(TWO_D)
    rows = {token: pipe for token, pipe in two.items() if WRAM not in (token.src, token.dst)}
    return Routes(lanes(ONE_D), lanes(ONE_D_ASYNC), two, lanes(TWO_D_ASYNC), lanes(three), rows)


def _pipe(token: Direction, arch: Arch) -> Pipe:
    """Return the IO-DMA off the chip, the move-DMA on it; on 2xx NRAM2NRAM is work of the compute stream."""
    if token.off_chip:
        return Pipe.IO
    return Pipe.VECTOR if token is NRAM2NRAM and arch.generation == 2 else Pipe.MOVE


def steps_of(shape: tuple[int, ...]) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    """Return the (stride, count) pairs of both sides, outermost first, from the stride arguments of a copy.

    The stride of a single segment does not matter and is 0 here.
    """
    if len(shape) == 3:
        dst_stride, src_stride, more = shape
        return ((dst_stride if more else 0, more + 1),), ((src_stride if more else 0, more + 1),)
    # The call has the inner stride and count of each side before the outer one.
    pairs = [(shape[i] if shape[i + 1] else 0, shape[i + 1] + 1) for i in (2, 0, 6, 4)]
    return tuple(pairs[:2]), tuple(pairs[2:])
