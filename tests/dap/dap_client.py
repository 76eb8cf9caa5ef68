"""An editor for tests: talks to a server of its own process, and holds every message against the protocol's schema."""

import contextlib
import importlib.util
import json
import queue
import socket
import subprocess
import sys
import threading
from pathlib import Path

import jsonschema

from mlusim.cli.dap import program_of
from mlusim.debug.dap.server import serve

SCHEMA = json.loads(
    (
        Path(importlib.util.find_spec("debugpy").submodule_search_locations[0])
        / "_vendored/pydevd/_pydevd_bundle/_debug_adapter/debugProtocol.json"
    ).read_text(encoding="utf-8")
)
OWN = ("mlusim/",)


def _validator(name):
    return jsonschema.Draft4Validator({**SCHEMA, "$ref": f"#/definitions/{name}"})


def _definition(kind, name):
    return f"{name[0].upper()}{name[1:]}{kind}"


class Editor:
    """Starts ``mlusim dap`` and sends requests; events are kept until they are waited for."""

    def __init__(self, *words, cwd=None, streams=None):
        self.process = None
        if streams is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mlusim", "dap", *words],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd,
            )  # fmt: skip
            streams = self.process.stdout, self.process.stdin
        self._source, self._sink = streams
        self._sent = 0
        self._events, self._responses = queue.Queue(), queue.Queue()  # None: the stream has ended
        self.seen = []
        self._validators = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            header = b""
            while not header.endswith(b"\r\n\r\n"):
                byte = self._source.read(1)
                if not byte:
                    self._events.put(None)
                    self._responses.put(None)
                    return
                header += byte
            message = json.loads(self._source.read(int(header.split(b":")[1])))
            (self._responses if message["type"] == "response" else self._events).put(message)

    def valid(self, name, message):
        """Hold a message against its definition."""
        known = self._validators.setdefault(name, _validator(name))
        known.validate(message)

    def send(self, command, **arguments):
        """Send a request; return its number."""
        self._sent += 1
        message = {"seq": self._sent, "type": "request", "command": command, "arguments": arguments}
        if not command.startswith(OWN):
            self.valid(_definition("Request", command), message)
        body = json.dumps(message).encode()
        self._sink.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self._sink.flush()
        return self._sent

    def _next(self, messages):
        """The next of *messages*, however long a busy machine takes: a server that is gone has closed the stream."""
        message = messages.get()
        if message is None:
            messages.put(None)  # for the next question
            raise AssertionError(f"the server has gone; seen {self.seen}")
        return message

    def response(self, number):
        """The response to a request."""
        while True:
            message = self._next(self._responses)
            name = _definition("Response", message["command"])
            if not message["success"]:
                name = "ErrorResponse"
            if name in SCHEMA["definitions"]:
                self.valid(name, message)
            if message["request_seq"] == number:
                return message

    def ask(self, command, **arguments):
        """Send a request and return the body of its answer, which must be a success."""
        message = self.response(self.send(command, **arguments))
        assert message["success"], message.get("message")
        return message.get("body", {})

    def refused(self, command, **arguments):
        """The sentence with which a request is refused."""
        message = self.response(self.send(command, **arguments))
        assert not message["success"]
        return message["message"]

    def event(self, name):
        """The body of the next event called *name*; others are kept in ``seen``."""
        while True:
            message = self._next(self._events)
            if not message["event"].startswith(OWN):
                self.valid(_definition("Event", message["event"]), message)
            self.seen.append(message)
            if message["event"] == name:
                return message.get("body", {})

    def launch(self, program, *, setup=None, progress=False, **arguments):
        """Launch, set breakpoints by *setup*, and begin; with *progress* as an editor that shows it."""
        self.ask("initialize", adapterID="mlusim", linesStartAt1=True, supportsProgressReporting=progress)
        number = self.send("launch", program=str(program), **arguments)
        answer = self.response(number)
        assert answer["success"], answer["message"]
        self.event("initialized")
        result = setup(self) if setup is not None else None
        self.ask("configurationDone")
        return result

    def go(self, command, **arguments):
        """Move, and return the stop."""
        self.ask(command, **arguments)
        return self.event("stopped")

    def top(self, thread):
        """The innermost frame of a thread."""
        return self.ask("stackTrace", threadId=thread)["stackFrames"][0]

    def scope(self, frame, name):
        """The variables of a scope of a frame, by name."""
        scopes = self.ask("scopes", frameId=frame["id"])["scopes"]
        found = next(s for s in scopes if s["name"].startswith(name))
        variables = self.ask("variables", variablesReference=found["variablesReference"])["variables"]
        return found["variablesReference"], {v["name"]: v for v in variables}

    def close(self):
        """Leave; return the process's exit code."""
        self.response(self.send("disconnect"))
        self.finish()
        if self.process is None:
            return 0
        code = self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        return code

    def finish(self):
        """Wait for the end of what the server says, before the stream is closed."""
        self._reader.join()

    def output(self):
        """Everything that was shown so far."""
        return "".join(m["body"]["output"] for m in self.seen if m["event"] == "output")


def editing(scenario, make=program_of):
    """Run *scenario* of an editor in a thread, and serve it in this one."""
    ours, theirs = socket.socketpair()
    errors = []

    def front(reader, writer):
        editor = Editor(streams=(reader, writer))
        try:
            scenario(editor)
            editor.close()
        except BaseException as error:  # noqa: BLE001 - raised again below
            errors.append(error)
            ours.shutdown(socket.SHUT_RDWR)
            editor.finish()

    with ours, theirs, ours.makefile("rb") as a, ours.makefile("wb") as b:
        thread = threading.Thread(target=front, args=(a, b))
        thread.start()
        gone = contextlib.suppress(BrokenPipeError)  # of a scenario that has failed, which is raised below
        with gone, theirs.makefile("rb") as source, theirs.makefile("wb") as sink:
            serve(source, sink, make)
        with contextlib.suppress(OSError):
            theirs.shutdown(socket.SHUT_RDWR)
        thread.join()
    if errors:
        raise errors[0]
