"""The request for a launch, and its `LaunchOptions`: how it runs, as opposed to the kernel and arguments."""

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from attrs import evolve, fields, frozen

from mlusim.engine.preference import AUTO
from mlusim.errors import LaunchError
from mlusim.machine.kernel import Kernel, Kind
from mlusim.machine.limits import Limit
from mlusim.machine.scheduling.schedule import EFFECTS, effects_of
from mlusim.machine.tensor import DeviceTensor, allocation_of, leaves
from mlusim.memory.allocation import Allocation
from mlusim.memory.regions import RegionMap

LATE = "late"  # asynchronous effects land at the sync that waits for them


@frozen
class LaunchOptions:
    """The options of a launch as the caller passed them, described in `Device.launch`; a launch checks them."""

    observe: Any = ()
    seed: int | None = None
    effects: str = LATE
    engine: str = AUTO
    timing: bool = True
    layout: RegionMap | None = None
    limit: Limit | str | int | None = None
    threads: int | None = None

    @property
    def observers(self) -> tuple[Any, ...]:
        """Return the observers, some of which may be names.  Raises `LaunchError`."""
        return (self.observe,) if isinstance(self.observe, str) else tuple(listed("observe", self.observe))

    def checked(self, args: Sequence[Any]) -> "LaunchOptions":
        """Return the checked options of a launch with *args*: without *layout*, the first layout among *args* is used.

        Raises `LaunchError` for an invalid seed, effects or layout.
        """
        seed = self.seed
        if seed is not None and not isinstance(seed, int | np.integer):
            raise LaunchError(f"seed = {seed!r} is not an integer; give one, or None for the usual schedule")
        if not isinstance(self.effects, str) or self.effects not in EFFECTS:
            raise LaunchError(f"effects = {self.effects!r} is unknown; use 'late' or 'eager'")
        return evolve(
            self,
            seed=None if seed is None else int(seed),
            effects=effects_of(self.effects),
            layout=_layout(self.layout, args),
        )


USUAL_OPTIONS = LaunchOptions()


def options_of(*arguments: Any) -> LaunchOptions:
    """Return the options with the *arguments* of `LaunchOptions`; those of the previous call are reused if all objects are the same."""
    last, options = _LAST[0]
    if all(map(operator.is_, arguments, last)):
        return options
    options = LaunchOptions(*arguments)
    if options.observe is USUAL_OPTIONS.observe:  # otherwise an observer would stay alive
        _LAST[0] = arguments, options
    return options


_LAST: list[tuple[tuple[Any, ...], LaunchOptions]] = [
    (tuple(getattr(USUAL_OPTIONS, field.name) for field in fields(LaunchOptions)), USUAL_OPTIONS)
]


def listed(name: str, values: object) -> Iterable[Any]:
    """Return *values*, which the caller passed as *name*.  Raises `LaunchError` for anything but a sequence."""
    if not isinstance(values, Iterable):
        raise LaunchError(f"{name} = {values!r:.80} is not a sequence; give a list, empty for none")
    return values


def _layout(layout: object, args: Sequence[Any]) -> RegionMap | None:
    if layout is None:
        return next((a for a in args if isinstance(a, RegionMap)), None)
    if not isinstance(layout, RegionMap):
        raise LaunchError(
            f"layout = {layout!r:.80} is not a layout; give what PLAN.layout(board, ...) returns"
        )
    return layout


@frozen
class Request:
    """The request for a launch; ``variables`` are the device's tensors for the variables of the kernel, in the same order."""

    kernel: Kernel
    dim: tuple[int, int, int]
    kind: Kind
    arguments: tuple[Any, ...]
    options: LaunchOptions
    variables: tuple[DeviceTensor, ...] = ()

    @property
    def leaves(self) -> Iterator[Any]:
        """Return the numbers and pointers among the kernel's arguments, including those in structures; for a function of Python a list is one argument."""
        return leaves(self.arguments) if self.kernel.compiled else iter(self.arguments)

    @property
    def allocations(self) -> list[Allocation]:
        """Return the allocations of the kernel's arguments and of its variables in GDRAM, each once, in order."""
        candidates = map(allocation_of, (*self.leaves, *self.variables))
        return list(dict.fromkeys(allocation for allocation in candidates if allocation is not None))

    @property
    def bytes_given(self) -> int:
        """Return the bytes of these allocations."""
        return sum(allocation.nbytes for allocation in self.allocations)
