"""``mlusim plan FILE.mlu`` with --max, --frontier and --claim: shapes that run, found by running them."""

import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlusim.arch.catalog import find_board
from mlusim.plan.claims import Verdict
from mlusim.programs.largest import Binding, Failure, Shapes
from mlusim.programs.shape_answers import frontier_of, tested_claim as claim_of

SOURCE = """\
#ifndef TILE
#define TILE 0
#endif
__nram__ char pool[4096];
__mlu_entry__ void K(float *out, const float *in, int rows, int cols) {
  float *left = (float *)pool;
  float *right = left + rows * cols + TILE * 300;
  __memcpy(left, in, rows * cols * sizeof(float), GDRAM2NRAM);
  if (cols == HOLE) { right[1024] = 0.0f; }
  __bang_add(right, left, left, rows * cols);
  __memcpy(out, right, rows * cols * sizeof(float), NRAM2GDRAM);
}
"""
CALL = (
    "k.mlu",
    *("--arg", "out=out:float32:rows x cols", "--arg", "in=randn:float32:rows x cols"),
    *("--arg", "rows=n/2", "--arg", "cols=10", "--arg", "n=8", "--engine", "python"),
)
SOLID = (*CALL, "-D", "HOLE=0")


@pytest.fixture
def plan(cli, tmp_path, monkeypatch):
    """Run ``mlusim plan`` on the kernel, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlu").write_text(SOURCE)
    return lambda *words: cli("plan", *words)


HOST = """\
__nram__ float pool[256];
__mlu_entry__ void Twice(float *y, int n) {
  __memcpy(pool, y, n * sizeof(float), GDRAM2NRAM);
  __bang_add(pool, pool, pool, n);
  __memcpy(y, pool, n * sizeof(float), NRAM2GDRAM);
}
int Doubled(cnrtQueue_t queue, float *y, int n, int bound) {
  if (n > bound || n % 4) { fprintf(stderr, "n is %d\\n", n); return -1; }
  cnrtDim3_t dim = {1, 1, 1};
  Twice<<<dim, cnrtFuncTypeBlock, queue>>>(y, n);
  return 0;
}
"""


SAID = (
    "Doubled on MLU370-X4: it accepts n = 500, which fails",
    "  n = 500 fails: __memcpy: dst: bytes [0, 2000) of NRAM",
    "  the smallest that was seen to: n = 260 fails: __memcpy",
    "  n = 504 is refused by the function's own checks",
    "Doubled on MLU370-X4: the largest n that runs is 256",
    "  pool binds (h.mlu:2): up to byte 1,024 of 1,024",
    "  n was searched in steps of 4: n = 63 is refused",
)


def test_what_a_host_function_refuses_is_told_apart_from_what_it_accepts_and_overflows(plan, tmp_path):
    """The largest shape of the second kind comes first; a function that takes multiples is searched in steps."""
    (tmp_path / "h.mlu").write_text("#include <cstdio>\n" + HOST)
    call = ("h.mlu", "--function", "Doubled", "--arg", "y=inout:ones:float32:n", "--arg", "n=64")
    whole = plan(*call, "--arg", "bound=500", "--json")
    tight = plan(*call, "--arg", "bound=100", "--max", "n", "--json")
    wide = plan(*call, "--arg", "bound=500", "--max", "n")
    found, lines = tight.json(), wide.out.splitlines()

    assert (0, 0, 1) == (whole.code, tight.code, wide.code)
    assert [256] == [array["touched"] for array in whole.json()["arrays"]]
    assert (100, 104, None, 4) == tuple(
        found[key] for key in ("largest", "next", "accepted_and_fails", "step")
    )
    assert "check" == found["fails"]["kind"]
    assert [*SAID] == [line[: len(said)] for line, said in zip(lines, SAID, strict=False)]
    assert lines[3].endswith("own checks: no kernel is launched, and returns -1; n is 504")


def test_the_largest_shape_says_what_binds(plan):
    """A parameter, a number of its formulas and a macro, from what the source has for it; where a shape below fails, it is told."""
    found = plan(*SOLID, "--max", "cols", "--json").json()
    shown = plan(*CALL, "-D", "HOLE=65", "--max", "cols").out
    formula = plan(*SOLID, "--max", "n", "--json").json()
    macro = plan(*SOLID, "--max", "-DTILE", "--json").json()

    assert (128, 129, "right in pool", 4096, 4128, 4096) == tuple(
        found[key] for key in ("largest", "next", "binding", "used_at_largest", "used_at_next", "capacity")
    )
    assert found["binding_at"].endswith("k.mlu:7")
    assert [] == found["fails_below"]
    assert [True] == [place.endswith("k.mlu:9") for place in found["branches"]]
    assert (
        "right in pool binds (k.mlu:7): up to byte 4,096 of 4,096, and up to byte 4,128 with cols = 129"
        in shown
    )
    assert "below it, cols = 65 fails: scalar store" in shown
    assert "K branches (k.mlu:9), so that values that were not run may behave in another way." in " ".join(
        shown.split()
    )
    assert (103, 104) == (formula["largest"], formula["next"])
    assert (3, 4, "fault", "right in pool") == (
        macro["largest"],
        macro["next"],
        macro["fails"]["kind"],
        macro["binding"],
    )


def test_a_frontier_has_the_largest_of_one_for_sampled_values_of_the_other(plan):
    """As text, as a table in a file and as a picture; every point is the product that fits."""
    found = plan(*SOLID, "--frontier", "rows,cols", "--format", "csv")
    plan(*SOLID, "--frontier", "rows,cols", "-o", "frontier.svg")
    rows = [line.split(",") for line in found.out.splitlines()]

    assert ["rows", "cols", "binding"] == rows[0]
    assert {"right in pool"} == {name for _, _, name in rows[1:]}
    assert 8 <= len(rows)
    assert all(int(cols) == 512 // int(number) for number, cols, _ in rows[1:])
    assert "right in pool binds" in Path("frontier.svg").read_text()


class Product(Shapes):
    """A kernel that runs where the product of two variables is at most 512; its time is over after so many launches."""

    def __init__(self, most):
        super().__init__(SimpleNamespace(called="K", board=find_board("MLU370-X4"), arguments={}, macros={}))
        self.runs, self.most = [], most

    @property
    def over(self):
        return len(self.runs) >= self.most

    def variables(self):
        return {"rows": 1000, "cols": 1000}

    def given(self, *_):
        return 1

    def settle(self, *_):
        """Do nothing: it has no sources."""

    def binding(self, *_):
        return Binding("pool")

    def overlap(self, *_):
        return None

    def fault(self, values, name):
        fails = Failure(values[name], "fault", "full") if values["rows"] * values["cols"] > 512 else None
        if self.over and values not in self.runs:
            return Failure(values[name], "limit", "over")
        if values not in self.runs:
            self.runs.append(values)
        return fails


def test_a_frontier_looks_where_neighbours_let_expect_it_and_ends_with_its_time():
    """Between two known values there are two launches; the values for which there is no time are left out, and told."""
    whole = Product(10_000)
    found = frontier_of(whole, "rows", "cols")
    cut = frontier_of(Product(len(whole.runs) - 6), "rows", "cols")
    each = Counter(values["rows"] for values in whole.runs if values["cols"] > 1)
    xs, kept = found.frontier.xs.tolist(), cut.frontier.xs.tolist()

    assert {2} == {each[rows] for rows in xs[1:-1]}
    assert [512 // rows for rows in xs] == found.frontier.ys.tolist()
    assert ("", ()) == (found.cut, found.left_out)
    assert [1, 512] == [kept[0], kept[-1]]
    assert xs == sorted([*kept, *cut.left_out])
    left = ", ".join(map(str, cut.left_out))
    assert f"the search ended after 60 s; left out: rows = {left}" == cut.cut
    assert [*cut.left_out] == cut.to_json()["left_out"]


class Endless(Product):
    """A kernel that any number of rows runs, up to what the search waits for, with at most 64 columns; of three rows it waits in vain."""

    def given(self, name, *_):
        return 8 if name == "rows" else 1

    def fault(self, values, name):
        if values["rows"] > 500 or (values["rows"] == 3 and values["cols"] > 20):
            return Failure(values[name], "limit", "too long")
        return Failure(values[name], "fault", "full") if values["cols"] > 64 else None


def test_the_end_of_a_search_is_no_point_of_a_frontier():
    """What nothing limits is sampled up to the call's own value, and where the search ended before a failure that is told beside the points."""
    found = frontier_of(Endless(10_000), "rows", "cols")
    document = found.to_json()

    assert {64} == set(found.frontier.ys.tolist())
    assert (1, 8, False) == (found.frontier.xs[0], found.frontier.xs[-1], 3 in found.frontier.xs)
    assert [
        "rows = 3: every cols that was tried runs, up to 16, and the search ends there: too long",
        "no limit of rows was seen, so it is sampled up to the call's own 8; give a larger one to look further",
    ] == found.unknown
    assert (8, [(3, 16)]) == (
        document["sampled_to"],
        [(point["x"], point["runs"]) for point in document["open"]],
    )


