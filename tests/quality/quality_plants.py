"""The form of a planted fault: a correct kernel, one mistake in it behind a flag, and what must be said.

A plant is a function ``body(mlu, wrong, *arguments)``.  With ``wrong`` false it is the innocent twin: a
correct kernel of which no checker may say anything.  With ``wrong`` true the checker that is named must
report the rule that is named, on the line that ends in ``# fault`` (or on one of them).
"""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from attrs import field, frozen

import mlusim
from mlusim.bang import kernel
from mlusim.errors import Fault
from mlusim.observe.names import CHECKERS

PLANTS: list["Plant"] = []


@frozen
class Plant:
    """One planted fault: whose it is, the rule, the kernel, its arguments, and how it is launched."""

    rule: str
    body: Callable[..., None]
    arguments: tuple[Any, ...] = ()
    dim: tuple[int, int, int] = (1, 1, 1)
    kind: Any = mlusim.BLOCK
    board: str = "MLU370-X4"
    notes: bool = False

    @property
    def checker(self) -> str:
        """The checker that must speak."""
        return self.rule.partition("-")[0]

    @property
    def name(self) -> str:
        """What is wrong, in the words of the function's name."""
        return self.body.__name__

    @property
    def lines(self) -> set[int]:
        """The lines that the finding may stand on; empty where the rule has no line."""
        source, start = inspect.getsourcelines(self.body)
        return {start + n for n, line in enumerate(source) if line.rstrip().endswith("# fault")}


@frozen
class Verdict:
    """What the checkers said of one launch: (checker, rule, lines) of each finding."""

    said: tuple[tuple[str, str, frozenset[int]], ...] = field(converter=tuple)

    def named(self, plant: Plant) -> bool:
        """Whether the plant's checker reported the plant's rule."""
        return any(rule == plant.rule for _, rule, _ in self.said)

    def placed(self, plant: Plant) -> bool:
        """Whether that finding stands on a marked line, or needs none."""
        return any(rule == plant.rule and (not plant.lines or plant.lines & at) for _, rule, at in self.said)


def plant(rule: str, *arguments: Any, **launch: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Plant the decorated kernel; *arguments* are arrays, `Empty`, `Const`, callables of the board or values."""

    def keep(body: Callable[..., None]) -> Callable[..., None]:
        PLANTS.append(Plant(rule, body, arguments, **launch))
        return body

    return keep


@frozen
class Empty:
    """A tensor of float32 that was never written, of *size* elements."""

    size: int
    dtype: str = "float32"


@frozen
class Const:
    """A tensor that the host passes as const."""

    array: np.ndarray[Any, Any]


def floats(n: int) -> np.ndarray[Any, Any]:
    """*n* float32 ones."""
    return np.ones(n, np.float32)


def findings(it: Plant, *, wrong: bool) -> tuple[tuple[str, Any], ...]:
    """Launch the plant, or its twin, under every checker: (checker, finding) of each finding."""
    device = mlusim.Device(it.board)
    arguments = [_argument(device, argument) for argument in it.arguments]
    watching = [checker() for checker in CHECKERS.values()]
    for checker in watching:
        checker.notes = it.notes and wrong
    try:
        device.launch(kernel(it.body), it.dim, it.kind, (wrong, *arguments), observe=watching)
    except Fault:
        assert wrong, f"the innocent twin of {it.name} ended in a fault"
    return tuple((checker.name, finding) for checker in watching for finding in checker.findings)


def judge(it: Plant, *, wrong: bool) -> Verdict:
    """What the checkers say of the plant, or of its twin."""
    return Verdict(
        (name, f.id, frozenset({f.line, *(p.line for p in f.places if f.id.startswith("racecheck-tasks"))}))
        for name, f in findings(it, wrong=wrong)
    )


def _argument(device: Any, value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return device.put(value)
    if isinstance(value, Empty):
        return device.empty(value.size, value.dtype)
    if isinstance(value, Const):
        return device.share(value.array)
    return value(device.board) if callable(value) else value
