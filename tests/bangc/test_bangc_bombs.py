"""Sources that double at each level: they end in a sentence, by time or by memory, and take no process with them."""

import os
import signal

import numpy as np
import pytest
from engines import alike, run

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.bangc.errors import excerpt_of
from mlusim.bangc.making import made
from mlusim.bangc.parse import trial, unit
from mlusim.bangc.parse.sources import Options
from mlusim.errors import MlusimError, UsageError

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="parses are tried in a child process")

LEVELS = 40
KERNEL = "__mlu_entry__ void K(int *out) { out[0] = %s; }\n"


@pytest.fixture(autouse=True)
def _tried(monkeypatch):
    """The suite trusts its sources; these are not to be."""
    monkeypatch.delenv("MLUSIM_PARSE_TRIAL")


def test_macros_that_double_end_by_memory(tmp_path, monkeypatch):
    """2 ** 40 terms of one expression."""
    monkeypatch.setattr(trial, "GROWTH", 160 << 20)
    levels = "".join(f"#define A{n} A{n - 1} A{n - 1}\n" for n in range(1, LEVELS))
    (tmp_path / "k.mlu").write_text(f"#define A0 1+\n{levels}" + KERNEL % f"A{LEVELS - 1} 1")

    with pytest.raises(
        UsageError, match=r"k\.mlu: parsing takes more than 160 MiB of memory; look for macros"
    ):
        bangc.load(tmp_path / "k.mlu")


def test_includes_that_double_end_by_time(tmp_path, monkeypatch):
    """2 ** 40 inclusions of a file with nothing in it."""
    monkeypatch.setattr(trial, "SECONDS", 1)
    for n in range(LEVELS):
        (tmp_path / f"h{n}.h").write_text(f'#include "h{n + 1}.h"\n' * 2)
    (tmp_path / f"h{LEVELS}.h").write_text("")
    (tmp_path / "k.mlu").write_text('#include "h0.h"\n' + KERNEL % 1)

    with pytest.raises(UsageError, match=r"k\.mlu: parsing takes more than 1 s of CPU time; .*includes"):
        bangc.load(tmp_path / "k.mlu")


def test_a_parser_that_crashes_takes_nothing_with_it():
    """The signal of the child is named."""
    with pytest.raises(UsageError, match=r"k\.mlu: the parser ends with SIGSEGV; .* nested too deeply"):
        trial.in_child("k.mlu", lambda: os.kill(os.getpid(), signal.SIGSEGV))


def test_signs_without_end_are_nested_too_deeply(tmp_path):
    """The parser has no stack for them; the user's process goes on."""
    (tmp_path / "k.mlu").write_text(KERNEL % ("- " * 200_000 + "1"))

    with pytest.raises(
        UsageError, match=r"k\.mlu: the parser ends with SIG\w+; an expression may be nested too deeply"
    ):
        bangc.load(tmp_path / "k.mlu")


def test_what_ends_well_is_handed_on():
    """What raises in the child is for its parent to see."""
    assert trial.in_child("k.mlu", lambda: b"made") == b"made"
    assert trial.in_child("k.mlu", lambda: 1 / 0) is None


def test_a_source_that_translates_is_parsed_once(tmp_path, calls_of):
    """What the child makes is the parent's; with an error that the user is to read the parent looks itself."""
    (tmp_path / "k.mlu").write_text(KERNEL % 7)
    with calls_of(made) as parses:  # in this process
        kernel = bangc.load(tmp_path / "k.mlu")["K"]
    device = mlusim.Device()
    out = device.put(np.zeros(1, np.int32))
    device.launch(kernel, dim=(1, 1, 1), kind=mlusim.BLOCK, args=(out,))
    assert device.get(out)[0] == 7
    assert parses == []

    (tmp_path / "k.mlu").write_text(KERNEL % "nothing")
    with calls_of(made) as parses, pytest.raises(MlusimError, match="undeclared identifier 'nothing'"):
        bangc.load(tmp_path / "k.mlu")
    assert len(parses) == 1


