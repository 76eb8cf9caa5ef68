"""Macros of the sources of a translation unit, for the debugger: their definitions, and what an invocation means."""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from attrs import frozen

from mlusim.counted import plural
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.c_syntax import NoExpression

# Parameters stand directly behind the name: a parenthesis behind a space is the body's.
_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^)\n]*\))?(?P<body>(?:.*\\\n)*.*)$",
    re.MULTILINE,
)
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)


@frozen
class Macro:
    """One definition: ``parameters`` are None where the macro takes none; ``body`` is one line without comments."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    file: str
    line: int

    def __str__(self) -> str:
        taken = "" if self.parameters is None else f"({', '.join(self.parameters)})"
        return f"#define {self.name}{taken} {self.body}".rstrip()

    def expanded(self, arguments: Sequence[str] = ()) -> str:
        """Return the text of an invocation.  Raises `NoExpression` for a count of arguments or an operator that it does not take."""
        parameters = self.parameters or ()
        if len(arguments) != len(parameters) or "..." in parameters:
            raise NoExpression(
                f"{self.name} takes {len(parameters)} {plural(len(parameters), 'argument')}, not {len(arguments)}"
            )
        if "#" in self.body:
            raise NoExpression(f"{self.name} joins or quotes tokens, which the debugger does not expand")
        given = dict(zip(parameters, arguments, strict=True))
        # Macros in it are expanded when the text is evaluated.
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: given.get(word[0], word[0]), self.body)


@lru_cache(maxsize=16)
def macros_of(form: ir.TranslationUnit) -> Mapping[str, tuple[Macro, ...]]:
    """Return every definition in the file of *form* and in what it includes, by name, in the order of the text."""
    found: dict[str, tuple[Macro, ...]] = {}
    for path in dict.fromkeys((*form.includes, form.path)):
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for one in _DEFINITION.finditer(text):
            body = " ".join(_COMMENT.sub(" ", one["body"].replace("\\\n", " ")).split())
            taken = one["parameters"]
            names = None if taken is None else tuple(p.strip() for p in taken[1:-1].split(",") if p.strip())
            made = Macro(one["name"], names, body, path, text.count("\n", 0, one.start()) + 1)
            found[made.name] = (*found.get(made.name, ()), made)
    return found


def macro_at(form: ir.TranslationUnit, name: str, file: str, line: int) -> Macro | None:
    """Return the definition of *name* that counts at a line: the last one before it in its file, else the last of another file."""
    known = macros_of(form).get(name, ())
    here = [m for m in known if m.file == file and m.line < line]
    elsewhere = [m for m in known if m.file != file]
    found = here or elsewhere
    return found[-1] if found else None
