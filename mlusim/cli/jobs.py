"""Operators, boards and cases that a command line selects."""

import argparse

from mlusim.arch.catalog import DEFAULT_BOARDS
from mlusim.cli.arguments.shared import EVERY, GROUP
from mlusim.cli.settings import boards_in, names_in
from mlusim.errors import UsageError
from mlusim.observe.names import observers_of
from mlusim.operators.campaign import Job, matching_cases
from mlusim.operators.registry import find_case, find_operator, operators


def jobs(args: argparse.Namespace) -> list[Job]:
    """Return the calls that the command line asks for: operators, then boards, then cases."""
    wanted = [find_operator(name) for name in names_in(args.operators)] or list(operators().values())
    checks = tuple(names_in(args.check))
    observers_of(checks)
    names = names_in(args.case)
    if names and args.group:
        raise UsageError("--case and --group exclude each other; give one of them")
    for name in names:
        if not any(name == case.name for operator in wanted for case in operator.cases):
            find_case(wanted[0], name)  # raises, with the nearest names
    group = args.group or GROUP
    groups = sorted({case.group for operator in wanted for case in operator.cases})
    if args.group and group not in [*groups, EVERY]:
        raise UsageError(f"no case is of group {group!r}; the groups are {', '.join([*groups, EVERY])}")
    return [
        Job(operator.name, case.name, board, checks, engine=args.engine)
        for operator in wanted
        for board in boards_in(args.board, DEFAULT_BOARDS)
        for case in matching_cases(operator, board, group=None if group == EVERY else group, names=names)
    ]
