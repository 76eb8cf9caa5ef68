"""The program that a command line names: an operator's case, a script, or a kernel of BANG C sources.

Each is loaded where it is named (`mlusim.lazy`): a kernel needs no operators, and no driver for programs of the system.
"""

import argparse
import os
import shutil
from typing import TYPE_CHECKING

from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli import settings
from mlusim.cli.arguments.shared import refusal
from mlusim.cli.settings import names_in
from mlusim.cli.sources import (
    CALL_OPTIONS,
    behind,
    board_of,
    defines,
    is_source,
    refuse_call_arguments,
    split,
)
from mlusim.errors import UsageError
from mlusim.files.reading import refuse_no_file
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.cli import files
    from mlusim.observe import names as checkers
    from mlusim.operators import registry, runner
    from mlusim.programs import command_program as commands
    from mlusim.programs import host_program as mains
    from mlusim.programs import kernel_call as calls
    from mlusim.programs import operator_program as operator_calls
    from mlusim.programs import program as scripts
    from mlusim.programs.command_program import CommandProgram
    from mlusim.programs.host_program import HostProgram
    from mlusim.programs.kernel_call import KernelCall
    from mlusim.programs.program import Program
else:
    files, checkers, registry, runner = lazy(
        "mlusim.cli.files", "mlusim.observe.names", "mlusim.operators.registry", "mlusim.operators.runner"
    )
    commands, mains, calls, operator_calls, scripts = lazy(
        "mlusim.programs.command_program",
        "mlusim.programs.host_program",
        "mlusim.programs.kernel_call",
        "mlusim.programs.operator_program",
        "mlusim.programs.program",
    )

OF_OPERATORS = ("case", "inputs", "set", "policy", "jobs")
OF_KERNELS = ("kernel", "dim", "kind", "arg", "draws")
OF_CALLS = (*OF_OPERATORS, "board", "seed")


def is_program(word: str | None) -> bool:
    """Return whether *word* names a script, a test or a source, and no operator."""
    return word is not None and (
        is_source(word) or word.endswith(".py") or ".py::" in word or is_native(word)
    )


def is_native(word: str | None) -> bool:
    """Return whether *word* names a program of the system, and no operator, script or source."""
    if word is None or is_source(word) or word.endswith(".py") or ".py::" in word:
        return False
    # A name of both, an operator and a program on the PATH, is the operator; a path is the program.
    return _is_command(word) and (os.sep in word or not _is_operator(word))


def _is_command(word: str) -> bool:
    return not word.startswith("-") and shutil.which(word) is not None


def _is_operator(word: str) -> bool:
    return word in registry.operators()


def program_of(args: argparse.Namespace) -> "Program":
    """Return the program that was named."""
    checks = _checkers(args)
    if args.program is None:
        raise UsageError(f"name an operator or a script, as in `mlusim {args.verb} tin_shift_forward`")
    words = (*args.arguments, *behind(args))
    if ".py::" in args.program:
        _refuse_options(args, "the test")
        refuse_no_file(args.program.partition("::")[0], "name a test as tests/test_kernel.py::test_small")
        return scripts.PytestProgram(args.program, words, checks)
    if args.program.endswith(".py"):
        _refuse_options(args, "the script")
        refuse_no_file(args.program, "name a Python script, or an operator of `mlusim ops`")
        return scripts.ScriptProgram(args.program, words, checks)
    if is_source(args.program):
        return source_program(args, checks)
    if is_native(args.program):
        return _native(args, checks, words)
    refuse_call_arguments(args)
    if words:
        raise _no_word(args, words[0], f"an operator takes no {words[0]!r}; cases are named with --case")
    return _operator(args, checks)


def judged_program_of(args: argparse.Namespace) -> "Program":
    """Return the program that was named; a case of a file is compared at its end with what it expects."""
    program = program_of(args)
    case = getattr(args, "named_case", None)
    expectation = None if case is None else case.expectation()
    if expectation is not None and isinstance(program, calls.KernelCall):
        program.judge = expectation.compared
    return program


