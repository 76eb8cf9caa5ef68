"""A launch that C runs for the checkers of breakpoints: where they find nothing in it, no finding can stop there."""

from collections.abc import Iterable

from attrs import evolve

from mlusim.debug.run.launches import KeptLaunch, explored
from mlusim.engine.preference import NATIVE
from mlusim.machine.native.screening import screening_of
from mlusim.observe.names import observers_of


def finds_nothing(recorded: KeptLaunch, checks: Iterable[str]) -> bool:
    """Return whether C has run the launch on copies of its tensors, and *checks* have nothing to report; False where C cannot tell."""
    if recorded.session.native is None or recorded.edits or explored(recorded.session):
        return False
    copied, _ = recorded.again(())
    checkers = observers_of(checks)
    asked = evolve(copied.request, options=evolve(copied.request.options, engine=NATIVE))
    screening = screening_of(asked, copied.board, checkers, counted=False, drawn=False)
    return screening is not None and screening.run(copied.screened, None) is not None
