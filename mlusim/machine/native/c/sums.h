/* Sums of atomics without a result, in a launch in which several tasks run at once. The order of additions to a float determines its last bits. So
   the thread with the first tasks adds at once; the others record their additions, page by page, and these are made in the order of tasks when all
   have ended. Most kernels that scatter add many zeros, so words of 0 are left out of the records; they are added all the same. A bit for each line of
   64 bytes says whether there was a sum. */
enum { AT_ONCE, LATER, IN_THE_RECORD };
enum { LINE_BYTES = KEPT_PAGE / 64, WORD = 4, EIGHT = 8 * WORD };
typedef struct SumLog_ { uint8_t *begin, *top, *end; } SumLog_;
typedef struct Sums_ { int64_t manner, logs; uint64_t *const *lines; SumLog_ log[]; } Sums_;
typedef struct Added_ { int64_t at; int32_t key; uint16_t nbytes, dtype; } Added_;
typedef struct Target_ { void *raw; int64_t nbytes; Kept_ *kept; } Target_;
enum { MOST_ADDED = sizeof(Added_) + KEPT_PAGE / EIGHT + KEPT_PAGE + 2 * EIGHT };
#if defined(__AVX2__) && !defined(PLAIN)
typedef int Eight_ __attribute__((vector_size(32)));
typedef float Floats_ __attribute__((vector_size(32)));
static Eight_ PACK_[256], SPREAD_[256]; /* for each mask: the positions of the words that are not 0, and the position of each of the eight words among them */
__attribute__((constructor)) static void fill_packs_(void) {
  for (int mask = 0; mask < 256; mask++) for (int i = 0, k = 0; i < 8; i++) {
    ((int *)&SPREAD_[mask])[i] = k;
    if (mask >> i & 1) ((int *)&PACK_[mask])[k++] = i;
  }
}
/* Pack those of eight words that are not 0, and return their mask. */
ALWAYS unsigned pack_(uint8_t *to, const uint8_t *from) {
  Eight_ v; memcpy(&v, from, EIGHT);
  const unsigned mask = ~(unsigned)__builtin_ia32_movmskps256((Floats_)(v == (Eight_){0})) & 255;
  v = __builtin_ia32_permvarsi256(v, PACK_[mask]);
  memcpy(to, &v, EIGHT);
  return mask;
}
ALWAYS void spread_(uint8_t *to, const uint8_t *from, unsigned mask) {
  Eight_ v, bits = {1, 2, 4, 8, 16, 32, 64, 128}; memcpy(&v, from, EIGHT);
  v = __builtin_ia32_permvarsi256(v, SPREAD_[mask]) & ((bits & (int)mask) != 0);
  memcpy(to, &v, EIGHT);
}
#else
ALWAYS unsigned pack_(uint8_t *to, const uint8_t *from) {
  unsigned mask = 0;
  for (int i = 0; i < 8; i++) {
    uint32_t word; memcpy(&word, from + WORD * i, WORD); memcpy(to, &word, WORD);
    mask |= (unsigned)(word != 0) << i; to += WORD * (word != 0);
  }
  return mask;
}
ALWAYS void spread_(uint8_t *to, const uint8_t *from, unsigned mask) {
  for (int i = 0; i < 8; i++) {
    uint32_t word; memcpy(&word, from, WORD);
    if (!(mask >> i & 1)) word = 0; else from += WORD;
    memcpy(to + WORD * i, &word, WORD);
  }
}
#endif
/* Write the masks of the *eights* of *from*, followed by the words that are not 0; return the end. */
ALWAYS uint8_t *pack_all_(uint8_t *mask, uint8_t *to, const uint8_t *from, int64_t eights) {
  for (int64_t i = 0; i < eights; i++) { mask[i] = (uint8_t)pack_(to, from + EIGHT * i); to += WORD * __builtin_popcount(mask[i]); }
  return to;
}
ALWAYS const uint8_t *spread_all_(uint8_t *to, const uint8_t *mask, const uint8_t *from, int64_t eights) {
  for (int64_t i = 0; i < eights; i++) { spread_(to + EIGHT * i, from, mask[i]); from += WORD * __builtin_popcount(mask[i]); }
  return from;
}
#if defined(__AVX2__) && !defined(NARROW) && !defined(PLAIN)
/* Twice as many at once, if the processor can. */
typedef int Sixteen_ __attribute__((vector_size(64)));
static int wide_;
__attribute__((constructor)) static void look_for_wide_(void) { __builtin_cpu_init(); wide_ = __builtin_cpu_supports("avx512f"); }
__attribute__((target("avx512f,popcnt"), noinline, unused)) static uint8_t *pack_wide_(uint8_t *mask, uint8_t *to, const uint8_t *from, int64_t eights) {
  int64_t i = 0;
  for (; i + 2 <= eights; i += 2) {
    Sixteen_ v; memcpy(&v, from + EIGHT * i, 2 * EIGHT);
    const uint16_t kept = __builtin_ia32_cmpd512_mask(v, (Sixteen_){0}, 4, (uint16_t)-1);
    v = __builtin_ia32_compresssi512_mask(v, v, kept);
    memcpy(to, &v, 2 * EIGHT); memcpy(mask + i, &kept, sizeof kept);
    to += WORD * __builtin_popcount(kept);
  }
  return pack_all_(mask + i, to, from + EIGHT * i, eights - i);
}
__attribute__((target("avx512f,popcnt"), noinline, unused)) static const uint8_t *spread_wide_(uint8_t *to, const uint8_t *mask, const uint8_t *from, int64_t eights) {
  int64_t i = 0;
  for (; i + 2 <= eights; i += 2) {
    uint16_t kept; memcpy(&kept, mask + i, sizeof kept);
    Sixteen_ v; memcpy(&v, from, 2 * EIGHT);
    v = __builtin_ia32_expandsi512_mask(v, (Sixteen_){0}, kept);
    memcpy(to + EIGHT * i, &v, 2 * EIGHT);
    from += WORD * __builtin_popcount(kept);
  }
  return spread_all_(to + EIGHT * i, mask + i, from, eights - i);
}
#define PACK_ALL(...) (wide_ ? pack_wide_(__VA_ARGS__) : pack_all_(__VA_ARGS__))
#define SPREAD_ALL(...) (wide_ ? spread_wide_(__VA_ARGS__) : spread_all_(__VA_ARGS__))
#else
#define PACK_ALL pack_all_
#define SPREAD_ALL spread_all_
#endif
/* Record the addition of *n* bytes of *from*, all on one page. */
ALWAYS uint8_t *note_sum_(uint8_t *top, At p, int64_t n, const uint8_t *from, int dtype) {
  const Added_ head = {p.o, (int32_t)p.a->key, (uint16_t)n, (uint16_t)dtype};
  memcpy(top, &head, sizeof head);
  uint8_t *mask = top + sizeof head, *to = mask + (n + EIGHT - 1) / EIGHT;
  to = PACK_ALL(mask, to, from, n / EIGHT);
  if (n % EIGHT) {
    uint8_t last[EIGHT] = {0};
    memcpy(last, from + n / EIGHT * EIGHT, (size_t)(n % EIGHT));
    to = pack_all_(mask + n / EIGHT, to, last, 1);
  }
  return to;
}
PART __attribute__((noinline)) void add_later_(Core *m, At p, int64_t n, const uint8_t *from, int dtype, int site) {
  Sums_ *s = (Sums_ *)m->sums;
  for (const int64_t high = p.o + n; p.o < high;) {
    const int64_t page = p.o / KEPT_PAGE, many = smaller_(high, (page + 1) * KEPT_PAGE) - p.o;
    SumLog_ *log = s->log + (uint32_t)page % (uint32_t)s->logs;
    if (UNLIKELY(log->end - log->top < MOST_ADDED)) { m->site = site; up_(m, UP_SUSPECT, 1, 0); }
    log->top = note_sum_(log->top, p, many, from, dtype);
    p.o += many; from += many;
  }
}
/* Record the same for one value repeated over *n* bytes. */
PART __attribute__((noinline)) void add_same_later_(Core *m, At p, int64_t n, const void *value, int64_t size, int dtype, int site) {
  uint8_t same[EIGHT];
  for (int64_t i = 0; i < EIGHT; i += size) memcpy(same + i, value, (size_t)size);
  for (int64_t i = 0; i < n; i += EIGHT) add_later_(m, (At){p.a, p.o + i}, smaller_(n - i, EIGHT), same, dtype, site);
}
/* Record the place of a task's addition; return whether it is made later. */
ALWAYS int add_to_page_(Core *m, const Alloc *a, int64_t page, int64_t first, int64_t last) {
  Sums_ *s = (Sums_ *)m->sums;
  s->lines[a->key][page] |= ~UINT64_C(0) >> (63 - last / LINE_BYTES + first / LINE_BYTES) << first / LINE_BYTES;
  if (s->manner == LATER) return 1;
  Kept_ *kept = (Kept_ *)a->flags;
  if (kept && UNLIKELY(__atomic_load_n(kept->state + page, __ATOMIC_ACQUIRE) != KEPT)) keep_page_(kept, a, page);
  return 0;
}
PART __attribute__((noinline)) int add_to_pages_(Core *m, At p, int64_t n, int site) {
  if (((Sums_ *)m->sums)->manner == IN_THE_RECORD) { touch_(m, p, n, 0, site); touch_(m, p, n, 1, site); return 0; }
  if (n <= 0) return 0;
  if (p.a->key < 0) { m->site = site; up_(m, UP_SUSPECT, 1, 0); }
  const int64_t last = p.o + n - 1;
  int later = 0;
  for (int64_t page = p.o / KEPT_PAGE; page <= last / KEPT_PAGE; page++)
    later = add_to_page_(m, p.a, page, larger_(p.o - page * KEPT_PAGE, 0), smaller_(last - page * KEPT_PAGE, KEPT_PAGE - 1));
  return later;
}
ALWAYS int sums_later_(Core *m, At p, int64_t n, int site) {
  const int64_t first = p.o & (KEPT_PAGE - 1), last = first + n - 1;
  if (LIKELY(n > 0 && last < KEPT_PAGE && p.a->key >= 0 && ((Sums_ *)m->sums)->manner != IN_THE_RECORD)) return add_to_page_(m, p.a, p.o / KEPT_PAGE, first, last);
  return add_to_pages_(m, p, n, site);
}
