"""The output of kernels: shown once, where the user comes by first, however often a launch runs again.

A launch is deterministic, so the n-th piece that its kernels write to ``sys.stdout`` or ``sys.stderr`` is the
same in every run of it.  ``breakpoint()`` counts as a piece, too: each call stops the user once.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from attrs import define


@define(eq=False)
class ShownOutput:
    """The number of pieces of one launch's output that the user has seen."""

    count: int = 0


class Ear:
    """Counts the pieces of one run; only new ones pass, and none while it is not ``loud``.

    While ``aside``, what is written is none of the kernels', and passes.
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
        """Count one more piece, and return whether it is new to the user."""
        if self.aside:
            return True
        self.count += 1
        if not self.loud or self.count <= self.shown.count:
            return False
        self.shown.count = self.count
        return True

    def written(self, write: Callable[..., Any], *arguments: Any) -> Any:
        """Return what *write* returns; afterwards do what `outside` was asked for meanwhile."""
        self._writing = True
        try:
            return write(*arguments)
        finally:
            self._writing = False
            behind, self._behind = self._behind, None
            if behind is not None:
                behind()

    def outside(self, act: Callable[[], None]) -> None:
        """Do *act*, which may pause the run: now, or after the write that is in progress."""
        # A stream runs handlers of signals with its lock held, and would lose what the debugger writes to it then.
        if self._writing:
            self._behind = act
        else:
            act()

    @contextmanager
    def listening(self, trap: Callable[[], None] | None = None) -> Iterator[None]:
        """Count what is written in the block; call *trap* at a ``breakpoint()`` that is new."""
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
    """Stands for a stream while kernels run."""

    stream: Any = None

    def __init__(self, ear: Ear) -> None:
        self.ear = ear

    def write(self, text: str) -> int:
        """Write only what the user has not seen yet."""
        if self.ear.passes():
            self.ear.written(self.stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write what the stream holds back."""
        self.ear.written(self.stream.flush)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write line by line."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def unfiltered() -> Iterator[None]:
    """Let what is written in the block, which is the debugger's user's, pass without being counted."""
    ears = {stream.ear for stream in (sys.stdout, sys.stderr) if isinstance(stream, _Filter)}
    before = {ear: ear.aside for ear in ears}
    for ear in ears:
        ear.aside = True
    try:
        yield
    finally:
        for ear, aside in before.items():
            ear.aside = aside
