"""Candidates written for PyTorch: the extension is compiled in the candidate's folder, and another process calls it.

Only this process has the memory of the device: the candidate's host code reads and writes copies by requests to the
simulator.
"""

import functools
import math
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import evolve, frozen

from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.bangc import ir
from mlusim.counted import counted
from mlusim.errors import MlusimError, UsageError
from mlusim.judge.candidate import LeftOutput, MissingPart
from mlusim.judge.judged_server import JudgedServer
from mlusim.machine.device import Device
from mlusim.machine.tensor import DeviceTensor
from mlusim.toolkit import messages
from mlusim.toolkit.built import toolkit_folder
from mlusim.toolkit.server.called import CallingProcess
from mlusim.toolkit.torch.builder import (
    STREAM,
    ExtensionSources,
    TorchBuilder,
    TorchPlace,
    installed,
    torch_package,
)

CALLER = Path(messages.__file__).with_name("torch_caller.py")
NAME = "candidate"
_OWN_MODULE = re.compile(r"\bPYBIND11_MODULE\b")
_BARE = re.compile(r"(?<![\w:])Tensor\b")


@frozen
class PreparedTorch:
    """The PyTorch that candidates are compiled with, and the library of its device, made before they are confined; or the reason why it is missing."""

    place: TorchPlace | None = None
    device: str = ""
    error: str = ""


@functools.lru_cache(maxsize=1)
def _prepared(board: str) -> PreparedTorch:
    try:
        torch_package()  # before anything is built for it
        place = installed(str(toolkit_folder(board)))
        return PreparedTorch(place, TorchBuilder(place).backend())
    except MlusimError as error:
        return PreparedTorch(error=" ".join(filter(None, (str(error.args[0]), error.shown.strip()[:2000]))))
    except OSError as error:
        return PreparedTorch(
            error=f"{error.filename or 'a file'} cannot be written: {error.strerror or error}"
        )


def prepare(board: str, path: str) -> None:
    """Prepare what the candidate at *path* is compiled with; the candidate's own process may not write it."""
    prepared = _prepared(board)
    if prepared.place is not None:
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        TorchBuilder(prepared.place).prepare(text)


class TorchServer(JudgedServer):
    """The simulator's side of a PyTorch candidate: it also finds the tensors that are returned."""

    def _expect(self, address: int, nbytes: int, caller: int) -> None:
        """Expect a copy that may have gaps, as one to a part of a tensor does: bytes in gaps keep their values."""
        super()._expect(address, nbytes, caller)
        allocation, at = self._read(address)
        if self._origins is not None:
            self._origins.read_back(allocation, at, at + nbytes)
        self._show(address, nbytes)

    def returned(self, place: Mapping[str, Any], name: str) -> LeftOutput:
        """Return the tensor at *place*, which the candidate's process has reported.  Raises `UsageError` if no tensor can be there."""
        sizes, counts = tuple(map(int, place["sizes"])), tuple(map(int, place["strides"]))
        dtype = as_dtype(str(place["dtype"])).dtype
        address = int(place["address"])
        if 0 in sizes:
            empty = Device("MLU370-X4").empty((1,), "uint8").allocation
            return LeftOutput(empty, 0, sizes, (0,) * len(sizes), dtype)
        pointer = self.pointing(address)
        if pointer is None or len(sizes) != len(counts) or min(counts, default=0) < 0:
            raise UsageError(f"{name} is returned where no memory of the device is")
        allocation = pointer.view.allocation
        offset = address - allocation.address
        strides = tuple(n * dtype.itemsize for n in counts)
        last = offset + sum((n - 1) * s for n, s in zip(sizes, strides, strict=True)) + dtype.itemsize
        if last > allocation.raw.size or math.prod(sizes) > 1 << 40:
            raise UsageError(
                f"{name} is returned as a tensor that reaches {counted(last - allocation.raw.size, 'byte')} past the end of its memory"
            )
        return LeftOutput(allocation, offset, sizes, strides, dtype)


class TorchSubject:
    """A function that takes PyTorch tensors."""

    host = True

    def __init__(self, function: ir.Function, request: Mapping[str, Any]) -> None:
        ready = _prepared(find_board(request["board"]).name)
        if ready.place is None:
            raise MissingPart(ready.error)
        self.name, self.parameters = function.name, function.parameters
        self.returns = str(function.result) != "void"
        self._home, self._device = ready.place.home, ready.device
        builder = TorchBuilder(ready.place, Path(tempfile.gettempdir()))
        self._library = builder.extension(_sources(function, request))
        self._process: CallingProcess | None = None

    def call(
        self, device: Device, facts: Mapping[str, Any], arguments: Sequence[Any]
    ) -> dict[str, LeftOutput]:
        """Call the function; return its results by the names of the outputs.

        Raises `UsageError` if it throws, or returns other tensors than expected.
        """
        if self._process is None:
            words = [sys.executable, "-P", str(CALLER), self._home, self._device, self._library, self.name]
            self._process = CallingProcess(Path(self._library), device, [], words, TorchServer)
        server = self._process.server()
        assert isinstance(server, TorchServer)
        request = messages.Message({"arguments": [_given(server, value) for value in arguments]})
        answer = self._process.exchange(self.name, request).facts
        if answer.get("memory"):
            raise MemoryError
        if "error" in answer:
            raise UsageError(f"{self.name} throws {answer['error']}")
        if not self.returns:
            return {}
        return self._outputs(server, facts, answer["tensors"])

    def _outputs(
        self, server: TorchServer, facts: Mapping[str, Any], tensors: Sequence[Mapping[str, Any]]
    ) -> dict[str, LeftOutput]:
        wanted = facts["outputs"]
        if len(tensors) != len(wanted):
            raise UsageError(
                f"{self.name} returns {len(tensors)} of {len(wanted)} outputs; the reference has {', '.join(name for name, *_ in wanted)}"
            )
        outputs = {}
        for (name, dtype, sizes), place in zip(wanted, tensors, strict=True):
            if place["kind"] != "mlu":
                what = "a tensor of the CPU" if place["kind"] == "cpu" else place["kind"]
                raise UsageError(f"{self.name} returns {what} as {name}; return a tensor of the device")
            output = server.returned(place, name)
            if (as_dtype(output.dtype).name, list(output.sizes)) != (dtype, list(sizes)):
                shown = f"{as_dtype(output.dtype).name} {output.sizes}"
                raise UsageError(
                    f"{self.name} returns {name} as {shown}, where the reference has {dtype} {tuple(sizes)}"
                )
            outputs[name] = output
        return outputs


def _given(server: TorchServer, value: object) -> dict[str, Any]:
    """Return an argument in the form that the other process expects."""
    if isinstance(value, DeviceTensor):
        name = str(value.dtype.dtype.name)  # NumPy's names are PyTorch's
        return {"tensor": [server.lend(value.ptr), name, list(value.shape)]}
    return {"number": value}


def _sources(function: ir.Function, request: Mapping[str, Any]) -> ExtensionSources:
    path = request["path"]
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    defines = tuple(f"-D{n}" if v is None else f"-D{n}={v}" for n, v in request["define"])
    sources = ExtensionSources(
        NAME,
        files=(path,),
        include=tuple(request["include"]),
        bang_flags=(*STREAM, *defines),
        cxx_flags=defines,
    )
    if _OWN_MODULE.search(text):
        return sources
    parameters = ", ".join(f"{p.spelling} {p.source_name}" for p in function.parameters)
    declared = f"{_BARE.sub('at::Tensor', str(function.result))} {function.name}({parameters});"
    return evolve(sources, cpp=declared, functions={function.name: function.name})
