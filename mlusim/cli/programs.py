"""The program that a command line names: an operator's case, a script, or a kernel of BANG C sources."""

import argparse

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli.files import read_inputs
from mlusim.cli.settings import names_in, parameters
from mlusim.cli.sources import board_of, defines, is_source, refuse_call_arguments, split
from mlusim.errors import UsageError
from mlusim.files.reading import refuse_no_file
from mlusim.observe.names import observers_of
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator
from mlusim.programs.host_program import HostProgram
from mlusim.programs.kernel_call import KernelCall, Sources, arguments_of, dim_of, kind_of
from mlusim.programs.operator_program import OperatorProgram
from mlusim.programs.program import Program, ScriptProgram
from mlusim.programs.pytest_program import PytestProgram

OF_OPERATORS = ("case", "inputs", "policy", "jobs")
OF_KERNELS = ("kernel", "dim", "kind", "arg")


def program_of(args: argparse.Namespace) -> Program:
    """The program that was named."""
    checks = tuple(names_in(args.check))
    observers_of(checks)
    if args.program is None:
        raise UsageError(f"name an operator or a script, as in `mlusim {args.verb} tin_shift_forward`")
    if ".py::" in args.program:
        _refuse_options(args, "the test")
        refuse_no_file(args.program.partition("::")[0], "name a test as tests/test_kernel.py::test_small")
        return PytestProgram(args.program, tuple(args.arguments), checks)
    if args.program.endswith(".py"):
        _refuse_options(args, "the script")
        refuse_no_file(args.program, "name a Python script, or an operator of `mlusim ops`")
        return ScriptProgram(args.program, tuple(args.arguments), checks)
    if is_source(args.program):
        return source_program(args, [args.program, *args.arguments], checks)
    refuse_call_arguments(args)
    if args.arguments:
        raise UsageError(f"an operator takes no {args.arguments[0]!r}; cases are named with --case")
    return _operator(args, checks)


def source_program(
    args: argparse.Namespace, words: list[str], checks: tuple[str, ...]
) -> KernelCall | HostProgram:
    """What the command line describes: one call of a kernel or, where nothing says how a kernel is called, ``main``.

    *words* are the files and what is behind them.
    """
    files, rest = split(words)
    unfit = next((o for o in OF_OPERATORS if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator; a BANG C file takes --kernel and --arg")
    observers_of(checks)
    sources = Sources(tuple(files), board_of(args.board), tuple(args.include), defines(args.define))
    if not any(getattr(args, o) for o in OF_KERNELS) and sources.load().has_main:
        effects, seed = getattr(args, "effects", None) or "late", getattr(args, "seed", None)
        return HostProgram(
            sources, tuple(rest), checks, seed, effects, getattr(args, "engine", None) or "auto"
        )
    if rest:
        raise UsageError(f"{rest[0]!r} is no argument of a kernel; give arguments as --arg NAME=VALUE")
    return KernelCall(
        sources,
        args.kernel,
        dim_of(args.dim),
        kind_of(args.kind),
        arguments_of(args.arg),
        checks,
        getattr(args, "seed", None),
        getattr(args, "effects", None) or "late",
        getattr(args, "engine", None) or "auto",
    )


def _refuse_options(args: argparse.Namespace, who: str) -> None:
    unfit = next((o for o in ("case", "inputs", "set", "board", "seed") if getattr(args, o)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator; {who} decides for itself")


def _operator(args: argparse.Namespace, checks: tuple[str, ...]) -> Program:
    spec = find_operator(args.program)
    if args.inputs is not None:
        if args.case is not None:
            raise UsageError("--case and --inputs exclude each other; give one of them")
        inputs, params, case = read_inputs(args.inputs, spec), parameters(spec, args.set), None
        board = args.board or DEFAULT_BOARDS[0]
    else:
        if args.set:
            raise UsageError("--set goes with --inputs; a case has its own parameters")
        chosen = find_case(spec, args.case) if args.case is not None else spec.cases[0]
        inputs, params, spec = *chosen.make(case_generator(chosen)), spec.called_as(chosen)
        case, board = chosen.name, args.board or (chosen.boards or DEFAULT_BOARDS)[0]
    return OperatorProgram(
        spec, inputs, params, find_board(board).name, args.seed, args.effects, case, checks
    )
