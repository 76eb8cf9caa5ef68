"""The kernel debugger: stops, looks and goes back in a launch, with the whole device in view."""

from mlusim.debug.console.command import Reply
from mlusim.debug.console.console import COMMANDS, Console
from mlusim.debug.session import DebugSession
from mlusim.debug.stop.moments import Position, Stop
from mlusim.programs.operator_program import OperatorProgram
from mlusim.programs.program import FunctionProgram, Program, ScriptProgram

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
