"""Expressions whose values g++ has computed: the same numbers on both engines."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

TYPES = """\
struct Flags { bool first; int number; bool rest[3]; };
enum Mask : uint8_t { M1 = 1, M8 = 0x80, MF = 255 };
enum class Colour : uint8_t { red = 200, blue, none = 0 };
enum class Switch : bool { off, on };
enum Wide : uint64_t { most = 0xffffffffffffffffull };
enum Short : int8_t { below = -3 };
__nram__ bool flags[4];
__nram__ Colour colours[4];
__nram__ Flags records[2];
__mlu_func__ int by_reference(bool &b) { return b + 1; }
__mlu_func__ int by_pointer(bool *b, int n) { return b[n] + *b; }
__mlu_func__ int chosen(Colour c) {
  switch (c) { case Colour::red: return 1; case Colour::blue: return 2; default: return 3; }
}
template <Colour c> __mlu_func__ int of_template() { return (int)c; }
"""
# What a kernel does, and what the C++ compiler's program gives for out; in[i] is i, and n is 3.
BODIES = {
    "bools_of_arrays_are_numbers": (
        """
        bool a[4] = {true, false, true, true};
        for (int i = 0; i < 4; ++i) flags[i] = i != 1;
        int count = 0;
        for (int i = 0; i < 4; ++i) { count += a[i]; count += flags[i]; }
        out[0] = count; out[1] = a[0] + 1; out[2] = -flags[0]; out[3] = ~a[0]; out[4] = flags[0] << 3;
        out[5] = flags[3] * 7; out[6] = in[flags[0] + a[2]]; out[7] = flags[1] += n; out[8] = flags[1] + flags[2];
        """,
        [6, 2, -1, -2, 8, 7, 2, 1, 2],
    ),
    "bools_of_records_are_numbers": (
        """
        records[1].first = true; records[1].rest[0] = records[1].rest[1] = n;
        Flags v = {true, 5, {true, false, true}}, *p = records + 1;
        bool q = n;
        out[0] = records[1].first + 1; out[1] = -records[1].rest[1]; out[2] = v.first + v.rest[2]; out[3] = ~v.rest[0];
        out[4] = by_reference(records[1].first); out[5] = by_reference(v.rest[1]); out[6] = by_reference(q);
        out[7] = by_pointer(p->rest, 1); out[8] = by_pointer(v.rest, 2); out[9] = p->first + 1;
        """,
        [2, -1, 2, -2, 2, 1, 2, 2, 2, 2],
    ),
    "enumerations_have_the_sign_of_their_type": (
        """
        Mask f = (Mask)(M1 | M8);
        Colour c = n == 3 ? Colour::blue : Colour::none;
        colours[1] = Colour::red;
        out[0] = M1 | M8; out[1] = ~M8; out[2] = M8 >> 3; out[3] = f; out[4] = f == (M1 | M8);
        out[5] = (int)Colour::red; out[6] = (int)c; out[7] = chosen(c) * 10 + chosen(colours[1]);
        out[8] = (int)Switch::on + (int)Switch::off; out[9] = most == ~0ull; out[10] = below; out[11] = (signed char)M8;
        out[12] = of_template<Colour::red>();
        """,
        [129, -129, 16, 129, 1, 200, 201, 21, 1, 1, -3, -128, 200],
    ),
}


def source_of(bodies):
    """A file with a kernel for each of *bodies*."""
    kernels = [
        f"__mlu_global__ void {name}(int *out, int *in, int n) {{ {body} }}" for name, body in bodies.items()
    ]
    return "\n".join([TYPES, *kernels])


@pytest.mark.parametrize("name", BODIES)
def test_expressions_have_the_values_of_cpp(load_once, name):
    """Arrays and records of bools, enumerations, assignments in other expressions."""
    kernel = load_once(source_of({n: body for n, (body, _) in BODIES.items()}), "MLU590-H8")[name]
    arguments = (np.zeros(24, np.int32), np.arange(16, dtype=np.int32), 3)
    alike(kernel, arguments, board="MLU590-H8")
    _, (found, _) = run(kernel, arguments, NATIVE, board="MLU590-H8")
    expected = BODIES[name][1]
    assert expected == found[: len(expected)].tolist()
