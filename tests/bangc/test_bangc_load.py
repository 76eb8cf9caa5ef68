"""Loading BANG C and launching its kernels."""

import sys

import numpy as np
import pytest
from engines import alike, run

import mlusim
from mlusim import bangc
from mlusim.bangc import form_data
from mlusim.bangc.errors import SourceError
from mlusim.errors import LaunchError, Unsupported, UsageError

SCALE = """\
__nram__ char buffer[64 * 1024];

template <typename T>
__mlu_func__ void scale(T *x, int n, T factor, int &count) {
  __bang_mul_scalar(x, x, factor, n);
  count += n;
}

template <typename T>
__mlu_global__ void Scale(T *dst, T *src, int n) {
  T *part = (T *)buffer;
  int count = 0;
  for (int i = taskId; i < n; i += taskDim) {
    __memcpy(part, src + i * 64, 64 * sizeof(T), GDRAM2NRAM);
    scale(part, 64, (T)2, count);
    __memcpy(dst + i * 64, part, 64 * sizeof(T), NRAM2GDRAM);
  }
  dst[n * 64 + taskId] = count;
}
"""


def _launch(module, name, dtype):
    device = mlusim.Device("MLU370-X4")
    given = np.arange(512, dtype=dtype)
    src, dst = device.put(given), device.empty(516, dtype)
    launch = device.launch(module[name], (4, 1, 1), mlusim.BLOCK, (dst, src, 8))
    return launch, given, device.get(dst)


@pytest.mark.parametrize(("name", "dtype"), [("Scale<float>", np.float32), ("Scale<half>", np.float16)])
def test_a_template_is_instantiated_by_name_and_launched(load, name, dtype):
    """The kernel computes, counts through its reference, and is called what the source calls it."""
    launch, given, result = _launch(load(SCALE), name, dtype)

    assert launch.kernel == name
    assert launch.instructions == {"memcpy": 16, "bang_mul_scalar": 8}
    np.testing.assert_array_equal(result[:512], given * dtype(2))
    np.testing.assert_array_equal(result[512:], np.full(4, 128, dtype))


def test_a_kernel_template_of_a_header_is_instantiated_by_name(load, tmp_path):
    """A file of host code whose kernels stand in what it includes; other templates of headers are not kernels."""
    (tmp_path / "scale.h").write_text(SCALE)
    module = load('#include "mlu.h"\n#include "scale.h"\n')

    launch, given, result = _launch(module, "Scale<float>", np.float32)

    assert {"memcpy": 16, "bang_mul_scalar": 8} == launch.instructions
    assert (given * 2).tolist() == result[:512].tolist()
    with pytest.raises(UsageError, match=r"no kernel 'scale<float>' .*it has Scale<float>, Scale<\.\.\.>"):
        module["scale<float>"]


def test_a_fault_is_at_the_line_of_the_source(load):
    """A copy that is too long is refused with the file, the line and the task of the kernel."""
    module = load(SCALE)
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.zeros(64, np.float32)), device.empty(516, np.float32)
    with pytest.raises(mlusim.errors.OutOfBounds) as caught:
        device.launch(module["Scale<float>"], args=(dst, src, 2))

    assert (caught.value.line, caught.value.task) == (14, 0)
    assert caught.value.file.endswith("k.mlu")


def test_a_wrong_call_of_an_intrinsic_is_reported_with_a_caret(load):
    """The compiler itself reports a wrong call, because prototypes come from the table."""
    with pytest.raises(SourceError) as caught:
        load("__mlu_global__ void K(float *x) {\n  __bang_add(x, x, 4);\n}\n")

    assert (caught.value.line, caught.value.column) == (2, 3)
    assert "no matching function for call to '__bang_add'" in str(caught.value)
    assert "  __bang_add(x, x, 4);\n  ^" in str(caught.value)


def test_an_unknown_kernel_is_told_with_those_that_there_are(load):
    """A name that no source has names the kernels and the templates that it could be."""
    with pytest.raises(UsageError, match=r"there is no kernel 'Nothing'.*it has Scale<\.\.\.>"):
        load(SCALE)["Nothing"]


