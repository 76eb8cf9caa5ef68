/* half and bfloat16: rounding to nearest even, as NumPy and ml_dtypes do; rounding by mode; saturation. */
#if defined(__F16C__)
typedef float F8_ __attribute__((vector_size(32)));
typedef short H8_ __attribute__((vector_size(16)));
#if defined(__clang__)
typedef _Float16 Q8_ __attribute__((vector_size(16)));
#define WIDEN8_(h) __builtin_convertvector((Q8_)(h), F8_)
#define NARROW8_(f) ((H8_)__builtin_convertvector(f, Q8_))
#else
#define WIDEN8_(h) __builtin_ia32_vcvtph2ps256(h)
#define NARROW8_(f) ((H8_)__builtin_ia32_vcvtps2ph256(f, 0))
#endif
#endif
typedef uint16_t f16;
typedef uint16_t b16;
ALWAYS uint32_t bits_(float f) { uint32_t b; memcpy(&b, &f, 4); return b; }
ALWAYS float float_(uint32_t b) { float f; memcpy(&f, &b, 4); return f; }
ALWAYS float from_b16(b16 h) { return float_((uint32_t)h << 16); }
ALWAYS b16 to_b16(float f) {
  uint32_t b = bits_(f), rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16, nan = (b >> 31 << 15) | 0x7fc0;
  return (b16)((b & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}
#if defined(__F16C__)
ALWAYS float from_f16(f16 h) { H8_ v = {(short)h}; return WIDEN8_(v)[0]; }
ALWAYS f16 to_f16(float f) { F8_ v = {f}; return (f16)NARROW8_(v)[0]; }
#elif defined(__aarch64__)
ALWAYS float from_f16(f16 h) { __fp16 x; memcpy(&x, &h, 2); return (float)x; }
ALWAYS f16 to_f16(float f) { __fp16 x = (__fp16)f; f16 h; memcpy(&h, &x, 2); return h; }
#else
ALWAYS float from_f16(f16 h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, e = h >> 10 & 31, q = h & 1023;
  if (e == 31) return float_(sign | 0x7f800000 | q << 13 | (q ? 0x400000 : 0));
  if (e) return float_(sign | (e + 112) << 23 | q << 13);
  float tiny = (float)q * 0x1p-24f;
  return float_(sign | bits_(tiny));
}
ALWAYS f16 to_f16(float f) {
  uint32_t b = bits_(f), sign = b >> 16 & 0x8000, a = b & 0x7fffffff;
  if (a >= 0x47800000) return (f16)(sign | 0x7c00 | (a > 0x7f800000 ? 0x200 | (a >> 13 & 0x1ff) : 0));
  if (a < 0x38800000) {
    if (a <= 0x33000000) return (f16)sign;
    uint32_t q = (a & 0x7fffff) | 0x800000; int shift = 126 - (int)(a >> 23);
    uint32_t r = q >> shift, rest = q & ((1u << shift) - 1), tie = 1u << (shift - 1);
    return (f16)(sign | (r + (rest > tie || (rest == tie && (r & 1)))));
  }
  return (f16)(sign | ((a + 0xfff + (a >> 13 & 1) - 0x38000000) >> 13));
}
#endif
ALWAYS void widen_f16(float *restrict d, const f16 *s, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) { H8_ h; memcpy(&h, s + i, 16); F8_ f = WIDEN8_(h); memcpy(d + i, &f, 32); }
#endif
  for (; i < n; i++) d[i] = from_f16(s[i]);
}
ALWAYS void narrow_f16(f16 *d, const float *restrict s, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= n; i += 8) { F8_ f; memcpy(&f, s + i, 32); H8_ h = NARROW8_(f); memcpy(d + i, &h, 16); }
#endif
  for (; i < n; i++) d[i] = to_f16(s[i]);
}
ALWAYS void widen_b16(float *restrict d, const b16 *s, int64_t n) { for (int64_t i = 0; i < n; i++) d[i] = from_b16(s[i]); }
/* Converted as if there were no NaN; if the maximum of the bits shows one, converted again. */
ALWAYS void narrow_b16(b16 *d, const float *restrict s, int64_t n) {
  uint32_t most = 0;
  for (int64_t i = 0; i < n; i++) {
    uint32_t b = bits_(s[i]), a = b & 0x7fffffff;
    most = a > most ? a : most;
    d[i] = (b16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
  }
  if (__builtin_expect(most > 0x7f800000, 0)) for (int64_t i = 0; i < n; i++) d[i] = to_b16(s[i]);
}
#define TILE 512

/* ---- rounding by mode ---- */
enum { TZ, OZ, UP_, DN, RD, RN, RM };
ALWAYS double whole_(double x, int mode) {
  switch (mode) {
    case TZ: return trunc(x);
    case OZ: return copysign(ceil(fabs(x)), x);
    case UP_: return ceil(x);
    case DN: return floor(x);
    case RD: { double w = trunc(x); return fabs(x - w) >= 0.5 ? w + copysign(1, x) : w; }
    case RN: return rint(x);
    default: { double w = floor(x); return x - w >= 0.5 ? w + 1 : w; }
  }
}
/* Convert a whole number to an integer in [low, high]; NaN becomes 0. */
ALWAYS int64_t saturate_(double w, double low, double high) { return w != w ? 0 : (int64_t)(w < low ? low : w > high ? high : w); }
ALWAYS double scaled_(double x, int64_t power) { return power ? ldexp(x, (int)power) : x; }
/* Return the bits of a float with p bits of fraction and e of exponent. */
PART uint32_t narrow_(double x, int mode, int p, int e) {
  uint64_t b; memcpy(&b, &x, 8);
  uint32_t sign = (uint32_t)(b >> 63), infinity = ((1u << e) - 1) << p;
  uint64_t a = b & 0x7fffffffffffffffull;
  /* Of a NaN the first bits stay, except in bfloat16, as in NumPy and ml_dtypes. */
  if (a > 0x7ff0000000000000ull) return sign << (p + e) | infinity | 1u << (p - 1) | (p == 7 ? 0 : (uint32_t)(a >> (52 - p)) & ((1u << p) - 1));
  if (a == 0x7ff0000000000000ull) return sign << (p + e) | infinity;
  int bias = (1 << (e - 1)) - 1, ex = (int)(a >> 52) - 1023 + bias, shift = 52 - p, up;
  uint64_t q = (a & 0xfffffffffffffull) | (a >> 52 ? 1ull << 52 : 0), rest, tie;
  uint32_t r;
  if (ex <= 0) { shift += 1 - ex; ex = 0; }
  if (shift > 62) { rest = q; r = 0; tie = ~0ull >> 1; }
  else {
    r = (uint32_t)(q >> shift); rest = q & ((1ull << shift) - 1); tie = 1ull << (shift - 1);
    r = ex ? ((uint32_t)(ex - 1) << p) + r : r;
    if (ex >= (1 << e) - 1) {
      int far_ = mode == OZ || (mode == UP_ && !sign) || (mode == DN && sign) || mode == RD || mode == RN || mode == RM;
      return sign << (p + e) | (far_ ? infinity : infinity - 1);
    }
  }
  switch (mode) {
    case TZ: up = 0; break;
    case OZ: up = rest != 0; break;
    case UP_: up = rest && !sign; break;
    case DN: up = rest && sign; break;
    case RD: up = rest >= tie; break;
    case RM: up = rest > tie || (rest == tie && !sign); break;
    default: up = rest > tie || (rest == tie && (r & 1));
  }
  return sign << (p + e) | (r + (uint32_t)(up && rest));
}
ALWAYS f16 narrow_to_f16(double x, int mode) { return (f16)narrow_(x, mode, 10, 5); }
ALWAYS b16 narrow_to_b16(double x, int mode) { return (b16)narrow_(x, mode, 7, 8); }
ALWAYS float narrow_to_f32(double x, int mode) { return float_(narrow_(x, mode, 23, 8)); }
/* Return the sum of a and b, rounded to odd: exact enough for every later rounding to fewer bits. */
ALWAYS double odd_sum_(double a, double b) {
  double total = a + b, part = total - a, rest = (a - (total - part)) + (b - part);
  int64_t bits; memcpy(&bits, &total, 8);
  if (rest != 0 && isfinite(rest) && !(bits & 1)) total = nextafter(total, rest > 0 ? INFINITY : -INFINITY);
  return total;
}
#define UNALIGNED(T, name) typedef T name __attribute__((aligned(1), may_alias));
UNALIGNED(f16, f16_u) UNALIGNED(b16, b16_u) UNALIGNED(float, f32_u) UNALIGNED(double, f64_u) UNALIGNED(int8_t, i8_u)
UNALIGNED(int16_t, i16_u) UNALIGNED(int32_t, i32_u) UNALIGNED(int64_t, i64_u) UNALIGNED(uint8_t, u8_u)
UNALIGNED(uint16_t, u16_u) UNALIGNED(uint32_t, u32_u) UNALIGNED(uint64_t, u64_u)
/* By the suffix of an element type: its type in memory, its computing type, and the conversions in both directions. */
#define T_f16 f16_u
#define T_b16 b16_u
#define T_f32 f32_u
#define T_i8 i8_u
#define T_i16 i16_u
#define T_i32 i32_u
#define T_i64 i64_u
#define T_u8 u8_u
#define T_u16 u16_u
#define T_u32 u32_u
#define T_u64 u64_u
#define U_f16 float
#define U_b16 float
#define U_f32 float
#define U_i8 int8_t
#define U_i16 int16_t
#define U_i32 int32_t
#define U_i64 int64_t
#define U_u8 uint8_t
#define U_u16 uint16_t
#define U_u32 uint32_t
#define U_u64 uint64_t
#define GET_f16(x) from_f16(x)
#define GET_b16(x) from_b16(x)
#define GET_f32(x) (x)
#define GET_i8(x) (x)
#define GET_i16(x) (x)
#define GET_i32(x) (x)
#define GET_i64(x) (x)
#define GET_u8(x) (x)
#define GET_u16(x) (x)
#define GET_u32(x) (x)
#define GET_u64(x) (x)
#define PUT_f16(x) to_f16(x)
#define PUT_b16(x) to_b16(x)
#define PUT_f32(x) ((float)(x))
#define PUT_i8(x) ((int8_t)(x))
#define PUT_i16(x) ((int16_t)(x))
#define PUT_i32(x) ((int32_t)(x))
#define PUT_i64(x) ((int64_t)(x))
#define PUT_u8(x) ((uint8_t)(x))
#define PUT_u16(x) ((uint16_t)(x))
#define PUT_u32(x) ((uint32_t)(x))
#define PUT_u64(x) ((uint64_t)(x))
#define LOW_i8 -128.0
#define HIGH_i8 127.0
#define LOW_i16 -32768.0
#define HIGH_i16 32767.0
#define LOW_i32 -2147483648.0
#define HIGH_i32 2147483647.0
#define LOW_u32 0.0
#define HIGH_u32 4294967295.0
#define LOW_u8 0.0
#define HIGH_u8 255.0
#define IS_NAN(x) ((x) != (x))
/* -0 is smaller than +0: the bits of equal numbers are joined, as in isa/elementwise.py. NaN loses (FMAX) or wins (MAX). */
ALWAYS float upper_(float chosen, float a, float b) { return float_(bits_(chosen) & (bits_(a) | ~-(uint32_t)(a == b))); }
ALWAYS float lower_(float chosen, float a, float b) { return float_(bits_(chosen) | (bits_(a) & -(uint32_t)(a == b))); }
ALWAYS float FMAX_f32(float a, float b) { return upper_(a > b || IS_NAN(b) ? a : b, a, b); }
ALWAYS float FMIN_f32(float a, float b) { return lower_(a < b || IS_NAN(b) ? a : b, a, b); }
ALWAYS float MAX_f32(float a, float b) { return upper_(a > b || IS_NAN(a) ? a : b, a, b); }
ALWAYS float MIN_f32(float a, float b) { return lower_(a < b || IS_NAN(a) ? a : b, a, b); }
#define FMAX_f16 FMAX_f32
#define FMAX_b16 FMAX_f32
#define FMIN_f16 FMIN_f32
#define FMIN_b16 FMIN_f32
#define MAX_f16 MAX_f32
#define MAX_b16 MAX_f32
#define MIN_f16 MIN_f32
#define MIN_b16 MIN_f32
#define FMAX_i8(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_i8(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_i8(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_i8(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_i16(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_i16(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_i16(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_i16(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_i32(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_i32(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_i32(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_i32(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_i64(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_i64(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_i64(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_i64(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_u8(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_u8(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_u8(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_u8(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_u16(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_u16(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_u16(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_u16(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_u32(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_u32(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_u32(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_u32(a, b) ((a) <= (b) ? (a) : (b))
#define FMAX_u64(a, b) ((a) >= (b) ? (a) : (b))
#define FMIN_u64(a, b) ((a) <= (b) ? (a) : (b))
#define MAX_u64(a, b) ((a) >= (b) ? (a) : (b))
#define MIN_u64(a, b) ((a) <= (b) ? (a) : (b))
ALWAYS float round_away_(float x) { float w = truncf(x); return w + copysignf(fabsf(x - w) >= 0.5f, x); }
