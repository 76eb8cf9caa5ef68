"""What becomes of each file of a checkout, as a row of the table."""

import importlib
import time
import traceback
from pathlib import Path

from attrs import define, field

from benchmarks.vendor.bench import CASES, Bench
from benchmarks.vendor.board import BOARD, CHECKERS
from benchmarks.vendor.sentences import sentence
from mlusim import bangc
from mlusim.errors import MlusimError

_FAMILIES = (
    "attention",
    "boxes",
    "clouds",
    "elementwise",
    "indexing",
    "memories",
    "points",
    "proposals",
    "regions",
    "rotated",
    "sampling",
)
for _family in _FAMILIES:
    importlib.import_module(f"benchmarks.vendor.{_family}")  # registers its cases


@define
class Row:
    """One file: whether it parses and translates, how its kernels ran, what the checkers found."""

    path: str
    parses: bool = False
    kernels: int = 0
    untranslated: list[str] = field(factory=list)
    ran: bool | None = None
    right: bool | None = None
    difference: float | None = None
    findings: dict[str, int] = field(factory=dict)
    examples: dict[str, str] = field(factory=dict)
    seconds: float = 0.0
    remark: str = ""


def paths(root: Path) -> list[str]:
    """The sources below *root*, by path."""
    return sorted(str(p.relative_to(root)) for p in root.rglob("*.mlu"))


def row_of(root: Path, path: str, *, checked: bool, board: str = BOARD) -> Row:
    """Load the file at *path*, translate every function and run its cases."""
    row, start = Row(path), time.perf_counter()
    try:
        _translate(root, row, board)
        if path in CASES:
            _run(root, row, board)
            if checked and row.ran:
                _check(root, row, board)
    except MlusimError as error:
        row.remark = row.remark or sentence(error, root)
    row.seconds = time.perf_counter() - start
    return row


def _translate(root: Path, row: Row, board: str) -> None:
    module = bangc.load([root / row.path], include=[root], define={"NDEBUG": None}, board=board)
    row.parses = True
    for kind in ("kernel", "device", "host"):
        for _, function in module.functions_of(kind):
            row.kernels += kind == "kernel"
            if function.problem is not None:
                row.untranslated.append(f"{function.name}: {sentence(function.problem, root)}")
            elif kind == "kernel":
                try:
                    module[function.name].plan  # noqa: B018 - it links what the kernel reaches
                except MlusimError as error:
                    row.untranslated.append(f"{function.name}: {sentence(error, root)}")


def _run(root: Path, row: Row, board: str) -> None:
    """Run without observers; anything that a kernel raises is the row's remark."""
    bench = Bench(root, row.path, board=board)
    row.ran = False
    try:
        for function in CASES[row.path]:
            function(bench)
        row.ran = True
    except Exception as error:  # noqa: BLE001 - the table says what it was
        row.remark = f"{type(error).__name__}: {sentence(error, root)}{_place(error)}"
    if bench.outcomes:
        row.right = row.ran and all(o.right for o in bench.outcomes)
        row.difference = max((o.difference for o in bench.outcomes), default=0.0)


def _check(root: Path, row: Row, board: str) -> None:
    bench = Bench(root, row.path, checkers=CHECKERS, board=board)
    try:
        for function in CASES[row.path]:
            function(bench)
    except Exception as error:  # noqa: BLE001 - the table says what it was
        row.remark = f"under checkers: {type(error).__name__}: {sentence(error, root)}"
    row.findings, row.examples = dict(bench.findings), bench.examples


def _place(error: Exception) -> str:
    frames = [
        f for f in traceback.extract_tb(error.__traceback__) if f.filename.endswith((".mlu", ".h", ".mluh"))
    ]
    return f" at {Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else ""
