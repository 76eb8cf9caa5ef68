"""mlusim: a simulated Cambricon MLU.

Runs BANG C kernels written in Python with no card, and says what the card cannot.
"""

from typing import TYPE_CHECKING

from mlusim.arch.board import Board
from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.machine.device import Device, DeviceTensor
from mlusim.machine.hub import Observer
from mlusim.machine.kernel import BLOCK, UNION1, UNION2, UNION4, UNION8, UNION16
from mlusim.machine.launch import Launch
from mlusim.machine.limits import Limit
from mlusim.observe.every_step import EveryStep
from mlusim.report.profiled import Profiled, profiled

if TYPE_CHECKING:
    from types import ModuleType

__version__ = "0.1.0"

__all__ = [
    "BLOCK",
    "BOARDS",
    "DEFAULT_BOARDS",
    "UNION1",
    "UNION2",
    "UNION4",
    "UNION8",
    "UNION16",
    "Board",
    "Device",
    "DeviceTensor",
    "EveryStep",
    "Launch",
    "Limit",
    "Observer",
    "Profiled",
    "find_board",
    "profiled",
]


def __getattr__(name: str) -> "ModuleType":
    """``mlusim.ops``, the operators, wherever they are; loaded when they are asked for."""
    if name == "ops":
        from mlusim.operators.shipped import package  # noqa: PLC0415 - most programs have no use for them

        return package()
    raise AttributeError(f"module 'mlusim' has no attribute {name!r}")


def load_ipython_extension(shell: object) -> None:
    """``%load_ext mlusim``: the cell magics ``%%mlusim_profile`` and ``%%mlusim_check``."""
    from mlusim.programs.magics import register  # noqa: PLC0415 - for notebooks only

    register(shell)
