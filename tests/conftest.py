"""Settings for every test, and the end of a run that hangs."""

import contextlib
import faulthandler
import gc
import os
import sys
from collections import Counter

import pytest
from hypothesis import settings
from hypothesis.internal.conjecture import providers

from mlusim.testing.pytest_plugin import keep_compiled

# Its sources are known: a second parse of each takes minutes.  `test_bangc_bombs.py` has the others.
os.environ["MLUSIM_PARSE_TRIAL"] = "0"

# The suite gives the same answer on every machine; `--hypothesis-profile explore` looks further.
settings.register_profile("house", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("explore", deadline=None, max_examples=2000)
settings.load_profile("house")
# Constants of all sources are not examples: with them, what a test draws changes with every file, and each process reads all that it imports.
providers._get_local_constants = lambda: providers._local_constants

FIRST = (
    "toolkit",
    "benchmarks",
    "architecture",
    "judge",
    "notebooks",
    "examples",
    "fuzz",
    "docs",
    "cli",
    "report",
    "operators",
)
"""Rooms whose tests compile or start programs: few in a file, and long."""
TOGETHER = {
    "tests/architecture": "",
    "tests/toolkit/torch_device": "torch",
    "tests/judge/test_judge_torch.py": "torch",
}
"""Whose files one worker runs, one after the other: they read the same trees, or wait for the same compilation.  By the start of the name."""
STRETCH = 100
"""Tests that are watched together."""


class Watch:
    """Ends a run in which a file, or a hundred tests of it, takes longer than *longest* seconds, with a traceback of every thread.

    A watch of each test alone, which is pytest's own, starts and joins a thread for each of twenty thousand.
    """

    def __init__(self, longest):
        self.longest, self.stderr = longest, os.dup(2)  # capturing has not begun
        self.path, self.left = None, 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item):
        """Wind up again where a file or a stretch begins."""
        if item.path != self.path or not self.left:
            self.path, self.left = item.path, STRETCH
            faulthandler.dump_traceback_later(self.longest, exit=True, file=self.stderr)
        self.left -= 1

    def pytest_unconfigure(self):
        """Stop: the run has ended."""
        faulthandler.cancel_dump_traceback_later()


def pytest_addoption(parser, pluginmanager):
    """Say how long that is; import the operators as they are compiled, like mlusim."""
    keep_compiled(pluginmanager, "ops")
    said = "seconds that a file, or a hundred tests of one, may take before the run ends; 0: any"
    parser.addoption("--longest", type=float, default=900, help=said)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Put files that take long first, and then those of many tests, so that workers end together (`--no-loadscope-reorder`)."""
    counts = Counter(item.path for item in items)
    rooms = {room: number for number, room in enumerate(FIRST)}

    def place(item):
        room = item.path.relative_to(item.config.rootpath / "tests").parts[0]
        return rooms.get(room, len(rooms)), -counts[item.path], item.path

    if all(item.path.is_relative_to(item.config.rootpath / "tests") for item in items):
        items.sort(key=place)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give a worker a file at a time, or the files of one of `TOGETHER`."""
    from xdist.scheduler import LoadFileScheduling  # noqa: PLC0415 - only where workers are asked for

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid):
            path = super()._split_scope(nodeid)
            return next((name or start for start, name in TOGETHER.items() if path.startswith(start)), path)

    return Scheduling(config, log)


def pytest_collection_finish():
    """Leave the modules and tests, which stay to the end, out of every later search for circles, and search seldom.

    What is frozen counts for nothing, so that Python's own thresholds would search all of the rest again and again: a seventh of the CPU.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_configure(config):
    """Watch the tests, where they may not take any time."""
    if config.option.longest:
        config.pluginmanager.register(Watch(config.option.longest))


@pytest.fixture
def calls_of():
    """List the calls of functions that stay as they are.

    ``with calls_of(function) as calls:`` gives the arguments of each call by name, or the function itself where it is written in C.
    Only calls in this thread are listed.
    """

    @contextlib.contextmanager
    def listed(*functions):
        codes, found, before = {getattr(f, "__code__", f) for f in functions}, [], sys.getprofile()

        def look(frame, event, called):
            if event == "call" and frame.f_code in codes:
                found.append(dict(frame.f_locals))
            elif event == "c_call" and called in functions:
                found.append(called)

        sys.setprofile(look)
        try:
            yield found
        finally:
            sys.setprofile(before)

    return listed


@pytest.fixture
def no_file_larger():
    """Let no file of this process grow beyond so many bytes in a block, as on a full disk."""
    resource = pytest.importorskip("resource")

    @contextlib.contextmanager
    def bounded(most):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    return bounded


@pytest.fixture
def only_entries(monkeypatch):
    """Let *table*, a module with a ``GROUP`` of entry points, find these and no others for one test: ``only_entries(table, entries)``."""
    tables = []

    def found(table, entries):
        monkeypatch.setattr(table, "entry_points", lambda group: entries if group == table.GROUP else [])
        table.registered.cache_clear()
        tables.append(table)

    yield found
    for table in tables:
        table.registered.cache_clear()
