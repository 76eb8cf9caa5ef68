"""The files that options of the command line name: read, written, and shown before code in one of them runs."""

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.errors import UsageError
from mlusim.files.arrays import read_arrays
from mlusim.files.paths import shown
from mlusim.files.writing import Unwritten
from mlusim.files.writing import write_text as write_text_file

if TYPE_CHECKING:
    from mlusim.operators.spec import Operator

Arrays = dict[str, np.ndarray[Any, Any]]


def read_inputs(name: str, operator: "Operator") -> Arrays:
    """Return the inputs of *operator* in the ``.npz`` file *name*; raises `UsageError` for one that holds anything else."""
    known = [one.name for one in operator.inputs]

    def check(members: Iterable[str]) -> None:
        odd = next((key for key in members if key not in known), None)
        if odd is not None:
            legal = f"its inputs are {', '.join(known)}"
            raise UsageError(f"{operator.name} has no input {shown(odd)[:80]!r}; {legal}")

    return read_arrays(name, "--inputs takes an .npz file", check)


def write_text(name: str, text: str) -> None:
    """Write *text* to the file *name*; where nothing can be written at all, show it before the sentence."""
    try:
        write_text_file(name, text, keep=True)
    except Unwritten as refused:
        if refused.kept is None:
            sys.stdout.write(text)
        raise


def allowed(name: str, texts: Mapping[str, str], how: str = "") -> bool:
    """Ask on a terminal whether the code of the file *name*, shown first, may run; without one it may not.

    *texts* is the code by the names of its files, *how* what it would be run with.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(listing(texts), file=sys.stderr)
    print(f"{shown(name)} would run this{shown(how)}.  Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def listing(texts: Mapping[str, str]) -> str:
    """*texts* with a line above each that names it, and with nothing in them that moves the cursor."""
    parts = []
    for name, text in texts.items():
        parts.append(f"--- {shown(name)}")
        parts.extend(shown(line.replace("\t", "    ")) for line in text.splitlines())
    return "\n".join(parts)
