"""What public sources write that is not an intrinsic: print, pointers as numbers, headers, explicit instantiations, included files."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

from mlusim import bangc


def test_printf_of_a_kernel_prints(load):
    """As __bang_printf does, on both engines."""
    module = load(
        "#include <stdio.h>\n"
        '__mlu_global__ void K(int *o) { if (o[0] > 2) printf("o is %d, half %.1f", o[0], 0.5f); o[0] = 7; }\n'
    )

    launch = alike(module["K"], (np.array([3], np.int32),))

    assert ("o is 3, half 0.5",) == launch.printed


def test_a_pointer_is_made_a_number_by_either_cast(load):
    """``reinterpret_cast<size_t>(p)`` of a pointer variable is the pointer's value; of a reference it is the bytes."""
    up = "({cast}(base) + 127) & ~(size_t)127"
    module = load(
        "__nram__ char pool[1024];\n"
        + "".join(
            f"__mlu_func__ float *up{n}(char *base) {{ return (float *)({up.format(cast=cast)}); }}\n"
            f"__mlu_global__ void K{n}(float *x) {{ float *p = up{n}(pool + 1); p[0] = x[0]; x[0] = p[0] * 2;\n"
            "  x[1] = (char *)p - pool; unsigned &bits = reinterpret_cast<unsigned &>(x[2]); bits ^= 0x80000000u; }\n"
            for n, cast in enumerate(("(size_t)", "reinterpret_cast<size_t>", "reinterpret_cast<uintptr_t>"))
        )
    )
    for n in range(3):
        alike(module[f"K{n}"], (np.array([3, 0, 1], np.float32),))
        _, (x,) = run(module[f"K{n}"], (np.array([3, 0, 1], np.float32),), NATIVE)

        assert [6, 128, -1] == x.tolist()


def test_the_mathematics_of_a_half(load):
    """Rounding and functions of a half are a half's, and no call is ambiguous."""
    module = load(
        "__mlu_global__ void K(half *o, int n) {\n"
        "  o[1] = round(o[0]); o[2] = ceil(o[0]); o[3] = floor(o[0]); o[4] = trunc(o[0]); o[5] = rint(o[0]);\n"
        "  o[6] = tanh(o[0]); o[7] = round(o[0] * 2.0f);\n"
        "  o[8] = fmax(o[0], (half)3) + fmin(o[0], (half)1); o[9] = pow(o[0], (half)2); o[10] = fmod(o[0], 1.0f) + hypot(o[0], o[0]);\n"
        "}\n"
    )
    given = np.array([2.5] + [0] * 10, np.float16)
    alike(module["K"], (given, 1))
    _, (out,) = run(module["K"], (given, 1), NATIVE)

    last = np.float16(0.5 + float(np.float16(np.hypot(2.5, 2.5))))
    assert [2.5, 3, 3, 2, 2, 2, np.float16(np.tanh(2.5)), 5, 4, 6.25, last] == out.tolist()


def test_an_alignment_that_is_promised_changes_nothing(load):
    """``__builtin_assume_aligned`` gives its pointer back."""
    module = load(
        "__mlu_global__ void K(float *x, int n) {\n"
        "  float *p = (float *)__builtin_assume_aligned(x + n, 512); p[0] = 2; p[1] = n;\n"
        "}\n"
    )
    alike(module["K"], (np.zeros(4, np.float32), 2))
    _, (x,) = run(module["K"], (np.zeros(4, np.float32), 2), NATIVE)

    assert [0, 0, 2, 2] == x.tolist()


@pytest.mark.parametrize(
    "header", ["bang_device_functions_decls.h", "bang_device_types.h", "bang_variable_vector.h"]
)
def test_headers_of_the_vendor_are_there(load, header):
    """Included alone, each supplies the language."""
    module = load(f"#include <{header}>\n__mlu_global__ void K(int *o) {{ o[0] = 1; }}\n")

    alike(module["K"], (np.zeros(1, np.int32),))


def test_a_queue_is_a_pointer_to_a_structure_that_has_a_name(load):
    """``cnrtQueue *`` is ``cnrtQueue_t``."""
    module = load(
        "__mlu_global__ void K(float *p) { p[0] = 2.0f; }\n"
        "void launch(cnrtQueue *queue, float *p) {\n"
        "  cnrtQueue_t same = queue; cnrtDim3_t dim = {1, 1, 1};\n"
        "  K<<<dim, cnrtFuncTypeBlock, same>>>(p);\n"
        "}\n"
    )

    assert ["launch"] == list(module.functions)


def test_explicit_instantiations_need_not_repeat_the_attribute(load):
    """``template void K<half>(...)`` of a kernel, over several lines too, and lines stay where they are."""
    module = load(
        "template <typename T> __mlu_global__ void K(T *x, int n) { x[n] = 2; }\n"
        "template void K<half>(\n    half *x, int n);\n"
        "template __mlu_global__ void K<float>(float *x, int n);\n"
        "__mlu_global__ void L(int *o) { o[0] = __LINE__; }\n"
    )
    alike(module["K<half>"], (np.zeros(4, np.float16), 3))
    alike(module["K<float>"], (np.zeros(4, np.float32), 3))
    _, (out,) = run(module["L"], (np.zeros(1, np.int32),), NATIVE)

    assert 5 == out[0]


