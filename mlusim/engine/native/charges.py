"""The charges of a recipe as C: what an instruction adds to the counters of its core."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from mlusim.arch.pipe import Pipe
from mlusim.engine.recipes import steps
from mlusim.isa.declare import Operand, Passes
from mlusim.time.work import IN_SRAM, READS, TENSOR_SETUP, WRITES, macs

if TYPE_CHECKING:
    from mlusim.arch.board import Arch
    from mlusim.arch.dtypes import DType
    from mlusim.formula.expr import Expr


PRODUCTS = 8  # of the tensor unit take as long as a byte of a simple instruction: roughly


class DoorCall(Protocol):
    """A call of a row whose types are known."""

    number: int
    scalars: frozenset[str]
    arch: "Arch"

    @property
    def types(self) -> Mapping[str, "DType"]:
        """The element type of each operand."""

    def formula(self, formula: "Expr", operand: Operand) -> str:
        """Render a formula of the row in C, as *operand* sees it."""


def charges(recipe: Sequence[object], call: DoorCall) -> Iterator[str]:
    """Render the lines that count one execution, and its work unless it is of an operand that is a number in *call*."""
    charged = False
    for step in recipe:
        match step:
            case steps.ChargeVector(amount=amount) if amount.operand.name not in call.scalars:
                yield _vector(step, call)
                charged = True
            case steps.Count():
                counted = f"  m->counts[{call.number}]++;"
            case steps.ChargeScalar():
                yield f"{counted} m->work[W_SCALAR]++;"
                charged = True
            case steps.AccessScalar():
                yield from _access(step, counted)
                charged = True
            case steps.ChargeTensor():
                yield f"{counted} {_tensor(step, call)}"
                charged = True
            case steps.ChargeTransfer(amount=amount) if amount.operand.name not in call.scalars:
                yield counted
                yield from _transfer(step, call)
                charged = True
    if not charged:
        yield counted


def _access(step: steps.AccessScalar, counted: str) -> Iterator[str]:
    """Yield C that accounts for loads and stores as for those through a pointer."""
    o = step.operand
    places = "loads" if step.stored is None else "stores"
    yield f"{counted} m->{places}[a_{o.name}.a->space]++;"
    if step.stored is None and any(s.shared for s in o.spaces):
        yield f"  m->site = site; poll_load(m, a_{o.name}.a->address + (uint64_t)a_{o.name}.o);"


def _vector(step: steps.ChargeVector, call: DoorCall) -> str:
    """Return the lines of the vector unit; the function of the run-time counts the instruction too."""
    width = max(call.types[o.name].size for o in (step.width.lead, *step.width.beside))
    count = call.formula(step.amount.extent, step.amount.operand)
    used = f"{count} * {max(width, step.width.least)}"
    match step.passes:
        case Passes.TRANSPOSE:
            return f"  transpose_(m, {call.number}, {used}, {count});"
        case Passes.FUNCTION | Passes.EXPONENTIAL | Passes.REDUCTION:
            return f"  passes_(m, {call.number}, {used}, W_{step.passes.name}S);"
    return f"  vector_(m, {call.number}, {used});"


def _tensor(step: steps.ChargeTensor, call: DoorCall) -> str:
    lead = step.amount.operand
    rate = macs(call.arch)[call.types[lead.name]]
    return (
        f"const int64_t products_ = {call.formula(step.amount.extent, lead)}; m->work[W_TENSOR] += products_; "
        f"m->work[W_TENSOR_CYCLES] += (products_ + {rate - 1}) / {rate} + {TENSOR_SETUP}; m->fuel -= products_ / {PRODUCTS};"
    )


def _transfer(step: steps.ChargeTransfer, call: DoorCall) -> Iterator[str]:
    lead = step.amount.operand
    count = call.formula(step.amount.extent, lead)
    nbytes = f"{count} * {call.types[lead.name].size}"
    if step.pipe is Pipe.MOVE:
        yield f"  move_line(m, {IN_SRAM[step.direction.value]}, {nbytes});"
        return
    reads, writes = (int(sides[step.direction.value]) for sides in (READS, WRITES))
    yield f"  io_line(m, {reads}, {writes}, a_{lead.name}.o, a_{lead.name}.o, {nbytes});"
    if step.atomic:
        yield f"  m->work[W_ATOMICS] += {count};"
