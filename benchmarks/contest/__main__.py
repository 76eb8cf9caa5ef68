"""``python -m benchmarks contest CHECKOUT [--kit KIT] [--board B] [--only NAME...] [--timeout S] [--results FILE] [--missing] [--page FILE]``."""

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import attrs

from benchmarks.contest.candidate import Builder
from benchmarks.contest.checkout import problems
from benchmarks.contest.judged import Verdict, judge
from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError, UsageError

BEGIN, END = "<!-- begin: python -m benchmarks contest --page -->\n", "<!-- end -->\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Judge every problem that is asked for, and print the table; 1 where one is not right."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks contest", description=__doc__)
    parser.add_argument(
        "checkout", type=Path, help="a checkout of PRO-2684/AICS-openoperator, with its history"
    )
    parser.add_argument(
        "--kit", type=Path, help="a checkout of the contest's starter kit, for references without inputs"
    )
    parser.add_argument("--board", default="MLU370-X4", help="the board (default: MLU370-X4)")
    parser.add_argument("--only", nargs="*", default=[], metavar="NAME", help="these problems, in this order")
    parser.add_argument(
        "--timeout", type=float, default=900, help="seconds for a build or a run (default: 900)"
    )
    parser.add_argument("--cache", type=Path, default=Path("build/contest"), help="where programs are kept")
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")
    parser.add_argument("--results", type=Path, help="keep verdicts here, and begin with what is there")
    parser.add_argument(
        "--missing", action="store_true", help="only what the results lack, or have not as right"
    )
    parser.add_argument("--page", type=Path, help="put the table into this page")
    args = parser.parse_args(argv)
    try:
        return _run(args)
    except MlusimError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


def _run(args: argparse.Namespace) -> int:
    kept = json.loads(args.results.read_text()) if args.results and args.results.is_file() else {}
    verdicts = {name: Verdict(**value) for name, value in kept.items()}
    cache = args.cache.resolve()
    toolkit = cache / "toolkit"
    words = [sys.executable, "-m", "mlusim", "toolkit", str(toolkit), "--board", args.board]
    subprocess.run(words, check=True, capture_output=True)  # noqa: S603 - this very package
    builder = Builder(toolkit, find_board(args.board), cache)
    every = {problem.name: problem for problem in problems(args.checkout.resolve(), args.kit)}
    unknown = [name for name in args.only if name not in every]
    if unknown:
        raise UsageError(f"no problem is called {', '.join(unknown)}")
    for problem in [every[name] for name in args.only or every]:
        old = verdicts.get(problem.name)
        if args.missing and old is not None and old.outcome == "right":
            continue
        one = verdicts[problem.name] = judge(problem, builder, args.timeout, args.seed)
        print(
            f"{one.name}: {one.outcome} {one.difference} in {one.seconds:.1f} s {one.remark}",
            file=sys.stderr,
            flush=True,
        )
        if args.results:
            args.results.write_text(json.dumps({n: attrs.asdict(v) for n, v in verdicts.items()}, indent=1))
    verdicts = {name: verdicts[name] for name in every if name in verdicts}
    shown = table(list(verdicts.values()))
    if args.page:
        page(args.page, shown)
    print(shown)
    return int(any(one.outcome != "right" for one in verdicts.values()))


def page(path: Path, shown: str) -> None:
    """Put the table into the page, between its marks."""
    head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
    _, _, tail = rest.partition(END)
    path.write_text(f"{head}{BEGIN}\n{shown}\n\n{END}{tail}", encoding="utf-8")


def table(verdicts: Sequence[Verdict]) -> str:
    """A row a problem, and the sums."""
    lines = [
        "| problem | outcome | largest difference | predicted time (us) | remark |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one in verdicts:
        numbers = ("" if value is None else f"{value:.3g}" for value in (one.difference, one.time))
        lines.append(
            f"| {one.name} | {one.outcome} | {' | '.join(numbers)} | {one.remark.replace('|', '/')[:300]} |"
        )
    sums = ", ".join(
        f"{n} {outcome}" for outcome, n in Counter(one.outcome for one in verdicts).most_common()
    )
    return "\n".join([*lines, "", f"Of {len(verdicts)} problems: {sums}."])


if __name__ == "__main__":
    sys.exit(main())
