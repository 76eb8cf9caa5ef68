"""The process that forks a child for each candidate, with all modules imported; it has the inputs, but never the expected outputs.

``python -m mlusim.judge.forkserver FD`` serves the socket FD: first a message that sets it up, then one request for
each candidate.
"""

import contextlib
import gc
import importlib
import os
import select
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from mlusim.judge import confine

if TYPE_CHECKING:
    from mlusim.judge.wire import Array, ArrayMessage

# Imported by name, after the network is removed, which requires a process with one thread.
CANDIDATE, WIRE = "mlusim.judge.candidate", "mlusim.judge.wire"
SECCOMP, READABLE = "mlusim.judge.seccomp", "mlusim.judge.readable"
WARM = """\
__mlu_entry__ void warm(float *out, const float *x, int n) {
  __nram__ float buffer[256];
  for (int i = taskId * 64; i < n; i += taskDim * 64) {
    __memcpy(buffer, x + i, 64 * sizeof(float), GDRAM2NRAM);
    __bang_add_scalar(buffer, buffer, 1.0f, 64);
    __memcpy(out + i, buffer, 64 * sizeof(float), NRAM2GDRAM);
  }
}
"""


class Server:
    """The server of one judge, which holds the other end of the socket *judge*."""

    def __init__(self, judge: socket.socket, *, network: bool) -> None:
        self._judge = judge
        self._network = network
        self._draws: list[tuple[Mapping[str, Any], Mapping[str, Array]]] = []
        self._setup: Mapping[str, Any] = {}

    def serve(self) -> None:
        """Answer requests until the judge closes the socket."""
        try:
            self._take(self._frame())
            self._answer({"ready": True} | self._probe())
            while True:
                some, files, _, _ = socket.recv_fds(self._judge, 1, 1)
                if not some:
                    return
                with contextlib.closing(os.fdopen(files[0], "wb", buffering=0)) as result:
                    request = self._frame().facts
                    self._answer(self._run(request, result.fileno()))
        except (EOFError, ConnectionError, BrokenPipeError):
            return

    def _frame(self) -> "ArrayMessage":
        document: ArrayMessage = importlib.import_module(WIRE).received(self._judge)
        return document

    def _answer(self, facts: Mapping[str, Any]) -> None:
        wire = importlib.import_module(WIRE)
        wire.send(self._judge, wire.ArrayMessage(facts))

    # -- preparation -------------------------------------------------------------------------------

    def _take(self, setup: "ArrayMessage") -> None:
        """Read the inputs of all calls, and do everything that takes longer the first time."""
        self._setup = setup.facts
        for place, facts in enumerate(setup.facts["draws"]):
            inputs = {
                name.partition("/")[2]: a for name, a in setup.arrays.items() if name.startswith(f"{place}/")
            }
            self._draws.append((facts, inputs))
        with tempfile.TemporaryDirectory(prefix="mlusim-judge-") as folder:
            path = Path(folder) / "warm.mlu"
            path.write_text(WARM, encoding="ascii")
            importlib.import_module(CANDIDATE).run(
                self._request({"path": str(path), "kernel": None, "function": None}), [_warm_draw()]
            )
        gc.collect()
        gc.freeze()  # objects that exist now are never collected, so that a child does not copy their pages

    def _request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self._setup[name]
            for name in ("board", "kernel", "function", "seconds", "include", "define")
        } | dict(request)

    def _readable(self) -> list[str]:
        """Return the paths that a candidate may read besides its own; the cache gets more of them after a compilation."""
        paths: list[str] = importlib.import_module(READABLE).readable(self._setup["include"])
        return paths

    def _probe(self) -> dict[str, Any]:
        """Find in a child which limits this system can impose on a process."""
        reads, writes = os.pipe()
        with tempfile.TemporaryDirectory(prefix="mlusim-judge-") as folder:
            child = os.fork()
            if child == 0:
                try:
                    held = confine.confined(folder, self._readable(), network=self._network)
                    native = importlib.import_module(SECCOMP).filtered(os.getpid())
                    os.write(writes, bytes(held.with_native(native)))
                finally:
                    os._exit(0)
            os.close(writes)
            got = os.read(reads, 4)
            os.close(reads)
            os.waitpid(child, 0)
        return dict(
            zip(("network", "files", "processes", "starts"), map(bool, got.ljust(4, b"\0")), strict=True)
        )

    # -- one candidate ---------------------------------------------------------------------------

    def _run(self, request: Mapping[str, Any], result: int) -> dict[str, Any]:
        """Fork a child for the candidate and wait until it ends or reaches a limit; return how it ended."""
        if self._setup["function"] is not None or b"bang_func" in Path(request["path"]).read_bytes():
            importlib.import_module(CANDIDATE).prepare(self._setup["board"], request["path"])
        with _folder() as folder, tempfile.TemporaryFile() as printed:
            child = os.fork()
            if child == 0:
                self._judge.close()
                self._child(request, result, printed.fileno(), folder)
            until = time.monotonic() + self._setup["seconds"] + GRACE
            beyond = self._watched(child, until, folder, printed.fileno())
            if beyond:
                os.kill(child, signal.SIGKILL)
            status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            _end_orphans()
            said = os.pread(printed.fileno(), PRINTED, 0).decode("utf-8", "replace")
        return {"status": status, "beyond": beyond, "printed": said}

    def _watched(self, child: int, until: float, folder: str, printed: int) -> str:
        """Wait for *child* to end; return the exceeded limit ("time", "memory", "room" or "processes"), "judge" if the judge has gone, or ""."""
        usual = confine.resident([os.getpid()])
        while not self._waited(child, min(until, time.monotonic() + LOOK)):
            if time.monotonic() >= until:
                return "time"
            processes = confine.family(child)
            if len(processes) > MOST_PROCESSES:
                return "processes"
            if confine.resident(processes) > self._setup["memory"] + usual * len(processes):
                return "memory"
            if confine.stored(folder) + os.fstat(printed).st_size > self._setup["written"] + ROOM:
                return "room"
            if select.select([self._judge], [], [], 0)[
                0
            ]:  # the judge sends nothing before it has the answer, so that a readable socket is a closed one
                return "judge"
        return ""

    def _waited(self, child: int, until: float) -> bool:
        """Wait for *child* to end; return False if the time is over or the judge has gone."""
        poll = select.poll()
        with contextlib.ExitStack() as stack:
            try:
                number = os.pidfd_open(child)
            except (OSError, AttributeError):  # an old kernel, or another system: poll
                return _looked(child, until)
            stack.callback(os.close, number)
            poll.register(number, select.POLLIN)
            poll.register(self._judge.fileno(), select.POLLIN)
            ready = dict(poll.poll(max(0.0, until - time.monotonic()) * 1000))
            return number in ready

    def _child(self, request: Mapping[str, Any], result: int, printed: int, folder: str) -> NoReturn:
        code, room = 1, importlib.import_module(CANDIDATE)
        try:
            os.setsid()
            os.chdir(folder)
            os.environ["TMPDIR"] = tempfile.tempdir = folder
            room.quiet(printed)
            confine.limited(self._setup["seconds"], self._setup["memory"], self._setup["written"])
            readable = [*self._readable(), *importlib.import_module(READABLE).own(request["path"])]
            confine.confined(folder, readable, network=self._network)
            packed = room.run(self._request(request), self._draws).packed()
            with os.fdopen(result, "wb", closefd=False) as file:
                file.write(packed)
            code = 0
        finally:
            os._exit(code)


