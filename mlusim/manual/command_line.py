"""The page of the command line, written from the parsers: ``python -m mlusim.manual.command_line > PAGE``."""

import argparse
from collections.abc import Iterator

from mlusim.cli.main import VERBS, Parser, Verb
from mlusim.programs.argument_forms import FORMS, SIZES

HEAD = """# Command line

Made from the program's own parsers by `python -m mlusim.manual.command_line`.

Exit codes: 0 clean; 1 findings, failed accuracy, a regression or a plan that does not fit; 2 usage; 3 a fault in the simulated
machine; 130 interrupted.
Errors are one sentence on standard error.
With `--json`, standard output holds one JSON document and nothing else.
Long work shows progress on standard error when it is a terminal; `NO_COLOR` is honoured.
"""
COMPLETION = """## The tab key

With the extra `completion`, a shell completes verbs, options, operators, boards, checkers and intrinsics, the cases of an operator or
of a file of cases, and of a BANG C file its kernels and their arguments:

```console
eval "$(register-python-argcomplete mlusim)"                 # bash, zsh
register-python-argcomplete --shell fish mlusim | source     # fish
```
"""


def manual() -> str:
    """Return the page as Markdown."""
    return "\n".join([HEAD, COMPLETION, *_arguments(), *(line for verb in VERBS for line in _verb(verb))])


def _arguments() -> Iterator[str]:
    yield "## Arguments of a kernel\n"
    yield "What `--arg NAME=VALUE` takes, in every verb that has it.\n"
    yield "| value | meaning | example |"
    yield "| --- | --- | --- |"
    for form in FORMS:
        yield f"| `{form.spelling}` | {form.meaning} | `--arg {form.example}` |"
    yield f"\n{SIZES}\nWhat is drawn depends on `--seed` and on the argument's name alone.\n"


def _verb(verb: Verb) -> Iterator[str]:
    parser = Parser(prog=f"mlusim {verb.name}")
    verb.add_arguments(parser)
    yield f"## mlusim {verb.name}\n"
    yield f"{verb.summary[0].upper()}{verb.summary[1:]}.\n"
    yield "| argument | meaning |"
    yield "| --- | --- |"
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list of its arguments
        if action.help is not argparse.SUPPRESS:
            meaning = (
                (action.help or "")
                .replace("%(default)s", str(action.default))
                .replace("%%", "%")
                .replace("|", "\\|")
            )
            yield f"| `{_spelling(action)}` | {meaning} |"
    yield ""
    if parser.epilog:
        yield f"```console\n{parser.epilog.strip()}\n```\n"


def _spelling(action: argparse.Action) -> str:
    value = (
        ""
        if action.nargs == 0
        else action.metavar or (action.dest if not action.option_strings else action.dest.upper())
    )
    if isinstance(value, tuple):
        value = " ".join(value)
    many = " ..." if action.nargs in ("*", "+") else ""
    return " ".join(part for part in (", ".join(action.option_strings), f"{value}{many}") if part).replace(
        "|", "\\|"
    )


if __name__ == "__main__":
    print(manual(), end="")
