"""The output of kernels: it is shown once, when the user first reaches it, however often a launch runs again.

A launch is deterministic, so that the n-th piece that its kernels write to ``sys.stdout`` or ``sys.stderr`` is the
same in every run.  A call of ``breakpoint()`` counts as a piece, too: each call stops the user once.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define


@define(eq=False)
class ShownOutput:
    """The number of pieces of a launch's output that the user has seen."""

    count: int = 0


class Ear:
    """Counts the pieces of output of one run; only new ones are written, and none while it is not ``loud``.

    While ``aside`` is set, output does not come from kernels, and is written uncounted.
    """

    def __init__(self, shown: ShownOutput) -> None:
        self.shown = shown
        self.count = 0
        self.loud = True
        self.aside = False
        self._writing = False
        self._behind: Callable[[], None] | None = None
        self._filters = _Filter(self), _Filter(self)
        self._inside: tuple[Any, Any] = self._filters

    def passes(self) -> bool:
        """Count one more piece, and return whether it is to be written."""
        if self.aside:
            return True
        self.count += 1
        if not self.loud or self.count <= self.shown.count:
            return False
        self.shown.count = self.count
        return True

    def written(self, write: Callable[..., Any], *arguments: Any) -> Any:
        """Call *write* and return its result; then call the function that `outside` received during the write, if any."""
        self._writing = True
        try:
            return write(*arguments)
        finally:
            self._writing = False
            behind, self._behind = self._behind, None
            if behind is not None:
                behind()

    def outside(self, act: Callable[[], None]) -> None:
        """Call *act*, which may pause the run: now, or after a write in progress."""
        # A stream runs signal handlers while it holds its lock, and would lose the debugger's own output
        # then.
        if self._writing:
            self._behind = act
        else:
            act()

    @contextmanager
    def listening(self, trap: Callable[[], None] | None = None) -> Iterator[None]:
        """Count the output of the block; call *trap* at a ``breakpoint()`` that is new to the user."""
        before = sys.stdout, sys.stderr, sys.breakpointhook
        self._filters[0].stream, self._filters[1].stream = before[:2]

        def hook(*arguments: object, **named: object) -> Any:
            if self.aside:
                return before[2](*arguments, **named)
            if self.passes() and trap is not None:
                trap()
            return None

        (sys.stdout, sys.stderr), sys.breakpointhook = self._inside, hook
        try:
            yield
        finally:
            self._inside = sys.stdout, sys.stderr  # a kernel may have redirected them
            sys.stdout, sys.stderr, sys.breakpointhook = before


class _Filter:
    """Replaces a stream while kernels run."""

    stream: Any = None

    def __init__(self, ear: Ear) -> None:
        self.ear = ear

    def write(self, text: str) -> int:
        """Write *text* if the user has not seen it yet."""
        if self.ear.passes():
            self.ear.written(self.stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Flush the stream's buffer."""
        self.ear.written(self.stream.flush)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write line by line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def unfiltered() -> Iterator[None]:
    """Write the output of the block, which comes from the debugger's user, uncounted."""
    ears = {stream.ear for stream in (sys.stdout, sys.stderr) if isinstance(stream, _Filter)}
    before = {ear: ear.aside for ear in ears}
    for ear in ears:
        ear.aside = True
    try:
        yield
    finally:
        for ear, aside in before.items():
            ear.aside = aside
