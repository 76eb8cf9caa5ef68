"""The plugin of pytest: with ``--mlusim-check`` a test fails where the kernels that it launched have findings.

``--mlusim-check`` watches with every checker, ``--mlusim-check=memcheck,racecheck`` with these.  A test
that provokes a finding on purpose says so, with the reason::

    @pytest.mark.mlusim_accept("memcheck-out-of-bounds", reason="the test is about the fault")

Without the option the plugin does nothing, and launches cost what they cost without it.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mlusim.observe.collect import Collector

OPTION = "--mlusim-check"
MARK = "mlusim_accept"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the option."""
    parser.getgroup("mlusim", "checks of simulated kernels").addoption(
        OPTION,
        nargs="?",
        const="",
        metavar="NAMES",
        help="fail tests whose kernels have findings of these checkers (default: of all of them)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; with the option, check its names and begin to watch."""
    config.addinivalue_line("markers", f"{MARK}(*ids, reason): findings that the test provokes on purpose")
    wanted = config.getoption(OPTION)
    if wanted is not None:
        config.pluginmanager.register(CheckedTests(_names(wanted)), "mlusim-checked-tests")


def _names(wanted: str) -> tuple[str, ...]:
    """The checkers that are meant; raises pytest's usage error for an unknown one."""
    from mlusim.errors import UsageError  # noqa: PLC0415 - who does not check does not pay for it
    from mlusim.observe.names import checkers, observers_of  # noqa: PLC0415

    names = tuple(name.strip() for name in wanted.split(",") if name.strip())
    try:
        observers_of(names)
        return names or tuple(checkers())
    except UsageError as error:
        raise pytest.UsageError(f"{OPTION}: {error}; without names, put {OPTION} behind the paths") from None


class CheckedTests:
    """Watches the launches of each phase of each test with the checkers *names*."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch what the fixtures launch; refuse marks without a rule or a reason."""
        _refuse_bare_marks(item)
        return (yield from self._watched(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch what the test launches."""
        return (yield from self._watched(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Watch what the fixtures launch when they end."""
        return (yield from self._watched(item, "teardown"))

    def pytest_report_header(self) -> str:
        """Say who watches."""
        return f"mlusim: launches are watched by {', '.join(self.names)}"

    def _watched(self, item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
        """Run the phase; fail it for its findings, or show them where it has failed already."""
        from mlusim.observe.collect import collecting  # noqa: PLC0415

        accepted = _accepted(item)
        with collecting(self.names) as collector:
            try:
                outcome = yield
            except BaseException:
                collector.close()
                item.add_report_section(phase, "mlusim findings", _text(collector, accepted))
                raise
        text = _text(collector, accepted)
        if text:
            pytest.fail(text, pytrace=False)
        return outcome


def _refuse_bare_marks(item: pytest.Item) -> None:
    for mark in item.iter_markers(MARK):
        reason = mark.kwargs.get("reason")
        if not isinstance(reason, str) or not reason.strip() or not mark.args:
            pytest.fail(
                f"{MARK} takes the ids of rules and a reason, "
                f'as in @pytest.mark.{MARK}("memcheck-out-of-bounds", reason="the test is about the fault")',
                pytrace=False,
            )


def _accepted(item: pytest.Item) -> frozenset[str]:
    """The rules that the test's marks accept."""
    return frozenset(str(rule) for mark in item.iter_markers(MARK) for rule in mark.args)


def _text(collector: "Collector", accepted: frozenset[str]) -> str:
    """The findings that are errors and not accepted, for people; empty where there are none."""
    from mlusim.check.findings import fold  # noqa: PLC0415
    from mlusim.check.findings_text import counted, rendered  # noqa: PLC0415

    found = fold(f for f in collector.found if f.level != "note" and f.id not in accepted)
    if not found:
        return ""
    head = f"{counted(len(found), 'finding')} in the kernels that this test launched:\n"
    return head + "".join(f"\n{rendered([finding])}" for finding in found)
