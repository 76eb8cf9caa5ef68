"""Suppressions: what is refused, what they cover, and what is said of those that cover nothing."""

import pytest

from mlusim.errors import UsageError
from mlusim.observe.finding import Finding
from mlusim.observe.suppress import Suppression, sift, suppressions_in, unused

RACE = "racecheck-tasks-same-word"
GOOD = f"""
# accepted
[[suppress]]
id = "{RACE}"
place = "ops/fill.py:31"
reason = "the same zero"

[[suppress]]
id = "initcheck-lanes-mixed"
place = "ops/*/kernel.py"
reason = "masked later"
"""


def suppression(place, rule=RACE):
    """A suppression of *rule* at *place*."""
    return Suppression(rule, place, "a reason", "s.toml", 3)


def test_entries_know_where_they_stand():
    """Each entry has its line in the file, for the note on an unused one."""
    first, second = suppressions_in(GOOD, "s.toml")

    assert Suppression(RACE, "ops/fill.py:31", "the same zero", "s.toml", 3) == first
    assert ("initcheck-lanes-mixed", 8) == (second.id, second.line)


def test_an_empty_file_has_no_entries():
    """There is nothing wrong with accepting nothing."""
    assert () == suppressions_in("", "s.toml")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (f'[[suppress]]\nid = "{RACE}"\nplace = "a.py"\n', "s.toml:1 has no reason; say why"),
        (f'[[suppress]]\nid = "{RACE}"\nplace = "a.py"\nreason = "  "\n', "has no reason"),
        (f'[[suppress]]\nid = "{RACE}"\nreason = "r"\n', "has no place"),
        ('[[suppress]]\nplace = "a.py"\nreason = "r"\n', "has no id"),
        (f'[[suppress]]\nid = "{RACE}"\nplace = 3\nreason = "r"\n', "has no place"),
        ('[[suppress]]\nid = "memcheck-typo"\nplace = "a"\nreason = "r"\n', "unknown rule 'memcheck-typo'; known: memcheck-"),
        (f'[[suppress]]\nid = "{RACE}"\nplace = "a"\nreason = "r"\nwhy = ""\n', "unknown key 'why'"),
        ("[suppress]\nid = 3\n", r"may hold \[\[suppress\]\] tables only"),
        ("[other]\n", r"may hold \[\[suppress\]\] tables only"),
        ("[[suppress", "s.toml is not TOML"),
    ],
)  # fmt: skip
def test_a_file_with_a_mistake_is_refused(text, sentence):
    """The sentence says which entry, and what it lacks."""
    with pytest.raises(UsageError, match=sentence):
        suppressions_in(text, "s.toml")


def test_rules_of_others_may_be_suppressed():
    """Only the rules of mlusim's own checkers are known by name."""
    text = '[[suppress]]\nid = "theirs-odd"\nplace = "*"\nreason = "r"\n'

    assert ["theirs-odd"] == [s.id for s in suppressions_in(text, "s.toml")]


@pytest.mark.parametrize(
    ("place", "file", "line", "covered"),
    [
        ("kernel.py", "/src/ops/fill/kernel.py", 7, True),
        ("fill/kernel.py", "/src/ops/fill/kernel.py", 7, True),
        ("fill/kernel.py:7", "/src/ops/fill/kernel.py", 7, True),
        ("fill/kernel.py:8", "/src/ops/fill/kernel.py", 7, False),
        ("ll/kernel.py", "/src/ops/fill/kernel.py", 7, False),
        ("ops/*/kernel.py", "/src/ops/fill/kernel.py", 7, True),
        ("ops/*/kernel.py", "/src/mine/fill/kernel.py", 7, False),
        ("/src/k.py", "/src/k.py", 7, True),
        ("/src/k.py", "/other/src/k.py", 7, False),
        ("*", "/src/k.py", 7, True),
        ("*", None, None, True),
        ("k.py", None, None, False),
    ],
)
def test_a_place_is_compared_from_its_end(place, file, line, covered):
    """Whole names count, wildcards stand for one name, a line narrows."""
    assert covered is suppression(place).covers(Finding(RACE, "m", file=file, line=line))


def test_another_rule_at_the_place_is_not_covered():
    """A suppression is for one rule."""
    assert not suppression("k.py").covers(Finding("memcheck-misaligned", "m", file="k.py", line=1))


def test_sifting_keeps_every_finding_on_one_side():
    """What is covered comes out with the reason of the first that covers it, the rest as it went in."""
    one, two = Finding(RACE, "m", file="a.py", line=1), Finding(RACE, "m", file="b.py", line=1)
    kept, allowed = sift((one, two), [suppression("a.py"), suppression("*.py:1", "other")])

    assert (two,) == kept
    assert [(one, "a reason")] == [(a.finding, a.reason) for a in allowed]


def test_an_unused_suppression_is_a_note_at_its_entry():
    """It fails no run, and says where to remove it."""
    one = Finding(RACE, "m", file="a.py", line=1)
    notes = unused([one], [suppression("a.py"), suppression("gone.py")])

    assert [("suppression-unused", "note", "s.toml", 3)] == [(n.id, n.level, n.file, n.line) for n in notes]
    assert "gone.py" in notes[0].message
