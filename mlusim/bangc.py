"""BANG C sources: ``mlusim.bangc.load(["div.mlu"])`` gives a module whose kernels a device launches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mlusim.arch.board import Board
    from mlusim.frontend.bangc.module import Module


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
    from mlusim.frontend.bangc.module import load_module  # noqa: PLC0415 - libclang is an extra

    return load_module(paths, include, define, board)
