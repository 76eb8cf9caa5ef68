/* A run's record for checkers: which bytes are initialized, which are pending, which are shared. Nothing is reported here: a possible finding is
   recorded, or ends the run, and Python repeats the run and reports it; or Python judges a window of possibly unordered events. So a suspicion may be
   wrong, but none may be missing. */
#define SCREENED_(...) __VA_ARGS__
#define IDLE_(test, result)
COLD void suspect_(Core *m, int why, int site);
void task_begins_(Core *m);
void tasks_meet_(Core *m, int64_t many, Core *const *all, const int64_t *who);

/* ---- uninitialized bytes: a flag for each byte, 1 if it is uninitialized; without flags all are initialized ---- */
#define FLAGS_(p) ((uint8_t *)(p).a->flags + (p).o)
typedef uint64_t Wide_ __attribute__((vector_size(32), aligned(1), may_alias));
int any_of_(const uint8_t *f, int64_t n);
/* For a scalar it is one comparison. */
ALWAYS int any_(const uint8_t *f, int64_t n) {
  uint64_t w = 0;
  if (!__builtin_constant_p(n) || n > 8) return any_of_(f, n);
  memcpy(&w, f, (size_t)n);
  return w != 0;
}
/* Memory, other than variables, has a summary for each line, a byte stored before the flags in reverse order; if all bytes are initialized, or
   none, the flags of the line have no meaning. Most pieces consist of whole lines, so most queries read a 64th of the bytes. */
#define LINE_OF_(offset) ((int64_t)((uint64_t)(offset) / FLAG_LINE))
#define LINE_(f, k) ((f)[-HEAD_ - 1 - (k)])
int any_lacks_(const uint8_t *flags, int64_t low, int64_t n);
void all_have_(uint8_t *flags, int64_t low, int64_t n);
/* For 9 to 16 lines these are two words. */
ALWAYS int lacks_(At p, int64_t n) {
  const uint8_t *f = (const uint8_t *)p.a->flags;
  if (!f) return 0;
  const int64_t last = LINE_OF_(p.o + n - 1), many = last - LINE_OF_(p.o) + 1;
  uint64_t a, b;
  if (many > 8 && many <= 16) {
    memcpy(&a, &LINE_(f, last), 8); memcpy(&b, &LINE_(f, last) + many - 8, 8);
    if (LIKELY(!(a | b))) return 0;
  }
  return any_lacks_(f, p.o, n);
}
int lacks_rows_(At p, int64_t n, int64_t more, int64_t step);
/* Before the flags of tensors is a byte that says whether anything was stored. */
#define STORED_(p) (((uint8_t *)(p).a->flags)[-1] = 1)
ALWAYS void given_(At p, int64_t n) {
  uint8_t *f = (uint8_t *)p.a->flags;
  if (!f) return;
  const int64_t many = n / FLAG_LINE;
  STORED_(p);
  if ((p.o | n) % FLAG_LINE == 0 && many > 8 && many <= 16) {
    uint8_t *lines = &LINE_(f, LINE_OF_(p.o) + many - 1);
    memset(lines, ALL_HAVE, 8); memset(lines + many - 8, ALL_HAVE, 8);
  } else all_have_(f, p.o, n);
}
void given_rows_(Core *m, At p, int64_t n, int64_t more, int64_t step);
/* A destination of which the data decide how much is written, and whose row is not asked: uninitialized bytes stay uninitialized. */
COLD void partly_given_(Core *m, At p, int site);
void flags_move_(Core *m, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int flies, int site);
typedef struct Piece_ { At at; int64_t bytes, size; } Piece_;
COLD void flags_flow_(Core *m, int lanewise, int many, const Piece_ *s, Piece_ d, int site);
/* A row's result from uninitialized bytes, as in `observe.value_flow.dependence`: its body runs on copies of the operands, with several contents.
   *room* has the copies, *answer* for each written byte a bit for each content with an equal result, and one if it differs from the *first*.
   The uninitialized bytes of an operand are in [*low*, *high*), by its *flags*; *last* is the last content that needs copies. The body runs on
   *bytes* bytes of each operand from *begin* on. */
