"""Values of options: parameters, names, boards and formats; and files that options name, including code that is shown before it runs."""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlusim.arch.catalog import find_board
from mlusim.cli import show
from mlusim.errors import UsageError
from mlusim.files.reading import shown
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import numpy as np

    from mlusim.files import arrays, writing
    from mlusim.operators.spec import Operator, Scalar

    Outputs = Mapping[str, np.ndarray[Any, Any]]
else:  # numpy, which most values do not need
    arrays, writing = lazy("mlusim.files.arrays", "mlusim.files.writing")

_BOOLEANS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def parameters(operator: "Operator", settings: Iterable[str]) -> dict[str, Any]:
    """Return the parameters that ``--set`` gives, each converted to the type that *operator* declares.

    Raises `UsageError` for a word that is not a ``name=value``, an unknown or repeated name, or a value
    of another type.
    """
    declared = {p.name: p for p in operator.params}
    values: dict[str, Any] = {}
    for word in names_in(settings):
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name:
            lacks = "value" if name else "name"
            raise UsageError(f"--set {word!r} gives no {lacks}; write name=value, as in --set m=64")
        if name not in declared:
            legal = ", ".join(declared) or "it has none"
            raise UsageError(f"{operator.name} has no parameter {name!r}; its parameters: {legal}")
        if name in values:
            raise UsageError(f"--set gives {name} twice; give it once")
        values[name] = _typed(operator, declared[name], text)
    return values


def _typed(operator: "Operator", parameter: "Scalar", text: str) -> Any:
    wanted = f"--set {parameter.name}={text}: {parameter.name} of {operator.name}"
    if parameter.type is bool:
        if text.lower() not in _BOOLEANS:
            raise UsageError(f"{wanted} is true or false")
        return _BOOLEANS[text.lower()]
    if parameter.type is str:
        return text
    try:
        return parameter.type(text)
    except ValueError:
        kind = "a whole number" if parameter.type is int else f"of type {parameter.type.__name__}"
        raise UsageError(f"{wanted} is {kind}") from None


SPELT = {"include": "-I", "define": "-D", "draws": "--seed"}
"""Options that are spelled differently on the command line than in the parsed arguments."""


def refuse(args: argparse.Namespace, names: Iterable[str], words: str) -> None:
    """Raise `UsageError` if an option of *names* was given: the first one's name, followed by *words*.

    Options that the verb lacks count as not given.
    """
    for name in names:
        value = getattr(args, name, None)
        # Not by truth value, since `--seed 0` was given, too.
        if value is not None and value is not False and value != []:
            raise UsageError(f"{SPELT.get(name) or '--' + name.replace('_', '-')} {words}")


def names_in(words: Iterable[str]) -> list[str]:
    """Return the names in *words*, each of which may be a list with commas."""
    return [name.strip() for word in words for name in word.split(",") if name.strip()]


def boards_in(words: Iterable[str], usual: Sequence[str]) -> list[str]:
    """Return the boards that *words* name, each once and under its full name; *usual* where there are no words.

    Raises `UsageError` for an unknown board, and for words that name none.
    """
    typed = list(words)
    names = names_in(typed)
    if typed and not names:
        raise UsageError(f"--board {' '.join(typed)!r} names no board; give one, such as {usual[0]}")
    return list(dict.fromkeys(find_board(name).name for name in names or usual))


def format_of(args: argparse.Namespace, suffixes: Mapping[str, str], usual: str) -> str:
    """Return the format of the answer: that of ``--format`` or ``--json``, else by the suffix of the file of ``-o``, else *usual*.

    Raises `UsageError` if both options are given.
    """
    if args.json:
        if args.format not in {None, "json"}:
            raise UsageError(f"--json and --format {args.format} exclude each other; give one of them")
        return "json"
    return str(args.format or suffixes.get(Path(args.output or "").suffix.lower(), usual))


# -- files ---------------------------------------------------------------------------------------------


def read_inputs(name: str, operator: "Operator") -> "dict[str, np.ndarray[Any, Any]]":
    """Return the inputs of *operator* in the ``.npz`` file *name*; raises `UsageError` if the file has other arrays."""
    inputs = [tensor.name for tensor in operator.inputs]

    def check(members: Iterable[str]) -> None:
        odd = next((key for key in members if key not in inputs), None)
        if odd is not None:
            # A name in a file may have any length.
            legal = f"its inputs are {', '.join(inputs)}"
            raise UsageError(f"{operator.name} has no input {shown(odd)[:80]!r}; {legal}")

    return arrays.read_arrays(name, "--inputs takes an .npz file", check)


def write_text(name: str | None, text: str) -> None:
    """Write *text* to the file *name*, or to standard output; if no file can be written at all, print it before the error is raised."""
    if not name:
        sys.stdout.write(text)
        return
    try:
        writing.write_text(name, text, keep=True)
    except writing.Unwritten as refused:
        if refused.kept is None:
            sys.stdout.write(text)
        raise


def write_outcome(
    args: argparse.Namespace, outputs: "Outputs | None", write_launches: Callable[[str], object]
) -> None:
    """Write the *outputs*, if not None, to the file of ``--save``; call *write_launches* with the file of ``--trace``."""
    try:
        if args.save and outputs is not None:
            writing.write_arrays(args.save, outputs)
            show.wrote("outputs", args.save)
    finally:  # an error of one file must not prevent the other
        if args.trace:
            write_launches(args.trace)
            show.wrote("timeline", args.trace)


def allowed(name: str, texts: Mapping[str, str], how: str = "") -> bool:
    """Show the code of the file *name* on the terminal and ask whether it may run; return False without a terminal.

    *texts* is the code by file name, *how* describes the arguments that it would have.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(listing(texts), file=sys.stderr)
    print(f"{shown(name)} would run this{shown(how)}.  Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def listing(texts: Mapping[str, str]) -> str:
    """Return *texts* with a heading line for each file, and with control characters escaped."""
    parts = []
    for name, text in texts.items():
        parts.append(f"--- {shown(name)}")
        parts.extend(shown(line.replace("\t", "    ")) for line in text.splitlines())
    return "\n".join(parts)
