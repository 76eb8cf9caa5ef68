"""Stores to constants of a kernel: one fault, with the same sentence, on both engines; copies of constants may change."""

import re

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim import bangc
from mlusim.errors import OutOfBounds, ReadOnly

SOURCE = """\
struct P { int a; float b[2]; };
struct Q { P p; P row[2]; int *to; };
struct M { int kept; mutable int met; };
__mlu_const__ int t[4] = {1, 2, 3, 4};
__mlu_const__ int one = 3;
const float f[2] = {1, 2};
const P q = {1, {2, 3}};
const Q deep = {{1, {2, 3}}, {{4, {5, 6}}, {7, {8, 9}}}, nullptr};
const P made = P{2, {4, 5}};
const int x = 5;
static constexpr short y = 6;
const M m = {1, 2};
const int *moves = t;
int free_ = 1;
__nram__ const int near_[64] = {1, 2, 3};
__mlu_func__ void put(int *p, long n) { p[n] = 9; }
__mlu_global__ void K(int *out, int which, long n) {
  if (which == 0) put((int *)t, n);
  if (which == 1) ((float *)f)[n] += 1;
  if (which == 2) ((P *)&q)->a = 9;
  if (which == 3) ((P *)&q)->b[1] = 9;
  if (which == 4) { P one = {4, {5, 6}}; *(P *)&q = one; }
  if (which == 5) ((Q *)&deep)->row[1].a++;
  if (which == 6) { Q *p = (Q *)&deep; p->row[1].b[1] = 2; }
  if (which == 7) ((Q *)&deep)->to = out;
  if (which == 8) const_cast<P &>(made).a = 7;
  if (which == 9) *(int *)&x = 9;
  if (which == 10) const_cast<int &>(x) = 9;
  if (which == 11) { short &r = const_cast<short &>(y); r += 2; }
  if (which == 12) ((Q *)&deep)->p = q;
  if (which == 13) t[2]++;
  if (which == 14) one = 4;
  if (which == 15) { const P &p = q; const_cast<P &>(p).a = 1; }
  if (which == 16) out[1] = const_cast<int &>(x) = 9;
  if (which == 17) ((int *)near_)[n] = 1;
  if (which == 18) __memcpy((void *)near_, out, 64, GDRAM2NRAM);
  P copy = q; copy.a += 3; copy.b[0] = 4;
  Q whole = deep; whole.row[1].a = 6; whole.p = q;
  int number = x; number += 1;
  m.met += 1; moves = moves + 1; free_ = 2;
  out[0] = copy.a + whole.row[1].a + number + m.met + *moves + free_ + q.a + near_[2];
}
"""
NAMES = (
    "t", "f", "q", "q", "q", "deep", "deep", "deep", "made", "x", "x", "y", "deep", "t", "one", "q", "x", "near_", "near_",
)  # fmt: skip
IN_MEMORY = {"near_": "NRAM int32 near_[64]", "t": "GDRAM int32 t[4]", "one": "GDRAM int32 one[1]"}


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The kernel, translated once."""
    path = tmp_path_factory.mktemp("constants") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path)["K"]


@pytest.mark.parametrize("which", range(len(NAMES)))
def test_a_store_to_a_constant_is_a_fault(kernel, which):
    """Whatever the type and the way there, and the sentence says which constant."""
    fault = alike(kernel, (np.zeros(64, np.int32), which, 1))
    assert isinstance(fault, ReadOnly)
    name = NAMES[which]
    line = next(
        n
        for n, text in enumerate(SOURCE.splitlines(), 1)
        if "const" in text and f" {name}" in re.split(r"[ []*=|\[", text)[0][-len(name) - 1 :]
    )
    if name in IN_MEMORY:
        declared = f"{IN_MEMORY[name]} declared at"
        assert re.search(rf"{re.escape(declared)} .*k\.mlu:{line}, which is const there", str(fault))
    else:
        assert re.search(rf"a store to {name}, a constant declared at .*k\.mlu:{line}", str(fault))


@pytest.mark.parametrize(("which", "n"), [(0, 16), (0, -1), (1, 2)])
def test_beside_a_constant_the_bounds_come_first(kernel, which, n):
    """A store that leaves the constant is told as that."""
    assert isinstance(alike(kernel, (np.zeros(64, np.int32), which, n)), OutOfBounds)


def test_copies_mutable_members_and_what_is_not_const_may_change(kernel):
    """Only the constants themselves do not."""
    launch = alike(kernel, (np.zeros(64, np.int32), -1, 0))
    assert launch.engine == NATIVE
    _, (out, *_) = run(kernel, (np.zeros(64, np.int32), -1, 0), NATIVE)
    assert out[0] == 4 + 6 + 6 + 3 + 2 + 2 + 1 + 3


TABLE = """\
const int t[2] = {1, 2};
const int *const names[2] = {t, t + 1};
__mlu_global__ void K(int *out) { out[0] = *names[1]; ((const int **)names)[1] = out; }
"""


def test_a_table_of_pointers_is_a_constant_too(tmp_path):
    """It runs in Python."""
    (tmp_path / "k.mlu").write_text(TABLE)
    fault, (out,) = run(bangc.load(tmp_path / "k.mlu")["K"], (np.zeros(4, np.int32),), "python")
    assert isinstance(fault, ReadOnly)
    assert re.search(r"a store to names, a constant declared at .*k\.mlu:2", str(fault))
    assert out[0] == 2


STATICS = """\
struct P { int a; float b[2]; };
struct M { int kept; mutable int met; };
__mlu_func__ int next() { static const int step = 2; static int at = 0; at += step; return at; }
__mlu_global__ void K(int *out, int which, long n) {
  static const int t[2] = {1, 2};
  static const int one = 3;
  static constexpr short y = 6;
  static const P q = {1, {2, 3}};
  static const P row[2] = {{1, {2, 3}}, {4, {5, 6}}};
  static const int *const names[2] = {t, t + 1};
  static const M m = {1, 2};
  static int free_[2] = {1, 2};
  static const int from = n;
  auto change = [](long n) { ((int *)t)[n] = 1; };
  for (int turn = 0; turn < 2; ++turn) {
    if (which == 0) ((int *)t)[n] = 7;
    if (which == 1) *(int *)&one = 4;
    if (which == 2) const_cast<short &>(y) += 2;
    if (which == 3) ((P *)&q)->b[1] = 9;
    if (which == 4) ((P *)&row[1])->a++;
    if (which == 5) ((const int **)names)[1] = out;
    if (which == 6) __memcpy((void *)t, out, 8, GDRAM2LDRAM);
    if (which == 7) const_cast<int &>(from) = 1;
    if (which == 8) change(n);
    if (which == 9) const_cast<P &>(q).a = 2;
    if (which == 10) { P given = row[0]; const_cast<P &>(q) = given; }
    if (which == 11) const_cast<P &>(row[1]).b[n]--;
    if (which == 12) out[0] = ++const_cast<int &>(one);
    P copy = row[1]; copy.a += 3;
    m.met += 1; free_[1] += 1;
    out[turn] = copy.a + m.met + free_[1] + t[1] + one + y + q.a + next() + from + (names[1] == t + 1);
  }
}
"""


OF = ("t", "one", "y", "q", "row", "names", "t", "from", "t", "q", "q", "row", "one")


@pytest.fixture(scope="module")
def statics(tmp_path_factory):
    """The kernel with constants of its functions, translated once."""
    path = tmp_path_factory.mktemp("statics") / "k.mlu"
    path.write_text(STATICS)
    return bangc.load(path)["K"]


@pytest.mark.parametrize("which", range(len(OF)))
def test_a_static_constant_of_a_function_keeps_its_value(statics, which):
    """A store to it is refused as one to a constant at file scope is."""
    fault = alike(statics, (np.zeros(64, np.int32), which, 1))
    assert isinstance(fault, ReadOnly)
    name = OF[which]
    line = next(
        n for n, text in enumerate(STATICS.splitlines(), 1) if re.search(rf"static const.* {name}\b", text)
    )
    assert f"k.mlu:{line}" in str(fault)
    assert "const" in str(fault)


def test_beside_a_static_constant_everything_may_change(statics):
    """Other statics, mutable members and copies; its first value is made once."""
    launch = alike(statics, (np.zeros(64, np.int32), -1, 5))
    _, (out, *_) = run(statics, (np.zeros(64, np.int32), -1, 5), launch.engine)
    assert out[:2].tolist() == [7 + 3 + 3 + 2 + 3 + 6 + 1 + 2 + 5 + 1, 7 + 4 + 4 + 2 + 3 + 6 + 1 + 4 + 5 + 1]
