"""A program of BANG C with a ``main`` of its own: compiled by ``cncc``, and run as a native program."""

import importlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from mlusim.frontend.bangc.module import Module
from mlusim.frontend.bangc.parse.sources import Options, read
from mlusim.programs.command_program import CommandProgram

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import Sources

_MAIN = re.compile(r"\bmain\s*\(")


@define(eq=False)
class HostProgram:
    """The ``main`` of BANG C sources, with *arguments* behind the program's name; a `Program`."""

    sources: "Sources"
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    seed: int | None = None
    effects: str = "late"
    engine: str = "auto"
    _module: Module | None = field(default=None, init=False)
    _built: Path | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The file's name."""
        return Path(self.sources.paths[0]).name

    @property
    def module(self) -> Module:
        """The sources, loaded once.  The compiler, which has the real headers of host code, says what is wrong there."""
        if self._module is None:
            sources = self.sources
            include = tuple(str(Path(folder).resolve()) for folder in sources.include)
            options = Options(include, tuple(sources.define.items()), sources.board, vouched=True)
            self._module = Module([str(Path(path).resolve()) for path in sources.paths], options)
        return self._module

    @property
    def has_main(self) -> bool:
        """Return whether a source defines ``main``."""
        return any(_MAIN.search(read(path)) for path in self.sources.paths) and self.module.has_main

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return None: a program has its arrays in its own memory."""
        return {}

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return what a recording holds of it: its sources by name and digest, and its arguments; no arrays."""
        facts = {
            "kind": "main",
            "sources": self.sources.facts(self.module),
            "arguments": list(self.arguments),
            "checks": list(self.checks),
            "seed": self.seed,
            "effects": self.effects,
            "engine": self.engine,
        }
        return facts, {}

    def run(self, observe: Iterable[Any]) -> None:
        """Compile it where that has not been done, and execute it from the beginning as a new process.

        Raises what `CommandProgram.run` does, and `HostBuildError` for sources that do not compile.
        """
        options = {"seed": self.seed, "effects": self.effects, "engine": self.engine}
        if self._built is None:
            sources = self.sources
            room = importlib.import_module("mlusim.toolkit.built")  # only what runs needs a compiler
            self._built = room.built(
                room.HostSources(
                    tuple(os.path.abspath(path) for path in sources.paths),  # noqa: PTH100 - as the user named it
                    sources.board,
                    tuple(str(Path(folder).resolve()) for folder in sources.include),
                    tuple(sources.define.items()),
                )
            )
        CommandProgram(
            str(Path(self.sources.paths[0]).resolve()),
            self.arguments,
            self.checks,
            (self.sources.board.name,),
            options,
            str(self._built),
        ).run(observe)
