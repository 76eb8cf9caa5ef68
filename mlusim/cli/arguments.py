"""Arguments that verbs share: the program, its case or arrays, the board, the checkers, the schedule."""

from argparse import ArgumentParser

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.settings import whole
from mlusim.machine.scheduling.schedule import EFFECTS


def add_program(parser: ArgumentParser, metavar: str, what: str, words: str) -> None:
    """Declare the program, shown as *metavar*, and the *words* behind it."""
    parser.add_argument("program", metavar=metavar, nargs="?", help=what)
    parser.add_argument("arguments", metavar="ARG", nargs="*", help=words)


def add_inputs(parser: ArgumentParser) -> None:
    """Declare the arrays of an operator and the parameters that go with them."""
    add = parser.add_argument
    add("--inputs", metavar="F.npz", help="your arrays, under the names of the operator's inputs")
    add("--set", metavar="k=v,...", action="append", default=[], help="parameters that go with --inputs")


def add_call(parser: ArgumentParser, case: str = "one of the operator's cases (default: its first)") -> None:
    """Declare which call of an operator: a *case*, or arrays, and the board."""
    parser.add_argument("--case", metavar="NAME", help=case)
    add_inputs(parser)
    parser.add_argument("--board", metavar="B", help=f"a board; {DEFAULT_BOARDS[0]} when none is named")


def add_checkers(parser: ArgumentParser) -> None:
    """Declare the checkers that watch."""
    parser.add_argument(
        "--check",
        metavar="NAMES",
        action="append",
        default=[],
        help="checkers that watch, as memcheck,racecheck",
    )


def add_schedule(parser: ArgumentParser) -> None:
    """Declare which legal schedule runs."""
    parser.add_argument("--seed", metavar="N", type=whole, help="explore another legal schedule")
    parser.add_argument(
        "--effects", choices=EFFECTS, default=EFFECTS[0], help="when asynchronous effects land"
    )
