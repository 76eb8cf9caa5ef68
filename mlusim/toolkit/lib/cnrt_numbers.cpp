// cnrt: conversions between types of numbers on the host.
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cstring>
#include <string>

#include "cnrt.h"
#include "wire.h"

using namespace mlusim;

namespace {

float of_half(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, rest = h & 1023, bits;
  if (exponent == 31) bits = sign | 0x7f800000 | rest << 13;
  else if (exponent) bits = sign | (exponent + 112) << 23 | rest << 13;
  else if (!rest) bits = sign;
  else {
    int shift = 0;
    while (!(rest & 1024)) rest <<= 1, ++shift;
    bits = sign | (uint32_t)(113 - shift) << 23 | (rest & 1023) << 13;
  }
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

uint16_t to_half(double value) {  // to nearest, ties to even, in one step
  uint64_t bits;
  memcpy(&bits, &value, 8);
  uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  int exponent = (int)(bits >> 52 & 2047) - 1023;
  uint64_t rest = bits & ((1ull << 52) - 1);
  if (exponent == 1024) return sign | 0x7c00 | (rest ? 0x200 : 0);
  if (exponent > 15) return sign | 0x7c00;
  if (exponent < -25) return sign;
  rest |= 1ull << 52;
  int drop = exponent < -14 ? 42 + (-14 - exponent) : 42;
  uint64_t kept = rest >> drop, lost = rest & ((1ull << drop) - 1), half = 1ull << (drop - 1);
  if (lost > half || (lost == half && (kept & 1))) ++kept;
  uint64_t whole = exponent < -14 ? kept : kept + ((uint64_t)(exponent + 14) << 10);
  return sign | (uint16_t)whole;
}

float of_bfloat(uint16_t b) {
  uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

uint16_t to_bfloat(float f) {
  uint32_t bits;
  memcpy(&bits, &f, 4);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

template <class F> bool store(void *to, cnrtDataType_V2_t type, long i, F v) {
  switch (type) {
    case cnrtFloat: ((float *)to)[i] = (float)v; return true;
    case cnrtDouble: ((double *)to)[i] = (double)v; return true;
    case cnrtInt: ((int *)to)[i] = (int)v; return true;
    case cnrtUint: ((unsigned *)to)[i] = (unsigned)v; return true;
    case cnrtShort: ((short *)to)[i] = (short)v; return true;
    case cnrtUshort: ((unsigned short *)to)[i] = (unsigned short)v; return true;
    case cnrtChar: ((signed char *)to)[i] = (signed char)v; return true;
    case cnrtUchar: ((unsigned char *)to)[i] = (unsigned char)v; return true;
    case cnrtLonglong: ((long long *)to)[i] = (long long)v; return true;
    case cnrtUlonglong: ((unsigned long long *)to)[i] = (unsigned long long)v; return true;
    case cnrtBoolean: ((bool *)to)[i] = v != 0; return true;
    case cnrtHalf: ((uint16_t *)to)[i] = to_half((double)v); return true;
    case cnrtBfloat: ((uint16_t *)to)[i] = to_bfloat((float)v); return true;
  }
  return false;
}

bool convert(const void *from, cnrtDataType_V2_t type, void *to, cnrtDataType_V2_t wanted, long i) {
  switch (type) {
    case cnrtFloat: return store(to, wanted, i, ((const float *)from)[i]);
    case cnrtDouble: return store(to, wanted, i, ((const double *)from)[i]);
    case cnrtInt: return store(to, wanted, i, ((const int *)from)[i]);
    case cnrtUint: return store(to, wanted, i, ((const unsigned *)from)[i]);
    case cnrtShort: return store(to, wanted, i, ((const short *)from)[i]);
    case cnrtUshort: return store(to, wanted, i, ((const unsigned short *)from)[i]);
    case cnrtChar: return store(to, wanted, i, ((const signed char *)from)[i]);
    case cnrtUchar: return store(to, wanted, i, ((const unsigned char *)from)[i]);
    case cnrtLonglong: return store(to, wanted, i, ((const long long *)from)[i]);
    case cnrtUlonglong: return store(to, wanted, i, ((const unsigned long long *)from)[i]);
    case cnrtBoolean: return store(to, wanted, i, (int)((const bool *)from)[i]);
    case cnrtHalf: return store(to, wanted, i, of_half(((const uint16_t *)from)[i]));
    case cnrtBfloat: return store(to, wanted, i, of_bfloat(((const uint16_t *)from)[i]));
  }
  return false;
}

#if defined(__x86_64__)
// Convert eight at once, since programs cast whole tensors: a golden case of the vendor's has 94 million numbers. Groups with a NaN are converted one
// by one.
__attribute__((target("avx,f16c"))) long eights_to_half(const float *from, uint16_t *to, long count) {
  long i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 values = _mm256_loadu_ps(from + i);
    if (_mm256_movemask_ps(_mm256_cmp_ps(values, values, _CMP_UNORD_Q)))
      for (int k = 0; k < 8; ++k) to[i + k] = to_half(from[i + k]);
    else
      _mm_storeu_si128((__m128i *)(to + i), _mm256_cvtps_ph(values, _MM_FROUND_TO_NEAREST_INT));
  }
  return i;
}
__attribute__((target("avx,f16c"))) long eights_of_half(const uint16_t *from, float *to, long count) {
  long i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 values = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(from + i)));
    if (_mm256_movemask_ps(_mm256_cmp_ps(values, values, _CMP_UNORD_Q)))
      for (int k = 0; k < 8; ++k) to[i + k] = of_half(from[i + k]);
    else
      _mm256_storeu_ps(to + i, values);
  }
  return i;
}
// Cast with the processor's own instructions; return how many of the first numbers were cast.
long cast_at_once(const void *from, cnrtDataType_V2_t type, void *to, cnrtDataType_V2_t wanted, long count) {
  static const bool can = __builtin_cpu_supports("f16c") && __builtin_cpu_supports("avx");
  if (can && type == cnrtFloat && wanted == cnrtHalf) return eights_to_half((const float *)from, (uint16_t *)to, count);
  if (can && type == cnrtHalf && wanted == cnrtFloat) return eights_of_half((const uint16_t *)from, (float *)to, count);
  return 0;
}
#else
long cast_at_once(const void *, cnrtDataType_V2_t, void *, cnrtDataType_V2_t, long) { return 0; }
#endif