def _checkers(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the names of ``--check``; raises `UsageError` for one that is no checker."""
    if not args.check:
        return ()
    checks = tuple(names_in(args.check))
    checkers.observers_of(checks)
    return checks


def program_and_kernel(args: argparse.Namespace) -> "tuple[Program, str | None]":
    """Return the program that was named, and the kernel whose launches are wanted: ``--kernel``, where it launches by itself.

    Of a BANG C file ``--kernel`` says what is launched.
    """
    if is_source(args.program):
        return program_of(args), None
    wanted, args.kernel = args.kernel, None
    return program_of(args), wanted


def is_call(args: argparse.Namespace, program: "Program") -> bool:
    """Return whether *program*, which *args* name, is one call of a kernel of BANG C sources."""
    if not is_source(args.program):
        return False
    return isinstance(program, calls.KernelCall)


def program_on(args: argparse.Namespace, checks: tuple[str, ...], board: str | None) -> "Program":
    """Return the script, test or source that was named; a source is compiled for *board*."""
    own = board if is_source(args.program) else None
    unset = dict.fromkeys(("case", "inputs", "policy", "jobs", "seed"))
    given = argparse.Namespace(**{**vars(args), **unset, "set": [], "board": own, "check": checks})
    return program_and_kernel(given)[0]


def operators_behind(args: argparse.Namespace) -> list[str]:
    """Return the names of operators behind the first; raises `UsageError` for what looks like an option."""
    words = [*args.arguments, *behind(args)]
    odd = next((word for word in words if word.startswith("-")), None)
    if odd is not None:
        raise _no_word(args, odd, f"mlusim {args.verb} takes no {odd!r}; see `mlusim {args.verb} --help`")
    return words


def _no_word(args: argparse.Namespace, word: str, sentence: str) -> UsageError:
    """Return the refusal of *word*, with the reason where it is an option of other verbs, else as *sentence* says."""
    verb = getattr(args, "verb", "debug")  # an editor names none
    return UsageError(refusal(verb, [word]) or sentence)


def source_program(args: argparse.Namespace, checks: tuple[str, ...]) -> "KernelCall | HostProgram":
    """Return the program of the command line: one call of a kernel or, where nothing says how a kernel is called, ``main``."""
    files, rest = split([args.program, *args.arguments])
    rest += behind(args)
    unfit = next((o for o in OF_OPERATORS if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator; a BANG C file takes --kernel and --arg")
    sources = calls.Sources(tuple(files), board_of(args.board), tuple(args.include), defines(args.define))
    effects, seed = getattr(args, "effects", None) or "late", getattr(args, "seed", None)
    engine = getattr(args, "engine", None) or "auto"
    program = mains.HostProgram(sources, tuple(rest), checks, seed, effects, engine)
    # A file with both is run as its author runs it, unless an option asks for a kernel.
    if not any(getattr(args, o, None) for o in OF_KERNELS) and program.has_main:
        return program
    if rest:
        raise _no_word(
            args, rest[0], f"{rest[0]!r} is no argument of a kernel; give arguments as --arg NAME=VALUE"
        )
    dim, kind = calls.dim_of(args.dim), calls.kind_of(args.kind)
    how = (checks, seed, effects, engine)
    draws = getattr(args, "draws", None)
    given = calls.named_values(args.arg, "--arg")
    case = getattr(args, "named_case", None)
    # A number that the case's own sizes use is no slip where sizes that were typed stand before these.
    formulas = () if case is None else (*case.args.values(), *given.values())
    return calls.KernelCall(sources, args.kernel, dim, kind, given, *how, draws=draws, formulas=formulas)


def kernel_call(args: argparse.Namespace, board: str | None) -> "KernelCall":
    """Return the call that *args* describe for *board*.  Raises `UsageError` where they name no kernel of BANG C."""
    if not args.param:
        raise UsageError(
            f"nothing is to be tried; name what, as in `mlusim {args.verb} scale.mlu --param TILE=64,128,256`"
        )
    if not is_source(args.program):
        what = (
            f"takes BANG C files or a native program, and {args.program!r} is neither"
            if args.program
            else "takes BANG C files or a native program; name one"
        )
        raise UsageError(f"mlusim {args.verb} with --param {what}")
    call = source_program(argparse.Namespace(**{**vars(args), "board": board, "jobs": None}), ())
    if not isinstance(call, calls.KernelCall):
        raise UsageError(f"{args.program} has main(), and what is tried is one kernel; name it with --kernel")
    return call


def program_to_try(args: argparse.Namespace, board: str) -> "HostProgram | CommandProgram | None":
    """Return the program with a ``main`` that *args* name, for *board*; None where they name a call of a kernel."""
    plain_args = argparse.Namespace(**{**vars(args), "board": board, "jobs": None, "param": []})
    if is_native(args.program):
        return _native(plain_args, (), (*args.arguments, *behind(args)))
    if not is_source(args.program) or any(getattr(args, o, None) for o in OF_KERNELS):
        return None
    made = source_program(plain_args, ())
    return None if isinstance(made, calls.KernelCall) else made


def _refuse_options(args: argparse.Namespace, who: str) -> None:
    unfit = next((o for o in OF_CALLS if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator; {who} decides for itself")
    odd = next(
        (o for o in ("dim", "kind", "arg", "include", "define", "draws", "param") if getattr(args, o, None)),
        None,
    )
    if odd is not None:
        raise UsageError(f"{CALL_OPTIONS[odd]} goes with a BANG C file; {who} decides for itself")


def _native(args: argparse.Namespace, checks: tuple[str, ...], words: tuple[str, ...]) -> "CommandProgram":
    unfit = next((o for o in OF_OPERATORS if getattr(args, o, None)), None)
    if unfit is not None:
        raise UsageError(f"--{unfit} goes with an operator; the program decides for itself")
    refuse_call_arguments(args)
    board = getattr(args, "board", None)
    boards = [board] if isinstance(board, str) else list(board or ())
    options = {
        "engine": getattr(args, "engine", None) or "auto",
        "seed": getattr(args, "seed", None),
        "effects": getattr(args, "effects", None) or "late",
        "threads": getattr(args, "threads", None),
    }
    named = tuple(find_board(name).name for one in boards for name in one.split(","))
    return commands.CommandProgram(args.program, words, checks, named, options)


def _operator(args: argparse.Namespace, checks: tuple[str, ...]) -> "Program":
    spec = registry.find_operator(args.program)
    if args.inputs is not None:
        if args.case is not None:
            raise UsageError("--case and --inputs exclude each other; give one of them")
        inputs, params, case = files.read_inputs(args.inputs, spec), settings.parameters(spec, args.set), None
        board = args.board or DEFAULT_BOARDS[0]
    else:
        if args.set:
            raise UsageError("--set goes with --inputs; a case has its own parameters")
        chosen = registry.find_case(spec, args.case) if args.case is not None else spec.cases[0]
        inputs, params, spec = *chosen.make(runner.case_generator(chosen)), spec.called_as(chosen)
        case, board = chosen.name, args.board or (chosen.boards or DEFAULT_BOARDS)[0]
    return operator_calls.OperatorProgram(
        spec, inputs, params, find_board(board).name, args.seed, args.effects, case, checks
    )
