"""The files that pass arguments and results: see ``include/driver.h``."""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

TYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.bool: 11,
    torch.bfloat16: 15,
}


def write(path: Path, values: Sequence[Any]) -> None:
    """One record a value: a tensor, a number, or a list of integers."""
    with path.open("wb") as file:
        for value in values:
            if isinstance(value, torch.Tensor):
                head = (TYPES[value.dtype], value.dim(), *value.shape)
                file.write(b"t" + struct.pack(f"<{len(head)}q", *head))
                file.write(value.contiguous().view(-1).view(torch.uint8).numpy().tobytes())
            elif isinstance(value, float):
                file.write(b"d" + struct.pack("<d", value))
            elif isinstance(value, (list, tuple)):
                file.write(b"v" + struct.pack(f"<{len(value) + 1}q", len(value), *value))
            else:
                file.write(b"i" + struct.pack("<q", int(value)))


def read(path: Path) -> list[torch.Tensor]:
    """The tensors of a file."""
    return list(_tensors(path.read_bytes()))


def _tensors(data: bytes) -> Iterator[torch.Tensor]:
    at = 0
    types = {code: dtype for dtype, code in TYPES.items()}
    while at < len(data):
        code, dims = struct.unpack_from("<qq", data, at + 1)
        shape = struct.unpack_from(f"<{dims}q", data, at + 17)
        at += 17 + 8 * dims
        numel = 1
        for size in shape:
            numel *= size
        size = numel * types[code].itemsize
        flat = torch.frombuffer(bytearray(data[at : at + size] or b"\0"), dtype=torch.uint8)[:size]
        yield flat.view(types[code]).reshape(shape)
        at += size
