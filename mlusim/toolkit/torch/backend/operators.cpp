// Operators of the device `mlu`: memory, copies and views; the CPU runs the rest on copies of the tensors.
#include "device.h"

#include "capture.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/op_registration/adaption.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include <atomic>
#include <cstdio>
#include <set>

namespace mlusim_torch {
namespace {

std::atomic<int64_t> fallback_count{0};
int logging = 0;

const c10::DispatchKeySet KEYS(c10::DispatchKey::PrivateUse1);

// Features that the device lacks, and the alternatives.
constexpr char SPARSE[] = "sparse tensors", QUANTIZED[] = "quantized tensors", NESTED[] = "nested tensors of layout torch.strided";
constexpr char DENSE[] = "keep them on the CPU, and move what x.to_dense() gives", PLAIN[] = "keep them on the CPU, and move what x.dequantize() gives",
               JAGGED[] = "give layout=torch.jagged, or pad them on the CPU with x.to_padded_tensor(0.0)";

c10::ScalarType held(std::optional<c10::ScalarType> asked_for) {
  c10::ScalarType type = c10::dtype_or_default(asked_for);
  switch (type) {
    case c10::kBool: case c10::kByte: case c10::kChar: case c10::kShort: case c10::kInt: case c10::kLong: case c10::kUInt16: case c10::kUInt32:
    case c10::kUInt64: case c10::kHalf: case c10::kBFloat16: case c10::kFloat: case c10::kDouble: case c10::kComplexHalf: case c10::kComplexFloat:
    case c10::kComplexDouble:
      return type;
    default:
      TORCH_CHECK(false, "the device mlu has no dtype ", c10::toString(type),
                  "; it has bool, integers of 8 to 64 bits, half, bfloat16, float, double and complex: convert the tensor on the CPU first");
  }
}

void place(std::optional<c10::Device> device) {
  if (device && device->index() >= 0 && device->index() != mlusim::current_device())
    check_device(device->index());
}

at::Tensor empty(c10::IntArrayRef size, std::optional<c10::ScalarType> type, std::optional<c10::Layout> layout, std::optional<c10::Device> device,
                 std::optional<bool> pin, std::optional<c10::MemoryFormat> format) {
  TORCH_CHECK(!layout || *layout == c10::kStrided, "the device mlu has no ", SPARSE, ": ", DENSE);
  TORCH_CHECK(!pin.value_or(false), "memory of the device cannot be pinned; only that of the CPU");
  place(device);
  c10::OptionalDeviceGuard guard(device);
  c10::ScalarType kept = held(type);
  Naming name(kept, size);
  return at::detail::empty_generic(size, allocator(), KEYS, kept, format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<c10::ScalarType> type, std::optional<c10::Layout>,
                         std::optional<c10::Device> device, std::optional<bool>) {
  place(device);
  c10::OptionalDeviceGuard guard(device);
  c10::ScalarType kept = held(type);
  Naming name(kept, size);
  return at::detail::empty_strided_generic(size, stride, allocator(), KEYS, kept);
}

// ---- copies ------------------------------------------------------------------------------------
bool on_device(const at::Tensor &x) { return x.device().type() == MLU; }

// Return the first byte of a tensor's elements and the number of bytes that they span.
std::pair<uint64_t, uint64_t> span(const at::Tensor &x) {
  int64_t last = 0;
  for (int64_t d = 0; d < x.dim(); ++d) last += (x.size(d) - 1) * x.stride(d);
  return {(uint64_t)x.data_ptr(), (uint64_t)(last + 1) * x.element_size()};
}

// Return the tensor's bytes on the host: the same sizes and strides.
at::Tensor window(const at::Tensor &x) {
  at::Tensor seen = at::from_blob(mlusim::mapped((uint64_t)x.data_ptr()), x.sizes(), x.strides(), x.options().device(c10::kCPU).requires_grad(false));
  if (x.is_conj()) seen = at::_conj(seen);
  if (x.is_neg()) seen = at::_neg_view(seen);
  return seen;
}

// Tell the simulator which bytes are written: rows of a tensor with gaps one by one, so that the gaps stay uninitialized.
void tell_written(const at::Tensor &x, uint64_t source, cnrtMemTransDir_t direction) {
  constexpr int64_t MOST = 256;
  if (!x.is_non_overlapping_and_dense() && x.dim() > 0 && x.size(0) > 0 && x.numel() > 1 && x.numel() / x.size(-1) <= MOST && x.dim() > 1) {
    for (int64_t i = 0; i < x.size(0); ++i) tell_written(x.select(0, i), source, direction);
    return;
  }
  auto [first, bytes] = span(x);
  asked(OP_COPY, {first, direction == cnrtMemcpyDevToDev ? first : source, bytes, (uint64_t)direction, queue()});
}

// ---- graphs ------------------------------------------------------------------------------------
thread_local bool inside = false;  // set inside a recorded operator, whose parts are not recorded
struct Inside {
  bool before = inside;
  Inside() { inside = true; }
  ~Inside() { inside = before; }
};
bool is_recorded() { return !inside && mlusim::capturing(queue()); }

// Record *work*, which runs with the graph.
void record(std::function<void()> work) {
  mlusim::captured(queue(), [work](uint64_t) {
    Inside whole;
    work();
    return cnrtSuccess;
  });
}

// Run an operator, and record it for later runs, whose results go into the tensors of this run.
template <class Run> void recorded(const c10::OperatorHandle &op, torch::jit::Stack *stack, Run run) {
  if (!is_recorded()) return run(op, stack);
  torch::jit::Stack given(stack->end() - op.schema().arguments().size(), stack->end());
  {
    Inside whole;
    run(op, stack);
  }
  torch::jit::Stack made(stack->end() - op.schema().returns().size(), stack->end());
  record([op, run, given, made] {
    torch::jit::Stack again = given;
    run(op, &again);
    for (size_t i = 0; i < made.size(); ++i)
      if (made[i].isTensor() && again[i].isTensor() && !made[i].toTensor().is_same(again[i].toTensor())) made[i].toTensor().copy_(again[i].toTensor());
  });
}

at::Tensor copy_from(const at::Tensor &source, const at::Tensor &target, bool later) {
  if (target.numel() == 0) return target;
  if (is_recorded()) {
    TORCH_CHECK(on_device(target), "a graph that is recorded has no values for the CPU yet: take what it makes when it has run");
    record([source, target, later] { copy_from(source, target, later); });
    return target;
  }
  at::Tensor from = source, to = target;
  if (on_device(source)) {
    auto [first, bytes] = span(source);
    from = window(source);
    asked(OP_COPY, {(uint64_t)from.data_ptr(), first, bytes, cnrtMemcpyDevToHost, queue()});
    if (!on_device(target)) asked(OP_SYNC, {queue()});
  }
  if (on_device(target)) {
    to = window(target);

    tell_written(target, (uint64_t)from.data_ptr(), cnrtMemcpyHostToDev);
  }
  c10::impl::ExcludeDispatchKeyGuard plain(c10::autograd_dispatch_keyset);
  to.copy_(from);
  return target;
}

at::Tensor copy_from_and_resize(const at::Tensor &source, const at::Tensor &target) {
  if (source.sizes() != target.sizes()) const_cast<at::Tensor &>(target).resize_(source.sizes());
  return copy_from(source, target, false);
}

// Memory is freed when nothing refers to it, and by then all earlier work is done.
void record_stream(at::Tensor &, c10::Stream) {}

// Nested tensors of a mask are not created: encoders of transformers then use the mask itself.
bool from_left_aligned_mask(const at::Tensor &, const at::Tensor &) { return false; }

at::Scalar local_scalar(const at::Tensor &x) { return x.cpu().item(); }  // rejected while a graph is recorded, as the copy is

// ---- storage and views -------------------------------------------------------------------------
void reach(const at::Tensor &x, c10::IntArrayRef size, c10::IntArrayRef stride, int64_t offset) {
  size_t need = at::detail::computeStorageNbytes(size, stride, x.element_size(), offset);
  if (x.numel() && need > x.storage().nbytes()) {
    Naming name(x.scalar_type(), size);
    resize_storage(x.storage().unsafeGetStorageImpl(), need);
  }
}

const at::Tensor &resize_(const at::Tensor &x, c10::IntArrayRef size, std::optional<c10::MemoryFormat> format) {
  auto *impl = x.unsafeGetTensorImpl();
  impl->set_sizes_contiguous(size);
  if (format && *format != c10::MemoryFormat::Preserve) impl->empty_tensor_restride(*format);
  reach(x, x.sizes(), x.strides(), x.storage_offset());
  return x;
}

at::Tensor &set_storage(at::Tensor &x, c10::Storage source, int64_t offset, c10::IntArrayRef size, c10::IntArrayRef stride) {
  at::native::checkSetStorage(x, source, offset, size, stride);
  auto *impl = x.unsafeGetTensorImpl();
  impl->set_storage_offset(offset);
  stride.data() ? impl->set_sizes_and_strides(size, stride) : impl->set_sizes_contiguous(size);
  reach(x, x.sizes(), x.strides(), offset);
  return x;
}
at::Tensor &set_whole_storage(at::Tensor &x, c10::Storage source) {
  int64_t count = (int64_t)source.nbytes() / x.element_size();
  return set_storage(x, std::move(source), 0, {count}, {});
}
at::Tensor &set_tensor(at::Tensor &x, const at::Tensor &source) { return set_storage(x, source.storage(), source.storage_offset(), source.sizes(), source.strides()); }
at::Tensor &set_nothing(at::Tensor &x) {
  c10::Storage none(c10::Storage::use_byte_size_t(), 0, allocator(), true);
  return set_storage(x, none, 0, {0}, {});
}

// ---- the CPU -----------------------------------------------------------------------------------
void log(const c10::OperatorHandle &op) {
  ++fallback_count;
  if (logging) fprintf(stderr, "torch_mlu: %s runs on the CPU\n", c10::toString(op.operator_name()).c_str());
}

// Operators with arguments that may be on the CPU beside those on the device, as on other devices: indices, and lengths that the host reads.
const std::set<std::string> TAKE_BOTH{
    "aten::index",      "aten::index_put",  "aten::index_put_",           "aten::_index_put_impl_",
    "aten::_unsafe_index", "aten::_unsafe_index_put", "aten::_pack_padded_sequence", "aten::_pack_padded_sequence_backward",
    "aten::lstm",       "aten::gru",        "aten::rnn_tanh",             "aten::rnn_relu",
    "aten::ctc_loss",   "aten::_ctc_loss",  "aten::_ctc_loss_backward",   "aten::segment_reduce"};
const std::set<std::string> OF_THE_HOST{"indices", "lengths", "offsets", "batch_sizes", "targets", "input_lengths", "target_lengths"};

struct CommonDevice {
  const c10::OperatorHandle &op;
  const bool takes_both = TAKE_BOTH.count(op.operator_name().name);
  std::optional<c10::Device> common;

  void take(const at::Tensor &tensor, const std::string &argument) {
    if (!tensor.defined()) return;
    if (tensor.device().is_cpu() && (tensor.dim() == 0 || (takes_both && OF_THE_HOST.count(argument)))) return;
    if (!common) common = tensor.device();
    if (*common != tensor.device()) c10::impl::common_device_check_failure(*common, tensor, op.operator_name().name.c_str(), argument.c_str());
  }
};

// Raise PyTorch's own sentence for tensors of two devices; a single number of the CPU is compatible with any device.
void check_same_device(const c10::OperatorHandle &op, const torch::jit::Stack &stack) {
  CommonDevice seen{op};
  const auto &arguments = op.schema().arguments();
  const size_t first = stack.size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const c10::IValue &value = stack[first + i];
    if (value.isTensor()) seen.take(value.toTensor(), arguments[i].name());
    if (value.isTensorList())
      for (const at::Tensor &one : value.toTensorVector()) seen.take(one, arguments[i].name());
    if (value.isOptionalTensorList())
      for (const std::optional<at::Tensor> &one : value.toOptionalTensorVector())
        if (one) seen.take(*one, arguments[i].name());
  }
}

c10::IValue moved(const c10::IValue &value, c10::Device device) {
  if (value.isTensor()) return value.toTensor().defined() ? c10::IValue(value.toTensor().to(device)) : value;
  if (value.isTensorList()) {
    c10::List<at::Tensor> all;
    for (at::Tensor one : value.toTensorList()) all.push_back(one.defined() ? one.to(device) : one);
    return all;
  }
  return value;
}

// Return the device of the first tensor in a value; without tensors, *otherwise*.
c10::Device device_in(const c10::IValue &value, c10::Device otherwise) {
  if (value.isTensor() && value.toTensor().defined() && on_device(value.toTensor())) return value.toTensor().device();
  if (value.isTensorList())
    for (at::Tensor one : value.toTensorList())
      if (one.defined() && on_device(one)) return one.device();
  return otherwise;
}

// Return the device of the first tensor among the arguments of a call, or the current one.
c10::Device device_of(const torch::jit::Stack &stack, size_t first) {
  c10::Device device(MLU, (c10::DeviceIndex)mlusim::current_device());
  for (size_t i = stack.size(); i > first; --i) device = device_in(stack[i - 1], device);
  return device;
}

// Replace the device's generator by a CPU generator for an operator that draws numbers.
void give_generator(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const auto &arguments = op.schema().arguments();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name() != "generator") continue;
    c10::IValue &value = (*stack)[first + i];
    value = host_generator(value.isGenerator() ? value.toGenerator() : default_generator(device_of(*stack, first).index()));
  }
}

void fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  TORCH_CHECK_NOT_IMPLEMENTED(op.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU), op.operator_name().name,
                              " is an operator that PyTorch has for other cards alone, and the device mlu computes with those of the CPU: write it with other operators");
  check_same_device(op, *stack);
  give_generator(op, stack);
  log(op);
  recorded(op, stack, [](const c10::OperatorHandle &now, torch::jit::Stack *values) { at::native::cpu_fallback(now, values, true); });
}

// Operators whose own parts require a known device: the whole runs on the CPU, and so does its gradient.
void on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const size_t first = stack->size() - op.schema().arguments().size();
  const c10::Device device = device_of(*stack, first);
  for (size_t i = first; i < stack->size(); ++i) (*stack)[i] = moved((*stack)[i], c10::kCPU);
  op.callBoxed(stack);
  for (size_t i = stack->size() - op.schema().returns().size(); i < stack->size(); ++i) (*stack)[i] = moved((*stack)[i], device);
}

void whole_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  check_same_device(op, *stack);
  log(op);
  recorded(op, stack, &on_cpu);
}

// Operators of tensors with other layouts are rejected.
template <const char *lacks, const char *instead> void refuse(const c10::OperatorHandle &op, torch::jit::Stack *) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "the device mlu has no ", lacks, " (", op.operator_name().name, "): ", instead);
}

