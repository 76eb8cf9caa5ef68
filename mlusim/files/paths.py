"""Names of files as a user types them, and why the system refuses one."""

from pathlib import Path

from mlusim.errors import UsageError

LONGEST = 120  # characters of a reason


def path_of(name: str) -> Path:
    """Return the path that *name* is; raises `UsageError` for a name that no file has."""
    if "\0" in name:
        raise UsageError(f"{shown(name)} is no name of a file: it holds a NUL")
    if not name:
        raise UsageError("the name of a file is empty")
    return Path(name)


def brief(error: Exception) -> str:
    """Return the reason of *error* alone, without the paths and codes around it."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return shown(" ".join(text.split())[:LONGEST])


def shown(text: str) -> str:
    """*text* with what would move the cursor, ring or recolour a terminal written as escapes."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def lines_shown(text: str) -> str:
    """*text* of several lines, as `shown`: ends of lines and tabs stay what they are."""
    if text.isprintable():
        return text
    return "".join(c if c in "\n\t" or c.isprintable() else shown(c) for c in text)
