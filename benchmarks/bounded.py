"""Tests of other projects in processes of their own: what these tell, and the end of a test that takes too long.

The time of a test is that of the processors, of its process and of all that it has started, as the simulator; what stands still is late, too.
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

from attrs import define, field

STILL = 60.0
"""Seconds by the clock after which processes that use no processor stand still: on a machine that others use, too."""
PROGRESS = 0.05
"""Seconds of processors that are something."""
MERCY = 1.5
"""Times its seconds a test may take before its process is ended."""
SILENCE = 1800.0
"""Seconds by the clock in which a process tells nothing, between tests: the first import compiles the device."""
TICK = 0.5
"""Seconds between two looks."""
MARK = "@@"


def processors(session: int) -> float:
    """Return the seconds of processors that the processes of *session* have used: the simulator has the session of its program, and not its parent."""
    ticks = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            _, _, rest = path.read_text().rpartition(")")
        except OSError:  # it has ended since
            continue
        words = rest.split()
        if int(words[3]) == session:
            ticks += sum(map(int, words[11:15]))  # its own, and of children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")


@define
class Watch:
    """What the processes of *session* use from now on."""

    session: int
    begin: float = field(init=False)
    used: float = field(init=False)
    moved: float = field(init=False)
    """When they last were seen to use something, by the clock."""

    def __attrs_post_init__(self) -> None:
        self.begin = self.used = processors(self.session)
        self.moved = time.monotonic()

    def over(self, seconds: float) -> bool:
        """Return whether they have used more than *seconds*, or nothing for a while."""
        used, now = processors(self.session), time.monotonic()
        if used - self.used >= PROGRESS:
            self.used, self.moved = used, now
        return used - self.begin > seconds or now - self.moved > STILL


# -- in the process of the tests -----------------------------------------------------------------------


class Late(BaseException):
    """A test takes longer than it may."""


def say(*words: str) -> None:
    """Tell the parent."""
    print(MARK + json.dumps([" ".join(word.split())[:300] for word in words]), flush=True)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `Late` in what takes more than *seconds*; an import first ends, for half a module would fail all that comes after."""
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