def test_what_there_was_no_time_for_is_not_kept():
    """A value that the first part of a search did not come to is tried by a later part that has time."""
    large = SimpleNamespace(scope=lambda: SimpleNamespace(nbytes=lambda: 1 << 40))
    call = SimpleNamespace(arguments={}, macros={}, dim=(1, 1, 1), with_values=lambda *_: large)
    shapes = Shapes(call, until=0)
    late = shapes.fault({"n": 1}, "n")
    shapes.until = math.inf
    tried = shapes.fault({"n": 1}, "n")

    assert "the time of the search is over" == late.sentence
    assert (
        "its arrays have 1,099,511,627,776 bytes, and the search gives a launch 268,435,456" == tried.sentence
    )


def test_a_claim_that_holds_takes_few_launches_and_ends_with_its_time():
    """Where runs end at the claim there are two launches for a value; what there is no time for is told, and nothing is decided on it."""
    whole = Product(10_000)
    same = claim_of(whole, "rows*cols <= 512")
    each = Counter(values["rows"] for values in whole.runs if values["cols"] > 1)
    cut = claim_of(Product(len(whole.runs) - 5), "rows*cols <= 512")
    wide = claim_of(Product(len(whole.runs)), "rows*cols <= 600")
    none = claim_of(Product(0), "rows*cols <= 512")
    left = ", ".join(map(str, cut.left_out))

    assert (Verdict.SAME, "", ()) == (same.verdict, same.cut, same.left_out)
    assert {2} == {each[sample.at["rows"]] for sample in same.samples if 1 < sample.at["rows"] < 512}
    assert f"the search ended after 60 s; left out: rows = {left}" == cut.cut
    assert [sample.at["rows"] for sample in same.samples] == sorted(
        [*cut.left_out, *(sample.at["rows"] for sample in cut.samples)]
    )
    assert [*cut.left_out] == cut.to_json()["left_out"]
    assert (Verdict.GENEROUS, False) == (wide.verdict, wide.holds)
    assert (Verdict.OPEN, False) == (none.verdict, none.holds)


