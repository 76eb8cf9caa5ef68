"""The simulator's side of a candidate's untrusted host code: which requests are allowed, and what is noted of them."""

import struct
from collections.abc import Callable, Iterator

from mlusim.bangc import types as t
from mlusim.errors import UsageError
from mlusim.judge.origins import Handed, Origins
from mlusim.machine.hub import attendants
from mlusim.memory.pointer import Ptr
from mlusim.toolkit.server.called import CalledServer
from mlusim.toolkit.server.closed_library import ClosedLibrary
from mlusim.toolkit.server.memory import PrivateMemory
from mlusim.toolkit.server.program_server import FROM_DEVICE, TO_DEVICE
from mlusim.toolkit.server.protocol import CODES, OPS, ProgramReply, ProgramRequest

# How each request affects the followed bytes; a request outside of the first two sets is refused.
FOLLOWED = frozenset(("LAUNCH", "COPY", "SET", "CNNL", "DURATION"))
HARMLESS = frozenset(
    ("IMAGE", "KERNEL", "SIZES", "MALLOC", "FREE", "QUEUE", "QUEUE_END", "SYNC", "NOTIFIER", "NOTIFIER_END", "PLACE", "WAIT",
     "QUEUE_WAIT", "ATTRIBUTE", "NAME", "MEMORY", "WHERE", "KIND", "DEVICES", "RESET", "RANGE", "REFUSED", "END", "DESCRIBE", "TOUCHED", "SYMBOL", "LINE")
)  # fmt: skip
# Shared memory is refused, since another process could compute with it unseen; so are names of constants, for
# which the simulator would read a file that the candidate names, although its confinement may hide that file.
REFUSED = frozenset(("SHARE", "MAP", "UNMAP", "CONSTANT", "GIVEN", "SETTLED"))
_LET = {OPS[name] for name in FOLLOWED | HARMLESS}
_NAMES = {number: name for name, number in OPS.items()}
_DOUBLE = 8  # bytes of a duration


