"""The vendor-shaped host functions of every operator, gathered: ``ops.host.mluOpTinShiftForward(...)``."""

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from .catalog import FOLDERS


def _gathered() -> Mapping[str, Callable[..., Any]]:
    functions: dict[str, Callable[..., Any]] = {}
    for folder in FOLDERS:
        module = importlib.import_module(f".{folder}.host", __package__)
        functions |= {name: value for name, value in vars(module).items() if name.startswith("mluOp")}
    return MappingProxyType(dict(sorted(functions.items())))


FUNCTIONS: Mapping[str, Callable[..., Any]] = _gathered()


def __getattr__(name: str) -> Callable[..., Any]:
    """Return a host function by the vendor's name."""
    if name in FUNCTIONS:
        return FUNCTIONS[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the names of the functions, for completion."""
    return list(FUNCTIONS)
