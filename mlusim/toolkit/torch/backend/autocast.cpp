// Autocasting on the device `mlu`: PyTorch's lists of operators for every device, without those of a library. Each list has one boxed function,
// shared by its operators: a function for each of them takes ten times as long to compile.
#include "device.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

namespace mlusim_torch {
namespace {

using at::autocast::cached_cast, at::autocast::prioritize;

bool first_is_eligible(const c10::IValue *first) { return at::autocast::is_eligible(first->toTensor(), MLU); }

struct Call {
  const c10::OperatorHandle &op;
  torch::jit::Stack *stack;
  c10::impl::ExcludeDispatchKeyGuard no_autocast{c10::DispatchKey::AutocastPrivateUse1};

  size_t count() const { return op.schema().arguments().size(); }
  c10::IValue *begin() const { return stack->data() + stack->size() - count(); }
  c10::IValue *end() const { return stack->data() + stack->size(); }
  void with_tensors_of(at::ScalarType type) const {
    for (c10::IValue &value : *this) {
      if (value.isTensor()) value = cached_cast(type, value.toTensor(), MLU);
      else if (value.isTensorList()) value = cached_cast(type, at::TensorList(value.toTensorVector()), MLU);
    }
    op.callBoxed(stack);
  }
};

void lower(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  Call{op, stack}.with_tensors_of(at::autocast::get_lower_precision_fp_from_device_type(MLU));
}

void in_float(const c10::OperatorHandle &op, torch::jit::Stack *stack) { Call{op, stack}.with_tensors_of(at::kFloat); }

void widest(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const Call call{op, stack};
  at::ScalarType type = at::autocast::get_lower_precision_fp_from_device_type(MLU);
  for (const c10::IValue &value : call) {
    if (value.isTensor()) type = prioritize(type, value.toTensor(), MLU);
    else if (value.isTensorList()) type = prioritize(type, at::TensorList(value.toTensorVector()), MLU);
  }
  call.with_tensors_of(type);
}

// The result is float if no type is requested.
void to_float(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const Call call{op, stack};
  c10::IValue &type = call.begin()[*op.schema().argumentIndexWithName("dtype")];
  if (type.isNone() && first_is_eligible(call.begin())) type = at::kFloat;
  op.callBoxed(stack);
}

// The same for a norm, whose form with a type is another operator.
void norm_to_float(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const Call call{op, stack};
  const char *typed = op.schema().overload_name() == "Scalar" ? "ScalarOpt_dtype" : "ScalarOpt_dim_dtype";
  stack->emplace_back(first_is_eligible(call.begin()) ? at::kFloat : call.begin()->toTensor().scalar_type());
  c10::Dispatcher::singleton().findSchemaOrThrow("aten::norm", typed).callBoxed(stack);
}

at::Tensor banned(const at::Tensor &, const at::Tensor &, const std::optional<at::Tensor> &, int64_t) {
  TORCH_CHECK(false, "binary_cross_entropy does not go with autocast, since half has no numbers near its logarithms: "
                     "use binary_cross_entropy_with_logits, or leave autocast for the loss");
}

TORCH_LIBRARY_IMPL(_, AutocastPrivateUse1, m) { m.fallback(torch::CppFunction::makeFallthrough()); }

template <auto function> void each(torch::Library &m, std::initializer_list<const char *> names) {
  for (const char *name : names) m.impl(name, torch::CppFunction::makeFromBoxedFunction<function>());
}

TORCH_LIBRARY_IMPL(aten, AutocastPrivateUse1, m) {
#define MLUSIM_NAME_1(name) #name
#define MLUSIM_NAME_2(name, overload) #name "." #overload
#define MLUSIM_CHOSEN(one, two, chosen, ...) chosen
#define MLUSIM_NAME(...) MLUSIM_CHOSEN(__VA_ARGS__, MLUSIM_NAME_2, MLUSIM_NAME_1)(__VA_ARGS__),
  each<&lower>(m, {AT_FORALL_LOWER_PRECISION_FP(MLUSIM_NAME)});
  each<&in_float>(m, {AT_FORALL_FP32(MLUSIM_NAME)});
  each<&widest>(m, {AT_FORALL_PROMOTE(MLUSIM_NAME)});
  each<&to_float>(m, {AT_FORALL_FP32_SET_OPT_DTYPE(MLUSIM_NAME)});
  each<&norm_to_float>(m, {"norm.Scalar", "norm.ScalarOpt_dim"});
  m.impl("binary_cross_entropy", TORCH_FN((&banned)));
}

}  // namespace
}  // namespace mlusim_torch
