"""Predicted against measured time, every published row: ``python -m benchmarks calibration [BOARD ...]``.

The rows are in ``measured.csv``.  The kernels are those of examples 10 and 11.  What would take too long
is scaled by a stated rule that is exact: the time of these kernels is a + b n, where n counts results
of a scalar loop, waves of equal tasks or rows of a copy, so two smaller runs give a and b.  With names of
boards the same kernels are predicted for them.
"""

import csv
import runpy
import statistics
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table

from mlusim.arch.catalog import find_board
from mlusim.time.rates import HOST_CALL

HERE = Path(__file__).parent
LADDER = SimpleNamespace(**runpy.run_path(str(HERE.parent / "examples" / "10_matmul_ladder.py")))
TILES = SimpleNamespace(**runpy.run_path(str(HERE.parent / "examples" / "11_elementwise.py")))
RESULTS, ROWS, SIDE = 128 * 128, 524288, 8192
AIM, MEDIAN_AIM = 0.30, 0.15


@frozen
class Measured:
    """A published row: what, where, how long in us."""

    op: str
    platform: str
    shape: str
    time_us: float


@frozen
class Judged:
    """A row with its prediction in us; None, and why, where there is none."""

    row: Measured
    predicted: float | None
    how: str

    @property
    def ratio(self) -> float:
        """Predicted over measured."""
        assert self.predicted is not None
        return self.predicted / self.row.time_us


def rows() -> list[Measured]:
    """The published rows in the order of the file."""
    with (HERE / "measured.csv").open(newline="") as file:
        return [
            Measured(r["op"], r["platform"], r["shape_description"], float(r["hardware_time_us"]))
            for r in csv.DictReader(file)
        ]


def affine(time_of: Callable[[int], float], small: int, whole: int) -> float:
    """The time at *whole* from those at *small* and twice *small*: a + b n."""
    first, second = time_of(small), time_of(2 * small)
    return first + (second - first) * (whole - small) / small


# -- what each kernel takes ------------------------------------------------------------------------


