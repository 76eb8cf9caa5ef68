"""The five memory spaces of an MLU, where their addresses begin, and the directions of copies between them."""

import functools
from typing import Any

from attrs import frozen


@frozen(eq=False)
class Space:
    """A memory space: ``name`` as in BANG C, ``owner`` is the unit that holds it: core, cluster or device.

    ``shared`` is true where another task may change the bytes at any time; ``number`` is its index in
    `SPACES`.
    """

    name: str
    owner: str
    shared: bool
    number: int

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name


GDRAM = Space("GDRAM", "device", True, 0)
LDRAM = Space("LDRAM", "core", False, 1)
NRAM = Space("NRAM", "core", False, 2)
WRAM = Space("WRAM", "core", False, 3)
SRAM = Space("SRAM", "cluster", True, 4)

SPACES: tuple[Space, ...] = (GDRAM, LDRAM, NRAM, WRAM, SRAM)

# The windows of NRAM, WRAM and SRAM depend on the architecture. The addresses here are inferred: any value
# that cannot be mistaken for an on-chip address works.
GDRAM_BASE = 0x10_0000_0000
LDRAM_BASE = 0x4000_0000
CODE_BASE = 0xF_0000_0000  # of functions whose address is taken; inferred, nothing is loaded from there
CODE_BYTES = 16  # distance between two such functions
LDRAM_SIZE = 16 << 20  # bytes per core; inferred, the driver's stack limit is larger


def code_address(number: int) -> int:
    """Return the address of function *number* among the functions of a kernel whose address is taken."""
    return CODE_BASE + CODE_BYTES * number


# -- the copy directions of BANG C, in the vendor's order and with the vendor's numbers ----------------


@frozen(eq=False)
class Direction:
    """A copy direction: ``SOURCE2DESTINATION``; ``value`` is its number in the vendor's enum."""

    name: str
    value: int
    src: Space
    dst: Space

    def __repr__(self) -> str:
        return self.name

    def __str__(self) -> str:
        return self.name

    @property
    def off_chip(self) -> bool:
        """True if the IO-DMA performs the copy: one side is GDRAM or LDRAM."""
        return self.src in (GDRAM, LDRAM) or self.dst in (GDRAM, LDRAM)


GDRAM2NRAM = Direction("GDRAM2NRAM", 0, GDRAM, NRAM)
NRAM2GDRAM = Direction("NRAM2GDRAM", 1, NRAM, GDRAM)
LDRAM2NRAM = Direction("LDRAM2NRAM", 2, LDRAM, NRAM)
NRAM2LDRAM = Direction("NRAM2LDRAM", 3, NRAM, LDRAM)
GDRAM2WRAM = Direction("GDRAM2WRAM", 4, GDRAM, WRAM)
WRAM2GDRAM = Direction("WRAM2GDRAM", 5, WRAM, GDRAM)
LDRAM2WRAM = Direction("LDRAM2WRAM", 6, LDRAM, WRAM)
WRAM2LDRAM = Direction("WRAM2LDRAM", 7, WRAM, LDRAM)
NRAM2NRAM = Direction("NRAM2NRAM", 8, NRAM, NRAM)
NRAM2WRAM = Direction("NRAM2WRAM", 9, NRAM, WRAM)
WRAM2NRAM = Direction("WRAM2NRAM", 10, WRAM, NRAM)
GDRAM2SRAM = Direction("GDRAM2SRAM", 11, GDRAM, SRAM)
SRAM2GDRAM = Direction("SRAM2GDRAM", 12, SRAM, GDRAM)
LDRAM2SRAM = Direction("LDRAM2SRAM", 13, LDRAM, SRAM)
SRAM2LDRAM = Direction("SRAM2LDRAM", 14, SRAM, LDRAM)
SRAM2NRAM = Direction("SRAM2NRAM", 15, SRAM, NRAM)
NRAM2SRAM = Direction("NRAM2SRAM", 16, NRAM, SRAM)
SRAM2WRAM = Direction("SRAM2WRAM", 17, SRAM, WRAM)
WRAM2SRAM = Direction("WRAM2SRAM", 18, WRAM, SRAM)
GDRAM2GDRAM = Direction("GDRAM2GDRAM", 19, GDRAM, GDRAM)
GDRAM2LDRAM = Direction("GDRAM2LDRAM", 20, GDRAM, LDRAM)
LDRAM2GDRAM = Direction("LDRAM2GDRAM", 21, LDRAM, GDRAM)
LDRAM2LDRAM = Direction("LDRAM2LDRAM", 22, LDRAM, LDRAM)
SRAM2SRAM = Direction("SRAM2SRAM", 23, SRAM, SRAM)

DIRECTIONS: tuple[Direction, ...] = (
    GDRAM2NRAM, NRAM2GDRAM, LDRAM2NRAM, NRAM2LDRAM, GDRAM2WRAM, WRAM2GDRAM, LDRAM2WRAM, WRAM2LDRAM, NRAM2NRAM,
    NRAM2WRAM, WRAM2NRAM, GDRAM2SRAM, SRAM2GDRAM, LDRAM2SRAM, SRAM2LDRAM, SRAM2NRAM, NRAM2SRAM, SRAM2WRAM,
    WRAM2SRAM, GDRAM2GDRAM, GDRAM2LDRAM, LDRAM2GDRAM, LDRAM2LDRAM, SRAM2SRAM,
)  # fmt: skip

# The directions that each form of the copy accepts, from the vendor's declaration header.
ONE_D = frozenset(DIRECTIONS) - {LDRAM2LDRAM}
# SRAM2SRAM is inferred: the vendor's header lists the cluster-to-cluster form separately.
ONE_D_ASYNC = frozenset({
    GDRAM2NRAM, NRAM2GDRAM, GDRAM2WRAM, NRAM2WRAM, WRAM2NRAM, NRAM2NRAM, SRAM2NRAM, NRAM2SRAM, SRAM2WRAM,
    WRAM2SRAM, GDRAM2SRAM, SRAM2GDRAM, GDRAM2LDRAM, GDRAM2GDRAM, SRAM2SRAM,
})  # fmt: skip
TWO_D = frozenset(DIRECTIONS) - {LDRAM2WRAM, WRAM2GDRAM, WRAM2LDRAM, WRAM2SRAM, WRAM2NRAM}
TWO_D_ASYNC = ONE_D_ASYNC - {WRAM2NRAM, WRAM2SRAM}
THREE_D = frozenset(DIRECTIONS)  # from __BANG_ARCH__ 322 on


def direction_of(number: Any) -> Any:
    """Return the direction with this number in ``mluMemcpyDirection_t``; another value is returned as it is, for the row's check to refuse."""
    return DIRECTIONS[number] if number in range(len(DIRECTIONS)) else number


@functools.cache
def grain(direction: Direction, generation: int, *, strided: bool) -> tuple[int, int, int]:
    """Return the required alignments, in bytes, of the destination address, the source address and the size.

    Source: the vendor's declaration header; for 5xx it is inferred to be as for 3xx.
    """
    # On MLU2xx a copy inside NRAM belongs to the compute stream (decision 0016), and is aligned like vectors.
    if direction is NRAM2NRAM and generation == 2 and not strided:
        return 64, 64, 128
    if WRAM not in (direction.src, direction.dst):
        return 1, 1, 1
    size = 1 if strided else 64 if generation == 2 else 16
    return (8, 1, size) if direction.dst is WRAM else (1, 8, size)
