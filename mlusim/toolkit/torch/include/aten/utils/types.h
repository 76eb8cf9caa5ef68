// Types that operators of torch_mlu use.
#pragma once
#include "aten/utils/tensor_util.h"
