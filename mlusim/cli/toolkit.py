"""``mlusim toolkit``: a folder with the compiler, headers and libraries, for builds that know nothing of mlusim."""

import argparse
import os
import shlex
from pathlib import Path

from mlusim.cli.exits import CLEAN
from mlusim.cli.show import emit
from mlusim.cli.sources import board_of

EXAMPLES = """examples:
  mlusim toolkit ~/neuware
  mlusim toolkit ~/neuware590 --board MLU590-H8
exit codes: 0 the folder is there, 2 it cannot be made"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add("directory", metavar="DIR", help="the folder; one that is there is brought up to date")
    add("--board", metavar="B", help="the board that programs find")
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = EXAMPLES


def run(args: argparse.Namespace) -> int:
    """Make the folder, and print what to type."""
    from mlusim.toolkit.folder import make  # noqa: PLC0415 - libclang is an extra

    folder, board = Path(args.directory).expanduser().absolute(), board_of(args.board)
    make(folder, board)
    if args.json:
        variables = {"NEUWARE_HOME": str(folder), "PATH": f"{folder / 'bin'}{os.pathsep}$PATH"}
        emit({"folder": str(folder), "board": board.name, "export": variables})
        return CLEAN
    print(f"export NEUWARE_HOME={shlex.quote(str(folder))}")
    print('export PATH="$NEUWARE_HOME/bin:$PATH"')
    return CLEAN
