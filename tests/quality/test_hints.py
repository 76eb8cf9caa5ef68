"""The hints of racecheck work: with the sync of the hint in the planted kernel, the finding is gone."""

import inspect
import linecache
import re
import textwrap

import plants_races
import pytest
from attrs import evolve
from quality_plants import PLANTS, findings

RACES = [it for it in PLANTS if it.body.__module__ == plants_races.__name__]
PUT = re.compile(r"put (?P<sync>mlu\.\w+\(\)) before line (?P<line>\d+)")


def _races(it):
    """What racecheck says of the plant under the rule that is named."""
    return [finding for name, finding in findings(it, wrong=True) if finding.id == it.rule]


def _told():
    """Every plant with a hint that names a line, and the finding."""
    for it in RACES:
        found = next(iter(_races(it)))
        if PUT.match(found.hint):
            yield pytest.param(it, found, id=it.name)


def _mended(it, finding):
    """The plant with the sync of the hint in front of the line of the hint."""
    hint = PUT.match(finding.hint)
    lines, start = inspect.getsourcelines(it.body)
    at = int(hint["line"]) - start
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    lines.insert(at, f"{indent}{hint['sync']}\n")
    first = next(n for n, line in enumerate(lines) if line.startswith("def "))
    source = textwrap.dedent("".join(lines[first:]))
    name = f"mended {it.name}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names = dict(it.body.__globals__)
    exec(compile(source, name, "exec"), names)  # noqa: S102 - the source of a test, with one line more
    return evolve(it, body=names[it.body.__name__])


@pytest.mark.parametrize(("it", "finding"), list(_told()))
def test_the_hint_works_in_the_kernel(it, finding):
    """What is said to be verified holds when it is done."""
    assert finding.facts["hint_verified"]
    assert [] == _races(_mended(it, finding))


def test_most_races_have_a_hint_with_a_line():
    """The others are about shares of the tasks, or about launches."""
    assert len(list(_told())) >= 15
