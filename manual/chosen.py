"""Command-line words that choose which files to make again."""

import sys
from collections.abc import Collection, Sequence


def chosen(names: Sequence[str], legal: Collection[str], what: str) -> Collection[str]:
    """Return *names*, or all *legal* ones if none is given; return nothing, after a sentence on standard error, if a name is not a *what*."""
    unknown = next((name for name in names if name not in legal), None)
    if unknown is None:
        return names or legal
    print(f"no {what} {unknown!r}; there are {', '.join(legal)}", file=sys.stderr)
    return ()
