/* The functions declared in scalars.h. */
/* Let Python load or store one element, and report its error. */
Argument access_up(Core *m, int store, Ptr p, int64_t i, int dtype, Argument value, int site) {
  m->argv[0] = a_pointer(p, dtype); m->argv[1] = a_integer(i, -1); m->argv[2] = value; m->argc = 3; m->site = site;
  up_(m, UP_ACCESS, store, 0);
  return m->argv[0];
}
#define REFUSED(T, S, D, AS, OF)                                                                                  \
  T refused_load_##S(Core *m, Ptr q, int64_t i, int site, int waits) {                                            \
    At p = see(m, moved_(q, i, sizeof(T)));                                                                       \
    if (p.a->space == MIXED && within_(p, sizeof(T)) && !pointers_in_(p, sizeof(T))) {                            \
      SCREENED_(looks_(m, p, sizeof(T), READS_, D, site);)                                                        \
      T v; memcpy(&v, at(p), sizeof v); return v;                                                                 \
    }                                                                                                             \
    if (deepen_(m)) return load_##S(m, q, i, site, waits);                                                        \
    Argument r = access_up(m, 0, q, i, D, a_integer(0, -1), site); return OF;                                     \
  }                                                                                                               \
  T refused_store_##S(Core *m, Ptr q, int64_t i, T v, int site) {                                                 \
    At p = see(m, moved_(q, i, sizeof(T)));                                                                       \
    if (p.a->space == MIXED && p.a->writable && within_(p, sizeof(T)) && !pointers_in_(p, sizeof(T))) {           \
      SCREENED_(looks_(m, p, sizeof(T), WRITES_, D, site);)                                                       \
      memcpy(at(p), &v, sizeof v); return v;                                                                      \
    }                                                                                                             \
    if (deepen_(m)) return store_##S(m, q, i, v, site);                                                           \
    access_up(m, 1, q, i, D, AS, site); return v;                                                                 \
  }
