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
    {
        "include": "-I",
        "define": "-D",
        "kernel": "--kernel",
        "function": "--function",
        "dim": "--dim",
        "kind": "--kind",
        "arg": "--arg",
        "draws": "--seed",
        "reference": "--reference",
        "expect": "--expect",
        "param": "--param",
    }
)


def is_source(word: str | None) -> bool:
    """Return whether *word* names a BANG C or C++ file."""
    return word is not None and Path(word).suffix in SUFFIXES


def is_cases(word: str | None) -> bool:
    """Return whether *word* names a file of cases."""
    return word is not None and word.endswith(".toml")


def refuse_call_arguments(args: argparse.Namespace) -> None:
    """Raise `UsageError` where an option of BANG C files is given without one."""
    unfit = next((shown for name, shown in CALL_OPTIONS.items() if getattr(args, name, None)), None)
    if unfit is not None:
        raise UsageError(f"{unfit} goes with a BANG C file, as in `mlusim run scale.mlu --kernel Scale`")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the files at the beginning of *words*, and the arguments behind them."""
    count = next((n for n, word in enumerate(words) if not is_source(word)), len(words))
    return list(words[:count]), list(words[count:])


def behind(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the words behind ``--``."""
    return tuple(getattr(args, "behind", ()))


def defines(words: Iterable[str]) -> dict[str, str | None]:
    """Return the macros of ``-D``; one without a value is 1, as compilers have it."""
    found: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.isidentifier():
            raise UsageError(f"-D {word!r} names no macro; write NAME or NAME=VALUE")
        found[name] = value if equals else None
    return found


def board_of(name: str | None) -> Board:
    """Return the board that was named, or the default."""
    return find_board(name or DEFAULT_BOARDS[0])
