"""`profiled`: collects the launches of a piece of Python, in any function or library."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mlusim.lazy import lazy
from mlusim.machine.hub import Observer, attending
from mlusim.machine.launch import Launch
from mlusim.presenting import Presented, presenter

if TYPE_CHECKING:
    from mlusim.observe import names as checkers
else:
    (checkers,) = lazy("mlusim.observe.names")


class Profiled(Observer, Presented):
    """Keeps every observed launch in ``launches``; with *lines* the launches have the time of each line."""

    name = "profile"
    # Finished launches suffice, so that C may run them; with lines, `every_step` asks for more.
    afterwards = True

    def __init__(self, *, lines: bool = True) -> None:
        self.every_step = lines
        self.launches: list[Launch] = []

    def launched(self, launch: Launch) -> None:
        """Keep the launch for the report."""
        self.launches.append(launch)

    @property
    def time_us(self) -> float:
        """The predicted hardware time of all launches in sequence, in us."""
        return sum(launch.time_us for launch in self.launches)

    def show(self) -> None:
        """Print what `mlusim profile` shows of the launches."""
        presenter("launches").show(self.launches)

    def html(self, path: str) -> None:
        """Write the launches as one self-contained HTML page; needs the extra mlusim[report]."""
        presenter("page.launches").write_page(path, self.launches)

    def trace(self, path: str) -> None:
        """Write the launches as one trace for Perfetto."""
        presenter("launch_files").write_launches(path, self.launches)


@contextmanager
def profiled(*, lines: bool = True, check: Iterable[str] = ()) -> Iterator[Profiled]:
    """Collect every launch in the block, as ``with mlusim.profiled() as p:``; then ``p.launches`` has them.

    *lines* records the instructions, for the time of each line and for traces; *check* names checkers to run as well,
    which with *lines* needs the Python engine.  Raises `UsageError` for an unknown checker.
    """
    profiled = Profiled(lines=lines)
    with attending((*checkers.observers_of(check), profiled)):
        yield profiled
