"""valuecheck: numbers of BANG C that arithmetic changes without a word; what vectors do to numbers, where that is asked for."""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from attrs import define

from mlusim.arch.dtypes import DType
from mlusim.engine.native.screen import Screened
from mlusim.isa.declare import Intrinsic
from mlusim.machine.observed import Effect, ObservedCore, ObservedLaunch, ObservedScreen, Site, ValueChange
from mlusim.memory.footprint import Access
from mlusim.observe.checker import Checker, place_of
from mlusim.observe.finding import ERROR, NOTE, Finding
from mlusim.observe.value_flow import exactly, numbers_of

_SAID: Mapping[str, tuple[Callable[[ValueChange], str], str]] = {
    "narrowed": (
        lambda c: f"{c.value} of {c.have} becomes {c.kept} as {c.to}",
        "keep the wider type, or cast where the low bits are meant",
    ),
    "overflow": (
        lambda c: (
            f"the result {c.value} does not fit into {c.to}; it becomes {c.kept} here, and C leaves it undefined"
        ),
        "compute in a wider type, or in an unsigned one where the result may wrap",
    ),
    "shift": (
        lambda c: (
            f"{c.to} of {c.bits} bits is shifted by {c.value}; that is by {c.kept} here, and C leaves it undefined"
        ),
        "shift by 0 or more, and by less than the bits of the type",
    ),
    "float-to-integer": (
        lambda c: (
            f"{c.value:g} of {c.have} does not fit into {c.to}; it becomes {c.kept} here, and C leaves it undefined"
        ),
        "bound the number before the conversion, or convert to a wider type",
    ),
    "counter-wraps": (
        lambda c: f"the counter would be {c.value} and becomes {c.kept} as {c.to}",
        "give the counter a type that holds its limit and one step more",
    ),
    "half-overflow": (
        lambda c: f"{c.value:g} is beyond 65504, the largest half, and becomes {c.kept:g}",
        "sum and multiply in float, and convert the result",
    ),
}


class ValueCheck(Checker):
    """Finds numbers that implicit narrowing, overflow, shifts, conversions and steps of loops change.

    Only of BANG C: in Python integers have no end.
    """

    name = "valuecheck"
    needs = "BANG C"
    screens = Screened.VALUE

    def __init__(self, *, notes: bool = False) -> None:
        super().__init__(notes=notes)
        self._of_c = True

    @property
    def checked(self) -> bool:
        """Return whether the kernel of the last launch is one of BANG C."""
        return self._of_c

    def launch_begin(self, launch: ObservedLaunch) -> None:
        """Note what the kernel is written in."""
        super().launch_begin(launch)
        self._of_c = launch.request.kernel.compiled

    def screened(self, screen: ObservedScreen) -> None:
        """Note the numbers that C has changed."""
        for changed in screen.changes():
            self._note(*changed)

    def value(self, core: ObservedCore, change: ValueChange, site: Site) -> None:
        """Note a number that has changed; of floats nothing is said by default, and C does not look at them."""
        if change.rule != "half-overflow":
            self._note(change, site, core.place.task)

    def _note(self, change: ValueChange, site: Site, task: int, times: int = 1) -> None:
        say, hint = _SAID[change.rule]

        def make() -> Finding:
            return Finding(f"valuecheck-{change.rule}", say(change), **place_of(site, task), hint=hint)

        self.report((site, change.rule, change.to), make, times)


Numbers = np.ndarray[Any, Any]
# Other ufuncs, such as shifts and comparisons, drop bits or give truth values in any type.
RINGS = (np.add, np.subtract, np.multiply, np.square, np.negative, np.absolute)
"""Arithmetic of which a result in a wider type is that of the numbers themselves."""
NOT_NUMBERS = ("bitwise", "mask", "extreme")
"""Templates of rows whose results are bits, or a number and its index: as floats they say nothing."""


