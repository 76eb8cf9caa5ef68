"""The arguments of ``mlusim isa``."""

from argparse import ArgumentParser


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim isa``."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="one intrinsic, built-in variable or copy direction in full; a part of a name lists all that have it",
    )
    parser.add_argument(
        "--coverage",
        action="store_true",
        help="the vendor's names, what each is here and which test executes it",
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = "example: mlusim isa bang_add"
