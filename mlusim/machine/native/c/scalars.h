/* Scalar accesses through pointers, and numbers as in C on the device. */
COLD Argument access_up(Core *m, int store, Ptr p, int64_t i, int dtype, Argument value, int site);
/* Pointers move by bytes; beyond the reach of their memory they stay outside: no step leads back from the limits of the offset, and a number without
   an offset never becomes a pointer to bytes. An address outside of all memory is a number. Not cold: the compiler may call a function without
   effects early, and would then treat everything after it as cold, too. */
#define WHOLE_ 4096 /* the limits are whole multiples of every element */
__attribute__((const)) Ptr far_away_(Ptr p, int forward);
__attribute__((const)) Ptr far_step_(Ptr p, int64_t count, int64_t size);
ALWAYS Ptr moved_(Ptr p, int64_t count, int64_t size) {
  if (__builtin_constant_p(count) && count == 0) return p; /* within reach already */
  const int64_t most = (REACH - WHOLE_) / size; /* the product of a larger step might wrap */
  if (UNLIKELY((uint64_t)(count + most) > (uint64_t)(2 * most))) return far_step_(p, count, size);
  int64_t to = offset_(p) + count * size;
  if (UNLIKELY((uint64_t)(to + REACH) / (uint64_t)(2 * REACH))) return far_away_(p, to > 0);
  return p + (uint64_t)(count * size);
}
ALWAYS int64_t back_(int64_t n) { return n == INT64_MIN ? INT64_MAX : -n; }
#define OWN(space) ((space) < SPACES)
void shared_load_(Core *m, At p, int site, int waits);
/* The words of a variable that are pointers, or tell the class of an object: the bytes after which they come again, their number, the offset of each.
   They have no bytes that a number could be made of. A variable in which there are some is MIXED: the address of the list is its key, its size stands in
   last_read, and it has less than no bytes, so that an access as a number, which is rare, comes to where others are refused. */
enum { ENDED_ = -1, UNUSED_ = -2, SIZED_APART_ = -3 }; /* bytes of a variable that has ended, of one to which no pointer is left, and of one whose size stands elsewhere */
ALWAYS int within_(At p, int64_t bytes) { return p.o >= 0 && p.o + bytes <= (p.a->space == MIXED ? p.a->last_read : p.a->nbytes); }
int pointers_in_(At p, int64_t bytes); /* of the words of which some bytes are among these */
ALWAYS const int64_t *words_of_(const Alloc *a) { return (const int64_t *)(uintptr_t)a->key; }
ALWAYS int is_pointer_(At p) { /* in a variable that is MIXED; last_write tells that nothing else is there */
  if (LIKELY(p.a->last_write)) return p.o % 8 == 0;
  return pointers_in_(p, 1) && pointers_in_(p, 8) == 1 && pointers_in_((At){p.a, p.o + 7}, 1);
}
/* Return whether the bytes of a record at p have pointers where *w*, the words of its type, has them. */
int alike_(At p, int64_t bytes, const int64_t *w);
/* Rare work is called, not inlined: a kernel has hundreds of accesses, and inlining would slow the compiler. */
#define ACCESS(T, S, D, AS, OF)                                                                                   \
  COLD T refused_load_##S(Core *m, Ptr q, int64_t i, int site, int waits);                                        \
  COLD T refused_store_##S(Core *m, Ptr q, int64_t i, T v, int site);                                             \
  ALWAYS T load_##S(Core *m, Ptr q, int64_t i, int site, int waits) {                                             \
    At p = see(m, moved_(q, i, sizeof(T)));                                                                       \
    if (UNLIKELY(out(p, sizeof(T)))) return refused_load_##S(m, q, i, site, waits);                               \
    SCREENED_(looks_(m, p, sizeof(T), READS_, D, site);)                                      \
    BESIDE_(touches_(m, p, sizeof(T), 0, site);)                                             \
    if (UNLIKELY(SHARED(p.a->space))) shared_load_(m, p, site, waits);                                            \
    else if (LIKELY(OWN(p.a->space))) { m->loads[p.a->counted + waits]++; NOTED_(accesses_(m, site, p.a->counted + waits);) } \
    T v; memcpy(&v, at(p), sizeof v); return v;                                                                   \
  }                                                                                                               \
  ALWAYS T store_##S(Core *m, Ptr q, int64_t i, T v, int site) {                                                  \
    At p = see(m, moved_(q, i, sizeof(T)));                                                                       \
    if (UNLIKELY(out(p, sizeof(T)) || !p.a->writable)) return refused_store_##S(m, q, i, v, site);                \
    SCREENED_(looks_(m, p, sizeof(T), WRITES_, D, site); if (HEARS(m)) valued_(m, p.a->space, D + 1, &v, sizeof v);) \
    BESIDE_(touches_(m, p, sizeof(T), 1, site);)                                             \
    if (LIKELY(OWN(p.a->space))) { m->stores[p.a->counted]++; NOTED_(accesses_(m, site, LOAD_PLACES + p.a->counted);) } \
    memcpy(at(p), &v, sizeof v); return v;                                                                        \
  }                                                                                                               \
  SCREENED_(ALWAYS T first_##S(Core *m, Ptr q, int64_t i, T v, int site) {                                        \
    At p = see(m, moved_(q, i, sizeof(T)));                                                                       \
    if (UNLIKELY(out(p, sizeof(T)) || !p.a->writable)) return refused_store_##S(m, q, i, v, site);                \
    begins_with_(p, sizeof(T));                                                                                   \
    if (LIKELY(OWN(p.a->space))) m->stores[p.a->counted]++;                                                       \
    memcpy(at(p), &v, sizeof v); return v;                                                                        \
  })
