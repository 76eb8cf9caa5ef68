"""Files that would run code: shown first, run when a person has said so."""

import sys
from collections.abc import Mapping

from mlusim.files.paths import shown

TRUST = "code in the file may run: the script that it holds or names, the sources that it names, conditions of its breakpoints"


def allowed(name: str, texts: Mapping[str, str], how: str = "") -> bool:
    """Ask on a terminal whether the code of the file *name*, shown first, may run; without one it may not.

    *texts* is the code by the names of its files, *how* what it would be run with.
    """
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()):
        return False
    print(listing(texts), file=sys.stderr)
    print(f"{shown(name)} would run this{shown(how)}.  Run it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def listing(texts: Mapping[str, str]) -> str:
    """*texts* with a line above each that names it, and with nothing in them that moves the cursor."""
    parts = []
    for name, text in texts.items():
        parts.append(f"--- {shown(name)}")
        parts.extend(shown(line.replace("\t", "    ")) for line in text.splitlines())
    return "\n".join(parts)
