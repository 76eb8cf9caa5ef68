"""``mlusim dap``: the debugger as a server of the Debug Adapter Protocol, for editors."""

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mlusim.cli import cases, entry, programs
from mlusim.cli.arguments import running, shared
from mlusim.debug.dap.server import serve, serve_socket
from mlusim.errors import UsageError
from mlusim.programs.program import Program

NAMES = ("program", "case", "inputs", "board", "seed", "effects", "kernel", "dim", "kind", "arg")
_LISTS = ("arg", "set", "check", "define", "include")


def run(args: argparse.Namespace) -> int:
    """Serve one editor until it leaves."""
    if args.json:
        raise UsageError("dap speaks JSON of its own, by the protocol; leave --json out")
    if args.port is not None:
        if not 0 <= args.port < 1 << 16:
            raise UsageError(f"--port {args.port} is not a port; give 0 to 65535")
        serve_socket(args.port, program_of, lambda port: print(f"listening at 127.0.0.1:{port}", flush=True))
        return entry.CLEAN
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # output of C code must not get between the messages
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)  # a program must not read the editor's requests as input
    os.close(nothing)
    serve(source, sink, program_of)
    return entry.CLEAN


def program_of(arguments: Mapping[str, Any]) -> Program:
    """Return the program that a launch request describes, by the rules of `mlusim debug`; raises `UsageError` for an invalid one."""
    folder = arguments.get("cwd")
    if folder:
        if not Path(str(folder)).is_dir():
            raise UsageError(f"cwd {folder} is not a folder")
        # As if the program were started there, so that its files and modules are found.
        os.chdir(str(folder))
        sys.path.insert(0, str(folder))
    if not arguments.get("program"):
        raise UsageError("the launch names no program; give an operator or a script as `program`")
    parser = argparse.ArgumentParser(add_help=False, exit_on_error=False)
    running.debug(parser)
    words = _words(arguments)
    try:
        ours, named, behind = shared.divide(parser, words)
        args = parser.parse_args(ours)
        args.arguments, args.behind = named, behind
        if programs.is_cases(args.program):
            args = cases.applied(args, cases.one_case(args))
        return programs.judged_program_of(args)
    except argparse.ArgumentError as error:
        raise UsageError(str(error)) from None
    except UsageError as error:
        raise UsageError(f"{error}{_meant(arguments)}") from error


def _meant(arguments: Mapping[str, Any]) -> str:
    """Return the end of a sentence with the key that an option in ``args`` should be; "" if there is none."""
    words = _many(arguments, "args")
    for word, behind in zip(words, [*words, "..."][1:], strict=True):
        short = {"-D": "define", "-I": "include"}.get(word[:2])
        name, _, value = (short, "", word[2:]) if short else word.partition("=")
        key = name.removeprefix("--")
        if short or (key in (*NAMES, *_LISTS) and name.startswith("--")):
            quoted = f'"{value or behind}"'
            shown = f"[{quoted}]" if key in _LISTS else quoted
            return (
                f'; in a launch of an editor that is the key "{key}", as "{key}": {shown}, '
                'and "args" has the words of the program itself'
            )
    return ""


def _words(arguments: Mapping[str, Any]) -> list[str]:
    """Return the equivalent command line."""
    words = _many(arguments, "program") or [str(arguments["program"])]
    for name in ("case", "inputs", "board", "seed", "effects"):
        if arguments.get(name) is not None:
            words += [f"--{name}={arguments[name]}"]
    words += [f"--check={arguments['check']}"] if isinstance(arguments.get("check"), str) else []
    words += [f"--check={name}" for name in _many(arguments, "check")]
    words += [f"--set={pair}" for pair in _many(arguments, "set")]
    if programs.is_source(words[0]) or programs.is_cases(words[0]):
        words += [f"--{name}={arguments[name]}" for name in ("kernel", "dim", "kind") if arguments.get(name)]
        words += [f"--arg={word}" for word in _pairs(arguments, "arg")]
        words += [f"-D{word}" for word in _pairs(arguments, "define")]
        words += [f"-I{word}" for word in _many(arguments, "include")]
    settings = arguments.get("set")
    if isinstance(settings, Mapping):
        words += [f"--set={name}={value}" for name, value in settings.items()]
    rest = _many(arguments, "args")
    return [*words, *(["--", *rest] if rest else [])]


def _pairs(arguments: Mapping[str, Any], name: str) -> list[str]:
    """Return the words ``NAME=VALUE``, which a request has as a list of words or as an object."""
    members = arguments.get(name)
    if isinstance(members, Mapping):
        return [key if value is None else f"{key}={value}" for key, value in members.items()]
    return _many(arguments, name)


def _many(arguments: Mapping[str, Any], name: str) -> list[str]:
    words = arguments.get(name)
    return [str(word) for word in words] if isinstance(words, list | tuple) else []
