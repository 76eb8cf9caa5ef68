"""Tests of other projects in processes of their own: what these tell, and the end of a test that takes too long.

The time of a test is that of the processors, of its process and of all that it has started, as the simulator; where that stands still, the clock's.
A test ends in its own process where Python runs. Where it does not, as in a call that does not return, the parent ends the process.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from attrs import define, field, frozen

CLOCK = 8
"""Times its seconds a test may take by the clock: on a machine of which others have the most, too."""
MERCY = 1.5
"""Times its seconds a test may take before its process is ended."""
SILENCE = 1800.0
"""Seconds by the clock in which a process tells nothing, between tests: the first import compiles the device."""
TICK = 0.5
"""Seconds between two looks."""
MARK = "@@"


@frozen
class Spent:
    """Seconds of a process and all that it has started: of the processors, and by the clock."""

    processors: float
    clock: float

    @classmethod
    def by(cls, session: int) -> "Spent":
        """Return what the processes of this session have spent by now: the simulator has the session of its program, and not its parent."""
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                _, _, rest = path.read_text().rpartition(")")
            except OSError:  # it has ended since
                continue
            words = rest.split()
            if int(words[3]) == session:
                ticks += sum(map(int, words[11:15]))  # its own, and of children that have ended
        return cls(ticks / os.sysconf("SC_CLK_TCK"), time.monotonic())

    def over(self, since: "Spent", seconds: float) -> bool:
        """Return whether more than *seconds* were spent *since*."""
        return self.processors - since.processors > seconds or self.clock - since.clock > CLOCK * seconds


# -- in the process of the tests -----------------------------------------------------------------------


class Late(BaseException):
    """A test takes longer than it may."""


def say(*words: str) -> None:
    """Tell the parent."""
    print(MARK + json.dumps([" ".join(word.split())[:300] for word in words]), flush=True)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Late` in what takes more than *seconds*; an import first ends, for half a module would fail all that comes after."""
    session = os.getsid(0)
    begin = Spent.by(session)

    def look(_: int, frame: types.FrameType | None) -> None:
        if not Spent.by(session).over(begin, seconds):
            return
        while frame is not None:
            if frame.f_code.co_filename.startswith("<frozen importlib"):
                return
            frame = frame.f_back
        raise Late

    signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, TICK, TICK)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


# -- in its parent -------------------------------------------------------------------------------------


@define
class Child:
    """A process of tests: its *script* with *arguments*; a test in it may take *seconds*."""

    script: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    seconds: float
    late: bool = field(default=False, init=False)
    """Whether it was ended in a test that took too long."""
    code: int = field(default=0, init=False)
    """What it ended with."""
    why: str = field(default="", init=False)
    """The last line that it wrote to standard error."""

    @property
    def end(self) -> tuple[str, str]:
        """The outcome of the test in which it has ended, and the reason."""
        if self.late:
            return "late", f"more than {self.seconds:g} s"
        return "died", f"exit {self.code}: {self.why}"[:200]

    def told(self) -> Iterator[list[str]]:
        """Run it, and return the words of each line that it tells: ``test`` and a name where one begins, with how it ended behind them after it."""
        path = f"{Path(__file__).parents[1]}:{self.environment.get('PYTHONPATH', '')}"
        command = [sys.executable, str(self.script), *self.arguments]
        with (
            tempfile.TemporaryFile() as errors,
            subprocess.Popen(  # noqa: S603 - the tests that the caller names
                command, stdout=subprocess.PIPE, stderr=errors, env={**self.environment, "PYTHONPATH": path}, cwd=self.folder, start_new_session=True
            ) as process,
        ):  # fmt: skip
            try:
                yield from self._words(process)
            finally:
                with suppress(ProcessLookupError):  # what a test has started may live on behind it
                    os.killpg(process.pid, signal.SIGKILL)
            self.code = process.wait()
            errors.seek(0)
            self.why = (errors.read().decode(errors="replace").strip().splitlines() or [""])[-1]

    def _words(self, process: "subprocess.Popen[bytes]") -> Iterator[list[str]]:
        assert process.stdout is not None
        begin, running, rest = Spent.by(process.pid), False, b""
        while True:
            if not select.select([process.stdout], [], [], TICK)[0]:
                now = Spent.by(process.pid)
                self.late = running and now.over(begin, MERCY * self.seconds)
                if self.late or now.clock - begin.clock > SILENCE:
                    return
                continue
            content = os.read(process.stdout.fileno(), 1 << 16)
            if not content:
                process.wait()
                return
            *lines, rest = (rest + content).split(b"\n")
            for line in lines:
                at = line.find(MARK.encode())
                if at >= 0:
                    words: list[str] = json.loads(line[at + len(MARK) :])
                    if words[0] == "test":
                        begin, running = Spent.by(process.pid), len(words) == 2
                    yield words
