"""The charges of a recipe as Python: what an instruction adds to the counters of its core.

They come before it is done, since what follows a vector's stores may stall.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from mlusim.arch.board import Pipe
from mlusim.engine.recipes import steps
from mlusim.isa.declare import Passes
from mlusim.time import copy_costs, quantities, work
from mlusim.time.work import VECTOR_BYTES as LINE

if TYPE_CHECKING:
    from mlusim.formula.expr import Expr
    from mlusim.isa.declare import Operand
    from mlusim.isa.parameters import Parameter

Lines = Iterator[str]


class WrittenMethod(Protocol):
    """The method that is written: its number in the table, and the numbers of its operands."""

    number: int
    at: Mapping[str, int]

    def expression(self, o: "Operand", formula: "Expr") -> str: ...


def _count(writer: WrittenMethod, step: steps.Count) -> Lines:
    del step
    yield f"mlu.counts[{writer.number}] += 1"


def _scalar(_: WrittenMethod, step: steps.ChargeScalar) -> Lines:
    del step
    yield f"mlu.work[{quantities.SCALAR}] += 1"


def _registers(writer: WrittenMethod, step: steps.ChargeRegisters) -> Lines:
    yield f"mlu.work[{quantities.VECTOR}] += {step.lines + copy_costs.START}"
    yield f"mlu.lines[{writer.number}] += {step.lines}"


def _amount(writer: WrittenMethod, amount: steps.ChargedElements) -> tuple[str, int]:
    """Return how many elements, and which operand's."""
    n = writer.at[amount.operand.name]
    if amount.whole:
        return f"(j{n} - i{n})", n
    return f"({writer.expression(amount.operand, amount.extent)})", n


def _vector(writer: WrittenMethod, step: steps.ChargeVector) -> Lines:
    (count, _), number = _amount(writer, step.amount), writer.number
    width = _width(writer, step.width)
    # A line is a power of two, so that a shift and a mask do, in what every vector instruction runs.
    yield f"used = {count} * {width}; paid = used + {LINE - 1} >> {LINE.bit_length() - 1}"
    yield _passes(step.passes, count)
    yield f"mlu.lines[{number}] += paid"
    yield f"if used & {LINE - 1}: mlu.spare[{number}] += -used & {LINE - 1}"
    extent = writer.expression(step.amount.operand, step.amount.extent)
    before = f"{_before_padding(step.counts, extent)} * {width}"
    # Lanes that a count was padded by are paid for, and nothing is computed in them.
    yield f"if unpadded is not None: mlu.spare[{number}] += used - {before}"


def _before_padding(counts: "Sequence[Parameter]", extent: str) -> str:
    """Return the code for *extent* with *counts* as they were before, which the code has as ``unpadded``."""
    names = [p.name for p in counts]
    if [extent] == names:
        return "unpadded"
    given = "unpadded" if len(names) == 1 else ", ".join(f"unpadded.get({n!r}, {n})" for n in names)
    return f"(lambda {', '.join(names)}: {extent})({given})"


def _passes(passes: Passes, count: str) -> str:
    """Render the line that charges an instruction of *count* elements, of which ``paid`` lines were counted."""
    if passes is Passes.TRANSPOSE:
        return f"mlu.work[{quantities.VECTOR}] += {copy_costs.START}; mlu.work[{quantities.TRANSPOSED}] += {count}"
    lines = f"mlu.work[{quantities.VECTOR}] += paid + {copy_costs.START}"
    place = work.SEVERAL.get(passes.name)
    return lines if place is None else f"{lines}; mlu.work[{place}] += paid"


def _width(writer: WrittenMethod, width: steps.Width) -> str:
    n = writer.at[width.lead.name]
    own = f"v{n}.itemsize"
    if width.beside:
        beside = ", ".join(f"v{writer.at[o.name]}.itemsize" for o in width.beside)
        own = f"max({own}, {beside})"
        return own if width.least == 1 else f"max({own}, {width.least})"
    # A view keeps the width of its lane, so that nothing is compared here.
    return own if width.least == 1 else f"v{n}.lane"


def _tensor(writer: WrittenMethod, step: steps.ChargeTensor) -> Lines:
    count, n = _amount(writer, step.amount)
    yield f"products = {count}"
    yield f"mlu.work[{quantities.TENSOR}] += products"
    yield f"mlu.work[{quantities.TENSOR_CYCLES}] += -(-products // macs[v{n}.dtype]) + {work.TENSOR_SETUP}"


def _transfer(writer: WrittenMethod, step: steps.ChargeTransfer) -> Lines:
    count, n = _amount(writer, step.amount)
    yield f"nbytes = {count} * v{n}.itemsize; start = v{n}.phase + i{n} * v{n}.itemsize"
    yield f"charge_line(mlu.work, {step.pipe.name}, {step.direction.value}, start, start, nbytes)"
    if step.atomic and step.pipe is Pipe.IO:
        yield f"mlu.work[{quantities.ATOMICS}] += {count}"


CHARGES: Mapping[type, Callable[[Any, Any], Lines]] = MappingProxyType(
    {
        steps.Count: _count,
        steps.ChargeScalar: _scalar,
        steps.ChargeRegisters: _registers,
        steps.ChargeVector: _vector,
        steps.ChargeTensor: _tensor,
        steps.ChargeTransfer: _transfer,
    }
)
