"""The subjects of a command line: BANG C files, a program, one call, and the expected outputs of a call.

Modules for each kind of program are loaded at their first use (`mlusim.lazy`): a kernel needs neither operators nor
the driver for native programs.
"""

import argparse
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from attrs import evolve

from mlusim.arch.board import Board
from mlusim.arch.catalog import DEFAULT_BOARDS, find_board
from mlusim.cli.options import names_in, parameters, read_inputs, refuse
from mlusim.cli.verbs import told_option, unknown_option
from mlusim.errors import UsageError
from mlusim.files.reading import refuse_no_file
from mlusim.lazy import lazy
from mlusim.machine.scheduling.schedule import EFFECTS
from mlusim.programs.argument_forms import USUAL_CRITERION, AskedCall, Criterion

if TYPE_CHECKING:
    from mlusim.observe import names as checkers
    from mlusim.operators import registry, runner
    from mlusim.programs import (
        argument_values as values,
        expectation as expectations,
        kernel_call as calls,
        native_program as natives,
        other_calls,
        program as scripts,
    )
else:
    checkers, registry, runner = lazy(
        "mlusim.observe.names", "mlusim.operators.registry", "mlusim.operators.runner"
    )
    values, natives, expectations, calls, other_calls, scripts = lazy(
        "mlusim.programs.argument_values",
        "mlusim.programs.native_program",
        "mlusim.programs.expectation",
        "mlusim.programs.kernel_call",
        "mlusim.programs.other_calls",
        "mlusim.programs.program",
    )

SUFFIXES = (".mlu", ".cpp", ".cc", ".cxx", ".c")
OF_FILES = ("dim", "kind", "arg", "include", "define", "draws", "param")
CALL_OPTIONS = (*OF_FILES, "kernel", "function", "reference", "expect")
OF_OPERATORS = ("case", "inputs", "set", "policy", "jobs")
OF_KERNELS = ("kernel", "dim", "kind", "arg", "draws")
OF_CALLS = (*OF_OPERATORS, "board", "seed")


# -- words: files, the words after them, and the options of BANG C files ---------------------------------


def is_source(word: str | None) -> bool:
    """Return whether *word* names a BANG C or C++ file."""
    return word is not None and Path(word).suffix in SUFFIXES


def is_cases(word: str | None) -> bool:
    """Return whether *word* names a file of cases."""
    return word is not None and word.endswith(".toml")


def refuse_call_arguments(args: argparse.Namespace) -> None:
    """Raise `UsageError` if an option of BANG C files is given without such a file; if the named program does not exist, that is the error."""
    word = getattr(args, "program", None)
    if word is not None and not is_program(word) and not is_cases(word):
        registry.find_operator(word)
    refuse(args, CALL_OPTIONS, "goes with a BANG C file, as in `mlusim run scale.mlu --kernel Scale`")


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the source files at the beginning of *words*, and the arguments after them."""
    count = next((n for n, word in enumerate(words) if not is_source(word)), len(words))
    return list(words[:count]), list(words[count:])


def behind(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the words after ``--``."""
    return tuple(getattr(args, "behind", ()))


def defines(words: Iterable[str]) -> dict[str, str | None]:
    """Return the macros of ``-D``; one without a value is 1, as with compilers."""
    macros: dict[str, str | None] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name.isidentifier():
            raise UsageError(f"-D {word!r} names no macro; write NAME or NAME=VALUE")
        macros[name] = value if equals else None
    return macros


def board_of(name: str | None) -> Board:
    """Return the board that was named, or the default."""
    return find_board(name or DEFAULT_BOARDS[0])


# -- programs ------------------------------------------------------------------------------------------


def is_program(word: str | None) -> bool:
    """Return whether *word* names a script, a test, a source or a native program, not an operator."""
    return word is not None and (is_source(word) or is_script(word) or is_native(word))


def is_script(word: str | None) -> bool:
    """Return whether *word* names a script or a test, which chooses its boards itself."""
    return word is not None and (word.endswith(".py") or ".py::" in word)


