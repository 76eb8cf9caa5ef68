"""Which words of a command line are mlusim's, and which are those of the program that it runs."""

import argparse
from collections.abc import Sequence


def divide(parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the options of *parser* and the program in *words*, what else is before ``--``, and what is behind it.

    Options of *parser* are its own on both sides of the program; both rests are the program's, where the first may begin
    with more files.
    """
    options = {text: action for action in parser._actions for text in action.option_strings}  # noqa: SLF001 - argparse has no public list
    own: list[str] = []
    theirs: list[str] = []
    behind: list[str] = []
    named, at = False, 0
    while at < len(words):
        word = words[at]
        if word == "--":
            behind += words[at + 1 :]
            break
        action = options.get(word) or options.get(word.partition("=")[0] if word[:2] == "--" else word[:2])
        taken = 1
        if word.startswith("-") and action is not None:
            taken += _values(action, words[at + 1 :]) if word in options else 0
            own += words[at : at + taken]
        elif not named:
            own.append(word)
            named = not word.startswith("-")
        else:
            theirs.append(word)
        at += taken
    return own, theirs, behind


def _values(action: argparse.Action, words: Sequence[str]) -> int:
    """Return how many of *words* are values of the option."""
    if action.nargs == 0:
        return 0
    if action.nargs == "+":
        return next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
    return min(1, len(words))


_TAKE_MACROS = ("--param", "--max", "--frontier")


def macros_joined(words: Sequence[str]) -> list[str]:
    """*words* with ``--param -DNAME=V``, and what else takes a macro, as one word, which would be two options to argparse."""
    found: list[str] = []
    for word in words:
        before = found[-1] if found else ""
        if before in _TAKE_MACROS and word.startswith("-D") and "--" not in found:
            found[-1] = f"{before}={word}"
        else:
            found.append(word)
    return found
