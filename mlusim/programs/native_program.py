"""Native programs, whose launches are those of every process of theirs: commands, and BANG C sources with a ``main`` of their own."""

import importlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field, frozen

from mlusim.lazy import lazy
from mlusim.machine.hub import attending

if TYPE_CHECKING:
    from mlusim.frontend.bangc import module as modules
    from mlusim.frontend.bangc.parse import sources as texts
    from mlusim.observe import names as checkers
    from mlusim.programs.kernel_call import Sources
    from mlusim.toolkit.server import command as commands
else:  # a command needs no front end
    modules, texts, checkers, commands = lazy(
        "mlusim.frontend.bangc.module",
        "mlusim.frontend.bangc.parse.sources",
        "mlusim.observe.names",
        "mlusim.toolkit.server.command",
    )

_MAIN = re.compile(r"\bmain\s*\(")


@frozen
class CommandProgram:
    """The command *path* with *arguments*; its devices are of *boards*, or of those that its toolkit names.

    *options* go to every launch, as those of `Device.launch`.  With *file* that is the program, and *path* only its name.
    """

    path: str
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(factory=dict)
    file: str | None = None

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return no arrays: a program has them in its own memory."""
        return {}

    def run(self, observe: Iterable[Any]) -> None:
        """Run it from the beginning, as a new process.

        Raises `SystemExit` with its exit status where that is not 0, the first fault of a kernel where the program went on
        all the same, and `UsageError` where it cannot be started.
        """
        command = commands.NativeCommand([self.path, *self.arguments], self.boards, self.options, self.file)
        with attending(checkers.observers_of((*self.checks, *observe))):
            code = command.run()
        if code:
            raise SystemExit(code)
        if command.fault is not None:
            # A program that goes on after a fault of a kernel ends well by its exit status.
            raise command.fault


@define(eq=False)
class HostProgram:
    """The ``main`` of BANG C sources, compiled by ``cncc``, with *arguments* after the program's name; a `Program`."""

    sources: "Sources"
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    seed: int | None = None
    effects: str = "late"
    engine: str = "auto"
    _module: "modules.Module | None" = field(default=None, init=False)
    _built: Path | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.sources.paths[0]).name

    @property
    def module(self) -> "modules.Module":
        """The sources, loaded once.  The compiler, which has the real headers of host code, says what is wrong there."""
        if self._module is None:
            sources = self.sources
            include = tuple(str(Path(folder).resolve()) for folder in sources.include)
            options = texts.Options(include, tuple(sources.define.items()), sources.board, vouched=True)
            self._module = modules.Module([str(Path(path).resolve()) for path in sources.paths], options)
        return self._module

    @property
    def has_main(self) -> bool:
        """Return whether a source defines ``main``."""
        return any(_MAIN.search(texts.read(path)) for path in self.sources.paths) and self.module.has_main

    @property
    def _options(self) -> dict[str, Any]:
        return {"seed": self.seed, "effects": self.effects, "engine": self.engine}

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return no arrays: a program has them in its own memory."""
        return {}

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return what a recording holds of it: its sources by name and digest, and its arguments; no arrays."""
        facts = {
            "kind": "main",
            "sources": self.sources.facts(self.module),
            "arguments": list(self.arguments),
            "checks": list(self.checks),
            **self._options,
        }
        return facts, {}

    def run(self, observe: Iterable[Any]) -> None:
        """Compile it where that has not been done, and execute it from the beginning as a new process.

        Raises what `CommandProgram.run` does, and `HostBuildError` for sources that do not compile.
        """
        if self._built is None:
            sources = self.sources
            compiled = importlib.import_module("mlusim.toolkit.built")  # only what runs needs a compiler
            self._built = compiled.built(
                compiled.HostSources(
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
            self._options,
            str(self._built),
        ).run(observe)
