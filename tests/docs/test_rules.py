"""Every rule has a page; its first program has the finding that the page shows, its second has none."""

import linecache
import re
import runpy
from pathlib import Path

import pytest
from rich.console import Console

from mlusim.check.checking import check_script, report_of
from mlusim.check.schedules import schedules
from mlusim.errors import Fault
from mlusim.machine.hub import Observer, attending
from mlusim.observe.collect import collecting, finding_of
from mlusim.observe.memcheck import MemCheckFilters, MemCheckNotes
from mlusim.observe.names import CHECKERS
from mlusim.observe.rules import RULES
from mlusim.observe.valuecheck import ValueCheckVectors

FOLDER = Path(__file__).parents[2] / "docs" / "reference" / "rules"
TOLD = [rule for rule in RULES.values() if rule.checker in {*CHECKERS, "fault", "schedule", "suppression"}]


class Gather(Observer):
    """Takes what the checkers have when a launch ends."""

    def __init__(self, checkers):
        self.checkers, self.found = checkers, []

    def launch_end(self, launch):
        """Take it."""
        del launch
        self.found += [finding for checker in self.checkers for finding in checker.findings]

    def fault(self, core, fault):
        """Take it."""
        self.launch_end((core, fault))

    def fetched(self, allocation, low, high):
        """Take what is found when the host copies a result back."""
        del allocation, low, high
        self.found += [f for checker in self.checkers for f in checker.findings if f not in self.found]


def unwatched():
    """What is found of ``kernel.py`` where only a checker watches that tells no faults."""
    with collecting(["plancheck"]) as collector:
        try:
            runpy.run_path("kernel.py")
        except Fault as fault:
            collector.add(fault)
    return collector.found


def findings(program, rule, folder, monkeypatch):
    """What all checkers say when *program* runs as ``kernel.py`` in *folder*; with notes for a note."""
    monkeypatch.chdir(folder)
    linecache.clearcache()  # every program is called kernel.py
    (folder / "kernel.py").write_text(program)
    if rule.checker == "fault":
        return unwatched()
    if rule.checker == "suppression":
        return list(report_of(CHECKERS, [check_script("kernel.py")]).findings)
    if rule.checker == "schedule":
        done = check_script("kernel.py", (), ["plancheck"], schedules=schedules(5), enough=5)
        return list(done.findings)
    checkers = [checker() for checker in CHECKERS.values()]
    memcheck = MemCheckNotes if rule.level == "note" else MemCheckFilters
    checkers = [memcheck() if checker.name == "memcheck" else checker for checker in checkers]
    if rule.level == "note":
        checkers = [ValueCheckVectors() if c.name == "valuecheck" else c for c in checkers]
        for checker in checkers:
            checker.notes = True
    gather = Gather(checkers)
    with attending([*checkers, gather]):
        try:
            runpy.run_path("kernel.py")
        except Fault:
            assert gather.found, "a fault that no checker tells"
    return gather.found


def text(finding):
    """A finding as `mlusim check` prints it on a wide page."""
    console = Console(width=400, no_color=True, quiet=False, force_terminal=False)
    with console.capture() as capture:
        console.print(finding)
    return "\n".join(line.rstrip() for line in capture.get().rstrip().splitlines())


def blocks(rule):
    """The faulty program, what is said of it, and the program without the fault."""
    page = (FOLDER / f"{rule.id}.md").read_text()
    return re.findall(r"```(?:python|text)\n(.*?)```", page, re.DOTALL)


@pytest.mark.parametrize("rule", TOLD, ids=lambda rule: rule.id)
def test_the_page_shows_what_is_said(rule, tmp_path, monkeypatch):
    """The first program on the page has the finding, to the letter."""
    faulty, said, _ = blocks(rule)

    told = [f for f in findings(faulty, rule, tmp_path, monkeypatch) if f.id == rule.id]

    assert said.rstrip() == text(told[0])


@pytest.mark.parametrize("rule", TOLD, ids=lambda rule: rule.id)
def test_the_program_without_the_fault_is_clean(rule, tmp_path, monkeypatch):
    """The second program on the page has no finding of any checker."""
    *_, mended = blocks(rule)

    assert [] == findings(mended, rule, tmp_path, monkeypatch)


def test_every_rule_has_a_page_and_no_page_is_without_a_rule():
    """The folder holds the rules and their index; the index names each with its meaning."""
    index = (FOLDER / "index.md").read_text()

    assert {*RULES, "index"} == {page.stem for page in FOLDER.glob("*.md")}
    assert [] == [r.id for r in RULES.values() if f"| [{r.id}]({r.id}.md) | {r.summary}" not in index]
    assert all((FOLDER / f"{rule}.md").read_text().startswith(f"# {rule}\n") for rule in RULES)


def kinds(kind):
    """*kind* of fault and those below it."""
    return [kind, *(below for direct in kind.__subclasses__() for below in kinds(direct))]


@pytest.mark.parametrize("kind", kinds(Fault), ids=lambda kind: kind.__name__)
def test_every_kind_of_fault_is_told_under_a_rule(kind):
    """Those that have no rule of their own, under that of the nearest kind above."""
    assert finding_of(kind("broken"), None).id in RULES
