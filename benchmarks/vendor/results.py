"""What was measured, kept in a file: rows of files and outcomes of calls, and the tables that follow from them."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import attrs
from attrs import define, field

from benchmarks.vendor.engines import Pair
from benchmarks.vendor.files import Row
from benchmarks.vendor.operators import Outcome

BEGIN, END = "<!-- begin: python -m benchmarks.vendor --page -->\n", "<!-- end -->\n"


@define
class Results:
    """Rows by path, calls by entry point and case, and whether each host file parses."""

    files: dict[str, Row] = field(factory=dict)
    calls: dict[str, Outcome] = field(factory=dict)
    engines: dict[str, Pair] = field(factory=dict)  # runs by both, by file, or by entry point and case
    hosts: dict[str, str] = field(factory=dict)  # why a file does not parse, or nothing
    entries: list[str] = field(factory=list)  # entry points of the library that do work
    declared: int = 0  # functions in the library's header
    defined: int = 0  # of which its kernels' folders define so many
    driven: dict[str, list[str]] = field(factory=dict)  # what the programs in `drivers` call of them

    @classmethod
    def read(cls, path: Path) -> "Results":
        """The results in a file; none where there is no file."""
        if not path.exists():
            return cls()
        kept: dict[str, Any] = json.loads(path.read_text())
        files = {k: Row(**v) for k, v in kept["files"].items()}
        calls = {k: Outcome(**v) for k, v in kept["calls"].items()}
        engines = {k: Pair(**v) for k, v in kept.get("engines", {}).items()}
        return cls(
            files, calls, engines, kept["hosts"], kept["entries"], kept.get("declared", 0), kept.get("defined", 0), kept.get("driven", {})
        )  # fmt: skip

    def write(self, path: Path) -> None:
        """Keep them."""
        path.write_text(json.dumps(attrs.asdict(self), indent=1))

    def of_file(self, path: str) -> list[Outcome]:
        """The calls that launched a kernel of a file."""
        return [o for o in self.calls.values() if path in o.files]

    def reached(self) -> tuple[set[str], set[str]]:
        """Entry points that launched a kernel; others that gave a reference's result by the closed library's stand-ins alone."""
        found: tuple[set[str], set[str]] = set(), set()
        for call in self.calls.values():
            names = {call.entry, *self.driven.get(call.entry, ())} & set(self.entries)
            if call.files or call.kernels:
                found[0].update(names)
            elif call.right:
                found[1].update(names)
        return found[0], found[1] - found[0]

    # -- tables --------------------------------------------------------------------------------------

    def table(self) -> str:
        """A row a file, and the sums."""
        lines = [
            "| file | parses | translates | runs | calls | max difference | findings | seconds | remark |",
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        ]
        verdicts: Counter[str] = Counter()
        for path, row in sorted(self.files.items()):
            calls = self.of_file(path)
            judged = [c for c in calls if c.right is not None]
            wrong = [c for c in judged if not c.right]
            right = row.right is not False and not wrong and (bool(judged) or row.right is True)
            verdict = (
                "right" if right else "wrong" if wrong or row.right is False else "runs" if calls else ""
            )
            verdicts[verdict] += 1
            found: Counter[str] = Counter(row.findings)
            for call in calls:
                found.update(call.findings)
            differences = [d for d in (row.difference, *(c.difference for c in judged)) if d is not None]
            remark = row.remark or (wrong[0].remark if wrong else "") or "; ".join(row.untranslated[:1])
            cells = (
                path, _word(row.parses), _word(row.parses and not row.untranslated), verdict, str(len(calls) or ""),
                f"{max(differences):.3g}" if differences else "", ", ".join(f"{k} {n}" for k, n in sorted(found.items())),
                f"{row.seconds + sum(c.seconds for c in calls):.1f}", remark.replace("|", "/")[:160],
            )  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
        rows = self.files.values()
        parsed = sum(not why for why in self.hosts.values())
        launched, by_stand_ins = self.reached()
        cases = [c for c in self.calls.values() if not c.case.startswith("ours")]
        translated = sum(r.parses and not r.untranslated for r in rows)
        judged = [c for c in cases if c.right is not None]
        lines.append("")
        lines.append(
            f"{sum(r.parses for r in rows)} of {len(rows)} kernels files parse, {translated} translate in full; "
            f"{verdicts['right']} give the results of a reference, {verdicts['wrong']} do not, {verdicts['runs']} more run without one."
        )
        lines.append(f"{parsed} of {len(self.hosts)} host files parse.")
        lines.append(
            f"`mlu_op.h` declares {self.declared} functions, of which {self.defined} are defined below `kernels`; "
            f"{self.defined - len(self.entries)} of them make or set descriptors and plans, or tell sizes, and {len(self.entries)} do work."
        )
        lines.append(
            f"Of the {len(self.entries)} entry points that do work {len(launched)} reached a launch, and {len(by_stand_ins)} more, which call "
            "the closed library alone, gave a reference's result through its stand-ins."
        )
        lines.append(
            f"Of the vendor's {len(cases)} cases {sum(bool(c.files or c.kernels) for c in cases)} reached a launch, and "
            f"{sum(bool(c.right) for c in judged)} of the {len(judged)} that have a reference gave its results."
        )
        launching = [c for c in self.calls.values() if c.kernels]
        lines.append(
            f"Of the {len(launching)} calls in this table that launch kernels {sum(c.checked for c in launching)} were made a second time "
            "under all checkers."
        )
        if self.engines:
            lines.append(self._both())
        return "\n".join(lines)

    def _both(self) -> str:
        """What the runs by both engines say, in a line, and a line for each that differs."""
        pairs = self.engines.values()
        interpreted = {kernel for pair in pairs for kernel in pair.interpreted}
        straight = sum(name in self.files for name in self.engines)
        said = (
            f"{straight} straight runs and {len(pairs) - straight} calls were made by the Python engine, and again by the one that "
            f"`auto` takes: {sum(p.launches for p in pairs)} launches, of which C ran {sum(p.native for p in pairs)}; {len(interpreted)} "
            f"kernels ran in Python both times. {sum(not p.differs for p in pairs)} of {len(pairs)} are the same in the bytes of all tensors, "
            "instructions, traffic, lanes, memory, scalar accesses, predicted time and the logs of their tasks."
        )
        differing = [
            f"* {name}: {_plain('; '.join(p.differs))}" for name, p in self.engines.items() if p.differs
        ]
        return "\n".join((said, *differing))

    def blanks(self) -> str:
        """Calls that reached no launch, or gave something else than their reference, and why."""
        lines = ["| entry point | case | why |", "| --- | --- | --- |"]
        for call in sorted(self.calls.values(), key=lambda c: (c.entry, c.case)):
            if call.right is False or not (call.kernels or call.right):
                why = call.remark or call.status or "nothing was launched"
                lines.append(f"| {call.entry or '?'} | {call.case} | {_plain(why)} |")
        return "\n".join(lines)

    def older(self) -> str:
        """The sums of the files' own runs, and which of them are blank or wrong, as text."""
        rows = self.files.values()
        tried = [r for r in rows if r.ran is not None]
        translated = sum(r.parses and not r.untranslated for r in rows)
        sums = (
            f"{sum(r.parses for r in rows)} of {len(rows)} kernels files parse, {translated} translate in full; of the {len(tried)} "
            f"with a run of their own {sum(bool(r.right) for r in tried)} give the results of a reference."
        )
        lines = [sums, "", "| file | why |", "| --- | --- |"]
        for path, row in sorted(self.files.items()):
            if row.untranslated or not row.parses or (row.ran is not None and not row.right):
                why = row.remark or "; ".join(row.untranslated[:1]) or "a comparison is wrong"
                lines.append(f"| {path} | {_plain(why)} |")
        return "\n".join(lines)

    def page(self, path: Path, older: "Results | None" = None) -> None:
        """Put the tables into the page, between its marks."""
        text = path.read_text()
        head, _, rest = text.partition(BEGIN)
        _, _, tail = rest.partition(END)
        middle = f"{self.table()}\n\n## Calls that are blank, and why\n\n{self.blanks()}\n"
        if older is not None:
            middle += f"\n## At `__BANG_ARCH__` 372\n\n{older.older()}\n"
        path.write_text(f"{head}{BEGIN}\n{middle}\n{END}{tail}")


def _plain(text: str) -> str:
    words = [w.rpartition("/")[2] if "/" in w and "." in w else w for w in text.replace("|", "/").split()]
    return " ".join(words)[:260]


def _word(value: bool) -> str:
    return "yes" if value else "no"
