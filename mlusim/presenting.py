"""How values show themselves: what renders them lies above them, and is found by name when it is asked for.

Nothing below `mlusim.report` imports it, so a program that shows nothing loads no tables, pages or pictures.
"""

import importlib
from typing import Any


def presenter(name: str) -> Any:
    """Return the module of `mlusim.report` called *name*."""
    return importlib.import_module(f"mlusim.report.{name}")


class Presented:
    """A value that notebooks show as `mlusim.report.notebook` renders it, with plain text beside it."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        shown: str = presenter("notebook").html_of(self)
        return shown

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, str]:
        del include, exclude
        notebook = presenter("notebook")
        return {"text/plain": notebook.text_of(self), "text/html": notebook.html_of(self)}
