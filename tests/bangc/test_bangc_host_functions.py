"""Host functions of BANG C sources called from Python: arguments of every kind, statuses, launches."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.bangc.errors import SourceError
from mlusim.errors import Fault, UsageError
from mlusim.host import Handle, Status, TensorDescriptor
from tests.bangc.mluop_header import HEADER

SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include <vector>
__nram__ float buffer[1024];
typedef enum { KEEP = 0, NEGATE = 5 } Mode;
struct Range { int first; float scale; };
static int calls;
template <typename T>
__mlu_global__ void Scale(T *dst, const T *src, int n, float factor) {
  __memcpy(buffer, src + taskId * n, n * sizeof(T), GDRAM2NRAM);
  __bang_mul_scalar(buffer, buffer, factor, n);
  __memcpy(dst + taskId * n, buffer, n * sizeof(T), NRAM2GDRAM);
}
void KernelScale(cnrtDim3_t dim, cnrtFunctionType_t kind, cnrtQueue_t queue, void *dst, const void *src, int n, Mode mode) {
  ++calls;
  float factor = mode == NEGATE ? -2.0f : 2.0f;
  if (dst == nullptr) return;
  Scale<float><<<dim, kind, queue>>>((float *)dst, (const float *)src, n, factor);
}
int Calls() { return calls; }
double Mean(const float *values, int n) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += values[i];
  return sum / n;
}
void Fill(int *out, int n, const Range &range) {
  for (int i = 0; i <= n; ++i) out[i] = range.first + (int)(i * range.scale);
}
int Length(const char *text) { int n = 0; while (text[n]) ++n; return n; }
template <typename T> T Larger(T a, T b) { return a < b ? b : a; }
int Leave() { exit(3); }
int Same(int a) { return a; }
int Same(int a, int b) { return a + b; }
Mode Other(Mode mode) { return mode == KEEP ? NEGATE : KEEP; }
Range Wider(Range range, std::vector<int> *) { range.scale *= 2; return range; }
int Many(std::vector<int> values) { return values.size(); }
struct Item { std::vector<int> values; int n; };
int Count(const Item &item) { return item.n; }
static void Take(float *value, const void *from) { cnrtMemcpy(value, (void *)from, 4, cnrtMemcpyDevToHost); }
float First(const void *from, void *to) {
  float value = 0;
  Take(&value, from);
  value += 1;
  cnrtMemcpy(to, &value, 4, cnrtMemcpyHostToDev);
  return value;
}
void ScaleBehind(cnrtQueue_t queue, void *dst, const void *src, int n, unsigned long bytes) {
  cnrtDim3_t dim = {1, 1, 1};
  Scale<float><<<dim, cnrtFuncTypeBlock, queue>>>((float *)((unsigned long)dst + bytes), (const float *)src, n, 2);
}
"""
ENTRY = """\
#include "core/context.h"
#include "core/tensor.h"
#include "core/type.h"
__mlu_global__ void Negate(float *dst, const float *src, int n);
mluOpStatus_t mluOpNegate(mluOpHandle_t handle, const mluOpTensorDescriptor_t desc, const void *x, void *y, size_t *bytes) {
  PARAM_CHECK("[mluOpNegate]", handle != NULL);
  PARAM_CHECK("[mluOpNegate]", desc->getDtype() == MLUOP_DTYPE_FLOAT);
  PARAM_CHECK("[mluOpNegate]", desc->getDim() == 2 && desc->dims[1] % 4 == 0);
  *bytes = desc->getTotalElementNum() * mluop::getSizeOfDataType(desc->getDtype());
  cnrtDim3_t dim = {(unsigned)handle->core_num_per_cluster, 1, 1};
  Negate<<<dim, cnrtFuncTypeUnion1, handle->queue>>>((float *)y, (const float *)x, desc->getTotalElementNum() / dim.x);
  return MLUOP_STATUS_SUCCESS;
}
"""
NEGATE = """\
__nram__ float part[256];
__mlu_global__ void Negate(float *dst, const float *src, int n) {
  if (__is_mpu()) return;
  __memcpy(part, src + taskId * n, n * 4, GDRAM2NRAM);
  __bang_mul_scalar(part, part, -1, n);
  __memcpy(dst + taskId * n, part, n * 4, NRAM2GDRAM);
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The sources, loaded once."""
    path = tmp_path_factory.mktemp("host") / "scale.mlu"
    path.write_text(SOURCE)
    return bangc.load(path)


def test_a_host_function_launches_on_the_device_that_is_given(module):
    """A tuple is a grid, a kind or its vendor name a kind, None a queue, an enumerator a number or its name."""
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.arange(64, dtype=np.float32)), device.empty(64, np.float32)
    before = len(module.launches)
    module.functions["KernelScale"](device, (4, 1, 1), mlusim.UNION1, None, dst, src, 16, "NEGATE")
    first = device.get(dst)
    module.functions["KernelScale"](device, (2, 1, 1), "cnrtFuncTypeBlock", None, dst, src.ptr, 32, 0)
    module.functions["KernelScale"](device, (2, 1, 1), 1, None, None, src, 32, 0)

    assert (np.arange(64) * -2.0).tolist() == first.tolist()
    assert (np.arange(64) * 2.0).tolist() == device.get(dst).tolist()
    made = [(launch.kernel, launch.dim, launch.kind) for launch in module.launches[before:]]
    assert [("Scale<float>", (4, 1, 1), "UNION1"), ("Scale<float>", (2, 1, 1), "BLOCK")] == made
    assert 3 == module.functions["Calls"](device)


