"""The module of a record that the compiler embedded."""

import importlib
from collections.abc import Sequence
from typing import Any


def load(payload: bytes, others: Sequence[bytes], bang_arch: int) -> Any:
    """Return the module whose kernels are had by their symbols, with what *others*, the program's records, define for it.

    Raises `UsageError` for a record of another version, and for one without code for *bang_arch*.
    """
    # Programs without kernels have none.
    read = importlib.import_module("mlusim.toolkit.server.record_module").read
    return read(payload, others, bang_arch)
