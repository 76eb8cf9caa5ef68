/* The tensor unit, as in isa/tensor.py. Sums are NumPy's products of matrices, called in the same way, so that every bit equals the other engine's;
   around them operands are widened, filters reordered, and results rounded. */
enum { E_f16, E_b16, E_f32, E_tf32, E_i8, E_i16, E_i32 }; /* kinds of elements; tf32 is a float that loses bits when it is loaded */
ALWAYS float tf32_(float f) {
  uint32_t b = bits_(f);
  return (b & 0x7f800000) == 0x7f800000 ? f : float_((b + 0xfff + (b >> 13 & 1)) & 0xffffe000u);
}
/* Convert *n* elements to the type of multiplication: floats, or with *wide* doubles (of integers, and of addends to their sums). */
PART void factors_(void *to, int wide, const void *from, int kind, int64_t n) {
  float *f = to;
  double *d = to;
#define EACH_(T, GET) do { const T *s = from; if (wide) { INDEPENDENT for (int64_t i = 0; i < n; i++) d[i] = (double)GET(s[i]); } \
  else { INDEPENDENT for (int64_t i = 0; i < n; i++) f[i] = (float)GET(s[i]); } } while (0)
  if (kind == E_f16) { if (wide) EACH_(f16_u, from_f16); else widen_f16(f, from, n); }
  else if (kind == E_b16) EACH_(b16_u, from_b16);
  else if (kind == E_tf32) EACH_(f32_u, tf32_);
  else if (kind == E_i8) EACH_(i8_u, );
  else if (kind == E_i16) EACH_(i16_u, );
  else if (kind == E_i32) EACH_(i32_u, );
  else if (wide) EACH_(f32_u, );
  else memcpy(f, from, (size_t)n * 4);
#undef EACH_
}
/* Return the largest magnitude of *n* integers. */
PART int64_t largest_(const void *from, int kind, int64_t n) {
  int low = 0, high = 0;
  if (kind == E_i8) { const i8_u *s = from; INDEPENDENT for (int64_t i = 0; i < n; i++) { low = s[i] < low ? s[i] : low; high = s[i] > high ? s[i] : high; } }
  else { const i16_u *s = from; INDEPENDENT for (int64_t i = 0; i < n; i++) { low = s[i] < low ? s[i] : low; high = s[i] > high ? s[i] : high; } }
  return high > -low ? high : -low;
}
/* A product in progress: its operands, their type, and the memory for it. */
typedef struct Tensor_ {
  const void *weight;
  int64_t size, count, terms; /* bytes of an element; number of filters, and elements of each */
  int kind, near, wide;       /* near: number of adjacent lanes in WRAM */
  const void *filters;        /* in order, as they are multiplied */
  char *room, *free;          /* memory of this call, and its unused part */
} Tensor_;
ALWAYS int width_(const Tensor_ *t) { return t->wide ? 8 : 4; }
ALWAYS int plain_(const void *p, int kind, int wide) { return kind == E_f32 && !wide && (uintptr_t)p % 4 == 0; }
ALWAYS void *part_(Tensor_ *t, int64_t bytes) { void *p = t->free; t->free += (bytes + 63) & ~63ll; return p; }
/* Allocate memory for *elements* in addition to the filters, *parts* pieces, and reorder the filters; return 0 without memory. */
PART int tensor_begins_(const Core *m, Tensor_ *t, int64_t elements, int parts) {
  if (no_loop_(m, t->wide ? LOOP_matmul_d : LOOP_matmul_f)) return 0;
  const int64_t all = t->count * t->terms, blocks = t->count / 64;
  const int as_it_is = blocks == 1 && plain_(t->weight, t->kind, t->wide);
  t->room = malloc((size_t)((elements + (as_it_is ? 0 : all)) * width_(t) + 64 * (parts + 2)));
  if (!t->room) return 0;
  t->free = t->room + (-(uintptr_t)t->room & 63);
  if (as_it_is) { t->filters = t->weight; return 1; }
  char *rows = part_(t, all * width_(t));
  const int64_t piece = t->near * t->terms; /* elements that stay together */
  for (int64_t lane = 0; lane < 64 / t->near; lane++) for (int64_t b = 0; b < blocks; b++)
    factors_(rows + (b * 64 + lane * t->near) * t->terms * width_(t), t->wide, (const char *)t->weight + (lane * blocks + b) * piece * t->size, t->kind, piece);
  t->filters = rows;
  return 1;
}
/* Return the *n* elements at *from* in the type of multiplication, in place or in the memory of the call. */
PART const void *multiplied_(Tensor_ *t, const void *from, int kind, int64_t n) {
  if (plain_(from, kind, t->wide)) return from;
  void *to = part_(t, n * width_(t));
  factors_(to, t->wide, from, kind, n);
  return to;
}
/* Multiply *rows* of *terms* by the filters; *single*: filters by one row, as NumPy multiplies a matrix by a vector. */
PART void multiply_(const Core *m, const Tensor_ *t, void *sums, const void *rows, int64_t many, int single) {
  const int k = t->wide ? LOOP_matmul_d : LOOP_matmul_f;
  const intptr_t size = width_(t), line = t->terms * size;
  char *args[3] = {(char *)(single ? t->filters : rows), (char *)(single ? rows : t->filters), sums};
  const intptr_t n = t->count, sizes[4] = {1, single ? n : many, t->terms, single ? 1 : n};
  const intptr_t steps[9] = {0, 0, 0, line, size, size, single ? 0 : line, single ? size : n * size, single ? 0 : size};
  ((Loop)((void **)m->loops)[2 * k])(args, sizes, steps, ((void **)m->loops)[2 * k + 1]);
}
/* Convert *lines* of sums, one per filter, scaled by a power of two and with a *bias* for each filter, to results of *kind*; 1 << 31 and more
   saturates. */
