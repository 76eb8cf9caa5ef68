"""The arguments of ``mlusim ops``."""

from argparse import ArgumentParser


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the arguments of ``mlusim ops``."""
    parser.add_argument("name", nargs="?", metavar="OP", help="one operator: parameters, cases, limits")
    parser.add_argument(
        "--listing", action="store_true", help="the listing of OP's document beside its kernel in BANG C"
    )
    parser.add_argument("--json", action="store_true", help="one JSON document on standard output")
    parser.epilog = "examples:\n  mlusim ops tin_shift_forward\n  mlusim ops border_align_backward --listing"