def rung(number: int, board: str, *, notified: bool = True) -> float:
    """A rung of the ladder at the measured size; *notified*: one launch between two notifiers on an idle queue."""
    if number < 3:
        time_us = affine(lambda n: LADDER.run(number, board, results=n)[0].time_us, 8, RESULTS)
    elif number == 3:
        time_us = LADDER.run(3, board)[0].time_us
    else:
        device = find_board(board)
        places = device.clusters if number == 6 else device.cores
        waves = -(-(256 if number == 6 else 128) // places)
        time_us = affine(lambda n: LADDER.run(number, board, waves=n)[0].time_us, 1, waves)
    return time_us + HOST_CALL.value * notified


def copied(board: str) -> float:
    """Clone of 8192 x 8192 floats."""
    return TILES.run(TILES.clone, board, np.zeros((SIDE, SIDE), np.float32))[0].time_us


def cast(board: str) -> float:
    """Half to float of 8192 x 8192."""
    return TILES.run(TILES.cast, board, np.zeros((SIDE, SIDE), np.float16))[0].time_us


def transposed(board: str) -> float:
    """Element-wise transpose of 8192 x 8192 floats, from pictures of fewer rows."""

    def time_of(number: int) -> float:
        src = np.zeros((number, SIDE), np.float32)
        return TILES.run(TILES.transpose, board, src, tail=src.shape)[0].time_us

    return affine(time_of, 256, SIDE)


def absolute(board: str) -> float:
    """abs of 10,000 floats, a tile of 4 KiB a core."""
    src = np.zeros(10_000, np.float32)
    return TILES.run(TILES.absolute, board, src, tail=(src.size, 1024), cores=10)[0].time_us


def added(board: str) -> float:
    """Addition of two vectors of 64 Mi floats."""
    x = np.zeros((SIDE, SIDE), np.float32)
    return TILES.run(TILES.add, board, x, x)[0].time_us


EXACT = "at the measured size"
KERNELS: dict[str, tuple[Callable[[str], float], str]] = {
    "matmul_lab_01": (lambda b: rung(1, b), "a + b results, from 8 and 16"),
    "matmul_lab_02": (lambda b: rung(2, b), "a + b results, from 8 and 16"),
    "matmul_lab_03": (lambda b: rung(3, b), EXACT),
    "matmul_lab_04": (lambda b: rung(4, b), "a + b waves, from 1 and 2"),
    "matmul_lab_05": (lambda b: rung(5, b), "a + b waves, from 1 and 2"),
    "matmul_lab_06": (lambda b: rung(6, b), "a + b waves, from 1 and 2"),
    "clone": (copied, EXACT),
    "copy_": (copied, EXACT),
    "type_as": (cast, EXACT),
    "contiguous": (transposed, "a + b rows, from 256 and 512"),
    "abs": (absolute, EXACT),
}


def judged() -> Iterator[Judged]:
    """Every published row with its prediction."""
    known: dict[tuple[str, str], float] = {}
    for row in rows():
        board = row.platform.split(" ")[0]
        name = next((name for name in KERNELS if row.op.startswith(name)), None)
        if name is None:
            yield Judged(row, None, "indicative only: the kernel is not known well enough to write")
            continue
        predict, how = KERNELS[name]
        if (name, board) not in known:
            known[name, board] = predict(board)
        yield Judged(row, known[name, board], how)


# -- how good it is --------------------------------------------------------------------------------


def spearman(first: list[float], second: list[float]) -> float:
    """The rank correlation; equal values share their mean rank."""
    ranks = [[statistics.mean(np.flatnonzero(np.sort(v) == x).tolist()) for x in v] for v in (first, second)]
    return float(np.corrcoef(*ranks)[0, 1])


@frozen
class Verdict:
    """Absolute percentage errors as fractions: median, 90th percentile, largest; rank correlation; ladder's order."""

    median: float
    ninetieth: float
    largest: float
    spearman: float
    ladder_in_order: bool

    @property
    def holds(self) -> bool:
        """Whether the aims are met."""
        return self.largest <= AIM and self.median <= MEDIAN_AIM and self.ladder_in_order


def verdict(results: list[Judged]) -> Verdict:
    """Judge all rows that have a prediction."""
    known = [r for r in results if r.predicted is not None]
    errors = [abs(r.ratio - 1) for r in known]
    predicted, measured = [float(r.predicted or 0) for r in known], [r.row.time_us for r in known]
    ladder = [r for r in known if r.row.op.startswith("matmul_lab")]
    same_size = (ladder[:3], ladder[3:])
    in_order = all(
        sorted(group, key=lambda r: r.row.time_us) == sorted(group, key=lambda r: float(r.predicted or 0))
        for group in same_size
    )
    return Verdict(
        statistics.median(errors),
        float(np.percentile(errors, 90)),
        max(errors),
        spearman(predicted, measured),
        in_order,
    )


def show(results: list[Judged], console: Console) -> bool:
    """Print every row, and how good the whole is."""
    table = Table(title="Predicted against measured hardware time, us")
    for column in ("row", "board", "measured", "predicted", "ratio", "how"):
        table.add_column(column, justify="right" if column in ("measured", "predicted", "ratio") else "left")
    for r in results:
        predicted, ratio = ("-", "-") if r.predicted is None else (f"{r.predicted:,.1f}", f"{r.ratio:.2f}")
        table.add_row(
            r.row.op, r.row.platform.split(" ")[0], f"{r.row.time_us:,.1f}", predicted, ratio, r.how
        )
    console.print(table)
    found = verdict(results)
    console.print(
        f"absolute error: median {found.median:.1%} (aim {MEDIAN_AIM:.0%}), 90th percentile {found.ninetieth:.1%}, "
        f"largest {found.largest:.1%} (aim {AIM:.0%}); Spearman {found.spearman:.3f}; "
        f"order of the ladder {'right' if found.ladder_in_order else 'WRONG'}"
    )
    return found.holds


def show_boards(boards: list[str], console: Console) -> None:
    """Print what the same constants predict for *boards*, nothing measured beside it."""
    work = {f"ladder {n}": (lambda b, n=n: rung(n, b, notified=False)) for n in range(1, 7)}
    work |= {"clone": copied, "cast": cast, "transpose": transposed, "abs": absolute, "add": added}
    table = Table(title="Predicted hardware time of one launch, us")
    for column in ("kernel", *boards):
        table.add_column(column, justify="left" if column == "kernel" else "right")
    for name, predict in work.items():
        table.add_row(name, *(f"{predict(board):,.1f}" for board in boards))
    console.print(table)


def main(boards: list[str]) -> int:
    """Print the table; with *boards*, that of the boards."""
    console = Console(width=None if sys.stdout.isatty() else 160)
    if boards:
        show_boards([find_board(board).name for board in boards], console)
        return 0
    return 0 if show(list(judged()), console) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