ACCESSED(REFUSED)
/* Return a pointer that moves out of reach; one that is out of reach stays where it is, but an address moves on. */
Ptr far_away_(Ptr p, int forward) {
  const int64_t number = number_(p), from = offset_(p), end = number ? INT64_C(1) << (OFFSET_BITS - 1) : REACH;
  if (number && (from >= REACH || from < -REACH)) return p;
  return ((uint64_t)number << OFFSET_BITS) + (uint64_t)(forward ? end - (number ? WHOLE_ : 0) : -end);
}
/* Return a pointer that moves by a large step, which may end within reach if it began near the other limit. */
Ptr far_step_(Ptr p, int64_t count, int64_t size) {
  const int64_t bound = (INT64_C(1) << OFFSET_BITS) / size + 1; /* more elements lead out of reach from anywhere within */
  const int64_t by = larger_(-bound, smaller_(count, bound)) * size, to = offset_(p) + by;
  return to >= -REACH && to < REACH && (!number_(p) || (offset_(p) < REACH && offset_(p) >= -REACH)) ? p + (uint64_t)by : far_away_(p, to > 0);
}
/* Account for a load of shared memory, which may be a poll. */
void shared_load_(Core *m, At p, int site, int waits) {
  m->loads[p.a->counted + waits]++;
  NOTED_(accesses_(m, site, p.a->counted + waits);)
  m->site = site;
  poll_load(m, p.a->address + (uint64_t)p.o);
}
int pointers_in_(At p, int64_t bytes) {
  const int64_t *w = words_of_(p.a);
  int many = 0;
  if (w) for (int64_t first = p.o / w[0] * w[0]; first < p.o + bytes; first += w[0])
    for (int64_t n = 0; n < w[1]; n++) many += first + w[2 + n] < p.o + bytes && p.o < first + w[2 + n] + 8;
  return many;
}
int alike_(At p, int64_t bytes, const int64_t *w) {
  const int64_t many = w ? w[1] : 0;
  for (int64_t n = 0; n < many; n++) if (p.a->space != MIXED || !is_pointer_((At){p.a, p.o + w[2 + n]})) return 0;
  return pointers_in_(p, bytes) == many;
}
#define OUTLIVED_(m) ((Alloc *)(m)->allocs + (1 << (64 - OFFSET_BITS)) - MOST_CELLS - MOST_OUTLIVED)
/* Keep the number of an ended variable to which *word* may point, as a pointer or as the place of its description. */
ALWAYS void kept_(Alloc *all, uint64_t word) {
  const uint64_t first = (1 << (64 - OFFSET_BITS)) - MOST_CELLS - MOST_OUTLIVED, place = word - (uint64_t)(uintptr_t)all;
  const uint64_t number = (uint64_t)number_(word) - first, described = place / sizeof(Alloc);
  if (number < MOST_OUTLIVED && all[number].nbytes == UNUSED_) all[number].nbytes = ENDED_;
  if (place < MOST_OUTLIVED * sizeof(Alloc) && all[described].nbytes == UNUSED_) all[described].nbytes = ENDED_;
}
/* Look for pointers to ended variables where there may be some: in the variables that have addresses, and in C's own, on its stack and in registers. */
__attribute__((noinline, no_sanitize_address)) static void collect_(Core *m) {
  __builtin_unwind_init(); /* registers are on the stack from here on */
  Alloc *all = OUTLIVED_(m);
  for (int n = 0; n < MOST_OUTLIVED; n++) if (all[n].nbytes == ENDED_) all[n].nbytes = UNUSED_;
  for (int64_t n = 0; n + 8 <= m->cells_top; n++) { uint64_t word; memcpy(&word, (const uint8_t *)m->cells + n, 8); kept_(all, word); }
  for (const Word_ *w = (const Word_ *)__builtin_frame_address(0) - 32; w < (const Word_ *)(uintptr_t)m->base; w++) kept_(all, *w);
  m->next_outlived = 0;
}
static Alloc *unused_(Core *m) {
  if (m->noutlived < MOST_OUTLIVED) { m->next_outlived = m->noutlived + 1; return OUTLIVED_(m) + m->noutlived++; }
  for (int again = 0; again < 2; again++) {
    while (m->next_outlived < MOST_OUTLIVED) { Alloc *a = OUTLIVED_(m) + m->next_outlived++; if (a->nbytes == UNUSED_) return a; }
    collect_(m);
  }
  up_(m, UP_FAULT, 0, 0);
  return OUTLIVED_(m);
}
ALWAYS Ptr placed_(Core *m, Alloc *a) {
  const uint64_t number = (uint64_t)(a - (Alloc *)m->allocs);
  a->address = (1ull << 62) + (number << 24);
  return number << OFFSET_BITS;
}
Ptr outlived_(Core *m, int64_t size, int64_t element) {
  if (UNLIKELY(m->cells_top + size > CELL_BYTES)) up_(m, UP_FAULT, 0, 0);
  void *raw = (uint8_t *)m->cells + m->cells_top;
  m->cells_top += (size + 15) & ~15ll;
  Alloc *a = unused_(m);
  *a = (Alloc){raw, size, 0, CELL, 1, CELL, element};
  return placed_(m, a);
}
ALWAYS void end_(Alloc *a, int text) { a->nbytes = a->last_read = ENDED_; a->writable = 0; a->counted = (int16_t)text; }
Ptr renewed_(Core *m, Ptr p, int text) {
  Alloc *a = unused_(m), *before = (Alloc *)m->allocs + number_(p);
  *a = *before;
  end_(before, text);
  return placed_(m, a);
}
void ended_(Outlived *v) { end_((Alloc *)v->m->allocs + number_(*v->p), v->text); }
/* Return a pointer's address as a number; variables have none, nor has a pointer that has left its memory for good. */
void fault_(Core *m, int why, int site) { m->site = site; up_(m, UP_FAULT, why, 0); }
/* Check the index of an element of an array in a record, which must stay in the array; an open array in memory ends where the memory does. */
void no_element_(Core *m, Ptr array, Ptr p, int64_t at, int64_t count, int64_t size, int text, int site) {
  const int gone = see(m, array).a->space >= CELL && !within_(see(m, array), count * size);
  if (gone) { access_up(m, 0, array, 0, 3, a_integer(0, -1), site); return; } /* the record does not exist */
  const int64_t most = REACH / size;
  if (offset_(p) >= REACH || at > most) at = most; /* as far as pointers reach */
  if (offset_(p) <= -REACH || at < -most) at = -most;
  m->argv[0] = a_integer(at, -1); m->argv[1] = a_integer(count, -1); m->argv[2] = a_integer(size, -1); m->argv[3] = a_text(text);
  m->site = site;
  up_(m, UP_FAULT, FAULT_ELEMENT, 4);
}
/* Return the pointer for an address; an address outside of any memory is kept as a number. */
Ptr pointer_of(Core *m, uint64_t address) {
  SCREENED_(if (address) suspect_(m, ~0, m->site);) /* it may point to memory that the screen does not know */
  while (deepen_(m));
  int64_t behind = 0; /* the end of one allocation may be the beginning of the next */
  if (address) for (int64_t n = 1; n < m->nallocs; n++) {
    const Alloc *a = (Alloc *)m->allocs + n;
    if (a->address <= address && address < a->address + (uint64_t)a->nbytes) return ((uint64_t)n << OFFSET_BITS) + (address - a->address);
    if (!behind && address == a->address + (uint64_t)a->nbytes) behind = n;
  }
  if (behind) return ((uint64_t)behind << OFFSET_BITS) + ((Alloc *)m->allocs + behind)->nbytes;
  return address < REACH ? address : REACH;
}
Ptr load_pointer_elsewhere_(Core *m, At q, Ptr p, int64_t i, int site) {
  if (q.a->space >= CELL && within_(q, 8)) { access_up(m, 0, p, i, 10, a_integer(0, -1), site); return 0; } /* no pointer is there */
  if (q.a->space == MIXED && q.a->read == 8 && q.a->last_read >= 0) return (Ptr)(-REACH / 2); /* near pointers that a compiler has on the stack: their use is a fault */
  return pointer_of(m, load_u64(m, p, i, site, 0));
}
Ptr store_pointer(Core *m, Ptr p, int64_t i, Ptr v, int site) {
  At q = see(m, moved_(p, i, 8));
  if (LIKELY(q.a->space == MIXED && q.o >= 0 && q.o + 8 <= q.a->last_read)) {
    if (UNLIKELY(!q.a->writable || !is_pointer_(q))) return refused_store_u64(m, p, i, 0, site);
    SCREENED_(if (q.a->flags) memset(FLAGS_(q), 0, 8);)
    memcpy(at(q), &v, 8); return v;
  }
  if (UNLIKELY(q.a->space >= CELL)) return refused_store_u64(m, p, i, 0, site);
  store_u64(m, p, i, shown_(m, v, site), site);
  return v;
}
/* Objects with virtual methods, in variables only: the number of the class replaces C++'s pointer to a table. */
Ptr become_(Core *m, Ptr p, uint64_t number) {
  uint8_t *found = (uint8_t *)object_(m, p, 8);
  if (found) memcpy(found, &number, 8);
  return p;
}
/* Return the class of an object; in simulated memory it is *own*, the pointer's, if no other class is derived from it. */
uint64_t class_(Core *m, Ptr p, uint64_t own, int derived, int site) {
  const uint8_t *found = object_(m, p, 8);
  if (LIKELY(found)) { uint64_t n; memcpy(&n, found, 8); return n; }
  if (derived || !OWN(see(m, p).a->space)) { m->argv[0] = a_pointer(p, -1); m->argc = 1; m->site = site; up_(m, UP_FAULT, FAULT_CLASS, 1); }
  return own;
}