/* The contents of uninitialized sources; one further run has another content of what a row may leave unchanged. */
enum { CONTENTS_ = 6, UNCHANGED_ = CONTENTS_ };
typedef struct Asked_ { uint8_t *all, *room[MOST_ASKED], *first[MOST_ASKED], *answer[MOST_ASKED]; const uint8_t *flags[MOST_ASKED]; int64_t low[MOST_ASKED], high[MOST_ASKED], begin, bytes; int last; } Asked_;
struct Operand_;
COLD void asks_(Asked_ *q, int64_t line, int every, int many, const struct Operand_ *o);
COLD void fills_(Asked_ *q, int many, const struct Operand_ *o, int content);
COLD void takes_(Asked_ *q, int many, const struct Operand_ *o, int content);
COLD void answers_(Core *m, Asked_ *q, int many, const struct Operand_ *o, int lanewise, int site);
COLD void forgets_(const Asked_ *q);

/* ---- pending accesses, as in observe/races/pipes.py, in spans of bytes ---- */
typedef struct Span_ { int64_t alloc, low, high, writes; } Span_;
/* The last store of a place to a partly uninitialized tensor, and the one that went furthest; and all such stores of a launch. */
typedef struct Went_ { int64_t end, number; int32_t row, segment; } Went_;
typedef struct Stored_ { int64_t key, site; Went_ last, furthest; } Stored_;
/* A separate record of an access to shared memory (`screen.SHARED`). */
typedef struct Shared_ { int64_t low, high, time, value; int32_t key, segment, site, row, kind, pipe, type, how; } Shared_;
/* The last write of a statement to a place on the chip that left bytes uninitialized: the flags of the bytes written and read. *clear*: all about
   it is known; *mixes*: its statement mixed lanes; *itself*: it read the bytes that it wrote, all of them uninitialized. */
typedef struct Source_ { uint8_t *flags; int64_t low, bytes; } Source_;
typedef struct Lacking_ { const uint8_t *low, *high; int64_t number; int32_t site, mixes, clear, itself, many, spare; Source_ source[MOST_SOURCES]; } Lacking_;
typedef struct Stores_ { int64_t stored, number, unclear, alone, time, pipe, shared, most, many, guessed, far, mixes, lacking, writes, odd, turned, decided, begun, segments, met, most_met, many_met;
  Lacking_ lack[MOST_LACKING]; Stored_ store[MOST_STORED]; int16_t store_at[2 * MOST_STORED]; } Stores_;
/* A core's events since it waited for all pipes, with an operand of an event in each row. *met*: two of the events may be unordered; *shared*: on
   bytes of GDRAM; *unclear*: some are missing here. */
typedef struct Noted_ { int64_t event, site, row, how, alloc, low, size, more, step, rows, far; } Noted_; /* there are *rows* of this, each *far* behind the last, unless that is 0 */
typedef struct Window_ { int64_t many, events, met, shared, unclear, kept, again; Noted_ noted[MOST_NOTED], last[MOST_COMPARED]; } Window_;
typedef struct Again_ { int64_t change, site, times; } Again_; /* a failed test of values, and its number of repetitions */
typedef struct Typed_ { uint64_t address; int32_t dtype, site; uint8_t sample[SAMPLE]; } Typed_; /* the type that vectors wrote last (`engine.values.Types`) */
typedef struct Recent_ { int64_t low, high; int32_t key, kind, segment, spare; } Recent_; /* a recorded access to shared memory */
typedef struct Screen_ { int64_t n[LISTS]; Span_ span[LISTS][MOST_SPANS]; int64_t row; Stores_ *stores; Window_ *window; Again_ again[MOST_AGAIN]; Typed_ typed[MOST_TYPED]; Recent_ recent[MOST_RECENT]; int64_t begun; } Screen_; /* *row* is being executed */
#define SCREEN_(m) ((Screen_ *)(m)->screen)
#define WINDOW(m) UNLIKELY(SCREEN_(m)->window != 0)
#define PLACE_(m, p) ((int64_t)((p).a - (Alloc *)(m)->allocs))
int meets_(const Core *m, int list, int64_t alloc, int64_t low, int64_t high, int writes);
void keep_(Core *m, int list, int64_t alloc, int64_t low, int64_t high, int writes);
ALWAYS int busy_(const Core *m) { return (SCREEN_(m)->n[IN_IO] | SCREEN_(m)->n[IN_MOVE]) != 0; }
COLD void clashes_(Core *m, int space, int site);
COLD int same_window_(const Core *m, const Window_ *w);
COLD void meets_held_(Core *m, int list, At p, int64_t n, int writes, int site);
ALWAYS void held_(Core *m, int list, At p, int64_t n, int writes, int site) { if (UNLIKELY(SCREEN_(m)->n[list] != 0)) meets_held_(m, list, p, n, writes, site); }
COLD void window_ends_(Core *m);
Noted_ *happens_(Core *m, int many);
COLD void noted_(Core *m, int row, int how, At p, int64_t n, int site);
ALWAYS void over_(Core *m, int lists) { for (int k = 0; k < LISTS; k++) if (lists >> k & 1) SCREEN_(m)->n[k] = 0; }
#define EVERY_LIST ((1 << LISTS) - 1)
/* Record a wait of *row*, after which the *lists* are empty. */
ALWAYS void waits_(Core *m, int row, int lists) {
  if (WINDOW(m)) { if (lists == EVERY_LIST) window_ends_(m); else noted_(m, row, HOW_WAITS, (At){0}, 0, m->site); }
  over_(m, lists);
}

