"""The value for each parameter of a candidate's kernel or host function: an input, an output or a number.

By name first: the name of an input, an output, or a number; ``bind`` in the reference's file may rename parameters.
The other parameters are bound by position: pointers to const to the remaining inputs, in order; other pointers to the
remaining outputs; tensors of PyTorch to the remaining inputs and then, if the function returns no outputs, to the
outputs; a single integer to the number of elements, if all arrays have the same number and no parameter is a tensor.
Anything else is refused.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from mlusim.bangc import ir, types as t
from mlusim.errors import UsageError

INPUT, OUTPUT, BOTH, NUMBER, NOTHING = "input", "output", "both", "number", "nothing"
QUEUE = "cnrtQueue_t"
_TENSOR = re.compile(r"(?:const )?(?:torch::|at::)?Tensor(?: const)?(?: ?&)?")


@frozen
class GivenParameter:
    """The value for one parameter: its ``role``, and the name of the input, output or number (an in/out array has one name)."""

    parameter: str
    role: str
    name: str = ""
    value: float = 0


@frozen
class CallOffer:
    """The values available to a call: names of inputs and outputs in order, numbers, and the element counts of the arrays."""

    inputs: Sequence[str]
    outputs: Sequence[str]
    numbers: Mapping[str, float]
    elements: frozenset[int]
    bind: Mapping[str, str]
    weights: frozenset[str] = frozenset()


def bound(
    parameters: Sequence[ir.Local], offered: CallOffer, what: str, *, returns: bool = False
) -> list[GivenParameter]:
    """Bind each of *parameters* of *what* to a value; with *returns* it returns its outputs instead of storing them.

    Raises `UsageError`, with the names of the parameters that have no value.
    """
    if returns:
        offered = evolve(offered, outputs=())
    values: dict[int, GivenParameter] = {}
    for place, parameter in enumerate(parameters):
        by_name = _by_name(parameter, offered)
        if by_name is not None:
            values[place] = by_name
    taken = {b.name for b in values.values()}
    inputs = [n for n in offered.inputs if n not in taken]
    left = [p for n, p in enumerate(parameters) if n not in values]
    pairs = _in_order(left, inputs, [n for n in offered.outputs if n not in taken], offered.weights)
    by_place = {id(p): GivenParameter(p.source_name, INPUT if n in inputs else OUTPUT, n) for p, n in pairs}
    whole = [p for p in left if isinstance(p.type, t.Arithmetic) and p.type.whole and p.type.kind != "bool"]
    if len(whole) == 1 and len(offered.elements) == 1 and not any(map(_tensor, parameters)):
        (count,) = offered.elements
        by_place[id(whole[0])] = GivenParameter(whole[0].source_name, NUMBER, "", count)
    for place, parameter in enumerate(parameters):
        if place not in values and id(parameter) in by_place:
            values[place] = by_place[id(parameter)]
    missing = [p for n, p in enumerate(parameters) if n not in values]
    taken_names = {b.name for b in values.values()}
    if missing or not set(offered.outputs) <= taken_names:
        raise UsageError(_refusal(missing, offered, taken_names, what))
    return [values[n] for n in range(len(parameters))]


def _in_order(
    left: Sequence[ir.Local], inputs: Sequence[str], outputs: Sequence[str], weights: frozenset[str]
) -> list[tuple[ir.Local, str]]:
    """Pair the parameters in *left* with inputs and outputs in order; *weights* are inputs that may be omitted."""
    tensors = [p for p in left if _tensor(p)]
    reads = [p for p in left if isinstance(p.type, t.Pointer) and _const(p) and not _tensor(p)]
    writes = tensors or [p for p in left if isinstance(p.type, t.Pointer) and not _const(p)]
    for read in ([n for n in inputs if n not in weights], inputs):
        if len(reads) == len(read) and len(writes) == len(outputs):
            return [*zip(reads, read, strict=True), *zip(writes, outputs, strict=True)]
        if not reads and len(writes) == len(read) + len(outputs):
            # the source does not show which tensors are outputs: inputs come first
            return list(zip(writes, [*read, *outputs], strict=True))
    return []


def _by_name(parameter: ir.Local, offered: CallOffer) -> GivenParameter | None:
    spelled = parameter.source_name
    name = offered.bind.get(spelled, spelled)
    if parameter.spelling.startswith(QUEUE):
        return GivenParameter(spelled, NOTHING)
    if isinstance(parameter.type, t.Pointer) or _tensor(parameter):
        takes, gives = name in offered.inputs, name in offered.outputs
        if takes or gives:
            return GivenParameter(spelled, BOTH if takes and gives else INPUT if takes else OUTPUT, name)
        if name in ("null", "nullptr"):
            return GivenParameter(spelled, NOTHING)
    elif name in offered.numbers:
        return GivenParameter(spelled, NUMBER, name, offered.numbers[name])
    return None


def _tensor(parameter: ir.Local) -> bool:
    """Return whether *parameter* is a PyTorch tensor, which has its sizes; the source does not show whether it is an output."""
    return _TENSOR.fullmatch(parameter.spelling) is not None


def _const(parameter: ir.Local) -> bool:
    return parameter.spelling.startswith("const ") or " const *" in parameter.spelling


def _refusal(missing: Sequence[ir.Local], offered: CallOffer, stored: set[str], what: str) -> str:
    have = [f"{role} {', '.join(names)}" for role, names in (
        ("inputs", offered.inputs), ("outputs", offered.outputs), ("numbers", list(offered.numbers))) if names]  # fmt: skip
    if missing:
        names = ", ".join(f"{p.spelling} {p.source_name}".strip() for p in missing)
        start = f"{what} takes {names}, for which the reference has nothing"
    else:
        lost = ", ".join(n for n in offered.outputs if n not in stored)
        start = f"{what} has no parameter for the output {lost}"
    return f"{start}; it has {'; '.join(have)}: name parameters so, or write bind = {{'parameter': 'name'}} in its file"


def facts_of(offered: CallOffer) -> dict[str, Any]:
    """Return *offered* as plain data for JSON."""
    return {
        "inputs": list(offered.inputs),
        "outputs": list(offered.outputs),
        "numbers": dict(offered.numbers),
        "elements": sorted(offered.elements),
        "bind": dict(offered.bind),
        "weights": sorted(offered.weights),
    }


def offered_of(facts: Mapping[str, Any]) -> CallOffer:
    """Return the offer that `facts_of` was made from."""
    return CallOffer(
        facts["inputs"],
        facts["outputs"],
        facts["numbers"],
        frozenset(facts["elements"]),
        facts["bind"],
        frozenset(facts["weights"]),
    )
