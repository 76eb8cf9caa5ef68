"""Structs by value and nested calls on the native engine end in a fault or run in Python; they never crash."""

import sys
import threading

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim import bangc
from mlusim.errors import UsageError

SOURCE = """\
struct Some { long a, b, c, d, e, f, g, h; };
struct Large { char b[60000]; };
struct Own { int grid[2][2] = {{1, 2}, {3, 4}}; int plain[4]; int last = 7; };

__mlu_func__ long deep(Some x, int n, int most) {
  Some y = x;
  y.d = n;
  return n > most ? y.d : deep(y, n + 1, most) + y.e;
}
__mlu_global__ void some(long *out, int most) { Some z; z.d = 1; z.e = 1; out[0] = deep(z, 1, most); }

__mlu_func__ int deeper(Large x, int n) { Large y = x; y.b[n] = 1; return n > 20 ? y.b[3] : deeper(y, n + 1) + y.b[1]; }
__mlu_global__ void large(long *out, int n) { Large z; z.b[0] = 1; out[0] = deeper(z, n); }

__mlu_global__ void members(long *out, int n) {
  Own o, list[2];
  o.plain[n] = 5;
  list[1].plain[2] = n;
  out[0] = o.grid[1][0] * 1000 + o.plain[n] * 100 + list[1].plain[2] * 10 + o.last;
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The module of the source."""
    path = tmp_path_factory.mktemp("stack") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path, board="MLU370-X4")


def given(number):
    """The arguments of the kernels."""
    return np.zeros(4, np.int64), number


@pytest.mark.parametrize(("most", "fault"), [(400, None), (4095, None), (1 << 20, "more than 4,096 deep")])
def test_calls_within_calls(kernels, most, fault):
    """They end, or are a fault; what runs beside kernels keeps the limit that Python had."""
    before = sys.getrecursionlimit()
    outcome = alike(kernels["some"], given(most))

    assert (fault or "") in str(outcome)
    assert before == sys.getrecursionlimit()


def test_a_small_stack_is_a_fault(kernels):
    """A thread with little room runs out of it earlier, and says so."""
    alike(kernels["some"], given(3))  # compiled
    said = []
    before = threading.stack_size(256 << 10)
    thread = threading.Thread(target=lambda: said.append(run(kernels["some"], given(400), NATIVE)[0]))
    thread.start()
    thread.join()
    threading.stack_size(before)

    assert NATIVE == "python" or "deep inside of each other" in str(said[0])


def test_records_that_fill_the_stack_are_pythons(kernels):
    """What does not fit is executed in Python; who insists on C is told."""
    launch, (out,) = run(kernels["large"], given(2), "auto")

    assert (launch.engine, out[0]) == ("python", 1)
    if NATIVE == "native":
        refused, _ = run(kernels["large"], given(2), "native")
        assert isinstance(refused, UsageError)
        assert "structs by value of 60000 bytes" in str(refused)


def test_members_that_are_arrays(kernels):
    """With values where they are declared, and without."""
    alike(kernels["members"], given(2))
    _, (out,) = run(kernels["members"], given(2), "python")

    assert out[0] == 3527


LEVELS = """\
__mlu_func__ int sum(int n);
__mlu_func__ int other(int n) {
  int kept[2] = {n, 1};
  return n == 0 ? 0 : sum(n - 1) + kept[0] + kept[1];
}
__mlu_func__ int sum(int n) {
  int mine[3];
  for (int i = 0; i < 3; i++) mine[i] = n + i;
  int below = n == 0 ? 0 : other(n - 1);
  return below + mine[0] + mine[2] - 2;
}
__mlu_global__ void levels(int *o, int n) { o[taskId] = sum(n) + sum(n / 2); }
"""


@pytest.mark.parametrize("observe", [(), ("memcheck", "initcheck")])
def test_each_call_inside_itself_has_arrays_of_its_own(tmp_path, observe):
    """Through another function too, in every task, under checkers; C runs them."""
    (tmp_path / "k.mlu").write_text(LEVELS)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["levels"]
    launch = alike(kernel, (np.zeros(16, np.int32), 40), dim=(16, 1, 1), observe=observe)
    sums = {
        n: run(kernel, (np.zeros(1, np.int32), n), NATIVE, observe=observe)[1][0][0] for n in (0, 5, 40, 400)
    }

    assert launch.engine == NATIVE
    assert {0: 0, 5: 32, 40: 1590, 400: 150900} == sums
