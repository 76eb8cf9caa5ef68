"""Completion at the tab key in a shell: verbs, options, and their values from tables and from the named files.

argcomplete runs the program itself with the incomplete line, and uses the parser of its verb; so everything that a
verb accepts is completed from its declaration.
"""

import argparse
import os
import shlex
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import argcomplete
from argcomplete.completers import FilesCompleter

from mlusim.arch.catalog import BOARDS
from mlusim.cli.verbs import VERBS, parser_of
from mlusim.errors import MlusimError
from mlusim.lazy import lazy

if TYPE_CHECKING:
    from mlusim.bangc.module import Module
    from mlusim.cli import programs
    from mlusim.isa import table
    from mlusim.machine import kernel as kernels
    from mlusim.observe import names
    from mlusim.operators import registry
    from mlusim.programs import argument_forms, cases, kernel_call
else:  # only when such an option is typed
    programs, table, kernels, names, registry, argument_forms, cases, kernel_call = lazy(
        "mlusim.cli.programs",
        "mlusim.isa.table",
        "mlusim.machine.kernel",
        "mlusim.observe.names",
        "mlusim.operators.registry",
        "mlusim.programs.argument_forms",
        "mlusim.programs.cases",
        "mlusim.programs.kernel_call",
    )

Values = Callable[[str, argparse.Namespace], Iterable[str]]

PROGRAMS = (".mlu", ".cpp", ".py", ".toml")


def complete() -> None:
    """Answer the shell's request with the parser of the verb in the line, and end the process."""
    words = _typed()
    parser = parser_of(next((verb for verb in VERBS if verb.name in words), None))
    _offer(parser)
    argcomplete.autocomplete(parser, always_complete_options="long")


def _typed() -> list[str]:
    """Return the words of the line after the program's name."""
    line = os.environ.get("COMP_LINE", "")
    try:
        return shlex.split(line)[1:]
    # An open quote, since the user is in the middle of a word.
    except ValueError:
        return line.split()[1:]


def _offer(parser: argparse.ArgumentParser) -> None:
    """Set the source of values for each argument of the verb; for other arguments argcomplete offers files."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of them
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - nor a public name of this type
            for below in action.choices.values():
                _offer(below)
        elif action.dest in VALUES:
            action.completer = _quiet(VALUES[action.dest])  # type: ignore[attr-defined]  # what argcomplete reads


def _quiet(values: Values) -> Callable[..., list[str]]:
    """Wrap *values* for argcomplete; an error in the line offers nothing, since the run will report it."""

    def offered(prefix: str, parsed_args: argparse.Namespace, **_: object) -> list[str]:
        try:
            return [value for value in values(prefix, parsed_args) if value.startswith(prefix)]
        # A traceback would be printed into the user's line.
        except (MlusimError, OSError):
            return []

    return offered


def _programs(prefix: str, _: argparse.Namespace) -> Iterable[str]:
    yield from registry.operators()
    for path in FilesCompleter(PROGRAMS)(prefix):
        yield str(path)


def _cases(_: str, args: argparse.Namespace) -> Iterable[str]:
    program = _program(args)
    if programs.is_cases(program):
        return [case.name for case in cases.cases_in(str(program))]
    return [case.name for case in registry.find_operator(str(program)).cases]


def _arguments(prefix: str, args: argparse.Namespace) -> Iterable[str]:
    """Yield the parameters of the kernel with ``=``, and after the ``=`` the words that a value may begin with."""
    name, equals, _ = prefix.partition("=")
    if equals:
        yield from (
            f"{name}={word}"
            for word in dict.fromkeys(form.word for form in argument_forms.FORMS if form.word)
        )
        return
    module = _module(args)
    kernel = module[args.kernel] if args.kernel else next(iter(module.kernels.values()), None)
    if kernel is not None:
        yield from (f"{parameter.source_name}=" for parameter in kernel.form.parameters)


def _module(args: argparse.Namespace) -> "Module":
    board = args.board if isinstance(args.board, str) else next(iter(args.board or ()), None)
    paths = (str(_program(args)),)
    return kernel_call.load(
        argument_forms.AskedCall(
            paths,
            board=programs.board_of(board).name,
            include=tuple(args.include),
            define=programs.defines(args.define),
        )
    )


def _program(args: argparse.Namespace) -> str | None:
    for name in ("program", "operators", "operator", "candidates"):
        word = getattr(args, name, None)
        if word:
            return str(word if isinstance(word, str) else word[0])
    return None


def _checkers(prefix: str, *_: object) -> Iterable[str]:
    before, comma = prefix.rpartition(",")[:2]
    return [f"{before}{comma}{name}" for name in names.checkers()]


def _intrinsics(_: str, args: argparse.Namespace) -> Iterable[str]:
    if args.verb == "ops":
        return registry.operators()
    if args.verb == "boards":
        return BOARDS
    return table.ISA


VALUES: dict[str, Values] = {
    "program": _programs,
    "operator": _programs,
    "operators": _programs,
    "board": lambda *_: BOARDS,
    "base": lambda *_: BOARDS,
    "case": _cases,
    "kernel": lambda _, args: _module(args).kernels if programs.is_source(_program(args)) else (),
    "arg": _arguments,
    "kind": lambda *_: [kind.name.lower() for kind in kernels.KINDS],
    "check": _checkers,
    "only": _checkers,
    "name": _intrinsics,
}
"""The functions that yield the values of arguments, by their ``dest``."""
