"""Kernels written in Python."""

from collections.abc import Callable
from typing import Any

from mlusim.machine.kernel import Kernel


def kernel(body: Callable[..., Any]) -> Kernel:
    """Make a function a kernel: ``body(mlu, *args)`` runs once per task of a launch."""
    return Kernel(body)
