"""BANG C files on the command line: which words are files, ``-I``, ``-D``, and how one kernel is called."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import MappingProxyType

from mlusim.arch.board import Board
from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.errors import UsageError

SUFFIXES = (".mlu", ".cpp", ".cc", ".cxx", ".c")
CALL_OPTIONS = MappingProxyType(
    {"include": "-I", "define": "-D", "kernel": "--kernel", "dim": "--dim", "kind": "--kind", "arg": "--arg"}
)


def is_source(word: str | None) -> bool:
    """Whether *word* names a BANG C or C++ file."""
    return word is not None and Path(word).suffix in SUFFIXES


def add_source_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``-I`` and ``-D``."""
    add = parser.add_argument
    add(
        "-I",
        dest="include",
        metavar="DIR",
        action="append",
        default=[],
        help="a directory for headers of BANG C",
    )
    add("-D", dest="define", metavar="NAME[=VALUE]", action="append", default=[], help="a macro of BANG C")


def add_call_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare ``-I``, ``-D``, and what says how a kernel is called."""
    add_source_arguments(parser)
    add = parser.add_argument
    add(
        "--kernel",
        metavar="K<float>",
        help="the kernel of a BANG C file: K, ns::K, 'K(float *)', or K<float> of a template",
    )
    add("--dim", metavar="X,Y,Z", help="tasks of the kernel (default: 1,1,1)")
    add("--kind", metavar="KIND", help="block (default), union1, union2, ...")
    add(
        "--arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="an argument: a number, F.npy, out:float32:8,1024, inout:F.npy, or null",
    )


def refuse_call_arguments(args: argparse.Namespace) -> None:
    """Raise `UsageError` where an option of BANG C files is given without one."""
    unfit = next((shown for name, shown in CALL_OPTIONS.items() if getattr(args, name, None)), None)
    if unfit is not None:
        raise UsageError(f"{unfit} goes with a BANG C file, as in `mlusim run scale.mlu --kernel Scale`")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """The files at the beginning of *words*, and the arguments behind them."""
    count = next((n for n, word in enumerate(words) if not is_source(word)), len(words))
    return list(words[:count]), list(words[count:])


def defines(words: Iterable[str]) -> dict[str, str | None]:
    """The macros of ``-D``; one without a value is 1, as compilers have it."""
    found: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.isidentifier():
            raise UsageError(f"-D {word!r} names no macro; write NAME or NAME=VALUE")
        found[name] = value if equals else None
    return found


def board_of(name: str | None) -> Board:
    """The board that was named, or the default."""
    return find_board(name or DEFAULT_BOARDS[0])
