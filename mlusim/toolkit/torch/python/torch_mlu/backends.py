"""``torch.backends.mlu`` and ``torch.backends.cnnl``: switches of the closed library, which have no effect here.

The CPU computes in the types of the tensors, so that there is no TF32 to allow.
"""

import contextlib
import sys
from collections.abc import Iterator
from types import ModuleType, SimpleNamespace

import torch
from torch_mlu.mlu.device import current_device, device_count, index_of


class _Switches(ModuleType):
    """A module of switches that store their values."""

    def __init__(self, name: str, **switches: object) -> None:
        super().__init__(name, __doc__)
        self.__dict__.update(switches)  # plain attributes, since scripts set them directly
        self._names = tuple(switches)

    def is_available(self) -> bool:
        """Return whether the library exists: its stand-in does."""
        return True

    def set_flags(self, **switches: object) -> dict[str, object]:
        """Set switches by name, with or without a leading underscore; return the earlier values."""
        # PyTorch's own backends accept names with an underscore here, and without one as attributes
        wanted = {name.removeprefix("_"): value for name, value in switches.items() if value is not None}
        unknown = sorted({*wanted} - {*self._names})
        if unknown:
            message = f"{self.__name__} has no switch {unknown[0]}; it has {', '.join(self._names)}"
            raise AttributeError(message)
        # if one is unknown none is set: a script may catch the error and continue
        before = {name: getattr(self, name) for name in wanted}
        self.__dict__.update(wanted)
        return before

    @contextlib.contextmanager
    def flags(self, **switches: object) -> Iterator[None]:
        """Set switches for a block."""
        before = self.set_flags(**switches)
        try:
            yield
        finally:
            self.set_flags(**before)


class _PlanCache:
    """The cache of Fourier transform plans of one device: empty, since the CPU computes them; the limit is stored."""

    size = 0

    def __init__(self) -> None:
        self.max_size = 4096

    def __setattr__(self, name: str, value: int) -> None:
        if name == "size":
            message = ".size is a read-only property showing the number of plans currently in the cache. To change the cache capacity, set cnfft_plan_cache.max_size."
            raise RuntimeError(message)
        if name == "max_size" and value < 0:
            message = f"max_size of cnfft_plan_cache must be non-negative, and {value} is given"
            raise RuntimeError(message)
        super().__setattr__(name, value)

    def clear(self) -> None:
        """Do nothing, since nothing is cached."""


class _PlanCaches:
    """A cache for each device; without an index, that of the current one."""

    def __init__(self) -> None:
        # past __setattr__, which would access the cache of the current device
        self.__dict__["_all"] = {}

    def __getitem__(self, device: object) -> _PlanCache:
        index = index_of(device)
        count = device_count()
        if not 0 <= index < count:
            message = (
                f"cnfft_plan_cache: expected 0 <= device index < {count}, but got device with index {index}"
            )
            raise RuntimeError(message)
        return self._all.setdefault(index, _PlanCache())

    def __getattr__(self, name: str) -> object:
        return getattr(self[current_device()], name)

    def __setattr__(self, name: str, value: int) -> None:
        setattr(self[current_device()], name, value)


mlu = _Switches(
    "torch.backends.mlu",
    cnfft_plan_cache=_PlanCaches(),
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
    """Register the switches as modules of ``torch.backends``."""
    for module in (mlu, cnnl, mlufusion):
        sys.modules[module.__name__] = module
        setattr(torch.backends, module.__name__.rpartition(".")[2], module)
