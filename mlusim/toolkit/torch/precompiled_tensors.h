// Tensors and their functions, read once.
#pragma once
#include <torch/types.h>
