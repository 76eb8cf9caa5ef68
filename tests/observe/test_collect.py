"""The collector: findings of every launch that a program makes, in whichever function."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.errors import Fault, OutOfMemory, UsageError
from mlusim.machine.hub import Observer, launched_from
from mlusim.observe.collect import Collector, as_finding, collecting, finding_of


@kernel
def forgets(mlu, dst, src):
    a = mlu.nram(float32, 4)
    mlu.memcpy_async(a, src, 16, GDRAM2NRAM)
    mlu.bang_add(a, a, a, 4)
    mlu.memcpy(dst, a, 16, NRAM2GDRAM)


@kernel
def waits(mlu, dst, src):
    a = mlu.nram(float32, 4)
    mlu.memcpy(a, src, 16, GDRAM2NRAM)
    mlu.memcpy(dst, a, 16, NRAM2GDRAM)


@kernel
def outside(mlu, dst, src):
    a = mlu.nram(float32, 4)
    mlu.memcpy(a, src, 64, GDRAM2NRAM)


@kernel
def allows(mlu, dst, src):
    a = mlu.nram(float32, 4)
    mlu.memcpy_async(a, src, 16, GDRAM2NRAM)
    mlu.bang_add(a, a, a, 4)  # mlusim: allow racecheck-read-after-write: a test of the collector
    mlu.memcpy(dst, a, 16, NRAM2GDRAM)


class Odd(Observer):
    """A checker that says a word, once a launch."""

    name = "odd"

    @property
    def findings(self):
        """A string, as any third party may choose."""
        return ("strange",)


def launched(*kernels):
    """Launch *kernels*, whose code knows nothing of the collector."""
    device = mlusim.Device()
    dst, src = device.empty(4, np.float32), device.put(np.ones(4, np.float32))
    for one in kernels:
        device.launch(one, args=(dst, src))


def test_every_launch_is_watched():
    """Findings of an early launch are kept when later ones begin."""
    with collecting(["racecheck"]) as collector:
        launched(forgets, waits, forgets, waits)

    assert 4 == collector.launches
    assert ["racecheck-read-after-write"] * 2 == [f.id for f in collector.found]
    assert {"forgets"} == {f.kernel for f in collector.found}


def test_nothing_is_watched_outside():
    """Launches before and behind the block are not counted."""
    launched(forgets)
    with collecting(["racecheck"]) as collector:
        launched(waits)
    launched(forgets)

    assert (1, []) == (collector.launches, collector.found)


def test_a_fault_that_a_checker_tells_is_one_finding():
    """The finding of memcheck is the only one: it is not told twice, and it is counted."""
    with collecting(["memcheck"]) as collector, pytest.raises(Fault):
        launched(forgets, outside)

    assert ["memcheck-out-of-bounds"] == [f.id for f in collector.found]
    assert 1 == len(collector.faults)


def test_a_fault_that_no_checker_tells_is_a_finding_too():
    """Without memcheck it becomes a finding of its own, with the place of the kernel."""
    with collecting(["racecheck"]) as collector, pytest.raises(Fault) as caught:
        launched(outside)

    found = collector.found[0]
    assert ("fault-out-of-bounds", "outside") == (found.id, found.kernel)
    assert (caught.value.file, caught.value.line) == (found.file, found.line)


def test_a_fault_of_the_host_is_added_once():
    """A fault outside of launches is added by who catches it; one of a launch is known already."""
    inside, outside_of = OutOfMemory("full"), OutOfMemory("no room")
    collector = Collector(())
    collector.fault(None, inside)
    collector.add(inside)
    collector.add(outside_of)

    assert [inside, outside_of] == collector.faults
    assert ["no room"] == [f.message for f in collector.found]


def test_what_a_comment_allows_is_set_apart():
    """The collector keeps it with the reason of the comment."""
    with collecting(["racecheck"]) as collector:
        launched(allows)

    assert [] == collector.found
    assert ["a test of the collector"] == [a.reason for a in collector.allowed]


def test_others_may_say_anything():
    """A string of a third party's checker becomes a finding that carries the checker's name."""
    finding = as_finding("strange", Odd.name, "k")

    assert ("odd", "strange", "error", "k") == (finding.id, finding.message, finding.level, finding.kernel)


def test_without_names_all_checkers_watch():
    """The names of the registry are the default."""
    with collecting() as collector:
        pass

    assert {"memcheck", "initcheck", "racecheck"} <= {checker.name for checker in collector.watching}


def test_notes_are_for_those_who_ask():
    """A vector that fills no line is remarked on with notes only."""
    with collecting(["memcheck"]) as silent:
        launched(forgets)
    with collecting(["memcheck"], notes=True) as noting:
        launched(forgets)

    assert [] == silent.found
    assert ["memcheck-lanes-wasted"] == [f.id for f in noting.found]


def test_an_unknown_checker_is_refused():
    """The sentence names the known ones."""
    with (
        pytest.raises(UsageError, match="'racechek' is not a checker; known by name: memcheck"),
        collecting(["racechek"]),
    ):
        pass


def test_the_id_of_a_fault_is_its_class_in_words():
    """CamelCase becomes words with hyphens."""
    assert "fault-out-of-memory" == finding_of(OutOfMemory("full"), None).id
    assert "fault" == finding_of(Fault("odd"), None).id


@pytest.mark.parametrize("shown", [True, False])
def test_a_launch_whose_place_is_shown_is_named_by_its_findings(shown):
    """Of each launch its own."""
    with collecting(["racecheck", "memcheck"]) as seen:
        for line in (8, 9):
            with launched_from(lambda line=line: f"lab.py:{line}", shown=shown):
                launched(forgets)
        launched(forgets)

    assert [[f"launched at lab.py:{line}"] * shown for line in (8, 9)] + [[]] == [
        [words for words in one.context if words.startswith("launched")] for one in seen.found
    ]
