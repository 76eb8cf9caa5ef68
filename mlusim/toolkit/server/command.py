"""A user's command as a program of mlusim: this process is the simulator for every native program that the command starts."""

import codecs
import contextlib
import io
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mlusim.arch.catalog import named_boards
from mlusim.errors import Fault, UsageError
from mlusim.files.reading import brief
from mlusim.machine.hub import hears_of_mistakes
from mlusim.toolkit.ending import ended_in_order
from mlusim.toolkit.server.program_server import ProgramServer
from mlusim.toolkit.server.protocol import ProgramSocket, accepted

SERVER = "MLUSIM_SERVER"  # names the simulator's socket for the driver's library
TUNABLES = "GLIBC_TUNABLES"
OWN_PAGES = "glibc.malloc.mmap_threshold=1024:glibc.malloc.top_pad=0"  # bytes: each array has its own pages
REPORTED = "MLUSIM_REPORTED"  # tells the driver's library to keep silent, since mistakes become findings
PATIENCE = 5.0  # seconds until a program that was asked to end is killed


class NativeCommand:
    """The command *words*; its devices are *boards* (names), or those that the program's toolkit names.

    *options* apply to every launch.  If *file* is given, it is executed, with the first word as its name.  ``fault``
    is the first fault of its kernels.
    """

    def __init__(
        self,
        words: Sequence[str],
        boards: Sequence[str] = (),
        options: Mapping[str, Any] | None = None,
        file: str | None = None,
    ) -> None:
        self._file = file
        self._words, self._boards, self._options = list(words), list(boards), dict(options or {})
        self._sessions: dict[int, tuple[ProgramSocket, ProgramServer]] = {}
        self.fault: Fault | None = None

    def run(self) -> int:
        """Start the command and serve it until it ends; return its exit status, for a signal as in shells.

        Raises `UsageError` if it cannot be started.
        """
        name = f"mlusim-{secrets.token_hex(16)}"
        with ended_in_order(), socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listener:
            listener.bind(f"\0{name}")  # an abstract name, which leaves no file
            listener.listen(64)
            printed = [PrintedStream(sys.stdout), PrintedStream(sys.stderr)]
            try:
                running = self._started(name, printed)
            except BaseException:
                for stream in printed:
                    stream.close()
                raise
            ends = os.pidfd_open(running.pid)
            try:
                self._serve(listener, ends, {stream.pipe: stream for stream in printed if stream.pipe >= 0})
            finally:
                for connection, server in self._sessions.values():
                    connection.socket.close()
                    server.close()
                self._sessions.clear()
                os.close(ends)
                _end(running)
                for stream in printed:
                    stream.close()
        code = running.returncode
        if code < 0:
            sys.stderr.write(f"error: the program was ended by {signal.Signals(-code).name}\n")
        return code if code >= 0 else 128 - code

    def _started(self, name: str, printed: Sequence["PrintedStream"]) -> "subprocess.Popen[bytes]":
        sys.stdout.flush()
        try:
            return subprocess.Popen(  # noqa: S603 - the user's command
                self._words,
                executable=self._file,
                env={**os.environ, **_watching(), SERVER: name},
                stdout=printed[0].target,
                stderr=printed[1].target,
            )
        except OSError as error:
            raise UsageError(f"{self._words[0]} cannot be started: {brief(error)}") from None
        finally:
            for stream in printed:
                if stream.pipe >= 0:
                    os.close(stream.target)

    def _serve(self, listener: socket.socket, ends: int, pipes: Mapping[int, "PrintedStream"]) -> None:
        poll = select.poll()
        for number in (listener.fileno(), ends, *pipes):
            poll.register(number, select.POLLIN)
        while True:
            ready = [number for number, _ in poll.poll()]
            for number in ready:
                if number == listener.fileno():
                    self._accept(listener, poll)
                elif number in self._sessions:
                    self._answer(number, poll)
                elif number in pipes and not pipes[number].pass_on():
                    poll.unregister(number)
            if ready == [ends]:  # the program has ended, and none of its output is unread
                return

    def _accept(self, listener: socket.socket, poll: select.poll) -> None:
        program = accepted(listener)
        if program is None:
            return
        try:
            boards = named_boards(",".join(self._boards) or program.said.decode("utf-8", "replace"))
            server = ProgramServer(boards, program.file, program.pid, self._options)
        finally:
            os.close(program.file)
        self._sessions[program.end.fileno()] = ProgramSocket(program.end), server
        poll.register(program.end, select.POLLIN)

    def _answer(self, number: int, poll: select.poll) -> None:
        connection, server = self._sessions[number]
        request = connection.receive()
        if request is None:
            poll.unregister(number)
            del self._sessions[number]
            connection.socket.close()
            server.close()
            return
        connection.answer(server.handle(request))
        self.fault = self.fault or server.fault


def _watching() -> dict[str, str]:
    """Return environment variables for a program whose mistakes are reported: they give arrays their own pages, and silence the driver's library."""
    if not hears_of_mistakes():
        return {}
    tunables = os.environ.get(TUNABLES)
    return {TUNABLES: f"{tunables}:{OWN_PAGES}" if tunables else OWN_PAGES, REPORTED: "1"}


class PrintedStream:
    """The program's output to *stream*, a text stream of this process that may be redirected.

    ``target`` is passed to the new process: the stream's own file, or, if it has none, a pipe that is read here.
    """

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        try:
            self.target, self.pipe = int(stream.fileno()), -1
        except (AttributeError, OSError, ValueError, io.UnsupportedOperation):
            self.pipe, self.target = os.pipe()
            os.set_blocking(self.pipe, False)

    def pass_on(self) -> bool:
        """Write the text that has arrived through the pipe; return whether more may follow."""
        try:
            while got := os.read(self.pipe, 1 << 16):
                self._stream.write(self._decode(got))
        except BlockingIOError:
            return True
        return False

    def close(self) -> None:
        """Write the remaining text, and close the pipe."""
        if self.pipe >= 0:
            self.pass_on()
            self._stream.write(self._decode(b"", final=True))
            os.close(self.pipe)


def _end(running: "subprocess.Popen[bytes]") -> None:
    """Wait for a program that has ended; end one that is still running."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        if running.poll() is None:
            running.terminate()
        running.wait(PATIENCE)
    if running.poll() is None:
        running.kill()
        running.wait()
