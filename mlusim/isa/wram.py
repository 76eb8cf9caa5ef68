"""The place of filters in WRAM: 64 lanes, each with its filters in order; on MLU3xx four lanes lie side by side."""

from mlusim.isa.parameters import Tile

LANES = 64


def beside(generation: int) -> int:
    """Return how many lanes lie side by side in WRAM."""
    return 4 if generation == 3 else 1


def filters(weight: Tile, count: int, generation: int) -> Tile:
    """Return the *count* filters of a weight in WRAM, one a row."""
    near = beside(generation)
    return weight.reshape(LANES // near, count // LANES, near, -1).swapaxes(0, 1).reshape(count, -1)


def laid_out(rows: Tile, count: int, generation: int) -> Tile:
    """*count* filters, given one behind the other, as WRAM has them."""
    near = beside(generation)
    return rows.reshape(count // LANES, LANES // near, near, -1).swapaxes(0, 1)
