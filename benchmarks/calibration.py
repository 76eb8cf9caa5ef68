"""Predicted against measured time, every published row: ``python -m benchmarks calibration [BOARD ...]``.

The rows are in ``measured.csv``.  The kernels are those of examples 10 and 11; of ``published.py``, which rewrites
kernels without a public source; and of ``public_sources.py``, which runs unmodified sources of checkouts;
``MLUSIM_CHECKOUTS`` says where those are, and without it their rows have no prediction.  A kernel that would take too
long is scaled by an exact rule: its time is a + b n, where n counts results of a scalar loop, waves of equal tasks,
or columns, so two smaller runs give a and b; of blocks that all do the same work, one is run and stands for each.

Nothing is fitted here.  `held_out` states the rows from which no constant may be derived; the others are shown apart
and prove nothing.  If boards are named, the kernels of the examples are predicted for these.
"""

import csv
import functools
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from attrs import frozen
from rich.console import Console
from rich.table import Table

import mlusim
from benchmarks import public_sources, published
from benchmarks.agreement import Judged, Measured, Times, markdown, show
from benchmarks.pages import put_between
from benchmarks.public_sources import Public
from mlusim.arch.catalog import find_board
from mlusim.machine.launch import Launch
from mlusim.time.rates import HOST_CALL, RATES, Bound
from mlusim.time.timeline import Forecast

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "explanation" / "time.md"
PAGED = "--page"
BEGIN, END = "<!-- begin: python -m benchmarks calibration --page -->\n", "<!-- end -->\n"
LADDER = SimpleNamespace(**runpy.run_path(str(HERE.parent / "examples" / "10_matmul_ladder.py")))
TILES = SimpleNamespace(**runpy.run_path(str(HERE.parent / "examples" / "11_elementwise.py")))
ROWS, SIDE = 128, 8192
STEPS = 32  # steps of a task on the ladder's upper rungs


def rows() -> list[Measured]:
    """The published rows in the order of the file."""
    with (HERE / "measured.csv").open(newline="") as file:
        return [
            Measured(
                r["op"],
                r["platform"],
                r["shape_description"],
                float(r["hardware_time_us"]),
                r["dtype"],
                r["class"],
            )
            for r in csv.DictReader(file)
        ]


def affine(times: Callable[[int], Times], small: int, whole: int, second: int = 0) -> Times:
    """Return the times at *whole* from the times at *small* and at *second* (0: twice *small*), by the rule a + b n."""
    second = second or 2 * small
    begun, longer = times(small), times(second)
    more = (whole - small) / (second - small)
    ends = (
        (a + (b - a) * more)
        for a, b in ((begun.usual, longer.usual), (begun.low, longer.low), (begun.high, longer.high))
    )
    return Times(*ends, longer.mostly)


def times_of(launch: Launch) -> Times:
    """Return the predicted times of a launch."""
    return forecast_times(launch.forecast)


def forecast_times(forecast: Forecast) -> Times:
    """Return the times of a forecast; its kind is "" if mechanisms that hardly any row shows make up half of it."""
    certainty = forecast.certainty
    unsure = sum(one.part for one in certainty.unsure)
    mostly = "" if 2 * unsure >= 1 else max(certainty.kinds, key=certainty.kinds.__getitem__)
    return Times(forecast.found.time_us, *forecast.band, mostly)


WHOLE = "fourth"
"""The class that is held out completely."""
DERIVED = frozenset(key for rate in RATES for value in rate.values for key in value.rows)
"""The rows that constants of the model were derived from."""


def held_out(measured: Sequence[Measured]) -> list[bool]:
    """Return for each row whether no constant may be derived from it; the rule does not look at predictions.

    Rows with a ``class`` in the file: within each class, ordered by measured time with the longest first, every
    second row is held out.  The row of a one-row class is held out unless a constant names it, for no other row would
    show its mechanism.  The class "fourth" is held out completely: no constant was derived from its rows.  Rows
    without a class are older than the rule; constants were derived from some of them, and all the others are held
    out.
    """
    held = [not row.group and key_of(row) not in DERIVED for row in measured]
    for group in {row.group for row in measured if row.group}:
        own = [n for n, row in enumerate(measured) if row.group == group]
        own.sort(key=lambda n: -measured[n].time_us)
        for place, n in enumerate(own):
            halved = group != WHOLE and len(own) > 1
            held[n] = bool(place % 2) if halved else key_of(measured[n]) not in DERIVED
    return held


