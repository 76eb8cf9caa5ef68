"""``torch.mlu.FloatTensor`` and similar type names, with which older code makes and tests tensors, and typed storages."""

import torch

NAMES = {
    "Float": torch.float,
    "Double": torch.double,
    "Half": torch.half,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.short,
    "Int": torch.int,
    "Long": torch.long,
    "Bool": torch.bool,
}


class _TensorName(type):
    """A tensor type of the device: calling it makes a tensor, and tensors of its dtype on the device are instances."""

    dtype: torch.dtype
    is_mlu = True

    def __call__(cls, *arguments: object) -> torch.Tensor:
        """Make a tensor from sizes, or from a sequence of numbers."""
        if not arguments:
            return torch.empty(0, dtype=cls.dtype, device="mlu")
        if len(arguments) == 1 and not isinstance(arguments[0], int | torch.Size):
            return torch.as_tensor(arguments[0], dtype=cls.dtype).to("mlu")
        return torch.empty(*arguments, dtype=cls.dtype, device="mlu")

    def __instancecheck__(cls, tensor: object) -> bool:
        return isinstance(tensor, torch.Tensor) and tensor.is_mlu and tensor.dtype == cls.dtype

    def __str__(cls) -> str:
        return cls.__name__


def tensor_names() -> dict[str, type]:
    """Return the types, by name; `torch.Tensor.type` accepts their qualified names."""
    return {
        f"{name}Tensor": _TensorName(f"torch.mlu.{name}Tensor", (), {"dtype": dtype})
        for name, dtype in NAMES.items()
    }


class _StorageName(type):
    """A name for PyTorch's untyped storage, with the static functions of that class, such as ``_new_shared_fd_cpu``."""

    def __getattr__(cls, name: str) -> object:
        return getattr(torch.UntypedStorage, name)

    def __instancecheck__(cls, storage: object) -> bool:
        return isinstance(storage, torch.UntypedStorage)


class UntypedStorage(metaclass=_StorageName):
    """Bytes in the device's memory, unless another device is given: ``torch.mlu.UntypedStorage(8)``."""

    def __new__(cls, *arguments: object, device: object = "mlu", **options: object) -> torch.UntypedStorage:
        """Make a storage from a number of bytes, or from a sequence of bytes."""
        sequence = options.pop(
            "sequence", arguments[0] if arguments and not isinstance(arguments[0], int) else None
        )
        if sequence is None:
            return torch.UntypedStorage(*arguments, device=device, **options)
        return torch.tensor(list(sequence), dtype=torch.uint8).to(device).untyped_storage()


def storage_names() -> dict[str, type]:
    """Return the typed storages, by name."""
    more = {"ComplexFloat": torch.cfloat, "ComplexDouble": torch.cdouble}
    return {f"{name}Storage": _storage(f"{name}Storage", dtype) for name, dtype in (NAMES | more).items()}


def _storage(name: str, dtype: torch.dtype) -> type:
    def make(cls: type, *arguments: object) -> torch.TypedStorage:  # noqa: ARG001
        return torch.TypedStorage(*arguments, dtype=dtype, device="mlu")

    return type(name, (), {"__new__": make, "dtype": dtype, "__module__": "torch.mlu"})
