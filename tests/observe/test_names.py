"""Checkers by name: mlusim's own, and those of other packages."""

from types import SimpleNamespace

import pytest

import mlusim
from mlusim.bang import float32, kernel
from mlusim.errors import UsageError
from mlusim.machine.hub import Observer
from mlusim.observe import names


class Census(Observer):
    """A third party's checker: counts tasks, and finds nothing."""

    name = "census"
    tasks = 0

    def task_begin(self, core):
        """Count it."""
        del core
        self.tasks += 1


@pytest.fixture
def registered(only_entries):
    """Register entry points for one test: ``registered(name=callable or exception)``."""

    def register(**found):
        def loader(value):
            def load():
                if isinstance(value, Exception):
                    raise value
                return value

            return load

        entries = [SimpleNamespace(name=n, value="their:thing", load=loader(v)) for n, v in found.items()]
        only_entries(names, entries)

    return register


def test_a_checker_of_another_package_watches_by_name(registered):
    """A fresh one for each launch."""
    registered(census=Census)
    device = mlusim.Device()
    launches = [
        device.launch(kernel(lambda mlu: mlu.nram(float32, 1)), (3, 1, 1), observe=["census"])
        for _ in range(2)
    ]

    assert [3, 3] == [launch[Census].tasks for launch in launches]


def test_names_of_mlusim_cannot_be_taken(registered):
    """The name keeps its checker."""
    registered(memcheck=Census)

    assert names.CHECKERS["memcheck"] is names.checkers()["memcheck"]


def test_a_broken_package_is_named(registered):
    """The sentence says which entry point to blame; the other checkers watch all the same."""
    registered(broken=ImportError("no module named theirs"), census=Census)

    assert [*names.CHECKERS, "census"] == list(names.checkers())
    assert ["memcheck"] == [observer.name for observer in names.observers_of(["memcheck"])]
    with pytest.raises(UsageError, match=r"broken = their:thing cannot be loaded: no module named theirs"):
        names.observers_of(["broken"])


@pytest.mark.parametrize("item", ["memchek", 7, None])
def test_what_is_no_checker_is_refused_with_the_names(item):
    """The sentence lists those that there are."""
    with pytest.raises(UsageError, match="memcheck, initcheck, racecheck, synccheck, plancheck, valuecheck"):
        names.observers_of([item])


def test_a_single_name_is_a_list_of_one():
    """`observe="memcheck"` is what was meant."""
    assert ["memcheck"] == [observer.name for observer in names.observers_of("memcheck")]
