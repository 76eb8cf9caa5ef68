"""``child.py FILE FUNCTIONS SECONDS``: run the first functions of a test file; a line ``@@[name, outcome, reason]`` for each."""

import importlib.machinery
import importlib.util
import inspect
import json
import logging
import re
import signal
import sys
import types
import unittest
import warnings
from pathlib import Path

PRIVATE = re.compile(
    r"_MLUC\b|torch\.ops\.torch_mlu|torch_mlu\.(?:dump|optimizers|profiler|utils\.|[a-z]\w*_)|torch_mlu import (?!mlu)|torch\.mlu\._sleep"
)


def say(name: str, outcome: str, reason: str) -> None:
    """Tell the parent of one function."""
    print("@@" + json.dumps([name, outcome, " ".join(reason.split())[:300]]), flush=True)


class Late(Exception):
    """A function takes longer than it may."""


def late(*_: object) -> None:
    """End the function that runs."""
    raise Late


def reason_of(trace: str) -> str:
    """Return the last line of a trace that says something."""
    lines = [
        line
        for line in trace.strip().splitlines()
        if re.match(r"[A-Za-z_.]+(?:Error|Exception|Late|Warning)?\b.*", line)
    ]
    return lines[-1] if lines else trace


def run(test: unittest.TestCase, seconds: float) -> tuple[str, str]:
    """Run one function for at most *seconds*; its outcome and the reason."""
    result = unittest.TestResult()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        test.run(result)
    except Late:
        return "late", f"more than {seconds:g} s"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    for outcome, known in (("failed", result.errors + result.failures), ("skipped", result.skipped)):
        if known:
            trace = known[0][1]
            if "Late" in trace:
                return "late", f"more than {seconds:g} s"
            private = outcome == "failed" and PRIVATE.search(trace)
            return ("private" if private else outcome), reason_of(trace)
    return "passed", ""


def main() -> None:
    """Run the functions in the order of the file."""
    path, functions, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    sys.argv = [str(path)]
    sys.path[:0] = [str(path.parent.parent), str(path.parent)]
    if importlib.util.find_spec("pandas") is None:  # imported by their helpers for their timings alone
        stub = types.ModuleType("pandas")
        stub.__spec__ = importlib.machinery.ModuleSpec("pandas", None)
        sys.modules["pandas"] = stub
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, late)
    text = path.read_text(encoding="utf-8")
    try:
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[path.stem] = module
        spec.loader.exec_module(module)
    except Exception as error:  # noqa: BLE001 - each kind is a row of the table
        say("import", "private" if PRIVATE.search(text) else "failed", f"{type(error).__name__}: {error}")
        return
    classes = [
        one
        for _, one in inspect.getmembers(module, inspect.isclass)
        if issubclass(one, unittest.TestCase) and one.__module__ == path.stem
    ]
    tests = [one(name) for one in classes for name in unittest.TestLoader().getTestCaseNames(one)]
    order = {name: at for at, name in enumerate(re.findall(r"def (test_\w+)", text))}
    tests.sort(key=lambda test: order.get(test._testMethodName, len(order)))  # noqa: SLF001
    for test in tests[:functions]:
        say(test._testMethodName, *run(test, seconds))  # noqa: SLF001


if __name__ == "__main__":
    main()