def test_kernels_that_share_a_name_are_told_apart(load):
    """By namespace, or by parameters; the name alone is refused, for it would take one of them without a word."""
    module = load(
        "namespace a { __mlu_global__ void K(int *o) { *o = 1; } }\n"
        "namespace b { __mlu_global__ void K(int *o) { *o = 2; } }\n"
        "__mlu_global__ void L(int *o) { *o = 3; }\n"
        "__mlu_global__ void L(int *o, int n) { *o = n; }\n"
    )
    device = mlusim.Device("MLU370-X4")
    out = device.empty(1, np.int32)
    results = []
    for name, rest in (("a::K", ()), ("b::K", ()), ("L(int*)", ()), ("L(int *, int)", (4,))):
        device.launch(module[name], args=(out, *rest))
        results.append(int(device.get(out)[0]))

    assert [1, 2, 3, 4] == results
    assert ["a::K", "b::K", "L(int *)", "L(int *, int)"] == list(module.kernels)
    with pytest.raises(
        UsageError, match=r"'K' is the name of 2 kernels.*a::K \(.*k.mlu:1\), b::K \(.*k.mlu:2\)"
    ):
        module["K"]


def test_an_instantiation_that_does_not_fit_is_shown_at_its_template(load):
    """The line of the template, and no word of how it was asked for."""
    with pytest.raises(SourceError) as caught:
        load(SCALE)["Scale<float, 4>"]

    assert (10, 21) == (caught.value.line, caught.value.column)
    assert "there is no Scale<float, 4>: no template of that name takes these arguments" in str(caught.value)
    assert str(caught.value).endswith(
        "__mlu_global__ void Scale(T *dst, T *src, int n) {\n                    ^"
    )


def test_a_board_of_another_architecture_is_refused(load):
    """What was translated for one architecture does not run on another."""
    with pytest.raises(LaunchError, match="loaded for __BANG_ARCH__ 372 and this board has 592"):
        mlusim.Device("MLU590-H8").launch(load(SCALE)["Scale<float>"], args=(None, None, 0))


def test_files_are_linked_by_name_and_keep_their_own_variables(load):
    """A function of another file is found, and each file has its own memory at file scope."""
    module = load(
        a="""
        __nram__ int mine[4];
        __mlu_func__ int other(int x);
        __mlu_global__ void K(int *out) { mine[0] = 5; out[0] = other(7) + mine[0]; }
        """,
        b="""
        __nram__ int mine[4];
        __mlu_func__ int other(int x) { mine[0] = x; return 100 * mine[0]; }
        """,
    )
    device = mlusim.Device("MLU370-X4")
    out = device.empty(1, np.int32)
    device.launch(module["K"], args=(out,))

    assert device.get(out)[0] == 705


def test_arguments_of_another_kind_are_refused(load):
    """A tensor of other elements, a number for a pointer, a fraction or too much for an integer: by parameter."""
    module = load("__mlu_global__ void K(float *y, int n) { y[0] = n; }")
    device = mlusim.Device()
    floats, integers = device.empty(4, np.float32), device.empty(4, np.int32)

    for given, said in (
        ((integers, 1), r"float \* y of K .*k.mlu:1\) is given a tensor of int32; it takes float"),
        ((3, 1), r"float \* y of K .* is given 3; it takes a tensor, a pointer or None"),
        ((floats, 1.5), r"int n of K .* is given 1.5; it takes a whole number"),
        ((floats, 1 << 40), r"int n of K .* is given 1099511627776; it takes -2147483648 to 2147483647"),
    ):
        with pytest.raises(LaunchError, match=said):
            device.launch(module["K"], args=given)


def test_a_debugger_of_python_gets_the_python_engine(load):
    """Lines of a kernel are seen by what traces Python, whether or not C of the kernel is there."""
    module, device, seen = (
        load("__mlu_global__ void K(int *out) {\n  out[0] = 5;\n}\n"),
        mlusim.Device(),
        set(),
    )
    out = device.empty(1, np.int32)

    def trace(frame, _event, _argument):
        if frame.f_code.co_name != "K":
            return None
        seen.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        launch = device.launch(module["K"], args=(out,))
    finally:
        sys.settrace(before)

    assert "python" == launch.engine
    assert 2 in seen


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((10**400, 1), "float f of k .* is given a number of 1329 bits; it takes what a double holds"),
        ((1, 10**5000), "int n of k .* is given a number of 16610 bits; it takes -2147483648 to 2147483647"),
    ],
)
def test_numbers_that_no_parameter_holds_are_refused(load, arguments, said):
    """By their size: Python would write no more than 4,300 digits."""
    kernel = load("__mlu_global__ void k(float *o, float f, int n) { o[0] = f; }\n")["k"]
    device = mlusim.Device("MLU370-X4")

    with pytest.raises(LaunchError, match=said):
        device.launch(kernel, args=(device.empty(4, np.float32), *arguments))