#define INTEGER(D) a_integer((int64_t)v, D)
#define REAL(G, D) a_float(G(v), D)
#define R_INT(T) (T)(int64_t)r.bits
/* Every element type: its name in C, its suffix, its number, and the conversion of a value to an argument for Python and back. */
#define ACCESSED(A) \
  A(f16, f16, 0, REAL(from_f16, 0), to_f16((float)float_of(r))) \
  A(b16, b16, 1, REAL(from_b16, 1), to_b16((float)float_of(r))) \
  A(float, f32, 2, REAL(, 2), (float)float_of(r)) \
  A(int8_t, i8, 3, INTEGER(3), R_INT(int8_t)) A(int16_t, i16, 4, INTEGER(4), R_INT(int16_t)) \
  A(int32_t, i32, 5, INTEGER(5), R_INT(int32_t)) A(int64_t, i64, 6, INTEGER(6), R_INT(int64_t)) \
  A(uint8_t, u8, 7, INTEGER(7), R_INT(uint8_t)) A(uint16_t, u16, 8, INTEGER(8), R_INT(uint16_t)) \
  A(uint32_t, u32, 9, INTEGER(9), R_INT(uint32_t)) A(uint64_t, u64, 10, INTEGER(10), R_INT(uint64_t)) \
  A(double, f64, 11, REAL(, 11), float_of(r))
ACCESSED(ACCESS)

ALWAYS uint64_t address_(const Core *m, Ptr p) { At a = see(m, p); return a.a->address + (uint64_t)a.o; }
enum { FAULT_CELLS, FAULT_ZERO, FAULT_DEPTH, FAULT_ELEMENT, FAULT_ADDRESS, FAULT_CLASS, FAULT_FAR };
COLD void fault_(Core *m, int why, int site);
ALWAYS uint64_t shown_(Core *m, Ptr p, int site) {
  if (UNLIKELY(see(m, p).a->space >= CELL)) fault_(m, FAULT_ADDRESS, site);
  if (UNLIKELY(number_(p) && (uint64_t)(offset_(p) + REACH) >= (uint64_t)(2 * REACH))) fault_(m, FAULT_FAR, site);
  return address_(m, p);
}
/* Return the elements between two pointers; if they have no meaning, Python reports it. */
ALWAYS int64_t reached_(int64_t offset) { return smaller_(larger_(offset, -REACH), REACH); }
ALWAYS int64_t distance_(Core *m, Ptr p, Ptr q, int64_t size, int dtype, int site) {
  At a = see(m, p), b = see(m, q);
  int64_t apart = (int64_t)(a.a->address + (uint64_t)reached_(a.o) - b.a->address - (uint64_t)reached_(b.o));
  if (LIKELY((a.a == b.a || (OWN(a.a->space) && a.a->space == b.a->space)) && apart % size == 0)) return apart / size;
  m->argv[0] = a_pointer(p, dtype); m->argv[1] = a_pointer(q, dtype); m->argc = 2; m->site = site;
  up_(m, UP_DISTANCE, 0, 0);
  return (int64_t)m->argv[0].bits;
}
/* Return which of two pointers comes first: below 0, 0, or above. Of two variables neither does, and Python reports it. */
ALWAYS int64_t order_(Core *m, Ptr p, Ptr q, int dtype, int site) {
  At a = see(m, p), b = see(m, q);
  if (UNLIKELY(a.a != b.a && (a.a->space >= CELL || b.a->space >= CELL))) {
    const int turned = a.a->space < CELL; /* the variable is asked how far it is ahead */
    m->argv[turned] = a_pointer(p, dtype); m->argv[!turned] = a_pointer(q, dtype); m->argc = 2; m->site = site;
    up_(m, UP_DISTANCE, 0, 0);
    return turned ? -(int64_t)m->argv[0].bits : (int64_t)m->argv[0].bits;
  }
  const int64_t one = (int64_t)(a.a->address + (uint64_t)a.o), two = (int64_t)(b.a->address + (uint64_t)b.o);
  return (one > two) - (one < two);
}
ALWAYS int64_t divided_(int64_t a, int64_t b) { return b == -1 ? -(uint64_t)a : a / b; }
ALWAYS int64_t remaining_(int64_t a, int64_t b) { return b == -1 ? 0 : a % b; }
/* Convert a float to an integer: toward zero, to the nearest limit if out of range, and 0 for NaN. */
#define FROM_FLOAT(T, low, high) ALWAYS T T##_of(double x) { return x != x ? 0 : x <= (double)(low) ? (low) : x >= (double)(high) ? (high) : (T)x; }
FROM_FLOAT(int8_t, INT8_MIN, INT8_MAX) FROM_FLOAT(int16_t, INT16_MIN, INT16_MAX) FROM_FLOAT(int32_t, INT32_MIN, INT32_MAX)
FROM_FLOAT(int64_t, INT64_MIN, INT64_MAX) FROM_FLOAT(uint8_t, 0, UINT8_MAX) FROM_FLOAT(uint16_t, 0, UINT16_MAX)
FROM_FLOAT(uint32_t, 0, UINT32_MAX) FROM_FLOAT(uint64_t, 0, UINT64_MAX)

