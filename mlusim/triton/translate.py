"""Translates TTIR to BANG C, with the operations of all files in this package."""

from mlusim.arch.board import Board
from mlusim.errors import Unsupported
from mlusim.triton import control, copies, elementwise, pipeline, reductions, shapes, ttir
from mlusim.triton.lowering import KernelLowering, Operations, c_type, pointed_type
from mlusim.triton.text import TAKEN, Written

OPERATIONS: Operations = {
    **elementwise.OPERATIONS,
    **copies.OPERATIONS,
    **shapes.OPERATIONS,
    **control.OPERATIONS,
    **pipeline.OPERATIONS,
    **reductions.OPERATIONS,
}


def translate(text: str, board: Board, num_stages: int = 1) -> Written:
    """Return the kernel in *text* (TTIR as Triton prints it) as BANG C for *board*; *num_stages* is the default of its loops.

    Raises `Unsupported`, with the line of the Python file, for operations that cannot be lowered, and
    `OutOfRoom`.
    """
    function = ttir.read(text)
    for word in (function.name, *(name for name, _ in function.parameters)):
        if word in TAKEN:
            raise Unsupported(
                f"{word} in {function.name} is a word of C; give the kernel or the parameter another name"
            )
    low = KernelLowering(function, board.arch.bang_arch, OPERATIONS, num_stages)
    # One pass is enough: only the lifetimes of blocks depend on later uses, and they are computed at the end.
    low.body(function.body)
    low.text.place = function.place
    return low.text.written(
        function.name, [(_parameter(k), n) for n, k in function.parameters], board.arch.limits(compiled=True)
    )


def _parameter(kind: str) -> str:
    if kind.startswith("!tt.ptr"):
        return f"{pointed_type(kind)} *"
    if "<" in kind:
        raise Unsupported(f"a parameter of type {kind} has no form in BANG C; pass a pointer")
    return c_type(kind)
