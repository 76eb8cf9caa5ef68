"""The module of a record that the compiler embedded."""

import importlib
from typing import Any


def load(payload: bytes) -> Any:
    """The module whose kernels are had by their symbols.  Raises `UsageError` for a record of another version."""
    return importlib.import_module("mlusim.toolkit.record").read(
        payload
    )  # programs without kernels have none
