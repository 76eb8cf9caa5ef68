"""Predicted against measured time, every published row: ``python -m benchmarks calibration [BOARD ...]``.

The rows are in ``measured.csv``.  The kernels are those of examples 10 and 11 and of ``published.py``.  What
would take too long is scaled by a stated rule that is exact: the time of these kernels is a + b n, where n
counts results of a scalar loop, waves of equal tasks or columns, so two smaller runs give a and b.  Rows that
a constant of the model was derived from are shown apart and count for nothing.  With names of boards the
kernels of the examples are predicted for them.
"""

import csv
import functools
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table

from benchmarks import published
from benchmarks.agreement import Judged, Measured, Times, show
from mlusim.arch.catalog import find_board
from mlusim.machine.launch import Launch
from mlusim.time.rates import HOST_CALL, RATES, Bound

HERE = Path(__file__).parent
LADDER = SimpleNamespace(**runpy.run_path(str(HERE.parent / "examples" / "10_matmul_ladder.py")))
TILES = SimpleNamespace(**runpy.run_path(str(HERE.parent / "examples" / "11_elementwise.py")))
ROWS, SIDE = 128, 8192


def rows() -> list[Measured]:
    """The published rows in the order of the file."""
    with (HERE / "measured.csv").open(newline="") as file:
        return [
            Measured(r["op"], r["platform"], r["shape_description"], float(r["hardware_time_us"]), r["dtype"])
            for r in csv.DictReader(file)
        ]


def affine(launch_of: Callable[[int], Launch], small: int, whole: int) -> Times:
    """The times at *whole* from those at *small* and twice *small*: a + b n."""
    first, second = times_of(launch_of(small)), times_of(launch_of(2 * small))
    more = (whole - small) / small
    ends = (
        (a + (b - a) * more)
        for a, b in ((first.usual, second.usual), (first.low, second.low), (first.high, second.high))
    )
    return Times(*ends)


def times_of(launch: Launch) -> Times:
    """What is predicted for a launch."""
    return Times(launch.time_us, *launch.time_band)


# -- what each kernel takes ------------------------------------------------------------------------


