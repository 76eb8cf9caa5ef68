"""A process that calls host functions for this process, which is its simulator: with the caller's own device and its launches."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from attrs import frozen

from mlusim.errors import Fault, LaunchError, MlusimError, RuleFault, UsageError
from mlusim.machine.device import Device
from mlusim.machine.launch import Launch
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr
from mlusim.toolkit.messages import SIZE, Message, send, unpacked
from mlusim.toolkit.server.command import SERVER
from mlusim.toolkit.server.memory import HostMistake
from mlusim.toolkit.server.program_server import FROM_DEVICE, MOVED, TO_DEVICE, BoardMemory, ProgramServer
from mlusim.toolkit.server.protocol import LONGEST_BOARDS, ProgramReply, ProgramRequest, ProgramSocket

CALLER = Path(__file__).parents[1] / "caller.py"
PATIENCE = 2.0  # seconds until a process that was asked to end is killed
MISSING = 127  # the exit code of a process that calls an undefined function
RAISED = (Fault, LaunchError, HostMistake)  # raised by a call; a driver would only return codes


class CalledServer(ProgramServer):
    """The server of a process that calls functions: *device* is the caller's, and the process can access tensors that are lent to it.

    *start* launches in place of the device; launches are appended to ``launches``; ``error`` is the first one, which
    the call raises.
    """

    repeats = False

    def __init__(self, device: Device, memory_fd: int, pid: int, launches: list[Launch]) -> None:
        super().__init__([device], memory_fd, pid, {})
        self.launches = launches
        self.start: Callable[..., Launch] | None = None
        self.error: MlusimError | None = None
        self._stored: list[tuple[int, int, int]] = []  # copies to memory that is not mapped

    def begin(self, start: Callable[..., Launch] | None) -> None:
        """Begin a call, and forget the errors of earlier ones."""
        self.start, self.error = start, None
        for queue in (*(board.usual for board in self.boards), *self._queues.values()):
            queue.forget()

    def handle(self, request: ProgramRequest) -> ProgramReply | None:
        """Perform *request*, after copying what the process has stored to lent memory."""
        self.take_stores()
        return super().handle(request)

    def lend(self, pointer: Ptr) -> int:
        """Make the memory of *pointer* accessible to the process; return the pointer's address."""
        allocation = pointer.view.allocation
        self.boards[0].memory.lend(allocation)
        return allocation.address + pointer.offset

    def pointing(self, address: int) -> Ptr | None:
        """Return the device pointer with the value *address*; None if the device has no memory there."""
        return None if self.memory_at(address).find(address) is None else self._pointing(address)

    def take_stores(self) -> None:
        """Copy to unmapped memory what the process has stored for it."""
        for address, nbytes, _ in self._stored:
            piece = self.boards[0].memory.find(address)
            if piece is not None:  # it may have been freed since
                at = address - piece.start
                piece.tensor.allocation.raw[at : at + nbytes] = self.boards[0].memory.window(address, nbytes)
        self._stored.clear()

    def copy(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMemcpy`` and its variants; bytes that are not in the program's memory are copied here, or shown in the map during the copy."""
        target, source, nbytes, direction = request.words[:4]
        reply = super().copy(request)
        if FROM_DEVICE[direction] and TO_DEVICE[direction]:
            self._move(target, source, nbytes)
            return reply._replace(value=MOVED)
        if FROM_DEVICE[direction]:
            self._show(source, nbytes)
        elif TO_DEVICE[direction]:
            self._expect(target, nbytes, request.caller)
        return reply

    def set(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMemset`` and its variants here."""
        reply = super().set(request)
        address, nbytes, _, value, width = request.words
        allocation, at = self._written(address)
        word = (value & 0xFFFFFFFF).to_bytes(4, "little")[: width if width in (1, 4) else 1]
        allocation.raw[at : at + nbytes] = np.frombuffer(word * (nbytes // len(word)), np.uint8)
        return reply._replace(value=MOVED)

    def _move(self, target: int, source: int, nbytes: int) -> None:
        """Copy *nbytes* bytes within the device."""
        allocation, at = self._read(source)
        into, to = self._written(target)
        into.raw[to : to + nbytes] = allocation.raw[at : at + nbytes]

    def _show(self, address: int, nbytes: int) -> None:
        allocation, at = self._read(address)
        memory = self.boards[0].memory
        if not memory.has_mapped(address):
            memory.window(address, nbytes)[:] = allocation.raw[at : at + nbytes]

    def _expect(self, address: int, nbytes: int, caller: int) -> None:
        self._written(address)
        if not self.boards[0].memory.has_mapped(address):
            self._stored.append((address, nbytes, caller))

    def _read(self, address: int) -> tuple[Allocation, int]:
        """Return the allocation that contains *address*, which was checked before, and the offset in it."""
        piece = self.memory_at(address).find(address)
        assert piece is not None
        return piece.tensor.allocation, address - piece.start

    def _written(self, address: int) -> tuple[Allocation, int]:
        """Return the allocation and the offset for a store.  Raises `UsageError` if the caller lent the memory as const."""
        allocation, at = self._read(address)
        if not allocation.writable:
            raise UsageError(f"{allocation.site} was lent by the caller as const; put() a copy to change it")
        return allocation, at

    def _started(self, board: BoardMemory, observe: Sequence[Any], *launched: Any) -> Launch:
        launch = super()._started(board, observe, *launched) if self.start is None else self.start(*launched)
        self.launches.append(launch)
        return launch

    def _said(self, request: ProgramRequest, code: int, error: MlusimError) -> ProgramReply:
        if not isinstance(error, RAISED):
            return super()._said(request, code, error)
        self.error = self.error or error
        return ProgramReply(code=code)


@frozen
class CallBytes:
    """A call as bytes: the function's symbol, pieces of memory, the piece of each argument, and pointers between pieces.

    Each of *links* is a piece, an offset in it, and the piece whose address is stored there.
    """

    symbol: str
    pieces: Sequence[bytes]
    arguments: Sequence[int]
    links: Sequence[tuple[int, int, int]] = ()

    @property
    def message(self) -> Message:
        """The message for `caller.py`."""
        asked = {"name": self.symbol, "arguments": self.arguments, "links": self.links}
        return Message(asked, self.pieces)


@frozen
class CallAnswer:
    """The reply to a call: the sentence of a failed check, the bytes of the return value, and the contents of the pieces."""

    refusal: str
    value: bytes
    pieces: Sequence[bytes]


class CallingProcess:
    """A process that calls functions for *device*; it is started at the first request.

    It loads *library* and runs `caller.py`; *words* is another command, to which the number of its socket is
    appended. *server* is the class of the simulator's side (None: ``side``).  ``first`` runs in the new process
    before anything else.
    """

    first: ClassVar[Callable[[], object] | None] = None
    side: ClassVar[type[CalledServer]] = CalledServer

    def __init__(
        self,
        library: Path,
        device: Device,
        launches: list[Launch],
        words: Sequence[str] = (),
        server: type[CalledServer] | None = None,
    ) -> None:
        # -I -S: it needs neither packages nor the user's settings, and starts faster.
        self._words = words or [sys.executable, "-I", "-S", str(CALLER), str(library)]
        self._library = library
        self._device, self._launches, self._side = device, launches, server or type(self).side
        self._running: subprocess.Popen[bytes] | None = None
        self._end: socket.socket | None = None
        self._driver: ProgramSocket | None = None
        self._session: CalledServer | None = None

    def server(self) -> CalledServer:
        """Return the simulator's side; start the process if necessary."""
        if self._running is None:
            self._begin()
        assert self._session is not None
        return self._session

    def call(self, name: str, call: CallBytes, start: Callable[..., Launch] | None) -> CallAnswer:
        """Call the function *name* (the user's name for it).

        Raises exceptions of its launches and copies, `UsageError` if the function ends its process, `RuleFault` if it
        crashes.
        """
        answer = self.exchange(name, call.message, start)
        value, *pieces = map(bytes, answer.pieces)
        return CallAnswer(answer.facts["refusal"], value, pieces)

    def exchange(self, name: str, request: Message, start: Callable[..., Launch] | None = None) -> Message:
        """Send *request*, and serve the process until it replies.  Raises as `call` does."""
        server = self.server()
        assert self._end is not None
        server.begin(start)
        whole = False
        try:
            send(self._end, request)
            answer = self._served()
            server.take_stores()
            whole = answer is not None
        finally:
            code = 0 if whole else self._over()  # it was interrupted in the middle of a call
        if answer is None:
            if server.error is not None:
                raise server.error
            if code < 0:
                raise RuleFault(
                    f"the host function {name} was ended by {signal.Signals(-code).name}",
                    hint="look for an index or a pointer of the host that leads outside of its array",
                )
            if code == MISSING:
                raise UsageError(
                    f"{name} calls a function that no loaded file defines (its name stands above); load the file that defines it, too"
                )
            raise UsageError(f"{name} ends the program with exit({code})")
        if server.error is not None:
            raise server.error
        return answer

    # -- the process -----------------------------------------------------------------------------

    def _begin(self) -> None:
        self._end, theirs = socket.socketpair()
        driver, drives = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._driver = ProgramSocket(driver)
        environment = {key: value for key, value in os.environ.items() if key != "MLUSIM_ERRORS"}
        with theirs, drives:
            self._running = subprocess.Popen(  # noqa: S603 - this Python, and a compiled library
                [*self._words, str(theirs.fileno())],
                env={**environment, SERVER: f"fd:{drives.fileno()}"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno(), drives.fileno()],
                preexec_fn=type(self).first,  # noqa: PLW1509 - set in a process with one thread that forks
            )
        for stream in self._streams():
            os.set_blocking(stream, False)
        ready = self._served()
        if ready is None or self._session is None:
            code = self._over()
            raise UsageError(f"the host functions cannot be loaded: their process ended with {code}")
        self._session.places.lies(str(self._library), ready.facts["first"])

    def _streams(self) -> Mapping[int, Any]:
        running = self._running
        assert running is not None
        assert running.stdout is not None
        assert running.stderr is not None
        return MappingProxyType({running.stdout.fileno(): sys.stdout, running.stderr.fileno(): sys.stderr})

    def _served(self) -> Message | None:
        """Serve the process until it replies, or is ready; return None if it has ended."""
        assert self._end is not None
        poll, streams, got = select.poll(), self._streams(), bytearray()
        for number in (self._end.fileno(), *streams):
            poll.register(number, select.POLLIN)
        if self._driver is not None:
            poll.register(self._driver.socket.fileno(), select.POLLIN)
        while True:
            for number, _ in poll.poll():
                if number == self._end.fileno():
                    some = self._end.recv(1 << 20)
                    if not some:
                        return None
                    got += some
                else:
                    self._hear(number, poll, streams)
            if len(got) >= SIZE.size and len(got) == SIZE.size + SIZE.unpack_from(got)[0]:
                for number, stream in streams.items():
                    _passed_on(number, stream)
                return unpacked(got[SIZE.size :])

    def _hear(self, number: int, poll: "select.poll", streams: Mapping[int, Any]) -> None:
        """Handle the readable file *number*: the driver of the process, or one of its *streams*."""
        if number not in streams:
            self._drive(poll)
        elif not _passed_on(number, streams[number]):
            poll.unregister(number)

    def _drive(self, poll: "select.poll") -> None:
        assert self._driver is not None
        request = None
        if self._session is not None:
            request = self._driver.receive()
        elif self._meet(self._driver.socket):
            return
        if request is None:
            poll.unregister(self._driver.socket)
            self._driver.socket.close()  # the process waits for that at its end
            self._driver = None
            return
        assert self._session is not None
        self._driver.answer(self._session.handle(request))

    def _meet(self, driver: socket.socket) -> bool:
        """Begin the server when the driver of the process sends its memory file; return whether it did."""
        assert self._running is not None
        _, files, *_ = socket.recv_fds(driver, LONGEST_BOARDS, 1)
        for file in files:
            try:
                self._session = self._side(self._device, file, self._running.pid, self._launches)
            finally:
                os.close(file)
        return self._session is not None

    def _over(self) -> int:
        """End the process if it is running; return its exit status, negative for a signal."""
        running, streams = self._running, self._streams()
        assert running is not None
        for end in (self._end, None if self._driver is None else self._driver.socket):
            if end is not None:
                end.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(PATIENCE)
        if running.returncode is None:
            running.kill()
            running.wait()
        for number, stream in streams.items():
            _passed_on(number, stream)
        for pipe in (running.stdout, running.stderr):
            assert pipe is not None
            pipe.close()
        if self._session is not None:
            self._session.close()
        self._running = self._end = self._driver = self._session = None
        return int(running.returncode)

    def __del__(self) -> None:
        """End the process together with this object."""
        if self._running is not None:
            self._over()


def _passed_on(number: int, stream: Any) -> bool:
    """Write the text that has arrived through a pipe; return whether more may follow."""
    try:
        while got := os.read(number, 1 << 16):
            stream.write(got.decode("utf-8", "replace"))
    except BlockingIOError:
        stream.flush()
        return True
    return False
