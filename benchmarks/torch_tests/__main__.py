"""``python -m benchmarks torch_tests CHECKOUT``: the vendor's own tests of PyTorch's device, file by file in processes of their own.

CHECKOUT is a checkout of Cambricon/torch_mlu, whose tests run unchanged.  Nothing of it is stored here.
"""

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import Factory, asdict, define

from benchmarks.bounded import Child
from benchmarks.pages import put_between
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.toolkit import folder

CHILD = Path(__file__).with_name("child.py")


@define
class FileOutcome:
    """The results of the first functions of a test file: the outcome and reason of each; ``died`` where the process ended."""

    name: str
    functions: dict[str, tuple[str, str]] = Factory(dict)
    died: str = ""
    seconds: float = 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tests and print the table; return 1 if fewer than 85 % of the tests that can pass do, or a process dies."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks torch_tests", description=__doc__)
    parser.add_argument("checkout", type=Path, help="a checkout of Cambricon/torch_mlu")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these files, such as test_abs")
    parser.add_argument("--every", type=int, default=8, help="each so-many-th file (default: 8)")
    parser.add_argument(
        "--functions", type=int, default=20, help="the first functions of a file (default: 20)"
    )
    parser.add_argument("--timeout", type=float, default=60, help="seconds for a function (default: 60)")
    parser.add_argument("--board", default="MLU590-H8", help="the board (default: MLU590-H8)")
    parser.add_argument("--jobs", type=int, default=1, help="how many files run at once (default: 1)")
    parser.add_argument(
        "--cache", type=Path, default=Path("build/torch_tests"), help="the toolkit folder is kept here"
    )
    parser.add_argument("--results", type=Path, help="keep what was found here, and run only what is missing")
    parser.add_argument("--page", type=Path, help="put the table into this page")
    args = parser.parse_args(argv)
    try:
        files = test_files(args.checkout.resolve(), args.only, args.every)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    toolkit = args.cache.resolve() / "toolkit"
    folder.make(toolkit, find_board(args.board))
    outcomes = run_files(files, toolkit, args)
    shown = table(outcomes)
    if args.page:
        put_between(args.page, shown, BEGIN, END)
    print(shown)
    passed, can_pass = share(outcomes)
    died = any(outcome.died or "died" in dict(outcome.functions.values()) for outcome in outcomes)
    return int(passed < 0.85 * can_pass or died)


def run_files(files: Sequence[Path], toolkit: Path, args: argparse.Namespace) -> list[FileOutcome]:
    """Run the *files* that have no result yet, and write the results after each."""
    stored = json.loads(args.results.read_text()) if args.results and args.results.is_file() else []
    outcomes = {row["name"]: FileOutcome(**row) for row in stored}
    missing = [path for path in files if _name(path) not in outcomes]
    with ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(lambda path: run_file(path, toolkit, args), missing):
            outcomes[outcome.name] = outcome
            if args.results:
                args.results.write_text(json.dumps([asdict(value) for value in outcomes.values()], indent=1))
    return [outcomes[_name(path)] for path in files]


def _name(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


def test_files(checkout: Path, only: Sequence[str], every: int) -> list[Path]:
    """Return the test files of *checkout*: those named in *only*, or each *every*-th.  Raises `UsageError` if there are none."""
    paths = sorted((checkout / "test").glob("*/test_*.py"))
    if not paths:
        raise UsageError(f"{checkout} has no test/*/test_*.py; give a checkout of Cambricon/torch_mlu")
    if only:
        unknown = sorted({*only} - {path.stem for path in paths})
        if unknown:
            raise UsageError(f"{checkout}/test has no {', '.join(unknown)}")
        return [path for path in paths if path.stem in only]
    return paths[::every]


def run_file(path: Path, toolkit: Path, args: argparse.Namespace) -> FileOutcome:
    """Run the first functions of *path* in a process; if a function ends the process, run the rest in another."""
    begin = time.monotonic()
    outcome = FileOutcome(_name(path))
    while not outcome.died:
        before = len(outcome.functions)
        code, why = _run_rest(path, toolkit, args, outcome)
        if not code:
            break
        if len(outcome.functions) == before:
            outcome.died = f"exit {code}: {why}"[:200]
    outcome.seconds = time.monotonic() - begin
    print(
        f"{outcome.name}: {dict(Counter(r for r, _ in outcome.functions.values()))} {outcome.died}",
        file=sys.stderr,
        flush=True,
    )
    return outcome


def _run_rest(path: Path, toolkit: Path, args: argparse.Namespace, outcome: FileOutcome) -> tuple[int, str]:
    """Run the remaining functions of *path* and fill in *outcome*; return the exit code of the process and its last line."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MLUSIM_")}
    environment = inherited | {
        "NEUWARE_HOME": str(toolkit),
        "PYTHONPATH": str(toolkit / "python"),
        "PATH": f"{toolkit / 'bin'}:{os.environ['PATH']}",
        "MLUSIM_BOARD": args.board,
    }
    numbers = map(str, (args.functions, args.timeout, len(outcome.functions)))
    child = Child(CHILD, [str(path), *numbers], environment, path.parent, args.timeout)
    running = ""
    for _, name, *ended in child.told():
        if ended:
            outcome.functions[name] = (ended[0], ended[1])
        running = "" if ended else name
    if running:
        outcome.functions[running] = child.end
    return child.code, child.why


def share(outcomes: Sequence[FileOutcome]) -> tuple[int, int]:
    """Return how many functions pass, and how many can pass without the vendor's private interface."""
    results = [(result, reason) for outcome in outcomes for result, reason in outcome.functions.values()]
    passed = sum(result == "passed" for result, _ in results)
    return passed, sum(result not in {"skipped", "private"} for result, _ in results)


def table(outcomes: Sequence[FileOutcome]) -> str:
    """Return the sums, the frequency of each reason, and a row for each function that does not pass."""
    rest = [
        (outcome.name, name, result, _shown(reason))
        for outcome in outcomes
        for name, (result, reason) in outcome.functions.items()
        if result not in {"passed", "skipped"}
    ]
    counts = Counter(result for outcome in outcomes for result, _ in outcome.functions.values())
    passed, can_pass = share(outcomes)
    sums = ", ".join(f"{number} {result}" for result, number in sorted(counts.items()))
    lines = [f"{len(outcomes)} files: {sums}; {passed} of {can_pass} that can pass.", ""]
    lines += ["| outcome | functions | reason |", "| --- | --- | --- |"]
    reasons = Counter((result, reason) for _, _, result, reason in rest)
    lines += [f"| {result} | {number} | {reason} |" for (result, reason), number in reasons.most_common()]
    lines += ["", "| file | function | outcome | reason |", "| --- | --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rest if row[2] != "private"]
    lines += [
        f"| {outcome.name} | the file | died | {_shown(outcome.died)} |"
        for outcome in outcomes
        if outcome.died
    ]
    return "\n".join([*lines, ""])


def _shown(reason: str) -> str:
    """Return *reason* as a cell of a table, without the paths and the addresses that differ from run to run."""
    plain = re.sub(r"(?:/[\w.+-]+)+/", "", re.sub(r"\b0x[0-9a-f]+\b", "0x...", reason))
    return plain.replace("|", "/")[:160]


BEGIN, END = "<!-- begin: python -m benchmarks torch_tests --page -->\n", "<!-- end -->\n"


if __name__ == "__main__":
    sys.exit(main())
