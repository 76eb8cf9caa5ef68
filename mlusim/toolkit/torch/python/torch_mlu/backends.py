"""``torch.backends.mlu`` and ``torch.backends.cnnl``: switches of the closed library, which change nothing here.

The CPU computes in the types that tensors have, so that there is no TF32 to allow.
"""

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import torch


class _Switches(ModuleType):
    """A module of switches that keep what they are set to."""

    def __init__(self, name: str, **switches: object) -> None:
        super().__init__(name, __doc__)
        self.__dict__.update(switches)
        self._names = tuple(switches)

    def is_available(self) -> bool:
        """Return whether there is such a library: its stand-in."""
        return True

    def set_flags(self, **given: object) -> dict[str, object]:
        """Set switches by name, with or without an underscore in front; return what they were."""
        wanted = {name.removeprefix("_"): value for name, value in given.items() if value is not None}
        unknown = sorted({*wanted} - {*self._names})
        if unknown:
            message = f"{self.__name__} has no switch {unknown[0]}; it has {', '.join(self._names)}"
            raise AttributeError(message)
        before = {name: getattr(self, name) for name in wanted}
        self.__dict__.update(wanted)
        return before

    @contextlib.contextmanager
    def flags(self, **given: object) -> Iterator[None]:
        """Set switches for a block."""
        before = self.set_flags(**given)
        try:
            yield
        finally:
            self.set_flags(**before)


mlu = _Switches(
    "torch.backends.mlu",
    matmul=SimpleNamespace(allow_tf32=False),
    custom=SimpleNamespace(allow_tf32=False),
)
cnnl = _Switches(
    "torch.backends.cnnl",
    enabled=True,
    benchmark=False,
    benchmark_limit=10,
    deterministic=False,
    allow_tf32=True,
)
mlufusion = _Switches("torch.backends.mlufusion", enabled=False)


def register() -> None:
    """Make the switches modules of ``torch.backends``."""
    for module in (mlu, cnnl, mlufusion):
        sys.modules[module.__name__] = module
        setattr(torch.backends, module.__name__.rpartition(".")[2], module)
