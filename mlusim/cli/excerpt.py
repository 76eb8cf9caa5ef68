"""The line of a C source that a fault is at, with a caret under what was executed."""

import linecache
from types import TracebackType

from mlusim.errors import Fault
from mlusim.frontend.bangc.errors import excerpt_of

_PYTHON = (".py", ".ipynb")


def excerpt_of_fault(fault: Fault) -> str:
    """Return the line with its caret; "" for a fault in Python, whose lines a traceback shows."""
    if not fault.file or not fault.line or fault.file.endswith(_PYTHON) or fault.file.startswith("<"):
        return ""
    text = "".join(linecache.getlines(fault.file))
    line = linecache.getline(fault.file, fault.line)
    column = _column(fault, fault.__traceback__) or len(line) - len(line.lstrip()) + 1
    return excerpt_of(text, fault.line, column)


def _column(fault: Fault, traceback: TracebackType | None) -> int | None:
    """Return the column of what was executed on the fault's line; None where C has executed it."""
    found = None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if code.co_filename == fault.file and traceback.tb_lineno == fault.line:
            positions = list(code.co_positions())[traceback.tb_lasti // 2]
            found = None if positions[2] is None else positions[2] + 1
        traceback = traceback.tb_next
    return found
