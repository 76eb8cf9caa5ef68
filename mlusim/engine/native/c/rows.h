/* What several rows' bodies share. */
#define MODE_tz TZ
#define MODE_oz OZ
#define MODE_up UP_
#define MODE_dn DN
#define MODE_rd RD
#define MODE_rn RN
#define MODE_rm RM
#define compared_(mode, a, b) ((mode) == 0 ? (a) == (b) : (mode) == 1 ? (a) != (b) : (mode) == 2 ? (a) < (b) : (mode) == 3 ? (a) <= (b) : (mode) == 4 ? (a) > (b) : (a) >= (b))
/* The sum of each lane of the lines, then a tree over the lanes, every step in the type of the elements. */
#define LANE_SUM(S) PART T_##S lane_sum_##S(const T_##S *src, int64_t n) { \
  enum { LANES = 128 / sizeof(T_##S) }; T_##S lane[LANES]; \
  for (int i = 0; i < LANES; i++) lane[i] = PUT_##S(0); \
  int64_t whole = n / LANES * LANES; \
  for (int64_t k = 0; k < whole; k += LANES) for (int i = 0; i < LANES; i++) lane[i] = PUT_##S(GET_##S(lane[i]) + GET_##S(src[k + i])); \
  for (int64_t k = whole; k < n; k++) lane[k - whole] = PUT_##S(GET_##S(lane[k - whole]) + GET_##S(src[k])); \
  for (int w = LANES / 2; w; w /= 2) for (int i = 0; i < w; i++) lane[i] = PUT_##S(GET_##S(lane[i]) + GET_##S(lane[i + w])); \
  return lane[0]; }
LANE_SUM(f16) LANE_SUM(b16) LANE_SUM(f32)
/* NumPy's own loops, by their numbers: a function and its data for each; 0 where there is none. */
typedef void (*Loop)(char **, const intptr_t *, const intptr_t *, void *);
ALWAYS int no_loop_(const Core *m, int k) { return !((void **)m->loops)[2 * k]; }
PART void loop_(const Core *m, int k, int sources, void *dst, const void *a, const void *b, int64_t n, int64_t size, int64_t step_b) {
  char *args[3] = {(char *)a, sources == 1 ? (char *)dst : (char *)b, (char *)dst};
  intptr_t count = n, steps[3] = {size, sources == 1 ? size : step_b, size};
  ((Loop)((void **)m->loops)[2 * k])(args, &count, steps, ((void **)m->loops)[2 * k + 1]);
}
