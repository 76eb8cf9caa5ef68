// Autocasting on the device `mlu`: the lists of operators that PyTorch has for every device, without those of a library.
#include <ATen/ATen.h>
#include <ATen/Operators.h>
#include <ATen/autocast_mode.h>
#include <torch/library.h>

namespace mlusim_torch {
using at::IntArrayRef, at::Scalar, at::ScalarType, at::Tensor;  // as the lists name them
namespace {

at::Tensor banned(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &, int64_t) {
  TORCH_CHECK(false, "binary_cross_entropy does not go with autocast, since half has no numbers near its logarithms: "
                     "use binary_cross_entropy_with_logits, or leave autocast for the loss");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define MLUSIM_LOWER(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp)
#define MLUSIM_FLOAT(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32)
#define MLUSIM_SET_TYPE(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype)
#define MLUSIM_WIDEST(...) KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote)
  AT_FORALL_LOWER_PRECISION_FP(MLUSIM_LOWER)
  AT_FORALL_FP32(MLUSIM_FLOAT)
  AT_FORALL_FP32_SET_OPT_DTYPE(MLUSIM_SET_TYPE)
  AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  AT_FORALL_PROMOTE(MLUSIM_WIDEST)
  m.impl(TORCH_SELECTIVE_NAME("aten::binary_cross_entropy"), TORCH_FN((&banned)));
}

}  // namespace
}  // namespace mlusim_torch