bool is_half(const at::Tensor &x) { return x.defined() && (x.scalar_type() == c10::kHalf || x.scalar_type() == c10::kBFloat16); }

// Return whether the value of an argument turns off the sum of a call, or gives the result a type of its own.
bool keeps_half(const c10::Argument &argument, const c10::IValue &value) {
  return (argument.name() == "accumulate" && value.isBool() && !value.toBool()) || (argument.name() == "dtype" && !value.isNone());
}

// Operators whose parts in half lose the precision of a sum in float: computed in float, and rounded once.
void in_float(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
  const auto &arguments = op.schema().arguments();
  const auto &returns = op.schema().returns();
  const size_t first = stack->size() - arguments.size();
  for (size_t i = 0; i < arguments.size(); ++i)
    if (keeps_half(arguments[i], (*stack)[first + i])) return fallback(op, stack);
  std::vector<at::Tensor> before(arguments.size());
  std::optional<c10::ScalarType> half;
  for (size_t i = 0; i < arguments.size(); ++i) {
    c10::IValue &value = (*stack)[first + i];
    if (!value.isTensor() || !is_half(value.toTensor())) continue;
    before[i] = value.toTensor();
    half = before[i].scalar_type();
    value = before[i].to(c10::kFloat);
  }
  std::vector<c10::IValue> called(stack->begin() + first, stack->end());
  if (!half) return fallback(op, stack);
  op.callBoxed(stack);
  auto is_written = [](const c10::Argument &one) { return one.alias_info() && one.alias_info()->isWrite(); };
  std::vector<at::Tensor> written;
  for (size_t i = 0; i < arguments.size(); ++i)
    if (before[i].defined() && is_written(arguments[i])) written.push_back(before[i].copy_(called[i].toTensor()));
  size_t next = 0;
  for (size_t i = 0; i < returns.size(); ++i) {
    c10::IValue &value = (*stack)[stack->size() - returns.size() + i];
    if (is_written(returns[i]) && next < written.size()) value = written[next++];
    else if (value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == c10::kFloat) value = value.toTensor().to(*half);
  }
}

}  // namespace

