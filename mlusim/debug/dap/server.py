"""Serving one editor: a thread reads its requests, the main thread, which the kernels have, answers them."""

import contextlib
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from mlusim.debug.dap.adapter import Adapter
from mlusim.debug.dap.protocol import Connection, EditorStream, Message
from mlusim.debug.worker import Worker
from mlusim.errors import MlusimError, UsageError
from mlusim.programs.program import Program

LEAVING = ("disconnect", "terminate")
Make = Callable[[Mapping[str, Any]], Program]


def serve(source: BinaryIO, sink: BinaryIO, make: Make) -> None:
    """Serve the editor at the other end of the streams until it leaves; called in the main thread.

    *make* makes the program that the arguments of a launch request name.
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
    """Serve the first editor that connects to *port* (0: any that is free; *announce* is told which)."""
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
    """Hand every request over; what stops a kernel does not wait for it."""
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
    """Answer one request; a mistake is an answer like any other."""
    try:
        adapter.handle(message)
    except MlusimError as error:
        connection.respond(message, error=" ".join(str(error).split()))
    except KeyboardInterrupt:
        connection.respond(message, error="interrupted")
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        connection.respond(
            message,
            error=f"the request {message.get('command')!r} has arguments that the protocol does not know: {type(error).__name__}: {error}",
        )


@contextlib.contextmanager
def _captured(connection: Connection) -> Iterator[None]:
    """Send what the program prints in the block to the editor."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = EditorStream(connection, "stdout"), EditorStream(connection, "stderr")
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
