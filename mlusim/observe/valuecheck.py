"""valuecheck: numbers of BANG C that arithmetic changes silently; on request also results of vectors."""

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from attrs import evolve

from mlusim.engine.values import NOT_FINITE, OVERFLOWS, RETYPED, Look, Types, VectorChange, look_at
from mlusim.machine.hub import Effect, ObservedScreen
from mlusim.machine.observed import ChangedVector, Screened, Site, Step, ValueChange
from mlusim.observe.checker import Checker, operand_told, place_of
from mlusim.observe.finding import ERROR, NOTE, Finding, RelatedPlace

if TYPE_CHECKING:
    from mlusim.machine.core import Core, RunningLaunch


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
    "float-overflow": (
        lambda c: (
            f"{c.value:g} is beyond 3.40282e+38, the largest float, and becomes {c.kept:g}"
            if math.isfinite(c.value)
            else f"a quotient of finite numbers is {c.kept:g}"
        ),
        "bound the numbers before, or test the divisor",
    ),
    "half-overflow": (
        lambda c: f"{c.value:g} is beyond 65504, the largest half, and becomes {c.kept:g}",
        "sum and multiply in float, and convert the result",
    ),
}


class ValueCheck(Checker):
    """Finds numbers that implicit narrowing, overflow, shifts, conversions and loop steps change.

    Only in BANG C: Python's integers have no limits.
    """

    name = "valuecheck"
    needs = "BANG C"
    screens = Screened.VALUE
    vectors = False  # whether it examines results of vectors

    def __init__(self, *, notes: bool = False) -> None:
        super().__init__(notes=notes)
        self._of_c = True

    @property
    def checked(self) -> bool:
        """Return whether the kernel of the last launch was written in BANG C."""
        return self._of_c

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Note the language of the kernel."""
        super().launch_begin(launch)
        self._of_c = launch.request.kernel.compiled

    def screened(self, screen: ObservedScreen) -> None:
        """Report the changed numbers, and the results of vectors, that C has recorded."""
        for changed in screen.changes():
            if isinstance(changed, ChangedVector):
                self._tell(*changed)
            else:
                self._note(*changed)

    def value(self, core: "Core", change: ValueChange, site: Site) -> None:
        """Report a changed number."""
        self._note(change, site, core.place.task)

    def _note(self, change: ValueChange, site: Site, task: int, times: int = 1) -> None:
        """Report *times* more occurrences of a change; changes of floats only if vectors are examined, too."""
        if change.rule in ("half-overflow", "float-overflow") and not self.vectors:
            return

        say, hint = _SAID[change.rule]

        def make() -> Finding:
            return Finding(f"valuecheck-{change.rule}", say(change), **place_of(site, task), hint=hint)

        self.report((site, change.rule, change.to), make, times)

    def _tell(self, change: VectorChange, site: Site, task: int, times: int = 1) -> None:
        """Report *times* more occurrences of a result of a vector instruction."""
        say = _SAID_OF_VECTORS[change.rule]

        def make() -> Finding:
            operand = operand_told(change.name, site, written=change.rule != RETYPED)
            return evolve(say(change, site, task), context=(operand,) if operand else ())

        self.report((site, change.rule, change.name), make, times)


MOST_LOOKS = 4096  # steps for which the way to examine them is cached


class ValueCheckVectors(ValueCheck):
    """`ValueCheck` that also examines results of vectors, and of half arithmetic, for notes that are reported without a request.

    With *strict* they are findings.
    """

    screens = Screened.VALUE | Screened.VECTORS
    vectors = True

    def __init__(self, *, notes: bool = False, strict: bool = False) -> None:
        super().__init__(notes=notes)
        self._level = ERROR if strict else NOTE

    @property
    def checked(self) -> bool:
        """Return True, since Python kernels have vectors, too."""
        return True

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Forget the steps of the last launch."""
        super().launch_begin(launch)
        self._looks: dict[Step, Look | None] = {}
        self._types: dict[Core, Types] = {}

    def task_begin(self, core: "Core") -> None:
        """Forget the writes of an earlier task on *core*."""
        self._types[core] = Types()

    def level_of(self, rule: str) -> str:
        """Return the level of *rule*, where notes have the requested level."""
        level = super().level_of(rule)
        return self._level if level == NOTE else level

    def computes(self, effect: Effect) -> bool:
        """Examine the sources, which the instruction may overwrite; return True if the step has no numbers to examine."""
        step = effect.step
        try:
            look = self._looks[step]
        except KeyError:
            assert step.row is not None
            if len(self._looks) >= MOST_LOOKS:
                self._looks.clear()
            look = self._looks[step] = look_at(step.row, step.reads, step.writes, effect.arguments)
        if look is None:
            return True
        types = self._types[effect.core]
        change, goes_on = look.before(effect.arguments)
        retyped = (types.read(look.row, part) for part in look.floats_read)
        for vector_change in (*retyped, change):
            if vector_change is not None:
                self._tell(vector_change, effect.site, effect.core.place.task)
        effect.kept = look, goes_on
        return False

    def computed(self, effect: Effect) -> None:
        """Examine the stored or returned results."""
        if not isinstance(effect.kept, tuple):
            return
        look, goes_on = effect.kept
        for part in look.targets:
            self._types[effect.core].wrote(part, effect.site)
        change = look.after(effect.result) if goes_on else None
        if change is not None:
            self._tell(change, effect.site, effect.core.place.task)


def strict() -> ValueCheckVectors:
    """Make the checker of ``--values``."""
    return ValueCheckVectors(strict=True)


def _not_finite(change: VectorChange, site: Site, task: int) -> Finding:
    what = f"element {change.element} of its result" if change.kind else "the number that it returns"
    largest = "; the largest half is 65504" if change.kind == "half" and math.isinf(change.value) else ""
    return Finding(
        "valuecheck-not-finite",
        f"__{change.name}: {what} is {change.value:g}, and all that it reads is finite{largest}",
        **place_of(site, task, change.name),
        hint="bound the numbers before, as a softmax subtracts the maximum, or compute in a type with a larger range",
        facts={"element": change.element, "value": str(change.value)},
    )


def _wraps(change: VectorChange, site: Site, task: int) -> Finding:
    converted = isinstance(change.value, float)  # JSON has no infinity and no NaN
    exact = f"{change.value:.10g}" if converted else change.value
    return Finding(
        "valuecheck-vector-overflow",
        f"__{change.name}: element {change.element} of its result is {exact}, which does not fit into {change.kind}; it becomes {change.stored}"
        + " here" * converted,
        **place_of(site, task, change.name),
        hint="bound the numbers before the conversion: that a card saturates is inferred, and what it makes of NaN is unknown"
        if converted
        else "convert to a wider type before, or bound the numbers",
        facts={"element": change.element, "exact": exact, "stored": change.stored},
    )


def _retyped(change: VectorChange, site: Site, task: int) -> Finding:
    return Finding(
        "valuecheck-retyped",
        f"__{change.name}: it reads as {change.kind} what was last written as {change.have}, and nothing has converted it",
        **place_of(site, task, change.name),
        places=(RelatedPlace(*change.wrote, f"it is written as {change.have} there"),),
        hint=f"convert it to {change.kind}, or read it as {change.have}",
        facts={"read": change.kind, "written": change.have},
    )


_SAID_OF_VECTORS = {NOT_FINITE: _not_finite, OVERFLOWS: _wraps, RETYPED: _retyped}
