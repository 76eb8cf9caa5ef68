"""Expressions of C in frames of BANG C: C's types, conversions, pointers, members and casts."""

from types import SimpleNamespace

import numpy as np
import pytest
from debug_tools import console_on, refuses, says

import mlusim
from mlusim import bangc
from mlusim.debug.source.functions import find_function
from mlusim.errors import UsageError

SOURCE = """\
__nram__ float buffer[1024];
__nram__ int grid[4][8];
struct Point { int x; float y; };
struct Box { Point low; Point high; int *cells; };
__mlu_func__ void inner(Point *p, const float *a, int &count, int n) {
  count += n;
  p->x = count / 2;
  __memcpy(buffer, a, 64, GDRAM2NRAM);
  grid[2][3] = 7;
  p->y = buffer[n];
  count = count + 0;
}
__mlu_global__ void K(float *out, const float *a, int n, half h, unsigned u) {
  Point p = {1, 2.5f};
  Box box;
  box.low = p;
  box.cells = &grid[2][0];
  int count = -7;
  inner(&p, a, count, n);
  out[0] = p.y;
}
"""


@pytest.fixture(scope="module")
def stopped(tmp_path_factory):
    """A console that stands in ``inner``."""
    path = tmp_path_factory.mktemp("c") / "k.mlu"
    path.write_text(SOURCE)
    kernel = bangc.load([path])["K"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out, a = device.empty((4,), np.float32), device.put(np.arange(64, dtype=np.float32))
        device.launch(kernel, (1, 1, 1), mlusim.BLOCK, (out, a, 3, 1.5, 5), observe=observe)

    with console_on(program) as console:
        says(console, "break k.mlu:11 if n == 3 && p->x < 0", "run")
        yield console


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("p->x", "-2"),
        ("(*p).y", "3.0"),
        ("a[n+1]", "4.0 (float32)"),
        ("(float)n / 2", "1.5"),
        ("n / 2", "1"),
        ("-7 / 2", "-3"),
        ("7 % -3", "1"),
        ("*(buffer + 3)", "3.0 (float32)"),
        ("grid[2][3]", "7 (int32)"),
        ("((int *)buffer)[1]", "1065353216 (int32)"),
        ("(unsigned char)300", "44 ','"),
        ("(half)0.1", "0.0999755859375"),
        ("-1 < 0u", "false"),
        ("count < 0 && n > 2 || taskId", "true"),
        ("n ? 0x10 << 2 : 'a'", "64"),
        ("buffer - &buffer[2]", "-2"),
        ("sizeof(Point) + sizeof buffer", "4104"),
        ("p == nullptr", "false"),
        ("&count", "&count (int, kept in a register): -4"),
        ("&p->x", "&p->x (int, kept in a register): -2"),
        ("*p", "{x = -2, y = 3.0}"),
        ("max(n, 2)", "3"),  # Python's, as C has no call here
        ("~n & 0xff", "252"),
        ("1.5f * n", "4.5"),
    ],
)
def test_print_gives_the_value_that_c_gives(stopped, text, value):
    """The value that a C programmer expects."""
    assert f"{text} = {value}" == says(stopped, f"print {text}")


def test_addresses(stopped):
    """``&`` of what lies in memory is a pointer there, whatever it is reached through."""
    assert "grid[19]: 7" in says(stopped, "print &grid[2][3]")
    assert "int32 * NRAM 0x201024" in says(stopped, "print grid[1] + 1")
    assert "0x200008" in says(stopped, "x/2 &buffer[2]")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("n / 2", "int"),
        ("p->y", "float"),
        ("&n", "int *"),
        ("buffer", "float[1024]"),
        ("p", "Point *"),
        ("n < 2", "bool"),
        ("1ul + n", "unsigned long"),
    ],
)
def test_whatis_knows_the_types_of_c(stopped, text, kind):
    """``whatis`` knows C's types."""
    assert f"{text}: {kind}" == says(stopped, f"whatis {text}")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("p->z", "Point has no member z; its members: x, y"),
        ("p.x", "p of type Point * has no members"),
        ("*n", "n of type int is not a pointer"),
        ("buffer * 2", "* takes no pointers"),
        ("1 / 0", "1 / 0 is undefined in C"),
        ("1.5 % 2", "% takes integers"),
        ("zzz + 1", "'zzz' is not defined"),
        ("n = 3", "changes nothing; `set var n = 3` does"),
        ("n++", "`set var n = n + 1` does"),
        ("a[", "is not an expression"),
        ("(float *)n", "int is not cast to float *"),
        ("buffer[4000]", "past its end"),
        ("buffer[1030]", "past its end"),
        ("*(Nothing *)p", "not an expression of C"),
    ],
)
def test_what_has_no_value(stopped, text, sentence):
    """One sentence says why."""
    assert sentence in refuses(stopped, f"print {text}")


def test_other_frames_and_places(stopped):
    """The variables of the frame in focus; members of records in registers; half and unsigned arithmetic."""
    says(stopped, "up")

    assert "box.low.x = 1" == says(stopped, "print box.low.x")
    assert "box.cells[3] = 7 (int32)" == says(stopped, "print box.cells[3]")
    assert "h * 2 = 3.0" == says(stopped, "print h * 2")
    assert "u - 6 = 4294967295" == says(stopped, "print u - 6")
    assert "h * 2: half" == says(stopped, "whatis h * 2")


def test_a_load_outside_its_tensor_is_the_expressions_own(stopped):
    """What is legal is said, and no place: the expression stands at no line of the kernel."""
    assert "legal: bytes [0, 256)" in (said := refuses(stopped, "print a[64]"))
    assert "task 0" not in said


def test_a_template_is_named_without_its_arguments():
    """Its one instantiation is meant; of several one is to be named."""
    one, two = (
        SimpleNamespace(name=f"Add<{kind}>", code=test_a_template_is_named_without_its_arguments.__code__)
        for kind in ("float", "half")
    )

    assert one is find_function("Add", [one], None)
    assert two is find_function("Add<half>", [one, two], None)
    with pytest.raises(UsageError, match="Add is a template, instantiated as Add<float>, Add<half>"):
        find_function("Add", [one, two], None)
