"""Autocasting and gradient scaling: PyTorch's own, for the device ``mlu``."""

import functools
import sys
from types import ModuleType

import torch


class autocast(torch.autocast):  # noqa: N801 - PyTorch's name
    """``torch.autocast("mlu", ...)`` under the vendor's name."""

    def __init__(
        self, enabled: bool = True, dtype: torch.dtype = torch.float16, cache_enabled: bool = True
    ) -> None:
        super().__init__("mlu", enabled=enabled, dtype=dtype, cache_enabled=cache_enabled)


class GradScaler(torch.amp.GradScaler):
    """``torch.amp.GradScaler("mlu", ...)`` under the vendor's name."""

    def __init__(self, *words: object, **options: object) -> None:
        super().__init__("mlu", *words, **options)


custom_fwd = functools.partial(torch.amp.custom_fwd, device_type="mlu")
custom_bwd = functools.partial(torch.amp.custom_bwd, device_type="mlu")


def amp_definitely_not_available() -> bool:
    """Return False, since the device is available."""
    return False


common = ModuleType(f"{__name__}.common", "`amp_definitely_not_available`, by the vendor's place of it.")
common.amp_definitely_not_available = amp_definitely_not_available  # type: ignore[attr-defined]
sys.modules[common.__name__] = common
