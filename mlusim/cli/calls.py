"""Calls of kernels in Python and of host functions that a command line describes, and what their outputs are compared with."""

import argparse

from mlusim.cli.sources import behind, board_of, defines, split
from mlusim.errors import UsageError
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.programs.expectation import Expectation, function_of
from mlusim.programs.kernel_call import Sources, dim_of, kind_of, named_values
from mlusim.programs.other_calls import HostFunctionCall, PythonCall, TextCall


def is_python_call(args: argparse.Namespace) -> bool:
    """Return whether *args* call one kernel of a Python file, and do not run it as a script."""
    script = args.program is not None and args.program.endswith(".py")
    return script and bool(args.kernel or args.arg)


def other_call(args: argparse.Namespace) -> TextCall:
    """Return the call that *args* describe.  Raises `UsageError` for what does not go with it."""
    files, rest = (
        split([args.program, *args.arguments]) if args.function is not None else ([], args.arguments)
    )
    more = [*rest, *behind(args)]
    if more:
        raise UsageError(f"{more[0]!r} is no argument of a call; give arguments as --arg NAME=VALUE")
    unfit = next(
        (o for o in ("case", "inputs", "set", "schedules", "record") if getattr(args, o, None)), None
    )
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator or a script; leave it out")
    around = (board_of(args.board), dim_of(args.dim), kind_of(args.kind), named_values(args.arg, "--arg"))
    schedule = (args.seed, args.effects or EFFECTS[0])
    if args.function is None:
        if args.include or args.define:
            raise UsageError("-I and -D go with BANG C files; leave them out")
        return PythonCall(*around, *schedule, path=args.program, kernel=args.kernel)
    if args.kernel is not None:
        raise UsageError("--kernel and --function exclude each other; the function launches by itself")
    macros = defines(args.define)
    sources = Sources(tuple(files), around[0], tuple(args.include), macros)
    return HostFunctionCall(*around, *schedule, macros=macros, sources=sources, function=args.function)


# -- ``--reference`` and ``--expect``, and what a case says in their place -----------------------------


def expectation_of(args: argparse.Namespace) -> Expectation | None:
    """Return the expectation that the outputs of the call are compared with; None where nothing says so.

    Raises `UsageError` for a reference that is not found.
    """
    case = getattr(args, "named_case", None)
    if args.reference is None and not args.expect:
        return None if case is None else case.expectation()
    name = args.reference or f"--expect {args.expect[0]}"
    arrays = named_values(args.expect, "--expect")
    try:
        function = function_of(args.reference)
    except UsageError as error:
        raise UsageError(f"--{error}") from None
    if case is None:
        return Expectation(name, function, arrays)
    return Expectation(name, function, arrays, case.close)
