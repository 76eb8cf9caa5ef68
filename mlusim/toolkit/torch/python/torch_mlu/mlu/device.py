"""The devices ``mlu``: their number, the current one, and their properties."""

from collections.abc import Callable
from types import SimpleNamespace

import torch
from torch_mlu import _C  # the compiled device


def index_of(device: object = None) -> int:
    """Return the number of *device*: a number, a text, a `torch.device`, or None for the current one.

    Raises `ValueError` for another kind of device.
    """
    if device is None:
        return int(_C.current_device())
    if isinstance(device, int):
        return device if device >= 0 else int(_C.current_device())
    named = torch.device(device)
    if named.type != "mlu":
        message = f"Expected a mlu device, but got: {named}"  # PyTorch's own words
        raise ValueError(message)
    return int(_C.current_device()) if named.index is None else named.index


def _get_device_index(device: object, optional: bool = False, allow_cpu: bool = False) -> int:
    """Return the number of *device*; -1 for the CPU if that is allowed.

    Raises `ValueError` for another kind of device, and for one without a number unless *optional*.
    """
    if isinstance(device, str):
        device = torch.device(device)
    kind = device.type if isinstance(device, torch.device) else "mlu"
    if allow_cpu and kind == "cpu":
        return -1
    number = device.index if isinstance(device, torch.device) else device
    if kind == "mlu" and number is None and not optional:
        message = f"Expected a mlu device with a number, such as mlu:0, but got: {device}"
        raise ValueError(message)
    return index_of(device)


def is_available() -> bool:
    """Return whether the device can be used: always True."""
    return True


def is_initialized() -> bool:
    """Return whether the device is ready: always True."""
    return True


def init() -> None:
    """Do nothing: the simulator starts when it is first used."""


_lazy_init = init


def _lazy_call(call: Callable[[], object], **_: object) -> None:
    """Call *call* now, since nothing has to be initialized first."""
    call()


def _is_compiled() -> bool:
    return True


def _is_in_bad_fork() -> bool:
    return bool(_C.forked())


def device_count() -> int:
    """Return the number of devices."""
    return int(_C.devices())


def current_device() -> int:
    """Return the number of the current device."""
    return int(_C.current_device())


def set_device(device: object) -> None:
    """Make *device* the current one."""
    _C.set_device(index_of(device))


class device:  # noqa: N801 - PyTorch's name
    """Make a device the current one in a block."""

    def __init__(self, device: object) -> None:
        self.idx = index_of(device)
        self.prev_idx = -1

    def __enter__(self) -> None:
        self.prev_idx = current_device()
        set_device(self.idx)

    def __exit__(self, *raised: object) -> None:
        set_device(self.prev_idx)


class device_of(device):  # noqa: N801
    """Make the device of a tensor the current one in a block; a CPU tensor changes nothing."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__(tensor.get_device() if tensor.is_mlu else -1)


def can_device_access_peer(device: object, peer_device: object) -> bool:
    """Return whether *device* can copy to *peer_device*: to every other one.  Raises `ValueError` if either does not exist."""
    numbers = index_of(device), index_of(peer_device)
    for number in numbers:
        if not 0 <= number < device_count():
            message = f"there is no device mlu:{number}; {device_count()} are there, counted from 0"
            raise ValueError(message)
    return numbers[0] != numbers[1]


def supports_linear_memory(device: object = None) -> bool:
    """Return whether *device* has linear memory: no board has."""
    index_of(device)
    return False


def get_device_name(device: object = None) -> str:
    """Return the name of the board."""
    return str(_C.name(index_of(device)))


def get_device_capability(device: object = None) -> tuple[int, int]:
    """Return the architecture's version, as two numbers."""
    number = index_of(device)
    return (
        int(_C.attribute("cnrtAttrComputeCapabilityMajor", number)),
        int(_C.attribute("cnrtAttrComputeCapabilityMinor", number)),
    )


def get_device_properties(device: object = None) -> SimpleNamespace:
    """Return the board's name, memory and cores."""
    number = index_of(device)
    major, minor = get_device_capability(number)
    clusters, cores = (
        int(_C.attribute(name, number)) for name in ("cnrtAttrClusterCount", "cnrtAttrMcorePerCluster")
    )
    return SimpleNamespace(
        name=get_device_name(number),
        major=major,
        minor=minor,
        total_memory=int(_C.memory(number)[1]),
        cluster_count=clusters,
        core_num_per_cluster=cores,
        multi_processor_count=clusters * cores,
    )


def synchronize(device: object = None) -> None:
    """Wait for every stream of *device*.  Raises `RuntimeError` if a launch has failed."""
    _C.synchronize(index_of(device))


def get_amp_supported_dtype() -> list[torch.dtype]:
    """Return the types that ``torch.autocast("mlu")`` supports."""
    return [torch.float16, torch.bfloat16]


def is_bf16_supported() -> bool:
    """Return whether kernels of this board may use bfloat16."""
    return get_device_capability()[0] >= 5


def is_autocast_enabled() -> bool:
    """Return whether operators on the device are cast."""
    return torch.is_autocast_enabled("mlu")


def set_autocast_enabled(enabled: bool) -> None:
    """Enable or disable casting for operators on the device."""
    torch.set_autocast_enabled("mlu", enabled)


def get_autocast_dtype() -> torch.dtype:
    """Return the type that operators are cast to."""
    return torch.get_autocast_dtype("mlu")


def set_autocast_dtype(dtype: torch.dtype) -> None:
    """Set the type that operators are cast to."""
    torch.set_autocast_dtype("mlu", dtype)
