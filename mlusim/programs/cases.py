"""Named calls of kernels in a TOML file, which verbs and pytest accept in place of a program.

::

    program = "scale.mlu"
    kernel = "Scale<float>"

    [case.small]
    dim = 4
    args = { dst = "out:float32:n", src = "randn:float32:n", n = 128, factor = 2.5 }
    reference = "reference:scaled"
    tolerance = 1e-3

Keys before the first table apply to every case; a case's own keys override them, and in ``args``, ``define`` and
``expect`` each name is overridden by itself.  Files and folders are relative to the TOML file.
"""

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from attrs import frozen

from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError, UsageError
from mlusim.files.reading import read_toml, shown
from mlusim.near import near
from mlusim.programs.argument_forms import AskedCall, Criterion
from mlusim.programs.argument_values import value_of
from mlusim.programs.expectation import Expectation, expectation_of
from mlusim.programs.kernel_call import dim_of, kind_of

TABLE = "case"


@frozen
class KernelCase:
    """A named call of a kernel, at *line* of the file *path*; *said* are the keys that the file has for it."""

    name: str
    path: str
    line: int
    asked: AskedCall
    said: frozenset[str] = frozenset()

    @property
    def place(self) -> str:
        """Return the place of the case, as ``cases.toml:7``."""
        return f"{self.path}:{self.line}"

    def expectation(self) -> Expectation | None:
        """Return the expected outputs; None if the case declares none.

        Raises `UsageError` if the reference does not exist.
        """
        return expectation_of(self.asked.criterion, f"expect of {self.place}")


def cases_in(path: str) -> tuple[KernelCase, ...]:
    """Return the cases of the TOML file *path*, in its order.

    Raises `UsageError`, with file and line, for invalid TOML, for unknown keys and for values of a wrong type.
    """
    document, text = read_toml(path, hint="write one, with a table [case.NAME] for each call of a kernel")
    file = _CaseFile(path, text)
    tables = document.pop(TABLE, {})
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        raise UsageError(f"{path} has cases without a name; write each as [{TABLE}.NAME]")
    if not tables:
        raise UsageError(f"{path} holds no case; write each as [{TABLE}.NAME]")
    usual = file.facts(document, None)
    return tuple(file.case(name, table, usual) for name, table in tables.items())


def chosen_case(cases: tuple[KernelCase, ...], name: str) -> KernelCase:
    """Return the case *name* of *cases*.  Raises `UsageError`, with the existing names, for an unknown one."""
    chosen = next((case for case in cases if case.name == name), None)
    if chosen is None:
        names = ", ".join(case.name for case in cases)
        raise UsageError(f"{cases[0].path} has no case {shown(name)!r}; its cases: {names}")
    return chosen


@frozen
class _CaseFile:
    """A file of cases, with its text, in which messages find lines."""

    path: str
    text: str

    def case(self, name: str, table: dict[str, Any], usual: Mapping[str, Any]) -> KernelCase:
        """Return the case *name*, merged with the *usual* keys of the file."""
        stated = self.facts(table, name)
        merged = {**usual, **stated}
        # Each name by itself: a case states only its differences from the file's keys.
        for key in ("args", "define", "expect"):
            merged[key] = {**usual.get(key, {}), **stated.get(key, {})}
        line = self.line(name, None)
        if "program" not in merged:
            raise UsageError(
                f'case {shown(name)} at {self.path}:{line} has no program; name its BANG C file, as program = "scale.mlu"'
            )
        criterion = Criterion(
            merged.pop("reference", None),
            str(Path(self.path).parent),
            merged.pop("expect"),
            **merged.pop("tolerance", {}),
        )
        said = frozenset(merged)
        renamed = {_FIELDS.get(key, key): value for key, value in merged.items()}
        return KernelCase(name, self.path, line, AskedCall(**renamed, criterion=criterion), said)

    def facts(self, table: dict[str, Any], case: str | None) -> dict[str, Any]:
        """Return the checked values in *table*, which belongs to *case* or, for None, to all cases."""
        facts: dict[str, Any] = {}
        for key, value in table.items():
            at = f"{self.path}:{self.line(case, key)}"
            if key not in _KEYS:
                meant = near(key, _KEYS)
                hint = f" (meant: {' or '.join(meant)})" if meant else ""
                raise UsageError(
                    f"{at} has the unknown key {shown(key)!r}{hint}; known are {', '.join(_KEYS)}"
                )
            try:
                fact = _KEYS[key](value)
                if key in _LOCATED:
                    fact = self.beside(key, fact)
            except (TypeError, ValueError):
                raise UsageError(f"{at}: {key} is {shown(repr(value))}; {_WANTED[key]}") from None
            except MlusimError as error:
                raise UsageError(f"{at}: {error}") from None
            facts[key] = fact
        return facts

    def beside(self, key: str, fact: Any) -> Any:
        """Return *fact* with its paths resolved relative to the folder of this file."""
        folder = Path(self.path).parent
        if isinstance(fact, tuple):
            return tuple(_joined(folder, name) for name in fact)
        return {name: _beside(folder, text, f"{key} {name}") for name, text in fact.items()}

    def line(self, case: str | None, key: str | None) -> int:
        """Return the line of *key* of *case*, or of the case itself."""
        # tomllib gives no lines, so that they are searched in the text; if the key is not found the line is
        # the case's.
        at, inside = 1, case is None
        for number, line in enumerate(self.text.splitlines(), 1):
            head = re.match(r"\s*\[\s*([^\[\]]*?)\s*\]", line)
            if head is not None:
                names = [word.strip().strip("\"'") for word in head[1].split(".", 2)]
                inside = case is not None and names[:2] == [TABLE, case]
                if inside and (names[2:] == [key] or at == 1):
                    at = number
                    if key is None or names[2:] == [key]:
                        return number
                continue
            word = re.match(r"\s*([\w-]+|\"[^\"]*\"|'[^']*')\s*[.=]", line)
            if inside and key is not None and word is not None and word[1].strip("\"'") == key:
                return number
        return at


