// The mathematical functions of C on single numbers, for kernels and host code.
#pragma once
#include "mlusim_base.h"

#define __mlusim_real1__(name)                  \
  __mlusim_both__ float name##f(float);         \
  __mlusim_both__ half name(half);              \
  __mlusim_both__ float name(float);            \
  __mlusim_both__ double name(double);          \
  __mlusim_both__ double name(int);             \
  __mlusim_both__ double name(unsigned);        \
  __mlusim_both__ double name(long);            \
  __mlusim_both__ double name(unsigned long);
#define __mlusim_real2__(name)                          \
  __mlusim_both__ float name##f(float, float);          \
  __mlusim_both__ half name(half, half);                \
  __mlusim_both__ float name(half, float);              \
  __mlusim_both__ float name(float, half);              \
  __mlusim_both__ double name(half, double);            \
  __mlusim_both__ double name(double, half);            \
  __mlusim_both__ double name(half, int);               \
  __mlusim_both__ double name(int, half);               \
  __mlusim_both__ float name(float, float);             \
  __mlusim_both__ double name(double, double);          \
  template <class A, class B, class = typename std::enable_if<std::is_arithmetic<A>::value && std::is_arithmetic<B>::value>::type> \
  __mlusim_both__ double name(A, B);

__mlusim_real1__(sqrt)
__mlusim_real1__(cbrt)
__mlusim_real1__(floor)
__mlusim_real1__(ceil)
__mlusim_real1__(round)
__mlusim_real1__(rint)
__mlusim_real1__(trunc)
__mlusim_real1__(exp)
__mlusim_real1__(exp2)
__mlusim_real1__(expm1)
__mlusim_real1__(log)
__mlusim_real1__(log2)
__mlusim_real1__(log10)
__mlusim_real1__(log1p)
__mlusim_real1__(sin)
__mlusim_real1__(cos)
__mlusim_real1__(tan)
__mlusim_real1__(asin)
__mlusim_real1__(acos)
__mlusim_real1__(atan)
__mlusim_real1__(sinh)
__mlusim_real1__(cosh)
__mlusim_real1__(tanh)
__mlusim_real1__(erf)
__mlusim_real1__(lgamma)
__mlusim_real1__(tgamma)
__mlusim_real1__(fabs)
__mlusim_real1__(asinh)
__mlusim_real1__(acosh)
__mlusim_real1__(atanh)
__mlusim_real1__(erfc)
__mlusim_real1__(nearbyint)
__mlusim_real2__(hypot)
__mlusim_real2__(copysign)
__mlusim_real2__(pow)
__mlusim_real2__(fmod)
__mlusim_real2__(fmax)
__mlusim_real2__(fmin)
__mlusim_real2__(atan2)

__mlusim_both__ int abs(int);
__mlusim_both__ long abs(long);
__mlusim_both__ half abs(half);
__mlusim_both__ float ldexpf(float, int);
__mlusim_both__ double ldexp(double, int);
__mlusim_both__ float fmaf(float, float, float);
__mlusim_both__ long labs(long);
__mlusim_both__ long lround(double);
__mlusim_both__ long lrint(double);
__mlusim_both__ bool isnan(half);
__mlusim_both__ bool isinf(half);

template <class A, class B> __mlusim_both__ auto min(A a, B b) -> decltype(a < b ? a : b);
template <class A, class B> __mlusim_both__ auto max(A a, B b) -> decltype(a < b ? a : b);

#ifndef __mlusim_native__
__mlusim_both__ float abs(float);
__mlusim_both__ double abs(double);
__mlusim_both__ bool signbit(float);
__mlusim_both__ bool signbit(double);
__mlusim_both__ bool isnan(float);
__mlusim_both__ bool isnan(double);
__mlusim_both__ bool isinf(float);
__mlusim_both__ bool isinf(double);
__mlusim_both__ bool isfinite(float);
__mlusim_both__ bool isfinite(double);

