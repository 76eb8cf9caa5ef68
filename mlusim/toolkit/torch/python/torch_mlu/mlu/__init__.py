"""``torch.mlu``: devices, streams, events, memory, random numbers and the names of types."""

import importlib

import torch
from torch_mlu.mlu import amp as amp, cnpx as cnpx, memory as memory, random as random
from torch_mlu.mlu.device import *  # noqa: F403 - `torch.mlu` has all that its parts export
from torch_mlu.mlu.device import (
    _is_compiled as _is_compiled,
    _is_in_bad_fork as _is_in_bad_fork,
    _lazy_call as _lazy_call,
    _lazy_init as _lazy_init,
)
from torch_mlu.mlu.graphs import *  # noqa: F403
from torch_mlu.mlu.memory import *  # noqa: F403
from torch_mlu.mlu.random import *  # noqa: F403
from torch_mlu.mlu.streams import *  # noqa: F403
from torch_mlu.mlu.tensors import UntypedStorage as UntypedStorage, storage_names, tensor_names

__version__ = "1.0.0"
OutOfMemoryError = torch.OutOfMemoryError
Device = torch.types.Device
batch_isend_irecv = torch.distributed.batch_isend_irecv
globals().update(tensor_names() | storage_names())


def version() -> tuple[int, int, int]:
    """Raise `NotImplementedError`, since there is no version of the vendor's collectives."""
    message = "cncl has no version here: its collectives are those of gloo, `torch.distributed`'s own"
    raise NotImplementedError(message)


class _Scheduling:
    """The class that ``torch.compile`` constructs first for inductor: raises `RuntimeError` with the available back ends."""

    supports_caching = False  # inductor reads this before it constructs one

    def __init__(self, *_: object) -> None:
        message = 'inductor makes no code for the simulated device mlu; use torch.compile(..., backend="aot_eager") or "eager"'
        raise RuntimeError(message)

    @classmethod
    def create(cls, *args: object) -> "_Scheduling":
        """Refuse also as a code wrapper, which inductor constructs by this name."""
        return cls(*args)


PythonWrapperCodegen = CppWrapperCodegen = WrapperFxCodegen = _Scheduling


def __getattr__(name: str) -> object:
    """Return the generators of the devices; counting the devices starts the simulator, so that it is delayed until the first access.

    Also return the class that inductor requests, for which the device's operations have to be registered first.
    """
    if name == "Scheduling":
        common = importlib.import_module("torch._inductor.codegen.common")
        common.register_device_op_overrides("mlu", common.DeviceOpOverrides())
        return _Scheduling
    if name == "default_generators":
        return random._generators()  # noqa: SLF001
    message = f"module 'torch.mlu' has no attribute {name!r}"
    raise AttributeError(message)
