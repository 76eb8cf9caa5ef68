"""``#line``: the places of a form as the text names them, which another program has written."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from typing import Any

import attrs

from mlusim.frontend.bangc.ir import Span, TranslationUnit

_DIRECTIVE = re.compile(r'^[ \t]*#[ \t]*(?:line[ \t]+)?(\d+)[ \t]+"((?:[^"\\\n]|\\.)*)"', re.MULTILINE)


def name_lines(form: TranslationUnit, texts: Mapping[str, str]) -> None:
    """Change the places in *form* to what the ``#line`` directives of *texts*, by path, say; a column stays.

    The lowering itself reads texts where they are, so that this comes last.
    """
    tables = {path: table for path, text in texts.items() if (table := _table(text))}
    if not tables:
        return

    def named(span: Span) -> Span:
        table = tables.get(span.file)
        at = bisect_right(table, (span.line,)) - 1 if table is not None else -1
        if table is None or at < 0:
            return span
        written, line, file = table[at]
        moved = line - written - 1
        return Span(file, span.line + moved, span.column, span.end_line + moved, span.end_column)

    for holder, field, span in [*_spans(form)]:
        object.__setattr__(holder, field, named(span))


def _table(text: str) -> list[tuple[int, int, str]]:
    """Return the directives: where each is written, and the line and the file that it names for the next line."""
    return [
        (
            text.count("\n", 0, directive.start()) + 1,
            int(directive[1]),
            directive[2].replace('\\"', '"').replace("\\\\", "\\"),
        )
        for directive in _DIRECTIVE.finditer(text)
    ]


def _spans(form: TranslationUnit) -> Iterator[tuple[Any, str, Span]]:
    """Yield each place that an object of *form* holds, once, with the object and the name of its field."""
    seen: set[int] = set()
    waiting: list[Any] = [form.functions, form.globals, form.initialisers]
    fields: dict[type, tuple[str, ...]] = {}
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.values()
        elif isinstance(value, tuple | list):
            waiting += value
        elif attrs.has(type(value)) and id(value) not in seen:
            seen.add(id(value))
            names = fields.setdefault(type(value), tuple(a.name for a in attrs.fields(type(value))))
            for name in names:
                inner = getattr(value, name)
                if isinstance(inner, Span):
                    yield value, name, inner
                elif not isinstance(inner, str | int | float):
                    waiting.append(inner)
