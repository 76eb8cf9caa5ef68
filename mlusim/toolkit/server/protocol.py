"""The format of requests, replies and launch arguments on the socket, and attributes of boards; the numbers are those of ``lib/protocol.h`` and ``cnrt.h``."""

import functools
import os
import re
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ml_dtypes import bfloat16

from mlusim.arch.board import Board
from mlusim.bangc import ir, prelude, types as t
from mlusim.errors import LaunchError

_ROOM = Path(__file__).parents[1]
_PROTOCOL = (_ROOM / "lib" / "protocol.h").read_text(encoding="utf-8")
_CNRT = (prelude.DRIVER / "cnrt.h").read_text(encoding="utf-8")

OPS: Mapping[str, int] = {name: int(number) for name, number in re.findall(r"\bOP_(\w+) = (\d+)", _PROTOCOL)}
CODES: Mapping[str, int] = {name: int(number) for name, number in re.findall(r"X\((cnrt\w+), (\d+), ", _CNRT)}
PACKET = int(re.findall(r"PACKET = (\d+)", _PROTOCOL)[0])  # bytes of the longest packet
VERSION = re.findall(r"MLUSIM_PROTOCOL \"(\d+)\"", _PROTOCOL)[0]  # of the protocol
LONGEST_BOARDS = 4096  # bytes of the names of a program's boards
_REQUEST = struct.Struct("<IiQ5QQ")  # op, device, caller, five words, length of the payload
_ANSWER = struct.Struct("<i5IQ")  # code, lengths of the failed launches and of three texts, value


class ProgramRequest(NamedTuple):
    """One call by the program: its number, the device, the return address, five words and a payload."""

    op: int
    device: int
    caller: int
    words: tuple[int, ...]
    payload: bytes


class ProgramReply(NamedTuple):
    """The reply to a program: the value, a payload, the code, and texts for the program's standard output and error.

    ``failed`` has the threads whose unanswered launches have failed since the last reply, with the codes.
    """

    value: int = 0
    payload: bytes = b""
    code: int = 0
    said: str = ""
    printed: str = ""
    failed: bytes = b""


class Accepted(NamedTuple):
    """A program that has connected: its socket, its process, its first message, and the file that it sent."""

    end: socket.socket
    pid: int
    said: bytes
    file: int


def accepted(listener: socket.socket) -> Accepted | None:
    """Accept a connection of this user's program; return None for others, since the socket's name is not secret on this machine."""
    end, _ = listener.accept()
    # The head of struct ucred.
    pid, uid = struct.unpack("ii", end.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)[:8])
    said, files, *_ = socket.recv_fds(end, LONGEST_BOARDS, 1) if uid == os.getuid() else (b"", [])
    if not files:
        end.close()
        return None
    return Accepted(end, pid, said, files[0])


