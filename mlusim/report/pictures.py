"""The pictures of the HTML report: roofline, bytes by direction, NRAM."""

import math
from collections.abc import Mapping, Sequence
from itertools import groupby

from mlusim.arch.board import Board
from mlusim.report.record import Record
from mlusim.report.svg import Drawing
from mlusim.report.words import count, share, size

COLORS = 8  # classes c0 to c7; whatever comes after is grey
_LABELS, _BARS, _ROW = 250.0, 560.0, 18.0


def color(position: int) -> str:
    """The class of the series at *position*."""
    return f"c{position}" if position < COLORS else "other"


# -- roofline --------------------------------------------------------------------------------------


def roofline(records: Sequence[Record], board: Board, colors: Mapping[str, str]) -> str:
    """Operations per second over operations per byte, both theory; log scales; *colors* by operator.

    Calls without operations have no place in it.
    """
    shown = [
        r
        for r in records
        if r.efficiency is not None and min(r.efficiency.theory_ops, r.efficiency.theory_ios) > 0
    ]
    scale = _Scale(shown, board)
    picture = Drawing(460, 330, f"Roofline of {board.name}")
    scale.grid(picture)
    for dtype in ("float", "half"):
        force = board.compute_force(dtype)
        if (
            any(r.efficiency is not None and r.efficiency.compute_force == force for r in shown)
            or dtype == "float"
        ):
            _roof(picture, scale, board, force, dtype)
    for record in shown:
        found = record.efficiency
        assert found is not None
        x = scale.x(found.theory_ops / found.theory_ios)
        y = scale.y(found.theory_ops / found.hardware_time_us * 1e6)
        tip = (
            f"{record.operator} {record.case}: {count(found.theory_ops / found.theory_ios)} ops/byte, "
            f"IO {share(found.io_efficiency)}, compute {share(found.compute_efficiency)}"
        )
        picture.circle(x, y, 4.5, f"dot {colors[record.operator]}", tip)
    return picture.render()


class _Scale:
    """Log scales that hold the calls and the bend of the roof."""

    left, right, top, bottom = 52.0, 448.0, 12.0, 290.0

    def __init__(self, records: Sequence[Record], board: Board) -> None:
        found = [r.efficiency for r in records if r.efficiency is not None]
        force = max(board.compute_force(dtype) for dtype in ("float", "half"))
        bend = force / board.bandwidth
        intensities = [e.theory_ops / e.theory_ios for e in found] + [bend / 30, bend * 3]
        rates = [e.theory_ops / e.hardware_time_us * 1e6 for e in found] + [force / 300, force * 1.5]
        self.low_x, self.high_x = _decades(intensities)
        self.low_y, self.high_y = _decades(rates)

    def x(self, value: float) -> float:
        """The place of an intensity in operations per byte."""
        part = (math.log10(value) - self.low_x) / (self.high_x - self.low_x)
        return self.left + part * (self.right - self.left)

    def y(self, value: float) -> float:
        """The place of a rate in operations per second."""
        part = (math.log10(value) - self.low_y) / (self.high_y - self.low_y)
        return self.bottom - part * (self.bottom - self.top)

    def grid(self, picture: Drawing) -> None:
        """Draw a line and a label for each power of ten."""
        for power in range(self.low_x, self.high_x + 1):
            x = self.x(10.0**power)
            picture.line([(x, self.top), (x, self.bottom)], "grid")
            picture.text(x, self.bottom + 15, f"{10.0**power:g}", "tick", "middle")
        for power in range(self.low_y, self.high_y + 1):
            y = self.y(10.0**power)
            picture.line([(self.left, y), (self.right, y)], "grid")
            picture.text(self.left - 6, y + 4, _tick(power), "tick", "end")
        picture.text(
            (self.left + self.right) / 2, self.bottom + 33, "theory operations per byte", "label", "middle"
        )
        picture.text(self.left + 4, self.top + 10, "operations per second", "label")


def _tick(power: int) -> str:
    """A power of ten without a fraction: "100M", "1T"."""
    return count(10.0**power).replace(".00", "").replace(".0", "")


def _decades(values: Sequence[float]) -> tuple[int, int]:
    return math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))


