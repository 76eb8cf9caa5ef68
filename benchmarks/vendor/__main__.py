"""``python -m benchmarks.vendor CHECKOUT [--only TEXT] [--no-checks] [--json FILE]`` prints the table."""

import argparse
import json
import sys
from pathlib import Path

from attrs import asdict

from benchmarks.vendor.files import paths, row_of, table


def main() -> int:
    """Run every file of the checkout and print one table; 1 where a result is wrong."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vendor", description=__doc__)
    parser.add_argument("checkout", type=Path, help="the path of a checkout of Cambricon/mlu-ops")
    parser.add_argument("--only", default="", help="files whose path contains this text")
    parser.add_argument(
        "--no-checks", action="store_true", help="do not run a second time under the checkers"
    )
    parser.add_argument("--json", type=Path, help="write the rows to this file too")
    args = parser.parse_args()
    rows = []
    for path in paths(args.checkout):
        if args.only in path:
            rows.append(row_of(args.checkout.resolve(), path, checked=not args.no_checks))
            print(f"{path}: {rows[-1].remark or 'done'}", file=sys.stderr, flush=True)
    print(table(rows))
    if args.json:
        args.json.write_text(json.dumps([asdict(row) for row in rows], indent=1))
    return int(any(row.right is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
