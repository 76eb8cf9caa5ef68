"""Which sources a result comes from: one word for mlusim, the operators' own code and NumPy together."""

import functools
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import mlusim
from mlusim.operators import shipped
from mlusim.operators.registry import find_operator
from mlusim.operators.spec import Operator


def sources_of(operators: tuple[str, ...]) -> str:
    """Return a word of 16 digits that changes with any source file that the *operators* (names) are run by.

    These are the packages of mlusim and of the operators' functions, as they lie on the disk at the first
    call in this process; the version of NumPy counts too.
    """
    return word_of(
        frozenset({"mlusim"}.union(*(_packages(find_operator(operator)) for operator in operators)))
    )


@functools.cache
def word_of(packages: frozenset[str]) -> str:
    """Return the word of the files of *packages*.

    It is kept by packages, not by names of operators: the same name may be another operator later, where
    another distribution gives it.
    """
    found = hashlib.sha256(f"mlusim {mlusim.__version__}, numpy {np.__version__}\n".encode())
    for package in sorted(packages):
        for name, path in _files(package):
            found.update(f"{name}\n{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()[:16]


def _packages(operator: Operator) -> set[str]:
    """Return the packages, or modules outside of packages, of what *operator* brings along."""
    parts = [operator.call, operator.reference, operator.shapes, operator.theory]
    parts += [case.make for case in operator.cases] + [policy.rule for policy in operator.policies]
    inner = [getattr(part, "func", part) for part in parts]  # that of a functools.partial
    names = {str(getattr(part, "__module__", None) or "mlusim") for part in inner}
    return {shipped.INSTALLED if shipped.owns(name) else name.partition(".")[0] for name in names}


def _files(package: str) -> Iterator[tuple[str, Path]]:
    """Yield the source files of *package* by the names that they have in it, in their order; none for a typed-in module."""
    module = shipped.package() if package == shipped.INSTALLED else sys.modules.get(package)
    for folder in getattr(module, "__path__", ()):
        for path in sorted(Path(folder).rglob("*.py")):
            yield f"{package}/{path.relative_to(folder).as_posix()}", path
    alone = getattr(module, "__file__", None)
    if alone is not None and not hasattr(module, "__path__"):
        yield package, Path(alone)
