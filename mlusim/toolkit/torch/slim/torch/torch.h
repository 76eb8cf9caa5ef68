// The same.
#pragma once
#include <torch/types.h>
