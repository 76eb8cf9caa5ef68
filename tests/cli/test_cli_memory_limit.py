"""What a kernel may declare: one rule and one sentence in `compile`, `run`, `plan`, `profile` and the debugger."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board

SOURCE = """#include <bang.h>
__nram__ float a[COUNT];
__mlu_entry__ void K(float *out, const float *x, int n) {
  __memcpy(a, x, n * 4, GDRAM2NRAM);
  __memcpy(out, a, n * 4, NRAM2GDRAM);
}
"""
CALL = ("--arg", "out=out:float32:16", "--arg", "x=x.npy", "--arg", "n=16")
BOARDS = ("MLU370-X4", "MLU590-H8")


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """A kernel that declares so many floats, as words of a command."""
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.arange(16, dtype=np.float32))

    def write(count):
        (tmp_path / "k.mlu").write_text(SOURCE.replace("COUNT", str(count)))
        return "k.mlu"

    return write


@pytest.mark.parametrize("board", BOARDS)
def test_the_whole_memory_may_be_declared_and_not_a_float_more(cli, kernel, board):
    """Up to the last byte every verb runs; one float more is the same error at compile and of the launch."""
    floats = find_board(board).arch.nram // 4
    whole = kernel(floats)
    fits = [
        cli(verb, whole, *(() if verb == "compile" else CALL), "--board", board)
        for verb in ("compile", "run", "plan", "profile")
    ]
    large = kernel(floats + 1)
    over = [
        cli(verb, large, *(() if verb == "compile" else CALL), "--board", board)
        for verb in ("compile", "run", "plan", "profile")
    ]

    assert [0, 0, 0, 0] == [done.code for done in fits]
    assert [1, 2, 2, 2] == [done.code for done in over]
    sentence = f"error: K declares {4 * floats + 4:,} bytes of NRAM, 4 more than the {4 * floats:,}"
    assert all(sentence in done.out + done.err for done in over)
    assert all(", most for " in done.out + done.err for done in over)


@pytest.mark.parametrize("board", BOARDS)
def test_every_verb_says_the_same_of_the_share_of_the_stack(cli, kernel, board):
    """Beyond what the library's formulas use, the bytes come from the compiler's stack; below, nothing is said of it."""
    arch = find_board(board).arch
    said = "(1.0 KiB of them from the 128 KiB that the compiler keeps for its stack)"
    share = f"NRAM {arch.max_nram // 1024 + 1} of {arch.nram // 1024} KiB"
    file = kernel(arch.max_nram // 4 + 256)
    compiled, planned = cli("compile", file, "--board", board), cli("plan", file, *CALL, "--board", board)
    profiled = " ".join(cli("profile", file, *CALL, "--board", board).out.split())
    stopped = cli(
        "debug",
        file,
        *CALL,
        "--board",
        board,
        "--command",
        "break 4",
        "--command",
        "run",
        "--command",
        "info nram",
    )
    at_most = cli("compile", kernel(arch.max_nram // 4), "--board", board)

    assert f"{share} {said}" in compiled.out
    assert f"{share} {said}" in planned.out
    assert said in profiled
    assert f"{arch.max_nram + 1024} of {arch.nram} bytes declared {said}" in stopped.out
    assert "compiler keeps" not in at_most.out


@pytest.mark.parametrize("board", BOARDS)
def test_a_launch_knows_what_its_kernel_may_declare(kernel, board):
    """Of BANG C all that there is; a kernel in Python keeps to the formulas of the library."""
    arch, device = find_board(board).arch, mlusim.Device(board)
    tensors = [device.empty(16, np.float32), device.put(np.zeros(16, np.float32))]
    source = bangc.load(kernel(1024), board=board)["K"]

    @mlusim.bang.kernel
    def small(mlu):
        mlu.nram(mlusim.bang.float32, 16)

    assert arch.nram == device.launch(source, args=(*tensors, 16)).memory["NRAM"].capacity
    assert arch.max_nram == device.launch(small).memory["NRAM"].capacity


INPUT = """#include <bang.h>
__nram__ float a[16];
__mlu_entry__ void K(float *out, const float *x, int n) {
  __memcpy(a, x, n * 4, GDRAM2NRAM);
  __memcpy((float *)x, a, n * 4, NRAM2GDRAM);
  __memcpy(out, a, n * 4, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("engine", ["python", "auto"])
def test_an_input_is_lent_unless_it_comes_back(cli, kernel, tmp_path, engine):
    """A store through a cast to what was given without inout: is a fault at its line, on both engines; with it, it is not."""
    file = kernel(16)
    (tmp_path / file).write_text(INPUT)
    lent = cli("run", file, *CALL, "--engine", engine)
    checked = cli("check", file, *CALL)
    back = cli("run", file, *CALL[:2], "--arg", "x=inout:x.npy", *CALL[4:], "--engine", engine)

    assert [3, 3, 0] == [lent.code, checked.code, back.code]
    assert "it would change const tensor x float[16], which the host passed as const" in lent.err
    assert "--arg NAME=inout:F.npy" in lent.err
    assert "k.mlu:5" in lent.err
    assert "memcheck-read-only" in checked.out


@pytest.mark.parametrize(
    ("board", "count", "code"), [("MLU370-X4", 32768, 0), ("MLU370-X4", 32769, 1), ("MLU590-H8", 32769, 1)]
)
def test_the_stack_has_what_the_compiler_keeps(cli, kernel, tmp_path, board, count, code):
    """A local array of 128 KiB fits, a word more does not; a declaration that takes of the stack leaves it less."""
    local = "#include <bang.h>\nDECLARED\n__mlu_entry__ void K(int *out) { USED int v[COUNT]; v[3] = 1; out[0] = v[3]; }\n"
    call = ("--arg", "out=out:int32:1", "--board", board)
    file = kernel(1)
    (tmp_path / file).write_text(
        local.replace("DECLARED", "").replace("USED", "").replace("COUNT", str(count))
    )
    done = cli("check", file, *call)
    taken = find_board(board).arch.max_nram + 1024
    declared = local.replace("DECLARED", f"__nram__ char a[{taken}];").replace("USED", "a[0] = 1;")
    (tmp_path / file).write_text(declared.replace("COUNT", "32513"))
    less = cli("check", file, *call)

    assert (code, 1) == (done.code, less.code)
    assert ("memcheck-stack" in done.out) == bool(code)
    assert (
        "a local array of 130,052 bytes does not fit on the stack, which has 130,048 (inferred)" in less.out
    )


def test_all_local_variables_that_are_alive_at_once_share_the_stack(cli, kernel, tmp_path):
    """Arrays of double, structures and the variables of a called function count; those of scopes side by side do not."""
    file = kernel(1)
    (tmp_path / file).write_text(
        """#include <bang.h>
struct P { float a[1000]; int b; };
__mlu_func__ float inner(float x) {
  double v[8000];
  P p[4];
  v[3] = p[3].a[5] = x;
  return v[3] + p[3].a[5];
}
__mlu_func__ float again(int n) { float v[2000]; v[0] = n; return n > 0 ? v[0] + again(n - 1) : 0; }
__mlu_entry__ void Both(float *out) {
  float w[14000];
  w[2] = 1;
  for (int i = 0; i < 2; i++) out[0] = w[2] + inner(i);
}
__mlu_entry__ void Beside(float *out) {
  float w[14000];
  { float q[9000]; w[3] = q[0] = 1; }
  { float q[9000]; w[4] = q[0] = 1; }
  out[0] = w[3] + again(3);
}
__mlu_entry__ void Whole(float *out) {
  P many[33];
  many[32].b = 1;
  out[0] = many[32].b;
}
"""
    )
    said = {
        name: cli("check", file, "--kernel", name, "--arg", "out=out:float:1")
        for name in ("Both", "Beside", "Whole")
    }

    assert [1, 0, 1] == [done.code for done in said.values()]
    both, whole = said["Both"].out, said["Whole"].out
    assert "the local variables that are alive at once take 136,016 bytes, and the stack has 131,072" in both
    assert "v of inner takes 64,000 bytes (k.mlu:4)" in both
    assert "p of inner takes 16,016 bytes (k.mlu:5)" in both
    assert "a local array of 132,132 bytes does not fit on the stack" in whole