ALWAYS uint32_t spread_(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t h = (a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ h >> 29 ^ c) * UINT64_C(0xbf58476d1ce4e5b9);
  return (uint32_t)(h >> 32);
}
/* Return the row that fits, or its position in a table of numbers, which begin with 1; -1 if the table is full. */
#define LOOK_UP_(table, at, most, count, hash, fits) ({                                            \
    uint32_t k_ = (hash) & (2 * (most) - 1); int64_t found_ = -1;                                     \
    for (; (at)[k_]; k_ = (k_ + 1) & (2 * (most) - 1)) { const __typeof__(&(table)[0]) r = &(table)[(at)[k_] - 1]; if (fits) { found_ = (at)[k_] - 1; break; } } \
    int new_ = 0;                                                                                 \
    if (found_ < 0 && (count) < (most)) { found_ = (count)++; (at)[k_] = (int16_t)(found_ + 1); new_ = 1; } \
    is_new = new_; found_; })

/* ---- shared memory: rows of low, high, kind, segment of the task, key of the memory; before them is their number ---- */
enum { READS_, CHANGES_, WRITES_ };
enum { R_LOW, R_HIGH, R_KIND, R_SEGMENT, R_KEY, R_COLUMNS };
#define SHARED(space) ((space) == GDRAM || (space) == SRAM)
void stored_(Core *m, int64_t key, int64_t end, int site);
/* Begin an instruction of *row* that may access shared memory. */
ALWAYS void begins_(Core *m, int row, int pipe) { Stores_ *t = SCREEN_(m)->stores; SCREEN_(m)->row = row; t->pipe = pipe; t->time++; }
COLD void keeps_shared_(Core *m, At p, int64_t n, int kind, int site);
COLD void valued_(Core *m, int space, int type, const void *value, int64_t n);
COLD void orders_(Core *m, int space, int word);
#define RECENT_(m, p, kind) (&SCREEN_(m)->recent[(uint32_t)((p).o >> 6 ^ (p).o >> 15 ^ (p).a->key << 4 ^ (kind)) & (MOST_RECENT - 1)])
void shares_more_(Core *m, At p, int64_t n, int kind, int site);
/* An access to what is shared; one that has been noted, to memory of which no flags are kept, says nothing new. */
ALWAYS void share_(Core *m, At p, int64_t n, int kind, int site) {
  const Recent_ *r = RECENT_(m, p, kind);
  if (r->low <= p.o && p.o + n <= r->high && r->key == p.a->key && r->kind == kind && r->segment == m->segment && !p.a->flags && !SCREEN_(m)->stores->shared) return;
  shares_more_(m, p, n, kind, site);
}

