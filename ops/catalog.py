"""Every operator of this package: each folder with an ``operator.py`` brings its own."""

import importlib
import pkgutil
from pathlib import Path

from mlusim.operators.spec import Operator


def _discover() -> tuple[Operator, ...]:
    found: list[Operator] = []
    here = Path(__file__).parent
    for folder in sorted(p.name for p in pkgutil.iter_modules([str(here)]) if p.ispkg):
        if (here / folder / "operator.py").exists():
            found.extend(importlib.import_module(f".{folder}.operator", __package__).OPERATORS)
    return tuple(found)


OPERATORS: tuple[Operator, ...] = _discover()
