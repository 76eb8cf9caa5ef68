"""Plain tables: columns as wide as they need to be, for terminals of any width and for tests."""

from collections.abc import Iterable, Sequence


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return the lines of columns, two blanks apart; empty columns are left out."""
    kept = [list(row) for row in rows]
    shown = [n for n in range(len(heads)) if any(row[n] for row in kept)]
    lines = [[heads[n] for n in shown], *([row[n] for n in shown] for row in kept)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(shown))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def pairs(rows: Iterable[tuple[str, str]]) -> str:
    """Return the names and values, one pair a line."""
    kept = list(rows)
    width = max((len(name) for name, _ in kept), default=0)
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in kept)


def declared_as(kind: str, name: str) -> str:
    """Return a variable as C declares it: ``const float *src``; without a type its name."""
    if not kind:
        return name
    head, bracket, sizes = kind.partition("[")
    space = "" if head.endswith(("*", "&")) else " "
    return f"{head.rstrip() if bracket else head}{space}{name}{bracket}{sizes}"
