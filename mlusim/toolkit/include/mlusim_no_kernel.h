// For a file with functions of the device and no kernel: clang embeds what belongs to kernels, so there is one.
#pragma once
#include "mlu.h"
static __attribute__((global, used)) void __mlusim_no_kernel__() {}
