"""Explanations of calls for a terminal: a table of numbers, and a sentence for each."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from mlusim.report.explain import Explanation, explained, waves
from mlusim.report.quantities import times, whole
from mlusim.report.record import CallRecord
from mlusim.report.tables.records import case_cell, heading
from mlusim.text_grid import table

_PIPES = {"scalar": "scal", "vector": "vec", "tensor": "tens", "IO-DMA": "IO", "move-DMA": "move"}

NOTE = (
    "moved: bytes off the chip over those of the theory.  pad: lanes of vector instructions that hold no element.  "
    "{pipes}: how much of the time the pipes of a working core are busy; two: of the busy time, two or more at once.  slow: slowest "
    "core over the mean.  cores: with work.  waves: of tasks or unions, and how full the last is."
)


def why_table(records: Sequence[CallRecord], board: str) -> RenderableType:
    """Return the numbers that explain the calls on *board*; launches that were not timed have none."""
    made = [(record, explained(record)) for record in records if record.board == board]
    pipes = [pipe for pipe in _PIPES if any((why.busy or {}).get(pipe, 0.0) > 0 for _, why in made)]
    numbers = ["moved", "pad", *(_PIPES[pipe] for pipe in pipes), "two", "slow", "cores", "waves"]
    title = f"what explains it on {board}"
    shown = table("case", *numbers, right=numbers, fold=("case",), title=title, tight=True)
    for operator, calls in groupby(made, key=lambda pair: pair[0].operator):
        shown.add_row(heading(operator))
        for record, why in calls:
            shown.add_row(case_cell(record), *_cells(why, pipes))
    note = NOTE.format(pipes=", ".join(_PIPES[pipe] for pipe in pipes))
    return Group(shown, Text(note, style="dim"))


def _cells(why: Explanation, pipes: Sequence[str]) -> Iterator[str]:
    busy = why.busy or {}
    yield times(why.of_theory)
    yield whole(why.padding)
    for pipe in pipes:
        yield whole(busy.get(pipe) if busy else None)
    yield whole(why.overlap)
    yield times(why.balance)
    yield "-" if why.working is None else f"{why.working}/{why.cores}"
    yield waves(why)


def sentences(records: Sequence[CallRecord]) -> Iterator[Text]:
    """Yield a sentence for each call: its class, and why; then what would help."""
    for record in records:
        name = f"{record.operator} {record.title} on {record.board}"
        yield Text.assemble((name, "bold"), f": {explained(record).sentence}")
        yield from (Text(f"  would help: {one}", style="dim") for one in record.advice)
