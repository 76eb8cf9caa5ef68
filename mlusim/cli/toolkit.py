"""``mlusim toolkit``: a folder with the compiler, headers and libraries, for builds that do not depend on mlusim."""

import argparse
import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from mlusim.cli import entry, programs, show
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.toolkit import folder as toolkits
else:
    (toolkits,) = lazy("mlusim.toolkit.folder")


def run(args: argparse.Namespace) -> int:
    """Make the folder, and print the variables to set."""
    folder, board = Path(args.directory).expanduser().absolute(), programs.board_of(args.board)
    toolkits.make(folder, board)
    if args.json:
        variables = {"NEUWARE_HOME": str(folder), "PATH": f"{folder / 'bin'}{os.pathsep}$PATH"}
        show.emit({"folder": str(folder), "board": board.name, "export": variables})
        return entry.CLEAN
    print(f"export NEUWARE_HOME={shlex.quote(str(folder))}")
    print('export PATH="$NEUWARE_HOME/bin:$PATH"')
    return entry.CLEAN
