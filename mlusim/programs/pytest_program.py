"""A test of pytest as a program: its launches are those that the test makes."""

import contextlib
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.errors import UsageError
from mlusim.machine.hub import attending
from mlusim.observe.names import observers_of


@frozen
class PytestProgram:
    """The test or tests that pytest calls *node*, run in this process; *arguments* are pytest's."""

    node: str
    arguments: tuple[str, ...] = ()
    checks: tuple[str, ...] = field(default=())

    @property
    def name(self) -> str:
        """The test's name, as pytest has it."""
        return self.node

    def arrays(self) -> Mapping[str, np.ndarray[Any, Any]]:
        """Return None: a test has its arrays itself."""
        return {}

    def run(self, observe: Iterable[Any]) -> None:
        """Run the test; what pytest says goes to standard error.

        The options of the project's configuration are left out, for they may spread tests over processes.  Raises
        `UsageError` where pytest is not installed, or finds no such test, and where the test fails.
        """
        try:
            import pytest  # noqa: PLC0415 - an optional package
        except ImportError:
            raise UsageError("a test needs pytest; install it with `pip install pytest`") from None
        words = [self.node, "-q", "-o", "addopts=", "-p", "no:cacheprovider", *self.arguments]
        with attending(observers_of((*self.checks, *observe))), contextlib.redirect_stdout(sys.stderr):
            code = pytest.main(words)
        if code:
            said = "the test fails" if code == pytest.ExitCode.TESTS_FAILED else "pytest found no such test"
            raise UsageError(f"{self.node}: {said}; what pytest says is above")
