"""One file of the checkout: loaded, its kernels launched, what came back compared with a reference."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import numpy as np
from attrs import define, field

import mlusim
from benchmarks.vendor.board import BOARD
from benchmarks.vendor.operators import REFERENCES
from mlusim import bangc

NAMES = MappingProxyType({np.dtype(np.float32): "float", np.dtype(np.float16): "_Float16"})
FLOATS = (np.float32, np.float16)

Case = Callable[["Bench"], None]
CASES: dict[str, list[Case]] = {}


def case(path: str) -> Callable[[Case], Case]:
    """Register a function that runs kernels of the file at *path*, below the checkout."""

    def register(function: Case) -> Case:
        CASES.setdefault(path, []).append(function)
        return function

    return register


@define(slots=False)
class Outcome:
    """How one comparison went: the largest difference, and whether it is within the tolerance."""

    difference: float
    right: bool


@define(slots=False)
class Bench:
    """What a case works with: a module, a device, random numbers; it keeps every comparison and finding."""

    root: Path
    path: str
    checkers: tuple[str, ...] = ()
    board: str = BOARD
    engine: str = "auto"
    note: Callable[..., None] | None = None  # hears each launch and its arguments
    outcomes: list[Outcome] = field(factory=list)
    findings: Counter = field(factory=Counter)
    examples: dict[str, str] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.module = bangc.load(
            [self.root / self.path], include=[self.root], define={"NDEBUG": None}, board=self.board
        )
        self.device = mlusim.Device(self.board)
        self.random = np.random.default_rng(0)

    def put(self, array):
        """A tensor on the device with the values of *array*."""
        return self.device.put(np.ascontiguousarray(array))

    def zeros(self, shape, dtype):
        """A tensor of zeros."""
        return self.put(np.zeros(shape, dtype))

    @staticmethod
    def wanted(entry, **given):
        """What the reference of an entry point makes of its arguments, by the names of its parameters."""
        return REFERENCES[entry][0](given)

    def block(self, name, *args, dim=(8, 1, 1)):
        """Launch a kernel as Block tasks."""
        self.launch(name, *args, dim=dim, kind=mlusim.BLOCK)

    def union(self, name, *args, dim=(4, 2, 1), watching=()):
        """Launch a kernel as Union1 tasks."""
        self.launch(name, *args, dim=dim, kind=mlusim.UNION1, watching=watching)

    def launch(self, name, *args, dim, kind, watching=()):
        """Launch a kernel, watched by the checkers if asked for, and by the observers in *watching*."""
        launch = self.device.launch(
            self.module[name],
            dim=dim,
            kind=kind,
            args=args,
            observe=[*self.checkers, *watching],
            engine=self.engine,
        )
        if self.note is not None:
            self.note(launch, args)
        for finding in launch.findings:
            self.findings[finding.id] += 1
            self.examples.setdefault(finding.id, str(finding).split("\n", 1)[0])

    def expect(self, tensor, wanted, tolerance=0.0):
        """Compare what is in *tensor* with *wanted*: exactly, or within *tolerance*, relative and absolute."""
        self.compare(self.device.get(tensor), wanted, tolerance)

    def compare(self, found, wanted, tolerance=0.0):
        """Compare two arrays: exactly, or within *tolerance*, relative and absolute."""
        found = np.asarray(found).astype(np.float64)
        wanted = np.asarray(wanted).astype(np.float64).reshape(found.shape)
        apart = np.abs(np.where(found == wanted, 0.0, found - wanted))
        both_nan = np.isnan(found) & np.isnan(wanted)
        apart = np.where(both_nan, 0.0, apart)
        largest = float(apart.max(initial=0.0)) if not np.isnan(apart).any() else float("nan")
        bound = tolerance + tolerance * np.abs(wanted)
        right = bool(np.all(both_nan | (found == wanted) | (apart <= bound)))
        self.outcomes.append(Outcome(largest, right))