cnrtRet_t cast(const void *from, cnrtDataType_V2_t type, void *to, cnrtDataType_V2_t wanted, long count, const char *call, void *caller) {
  if ((!from || !to) && count > 0) return refuse(cnrtErrorArgsInvalid, caller, std::string(call) + " is given a null pointer");
  for (long i = cast_at_once(from, type, to, wanted, count); i < count; ++i)
    if (!convert(from, type, to, wanted, i)) return refuse(cnrtErrorArgsInvalid, caller, std::string(call) + " is given no type that there is");
  return cnrtSuccess;
}

cnrtDataType_V2_t newer(cnrtDataType_t type) {
  switch (type) {
    case CNRT_FLOAT16: return cnrtHalf;
    case CNRT_FLOAT32: return cnrtFloat;
    case CNRT_FLOAT64: return cnrtDouble;
    case CNRT_INT8: return cnrtChar;
    case CNRT_INT16: return cnrtShort;
    case CNRT_INT32: return cnrtInt;
    case CNRT_INT64: return cnrtLonglong;
    case CNRT_UINT8: return cnrtUchar;
    case CNRT_UINT16: return cnrtUshort;
    case CNRT_UINT32: return cnrtUint;
    case CNRT_UINT64: return cnrtUlonglong;
    case CNRT_BOOL: return cnrtBoolean;
    default: return (cnrtDataType_V2_t)0;
  }
}

}  // namespace

struct cnrtQuantizedParam {
  int position;
  float scale;
  int offset;
};

extern "C" {
cnrtRet_t cnrtCastDataType_V2(void *from, cnrtDataType_V2_t type, void *to, cnrtDataType_V2_t wanted, int count, cnrtQuantizedParam_t param, cnrtQuantizedMode_t) {
  if (param) return refuse(cnrtErrorNotSupport, CALLER, "cnrtCastDataType_V2 with parameters of a quantisation is not simulated; give none");
  return cast(from, type, to, wanted, count, "cnrtCastDataType_V2", CALLER);
}
cnrtRet_t cnrtCastDataType(void *from, cnrtDataType_t type, void *to, cnrtDataType_t wanted, int count, cnrtQuantizedParam_t param) {
  if (param) return refuse(cnrtErrorNotSupport, CALLER, "cnrtCastDataType with parameters of a quantisation is not simulated; give none");
  return cast(from, newer(type), to, newer(wanted), count, "cnrtCastDataType", CALLER);
}
cnrtRet_t cnrtCreateQuantizedParam(cnrtQuantizedParam_t *param, int position, float scale, int offset) {
  *param = new cnrtQuantizedParam{position, scale, offset};
  return cnrtSuccess;
}
cnrtRet_t cnrtDestroyQuantizedParam(cnrtQuantizedParam_t param) {
  delete param;
  return cnrtSuccess;
}
cnrtRet_t cnrtConvertFloatToHalf(uint16_t *half, float value) {
  *half = to_half(value);
  return cnrtSuccess;
}
cnrtRet_t cnrtConvertHalfToFloat(float *value, uint16_t half) {
  *value = of_half(half);
  return cnrtSuccess;
}
}
