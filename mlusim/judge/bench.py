"""The judge's end of a fork server: it sends the inputs, requests runs of candidates, and reads their results."""

import contextlib
import io
import os
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from attrs import frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.errors import UsageError
from mlusim.judge import wire
from mlusim.judge.binding import CallOffer, facts_of
from mlusim.judge.confine import Confinement, environment
from mlusim.judge.reference import Draw
from mlusim.programs.argument_forms import AskedCall

_SERVER = "mlusim.judge.forkserver"


@frozen(eq=False)
class EndedProcess:
    """The results of a candidate's process: its *document*, if complete, and its exit *status* (negative after a signal).

    *beyond* names the exceeded limit for which it was ended: "time", "memory", "room" or "processes"; *printed* is
    the beginning of its output.
    """

    document: wire.ArrayMessage | None = None
    status: int = 0
    beyond: str = ""
    printed: str = ""


class Bench:
    """A fork server for *draws* of the call *asked*; it starts at once, and ends with `close`, with this object, or with the process."""

    def __init__(
        self,
        asked: AskedCall,
        draws: Sequence[Draw],
        bind: Mapping[str, str],
        *,
        seconds: float,
        memory: int,
    ) -> None:
        self._end, theirs = socket.socketpair()
        with theirs:
            self._server = _started(theirs)
        # Closed when this process ends, at the latest.
        self.close = weakref.finalize(self, _closed, self._end, self._server)
        self._alone = threading.Lock()  # one candidate at a time, as in the threads of a worker of Dask
        self._most = sum(d.nbytes for d in draws) + wire.ROOM
        setup = {
            "board": asked.board,
            "kernel": asked.kernel,
            "function": asked.function,
            "seconds": seconds,
            "memory": memory,
            "written": self._most,
            "include": [str(Path(folder).resolve()) for folder in asked.include],
            "define": [list(pair) for pair in asked.define.items()],
            "draws": [_facts(draw, bind) for draw in draws],
        }
        inputs = {f"{n}/{name}": a for n, d in enumerate(draws) for name, a in d.inputs.items()}
        self._send(wire.ArrayMessage(setup, inputs))
        ready = self._answer()
        self.confinement = Confinement(
            *(bool(ready.get(n)) for n in ("network", "files", "processes", "starts"))
        )

    def run(self, path: str) -> EndedProcess:
        """Run the candidate in the file *path* with each draw, and return the results of its process."""
        with self._alone, _result() as file:
            socket.send_fds(self._end, [b"r"], [file.fileno()])
            self._send(wire.ArrayMessage({"path": str(Path(path).resolve())}))
            answer = self._answer()
            file.seek(0)
            data = file.read(self._most + 1)
        try:
            document = wire.unpacked(data) if answer["status"] == 0 else None
        except wire.BrokenMessage:
            document = None
        return EndedProcess(document, int(answer["status"]), str(answer["beyond"]), str(answer["printed"]))

    def _send(self, document: wire.ArrayMessage) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionError):  # `_answer` says so
            wire.send(self._end, document)

    def _answer(self) -> Mapping[str, Any]:
        try:
            return wire.received(self._end).facts
        except (EOFError, ConnectionError):
            code = self._server.wait()
            raise UsageError(
                f"the process that starts candidates has ended with {code}; what it said is above"
            ) from None


def _closed(end: socket.socket, server: "subprocess.Popen[bytes]") -> None:
    """End the server, and its child processes."""
    end.close()
    try:
        server.wait(5)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _facts(draw: Draw, bind: Mapping[str, str]) -> dict[str, Any]:
    """Return the facts of *draw* for a candidate's process: everything except the expected outputs."""
    inputs = [a for n, a in draw.inputs.items() if n not in draw.weights]
    every = [*inputs, *draw.expected.values()]
    offered = CallOffer(
        list(draw.inputs),
        list(draw.expected),
        draw.numbers,
        frozenset(a.size for a in every),
        bind,
        frozenset(draw.weights),
    )
    return {
        "case": draw.case,
        "draw": draw.number,
        "outputs": [[name, as_dtype(a.dtype).name, list(a.shape)] for name, a in draw.expected.items()],
        "dim": list(draw.dim),
        "kind": draw.kind,
        "offered": facts_of(offered),
    }


def _result() -> Any:
    """Return an unnamed file for the results of a candidate."""
    if hasattr(os, "memfd_create"):
        return io.FileIO(os.memfd_create("mlusim-judge"), "r+b")
    return tempfile.TemporaryFile()


def _started(end: socket.socket) -> "subprocess.Popen[bytes]":
    """Start the process that forks candidates; it listens at *end*."""
    return subprocess.Popen(  # noqa: S603 - this Python, and a module of ours
        [sys.executable, "-m", _SERVER, str(end.fileno())],
        env=environment(os.environ),
        pass_fds=[end.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
