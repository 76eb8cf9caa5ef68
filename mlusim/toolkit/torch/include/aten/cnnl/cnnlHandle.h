// The handle of the closed library for the current stream.
#pragma once
#include <cnnl.h>

#include "framework/core/MLUStream.h"

namespace torch_mlu {

inline cnnlHandle_t getCurrentHandle(c10::DeviceIndex index = -1) {
  static thread_local cnnlHandle_t handle = [] {
    cnnlHandle_t made = nullptr;
    cnnlCreate(&made);
    return made;
  }();
  static thread_local cnrtQueue_t given = nullptr;
  cnrtQueue_t queue = getCurrentQueue(index);
  if (queue != given) cnnlSetQueue(handle, queue), given = queue;
  return handle;
}

}  // namespace torch_mlu
