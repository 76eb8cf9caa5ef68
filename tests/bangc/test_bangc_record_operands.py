"""Records, and pointers to them and to pointers, that instructions are given: their bytes."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim.bangc.errors import SourceError

SOURCE = """\
struct S { int a; float b; };
__nram__ char buf[256];
__mlu_global__ void a(int *o, int n) { S s; s.a = n; s.b = 2; __memcpy(o, &s, 8, LDRAM2GDRAM); }
__mlu_global__ void b(int *o, int n) { S s; __memcpy(&s, o, 8, GDRAM2LDRAM); o[5] = s.a; }
__mlu_global__ void c(int *o, int n) { S *s = (S *)buf; s->a = n; s->b = 3; __memcpy(o, s, 8, NRAM2GDRAM); }
__mlu_global__ void d(int *o, int n) { S s[2]; s[1].a = n; __memcpy(o, s, 16, LDRAM2GDRAM); }
__mlu_func__ void put(int *o, S s) { __memcpy(o, &s, 8, LDRAM2GDRAM); }
__mlu_global__ void g(int *o, int n) { S s; s.a = n; s.b = 5; put(o, s); }
__mlu_global__ void h(int *o, int n) { S s; s.a = n; s.b = 5; __memcpy(o, &s.b, 4, LDRAM2GDRAM); }
"""
EXPECTED = {
    "a": [3, 1 << 30],
    "b": [10, 11, 12, 13, 14, 10],
    "c": [3, 0x40400000],
    "g": [3, 0x40A00000],
    "h": [0x40A00000, 11],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_records_are_copied_by_their_pointers(load, name):
    """Variables, parameters, their members, and records carved out of NRAM, by both engines."""
    kernel, wanted = load(SOURCE)[name], EXPECTED[name]
    data = np.arange(10, 18, dtype=np.int32)

    assert alike(kernel, (data, 3)).engine == NATIVE
    assert wanted == run(kernel, (data, 3), NATIVE)[1][0][: len(wanted)].tolist()


def test_an_array_of_records_is_copied(load):
    """What nothing stored is poison."""
    assert alike(load(SOURCE)["d"], (np.zeros(8, np.int32), 3)).engine == NATIVE


@pytest.mark.parametrize("of", ["int *", "S *", "void *", "S"])
def test_memory_is_copied_by_pointers_to_pointers_too(load, of):
    """A table of addresses that is carved out of NRAM: a copy moves its bytes, whatever they are."""
    text = f"""struct S {{ int a; float b; }};
    __nram__ char buf[256];
    __mlu_global__ void k(int *o, int n) {{
      {of} *table = ({of} *)buf;
      __memcpy(table, o, 8 * n, GDRAM2NRAM);
      __memcpy(o + 4, ({of} *)buf, 8 * n, NRAM2GDRAM);
    }}
    """
    data = np.arange(10, 18, dtype=np.int32)

    assert alike(load(text)["k"], (data, 2)).engine == NATIVE
    assert [10, 11, 12, 13] * 2 == run(load(text)["k"], (data, 2), NATIVE)[1][0].tolist()


@pytest.mark.parametrize(
    "what",
    [
        "int *p[2] = {o, o + 1}; __memcpy(o, p, 8, LDRAM2GDRAM);",
        "int *p = o; __memcpy(o, &p, 8, LDRAM2GDRAM);",
    ],
)
def test_the_bytes_of_a_pointer_are_refused(load, what):
    """The device's compiler keeps addresses there, the simulator does not."""
    with pytest.raises(
        SourceError,
        match="k does not translate: p is a pointer, and no instruction works on the bytes of one; assign it",
    ):
        load(f"__mlu_global__ void k(int *o) {{ {what} }}\n")["k"]
