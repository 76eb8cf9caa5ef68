"""A native program, or a command that starts some, as a program: its launches are those of every process of it."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import field, frozen

from mlusim.lazy import lazy
from mlusim.machine.hub import attending

if TYPE_CHECKING:
    from mlusim.observe import names as checkers
    from mlusim.toolkit.server import command as commands
else:
    checkers, commands = lazy("mlusim.observe.names", "mlusim.toolkit.server.command")


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
        """The file's name."""
        return Path(self.path).name

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return None: a program has its arrays in its own memory."""
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
            raise command.fault
