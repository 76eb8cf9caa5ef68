"""Arguments that verbs share; the division of a command line between mlusim and the program; and why a verb lacks an option."""

import functools
import math
import re
from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attrs import frozen

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.engine.preference import ENGINES
from mlusim.machine.limits import Limit, limit_in
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.programs import argument_forms

THREADS = "--threads"
JOBS = "--jobs"
ENGINE = "--engine"
MEANING: Mapping[str, str] = {
    THREADS: "threads for the tasks of one launch in C, where their order cannot matter (default: 1, or what MLUSIM_THREADS says)",
    JOBS: "runs at the same time, each in a process of its own (default: {})",
}
"""The meaning of options that are the same in every verb."""

WHERE_IT_CAN = "the engine: auto uses C for unobserved kernels of BANG C (default: auto)"
WHERE_CHECKED = (
    "the engine under checkers: Python, or C if it finds nothing to report; auto uses C for large launches "
    "of BANG C, native for all, and for kernel.mlu of operators (default: auto)"
)
TEXT = "text"  # the format for people
FORMER = "table"  # its former name in `mlusim report`
GROUP = "network"
EVERY = "all"  # of the groups of cases
USUAL_THRESHOLD = "5%"


def whole(text: str) -> int:
    """Parse an integer for argparse."""
    try:
        return int(text, 0)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is not a whole number") from None


def workers(text: str) -> int:
    """Parse a number of processes for argparse."""
    number = whole(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} is too few; give 1 or more")
    return number


