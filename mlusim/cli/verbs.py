"""The verbs of ``mlusim`` and their parsers; suggestions for misspelt options and verbs."""

import argparse
import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import frozen

import mlusim
from mlusim.cli import help as helps
from mlusim.errors import UsageError
from mlusim.lazy import lazy
from mlusim.near import near

if TYPE_CHECKING:
    from mlusim.cli.arguments import shared
else:
    (shared,) = lazy("mlusim.cli.arguments.shared")

# The files of `mlusim.cli.arguments`, with the titles of their groups of verbs.
LISTING, RUNNING, COMPARING = "listing", "running", "comparing"


@frozen
class Verb:
    """A verb: its name, and a summary of a few words.

    A function with its name in the file ``arguments`` of `mlusim.cli.arguments` declares its arguments; the verb
    itself is imported when it runs.
    """

    name: str
    arguments: str
    summary: str
    instead: str = ""
    """The verb that replaces this one, if users do not type this one or soon will not; it is then not listed."""

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments, with ``-v`` if host functions run."""
        declared = importlib.import_module(f"mlusim.cli.arguments.{self.arguments}")
        getattr(declared, self._file)(parser)
        parser.add_argument("--help-all", action=_ShowAll, dest="help", nargs=0, help=argparse.SUPPRESS)
        if self.name in TALKATIVE:
            told = "what host functions are given and launch; one process"
            parser.add_argument("-v", "--verbose", action="store_true", help=told)

    def load(self, args: argparse.Namespace) -> Callable[[argparse.Namespace], int]:
        """Import the function that takes *args* and returns an exit code; a verb with several subjects also imports what its ``needs`` returns."""
        module = importlib.import_module(f"mlusim.cli.{self._file}")
        for name in getattr(module, "needs", lambda _: ())(args):
            importlib.import_module(name)
        run: Callable[[argparse.Namespace], int] = module.run
        return run

    @property
    def _file(self) -> str:
        return self.name.replace("-", "")


VERBS = (
    Verb("boards", LISTING, "the boards: memory, clusters, clock, bandwidth, force, and sources"),
    Verb("isa", LISTING, "the intrinsics: signature, extents, rules, pipe, cost"),
    Verb("ops", LISTING, "the operators: parameters, cases, limits"),
    Verb("run", RUNNING, "run it, an operator on its cases or on your arrays: results, accuracy, efficiency"),
    Verb("check", RUNNING, "run it under checkers, which report its mistakes"),
    Verb(
        "fuzz",
        COMPARING,
        "random calls of a kernel near likely faults, under checkers, until one fails: reduced and stored",
    ),
    Verb("compile", LISTING, "the contents of BANG C files, and the parts that do not translate"),
    Verb("toolkit", LISTING, "a folder with cncc, headers and libraries: your own build on the simulator"),
    Verb("profile", RUNNING, "every launch of it, on one board or several: time, bound, causes, lines"),
    Verb("cover", RUNNING, "which lines of its kernels ran, by task, over one run or several"),
    Verb("plan", LISTING, "validate an NRAM partition plan, or find the largest shape that fits"),
    Verb(
        "report", COMPARING, "efficiency of operators x cases x boards; large studies are stored as they run"
    ),
    Verb("what-if", COMPARING, "one call on every board, re-timed where its work is the same"),
    Verb("sweep", COMPARING, "`mlusim report` with --keep, or `mlusim tune`, which stay", "report"),
    Verb(
        "tune",
        COMPARING,
        "a kernel with other macros, arguments, dims and kinds: the fastest that fits and is right",
    ),
    Verb(
        "judge",
        COMPARING,
        "many candidates against one reference: correctness, findings, time, each in a confined process",
    ),
    Verb("debug", RUNNING, "the kernel debugger: breakpoints, steps, memory, and going back in time"),
    Verb("dap", RUNNING, "the debugger for editors: a server of the Debug Adapter Protocol", "debug"),
    Verb("demo", COMPARING, "every operator at network scale on two boards, checked, with a report"),
)


RUN_PROGRAMS = ("run", "check", "profile", "cover", "report", "what-if", "sweep", "tune", "debug")
"""Verbs that run programs; words that the verb has no option for are the program's."""
TALKATIVE = ("run", "report", "check")


