"""``mlusim run``: one operator on its cases or on the user's arrays, or any other program that launches kernels."""

import argparse
import importlib
from collections.abc import Callable

from mlusim.cli import entry
from mlusim.cli.programs import is_call, is_program, program_and_kernel
from mlusim.cli.sources import is_cases
from mlusim.errors import UsageError
from mlusim.files.writing import check_writable

OPERATOR, KERNEL, PROGRAM = "mlusim.cli.run_operator", "mlusim.cli.run_kernel", "mlusim.cli.run_program"
CASES = "mlusim.cli.cases"


def run(args: argparse.Namespace) -> int:
    """Run what is asked; returns 1 for findings or failed accuracy, 2 for a refusal, 3 for a fault.

    What runs it is loaded then: an operator, one kernel and a whole program need different things.
    """
    if args.program is None:
        raise UsageError(
            "name what to run, as in `mlusim run tin_shift_forward`; `mlusim ops` lists operators"
        )
    check_writable(args.save, args.trace)
    if is_cases(args.program):
        entry.collect_as_usual()
        code: int = importlib.import_module(CASES).each(args, run)
        return code
    if not is_program(args.program):
        return loaded(OPERATOR)(args)
    program = program_and_kernel(args)[0]
    return loaded(KERNEL if is_call(args, program) else PROGRAM)(args, program)


def loaded(module: str) -> Callable[..., int]:
    """Return the function ``run`` of *module*, which is imported then."""
    run: Callable[..., int] = importlib.import_module(module).run
    entry.collect_as_usual()
    return run
