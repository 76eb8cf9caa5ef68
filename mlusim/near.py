"""Guesses at the name that an unknown one may have been meant to be."""

from collections.abc import Iterable

SHORT = 6  # characters; of a shorter name the first letter must be right
PART = 3  # characters that a part of a name must have to stand for it


def near(name: str, names: Iterable[str], most: int = 3, *, beside: str = "") -> list[str]:
    """Return at most *most* of *names* that *name* may be meant to be: those it is a part of, then those it misspells.

    A misspelling differs in one letter of a short name and in one of four of a long one, a swap of neighbours
    counting once; *beside* is what names may begin with and people leave out.  Case and underscores do not count.
    """
    wanted = _plain(name)
    every = {candidate: _plain(candidate.removeprefix(beside)) for candidate in names}
    parts = [candidate for candidate in every if len(wanted) >= PART and wanted in _plain(candidate)]
    if parts:
        return sorted(parts, key=len)[:most]
    whole = _plain(name.removeprefix(beside))
    ranked = sorted(
        (distance(whole, plain), candidate)
        for candidate, plain in every.items()
        if len(whole) >= SHORT or whole[:1] == plain[:1]
    )
    return [candidate for apart, candidate in ranked if apart <= max(1, len(whole) // 4)][:most]


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def distance(word: str, other: str) -> int:
    """Return how many letters to insert, drop, replace or swap with their neighbours make *other* of *word*."""
    rows = [list(range(len(other) + 1))]
    for i, letter in enumerate(word, 1):
        row = [i]
        for j, there in enumerate(other, 1):
            least = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (letter != there))
            if i > 1 and j > 1 and letter == other[j - 2] and word[i - 2] == there:
                least = min(least, rows[-2][j - 2] + 1)
            row.append(least)
        rows.append(row)
    return rows[-1][-1]
