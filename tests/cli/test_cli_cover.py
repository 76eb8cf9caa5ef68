"""``mlusim cover`` and ``--coverage``: the lines of kernels that ran, by task, over several runs."""

import json
import re

import pytest

SOURCE = """\
__mlu_device__ int Half(int n) {
  return n / 2;
}
__mlu_global__ void Split(int *out, int n) {
  if (taskId == 0) {
    out[0] = Half(n);
  } else if (n > 5) {
    out[taskId] = n;
  } else {
    out[taskId] = 0;
  }
}
__mlu_global__ void Other(int *out) {
  out[0] = 1;
}
"""
SCRIPT = """\
import mlusim
from mlusim.bang import Mlu, Ptr, kernel


def often(mlu, out):
    for n in range(3):
        out[n] = n


@kernel
def count(mlu: Mlu, out: Ptr, large: int) -> None:
    if large:
        out[3] = 1
    often(mlu, out)


device = mlusim.Device("MLU370-X4")
device.launch(count, dim=1, args=(device.empty(4, "int32"), 0))
"""


@pytest.fixture
def split(cli, tmp_path, monkeypatch):
    """Run a verb with two tasks of ``Split`` and an *n*."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "split.mlu").write_text(SOURCE)
    call = ("split.mlu", "--kernel", "Split", "--dim", "2", "--arg", "out=out:int32:2")

    def run(verb, n, *words):
        return cli(verb, *call, "--arg", f"n={n}", *words)

    return run


def test_lines_are_counted_by_task_and_over_runs(split, cli, tmp_path):
    """A second run adds to the record; a kernel that was never launched stays uncovered; lcov and the page have the same counts."""
    first = split("cover", 9, "--keep", "c.json", "--json")
    shown = split("run", 9, "--coverage", "c.json")
    second = split("cover", 1, "--keep", "c.json", "--lcov", "c.info", "--html", "c.html")
    record = json.loads((tmp_path / "c.json").read_text())
    (lines,) = record["files"].values()

    assert [0, 0, 0] == [first.code, shown.code, second.code]
    assert ["10-14"] == first.json()["summary"][0]["missing"]
    tests = "  4 of 4 branches taken, 100.0 %\n"
    assert f"split.mlu: 8 of 10 lines ran, 80.0 %; never: 13-14\n{tests}in 3 launches\n" == second.out
    assert "split.mlu: 7 of 10 lines ran" in shown.err
    assert {"0": 3} == lines["2"]
    assert [{"1": 2}, {"1": 1}, {}] == [lines["8"], lines["10"], lines["14"]]
    info = {"BRDA:7,0,0,2", "BRDA:7,0,1,1", "BRF:4", "BRH:4", "DA:2,3", "DA:8,2", "DA:14,0", "LF:10", "LH:8"}
    assert info <= set((tmp_path / "c.info").read_text().split())
    assert {"true": {"1": 2}, "false": {"1": 1}} == record["branches"][str(tmp_path / "split.mlu")]["7:14"]
    page = (tmp_path / "c.html").read_text()
    assert 'class="never" title=""' in page
    assert ["ran", "part-ran", "never"] == re.findall(r'fill="var\(--([\w-]+)\)"', page)
    assert '<p class="answer bad">8 of 10 lines ran, 4 of 4 branches taken, in 3 launches</p>' in page
    assert '<a href="#file0">split.mlu</a></td><td class="n">8 of 10</td>' in page
    assert "prefers-color-scheme: dark" in page
    again = cli("cover", "c.json")
    assert second.out == again.out


BRANCHES = """\
__mlu_device__ int Half(int n) {
  return n > 3 && n < 90 ? n / 2 : n;
}
template <bool Even> __mlu_global__ void Split(int *out, int n, int *more) {
  if (Even && taskId == 0) out[0] = Half(n);
  else if (n > 50 || !more) out[taskId] = n;
  while (true) {
    if (--n < 0) break;
  }
  do { n--; } while (n > -5);
}
__mlu_global__ void Beside(int *out) { out[0] = out[1] ? 1 : 2; }
"""
TESTS = """\
import mlusim
from mlusim.bang import Mlu, Ptr, kernel


@kernel
def count(mlu: Mlu, out: Ptr, large: int) -> None:
    if large:
        out[3] = 1
    elif (mlu.taskId
          == 0):
        out[2] = 1
    for n in range(2):
        if n == 1:
            continue
        out[n] = 1
    while large: large = 0


