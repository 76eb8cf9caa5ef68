"""Triton kernels on a simulated board: ``@triton.jit`` functions are compiled to BANG C text, which every part of mlusim reads.

::

    import mlusim.triton

    launch = mlusim.triton.run(softmax, (48,), out, x, M, N, BM=8, BN=1024, board="MLU590-H8", observe=["initcheck"])
    launch.time_us, launch.findings

After the import, ``softmax[grid](...)`` launches on a simulated board, too: on NumPy arrays, and on tensors
of PyTorch's device ``mlu`` once ``torch_mlu`` is imported. This package is imported on request only; it needs
the extra ``triton``. Predicted times and the use of NRAM are those of this lowering, not of the vendor's
compiler.
"""

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from mlusim.errors import UsageError
from mlusim.machine.launch import Launch
from mlusim.triton.backend import (
    _STATE,
    KNOWN_OPTIONS,
    activate,
    check_argument,
    collecting,
    plain_function,
    refusal_of,
)

__all__ = ["activate", "run"]


def run(
    kernel: Any,
    grid: Any,
    *arguments: Any,
    board: str | None = None,
    observe: Sequence[Any] = (),
    **named: Any,
) -> Launch:
    """Launch a ``@triton.jit`` function on NumPy arrays and numbers, and return the launch; the kernel's results are in the arrays.

    *grid* is the number of programs in x, y and z, or a function of the arguments, as in
    ``kernel[grid](...)``; *named* are keyword arguments, including constants, and Triton's options
    (``num_warps``, ``num_stages``). Raises `Unsupported`, with the line of the Python file, for operations
    that cannot be lowered to BANG C, `UsageError` for code that Triton does not compile, Triton's
    ``OutOfResources`` if NRAM is too small, and faults of the kernel.
    """
    function = _checked(kernel, grid, arguments, named)
    if board is not None:
        activate(board)
    _STATE.observe[:] = observe
    try:
        with collecting() as launches:
            kernel[grid](*arguments, **named)
    except CompilationError as error:
        raise UsageError(refusal_of(function, error)) from None
    finally:
        _STATE.observe.clear()
    if not launches:
        raise UsageError(
            "run gives the launch of a kernel on NumPy arrays; tensors on mlu go to kernel[grid](...)"
        )
    return launches[-1]


def _checked(
    kernel: object, grid: object, arguments: Sequence[object], named: Mapping[str, object]
) -> JITFunction:
    """Return the function of *kernel*. Raises `UsageError` for an invalid kernel, grid or arguments."""
    function = plain_function(kernel)
    if function is None:
        raise UsageError(f"{kernel!r:.60} is not Triton kernel; pass a function with @triton.jit")
    if not callable(grid) and not (isinstance(grid, tuple | list) and 1 <= len(grid) <= 3):
        raise UsageError(
            f"the grid of {function.__name__} is programs in x, y and z, as (48,), not {grid!r:.60}"
        )
    signature, passed = (
        inspect.signature(function.fn),
        {k: v for k, v in named.items() if k not in KNOWN_OPTIONS},
    )
    # A decorator such as autotune supplies some of the function's arguments.
    bind = signature.bind if kernel is function else signature.bind_partial
    try:
        bound = bind(*arguments, **passed)
    except TypeError as error:
        raise UsageError(f"{function.__name__}({', '.join(signature.parameters)}): {error}") from None
    constant = {p.name for p in function.params if p.is_constexpr}
    for name, value in bound.arguments.items():
        if name not in constant:
            check_argument(name, value)
    return function


activate()
