"""Arguments that verbs share, from the program to the limit; which words are theirs, and why a verb does not take one."""

import functools
import math
from argparse import Action, ArgumentParser, ArgumentTypeError
from collections.abc import Iterable, Mapping, Sequence

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
"""What an option does, in every verb that takes it."""

WHERE_IT_CAN = "what executes the kernels: auto takes C for unobserved kernels of BANG C (default: auto)"
WHERE_CHECKED = (
    "what the checkers watch: Python, or C where it finds nothing that they may report; auto takes C for large launches "
    "of BANG C, native for all, and kernel.mlu of operators (default: auto)"
)
TEXT = "text"  # for people
FORMER = "table"  # which `mlusim report` called it
GROUP = "network"
EVERY = "all"  # of the groups
USUAL_THRESHOLD = "5%"


def whole(text: str) -> int:
    """Return a whole number, for argparse."""
    try:
        return int(text, 0)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no whole number") from None


def workers(text: str) -> int:
    """Return a number of processes, for argparse."""
    number = whole(text)
    if number < 1:
        raise ArgumentTypeError(f"{number} is too few; give 1 or more")
    return number


def threshold(text: str) -> float:
    """Return a fraction, for argparse: "5%", "0.5 %" or "0.05"."""
    number, percent, rest = text.strip().partition("%")
    try:
        value = float(number)
    except ValueError:
        value = math.nan
    if rest or not math.isfinite(value) or value < 0:
        raise ArgumentTypeError(f"{text!r} is no threshold; write it as 5% or 0.05")
    if percent:
        return value / 100
    if value >= 1:
        raise ArgumentTypeError(
            f"{text!r} may be a fraction or a percentage; write {text.strip()}% or a number below 1"
        )
    return value


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
    parser.add_argument(
        "--seed", metavar="N", type=whole, help=f"explore another legal schedule, and {argument_forms.SEED}"
    )
    parser.add_argument(
        "--effects", choices=EFFECTS, default=EFFECTS[0], help="when asynchronous effects land"
    )


def add_engine(parser: ArgumentParser, text: str = WHERE_IT_CAN) -> None:
    """Declare ``--engine`` with its choices."""
    parser.add_argument(ENGINE, choices=ENGINES, help=text)


def add_threads(parser: ArgumentParser) -> None:
    """Declare ``--threads``, the native engine's share of the host."""
    parser.add_argument(THREADS, metavar="N", type=workers, help=MEANING[THREADS])


def add_answer(parser: ArgumentParser, formats: Sequence[str], more: str = "") -> None:
    """Declare ``--format``, which takes *formats*, and ``-o`` of a verb whose answer goes to a file."""
    parser.add_argument(
        "--format",
        choices=formats,
        type=lambda word: TEXT if word == FORMER else word,
        help=f"what to write (default: as the name after -o ends, or {TEXT}{more})",
    )
    parser.add_argument("-o", "--output", metavar="F", help="the file to write to (default: standard output)")


def add_limit(parser: ArgumentParser, base: Limit) -> None:
    """Declare ``--limit``; what it does not name is as in *base*."""
    parser.add_argument(
        "--limit",
        metavar="WHAT=N,...",
        type=functools.partial(limit_in, base=base),
        default=base,
        help="end a launch that goes on beyond so many instructions, seconds of wall time or bytes of growth "
        f"(its text and log), as seconds=60,instructions=1e6,growth=256MiB, or none (default: {base})",
    )


def add_source_arguments(parser: ArgumentParser) -> None:
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


def add_call_arguments(parser: ArgumentParser) -> None:
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
    add("--arg", metavar="NAME=VALUE", action="append", default=[], help=argument_forms.HELP)


def add_function(parser: ArgumentParser) -> None:
    """Declare ``--function``, a host function that launches by itself."""
    parser.add_argument(
        "--function",
        metavar="F",
        help="a host function of BANG C files, which launches by itself; its handle, descriptors, queue, --dim and --kind are given to it",
    )


def add_draws(parser: ArgumentParser) -> None:
    """Declare ``--seed`` of a verb that runs the usual schedule."""
    parser.add_argument(
        "--seed", metavar="N", type=whole, dest="draws", help=f"{argument_forms.SEED} of a BANG C file"
    )


def add_reference(parser: ArgumentParser) -> None:
    """Declare ``--reference`` and ``--expect`` of verbs that compare."""
    add = parser.add_argument
    add(
        "--reference",
        metavar="module:function",
        help="what the outputs of a kernel of BANG C are compared with",
    )
    add(
        "--expect",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="what an output is compared with, as y=ref.npy, y=ref.npz:y or another array as --arg takes it",
    )


def add_param(parser: ArgumentParser) -> None:
    """Declare ``--param``, values that are tried in turn."""
    parser.add_argument(
        "--param",
        metavar="NAME=V,V,...",
        action="append",
        default=[],
        help="values to try: of an argument, a macro (-DNAME always is one), dim or kind; LOW..HIGH:STEP is a range, and ; stands "
        "between values with commas, as 'dim=4,1,1;4,8,1'; of a program with a main: a macro, {NAME} in a word behind --, or env:NAME",
    )


def add_coverage(parser: ArgumentParser) -> None:
    """Declare ``--coverage``, the file that lines are noted in."""
    parser.add_argument(
        "--coverage",
        dest="record_of_lines",
        metavar="F.json",
        help="add the lines and branches of kernels that ran to this record, which `mlusim cover` shows; in one process",
    )


