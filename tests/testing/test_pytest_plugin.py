"""The plugin of pytest: which tests it fails, what they say, and what it leaves alone."""

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

import mlusim
import mlusim.observe.collect
import mlusim.testing.pytest_plugin

pytest_plugins = ["pytester"]

KERNELS = """
import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel


@kernel
def copy(mlu, dst, src, wait, count):
    a = mlu.nram(float32, 4)
    mlu.memcpy_async(a, src, count, GDRAM2NRAM)
    if wait:
        mlu.sync_io()
    mlu.bang_add(a, a, a, 4)
    mlu.memcpy(dst, a, 16, NRAM2GDRAM)


def launch(wait=True, count=16):
    device = mlusim.Device()
    dst = device.empty(4, float32)
    device.launch(copy, args=(dst, device.put(np.ones(4, np.float32)), wait, count))
    return device.get(dst)

"""
RACE = "racecheck-read-after-write"


@pytest.fixture
def run(pytester, monkeypatch):
    """Run pytest on a file of *tests* with the plugin and the words given."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in ("CI", "BUILD_NUMBER"):  # there pytest repeats whole failures in its summary
        monkeypatch.delenv(name, raising=False)

    def run(tests, *words):
        pytester.makepyfile(test_it=KERNELS + tests)
        plugin = ("-p", mlusim.testing.pytest_plugin.__name__, "-p", "no:cacheprovider")
        return pytester.runpytest_inprocess(*plugin, "--strict-markers", *words)

    return run


TWO = """
def test_good():
    launch()

def test_racy():
    launch(wait=False)
"""


def test_without_the_option_nothing_is_watched(run):
    """A racy kernel whose value is never read passes."""
    run(TWO).assert_outcomes(passed=2)


def test_the_test_that_launched_the_kernel_fails(run):
    """It says the rule, the line with a caret, and what to do; the other test passes."""
    result = run(TWO, "--mlusim-check")
    text = result.stdout.str()

    result.assert_outcomes(passed=1, failed=1)
    assert "1 finding in the kernels that this test launched:" in text
    assert f"error: {RACE}" in text
    assert "mlu.bang_add(a, a, a, 4)\n      ^^^^^^^^^^^^\n" in text
    assert "hint: put mlu.sync_io() before line" in text
    assert "launches are watched by memcheck, initcheck, racecheck" in text


def test_findings_of_one_test_are_folded(run):
    """The same finding in several launches is reported once, with its count."""
    result = run("def test_it():\n    for _ in range(3):\n        launch(wait=False)\n", "--mlusim-check")

    assert 1 == result.stdout.str().count(f"error: {RACE}")
    assert "kernel copy, 3 times" in result.stdout.str()


def test_only_the_checkers_that_are_named(run):
    """A checker that does not watch for races lets them pass."""
    run(TWO, "--mlusim-check=memcheck,initcheck").assert_outcomes(passed=2)
    run(TWO, "--mlusim-check=memcheck,racecheck").assert_outcomes(passed=1, failed=1)


def test_what_a_fixture_launches_is_an_error_of_its_test(run):
    """Setup and teardown are watched too."""
    result = run(
        "@pytest.fixture\ndef before():\n    launch(wait=False)\n"
        "@pytest.fixture\ndef after():\n    yield\n    launch(wait=False)\n"
        "def test_one(before):\n    pass\ndef test_two(after):\n    pass\n",
        "--mlusim-check",
    )

    result.assert_outcomes(passed=1, errors=2)


def test_a_test_that_fails_by_itself_shows_the_findings_too(run):
    """The assertion is the failure; the findings stand in a section of their own."""
    result = run("def test_it():\n    launch(wait=False)\n    assert 1 == 2\n", "--mlusim-check")
    text = result.stdout.str()

    result.assert_outcomes(failed=1)
    assert "assert 1 == 2" in text
    assert "mlusim findings" in text
    assert f"error: {RACE}" in text


def test_a_fault_that_a_test_expects_is_accepted_with_a_reason(run):
    """Unless the mark says so, a provoked fault is a finding like any other."""
    body = "def test_it():\n    with pytest.raises(mlusim.errors.OutOfBounds):\n        launch(count=64)\n"
    mark = '@pytest.mark.mlusim_accept("memcheck-out-of-bounds", reason="it is about the fault")\n'

    run(body, "--mlusim-check").assert_outcomes(failed=1)
    run(mark + body, "--mlusim-check").assert_outcomes(passed=1)
    run(mark + body).assert_outcomes(passed=1)


def test_the_mark_accepts_only_what_it_names(run):
    """Another finding of the same test still fails it."""
    mark = '@pytest.mark.mlusim_accept("memcheck-misaligned", reason="odd on purpose")\n'

    run(mark + "def test_it():\n    launch(wait=False)\n", "--mlusim-check").assert_outcomes(failed=1)


@pytest.mark.parametrize("arguments", [f'"{RACE}"', 'reason="why"', f'"{RACE}", reason=" "'])
def test_a_mark_without_a_reason_or_a_rule_is_refused(run, arguments):
    """The sentence shows how it is written."""
    result = run(f"@pytest.mark.mlusim_accept({arguments})\ndef test_it():\n    pass\n", "--mlusim-check")

    result.assert_outcomes(errors=1)
    assert "mlusim_accept takes the ids of rules and a reason" in result.stdout.str()


def test_an_unknown_checker_is_a_usage_error(run):
    """One sentence with the known names, and no test runs."""
    result = run(TWO, "--mlusim-check=racechek")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    assert "'racechek' is not a checker; known by name: memcheck" in result.stderr.str()


def test_tests_without_launches_are_left_alone(run):
    """Skips and passes stay what they are."""
    result = run("def test_a():\n    pass\n@pytest.mark.skip\ndef test_b():\n    pass\n", "--mlusim-check")

    result.assert_outcomes(passed=1, skipped=1)


def test_the_package_registers_the_plugin():
    """The entry point of pytest names a module that has the hooks."""
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    module = importlib.import_module(project["entry-points"]["pytest11"]["mlusim"])

    assert hasattr(module, "pytest_addoption")
    assert hasattr(module, "pytest_configure")


def test_modules_of_mlusim_are_imported_as_they_are_compiled(request):
    """The framework rewrites the assertions of a plugin's whole distribution, of each module and for each user: seconds."""
    hook = type(request.config.pluginmanager.rewrite_hook)

    assert not isinstance(mlusim.observe.collect.__spec__.loader, hook)
    assert isinstance(sys.modules[__name__].__spec__.loader, hook)
