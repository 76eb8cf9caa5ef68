"""Which intrinsics and helpers tests execute, and whether they notice one that does nothing.

``python tests/isa/coverage_recorder.py`` runs the listed tests, each until all of its names have been seen, and
prints what it saw as JSON.  `test_isa_coverage` reads that.
"""

import contextlib
import io
import json
import sys
from pathlib import Path
from types import MappingProxyType

import pytest
from executed_names import listed_tests

import mlusim.bang
from mlusim.engine import issue
from mlusim.isa.table import ISA
from mlusim.machine.hub import Observer, attending

TESTS = Path(__file__).parents[1]
HELPERS = {
    name: function
    for name, function in vars(mlusim.bang).items()
    if name.startswith("mluop_") and hasattr(function, "__code__")
}


class Executed(Observer):
    """Watches every launch and keeps the names of the intrinsics."""

    def __init__(self):
        self.names = set()

    def launch_end(self, launch):
        """A launch is over: its counts."""
        self.names |= {name for name, count in launch.tally.instructions.items() if count}

    def fault(self, core, fault):
        """An intrinsic ended the launch."""
        del core
        name = (fault.intrinsic or "").lstrip("_")
        self.names |= {found for found in (name, f"{name}_") if found in ISA}


def nothing(*_, **__):
    """Do what an intrinsic must not do: nothing."""


@contextlib.contextmanager
def without(name):
    """While it lasts, the intrinsic or helper *name* does nothing."""
    if name in HELPERS:
        helper = HELPERS[name]
        code, helper.__code__ = helper.__code__, nothing.__code__
        try:
            yield
        finally:
            helper.__code__ = code
        return
    kept = issue.mlu_class

    def lame(base, policy):
        whole = kept(base, policy)
        return type(whole.__name__, (whole,), {"__slots__": (), name: nothing})

    with pytest.MonkeyPatch.context() as patch:
        for module in [m for m in sys.modules.values() if getattr(m, "mlu_class", None) is kept]:
            patch.setattr(module, "mlu_class", lame)
        yield


class NoCase:
    """A test without parameters."""

    params = MappingProxyType({})


NO_CASE = NoCase()


class Recorder:
    """A plugin of pytest: runs the cases of each listed test until all names of that test have been seen."""

    def __init__(self, listed):
        self.listed = listed
        self.told_by_any = {}
        self.executed, self.noticed, self.failed = set(), set(), []

    def told(self, item):
        """The names that the parameters of a case tell."""
        given = [
            value for value in getattr(item, "callspec", NO_CASE).params.values() if isinstance(value, str)
        ]
        names = self.listed[function_of(item)]
        return {n for n in names if any(f"{n}_".startswith((f"{v}_", f"bang_{v}_")) for v in given)}

    def names_of(self, item):
        """The names that a case may show: those that its parameters tell, and those that no case tells."""
        function = function_of(item)
        return self.told(item) | (self.listed[function] - self.told_by_any[function])

    def pytest_collection_modifyitems(self, items):
        """Learn which names the parameters of each test tell."""
        for item in items:
            self.told_by_any.setdefault(function_of(item), set()).update(self.told(item))

    def pytest_collection(self):
        """Do not look for the smallest example of what fails on purpose."""
        from hypothesis import Phase, settings  # noqa: PLC0415 - pytest wants to load it first

        settings.register_profile(
            "coverage", settings(), phases=[Phase.explicit, Phase.generate], max_examples=25
        )
        settings.load_profile("coverage")

    def pytest_runtest_setup(self, item):
        """Leave out what cannot show anything new."""
        if self.names_of(item) <= self.executed & self.noticed:
            pytest.skip("all of its names have been seen")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        """Run a test, then once more without each of its names that it has just executed."""
        found, names = Executed(), self.names_of(item)
        with attending([found]):
            result = yield
        self.executed |= names & found.names
        for name in sorted((names & found.names | names & set(HELPERS)) - self.noticed):
            if fails_without(item, name):
                self.noticed.add(name)
                self.executed.add(name)  # a helper leaves no other trace
        return result

    def pytest_runtest_logreport(self, report):
        """Keep what failed as it should not."""
        if report.failed:
            self.failed.append(report.nodeid)


def fails_without(item, name):
    """Return whether a test fails if *name* does nothing."""
    with without(name), contextlib.redirect_stdout(io.StringIO()):
        try:
            item.runtest()
        except BaseException as error:  # noqa: BLE001 - whatever it is, the test has noticed
            return not isinstance(error, KeyboardInterrupt)
    return False


def function_of(item):
    """The test of a case, as the list has it."""
    return f"{item.path.parent.name}/{item.path.name}::{item.originalname}"


def main():
    """Run the listed tests and print what they executed, what they noticed and what failed."""
    listed = {}
    for spelling, test in listed_tests().items():
        bare = spelling.lstrip("_")
        listed.setdefault(test, set()).add(bare if bare in ISA or bare in HELPERS else f"{bare}_")
    recorder = Recorder(listed)
    nodes = [str(TESTS / test) for test in listed]
    with contextlib.redirect_stdout(io.StringIO()):
        status = pytest.main(["-q", "-p", "no:cacheprovider", *nodes], plugins=[recorder])
    found = {
        "status": int(status),
        "executed": sorted(recorder.executed),
        "noticed": sorted(recorder.noticed),
        "failed": recorder.failed,
    }
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