/* ---- where tasks of unions return from functions that reach a barrier (`machine.native.leaving`) ---- */
typedef struct Returned_ { int32_t number, call, outermost, times; } Returned_;
typedef struct Leaving_ { int64_t calls, many, returned, unclear; int32_t call[MOST_CALLS]; Returned_ row[MOST_LEFT]; } Leaving_;
#define LEAVING(m) ((Leaving_ *)(m)->leaving)
/* A call of such a function, used as an argument of it, and its end. */
ALWAYS Core *reaches_(Core *m, int call) {
  Leaving_ *l = LEAVING(m);
  if (l && l->calls++ < MOST_CALLS) l->call[l->calls - 1] = call;
  return m;
}
ALWAYS void calls_ended_(Core *m) { if (LEAVING(m)) LEAVING(m)->calls--; }
void returns_(Core *m, int number);

/* ---- the part of an on-chip array in each pointer variable (`programs.native_parts`) ---- */
typedef struct Context_ { int32_t outer, site, function, spare; } Context_; /* a call of a function, within another */
typedef struct Kept_ { int32_t context, local, site, spare; uint64_t first; int64_t moved; } Kept_; /* a pointer variable at a place */
typedef struct Touched_ { int32_t context, site, row, given, alloc, kind, many, spare; int64_t span[MOST_PIECES][2]; } Touched_;
typedef struct Choice_ { int64_t offset; int32_t part, spare; } Choice_; /* a part that begins at a byte of its array */
typedef struct Parts_ {
  int64_t contexts, kept, touched, doubt;
  int64_t known, first, choices, bytes, alloc, low, size, more, step, part, spare[2];
  Context_ context[MOST_CONTEXTS]; Kept_ keep[MOST_KEPT]; Touched_ touch[MOST_TOUCHED];
  int16_t context_at[2 * MOST_CONTEXTS], kept_at[2 * MOST_KEPT], touched_at[2 * MOST_TOUCHED];
} Parts_;
#define PARTS(m) ((Parts_ *)(m)->parts)
#define FOLLOWS(m) UNLIKELY((m)->parts != 0)
#define ON_CHIP(space) ((space) == NRAM || (space) == WRAM || (space) == SRAM)
void called_(Core *m, int site, int function);
ALWAYS Core *entered_(Core *m, int site, int function) { if (FOLLOWS(m)) called_(m, site, function); return m; }
void keeps_(Core *m, int site, int local, Ptr v, Ptr before);
void written_(Core *m, int64_t k, int64_t alloc, int64_t low, int64_t size, int64_t more, int64_t step, int kind, int site);
void touched_(Core *m, int64_t alloc, int64_t low, int64_t size, int64_t more, int64_t step, int row, int given, int kind, int site);
/* The bytes that an instruction accesses through argument *given*: *more* pieces beyond the first. It is the operand at *place* among the row's;
   with *shaped* it has distances, even with a single piece; of a *partial* one the data decide which bytes are written. */
typedef struct Operand_ { At at; int64_t bytes, more, step; int given, reads, writes, place, shaped, partial; } Operand_;
#define HEARS(m) UNLIKELY((m)->hears) /* parts, or a window, are recorded */
void operands_(Core *m, int many, const Operand_ *o, int row, int how, int site);
ALWAYS void element_(Core *m, At p, int64_t n, int kind, int site) {
  if (FOLLOWS(m) && ON_CHIP(p.a->space)) touched_(m, PLACE_(m, p), p.o, n, 0, 0, -1, -1, kind == READS_ ? READS_ : WRITES_, site);
}

/* ---- accesses by unit ---- */
/* Record an operand of the vector unit. */
ALWAYS void computes_(Core *m, At p, int64_t n, int kind, int site) {
  if (!(m->screens & SCREEN_RACE)) return;
  if (UNLIKELY(busy_(m))) { held_(m, IN_IO, p, n, kind, site); held_(m, IN_MOVE, p, n, kind, site); }
#ifdef ASYNCHRONOUS
  keep_(m, IN_COMPUTE, PLACE_(m, p), p.o, p.o + n, kind != READS_);
#endif
}
COLD void misplaced_(Core *m, At p, int kind, int dtype, int site);
/* An uninitialized number is loaded: a suspicion, unless `decides_` has recorded that a condition is its only use. */
COLD void loads_none_(Core *m, int site);
COLD void decides_(Core *m, At p, int64_t n, int site);
#define DECIDES_(S, n, q, i, site, waits) ({                                                      \
    const Ptr from_ = (q); const int64_t nth_ = (i); const At at_ = see(m, moved_(from_, nth_, n)); \
    if (UNLIKELY(at_.a->flags != 0) && ON_CHIP(at_.a->space) && !out(at_, n) && UNLIKELY(lacks_(at_, n))) decides_(m, at_, n, site); \
    load_##S(m, from_, nth_, site, waits); })
