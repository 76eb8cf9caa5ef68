"""The arguments of ``mlusim compile``."""

from argparse import ArgumentParser

from mlusim.cli.arguments.shared import add_source_arguments

EXAMPLES = """examples:
  mlusim compile scale.mlu
  mlusim compile --clean-cache
  mlusim compile div.mlu -I include -D NDEBUG --board MLU590-H8 --json
exit codes: 0 everything translates, 1 something does not or declares more than the board has, 2 a file does not parse"""


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim compile``."""
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="BANG C files, which are linked with each other")
    add_source_arguments(parser)
    add("--board", metavar="B", help="the board whose architecture is compiled for")
    add(
        "--clean-cache",
        action="store_true",
        help="remove translations and compiled kernels of earlier runs from the user's cache",
    )
    add("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = EXAMPLES
