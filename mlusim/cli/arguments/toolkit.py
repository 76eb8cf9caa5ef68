"""The arguments of ``mlusim toolkit``."""

from argparse import ArgumentParser

EXAMPLES = """examples:
  mlusim toolkit ~/neuware
  mlusim toolkit ~/neuware590 --board MLU590-H8
exit codes: 0 the folder is there, 2 it cannot be made"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim toolkit``."""
    add = parser.add_argument
    add("directory", metavar="DIR", help="the folder; one that is there is brought up to date")
    add("--board", metavar="B", help="the board that programs find")
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = EXAMPLES
