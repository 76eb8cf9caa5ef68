"""``cnmon``: the simulated cards, in the lines that scripts look for."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError

DRIVER = "v6.99.0"
NOT_THERE = "N/A"


def main(argv: Sequence[str], home: Path) -> int:
    """Print what *argv* ask of the cards of the toolkit folder *home*: ``version``, ``info`` with ``-c CARD``, or all; the exit code."""
    if argv[:1] == ["version"]:
        # Scripts take what is behind the last colon of the first line.
        sys.stdout.write(f"CNMON: {DRIVER}\nDriver: {DRIVER}\n")
        return 0
    try:
        boards = _boards(home)
        chosen = int(argv[argv.index("-c") + 1]) if "-c" in argv[:-1] else None
    except (UsageError, ValueError) as error:
        sys.stderr.write(f"cnmon: error: {error}\n")
        return 2
    if chosen is not None and not 0 <= chosen < len(boards):
        sys.stderr.write(f"cnmon: error: there is no card {chosen}; the cards are 0 to {len(boards) - 1}\n")
        return 2
    for number, board in enumerate(boards):
        if chosen in (None, number):
            sys.stdout.write(_card(number, board))
    return 0


def _boards(home: Path) -> list[Board]:
    """Return the boards that a program of the folder has, as the driver's library takes them."""
    usual = (home / "lib64" / "mlusim.conf").read_text(encoding="utf-8").split("\n")[1]
    return [find_board(name.strip()) for name in os.environ.get("MLUSIM_BOARD", usual).split(",")]


def _card(number: int, board: Board) -> str:
    mebibytes = board.gdram >> 20
    rows = (
        ("Product Name", board.name),
        ("Device Name", board.name),
        ("Driver Version", DRIVER),
        ("Firmware Version", NOT_THERE),
        ("UUID", f"MLUSIM-{number:04}"),
        ("MLU Average Utilization", "0 %"),
        ("Physical Memory Usage", f"0 MiB / {mebibytes} MiB"),
        ("Total", f"{mebibytes} MiB"),
        ("Used", "0 MiB"),
        ("Free", f"{mebibytes} MiB"),
        ("IPU Frequency", f"{board.clock_mhz} MHz"),
        ("DDR ECC Err Count", NOT_THERE),
        ("Temperature", NOT_THERE),
        ("Power Usage", NOT_THERE),
    )
    return f"Card {number}\n" + "".join(f"    {name:30} : {value}\n" for name, value in rows) + "\n"
