"""Everything that decides how a task goes on while no other task changes anything: the same twice, and it goes round for ever."""

import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from types import CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

from mlusim.kernel_frames import OWN, own_file
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr, View

FRONT = OWN + "frontend" + os.sep  # mlusim's own code that kernels call for what they would do themselves
MANY = 100_000  # values; a state of more is like no other
_NEVER = itertools.count()


def state_of(core: Any) -> bytes:
    """Collect the state of *core*, which runs: its own memories, its variables, and where it is."""
    digest = blake2b(digest_size=16)
    for space, arena in core.used.items():
        digest.update(space.name.encode())
        if arena.raw is not None:
            digest.update(arena.raw[: arena.top])
    for part in core.variables():
        digest.update(part)
    return digest.digest()


def frames_here() -> Iterator[bytes]:
    """Yield the variables of the functions of a kernel in Python that are being called, and where each is."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way
    told = _Telling()
    while frame is not None:
        if _kernels(frame.f_code):
            yield from told.frame(frame)
        frame = frame.f_back


def _kernels(code: CodeType) -> bool:
    name = code.co_filename
    return name.startswith(FRONT) or not own_file(name)


class _Telling:
    """Tells values as bytes, each object once; those that two moments share are told alike, and so are equal ones."""

    def __init__(self) -> None:
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no number is that of another object

    def frame(self, frame: FrameType) -> Iterator[bytes]:
        """Collect the place of *frame*, and its variables."""
        yield f"{id(frame.f_code)}@{frame.f_lasti}".encode()
        yield from self._named(frame.f_locals.items())

    def _named(self, values: Iterable[tuple[Any, Any]]) -> Iterator[bytes]:
        for name, value in values:
            yield from self.value(name)
            yield from self.value(value)

    def value(self, value: Any) -> Iterator[bytes]:
        """Yield the content of *value*, or which object it is where its content is not the kernel's to change."""
        kind = value.__class__
        # Numbers that an observer follows, too.
        if isinstance(value, int | float | str | bytes | complex | None):
            yield repr(value).encode("utf-8", "backslashreplace") + b";"
        elif isinstance(value, np.generic):
            yield str(value.dtype).encode() + value.tobytes()
        elif kind is Ptr:
            yield from self.value(value.view)
            yield str(value.index).encode() + b";"
        elif kind is View:
            yield f"{id(value.allocation)},{value.dtype},{value.phase};".encode()
        elif id(value) in self._met:
            yield f"#{self._met[id(value)]};".encode()
        else:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)
            yield f"{kind.__qualname__}(".encode()
            yield from self._content(value, kind)
            yield b")"

    def _content(self, value: object, kind: type) -> Iterator[bytes]:
        if len(self._met) > MANY:
            yield str(next(_NEVER)).encode()
        elif isinstance(value, list | tuple | set | frozenset):
            yield from (part for item in value for part in self.value(item))
        elif isinstance(value, dict):
            yield from self._named(value.items())
        elif isinstance(value, np.ndarray):
            yield value.tobytes()
        elif isinstance(value, bytearray | memoryview):
            yield bytes(value)
        elif isinstance(value, itertools.count):
            yield repr(value).encode()
        elif isinstance(value, GeneratorType):
            if value.gi_frame is not None:
                yield from self.frame(value.gi_frame)
        elif _opaque(value, kind):
            yield str(id(value)).encode()
        else:
            yield from self._named(getattr(value, "__dict__", {}).items())
            slots = (slot for base in kind.__mro__ for slot in _slots(base))
            yield from self._named((slot, getattr(value, slot, None)) for slot in slots)


def _slots(base: type) -> Iterator[str]:
    slots = base.__dict__.get("__slots__", ())
    for slot in (slots,) if isinstance(slots, str) else slots:
        if slot not in ("__dict__", "__weakref__"):
            hidden = slot.startswith("__") and not slot.endswith("__")
            yield f"_{base.__name__.lstrip('_')}{slot}" if hidden else slot


def _opaque(value: object, kind: type) -> bool:
    """Return whether *value* is told apart by identity: code, types, the machine's own, and objects that show no content."""
    if isinstance(value, type | FunctionType | MethodType | ModuleType | Allocation):
        return True
    module = str(kind.__module__)
    if module.startswith("mlusim.") and not module.startswith("mlusim.frontend.bangc.runtime"):
        return True
    return not hasattr(value, "__dict__") and not any(map(_has_slots, kind.__mro__))


def _has_slots(base: type) -> bool:
    return "__slots__" in base.__dict__