def is_native(word: str | None) -> bool:
    """Return whether *word* names a native program, not an operator, script or source."""
    if word is None or is_source(word) or is_script(word):
        return False
    # A name that is both an operator and a program on the PATH means the operator; a path means the program.
    is_command = not word.startswith("-") and shutil.which(word) is not None
    return is_command and (os.sep in word or word not in registry.operators())


def refuse_file(word: str, takes: str) -> None:
    """Raise `UsageError`, with what the verb *takes*, if *word* is a program or another file in place of an operator."""
    there = Path(word).exists()
    if word not in registry.operators() and (there or os.sep in word or is_native(word)):
        what = "a program" if is_native(word) else "a file of another kind" if there else "not there"
        raise UsageError(f"{word} is {what}; {takes}")


def program_of(args: argparse.Namespace) -> "scripts.Program":
    """Return the named program."""
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


def judged_program_of(args: argparse.Namespace) -> "scripts.Program":
    """Return the named program; a call's outputs are compared as ``--reference``, ``--expect`` or its case say.

    Raises `UsageError` for these options with another program.
    """
    return judged(program_of(args), args)


def judged(program: "scripts.Program", args: argparse.Namespace) -> "scripts.Program":
    """Return *program*, which *args* describe, with the expected outputs of `judged_program_of`."""
    if is_call(program, args):
        program.expectation = expectation_of(args)
    else:
        refuse(args, ("reference", "expect"), "goes with one kernel of BANG C; name it with --kernel")
    return program


def _checkers(args: argparse.Namespace) -> tuple[str, ...]:
    """Return the names of ``--check``; raises `UsageError` for an unknown checker."""
    if not args.check:
        return ()
    checks = tuple(names_in(args.check))
    checkers.observers_of(checks)
    return checks


def program_and_kernel(args: argparse.Namespace) -> "tuple[scripts.Program, str | None]":
    """Return the named program, and the kernel whose launches are selected by ``--kernel`` if the program makes its own launches.

    Of a BANG C file ``--kernel`` is the kernel to launch.
    """
    if is_source(args.program):
        return program_of(args), None
    wanted, args.kernel = args.kernel, None
    return program_of(args), wanted


def is_call(program: "scripts.Program", args: argparse.Namespace) -> "TypeGuard[calls.KernelCall]":
    """Return whether *program*, which *args* describe, is one call of a kernel in BANG C sources."""
    if not is_source(args.program):
        return False
    return isinstance(program, calls.KernelCall)


def program_on(args: argparse.Namespace, checks: tuple[str, ...], board: str | None) -> "scripts.Program":
    """Return the named script, test or source; a source is compiled for *board*."""
    source_board = board if is_source(args.program) else None
    unset = dict.fromkeys(("case", "inputs", "policy", "jobs", "seed"))
    moved = argparse.Namespace(**{**vars(args), **unset, "set": [], "board": source_board, "check": checks})
    return program_and_kernel(moved)[0]


def operators_behind(args: argparse.Namespace) -> list[str]:
    """Return the names of operators after the first; raises `UsageError` for a word that looks like an option."""
    words = [*args.arguments, *behind(args)]
    odd = next((word for word in words if word.startswith("-")), None)
    if odd is not None:
        raise UsageError(unknown_option(args.verb, odd))
    return words


def _no_word(args: argparse.Namespace, word: str, sentence: str) -> UsageError:
    """Return the refusal of *word*: by what is known about it as an option, otherwise *sentence*."""
    verb = getattr(args, "verb", "debug")  # a launch request of an editor has no verb
    return UsageError(told_option(verb, word) or sentence)


def _spelled(name: str, value: str) -> str:
    """Return a phrase about how to give *name*=*value* to a kernel."""
    if name in values.OF_LAUNCHES:
        return f"that of the launch is given as --{name} {value}".rstrip()
    return "give arguments as --arg NAME=VALUE"


