"""Kernel calls and other programs under checkers; results of kernel calls are compared with a reference, and plans inferred."""

import contextlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import evolve

from mlusim.check.findings import Checked, checked
from mlusim.errors import Fault, MlusimError, UsageError, said
from mlusim.observe.collect import collecting
from mlusim.observe.finding import Finding
from mlusim.programs.carving import carve
from mlusim.programs.expectation import Expectation, wrong_in
from mlusim.programs.kernel_call import Called, KernelCall
from mlusim.programs.launch_again import LaunchAgain
from mlusim.programs.native_parts import overlaps_in_c
from mlusim.programs.program import FunctionProgram

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import CallProgram
    from mlusim.programs.other_calls import Came
    from mlusim.programs.program import Program

Array = np.ndarray[Any, Any]
PLANS = "plancheck"  # the checker of plans, including the inferred plans of BANG C kernels


def check_program(
    program: "Program", path: str, checkers: Iterable[str] = (), *, notes: bool = False
) -> Checked:
    """Run *program*, whose file is *path*, and check every launch that it makes.

    A fault is a finding, an exit status the problem of the run; an exception before the first launch is raised to the
    caller.
    """
    problem = ""
    with collecting(checkers, notes=notes, vectors=True) as collector:
        try:
            program.run(())
        except Fault as fault:
            collector.add(fault)
        except SystemExit as leaving:
            problem = f"it ended with exit code {said(leaving)}"
        except UsageError as error:
            # Before the first launch the command itself is wrong, and the verb reports the exception as for
            # any command.
            if not collector.launches:
                raise
            problem = said(error)
    return checked(collector, path, problem)


def check_call(
    call: "CallProgram",
    path: str,
    names: tuple[str, ...],
    expected: Expectation | None = None,
    *,
    notes: bool = False,
    plans: bool = True,
) -> Checked:
    """Run *call*, of the file *path*, under the checkers *names*; with *plans* its plan is inferred.

    A result that differs from *expected* is the problem of the run.
    """
    came: list[Called | Came] = []  # empty if the launch has ended in a fault
    program = FunctionProgram(lambda observe: came.append(call.run(observe)))
    done = check_program(program, path, names, notes=notes)
    if expected is not None and came:
        judged = expected.compared(call.scope(), call.inputs, came[0].outputs)
        wrong = "; ".join(wrong_in(judged))
        if wrong:
            told = f"against {expected.name}, {wrong}"
            done = evolve(done, problem="; ".join(filter(None, (done.problem, told))))
    if not plans or PLANS not in names or done.faults or not isinstance(call, KernelCall):
        return done
    launch = came[0].launch if came and isinstance(came[0], Called) else None
    counts = () if launch is None else (launch.instructions, launch.scalar_loads, launch.scalar_stores)
    return carved(done, [(call, sum(sum(count.values()) for count in counts))])


def carved_again(done: Checked, launches: Iterable[LaunchAgain]) -> Checked:
    """Return *done* plus the overlaps of on-chip array parts in *launches*."""
    return carved(done, [(launch, launch.length) for launch in launches])


def carved(done: Checked, calls: Iterable[tuple[KernelCall | LaunchAgain, int]]) -> Checked:
    """Return *done* plus the overlaps of the array parts that pointer variables hold, as `mlusim plan` infers them.

    Each of *calls* comes with the number of its instructions and scalar accesses.  Its kernel runs once or twice more
    in C, or twice in Python if C cannot decide.  After a fault no plan is inferred, since the launch did not
    complete.
    """
    for call, length in calls:
        with contextlib.suppress(MlusimError):
            overlaps = overlaps_in_c(call, length) or carve(call)
            told = {_place(f) for f in done.findings}
            fresh = [f for f in overlaps.findings if _place(f) not in told]
            accepted = [a for a in overlaps.allowed if a not in done.allowed]
            done = evolve(
                done,
                findings=(*done.findings, *fresh),
                allowed=(*done.allowed, *accepted),
                unchecked=tuple(count for count in done.unchecked if count[0] != PLANS),
            )
    return done


def _place(finding: Finding) -> tuple[Any, ...]:
    return finding.id, finding.kernel, finding.file, finding.line
