"""``torch_caller.py HOME DEVICE LIBRARY FUNCTION SOCKET``: calls a function of a PyTorch extension for another process.

It imports nothing of mlusim except the format of messages, and ``torch_mlu`` from the toolkit folder HOME, whose
compiled device is the file DEVICE; it ends when the socket is closed.  A request has the arguments; tensors are
device addresses known to the other process. The reply says where the returned tensors are, or has the exception's
text.
"""

import ctypes
import importlib
import os
import runpy
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

# By path, so that no folder is searched for modules; this folder has one called torch.
caller = SimpleNamespace(**runpy.run_path(str(Path(__file__).with_name("caller.py"))))
messages = caller.messages


def first_of(path: str) -> int:
    """Return the load address of the imported extension *path*."""
    start = ctypes.CDLL(path)[f"PyInit_{Path(path).name.rpartition('-')[0]}"]
    first: int = caller.first_of(ctypes.cast(start, ctypes.c_void_p).value)
    return first


class Extension:
    """The function *name* of the library *path*, with the modules that construct its arguments."""

    def __init__(self, torch: Any, torch_mlu: Any, path: str, name: str) -> None:
        self._torch, self._device = torch, torch_mlu._C  # noqa: SLF001 - the compiled device
        module = torch_mlu._place.extension(path)  # noqa: SLF001
        self._function = getattr(module, name)
        self._kept: Any = None

    def call(self, arguments: list[dict[str, Any]]) -> dict[str, Any]:
        """Call the function; return the places of its results, which are kept until the next call."""
        self._kept = self._function(*(self._argument(argument) for argument in arguments))
        self._torch.mlu.synchronize()
        several = self._kept if isinstance(self._kept, tuple | list) else [self._kept]
        return {"tensors": [self._place(tensor) for tensor in several if tensor is not None]}

    def _argument(self, argument: dict[str, Any]) -> Any:
        if "tensor" not in argument:
            return argument.get("number")
        address, dtype, sizes = argument["tensor"]
        like = self._torch.empty(sizes, dtype=getattr(self._torch, dtype), device="meta")
        return self._device.tensor_at(address, like)

    def _place(self, value: Any) -> dict[str, Any]:
        if not isinstance(value, self._torch.Tensor):
            return {"kind": type(value).__name__}
        strides = list(value.stride())
        dtype = str(value.dtype).removeprefix("torch.")
        place = {"kind": value.device.type, "dtype": dtype, "sizes": list(value.shape), "strides": strides}
        return place | {"address": value.data_ptr() if value.numel() else 0}


def main(argv: list[str]) -> None:
    """Answer requests until the other end is closed."""
    home, device, library, name, number = argv[1:]
    end = socket.socket(fileno=int(number))
    os.environ |= {"MLUSIM_TORCH_DEVICE": device, "OMP_NUM_THREADS": "1"}
    sys.path[:1] = [f"{home}/python"]  # in place of this file's folder
    try:
        torch: Any = importlib.import_module("torch")  # imported only after the environment is set
        torch_mlu: Any = importlib.import_module("torch_mlu")
    except ImportError as error:
        sys.exit(f"error: {error}")
    torch.mlu.device_count()  # connects to the simulator
    extension: Extension | None = None
    try:
        extension = Extension(torch, torch_mlu, library, name)
    except Exception:  # noqa: BLE001 - the first call reports it
        extension = None
    messages.send(end, messages.Message({"first": 0 if extension is None else first_of(library)}))
    while True:
        try:
            arguments = messages.received(end).facts["arguments"]
        except (EOFError, ConnectionError):
            os._exit(0)
        try:
            extension = extension or Extension(torch, torch_mlu, library, name)
            answer = extension.call(arguments)
        except Exception as error:  # noqa: BLE001 - the extension's exception is returned
            lines = str(error).strip().splitlines()
            answer = {"error": f"{type(error).__name__}: {lines[0] if lines else 'it says nothing'}"}
            answer["memory"] = isinstance(error, MemoryError) or "can't allocate memory" in str(error)
        sys.stdout.flush()
        messages.send(end, messages.Message(answer))


if __name__ == "__main__":
    main(sys.argv)
