// Everything that extensions of PyTorch may use.
#pragma once
#include <torch/extension.h>
