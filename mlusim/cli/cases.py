"""A file of cases in place of a program: the verb runs each case, or those of ``--case``."""

import argparse
from collections.abc import Callable
from typing import Any

from rich.text import Text

from mlusim.cli import entry, options, show
from mlusim.errors import Fault, MlusimError, UsageError, said
from mlusim.programs.cases import KernelCase, cases_in, chosen_case
from mlusim.programs.kernel_call import named_values

OF_ONE = ("save", "trace", "html", "output")
"""Options that read or write one file, and therefore need a single case."""


def applied(args: argparse.Namespace, case: KernelCase) -> argparse.Namespace:
    """Return the command line *args* with the call of *case* in place of the file; options on the command line override the case."""
    asked = case.asked
    program, *more = asked.program
    texts = {**asked.arguments, **named_values(args.arg, "--arg")}
    macros = [name if value is None else f"{name}={value}" for name, value in asked.define.items()]
    said = {"kernel": asked.kernel, "dim": ",".join(map(str, asked.dim)), "kind": asked.kind}
    changes = {
        "program": program,
        "arguments": [*more, *args.arguments],
        "include": [*asked.include, *args.include],
        "define": [*macros, *args.define],
        "arg": [f"{name}={text}" for name, text in texts.items()],
        "case": None,
        "named_case": case,
        **{name: getattr(args, name) or (text if name in case.said else None) for name, text in said.items()},
        **_board(args, case),
        # The seed of a case only draws its input values; it must not select another schedule.
        "draws": asked.draws if _typed_seed(args) is None else _typed_seed(args),
    }
    return argparse.Namespace(**{**vars(args), **changes})


def _board(args: argparse.Namespace, case: KernelCase) -> dict[str, Any]:
    """Return the board of *case* under the name of the verb's option: in what-if ``--board`` names other boards."""
    board = case.asked.board if "board" in case.said else None
    # What-if has --base for the board of the call, since --board names the boards that it compares.
    if hasattr(args, "base"):
        return {"base": args.base or board}
    # Some verbs accept --board several times and have a list, others have one name.
    usual = [board] if isinstance(args.board, list) and board else board
    return {"board": args.board or usual or args.board}


def _typed_seed(args: argparse.Namespace) -> int | None:
    """Return the value of ``--seed``, which in some verbs only affects drawn arguments."""
    seed: int | None = getattr(args, "seed", None)
    return getattr(args, "draws", None) if seed is None else seed


def chosen(args: argparse.Namespace) -> tuple[KernelCase, ...]:
    """Return the cases of the file that *args* name, or those of ``--case``."""
    cases = cases_in(args.program)
    names = [args.case] if isinstance(args.case, str) else args.case
    return tuple(chosen_case(cases, name) for name in names) if names else cases


def one_case(args: argparse.Namespace) -> KernelCase:
    """Return the single case that *args* select.  Raises `UsageError` if the file has several and none is named."""
    cases = chosen(args)
    if len(cases) > 1:
        names = ", ".join(case.name for case in cases)
        raise UsageError(f"{args.program} holds several cases; name one with --case: {names}")
    return cases[0]


def named(args: argparse.Namespace, case: KernelCase) -> argparse.Namespace:
    """Return *args* with the name of *case*, for verbs that read the case themselves."""
    return argparse.Namespace(**{**vars(args), "case": case.name})


def each(
    args: argparse.Namespace,
    run: Callable[[argparse.Namespace], int],
    arguments_of: Callable[[argparse.Namespace, KernelCase], argparse.Namespace] = applied,
) -> int:
    """Call the verb's *run* for each case, with the arguments by *arguments_of*; return the largest exit code. After an error the other cases still run.

    With ``--json`` the documents of several cases are joined to one, ``{"cases": [{"case", "exit_code", ...}]}``.
    """
    cases = chosen(args)
    # A single case named by --case has the document of a call without a file, so that scripts read one format
    # for both.
    if args.case and len(cases) == 1:
        return run(arguments_of(args, cases[0]))
    if len(cases) > 1:
        options.refuse(args, OF_ONE, "goes with one case; name it with --case")
    documents, codes = [], []
    for number, case in enumerate(cases):
        if not args.json:
            show.put((*([""] if number else []), Text(f"case {case.name}", style="bold")))
        # Each verb emits its own document; several in a row would not be JSON, so they are captured and
        # joined.
        with show.caught() as facts:
            code, failure = ended(run, args, case, arguments_of)
        codes.append(code)
        told = dict(*facts) if failure is None else {"error": said(failure)}
        documents.append({"case": case.name, "exit_code": code, **told})
    if args.json:
        show.emit({"cases": documents})
    return max(codes)


def ended(
    run: Callable[[argparse.Namespace], int],
    args: argparse.Namespace,
    case: KernelCase,
    arguments_of: Callable[[argparse.Namespace, KernelCase], argparse.Namespace] = applied,
) -> tuple[int, MlusimError | None]:
    """Call the verb's *run* for *case*; return the exit code, and the error if there is one, which is printed."""
    try:
        return run(arguments_of(args, case)), None
    except MlusimError as error:
        # On standard error: standard output must hold only the document of --json.
        show.remark(f"error: case {case.name} at {case.place}: {said(error)}")
        return entry.FAULT if isinstance(error, Fault) else entry.USAGE, error
