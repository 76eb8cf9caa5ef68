// Included by older extensions.
#pragma once
#include "aten/utils/tensor_util.h"
#include "framework/core/MLUStream.h"
#include "framework/core/caching_allocator.h"
#include "framework/core/device.h"
