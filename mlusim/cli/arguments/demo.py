"""The arguments of ``mlusim demo``."""

from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments.shared import workers

PAGE = "mlusim-report.html"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add = parser.add_argument
    add(
        "--board",
        nargs="+",
        action="extend",
        default=[],
        metavar="B",
        help=f"boards (default: {', '.join(DEFAULT_BOARDS)})",
    )
    add("-o", "--output", default=PAGE, metavar="F.html", help=f"where the page goes (default: {PAGE})")
    add("--jobs", metavar="N", type=workers, help="processes (default: one per CPU, at most 4)")
    add("--json", action="store_true", help="one JSON document on standard output, besides the page")
    parser.epilog = "example: mlusim demo -o report.html"
