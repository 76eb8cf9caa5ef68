"""``--baseline`` and ``--write-baseline`` of reports and profiles: comparing a run with a stored one, and storing one."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen
from rich.text import Text

import mlusim
from mlusim.cli import options, show
from mlusim.cli.arguments.shared import USUAL_THRESHOLD, threshold
from mlusim.counted import counted
from mlusim.document import Part, Unfolded
from mlusim.errors import UsageError
from mlusim.files.reading import read_text
from mlusim.files.writing import changing, check_writable
from mlusim.operators.campaign import Job
from mlusim.operators.registry import operators
from mlusim.report import compare

Exists = Callable[[compare.Key], bool]
LARGEST = 64 << 20  # bytes: a line has about 300, so that this suffices for 200,000 calls
STYLES = {"regression": "bold red", "improvement": "green", "trade": "yellow"}


@frozen
class Gate:
    """The comparison that the command line requests: the stored run to compare with, or the file to store this run in.

    ``of`` names what a baseline of this verb contains.
    """

    name: str | None
    baseline: compare.Baseline | None
    threshold: float
    target: str | None
    of: str = compare.CALLS
    allow_missing: bool = False

    def compared(
        self, measured: Sequence[compare.Measured], exists: Exists
    ) -> compare.BaselineComparison | None:
        """Return the comparison; None if none is requested."""
        if self.name is None or self.baseline is None:
            return None
        return compare.compare(
            self.baseline, measured, self.name, self.threshold, exists, allow_missing=self.allow_missing
        )

    def store(self, measured: Sequence[compare.Measured], exists: Exists) -> None:
        """Write the requested baseline, and say on standard error what it contains."""
        if self.target is None:
            return
        fit = [call.entry for call in measured if call.fit and call.entry is not None]
        with changing(self.target):  # another report may have written its calls since this run began
            before = _read(self.target, self.of) if Path(self.target).is_file() else None
            baseline = compare.merged(before, fit, mlusim.__version__, exists, self.of)
            options.write_text(self.target, compare.baseline_text(baseline))
        unfit = sum(not call.fit for call in measured)
        left = f"; {unfit} that did not pass left out" if unfit else ""
        show.remark(f"{self.target}: {counted(len(baseline.entries), compare.ONE[self.of], self.of)}{left}")


def gate_in(args: argparse.Namespace, of: str = compare.CALLS) -> Gate:
    """Return the gate that *args* request; its files are read and checked before anything runs."""
    if args.baseline is not None and args.write_baseline is not None:
        raise UsageError("--baseline and --write-baseline exclude each other; compare first, then write")
    if args.threshold is not None and args.baseline is None:
        raise UsageError("--threshold goes with --baseline F.json, the run to compare with")
    if args.allow_missing and args.baseline is None:
        raise UsageError("--allow-missing goes with --baseline F.json, the run to compare with")
    target = args.write_baseline
    check_writable(target)
    if target is not None and Path(target).is_file():
        _read(target, of)  # a file that is not a baseline is reported before the work
    baseline = None if args.baseline is None else _read(args.baseline, of)
    limit = threshold(USUAL_THRESHOLD) if args.threshold is None else args.threshold
    return Gate(args.baseline, baseline, limit, target, of, args.allow_missing)


def report_gate(args: argparse.Namespace, jobs: Sequence[Job]) -> Gate:
    """Return the gate of a report; raises `UsageError` before *jobs* run if its baseline has none of them."""
    gate = gate_in(args)
    stored = {} if gate.baseline is None else gate.baseline.entries
    needed = gate.baseline is not None and not gate.allow_missing
    if needed and not any((j.operator, j.case, j.board) in stored for j in jobs):
        raise UsageError(
            f"{args.baseline} has none of these calls; add them with --write-baseline {args.baseline}, or pass --allow-missing"
        )
    return gate


def exists(key: compare.Key) -> bool:
    """Return whether the call exists: operator, case, and a board for which the case is declared."""
    name, wanted, board = key
    operator = operators().get(name)
    cases = () if operator is None else operator.cases
    return any(case.name == wanted and (not case.boards or board in case.boards) for case in cases)


def comparison_parts(comparison: compare.BaselineComparison) -> Iterator[Part]:
    """Yield the comparison, which is printed below the tables."""
    yield ""
    for kind, text in compare.lines(comparison):
        yield Unfolded(Text.assemble((f"{kind}: ", STYLES.get(kind, "dim")), text))
    yield Unfolded(
        compare.headline(comparison, mlusim.__version__), "green" if comparison.passed else "bold red"
    )


def tell_comparison(comparison: compare.BaselineComparison) -> None:
    """Print the comparison on standard error, if standard output has a file's contents."""
    for kind, text in compare.lines(comparison):
        show.remark(f"{kind}: {text}")
    show.remark(compare.headline(comparison, mlusim.__version__))


def _read(name: str, of: str) -> compare.Baseline:
    return compare.baseline_in(
        read_text(name, largest=LARGEST, hint="write it with --write-baseline"), name, of
    )
