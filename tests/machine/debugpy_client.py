"""A client of the Debug Adapter Protocol, as small as a test needs it."""

import json
import socket
import subprocess
import sys
import time


class Client:
    """Starts a script under debugpy and talks to it; messages that were not waited for are kept."""

    def __init__(self, script, folder):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, "-Xfrozen_modules=off", "-m", "debugpy", "--listen", f"127.0.0.1:{port}", "--wait-for-client", str(script)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        )  # fmt: skip
        self._socket = self._connect(port)
        self._file = self._socket.makefile("rb")
        self._number = 0
        self._events = []

    def _connect(self, port):
        for _ in range(600):
            try:
                return socket.create_connection(("127.0.0.1", port), timeout=60)
            except OSError:
                assert self.process.poll() is None, self.process.stderr.read()
                time.sleep(0.05)
        raise AssertionError("debugpy does not listen")

    def send(self, command, **arguments):
        """Send a request and return its number."""
        self._number += 1
        body = json.dumps(
            {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        ).encode()
        self._socket.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        return self._number

    def ask(self, command, **arguments):
        """Send a request and return the body of its response."""
        number = self.send(command, **arguments)
        while True:
            message = self._read()
            if message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body", {})
            self._events.append(message)

    def event(self, name):
        """The body of the next event called *name*."""
        for message in self._events:
            if message["type"] == "event" and message["event"] == name:
                self._events.remove(message)
                return message.get("body", {})
        while True:
            message = self._read()
            if message["type"] == "event" and message["event"] == name:
                return message.get("body", {})
            self._events.append(message)

    def _read(self):
        size = 0
        while (line := self._file.readline().strip()) or not size:
            assert line or self.process.poll() is None
            if line.lower().startswith(b"content-length:"):
                size = int(line.split(b":")[1])
        return json.loads(self._file.read(size))

    def start(self, breakpoints, exceptions=(), **options):
        """Attach with breakpoints, {file: [line or breakpoint, ...]}, and let the program run; *options* are a configuration's."""
        self.ask("initialize", adapterID="mlusim", clientID="test", linesStartAt1=True, pathFormat="path")
        self.send("attach", **{"justMyCode": False, **options})
        self.event("initialized")
        for file, lines in breakpoints.items():
            self.ask(
                "setBreakpoints",
                source={"path": str(file)},
                breakpoints=[n if isinstance(n, dict) else {"line": n} for n in lines],
            )
        self.ask("setExceptionBreakpoints", filters=list(exceptions))
        self.ask("configurationDone")

    def stopped(self):
        """Wait for a stop and return the innermost frame: its id, name and line."""
        thread = self.event("stopped")["threadId"]
        return thread, self.ask("stackTrace", threadId=thread)["stackFrames"][0]

    def value(self, frame, expression):
        """The value of an expression in a frame, as text."""
        return self.ask("evaluate", expression=expression, frameId=frame["id"], context="watch")["result"]

    def close(self):
        """End the program."""
        self._file.close()
        self._socket.close()
        self.process.kill()
        self.process.communicate(timeout=60)