def _roof(picture: Drawing, scale: _Scale, board: Board, force: float, dtype: str) -> None:
    bend = force / board.bandwidth
    low = max(10.0**scale.low_x, 10.0**scale.low_y / board.bandwidth)
    picture.line(
        [
            (scale.x(low), scale.y(low * board.bandwidth)),
            (scale.x(bend), scale.y(force)),
            (scale.right, scale.y(force)),
        ],
        "roof",
    )
    above = dtype == "half"  # the roofs lie close; their labels go to either side
    y = scale.y(force) + (-5 if above else 13)
    picture.text(scale.right - 4, y, f"{dtype} {count(force)} ops/s", "tick", "end")


# -- bars ------------------------------------------------------------------------------------------


def traffic(records: Sequence[Record], directions: Sequence[str]) -> str:
    """Bytes that left or reached the chip in each call, by direction, in multiples of the theory bytes."""
    shown = [r for r in records if r.efficiency is not None and r.efficiency.theory_ios > 0]
    most = max([1.0, *(_multiple(r, r.io_bytes) for r in shown)])
    unit = _BARS / most
    step = max(1, math.ceil(most / 8))
    places = sorted({1, *range(0, int(most) + 1, step)})
    marks = [(n * unit, f"{n}x", n == 1) for n in places]
    picture, rows = _bar_picture("Bytes moved, relative to theory", shown, marks)
    for record, y in rows:
        x = _LABELS
        for position, name in enumerate(directions):
            nbytes = record.off_chip.get(name, 0)
            if nbytes:
                width = _multiple(record, nbytes) * unit
                tip = f"{record.operator} {record.case}: {name} {nbytes:,} bytes"
                picture.rect(x, y, width - 1, _ROW - 5, color(position), tip)
                x += width
        picture.text(x + 5, y + 11, size(record.io_bytes), "tick")
    return picture.render()


def off_chip_directions(records: Sequence[Record]) -> list[str]:
    """What carries bytes off the chip and on, in the order of the first use."""
    return list(dict.fromkeys(name for record in records for name in record.off_chip))


def memory(records: Sequence[Record]) -> str:
    """The most NRAM that a core declared in each call, as a share of what a kernel may use."""
    shown = [record for record in records if record.launches]
    marks = [(_BARS * n / 4, f"{25 * n}%", False) for n in range(5)]
    picture, rows = _bar_picture("NRAM used", shown, marks)
    for record, y in rows:
        usage = record.memory["NRAM"]
        part = usage.high_water / usage.capacity
        tip = f"{record.operator} {record.case}: {usage.high_water:,} of {usage.capacity:,} bytes"
        picture.rect(_LABELS, y, _BARS, _ROW - 5, "track")
        picture.rect(_LABELS, y, part * _BARS, _ROW - 5, color(0), tip)
        picture.text(_LABELS + _BARS + 5, y + 11, size(usage.high_water), "tick")
    return picture.render()


def _multiple(record: Record, nbytes: int) -> float:
    return nbytes / record.efficiency.theory_ios if record.efficiency is not None else 0.0


def _bar_picture(
    title: str, records: Sequence[Record], marks: Sequence[tuple[float, str, bool]]
) -> tuple[Drawing, list[tuple[Record, float]]]:
    """A picture with a labelled row for each record under its operator's name, and where the rows are.

    *marks* are lines of the axis: place, label, whether it is the one to compare with.
    """
    heads = len({record.operator for record in records})
    bottom = 24 + (len(records) + heads) * _ROW
    picture = Drawing(_LABELS + _BARS + 90, bottom + 6, title)
    for at, words, chief in marks:
        picture.text(_LABELS + at, 12, words, "tick", "middle")
        picture.line([(_LABELS + at, 18), (_LABELS + at, bottom)], "chief" if chief else "grid")
    rows: list[tuple[Record, float]] = []
    y = 24.0
    for operator, calls in groupby(records, key=lambda record: record.operator):
        picture.text(0, y + 11, operator, "head")
        for record in calls:
            y += _ROW
            picture.text(_LABELS - 8, y + 11, record.case or "own arrays", "tick", "end")
            rows.append((record, y))
        y += _ROW
    return picture, rows
