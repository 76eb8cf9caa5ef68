"""The pytest plugin: with ``--mlusim-check`` a test fails if the kernels that it launched have findings.

``--mlusim-check`` uses every checker, ``--mlusim-check=memcheck,racecheck`` these two.  A test
that provokes a finding on purpose says so, with the reason::

    @pytest.mark.mlusim_accept("memcheck-out-of-bounds", reason="the test is about the fault")

A file of cases (`mlusim run cases.toml`) is a file of tests if the command line names it or ``mlusim_cases`` of the
configuration matches it, as in ``mlusim_cases = ["*/cases.toml"]``: a case fails if its kernel ends in a fault or
gives another result than expected.

A launch ends after 300 seconds or a GiB of text and log; ``--mlusim-limit`` changes this.  Without the option and
cases the plugin does nothing, and launches cost no more than without it.
"""

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from mlusim.errors import MlusimError, UsageError
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.programs import cases, expectation, kernel_call as calls
    from mlusim.testing import checked_tests
else:  # most runs of pytest launch nothing
    cases, expectation, calls, checked_tests = lazy(
        "mlusim.programs.cases",
        "mlusim.programs.expectation",
        "mlusim.programs.kernel_call",
        "mlusim.testing.checked_tests",
    )

OPTION = "--mlusim-check"
LIMIT = "--mlusim-limit"
MARK = "mlusim_accept"
CASES = "mlusim_cases"


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Declare the options of the plugin; keep pytest from rewriting mlusim's own modules."""
    keep_compiled(pluginmanager, "mlusim")
    group = parser.getgroup("mlusim", "checks of simulated kernels")
    group.addoption(
        LIMIT,
        default="",
        metavar="WHAT=N,...",
        help=f"with {OPTION}: end launches that go on too long, as seconds=60,instructions=1e6,growth=256MiB, or none "
        "(default: 300 seconds, 1 GiB)",
    )
    group.addoption(
        OPTION,
        nargs="?",
        const="",
        metavar="NAMES",
        help="fail tests whose kernels have findings of these checkers (default: of all of them)",
    )

    parser.addini(CASES, "files of cases that are tests, as */cases.toml", type="args", default=[])


def keep_compiled(pluginmanager: pytest.PytestPluginManager, *packages: str) -> None:
    """Keep pytest from rewriting the assertions of the modules of *packages*.

    pytest rewrites the assertions of all modules of a distribution that has a plugin, for their messages, which
    takes seconds for mlusim; its assertions are for type checkers.
    """
    hook = pluginmanager.rewrite_hook
    marked, cache = getattr(hook, "_must_rewrite", None), getattr(hook, "_marked_for_rewrite_cache", None)
    # pytest documents neither attribute; without them loading is slow, not wrong.
    if isinstance(marked, set) and isinstance(cache, dict):
        marked.difference_update(packages)
        cache.clear()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseTests | None":
    """Collect the cases of a TOML file that the command line or the configuration names as a file of cases."""
    if file_path.suffix != ".toml":
        return None
    named = parent.session.isinitpath(file_path)
    if named or any(fnmatch.fnmatch(str(file_path), pattern) for pattern in parent.config.getini(CASES)):
        return CaseTests.from_parent(parent, path=file_path)
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; with the option, check the names of checkers and register `CheckedTests`."""
    config.addinivalue_line("markers", f"{MARK}(*ids, reason): findings that the test provokes on purpose")
    wanted = config.getoption(OPTION)
    if wanted is not None:
        limit = checked_tests.limit_of(config.getoption(LIMIT), LIMIT)
        checked = checked_tests.CheckedTests(checked_tests.names_of(wanted, OPTION), limit, MARK)
        config.pluginmanager.register(checked, "mlusim-checked-tests")


# -- a file of cases as tests --------------------------------------------------------------------------


class CaseTests(pytest.File):
    """A file of cases, each of which is a test."""

    def collect(self) -> Iterator["CaseTest"]:
        """Collect the cases in the order of the file."""
        try:
            listed = cases.cases_in(str(self.path))
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        for case in listed:
            yield CaseTest.from_parent(self, name=case.name, case=case)


class CaseTest(pytest.Item):
    """The test of one *case*."""

    def __init__(self, *, case: "cases.KernelCase", **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Launch the kernel, and compare its outputs with the expected ones."""
        try:
            expected, call = self.case.expectation(), calls.KernelCall(self.case.asked)
            done = call.run(())
            compared = {} if expected is None else expected.compared(call.scope(), call.inputs, done.outputs)
        except MlusimError as error:
            pytest.fail(f"{type(error).__name__}: {error}", pytrace=False)
        wrong = expectation.wrong_in(compared)
        if wrong:
            pytest.fail("\n".join(wrong), pytrace=False)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return the place of the case."""
        return self.path, self.case.line - 1, f"case {self.name}"
