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
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.testing import case_tests, checked_tests
    from mlusim.testing.case_tests import CaseTests
else:
    case_tests, checked_tests = lazy("mlusim.testing.case_tests", "mlusim.testing.checked_tests")

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
    marked, known = getattr(hook, "_must_rewrite", None), getattr(hook, "_marked_for_rewrite_cache", None)
    if isinstance(marked, set) and isinstance(known, dict):  # nothing that pytest promises
        marked.difference_update(packages)
        known.clear()


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseTests | None":
    """Collect the cases of a TOML file that is named as one."""
    if file_path.suffix != ".toml":
        return None
    named = parent.session.isinitpath(file_path)
    if named or any(fnmatch.fnmatch(str(file_path), one) for one in parent.config.getini(CASES)):
        return case_tests.CaseTests.from_parent(parent, path=file_path)
    return None


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; with the option, check its names and begin to watch."""
    config.addinivalue_line("markers", f"{MARK}(*ids, reason): findings that the test provokes on purpose")
    wanted = config.getoption(OPTION)
    if wanted is not None:
        limit = checked_tests.limit_of(config.getoption(LIMIT), LIMIT)
        checked = checked_tests.CheckedTests(checked_tests.names_of(wanted, OPTION), limit, MARK)
        config.pluginmanager.register(checked, "mlusim-checked-tests")
