"""``python -m benchmarks contest CHECKOUT KIT [--board B] [--devices N] [--only NAME...] [--timeout S] [--check S] [--jobs N] [--results FILE] [--missing] [--page FILE] [--tester]``."""

import argparse
import json
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

import attrs

from benchmarks.contest.checkout import problems
from benchmarks.contest.judged import Court, Tested, Verdict
from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError, UsageError
from mlusim.toolkit import folder

BEGIN, END = "<!-- begin: python -m benchmarks contest --page -->\n", "<!-- end -->\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Judge every requested problem and print the table; return 1 if any kernel is not right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks contest", description=__doc__)
    parser.add_argument(
        "checkout", type=Path, help="a checkout of PRO-2684/AICS-openoperator, with its history"
    )
    parser.add_argument("kit", type=Path, help="a checkout of the contest's starter kit")
    parser.add_argument("--board", default="MLU370-X4", help="the board (default: MLU370-X4)")
    parser.add_argument("--devices", type=int, default=2, help="how many of it there are (default: 2)")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these problems, in this order")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one run (default: 300)")
    parser.add_argument(
        "--check",
        type=float,
        default=0,
        metavar="S",
        help="run under all checkers what ends within so many seconds under them (default: nothing)",
    )
    parser.add_argument(
        "--cache", type=Path, default=Path("build/contest"), help="what is built is kept here"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at once (default: 1)")
    parser.add_argument("--results", type=Path, help="keep verdicts here, and begin with what is there")
    parser.add_argument(
        "--missing", action="store_true", help="only what the results lack, or have not as right"
    )
    parser.add_argument("--page", type=Path, help="put the table into this page")
    parser.add_argument(
        "--tester",
        action="store_true",
        help="measure the kit's own tester instead, one problem after another",
    )
    args = parser.parse_args(argv)
    try:
        return _run(args)
    except MlusimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    stored = json.loads(args.results.read_text()) if args.results and args.results.is_file() else {}
    verdicts = {name: Verdict(**value) for name, value in stored.items()}
    every = {problem.title: problem for problem in problems(args.checkout.resolve(), args.kit.resolve())}
    unknown = [name for name in args.only if name not in every]
    if unknown:
        raise UsageError(f"no problem is called {', '.join(unknown)}")
    wanted = [
        every[name]
        for name in args.only or every
        if not (args.missing and name in verdicts and verdicts[name].outcome == "right")
    ]
    if args.tester:
        return _measured([_court(args).tested(problem) for problem in wanted])
    if wanted:
        court = _court(args)
        with ThreadPoolExecutor(args.jobs) as pool:
            judging = [pool.submit(court.judge, problem, args.check) for problem in wanted]
            for done in as_completed(judging):
                verdict = done.result()
                verdicts[verdict.name] = verdict
                print(
                    f"{verdict.name}: {verdict.outcome} {verdict.difference} in {verdict.seconds:.1f} s {verdict.apart} {verdict.remark}",
                    file=sys.stderr,
                    flush=True,
                )
                if args.results:
                    args.results.write_text(
                        json.dumps({n: attrs.asdict(v) for n, v in verdicts.items()}, indent=1)
                    )
    verdicts = {name: verdicts[name] for name in every if name in verdicts}
    shown = table(list(verdicts.values()), [name for name in every if name not in verdicts])
    if args.page:
        page(args.page, shown)
    print(shown)
    return int(any(verdict.outcome != "right" and not verdict.apart for verdict in verdicts.values()))


def _measured(rows: Sequence[Tested]) -> int:
    """Print the verdicts and times of the kit's own tester, and the medians."""
    print(
        "| problem | the kit's tester says | CPU with the build (s) | again (s) |\n| --- | --- | --- | --- |"
    )
    for row in rows:
        print(f"| {row.name} | {row.outcome} | {row.first:.1f} | {row.second:.1f} |")
    first, second = (
        statistics.median(values) for values in zip(*((row.first, row.second) for row in rows), strict=True)
    )
    print(f"\nMedian of {len(rows)}: {first:.1f} s with the build, {second:.1f} s again.")
    return 0


def _court(args: argparse.Namespace) -> Court:
    cache = args.cache.resolve()
    cache.mkdir(parents=True, exist_ok=True)
    toolkit = cache / "toolkit"
    folder.make(toolkit, find_board(args.board))
    return Court(toolkit, cache, args.timeout, ",".join([args.board] * args.devices), args.seed)


def page(path: Path, shown: str) -> None:
    """Put the table into the page, between its marks."""
    head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    path.write_text(f"{head}{BEGIN}\n{shown}\n\n{END}{tail}", encoding="utf-8")


def table(verdicts: Sequence[Verdict], missing: Sequence[str] = ()) -> str:
    """Return a table with a row per problem, and the sums: of kernels, of submissions that are not kernels, and the names of *missing* problems."""
    lines = [
        "| problem | outcome | largest difference | predicted time (us) | findings | remark |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for verdict in verdicts:
        numbers = ("" if value is None else f"{value:.3g}" for value in (verdict.difference, verdict.time))
        rules = "" if verdict.findings is None else ", ".join(sorted(verdict.findings)) or "none"
        remark = "; ".join(filter(None, (verdict.apart and f"no kernel: {verdict.apart}", verdict.remark)))
        lines.append(
            f"| {verdict.name} | {verdict.outcome} | {' | '.join(numbers)} | {rules} | {remark.replace('|', '/')[:300]} |"
        )
    sums = [
        f"{len(group)} {what}{': ' * bool(group)}{', '.join(f'{n} {outcome}' for outcome, n in Counter(group).most_common())}."
        for what, group in (
            ("kernels", [verdict.outcome for verdict in verdicts if not verdict.apart]),
            ("submissions that are not kernels", [verdict.outcome for verdict in verdicts if verdict.apart]),
        )
    ]
    if missing:
        sums.append(f"Not judged: {', '.join(missing)}.")
    return "\n".join([*lines, "", *sums])


if __name__ == "__main__":
    sys.exit(main())
