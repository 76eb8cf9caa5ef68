"""``--reference module:function`` and ``--expect NAME=VALUE`` of a command line, and what a case says in their place."""

import argparse

from mlusim.errors import UsageError
from mlusim.programs.expectation import Expectation, function_of
from mlusim.programs.kernel_call import named_values


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
