"""Searches over the operators and the kernels of the examples: none finds anything.

Faults that examples show on purpose are left out: `03_faults_teach.py`, `04_missing_sync.py` without its wait, `06_barriers.py`, what
`07_boards.py` takes beyond the smallest NRAM, `racy_count` of `09_schedules.py`, and `in_place` of `12_helpers.py`.
"""

import json
from pathlib import Path

import pytest

from mlusim.cli.main import main
from ops.catalog import OPERATORS

HERE = Path(__file__).parent
EXAMPLES = HERE.parents[1] / "examples"
PROJECT = EXAMPLES / "project"
INCLUDE = ("-I", str(PROJECT / "include"))
BOARDS = ("--board", "MLU370-X4", "MLU590-H8")
TENSOR = ("--board", "MLU370-X8")  # whose weights lie as the example lays them out
DRAWS = 60


def _of(file, kernel, reference, *drawn, around=(), boards=BOARDS):
    """The words of a search in a kernel of an example."""
    words = [str(EXAMPLES / file), *(["--kernel", kernel] if kernel else []), *boards, *around]
    return [
        *words,
        *(w for one in drawn for w in ("--arg", one)),
        "--reference",
        f"example_references:{reference}",
    ]


def _matmul(kernel, *drawn, around=()):
    """The words of a search in a kernel of the ladder that takes its weights as the lanes hold them."""
    given = (*drawn, "left=float:-2..3:float32:rows,256")
    return _of("10_matmul_ladder.py", kernel, "matmul", *given, around=around, boards=TENSOR)


GRIDS = ("--dim", "1|4|16")
LADDER = ("columns=int:1..9", "right=float:-2..3:float32:256,columns")
SEARCHES = {
    "double": _of("01_first_kernel.py", "double", "doubled", "count=int:1..80000", "src=in:float32:count", "dst=out:float32:count"),
    "vector_add": _of(
        "02_tasks_and_tails.py", "vector_add", "added",
        "count=int:0..60000", "x=in:float32:count", "y=in:float32:count", "z=out:float32:count", around=GRIDS,
    ),
    "load_and_double": _of("04_missing_sync.py", "load_and_double", "doubled", "src=in:float32:4", "dst=out:float32:4", "wait=1"),
    "add_one_row_to_all": _of(
        "05_memory_core.py", "add_one_row_to_all", "row_added",
        "rows=in:float32:8,256", "bias=in:float32:256", "out=out:float32:8,256", around=("--dim", "4", "--kind", "union1"),
    ),
    "atomic_count": _of("09_schedules.py", "atomic_count", "eight", "total=inout:zeros:int32:1", around=("--dim", "8")),
    "scalar_gdram": _of(
        "10_matmul_ladder.py", "scalar_gdram", "first_results", *LADDER,
        "rows=int:1..5", "results=int:0..rows*columns+1", "left=float:-2..3:float32:rows,256", "out=out:float32:results",
    ),
    "one_matmul": _matmul(
        "one_matmul", "c=int:1..4", "columns=c*64", "rows=128", "filters=float:-2..3:float32:columns,256", "out=out:float32:rows,columns"
    ),
    "blocks": _matmul(
        "blocks", "steps=int:1..3", "rows=steps*512", "filters=float:-2..3:float32:128,256", "out=out:float32:rows,128", around=("--dim", "4")
    ),
    "three_stages": _matmul(
        "three_stages", "steps=int:1..4", "rows=steps*512", "filters=float:-2..3:float32:128,256", "out=out:float32:rows,128",
        around=("--dim", "4"),
    ),
    "five_stages": _matmul(
        "five_stages", "steps=int:1..6", "rows=steps*128", "filters=float:-2..3:float32:128,256", "out=out:float32:rows,128",
        around=("--dim", "4,2", "--kind", "union1"),
    ),
    "clone": _of("11_elementwise.py", "clone", "same", "count=int:0..300000", "src=in:float32:count", "dst=out:float32:count", around=GRIDS, boards=TENSOR),
    "cast": _of("11_elementwise.py", "cast", "same", "count=int:0..300000", "src=in:half:count", "dst=out:float32:count", around=GRIDS),
    "absolute": _of(
        "11_elementwise.py", "absolute", "absolute",
        "count=int:0..200000", "tile=int:1..16385", "src=in:float32:count", "dst=out:float32:count", around=GRIDS,
    ),
    "transpose": _of(
        "11_elementwise.py", "transpose", "transposed",
        "rows=int:1..900", "columns=int:0..300", "src=in:float32:rows,columns", "dst=out:float32:columns,rows", around=GRIDS,
    ),
    "fade": _of(  # half has the whole numbers to 2048 alone, and most of sigmoid(-4) / 19000 is below its smallest normal number
        "12_helpers.py", "fade", "faded", "count=int:0..1949", "start=int:1..100", "src=float:-4..4:half:count", "dst=out:half:count", around=GRIDS
    ),
    "Saxpy": _of("13_lab_program.mlu", None, "saxpy", "n=int:0..60000", "a=float:-4..4", "x=in:float32:n", "y=inout:in:float32:n", around=GRIDS),
    "rowSumKernel": _of(
        "project/kernels/row_sum.mlu", "rowSumKernel<float>", "row_sums",
        "rows=int:0..40", "columns=int:1..16385", "in=float:0..2:float32:rows,columns", "out=out:float32:rows", around=(*GRIDS, *INCLUDE),
    ),
    "scaleKernel": _of(
        "project/kernels/scale.mlu", "scaleKernel", "scaled", "n=int:0..60000", "factor=float:-4..4", "in=in:float32:n", "out=out:float32:n",
        around=(*GRIDS, *INCLUDE),
    ),
    "scale": _of(
        "project/kernels/scale.mlu", None, "scaled", "n=int:0..60000", "factor=float:-4..4", "in=in:float32:n", "out=out:float32:n",
        around=("--function", "scale", *INCLUDE),
    ),
    **{operator.name: [operator.name, *BOARDS] for operator in OPERATORS if operator.draws},
}  # fmt: skip


def _silent(name, runs, tmp_path, monkeypatch, capsys):
    """Search so many draws."""
    monkeypatch.chdir(HERE)
    code = main(["fuzz", *SEARCHES[name], "--runs", str(runs), "--corpus", str(tmp_path / "kept"), "--json"])
    found = capsys.readouterr().out
    assert code == 0, found
    document = json.loads(found[found.index("{\n") :])
    assert document["draws"] == runs


@pytest.mark.parametrize("name", ["add_one_row_to_all"])
def test_a_search_over_an_example_is_silent(name, tmp_path, monkeypatch, capsys):
    """One of them, a few draws."""
    _silent(name, 4, tmp_path, monkeypatch, capsys)


@pytest.mark.attack
@pytest.mark.parametrize("name", SEARCHES)
def test_searches_over_operators_and_examples_are_silent(name, tmp_path, monkeypatch, capsys):
    """All of them."""
    _silent(name, DRAWS, tmp_path, monkeypatch, capsys)
