"""How values show themselves: what renders them lies above them, and is found by name when it is asked for.

Nothing below `mlusim.report` imports it, so a program that shows nothing loads no tables, pages or pictures.
"""

import importlib
from typing import Any


def presenter(name: str) -> Any:
    """The module of `mlusim.report` called *name*."""
    return importlib.import_module(f"mlusim.report.{name}")