def _joined(folder: Path, name: str) -> str:
    """Return the path of *name*, which is relative to *folder*, from the current folder."""
    return os.path.normpath(folder / name)


def _beside(folder: Path, text: str, what: str) -> str:
    value = value_of(text, what)
    if value.file is None:
        return text
    member = "" if value.member is None else f":{value.member}"
    return f"{'inout:' if value.comes_back else ''}{_joined(folder, value.file)}{member}"


# -- the keys ----------------------------------------------------------------------------------------


def _word(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise TypeError
    return value


def _words(value: object) -> tuple[str, ...]:
    return tuple(_word(word) for word in value) if isinstance(value, list) else (_word(value),)


def _whole(value: object) -> int:
    # True is an int in Python, but a mistake in a file.
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    return value


def _grid(value: object) -> tuple[int, int, int]:
    if isinstance(value, str):
        return dim_of(value)
    return dim_of(",".join(str(_whole(size)) for size in (value if isinstance(value, list) else [value])))


def _scalar(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ",".join(_scalar(number) for number in value)
    if not isinstance(value, str | int | float) or value == "":
        raise TypeError
    return str(value)


def _scalars(value: object) -> dict[str, str]:
    return {name: _scalar(number) for name, number in value.items()} if isinstance(value, dict) else _refuse()


def _arrays(value: object) -> dict[str, str]:
    return {name: _word(text) for name, text in value.items()} if isinstance(value, dict) else _refuse()


def _refuse() -> Any:
    raise TypeError


def _thresholds(value: object) -> dict[str, float | None]:
    if isinstance(value, dict):
        if not value or not set(value) <= {"diff1", "diff2", "diff3"}:
            raise ValueError
        return {"diff1": None, "diff2": None} | {key: _error(error) for key, error in value.items()}
    return dict.fromkeys(("diff1", "diff2"), _error(value))


def _error(value: object) -> float:
    # Not `value < 0`, which is false for NaN, too.
    if not isinstance(value, int | float) or isinstance(value, bool) or not value >= 0:
        raise TypeError
    return float(value)


_KEYS: Mapping[str, Callable[[Any], Any]] = {
    "program": _words,
    "kernel": _word,
    "dim": _grid,
    "kind": lambda value: kind_of(_word(value)).name,
    "board": lambda value: find_board(_word(value)).name,
    "include": _words,
    "define": _scalars,
    "args": _scalars,
    "seed": _whole,
    "reference": _word,
    "expect": _arrays,
    "tolerance": _thresholds,
}
_FIELDS = {"args": "arguments", "seed": "draws"}
_LOCATED = ("program", "include", "args", "expect")
_WANTED: Mapping[str, str] = {
    "program": 'name a BANG C file or a list of them, as "scale.mlu"',
    "kernel": 'name one, as "Scale<float>"',
    "dim": 'give tasks, as 4, [4, 8, 1] or "4,8,1"',
    "kind": 'give "block", "union1" and so on',
    "board": 'name one, as "MLU370-X4"',
    "include": "name a folder or a list of them",
    "define": "give a table of macros, as { TILE = 64 }",
    "args": 'give a table of what --arg takes, as { n = 64, x = "randn:float32:n" }',
    "seed": "give a whole number",
    "reference": 'name a function, as "module:function"',
    "expect": 'give a table of arrays, as { y = "ref.npy" }',
    "tolerance": "give a number of 0 or more, or a table of diff1, diff2 and diff3",
}
