"""Launches that a script makes elsewhere: those of its threads are watched, those of its processes counted."""

import multiprocessing
import os
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mlusim.counted import plural
from mlusim.machine.hub import TOLD, Observer, Teller, adoption
from mlusim.machine.limits import limit_of, take_over

if TYPE_CHECKING:
    from mlusim.machine.core import RunningLaunch


class Forked(Observer):
    """Counts launches in processes that the script starts, whose findings would be lost.

    Each writes the name of each kernel that it launches to a file: one that is forked has this observer, one that
    starts over finds the file's name in its environment (`hub.Teller`), unless the script has emptied that.
    """

    name = "forked"

    def __init__(self) -> None:
        self._home = os.getpid()
        self._outer = os.environ.get(TOLD)
        self._names, path = _nameless()
        self._teller = Teller(path)
        os.environ[TOLD] = path

    def launch_begin(self, launch: "RunningLaunch") -> None:
        """Note a launch in another process."""
        if os.getpid() != self._home:
            self._teller.launch_begin(launch)

    def close(self) -> str:
        """Name the kernels that were launched in other processes, in a sentence; empty where none was."""
        if self._outer is None:
            os.environ.pop(TOLD, None)
        else:
            os.environ[TOLD] = self._outer
        with self._names:
            self._names.seek(0)
            counts = Counter(self._names.read().decode().split())
        if not counts:
            return ""
        launches = ", ".join(
            f"{name} {count} {plural(count, 'time')}" for name, count in sorted(counts.items())
        )
        return f"it launched kernels in other processes, which are not checked: {launches}; launch them in this one"


def _nameless() -> tuple[IO[bytes], str]:
    """Return a file without a name, of which nothing stays where this process is killed, and the path by which others reach it."""
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `Forked.close`
    path = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    if path.exists():
        return file, str(path)
    file.close()
    named = tempfile.NamedTemporaryFile(prefix="mlusim-")  # noqa: SIM115 - the same
    return named, named.name


@contextmanager
def threads_watched() -> Iterator[None]:
    """Have the observers of this thread watch the threads that begin in the block, too.

    `threading.setprofile` calls a function once in every new thread; the function hands the observers over and removes itself.
    """
    adopt, limit = adoption(), limit_of(None)
    before, older = threading.getprofile(), frozenset(threading.enumerate())
    born = frozenset(multiprocessing.active_children())

    def begin(frame: Any, event: Any, argument: Any) -> None:
        sys.setprofile(before)
        adopt()
        take_over(limit)
        if before is not None:
            before(frame, event, argument)

    threading.setprofile(begin)
    try:
        yield
        # Python would wait for these at its end.  Daemons it ends: waiting here would hang where the script does not.
        for thread in threading.enumerate():
            if thread not in older and not thread.daemon:
                thread.join()
        for process in multiprocessing.active_children():
            if process not in born and not process.daemon:
                process.join()
    finally:
        threading.setprofile(before)
