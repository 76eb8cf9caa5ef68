"""Names of declarations: the variables in which a kernel's source keeps them."""

import ast
import functools
import linecache
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from attrs import frozen

from mlusim.arch.dtypes import DType
from mlusim.memory.allocation import Allocation

if TYPE_CHECKING:
    from mlusim.machine.core import Core

# C spells the memories as qualifiers, Python as methods of mlu.
_QUALIFIERS = {"nram": "NRAM", "wram": "WRAM", "mlu_shared": "SRAM", "ldram": "LDRAM"}
_QUALIFIED = re.compile(r"__(nram|wram|mlu_shared|ldram)__")
_ARRAY = re.compile(r"([A-Za-z_]\w*)\s*\[")
_CALLS = {"nram": "NRAM", "wram": "WRAM", "shared": "SRAM", "ldram": "LDRAM"}


@frozen
class DeclaringCall:
    """A call that declares memory: its line, which memory, and the variable that keeps it, if one does.

    With ``many`` the call is the element of a list, and is executed once for each of its places.
    """

    line: int
    space: str
    name: str | None
    many: bool = False


def declared(cores: "Sequence[Core]", allocation: Allocation) -> tuple[str | None, DType | None]:
    """Return the variable that the kernel keeps a declaration in, as its source has it, and the element type.

    ``row``, ``pair[1]`` for an element of a list; None for what cannot be told.
    """
    found = allocation.declared
    if not found.file:
        return None, None
    dtype = found.dtype
    if found.name is not None:
        return found.name, dtype
    lines = linecache.getlines(found.file)
    every = _declarations("".join(lines)) if found.file.endswith(".py") else _in_c(lines, found.line)
    calls = [d for d in every if d.line == found.line and d.space == allocation.space.name]
    if len(calls) == 1 and not calls[0].many:
        return calls[0].name, dtype
    at = _place(cores, allocation)
    # A list beside other calls in one line: how often each of them ran cannot be told.
    if not calls or at is None or (len(calls) > 1 and any(d.many for d in calls)):
        return None, dtype
    # A line in a loop declares as many again with each pass.
    call = calls[at % len(calls)]
    return f"{call.name}[{at}]" if call.many and call.name is not None else call.name, dtype


def _in_c(lines: list[str], line: int) -> Iterator[DeclaringCall]:
    """Yield the arrays that one line of BANG C declares in a memory of the chip."""
    text = lines[line - 1] if 0 < line <= len(lines) else ""
    space = _QUALIFIED.search(text)
    if space is not None:
        for name in _ARRAY.findall(text, space.end()):
            yield DeclaringCall(line, _QUALIFIERS[space[1]], name)


def _place(cores: "Sequence[Core]", allocation: Allocation) -> int | None:
    """Return how many declarations of the same line its memory has before it; None where its task has ended."""
    for core in cores:
        arenas = [*core.arenas.values(), *([core.cluster.sram] if core.cluster is not None else [])]
        for arena in arenas:
            if allocation in arena.allocations:
                where = allocation.declared.file, allocation.declared.line
                same = [a for a in arena.allocations if (a.declared.file, a.declared.line) == where]
                return same.index(allocation)
    return None


@functools.lru_cache(maxsize=32)
def _declarations(source: str) -> tuple[DeclaringCall, ...]:
    """Return every declaration of a module, in the order of its source."""
    try:
        tree = ast.parse(source)
    # The text may be edited while it is debugged; the variable has no name then, and nothing else is lost.
    except (SyntaxError, ValueError):
        return ()
    names: dict[ast.AST, tuple[str, bool]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            names |= {call: (name, many) for call, name, many in _kept(node.targets[0], node.value)}
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            names |= {call: (name, many) for call, name, many in _kept(node.target, node.value)}
    calls = sorted((n for n in ast.walk(tree) if _space(n)), key=lambda n: (n.lineno, n.col_offset))  # type: ignore[attr-defined]
    return tuple(
        DeclaringCall(call.lineno, _space(call), *names.get(call, (None, False)))  # type: ignore[attr-defined]
        for call in calls
    )


def _space(node: ast.AST | None) -> str:
    """Return the memory that a call declares, or nothing."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    # A plain name before the dot, as in mlu.nram; a method of what is computed declares nothing.
    return _CALLS.get(node.func.attr, "") if isinstance(node.func.value, ast.Name) else ""


def _kept(target: ast.AST, value: ast.AST) -> Iterator[tuple[ast.AST, str, bool]]:
    """Yield the declarations in *value*, and how *target* names them."""
    if isinstance(target, ast.Tuple | ast.List):
        # What is unpacked from anything but a literal has no expression of its own for each name.
        if isinstance(value, ast.Tuple | ast.List) and len(value.elts) == len(target.elts):
            for one, given in zip(target.elts, value.elts, strict=True):
                yield from _kept(one, given)
        return
    name = ast.unparse(target)
    if _space(value):
        yield value, name, False
    elif isinstance(value, ast.Tuple | ast.List):
        yield from ((one, f"{name}[{n}]", False) for n, one in enumerate(value.elts) if _space(one))
    elif isinstance(value, ast.ListComp) and _space(value.elt) and len(value.generators) == 1:
        yield value.elt, name, True
