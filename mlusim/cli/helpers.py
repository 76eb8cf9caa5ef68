"""``mlusim isa mluop_...``: one function of the helper library, which is code and has no row in the table."""

import inspect
import re
from collections.abc import Callable
from typing import Any

import mlusim.bang
from mlusim.cli.show import output
from mlusim.errors import UsageError
from mlusim.near import near

PREFIX = "mluop_"
PAGE = "docs/reference/helpers.md"


def is_helper(name: str) -> bool:
    """Return whether *name* is meant to be one of the helper library."""
    return name.lstrip("_").lower().startswith(PREFIX)


def known_helper(name: str) -> bool:
    """Return whether there is a helper called *name*, with or without leading underscores, in any case."""
    return _bare(name) in mlusim.bang.__all__


def _bare(name: str) -> str:
    """*name* as it is exported, from any case and with or without leading underscores."""
    wanted = name.lstrip("_").lower()
    return next((known for known in mlusim.bang.__all__ if known.lower() == wanted), wanted)


def find_helper(name: str) -> Callable[..., Any]:
    """Return the helper called *name*, with or without leading underscores.

    Raises `UsageError` with the nearest names for an unknown one.
    """
    bare = _bare(name)
    known = [n for n in mlusim.bang.__all__ if n.startswith(PREFIX)]
    if bare not in known:
        guesses = near(bare, known)
        hint = f"did you mean {', '.join(guesses)}?" if guesses else f"{PAGE} lists them"
        raise UsageError(f"there is no helper {name!r}; {hint}")
    found: Callable[..., Any] = getattr(mlusim.bang, bare)
    return found


def helper_document(helper: Callable[..., Any]) -> dict[str, Any]:
    """Return the name, spelling, signature and documentation of *helper* as plain data."""
    doc = inspect.getdoc(helper) or ""
    parameters = list(inspect.signature(helper).parameters)
    return {
        "name": helper.__name__,
        "spelling": f"__{helper.__name__}",
        "signature": f"{helper.__name__}({', '.join(parameters)})",
        "parameters": parameters,
        "summary": doc.split("\n", 1)[0],
        "doc": doc,
        "import": f"from mlusim.bang import {helper.__name__}",
    }


def show_helper(helper: Callable[..., Any]) -> None:
    """Print *helper* for people."""
    about = helper_document(helper)
    console = output()
    console.print(about["signature"], style="bold")
    console.print()
    console.print(_plain(about["doc"]))
    console.print()
    console.print(f"import: {about['import']}")
    console.print(f"all helpers: {PAGE}")


def _plain(doc: str) -> str:
    """*doc* without marks, a line for each paragraph and item, which the terminal wraps as it needs."""
    joined = re.sub(r"(?<!\n)\n(?!\n|\* ) *", " ", doc.replace("``", ""))
    return re.sub(r"(?<![\w*])(\*{1,2})(\w[^*]*)\1(?!\w)", r"\2", joined)