class ValueCheckVectors(ValueCheck):
    """`ValueCheck` that also looks at the results of vectors, and at halves: as remarks, or as findings where it is *strict*.

    It hears of every instruction, so that Python runs the launch.
    """

    def __init__(self, *, notes: bool = False, strict: bool = False) -> None:
        super().__init__(notes=notes)
        self._level = ERROR if strict else NOTE

    @property
    def checked(self) -> bool:
        """True: kernels in Python have vectors, too."""
        return True

    def launch_begin(self, launch: ObservedLaunch) -> None:
        """Forget instructions that a fault has ended."""
        super().launch_begin(launch)
        self._pending: dict[int, _Before] = {}

    def level_of(self, rule: str) -> str:
        """Return the level of remarks that was asked for."""
        level = super().level_of(rule)
        return self._level if level == NOTE else level

    def value(self, core: ObservedCore, change: ValueChange, site: Site) -> None:
        """Note a number that has changed, of floats, too."""
        self._note(change, site, core.place.task)

    def effect(self, effect: Effect) -> None:
        """Keep what `retire` has to know of the sources, which the instruction may overwrite."""
        row = effect.step.row
        if row is None or not effect.reads or any(operand.partial for operand in row.operands.values()):
            return
        sources, targets = _types(effect, row)
        exact = exactly(effect) if _is_ring(row) and [d.kind for d in targets] == ["int"] else None
        finite = _makes_numbers(row) and _all_finite(effect, sources)
        if exact is not None or finite:
            self._pending[effect.number] = _Before(targets, exact, finite=finite)

    def retire(self, effect: Effect) -> None:
        """Compare what was stored with what the numbers give."""
        before = self._pending.pop(effect.number, None)
        if before is None:
            return
        if before.finite:
            for kind, stored in _results(effect, before.targets):
                self._look_at_floats(effect, kind, stored)
        if before.exact is not None:
            stored = numbers_of(effect.writes[0], before.targets[0].dtype)
            self._look_at_integers(effect, before.targets[0], before.exact, stored)

    def _look_at_floats(self, effect: Effect, kind: str, stored: Numbers) -> None:
        bad = np.flatnonzero(~np.isfinite(stored))
        if bad.size:
            first = int(bad[0])
            self._tell("not-finite", effect, lambda: _not_finite(effect, kind, first, float(stored[first])))

    def _look_at_integers(self, effect: Effect, dtype: DType, exact: Numbers, stored: Numbers) -> None:
        bad = np.flatnonzero(exact != stored)
        if bad.size:
            first = int(bad[0])
            pair = int(exact[first]), int(stored[first])
            self._tell("vector-overflow", effect, lambda: _wraps(effect, dtype.c, first, *pair))

    def _tell(self, rule: str, effect: Effect, make: Callable[[], Finding]) -> None:
        self.report((effect.site, rule, effect.name), make)


def strict() -> ValueCheckVectors:
    """Make the checker of ``--values``."""
    return ValueCheckVectors(strict=True)


@define
class _Before:
    """The types of what an instruction writes, its integers as they would be in a wider type, and whether all its sources are finite."""

    targets: list[DType]
    exact: Numbers | None
    finite: bool


def _types(effect: Effect, row: Intrinsic) -> tuple[list[DType], list[DType]]:
    """Return the types of what *effect* reads and of what it writes; none where data say which bytes these are."""
    if row.form in ("copy", "gather", "discrete"):
        return [], []
    pointers = {p.name: a for a, p in zip(effect.arguments, row.given, strict=True) if hasattr(a, "view")}
    own = [(pointers[n].dtype, o.access) for n, o in row.operands.items() if n in pointers]
    return [d for d, access in own if access != "write"], [d for d, access in own if access != "read"]


def _template(row: Intrinsic) -> tuple[Any, ...]:
    return row.native if isinstance(row.native, tuple) else ()


def _is_ring(row: Intrinsic) -> bool:
    """Return whether *row* adds, subtracts or multiplies, lane by lane, over a segment, or twice in one."""
    name, *how = _template(row) or ("",)
    return row.body in RINGS or name == "fusion" or (name == "cycle" and how[0] in RINGS)


def _makes_numbers(row: Intrinsic) -> bool:
    name, *how = _template(row) or ("",)
    return name not in NOT_NUMBERS and not (
        name == "cycle" and how[0] in (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
    )


def _all_finite(effect: Effect, sources: list[DType]) -> bool:
    """Return whether all floats that *effect* is given are finite, in memory and as values."""
    values = (a for a in effect.arguments if isinstance(a, float | np.floating))
    return all(map(math.isfinite, values)) and all(
        dtype.kind != "float" or bool(np.isfinite(numbers_of(access, dtype.dtype)).all())
        for access, dtype in zip(effect.reads, sources, strict=False)
    )


def _results(effect: Effect, targets: list[DType]) -> Iterator[tuple[str, Any]]:
    """Yield the types and the numbers that are floats: in each operand written, and returned."""
    pairs: Iterator[tuple[Access, DType]] = zip(effect.writes, targets, strict=False)
    for access, dtype in pairs:
        if dtype.kind == "float":
            yield dtype.c, numbers_of(access, dtype.dtype)
    if isinstance(effect.result, float | np.floating):
        yield "", np.asarray([effect.result])


def _not_finite(effect: Effect, kind: str, index: int, value: float) -> Finding:
    what = f"element {index} of its result" if kind else "the number that it returns"
    largest = "; the largest half is 65504" if kind == "half" and math.isinf(value) else ""
    return Finding(
        "valuecheck-not-finite",
        f"{effect.step.spelled}: {what} is {value:g}, and all that it reads is finite{largest}",
        **place_of(effect.site, effect.core.place.task, effect.name),
        hint="bound the numbers before, as a softmax subtracts the maximum, or compute in a type with a larger range",
        facts={"element": index, "value": str(value)},
    )


def _wraps(effect: Effect, kind: str, index: int, exact: int, stored: int) -> Finding:
    return Finding(
        "valuecheck-vector-overflow",
        f"{effect.step.spelled}: element {index} of its result is {exact}, which does not fit into {kind}; it becomes {stored}",
        **place_of(effect.site, effect.core.place.task, effect.name),
        hint="convert to a wider type before, or bound the numbers",
        facts={"element": index, "exact": exact, "stored": stored},
    )
