// Memory of the device `mlu` for use inside an operator.
#pragma once
#include <c10/core/Allocator.h>

#include "framework/core/MLUStream.h"

namespace torch_mlu {
namespace MLUCachingAllocator {
inline c10::Allocator *get() { return c10::GetAllocator(c10::DeviceType::PrivateUse1); }
inline void *raw_alloc(size_t bytes) { return get()->raw_allocate(bytes); }
inline void raw_delete(void *pointer) { get()->raw_deallocate(pointer); }
inline void recordStream(const c10::DataPtr &, MLUStream) {}
inline void emptyCache() {}
}  // namespace MLUCachingAllocator
inline c10::Allocator *getMLUCachingAllocator() { return MLUCachingAllocator::get(); }
}  // namespace torch_mlu
