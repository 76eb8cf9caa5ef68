// Everything that extensions of PyTorch may use.
#pragma once
#pragma push_macro("__CUDA__")
#undef __CUDA__
#include <torch/extension.h>
#pragma pop_macro("__CUDA__")