def test_what_the_preprocessor_makes_is_instantiated(load):
    """Instantiations that macros write, of host functions and of kernels, with and without their word; none that it leaves out."""
    module = load(
        "template <typename T> __mlu_global__ void K(T *x) { x[0] = sizeof(T); }\n"
        "template <typename T> void go(cnrtQueue_t q, T *x) { cnrtDim3_t d = {1, 1, 1}; K<<<d, cnrtFuncTypeBlock, q>>>(x); }\n"
        "#define HOST(T) \\\n  template void go<T>(cnrtQueue_t q, T *x);\n"
        "#define DEVICE(name, ...) \\\n  template void name<__VA_ARGS__>(__VA_ARGS__ *);\n"
        "HOST(float)\nDEVICE(K, half)\n#if 0\ntemplate void K<int>(int *);\n#endif\n"
        "// template void K<char>(char *);\n"
    )

    assert ["K<float>", "K<half>"] == sorted(module.kernels)
    assert ["go<float>"] == list(module.functions)


def test_a_macro_may_have_the_kernel_s_name_in_its_body(tmp_path):
    """As it is, pasted together, given to another macro, in a header, beside a host function: without the kernel's word."""
    (tmp_path / "make.h").write_text(
        "#define INSTANCE(T) \\\n  template void K<T>(T *x);\n#define PASTED(A, T) template void A##_pasted<T>(T *);\n"
        "#define NAMED(name, T) template void name<T>(T *);\n#define HANDED(T) NAMED(K, T)\n"
        "#define BOTH(T) template T twice(T); template \\\n  void own::L<T>(T *);\n"
    )
    (tmp_path / "k.mlu").write_text(
        '#include "make.h"\ntemplate <typename T> __mlu_global__ void K(T *x) { x[0] = sizeof(T); }\n'
        "template <typename T> __mlu_global__ void K_pasted(T *x) { }\ntemplate <class T> T twice(T x) { return x + x; }\n"
        "namespace own { template <typename T> __mlu_global__ void L(T *x) { } }\n"
        "INSTANCE(float)\nINSTANCE(half)\nPASTED(K, int)\nHANDED(char)\nBOTH(short)\n"
    )
    module = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")

    assert ["K<char>", "K<float>", "K<half>", "K_pasted<int>", "L<short>"] == sorted(module.kernels)
    assert ["twice<short>"] == list(module.functions)


def test_a_file_that_only_includes_another_has_its_kernels(tmp_path):
    """Another ``.mlu`` counts as a part of the file, with its host functions; of a header its kernels do."""
    part = "#include <bang.h>\n__mlu_global__ void One(float *p) { p[0] = 1.0f; }\n"
    launch = "void go(cnrtQueue_t q, float *p) { cnrtDim3_t d = {1, 1, 1}; One<<<d, cnrtFuncTypeBlock, q>>>(p); }\n"
    (tmp_path / "part.mlu").write_text(part + launch)
    (tmp_path / "kern.h").write_text(part)
    (tmp_path / "whole.mlu").write_text('#include "part.mlu"\n')
    (tmp_path / "thin.mlu").write_text('#include "kern.h"\n')
    whole, thin = (bangc.load(str(tmp_path / f"{n}.mlu"), board="MLU370-X4") for n in ("whole", "thin"))

    assert ["go"] == list(whole.functions)
    for module in (whole, thin):
        _, (p,) = run(module["One"], (np.zeros(1, np.float32),), NATIVE)

        assert [1.0] == p.tolist()


def test_an_included_file_instantiates_kernels(tmp_path):
    """Its statement is the file's own, as one in the file itself: with the word of a kernel or without."""
    (tmp_path / "part.h").write_text(
        "template <typename T> __mlu_global__ void K(T *p) { p[0] = 6; }\n"
        "namespace one { namespace { int unseen; }\nstruct Own { int v; };\n"
        "template <typename T> __mlu_global__ void L(int *p) { p[0] = sizeof(T) + 3; }\n"
        "template void L<Own>(int *);\ntemplate <typename T> T sum(T a, T b) { return a + b; }\n"
        "template int sum<int>(int, int);\n}\ntemplate void one::L<char>(int *);\n"
        "template void K<half>(half *);\ntemplate __mlu_global__ void K<int>(int *);\n"
    )
    (tmp_path / "mid.mlu").write_text('#include "part.h"\n')
    (tmp_path / "top.mlu").write_text('#include <bang.h>\n#include "mid.mlu"\n')
    module = bangc.load(tmp_path / "top.mlu", board="MLU370-X4")

    cases = {
        "K<half>": (np.float16, 6),
        "K<int>": (np.int32, 6),
        "one::L<one::Own>": (np.int32, 7),
        "one::L<char>": (np.int32, 4),
    }
    for name, (dtype, expected) in cases.items():
        _, (found,) = run(module[name], (np.zeros(1, dtype),), "python")
        assert [expected] == found.tolist()
