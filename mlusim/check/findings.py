"""The findings of one or many runs of a program, as plain data: the model that every format shares."""

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen

from mlusim.document import members
from mlusim.observe.checker import Allowed
from mlusim.observe.finding import NOTE, Finding, RelatedPlace
from mlusim.observe.suppress import Comment

if TYPE_CHECKING:
    from mlusim.observe.collect import Collector


@frozen
class Checked:
    """One checked run of a *program* (an operator or a script), with its *case* and its *board*, if it has them.

    ``allowed`` are findings that comments in the kernels allow, ``accepted`` findings that suppressions cover.
    ``launches`` and ``faults`` are counts; ``problem`` is a sentence about any other failure: failed accuracy, an
    unexpected status, an exception in the script.  ``unchecked`` counts, by checker, the launches that the checker
    could not check, such as a launch without a plan for plancheck.  ``schedules`` is the number of compared
    schedules; ``comments`` are the comments in the kernels that allow findings.
    """

    program: str
    case: str | None = None
    board: str | None = None
    findings: tuple[Finding, ...] = ()
    allowed: tuple[Allowed, ...] = ()
    launches: int = 0
    faults: int = 0
    problem: str = ""
    accepted: tuple[Allowed, ...] = ()
    schedules: int = 0
    comments: tuple[Comment, ...] = ()
    unchecked: tuple[tuple[str, int], ...] = ()

    @property
    def name(self) -> str:
        """The program, its case and its board."""
        case = "" if self.case is None else f" {self.case}"
        return self.program + case + ("" if self.board is None else f" on {self.board}")


def checked(collector: "Collector", program: str, problem: str) -> Checked:
    """Return all results of *collector* as plain data."""
    return Checked(
        program=program,
        findings=tuple(collector.found),
        allowed=tuple(collector.allowed),
        comments=tuple(collector.comments),
        launches=collector.launches,
        unchecked=tuple(collector.unchecked.items()),
        faults=len(collector.faults),
        problem=problem,
    )


@frozen
class CheckReport:
    """All runs, the names of their checkers, and remarks on the check itself."""

    checkers: tuple[str, ...]
    runs: tuple[Checked, ...]
    remarks: tuple[Finding, ...] = ()

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of all runs, each once with its count, then the remarks."""
        return (*fold(finding for run in self.runs for finding in run.findings), *self.remarks)

    @property
    def allowed(self) -> tuple[Allowed, ...]:
        """The findings that comments in the kernels allow, each once with its count."""
        return _fold_allowed(allowed for run in self.runs for allowed in run.allowed)

    @property
    def accepted(self) -> tuple[Allowed, ...]:
        """The findings that suppressions cover, each once with its count."""
        return _fold_allowed(accepted for run in self.runs for accepted in run.accepted)

    @property
    def errors(self) -> int:
        """The number of different findings that are not notes."""
        return sum(finding.level != NOTE for finding in self.findings)

    @property
    def notes(self) -> int:
        """The number of different notes."""
        return sum(finding.level == NOTE for finding in self.findings)

    @property
    def faults(self) -> int:
        """Launches that ended in a fault."""
        return sum(run.faults for run in self.runs)

    @property
    def launches(self) -> int:
        """The number of checked launches."""
        return sum(run.launches for run in self.runs)

    @property
    def unchecked(self) -> dict[str, int]:
        """Return how many launches a checker could not check, by its name."""
        launches: Counter[str] = Counter()
        for run in self.runs:
            launches.update(dict(run.unchecked))
        return dict(launches)

    @property
    def schedules(self) -> int:
        """The number of different schedules that were compared with the default one."""
        return sum(run.schedules for run in self.runs)

    @property
    def problems(self) -> tuple[str, ...]:
        """The runs that failed for another reason than a finding, each with a sentence."""
        return tuple(f"{run.name}: {run.problem}" for run in self.runs if run.problem)

    @property
    def clean(self) -> bool:
        """True if there are no findings but notes, no faults and no problems."""
        return not (self.errors or self.faults or self.problems)

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``check --json``."""
        return {
            "clean": self.clean,
            "checkers": list(self.checkers),
            **members(self, "launches", "unchecked", "schedules", "errors", "notes", "faults"),
            "findings": [finding.to_json() for finding in self.findings],
            "suppressed": [
                a.finding.to_json() | {"reason": a.reason} for a in (*self.allowed, *self.accepted)
            ],
            "runs": [_run(run) for run in self.runs],
        }


def _run(run: Checked) -> dict[str, Any]:
    return {
        **members(run, "program", "case", "board", "launches"),
        "unchecked": dict(run.unchecked),
        "schedules": run.schedules,
        "findings": sum(finding.level != NOTE for finding in run.findings),
        "faults": run.faults,
        "problem": run.problem or None,
    }


def fold(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return findings without duplicates, by file and line: the first of each kind, with the sum of the counts.

    Findings are of one kind if they have the same rule, the same statement of the same kernel, and the same cause.
    Other places that suffer from the cause are collected from all of them.
    """
    kinds: dict[Any, list[Finding]] = {}
    for finding in findings:
        kinds.setdefault(_key(finding), []).append(finding)
    folded = [
        evolve(alike[0], places=_places(alike)).times(sum(finding.count for finding in alike))
        for alike in kinds.values()
    ]
    # By place, not by time: the report follows the source, and does not depend on the schedule.
    return tuple(sorted(folded, key=lambda f: (f.file or "", f.line or 0, f.id)))


def _places(alike: list[Finding]) -> tuple[RelatedPlace, ...]:
    """Return the places of the first of *alike*, then every place in any of them that suffers from the same cause.

    A place that several findings name is listed once, with the sum of their counts.
    """
    below: dict[tuple[str, int, str], RelatedPlace] = {}
    for place in (place for finding in alike for place in finding.places if place.victim):
        key = place.file, place.line, place.about or place.message
        held = below.get(key)
        below[key] = place if held is None else evolve(held, count=held.count + place.count)
    return *(place for place in alike[0].places if not place.victim), *below.values()


def _fold_allowed(every: Iterable[Allowed]) -> tuple[Allowed, ...]:
    """Fold the findings; each kind keeps the first reason."""
    comments = tuple(every)
    # Reversed, so that the first reason of a kind is the one that stays in the dictionary.
    reasons = {_key(allowed.finding): allowed.reason for allowed in reversed(comments)}
    return tuple(Allowed(f, reasons[_key(f)]) for f in fold(allowed.finding for allowed in comments))


def _key(finding: Finding) -> tuple[Any, ...]:
    where = finding.file, finding.line, finding.kernel, finding.intrinsic, finding.facts.get("case")
    return finding.id, finding.level, where, _cause(finding)


def _cause(finding: Finding) -> Any:
    """Return the other statements that *finding* involves, and those of its facts that are words: an operand, a region, a kind.

    Addresses, sizes and tasks differ between launches with the same fault.  A finding without statements and
    facts is identified by its sentence.
    """
    # Findings of other packages need not have facts.
    if not (finding.places or finding.facts):
        return finding.message
    words = (
        (name, str(fact))
        for name, fact in sorted(finding.facts.items())
        if isinstance(fact, str) or (isinstance(fact, list) and all(isinstance(part, str) for part in fact))
    )
    return tuple((place.file, place.line) for place in finding.places if not place.victim), *words