@pytest.mark.parametrize("text", ['#include "part.h"\n', '#include "other.h"\n', None])
def test_a_source_is_no_fifo(tmp_path, text):
    """Neither itself, nor what it includes, nor what is included there."""
    os.mkfifo(tmp_path / ("part.h" if text else "k.mlu"))
    (tmp_path / "other.h").write_text('#include "part.h"\n')
    if text:
        (tmp_path / "k.mlu").write_text(text + KERNEL % 1)

    with pytest.raises(UsageError, match=r"is not a regular file; give the path of a source"):
        bangc.load(tmp_path / "k.mlu")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("int q[100000000] = {1}; o[0] = q[1];", "q has 400,000,000 bytes with values, more than the 1,048,576"),
        ("int q[100000] = {[90000] = 1}; o[0] = q[1];", "a list in braces leaves 90,000 elements out"),
        ("o[0] = table[1];", "table has 400,000,000 bytes, more than the 8,388,608"),
        (f"int q{'[1]' * 2000}; o[0] = sizeof(q);", "is nested too deeply"),
    ],
)  # fmt: skip
def test_arrays_without_end_are_refused(tmp_path, text, told):
    """Before anything is made for each of their elements."""
    path = tmp_path / "k.mlu"
    path.write_text(f"const int table[100000000] = {{1}};\n__mlu_global__ void K(int *o) {{ {text} }}")

    with pytest.raises(UsageError, match=told):
        bangc.load(path)["K"]


def test_behind_the_values_of_an_array_all_is_zero(tmp_path):
    """Of any number, on both engines, and of constants."""
    path = tmp_path / "k.mlu"
    path.write_text(
        "struct P { int a; int b[3]; };\nconst P ps[3] = {{1, {2}}, {3}};\n__mlu_const__ int many[1 << 20] = {1, 2};\n"
        "__mlu_global__ void K(int *o) { int q[5000] = {1, 2}, r[2][40] = {{1}, {2, 3}};\n"
        "o[0] = q[1] + q[4999]; o[1] = r[1][1] + r[0][39]; o[2] = ps[0].b[0] + ps[0].b[2] + ps[1].a + ps[2].b[2]; o[3] = many[1] + many[9]; }"
    )
    kernel = bangc.load(path)["K"]

    launch = alike(kernel, (np.zeros(4, np.int32),))
    _, (out,) = run(kernel, (np.zeros(4, np.int32),), launch.engine)

    assert out.tolist() == [2, 3, 5, 2]


def test_functions_beyond_the_limit_are_not_read(tmp_path, monkeypatch):
    """A file with as many functions as are allowed is read; with one more it is refused."""
    monkeypatch.setattr(unit, "MOST_FUNCTIONS", 2)
    path = tmp_path / "many.mlu"
    options = Options((), (), find_board("MLU370-X4"))
    path.write_text("void a() {}\nvoid b() {}\n")
    with unit.parsed(str(path), options) as whole:
        names = [one.name for one in whole.functions]
    path.write_text(path.read_text() + "void c() {}\n")

    assert ["a", "b"] == names
    with pytest.raises(UsageError, match="defines more than 2 functions"), unit.parsed(str(path), options):
        pass


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            "__nram__ float a[1ul << 50];",
            r"an array of 4,503,599,627,370,496 bytes is larger than any memory",
        ),
        (
            "struct S { char b[1ul << 45]; }; __mlu_func__ void f(S *s) { s->b[0] = 1; }",
            r"'S' of 35,184,372,088,832 bytes",
        ),
    ],
)
def test_a_size_that_no_board_has_is_one_sentence(tmp_path, declared, said):
    """Of an array, and of a structure."""
    (tmp_path / "k.mlu").write_text(
        f"{declared}\n{KERNEL % 1}".replace(
            "*out) {", "*out, S *s) { f(s);" if "S" in declared else "*out) { a[0] = 1;"
        )
    )

    with pytest.raises(UsageError, match=said):
        bangc.load(tmp_path / "k.mlu")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"__mlu_entry__ void K() {}\0", "is not text, its byte 25 is 0; give the path of a source"),
        ("__mlu_entry__ void K() {}".encode("utf-16"), "is UTF-16; save it as UTF-8"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path, content, said):
    """A program or an archive under the name of a source, and an editor's other encoding."""
    (tmp_path / "k.mlu").write_bytes(content)

    with pytest.raises(UsageError, match=said):
        bangc.load(tmp_path / "k.mlu")


def test_lines_of_an_excerpt_are_the_compilers():
    """A form feed ends a line of a text, and none of a source."""
    assert "b\n^" == excerpt_of("a\f\v\u2028c\r\nb\rd\n", 2, 1)
    assert ("d\n^", "") == (excerpt_of("a\nb\rd\n", 3, 1), excerpt_of("a\nb\rd\n", 4, 1))