class Parser(argparse.ArgumentParser):
    """A parser that raises `UsageError` instead of printing and exiting."""

    def __init__(self, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(allow_abbrev=False, **options)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with *message* and the command that shows help."""
        raise UsageError(f"{message}; see `{self.prog} --help`")


class VerbParser(Parser):
    """The parser of one verb, whose ``--help`` fits a screen; ``--help-all`` explains every option."""

    def format_help(self) -> str:
        """Return the help of one screen."""
        return helps.screen(self)


TITLES = {
    RUNNING: "one program: an operator, a script, a test, BANG C files, a native program, or cases.toml",
    COMPARING: "many calls of it, compared",
    LISTING: "tables, sources, plans",
}


class ProgramParser(Parser):
    """The parser of ``mlusim``, whose ``--help`` lists the verbs in groups."""

    def format_help(self) -> str:
        """Return the help of one screen; verbs that another one replaces are not listed."""
        listed = {
            title: [
                (verb.name, verb.summary) for verb in VERBS if verb.arguments == file and not verb.instead
            ]
            for file, title in TITLES.items()
        }
        return helps.listing(self, listed)


class _ShowAll(argparse.Action):
    """Prints the complete help."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> NoReturn:
        print(helps.whole(parser), end="")
        parser.exit()


def parser_of(chosen: Verb | None) -> Parser:
    """Return the parser with every verb's name and the arguments of the *chosen* verb."""
    parser = ProgramParser(
        prog="mlusim",
        description="A simulated Cambricon MLU: run, check and measure BANG C kernels with no card.",
        epilog="exit codes: 0 clean, 1 findings, failed accuracy or a regression, 2 usage, 3 a fault in the machine\n"
        "example: mlusim run tin_shift_forward --case golden_document",
    )
    parser.add_argument("--version", action="version", version=f"mlusim {mlusim.__version__}")
    verbs = parser.add_subparsers(dest="verb", metavar="VERB", title="verbs", parser_class=VerbParser)
    for verb in VERBS:
        below = verbs.add_parser(verb.name, description=f"{verb.name}: {verb.summary}.")
        if verb is chosen:
            verb.add_arguments(below)
    return parser


def verb_named(name: str | None) -> Verb | None:
    """Return the verb *name*; None if there is none."""
    return next((verb for verb in VERBS if verb.name == name), None)


def unknown_verb(word: str) -> str:
    """Return the refusal of *word*, which should be a verb."""
    guesses = near(word, [verb.name for verb in VERBS], 1)
    listed = (verb.name for verb in VERBS if not verb.instead)
    hint = f"did you mean {guesses[0]}?" if guesses else f"the verbs are {', '.join(listed)}"
    return f"there is no verb {word!r}; {hint}"


def unknown_option(verb: str | None, word: str) -> str:
    """Return the refusal of *word*, which *verb* does not accept."""
    prog = f"mlusim {verb}" if verb else "mlusim"
    return told_option(verb, word) or f"{prog} takes no {word!r}; see `{prog} --help`"


def told_option(verb: str | None, word: str) -> str | None:
    """Return why *verb* lacks the option in *word* that other verbs have, or a similar option; None if nothing is known."""
    option, declared = word.partition("=")[0], verb_named(verb)
    if declared is None or not option.startswith("-"):
        return None
    if (why := shared.refusal(declared.name, [word])) is not None:
        return why
    takers = [f"`mlusim {each.name}`" for each in VERBS if not each.instead and option in options_of(each)]
    if takers:
        named = " and ".join([", ".join(takers[:-1][:2]), takers[-1]] if takers[1:] else takers)
        return f"mlusim {verb} takes no {option}; {named} {'do' if takers[1:] else 'does'}"
    guesses = near(option, options_of(declared), 1)
    return f"mlusim {verb} takes no {option}; did you mean {guesses[0]}?" if guesses else None


def options_of(verb: Verb) -> list[str]:
    """Return the options of *verb*, as they are spelled on the command line."""
    parser = VerbParser(prog=f"mlusim {verb.name}")
    verb.add_arguments(parser)
    return [text for action in helps.options_of(parser) for text in action.option_strings]