@pytest.mark.parametrize(("loops", "runs"), [(20, True), (21, False)])
def test_loops_inside_each_other(load, loops, runs):
    """As many as Python takes; beyond them a sentence says what to do."""
    source = "while (n-- > 0) { " * loops + "o[0]++; " + "} " * loops
    module = load(f"__mlu_global__ void k(int *o, int n) {{ {source}}}\n")
    device = mlusim.Device("MLU370-X4")
    tensor = device.put(np.zeros(4, np.int32))

    def launch():
        device.launch(module["k"], args=(tensor, 100))

    if runs:
        launch()
    else:
        with pytest.raises(
            Unsupported, match="deeper than the 20 that Python takes; put the inner ones into a function"
        ):
            launch()
    assert bool(device.get(tensor)[0]) == runs


OWN = """
static __mlu_func__ int f() { static int n = %d; static int m[2] = {%d}; return ++n + m[0]++; }
namespace { __mlu_func__ int g() { return %d; } struct S { __mlu_func__ int h() { return %d; } }; }
template <typename T> static __mlu_func__ T t(T x) { auto l = [=] { return x + %d; }; return l(); }
"""
FIRST = (
    OWN % (10, 1, 2, 3, 4)
    + """
__mlu_func__ int second();
__mlu_entry__ void K(int *o) { o[0] = f() + 1000 * (g() + 10 * S().h() + 100 * t(0)); o[1] = second(); o[2] = f(); }
"""
)
SECOND = (
    OWN % (20, 5, 6, 7, 8)
    + "__mlu_func__ int second() { return f() + 1000 * (g() + 10 * S().h() + 100 * t(0)); }"
)


def test_functions_of_one_file_are_its_own(load):
    """Static ones, those of a namespace without a name, and lambdas in them: others of their names, and their statics, are others."""
    kernel = load(first="#include <bang.h>\n" + FIRST, second="#include <bang.h>\n" + SECOND)["K"]
    alike(kernel, [np.zeros(3, np.int32)])
    _, (o,) = run(kernel, [np.zeros(3, np.int32)], "python")

    assert [432_012, 876_026, 14] == o.tolist()


def test_an_enumeration_inside_of_anything_is_loaded(load):
    """In a namespace, in one without a name, in a class, in a function, in a template for a negative number."""
    text = """#include <bang.h>
    namespace a { enum class E : short { X = 5, Y }; } namespace { enum F { P = 7 }; } struct S { enum G { Q = 9 }; G g; };
    template <int N> struct T { enum H { R = N }; };
    __mlu_func__ a::E next(a::E e) { return e == a::E::X ? a::E::Y : a::E::X; }
    __mlu_entry__ void K(int *o, a::E e) {
      enum L { Z = 11 }; L l = Z; F f = P; S s = {S::Q}; T<-3>::H h = T<-3>::R;
      o[0] = (int)next(e); o[1] = l + f; o[2] = s.g; o[3] = h;
    }"""
    module = load(text)
    _, (o,) = run(module["K"], [np.zeros(4, np.int32), 5], "auto")
    assert [6, 18, 9, -3] == o.tolist()
    kept = form_data.read(form_data.write(module.units[0]))  # as the cache and a program hold it
    assert kept.form.functions.keys() == module.units[0].form.functions.keys()


def test_the_vendors_sources_of_pytorchs_device_are_headers_behind_ours(tmp_path):
    """Those that ours replace need the whole of PyTorch; the others are read."""
    folder = tmp_path / "csrc"
    (folder / "framework" / "core").mkdir(parents=True)
    (folder / "framework" / "core" / "MLUStream.h").write_text("#error of the host\n")
    (folder / "own.h").write_text("#define FOUR 4\n")
    source = tmp_path / "k.mlu"
    source.write_text(
        "#include <framework/core/MLUStream.h>\n#include <own.h>\n__mlu_entry__ void K(int *o) { o[0] = FOUR; }\n"
    )
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(1, np.int32))

    device.launch(bangc.load(source, include=[folder])["K"], (1, 1, 1), mlusim.BLOCK, [out])

    assert [4] == device.get(out).tolist()
