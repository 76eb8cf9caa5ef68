"""What ``cncc`` embeds in an object about its device code, and the module that the simulator makes of it.

A record is data: reading one runs nothing of it.
"""

import json
import re
import struct
import zlib
from collections.abc import Mapping
from typing import Any

from attrs import define, frozen

import mlusim
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.frontend.bangc.entry import BangKernel
from mlusim.frontend.bangc.module import Module
from mlusim.frontend.bangc.parse.unit import Options

MAGIC = b"MLUSIMR1"
"""Before the length of a record, u64, and its bytes."""
_STUB = re.compile(r"(\d+)__device_stub__")


@frozen
class RecordSource:
    """Where device code came from: the file, folders and macros of its parse, and the board of its architecture."""

    path: str
    include: tuple[str, ...]
    define: tuple[tuple[str, str | None], ...]
    boards: tuple[str, ...]


def write(source: RecordSource) -> bytes:
    """A record of *source*, as clang embeds it."""
    document = {
        "mlusim": mlusim.__version__,
        "source": source.path,
        "include": source.include,
        "define": source.define,
        "boards": source.boards,
    }
    payload = zlib.compress(json.dumps(document).encode())
    return MAGIC + struct.pack("<Q", len(payload)) + payload


def symbol_of_stub(symbol: str) -> str:
    """A kernel's own mangled name: the parser, which sees the host's side, gives that of the stub."""
    return _STUB.sub(lambda found: str(int(found[1]) - len("__device_stub__")), symbol)


@define(eq=False)
class RecordModule:
    """The kernels of a record by their mangled names."""

    module: Module
    symbols: Mapping[str, str]

    def __getitem__(self, symbol: str) -> BangKernel:
        """The kernel whose mangled name is *symbol*.  Raises `UsageError` where the record has none."""
        found = self.symbols.get(symbol)
        if found is None:
            have = ", ".join(self.symbols) or "none"
            raise UsageError(f"the program was compiled without the kernel {symbol}; it has {have}")
        return self.module.kernel_of_symbol(found)


def read(payload: bytes) -> RecordModule:
    """The module of a record's bytes behind its head.  Raises `UsageError` for one that is broken or of another version."""
    document = _document(payload)
    source, boards = document["source"], document["boards"]
    defines = tuple((name, value) for name, value in document["define"])
    module = Module(
        [source], Options(tuple(document["include"]), defines, find_board(boards[0]), vouched=True)
    )
    symbols = {symbol_of_stub(f.symbol): f.symbol for _, f in module.functions_of("kernel")}
    return RecordModule(module, symbols)


def _document(payload: bytes) -> dict[str, Any]:
    try:
        document: dict[str, Any] = json.loads(zlib.decompress(payload))
        version = document["mlusim"]
    except (zlib.error, ValueError, TypeError, KeyError):
        raise UsageError(
            "the record of the program's kernels is damaged; compile it again with cncc"
        ) from None
    if version != mlusim.__version__:
        raise UsageError(
            f"the program was compiled with mlusim {version} and this is {mlusim.__version__}; compile it again"
        )
    return document
