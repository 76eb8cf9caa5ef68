// Tensors and their functions, parsed once.
#pragma once
#include <torch/types.h>