void log_fallbacks(int mode) { logging = mode; }
int64_t fallbacks() { return fallback_count; }

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("_local_scalar_dense", &local_scalar);
  m.impl("resize_", &resize_);
  m.impl("set_.source_Storage_storage_offset", &set_storage);
  m.impl("set_.source_Storage", &set_whole_storage);
  m.impl("set_.source_Tensor", &set_tensor);
  m.impl("set_", &set_nothing);
  m.impl("as_strided", &at::native::as_strided_tensorimpl);
  m.impl("view", static_cast<at::Tensor (*)(const at::Tensor &, c10::IntArrayRef)>(&at::native::view));
  m.impl("_reshape_alias", static_cast<at::Tensor (*)(const at::Tensor &, c10::IntArrayRef, c10::IntArrayRef)>(&at::native::_reshape_alias));
  m.impl("unfold", &at::native::unfold);
  m.impl("view_as_real", &at::native::view_as_real);
  m.impl("view_as_complex", &at::native::view_as_complex);
  m.impl("record_stream", &record_stream);
  m.impl("_nested_tensor_from_mask_left_aligned", &from_left_aligned_mask);
  // As parts, these pass the CPU a result of another shape, which causes a warning.
  for (const char *whole : {"mse_loss", "smooth_l1_loss"}) m.impl(whole, torch::CppFunction::makeFromBoxedFunction<&fallback>());
  for (const char *sparse : {"_to_sparse", "_to_sparse.sparse_dim", "_to_sparse_csr", "_to_sparse_csc", "_to_sparse_bsr", "_to_sparse_bsc"})
    m.impl(sparse, torch::CppFunction::makeFromBoxedFunction<&refuse<SPARSE, DENSE>>());
}
// Copies read a conjugate or negative view themselves: the fallback of these keys would copy it by a copy, without end.
#define MLUSIM_OF_VIEWS(m)                                                  \
  m.impl("_copy_from", torch::CppFunction::makeFallthrough());              \
  m.impl("_copy_from_and_resize", torch::CppFunction::makeFallthrough());   \
  m.impl("record_stream", torch::CppFunction::makeFallthrough());
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { MLUSIM_OF_VIEWS(m) }
TORCH_LIBRARY_IMPL(aten, Negative, m) { MLUSIM_OF_VIEWS(m) }
TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }
TORCH_LIBRARY_IMPL(_, SparsePrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<SPARSE, DENSE>>()); }
TORCH_LIBRARY_IMPL(_, SparseCsrPrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<SPARSE, DENSE>>()); }
TORCH_LIBRARY_IMPL(aten, SparseCsrPrivateUse1, m) {  // which PyTorch creates without an operator of the device
  for (const char *own : {"_to_copy", "crow_indices", "col_indices", "ccol_indices", "row_indices", "values"})
    m.impl(own, torch::CppFunction::makeFromBoxedFunction<&refuse<SPARSE, DENSE>>());
}
TORCH_LIBRARY_IMPL(_, QuantizedPrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<QUANTIZED, PLAIN>>()); }
TORCH_LIBRARY_IMPL(_, NestedTensorPrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<NESTED, JAGGED>>()); }

