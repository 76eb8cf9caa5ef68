"""``python -m benchmarks torch_tests CHECKOUT``: the vendor's own tests of PyTorch's device, file by file in processes of their own.

CHECKOUT is a checkout of Cambricon/torch_mlu, whose tests run unchanged.  Nothing of it is stored here.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from attrs import Factory, asdict, define

from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.toolkit import folder

CHILD = Path(__file__).with_name("child.py")


@define
class FileOutcome:
    """What the first functions of a test file did: the outcome and the reason of each; ``died`` where its process did."""

    name: str
    functions: dict[str, tuple[str, str]] = Factory(dict)
    died: str = ""
    seconds: float = 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tests and print the table; 1 where fewer than 85 % of those that can pass do, or a process dies."""
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
    parser.add_argument("--results", type=Path, help="write what was found here, as JSON")
    args = parser.parse_args(argv)
    try:
        files = test_files(args.checkout.resolve(), args.only, args.every)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    toolkit = args.cache.resolve() / "toolkit"
    folder.make(toolkit, find_board(args.board))
    with ThreadPoolExecutor(args.jobs) as pool:
        outcomes = list(pool.map(lambda path: run_file(path, toolkit, args), files))
    if args.results:
        args.results.write_text(json.dumps([asdict(one) for one in outcomes], indent=1))
    print(table(outcomes))
    passed, can_pass = share(outcomes)
    return int(passed < 0.85 * can_pass or any(one.died for one in outcomes))


def test_files(checkout: Path, only: Sequence[str], every: int) -> list[Path]:
    """Return the test files of *checkout*: those named *only*, or each *every*-th.  Raises `UsageError` where there is none."""
    found = sorted((checkout / "test").glob("*/test_*.py"))
    if not found:
        raise UsageError(f"{checkout} has no test/*/test_*.py; give a checkout of Cambricon/torch_mlu")
    if only:
        unknown = sorted({*only} - {path.stem for path in found})
        if unknown:
            raise UsageError(f"{checkout}/test has no {', '.join(unknown)}")
        return [path for path in found if path.stem in only]
    return found[::every]


def run_file(path: Path, toolkit: Path, args: argparse.Namespace) -> FileOutcome:
    """Run the first functions of *path* in a process; what it has not said when it ends died with it."""
    begin = time.monotonic()
    known = {name: value for name, value in os.environ.items() if not name.startswith("MLUSIM_")}
    environment = known | {
        "NEUWARE_HOME": str(toolkit),
        "PYTHONPATH": str(toolkit / "python"),
        "PATH": f"{toolkit / 'bin'}:{os.environ['PATH']}",
        "MLUSIM_BOARD": args.board,
    }
    words = [sys.executable, str(CHILD), str(path), str(args.functions), str(args.timeout)]
    outcome = FileOutcome(f"{path.parent.name}/{path.stem}")
    limit = args.timeout * args.functions
    try:
        done = subprocess.run(  # noqa: S603 - the tests that the caller names
            words,
            capture_output=True,
            text=True,
            env=environment,
            cwd=path.parent,
            timeout=limit,
            check=False,
        )
        said, code = done.stdout, done.returncode
        why = (done.stderr.strip().splitlines() or [""])[-1]
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        code, why = 1, f"more than {limit:g} s"
    for line in said.splitlines():
        if line.startswith("@@"):
            name, result, reason = json.loads(line[2:])
            outcome.functions[name] = (result, reason)
    if code:
        outcome.died = f"exit {code}: {why}"[:200]
    outcome.seconds = time.monotonic() - begin
    print(
        f"{outcome.name}: {dict(Counter(r for r, _ in outcome.functions.values()))} {outcome.died}",
        file=sys.stderr,
        flush=True,
    )
    return outcome


def share(outcomes: Sequence[FileOutcome]) -> tuple[int, int]:
    """Return how many functions pass, and how many can without the vendor's private interface."""
    results = [(result, reason) for one in outcomes for result, reason in one.functions.values()]
    passed = sum(result == "passed" for result, _ in results)
    return passed, sum(result not in {"skipped", "private"} for result, _ in results)


def table(outcomes: Sequence[FileOutcome]) -> str:
    """Return a row for each function that does not pass, and the sums."""
    rows = ["| file | function | outcome | reason |", "| --- | --- | --- | --- |"]
    for one in outcomes:
        rows += [
            f"| {one.name} | {name} | {result} | {reason.replace('|', '/')[:160]} |"
            for name, (result, reason) in one.functions.items()
            if result not in {"passed", "skipped"}
        ]
        if one.died:
            rows.append(f"| {one.name} | the file | died | {one.died} |")
    counts = Counter(result for one in outcomes for result, _ in one.functions.values())
    passed, can_pass = share(outcomes)
    sums = ", ".join(f"{number} {result}" for result, number in sorted(counts.items()))
    return "\n".join([*rows, "", f"{len(outcomes)} files: {sums}; {passed} of {can_pass} that can pass."])


if __name__ == "__main__":
    sys.exit(main())