def source_program(
    args: argparse.Namespace, checks: tuple[str, ...]
) -> "calls.KernelCall | natives.HostProgram":
    """Return the program of the command line: one call of a kernel or, if no option describes a call, ``main``."""
    files, rest = split([args.program, *args.arguments])
    rest += behind(args)
    refuse(args, OF_OPERATORS, "goes with an operator; a BANG C file takes --kernel and --arg")
    if getattr(args, "triton", None) is not None:
        return _triton_call(args, checks, rest)
    asked = AskedCall(
        tuple(files),
        board=board_of(args.board).name,
        include=tuple(args.include),
        define=defines(args.define),
        words=tuple(rest),
        checks=checks,
        # Not every verb that accepts a source has all of these options.
        seed=getattr(args, "seed", None),
        effects=getattr(args, "effects", None) or "late",
        engine=getattr(args, "engine", None) or "auto",
        criterion=criterion_of(args),
    )
    program = natives.HostProgram(asked)
    # A file with both is run as its author runs it, unless an option names a kernel.
    if not any(getattr(args, o, None) for o in OF_KERNELS) and program.has_main:
        return program
    if rest:
        raise _no_word(
            args,
            rest[0],
            f"{rest[0]!r} is not an argument of a kernel; {_spelled(*rest[0].partition('=')[::2])}",
        )
    asked = evolve(asked, **_of_launch(args), kernel=args.kernel, draws=getattr(args, "draws", None))
    case = getattr(args, "named_case", None)
    # A number that only the case's own sizes use is not misspelt when sizes on the command line replace
    # those.
    formulas = () if case is None else (*case.asked.arguments.values(), *asked.arguments.values())
    return calls.KernelCall(asked, formulas=formulas)


