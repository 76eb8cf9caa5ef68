// Tensors, and the binding to Python.
#pragma once
#include <torch/csrc/utils/pybind.h>
