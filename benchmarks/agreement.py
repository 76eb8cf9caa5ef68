"""How well predicted times agree with measured ones: values, the verdict, the tables."""

import statistics
from collections.abc import Callable, Iterator

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table

NEAR, MEDIAN_AIM, SHARE_AIM, FAR, SPEARMAN_AIM = 0.30, 0.12, 0.85, 1.6, 0.95


@frozen
class Measured:
    """A published row: what, where, how long in us."""

    op: str
    platform: str
    shape: str
    time_us: float
    dtype: str = ""


@frozen
class Times:
    """A prediction in us: the usual one, and the ends of its band."""

    usual: float
    low: float
    high: float

    def plus(self, us: float, low: float, high: float) -> "Times":
        """The same with something added to each."""
        return Times(self.usual + us, self.low + low, self.high + high)


@frozen
class Judged:
    """A row with its prediction; None, and why, where there is none.

    ``derived``: a constant came from it; ``kind``, ``cores`` and ``series`` are the classes that it is counted in.
    """

    row: Measured
    predicted: Times | None
    how: str
    kind: str = ""
    derived: bool = False
    cores: str = ""
    series: str = ""

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        assert self.predicted is not None
        return self.predicted.usual / self.row.time_us

    @property
    def covered(self) -> bool:
        """Whether the measured time is inside the band."""
        assert self.predicted is not None
        return self.predicted.low <= self.row.time_us <= self.predicted.high


def spearman(first: list[float], second: list[float]) -> float:
    """The rank correlation; equal values share their mean rank."""
    ranks = [[statistics.mean(np.flatnonzero(np.sort(v) == x).tolist()) for x in v] for v in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


@frozen
class Verdict:
    """Of rows that no constant came from: the median error, how many are near, the worst, the rank correlation.

    ``far`` are rows off by more than a factor of 1.6 that their band does not cover either; ``ladders_in_order``
    says whether every published pair of variants on one board is ranked right.
    """

    rows: int
    median: float
    near: int
    worst: float
    far: int
    spearman: float
    ladders_in_order: bool

    @property
    def holds(self) -> bool:
        """Whether the aims are met."""
        near = self.near >= SHARE_AIM * self.rows
        good = self.median <= MEDIAN_AIM and near and not self.far and self.spearman >= SPEARMAN_AIM
        return good and self.ladders_in_order


def off(r: Judged) -> float:
    """By which factor a prediction is off, either way."""
    return max(r.ratio, 1 / r.ratio)


def verdict(results: list[Judged]) -> Verdict:
    """Judge the rows that have a prediction and that no constant came from."""
    fresh = [r for r in results if r.predicted is not None and not r.derived]
    errors = [abs(r.ratio - 1) for r in fresh]
    return Verdict(
        len(fresh),
        statistics.median(errors),
        sum(error <= NEAR for error in errors),
        max(map(off, fresh)),
        sum(off(r) > FAR and not r.covered for r in fresh),
        spearman([r.predicted.usual for r in fresh if r.predicted], [r.row.time_us for r in fresh]),
        all(_in_order(group) for group in _variants(results)),
    )


def _variants(results: list[Judged]) -> Iterator[list[Judged]]:
    """The rows that do the same work on the same board in different ways."""
    groups: dict[tuple[str, str, str], list[Judged]] = {}
    for r in results:
        if r.predicted is not None and r.row.op.startswith(("matmul_lab", "contiguous")):
            key = r.row.op[:10], r.row.platform.split(" ")[0], r.row.shape
            groups.setdefault(key, []).append(r)
    yield from groups.values()


def _in_order(group: list[Judged]) -> bool:
    times = [(r.row.time_us, r.predicted.usual) for r in group if r.predicted is not None]
    return sorted(times) == sorted(times, key=lambda pair: pair[1])


GROUPS: dict[str, Callable[[Judged], str]] = {
    "class": lambda r: r.kind,
    "cores": lambda r: r.cores,
    "generation": lambda r: r.series,
}
"""What the rows are counted by."""


@frozen
class Group:
    """Some of the rows that count: how many, the median error, the worst factor, how many are near."""

    name: str
    rows: int
    median: float
    worst: float
    near: int


def groups(results: list[Judged], by: Callable[[Judged], str]) -> list[Group]:
    """The rows that no constant came from, apart by what *by* says of each."""
    fresh = [r for r in results if r.predicted is not None and not r.derived]
    return [_group(name, [r for r in fresh if by(r) == name]) for name in dict.fromkeys(map(by, fresh))]


def _group(name: str, own: list[Judged]) -> Group:
    errors = [abs(r.ratio - 1) for r in own]
    return Group(
        name, len(own), statistics.median(errors), max(map(off, own)), sum(e <= NEAR for e in errors)
    )


def show(results: list[Judged], console: Console) -> bool:
    """Print every row, and how good the whole is."""
    for derived, title in (
        (False, "Rows that no constant came from"),
        (True, "Rows that constants were derived from"),
    ):
        table = Table(title=f"{title}: predicted against measured hardware time, us")
        for column in ("row", "board", "class", "measured", "predicted", "ratio", "band", "how"):
            right = column in ("measured", "predicted", "ratio", "band")
            table.add_column(column, justify="right" if right else "left")
        for r in (r for r in results if r.derived == derived):
            table.add_row(*_cells(r))
        console.print(table)
    summary = Table(title="The first table by class, cores, generation")
    for column in ("rows of", "rows", "median error", "worst factor", f"within {NEAR:.0%}"):
        summary.add_column(column, justify="left" if column == "rows of" else "right")
    for by in GROUPS.values():
        for group in groups(results, by):
            summary.add_row(
                group.name, str(group.rows), f"{group.median:.0%}", f"{group.worst:.2f}", str(group.near)
            )
        summary.add_section()
    console.print(summary)
    found = verdict(results)
    console.print(
        f"{found.rows} rows: median error {found.median:.1%} (aim {MEDIAN_AIM:.0%}); {found.near} within {NEAR:.0%} (aim "
        f"{SHARE_AIM:.0%}); worst factor {found.worst:.2f}, outside {FAR} and the band: {found.far}; Spearman "
        f"{found.spearman:.3f} (aim {SPEARMAN_AIM}); order of variants {'right' if found.ladders_in_order else 'WRONG'}"
    )
    return found.holds


def _cells(r: Judged) -> tuple[str, ...]:
    name, board = r.row.op, r.row.platform.split(" ")[0]
    if r.predicted is None:
        return name, board, "", f"{r.row.time_us:,.1f}", "-", "-", "-", r.how
    band = f"{r.predicted.low:,.0f} to {r.predicted.high:,.0f}"
    return (
        name,
        board,
        r.kind,
        f"{r.row.time_us:,.1f}",
        f"{r.predicted.usual:,.1f}",
        f"{r.ratio:.2f}",
        band,
        r.how,
    )
