// Types and macros of the device side for host code, which uses the real C and C++ library.
#pragma once
#include <math.h>  // included before the device's overloads, with which its using-declarations would conflict
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>

#include <sys/time.h>

typedef _Float16 half;
typedef __bf16 bfloat16_t;
typedef __bf16 bfloat16;
typedef signed char int8;

#define __mlusim_native__ 1
#define __mlusim_both__ __attribute__((device))
// Several files may have device variables of the same name, and the host uses none of them.
#define __mlusim_space__(name) __attribute__((annotate(name), unused, internal_linkage))
