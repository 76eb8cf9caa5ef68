"""mlusim: a simulated Cambricon MLU.

Runs BANG C kernels written in Python with no card, and says what the card cannot.
"""

from mlusim.arch.board import Board
from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.machine.device import Device, DeviceTensor
from mlusim.machine.hub import Observer
from mlusim.machine.kernel import BLOCK, UNION1, UNION2, UNION4, UNION8, UNION16
from mlusim.machine.launch import Launch
from mlusim.observe.every_step import EveryStep

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
    "Observer",
    "find_board",
]
