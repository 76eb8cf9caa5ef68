"""The arguments of ``mlusim demo``."""

from argparse import ArgumentParser

from mlusim.cli.arguments.shared import (
    add_boards,
    add_jobs,
)

PAGE = "mlusim-report.html"


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim demo``."""
    add = parser.add_argument
    add_boards(parser)
    add("-o", "--output", default=PAGE, metavar="F.html", help=f"where the page goes (default: {PAGE})")
    add_jobs(parser)
    add("--json", action="store_true", help="one JSON document on standard output, besides the page")
    parser.epilog = "example: mlusim demo -o report.html"
