"""``--engine`` on the command line, and what is said where there is no compiler."""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mlusim.cli.plain_text import remark
from mlusim.engine.preference import AUTO, NATIVE, PYTHON
from mlusim.errors import Remark
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.engine.native import build
else:
    (build,) = lazy("mlusim.engine.native.build")


def settled(args: argparse.Namespace) -> str:
    """Return the engine that the launches of this command prefer; ``args.engine`` becomes it.

    Where it was asked for and there is no compiler, one line on standard error says so, and Python runs.
    """
    asked = getattr(args, "engine", None)
    chosen = asked or AUTO
    if asked in (AUTO, NATIVE) and getattr(args, "launches", True) and build.available() is None:
        remark(f"note: {build.no_compiler()}")
        chosen = PYTHON
    if hasattr(args, "engine"):
        args.engine = chosen
    return AUTO if chosen == NATIVE and getattr(args, "where_it_can", False) else chosen


@contextmanager
def telling_engines() -> Iterator[None]:
    """Print warnings of the block that Python runs in place of C, or that a function does not compile, as one line each."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, Remark):
                remark(f"note: {message}")
            else:
                before(message, category, *more)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("default", Remark)
        yield
