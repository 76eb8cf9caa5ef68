"""The five memory spaces of an MLU and where their addresses begin."""

from attrs import frozen


@frozen(eq=False)
class Space:
    """A memory space: ``name`` as in BANG C, ``owner`` is what holds one: core, cluster or device.

    ``shared`` is true where another task may change the bytes at any time; ``number`` is its place in `SPACES`.
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

# The windows of NRAM, WRAM and SRAM are the architecture's; these are inferred: any value that
# cannot be mistaken for an on-chip address will do.
GDRAM_BASE = 0x10_0000_0000
LDRAM_BASE = 0x4000_0000
CODE_BASE = 0xF_0000_0000  # of functions whose address is taken; also inferred, nothing is loaded from there
LDRAM_SIZE = 16 << 20  # bytes a core; inferred, the driver's stack limit is larger