def _of_launch(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of a launch in *args*."""
    return {
        "dim": calls.dim_of(args.dim),
        "kind": calls.kind_of(args.kind).name,
        "arguments": calls.named_values(args.arg, "--arg"),
    }


def _triton_call(
    args: argparse.Namespace, checks: tuple[str, ...], rest: Sequence[str]
) -> "calls.KernelCall":
    """Return the call of a Triton kernel, whose lowering depends on the board."""
    if rest:
        raise _no_word(
            args,
            rest[0],
            f"{rest[0]!r} is not an argument of a kernel; {_spelled(*rest[0].partition('=')[::2])}",
        )
    call: calls.KernelCall = args.triton.call(
        calls.named_values(args.arg, "--arg"),
        board_of(args.board),
        checks=checks,
        seed=getattr(args, "seed", None),
        effects=getattr(args, "effects", None) or "late",
        engine=getattr(args, "engine", None) or "auto",
        draws=getattr(args, "draws", None),
    )
    return call


def kernel_call(args: argparse.Namespace, board: str | None) -> "calls.KernelCall":
    """Return the call that *args* describe for *board*.  Raises `UsageError` if they name no BANG C kernel."""
    if args.program and {".", "/"} & {*args.program} and not Path(args.program).exists():
        raise UsageError(f"there is no file {args.program}")
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


def program_to_try(
    args: argparse.Namespace, board: str
) -> "natives.HostProgram | natives.CommandProgram | None":
    """Return the program with a ``main`` that *args* name, for *board*; None if they describe a call of a kernel."""
    plain_args = argparse.Namespace(**{**vars(args), "board": board, "jobs": None, "param": []})
    if is_native(args.program):
        return _native(plain_args, (), (*args.arguments, *behind(args)))
    if not is_source(args.program) or any(getattr(args, o, None) for o in OF_KERNELS):
        return None
    program = source_program(plain_args, ())
    return None if isinstance(program, calls.KernelCall) else program


def _refuse_options(args: argparse.Namespace, who: str) -> None:
    refuse(args, OF_CALLS, f"goes with an operator; {who} decides for itself")
    refuse(args, OF_FILES, f"goes with a BANG C file; {who} decides for itself")


def _native(
    args: argparse.Namespace, checks: tuple[str, ...], words: tuple[str, ...]
) -> "natives.CommandProgram":
    refuse(args, OF_OPERATORS, "goes with an operator; the program decides for itself")
    refuse_call_arguments(args)
    board = getattr(args, "board", None)
    boards = [board] if isinstance(board, str) else list(board or ())
    options = {
        "engine": getattr(args, "engine", None) or "auto",
        "seed": getattr(args, "seed", None),
        "effects": getattr(args, "effects", None) or "late",
        "threads": getattr(args, "threads", None),
    }
    named = tuple(find_board(name).name for names in boards for name in names.split(","))
    return natives.CommandProgram(args.program, words, checks, named, options)


def _operator(args: argparse.Namespace, checks: tuple[str, ...]) -> "scripts.Program":
    spec = registry.find_operator(args.program)
    if args.inputs is not None:
        if args.case is not None:
            raise UsageError("--case and --inputs exclude each other; give one of them")
        inputs, params, case = (read_inputs(args.inputs, spec), parameters(spec, args.set), None)
        board = args.board or DEFAULT_BOARDS[0]
    else:
        if args.set:
            raise UsageError("--set goes with --inputs; a case has its own parameters")
        chosen = registry.find_case(spec, args.case) if args.case is not None else spec.cases[0]
        inputs, params, spec = *chosen.make(runner.case_generator(chosen)), spec.called_as(chosen)
        case, board = chosen.name, args.board or (chosen.boards or DEFAULT_BOARDS)[0]
    return runner.OperatorProgram(
        spec, inputs, params, find_board(board).name, args.seed, args.effects, case, checks
    )


# -- calls of Python kernels and of host functions -----------------------------------------------------


def is_python_call(args: argparse.Namespace) -> bool:
    """Return whether *args* describe a call of one kernel in a Python file, not a run of it as a script."""
    script = args.program is not None and args.program.endswith(".py")
    return script and bool(args.kernel or args.arg)


def other_call(args: argparse.Namespace) -> "calls.CallProgram":
    """Return the call that *args* describe.  Raises `UsageError` for options that contradict it."""
    files, rest = (
        split([args.program, *args.arguments]) if args.function is not None else ([], args.arguments)
    )
    more = [*rest, *behind(args)]
    if more:
        raise UsageError(f"{more[0]!r} is not an argument of a call; give arguments as --arg NAME=VALUE")
    ours = ("case", "inputs", "set", "schedules", "record")
    refuse(args, ours, "goes with an operator or a script; leave it out")
    asked = AskedCall(
        (args.program,),
        board=board_of(args.board).name,
        **_of_launch(args),
        seed=args.seed,
        effects=args.effects or EFFECTS[0],
    )
    if args.function is None:
        if args.include or args.define:
            raise UsageError("-I and -D go with BANG C files; leave them out")
        return other_calls.PythonCall(evolve(asked, kernel=args.kernel))
    if args.kernel is not None:
        raise UsageError("--kernel and --function exclude each other; the function launches by itself")
    asked = evolve(asked, include=tuple(args.include), define=defines(args.define))
    return other_calls.HostFunctionCall(evolve(asked, program=tuple(files), function=args.function))


# -- ``--reference`` and ``--expect``, and the expectations of a case ----------------------------------


def criterion_of(args: argparse.Namespace) -> Criterion:
    """Return the criterion on the command line, or else that of the case."""
    case = getattr(args, "named_case", None)
    usual = USUAL_CRITERION if case is None else case.asked.criterion
    reference, expect = getattr(args, "reference", None), getattr(args, "expect", None) or ()
    if reference is None and not expect:
        return usual
    arrays = calls.named_values(expect, "--expect")
    return evolve(usual, reference=reference, folder=None, expect=arrays)


def expectation_of(args: argparse.Namespace) -> "expectations.Expectation | None":
    """Return the expected outputs of the call; None if there are none.

    Raises `UsageError` if the reference does not exist.
    """
    case = getattr(args, "named_case", None)
    if getattr(args, "reference", None) is None and not getattr(args, "expect", None):
        return None if case is None else case.expectation()
    criterion = criterion_of(args)
    try:
        return expectations.expectation_of(criterion, f"--expect {next(iter(args.expect), '')}")
    except UsageError as error:
        raise UsageError(f"--{error}") from None
