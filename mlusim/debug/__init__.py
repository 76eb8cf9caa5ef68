"""The kernel debugger: stops, looks and goes back in a launch, with the whole device in view."""

from mlusim.debug.console import COMMANDS, Console, Reply
from mlusim.debug.programs import FunctionProgram, OperatorProgram, Program, ScriptProgram
from mlusim.debug.session import DebugSession
from mlusim.debug.when import Position, Stop

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