PART void results_(const Tensor_ *t, void *dst, int kind, void *sums, int64_t lines, int64_t power, const void *bias) {
  const int64_t each = t->count, n = lines * each;
  if (t->wide) {
    double *s = sums;
    const double *b = bias, scale = ldexp(1, (int)power);
    if (power) { INDEPENDENT for (int64_t i = 0; i < n; i++) s[i] *= scale; }
    if (b) for (int64_t i = 0; i < n; i += each) { INDEPENDENT for (int64_t j = 0; j < each; j++) s[i + j] += b[j]; }
    if (kind == E_i32) { i32_u *d = dst; for (int64_t i = 0; i < n; i++) d[i] = (int32_t)saturate_(rint(s[i]), -2147483648.0, 2147483647.0); }
    else if (kind == E_f32) { f32_u *d = dst; INDEPENDENT for (int64_t i = 0; i < n; i++) d[i] = (float)s[i]; }
    else if (kind == E_f16) { f16_u *d = dst; for (int64_t i = 0; i < n; i++) d[i] = narrow_to_f16(s[i], RN); }
    else { b16_u *d = dst; for (int64_t i = 0; i < n; i++) d[i] = to_b16((float)s[i]); }
    return;
  }
  float *s = sums;
  const float *b = bias, scale = (float)ldexp(1, (int)power);
  if (power) { INDEPENDENT for (int64_t i = 0; i < n; i++) s[i] *= scale; }
  if (b) for (int64_t i = 0; i < n; i += each) { INDEPENDENT for (int64_t j = 0; j < each; j++) s[i + j] += b[j]; }
  if (kind == E_i32) { i32_u *d = dst; INDEPENDENT for (int64_t i = 0; i < n; i++) d[i] = (int32_t)s[i]; } /* sums that floats represent exactly */
  else if (kind == E_f16) narrow_f16(dst, s, n);
  else if (kind == E_b16) narrow_b16(dst, s, n);
  else if (s != dst) memcpy(dst, s, (size_t)n * 4);
}
/* Return whether sums of integers exceed the integers that floats represent exactly; *whole*: they are neither scaled nor added to anything. */
PART int wide_(const Tensor_ *t, const void *from, int64_t n, int whole) {
  if (t->kind != E_i8 && t->kind != E_i16) return 0;
  return !whole || (double)largest_(from, t->kind, n) * (double)largest_(t->weight, t->kind, t->count * t->terms) * (double)t->terms > EXACT;
}
PART int matmul_(const Core *m, Tensor_ t, void *dst, int kind, const void *left, int64_t rows, int64_t power) {
  t.wide = wide_(&t, left, rows * t.terms, !power);
  if (!tensor_begins_(m, &t, rows * (t.terms + t.count), 2)) return 0;
  const void *factors = multiplied_(&t, left, t.kind, rows * t.terms);
  void *sums = plain_(dst, kind, t.wide) ? dst : part_(&t, rows * t.count * width_(&t));
  multiply_(m, &t, sums, factors, rows, 0);
  results_(&t, dst, kind, sums, rows, power, 0);
  free(t.room);
  return 1;
}
PART int mlp_(const Core *m, Tensor_ t, void *dst, int kind, const void *src, const void *bias, int bias_kind, int64_t power) {
  t.wide = wide_(&t, 0, 0, 0);
  if (!tensor_begins_(m, &t, t.terms + 2 * t.count, 3)) return 0;
  const void *row = multiplied_(&t, src, t.kind, t.terms);
  void *sums = part_(&t, t.count * width_(&t)), *added = part_(&t, t.count * width_(&t));
  if (bias) factors_(added, t.wide, bias, bias_kind, t.count);
  multiply_(m, &t, sums, row, 0, 1);
  results_(&t, dst, kind, sums, 1, power, bias ? added : 0);
  free(t.room);
  return 1;
}
typedef struct Windows_ { int64_t height, width, channels, high, wide, kernel_height, kernel_width, stride_h, stride_w, dilation_h, dilation_w; } Windows_;
PART int conv_(const Core *m, Tensor_ t, Windows_ w, void *dst, int kind, const void *src, const void *bias, int bias_kind, int64_t power) {
  const int64_t pixels = w.height * w.width * w.channels, results = w.high * w.wide;
  const int64_t lines = larger_(1, TOGETHER / (w.wide * t.terms)); /* number of results that are one product */
  t.wide = wide_(&t, src, pixels, !power && !bias);
  if (!tensor_begins_(m, &t, pixels + smaller_(lines, w.high) * w.wide * t.terms + (results + 1) * t.count, 4)) return 0;
  const char *picture = multiplied_(&t, src, t.kind, pixels);
  char *beside = part_(&t, smaller_(lines, w.high) * w.wide * t.terms * width_(&t));
  char *sums = plain_(dst, kind, t.wide) ? dst : part_(&t, results * t.count * width_(&t));
  const size_t run = (size_t)((w.dilation_w == 1 ? w.kernel_width : 1) * w.channels * width_(&t)); /* contiguous bytes */
  const int64_t pixel = w.channels * width_(&t), runs = w.dilation_w == 1 ? 1 : w.kernel_width;
  for (int64_t first = 0; first < w.high; first += lines) {
    const int64_t end = smaller_(w.high, first + lines);
    char *to = beside;
    for (int64_t y = first; y < end; y++) for (int64_t x = 0; x < w.wide; x++)
      for (int64_t h = 0; h < w.kernel_height; h++) {
        const char *from = picture + ((y * w.stride_h + h * w.dilation_h) * w.width + x * w.stride_w) * pixel;
        for (int64_t r = 0; r < runs; r++, to += run, from += w.dilation_w * pixel) memcpy(to, from, run);
      }
    multiply_(m, &t, sums + first * w.wide * t.count * width_(&t), beside, (end - first) * w.wide, 0);
  }
  void *added = 0;
  if (bias) { added = part_(&t, t.count * width_(&t)); factors_(added, t.wide, bias, bias_kind, t.count); }
  results_(&t, dst, kind, sums, results, power, added);
  free(t.room);
  return 1;
}