def add_boards(
    parser: ArgumentParser, default: str = ", ".join(DEFAULT_BOARDS), what: str = "boards"
) -> None:
    """Declare ``--board``, which takes several; *default* says which where none is named."""
    parser.add_argument(
        "--board", nargs="+", action="extend", default=[], metavar="B", help=f"{what} (default: {default})"
    )


def add_jobs(parser: ArgumentParser, default: str = "one per CPU, at most 4") -> None:
    """Declare ``--jobs``; *default* says how many where none are named."""
    parser.add_argument(JOBS, metavar="N", type=workers, help=MEANING[JOBS].format(default))


def add_dask(parser: ArgumentParser, *, files: bool) -> None:
    """Declare ``--dask``; *files*: the machines read files of the user."""
    more = "; they share the folder of the files" if files else ""
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help=f"run on the machines of a Dask scheduler instead, as tcp://host:8786{more}",
    )


def add_selection(parser: ArgumentParser, what: str = "operators (default: all)") -> None:
    """Declare the arguments that select operators, boards and cases; *what* says what may be named."""
    add = parser.add_argument
    add("operators", nargs="*", metavar="OP", help=what)
    add_boards(parser)
    add(
        "--case",
        nargs="+",
        action="extend",
        default=[],
        metavar="NAME",
        help=f"cases (default: the group {GROUP})",
    )
    add(
        "--group",
        metavar="G",
        help=f"all cases of a group: network, boundary, random, zero, golden, limit, or {EVERY}",
    )


def add_gate(parser: ArgumentParser) -> None:
    """Declare the arguments that gate a run by a stored one."""
    add = parser.add_argument
    add(
        "--baseline",
        metavar="F.json",
        help="compare with a stored run; exit code 1 where a figure got worse past the threshold",
    )
    add(
        "--threshold",
        metavar="T",
        type=threshold,
        help=f"how much worse is a regression, as 5%% or 0.05 (default: {USUAL_THRESHOLD.replace('%', '%%')})",
    )
    add(
        "--write-baseline",
        metavar="F.json",
        help="store the figures of this run; calls that the file has besides stay in it",
    )
    add(
        "--allow-missing",
        action="store_true",
        help="pass although calls or launches of the baseline exist no more, or nothing was compared",
    )


def add_kept_output(parser: ArgumentParser, what: str) -> None:
    """Declare ``-o`` and ``--restart`` of long work that keeps each *what*."""
    add = parser.add_argument
    add(
        "-o",
        "--output",
        metavar="F.jsonl",
        help=f"keep each {what} in this file as it comes; where the file has some already, go on from there",
    )
    add("--restart", action="store_true", help="start the file over")


# -- which words are mlusim's, and which are those of the program that it runs --------------------------


def divide(parser: ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
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
            taken += _values_of(action, words[at + 1 :]) if word in options else 0
            own += words[at : at + taken]
        elif not named:
            own.append(word)
            named = not word.startswith("-")
        else:
            theirs.append(word)
        at += taken
    return own, theirs, behind


def _values_of(action: Action, words: Sequence[str]) -> int:
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


# -- options that mean the same in every verb, and for a verb that does not take one, why --------------

OURS = (THREADS, JOBS, ENGINE)
"""Options that are mlusim's in every verb: a program gets such a word behind ``--`` alone."""

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
        "what-if": "one run is re-timed for all boards; `mlusim sweep` runs each, and takes it",
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
        "profile": f"{PRINTED}; --html writes a page, and --trace a timeline",
        "cover": f"{PRINTED}; --html writes a page, and --lcov a tracefile",
        "what-if": PRINTED,
        "sweep": f"{PRINTED}; -o keeps the results as JSON lines",
        "tune": f"{PRINTED}; --html writes a page, and -o keeps the candidates as JSON lines",
        "judge": f"{PRINTED}; -o keeps the verdicts as JSON lines",
        "debug": f"{PRINTED} of --command and --script",
        "demo": "it writes a page of HTML, and with --json one JSON document",
    },
    "-o": {
        "run": f"--save F.npz writes the outputs, and --trace F.json a timeline; {TO_OUTPUT}",
        "fuzz": f"--corpus DIR says where a failing call is kept; {TO_OUTPUT}",
        "profile": f"--html F.html writes a page, and --trace F.json a timeline; {TO_OUTPUT}",
        "cover": f"--keep F.json writes a record, --html F.html a page, and --lcov F.info a tracefile; {TO_OUTPUT}",
        "what-if": TO_OUTPUT,
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
        "what-if": "`mlusim profile --html F.html --what-if BOARD` writes a page",
        "sweep": "`mlusim tune` writes a page with a chart",
        "judge": PRINTED,
        "debug": "what it shows is text",
        "plan": "-o F.html writes the page",
        "demo": "-o F.html says where the page goes",
    },
}
"""By option and verb that does not take it: why, or what does that there, as the end of a sentence."""


def refusal(verb: str, words: Iterable[str]) -> str | None:
    """Return the sentence for the first of *words* that *verb* does not take though others do; None where there is none."""
    for word in words:
        option = word.partition("=")[0]
        reason = REASONS.get({"--output": "-o"}.get(option, option), {}).get(verb)
        if reason is not None:
            return f"mlusim {verb} takes no {option}: {reason}"
    return None
