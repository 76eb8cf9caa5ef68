"""``mlusim isa WORD``: what a kernel writes that is no intrinsic (built-in variables, memories, copy directions)."""

import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from mlusim.arch.board import Arch
from mlusim.arch.catalog import find_board
from mlusim.cli.isa_page import USUAL
from mlusim.engine.routes import routes
from mlusim.machine.mlu import Mlu
from mlusim.memory.direction import DIRECTIONS, Direction

BUILT_IN: Mapping[str, str] = MappingProxyType(
    {name: text for name, text in vars(Mlu)["__slots__"].items() if text}
)
MEMORIES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "nram": ("__nram__", "NRAM"),
        "wram": ("__wram__", "WRAM"),
        "ldram": ("__ldram__", "LDRAM"),
        "shared": ("__mlu_shared__", "SRAM"),
    }
)


def word_of(name: str) -> dict[str, Any] | None:
    """Return the meaning of *name*, in any case and with or without underscores, where it is a word of kernels but no intrinsic."""
    bare = name.strip("_").lower()
    for word, meaning in BUILT_IN.items():
        if bare == word.lower():
            return {
                "name": word,
                "kind": "built-in variable",
                "python": f"mlu.{word}",
                "c": f"__{word}__" if word.isupper() else word,
                "doc": f"{meaning}.",
            }
    for word, (spelling, space) in MEMORIES.items():
        if bare in (word, spelling.strip("_"), space.lower()):
            method = getattr(Mlu, word)
            given = ", ".join(str(p) for p in list(inspect.signature(method).parameters)[1:])
            return {
                "name": word,
                "kind": f"declaration of {space}",
                "python": f"name = mlu.{word}({given})",
                "c": f"{spelling} T name[count];",
                "doc": inspect.getdoc(method) or "",
            }
    for token in DIRECTIONS:
        if bare == token.name.lower():
            return _direction(token)
    return None


def _direction(token: Direction) -> dict[str, Any]:
    arch = find_board(USUAL).arch
    return {
        "name": token.name,
        "kind": "copy direction",
        "python": f"mlu.memcpy(dst, src, size, {token})",
        "c": f"__memcpy(dst, src, size, {token})",
        "doc": f"Number {token.value}: from {token.src} to {token.dst}, "
        f"on the {_lanes(arch, asynchronous=False)[token][0]} pipe; {', '.join(_forms(token, arch))}.",
    }


def _forms(token: Direction, arch: Arch) -> list[str]:
    blocking, starting = _lanes(arch, asynchronous=False), _lanes(arch, asynchronous=True)
    told = [f"__memcpy in {' '.join(blocking[token][1])}"]
    return [*told, f"__memcpy_async in {' '.join(starting[token][1])}"] if token in starting else told


def _lanes(arch: Arch, *, asynchronous: bool) -> dict[Direction, tuple[str, list[str]]]:
    """Return the pipe of each direction, and the forms that take it."""
    known = routes(arch, memory_core=False, block=False)
    forms = {
        name: known.form(numbers, asynchronous) for name, numbers in (("1-D", 0), ("2-D", 3), ("3-D", 8))
    }
    every = [token for token in DIRECTIONS if any(token in lanes for lanes in forms.values())]
    return {
        token: (
            next(lanes[token].value for lanes in forms.values() if token in lanes),
            [name for name, lanes in forms.items() if token in lanes],
        )
        for token in every
    }


def directions_of(name: str) -> dict[Direction, tuple[str, list[str]]]:
    """Return the directions that the copy called *name* takes on an MLU370-X4: the pipe that carries each, and its forms."""
    return _lanes(find_board(USUAL).arch, asynchronous=name.endswith("_async"))
