"""Reads the text of an inline assembly statement: each of its instructions as a call of a row.

``%[name]`` and ``%0`` stand for operands of the statement, a bracket for memory behind one.  The suffix of a mnemonic
says the element type, which a pointer operand is cast to.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from attrs import frozen

from mlusim.arch.dtypes import DType, float32, half, int16, int32, uint16, uint32
from mlusim.errors import UsageError
from mlusim.isa.mlisa import MOST

TYPES: Mapping[str, DType] = MappingProxyType(
    {"f32": float32, "f16": half, "s32": int32, "u32": uint32, "s16": int16, "u16": uint16}
)


@frozen
class Reference:
    """An operand of the statement: its name or number, and the element type that it is cast to if it is memory."""

    name: str
    dtype: DType | None = None
    memory: bool = False


Argument = Reference | int | float | str


@frozen
class AssemblyCall:
    """A call of the row called ``row``; ``result`` is the operand of the statement that takes what it returns."""

    row: str
    arguments: tuple[Argument, ...] = ()
    result: Reference | None = None


def assembly_calls(text: str) -> tuple[AssemblyCall, ...]:
    """Return the calls that the instructions of *text* are, in order.

    Raises `UsageError` for an instruction that is not known here, or whose operands are others.
    """
    statements = (part.strip() for part in re.split(r"[;\n]", re.sub(r"//[^\n]*|/\*.*?\*/", "", text)))
    return tuple(_call(part) for part in _joined(statements))


def _joined(statements: Iterable[str]) -> list[str]:
    """Return the statements without the empty ones; a line that ends with a comma goes on in the next."""
    found: list[str] = []
    for part in statements:
        if found and found[-1].endswith(","):
            found[-1] += " " + part
        elif part:
            found.append(part)
    return found


def _call(text: str) -> AssemblyCall:
    mnemonic, _, rest = text.partition(" ")
    for known, read in INSTRUCTIONS.items():
        if mnemonic == known or mnemonic.startswith(f"{known}."):
            try:
                return read(mnemonic[len(known) :].lstrip("."), _operands(rest))  # what is left is the type
            # The readers below unpack operands without looking first; what does not unpack is another instruction.
            except (KeyError, IndexError, ValueError):
                raise UsageError(
                    f"`{text}` has other operands or another type than the `{known}` that is known"
                ) from None
    raise UsageError(
        f"`{mnemonic}` is no instruction of assembly that is known; these are: {', '.join(INSTRUCTIONS)}"
    )


def _operands(text: str) -> list[str]:
    """Return the operands between commas that stand in no parenthesis."""
    # The steps of `fuse` have their operands in parentheses, with commas of their own.
    return [part.strip() for part in re.split(r",(?![^(]*\))", text) if part.strip()]


def _argument(text: str, dtype: DType | None = None) -> Argument:
    """Parse one operand: memory, a register or a number."""
    memory = re.fullmatch(r"\[\s*%\[?(\w+)\]?\s*\]", text)
    if memory:
        return Reference(memory[1], dtype, memory=True)
    register = re.fullmatch(r"%\[?(\w+)\]?", text)
    if register:
        return Reference(register[1])
    # 0xE is a whole number although it has an E.
    return float(text) if re.search(r"[.eE]", text) and not text.startswith("0x") else int(text, 0)


def _sync(suffix: str, operands: list[str]) -> AssemblyCall:
    if suffix or operands:
        raise ValueError(operands)
    return AssemblyCall("sync")


def _fuse(suffix: str, operands: list[str]) -> AssemblyCall:
    dtype = TYPES[suffix]
    dst, count, src, *steps = operands
    chain: list[Argument] = []
    for step in steps:
        found = re.fullmatch(r"\.(\w+)\(\s*(.*?)\s*\)", step)
        if found is None:
            raise ValueError(step)
        name, value = found.groups()
        chain += [name, _argument(value, dtype) if value else 0]
    if not 1 <= len(steps) <= MOST:
        raise ValueError(steps)
    arguments = (_argument(dst, dtype), _argument(src, dtype), _argument(count), *chain)
    return AssemblyCall(f"mlisa_fuse_{len(steps)}", arguments)


def _div_scalar(suffix: str, operands: list[str]) -> AssemblyCall:
    dtype = TYPES[suffix]
    dst, src, value, count = operands
    return AssemblyCall(
        "mlisa_div_scalar", (_argument(dst, dtype), _argument(src, dtype), _argument(value), _argument(count))
    )


def _gather(suffix: str, operands: list[str]) -> AssemblyCall:
    if suffix != "nram.nram.nram.u32":
        raise ValueError(suffix)
    dst, src, offset, *counts = operands
    size, count, stride = counts
    arguments = (_argument(dst), _argument(src), _argument(offset, uint32))
    return AssemblyCall("mlisa_gather_vector", (*arguments, *map(_argument, (size, count, stride))))


def _index(suffix: str, operands: list[str]) -> AssemblyCall:
    dst, start, step = operands
    if suffix not in TYPES:
        raise ValueError(suffix)
    return AssemblyCall("vv_index", (_argument(dst), _argument(start), _argument(step)))


def _find_last(suffix: str, operands: list[str]) -> AssemblyCall:
    dst, value = operands
    target = _argument(dst)
    if suffix != "b32" or not isinstance(target, Reference):
        raise ValueError(suffix)
    return AssemblyCall("mlisa_findlast1", (_argument(value),), target)


INSTRUCTIONS: Mapping[str, Callable[[str, list[str]], AssemblyCall]] = MappingProxyType(
    {
        "sync": _sync,
        "fuse.nram": _fuse,
        "div.scalar.nram": _div_scalar,
        "gather.vector": _gather,
        "index.vvr": _index,
        "findlast1.gpr": _find_last,
    }
)
