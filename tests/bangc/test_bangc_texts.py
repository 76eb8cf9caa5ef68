"""String literals in device code: read, walked along, copied into arrays; what they cannot be."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim.bangc.errors import SourceError
from mlusim.errors import MlusimError

TYPES = """\
#include <cstring>
const char *names[] = {"a", "bcd"};
constexpr char letters[] = "wxyz";
const char padded[8] = "pq";
__mlu_func__ int length(const char *s) { int n = 0; while (s[n]) n++; return n; }
"""
# What a kernel does, and what the C++ compiler's program gives for out; n is 3.  Those that C has are compared.
TEXTS = {
    "subscripts": (
        """out[0] = "hello"[1]; out[1] = 2["hello"]; out[2] = *"x"; out[3] = "h\\xff"[1]; out[4] = "hello"[5];""",
        [101, 108, 120, -1, 0],
    ),
    "pointers": (
        """
        const char *s = n ? "abc" : "de", *e = s;
        while (*e) ++e;
        out[0] = e - s; out[1] = s < e; out[2] = s != nullptr; out[3] = length("four") + length(s + 1);
        const unsigned char *u = (const unsigned char *)"\\xff"; out[4] = u[0];
        const char &c = s[1]; out[5] = c;
        for (char q : "ab") out[6] += q;
        """,
        [3, 1, 1, 6, 255, 98, 195],
    ),
    "at_file_scope": (
        "out[0] = names[1][2]; out[1] = letters[1]; out[2] = padded[1]; out[3] = padded[7]; out[4] = length(names[1]);",
        [100, 120, 113, 0, 3],
    ),
}
ARRAYS = """
char t[] = "xyz", u[8] = "ab", w[2][4] = {"cd", "ef"};
out[0] = t[2]; out[1] = t[3]; out[2] = sizeof t; out[3] = u[1]; out[4] = u[7]; out[5] = w[1][1]; t[0] = 5; out[6] = t[0];
"""
FAULTS = {
    "beyond": ('const char *s = "abc"; out[0] = s[n + 1];', "element 4 of an array of 4 is accessed"),
    "stored": ('char *s = (char *)"abc"; s[0] = 1;', "a store to a string literal"),
}


def source_of(bodies):
    """A file with a kernel for each of *bodies*."""
    kernels = [f"__mlu_global__ void {name}(int *out, int n) {{ {body} }}" for name, body in bodies.items()]
    return "\n".join([TYPES, *kernels])


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_read(load_once, name):
    """On both engines."""
    kernel = load_once(source_of({n: body for n, (body, _) in TEXTS.items()}), "MLU590-H8")[name]
    arguments = (np.zeros(8, np.int32), 3)
    alike(kernel, arguments, board="MLU590-H8")
    _, (found,) = run(kernel, arguments, NATIVE, board="MLU590-H8")
    assert TEXTS[name][1] == found[: len(TEXTS[name][1])].tolist()


def test_texts_fill_arrays(load_once):
    """An array of characters has the characters and zeros behind them, on both engines."""
    kernel = load_once(source_of({"arrays": ARRAYS}), "MLU590-H8")["arrays"]
    alike(kernel, (np.zeros(8, np.int32), 3), board="MLU590-H8")
    _, (found,) = run(kernel, (np.zeros(8, np.int32), 3), NATIVE, board="MLU590-H8")
    assert [122, 0, 4, 98, 0, 102, 5, 0] == found.tolist()


@pytest.mark.parametrize("name", FAULTS)
def test_wrong_uses_of_texts_are_faults(load_once, name):
    """At the line."""
    kernel = load_once(source_of({n: body for n, (body, _) in FAULTS.items()}), "MLU590-H8")[name]
    fault = alike(kernel, (np.zeros(8, np.int32), 3), board="MLU590-H8")
    assert isinstance(fault, MlusimError)
    assert FAULTS[name][1] in str(fault)


def test_functions_of_the_host_are_refused(load_once):
    """At the line of the call."""
    module = load_once(source_of({"copies": "int a = n, b; memcpy(&b, &a, 4); out[0] = b;"}), "MLU590-H8")
    with pytest.raises(
        SourceError, match="memcpy is a function of the host, not of the device; use __memcpy, or a loop"
    ):
        module["copies"]


PRINT = """
#include <stdio.h>
#include <sys/time.h>
__mlu_entry__ void k(int *out, int n) {
  struct timeval begin;
  gettimeofday(&begin, NULL);
  out[0] = begin.tv_sec + begin.tv_usec;
  printf("%d of %d: %.1f, %d\\n", taskId, n, 0.5f, out[0]);
}
"""


def test_a_kernel_prints_with_printf_and_its_clock_stands(load_once):
    """``printf`` is the device's print, and ``gettimeofday`` gives 0, with both engines."""
    kernel = load_once(PRINT, "MLU590-H8")["k"]
    launch = alike(kernel, (np.full(4, 7, np.int32), 3), board="MLU590-H8")
    assert launch.printed[0] == "0 of 3: 0.5, 0\n"
