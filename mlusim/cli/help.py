"""The text of ``--help`` and ``--help-all``: options in the same groups and the same order for every verb.

``--help`` fits a screen: the verb's own options are explained, and shared options are listed by name, since users who
know one verb know them.  ``--help-all`` explains each.
"""

import argparse
import shutil
import textwrap
from collections.abc import Iterator, Mapping, Sequence

OWN = "what to do"
GROUPS: Mapping[str, tuple[str, ...]] = {
    "program": (
        *("--kernel", "--function", "-D", "-I", "--case", "--cases", "--group", "--inputs", "--set", "--policy"),
        *("--grid", "--constexpr", "--num-warps", "--num-stages"),
    ),
    "arguments": ("--dim", "--kind", "--arg", "--seed", "--draws", "--reference", "--expect"),
    OWN: (),
    "checks": (
        *("--check", "--only", "--notes", "--values", "--suppress", "--effects"),
        *("--baseline", "--threshold", "--write-baseline", "--allow-missing"),
    ),
    "output": ("--json", "--format", "-o", "--keep", "--restart", "--save", "--html", "--trace", "--lcov", "--coverage", "-v"),
    "engine": ("--board", "--engine", "--threads", "--jobs", "--dask", "--limit", "--seconds", "--memory"),
}  # fmt: skip
"""The options of each group in order, by its title; `OWN` has the other options, in the order of their declaration."""

WIDEST = 100  # characters of a line of help, also on wider terminals
MARGIN = 2  # characters that stay free at the right, as in argparse
COLUMN = 22  # characters to the left of an option's meaning
EXAMPLES = 4  # on one screen, including the line above them


def options_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the visible options of *parser*, except help."""
    return [
        action
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of its arguments
        if action.option_strings and action.help is not argparse.SUPPRESS and action.dest != "help"
    ]


def words_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the positional arguments of *parser*: the program, its words."""
    return [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - the same


def grouped(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    """Return the options of *parser* by the titles of `GROUPS`, each group in its order; empty groups are left out."""
    options = options_of(parser)
    places = {option: (title, at) for title, group in GROUPS.items() for at, option in enumerate(group)}
    positioned: dict[str, list[tuple[int, argparse.Action]]] = {title: [] for title in GROUPS}
    for action in options:
        title, at = places.get(action.option_strings[0], (OWN, len(positioned[OWN])))
        positioned[title].append((at, action))
    ordered = {title: sorted(group, key=lambda each: each[0]) for title, group in positioned.items()}
    return {title: [action for _, action in group] for title, group in ordered.items() if group}


def screen(parser: argparse.ArgumentParser) -> str:
    """Return the help of one screen: the verb's own options explained, the shared ones by name."""
    groups = grouped(parser)
    verb_options = groups.pop(OWN, [])
    shared = (_names(title, group) for title, group in groups.items())
    examples = "\n".join((parser.epilog or "").splitlines()[: 1 + EXAMPLES])
    parts = [
        *_head(parser),
        _explained(parser, OWN, verb_options) if verb_options else "",
        "\n".join(shared),
        examples,
    ]
    return _joined([*parts, f"`{parser.prog} --help-all` explains every option."])


def whole(parser: argparse.ArgumentParser) -> str:
    """Return the help in full, each option explained in its group."""
    explained = (_explained(parser, title, group) for title, group in grouped(parser).items())
    return _joined([*_head(parser), *explained, parser.epilog or ""])


def listing(parser: argparse.ArgumentParser, verbs: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Return the help of a program of *verbs*: names and summaries, by the titles of their groups."""
    blocks = (
        "\n".join(
            [
                f"{title}:",
                *(
                    textwrap.fill(does, _width(), initial_indent=f"  {name:8}  ", subsequent_indent=12 * " ")
                    for name, does in group
                ),
            ]
        )
        for title, group in verbs.items()
    )
    return _joined([parser.format_usage(), parser.description or "", *blocks, parser.epilog or ""])


def _joined(parts: Sequence[str]) -> str:
    return "\n\n".join(part.rstrip("\n") for part in parts if part) + "\n"


def _width() -> int:
    return min(shutil.get_terminal_size().columns - MARGIN, WIDEST)


def _head(parser: argparse.ArgumentParser) -> Iterator[str]:
    words = words_of(parser)
    yield " ".join(["usage:", parser.prog, "[options]", *map(_shown, words)])
    yield textwrap.fill(parser.description or "", _width())
    if words:
        yield _explained(parser, None, words)


def _shown(action: argparse.Action) -> str:
    name = action.metavar or action.dest.upper()
    shown = {"?": f"[{name}]", "*": f"[{name} ...]", "+": f"{name} [{name} ...]"}
    return shown.get(str(action.nargs), str(name))


def _explained(parser: argparse.ArgumentParser, title: str | None, actions: Sequence[argparse.Action]) -> str:
    """Return the *actions* with their meanings, in the layout of argparse."""
    formatter = argparse.HelpFormatter(parser.prog, max_help_position=COLUMN, width=_width())
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()
    return formatter.format_help().strip("\n")


def _names(title: str, actions: Sequence[argparse.Action]) -> str:
    """Return the names of the options of a group, with their values, as ``--dim X,Y,Z``."""
    spelt = (
        f"{action.option_strings[0]}{_taken(action)}".replace(" ", "\N{NO-BREAK SPACE}") for action in actions
    )
    lines = textwrap.wrap("  ".join(spelt), _width() - 11, break_on_hyphens=False, break_long_words=False)
    return (
        textwrap.indent("\n".join(lines), 11 * " ")
        .replace(11 * " ", f"{title + ':':11}", 1)
        .replace("\N{NO-BREAK SPACE}", " ")
    )


def _taken(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices and not action.metavar:
        return f" {'|'.join(map(str, action.choices))}"
    return f" {action.metavar or action.dest.upper()}"
