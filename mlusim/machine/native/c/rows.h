/* Code shared by the bodies of several rows. */
#define MODE_tz TZ
#define MODE_oz OZ
#define MODE_up UP_
#define MODE_dn DN
#define MODE_rd RD
#define MODE_rn RN
#define MODE_rm RM
#define compared_(mode, a, b) ((mode) == 0 ? (a) == (b) : (mode) == 1 ? (a) != (b) : (mode) == 2 ? (a) < (b) : (mode) == 3 ? (a) <= (b) : (mode) == 4 ? (a) > (b) : (a) >= (b))
/* Return the sum of each lane over the lines, then of a tree over the lanes, every step in the type of the elements. */
#define LANE_SUM(S) PART T_##S lane_sum_##S(const T_##S *src, int64_t n) { \
  enum { LANES = 128 / sizeof(T_##S) }; T_##S lane[LANES]; \
  for (int i = 0; i < LANES; i++) lane[i] = PUT_##S(0); \
  int64_t whole = n / LANES * LANES; \
  for (int64_t k = 0; k < whole; k += LANES) for (int i = 0; i < LANES; i++) lane[i] = PUT_##S(GET_##S(lane[i]) + GET_##S(src[k + i])); \
  for (int64_t k = whole; k < n; k++) lane[k - whole] = PUT_##S(GET_##S(lane[k - whole]) + GET_##S(src[k])); \
  for (int w = LANES / 2; w; w /= 2) for (int i = 0; i < w; i++) lane[i] = PUT_##S(GET_##S(lane[i]) + GET_##S(lane[i + w])); \
  return lane[0]; }
LANE_SUM(f16) LANE_SUM(b16) LANE_SUM(f32)
/* NumPy's own loops, by their numbers: a function and its data for each; 0 for a missing loop. */
typedef void (*Loop)(char **, const intptr_t *, const intptr_t *, void *);
ALWAYS int no_loop_(const Core *m, int k) { return !((void **)m->loops)[2 * k]; }
PART void loop_(const Core *m, int k, int sources, void *dst, const void *a, const void *b, int64_t n, int64_t size, int64_t step_b) {
  char *args[3] = {(char *)a, sources == 1 ? (char *)dst : (char *)b, (char *)dst};
  intptr_t count = n, steps[3] = {size, sources == 1 ? size : step_b, size};
  ((Loop)((void **)m->loops)[2 * k])(args, &count, steps, ((void **)m->loops)[2 * k + 1]);
}
/* Transpose a matrix of 32-bit words, eight rows by eight columns at a time, and the words at its edges one by one. */
#if defined(__AVX2__) && defined(__has_builtin)
#if __has_builtin(__builtin_shufflevector)
#define EIGHT_
#endif
#endif
#ifdef EIGHT_
typedef uint32_t eight_ __attribute__((vector_size(32)));
typedef eight_ eight_u __attribute__((aligned(1), may_alias));
ALWAYS void turn_eight_(u32_u *dst, const u32_u *src, int64_t height, int64_t width) {
  eight_ a[8], b[8];
  IN_REGISTERS for (int i = 0; i < 8; i++) a[i] = *(const eight_u *)(src + i * width);
  IN_REGISTERS for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  IN_REGISTERS for (int i = 0; i < 8; i += 4) IN_REGISTERS for (int j = 0; j < 2; j++) {
    a[i + 2 * j] = __builtin_shufflevector(b[i + j], b[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 2 * j + 1] = __builtin_shufflevector(b[i + j], b[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  IN_REGISTERS for (int i = 0; i < 4; i++) {
    *(eight_u *)(dst + i * height) = __builtin_shufflevector(a[i], a[i + 4], 0, 1, 2, 3, 8, 9, 10, 11);
    *(eight_u *)(dst + (i + 4) * height) = __builtin_shufflevector(a[i], a[i + 4], 4, 5, 6, 7, 12, 13, 14, 15);
  }
}
#endif
PART void turned_(void *to, const void *from, int64_t height, int64_t width) {
  u32_u *dst = to;
  const u32_u *src = from;
  int64_t high = 0, wide = 0;
#ifdef EIGHT_
  high = height & ~7ll, wide = width & ~7ll;
  /* Down the rows, so that few lines are written at a time. */
  for (int64_t w = 0; w < wide; w += 8) for (int64_t h = 0; h < high; h += 8)
    turn_eight_(dst + w * height + h, src + h * width + w, height, width);
#endif
  for (int64_t w = 0; w < wide; w++) for (int64_t h = high; h < height; h++) dst[w * height + h] = src[h * width + w];
  for (int64_t h = 0; h < height; h++) for (int64_t w = wide; w < width; w++) dst[w * height + h] = src[h * width + w];
}
