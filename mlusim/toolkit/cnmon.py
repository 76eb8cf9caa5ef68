"""``cnmon``: the simulated cards, in the output format that scripts expect."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board, named_boards
from mlusim.errors import UsageError

DRIVER = "v6.99.0"
NOT_THERE = "N/A"


def main(argv: Sequence[str], home: Path) -> int:
    """Print the information that *argv* requests about the cards of the toolkit folder *home*; return the exit code.

    ``version``; ``info`` for all facts about each card; ``-l`` for one line each; otherwise a table; ``-c CARD``
    selects a card.
    """
    if argv[:1] == ["version"]:
        # Scripts read the text after the last colon of the first line.
        sys.stdout.write(f"CNMON: {DRIVER}\nDriver: {DRIVER}\n")
        return 0
    try:
        usual = (home / "lib64" / "mlusim.conf").read_text(encoding="utf-8").split("\n")[1]
        # By the same rule as the driver's library.
        boards = [find_board(name) for name in named_boards(os.environ.get("MLUSIM_BOARD", usual))]
        chosen = int(argv[argv.index("-c") + 1]) if "-c" in argv[:-1] else None
    except (UsageError, ValueError) as error:
        sys.stderr.write(f"cnmon: error: {error}\n")
        return 2
    if chosen is not None and not 0 <= chosen < len(boards):
        sys.stdout.write(f"Card {chosen}: not existed\n")  # the words that scripts expect
        sys.stderr.write(f"cnmon: error: there is no card {chosen}; the cards are 0 to {len(boards) - 1}\n")
        return 2
    cards = [(number, board) for number, board in enumerate(boards) if chosen in (None, number)]
    if argv[:1] == ["info"]:
        sys.stdout.write(
            f"{time.ctime()}\n" + "".join(_card(*card) for card in cards)
        )  # scripts skip the first line
    elif {"-l", "-L"} & {*argv}:
        sys.stdout.write("".join(f"Card {n}: {board.name} (UUID: {_uuid(n)})\n" for n, board in cards))
    else:
        sys.stdout.write(_table(cards))
    return 0


def _uuid(number: int) -> str:
    return f"MLUSIM-{number:04}"


def _card(number: int, board: Board) -> str:
    """Return the output of ``info`` for a card: headings without a value are followed by indented rows."""
    mebibytes = board.gdram >> 20
    rows = (
        ("Product Name", board.name),
        ("Device Name", board.name),
        ("Driver Version", DRIVER),
        ("Firmware Version", NOT_THERE),
        ("UUID", _uuid(number)),
        ("PCI", ""),
        ("    Domain ID", "0000"),
        ("    Bus num", f"{number:02x}"),
        ("    Device", "00"),
        ("    Function", "0"),
        ("MLU Average Utilization", "0 %"),
        ("Physical Memory Usage", f"0 MiB / {mebibytes} MiB"),
        ("    Total", f"{mebibytes} MiB"),
        ("    Used", "0 MiB"),
        ("    Free", f"{mebibytes} MiB"),
        ("IPU Frequency", f"{board.clock_mhz} MHz"),
        ("DDR ECC Err Count", NOT_THERE),
        ("Temperature", ""),
        ("    Board", NOT_THERE),
        ("    Chip", NOT_THERE),
        ("Power", ""),
        ("    Usage", NOT_THERE),
    )
    lines = (f"    {name:30} : {value}\n" if value else f"    {name}\n" for name, value in rows)
    return f"Card {number}\n" + "".join(lines) + "\n"


def _table(cards: Sequence[tuple[int, Board]]) -> str:
    """Return the table of all cards, with the vendor's columns: scripts count its memories, and read the third word of its first row."""
    rule = f"+{'-' * 31}+{'-' * 22}+{'-' * 23}+\n"
    rows = [
        f"+{'-' * 78}+\n",
        f"| CNMON {DRIVER:<12}{f'Driver {DRIVER}':>58} |\n",
        rule,
        f"| {'Card  VF  Name':<17}{'Firmware':>12} | {'Bus-Id':>20} | {'Util':<9}{'Ecc-Error':>12} |\n",
        f"| {'Fan   Temp':<12}{'Pwr:Usage/Cap':>17} | {'Memory-Usage':>20} | {'Mode':<9}{'Compute-Mode':>12} |\n",
        f"|{'=' * 31}+{'=' * 22}+{'=' * 23}|\n",
    ]
    for number, board in cards:
        name, memory = f"{number:<6}/   {board.name}", f"0 MiB/ {board.gdram >> 20} MiB"
        rows += [
            f"| {name:<20} {NOT_THERE:>8} | {f'0000:{number:02x}:00.0':>20} | {'0%':<9}{NOT_THERE:>12} |\n",
            f"| {NOT_THERE:<6}{NOT_THERE:<6}{f'{NOT_THERE}/ {NOT_THERE}':>17} | {memory:>20} | {'FULL':<9}{'Default':>12} |\n",
            rule,
        ]
    return "".join(rows)
