"""BANG C sources: ``mlusim.bangc.load(["div.mlu"])`` gives a module whose kernels a device launches."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module


def load(
    paths: "str | Path | Sequence[str | Path]",
    include: Sequence[str | Path] = (),
    define: Mapping[str, str | int | None] | None = None,
    board: str | Board = "MLU370-X4",
) -> "Module":
    """Load BANG C files, translated for the architecture of *board* and linked with each other.

    *include* are directories for headers, *define* macros (None: defined without a value).
    Raises `UsageError` for a file that cannot be read or where libclang is missing, and its subclass
    `SourceError`, with file, line, column and a caret, for one that does not parse.
    """
    from mlusim.frontend.bangc.module import Module  # noqa: PLC0415 - libclang is an extra
    from mlusim.frontend.bangc.parse.unit import Options  # noqa: PLC0415 - the same

    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given:
        raise UsageError("no BANG C file was given; name one at least")
    defines = tuple((name, None if value is None else str(value)) for name, value in (define or {}).items())
    options = Options(tuple(str(i) for i in include), defines, find_board(board))
    return Module([str(Path(p).resolve()) for p in given], options)
