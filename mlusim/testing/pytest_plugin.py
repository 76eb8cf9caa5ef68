"""The plugin of pytest: with ``--mlusim-check`` a test fails where the kernels that it launched have findings.

``--mlusim-check`` watches with every checker, ``--mlusim-check=memcheck,racecheck`` with these.  A test
that provokes a finding on purpose says so, with the reason::

    @pytest.mark.mlusim_accept("memcheck-out-of-bounds", reason="the test is about the fault")

A file of cases (`mlusim run cases.toml`) is a file of tests where the command line names it or ``mlusim_cases`` of the
configuration does, as in ``mlusim_cases = ["*/cases.toml"]``: each case fails where its kernel ends in a fault or gives
something else than it expects.

A launch ends after 300 seconds or a GiB of text and log; ``--mlusim-limit`` says otherwise.  Without option and cases the plugin does nothing, and launches cost what they cost without it.
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
    """Declare the options of the plugin; leave mlusim's own modules as they are compiled."""
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
    """Import the modules of *packages* as they are compiled.

    A distribution that brings a plugin has the assertions of all its modules rewritten for what they say when they
    fail, which takes seconds for mlusim; its assertions are for type checkers.
    """
    hook = pluginmanager.rewrite_hook
    marked, cache = getattr(hook, "_must_rewrite", None), getattr(hook, "_marked_for_rewrite_cache", None)
    # pytest promises neither; without them loading is slow, not wrong.
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
    """Declare the marker; with the option, check its names and begin to watch."""
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
    """The test that one *case* is."""

    def __init__(self, *, case: "cases.KernelCase", **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Launch the kernel, and compare what comes back."""
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
