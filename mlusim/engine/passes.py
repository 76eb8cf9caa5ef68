"""What the compute stream is charged for a row: lines, further passes of functions, elements that change places, products."""

from collections.abc import Iterator

from mlusim.isa.declare import Passes
from mlusim.time import work


def vector_work(passes: Passes, count: str) -> str:
    """The line of code that charges an instruction of *count* elements, of which ``paid`` lines were counted."""
    if passes is Passes.TRANSPOSE:
        return f"mlu.work[{work.VECTOR}] += {work.START}; mlu.work[{work.TRANSPOSED}] += {count}"
    lines = f"mlu.work[{work.VECTOR}] += paid + {work.START}"
    return f"{lines}; mlu.work[{work.FUNCTIONS}] += paid" if passes is Passes.FUNCTION else lines


def tensor_work(count: str, n: int) -> Iterator[str]:
    """The lines that charge *count* products of the type of operand *n*."""
    yield f"products = {count}"
    yield f"mlu.work[{work.TENSOR}] += products"
    yield f"mlu.work[{work.TENSOR_CYCLES}] += -(-products // macs[v{n}.dtype]) + {work.TENSOR_SETUP}"
