"""The cost of building an extension of PyTorch with precompiled headers: its kernels, its binding, the linker; and of a binding with pybind11."""

import time
from collections.abc import Iterator

from benchmarks.timing import Row, cpu_of
from mlusim.toolkit.built import toolkit_folder
from mlusim.toolkit.torch.builder import ExtensionSources, TorchBuilder, installed

BOARD = "MLU370-X4"
KERNELS, BINDING, PYBIND11 = 4.0, 3.0, 10.0  # seconds of CPU
SOURCE = """
#include <bang.h>
#include <cnrt.h>
#include <torch/extension.h>
#include <framework/core/MLUStream.h>
__mlu_entry__ void scaled(const float *x, float *y, int n, float by) {
  __nram__ float part[1024];
  for (int at = taskId * 1024; at < n; at += taskDim * 1024) {
    int count = n - at < 1024 ? n - at : 1024;
    __memcpy(part, x + at, count * sizeof(float), GDRAM2NRAM);
    __bang_mul_scalar(part, part, by, count);
    __memcpy(y + at, part, count * sizeof(float), NRAM2GDRAM);
  }
}
torch::Tensor scale(torch::Tensor x, double by) {
  auto y = torch::empty_like(x);
  cnrtDim3_t dim = {4, 1, 1};
  scaled<<<dim, cnrtFuncTypeBlock, torch_mlu::getCurMLUStream()>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel(), by);
  return y;
}
"""
DECLARED = "torch::Tensor scale(torch::Tensor x, double by);"
WITH_PYBIND11 = "torch::Tensor scale(torch::Tensor x, double by); inline int count(c10::IntArrayRef sizes) { return sizes.size(); }"


def torch_build() -> Iterator[Row]:
    """Yield builds of extensions whose texts are in no cache."""
    builder = TorchBuilder(installed(str(toolkit_folder(BOARD))))
    builder.prepare(SOURCE)
    mark = f"\n// {time.time_ns()}\n"
    bang = (SOURCE + mark,)
    kernels = _cpu(builder, ExtensionSources("kernels", bang))
    yield Row("an extension of PyTorch: its kernels, and the linker", kernels, KERNELS, "s of CPU")
    light = ExtensionSources("light", bang, DECLARED + mark, {"scale": ""})
    yield Row("its functions for Python", _cpu(builder, light), BINDING, "s of CPU", "with the linker")
    whole = ExtensionSources("whole", bang, WITH_PYBIND11 + mark, {"scale": "", "count": ""})
    taken = _cpu(builder, whole)
    yield Row("the same of a type that pybind11 converts", taken, PYBIND11, "s of CPU", "with the linker")


def _cpu(builder: TorchBuilder, sources: ExtensionSources) -> float:
    return cpu_of(lambda: builder.extension(sources))[1]
