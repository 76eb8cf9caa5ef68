// The handle of the library of operators, on the queue that work goes to.
#pragma once
#include <cnnl.h>
#include <framework/core/MLUStream.h>

namespace torch_mlu {
inline cnnlHandle_t getCurrentHandle() {
  static cnnlHandle_t handle = [] {
    cnnlHandle_t made = nullptr;
    cnnlCreate(&made);
    cnnlSetQueue(made, getCurMLUStream());
    return made;
  }();
  return handle;
}
}  // namespace torch_mlu
