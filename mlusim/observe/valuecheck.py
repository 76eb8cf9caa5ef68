"""valuecheck: numbers of BANG C that arithmetic changes without a word."""

from collections.abc import Callable, Mapping

from mlusim.engine.native.screen import Screened
from mlusim.machine.observed import ObservedCore, ObservedLaunch, ObservedScreen, Site, ValueChange
from mlusim.observe.checker import Checker, place_of
from mlusim.observe.finding import Finding

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
        """Note a number that has changed."""
        self._note(change, site, core.place.task)

    def _note(self, change: ValueChange, site: Site, task: int, times: int = 1) -> None:
        say, hint = _SAID[change.rule]

        def make() -> Finding:
            return Finding(f"valuecheck-{change.rule}", say(change), **place_of(site, task), hint=hint)

        self.report((site, change.rule, change.to), make, times)