class JudgedServer(CalledServer):
    """The server of a candidate: the device's memory stays in this process, and `Origins` is informed of each access."""

    memory_kind = PrivateMemory
    _closed: "_FollowedLibrary | None"

    def handle(self, request: ProgramRequest) -> ProgramReply | None:
        """Perform *request*.  Raises `MemoryError` if this process reaches its limit of memory."""
        if request.op not in _LET:
            what = _NAMES.get(request.op, request.op)
            error = UsageError(
                f"a candidate may not ask for request {what}; judge cannot follow what it does"
            )
            return self._refused(request, CODES["cnrtErrorNotSupport"], error)
        return super().handle(request)

    def _unexpected(self, request: ProgramRequest, error: Exception) -> ProgramReply:
        if isinstance(error, MemoryError):  # a limit of the judge, which the verdict reports
            raise error
        return super()._unexpected(request, error)

    @property
    def _origins(self) -> Origins | None:
        """The origins of the current call; None while the process is being loaded."""
        return next((attendant for attendant in attendants() if isinstance(attendant, Origins)), None)

    def line(self, request: ProgramRequest) -> ProgramReply:  # noqa: ARG002 - whichever it is
        """Reply that no Python lines are reported, because the lines that call a candidate belong to the judge."""
        return ProgramReply()

    # -- copies ----------------------------------------------------------------------------------

    def copy(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMemcpy`` and its variants."""
        reply = super().copy(request)
        _, source, nbytes, direction = request.words[:4]
        origins = self._origins
        if origins is not None and FROM_DEVICE[direction] and not TO_DEVICE[direction]:
            allocation, at = self._read(source)
            origins.read_back(allocation, at, at + nbytes)
        return reply

    def set(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtMemset`` and its variants."""
        reply = super().set(request)
        address, nbytes = request.words[:2]
        allocation, at = self._read(address)
        if self._origins is not None:
            word = allocation.raw[at : at + min(nbytes, 4)].tobytes()
            place = f"the value of cnrtMemset at {self.places(request.caller)}"
            self._origins.filled(allocation, at, at + nbytes, word, place=place)
        return reply

    def _move(self, target: int, source: int, nbytes: int) -> None:
        super()._move(target, source, nbytes)
        if self._origins is not None:
            allocation, at = self._read(source)
            into, to = self._read(target)
            self._origins.moved(into, to, allocation, at, nbytes)

    def take_stores(self) -> None:
        """Copy the bytes that the process has stored to the device's memory, and inform `Origins`."""
        stored = tuple(self._stored)
        super().take_stores()
        origins = self._origins
        for address, nbytes, caller in stored if origins is not None else ():
            piece = self.memory_at(address).find(address)
            if piece is not None:
                allocation, at = piece.tensor.allocation, address - piece.start
                content = allocation.raw[at : at + nbytes].tobytes()
                assert origins is not None
                origins.written(allocation, at, content, place=f"the copy at {self.places(caller)}")

    # -- launches --------------------------------------------------------------------------------

    def launch(self, request: ProgramRequest) -> ProgramReply:
        """Launch a kernel; its printed output goes to the verdict, not to the candidate."""
        reply = super().launch(request)
        if self._origins is not None:
            self._note_launch(self._origins.handed, request, informed=self._origins.informed)
        return reply._replace(printed="")

    def _note_launch(self, handed: Handed, request: ProgramRequest, *, informed: bool) -> None:
        """Note the numbers of a launch: its grid, and the numbers among its arguments."""
        stub, xy, z_kind = request.words[:3]
        kernel = self._loaded_for(stub, self.board(request).device).kernel
        grid = struct.pack("<QI", xy, z_kind & 0xFFFFFFFF)
        numbers: list[tuple[str, t.Type, bytes]] = [
            (f"the {axis} of the grid", t.INT32, grid[4 * n : 4 * n + 4]) for n, axis in enumerate("xyz")
        ]
        at = 0
        for parameter in kernel.form.parameters:
            numbers += self._numbers(parameter.source_name, parameter.type, request.payload[at:])
            at += parameter.type.size
        for name, kind, content in numbers:
            place = f"{name} of {kernel.name}"
            if not informed:
                handed.given(content)
            elif isinstance(kind, t.Arithmetic) and kind.kind == "float":
                handed.datum(place, content)
            else:
                handed.word(place, content)

    def _numbers(self, name: str, kind: t.Type, content: bytes) -> Iterator[tuple[str, t.Type, bytes]]:
        """Yield the numbers at the start of *content*, of type *kind*, each with its name; a pointer counts as its distance from the start of its allocation."""
        if isinstance(kind, t.Struct):
            for member in kind.fields:
                yield from self._numbers(f"{name}.{member.name}", member.type, content[member.offset :])
        elif isinstance(kind, t.Array):
            for n in range(kind.count):
                yield from self._numbers(f"{name}[{n}]", kind.of, content[n * kind.of.size :])
        elif isinstance(kind, t.Pointer):
            address = int.from_bytes(content[: kind.size], "little")
            piece = self.memory_at(address).find(address)
            yield name, kind, struct.pack("<q", 0 if piece is None else address - piece.start)
        else:
            yield name, kind, content[: kind.size]

    def duration(self, request: ProgramRequest) -> ProgramReply:
        """Perform ``cnrtNotifierDuration``: the time of a kernel tells the host something about the inputs."""
        reply = super().duration(request)
        if self._origins is not None:
            self._origins.learned(_DOUBLE, "the time of a kernel", struct.pack("<Q", reply.value))
        return reply

    # -- the closed library ----------------------------------------------------------------------

    def cnnl(self, request: ProgramRequest) -> ProgramReply:
        """Perform a call of the closed library: its stores are not a kernel's, and the values that it returns to the host are read back."""
        self._closed = self._closed or _FollowedLibrary(self._found)
        reply = super().cnnl(request)
        stored = self._closed.stored
        origins = self._origins
        if origins is not None:
            if reply.payload:
                origins.learned(len(reply.payload), "what a library returns", reply.payload)
            for pointer, nbytes in stored:
                allocation, at = pointer.view.allocation, pointer.offset
                content = allocation.raw[at : at + nbytes].tobytes()
                origins.by_library(
                    allocation, at, content, place=f"the library's call at {self.places(request.caller)}"
                )
        stored.clear()
        return reply


class _FollowedLibrary(ClosedLibrary):
    """The closed library, with the pieces of memory that it has ``stored`` to since the last call."""

    def __init__(self, pointing: Callable[[int], Ptr | None]) -> None:
        super().__init__(pointing)
        self.stored: list[tuple[Ptr, int]] = []

    def filled(self, pointer: Ptr, nbytes: int) -> None:
        """Note that a stand-in stored *nbytes* bytes at *pointer*."""
        super().filled(pointer, nbytes)
        self.stored.append((pointer, nbytes))
