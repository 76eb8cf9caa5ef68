"""`CommandContext`: what a command may touch of the console that runs it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.debug.console.command import Command

if TYPE_CHECKING:
    from mlusim.debug.session import DebugSession


@frozen
class Reply:
    """The answer to a line: ``text`` to show; ``ok`` is false for a mistake; ``leaves`` ends the console."""

    text: str
    ok: bool = True
    leaves: bool = False


class CommandContext(ABC):
    """The session, the table of commands, and what a command may ask of the console.

    ``leaves`` is set by the command that ends the console; ``displays`` are the expressions that every stop
    shows, by number, ``attached`` the commands of breakpoints, ``collecting`` the lines of such that are being typed.
    """

    def __init__(self, session: "DebugSession", commands: tuple[Command, ...]) -> None:
        self.session = session
        self.commands = commands
        self.leaves = False
        self.displays: dict[int, str] = {}
        self.displayed = 0
        self.attached: dict[int, list[str]] = {}
        self.collecting: tuple[int, list[str]] | None = None

    @abstractmethod
    def execute(self, line: str) -> Reply:
        """Execute one line; a mistake is a reply with ``ok`` false."""

    @abstractmethod
    def stop_text(self) -> str:
        """Return why and where the session stands."""

    @abstractmethod
    def execute_file(self, name: str) -> Iterator[Reply]:
        """Execute the lines of a file until one fails or leaves; raises `UsageError` where it cannot be read."""

    @abstractmethod
    def replay(self, name: str, *, trust: bool = False) -> list[str]:
        """Leave the session for that of a recording, whose code runs with *trust* only; return what is not as recorded."""
