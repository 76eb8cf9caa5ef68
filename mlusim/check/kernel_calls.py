"""Calls of kernels of BANG C sources under checkers: plans are inferred, and results compared with a reference."""

import contextlib
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve

from mlusim.check.checking import check_program
from mlusim.check.findings import Checked
from mlusim.errors import MlusimError
from mlusim.observe.finding import Finding
from mlusim.programs.carving import carve
from mlusim.programs.expectation import Expectation
from mlusim.programs.kernel_call import Called, KernelCall
from mlusim.programs.launch_again import LaunchAgain

if TYPE_CHECKING:
    from mlusim.programs.other_calls import Came, TextCall

Array = np.ndarray[Any, Any]
PLANS = "plancheck"  # the checker that watches plans, inferred ones of BANG C too


@define
class _Kept:
    """A call of a kernel that keeps what came back."""

    call: "KernelCall | TextCall"
    done: "Called | Came | None" = None

    @property
    def name(self) -> str:
        """The call's."""
        return self.call.name

    def arrays(self) -> Mapping[str, Array]:
        """Return the call's."""
        return self.call.arrays()

    def run(self, observe: Iterable[Any]) -> "Called | Came":
        """Run the call."""
        self.done = self.call.run(observe)
        return self.done


def check_call(
    call: "KernelCall | TextCall",
    path: str,
    names: tuple[str, ...],
    expected: Expectation | None = None,
    *,
    notes: bool = False,
    plans: bool = True,
) -> Checked:
    """Run *call*, of the file *path*, under the checkers *names*, its plan inferred where *plans*.

    A result that is not as *expected* is the problem of the run.
    """
    kept = _Kept(call)
    done = check_program(kept, path, names, notes=notes)
    if expected is not None and kept.done is not None:
        found = expected.compared(call, kept.done)
        wrong = "; ".join(f"{name}: {one.told}" for name, one in found.items() if not one.accuracy.passed)
        if wrong:
            told = f"against {expected.name}, {wrong}"
            done = evolve(done, problem="; ".join(filter(None, (done.problem, told))))
    inferred = plans and PLANS in names and not done.faults
    return carved(done, [call]) if inferred and isinstance(call, KernelCall) else done


def carved(done: Checked, calls: Iterable[KernelCall | LaunchAgain]) -> Checked:
    """Return *done* with the overlaps of the parts that pointer variables have of on-chip arrays, as `mlusim plan` infers them.

    The kernel of each of *calls* runs twice more.  After a fault there is no plan: the launch has no end.
    """
    for call in calls:
        with contextlib.suppress(MlusimError):
            found = carve(call)
            told = {_place(f) for f in done.findings}
            fresh = [f for f in found.findings if _place(f) not in told]
            accepted = [a for a in found.allowed if a not in done.allowed]
            done = evolve(
                done,
                findings=(*done.findings, *fresh),
                allowed=(*done.allowed, *accepted),
                unchecked=tuple((name, count) for name, count in done.unchecked if name != PLANS),
            )
    return done


def _place(finding: Finding) -> tuple[Any, ...]:
    return finding.id, finding.kernel, finding.file, finding.line