def threshold(text: str) -> float:
    """Parse a fraction for argparse: "5%", "0.5 %" or "0.05"."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value) or value < 0:
        raise ArgumentTypeError(f"{text!r} is not a threshold; write it as 5% or 0.05")
    if percent:
        return value / 100
    if value >= 1:
        raise ArgumentTypeError(
            f"{text!r} may be a fraction or a percentage; write {text.strip()}% or a number below 1"
        )
    return value


@frozen
class Adder:
    """Adds options to *parser*, each with its metavar as help shows it, such as "--case NAME", and its meaning; *hidden* ones are not in the help."""

    parser: ArgumentParser
    hidden: bool = False

    def value(self, option: str, meaning: str, **more: Any) -> None:
        """Add *option*, which has one value; *more* is passed to argparse."""
        words = option.split()
        shown = None if words[-1].startswith("-") else words.pop()
        self.parser.add_argument(*words, metavar=shown, help=SUPPRESS if self.hidden else meaning, **more)

    def flag(self, option: str, meaning: str) -> None:
        """Add *option*, which has no value."""
        self.parser.add_argument(option, action="store_true", help=SUPPRESS if self.hidden else meaning)

    def several(self, option: str, meaning: str) -> None:
        """Add *option*, which accepts several values at once and may be repeated."""
        self.value(option, meaning, nargs="+", action="extend", default=[])

    def repeated(self, option: str, meaning: str, **more: Any) -> None:
        """Add *option*, which has one value and may be repeated; *more* is passed to argparse."""
        self.value(option, meaning, action="append", default=[], **more)

    def json(self) -> None:
        """Declare ``--json`` for a verb without ``--format``."""
        self.flag("--json", "one JSON document on standard output")

    def program(self, metavar: str, what: str, words: str) -> None:
        """Declare the program, shown as *metavar* with the help *what*, and the *words* after it."""
        self.parser.add_argument("program", metavar=metavar, nargs="?", help=what)
        self.parser.add_argument("arguments", metavar="ARG", nargs="*", help=words)

    def inputs(self) -> None:
        """Declare the arrays of an operator and the parameters that go with them."""
        self.value("--inputs F.npz", "your arrays, under the names of the operator's inputs")
        self.repeated("--set k=v,...", "parameters that go with --inputs")

    def call(self, case: str = "one of the operator's cases (default: its first)") -> None:
        """Declare the options that select a call of an operator: a *case*, or arrays, and the board."""
        self.value("--case NAME", case)
        self.inputs()
        self.value("--board B", f"a board; {DEFAULT_BOARDS[0]} when none is named")

    def checkers(self) -> None:
        """Declare the option that names checkers."""
        self.repeated("--check NAMES", "checkers that watch, as memcheck,racecheck")

    def schedule(self) -> None:
        """Declare the options that select a legal schedule."""
        self.value("--seed N", f"explore another legal schedule, and {argument_forms.SEED}", type=whole)
        self.value("--effects", "when asynchronous effects land", choices=EFFECTS, default=EFFECTS[0])

    def engine(self, text: str = WHERE_IT_CAN) -> None:
        """Declare ``--engine`` with its choices."""
        self.value(ENGINE, text, choices=ENGINES)

    def threads(self) -> None:
        """Declare ``--threads``, the number of the native engine's threads."""
        self.value(f"{THREADS} N", MEANING[THREADS], type=workers)

    def answer(self, formats: Sequence[str], more: str = "") -> None:
        """Declare ``--format``, with the choices *formats*, and ``-o`` for a verb whose answer may be written to a file."""
        self.value(
            "--format",
            f"what to write (default: as the name after -o ends, or {TEXT}{more})",
            choices=formats,
            # Scripts may still use the former name.
            type=lambda word: TEXT if word == FORMER else word,
        )
        self.value("-o --output F", "the file to write to (default: standard output)")

    def limit(self, base: Limit) -> None:
        """Declare ``--limit``; limits that it does not name are those of *base*."""
        self.value(
            "--limit WHAT=N,...",
            "end a launch that exceeds so many instructions, seconds of CPU time or bytes of growth "
            f"(its text and log), as seconds=60,instructions=1e6,growth=256MiB, or none (default: {base})",
            type=functools.partial(limit_in, base=base),
            default=base,
        )

    def source_arguments(self) -> None:
        """Declare ``-I`` and ``-D``."""
        self.repeated("-I DIR", "a directory for headers of BANG C", dest="include")
        self.repeated("-D NAME[=VALUE]", "a macro of BANG C", dest="define")

    def call_arguments(self) -> None:
        """Declare ``-I``, ``-D``, and the options that describe the call of a kernel."""
        self.source_arguments()
        self.value(
            "--kernel K<float>",
            "the kernel of a BANG C file: K, ns::K, 'K(float *)', or K<float> of a template",
        )
        self.value("--dim X,Y,Z", "tasks of the kernel (default: 1,1,1)")
        self.value("--kind KIND", "block (default), union1, union2, ...")
        self.repeated("--arg NAME=VALUE", argument_forms.HELP)
        self.triton()

    def triton(self) -> None:
        """Declare the options that describe the call of a Triton kernel in a Python file, besides ``--kernel`` and ``--arg``."""
        self.value(
            "--grid X,Y,Z",
            "programs of a Triton kernel, which --kernel names in a Python file: numbers or formulas, as 'cdiv(n, BLOCK)' (default: 1,1,1)",
        )
        self.repeated("--constexpr NAME=VALUE", "a constant of a Triton kernel, as BLOCK=1024")
        self.value(
            "--num-warps N", "of a Triton kernel; one core runs a program here, whatever it is", type=whole
        )
        self.parser.set_defaults(triton=None)
        self.value(
            "--num-stages N",
            "of a Triton kernel; from 2 on loops load ahead into a second buffer",
            type=whole,
        )

    def function(self) -> None:
        """Declare ``--function``, a host function that makes its own launches."""
        self.value(
            "--function F",
            "a host function of BANG C files, which launches by itself; its handle, descriptors, queue, --dim and --kind are given to it",
        )

    def draws(self) -> None:
        """Declare ``--seed`` for a verb that runs the usual schedule, where it only affects drawn arguments."""
        self.value("--seed N", f"{argument_forms.SEED} of a BANG C file", type=whole, dest="draws")

    def reference(self) -> None:
        """Declare ``--reference`` and ``--expect`` for verbs that compare outputs."""
        self.value("--reference module:function", "the expected outputs of a kernel of BANG C")
        self.repeated(
            "--expect NAME=VALUE",
            "an expected output, as y=ref.npy, y=ref.npz:y or another form of array of --arg",
        )

    def param(self) -> None:
        """Declare ``--param``, values of which each is tried."""
        self.repeated(
            "--param NAME=V,V,...",
            "values to try: of an argument, a macro (-DNAME always is one), dim or kind; LOW..HIGH:STEP is a range, and ; stands "
            "between values with commas, as 'dim=4,1,1;4,8,1'; of a program with a main: a macro, {NAME} in a word behind --, or env:NAME",
        )

    def coverage(self) -> None:
        """Declare ``--coverage``, the file in which covered lines are recorded."""
        self.value(
            "--coverage F.json",
            "add the lines and branches of kernels that ran to this record, which `mlusim cover` shows; in one process",
            dest="record_of_lines",
        )

    def boards(self, default: str = ", ".join(DEFAULT_BOARDS), what: str = "boards") -> None:
        """Declare ``--board``, which accepts several; *default* describes the boards if none is named."""
        self.several("--board B", f"{what} (default: {default})")

    def jobs(self, default: str = "one per CPU, at most 4") -> None:
        """Declare ``--jobs``; *default* describes the number if none is given."""
        self.value(f"{JOBS} N", MEANING[JOBS].format(default), type=workers)

    def dask(self, *, files: bool) -> None:
        """Declare ``--dask``; with *files* the machines need access to the user's files."""
        more = "; they share the folder of the files" if files else ""
        self.value(
            "--dask ADDRESS", f"run on the machines of a Dask scheduler instead, as tcp://host:8786{more}"
        )

    def selection(self, what: str = "operators (default: all)") -> None:
        """Declare the arguments that select operators, boards and cases; *what* is the help of the names."""
        self.parser.add_argument("operators", nargs="*", metavar="OP", help=what)
        self.boards()
        self.several("--case NAME", f"cases (default: the group {GROUP})")
        self.value(
            "--group G", f"all cases of a group: network, boundary, random, zero, golden, limit, or {EVERY}"
        )

    def gate(self) -> None:
        """Declare the arguments that compare a run with a stored one."""
        self.value(
            "--baseline F.json",
            "compare with a stored run; exit code 1 where a figure got worse past the threshold",
        )
        self.value(
            "--threshold T",
            # argparse formats help texts with %, so that a literal % is doubled.
            f"how much worse is a regression, as 5%% or 0.05 (default: {USUAL_THRESHOLD.replace('%', '%%')})",
            type=threshold,
        )
        self.value(
            "--write-baseline F.json",
            "store the figures of this run; other calls in the file stay",
        )
        self.flag(
            "--allow-missing",
            "pass even if calls or launches of the baseline no longer exist, or none was compared",
        )

    def kept_output(self, what: str, option: str = "-o --output") -> None:
        """Declare the *option* that names a file for long work, in which each *what* is stored, and ``--restart``."""
        self.value(
            f"{option} F.jsonl",
            f"keep each {what} in this file as it completes; continue after those already in it",
        )
        self.flag("--restart", "start the file over")


