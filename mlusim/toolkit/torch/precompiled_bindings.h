// With tensors, what Python calls.
#pragma once
#include <torch/csrc/utils/pybind.h>
