"""The kernel debugger: it stops a launch, inspects the whole device, and goes back in time."""

import importlib
from typing import TYPE_CHECKING

from mlusim.debug.console.command import Reply
from mlusim.debug.console.console import COMMANDS, Console
from mlusim.debug.session import DebugSession
from mlusim.debug.stop.stops import Position, Stop
from mlusim.programs.program import FunctionProgram, Program, ScriptProgram

if TYPE_CHECKING:
    from mlusim.operators.runner import OperatorProgram

__all__ = [
    "COMMANDS",
    "Console",
    "DebugSession",
    "FunctionProgram",
    "OperatorProgram",
    "Position",
    "Program",
    "Reply",
    "ScriptProgram",
    "Stop",
]


def __getattr__(name: str) -> object:
    """Return `OperatorProgram`, which is imported at its first use: a kernel is debugged without operators."""
    if name == "OperatorProgram":
        return importlib.import_module("mlusim.operators.runner").OperatorProgram
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