# -- the division of a command line between mlusim and the program that it runs -------------------------


def divide(parser: ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Divide *words*: options of *parser* and the program, then the other words before ``--``, then the words after it.

    Options of *parser* may be on either side of the program; the words in the other two lists belong to the program,
    and the first list may begin with more files.
    """
    options = {text: action for action in parser._actions for text in action.option_strings}  # noqa: SLF001 - argparse has no public list
    ours: list[str] = []
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
            taken += _values_of(action, words[at + 1 :]) if word in options else 0
            ours += words[at : at + taken]
        elif not named:
            ours.append(word)
            named = not word.startswith("-")
        else:
            theirs.append(word)
        at += taken
    return ours, theirs, behind


def _values_of(action: Action, words: Sequence[str]) -> int:
    """Return how many of *words* are values of the option *action*."""
    if action.nargs == 0:
        return 0
    if action.nargs == "+":
        return next((n for n, word in enumerate(words) if word.startswith("-")), len(words))
    return min(1, len(words))


_TAKE_MACROS = ("--param", "--max", "--frontier")


def joined(words: Sequence[str]) -> list[str]:
    """Return *words* with some options and their values joined to one word, so that argparse sees neither another option nor a program in them.

    These are ``--param -DNAME=V`` and others that accept a macro, and ``--board A B``, which would also consume the
    words after the boards.
    """
    merged: list[str] = []
    for word in words:
        before = "" if "--" in merged or not merged else merged[-1]
        if before in _TAKE_MACROS and word.startswith("-D"):
            merged[-1] = f"{before}={word}"
        elif before.startswith(_BOARD) and _LIKE_A_BOARD(word):
            merged[-1] = f"{before}{',' if before != _BOARD else '='}{word}"
        else:
            merged.append(word)
    return merged


_BOARD = "--board"
_LIKE_A_BOARD = re.compile(r"mlu-?\d", re.IGNORECASE).match


# -- options that mean the same in every verb, and the reasons why some verbs lack them ----------------

OURS = (THREADS, JOBS, ENGINE)
"""Options that are mlusim's in every verb: the program gets such a word only after ``--``."""

WITHOUT_KERNELS = ("boards", "isa", "ops", "compile", "toolkit", "dap")
NO_KERNEL = "it runs no kernel"
OF_EDITORS = "the configuration of the editor says what runs"
ONE_PROGRAM = "one program runs"
PRINTED = "it prints text, or with --json one JSON document"
TO_OUTPUT = "--json goes to standard output"

REASONS: Mapping[str, Mapping[str, str]] = {
    THREADS: dict.fromkeys(WITHOUT_KERNELS, NO_KERNEL)
    | {
        "toolkit": "programs take their threads from MLUSIM_THREADS",
        "dap": OF_EDITORS,
        "plan": "it follows each access to on-chip memory, in Python and in the order of the tasks",
        "cover": "`mlusim run --coverage F.json` takes it and keeps the same record, which `mlusim cover F.json` shows",
        "debug": "a step back has to come to the same moment, so tasks run in their order",
        "judge": "a candidate runs in Python under all checkers; --jobs judges several at a time",
    },
    JOBS: dict.fromkeys(WITHOUT_KERNELS, NO_KERNEL)
    | {
        "dap": OF_EDITORS,
        "plan": "each value that it tries follows from the last",
        "profile": f"{ONE_PROGRAM}, whose lines are followed in this process; `mlusim report` takes it, for many cases",
        "cover": f"{ONE_PROGRAM}, whose lines are counted in this process; --keep adds up several runs",
        "what-if": "one run is re-timed for all boards; `mlusim report` runs each, and takes it",
        "debug": f"{ONE_PROGRAM}, which is stopped and stepped",
    },
    ENGINE: dict.fromkeys(WITHOUT_KERNELS, NO_KERNEL)
    | {
        "dap": OF_EDITORS,
        "judge": "a candidate runs in Python under all checkers",
        "demo": "it takes C for large cases, and Python for those whose lines its page shows",
    },
    "--format": {
        "run": f"{PRINTED}; `mlusim report` writes csv, md and html",
        "fuzz": PRINTED,
        "cover": f"{PRINTED}; --html writes a page, and --lcov a tracefile",
        "what-if": f"{PRINTED}; --html writes a page",
        "sweep": f"{PRINTED}; --html writes a page, and -o keeps the results as JSON lines",
        "tune": f"{PRINTED}; --html writes a page, and -o keeps the candidates as JSON lines",
        "judge": f"{PRINTED}; -o keeps the verdicts as JSON lines",
        "debug": f"{PRINTED} of --command and --script",
        "demo": "it writes a page of HTML, and with --json one JSON document",
    },
    "-o": {
        "run": f"--save F.npz writes the outputs, and --trace F.json a timeline; {TO_OUTPUT}",
        "fuzz": f"--corpus DIR says where a failing call is kept; {TO_OUTPUT}",
        "cover": f"--keep F.json writes a record, --html F.html a page, and --lcov F.info a tracefile; {TO_OUTPUT}",
        "what-if": f"--html F.html writes a page; {TO_OUTPUT}",
        "debug": f"{TO_OUTPUT}, and the command `record` writes a recording",
    },
    "--limit": {
        "plan": "its runs have limits of their own",
        "judge": "--seconds and --memory bound a candidate",
        "debug": "Ctrl-C stops a launch where it is",
        "demo": "its cases end by themselves",
    },
    "--seed": {"demo": "the cases have their own"},
    "--html": {
        "run": "`mlusim profile` writes a page",
        "check": "--format sarif or junit goes to other tools",
        "fuzz": "--coverage F.json, then `mlusim cover F.json --html`, shows which lines ran",
        "report": "-o F.html writes the page",
        "judge": PRINTED,
        "debug": "what it shows is text",
        "plan": "-o F.html writes the page",
        "demo": "-o F.html says where the page goes",
    },
}
"""By option, and by verb that lacks it: the reason, or the alternative, as the end of a sentence."""


def refusal(verb: str, words: Iterable[str]) -> str | None:
    """Return the sentence for the first option in *words* that *verb* lacks although other verbs have it; None if there is none."""
    for word in words:
        option = word.partition("=")[0]
        reason = REASONS.get({"--output": "-o"}.get(option, option), {}).get(verb)
        if reason is not None:
            return f"mlusim {verb} takes no {option}: {reason}"
    return None
