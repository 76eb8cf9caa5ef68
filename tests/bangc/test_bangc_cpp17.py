"""Small programs of legal C++17, which this machine's own compiler takes: both engines give its values."""

import html
import re
from pathlib import Path

import pytest
from cplusplus import answer, expected
from engines import NATIVE

from mlusim.bangc.errors import SourceError

_TEXT = (Path(__file__).parent / "data" / "cpp17.txt").read_text()
PROGRAMS = dict(re.findall(r"^//// (.*)\n((?:(?!////).*\n)+)", _TEXT, re.MULTILINE))
"""Each has ``run(long long *o)``, which fills up to `_EACH` numbers."""
_EACH = 16
_INCLUDES = "".join(
    f"#include <{name}>\n"
    for name in ("algorithm", "cstdint", "cstring", "initializer_list", "tuple", "utility")
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory):
    """The whole text, each program in a namespace, and what C++ gives for all of them."""
    parts = [f"namespace p{n} {{\n{text}}}\n" for n, text in enumerate(PROGRAMS.values())]
    calls = "".join(f"p{n}::run(o + {_EACH * n});" for n in range(len(parts)))
    text = f"{_INCLUDES}{''.join(parts)}__mlu_entry__ void K(long long *o) {{ {calls} }}\n"
    return text, expected(tmp_path_factory.mktemp("host"), text, _EACH * len(parts))


@pytest.mark.parametrize("engine", ["python", NATIVE])
def test_legal_programs_give_what_cpp_gives(load, reference, engine):
    """All in one kernel; the names of the programs that differ, with both answers."""
    text, wanted = reference
    found = answer(load, text, len(wanted), engine=engine)
    assert isinstance(found, list), found
    each = [slice(_EACH * n, _EACH * (n + 1)) for n in range(len(PROGRAMS))]

    assert [] == [
        (n, wanted[s], found[s]) for n, s in zip(PROGRAMS, each, strict=True) if wanted[s] != found[s]
    ]


PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "cpp.md").read_text()
REFUSED = [
    (code, html.unescape(sentence))
    for code, sentence in re.findall(r"^\| `([^`]+)` \| (.+?) \| .+ \|$", PAGE, re.MULTILINE)
]
_DECLARED = """
struct L { int *n; int i; __mlu_func__ L(int *n, int i) : n(n), i(i) {} __mlu_func__ ~L() { *n = *n * 7 + i; } };
struct M { L a; int z; };
template <class T> struct V { T t; __mlu_func__ V() : t(1) {} __mlu_func__ V(const V &o) : t(o.t + 5) {} };
struct U { V<int> v; };
struct Bits { int a : 3, b : 5; };
struct Plain { int a = 1; };
struct First { int f = 1; __mlu_func__ virtual int go() { return f; } };
struct Other { int b = 2; __mlu_func__ virtual int get() { return b; } };
struct Both : Plain, Other { int c = 3; };
struct Z { int z; };
template <class T> struct Tm : T { __mlu_func__ int get() { return this->z; } };
struct Step { int i; __mlu_func__ int operator*() const { return i; } };
__mlu_func__ bool operator!=(Step a, Step b) { return a.i != b.i; }
__mlu_func__ Step &operator++(Step &a) { a.i += 1; return a; }
struct Free { __mlu_func__ Step begin() { return {0}; } __mlu_func__ Step end() { return {3}; } };
typedef int (*Op)(int);
template <int N> __mlu_func__ int f2(int x) { return x * N; }
"""


@pytest.fixture(scope="module")
def refusing(load_once):
    """A kernel for each row of the page."""
    kernels = [
        f"__mlu_entry__ void K{n}(long long *o, int n) {{ {code} }}\n" for n, (code, _) in enumerate(REFUSED)
    ]
    return load_once(f"#include <bang.h>\n#include <tuple>\n{_DECLARED}{''.join(kernels)}")


@pytest.mark.parametrize("n", range(len(REFUSED)), ids=[code for code, _ in REFUSED])
def test_what_is_refused_is_told_in_the_sentence_of_the_page(refusing, n):
    """Where the kernel is taken from its module."""
    with pytest.raises(SourceError) as refused:
        refusing[f"K{n}"]

    assert REFUSED[n][1] in str(refused.value)