def test_a_claim_may_be_about_a_macro_of_the_sources(plan, tmp_path):
    """Whose number they give where -D does not; one that they define whatever -D says is told, and an empty claim."""
    (tmp_path / "fixed.mlu").write_text(
        SOURCE.replace("cols == HOLE", "cols == GAP").replace("#ifndef", "#define GAP 0\n#ifndef")
    )
    found = plan(*SOLID, "--claim", "TILE <= 3")
    fixed = plan("fixed.mlu", *CALL[1:], "--claim", "GAP <= 3")
    empty = plan(*SOLID, "--claim", "cols =")

    assert (0, "TILE <= 3, K on MLU370-X4: the same as what runs") == (found.code, found.out.splitlines()[0])
    assert "fixed.mlu:1 defines GAP whatever -D says" in fixed.err
    assert "is not a claim: it says nothing behind =; write cols = NRAM/8" in empty.err


def test_a_claim_is_not_decided_by_what_the_search_does_not_wait_for(plan):
    """Arrays of which a launch of the search gets no more are not a counterexample."""
    small = (
        "k.mlu",
        "--arg",
        "out=out:float32:n",
        "--arg",
        "in=randn:float32:n",
        "--arg",
        "n=8",
        "-D",
        "HOLE=0",
    )
    found = plan(*small, "--arg", "rows=1", "--arg", "cols=1", "--claim", "n <= 100000000")

    assert 1 == found.code
    assert "n <= 100000000, K on MLU370-X4: not decided\n" in found.out
    assert "n runs up to 25000000, and is admitted up to 100000000: n=37500000 takes more than" in found.out


def test_a_claim_holds_or_has_a_counterexample(plan):
    """In the words of an operator's plan; a claim over one variable takes the others as they are given."""
    same, generous = plan(*SOLID, "--claim", "cols = 512/rows"), plan(*SOLID, "--claim", "rows*cols <= 600")
    strict = plan(*SOLID, "--claim", "cols < 100", "--json")

    assert [0, 1, 0] == [same.code, generous.code, strict.code]
    assert "cols = 512/rows, K on MLU370-X4: the same as what runs\n" in same.out
    assert "rows*cols <= 600, K on MLU370-X4: too generous\n" in generous.out
    assert "rows=1, cols=513 is admitted and fails: __bang_add" in generous.out
    found = strict.json()
    assert (True, "stricter than the plan", None) == (
        found["holds"],
        found["verdict"],
        found["counterexample"],
    )
    assert [(99, 128)] == [(sample["admits"], sample["runs"]) for sample in found["samples"]]
