// Kernels and images as the compiler's constructors register them, before anything is asked of the simulator.
#pragma once
#include <functional>
#include <initializer_list>

#include "protocol.h"

namespace mlusim {

using Teller = std::function<uint64_t(Op, std::initializer_list<uint64_t>, const void *, size_t)>;
void tell_kernels(const Teller &tell);  // what has been registered since the last time
void forget_told();                     // another simulator will be told everything

}  // namespace mlusim