namespace std {
using ::abs;
using ::acos;
using ::acosh;
using ::asinh;
using ::atanh;
using ::copysign;
using ::erfc;
using ::hypot;
using ::ldexp;
using ::lrint;
using ::lround;
using ::nearbyint;
using ::signbit;
using ::asin;
using ::atan;
using ::atan2;
using ::cbrt;
using ::ceil;
using ::ceilf;
using ::cos;
using ::cosf;
using ::cosh;
using ::erf;
using ::exp;
using ::exp2;
using ::expf;
using ::expm1;
using ::fabs;
using ::fabsf;
using ::floor;
using ::floorf;
using ::fmax;
using ::fmin;
using ::fmod;
using ::isfinite;
using ::isinf;
using ::isnan;
using ::lgamma;
using ::log;
using ::log10;
using ::log1p;
using ::log2;
using ::logf;
using ::pow;
using ::powf;
using ::rint;
using ::round;
using ::roundf;
using ::sin;
using ::sinf;
using ::sinh;
using ::sqrt;
using ::sqrtf;
using ::tan;
using ::tanh;
using ::tgamma;
using ::trunc;
template <class T> __mlusim_both__ constexpr const T &min(const T &a, const T &b);
template <class T> __mlusim_both__ constexpr const T &max(const T &a, const T &b);
template <class T> __mlusim_both__ constexpr void swap(T &a, T &b) {
  T t = a;
  a = b;
  b = t;
}
}  // namespace std
#else  // the real library has the functions above as constexpr, so both sides may call them; it lacks those below
namespace std {
#define __mlusim_std1__(name) __mlusim_both__ float name##f(float);
#define __mlusim_stdh__(name) __mlusim_both__ half name(half);
__mlusim_std1__(ceil)
__mlusim_std1__(cos)
__mlusim_std1__(exp)
__mlusim_std1__(fabs)
__mlusim_std1__(floor)
__mlusim_std1__(log)
__mlusim_std1__(round)
__mlusim_std1__(sin)
__mlusim_std1__(sqrt)
__mlusim_std1__(tanh)
__mlusim_std1__(trunc)
__mlusim_both__ float powf(float, float);
__mlusim_stdh__(abs)
__mlusim_stdh__(ceil)
__mlusim_stdh__(cos)
__mlusim_stdh__(exp)
__mlusim_stdh__(fabs)
__mlusim_stdh__(floor)
__mlusim_stdh__(log)
__mlusim_stdh__(round)
__mlusim_stdh__(tanh)
__mlusim_stdh__(trunc)
__mlusim_stdh__(sin)
__mlusim_stdh__(sqrt)
__mlusim_both__ bool isnan(half);
__mlusim_both__ bool isinf(half);
// Both sides may call constexpr functions only; these are constexpr only in later versions of the language.
#if __cplusplus < 201402L
template <class T> __attribute__((device)) const T &min(const T &, const T &);
template <class T> __attribute__((device)) const T &max(const T &, const T &);
#endif
#if __cplusplus < 202002L
template <class T> __attribute__((device)) void swap(T &, T &);
#endif
#undef __mlusim_std1__
#undef __mlusim_stdh__
}  // namespace std
extern "C" __mlusim_both__ int gettimeofday(struct timeval *, void *);
#endif

extern "C" {
__mlusim_both__ int printf(const char *, ...);
__mlusim_both__ void *memcpy(void *, const void *, size_t);
__mlusim_both__ void *memset(void *, int, size_t);
#ifndef __mlusim_native__
// The compiler's own functions, which device code may call, as loops over the bytes.
static inline __mlu_func__ void *__mlusim_copy_bytes(void *to, const void *from, size_t n) {
  for (size_t i = 0; i < n; ++i) ((char *)to)[i] = ((const char *)from)[i];
  return to;
}
static inline __mlu_func__ void *__mlusim_move_bytes(void *to, const void *from, size_t n) {
  if ((char *)to <= (const char *)from) return __mlusim_copy_bytes(to, from, n);
  for (size_t i = n; i > 0; --i) ((char *)to)[i - 1] = ((const char *)from)[i - 1];
  return to;
}
static inline __mlu_func__ void *__mlusim_set_bytes(void *to, int value, size_t n) {
  for (size_t i = 0; i < n; ++i) ((char *)to)[i] = (char)value;
  return to;
}
#define __builtin_memcpy(to_, from_, n_) __mlusim_copy_bytes(to_, from_, n_)
#define __builtin_memmove(to_, from_, n_) __mlusim_move_bytes(to_, from_, n_)
#define __builtin_memset(to_, value_, n_) __mlusim_set_bytes(to_, value_, n_)
#endif
}
