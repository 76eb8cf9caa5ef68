"""Every operator of this package: each folder with an ``operator.py`` defines its own."""

import importlib
import pkgutil
from pathlib import Path

from mlusim.operators.spec import Operator


def _folders() -> tuple[str, ...]:
    here = Path(__file__).parent
    packages = sorted(p.name for p in pkgutil.iter_modules([str(here)]) if p.ispkg)
    return tuple(name for name in packages if (here / name / "operator.py").exists())


def _discover() -> tuple[Operator, ...]:
    operators: list[Operator] = []
    for folder in FOLDERS:
        operators.extend(importlib.import_module(f".{folder}.operator", __package__).OPERATORS)
    return tuple(operators)


FOLDERS: tuple[str, ...] = _folders()
OPERATORS: tuple[Operator, ...] = _discover()
