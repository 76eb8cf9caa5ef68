// The queue that work goes to, as the device of PyTorch hands it out.
#pragma once
#include <cnrt.h>

namespace torch_mlu {
inline cnrtQueue_t getCurMLUStream() {
  static cnrtQueue_t queue = [] {
    cnrtQueue_t made = nullptr;
    cnrtQueueCreate(&made);
    return made;
  }();
  return queue;
}
}  // namespace torch_mlu