#define MLUSIM_WHOLE(X) \
  X("convolution") X("lstm.input") X("lstm.data") X("gru.input") X("gru.data") X("rnn_tanh.input") X("rnn_tanh.data") X("rnn_relu.input") \
  X("rnn_relu.data") X("lstm_cell") X("gru_cell") X("rnn_tanh_cell") X("rnn_relu_cell") X("scaled_dot_product_attention") X("_native_multi_head_attention") \
  X("ctc_loss.Tensor") X("ctc_loss.IntList")
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
#define MLUSIM_ONE(name) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&whole_on_cpu>());
  MLUSIM_WHOLE(MLUSIM_ONE)
}
TORCH_LIBRARY_IMPL(aten, AutogradPrivateUse1, m) { MLUSIM_WHOLE(MLUSIM_ONE) }

#define MLUSIM_IN_FLOAT(X) \
  X("grid_sampler_2d") X("grid_sampler_3d") X("grid_sampler_2d_backward") X("grid_sampler_3d_backward") X("binary_cross_entropy") \
  X("binary_cross_entropy.out") X("binary_cross_entropy_backward") X("binary_cross_entropy_backward.grad_input") X("index_add") X("index_add_") \
  X("index_add.out") X("index_reduce") X("index_reduce_") X("index_reduce.out") X("_index_put_impl_") X("put_") X("embedding_dense_backward") \
  X("prod") X("prod.dim_int") X("prod.int_out") X("cumprod") X("cumprod_") X("cumprod.out") X("binary_cross_entropy_with_logits")
TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
#define MLUSIM_FLOAT_ONE(name) m.impl(name, torch::CppFunction::makeFromBoxedFunction<&in_float>());
  MLUSIM_IN_FLOAT(MLUSIM_FLOAT_ONE)
}

}  // namespace mlusim_torch
