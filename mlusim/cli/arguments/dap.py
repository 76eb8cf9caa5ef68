"""The arguments of ``mlusim dap``."""

import argparse

EXAMPLES = """examples:
  mlusim dap              (an editor starts it, and talks to it over standard input and output)
  mlusim dap --port 4711  (an editor connects to it; --port 0 takes any port that is free, and says which)
A launch takes program (an operator, a script or BANG C), args, cwd, and case, board, inputs, set, check, seed, effects as
`mlusim debug` does; kernel stops where it begins, stopOnEntry at the first line; stopAtEnd false ends with the program.
For BANG C kernel, dim, kind, arg, include and define say what is called, as on the command line."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of ``mlusim dap``."""
    parser.add_argument(
        "--port", metavar="N", type=int, help="wait for an editor at this port of this machine"
    )
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    parser.epilog = EXAMPLES
