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
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mlusim.machine.limits import Limit
    from mlusim.observe.collect import Collector
    from mlusim.programs.cases import KernelCase

OPTION = "--mlusim-check"
LIMIT = "--mlusim-limit"
MARK = "mlusim_accept"
CASES = "mlusim_cases"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options of the plugin."""
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


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "CaseTests | None":
    """Collect the cases of a TOML file that is named as one."""
    if file_path.suffix != ".toml":
        return None
    named = parent.session.isinitpath(file_path)
    if named or any(fnmatch.fnmatch(str(file_path), one) for one in parent.config.getini(CASES)):
        return CaseTests.from_parent(parent, path=file_path)
    return None


class CaseTests(pytest.File):
    """A file of cases, each of which is a test."""

    def collect(self) -> Iterator["CaseTest"]:
        """Collect the cases in the order of the file."""
        from mlusim.errors import UsageError  # noqa: PLC0415 - who has no cases does not pay for them
        from mlusim.programs.cases import cases_in  # noqa: PLC0415

        try:
            found = cases_in(str(self.path))
        except UsageError as error:
            raise self.CollectError(str(error)) from None
        for case in found:
            yield CaseTest.from_parent(self, name=case.name, case=case)


class CaseTest(pytest.Item):
    """The test that one *case* is."""

    def __init__(self, *, case: "KernelCase", **options: Any) -> None:
        super().__init__(**options)
        self.case = case

    def runtest(self) -> None:
        """Launch the kernel, and compare what comes back."""
        from mlusim.errors import MlusimError  # noqa: PLC0415

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


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; with the option, check its names and begin to watch."""
    config.addinivalue_line("markers", f"{MARK}(*ids, reason): findings that the test provokes on purpose")
    wanted = config.getoption(OPTION)
    if wanted is not None:
        checked = CheckedTests(_names(wanted), _limit(config.getoption(LIMIT)))
        config.pluginmanager.register(checked, "mlusim-checked-tests")


def _names(wanted: str) -> tuple[str, ...]:
    """Return the checkers that are meant; raises pytest's usage error for an unknown one."""
    from mlusim.errors import UsageError  # noqa: PLC0415 - who does not check does not pay for it
    from mlusim.observe.names import checkers, observers_of  # noqa: PLC0415

    names = tuple(name.strip() for name in wanted.split(",") if name.strip())
    try:
        observers_of(names)
        return names or tuple(checkers())
    except UsageError as error:
        raise pytest.UsageError(f"{OPTION}: {error}; without names, put {OPTION} behind the paths") from None


def _limit(text: str) -> "Limit":
    """Return the limit that is meant; raises pytest's usage error for what is none."""
    from mlusim.errors import UsageError  # noqa: PLC0415 - who does not check does not pay for it
    from mlusim.machine.limits import USUAL, limit_in  # noqa: PLC0415

    try:
        return limit_in(text, USUAL) if text else USUAL
    except UsageError as error:
        raise pytest.UsageError(f"{LIMIT}: {error}") from None


class CheckedTests:
    """Watches the launches of each phase of each test with the checkers *names*, none longer than *limit*."""

    def __init__(self, names: tuple[str, ...], limit: "Limit") -> None:
        self.names, self.limit = names, limit

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

    def pytest_report_header(self) -> list[str]:
        """Name the checkers in the header of the run, and those that cannot be loaded."""
        from mlusim.observe.names import registered  # noqa: PLC0415

        missing = [f"mlusim: {sentence}" for sentence in registered().refusals.values()]
        return [f"mlusim: launches are watched by {', '.join(self.names)}", *missing]

    def _watched(self, item: pytest.Item, phase: str) -> Generator[None, Any, Any]:
        """Run the phase; fail it for its findings, or show them where it has failed already."""
        from mlusim.machine.limits import limiting  # noqa: PLC0415
        from mlusim.observe.collect import collecting  # noqa: PLC0415

        accepted = _accepted(item)
        with collecting(self.names) as collector, limiting(self.limit):
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
    """Return the rules that the test's marks accept."""
    return frozenset(str(rule) for mark in item.iter_markers(MARK) for rule in mark.args)


def _text(collector: "Collector", accepted: frozenset[str]) -> str:
    """Return the findings that are errors and not accepted, for people; empty where there are none."""
    from mlusim.check.findings import fold  # noqa: PLC0415
    from mlusim.check.findings_text import rendered  # noqa: PLC0415
    from mlusim.counted import counted  # noqa: PLC0415

    found = fold(f for f in collector.found if f.level != "note" and f.id not in accepted)
    if not found:
        return ""
    head = f"{counted(len(found), 'finding')} in the kernels that this test launched:\n"
    return head + "".join(f"\n{rendered([finding])}" for finding in found)