def rung(number: int, board: str, *, columns: int = 128, notified: bool = True) -> Times:
    """A rung of the ladder at the measured size; *notified*: one launch between two notifiers on an idle queue."""
    if number < 3:
        found = affine(lambda n: LADDER.run(number, board, results=n, columns=columns)[0], 8, ROWS * columns)
    elif number == 3:
        found = times_of(LADDER.run(3, board, columns=columns)[0])
    else:
        device = find_board(board)
        places = device.clusters if number == 6 else device.cores
        waves = -(-(256 if number == 6 else 128) // places)
        found = affine(lambda n: LADDER.run(number, board, waves=n)[0], 1, waves)
    if not notified:
        return found
    return found.plus(*(HOST_CALL.at(bound) for bound in (Bound.USUAL, Bound.LOW, Bound.HIGH)))


def copied(board: str) -> Times:
    """Clone of 8192 x 8192 floats."""
    return times_of(TILES.run(TILES.clone, board, np.zeros((SIDE, SIDE), np.float32))[0])


def cast(board: str) -> Times:
    """Half to float of 8192 x 8192."""
    return times_of(TILES.run(TILES.cast, board, np.zeros((SIDE, SIDE), np.float16))[0])


def gathered(board: str) -> Times:
    """The element-wise transposition, from a core's first and second column."""
    cores = find_board(board).cores
    return affine(lambda n: published.run_gather_transpose(board, n), 1, SIDE // cores)


def absolute(board: str) -> Times:
    """abs of 10,000 floats, a tile of 4 KiB a core."""
    src = np.zeros(10_000, np.float32)
    return times_of(TILES.run(TILES.absolute, board, src, tail=(src.size, 1024), cores=10)[0])


def added(board: str) -> Times:
    """Addition of two vectors of 64 Mi floats."""
    x = np.zeros((SIDE, SIDE), np.float32)
    return times_of(TILES.run(TILES.add, board, x, x)[0])


def of(launch: Callable[..., Launch], *args: object) -> Callable[[str], Times]:
    """The times of a kernel of `published` at a size."""
    return lambda board: times_of(launch(board, *args))


@frozen
class Case:
    """How the rows of a published kernel are predicted; ``words`` are in the row's name, platform, type or shape.

    ``key`` is the name by which a constant of the model says that it was derived from the row.
    """

    key: str
    words: tuple[str, ...]
    kind: str
    predict: Callable[[str], Times]
    how: str = "at the measured size"
    cores: str = "all cores"


def _ladder(board: str, columns: int, numbers: Iterable[int]) -> Iterator[Case]:
    kinds = {1: "scalar", 2: "scalar", 3: "launch", 4: "tensor", 5: "tensor", 6: "tensor"}
    how = {1: "a + b results, from 8 and 16", 3: "at the measured size", 4: "a + b waves, from 1 and 2"}
    for number in numbers:
        told = how[1 if number < 3 else 3 if number == 3 else 4]
        predict = functools.partial(rung, number, columns=columns)
        cores = "one core" if number <= 3 else "all cores"
        words = f"matmul_lab_0{number}", board
        yield Case(" ".join(words), words, kinds[number], predict, told, cores)


HALF = np.float16
CASES: tuple[Case, ...] = (
    *_ladder("MLU370-X8", 128, range(1, 7)),
    *_ladder("MLU370-M8", 256, range(1, 4)),
    Case("abs", ("abs",), "launch", absolute),
    Case("clone", ("clone",), "copy", copied),
    Case("copy_", ("copy_",), "copy", copied),
    Case("type_as", ("type_as",), "copy", cast),
    Case("contiguous gather", ("contiguous", "gather"), "strided", gathered, "a + b columns a core, from 1 and 2"),
    Case("contiguous tiled", ("contiguous", "tiled"), "strided", of(published.run_tiled_transpose)),
    Case("contiguous native", ("contiguous", "native"), "strided", of(published.run_piped_transpose), "a plausible good kernel"),
    Case("moe_dispatch_backward_data", ("moe_dispatch",), "copy", of(published.run_scale_rows)),
    Case("ball_query 2048", ("ball_query", "2048"), "vector", of(published.run_ball_query, 16, 2048, 512, 64, 0.4)),
    Case("ball_query half", ("ball_query", "float16"), "vector", of(published.run_ball_query, 16, 1024, 512, 32, 0.2, HALF)),
    Case("ball_query 1024", ("ball_query", "1024"), "vector", of(published.run_ball_query, 16, 1024, 256, 32, 0.2)),
    Case("ball_query 512", ("ball_query",), "vector", of(published.run_ball_query, 16, 512, 128, 128, 0.8)),
    Case("three_interpolate large", ("three_interpolate", "4096"), "vector", of(published.run_three_interpolate, 16, 128, 1024, 4096, (32, 256)), "the tile is assumed"),
    Case("three_interpolate half", ("three_interpolate", "float16"), "vector", of(published.run_three_interpolate, 16, 512, 16, 64, (512, 64), HALF), "the tile is assumed"),
    Case("three_interpolate", ("three_interpolate",), "vector", of(published.run_three_interpolate, 16, 512, 16, 64, (512, 32)), "the tile is assumed"),
    Case("lab_cosine_similarity", ("cosine",), "vector", of(published.run_cosine), cores="one core"),
)  # fmt: skip
DERIVED = frozenset(key for rate in RATES for key in rate.rows)
"""The rows that constants of the model were derived from."""

_BOARDS = {"MLU290": "MLU290-M5", "MLU270": "MLU270-S4", "MLU270-generation": "MLU270-S4"}


def case_of(row: Measured) -> Case | None:
    """The first case whose words are all in the row."""
    text = f"{row.op} {row.platform} {row.dtype} {row.shape}"
    return next((case for case in CASES if all(word in text for word in case.words)), None)


def judged() -> Iterator[Judged]:
    """Every published row with its prediction."""
    known: dict[str, Times] = {}
    for row in rows():
        case, board = case_of(row), row.platform.split(" ")[0]
        if case is None:
            yield Judged(row, None, "indicative only: the kernel is not known well enough to write")
            continue
        board = _BOARDS.get(board, board)
        if case.key not in known:
            known[case.key] = case.predict(board)
        series = f"MLU{find_board(board).arch.bang_arch // 100}xx"
        yield Judged(row, known[case.key], case.how, case.kind, case.key in DERIVED, case.cores, series)


def show_boards(boards: list[str], console: Console) -> None:
    """Print what the same constants predict for *boards*, nothing measured beside it."""
    work: dict[str, Callable[[str], Times]] = {
        f"ladder {n}": functools.partial(rung, n, notified=False) for n in range(1, 7)
    }
    work |= {"clone": copied, "cast": cast, "abs": absolute, "add": added}
    table = Table(title="Predicted hardware time of one launch, us")
    for column in ("kernel", *boards):
        table.add_column(column, justify="left" if column == "kernel" else "right")
    for name, predict in work.items():
        table.add_row(name, *(f"{predict(board).usual:,.1f}" for board in boards))
    console.print(table)


def main(boards: list[str]) -> int:
    """Print the table; with *boards*, that of the boards."""
    console = Console(width=None if sys.stdout.isatty() else 200)
    if boards:
        show_boards([find_board(board).name for board in boards], console)
        return 0
    return 0 if show(list(judged()), console) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
