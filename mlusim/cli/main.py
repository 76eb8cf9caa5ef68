"""``mlusim``: finds the verb, runs it, and turns what goes wrong into one sentence and an exit code.

Exit codes: 0 clean; 1 findings, failed accuracy, a regression or a plan that does not fit; 2 usage, which a
refusal by a host interface is too; 3 a fault in the simulated machine; 130 when interrupted.
"""

import argparse
import contextlib
import errno
import importlib
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

from mlusim.cli import entry, plain_text
from mlusim.cli.verbs import RUN_PROGRAMS, Parser, Verb, parser_of, unknown_option, unknown_verb, verb_named
from mlusim.engine.preference import AUTO, NATIVE, PYTHON, on_threads, preferring
from mlusim.errors import Fault, MlusimError, Remark, UsageError, said
from mlusim.files.reading import lines_shown, shown
from mlusim.lazy import lazy
from mlusim.machine.limits import UNLIMITED, limiting

if TYPE_CHECKING:
    from mlusim.cli.arguments import shared
    from mlusim.frontend.bangc import errors as sources
    from mlusim.machine import engine as engines
else:
    shared, sources, engines = lazy(
        "mlusim.cli.arguments.shared", "mlusim.frontend.bangc.errors", "mlusim.machine.engine"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* (without the program's name) and return the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    prepare()
    if "_ARGCOMPLETE" in os.environ:  # argcomplete's function of the shell asks for words
        importlib.import_module("mlusim.cli.completion").complete()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse, after --help and --version
        return leaving.code if isinstance(leaving.code, int) else entry.CLEAN
    except MlusimError as error:
        # What kernels printed is not a part of a document on standard output.
        return _refuse(error, sys.stderr if "--json" in arguments else sys.stdout)
    except BrokenPipeError:
        drop_output()  # the reader has closed the pipe
        return entry.BROKEN_PIPE
    except KeyboardInterrupt as stop:
        return _tell(" ".join(["interrupted", *getattr(stop, "__notes__", ())]), entry.INTERRUPTED)
    except OSError as error:
        if error.filename is None:
            drop_output()
        return _tell(complaint(error), entry.USAGE)
    except MemoryError:
        return _tell("the host has not enough memory for this; try a smaller case", entry.USAGE)
    except Exception as error:  # noqa: BLE001 - a user never sees a traceback
        return _tell(_unexpected(error), entry.FAULT)
    return code


def _run(arguments: Sequence[str]) -> int:
    # Only the chosen verb declares its arguments: those of all would import half of the package.
    word = next((word for word in arguments if not word.startswith("-")), None)
    verb = verb_named(word)
    if word is not None and verb is None:
        raise UsageError(unknown_verb(word))
    parser = parser_of(verb)
    ours, named, behind = _divided(arguments, verb)
    args, surplus = parser.parse_known_args(ours)
    args.arguments, args.behind = [*(getattr(args, "arguments", None) or ()), *named], behind
    if verb is not None and (refused := _refused(verb, surplus, named)) is not None:
        return _run(_as_json(arguments, args, refused))
    if any(word.startswith("--format") for word in named) and _takes_no_words(args):
        return _run(_as_json(arguments, args, unknown_option(args.verb, "--format")))
    if surplus:
        return _run(_as_json(arguments, args, unknown_option(args.verb, surplus[0])))
    if verb is None:
        parser.print_help()
        return entry.CLEAN
    args = _translated(args)
    # For pages, which say what made them.
    args.typed = shlex.join(["mlusim", *arguments])
    if getattr(args, "verbose", False):
        _log_hosts(args)
    threads = on_threads(getattr(args, "threads", None))
    with telling_engines(), limiting(getattr(args, "limit", UNLIMITED)), preferring(settled(args)), threads:
        run = verb.load(args)
        entry.listen()
        if verb.name != "run":  # which loads more before it runs
            entry.collect_as_usual()
        with _covering(args):
            code = run(args)
    _tell_refusals()
    for note in getattr(args, "superseded", ()):
        plain_text.remark(note)
    return code


def _takes_no_words(args: argparse.Namespace) -> bool:
    """Return whether what runs is not a program with words of its own: a kernel of BANG C, a file of cases, or an operator."""
    programs = importlib.import_module("mlusim.cli.programs")
    name = next(
        filter(None, [getattr(args, "program", None), *(getattr(args, "operators", None) or ())]), None
    )
    asked = any(getattr(args, option, None) for option in programs.OF_KERNELS)
    return bool(
        programs.is_cases(name) or not programs.is_program(name) or (asked and programs.is_source(name))
    )


def _as_json(arguments: Sequence[str], args: argparse.Namespace, refused: str) -> list[str]:
    """Return *arguments* with ``--json`` in place of ``--format json``, which is the same also where a verb has no other format.

    Raises `UsageError` of *refused* where that is not what the verb does not take.
    """
    words = [word for word in arguments if word != "--format=json"]
    for at, pair in enumerate(pairwise(words)):
        if pair == ("--format", "json"):
            del words[at : at + 2]
            break
    if len(words) == len(arguments) or not hasattr(args, "json") or args.json:
        raise UsageError(refused)
    return [*words[: words.index(args.verb) + 1], "--json", *words[words.index(args.verb) + 1 :]]


def _translated(args: argparse.Namespace) -> argparse.Namespace:
    """Return *args* with BANG C in the place of a Triton kernel, which a Python file may hold."""
    names = [getattr(args, name, None) for name in ("program", "operator", "operators", "files")]
    named = next(filter(None, names), "")
    word = str(named[0] if isinstance(named, list) else named)
    options = [getattr(args, name, None) for name in ("grid", "constexpr", "num_warps", "num_stages")]
    if not any(options) and not (word.endswith(".py") and getattr(args, "kernel", None)):
        return args
    translated: argparse.Namespace = importlib.import_module("mlusim.cli.triton_file").as_bang(args)
    return translated


def _covering(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Count the lines that run, where ``--coverage`` asks for it; in this process."""
    if getattr(args, "record_of_lines", None) is None:
        return nullcontext()
    covering: AbstractContextManager[None] = importlib.import_module("mlusim.cli.cover").covering(args)
    return covering


def _divided(arguments: Sequence[str], verb: Verb | None) -> tuple[list[str], list[str], list[str]]:
    """Divide *arguments* into mlusim's own and those of the program that the verb runs, before and after ``--``."""
    if verb is None:
        return list(arguments), [], []
    arguments = shared.joined(arguments)
    if verb.name not in RUN_PROGRAMS:
        return arguments, [], []
    at = arguments.index(verb.name) + 1
    parser = Parser()
    verb.add_arguments(parser)
    ours, named, behind = shared.divide(parser, arguments[at:])
    return [*arguments[:at], *ours], named, behind


def _refused(verb: Verb, surplus: Sequence[str], named: Sequence[str]) -> str | None:
    """Return why *verb* does not take an option of other verbs in *surplus* or in *named*, the program's words before ``--``."""
    if not surplus and not named:
        return None
    ours = [word for word in named if word.partition("=")[0] in shared.OURS]
    refusal = shared.refusal(verb.name, [*surplus, *ours])
    return f"{refusal}; an option of the program itself stands behind --" if refusal and ours else refusal


def _log_hosts(args: argparse.Namespace) -> None:
    """Let the logger ``mlusim.host`` write to standard error, from this process alone."""
    plain_text.log_to_stderr("mlusim.host")
    # The log of several processes would be mixed line by line.
    if hasattr(args, "jobs"):
        args.jobs = 1


def _tell_refusals() -> None:
    """Name the operators and checkers that a broken distribution took away, where the verb has looked for any."""
    # Looked up and not imported: a verb without operators should not load them for a note.
    operators = sys.modules.get("mlusim.operators.registry")
    checkers = sys.modules.get("mlusim.observe.names")
    sentences: list[str] = []
    if operators is not None and operators.registered.cache_info().currsize:
        sentences += operators.registered().refusals
    if checkers is not None and checkers.registered.cache_info().currsize:
        sentences += checkers.registered().refusals.values()
    for sentence in sentences:
        print(f"note: {shown(' '.join(sentence.split()))}", file=sys.stderr)


def _tell(sentence: str, code: int) -> int:
    print(f"error: {shown(' '.join(sentence.split()))}", file=sys.stderr)
    return code


def _refuse(error: MlusimError, aside: TextIO) -> int:
    """Print what the kernel printed *aside*, one sentence, and beneath it what the error shows: a line of source with its caret."""
    for line in error.printed:
        print(lines_shown(line.removesuffix("\n")), file=aside, flush=True)
    code = entry.FAULT if isinstance(error, Fault) else entry.USAGE
    below = error.shown
    if isinstance(error, Fault):
        below = sources.excerpt_of_fault(error)
    _tell(str(error) if isinstance(error, Fault) or not below else str(error.args[0]), code)
    for line in below.splitlines():
        print(shown(line.expandtabs(4)).rstrip(), file=sys.stderr)
    for note in getattr(error, "__notes__", ()):
        if note.startswith("note: "):  # the others are for tracebacks
            print(shown(note), file=sys.stderr)
    return code


def _unexpected(error: Exception) -> str:
    """Return the sentence of an unforeseen error: what, where, and that it is not the user's fault."""
    # The innermost frame: a report of the bug needs where it was raised.
    at = traceback.extract_tb(error.__traceback__)[-1]
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    where = f"{Path(at.filename).name}:{at.lineno}{notes}"
    return f"unexpected {type(error).__name__} at {where}: {said(error)}; this is a bug of mlusim or of the operator"


# -- the engine, and what is said where there is no compiler -------------------------------------------


def settled(args: argparse.Namespace) -> str:
    """Return the engine that the launches of this command prefer; ``args.engine`` becomes it.

    Where it was asked for and there is no compiler, one line on standard error says so, and Python runs.
    """
    asked = getattr(args, "engine", None)
    chosen = asked or AUTO
    may_compile = asked in (AUTO, NATIVE) and getattr(args, "launches", True)
    if may_compile and (lack := engines.Engine.asked().lack) is not None:
        plain_text.remark(f"note: {lack}")
        chosen = PYTHON
    if hasattr(args, "engine"):
        args.engine = chosen
    return AUTO if chosen == NATIVE and getattr(args, "where_it_can", False) else chosen


@contextmanager
def telling_engines() -> Iterator[None]:
    """Print warnings of the block that Python runs in place of C, or that a function does not compile, as one line each."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, Remark):
                plain_text.remark(f"note: {message}")
            else:
                before(message, category, *more)

        warnings.showwarning = show  # type: ignore[assignment]
        warnings.simplefilter("default", Remark)
        yield


# -- the three standard streams as a shell may leave them: closed, narrow, or fed with bytes that are not text

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""What a write to a full or failing disk says."""

CLOSED = "standard output is closed; leave `>&-` out, or name a file with -o where the verb takes one"


def prepare() -> None:
    """Put something where a stream is closed, and let every stream take any text.

    Nothing can be read from a closed input, what goes to a closed error stream is lost, and a write to a
    closed output is an `OSError`, as it is in C: `main` says so.
    """
    # The output is opened for reading, so that a write to it is the error that a closed one gives.
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:  # no other file may get this number
            os.open(os.devnull, mode)
    sys.stdin = sys.stdin or _opened(0, "r")
    sys.stdout = sys.stdout or _opened(1, "w")
    sys.stderr = sys.stderr or _opened(2, "w")
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def _opened(number: int, mode: str) -> TextIO:
    return cast(TextIO, os.fdopen(number, mode, encoding="utf-8", errors="replace", closefd=False))


def drop_output() -> None:
    """Keep the interpreter from complaining when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complaint(error: OSError) -> str:
    """Return the sentence of an error of the system that no verb has made one of: what, and why."""
    if error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}"
    if error.errno == errno.EBADF:
        return CLOSED
    if error.errno == errno.ENOENT:
        return "the current directory has been deleted; change to one that is there"
    if error.errno in NO_ROOM:
        return f"standard output cannot be written: {error.strerror}"
    return f"the system refuses: {error.strerror or error}"