LOOK = 0.2  # seconds between two checks of a candidate's memory and files
MOST_PROCESSES = 64  # of one candidate, including those that compile it
PRINTED = 2000  # bytes of a candidate's output that a verdict keeps
ROOM = 64 << 20  # bytes of its folder in addition to what it may write, for the files that the compiler makes
GRACE = 1.0  # seconds after which a candidate that does not end by itself is killed


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """Make a folder for a candidate, and remove it with its contents at the end of the block."""
    folder = tempfile.mkdtemp(prefix="mlusim-judge-")
    try:
        yield folder
    finally:
        with contextlib.suppress(OSError):
            confine.remove(folder)


def _warm_draw() -> "tuple[Mapping[str, Any], Mapping[str, Array]]":
    offered = {
        "inputs": ["x"],
        "outputs": ["out"],
        "numbers": {"n": 256},
        "elements": [256],
        "bind": {},
        "weights": [],
    }
    facts = {
        "case": "warm", "draw": 1, "outputs": [["out", "float32", [256]]], "dim": [2, 1, 1], "kind": "block", "offered": offered,
    }  # fmt: skip
    return facts, {"x": importlib.import_module("numpy").ones(256, "float32")}


def _looked(child: int, until: float) -> bool:
    while time.monotonic() < until:
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return True
        time.sleep(0.005)
    return False


def _end_orphans() -> None:
    """Kill the processes that the candidate left behind, which are now children of this process."""
    tasks = Path(f"/proc/self/task/{os.getpid()}/children")
    while True:
        with contextlib.suppress(OSError, ValueError):
            for pid in map(int, tasks.read_text(encoding="ascii").split()):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def main() -> None:
    """Serve the socket whose descriptor is the first argument."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # The candidate's folder becomes the current one; no module must be imported from it.
    sys.path[:] = [str(Path(folder).absolute()) for folder in sys.path]
    judge = socket.socket(fileno=int(sys.argv[1]))
    network = confine.without_network()  # while there is only one thread
    confine.adopt_orphans()
    Server(judge, network=network).serve()


if __name__ == "__main__":
    main()
