"""``mlusim``: finds the verb, runs it, and turns errors into one sentence and an exit code.

Exit codes: 0 clean; 1 findings, failed accuracy, a regression or a plan that does not fit; 2 usage, also
a refusal by a host interface; 3 a fault in the simulated machine; 130 when interrupted.
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

from mlusim.cli import entry, show
from mlusim.cli.verbs import RUN_PROGRAMS, Parser, Verb, parser_of, unknown_option, unknown_verb, verb_named
from mlusim.engine.preference import AUTO, NATIVE, PYTHON, on_threads, preferring
from mlusim.errors import Fault, MlusimError, Remark, UsageError, said
from mlusim.files.reading import lines_shown, shown
from mlusim.lazy import lazy
from mlusim.machine.limits import UNLIMITED, limiting

if TYPE_CHECKING:
    from mlusim.bangc import errors as sources
    from mlusim.cli.arguments import shared
    from mlusim.machine import engine as engines
else:
    shared, sources, engines = lazy(
        "mlusim.cli.arguments.shared", "mlusim.bangc.errors", "mlusim.machine.engine"
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line *argv* (without the program's name) and return the exit code."""
    arguments = sys.argv[1:] if argv is None else list(argv)
    prepare()
    if "_ARGCOMPLETE" in os.environ:  # argcomplete's shell function requests words
        importlib.import_module("mlusim.cli.completion").complete()
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except SystemExit as leaving:  # argparse exits after --help and --version
        return leaving.code if isinstance(leaving.code, int) else entry.CLEAN
    except MlusimError as error:
        # Output of kernels is not a part of a document on standard output.
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
    # Only the chosen verb declares its arguments: those of all verbs would import half of the package.
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
    # For pages, which show the command that made them.
    args.typed = shlex.join(["mlusim", *arguments])
    if getattr(args, "verbose", False):
        _log_hosts(args)
    threads = on_threads(getattr(args, "threads", None))
    with telling_engines(), limiting(getattr(args, "limit", UNLIMITED)), preferring(settled(args)), threads:
        run = verb.load(args)
        entry.listen()
        if verb.name != "run":  # it loads more before it runs
            entry.collect_as_usual()
        with _covering(args):
            code = run(args)
    _tell_refusals()
    for note in getattr(args, "superseded", ()):
        show.remark(note)
    return code


def _takes_no_words(args: argparse.Namespace) -> bool:
    """Return whether the subject takes no words of its own: a BANG C kernel, a file of cases, or an operator."""
    programs = importlib.import_module("mlusim.cli.programs")
    name = next(
        filter(None, [getattr(args, "program", None), *(getattr(args, "operators", None) or ())]), None
    )
    asked = any(getattr(args, option, None) for option in programs.OF_KERNELS)
    return bool(
        programs.is_cases(name) or not programs.is_program(name) or (asked and programs.is_source(name))
    )


def _as_json(arguments: Sequence[str], args: argparse.Namespace, refused: str) -> list[str]:
    """Return *arguments* with ``--json`` in place of ``--format json``, also for a verb without ``--format``.

    Raises `UsageError` with *refused* if the verb refused something else.
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
    """Return *args* with a BANG C file in place of a Triton kernel in a Python file."""
    names = [getattr(args, name, None) for name in ("program", "operator", "operators", "files")]
    named = next(filter(None, names), "")
    word = str(named[0] if isinstance(named, list) else named)
    options = [getattr(args, name, None) for name in ("grid", "constexpr", "num_warps", "num_stages")]
    if not any(options) and not (word.endswith(".py") and getattr(args, "kernel", None)):
        return args
    translated: argparse.Namespace = importlib.import_module("mlusim.cli.triton_file").as_bang(args)
    return translated


def _covering(args: argparse.Namespace) -> AbstractContextManager[None]:
    """Count the lines that run in this process, if ``--coverage`` is given."""
    if getattr(args, "record_of_lines", None) is None:
        return nullcontext()
    covering: AbstractContextManager[None] = importlib.import_module("mlusim.cli.cover").covering(args)
    return covering


def _divided(arguments: Sequence[str], verb: Verb | None) -> tuple[list[str], list[str], list[str]]:
    """Divide *arguments* into mlusim's own and the program's, the latter before and after ``--``."""
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
    """Return why *verb* refuses an option of other verbs in *surplus* or in *named*, the program's words before ``--``; None if it refuses none."""
    if not surplus and not named:
        return None
    ours = [word for word in named if word.partition("=")[0] in shared.OURS]
    refusal = shared.refusal(verb.name, [*surplus, *ours])
    return f"{refusal}; an option of the program itself stands behind --" if refusal and ours else refusal


