"""References in NumPy, written from the mathematics of each operator, and calls on shapes of our own."""

import importlib
from pathlib import Path


def load() -> None:
    """Have every file of this folder register what it has."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        importlib.import_module(f"{__name__}.{path.stem}")