def test_a_pointer_that_was_an_integer_has_moved_by_bytes(module):
    """Whatever the elements of the tensor are that it points into."""
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.arange(8, dtype=np.float32)), device.put(np.zeros(64, np.float32))
    module.functions["ScaleBehind"](device, None, dst, src, 8, 16)

    assert [0.0] * 4 + [2.0 * n for n in range(8)] + [0.0] * 52 == device.get(dst).tolist()


def test_a_variable_is_copied_to_and_from(module):
    """One number of the host, whose address another function is given."""
    device = mlusim.Device("MLU370-X4")
    src, dst = device.put(np.array([2.5, 7], np.float32)), device.put(np.zeros(2, np.float32))

    assert 3.5 == module.functions["First"](device, src, dst)
    assert [3.5, 0.0] == device.get(dst).tolist()


def test_numpy_arrays_are_memory_of_the_host(module):
    """What a function reads and stores there is the caller's own array; records are tuples, texts C strings."""
    device, out = mlusim.Device(), np.zeros(5, np.int32)
    module.functions["Fill"](device, out, 4, (10, 1.5))

    assert [10, 11, 13, 14, 16] == out.tolist()
    assert 2.5 == module.functions["Mean"](device, np.array([1, 2, 3, 4], np.float32), 4)
    assert 5 == module.functions["Length"](device, "hello")
    assert (3, 2.5) == tuple(
        module.functions[f"Larger<{k}>"](device, 2, v) for k, v in (("int", 3), ("float", 2.5))
    )
    assert (4, 9) == (module.functions["Same"](device, 4), module.functions["Same"](device, 4, 5))
    assert (5, (3, 1.0)) == (
        module.functions["Other"](device, "KEEP"),
        module.functions["Wider"](device, (3, 0.5), None),
    )
    with pytest.raises(Fault, match="the host function Fill was ended by SIGSEGV"):
        module.functions["Fill"](device, out, 1 << 20, (0, 1.0))
    assert [0, 1, 2, 3, 4] == [module.functions["Fill"](device, out, 4, (0, 1.0)), out.tolist()][1]


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("Nothing", (), "there is no host function 'Nothing'"),
        ("Calls", (1,), r"Calls does not take 1 argument; it is Calls\(\)"),
        (
            "Mean",
            (np.zeros(2), 2),
            "values of Mean is given 'an array of float64'; it takes an array of float32",
        ),
        ("Mean", (np.zeros(2, np.bool_), 2), "given 'an array of bool'; it takes an array of float32"),
        ("Mean", (None, 2.5), "n of Mean is given 2.5; it takes an integer"),
        ("Mean", (None, 1 << 40), "it takes -2147483648 to 2147483647"),
        ("KernelScale", ((1, 1, 1), 1, None, None, None, 1, "LOUD"), "it takes one of KEEP, NEGATE"),
        ("KernelScale", (3, 1, None, None, None, 1, 0), "is given 3; it takes a tuple of x, y, z"),
        ("Leave", (), r"Leave ends the program with exit\(3\)"),
        ("Many", (None,), "Many.* takes or returns what Python cannot give"),
        ("Count", ((None, 3),), "Count.* takes or returns what Python cannot give"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(module, name, arguments, said):
    """One sentence with the function, the parameter and what it takes."""
    with pytest.raises(UsageError, match=said):
        module.functions[name](mlusim.Device(), *arguments)


BROKEN = """\
int Good(int a) { return a + __LINE__; }
int Bad(int a) {
  // "no" \\ brace }
  return a + wrong;
}
template <typename T> T Half(T a) { return a.half(); }
int After(int a) { return a ? Bad(a) : __LINE__; }
"""


def test_a_function_that_does_not_compile_is_refused_alone(tmp_path):
    """With the compiler's error; the others run, and one that calls it is ended there."""
    path = tmp_path / "k.mlu"
    path.write_text(BROKEN)
    functions = bangc.load(path).functions
    device = mlusim.Device()

    with pytest.raises(
        UsageError, match=r"Bad does not compile: .*k\.mlu:4:14: use of undeclared identifier 'wrong'"
    ):
        functions["Bad"](device, 1)
    assert (8, 7) == (functions["Good"](device, 7), functions["After"](device, 0))
    with pytest.raises(Fault, match="After was ended by SIGABRT"):
        functions["After"](device, 1)
    path.write_text(BROKEN + "Nothing x;\n")
    with pytest.raises(SourceError, match="unknown type name 'Nothing'"):
        bangc.load(path)


def test_an_entry_point_of_a_library_takes_handles_and_descriptors(tmp_path):
    """It returns a `Status`, launches through the handle a kernel of another file, and refuses what it checks."""
    for name, text in (("mlu_op.h", HEADER), ("negate.cpp", ENTRY), ("negate.mlu", NEGATE)):
        (tmp_path / name).write_text(text)
    module = bangc.load([tmp_path / "negate.cpp", tmp_path / "negate.mlu"], include=[tmp_path])
    handle, values, size = (
        Handle("MLU370-X4"),
        np.arange(32, dtype=np.float32).reshape(4, 8),
        np.zeros(1, np.uint64),
    )
    x, y = handle.device.put(values), handle.device.empty(values.shape, np.float32)
    call = module.functions["mluOpNegate"]

    assert Status.MLUOP_STATUS_SUCCESS is call(handle, TensorDescriptor(values.shape, np.float32), x, y, size)
    assert (-values).tolist() == handle.device.get(y).tolist()
    assert (128, ["Negate"]) == (size[0], [launch.kernel for launch in handle.launches])
    assert Status.MLUOP_STATUS_BAD_PARAM is call(handle, TensorDescriptor((4, 7), np.float32), x, y, size)
    assert Status.MLUOP_STATUS_BAD_PARAM is call(handle, TensorDescriptor((4, 8), np.float16), x, y, size)
    assert "mluOpNegate: desc->getDtype() == MLUOP_DTYPE_FLOAT does not hold" in handle.last_error
