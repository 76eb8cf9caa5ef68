// The layout that operators of the closed library expect.
#pragma once
#include <ATen/ATen.h>

namespace torch_mlu {

inline at::Tensor cnnl_contiguous(const at::Tensor &x, c10::MemoryFormat format = c10::MemoryFormat::Contiguous) { return x.contiguous(format); }
namespace cnnl {
namespace ops {
inline at::Tensor cnnl_contiguous(const at::Tensor &x, c10::MemoryFormat format = c10::MemoryFormat::Contiguous) { return x.contiguous(format); }
}  // namespace ops
}  // namespace cnnl
inline c10::MemoryFormat get_channels_last_memory_format(int64_t dim) {
  return dim == 4 ? c10::MemoryFormat::ChannelsLast : dim == 5 ? c10::MemoryFormat::ChannelsLast3d : c10::MemoryFormat::Contiguous;
}

}  // namespace torch_mlu
