"""Errors of the compiler in the body of one function: its file's other functions run all the same."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim.bangc.errors import SourceError
from mlusim.errors import Unsupported

SOURCE = """\
__nram__ char room[4096];
struct Doubled {
  template <typename T> __mlu_func__ void operator()(T *a, int n) const { __bang_add(a, a, a, n); }
};
template <typename T> __mlu_func__ void taken(T *a, float *b) { int x = b; }
template <typename T> __mlu_global__ void G(T *out, int n) {
  T *tile = (T *)room;
  __memcpy(tile, out, n * sizeof(T), GDRAM2NRAM);
  Doubled twice;
  twice(tile, n);
  __memcpy(out, tile, n * sizeof(T), NRAM2GDRAM);
}
__mlu_global__ void Good(float *out, int n) { out[n] = 1.0f; }
__mlu_global__ void Bad(float *out, int n) {
  out[0] = 2.0f;
  __bang_unheard_of(out, n); nor_of_this(); __bang_unheard_of(out, 2);
}
__mlu_global__ void Late(int *out, float *in) { taken(out, in); }
void launch(float *p, unsigned long *q, cnrtQueue_t queue) {
  cnrtDim3_t dim = {1, 1, 1};
  G<<<dim, cnrtFuncTypeBlock, queue>>>(p, 8);
  G<<<dim, cnrtFuncTypeBlock, queue>>>(q, 8);
}
"""


@pytest.fixture
def module(load):
    """The file, which has an error in three functions and a good kernel before and behind them."""
    return load(SOURCE)


def test_the_other_functions_run(module):
    """A kernel beside a broken one, and the specialisation that is right of a template that is wrong in another."""
    alike(module["Good"], (np.zeros(4, np.float32), 3))
    data = np.arange(8, dtype=np.float32)
    alike(module["G<float>"], (data, 8))
    _, (out,) = run(module["G<float>"], (data, 8), NATIVE)

    assert (2 * data).tolist() == out.tolist()


def test_a_broken_function_is_refused_with_the_compilers_words(module):
    """Where it is asked for: with file, line, column and caret."""
    with pytest.raises(SourceError) as caught:
        module["Bad"]

    assert (16, 3) == (caught.value.line, caught.value.column)
    assert (
        "Bad does not translate: use of undeclared identifier '__bang_unheard_of' (not known either: nor_of_this)"
        in str(caught.value)
    )
    assert "  __bang_unheard_of(out, n); nor_of_this(); __bang_unheard_of(out, 2);\n  ^" in str(caught.value)


@pytest.mark.parametrize(
    ("kernel", "given", "place"),
    [
        (
            "G<unsigned long>",
            (np.zeros(8, np.uint64), 8),
            "k.mlu:3:75: no matching function",
        ),
        (
            "Late",
            (np.zeros(8, np.int32), np.zeros(8, np.float32)),
            "k.mlu:5:69: cannot",
        ),
    ],
)
def test_a_kernel_that_calls_a_broken_function_ends_there(load, kernel, given, place):
    """In the sentence of the error, not in a result without that call."""
    ended, _ = run(load(SOURCE)[kernel], given, "python")

    assert isinstance(ended, Unsupported)
    assert place in str(ended)


@pytest.mark.parametrize(
    "wrong",
    [
        "__mlu_global__ void Bad(float *out) { out[0] = ; }",
        "__mlu_global__ void Bad(flot *out) { out[0] = 1; }",
        "float table[2] = nothing;",
        "#include <nowhere.h>",
        "struct S { int x = nothing; };",
    ],
)
def test_an_error_outside_of_bodies_concerns_the_file(load, wrong):
    """So does one against the grammar: what is behind it may be anything."""
    with pytest.raises(SourceError):
        load(f"__mlu_global__ void Good(float *out) {{ out[0] = 1.0f; }}\n{wrong}\n")


def test_a_file_without_a_good_kernel_is_refused(load):
    """Every error is said, in order."""
    bad = "__mlu_global__ void {}(float *out) {{ __bang_unheard_of(out); }}\n"
    with pytest.raises(SourceError) as caught:
        load(bad.format("A") + bad.format("B"))

    assert [1, 2] == [one.line for one in caught.value.diagnostics]


@pytest.mark.parametrize(
    "source",
    [
        "__mlu_func__ auto wrong(int x) { return x + nope; }",
        "__mlu_func__ decltype(auto) wrong(int x) { return x + nope; }",
        "template <class T> __mlu_func__ auto wrong(T x) { return x.nope(); }",
        "__mlu_func__ auto wrong(int x) { if (x) return 1; return 2.5f; }",
        "__mlu_func__ int wrong(int x) { return 1; } __mlu_func__ int wrong(int x) { return 2; }",
        "__mlu_func__ int wrong(int x) { return x; } enum E { a = nope, b };",
    ],
)
def test_an_error_that_other_functions_do_not_show_refuses_the_file(load, source):
    """Of a function whose type its body tells the compiler leaves out the calls; and behind a body on its line is not a body."""
    with pytest.raises(SourceError, match=r":2:\d+: "):
        load(
            f"\n{source}\n"
            "__mlu_global__ void K(int *o) { int x = wrong(1); o[0] = x + 5; }\n"
            "__mlu_global__ void Good(int *o) { o[0] = 7; }\n"
        )


def test_a_broken_lambda_is_its_functions_error(load):
    """Its type is deduced, too, and its function has the error."""
    module = load(
        "__mlu_global__ void K(int *o) { auto f = [&](int x) { return x + nope; }; o[0] = f(1); }\n"
        "__mlu_global__ void Good(int *o) { o[0] = 7; }\n"
    )

    assert ["Good"] == list(module.kernels)
    assert ["K does not translate: use of undeclared identifier 'nope'"] == [d.message for d in module.broken]


def test_each_error_belongs_to_its_own_instance(load):
    """Of an instance with two errors the compiler names the instance with the first alone; others are good."""
    module = load(
        "template <typename T> __mlu_func__ void cell(int *out, const T *in) {\n"
        "  out[0] = in[0].a;\n"
        "  out[1] = in[1].b;\n"
        "}\n"
        "struct Pair { int a, b; };\n"
        "__mlu_global__ void OfFloat(int *out, const float *in) { cell<float>(out, in); }\n"
        "__mlu_global__ void OfPair(int *out, const Pair *in) { cell<Pair>(out, in); }\n"
    )

    assert "OfPair" in module.kernels
    assert ["cell<float>"] == [d.message.partition(" does")[0] for d in module.broken]
    _, (out, _) = run(module["OfPair"], (np.zeros(2, np.int32), np.array([3, 4, 5, 6], np.int32)), NATIVE)

    assert [3, 6] == out.tolist()


def test_what_makes_a_file_unusable_is_shown_first_with_all_names_that_are_missing(load):
    """An error in a body is tolerated; one in a signature is not, and all names can be mended at once."""
    with pytest.raises(SourceError) as caught:
        load(
            "void helper() { nope1(0); nope2(0); }\n"
            "void other(Missing *b) { }\n"
            "__mlu_global__ void Good(int *o) { o[0] = 7; }\n"
        )

    assert 2 == caught.value.line
    assert "unknown type name 'Missing'" in str(caught.value)
    assert "(and 2 more; not known: Missing, nope1, nope2)" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("__bang_actve_relu", "__bang_active_relu"),
        ("cnrtThings", ""),
        ("__bang_activ_xyz", ""),
        ("__memse", ""),
    ],
)
def test_a_guess_is_near_as_a_whole(load, name, guess):
    """And never of the host for a name of the device."""
    module = load(
        f"__mlu_global__ void K(float *o) {{ {name}(o, o, 1); }}\n__mlu_global__ void L(float *o) {{ o[0] = 1; }}\n"
    )
    (error,) = [d.message for d in module.broken]

    assert f"use of undeclared identifier '{name}'" in error
    assert (guess and f"did you mean '{guess}'" in error) or "did you mean" not in error
