"""Messages of the Debug Adapter Protocol: JSON after a header with its length in bytes."""

import json
import threading
from collections.abc import Iterator, Mapping
from queue import SimpleQueue
from typing import Any, BinaryIO

from mlusim.counted import plural
from mlusim.errors import UsageError

LARGEST = 64 << 20  # bytes of the largest message that is read
LAST = 10  # seconds for the editor to read the last messages
Message = dict[str, Any]


class Connection:
    """Reads messages from one stream, and writes to another, from any thread.

    A separate thread writes: a kernel that is paused during a print must not hold a lock that the answer needs.
    """

    def __init__(self, source: BinaryIO, sink: BinaryIO) -> None:
        self._source, self._sink = source, sink
        self._outgoing: SimpleQueue[bytes | None] = SimpleQueue()
        self._writer = threading.Thread(target=self._write, name="mlusim dap writer", daemon=True)
        self._writer.start()
        self._closed = False

    def messages(self) -> Iterator[Message]:
        """Yield every message until the stream ends; raises `UsageError` for invalid input."""
        while (size := self._size()) is not None:
            if not 0 < size <= LARGEST:
                raise UsageError(
                    f"a message of {size} {plural(size, 'byte')} is not read; the largest has {LARGEST}"
                )
            body = self._source.read(size)
            if len(body) < size:
                return
            try:
                message = json.loads(body)
            except ValueError as error:
                raise UsageError(f"a message is not JSON: {error}") from None
            if not isinstance(message, dict):
                raise UsageError(f"a message is {type(message).__name__}, and no object")
            yield message

    def _size(self) -> int | None:
        """Read a header and return the length in it; None at the end of the stream."""
        size = None
        while line := self._source.readline(4096):
            text = line.decode("ascii", "replace").strip()
            if not text and size is not None:
                return size
            name, _, value = text.partition(":")
            if name.lower() == "content-length":
                if not value.strip().isdigit():
                    raise UsageError(f"{value.strip()!r} is not a length of a message")
                size = int(value)
        return None

    def respond(
        self, request: Mapping[str, Any], body: Mapping[str, Any] | None = None, error: str | None = None
    ) -> None:
        """Answer *request* with *body*, or with the error message *error*."""
        message: Message = {
            "type": "response",
            "request_seq": request.get("seq", 0),
            "command": request.get("command", ""),
            "success": error is None,
        }
        if error is not None:
            shown = request.get("command") not in IN_PLACE
            message["message"] = error
            # The protocol's format takes what stands in braces for variables.
            escaped = error.replace("{", "(").replace("}", ")")
            message["body"] = {"error": {"id": 1, "format": escaped, "showUser": shown}}
        elif body is not None:
            message["body"] = dict(body)
        self._send(message)

    def event(self, name: str, body: Mapping[str, Any] | None = None) -> None:
        """Send an event to the editor."""
        self._send({"type": "event", "event": name} | ({} if body is None else {"body": dict(body)}))

    def close(self) -> None:
        """Write the waiting messages, and refuse further ones."""
        self._closed = True
        self._outgoing.put(None)
        self._writer.join(LAST)

    def _send(self, message: Message) -> None:
        if not self._closed:
            self._outgoing.put(json.dumps(message, default=str).encode())

    def _write(self) -> None:
        number = 0
        while (message := self._outgoing.get()) is not None:
            number += 1
            body = b'{"seq": %d, ' % number + message[1:]
            try:
                self._sink.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
                self._sink.flush()
            except (OSError, ValueError):  # the other end has closed the stream
                self._closed = True
                return


# Requests whose errors are shown in place.  An editor fills its views by them, and may still send those of
# one stop while the next one is announced; errors in expressions are shown in the console, in a tooltip, or
# in the watches.
_IN_PLACE = (
    "threads stackTrace scopes variables evaluate completions disassemble readMemory exceptionInfo loadedSources modules "
    "breakpointLocations dataBreakpointInfo"
)
IN_PLACE = frozenset(_IN_PLACE.split())


class EditorStream:
    """Replaces a stream of the program, and sends its output to the editor's console."""

    encoding = "utf-8"

    def __init__(self, connection: Connection, category: str) -> None:
        self._connection, self._category = connection, category

    def write(self, text: str) -> int:
        """Show *text* in the editor's console."""
        if text:
            self._connection.event("output", {"category": self._category, "output": text})
        return len(text)

    def flush(self) -> None:
        """Do nothing: output is sent as it is written."""

    def isatty(self) -> bool:
        """Return False: the console of an editor is not a terminal."""
        return False
