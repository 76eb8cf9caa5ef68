"""The state of a task: everything that determines its future while no other task changes anything.  A task that comes back to it loops for ever."""

import builtins
import dis
import functools
import itertools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from types import CellType, CodeType, FrameType, FunctionType, GeneratorType, MethodType, ModuleType
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.engine.contract import IssuingMlu
from mlusim.kernel_frames import OWN, own_file
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr, View
from mlusim.memory.space import Direction, Space

# The code of mlusim that runs on behalf of kernels
FRONT = OWN + "bangc" + os.sep, OWN + "mluops" + os.sep
MANY = 100_000  # values; a state with more is never equal to another
_NEVER = itertools.count()


def digest_of(variables: Iterable[bytes], memories: Mapping[Space, Any]) -> bytes:
    """Return a digest of *variables*, and of the contents of *memories*."""
    digest = blake2b(digest_size=16)
    for part in variables:
        digest.update(part)
    for space, arena in memories.items():
        digest.update(space.name.encode())
        if arena.raw is not None:
            digest.update(arena.raw[: arena.top])
    return digest.digest()


def frames_here() -> list[bytes]:
    """Return the variables of the active functions of a kernel in Python, and the position of each."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way
    told = _Telling()
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(FRONT) or not own_file(name):
            told.frame(frame)
        frame = frame.f_back
    return told.parts


class _Telling:
    """Converts values to bytes in ``parts``, each object once; the result is the same for objects that two moments share, and for equal ones."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no id is reused by another object

    def _say(self, text: str) -> None:
        self.parts.append(text.encode("utf-8", "backslashreplace"))

    def frame(self, frame: FrameType) -> None:
        """Collect the place of *frame*, and its variables."""
        self._say(f"{id(frame.f_code)}@{frame.f_lasti}")
        self._named(frame.f_locals.items())

    def _named(self, values: Iterable[tuple[Any, Any]]) -> None:
        for name, value in values:
            self.value(name)
            self.value(value)

    def value(self, value: Any) -> None:
        """Collect the content of *value*, or its identity if the kernel cannot change its content."""
        kind = value.__class__
        # Includes numbers that an observer follows.
        if isinstance(value, int | float | str | bytes | complex | None):
            self._say(f"{value!r};")
        elif isinstance(value, np.generic):
            self.parts += (str(value.dtype).encode(), value.tobytes())
        elif kind is Ptr:
            self.value(value.view)
            self._say(f"{value.index};")
        elif kind is View:
            self._say(f"{id(value.allocation)},{value.dtype},{value.phase};")
        elif id(value) in self._met:
            self._say(f"#{self._met[id(value)]};")
        else:
            self._met[id(value)] = len(self._met)
            self._kept.append(value)
            self._say(f"{kind.__qualname__}(")
            self._content(value, kind)
            self._say(")")

    def _content(self, value: object, kind: type) -> None:
        if len(self._met) > MANY:
            self._say(str(next(_NEVER)))
        elif _opaque(value, kind):
            self._say(str(id(value)))
        elif isinstance(value, list | tuple | set | frozenset):
            for item in value:
                self.value(item)
        elif isinstance(value, dict):
            self._named(value.items())
        elif isinstance(value, np.ndarray | memoryview):
            self.parts.append(value.tobytes())
        elif isinstance(value, bytearray | itertools.count):
            self._say(repr(value))
        elif isinstance(value, GeneratorType):
            if value.gi_frame is not None:
                self.frame(value.gi_frame)
        else:
            self._members(value, kind)

    def _members(self, value: Any, kind: type) -> None:
        if hasattr(kind, "may_change"):
            self.value(value.may_change())
            return
        self._named(getattr(value, "__dict__", {}).items())
        slots = (slot for base in kind.__mro__ for slot in _slots(base))
        self._named((slot, getattr(value, slot, None)) for slot in slots)


def _slots(base: type) -> Iterator[str]:
    slots = base.__dict__.get("__slots__", ())
    for slot in (slots,) if isinstance(slots, str) else slots:
        if slot not in ("__dict__", "__weakref__"):
            hidden = slot.startswith("__") and not slot.endswith("__")
            yield f"_{base.__name__.lstrip('_')}{slot}" if hidden else slot


_CONTENTS = (
    list,
    tuple,
    set,
    frozenset,
    dict,
    np.ndarray,
    bytearray,
    memoryview,
    itertools.count,
    GeneratorType,
)


def _opaque(value: object, kind: type) -> bool:
    """Return whether *value* is compared by identity: code, types, the machine's own objects, and objects without visible content."""
    if isinstance(value, type | FunctionType | MethodType | ModuleType | Allocation):
        return True
    if isinstance(value, _CONTENTS):
        return False
    module = str(kind.__module__)
    if module.startswith("mlusim.") and not module.startswith("mlusim.bangc.runtime"):
        return True
    return not hasattr(value, "__dict__") and not any("__slots__" in base.__dict__ for base in kind.__mro__)


