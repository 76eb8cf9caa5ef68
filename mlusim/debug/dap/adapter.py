"""`Adapter`: the requests of an editor, one by one, answered from a session."""

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mlusim.debug import verbs
from mlusim.debug.console.console import Console
from mlusim.debug.dap import inspecting, moving, stopping
from mlusim.debug.dap.progress import progressing
from mlusim.debug.dap.protocol import Connection, Message
from mlusim.debug.dap.state import Arguments, Body, Handler, State
from mlusim.debug.session import DebugSession
from mlusim.debug.standing import NOT_LAUNCHED
from mlusim.errors import UsageError, said

if TYPE_CHECKING:
    from mlusim.programs.program import Program

# What an editor may ask; it hides the buttons of what is not here.
CAPABILITIES = {
    "supportsConfigurationDoneRequest": True,
    "supportsFunctionBreakpoints": True,
    "supportsConditionalBreakpoints": True,
    "supportsHitConditionalBreakpoints": True,
    "supportsLogPoints": True,
    "supportsDataBreakpoints": True,
    "supportsInstructionBreakpoints": True,
    "supportsDisassembleRequest": True,
    "supportsSteppingGranularity": True,
    "supportsStepBack": True,
    "supportsGotoTargetsRequest": True,
    "supportsBreakpointLocationsRequest": True,
    "supportsSetVariable": True,
    "supportsSetExpression": True,
    "supportsReadMemoryRequest": True,
    "supportsWriteMemoryRequest": True,
    "supportsEvaluateForHovers": True,
    "supportsClipboardContext": True,
    "supportsCompletionsRequest": True,
    "completionTriggerCharacters": [" ", "."],
    "supportsLoadedSourcesRequest": True,
    "supportsModulesRequest": True,
    "supportsExceptionInfoRequest": True,
    "supportsExceptionFilterOptions": True,
    "supportsTerminateRequest": True,
    "supportsCancelRequest": True,
    "supportsRestartRequest": True,
    "exceptionBreakpointFilters": stopping.FILTERS,
}


class Adapter:
    """Answers requests on *connection*; *make* makes the program that a launch names."""

    def __init__(self, connection: Connection, make: "Callable[[Mapping[str, Any]], Program]") -> None:
        self.state = State(connection)
        self._make = make
        self._handlers: dict[str, Handler] = {
            **inspecting.HANDLERS,
            **moving.HANDLERS,
            **stopping.HANDLERS,
            "initialize": _initialize,
            "launch": self._launch,
            "attach": _attach,
            "configurationDone": _configuration_done,
            "restart": _restart,
        }
        # Whether to stop at the entry: the launch request says it, and configurationDone needs it.
        self._entry = False

    def handle(self, message: Message) -> None:
        """Answer a request; raises `UsageError` with the sentence to answer instead."""
        name = message.get("command", "")
        handler = self._handlers.get(name)
        if handler is None:
            raise UsageError(f"this debugger knows no request {name!r}")
        # Editors leave the arguments out, or send null, where a request needs none.
        arguments = message.get("arguments") or {}
        follows = moving.FOLLOWS.get(name)
        try:
            self._answer(name, handler, follows, message, arguments)
        finally:
            if self.state.console is not None:
                # Between two requests the globals are bound as the program left them, not as a run has them.
                self.state.console.session.runs.holder.take(None)

    def _answer(
        self,
        name: str,
        handler: Handler,
        follows: Callable[[State, Arguments], None] | None,
        message: Message,
        arguments: Arguments,
    ) -> None:
        body = handler(self.state, arguments)
        # The answer goes first: what follows may run for long, and the editor waits for the answer.
        self.state.connection.respond(message, body)
        if name == "launch":
            # By the protocol this event asks for the breakpoints: the kernels in which they lie are known now.
            self.state.connection.event("initialized")
        elif name == "configurationDone":
            moving.moved(self.state, self._begin, "entry")
        elif follows is not None:
            follows(self.state, arguments)

    def interrupt(self) -> None:
        """Stop the kernel that runs; called from a signal's handler."""
        # Before the session exists no kernel runs that could stop: the host program ends.
        if self.state.console is None:
            raise KeyboardInterrupt
        self.state.console.session.interrupt()

    def close(self) -> None:
        """End the session with the editor."""
        if self.state.console is not None:
            self.state.console.session.close()

    def _launch(self, state: State, arguments: Arguments) -> Body:
        if state.console is not None:
            raise UsageError("a program is debugged already; end it first")
        program = self._make(arguments)
        self._entry = bool(arguments.get("stopOnEntry", False))
        state.stop_at_end = bool(arguments.get("stopAtEnd", True))
        with progressing(state, f"running {program.name} up to its first launch"):
            session = DebugSession(program)
        if not session.launches:
            failure = session.host.failure
            session.close()
            raise UsageError(
                NOT_LAUNCHED
                + (
                    f"; it has ended with {type(failure).__name__}: {said(failure)}"
                    if failure is not None
                    else ""
                )
            )
        state.console = Console(session)
        kernel = arguments.get("kernel")
        # A kernel that is not known is no reason to end the session: it begins at the first launch then.
        with contextlib.suppress(UsageError):
            if kernel:
                stopping.to_kernel(state, str(kernel))
        return None

    def _begin(self, state: State) -> None:
        state.begun = True
        if self._entry:
            verbs.step(state.session, everyone=True)
        else:
            verbs.resume(state.session)


def _initialize(state: State, arguments: Arguments) -> Body:
    state.lines_from_1 = bool(arguments.get("linesStartAt1", True))
    state.shows_progress = bool(arguments.get("supportsProgressReporting", False))
    return dict(CAPABILITIES)


def _attach(state: State, arguments: Arguments) -> Body:
    del state, arguments
    raise UsageError("a kernel is debugged from its launch on; use a launch configuration with a program")


def _configuration_done(state: State, arguments: Arguments) -> Body:
    del arguments
    state.session.recorded  # noqa: B018 - refuses where there is no launch
    return None


def _restart(state: State, arguments: Arguments) -> Body:
    del arguments
    verbs.rewind(state.session)
    return None
