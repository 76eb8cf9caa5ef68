"""Options that mean the same in every verb that runs kernels, and for a verb that does not take one, why, in a sentence."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mlusim.cli.arguments.shared import ENGINE, JOBS, THREADS

OURS = (THREADS, JOBS, ENGINE)
"""Options that are mlusim's in every verb: a program gets such a word behind ``--`` alone."""

WITHOUT_KERNELS = ("boards", "isa", "ops", "compile", "toolkit", "dap")
NO_KERNEL = "it runs no kernel"
OF_EDITORS = "the configuration of the editor says what runs"
ONE_PROGRAM = "one program runs"
TEXT = "it prints text, or with --json one JSON document"
TO_OUTPUT = "--json goes to standard output"

REASONS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
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
            "run": f"{TEXT}; `mlusim report` writes csv, md and html",
            "fuzz": TEXT,
            "profile": f"{TEXT}; --html writes a page, and --trace a timeline",
            "cover": f"{TEXT}; --html writes a page, and --lcov a tracefile",
            "what-if": TEXT,
            "sweep": f"{TEXT}; -o keeps the results as JSON lines",
            "tune": f"{TEXT}; --html writes a page, and -o keeps the candidates as JSON lines",
            "judge": f"{TEXT}; -o keeps the verdicts as JSON lines",
            "debug": f"{TEXT} of --command and --script",
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
            "judge": TEXT,
            "debug": "what it shows is text",
            "plan": "-o F.html writes the page",
            "demo": "-o F.html says where the page goes",
        },
    }
)
"""By option and verb that does not take it: why, or what does that there, as the end of a sentence."""


def refusal(verb: str, words: Iterable[str]) -> str | None:
    """Return the sentence for the first of *words* that *verb* does not take though others do; None where there is none."""
    for word in words:
        option = word.partition("=")[0]
        reason = REASONS.get({"--output": "-o"}.get(option, option), {}).get(verb)
        if reason is not None:
            return f"mlusim {verb} takes no {option}: {reason}"
    return None
