"""``python -m benchmarks.vendor CHECKOUT [--only TEXT] [--no-checks] [--missing] [--results FILE] [--page FILE]``."""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from benchmarks.vendor import references
from benchmarks.vendor.bench import CASES
from benchmarks.vendor.board import BOARD
from benchmarks.vendor.engines import Pair, of_call, of_file
from benchmarks.vendor.entries import Library
from benchmarks.vendor.files import paths, row_of
from benchmarks.vendor.operators import cases, outcome
from benchmarks.vendor.results import Results
from benchmarks.vendor.sentences import sentence
from mlusim import bangc
from mlusim.errors import MlusimError

HELPERS = (
    "Create",
    "Destroy",
    "Set",
    "GetDynamic",
    "Workspace",
    "NumActOut",
    "ParamCheck",
    "Allocate",
    "ElementNum",
)


def main() -> int:
    """Run what is asked for, keep it, and print the table; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vendor", description=__doc__)
    parser.add_argument("checkout", type=Path, help="the path of a checkout of Cambricon/mlu-ops")
    parser.add_argument("--only", default="", help="files and calls whose name contains this text")
    parser.add_argument(
        "--no-checks", action="store_true", help="do not run a second time under the checkers"
    )
    parser.add_argument(
        "--results", type=Path, help="keep what is measured here, and begin with what is there"
    )
    parser.add_argument(
        "--missing",
        action="store_true",
        help="only the calls of which the results lack a run under the checkers, or one of each engine",
    )
    parser.add_argument(
        "--part", choices=("files", "calls", "hosts", "engines", "none"), help="run only this part"
    )
    parser.add_argument("--page", type=Path, help="put the tables into this page")
    parser.add_argument("--board", default=BOARD, help="the board of the files' own runs")
    parser.add_argument(
        "--older", type=Path, help="results of the files on a board of an older architecture, for the page"
    )
    args = parser.parse_args()
    references.load()
    root = args.checkout.resolve()
    results = Results() if args.results is None else Results.read(args.results)
    library = Library(root)
    results.entries = [n for n in library.public if not any(word in n for word in HELPERS)]
    results.declared, results.defined, results.driven = library.declared, len(library.public), library.driven
    for part, run in (("files", _files), ("hosts", _hosts), ("calls", _calls), ("engines", _engines)):
        if args.part in (None, part):
            run(root, results, args)
    if args.page:
        results.page(args.page, Results.read(args.older) if args.older else None)
    print(results.table())
    wrong = [o for o in results.calls.values() if o.right is False]
    return int(bool(wrong) or any(row.right is False for row in results.files.values()))


def _keep(results: Results, args: argparse.Namespace, said: str) -> None:
    print(said, file=sys.stderr, flush=True)
    if args.results is not None:
        results.write(args.results)


def _files(root: Path, results: Results, args: argparse.Namespace) -> None:
    """Each file: parsed, translated, its kernels launched where a case of ours does it straight."""
    for path in paths(root):
        if args.only in path:
            row = results.files[path] = row_of(root, path, checked=not args.no_checks, board=args.board)
            _keep(results, args, f"{path}: {row.remark or 'done'}")


def _hosts(root: Path, results: Results, args: argparse.Namespace) -> None:
    for path in sorted(p for d in ("kernels", "kernels_light") for p in (root / d).rglob("*.cpp")):
        name = str(path.relative_to(root))
        if args.only in name:
            results.hosts[name] = ""
            try:
                bangc.load(path, include=[root], define={"NDEBUG": None}, board=BOARD)
            except MlusimError as error:
                results.hosts[name] = sentence(error, root)
            _keep(results, args, f"{name}: {results.hosts[name] or 'parses'}")


def _calls(root: Path, results: Results, args: argparse.Namespace) -> None:
    """Each call: without checkers, and under them, too."""
    library = Library(root)
    everything = cases(library)
    known = {f"{entry}: {case}" for entry, case, _ in everything}
    results.calls = {name: call for name, call in results.calls.items() if name in known}
    for entry, case, source in everything:
        kept = results.calls.get(f"{entry}: {case}")
        whole = args.missing and kept is not None and (kept.checked or not kept.kernels)
        if (args.only in entry or args.only in case) and not whole:
            made = results.calls[f"{entry}: {case}"] = outcome(library, entry, case, source, checked=False)
            if not args.no_checks and made.kernels:
                watched = outcome(library, entry, case, source, checked=True)
                made.checked, made.findings, made.examples = True, watched.findings, watched.examples
                if watched.right != made.right:
                    made.remark = f"under checkers: {watched.remark}"
            _keep(results, args, f"{entry} {case}: {made.status} {made.right} {made.remark}")


def _engines(root: Path, results: Results, args: argparse.Namespace) -> None:
    """Each straight run and each call by both engines."""
    runs: dict[str, Callable[[], Pair]] = {path: partial(of_file, root, path) for path in CASES}
    library = Library(root)
    for entry, case, source in cases(library):
        known = results.calls.get(f"{entry}: {case}")
        if known is not None and known.kernels:
            runs[f"{entry}: {case}"] = partial(of_call, library, entry, case, source)
    for name, run in runs.items():
        if args.only in name and not (args.missing and name in results.engines):
            pair = results.engines[name] = run()
            _keep(results, args, f"{name}: {'; '.join(pair.differs) or 'the same on both engines'}")


if __name__ == "__main__":
    sys.exit(main())
