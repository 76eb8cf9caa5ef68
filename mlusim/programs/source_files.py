"""The files of a BANG C program, and the facts by which they are found again: where they lie, digests of what they hold."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlusim.kernel_frames import installed

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module
    from mlusim.programs.kernel_call import Sources


def source_facts(sources: "Sources", module: "Module") -> dict[str, Any]:
    """Return the facts of *sources*, with the digests of what *module* was compiled from; mlusim's own headers are left out."""
    folder = Path(module.files[0].form.path).parent
    every = {path: known for file in module.files for path, known in file.form.includes.items()}
    return {
        "folder": str(folder),
        "paths": [_from(file.form.path, folder) for file in module.files],
        "digests": {_from(path, folder): known for path, known in every.items() if not installed(path)},
        "include": [_from(path, folder) for path in sources.include],
        "define": dict(sources.define),
        "board": sources.board.name,
    }


def _from(path: str, folder: Path) -> str:
    return Path(os.path.relpath(Path(path).absolute(), folder)).as_posix()
