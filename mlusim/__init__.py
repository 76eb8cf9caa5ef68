"""mlusim: a simulated Cambricon MLU.

Runs BANG C kernels written in Python with no card, and says what the card cannot.
"""

TYPE_CHECKING = (
    False  # as `typing` has it, which takes milliseconds in which an interruption would be a traceback
)
if TYPE_CHECKING:
    from types import ModuleType

    from mlusim.arch.board import Board
    from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
    from mlusim.machine.device import Device
    from mlusim.machine.hub import EveryStep, Observer
    from mlusim.machine.kernel import BLOCK, UNION1, UNION2, UNION4, UNION8, UNION16
    from mlusim.machine.launch import Launch
    from mlusim.machine.limits import Limit
    from mlusim.machine.tensor import DeviceTensor
    from mlusim.report.profiled import Profiled, profiled

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


_HOMES = {
    "mlusim.arch.board": ("Board",),
    "mlusim.arch.catalog": ("BOARDS", "DEFAULT_BOARDS", "find_board"),
    "mlusim.machine.device": ("Device",),
    "mlusim.machine.hub": ("EveryStep", "Observer"),
    "mlusim.machine.kernel": ("BLOCK", "UNION1", "UNION2", "UNION4", "UNION8", "UNION16"),
    "mlusim.machine.launch": ("Launch",),
    "mlusim.machine.limits": ("Limit",),
    "mlusim.machine.tensor": ("DeviceTensor",),
    "mlusim.report.profiled": ("Profiled", "profiled"),
}


def __getattr__(name: str) -> "ModuleType":
    """Load a public name, or a module of the package, when it is asked for.

    The program `mlusim` is in this package, and answers an interruption from its first line on.
    ``mlusim.ops`` is the package of the operators, wherever it is.
    """
    if name == "ops":
        from mlusim.operators.shipped import package  # noqa: PLC0415 - most programs have no use for them

        return package()
    import importlib.util  # noqa: PLC0415 - as above

    for module, names in _HOMES.items():
        if name in names:
            attribute: ModuleType = getattr(importlib.import_module(module), name)
            return attribute
    if not name.startswith("_") and importlib.util.find_spec(f"mlusim.{name}") is not None:
        return importlib.import_module(f"mlusim.{name}")
    raise AttributeError(f"module 'mlusim' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names, for those who complete or inspect."""
    return sorted([*globals(), *__all__])


def load_ipython_extension(shell: object) -> None:
    """``%load_ext mlusim``: the cell magics ``%%mlusim_profile`` and ``%%mlusim_check``."""
    from mlusim.programs.magics import register  # noqa: PLC0415 - for notebooks only

    register(shell)