# Whether a digest has everything.  The values that an expression has computed so far, and how far a loop has come in
# what it iterates over, are in no variable of a kernel in Python; neither is what lies outside of it: a clock, a file, random
# numbers.

_BARE = re.compile(
    "LOAD_(FAST|CONST|SMALL_INT|GLOBAL|DEREF|ATTR|METHOD)|STORE_(FAST|SUBSCR)|(COMPARE|CONTAINS|IS)_OP|BINARY_|UNARY_|TO_BOOL|"
    "PUSH_NULL|PRECALL|KW_NAMES|CALL(_KW)?$|POP_(TOP|JUMP|ITER)|JUMP_|RETURN_(VALUE|CONST)|RESUME|COPY(_FREE_VARS)?$|SWAP|"
    "NOP|NOT_TAKEN|CACHE|EXTENDED_ARG|BUILD_(TUPLE|SLICE)|UNPACK_SEQUENCE|GET_ITER|FOR_ITER|END_FOR"
)
"""The instructions of Python that change nothing but variables of their function, and the elements of what they are given."""
_LEAVES = re.compile("RETURN_|JUMP_(FORWARD|BACKWARD)")  # what never goes on to the next instruction
_CALLED = abs, bool, divmod, float, int, len, max, min, pow, range, round, tuple
_NUMBERS = int, float, complex, str, bytes, range, np.generic, type(None)
_MACHINE = IssuingMlu, Ptr, DType, Space, Direction


def shows_all() -> bool:
    """Return whether the variables of the kernel in Python, and its memories, determine what it does next."""
    frame: FrameType | None = sys._getframe()  # noqa: SLF001 - the only way
    while frame is not None:
        name = frame.f_code.co_filename
        if name.startswith(FRONT) or not own_file(name):
            depths = _depths(frame.f_code)
            # The result of the call that is going on will be all that the function has on its stack.
            if (
                depths is None
                or depths.get(frame.f_lasti) != 1
                or not _is_bare(frame.f_code, frame.f_globals)
            ):
                return False
            if not all(_is_shown(value, set()) for value in frame.f_locals.values()):
                return False
        frame = frame.f_back
    return True


def _is_shown(value: object, met: set[Any]) -> bool:
    """Return whether `value` shows all that *value* consists of, whose methods depend on nothing else; *met* are functions that have been asked of."""
    if isinstance(value, _MACHINE):
        return True
    if isinstance(value, _NUMBERS):
        return type(value).__module__.partition(".")[0] in ("builtins", "numpy", "ml_dtypes", "mlusim")
    if type(value) is tuple:
        return all(_is_shown(item, met) for item in value)
    if not isinstance(value, FunctionType):
        return False
    if value in met:
        return True
    met.add(value)
    cells = (_content_of(cell) for cell in value.__closure__ or ())
    bound = (*cells, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
    return _is_bare(value.__code__, value.__globals__, met) and all(_is_shown(item, met) for item in bound)


def _content_of(cell: CellType) -> Any:
    """Return what *cell* holds; something that is not shown if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return _NEVER


def _is_bare(code: CodeType, names: dict[str, Any], met: set[Any] | None = None) -> bool:
    """Return whether *code* does nothing but compute with what it is given and with shown values among the global *names*."""
    if _depths(code) is None:
        return False
    outside = (names.get(name, getattr(builtins, name, _NEVER)) for name in _globals_of(code))
    met = set() if met is None else met
    return all(any(value is f for f in _CALLED) or _is_shown(value, met) for value in outside)


@functools.lru_cache(maxsize=256)
def _globals_of(code: CodeType) -> frozenset[str]:
    """Return the global names that *code* uses."""
    return frozenset(i.argval for i in dis.get_instructions(code) if i.opname.startswith("LOAD_GLOBAL"))


@functools.lru_cache(maxsize=256)
def _depths(code: CodeType) -> dict[int, int] | None:
    """Return by the place of each instruction of *code*, its caches included, how many values are on the stack afterwards; None if some are not bare."""
    every = list(dis.get_instructions(code))
    if code.co_exceptiontable or not all(_BARE.match(i.opname) for i in every):
        return None
    places = {i.offset: n for n, i in enumerate(every)}
    ends = [*[i.offset for i in every[1:]], len(code.co_code)]
    depths: dict[int, int] = {}
    to_do = [(0, 0)]
    while to_do:
        at, depth = to_do.pop()
        while at < len(every) and every[at].offset not in depths:
            i = every[at]
            if i.opcode in _JUMPS:
                to_do.append((places[i.argval], depth + dis.stack_effect(i.opcode, i.arg, jump=True)))
            depth += dis.stack_effect(i.opcode, i.arg, jump=False)
            depths.update(dict.fromkeys(range(i.offset, ends[at], 2), depth))
            at = len(every) if _LEAVES.match(i.opname) else at + 1
    return depths


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
