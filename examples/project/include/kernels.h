// The library's functions: each launches a kernel on a queue and returns at once.
#pragma once
#include "cnrt.h"

// out[i] = in[i] * factor for n elements; in and out are memory of the device.
cnrtRet_t scale(float *out, const float *in, float factor, int n, cnrtQueue_t queue);

// out[r] = the sum of row r; in has rows x columns elements, and a row fits into NRAM.
cnrtRet_t rowSum(float *out, const float *in, int rows, int columns, cnrtQueue_t queue);