def key_of(row: Measured) -> str:
    """Return the name by which a constant cites *row* as its source."""
    case = case_of(row)
    if case is not None:
        return case.key
    return row.op.removesuffix("_nram_scalar_1core")


# -- the time of each kernel ------------------------------------------------------------------------


def rung(number: int, board: str, *, columns: int = 128, notified: bool = True) -> Times:
    """Return the times of a rung of the ladder at the measured size; *notified*: one launch between two notifiers on an idle queue."""
    if number < 3:
        found = affine(
            lambda n: times_of(LADDER.run(number, board, results=n, columns=columns)[0]), 8, ROWS * columns
        )
    elif number == 3:
        found = times_of(LADDER.run(3, board, columns=columns)[0])
    elif number < 6:
        found = of_equal_blocks(LADDER.blocks if number == 4 else LADDER.three_stages, board, 128)
    else:
        waves = -(-256 // find_board(board).clusters)
        found = affine(lambda n: times_of(LADDER.run(number, board, waves=n)[0]), 1, waves)
    if not notified:
        return found
    return found.plus(
        *(HOST_CALL.at(bound, find_board(board)) for bound in (Bound.USUAL, Bound.LOW, Bound.HIGH))
    )


def of_equal_blocks(body: Any, board: str, tasks: int, steps: int = STEPS) -> Times:
    """Return the times of a rung of *tasks* blocks of *steps*: all do the same work, so one is run and stands for each."""
    device = mlusim.Device(board)
    left, weight, out = (
        device.empty(size, np.float32)
        for size in (steps * LADDER.BLOCK * LADDER.K, LADDER.K * LADDER.N, steps * LADDER.BLOCK * LADDER.N)
    )
    forecast = device.launch(body, 1, mlusim.BLOCK, (out, left, weight, steps)).forecast
    (work,) = forecast.tasks
    # The data that belongs to a block is a part of a tensor that has it for every block.
    reads = tuple(
        (at, size * tasks if size == left.nbytes else size, nbytes) for at, size, nbytes in work.reads
    )
    every = [work._replace(task=n, union=n, reads=reads) for n in range(tasks)]
    return forecast_times(Forecast(every, forecast.board, forecast.unions))


@functools.lru_cache
def copied(board: str) -> Times:
    """Return the times of a clone of 8192 x 8192 floats."""
    return times_of(TILES.run(TILES.clone, board, np.zeros((SIDE, SIDE), np.float32))[0])


def cast(board: str) -> Times:
    """Return the times of a conversion from half to float, 8192 x 8192."""
    return times_of(TILES.run(TILES.cast, board, np.zeros((SIDE, SIDE), np.float16))[0])


def gathered(board: str) -> Times:
    """Return the times of the element-wise transposition, from runs of one and of two columns on each core."""
    cores = find_board(board).cores
    return affine(lambda n: times_of(published.run_gather_transpose(board, n)), 1, SIDE // cores)


def absolute(board: str) -> Times:
    """Return the times of abs of 10,000 floats, with a tile of 4 KiB per core."""
    src = np.zeros(10_000, np.float32)
    return times_of(TILES.run(TILES.absolute, board, src, tail=(src.size, 1024), cores=10)[0])


def added(board: str) -> Times:
    """Return the times of an addition of two vectors of 64 Mi floats."""
    x = np.zeros((SIDE, SIDE), np.float32)
    return times_of(TILES.run(TILES.add, board, x, x)[0])


def of(launch: Callable[..., Launch], *args: object) -> Callable[[str], Times]:
    """Return a function that predicts the times of a kernel of `published` at a size."""
    return lambda board: times_of(launch(board, *args))


def of_source(public: Public) -> Callable[[str], Times | None]:
    """Return a function that predicts the times of a kernel of a checkout, or returns None without the checkout."""

    def predict(board: str) -> Times | None:
        if not public.there:
            return None
        if public.loop:
            _, small, second, whole = public.loop
            return affine(lambda length: times_of(public.launch(board, length)), small, whole, second)
        found = times_of(public.launch(board))
        for launched in (times_of(one.launch(board)) for one in public.before):
            found = found.plus(launched.usual, launched.low, launched.high)
        return found

    return predict


@frozen
class Case:
    """How the rows of a published kernel are predicted; ``words`` must occur in the row's name, platform, type or shape.

    ``key`` is the name by which a constant of the model cites the row; ``source`` is the repository whose unmodified
    source is run; ``family`` is shared by the rows that do the same work on the same board.
    """

    key: str
    words: tuple[str, ...]
    kind: str
    predict: Callable[[str], Times | None]
    how: str = "rewritten, at the measured size"
    cores: str = "all cores"
    source: str = ""
    family: str = ""
    why: str = ""  # why the prediction is far off


def _ladder(board: str, columns: int, numbers: Iterable[int]) -> Iterator[Case]:
    kinds = {1: "scalar", 2: "scalar", 3: "launch", 4: "tensor", 5: "tensor", 6: "tensor"}
    how = {
        1: "a + b results, from 8 and 16",
        3: "example 10",
        4: "one of its equal tasks",
        6: "a + b waves, from 1 and 2",
    }
    for number in numbers:
        told = how[1 if number < 3 else 4 if number == 5 else number]
        predict = functools.partial(rung, number, columns=columns)
        cores = "one core" if number <= 3 else "all cores"
        words = f"matmul_lab_0{number}", board
        family = f"ladder {board} {'blocks' if number > 3 else 'one block'}"
        yield Case(" ".join(words), words, kinds[number], predict, told, cores, family=family)


def _contest(name: str, commit: str, kind: str, cores: str = "all cores", family: str = "") -> Case:
    predict = of_source(public_sources.CONTESTED[commit])
    told = f"source, commit {commit}"
    return Case(name, (name,), kind, predict, told, cores, public_sources.CONTEST, family)


def _vendor(
    name: str,
    words: tuple[str, ...],
    kind: str,
    public: Public,
) -> Case:
    told = f"the vendor's source, {f'commit {public.commit}' if public.commit else 'revision 73adc65'}"
    return Case(name, words, kind, of_source(public), told, source=public_sources.MLU_OPS)


HALF = np.float16
_TURNED = "transposition MLU590-M9"
_OVERLAPPED = (
    "the kernel is known as blocking; the card reaches 37 GB/s a core and transposes beside it, which blocking copies "
    "at 32 bytes/ns cannot, so its compiler overlaps consecutive tiles"
)
CASES: tuple[Case, ...] = (
    *_ladder("MLU370-X8", 128, range(1, 7)),
    *_ladder("MLU370-M8", 256, range(1, 4)),
    Case("abs", ("abs",), "launch", absolute, cores="some cores"),
    Case("clone", ("clone",), "copy", copied),
    Case("copy_", ("copy_",), "copy", copied),
    Case("type_as", ("type_as",), "copy", cast),
    Case("contiguous gather", ("contiguous", "gather"), "strided", gathered, "a + b columns a core, from 1 and 2", family=_TURNED),
    Case("contiguous tiled", ("contiguous", "tiled"), "strided", of(published.run_tiled_transpose), family=_TURNED, why=_OVERLAPPED),
    Case("contiguous native", ("contiguous", "native"), "strided", of(published.run_piped_transpose), "a plausible good kernel", family=_TURNED),
    *(
        _vendor(f"moe_dispatch_backward_{which} 512", (f"moe_dispatch_backward_{which}", "18432"), "copy", public_sources.dispatch(which, 18432, 512, 11520))
        for which in ("data", "gate")
    ),
    _vendor("moe_dispatch_backward_data", ("moe_dispatch_backward_data",), "copy", public_sources.dispatch("data")),
    _vendor("moe_dispatch_backward_gate", ("moe_dispatch_backward_gate",), "copy", public_sources.dispatch("gate")),
    *(
        _vendor(
            f"ball_query {name}", ("ball_query", *words), "vector", public_sources.ball_query(*sizes, dtype=dtype),
        )
        for name, words, sizes, dtype in (
            ("2048", ("2048",), (16, 2048, 512, 64, 0.4), np.float32),
            ("half", ("float16",), (16, 1024, 512, 32, 0.2), HALF),
            ("1024", ("1024",), (16, 1024, 256, 32, 0.2), np.float32),
            ("512", (), (16, 512, 128, 128, 0.8), np.float32),
        )
    ),
    Case("three_interpolate large", ("three_interpolate", "4096"), "vector", of(published.run_three_interpolate, 16, 128, 1024, 4096, (32, 256)), "rewritten, the tile is assumed"),
    Case("three_interpolate half", ("three_interpolate", "float16"), "vector", of(published.run_three_interpolate, 16, 512, 16, 64, (512, 64), HALF), "rewritten, the tile is assumed"),
    Case("three_interpolate", ("three_interpolate",), "vector", of(published.run_three_interpolate, 16, 512, 16, 64, (512, 32)), "rewritten, the tile is assumed"),
    Case("lab_cosine_similarity", ("cosine",), "vector", of(published.run_cosine), cores="one core"),
    _contest("009 conv1d", "bdbed09", "tensor", "some cores", "convolution of one dimension"),
    _contest("010 conv2d", "a250ffb", "tensor", "all cores", "convolution of 3 channels"),
    _contest("020 matmul", "775eec8", "tensor", "some cores"),
    _contest("022 tm64", "072a4da", "tensor", family="matmul of two transposed"),
    _contest("022 tm256", "2d03f8c", "tensor", family="matmul of two transposed"),
    _contest("022 tm128", "762d632", "tensor", family="matmul of two transposed"),
    _contest("026 ELU", "281170d", "launch"),
    _contest("029 HardTanh", "cf28d57", "launch", "some cores"),
    _contest("035 empty", "9790c83", "launch", "one core"),
    _contest("035 zeros", "f901327", "launch", "all cores", "zeros"),
    _contest("043 GroupNorm", "13ec36b", "copy"),
    _contest("058 scalar sum", "620eab9", "vector", "some cores", "softmax"),
    _contest("058 vector sum", "db17d69", "vector", "some cores", "softmax"),
    _contest("062 prefix sum", "ec4f3d0", "launch", "one core"),
    _contest("072 add", "bd429aa", "copy"),
    _contest("088 trace", "d7cd707", "strided", "all cores", "trace"),
    _contest("095 RMSNorm", "caac6aa", "copy", "all cores", "norm of roots"),
    _contest("098 attention", "afd6d91", "scalar"),
    _contest("115 unfold", "ef1d96c", "copy", "all cores", "unfold"),
    _contest("020 two halves", "04cd3b1", "tensor", "all cores", "matmul of a large K"),
    _contest("022 tn256", "9251e09", "tensor", "all cores", "matmul of two transposed"),
    _contest("014 tall", "0a43980", "tensor", "all cores", "tall matmul"),
    _contest("010 pieces", "24089ac", "strided", "all cores", "convolution of 3 channels"),
    _contest("010 turned back", "713400f", "tensor", "all cores", "convolution of 3 channels"),
    _contest("010 channels 32", "9ea131d", "tensor", "all cores", "convolution of 3 channels"),
    _contest("010 channels 3", "dbe2262", "tensor", "all cores", "convolution of 3 channels"),
    _contest("009 channels 32", "684372e", "tensor", "some cores", "convolution of one dimension"),
    _contest("098 selected", "3240c1f", "scalar", "all cores", "attention of normal values"),
    _contest("088 pairs", "8f347a7", "strided", "all cores", "trace"),
    _contest("050 cumprod", "f71d2c6", "scalar", "all cores", "cumulative product"),
    _contest("039 BatchNorm", "23bb814", "copy", "all cores", "batch norm"),
    _contest("092 SVD", "65a6eda", "scalar", "some cores", "SVD"),
    _contest("134 depthwise", "81a99b4", "vector"),
    _contest("019 tasks 16", "256ae0f", "tensor", "some cores", "matmul of odd sizes"),
    _contest("019 tasks 128", "c3d6b01", "tensor", "all cores", "matmul of odd sizes"),
    _contest("048 pool 32", "9266954", "on chip", "all cores", "pooling"),
    _contest("048 pool 16", "f38306a", "on chip", "some cores", "pooling"),
    _contest("048 pieces", "37e9be3", "on chip", "all cores", "pooling"),
    _contest("101 pieces", "506bd02", "on chip", "all cores", "pooling with indices"),
    _contest("127 Cholesky", "8b96134", "scalar", "some cores", "Cholesky"),
    _contest("053 scan", "3242526", "scalar"),
    _contest("021 tn512", "585ae85", "tensor", "all cores", "matmul of a small K"),
    _contest("021 tn1024", "6c1e425", "tensor", "all cores", "matmul of a small K"),
    _contest("014 tn256", "a0ea046", "tensor", "all cores", "tall matmul"),
    _contest("024 tm128", "048862b", "tensor", "all cores"),
    _contest("013 packed", "7f27faa", "tensor", "all cores"),
    _contest("022 tn128", "38f05c5", "tensor", "all cores", "matmul of two transposed"),
    _contest("010 rows 4", "fe8e690", "tensor", "all cores", "convolution of 3 channels"),
    _contest("010 coalesced", "db267a5", "tensor", "all cores", "convolution of 3 channels"),
    _contest("010 half out", "765e697", "tensor", "all cores", "convolution of 3 channels"),
    _contest("009 whole", "76ca885", "tensor", "some cores", "convolution of one dimension"),
    _contest("009 vector", "0c0ef5f", "vector", "all cores", "convolution of one dimension"),
    _contest("019 tasks 64", "1b6bfd3", "tensor", "all cores", "matmul of odd sizes"),
    _contest("039 half sums", "2750088", "copy", "all cores", "batch norm"),
    _contest("096 scale", "1882ca3", "copy", "all cores"),
    _contest("042 zeros", "12f777a", "copy", "all cores"),
    _contest("115 grid", "edf469e", "copy", "all cores", "unfold"),
    _contest("095 grid", "e9e1400", "copy", "all cores", "norm of roots"),
    _contest("088 quads", "752c947", "strided", "all cores", "trace"),
    _contest("049 pool", "2fdb998", "on chip", "all cores"),
    _contest("048 tasks 64", "146afcd", "on chip", "all cores", "pooling"),
    _contest("048 tasks 128", "6c31a6c", "on chip", "all cores", "pooling"),
    _contest("101 width", "591eb06", "on chip", "all cores", "pooling with indices"),
    _contest("092 six sweeps", "4ec1b0c", "scalar", "some cores", "SVD"),
    _contest("127 union", "842c19a", "scalar", "all cores", "Cholesky"),
    _contest("050 prefix 41", "ae8dbd8", "scalar", "all cores", "cumulative product"),
    _contest("062 zero buffer", "9b995cf", "launch", "one core"),
    _contest("035 tasks 64", "aba7906", "launch", "all cores", "zeros"),
    _contest("035 from NRAM", "127db26", "launch", "all cores", "zeros"),
    _contest("128 sums", "918bdf7", "launch", "all cores"),
)  # fmt: skip

_BOARDS = {"MLU290": "MLU290-M5", "MLU270": "MLU270-S4", "MLU270-generation": "MLU270-S4"}


def case_of(row: Measured) -> Case | None:
    """Return the first case all of whose words occur in the row."""
    text = f"{row.op} {row.platform} {row.dtype} {row.shape}"
    return next((case for case in CASES if all(word in text for word in case.words)), None)


def judged() -> Iterator[Judged]:
    """Yield every published row with its prediction."""
    known: dict[str, Times | None] = {}
    measured = rows()
    for row, held in zip(measured, held_out(measured), strict=True):
        case, board = case_of(row), row.platform.split(" ")[0]
        board = _BOARDS.get(board, board)
        if case is None:
            told = "indicative only: the kernel is not known well enough to write"
            yield Judged(row, None, told, held=held, board=board)
            continue
        if case.key not in known:
            known[case.key] = case.predict(board)
        found, how = known[case.key], case.how
        if found is None:
            how = f"needs a checkout of {case.source}: set {public_sources.PLACE}"
        elif case.source and public_sources.checkout(case.source) is None:
            how = "rewritten"
        yield Judged(row, found, how, case.kind, held, case.cores, board, case.family, case.why)


def show_boards(boards: list[str], console: Console) -> None:
    """Print the times that the same constants predict for *boards*, for which there are no measurements to compare."""
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


def main(words: list[str]) -> int:
    """Print the table, or the table of the boards that *words* names; with ``--page`` also write it to the page about time."""
    console = Console(width=None if sys.stdout.isatty() else 200)
    boards = [word for word in words if word != PAGED]
    if boards:
        show_boards([find_board(board).name for board in boards], console)
        return 0
    results = list(judged())
    if PAGED in words:
        put_between(PAGE, markdown(results), BEGIN, END)
    return 0 if show(results, console) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
