"""Unions that are not variables: made in an expression, returned, constant at file scope; each member shows the same bytes."""

import numpy as np
import pytest
from engines import run

from mlusim import bangc

SOURCE = """\
union U { float f; int i; unsigned char b[4]; };
struct S { int n; U u; };
union H { half h; short s; long l; };
__mlu_func__ U make(float f) { U u = {f}; return u; }
__mlu_func__ U direct(float f) { return U{f}; }
const U cu = {1.5f};
const S cs = {3, {2.5f}};
__mlu_global__ void K(int *o, int n) {
  int c = 0; float x = n + 0.25f;
  o[c++] = U{x}.i; o[c++] = S{1, {x}}.u.i; o[c++] = (n ? U{x} : U{1}).i; o[c++] = make(x).i; o[c++] = direct(x).i; o[c++] = direct(x).b[3];
  const U &r = U{x}; o[c++] = r.i; o[c++] = H{(half)x}.s; o[c++] = (int)H{(half)2}.l;
  U u = U{x}; o[c++] = u.i; u = U{x + 1}; o[c++] = u.b[2]; S s = S{4, {x}}; o[c++] = s.u.i; o[c++] = s.n;
}
__mlu_global__ void L(int *o, int n) { int c = 0; o[c++] = cu.i; o[c++] = cs.u.i; o[c++] = cs.n; U v = cu; o[c++] = v.b[3]; }
__mlu_global__ void M(int *o, int n) { o[0] = U{n + 0.25f}.i; o[1] = make(n).b[3]; o[2] = direct(n).i; }
"""
EXPECTED = {  # by g++, with n = 4
    "K": [1082654720] * 5 + [64, 1082654720, 17472, 16384, 1082654720, 168, 1082654720, 4],
    "L": [1069547520, 1075838976, 3, 63],
    "M": [1082654720, 64, 1082130432],
}


@pytest.mark.parametrize("engine", ["python", "auto"])
@pytest.mark.parametrize("name", EXPECTED)
def test_members_of_a_union_share_their_bytes(tmp_path, name, engine):
    """Where C has no form for such a value, the Python engine runs."""
    (tmp_path / "k.mlu").write_text(SOURCE)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name]
    wanted = EXPECTED[name]

    assert wanted == run(kernel, (np.zeros(64, np.int32), 4), engine)[1][0][: len(wanted)].tolist()
