"""`Standing`: where a session of the debugger stands, and what it knows there without running anything."""

from typing import Any

from mlusim.debug.run.launch_run import LaunchRun
from mlusim.debug.run.launches import KeptLaunch
from mlusim.debug.run.program_run import ENDED, FAILED, INTERRUPTED, ProgramRun
from mlusim.debug.source.frames import Owned, failed_text
from mlusim.debug.source.functions import UserFunction
from mlusim.debug.stop.breakpoints import Breakpoint
from mlusim.debug.stop.moments import Position, Stop
from mlusim.errors import UsageError
from mlusim.programs.program import Program

NOT_LAUNCHED = "the program has launched no kernel, so there is nothing to look at"


class Standing:
    """The state of a session at every stop: the program, its launches, its breakpoints, the stop itself."""

    program: Program
    host: ProgramRun
    breakpoints: dict[int, Breakpoint]
    stop: Stop
    _arrays: dict[str, Any]
    _run: LaunchRun | None

    def arrays(self) -> dict[str, Any]:
        """Return the arrays of the host that are known by name."""
        return {**self.program.arrays(), **self._arrays}

    @property
    def launches(self) -> list[KeptLaunch]:
        """The launches that the program has begun."""
        return self.host.launches

    @property
    def ended(self) -> bool:
        """True where the program has come to its end; its launches can still be visited."""
        return self.host.state == ENDED

    @property
    def at_host(self) -> bool:
        """True where it stands inside the program's own run of a launch: a fault or an interrupt."""
        return self.host.state in (FAILED, INTERRUPTED) and self._run is None and self.stop.position.at_end

    @property
    def functions(self) -> list[UserFunction]:
        """The functions that the launch's kernel can reach."""
        return list(self.recorded.functions) if self.launches else []

    @property
    def owned(self) -> Owned:
        """Which files are the user's."""
        return self.recorded.owned if self.launches else Owned("")

    @property
    def position(self) -> Position:
        """The run and the moment at which the session stands."""
        return self.stop.position

    @property
    def not_launched(self) -> str:
        """Say that the program has launched nothing, and with which error it ended."""
        failure = self.host.failure
        return NOT_LAUNCHED + (f"; it has ended with {failed_text(failure)}" if failure is not None else "")

    @property
    def place(self) -> str:
        """The position in words."""
        if self.at_host and self.stop.error is None:
            return f"interrupted in launch {self.position.launch}"
        return str(self.position)

    @property
    def recorded(self) -> KeptLaunch:
        """The launch that it stands in; raises `UsageError` where the program has launched nothing."""
        if not self.launches:
            raise UsageError(self.not_launched)
        return self.launches[self.position.launch - 1]