/* A variable's number: where it was loaded if it is uninitialized, one more than the place, and where lanes were mixed before. */
typedef struct Held_ { int32_t loaded, mixed; } Held_;
COLD void holds_(Core *m, At p, int64_t n, int site, Held_ *h);
COLD void decides_late_(Core *m, Held_ h, int site);
COLD void used_late_(Core *m, int site);
#define HOLDS_(S, n, q, i, site, waits, h) ({                                                     \
    const Ptr from_ = (q); const int64_t nth_ = (i); const At at_ = see(m, moved_(from_, nth_, n)); \
    (h).loaded = 0;                                                                               \
    if (UNLIKELY(at_.a->flags != 0) && ON_CHIP(at_.a->space) && !out(at_, n) && UNLIKELY(lacks_(at_, n))) holds_(m, at_, n, site, &(h)); \
    load_##S(m, from_, nth_, site, waits); })
#define LATE_(does, h, v) ({ if (UNLIKELY((h).loaded)) does; v; })
COLD void met_alone_(Core *m, int row, int site);
/* Record a scalar access of a type with the number *dtype*. */
ALWAYS void accesses_(Core *m, At p, int64_t n, int kind, int dtype, int site) {
  if (UNLIKELY((p.a->address + (uint64_t)p.o) & (uint64_t)(n - 1)) || UNLIKELY(p.a->space == WRAM || (m->memory_core && p.a->space == NRAM)))
    misplaced_(m, p, kind, dtype, site);
  if (kind == READS_) { if (UNLIKELY(lacks_(p, n))) loads_none_(m, site); }
  else given_(p, n);
  if (!(m->screens & SCREEN_RACE)) return;
  if (UNLIKELY(m->hears) && WINDOW(m)) noted_(m, -1, kind == READS_ ? HOW_READS : HOW_WRITES, p, n, site);
  if (UNLIKELY(busy_(m))) { held_(m, IN_IO, p, n, kind, site); held_(m, IN_MOVE, p, n, kind, site); }
  if (SHARED(p.a->space)) {
    begins_(m, -1, 0);
    share_(m, p, n, kind, site);
    if (kind != READS_) { keep_(m, IN_STORES, PLACE_(m, p), p.o, p.o + n, 1); return; }
  }
#ifdef ASYNCHRONOUS
  keep_(m, IN_SCALAR, PLACE_(m, p), p.o, p.o + n, kind != READS_);
#endif
}
/* Record the same for a variable that has an address, which has flags if it is declared without a value. */
ALWAYS void looks_(Core *m, At p, int64_t n, int kind, int dtype, int site) {
  element_(m, p, n, kind, site);
  if (LIKELY(p.a->space < SPACES)) accesses_(m, p, n, kind, dtype, site);
  else if (UNLIKELY(p.a->flags != 0)) {
    if (kind != READS_) memset(FLAGS_(p), 0, (size_t)n);
    else if (any_(FLAGS_(p), n)) suspect_(m, SCREEN_INIT, site);
  }
}
/* An initial value: checkers hear of it as a part of the declaration. */
ALWAYS void begins_with_(At p, int64_t n) { if (LIKELY(p.a->space < SPACES)) given_(p, n); else if (p.a->flags) memset(FLAGS_(p), 0, (size_t)n); }
uint8_t *flagged_(Core *m, Ptr p, int64_t size);
void shares_each_(Core *m, At p, int64_t n, int64_t rows, int64_t step, int kind, int site);
ALWAYS void shares_rows_(Core *m, At p, int64_t n, int64_t rows, int64_t step, int kind, int site) {
  if (!SHARED(p.a->space) || !(m->screens & SCREEN_RACE)) return;
  if (rows == 1) share_(m, p, n, kind, site);
  else shares_each_(m, p, n, rows, step, kind, site);
}
/* Record an operand of a copy, a fill or an atomic on *pipe* that waits for its end, *more* rows beyond the first; `blocked_` follows its last
   operand. */
