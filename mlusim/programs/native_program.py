"""Native programs, whose launches may come from any of their processes: commands, and BANG C sources with a ``main``."""

import importlib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.arch.catalog import find_board
from mlusim.document import members
from mlusim.lazy import lazy
from mlusim.machine.hub import attending

if TYPE_CHECKING:
    from mlusim.bangc import module as modules
    from mlusim.bangc.parse import sources as texts
    from mlusim.observe import names as checkers
    from mlusim.programs import kernel_call as kernel_calls
    from mlusim.programs.argument_forms import AskedCall
    from mlusim.toolkit.server import command as commands
else:  # a command needs no front end
    modules, texts, checkers, kernel_calls, commands = lazy(
        "mlusim.bangc.module",
        "mlusim.bangc.parse.sources",
        "mlusim.observe.names",
        "mlusim.programs.kernel_call",
        "mlusim.toolkit.server.command",
    )

_MAIN = re.compile(r"\bmain\s*\(")


@frozen
class CommandProgram:
    """The command *path* with *arguments*; its devices are *boards*, or those that its toolkit names.

    *options* apply to every launch, as in `Device.launch`.  If *file* is given, it is executed, and *path* is only
    its name.
    """

    path: str
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(factory=dict)
    file: str | None = None
    loads_code = True

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.path).name

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return no arrays: a program keeps them in its own memory."""
        return {}

    def run(self, observe: Iterable[Any]) -> None:
        """Run the command from the beginning, as a new process.

        Raises `SystemExit` with its exit status unless that is 0, the first fault of a kernel if the program
        continued after it, and `UsageError` if it cannot be started.
        """
        command = commands.NativeCommand([self.path, *self.arguments], self.boards, self.options, self.file)
        with attending(checkers.observers_of((*self.checks, *observe))):
            code = command.run()
        if code:
            raise SystemExit(code)
        if command.fault is not None:
            # A program that ignores a kernel's fault ends with status 0.
            raise command.fault


@define(eq=False)
class HostProgram:
    """A `Program` that is the ``main`` of BANG C sources, compiled by ``cncc``."""

    asked: "AskedCall"
    _module: "modules.Module | None" = field(default=None, init=False)
    _built: Path | None = field(default=None, init=False)

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return Path(self.asked.file).name

    @property
    def arguments(self) -> tuple[str, ...]:
        """The words after the program's name."""
        return self.asked.words

    @property
    def _folders(self) -> tuple[str, ...]:
        return tuple(str(Path(folder).resolve()) for folder in self.asked.include)

    @property
    def module(self) -> "modules.Module":
        """The sources, loaded once.  Errors in host code are left to the compiler, which has the real headers."""
        if self._module is None:
            asked = self.asked
            macros, board = tuple(asked.define.items()), find_board(asked.board)
            options = texts.Options(self._folders, macros, board, vouched=True)
            self._module = modules.Module([str(Path(path).resolve()) for path in asked.program], options)
        return self._module

    @property
    def has_main(self) -> bool:
        """Return whether a source defines ``main``."""
        return any(_MAIN.search(texts.read(path)) for path in self.asked.program) and self.module.has_main

    def asking(self, **changes: Any) -> "HostProgram":
        """Return the same program with *changes* of the request."""
        return HostProgram(evolve(self.asked, **changes))

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return no arrays: a program keeps them in its own memory."""
        return {}

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the program for a recording: its sources by name and digest, and its arguments; no arrays."""
        return {"kind": "main", **kernel_calls.source_facts(self.asked, self.module)}, {}

    def run(self, observe: Iterable[Any]) -> None:
        """Compile the sources if necessary, and execute the program from the beginning as a new process.

        Raises the exceptions of `CommandProgram.run`, and `HostBuildError` for sources that do not compile.
        """
        asked = self.asked
        if self._built is None:
            compiled = importlib.import_module("mlusim.toolkit.built")  # only a run needs a compiler
            self._built = compiled.built(
                compiled.HostSources(
                    tuple(os.path.abspath(path) for path in asked.program),  # noqa: PTH100 - as the user named it
                    find_board(asked.board),
                    self._folders,
                    tuple(asked.define.items()),
                )
            )
        file = str(Path(asked.file).resolve())
        options = members(asked, "seed", "effects", "engine")
        CommandProgram(file, asked.words, asked.checks, (asked.board,), options, str(self._built)).run(
            observe
        )
