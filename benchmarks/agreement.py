"""How well predicted times agree with measured ones: values, the verdict, the tables."""

import itertools
import statistics
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table

from mlusim.document import markdown_table
from mlusim.time.rates import MODEL

NEAR, FAR = 0.30, 2.0
MEDIAN_AIM, SHARE_AIM, SPEARMAN_AIM = 0.15, 0.80, 0.95
COVERED_AIM, MANY, WIDE = (0.70, 0.90), 5, 1.6
APART, ORDER_AIM = 1.10, 0.85
MOST = 0.8  # the share of a kind's families whose factor the model states for the kind


@frozen
class Measured:
    """A published row: operator, platform and time in us; ``group`` is the class of rows that `held_out` splits together."""

    op: str
    platform: str
    shape: str
    time_us: float
    dtype: str = ""
    group: str = ""


@frozen
class Times:
    """A prediction in us: the usual one and both ends of its band; ``mostly`` is the kind of time that makes up most of it."""

    usual: float
    low: float
    high: float
    mostly: str = ""

    def plus(self, us: float, low: float, high: float) -> "Times":
        """Return the times with an amount added to each of the three."""
        return Times(self.usual + us, self.low + low, self.high + high, self.mostly)


@frozen
class Judged:
    """A published row with its prediction, or with None and the reason for having none.

    ``held`` says that no constant may be derived from the row; ``kind``, ``cores`` and ``board`` are the classes that
    it counts in, ``family`` names the task whose variants on one board belong together; ``why`` explains a row that
    is far off.
    """

    row: Measured
    predicted: Times | None
    how: str
    kind: str = ""
    held: bool = True
    cores: str = ""
    board: str = ""
    family: str = ""
    why: str = ""

    @property
    def ratio(self) -> float:
        """Return predicted over measured time."""
        assert self.predicted is not None
        return self.predicted.usual / self.row.time_us

    @property
    def covered(self) -> bool:
        """Return whether the measured time is inside the band."""
        assert self.predicted is not None
        return self.predicted.low <= self.row.time_us <= self.predicted.high

    @property
    def width(self) -> float:
        """Return the upper end of the band divided by the lower."""
        assert self.predicted is not None
        return self.predicted.high / self.predicted.low


