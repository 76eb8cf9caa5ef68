"""Tile policies of three_interpolate_backward: the document's, and the one of the shipped kernel.

Both return (Co, No, Mo), multiples of 128 bytes' worth of elements.  Their results are the same up
to the order of summation, but their traffic differs much: every N tile is loaded once per M tile.
"""

from typing import Any

from attrs import frozen

from mlusim.bang import int32
from mlusim.operators.spec import Policy
from mlusim.plan import board_constants
from .plan import PLAN, T


@frozen
class Tiles:
    """One tile: channels, outputs and features, in elements."""

    Co: int
    No: int
    Mo: int

    def loads(self, width: int, *, B: int, C: int, N: int, M: int) -> int:
        """Return the bytes that the kernel loads from GDRAM with these tiles; an element has *width* bytes.

        Every tile of M reads all of grad_output, and indices (int32) and weights once for each tile of C.
        """
        return B * -(-M // self.Mo) * (C * N * width + -(-C // self.Co) * N * 3 * (int32.size + width))


def document_tiles(board: Any, dtype: Any, *, C: int, N: int, M: int, B: int = 1) -> Tiles:
    """Return the tiles by the document's rule: N first, then C or M in the document's order.

    Every tile is the largest multiple that fits, by the exact solver; B does not matter.
    """
    del B
    done = PLAN.complete(board, {"C": C, "N": N, "M": M}, dtype=dtype)
    return Tiles(done["Co"], done["No"], done["Mo"])


def _up(count: int, align: int) -> int:
    return -(-count // align) * align


def _down(count: int, align: int) -> int:
    return count // align * align


def _is_better(best: tuple[int, int], candidate: tuple[int, int]) -> bool:
    """Return whether (rounds, remainder) *candidate* is better than *best*: fewer rounds, or fuller ones."""
    (rounds, rest), (new_rounds, new_rest) = best, candidate
    fewer = rounds - new_rounds
    if fewer > 1:
        return True
    if fewer == 1:
        return rest != 0 or new_rest == 0
    if fewer == 0:
        return rest != 0 and (new_rest == 0 or new_rest > rest)
    return fewer == -1 and rest != 0 and new_rest == 0


def _rebalanced(Mo: int, align: int, repeats: int, M: int, cores: int) -> int:
    """Return the M tile, at most *Mo*, that distributes *repeats* times the tiles of M best over *cores*."""
    chosen, best = Mo, divmod(repeats * -(-M // Mo), cores)
    for candidate in range(Mo - align, 0, -align):
        rounds = divmod(repeats * -(-M // candidate), cores)
        if _is_better(best, rounds):
            chosen, best = candidate, rounds
    return chosen


def shipped_tiles(board: Any, dtype: Any, *, B: int, C: int, N: int, M: int) -> Tiles:
    """Return the tiles by the rule of the shipped kernel: M first, then C, then N.

    Its first estimate of the budget has a sign error in the 36 bytes per output; the loop that shrinks
    the budget until the plan fits compensates for it.
    """
    constants = board_constants(board)
    size = PLAN.scope.dtype(dtype)
    width = T.choices[0].size if size is None else size.size
    align = 128 // width
    nram = constants["NRAM"]
    cores = constants["CLUSTERS"] * constants["CORES"]
    Ca, Na, Ma = _up(C, align), _up(N, align), _up(M, align)
    budget = align * align * ((nram - (2 * align * align + 6 * align) * width + 36 * align) // (2 * align))
    while budget > 0:
        Mo = max(align, min(Ma, _down(budget // (align * align), align)))
        Mo = _rebalanced(Mo, align, B, M, cores)
        Co = max(align, min(Ca, _down(budget // (Mo * align), align)))
        No = max(align, min(Na, _down(budget // (Mo * Co), align)))
        if PLAN.fits(board, {"Co": Co, "No": No, "Mo": Mo}, dtype=dtype):
            return Tiles(Co, No, Mo)
        budget -= align**3
    return Tiles(align, align, align)


POLICIES = (
    Policy("document", "N first; then C where all of N x C fits or C > N, else M", document_tiles),
    Policy("shipped", "M first, then C, then N: the shipped kernel's", shipped_tiles),
)
