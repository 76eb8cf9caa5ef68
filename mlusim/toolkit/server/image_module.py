"""The module that the simulator makes from an image, which is data: reading it runs none of it."""

import json
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import define

import mlusim
from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.bangc import form_data, ir, types as t
from mlusim.bangc.fitting import device_variable
from mlusim.bangc.form_data import Translated
from mlusim.bangc.module import BangKernel, Module
from mlusim.bangc.parse.sources import Options
from mlusim.errors import UsageError
from mlusim.machine.kernel import DeviceVariable
from mlusim.toolkit.image import HEAD, symbol_of, variable_at

DAMAGED = "the image of the program's kernels is damaged; compile it again with cncc"


@define(eq=False)
class ImageModule:
    """The kernels of an image by their mangled names."""

    module: Module
    symbols: Mapping[str, str]

    def __getitem__(self, symbol: str) -> BangKernel:
        """Return the kernel with the mangled name, or an unambiguous plain name, *symbol*.  Raises `UsageError` if the image has none."""
        mangled = self.symbols.get(symbol)
        if mangled is None:
            functions = self.module.files[0].form.functions
            same = [s for s in self.symbols.values() if functions[s].scope + functions[s].name == symbol]
            mangled = same[0] if len(same) == 1 else None
        if mangled is None:
            have = ", ".join(self.symbols) or "none"
            raise UsageError(f"the program was compiled without the kernel {symbol}; it has {have}")
        return self.module.kernel_of_symbol(mangled)

    def variable(self, symbol: str) -> DeviceVariable | None:
        """Return the GDRAM variable with the mangled name *symbol*; None if the image's code does not use it."""
        file = self.module.files[0]
        variable = file.form.globals.get(symbol)
        if variable is None:
            variable = next((other for other in file.form.globals.values() if other.name == symbol), None)
        return None if variable is None else device_variable(variable, file.home)

    def constant(self, symbol: str) -> DeviceVariable | None:
        """Return the ``__mlu_const__`` variable that is *symbol* on the host; None if the image's code does not load it."""
        file = self.module.files[0]
        plain = re.sub(r"L(?=\d)", "", symbol, count=1)  # each file has its own, marked in its name
        names = (symbol, plain, re.sub(r"^_Z\d+", "", plain))
        variable = next(filter(None, map(file.form.globals.get, names)), None)
        if variable is None or variable.space != ir.GDRAM:
            return None
        if isinstance(variable.type, t.Arithmetic) and not variable.copied:
            return None
        return device_variable(variable, file.home)


def constant_at(path: Path, offset: int, modules: Sequence[ImageModule]) -> DeviceVariable:
    """Return the ``__mlu_const__`` variable at *offset* bytes from the load address of the file *path* on the host.

    Raises `UsageError` if none or more than one of *modules* has it.
    """
    name = variable_at(path.read_bytes(), offset)
    constants = [constant for constant in (m.constant(name) for m in modules if name) if constant is not None]
    if len(constants) > 1:
        raise UsageError(f"several files have a __mlu_const__ variable {name}; rename it in all but one")
    if not constants:
        raise UsageError(
            "this is not a __mlu_device__ or __mlu_const__ variable that code of the device uses; a __mlu_const__ number with a value stands in the instructions "
            "of kernels unless its file copies to or from symbols, and a program without symbols, as `strip` leaves it, has no names"
        )
    return constants[0]


def read(payload: bytes, others: Sequence[bytes] = (), bang_arch: int | None = None) -> ImageModule:
    """Parse an image's bytes after its magic, for the architecture *bang_arch* (None: the first in it).

    Those of *others*, the program's images, that define functions which it only declares are joined to it.
    Raises `UsageError` for an image that is broken, of another version, or without that architecture.
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
    kernels = (f for f in unit.form.functions.values() if f.kind == "kernel" and not f.external)
    return ImageModule(module, {symbol_of(f): f.symbol for f in kernels})


def _form(payload: bytes, bang_arch: int | None) -> tuple[str, Board, Translated]:
    head, start = _head(payload)
    # Including the schema, since development states of one version may have different forms.
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
        (size,) = HEAD.unpack_from(payload)
        start = HEAD.size + size
        head = json.loads(payload[HEAD.size : start])
    except (struct.error, ValueError, RecursionError):  # of JSON that is nested too deeply
        raise UsageError(DAMAGED) from None
    if not isinstance(head, dict):
        raise UsageError(DAMAGED)
    return head, start
