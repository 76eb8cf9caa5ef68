"""The constants of a board, by the names that formulas use."""

from collections.abc import Mapping

from mlusim.arch.board import Board
from mlusim.arch.catalog import BOARDS, find_board


def board_constants(board: Board | str) -> Mapping[str, int]:
    """``NRAM``, ``SRAM``, ``WRAM`` in usable bytes, ``CLUSTERS``, and ``CORES`` of one cluster.

    Raises `UsageError` for a name that is no board.
    """
    found = find_board(board)
    return {
        "NRAM": found.arch.max_nram,
        "SRAM": found.arch.max_sram,
        "WRAM": found.arch.max_wram,
        "CLUSTERS": found.clusters,
        "CORES": found.arch.cores_per_cluster,
    }


def constant_ranges() -> Mapping[str, tuple[int, int]]:
    """Return the smallest and largest value of every constant over all boards."""
    rows = [board_constants(board) for board in BOARDS.values()]
    return {name: (min(r[name] for r in rows), max(r[name] for r in rows)) for name in rows[0]}
