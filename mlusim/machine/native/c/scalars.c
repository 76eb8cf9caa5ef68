/* The functions declared in scalars.h. */
/* Let Python load or store one element, and report its error. */
Argument access_up(Core *m, int store, Ptr p, int64_t i, int dtype, Argument value, int site) {
  m->argv[0] = a_pointer(p, dtype); m->argv[1] = a_integer(i, -1); m->argv[2] = value; m->argc = 3; m->site = site;
  up_(m, UP_ACCESS, store, 0);
  return m->argv[0];
}
#define REFUSED(T, S, D, AS, OF)                                                                                  \
  T refused_load_##S(Core *m, Ptr q, int64_t i, int site, int waits) {                                            \
    if (deepen_(m)) return load_##S(m, q, i, site, waits);                                                        \
    Argument r = access_up(m, 0, q, i, D, a_integer(0, -1), site); return OF;                                     \
  }                                                                                                               \
  T refused_store_##S(Core *m, Ptr q, int64_t i, T v, int site) {                                                 \
    if (deepen_(m)) return store_##S(m, q, i, v, site);                                                           \
    access_up(m, 1, q, i, D, AS, site); return v;                                                                 \
  }
ACCESSED(REFUSED)
Ptr far_away_(Ptr p, int forward) {
  const int64_t end = number_(p) ? INT64_C(1) << (OFFSET_BITS - 1) : REACH;
  return ((uint64_t)number_(p) << OFFSET_BITS) + (uint64_t)(forward ? end - (end > REACH ? WHOLE_ : 0) : -end);
}
/* Account for a load of shared memory, which may be a poll. */
void shared_load_(Core *m, At p, int site, int waits) {
  m->loads[p.a->counted + waits]++;
  NOTED_(accesses_(m, site, p.a->counted + waits);)
  m->site = site;
  poll_load(m, p.a->address + (uint64_t)p.o);
}
/* Return a pointer's address as a number; variables have none, nor has a pointer that has left its memory for good. */
void fault_(Core *m, int why, int site) { m->site = site; up_(m, UP_FAULT, why, 0); }
/* Check the index of an element of an array in a record, which must stay in the array; an open array in memory ends where the memory does. */
void no_element_(Core *m, Ptr array, Ptr p, int64_t at, int64_t count, int64_t size, int text, int site) {
  const int gone = see(m, array).a->space == CELL && out(see(m, array), count * size);
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
  if (q.a->space == CELL && q.a->read == 8) return (Ptr)(-REACH / 2); /* near pointers that a compiler has on the stack: their use is a fault */
  return pointer_of(m, load_u64(m, p, i, site, 0));
}
Ptr store_pointer(Core *m, Ptr p, int64_t i, Ptr v, int site) {
  At q = see(m, moved_(p, i, 8));
  if (LIKELY(!OWN(q.a->space) && !out(q, 8))) {
    if (UNLIKELY(!q.a->writable)) return refused_store_u64(m, p, i, 0, site);
    SCREENED_(if (q.a->flags) memset(FLAGS_(q), 0, 8);)
    memcpy(at(q), &v, 8); return v;
  }
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
