"""Tests whose launches are checked: each phase of a test fails if the kernels that it launched have findings."""

from collections.abc import Generator
from typing import Any

import pytest

from mlusim.check.findings import fold
from mlusim.check.formats import rendered
from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.machine.limits import USUAL, Limit, limit_in, limiting
from mlusim.observe.collect import Collector, collecting
from mlusim.observe.names import checkers, observers_of, registered


def names_of(wanted: str, option: str) -> tuple[str, ...]:
    """Return the checkers that the value *wanted* of *option* names; raises pytest's usage error for an unknown name."""
    names = tuple(name.strip() for name in wanted.split(",") if name.strip())
    try:
        observers_of(names)
        return names or tuple(checkers())
    except UsageError as error:
        # pytest takes the word after an option for its value, so that a path is read as a checker's name.
        raise pytest.UsageError(f"{option}: {error}; without names, put {option} behind the paths") from None


def limit_of(text: str, option: str) -> Limit:
    """Return the limit that the value *text* of *option* means; raises pytest's usage error for an invalid one."""
    try:
        return limit_in(text, USUAL) if text else USUAL
    except UsageError as error:
        raise pytest.UsageError(f"{option}: {error}") from None


class CheckedTests:
    """Runs the checkers *names* in each phase of each test, and ends launches beyond *limit*; tests with the marker *mark* accept findings."""

    def __init__(self, names: tuple[str, ...], limit: Limit, mark: str) -> None:
        self.names, self.limit, self.mark = names, limit, mark

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Check the launches of fixtures; refuse marks without a rule or a reason."""
        _refuse_bare_marks(item, self.mark)
        return (yield from self._watched(item, "setup"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Check the launches of the test."""
        return (yield from self._watched(item, "call"))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Check the launches of fixtures that end."""
        return (yield from self._watched(item, "teardown"))

    def pytest_report_header(self) -> list[str]:
        """Name the checkers in the header of the run, and those that cannot be loaded."""
        missing = [f"mlusim: {sentence}" for sentence in registered().refusals.values()]
        return [f"mlusim: launches are watched by {', '.join(self.names)}", *missing]

    def _watched(self, item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
        """Run the phase; findings make it fail, or are shown if it has already failed."""
        accepted = frozenset(str(rule) for mark in item.iter_markers(self.mark) for rule in mark.args)
        with collecting(self.names) as collector, limiting(self.limit):
            try:
                outcome = yield
            except BaseException:
                # Closed now, since some findings come only at the end, and the report is made before
                # `collecting` ends.
                collector.close()
                # A phase that has failed keeps its own failure, and the findings may be the cause.
                item.add_report_section(phase, "mlusim findings", _text(collector, accepted))
                raise
        text = _text(collector, accepted)
        if text:
            # Without a traceback: the findings name the lines of the kernel, which are the ones that matter.
            pytest.fail(text, pytrace=False)
        return outcome


def _refuse_bare_marks(item: pytest.Item, name: str) -> None:
    for mark in item.iter_markers(name):
        reason = mark.kwargs.get("reason")
        # A mark without a reason would hide findings for good.
        if not isinstance(reason, str) or not reason.strip() or not mark.args:
            pytest.fail(
                f"{name} takes the ids of rules and a reason, "
                f'as in @pytest.mark.{name}("memcheck-out-of-bounds", reason="the test is about the fault")',
                pytrace=False,
            )


def _text(collector: Collector, accepted: frozenset[str]) -> str:
    """Return the text of the errors among the findings, without accepted ones; "" if there are none."""
    findings = fold(f for f in collector.found if f.level != "note" and f.id not in accepted)
    if not findings:
        return ""
    head = f"{counted(len(findings), 'finding')} in the kernels that this test launched:\n"
    return head + "".join(f"\n{rendered([finding])}" for finding in findings)