ALWAYS void blocks_(Core *m, At p, int64_t n, int64_t more, int64_t step, int kind, int pipe, int site) {
  if (!(m->screens & SCREEN_RACE)) return;
  held_(m, pipe == P_IO ? IN_MOVE : IN_IO, p, more * step + n, kind, site);
  held_(m, IN_STORES, p, more * step + n, kind, site);
  shares_rows_(m, p, n, more + 1, step, kind, site);
}
ALWAYS void blocked_(Core *m, int pipe) { over_(m, 1 << (pipe == P_IO ? IN_IO : IN_MOVE) | 1 << IN_COMPUTE | 1 << IN_SCALAR); }
void flies_(Core *m, At p, int64_t n, int kind, int pipe, int site);
void copies_(Core *m, int row, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int shaped, int pipe, int site);
void copy_flies_(Core *m, int row, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int shaped, int pipe, int site);

/* ---- numbers that C silently changes: Python records the first of each ---- */
COLD int counted_(Core *m, int64_t change, int site);
COLD void changed_(Core *m, int change, Argument a, Argument b, int site);
#define NUMBER_(z) ((__typeof__(z))-1 > 0 ? a_unsigned((int64_t)(z), -1) : a_integer((int64_t)(z), -1))
/* ``a op b`` as a *T*; a number that does not fit is changed. Each operand occurs once in the text: twice would double it at each level. */
#define FITS_(T, op, a, b, change, site) ({ T z_; const __auto_type x_ = (a); const __auto_type y_ = (b); if (UNLIKELY(__builtin_##op##_overflow(x_, y_, &z_))) changed_(m, change, NUMBER_(x_), NUMBER_(y_), site); z_; })
/* The count of a shift of *bits* bits. */
#define SHIFT_(a, bits, change, site) ({ const __auto_type z_ = (a); if (UNLIKELY((uint64_t)(int64_t)z_ >= (uint64_t)(bits))) changed_(m, change, NUMBER_(z_), a_integer(0, -1), site); z_; })
/* A float that fits an integer type after its fraction is cut off. */
#define WITHIN_(T, a, inside, change, site) ({ T z_ = (a); if (UNLIKELY(!(inside))) changed_(m, change, a_float(z_, -1), a_float(0, -1), site); z_; })
/* A number of the type *T*, whose conversion to half is *half*, in terms of z_. */
#define HALF_(T, a, half, change, site) ({ const T z_ = (a); const f16 h_ = (half); if (UNLIKELY((h_ & 0x7fff) == 0x7c00) && z_ - z_ == 0) changed_(m, change, a_float((double)z_, -1), a_float(0, -1), site); h_; })
/* ``a op b`` as a float, which may be an infinity or a NaN computed from finite numbers. */
#define FLOAT_(T, op, a, b, change, site) ({ const T x_ = (a), y_ = (b); const float z_ = (float)(x_ op y_); if (UNLIKELY(z_ - z_ != 0) && x_ - x_ == 0 && y_ - y_ == 0) changed_(m, change, a_float((double)x_, -1), a_float((double)y_, -1), site); z_; })
/* ---- a variable to which nothing has been assigned ---- */
#define ASSIGNED_(unset, v, site) ({ if (UNLIKELY(unset)) suspect_(m, SCREEN_INIT, site); (v); })

/* ---- changes of numbers by vectors (`engine.values`): Python reports them ---- */
#define VECTORS(m) ((m)->screens & SCREEN_VECTORS)
/* Return whether some floats of W bytes are not finite; *ones* are the bits of their exponent. If all of these are set, adding the lowest one
   carries into the sign. */
#define ODD_(W, U)                                                                                \
  PART int odd_##W(const uint8_t *p, int64_t n, U ones) {                                          \
    typedef U V_ __attribute__((vector_size(32), aligned(1), may_alias));                         \
    const U low = (U)(ones & -ones);                                                              \
    V_ a = {0}, b = {0};                                                                          \
    int64_t i = 0;                                                                                \
    for (; i + 64 <= n; i += 64) { const V_ *v = (const V_ *)(p + i); a |= (v[0] & ones) + low; b |= (v[1] & ones) + low; } \
    a |= b;                                                                                       \
    U x = 0;                                                                                      \
    for (int k = 0; k < 32 / W; k++) x |= a[k];                                                   \
    for (; i < n; i += W) { U w; memcpy(&w, p + i, W); x |= (U)((w & ones) + low); }              \
    return x >> (8 * W - 1);                                                                      \
  }
