"""The C door of strided rows: pieces that repeat at distances in bytes, on the vector unit.

As `engine.strides` has it; where pieces go backwards or meet each other, Python looks.
"""

from collections.abc import Callable, Iterator, Sequence

from mlusim.engine.strides import MOST
from mlusim.formula.expr import Expr
from mlusim.isa.declare import Operand


def repetitions(o: Operand, formula: Callable[[Expr], str]) -> Iterator[str]:
    """How often the pieces of *o* repeat, and how far apart they begin; without strides there is one."""
    if not o.strides:
        yield f"  enum {{ more_{o.name} = 0, step_{o.name} = 0 }};"
        return
    ((stride, more),) = o.strides
    yield f"  const int64_t more_{o.name} = {formula(more)}, step_{o.name} = more_{o.name} ? {formula(stride)} : 0;"


def repetition_conditions(o: Operand, extent: str) -> Iterator[str]:
    """Render the conditions under which C leaves the repetitions of *o*, whose pieces have *extent* bytes, to Python."""
    least = "0" if o.access == "read" else extent
    yield f"more_{o.name} < 0 || more_{o.name} > {MOST} || (more_{o.name} && step_{o.name} < {least})"


def spanned(o: Operand, extent: str) -> str:
    """Render the bytes from the first of *o* to its last."""
    return f"(more_{o.name} * step_{o.name} + {extent})"


def accounts(number: int, operands: Sequence[Operand], extent: Callable[[Operand], str]) -> Iterator[str]:
    """Render the work of row *number*: the lines of the operand that takes most, piece by piece."""
    yield "  int64_t paid_ = 0, used_ = 0;"
    for o in operands:
        pieces, nbytes = f"(more_{o.name} + 1)", f"({extent(o)})"
        yield f"  paid_ = larger_(paid_, {pieces} * (({nbytes} + LINE - 1) / LINE)); used_ = larger_(used_, {pieces} * {nbytes});"
    yield f"  m->counts[{number}]++; m->work[W_VECTOR] += paid_ + START;"
    yield f"  ((int64_t *)m->lines)[{number}] += paid_; ((int64_t *)m->spare)[{number}] += paid_ * LINE - used_;"
