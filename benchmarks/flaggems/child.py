"""``child.py CHECKOUT TESTS SECONDS CONFIGS FILE:DONE ...``: run the first tests of the library's own test files, and report the kernels that they reach.

A line ``@@["test", name]`` says that a test begins, ``@@["test", name, outcome, reason]`` how it ended, ``@@["file",
name]`` that a whole file is done, and ``@@["kernel", file, name, step, reason]`` which step a kernel of the back end
has reached: ``called``, ``refused``, ``too large``, ``translated``, ``loaded`` or ``ran``.  The first *DONE* tests of
each file are left out.
"""

import re
import sys
import traceback
import types
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch  # noqa: F401 - before the device
import torch_mlu  # noqa: F401 - the device
from triton.runtime import Autotuner
from triton.runtime.errors import OutOfResources
from triton.runtime.jit import JITFunction

from benchmarks.bounded import Late, limited, say
from mlusim.triton import backend, torch_launches

SOURCE = re.compile(r"_cambricon/((?:ops|fused)/.*\.py)$")


def source() -> str:
    """Return the file of the back end that is calling, or "" if none is."""
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001 - Python's own
    while frame is not None:
        found = SOURCE.search(frame.f_code.co_filename)
        if found:
            return found[1]
        frame = frame.f_back
    return ""


class Steps:
    """The steps that kernels reach, each reported once."""

    def __init__(self) -> None:
        self._told: set[tuple[str, ...]] = set()
        self.kernels: dict[int, tuple[str, str]] = {}  # file and name of each loaded kernel, by its text

    def tell(self, file: str, name: str, step: str, reason: str = "") -> None:
        """Report a step of a kernel of the back end."""
        if file and (file, name, step, reason) not in self._told:
            self._told.add((file, name, step, reason))
            say("kernel", file, name, step, reason)


def reason_of(error: BaseException) -> str:
    """Return the message of the innermost error: its last line, without the text of a kernel."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line for line in str(error).splitlines() if line.strip(" ^")]
    return f"{type(error).__name__}: {lines[-1].strip() if lines else ''}"


def watch(steps: Steps) -> None:
    """Report each kernel that Triton compiles and each that is launched."""
    compiled, launched = JITFunction._do_compile, torch_launches.launch  # noqa: SLF001 - all kernels pass through these

    def compile_one(function: Any, *rest: Any, **named: Any) -> Any:
        file, name = source(), function.fn.__name__
        steps.tell(file, name, "called")
        try:
            kernel = compiled(function, *rest, **named)
        except OutOfResources as error:
            steps.tell(file, name, "too large", str(error).partition(";")[0])
            raise
        except Exception as error:
            steps.tell(file, name, "refused", reason_of(error))
            raise
        steps.tell(file, name, "translated")
        return kernel

    def launch(kernel: torch_launches.TextKernel, *rest: Any) -> None:
        file = source()
        name = re.sub(r"-[0-9a-f]{12}$", "", kernel.path.stem)
        steps.tell(file, name, "loaded")
        launched(kernel, *rest)
        steps.tell(file, name, "ran")

    JITFunction._do_compile = compile_one  # noqa: SLF001
    backend.torch_launches.launch = launch  # type: ignore[assignment]


def tune_few(configs: int) -> None:
    """Let the library's tuner try evenly spaced configurations until *configs* of them fit; the others are sorted last and count as too slow."""
    plain: Callable[..., Any] = Autotuner.prune_configs
    bench: Callable[..., Any] = Autotuner._bench  # noqa: SLF001 - where Triton tries a configuration
    fitting = Counter[int]()

    def pruned(tuner: Any, *rest: Any) -> Any:
        tried = [*plain(tuner, *rest)]
        fitting[id(tuner)] = 0
        first = tried[:: max(1, -(-len(tried) // configs))]
        return first + [config for config in tried if config not in first]

    def bench_few(tuner: Any, *arguments: Any, **named: Any) -> Any:
        if fitting[id(tuner)] == configs:
            return [float("inf")] * 3
        if configs == 1:  # nothing to compare: it runs once
            tuner.do_bench = _once
        times = bench(tuner, *arguments, **named)
        fitting[id(tuner)] += times[0] != float("inf")
        return times

    Autotuner.prune_configs, Autotuner._bench = pruned, bench_few  # noqa: SLF001


def _once(call: Callable[[], object], **_: object) -> list[float]:
    call()
    return [1.0] * 3


class Plugin:
    """The first tests of each file, and how each ended."""

    def __init__(self, done: int, tests: int, seconds: float) -> None:
        self._kept, self._seconds = slice(done, tests), seconds
        self._failed: tuple[str, str] | None = None

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the first tests of each function in turn, up to the number of a file."""
        by_function: Counter[str] = Counter()
        rank: dict[str, int] = {}
        for item in items:
            name = getattr(item, "originalname", item.name)
            rank[item.nodeid] = by_function[name]
            by_function[name] += 1
        items.sort(key=lambda item: rank[item.nodeid])
        items[:] = items[self._kept]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Say which file cannot be imported."""
        if report.failed:
            say("test", f"{report.nodeid}::collection", "failed", str(report.longrepr).splitlines()[-1])

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        """Report that a test begins, and how it ended."""
        say("test", item.nodeid)
        self._failed = None
        yield
        say("test", item.nodeid, *(self._failed or ("passed", "")))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self) -> Any:
        """End the test when its time is over."""
        with limited(self._seconds):
            outcome = yield
        if isinstance(outcome.excinfo and outcome.excinfo[1], Late):
            self._failed = "late", f"more than {self._seconds:g} s"
            outcome.force_result(None)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record how it ended and why."""
        if self._failed is None and report.outcome != "passed":
            crash = getattr(report.longrepr, "reprcrash", None)
            text = crash.message if crash else str(report.longrepr)
            self._failed = report.outcome, shown(text)


def shown(text: str) -> str:
    """Return the message of an error as one line: for a difference of tensors its size, for a compilation its end."""
    lines = [line.strip() for line in text.splitlines() if line.strip(" ^")]
    if not lines:
        return ""
    worst = [line for line in lines if line.startswith(("Greatest absolute", "Mismatched elements"))]
    if worst:
        return " ".join(worst)
    return f"{lines[0].partition(':')[0]}: {lines[-1]}" if "CompilationError" in lines[0] else lines[0]


def main() -> None:
    """Run the files one after another."""
    checkout, tests, seconds, configs = (
        Path(sys.argv[1]),
        int(sys.argv[2]),
        float(sys.argv[3]),
        int(sys.argv[4]),
    )
    warnings.simplefilter("ignore")
    sys.path.insert(0, str(checkout / "src"))
    watch(Steps())
    tune_few(configs)
    for word in sys.argv[5:]:
        file, _, done = word.rpartition(":")
        say("begin", file)
        try:
            code = pytest.main(
                [
                    "-s",
                    "-p",
                    "no:cacheprovider",
                    "-p",
                    "no:terminal",
                    "--quick",
                    "--ref",
                    "cpu",
                    f"--rootdir={checkout}",
                    file,
                ],
                plugins=[Plugin(int(done), tests, seconds)],
            )
            if code in (pytest.ExitCode.USAGE_ERROR, pytest.ExitCode.INTERNAL_ERROR):
                say("test", f"{file}::collection", "failed", f"pytest ends with {code}")
        except BaseException as error:  # noqa: BLE001 - the next file is run all the same
            traceback.print_exc()
            say("test", f"{file}::collection", "failed", reason_of(error))
        say("file", file)


if __name__ == "__main__":
    main()
