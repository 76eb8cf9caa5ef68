"""Prose is an engineer's: words of a dialect stay out of code, messages and documents."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("mlusim", "ops", "docs", "benchmarks", "examples", "tests", "editors")
KINDS = ("*.py", "*.md", "*.h", "*.mlu", "*.ipynb")
HERE = Path(__file__).relative_to(ROOT).as_posix()  # which names the words
BANNED = re.compile(
    r"\b(nobody|somebody|everybody|anybody|whoever|whomever|whom|lest|perhaps|anew|hence|whence|upon|shall|thus|whilst|hitherto"
    r"|naught|thereof|wherein|gone on with|hand(s|ed)? on|plays in|(tell|tells|told) of)\b"
    r'|"""(It is one|Nobody|Any|As its \w+)\."""',
    re.IGNORECASE,
)


def texts():
    """Every file of ours that a person reads, with its lines."""
    files = [f for folder in FOLDERS for kind in KINDS for f in (ROOT / folder).rglob(kind)]
    for file in sorted([*files, *ROOT.glob("*.md")]):
        name = file.relative_to(ROOT).as_posix()
        if "/node_modules/" not in name and name != HERE:
            yield name, file.read_text(encoding="utf-8").splitlines()


def test_no_word_of_a_dialect():
    """A reader is told what, where and when, not "nobody" or "lest"."""
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, lines in texts()
        for number, line in enumerate(lines, 1)
        if BANNED.search(line)
    ]

    assert [] == found


def test_the_words_are_found():
    """The measure itself."""
    assert BANNED.search("memory that Nobody changes")
    assert BANNED.search('"""It is one."""')
    assert not BANNED.search("the latest of them, at least")
