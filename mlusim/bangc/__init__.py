"""BANG C sources: parsed by libclang, lowered to a typed intermediate form, and rendered to Python or C.

``mlusim.bangc.load(["div.mlu"])`` gives a module whose kernels a device launches.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.arch.board import Board
    from mlusim.bangc import module as modules
    from mlusim.bangc.module import Module
else:
    (modules,) = lazy("mlusim.bangc.module")


def load(
    paths: "str | Path | Sequence[str | Path]",
    include: Sequence[str | Path] = (),
    define: Mapping[str, str | int | None] | None = None,
    board: "str | Board" = "MLU370-X4",
) -> "Module":
    """Load BANG C files, translated for the architecture of *board* and linked with each other.

    *include* are directories for headers, *define* macros (None: defined without a value).
    Raises `UsageError` for a file that cannot be read or where libclang is missing, and its subclass
    `SourceError`, with file, line, column and a caret, for one that does not parse.
    """
    return modules.load_module(paths, include, define, board)
