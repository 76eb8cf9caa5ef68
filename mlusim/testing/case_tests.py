"""A file of cases as tests of pytest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlusim.errors import MlusimError, UsageError
from mlusim.programs.cases import KernelCase, cases_in


class CaseTests(pytest.File):
    """A file of cases, each of which is a test."""

    def collect(self) -> Iterator["CaseTest"]:
        """Collect the cases in the order of the file."""
        try:
            found = cases_in(str(self.path))
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        for case in found:
            yield CaseTest.from_parent(self, name=case.name, case=case)


class CaseTest(pytest.Item):
    """The test that one *case* is."""

    def __init__(self, *, case: KernelCase, **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Launch the kernel, and compare what comes back."""
        try:
            expected, call = self.case.expectation(), self.case.call()
            done = call.run(())
            found = {} if expected is None else expected.compared(call, done)
        except MlusimError as error:
            pytest.fail(f"{type(error).__name__}: {error}", pytrace=False)
        wrong = [f"{name}: {one.told}" for name, one in found.items() if not one.accuracy.passed]
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case."""
        return self.path, self.case.line - 1, f"case {self.name}"
