"""Which grids of tasks a board takes."""

from collections.abc import Iterable, Sequence

import numpy as np

from mlusim.arch.board import Board
from mlusim.counted import counted
from mlusim.errors import LaunchError
from mlusim.machine.kernel import KINDS, Kind


def grid_of(board: Board, dim: int | Sequence[int], kind: Kind) -> tuple[int, int, int]:
    """Return the three sizes of the grid *dim* of tasks of a *kind*.  Raises `LaunchError` for one that *board* does not take."""
    if not isinstance(kind, Kind) or kind not in KINDS:
        names = ", ".join(k.name for k in KINDS)
        raise LaunchError(f"kind = {kind!r} is no task type; use one of {names}")
    sizes = tuple(dim) if isinstance(dim, Iterable) else (dim, 1, 1)
    if len(sizes) != 3 or not all(isinstance(n, int | np.integer) for n in sizes):
        raise LaunchError(f"dim = {dim!r} is no grid; give three integers (x, y, z)")
    for axis, size, limit in zip("xyz", sizes, board.max_dim, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"dim.{axis} = {size} is out of range; {board.name} takes 1 to {limit}")
    if kind.unions:
        _check_union(board, int(sizes[0]), kind)
    return int(sizes[0]), int(sizes[1]), int(sizes[2])


def _check_union(board: Board, x: int, kind: Kind) -> None:
    if kind.unions > board.max_union:
        most = f"UNION{board.max_union}" if board.max_union else "BLOCK"
        raise LaunchError(
            f"{kind} needs {counted(kind.unions, 'cluster')} at once; {board.name} allows up to {most}"
        )
    width = kind.unions * board.arch.cores_per_cluster
    if x % width:
        raise LaunchError(
            f"dim.x = {x} is no multiple of {width}; a {kind} task on {board.name} takes {width} cores"
        )
