"""Forms of library code: directions in variables, the compiler's own functions, structures as arguments."""

import numpy as np
import pytest
from engines import alike, run

from mlusim import bangc
from mlusim.errors import LaunchError, MlusimError


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Load BANG C given as text."""

    def loaded(text):
        path = tmp_path_factory.mktemp("forms") / "k.mlu"
        path.write_text(text)
        return bangc.load([path], board="MLU370-X4")

    return loaded


DIRECTIONS = """\
__nram__ float a[64];
__mlu_func__ void move_it(float *to, float *from, mluMemcpyDirection_t way) {
  __memcpy(to, from, 32, way, 32, 0, 32, 0, 32, 0, 32, 0);
}
__mlu_global__ void K(float *x, int n) {
  move_it(a, x, GDRAM2NRAM);
  if (__builtin_expect(n != 0, 1)) move_it(x + 8, a, NRAM2GDRAM);
  x[0] = __builtin_popcount(n);
}
"""


def test_a_direction_may_be_a_variable(load):
    """Also where C calls up into Python for a copy of three dimensions; the compiler's own functions are known."""
    _, (x,) = run(load(DIRECTIONS)["K"], [np.arange(16, dtype=np.float32), 7], "native")
    alike(load(DIRECTIONS)["K"], [np.arange(16, dtype=np.float32), 7])

    assert [3, *range(1, 8), *range(8)] == x.tolist()


def test_another_function_of_the_compiler_is_refused_at_its_place(load):
    """No name of Python's comes through."""
    module = load("__mlu_global__ void K(int *x) {\n  x[0] = __builtin_ffs(x[1]);\n}\n")

    with pytest.raises(MlusimError, match=r"k\.mlu:2:10: .* compiler's own __builtin_ffs is not supported"):
        _ = module["K"]


MEMBERS = """\
struct Line { float a; float b; __mlu_func__ void set(float x) { a = x; b = x + 1; } };
struct Box { Line line[6]; int count[2][2]; bool convex = false; };
__mlu_global__ void K(float *x) {
  Box box;
  box.line[5].set(3);
  x[0] = box.line[5].b; x[1] = box.convex; x[2] = box.line[0].a;
}
"""


def test_the_extent_of_a_member_is_not_its_value(load):
    """A structure with a member that has a value and an array that has none."""
    alike(load(MEMBERS)["K"], [np.ones(3, np.float32)])
    _, (x,) = run(load(MEMBERS)["K"], [np.ones(3, np.float32)], "python")

    assert [4, 0, 0] == x.tolist()


STRUCTURES = """\
struct Shape { long dims[3]; float scale; bool flip; };
template <bool Twice> __mlu_global__ void K(float *x, Shape s) {
  x[0] = s.dims[0] + s.dims[1] + s.dims[2]; x[1] = s.flip ? -s.scale : s.scale;
  if (Twice) x[0] = 2 * x[0];
}
template __mlu_global__ void K<true>(float *x, Shape s);
"""


def test_a_structure_is_a_tuple_of_its_members(load):
    """An array inside is a sequence; what is left out is zero; a template argument that is true is called 1."""
    module = load(STRUCTURES)
    _, (x,) = run(module["K<1>"], [np.zeros(2, np.float32), ((2, 3), np.float32(0.5), True)], "auto")

    assert [10, -0.5] == x.tolist()
    assert ["K<1>"] == list(module.kernels)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (7, "is given 7; give a tuple of dims, scale, flip"),
        (((1, 2, 3, 4), 1.0), "dims of s of Shape .* give up to 3 values"),
        (((1,), "much"), "scale of s of Shape .* is given 'much'; give a number"),
        (((1,), 1.0, True, 9), "give a tuple of dims, scale, flip"),
    ],
)
def test_what_is_no_structure_is_refused(load, given, words):
    """One sentence names the parameter, the member and what fits."""
    outcome, _ = run(load(STRUCTURES)["K<1>"], [np.zeros(2, np.float32), given], "python")

    assert isinstance(outcome, LaunchError)
    with pytest.raises(LaunchError, match=words):
        raise outcome
