// Queues under capture: work given to them is stored, and runs when the captured graph is given to a queue.
#pragma once
#include <cstdint>
#include <functional>

#include "cnrt.h"

#pragma GCC visibility push(default)  // PyTorch's device runs the operators of the CPU between launches
namespace mlusim {

using Captured = std::function<cnrtRet_t(uint64_t queue)>;
bool capturing(uint64_t queue);
// Return whether the queue is being captured: then *work* is stored, and later called with the queue that runs it.
bool captured(uint64_t queue, Captured work);

}  // namespace mlusim
#pragma GCC visibility pop