ODD_(2, uint16_t) ODD_(4, uint32_t)
ALWAYS int odd_(const uint8_t *p, int64_t n, int size, uint32_t ones) { return size == 2 ? odd_2(p, n, (uint16_t)ones) : odd_4(p, n, ones); }
int odd_rows_(At p, int64_t n, int64_t more, int64_t step, int size, uint32_t ones);
ALWAYS int overlap_(At a, int64_t n, At b, int64_t k) { return a.a == b.a && a.o < b.o + k && b.o < a.o + n; }
ALWAYS int is_odd_(double x) { return !(x - x == 0); }
COLD void made_(Core *m, int row, int rule, int many, int site);
COLD void returned_(Core *m, int row, double value, int site);
COLD void not_finite_(Core *m, int row, At p, int64_t n, int64_t more, int64_t step, int size, uint32_t ones, int dtype, int site);
COLD void wraps_(Core *m, int row, int64_t index, int64_t a, int64_t b, int64_t c, int64_t op, int dtype, int site);
COLD void saturates_(Core *m, int row, int64_t index, double whole, int dtype, int site);
/* Return the entry for the type of bytes: *how* is its size, plus 256 for floats. */
ALWAYS Typed_ *typed_(const Core *m, At p) { return &SCREEN_(m)->typed[(uint32_t)((uint32_t)((p.a->address + (uint64_t)p.o) >> 5) * 0x9E3779B1u) >> 16 & (MOST_TYPED - 1)]; }
void wrote_(Core *m, At p, int64_t n, int dtype, int how, int site);
COLD void retyped_(Core *m, int row, const Typed_ *t, int size, uint32_t ones, int dtype, int site);
void read_as_(Core *m, int row, At p, int64_t n, int size, uint32_t ones, int dtype, int site);

/* ---- instructions that are performed together (machine/native/text/quiet.py) ---- */
/* Return whether nothing is pending and nothing is recorded of each instruction. */
#ifdef ASYNCHRONOUS
#define QUIET_(m) 0
#else
ALWAYS int QUIET_(const Core *m) {
  const Screen_ *s = SCREEN_(m);
  int64_t held = s->stores->shared;
  for (int k = 0; k < LISTS; k++) held |= s->n[k];
  return !held && !m->hears;
}
#endif
/* Return whether more is told about an access to shared memory than that it happened. */
ALWAYS int tells_(const Core *m, At p, int kind) {
  if (!SHARED(p.a->space) || !(m->screens & SCREEN_RACE)) return 0;
  if (kind == READS_) return p.a->writable && p.a->last_write >= 0 && p.a->last_read < 0;
  return p.a->last_write < 0 || p.a->flags != 0 || (kind == CHANGES_ && p.a->last_read < 0);
}
/* Return whether vectors have written these bytes as another type. */
ALWAYS int retypes_(const Core *m, At p, int dtype) {
  const Typed_ *t = typed_(m, p);
  return t->address == p.a->address + (uint64_t)p.o && (t->dtype & 255) != dtype;
}
/* The largest magnitude of floats, in bits; a few of those below the limit, 2 ** 120, have a finite sum. */
#define NEAR_INFINITY 0x7b800000u
#define TOP_(top, v) do { const float v_ = (v); uint32_t w_; memcpy(&w_, &v_, 4); w_ &= 0x7fffffffu; top = w_ > top ? w_ : top; } while (0)
/* Tests of arguments whose failure is told later. */
#define TRY_FITS_(T, op, a, b, change, site) ({ T z_; const __auto_type x_ = (a); const __auto_type y_ = (b); fails_ |= __builtin_##op##_overflow(x_, y_, &z_); z_; })
#define TRY_ASSIGNED_(unset, v, site) ({ fails_ |= (unset) != 0; (v); })
#define TRY_LATE_(does, h, v) ({ fails_ |= (h).loaded != 0; (v); })
