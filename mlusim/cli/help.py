"""The text of ``--help`` and ``--help-all``: options in groups that are the same, in one order, for every verb.

``--help`` fits a screen: what the verb itself does is explained, and of the options that verbs share the names stand, since who knows
one verb knows those of all.  ``--help-all`` explains each.
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
"""By the title of a group its options in order; `OWN` has those that no other group has, in the order of their declaration."""

WIDEST = 100  # characters of a line of help, on wider terminals too
MARGIN = 2  # characters that stay free at the right, as argparse has it
COLUMN = 22  # characters to the left of what an option does
EXAMPLES = 4  # on one screen, with the line above them


def options_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the shown options of *parser* but for help."""
    return [
        action
        for action in parser._actions  # noqa: SLF001 - argparse has no public list of its arguments
        if action.option_strings and action.help is not argparse.SUPPRESS and action.dest != "help"
    ]


def words_of(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """Return the arguments of *parser* without an option: the program, its words."""
    return [action for action in parser._actions if not action.option_strings]  # noqa: SLF001 - the same


def grouped(parser: argparse.ArgumentParser) -> dict[str, list[argparse.Action]]:
    """Return the options of *parser* by the titles of `GROUPS`, each group in its order; groups without any are left out."""
    options = options_of(parser)
    places = {option: (title, at) for title, group in GROUPS.items() for at, option in enumerate(group)}
    positioned: dict[str, list[tuple[int, argparse.Action]]] = {title: [] for title in GROUPS}
    for action in options:
        title, at = places.get(action.option_strings[0], (OWN, len(positioned[OWN])))
        positioned[title].append((at, action))
    ordered = {title: sorted(group, key=lambda each: each[0]) for title, group in positioned.items()}
    return {title: [action for _, action in group] for title, group in ordered.items() if group}


def screen(parser: argparse.ArgumentParser) -> str:
    """Return the help of one screen: what the verb does by itself explained, the options of all verbs by name."""
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
    """Return the help of a program of *verbs*: names and what each does, by the titles of their groups."""
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
    """Return the *actions* with what each does, as argparse lays them out."""
    formatter = argparse.HelpFormatter(parser.prog, max_help_position=COLUMN, width=_width())
    formatter.start_section(title)
    formatter.add_arguments(actions)
    formatter.end_section()
    return formatter.format_help().strip("\n")


def _names(title: str, actions: Sequence[argparse.Action]) -> str:
    """Return the names of the options of a group, with what each takes, as ``--dim X,Y,Z``."""
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
