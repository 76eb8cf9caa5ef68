"""The C prototypes that follow from the rows."""

import itertools

import pytest
from clang import cindex

from mlusim.isa.prototypes import KEYWORDS, all_prototypes, forms, header_text, prototypes
from mlusim.isa.table import ISA

MODE = "-x cuda --cuda-host-only -nocudainc -nocudalib -std=c++17 -target x86_64-unknown-linux-gnu -Wno-unknown-cuda-version"
TYPES = "typedef _Float16 half; typedef __bf16 bfloat16_t;\n"


def declared(name):
    """The prototypes of a row as text."""
    return {str(p) for p in prototypes(ISA[name])}


def diagnostics(body, tmp_path):
    """What clang says about a kernel with *body* behind the header of the table, each with the number of its notes."""
    (tmp_path / "intrinsics.h").write_text(header_text())
    text = f'{TYPES}#include "intrinsics.h"\n__attribute__((global)) void kernel(float *a, half *h, char *c, int n) {{{body}}}'
    arguments = [*MODE.split(), f"-I{tmp_path}"]
    unit = cindex.Index.create().parse("kernel.mlu", arguments, [("kernel.mlu", text)])
    return [(d.spelling, len(list(d.children))) for d in unit.diagnostics]


def test_every_row_has_a_prototype_of_each_of_its_forms():
    """No row is without one; each parameter of a row is in one of its forms, but for what has no public type."""
    for row in ISA.values():
        named = {p.name.rstrip("_") for form in forms(row) for p in form.parameters}
        given = {p.name.rstrip("_") for p in row.given if p.kind != "rest" and p.c != ()}

        assert forms(row), row.name
        assert given - named == set(), row.name


def test_a_prototype_says_which_row_it_calls():
    """No two prototypes of one spelling have the same types, so that clang's choice is a row and a form."""
    found = [(p.spelling, p.types) for p in all_prototypes()]

    assert len(found) == len(set(found))
    assert {p.row for p in all_prototypes()} == {name for name in ISA if not name.startswith("mlisa_")}
    assert len(found) > 2000


def test_no_parameter_has_the_name_of_a_keyword():
    """Python lets `new` through, C++ does not."""
    names = {p.name for prototype in all_prototypes() for p in prototype.parameters}

    assert names & KEYWORDS == set()
    assert "new_" in names


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("bang_add", "void __bang_add(half *dst, const half *src0, const half *src1, int elem_count)"),
        (
            "bang_add_scalar",
            "void __bang_add_scalar(float *dst, const float *src, float value, int elem_count)",
        ),
        ("bang_write_value", "void __bang_write_value(void *dst, int elem_count, short value)"),
        ("bang_count", "unsigned int __bang_count(const float *src, int elem_count)"),
        ("bang_count_stored", "void __bang_count(unsigned int *dst, const float *src, int elem_count)"),
        ("float2int32", "int __float2int32(float value)"),
        ("half2int32_up", "int __half2int32_up(half value)"),
        ("bang_sum", "half __bang_sum(const half *src, int elem_count)"),
        ("is_nram", "bool __is_nram(const void *pointer)"),
        ("bang_printf", "void __bang_printf(const char *fmt, ...)"),
        (
            "memcpy_async",
            (
                "void __memcpy_async(void *dst, const void *src, int size, mluMemcpyDirection_t direction, "
                "int dst_stride, int src_stride, int segnum, int cluster)"
            ),
        ),
        (
            "gather_async",
            (
                "void __gather_async(void *dst, const void *src, const unsigned int *offset, const void *bitmask, "
                "int size, mluMemcpyDirection_t direction, int stride, int count)"
            ),
        ),
        (
            "bang_fusion",
            (
                "void __bang_fusion(mluFusionOp_t op, float *dst, const float *src0, float src1, const float *src2, "
                "int elem_count, int src12_elem_count)"
            ),
        ),
        (
            "bang_float2int32",
            "void __bang_float2int32(int *dst, const float *src, int elem_count, int pos = 0)",
        ),
        ("vv_add", "void __vv_add(vv_uint32 &dst, vv_uint32 src0, unsigned int src1)"),
        (
            "bang_atomic_reduce_add",
            "void __bang_atomic_reduce_add(float *dst, float src, int elem_count = 1)",
        ),
        (
            "bang_discrete_atomic_add",
            (
                "template <typename Offset> void __bang_discrete_atomic_add(int *dst, int *base, const Offset *offset, "
                "int src, int elem_count)"
            ),
        ),
    ],
)
def test_a_row_has_this_prototype(name, text):
    """One of each way in which types follow from a row."""
    assert text in declared(name)


def test_forms_that_no_call_may_have_are_not_declared():
    """A count of vectors where both are scalars, one padding of a pair, strides of a part."""
    fusion = [p.types for p in prototypes(ISA["bang_fusion"]) if p.types[1] == "float *"]
    pads = {len(p.parameters) for p in prototypes(ISA["bang_pad"])}

    assert {(t[3].endswith("*") or t[4].endswith("*"), len(t)) for t in fusion} == {(True, 7), (False, 6)}
    assert pads == {7, 10}
    assert {len(p.parameters) for p in prototypes(ISA["bang_move"])} == {3, 6}


def test_clang_accepts_the_header_and_calls_of_every_kind(tmp_path):
    """Fills by the type of the value, chars, conversions of integers, registers, defaults."""
    calls = (
        "__bang_add(a, a, a, n); __bang_add_scalar(h, h, 1, n); __bang_write_value(a, n, (half)0);"
        "__memcpy_async(a, h, n * 4L, GDRAM2NRAM, 1, 2u, 3UL); __bang_band(c, c, c, n);"
        "__bang_fusion(FUSION_FMA, a, a, 2, 3, n); __bang_atomic_reduce_add(a, 1.0f);"
        "__bang_discrete_atomic_add(a, a, (unsigned char *)c, a, n); vv_float v; __vv_move(v, 1);"
        '__bang_printf("%f", h[0]); if (__is_mpu()) return; n = __bang_count(a, n);'
    )

    assert diagnostics(calls, tmp_path) == []


def test_clang_reports_a_wrong_call_with_its_candidates(tmp_path):
    """Two element types in one call: where, and what would fit."""
    found = diagnostics("__bang_add(a, h, a, n);", tmp_path)

    assert [("no matching function for call to '__bang_add'", len(declared("bang_add")))] == found


def test_the_types_of_an_open_form_are_named():
    """A page shows T for one element type and T_src for another, and C's name where there is only one."""
    shown = {form.generic() for name in ("bang_lut", "bang_half2float") for form in forms(ISA[name])}

    assert (
        "void __bang_lut(T *dst, const T_src *src, const T *table, int elem_count, int table_length)" in shown
    )
    assert "void __bang_half2float(float *dst, const half *src, int elem_count)" in shown


def test_a_register_is_taken_by_its_own_element_type():
    """vv_float takes floats, not ints."""
    pairs = [p.types[:2] for p in prototypes(ISA["vv_move"])]

    assert ("vv_float &", "float") in pairs
    assert set(pairs) & set(itertools.product(["vv_float &"], ["int", "vv_int32"])) == set()
