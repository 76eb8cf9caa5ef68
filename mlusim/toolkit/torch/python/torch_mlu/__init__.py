"""PyTorch's device ``mlu``, simulated by mlusim: after ``import torch_mlu`` tensors have ``.mlu()``."""

import os

from torch_mlu import _place

torch = _place.torch()
_C = _place.backend()

from torch_mlu import backends, distributed, elsewhere, mlu  # noqa: E402 - they use the loaded device

__version__ = mlu.__version__
__all__ = ["get_version", "mlu"]


def get_version() -> str:
    """Return the version of the vendor's package with these names."""
    return __version__


def _start() -> None:
    torch.utils.rename_privateuse1_backend("mlu")
    _C.start()
    torch._register_device_module("mlu", mlu)  # noqa: SLF001 - the documented way
    torch.utils.generate_methods_for_privateuse1_backend(
        for_tensor=True, for_module=True, for_packed_sequence=True, for_storage=True
    )
    backends.register()
    distributed.register()
    elsewhere.register()
    mode = os.environ.get("TORCH_MLU_FALLBACK", "")
    if mode not in {"", "log"}:
        message = (
            f"TORCH_MLU_FALLBACK={mode} is not known; log is: a line for each operator that runs on the CPU"
        )
        raise ImportError(message)
    _C.log_fallbacks(int(mode == "log"))


_start()