def _log_hosts(args: argparse.Namespace) -> None:
    """Make the logger ``mlusim.host`` write to standard error, from this process alone."""
    show.log_to_stderr("mlusim.host")
    # The log lines of several processes would be interleaved.
    if hasattr(args, "jobs"):
        args.jobs = 1


def _tell_refusals() -> None:
    """Name the operators and checkers that could not be loaded from their packages, if the verb has looked for any."""
    # Looked up in sys.modules: a verb without operators should not import them for a note.
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
    """Print the kernel's output to *aside*, then one sentence, and below it details of the error: a line of source with its caret."""
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
        if note.startswith("note: "):  # other notes are for tracebacks
            print(shown(note), file=sys.stderr)
    return code


def _unexpected(error: Exception) -> str:
    """Return the sentence about an unforeseen error: its message, its place, and that it is a bug of mlusim."""
    # The innermost frame, since the report of the bug needs the place where it was raised.
    at = traceback.extract_tb(error.__traceback__)[-1]
    notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
    where = f"{Path(at.filename).name}:{at.lineno}{notes}"
    return f"unexpected {type(error).__name__} at {where}: {said(error)}; this is a bug of mlusim or of the operator"


# -- the engine, and a remark if there is no compiler --------------------------------------------------


def settled(args: argparse.Namespace) -> str:
    """Return the engine that the launches of this command prefer, and set ``args.engine`` to it.

    If it needs a compiler and there is none, a line on standard error says so, and Python is used.
    """
    asked = getattr(args, "engine", None)
    chosen = asked or AUTO
    may_compile = asked in (AUTO, NATIVE) and getattr(args, "launches", True)
    if may_compile and (lack := engines.Engine.asked().lack) is not None:
        show.remark(f"note: {lack}")
        chosen = PYTHON
    if hasattr(args, "engine"):
        args.engine = chosen
    return AUTO if chosen == NATIVE and getattr(args, "where_it_can", False) else chosen


@contextmanager
def telling_engines() -> Iterator[None]:
    """Print warnings of the block about Python in place of C, and about functions that do not compile, as one line each."""
    with warnings.catch_warnings():
        before = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *more: Any) -> None:
            if issubclass(category, Remark):
                show.remark(f"note: {message}")
            else:
                before(message, category, *more)

        warnings.showwarning = tell  # type: ignore[assignment]
        warnings.simplefilter("default", Remark)
        yield


# -- the three standard streams as a shell may provide them: closed, narrow, or fed with bytes that are not
# text

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""The error numbers of a write to a full or failing disk."""

CLOSED = "standard output is closed; leave `>&-` out, or name a file with -o where the verb takes one"


def prepare() -> None:
    """Open a substitute for each closed stream, and let every stream accept any text.

    A closed input is empty, output to a closed error stream is discarded, and a write to a
    closed output raises `OSError`, as in C; `main` reports it.
    """
    # The substitute for the output is opened for reading, so that a write fails as on a closed one.
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
    """Prevent the interpreter's error message when it flushes standard output at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def complaint(error: OSError) -> str:
    """Return the sentence about an error of the system that no verb has handled."""
    if error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}"
    if error.errno == errno.EBADF:
        return CLOSED
    if error.errno == errno.ENOENT:
        return "the current directory has been deleted; change to one that is there"
    if error.errno in NO_ROOM:
        return f"standard output cannot be written: {error.strerror}"
    return f"the system refuses: {error.strerror or error}"
