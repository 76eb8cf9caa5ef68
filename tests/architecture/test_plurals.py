"""Sentences count properly: a number that may be 1 stands before `plural(...)`, not before a word that is plural for good."""

import ast
import re
from pathlib import Path

import pytest
from import_graph import nodes_of

from mlusim.counted import counted, plural, with_article

ROOT = Path(__file__).parents[2]

THINGS = (
    "bytes|elements|launches|clusters|tasks|arguments|kernels|values|calls|characters|points|hits|functions|operands|"
    "others|turns|dimensions|variables|instructions|words|findings|errors|warnings"
)
BEHIND = re.compile(rf"^ (?:more |other )?(?:{THINGS})\b")
OF = re.compile(r"\bof (?:the )?$")
"""Behind "3 of" stands a plural, whatever the number."""
NEVER_ONE = re.compile(
    r"\b[A-Z][A-Z_]+\b|capacity|max_|high_water|\.nram|\.sram|\bsize\(|extent|limit|of_size|\bmean\b|diff2|min\(fit|^region\.(?:touches|size)$"
)
"""What is a constant, the size of a memory, a limit or a formula."""
NAMES = re.compile(r"(?:\b|_)(?:name|names|word|text|label|form|left_out|kind\]|CHOICE\])$")
"""What is not a number."""


def counted_badly(nodes):
    """The f-strings among *nodes* with a bare number before a plural: line and words."""
    for node in nodes:
        if not isinstance(node, ast.JoinedStr):
            continue
        for n, (number, words) in enumerate(zip(node.values, node.values[1:], strict=False)):
            if not (isinstance(number, ast.FormattedValue) and isinstance(words, ast.Constant)):
                continue
            if number.conversion == ord("r"):
                continue  # what a caller gave, as it stands
            before = node.values[n - 1] if n else None
            shown = ast.unparse(number.value)
            of = isinstance(before, ast.Constant) and OF.search(str(before.value))
            if (
                BEHIND.match(words.value)
                and not of
                and not NEVER_ONE.search(shown)
                and not NAMES.search(shown)
            ):
                yield node.lineno, shown + words.value


def test_numbers_that_may_be_one_have_the_word_for_it():
    """No f-string of the package says "1 launches"."""
    found = [
        f"{path.relative_to(ROOT)}:{line}: {words}"
        for folder in ("mlusim", "ops")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for line, words in counted_badly(nodes_of(path))
    ]

    assert [] == found


def test_what_is_looked_for_is_found():
    """The rule finds what was said before, and lets pass what is right."""
    bad = (
        "f'{len(launches)} launches', f'{nbytes:,} bytes', f'{more} more functions', f'size is {size} bytes'"
    )
    good = "f'{n} of {total} calls', f'{MOST} bytes', f'{n} {plural(n, \"byte\")}', f'{self.capacity} bytes'"

    assert 4 == len(list(counted_badly(ast.walk(ast.parse(bad)))))
    assert [] == list(counted_badly(ast.walk(ast.parse(good))))


@pytest.mark.parametrize(
    ("noun", "said"),
    [
        ("int", "an int"),
        ("float", "a float"),
        ("uint8", "a uint8"),
        ("unsigned int", "an unsigned int"),
        ("UNION1", "a UNION1"),
        ("atomic_add", "an atomic_add"),
    ],
)
def test_an_article_goes_by_the_sound(noun, said):
    """The word "an" stands before a vowel that is heard."""
    assert said == with_article(noun)


def test_one_is_singular():
    """1 and only 1."""
    assert ["0 bytes", "1 byte", "2,000 bytes"] == [counted(n, "byte") for n in (0, 1, 2000)]
    assert ["are", "is", "are"] == [plural(n, "is", "are") for n in (0, 1, 2)]
