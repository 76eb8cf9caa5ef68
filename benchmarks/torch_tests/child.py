"""``child.py FILE FUNCTIONS SECONDS DONE``: run the first functions of a test file that are not *done* yet.

A line ``@@["test", name]`` says that a function begins, and ``@@["test", name, outcome, reason]`` how it ended.
"""

import importlib.machinery
import importlib.util
import inspect
import logging
import re
import sys
import traceback
import types
import unittest
import warnings
from pathlib import Path

from benchmarks.bounded import Late, limited, say

PRIVATE = re.compile(
    r"_MLUC\b|torch\.ops\.torch_mlu|torch_mlu\.(?:dump|optimizers|profiler|utils\.|[a-z]\w*_)|torch_mlu import (?!mlu)|torch\.mlu\._sleep"
)


def reason_of(trace: str) -> str:
    """Return the last line of a trace that names an error, otherwise the last line with text."""
    lines = [line for line in trace.strip().splitlines() if re.match(r"[A-Za-z_.]+\b.*", line)]
    errors = [line for line in lines if re.match(r"[A-Za-z_.]+(?:Error|Exception|Late|Warning)\b", line)]
    return (errors or lines or [trace])[-1]


def run(test: unittest.TestCase, seconds: float) -> tuple[str, str]:
    """Run one function for at most *seconds* of this process; return its outcome and the reason."""
    result = unittest.TestResult()
    try:
        with limited(seconds):
            test.run(result)
    except Late:
        return "late", f"more than {seconds:g} s"
    for outcome, reports in (("failed", result.errors + result.failures), ("skipped", result.skipped)):
        if reports:
            trace = reports[0][1]
            if "Late" in trace:
                return "late", f"more than {seconds:g} s"
            private = outcome == "failed" and PRIVATE.search(trace)
            return ("private" if private else outcome), reason_of(trace)
    return "passed", ""


def collected(path: Path, text: str) -> list[unittest.TestCase]:
    """Return the tests of the file *path*, in the order of its *text*."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    classes = [
        class_
        for _, class_ in inspect.getmembers(module, inspect.isclass)
        if issubclass(class_, unittest.TestCase) and class_.__module__ == path.stem
    ]
    tests = [class_(name) for class_ in classes for name in unittest.TestLoader().getTestCaseNames(class_)]
    order = {name: at for at, name in enumerate(re.findall(r"def (test_\w+)", text))}
    return sorted(tests, key=lambda test: order.get(test._testMethodName, len(order)))  # noqa: SLF001


def main() -> None:
    """Run the functions in the order of the file."""
    path, functions, seconds, done = (
        Path(sys.argv[1]),
        int(sys.argv[2]),
        float(sys.argv[3]),
        int(sys.argv[4]),
    )
    sys.argv = [str(path)]
    sys.path[:0] = [str(path.parent.parent), str(path.parent)]
    if importlib.util.find_spec("pandas") is None:  # their helpers import it only for timings
        stub = types.ModuleType("pandas")
        stub.__spec__ = importlib.machinery.ModuleSpec("pandas", None)
        sys.modules["pandas"] = stub
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    text = path.read_text(encoding="utf-8")
    try:
        tests = collected(path, text)
    except Exception as error:  # noqa: BLE001 - each kind is a row of the table
        trace = traceback.format_exc()
        say(
            "test",
            "import",
            "private" if PRIVATE.search(text + trace) else "failed",
            f"{type(error).__name__}: {error}",
        )
        return
    for test in tests[done:functions]:
        name = f"{type(test).__name__}.{test._testMethodName}"  # noqa: SLF001
        say("test", name)
        say("test", name, *run(test, seconds))


if __name__ == "__main__":
    main()
