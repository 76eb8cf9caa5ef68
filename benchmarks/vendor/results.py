"""The stored measurements, and the tables made from them."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
from attrs import define, field

from benchmarks.vendor.suite import CaseRun

BEGIN, END = "<!-- begin: python -m benchmarks.vendor --page -->\n", "<!-- end -->\n"


@define
class Results:
    """The results on one board: the build, the cases by name, and the test program of entry points."""

    board: str = ""
    built: bool | None = None
    untranslated: dict[str, str] = field(factory=dict)
    cases: dict[str, CaseRun] = field(factory=dict)
    api: dict[str, int] = field(factory=dict)  # tests by outcome
    api_failed: list[str] = field(factory=list)

    @classmethod
    def read(cls, path: Path) -> "Results":
        """Return the results in a file, or empty ones without the file."""
        if not path.exists():
            return cls()
        stored = json.loads(path.read_text(encoding="utf-8"))
        stored["cases"] = {name: CaseRun(**case) for name, case in stored["cases"].items()}
        return cls(**stored)

    def write(self, path: Path) -> None:
        """Store the results in a file."""
        path.write_text(json.dumps(attrs.asdict(self), indent=1), encoding="utf-8")

    def table(self) -> str:
        """Return a table with a row per case, and the sums."""
        runs = sorted(self.cases.values(), key=lambda run: run.case)
        lines = [
            "| case | outcome | largest difference | hardware time (us) | IO efficiency | compute efficiency | findings | seconds | CPU (s) |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        for run in runs:
            rules = ", ".join(f"{rule} {n}" for rule, n in sorted((run.findings or {}).items()))
            cells = (
                run.case,
                run.outcome,
                _number(run.difference),
                _number(run.hardware_us),
                _number(run.io_efficiency),
                _number(run.compute_efficiency),
                rules if rules or run.findings is None else "none",
                f"{run.seconds:.1f}",
                "" if run.cpu is None else f"{run.cpu:.1f}",
            )
            lines.append(f"| {' | '.join(cells)} |")
        return "\n".join([*lines, "", *self._sums(runs)])

    def _sums(self, runs: Sequence[CaseRun]) -> list[str]:
        lines = []
        if self.built is not None:
            ended = "without an error" if self.built else "with an error"
            lines.append(
                f"The build for {self.board} ends {ended}; {len(self.untranslated) or 'no'} sources have something that does not translate."
            )
        outcomes = Counter(run.outcome for run in runs)
        others = ", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items()) if outcome != "passed")
        lines.append(f"{outcomes['passed']} of {len(runs)} cases pass{f'; {others}' if others else ''}.")
        checked = [run for run in runs if run.findings is not None]
        if checked:
            clean = sum(not run.findings for run in checked)
            spent = sum(run.check_cpu or 0 for run in checked)
            took = f", in {spent:.0f} s of CPU" if spent else ""
            lines.append(
                f"{len(checked)} cases ran under all checkers{took}, {clean} of them without a finding."
            )
        if self.api:
            every = sum(self.api.values())
            lines.append(f"{self.api.get('passed', 0)} of {every} tests of the entry points pass.")
        return lines

    def others(self) -> str:
        """Return the cases that do not pass, with their reasons."""
        bad = {run.case: run.remark for run in self.cases.values() if run.outcome != "passed"}
        bad.update(dict.fromkeys(self.api_failed, "of the entry points' tests"))
        return _listed("case", bad)

    def page(self, path: Path, older: "Results | None" = None) -> None:
        """Put the tables into the page, between its marks, followed by the sums of *older*, the results of another board."""
        head, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        _, _, tail = rest.partition(END)
        middle = f"{self.table()}\n\n## Cases that do not pass, and why\n\n{self.others()}\n"
        if self.untranslated:
            middle += f"\n## What does not translate\n\n{_listed('source', self.untranslated)}\n"
        if older is not None:
            sums = "\n".join(older._sums(list(older.cases.values())))  # noqa: SLF001 - of the same class
            middle += f"\n## On {older.board}\n\n{sums}\n"
            if older.untranslated:
                middle += f"\n{_listed('source', older.untranslated)}\n"
        path.write_text(f"{head}{BEGIN}\n{middle}\n{END}{tail}", encoding="utf-8")


def _listed(what: str, why: Mapping[str, str]) -> str:
    lines = [f"| {what} | why |", "| --- | --- |"]
    lines += [f"| {name} | {_plain(reason)} |" for name, reason in sorted(why.items())]
    return "\n".join(lines) if why else "None."


def _plain(text: str) -> str:
    words = [w.rpartition("/")[2] if "/" in w and "." in w else w for w in text.replace("|", "/").split()]
    return " ".join(words)[:300]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
