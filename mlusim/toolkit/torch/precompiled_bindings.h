// With tensors, what Python calls.
#pragma once
#pragma push_macro("__CUDA__")
#undef __CUDA__
#include <torch/csrc/utils/pybind.h>
#pragma pop_macro("__CUDA__")
