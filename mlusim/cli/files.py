"""The files that options of the command line name."""

import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from mlusim.errors import UsageError
from mlusim.files.arrays import read_arrays
from mlusim.files.paths import shown
from mlusim.files.writing import Unwritten
from mlusim.files.writing import write_text as write_text_file
from mlusim.operators.spec import Operator

Arrays = dict[str, np.ndarray[Any, Any]]


def read_inputs(name: str, operator: Operator) -> Arrays:
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
