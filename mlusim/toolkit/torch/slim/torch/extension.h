// For a file that uses tensors and none of the binding, modules or optimisers of PyTorch: the rest takes seconds to read.
#pragma once
#include <torch/types.h>
