// Tensors and their functions, read once.
#pragma once
#pragma push_macro("__CUDA__")  // clang's, for which PyTorch wants CUDA's own headers
#undef __CUDA__
#include <torch/types.h>
#pragma pop_macro("__CUDA__")
