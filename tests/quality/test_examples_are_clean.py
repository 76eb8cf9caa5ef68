"""The examples under all checkers: no finding, but where the example is about the fault."""

import contextlib
import io
from pathlib import Path

import pytest

from mlusim.observe.collect import collecting
from mlusim.programs.program import ScriptProgram

EXAMPLES = Path(__file__).parents[2] / "examples"
ABOUT_FAULTS = {
    "03_faults_teach": {
        "memcheck-out-of-bounds",
        "memcheck-wrong-space",
        "memcheck-out-of-memory",
        "memcheck-broken-rule",
    },
    "04_missing_sync": {"racecheck-read-after-write"},
    "06_barriers": {"synccheck-memory-core-left", "synccheck-divergence"},
    "07_boards": {"memcheck-out-of-memory"},
    "09_schedules": {
        "racecheck-tasks-read-write",
        "racecheck-tasks-same-word",
        "racecheck-tasks-write-write",
    },
    "12_helpers": {"memcheck-broken-rule"},
}


@pytest.mark.parametrize("script", sorted(EXAMPLES.glob("[0-9]*.py")), ids=lambda p: p.stem)
def test_an_example_has_the_findings_that_it_is_about(script):
    """Silent, or just what the example shows."""
    with collecting() as collector, contextlib.redirect_stdout(io.StringIO()):
        ScriptProgram(str(script)).run(())

    assert ABOUT_FAULTS.get(script.stem, set()) == {finding.id for finding in collector.found}


def test_the_examples_about_faults_are_there():
    """No entry is left over."""
    assert set(ABOUT_FAULTS) <= {script.stem for script in EXAMPLES.glob("[0-9]*.py")}
