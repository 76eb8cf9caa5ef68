// For a file that uses tensors but not the binding, modules or optimisers of PyTorch, which take seconds to parse.
#pragma once
#include <torch/types.h>
