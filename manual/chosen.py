"""Words of a command line that choose what is made again."""

import sys
from collections.abc import Collection, Sequence


def chosen(names: Sequence[str], known: Collection[str], what: str) -> Collection[str]:
    """Return *names*, or all that is *known* where none is given; nothing, with a sentence on standard error, where one is not a *what*."""
    unknown = next((name for name in names if name not in known), None)
    if unknown is None:
        return names or known
    print(f"no {what} {unknown!r}; there are {', '.join(known)}", file=sys.stderr)
    return ()
