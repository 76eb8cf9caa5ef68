"""What a lambda captures: variables in the order of their use, not constants, not operands of sizeof; lambdas that take auto."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim import bangc
from mlusim.bangc.errors import SourceError

SOURCE = """\
__mlu_global__ void K(int *o, int n) {
  int c = 0;
  { constexpr float s = 2.5f; float y = 1; y += 1; auto g = [&](float x) { return x * s + y; }; o[c++] = (int)g(2); }
  { const int K = 3; int b = 0; b = 7; int t = 0; auto f = [&](int i) { if (i < K) t += b; }; for (int i = 0; i < 5; i++) f(i); o[c++] = t; }
  { int a = 10, b = 20; a++; b++; auto f = [&] { return (int)sizeof(a) + b; }; o[c++] = f(); }
  { const int K = 3; int b = n + 2; auto f = [=] { return K * 10 + b; }; o[c++] = f(); }
  { int x = 5; x = 7; auto p = [x](auto a) { return a + x; }; o[c++] = p(1); }
  { int x = 5; x = 7; auto p = [&x](auto a) { x += a; return x; }; o[c++] = p(1); o[c++] = x; }
  { int x = n; x += 2; auto p = [&](auto a) { return x * a; }; o[c++] = p(3); o[c++] = (int)p(1.5f); }
  { const float k = 1.5f; float b = 2; b += n; auto f = [=](float v) { return v * k + b; }; o[c++] = (int)f(2); }
  { const int lo = 1; const int hi = n; int z = 4; z++; auto f = [&](int v) { return v > lo && v < hi ? z : lo + hi; }; o[c++] = f(2); o[c++] = f(9); }
  { int u = 1, v = 2, w = 3; u += n; v += n; w += n; auto f = [&, w](int q) { return q * 100 + u * 10 + v + w; }; w = 0; o[c++] = f(1); }
  { int a = n; int b = 2; auto f = [a, &b]() mutable { a += 5; b += a; return a; }; o[c++] = f(); o[c++] = f(); o[c++] = a; o[c++] = b; }
}
struct S { int m; __mlu_func__ int go(int n) { auto f = [this](auto a) { m += a; return m; }; auto g = [=](int q) { return q + m + n; }; return f(n) * 100 + g(1); } };
__mlu_global__ void L(int *o, int n) { S s; s.m = 3; o[0] = s.go(n); o[1] = s.m; }
__mlu_global__ void M(int *o, int n) {
  static const int t[3] = {5, 6, 7};
  int b = n;
  auto f = [&](int i) { return t[i] + b; };
  o[0] = f(2);
}
"""
EXPECTED = {  # by g++
    "K": [7, 21, 25, 36, 8, 8, 8, 18, 9, 9, 5, 5, 163, 9, 14, 4, 25],
    "L": [712, 7],
    "M": [11],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_captures_are_those_of_cpp(tmp_path, name):
    """By both engines; a static variable runs in Python."""
    (tmp_path / "k.mlu").write_text(SOURCE)
    kernel, wanted = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name], EXPECTED[name]
    data = np.zeros(64, np.int32)
    if name == "M":
        found = run(kernel, (data, 4), "python")[1]
    else:
        assert alike(kernel, (data, 4)).engine == NATIVE
        found = run(kernel, (data, 4), NATIVE)[1]

    assert wanted == found[0][: len(wanted)].tolist()


def test_one_constant_of_two_whose_address_matters_is_refused(tmp_path):
    """Which of them has a place in the lambda does not show."""
    (tmp_path / "k.mlu").write_text(
        "__mlu_func__ int at(const int &x) { return x; }\n"
        "__mlu_global__ void K(int *o, int n) {\n"
        "  const int a = 3, b = 4;\n"
        "  auto f = [&](int i) { return a + at(b) + i; };\n"
        "  o[0] = f(n);\n"
        "}\n"
    )
    with pytest.raises(
        SourceError, match=r"4:12: .*which constants this lambda captures is not known; name each"
    ):
        bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["K"]
