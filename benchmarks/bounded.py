"""Tests of other projects in processes of their own: reading their output lines, and ending a test that takes too long.

The time of a test is the processor time of its process and of every process that it has started, such as the
simulator; a test that stands still is too late, too. A test is ended in its own process while Python code runs there.
Otherwise, as in a call that does not return, the parent ends the process.
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

from attrs import define, field

STILL = 60.0
"""Seconds by the clock without processor time after which processes count as standing still, even on a machine that others use."""
PROGRESS = 0.05
"""Seconds of processor time that count as progress."""
MERCY = 1.5
"""A test's process is ended after this many times the seconds that the test may take."""
SILENCE = 1800.0
"""Seconds by the clock that a process may print nothing between tests: the first import compiles the device."""
TICK = 0.5
"""Seconds between two checks."""
MARK = "@@"


def processors(session: int) -> float:
    """Return the processor seconds used by the processes of *session*: the simulator belongs to its program's session, though its parent is another."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = path.read_text().rpartition(")")
        except OSError:  # it has ended meanwhile
            continue
        words = rest.split()
        if int(words[3]) == session:
            ticks += sum(map(int, words[11:15]))  # its own time, and that of its ended children
    return ticks / os.sysconf("SC_CLK_TCK")


@define
class Watch:
    """The processor time that the processes of *session* use from now on."""

    session: int
    begin: float = field(init=False)
    used: float = field(init=False)
    moved: float = field(init=False)
    """The time by the clock at which they last were found to have made progress."""

    def __attrs_post_init__(self) -> None:
        self.begin = self.used = processors(self.session)
        self.moved = time.monotonic()

    def over(self, seconds: float) -> bool:
        """Return whether they have used more than *seconds*, or have stood still for `STILL` seconds."""
        used, now = processors(self.session), time.monotonic()
        if used - self.used >= PROGRESS:
            self.used, self.moved = used, now
        return used - self.begin > seconds or now - self.moved > STILL


# -- in the process of the tests -----------------------------------------------------------------------


class Late(BaseException):
    """A test took longer than it may."""


def say(*words: str) -> None:
    """Print one line of words for the parent process."""
    print(MARK + json.dumps([" ".join(word.split())[:300] for word in words]), flush=True)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Late` in a block that takes more than *seconds*; an import finishes first, for a half-loaded module would make every later test fail."""
    watch = Watch(os.getsid(0))

    def look(_: int, frame: types.FrameType | None) -> None:
        if not watch.over(seconds):
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
    """A process that runs the tests of *script* with *arguments*; each test may take *seconds*."""

    script: Path
    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    seconds: float
    late: bool = field(default=False, init=False)
    """Whether the process was ended because a test took too long."""
    code: int = field(default=0, init=False)
    """The exit code."""
    why: str = field(default="", init=False)
    """The last line that it wrote to standard error."""

    @property
    def end(self) -> tuple[str, str]:
        """Return the outcome and the reason for the test during which the process ended."""
        if self.late:
            return "late", f"more than {self.seconds:g} s"
        return "died", f"exit {self.code}: {self.why}"[:200]

    def told(self) -> Iterator[list[str]]:
        """Run the process and return the words of each line that it prints: ``test`` and a name when a test begins, and again with outcome and reason when it ends."""
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
                with suppress(ProcessLookupError):  # a process that a test has started may outlive it
                    os.killpg(process.pid, signal.SIGKILL)
            self.code = process.wait()
            errors.seek(0)
            self.why = (errors.read().decode(errors="replace").strip().splitlines() or [""])[-1]

    def _words(self, process: "subprocess.Popen[bytes]") -> Iterator[list[str]]:
        assert process.stdout is not None
        watch, told, running, rest = Watch(process.pid), time.monotonic(), False, b""
        while True:
            if not select.select([process.stdout], [], [], TICK)[0]:
                self.late = running and watch.over(MERCY * self.seconds)
                if self.late or time.monotonic() - told > SILENCE:
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
                    told = time.monotonic()
                    if words[0] == "test":
                        watch, running = Watch(process.pid), len(words) == 2
                    yield words
