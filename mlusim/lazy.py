"""Modules that are loaded when something in them is asked for first: a command starts without what it may not need.

A file that uses one imports it twice: for type checking, and from here::

    if TYPE_CHECKING:
        from mlusim.operators import registry
    else:
        (registry,) = lazy("mlusim.operators.registry")
"""

import importlib
from types import ModuleType


class LazyModule(ModuleType):
    """Stands for the module of its name, which is loaded with the first look into it."""

    def __getattr__(self, name: str) -> object:
        return getattr(importlib.import_module(self.__name__), name)


def lazy(*names: str) -> tuple[LazyModule, ...]:
    """Return a `LazyModule` for each of *names*."""
    return tuple(LazyModule(name) for name in names)
