"""``python -m benchmarks vendor CHECKOUT [--board B] [--only TEXT] [--check] [--historic] [--results FILE] [--page FILE]``."""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from benchmarks.vendor import historic
from benchmarks.vendor.checkout import Checkout, untranslated
from benchmarks.vendor.results import Results
from benchmarks.vendor.suite import check_case, run_case
from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError

_TEST = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?),? .*\(\d+ ms\)$", re.MULTILINE)
_OUTCOMES = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def main(argv: Sequence[str] | None = None) -> int:
    """Build, run the requested cases, store the results, and print the table; return 1 if the build or a case fails."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks vendor", description=__doc__)
    parser.add_argument("checkout", type=Path, help="the path of a checkout of Cambricon/mlu-ops")
    parser.add_argument("--board", default="MLU590-H8", help="the board (default: MLU590-H8)")
    parser.add_argument(
        "--engine", default="auto", choices=("auto", "python", "native"), help="what kernels run on"
    )
    parser.add_argument("--only", default="", help="the cases whose operator contains this text")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the build (default: 2)")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for a case (default: 900)")
    parser.add_argument("--no-build", action="store_true", help="take the programs that were built before")
    parser.add_argument("--build-only", action="store_true", help="run no case")
    parser.add_argument("--check", action="store_true", help="run each case a second time under all checkers")
    parser.add_argument("--no-api", action="store_true", help="leave the tests of the entry points out")
    parser.add_argument(
        "--historic", action="store_true", help="look for faults of the library's past, and do nothing else"
    )
    parser.add_argument("--missing", action="store_true", help="only the cases that the results lack")
    parser.add_argument(
        "--results", type=Path, help="keep what is measured here, and begin with what is there"
    )
    parser.add_argument("--page", type=Path, help="put the tables into this page")
    parser.add_argument("--other", type=Path, help="results of another board, for the page")
    args = parser.parse_args(argv)
    try:
        return _run(args)
    except MlusimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    results = Results() if args.results is None else Results.read(args.results)
    checkout = Checkout(args.checkout.resolve(), find_board(args.board), args.engine)
    if args.historic:
        return historic.main(checkout)
    results.board = checkout.board.name
    if not args.no_build:
        log = checkout.root / f"build-{checkout.board.name}.log"
        results.built = checkout.build(args.jobs, log) == 0
        said = log.read_text(encoding="utf-8", errors="replace")
        results.untranslated = dict(untranslated(said.replace(f"{checkout.root}/", "")))
        _keep(results, args, f"the build {'ends well' if results.built else 'fails'}: {log}")
    if not args.build_only:
        _cases(checkout, results, args)
        if not args.no_api and not args.only:
            _entry_points(checkout, results, args)
    if args.page:
        results.page(args.page, Results.read(args.other) if args.other else None)
    print(results.table())
    wrong = any(run.outcome != "passed" for run in results.cases.values())
    return int(wrong or results.built is False or bool(results.api_failed))


def _cases(checkout: Checkout, results: Results, args: argparse.Namespace) -> None:
    for operator, name in checkout.cases():
        stored = results.cases.get(name)
        if args.only not in operator or (args.missing and stored is not None):
            continue
        run = results.cases[name] = run_case(checkout, operator, name, args.timeout)
        if args.check and run.outcome == "passed":
            check_case(checkout, run, args.timeout)
        _keep(results, args, f"{run.case}: {run.outcome} in {run.seconds:.1f} s {run.remark}".rstrip())


def _entry_points(checkout: Checkout, results: Results, args: argparse.Namespace) -> None:
    """Run the test program that calls each entry point with arguments that it must accept or reject."""
    code, said = checkout.run(["./mluop_api_gtest"], 100 * args.timeout)
    outcomes = {name: _OUTCOMES[outcome] for outcome, name in _TEST.findall(said)}
    results.api = dict(Counter(outcomes.values()))
    results.api_failed = [name for name, outcome in outcomes.items() if outcome == "failed"]
    if code not in (0, 1) or not outcomes:
        results.api_failed.append(f"the program, which ends with {code}")
    _keep(results, args, f"entry points: {results.api}")


def _keep(results: Results, args: argparse.Namespace, said: str) -> None:
    print(said, file=sys.stderr, flush=True)
    if args.results is not None:
        results.write(args.results)


if __name__ == "__main__":
    sys.exit(main())