/* Variables that have an address: each is an allocation of its own, numbered from the top, while its function runs. */
typedef struct Frame { Core *m; int64_t top; int32_t ncells, depth; } Frame;
/* Recursion ends before the thread's stack does; if the system does not provide its end, two MiB from here. */
#define HERE_ ((uint64_t)(uintptr_t)__builtin_frame_address(0))
#define DEEPER_(m, most, site) do { if (UNLIKELY(++(m)->depth > (most) || HERE_ < (m)->stack_end)) fault_(m, FAULT_DEPTH, site); } while (0)
#define PASSED_(m, number) (++((uint64_t *)(m)->cover)[number])
static inline int tested_(Core *m, int test, int yes, int no) {
  PASSED_(m, test ? yes : no);
  return test;
}
#define BEGIN_(m) do { (m)->base = HERE_; (m)->noutlived = 0; if (!(m)->stack_end) (m)->stack_end = HERE_ - (2u << 20); } while (0)
ALWAYS Frame enter_(Core *m) { return (Frame){m, m->cells_top, m->ncells, m->depth}; }
PART void leave_(Frame *f) { f->m->cells_top = f->top; f->m->ncells = f->ncells; f->m->depth = f->depth; }
PART Ptr cell_(Core *m, int64_t size, int64_t element) {
  int64_t number = (1 << (64 - OFFSET_BITS)) - ++m->ncells;
  if (m->ncells > m->most_cells) m->most_cells = m->ncells;
  if (UNLIKELY(m->ncells > MOST_CELLS || m->cells_top + size > CELL_BYTES)) up_(m, UP_FAULT, 0, 0);
  Alloc *a = (Alloc *)m->allocs + number;
  *a = (Alloc){(uint8_t *)m->cells + m->cells_top, size, (1ull << 62) + ((uint64_t)number << 24), CELL, 1, CELL, element};
  m->cells_top += (size + 15) & ~15ll;
  return (uint64_t)number << OFFSET_BITS;
}
/* Variables that pointers may outlive: each has a number that no other has as long as a pointer with it may be left, and has no bytes when it has ended. */
typedef struct Outlived { Core *m; const Ptr *p; int text; } Outlived;
Ptr outlived_(Core *m, int64_t size, int64_t element);
/* Return the number that the variable has from now on, in a block that is entered again; the one it had is that of an ended variable. */
Ptr renewed_(Core *m, Ptr p, int text);
void ended_(Outlived *v);
/* Note the words of the variable at p that are pointers. */
ALWAYS Ptr with_(Core *m, Ptr p, const int64_t *words) {
  Alloc *a = (Alloc *)m->allocs + number_(p);
  a->space = MIXED; a->key = (int64_t)(uintptr_t)words;
  a->last_read = (int32_t)a->nbytes; a->last_write = words[0] == 8; a->nbytes = SIZED_APART_;
  return p;
}
/* Make the variable at p a constant; *text* is the number of its name. */
PART Ptr fixed_(Core *m, Ptr p, int text) {
  Alloc *a = (Alloc *)m->allocs + number_(p);
  a->writable = 0; a->counted = (int16_t)text;
  return p;
}
COLD void no_element_(Core *m, Ptr array, Ptr p, int64_t at, int64_t count, int64_t size, int text, int site);
ALWAYS int64_t member_(Core *m, Ptr array, Ptr p, int64_t i, int64_t count, int64_t size, int open, int text, int site) {
  if (open && OWN(see(m, array).a->space)) return i;
  int64_t at = (offset_(p) - offset_(array)) / size + i;
  if (UNLIKELY((uint64_t)at >= (uint64_t)count || (see(m, array).a->space >= CELL && !within_(see(m, array), count * size))))
    no_element_(m, array, p, at, count, size, text, site);
  return i;
}
#define PLACES_(m) ((Ptr *)(m)->globals)
Ptr pointer_of(Core *m, uint64_t address);
COLD Ptr load_pointer_elsewhere_(Core *m, At q, Ptr p, int64_t i, int site);
ALWAYS Ptr load_pointer(Core *m, Ptr p, int64_t i, int site) {
  At q = see(m, moved_(p, i, 8));
  if (UNLIKELY(q.a->space != MIXED || q.o < 0 || q.o + 8 > q.a->last_read || !is_pointer_(q))) return load_pointer_elsewhere_(m, q, p, i, site);
  Ptr v; memcpy(&v, at(q), 8); return v;
}
/* Return the bytes of an object that is a variable; null for others. */
ALWAYS const uint8_t *object_(const Core *m, Ptr p, int64_t bytes) {
  At q = see(m, p);
  return q.a->space >= CELL && within_(q, bytes) ? at(q) : 0;
}
/* Return the bytes of a record that is a variable, for reads of its members; null for others. */
ALWAYS const uint8_t *record_(const Core *m, Ptr p, int64_t bytes, const int64_t *w) {
  const uint8_t *found = object_(m, p, bytes);
  if (found && (see(m, p).a->key || w) && !(words_of_(see(m, p).a) == w && offset_(p) % w[0] == 0) && !alike_(see(m, p), bytes, w)) return 0;
  SCREENED_(if (found && see(m, p).a->flags && any_(FLAGS_(see(m, p)), bytes)) return 0;)
  return found;
}
/* Return the same for a store: null for a constant. */
ALWAYS const uint8_t *changing_(const Core *m, Ptr p, int64_t bytes, const int64_t *w) { return see(m, p).a->writable ? record_(m, p, bytes, w) : 0; }
Ptr store_pointer(Core *m, Ptr p, int64_t i, Ptr v, int site);
ALWAYS int64_t whole_of(Argument a) { return a.kind == IS_FLOAT ? (int64_t)float_of(a) : (int64_t)a.bits; }
ALWAYS double number_of(Argument a) { return a.kind == IS_FLOAT ? float_of(a) : (double)(int64_t)a.bits; }
ALWAYS double round_half_away(double x) { return isfinite(x) ? copysign(floor(fabs(x) + 0.5), x) : x; }
/* Division of integers rounds toward zero; division by zero is a fault. */
#define DIVISIONS(T, S, NEGATIVE) \
  ALWAYS T quotient_##S(Core *m, T a, T b, int site) { if (UNLIKELY(b == 0)) fault_(m, FAULT_ZERO, site); SCREENED_(if (NEGATIVE && b == (T)-1 && a && a == (T)(0 - a)) suspect_(m, SCREEN_VALUE, site);) return NEGATIVE && b == (T)-1 ? (T)(0 - a) : (T)(a / b); } \
  ALWAYS T rest_##S(Core *m, T a, T b, int site) { if (UNLIKELY(b == 0)) fault_(m, FAULT_ZERO, site); SCREENED_(if (NEGATIVE && b == (T)-1 && a && a == (T)(0 - a)) suspect_(m, SCREEN_VALUE, site);) return NEGATIVE && b == (T)-1 ? 0 : (T)(a % b); }
DIVISIONS(int8_t, i8, 1) DIVISIONS(int16_t, i16, 1) DIVISIONS(int32_t, i32, 1) DIVISIONS(int64_t, i64, 1)
DIVISIONS(uint8_t, u8, 0) DIVISIONS(uint16_t, u16, 0) DIVISIONS(uint32_t, u32, 0) DIVISIONS(uint64_t, u64, 0)
Ptr become_(Core *m, Ptr p, uint64_t number);
uint64_t class_(Core *m, Ptr p, uint64_t own, int derived, int site);
#pragma GCC visibility pop