device = mlusim.Device("MLU370-X4")
device.launch(count, dim=1, args=(device.empty(4, "int32"), 0))
"""


def test_outcomes_of_tests_are_counted(cli, tmp_path, monkeypatch):
    """Of if, loops and ?:, of operands of && and ||, none of what is constant; by the checkers' code, too, and in Python."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "branches.mlu").write_text(BRANCHES)
    (tmp_path / "branches.py").write_text(TESTS)
    call = ["branches.mlu", "--kernel", "Split<true>", "--dim", "2", "--arg", "out=out:int32:2"]
    rest = ["--arg", "n=9", "--arg", "more=null"]

    plain = cli("cover", *call, *rest)
    checked = cli("check", *call, *rest, "--only", "memcheck,valuecheck", "--coverage", "c.json")
    python = cli("cover", "branches.py")
    record = json.loads((tmp_path / "c.json").read_text())

    never = "2:10 false, 2:19 false, 6:12 true, 6:22 false, 12 true, 12 false"
    assert f"  10 of 16 branches taken, 62.5 %; never: {never}\n" in plain.out
    assert [0, plain.out.splitlines()[:2]] == [plain.code, checked.err.splitlines()[:2]]
    (tests,) = record["branches"].values()
    assert [{"true": {"0": 1, "1": 1}, "false": {"0": 9, "1": 9}}] == [tests["8:9"]]
    assert "  6 of 8 branches taken, 75.0 %; never: 7 true, 9 false\n" in python.out


EVERY = """\
#define PICK(a, b) ((a) > (b) ? (a) : (b))
__nram__ float part[64];
template <typename T> __mlu_device__ T twice(T x) { return x > 0 ? x * 2 : x; }
__mlu_device__ int deep(int n) {
  if (n <= 0) return 0;
  return 1 + deep(n - 1);
}
struct Pair { int a; float b; };
__mlu_global__ void All(int *out, float *f, int n, int *none, Pair p) {
  int sum = 0, k = n;
  switch (n) {
    case 1: sum += 1; break;
    case 9:
      sum += 2;
    case 3: sum += 3; break;
    default: sum = -1;
  }
  for (int i = 0; i < n; ++i) {
    if (i % 3 == 0) continue;
    if (i == 7) break;
    for (int j = i; j--;) { sum += PICK(i, j); }
    i & 1 ? sum++ : sum--;
  }
  do {
    if (--k < 3) continue;
    sum += k;
  } while (k > 0 && sum < 1000);
  while (true) {
    if (k++ > 4) goto done;
  }
done:
  if (!none || p.a) sum += twice(p.a) + (int)twice(p.b) + deep(3);
  bool flag = n && sum;
  if (flag) {
    __memcpy(part, f, 64 * sizeof(float), GDRAM2NRAM);
    __bang_add(part, part, part, 64);
    __memcpy(f, part, 64 * sizeof(float), NRAM2GDRAM);
  }
  int *at = n > 4 ? out : none;
  if (at) at[taskId] = sum;
  const char *text = flag ? "yes" : "no";
  if (coreId == 0x80) { sum = 0; }
  __sync_cluster();
  if (f[0] > 1.0f) out[taskId] += 1;
}
__mlu_global__ void Beside(int *out) { out[0] = 1; }
"""


def test_both_engines_count_the_same(cli, tmp_path, monkeypatch):
    """To the byte: statements, tests, tasks; in C as soon as it is asked for, of memory cores too."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "every.mlu").write_text(EVERY)
    given = ("out=out:int32:4", "f=inout:ones:float32:64", "none=null", "p=3,1.5")
    call = ["run", "every.mlu", "--kernel", "All", "--dim", "4", "--kind", "union1"]
    call += [word for one in given for word in ("--arg", one)]
    ran = [
        cli(*call, "--arg", f"n={n}", "--engine", engine, "--coverage", f"{engine}.json")
        for engine in ("native", "python")
        for n in (9, -1)
    ]
    records = [(tmp_path / f"{engine}.json").read_text() for engine in ("native", "python")]
    call[0] = "cover"
    covered = [cli(*call, "--arg", "n=9", "--engine", engine, "--json") for engine in ("native", "python")]

    assert [0, 0, 0, 0] == [done.code for done in ran]
    assert records[0] == records[1]
    assert [0, 0] == [done.code for done in covered]
    assert covered[0].json() == covered[1].json()
    (lines,) = json.loads(records[0])["files"].values()
    assert {"-1", "0", "1", "2", "3"} == set(lines["19"])
    assert "every.mlu: " in ran[0].err


def test_python_kernels_are_counted(cli, tmp_path, monkeypatch):
    """And the functions that they call, but no line of the host."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counting.py").write_text(SCRIPT)

    done = cli("cover", "counting.py", "--json")

    (lines,) = done.json()["files"].values()
    assert [{"0": 3}, {"0": 1}, {}] == [lines["7"], lines["14"], lines["13"]]
    assert "17" not in lines


def test_what_is_no_record_is_refused(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.json").write_text('{"files": 1}')

    done = cli("cover", "odd.json")

    assert 2 == done.code
    assert "odd.json is not a record of coverage" in done.err
