"""The server for one editor: a thread reads its requests, and `Adapter` answers them in the main thread, in which kernels run."""

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from mlusim.debug import verbs
from mlusim.debug.console.console import Console
from mlusim.debug.dap import inspecting, stopping
from mlusim.debug.dap.protocol import Connection, EditorStream, Message
from mlusim.debug.dap.state import Arguments, Body, Handler, State, moved, progressing
from mlusim.debug.locations import break_at
from mlusim.debug.session import NOT_LAUNCHED, DebugSession
from mlusim.debug.worker import Worker
from mlusim.errors import MlusimError, UsageError, one_line, said
from mlusim.programs.kernel_call import KernelCall
from mlusim.programs.program import Program

# The requests that an editor may send; it hides the buttons for others.
_SUPPORTED = (
    "supportsConfigurationDoneRequest supportsFunctionBreakpoints supportsConditionalBreakpoints "
    "supportsHitConditionalBreakpoints supportsLogPoints supportsDataBreakpoints "
    "supportsDataBreakpointBytes supportsInstructionBreakpoints supportsDisassembleRequest "
    "supportsSteppingGranularity supportsStepBack supportsGotoTargetsRequest "
    "supportsBreakpointLocationsRequest supportsSetVariable supportsSetExpression supportsReadMemoryRequest "
    "supportsWriteMemoryRequest supportsEvaluateForHovers supportsClipboardContext "
    "supportsCompletionsRequest supportsLoadedSourcesRequest supportsModulesRequest "
    "supportsExceptionInfoRequest supportsExceptionFilterOptions supportsTerminateRequest "
    "supportsCancelRequest supportsRestartRequest"
)
CAPABILITIES = {
    **dict.fromkeys(_SUPPORTED.split(), True),
    "completionTriggerCharacters": [" ", "."],
    "exceptionBreakpointFilters": stopping.FILTERS,
}


class Adapter:
    """Answers requests on *connection*; *make* constructs the program that a launch request describes."""

    def __init__(self, connection: Connection, make: "Callable[[Mapping[str, Any]], Program]") -> None:
        self.state = State(connection)
        self._make = make
        self._handlers: dict[str, Handler] = {
            **inspecting.HANDLERS,
            **stopping.HANDLERS,
            "initialize": _initialize,
            "launch": self._launch,
            "attach": _attach,
            "configurationDone": stopping.standing,
            "restart": _restart,
        }
        # From the launch request, for configurationDone: whether to stop at the kernel's entry.
        self._entry = False

    def handle(self, message: Message) -> None:
        """Answer a request; raises `UsageError`, whose message is then the answer."""
        name = message.get("command", "")
        handler = self._handlers.get(name)
        if handler is None:
            raise UsageError(f"this debugger knows no request {name!r}")
        # Editors omit the arguments, or send null, if a request needs none.
        arguments = message.get("arguments") or {}
        try:
            # The editor waits for the answer, and the action after it may take long.
            self.state.connection.respond(message, handler(self.state, arguments))
            if name == "launch":
                # By the protocol this event requests the breakpoints: only now are the kernels that contain
                # them known.
                self.state.connection.event("initialized")
            elif name == "configurationDone":
                moved(self.state, self._begin, "entry")
            elif name in stopping.FOLLOWS:
                stopping.FOLLOWS[name](self.state, arguments)
        finally:
            if self.state.console is not None:
                # Between requests the kernel's variables have the values that the program gave them, not
                # those of a run.
                self.state.console.session.runs.holder.take(None)

    def interrupt(self) -> None:
        """Stop the running kernel; called from a signal handler."""
        # Before the session exists no kernel can be running, so that the program ends.
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
            failure, told = session.host.failure, session.not_launched
            session.close()
            if failure is None:
                raise UsageError(told)
            raise UsageError(f"{NOT_LAUNCHED}; it has ended with {type(failure).__name__}: {said(failure)}")
        state.console = Console(session)
        kernel = arguments.get("kernel")
        # In a launch request for BANG C ``kernel`` names the called kernel; the editor says so if it wants no
        # stop there.
        if arguments.get("stopOnEntry") is False and isinstance(program, KernelCall) and program.asked.kernel:
            kernel = None
        # An unknown kernel does not end the session, which then begins at the first launch.
        with contextlib.suppress(UsageError):
            if kernel:
                break_at(session, str(kernel), temporary=True)
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


def _attach(_state: State, _arguments: Arguments) -> Body:
    raise UsageError("a kernel is debugged from its launch on; use a launch configuration with a program")


def _restart(state: State, _arguments: Arguments) -> Body:
    verbs.rewind(state.session)
    return None


LEAVING = ("disconnect", "terminate")
Make = Callable[[Mapping[str, Any]], Program]


def serve(source: BinaryIO, sink: BinaryIO, make: Make) -> None:
    """Serve the editor at the other end of the streams until it disconnects; called in the main thread.

    *make* constructs the program that the arguments of a launch request describe.
    """
    connection = Connection(source, sink)
    worker = Worker(lambda: Adapter(connection, make), Adapter.interrupt, Adapter.close)
    reader = threading.Thread(target=_read, args=(connection, worker), name="mlusim dap", daemon=True)
    reader.start()
    with _captured(connection):
        worker.serve()
    connection.event("terminated")
    connection.close()
    if worker.failure is not None:
        raise worker.failure


def serve_socket(port: int, make: Make, announce: Callable[[int], None], host: str = "127.0.0.1") -> None:
    """Serve the first editor that connects to *port* (0: any free port; *announce* is called with it)."""
    try:
        listener = socket.create_server((host, port))
    except OSError as error:
        raise UsageError(f"port {port} of {host} cannot be listened at: {error.strerror or error}") from None
    with listener:
        announce(listener.getsockname()[1])
        try:
            peer, _ = listener.accept()
        except KeyboardInterrupt:
            return
    with peer, peer.makefile("rb") as source, peer.makefile("wb") as sink:
        serve(source, sink, make)


def _read(connection: Connection, worker: Worker[Adapter]) -> None:
    """Pass every request to the main thread, except requests that stop a kernel, which are handled at once."""
    try:
        for message in connection.messages():
            if message.get("type") != "request":
                continue
            command = message.get("command")
            if command in ("pause", "cancel"):
                worker.interrupt()
                connection.respond(message)
            elif command in LEAVING:
                connection.respond(message)
                return
            else:
                worker.submit(partial(_handle, connection, message))
    except (MlusimError, OSError, ValueError) as error:
        connection.event("output", {"category": "important", "output": f"{error}\n"})
    finally:
        worker.close()


def _handle(connection: Connection, message: Message, adapter: Adapter) -> None:
    """Answer one request; an error is a normal answer."""
    try:
        adapter.handle(message)
    except MlusimError as error:
        connection.respond(message, error=one_line(error))
    except KeyboardInterrupt:
        connection.respond(message, error="interrupted")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        request, kind = message.get("command"), type(error).__name__
        sentence = f"the request {request!r} has arguments that the protocol does not know: {kind}: {error}"
        connection.respond(message, error=sentence)


@contextlib.contextmanager
def _captured(connection: Connection) -> Iterator[None]:
    """Send the program's output in the block to the editor."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = EditorStream(connection, "stdout"), EditorStream(connection, "stderr")
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
