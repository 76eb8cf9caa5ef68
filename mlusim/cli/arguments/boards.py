"""The arguments of ``mlusim boards``."""

from argparse import ArgumentParser


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim boards``."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="one board, with the source of each number")
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = "example: mlusim boards MLU370-X4"
