// Queries of operators about tensors.
#pragma once
#include <ATen/ATen.h>

#include "aten/utils/cnnl_util.h"
#include "framework/core/MLUStream.h"

namespace torch_mlu {

// The memory of a tensor: a device address.
class MluTensorMemory {
 public:
  explicit MluTensorMemory(const at::Tensor &tensor) : tensor_(tensor) {}
  const MluTensorMemory *operator->() const { return this; }
  void *mlu_data_ptr() const { return tensor_.data_ptr(); }
  void *cnnlMalloc() const { return tensor_.data_ptr(); }
  void *raw_mutable_data() const { return tensor_.data_ptr(); }
  int64_t numel() const { return tensor_.numel(); }

 private:
  at::Tensor tensor_;
};
inline MluTensorMemory getMluTensorImpl(const at::Tensor &tensor) { return MluTensorMemory(tensor); }
inline void *mlu_data_ptr(const MluTensorMemory &memory) { return memory.mlu_data_ptr(); }
inline void *mlu_data_ptr(c10::TensorImpl *impl) { return impl->mutable_data(); }

}  // namespace torch_mlu