def spearman(first: list[float], second: list[float]) -> float:
    """Return the rank correlation of two lists; equal values share their mean rank."""
    ranks = [[statistics.mean(np.flatnonzero(np.sort(v) == x).tolist()) for x in v] for v in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


def off(r: Judged) -> float:
    """Return the factor by which a prediction is wrong, in either direction, at least 1."""
    return max(r.ratio, 1 / r.ratio)


@frozen
class Group:
    """Statistics of some rows: their number, median error, worst factor, how many are near and covered, and the median width of the band."""

    name: str
    rows: int
    median: float
    worst: float
    near: int
    covered: int
    width: float


def group_of(name: str, own: Sequence[Judged]) -> Group:
    """Return the statistics of rows that all have a prediction."""
    errors = [abs(r.ratio - 1) for r in own]
    return Group(
        name,
        len(own),
        statistics.median(errors),
        max(map(off, own)),
        sum(error <= NEAR for error in errors),
        sum(r.covered for r in own),
        statistics.median(r.width for r in own),
    )


GROUPS: dict[str, Callable[[Judged], str]] = {
    "class": lambda r: r.kind,
    "cores": lambda r: r.cores,
    "board": lambda r: r.board,
}
"""The classes by which the rows are grouped."""


def predicted(results: Sequence[Judged], *, held: bool) -> list[Judged]:
    """Return the rows that have a prediction and are held out, or are not held out, as *held* says."""
    return [r for r in results if r.predicted is not None and r.held == held]


def groups(rows: Sequence[Judged], by: Callable[[Judged], str]) -> list[Group]:
    """Return the statistics of *rows* for each value that *by* has on them."""
    return [group_of(name, [r for r in rows if by(r) == name]) for name in dict.fromkeys(map(by, rows))]


@frozen
class Pair:
    """Two variants of one task on one board, the one that the card ran faster first."""

    faster: Judged
    slower: Judged

    @property
    def right(self) -> bool:
        """Return whether the prediction also has the faster one faster."""
        return self.faster.ratio * self.faster.row.time_us < self.slower.ratio * self.slower.row.time_us


def pairs(results: Sequence[Judged]) -> Iterator[Pair]:
    """Yield every pair of variants whose measured times differ by 10 %."""
    known = [r for r in results if r.predicted is not None and r.family]
    for family in dict.fromkeys(r.family for r in known):
        own = sorted((r for r in known if r.family == family), key=lambda r: r.row.time_us)
        for first, second in itertools.combinations(own, 2):
            if second.row.time_us >= APART * first.row.time_us:
                yield Pair(first, second)


@frozen
class Verdict:
    """The verdict on the held-out rows: whether the aims are met, and a sentence for each aim that is missed."""

    whole: Group
    spearman: float
    missed: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """Whether the aims are met."""
        return not self.missed


@frozen
class Kind:
    """A kind of time: the families that consist mostly of it, the factor within which `MOST` of them lie, and that factor when the best or the worst family is left out."""

    name: str
    families: int
    factor: float
    least: float
    most: float


def kinds(results: Sequence[Judged]) -> Iterator[Kind]:
    """Yield each kind of time with its families and their factor, from held-out rows and others alike.

    A family counts by its worst row.  Rows with an explanation, and rows that are printed with a single digit, do not
    count.
    """
    worst: dict[str, dict[str, float]] = {}
    for r in results:
        if r.predicted is None or not r.predicted.mostly or r.why or r.row.time_us in range(10):
            continue
        families = worst.setdefault(r.predicted.mostly, {})
        family = r.family or r.row.op
        families[family] = max(off(r), families.get(family, 1.0))
    for name, families in sorted(worst.items()):
        less = [_within([f for n, f in families.items() if n != left]) for left in families]
        yield Kind(name, len(families), _within(list(families.values())), min(less), max(less))


def _within(factors: Sequence[float]) -> float:
    """Return the factor within which `MOST` of *factors* lie, interpolated between two of them by their logarithms."""
    return float(np.exp(np.quantile(np.log(factors), MOST))) if factors else 1.0


def verdict(results: Sequence[Judged]) -> Verdict:
    """Judge the held-out rows and the order of variants."""
    rows = predicted(results, held=True)
    whole = group_of("all", rows)
    ranks = spearman([r.ratio * r.row.time_us for r in rows], [r.row.time_us for r in rows])
    return Verdict(whole, ranks, tuple(_missed(results, rows, whole, ranks)))


def _missed(results: Sequence[Judged], rows: Sequence[Judged], whole: Group, ranks: float) -> Iterator[str]:
    if whole.median > MEDIAN_AIM:
        yield f"the median error is {whole.median:.1%}"
    if whole.near < SHARE_AIM * whole.rows:
        yield f"{whole.near} of {whole.rows} rows are within {NEAR:.0%}"
    if ranks < SPEARMAN_AIM:
        yield f"the rank correlation is {ranks:.3f}"
    for r in rows:
        if off(r) > FAR and not r.why:
            yield f"{r.row.op} is off by a factor of {off(r):.2f}, and nothing explains it"
    for group in groups(rows, GROUPS["class"]):
        share = group.covered / group.rows
        if group.rows >= MANY and not COVERED_AIM[0] <= share <= COVERED_AIM[1]:
            yield f"the bands of class {group.name} cover {share:.0%} of {group.rows} rows"
        if group.rows >= MANY and group.width > WIDE:
            yield f"the bands of class {group.name} are {group.width:.2f} wide"
    compared = list(pairs(results))
    right = sum(pair.right for pair in compared)
    if compared and right < ORDER_AIM * len(compared):
        yield f"{right} of {len(compared)} pairs are in the right order"


def show(results: Sequence[Judged], console: Console) -> bool:
    """Print every row and the summary; return whether the aims are met."""
    for held, title in ((True, "Rows that were held out"), (False, "Rows that constants may come from")):
        table = Table(title=f"{title}: predicted against measured hardware time, us")
        for column in ("row", "board", "class", "measured", "predicted", "ratio", "band", "covered", "how"):
            right = column in ("measured", "predicted", "ratio", "band")
            table.add_column(column, justify="right" if right else "left")
        for r in (r for r in results if r.held == held):
            table.add_row(*_cells(r))
        console.print(table)
        rows = predicted(results, held=held)
        if rows:
            console.print(_summary(f"{title}, by class, cores, board", rows))
    _show_pairs(list(pairs(results)), console)
    for r in predicted(results, held=True):
        if r.why:
            console.print(f"{r.row.op} ({r.ratio:.2f}): {r.why}")
    found = verdict(results)
    w = found.whole
    console.print(
        f"{w.rows} rows held out: median error {w.median:.1%} (aim {MEDIAN_AIM:.0%}); {w.near} within {NEAR:.0%} (aim "
        f"{SHARE_AIM:.0%}); worst factor {w.worst:.2f}; Spearman {found.spearman:.3f} (aim {SPEARMAN_AIM}); {w.covered} in "
        f"their band, {w.width:.2f} wide in the median"
    )
    for words in found.missed:
        console.print(f"missed: {words}")
    return found.holds


def markdown(results: Sequence[Judged]) -> str:
    """Return the tables of a page: every row that has a prediction, the held-out ones first, and the summaries."""
    held, derived = predicted(results, held=True), predicted(results, held=False)
    found, d = verdict(results), group_of("derived", derived)
    w = found.whole
    summary = (
        f"{w.rows} rows: median error {w.median:.1%}, {w.near} within {NEAR:.0%}, worst factor {w.worst:.2f}, Spearman {found.spearman:.3f}; "
        f"{w.covered} lie in their band, which is {w.width:.2f} wide in the median.  {_order_of(list(pairs(results)))}."
    )
    missed = "\n".join(["Aims that are missed:\n", *(f"* {words}" for words in found.missed)])
    proves_nothing = (
        f"Rows that constants may come from, which prove nothing: median error {d.median:.1%}, {d.near} of {d.rows} within {NEAR:.0%}, "
        f"{d.covered} in their band."
    )
    parts = (
        "Rows that were held out:",
        _table_of(held),
        summary,
        missed if found.missed else "",
        _groups_of(held),
    )
    known = "By which factor the model is off, by what most of the time is of:"
    derived_rows = (proves_nothing, _table_of(derived), _groups_of(derived))
    return "\n\n".join(filter(None, (*parts, *derived_rows, known, _kinds_of(results))))


def _table_of(rows: Sequence[Judged]) -> str:
    heads = ("row", "board", "class", "measured us", "predicted us", "ratio", "band", "kernel")
    cells = [_cells(r) for r in rows]
    return markdown_table(heads, [(*c[:1], r.board, *c[2:7], c[8]) for r, c in zip(rows, cells, strict=True)])


def _groups_of(rows: Sequence[Judged]) -> str:
    heads = (
        "rows of",
        "rows",
        "median error",
        "worst factor",
        f"within {NEAR:.0%}",
        "in their band",
        "width of it",
    )
    return markdown_table(
        heads,
        [
            (g.name, g.rows, f"{g.median:.0%}", f"{g.worst:.2f}", g.near, g.covered, f"{g.width:.2f}")
            for by in GROUPS.values()
            for g in groups(rows, by)
        ],
    )


def _kinds_of(results: Sequence[Judged]) -> str:
    heads = (
        "most of the time is of",
        "families",
        f"{MOST:.0%} of them are within",
        "without one of them",
        "factor of the band",
    )
    return markdown_table(
        heads,
        [
            (k.name, k.families, f"{k.factor:.2f}", f"{k.least:.2f} to {k.most:.2f}", f"{MODEL[k.name]:.2f}")
            for k in kinds(results)
        ],
    )


def _summary(title: str, rows: Sequence[Judged]) -> Table:
    summary = Table(title=title)
    for column in (
        "rows of", "rows", "median error", "worst factor", f"within {NEAR:.0%}", "in their band", "width",
    ):  # fmt: skip
        summary.add_column(column, justify="left" if column == "rows of" else "right")
    for by in GROUPS.values():
        for g in groups(rows, by):
            cells = f"{g.median:.0%}", f"{g.worst:.2f}", str(g.near), str(g.covered), f"{g.width:.2f}"
            summary.add_row(g.name, str(g.rows), *cells)
        summary.add_section()
    return summary


def _order_of(compared: Sequence[Pair]) -> str:
    right = sum(pair.right for pair in compared)
    return f"{right} of {len(compared)} pairs of variants, {APART - 1:.0%} apart on the card, are in the right order"


def _show_pairs(compared: Sequence[Pair], console: Console) -> None:
    console.print(_order_of(compared))
    for pair in compared:
        if not pair.right:
            console.print(f"wrong: {pair.faster.row.op} before {pair.slower.row.op}, {pair.faster.board}")


def _cells(r: Judged) -> tuple[str, ...]:
    name, board = r.row.op, r.row.platform.split(" ")[0]
    if r.predicted is None:
        return name, board, r.kind, f"{r.row.time_us:,.1f}", "-", "-", "-", "-", r.how
    digits = 1 if r.predicted.high < 100 else 0
    return (
        name,
        board,
        r.kind,
        f"{r.row.time_us:,.1f}",
        f"{r.predicted.usual:,.1f}",
        f"{r.ratio:.2f}",
        f"{r.predicted.low:,.{digits}f} to {r.predicted.high:,.{digits}f}",
        "yes" if r.covered else "no",
        r.how,
    )
