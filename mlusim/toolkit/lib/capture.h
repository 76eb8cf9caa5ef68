// Queues that are captured: what is given to them is kept, and done when what was captured is given to a queue.
#pragma once
#include <cstdint>
#include <functional>

#include "cnrt.h"

#pragma GCC visibility push(default)  // PyTorch's device puts the operators of the CPU between launches
namespace mlusim {

using Captured = std::function<cnrtRet_t(uint64_t queue)>;
bool capturing(uint64_t queue);
// Whether the queue is being captured: then *work* is kept, which is called with the queue that does it.
bool captured(uint64_t queue, Captured work);

}  // namespace mlusim
#pragma GCC visibility pop
