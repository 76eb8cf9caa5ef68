"""What ``cncc`` embeds in an object about its device code, and the module that the simulator makes of it.

A record is data: reading one runs nothing of it.  Behind a head of JSON are the forms of the file, one for each architecture.
"""

import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from attrs import define, evolve

import mlusim
from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.frontend.bangc import form_data, ir
from mlusim.frontend.bangc.entry import BangKernel
from mlusim.frontend.bangc.ir.walk import walk
from mlusim.frontend.bangc.module import Module
from mlusim.frontend.bangc.parse.unit import Options
from mlusim.frontend.bangc.translated import Translated
from mlusim.toolkit.embedded import RecordSource

MAGIC = b"MLUSIMR1"
"""Before the length of a record, u64, and its bytes."""
DAMAGED = "the record of the program's kernels is damaged; compile it again with cncc"
_STUB = re.compile(r"(\d+)__device_stub__")
_HEAD = struct.Struct("<I")


def write(source: RecordSource, forms: Sequence[ir.TranslationUnit]) -> bytes:
    """A record of *source*, as clang embeds it, with what its kernels reach of *forms*, one for each board."""
    contents = [form_data.write(Translated(device_side(form), (), {})) for form in forms]
    head = {
        "mlusim": mlusim.__version__,
        "schema": form_data.schema(),
        "source": source.path,
        "include": source.include,
        "define": source.define,
        "boards": [board.name for board in source.boards],
        "bytes": [len(content) for content in contents],
    }
    text = json.dumps(head).encode()
    payload = b"".join([_HEAD.pack(len(text)), text, *contents])
    return MAGIC + struct.pack("<Q", len(payload)) + payload


def device_side(form: ir.TranslationUnit) -> ir.TranslationUnit:
    """*form* with its kernels, the functions of the device, and what those reach."""
    variables: dict[str, ir.Global] = {}
    kept = _closure(form, [s for s, f in form.functions.items() if f.kind != "host"], variables)
    return evolve(
        form,
        functions={s: f for s, f in form.functions.items() if s in kept},
        globals={s: g for s, g in form.globals.items() if s in variables},
        initialisers={s: e for s, e in form.initialisers.items() if s in variables},
        records={},
        enumerations={},
    )


def _closure(
    form: ir.TranslationUnit, symbols: Sequence[str], variables: dict[str, ir.Global]
) -> frozenset[str]:
    """*symbols* and what those functions reach; variables at file scope are added to *variables*."""
    kept: set[str] = set()
    seen: set[str] = set()
    work = list(symbols)
    while work:
        symbol = work.pop()
        if symbol not in form.functions or symbol in kept:
            continue
        kept.add(symbol)
        work += _reached(form.functions[symbol].body, variables)
        for name in variables.keys() - seen:
            seen.add(name)
            work += _reached(form.initialisers.get(name), variables)
    return frozenset(kept)


def _reached(node: Any, variables: dict[str, ir.Global]) -> Iterator[str]:
    """The symbols of functions in *node*; its variables at file scope are added to *variables*."""
    for one in walk(node):
        if isinstance(one, ir.GlobalPlace):
            variables[one.variable.symbol] = one.variable
        elif isinstance(one, ir.Call | ir.FunctionAddress):
            yield one.symbol
        elif isinstance(one, ir.Dispatch):
            yield from one.targets.values()


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


def read(payload: bytes, others: Sequence[bytes] = (), bang_arch: int | None = None) -> RecordModule:
    """The module of a record's bytes behind its head, for the architecture *bang_arch* (None: the first that it has).

    Of *others*, the program's records, those are joined that define what it only declares.
    Raises `UsageError` for a record that is broken, of another version, or without that architecture.
    """
    path, board, unit = _form(payload, bang_arch)
    units, paths = [unit], [path]
    if any(f.external and f.kind == "device" for f in unit.form.functions.values()):
        for other in others:
            if other != payload:
                place, _, joined = _form(other, board.arch.bang_arch)
                units.append(joined)
                paths.append(place)
    module = Module(paths, Options((), (), board), units)
    own = (f for f in unit.form.functions.values() if f.kind == "kernel" and not f.external)
    return RecordModule(module, {symbol_of_stub(f.symbol): f.symbol for f in own})


def _form(payload: bytes, bang_arch: int | None) -> tuple[str, Board, Translated]:
    """The source, the board and the form of a record."""
    head, start = _head(payload)
    if head.get("mlusim") != mlusim.__version__ or head.get("schema") != form_data.schema():
        raise UsageError(
            f"the program was compiled with mlusim {head.get('mlusim')!s:.40} and this is {mlusim.__version__}, "
            "or another state of it; compile it again"
        )
    try:
        boards = [find_board(name) for name in head["boards"]]
        sizes = [int(size) for size in head["bytes"]]
        arches = [board.arch.bang_arch for board in boards]
        number = 0 if bang_arch is None else arches.index(bang_arch) if bang_arch in arches else -1
        if number < 0:
            have = ", ".join(board.arch.name for board in boards)
            raise UsageError(
                f"the program was compiled for {have}, and this board has __BANG_ARCH__ {bang_arch}; "
                f"compile it with --bang-mlu-arch=mtp_{bang_arch}, or set MLUSIM_BOARD={boards[0].name}"
            )
        first = start + sum(sizes[:number])
        unit = form_data.read(payload[first : first + sizes[number]])
        return str(head["source"]), boards[number], unit
    except (form_data.DataError, KeyError, IndexError, TypeError, ValueError):
        raise UsageError(DAMAGED) from None


def _head(payload: bytes) -> tuple[dict[str, Any], int]:
    try:
        (size,) = _HEAD.unpack_from(payload)
        start = _HEAD.size + size
        head = json.loads(payload[_HEAD.size : start])
    except (struct.error, ValueError, RecursionError):
        raise UsageError(DAMAGED) from None
    if not isinstance(head, dict):
        raise UsageError(DAMAGED)
    return head, start
