"""Forms of library code: directions in variables, the compiler's own functions, structures as arguments."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim import BLOCK, Device, bangc
from mlusim.debug.run.launches import KeptLaunch
from mlusim.errors import LaunchError, MlusimError, UsageError
from mlusim.machine.hub import Observer


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
    module = load("__mlu_global__ void K(int *x) {\n  x[0] = __builtin_rotateleft32(x[1], 3);\n}\n")

    with pytest.raises(
        MlusimError,
        match=r"k\.mlu:2:10: .* compiler's own __builtin_rotateleft32 is not supported; write out",
    ):
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


GIVEN = """\
struct In { float d; unsigned char u; };
struct P { int n; half h; float *p; bool on; short s[3]; In in[2]; long m[2][2]; union { long whole; int part; }; bfloat16_t b; };
__mlu_func__ float sum(P p) { p.n += 1; return p.n; }
__mlu_entry__ void K(float *o, P p, int last) {
  o[0] = p.n; o[1] = p.h; o[2] = p.p ? p.p[1] : -1; o[3] = p.on; o[4] = p.s[2]; o[5] = p.in[1].d + p.in[0].u;
  o[6] = p.m[1][0]; o[7] = p.whole >> 32; o[8] = p.b; o[9] = last;
  P q = p; q.s[1] = q.n; o[10] = q.s[1] + sum(q); p.n = 7; o[11] = p.n;
  if (p.p) p.p[0] += 1;
}
"""
VALUES = (-3, 1.5, "x", True, (1, 2, -4), ((0, 5), (2.25,)), ((1, 2), (3, 4)), (2**32 + 9, 9), 0.5)


def test_a_structure_is_the_same_on_both_engines(load):
    """Its numbers, arrays, unions, and pointers, which lead to tensors of the launch; each task has its own."""
    device, counts = Device(), []
    kernel = load(GIVEN)["K"]
    for engine in ("python", NATIVE):
        o, x = device.put(np.zeros(12, np.float32)), device.put(np.arange(2, dtype=np.float32))
        given = tuple(x + 0 if value == "x" else value for value in VALUES)
        launch = device.launch(kernel, (4, 1, 1), BLOCK, [o, given, 8], engine=engine)

        assert [-3, 1.5, 1, 1, -4, 7.25, 3, 1, 0.5, 8, -5, 7] == device.get(o).tolist()
        assert ([4, 1], engine) == (device.get(x).tolist(), launch.engine)
        counts.append((launch.scalar_loads, launch.scalar_stores, launch.time_us))
    assert counts[0] == counts[1]


def test_a_pointer_in_a_structure_is_seen_as_an_argument_is(load):
    """What was freed, and what another device has, is refused; checkers know what it leads to."""
    device, kernel = Device(), load(GIVEN)["K"]
    o, x, gone = (device.put(np.zeros(12, np.float32)) for _ in range(3))
    device.free(gone)
    for tensor in (gone, Device().put(np.zeros(4, np.float32))):
        with pytest.raises(UsageError, match="no argument|freed|another device"):
            device.launch(kernel, (1, 1, 1), BLOCK, [o, (1, 1, tensor), 8])

    launch = device.launch(
        kernel, (1, 1, 1), BLOCK, [o, (1, 1, x), 8], observe=["memcheck", "initcheck", "racecheck"]
    )
    assert () == launch.findings
    kept = KeptLaunch.of(0, _machine(device, kernel, [o, (1, 1, x), 8]), 0)
    assert {o.allocation, x.allocation} == set(kept.homes)


def _machine(device, kernel, arguments):
    """The machine of a launch, as an observer meets it."""
    met = []

    class Met(Observer):
        def launch_begin(self, launch):
            met.append(launch)

    device.launch(kernel, (1, 1, 1), BLOCK, arguments, observe=[Met()])
    return met[0]


def test_a_number_in_a_structure_is_held_against_its_type(load):
    """What another type would change without a word is refused, as an argument is."""
    for given, words in (
        ((2**40,), "n of p of P .* is given 1099511627776; it takes -2147483648 to 2147483647"),
        ((2.5,), "n of p of P .* is given 2.5; it takes a whole number"),
        ((1, 1, 7), "p of p of P .* is given 7; it takes a tensor, a pointer or None"),
        ((1, 1, None, 1, "abc"), "s of p of P .* is given 'abc'; give up to 3 values"),
    ):
        outcome, _ = run(load(GIVEN)["K"], [np.zeros(12, np.float32), given, 8], "auto")
        with pytest.raises(LaunchError, match=words):
            raise outcome
