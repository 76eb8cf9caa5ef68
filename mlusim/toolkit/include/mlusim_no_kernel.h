// For a file with device functions but no kernel: clang embeds the data of kernels only, so this adds one.
#pragma once
#include "mlu.h"
static __attribute__((global, used)) void __mlusim_no_kernel__() {}