class ProgramSocket:
    """The server's end of a program's socket."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self._packet, self._at = b"", 0  # the last packet, and the offset of the next request in it

    def receive(self) -> ProgramRequest | None:
        """Return the next request; None if the program has ended."""
        if self._at == len(self._packet):
            try:
                self._packet, self._at = self.socket.recv(PACKET), 0
            except ConnectionError:
                return None
        begins = self._at + _REQUEST.size
        if begins > len(self._packet):  # 0 bytes: the program has closed its end
            return None
        op, device, caller, a, b, c, d, e, length = _REQUEST.unpack_from(self._packet, self._at)
        self._at = min(begins + length, len(self._packet))
        payload = self._packet[begins : self._at]
        while len(payload) < length:
            more = self.socket.recv(PACKET)
            if not more:
                return None
            payload += more
        return ProgramRequest(op, device, caller, (a, b, c, d, e), payload)

    def answer(self, reply: ProgramReply | None) -> None:
        """Send *reply* unless it is None; ignore a program that has ended."""
        if reply is None:
            return
        said = reply.said.encode("utf-8", "backslashreplace")
        printed = reply.printed.encode("utf-8", "backslashreplace")
        lengths = len(reply.failed), len(said), len(printed), len(reply.payload), 0
        head = _ANSWER.pack(reply.code, *lengths, reply.value & (1 << 64) - 1)
        text = head + reply.failed + said + printed + reply.payload
        try:
            for start in range(0, len(text), PACKET):
                self.socket.sendall(text[start : start + PACKET])
        except (BrokenPipeError, ConnectionError):
            return


# The attributes of a board that programs query by name; one row each.

MOST_ATTRIBUTE = (1 << 31) - 1
BFLOAT16_FROM = 500  # __BANG_ARCH__
Answer = Callable[[Board], int]

# The name in the run-time, the name in the driver without its prefix, the value.
_BOTH: tuple[tuple[str, str, Answer], ...] = (
    ("cnrtAttrClusterCount", "MAX_CLUSTER_COUNT", lambda b: b.clusters),
    ("cnrtAttrMcorePerCluster", "MAX_CORE_COUNT_PER_CLUSTER", lambda b: b.arch.cores_per_cluster),
    ("cnrtAttrNramSizePerMcore", "NRAM_SIZE_PER_CORE", lambda b: b.arch.nram),
    ("cnrtAttrWramSizePerMcore", "WEIGHT_RAM_SIZE_PER_CORE", lambda b: b.arch.wram),
    ("cnrtAttrSramSizePerMcore", "MAX_SHARED_RAM_SIZE_PER_CLUSTER", lambda b: b.arch.sram),
    ("cnrtAttrMaxClusterCountPerUnionTask", "MAX_CLUSTER_COUNT_PER_UNION_TASK", lambda b: b.max_union),
    ("cnrtAttrComputeCapabilityMajor", "COMPUTE_CAPABILITY_MAJOR", lambda b: b.arch.bang_arch // 100),
    ("cnrtAttrComputeCapabilityMinor", "COMPUTE_CAPABILITY_MINOR", lambda b: b.arch.bang_arch // 10 % 10),
    ("cnrtAttrISAVersion", "MLU_ISA_VERSION", lambda b: b.arch.bang_arch),
    ("cnrtAttrIpuClockRate", "CLUSTER_CLOCK_RATE", lambda b: b.clock_mhz * 1000),  # kHz
    # In kHz; the bus transfers two bits per cycle, as the figures of the MLU590-M9DG show.
    ("cnrtAttrMemClockRate", "MEMORY_CLOCK_RATE", lambda b: b.bandwidth * 8 // b.memory_bus_bits // 2000),
    ("cnrtAttrGmemBusWidth", "GLOBAL_MEMORY_BUS_WIDTH", lambda b: b.memory_bus_bits),
    ("cnrtAttrMaxL2CacheSize", "MAX_L2_CACHE_SIZE", lambda b: b.l2),
    ("cnrtAttrMaxDimX", "MAX_BLOCK_TASK_DIM_X", lambda b: b.max_dim[0]),
    ("cnrtAttrMaxDimY", "MAX_BLOCK_TASK_DIM_Y", lambda b: b.max_dim[1]),
    ("cnrtAttrMaxDimZ", "MAX_BLOCK_TASK_DIM_Z", lambda b: b.max_dim[2]),
    ("cnrtAttrTotalMemSize", "GLOBAL_MEMORY_TOTAL_SIZE", lambda b: min(b.gdram >> 20, MOST_ATTRIBUTE)),  # MiB
    ("cnrtAttrQueueSize", "MAX_QUEUE_COUNT", lambda _: MOST_ATTRIBUTE),
    ("cnrtAttrNotifierSize", "MAX_NOTIFIER_COUNT", lambda _: MOST_ATTRIBUTE),
    (
        "cnrtAttrAvailableGlobalMemorySize",
        "AVAILABLE_GLOBAL_MEMORY_SIZE",
        lambda b: min(b.gdram >> 20, MOST_ATTRIBUTE),
    ),
    ("cnrtAttrMaxPersistingL2CacheSize", "MAX_PERSISTING_L2_CACHE_SIZE", lambda b: b.l2 // 2),  # inferred
    ("cnrtAttrMaxClusterPerUnionLimitTask", "MAX_CLUSTERS_PER_UNION_LIMIT_TASK", lambda b: b.max_union),
    ("cnrtAttrFP16ComputingSupported", "FP16_COMPUTING_SUPPORTED", lambda _: 1),
    ("cnrtAttrINT8ComputingSupported", "INT8_COMPUTING_SUPPORTED", lambda _: 1),
    (
        "cnrtAttrBF16ComputingSupported",
        "BF16_COMPUTING_SUPPORTED",
        lambda b: int(b.arch.bang_arch >= BFLOAT16_FROM),
    ),
    ("cnrtAttrIsMultipleTensorProcessor", "IS_MULTIPLE_TENSOR_PROCESSOR", lambda _: 1),
    # Features that the simulator lacks: error correction, modes, priorities, notifiers between processes.
    ("cnrtAttrEccEnable", "ECC_ENABLED", lambda _: 0),
    ("cnrtAttrComputeMode", "COMPUTE_MODE", lambda _: 0),
    ("cnrtAttrSupportQueuePriorities", "QUEUE_PRIORITIES_SUPPORTED", lambda _: 0),
    ("cnrtAttrIPCNotifierSupported", "IPCNOTIFIER_SUPPORTED", lambda _: 1),
    ("cnrtAttrPciBusID", "PCI_BUS_ID", lambda _: 0),
    ("cnrtAttrPciDeviceID", "PCI_DEVICE_ID", lambda _: 0),
    ("cnrtAttrPciDomainID", "PCI_DOMAIN_ID", lambda _: 0),
)
_DRIVER = "CN_DEVICE_ATTRIBUTE_"
_RATED = ("int4", "int8", "int16", "half", "bfloat16", "float")


def _rate(rates: str, dtype: str, board: Board) -> int:
    """Return how many elements of *dtype* a core of *board* processes per cycle, from the table *rates*; 0 if no rate is published."""
    return int(getattr(board.arch, rates).get(dtype, 0))


ATTRIBUTES: Mapping[str, Answer] = {
    **{name: answer for name, _, answer in _BOTH},
    **{_DRIVER + name: answer for _, name, answer in _BOTH},
    # Otherwise a program would use all available memory for its pool.
    _DRIVER + "LINEAR_MAPPING_SUPPORTED": lambda _: 0,
    _DRIVER + "LINEAR_RECOMMEND_GRANULARITY": lambda _: 2 << 20,  # inferred
    "mlusimBandwidthMB": lambda b: b.bandwidth // 1_000_000,  # of GDRAM, MB/s
    **{f"mlusimTensor_{name}": functools.partial(_rate, "tensor_macs", name) for name in _RATED},
    **{f"mlusimVector_{name}": functools.partial(_rate, "vector_flops", name) for name in _RATED},
}


# Conversion of a launch's argument bytes to arguments of `Device.launch`, by the types of the kernel's
# parameters.

Reader = Callable[[bytes, int], Any]
Pointing = Callable[..., Any]
"""Converts a device address to a pointer; raises for an address without memory, unless it is ``inside`` of a structure."""

FORMATS: Mapping[tuple[str, int], str] = {
    ("bool", 1): "<?", ("int", 1): "<b", ("int", 2): "<h", ("int", 4): "<i", ("int", 8): "<q", ("uint", 1): "<B",
    ("uint", 2): "<H", ("uint", 4): "<I", ("uint", 8): "<Q", ("float", 2): "<e", ("float", 4): "<f", ("float", 8): "<d",
}  # fmt: skip
"""The `struct` format of a number, by its kind and size; bfloat16 has none."""


def reader(kind: t.Type, pointing: Pointing, *, inside: bool = False) -> Reader:
    """Return a function that reads a value of type *kind* from bytes at an offset.  Raises `LaunchError` for a type that no host passes."""
    if isinstance(kind, t.Pointer):
        unpack = struct.Struct("<Q").unpack_from
        return lambda data, at: pointing(unpack(data, at)[0], inside=inside)
    if isinstance(kind, t.Arithmetic):
        if kind.name.startswith(("bfloat16", "__bf16")):  # struct has no format for it
            return lambda data, at: float(np.frombuffer(data, bfloat16, 1, at)[0])
        number = struct.Struct(FORMATS[kind.kind, kind.size]).unpack_from
        return lambda data, at: number(data, at)[0]
    if isinstance(kind, t.Array):
        element, size, count = reader(kind.of, pointing, inside=True), kind.of.size, kind.count
        return lambda data, at: tuple(element(data, at + i * size) for i in range(count))
    if isinstance(kind, t.Struct):
        fields = [(reader(f.type, pointing, inside=True), f.offset) for f in kind.fields]
        return lambda data, at: tuple(read(data, at + offset) for read, offset in fields)
    raise LaunchError(
        f"a parameter of type {kind} cannot come from the host; pass a number, a pointer or a structure"
    )


class ArgumentReader:
    """The arguments of one kernel: their total size in bytes, and their values read from consecutive bytes."""

    def __init__(self, parameters: Sequence[ir.Local], pointing: Pointing) -> None:
        self.sizes = [p.type.size for p in parameters]
        self._readers: list[tuple[Reader, int]] = []
        at = 0
        for parameter, size in zip(parameters, self.sizes, strict=True):
            self._readers.append((reader(parameter.type, pointing), at))
            at += size
        self.nbytes = at

    def __call__(self, data: bytes) -> list[Any]:
        """Return the values.  Raises `LaunchError` if a pointer points to no memory."""
        return [read(data, at) for read, at in self._readers]
