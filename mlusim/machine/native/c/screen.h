/* What checkers want to know of a run: which bytes have a value, which are in flight, which are shared.
   Nothing is told here: what may become a finding is noted, or ends the run, and Python makes it again and says what it was; or, where a window
   is kept of what may be in no order, Python judges that.  So a suspicion may be wrong, and none may be missing. */
#define SCREENED_(...) __VA_ARGS__
#define IDLE_(test, result)
COLD void suspect_(Core *m, int why, int site) {
  if (!(m->screens & why)) return;
  m->site = site;
  up_(m, UP_SUSPECT, why, 0);
}

/* ---- bytes without a value: a flag for each byte, 1 where it has none; no flags: all have one ---- */
#define FLAGS_(p) ((uint8_t *)(p).a->flags + (p).o)
typedef uint64_t Wide_ __attribute__((vector_size(32), aligned(1), may_alias));
PART int any_(const uint8_t *f, int64_t n) {
  int64_t i = 0;
  for (; i + 128 <= n; i += 128) {
    const Wide_ *p = (const Wide_ *)(f + i);
    const Wide_ w = (p[0] | p[1]) | (p[2] | p[3]);
    if (w[0] | w[1] | w[2] | w[3]) return 1;
  }
  uint64_t x = 0;
  for (; i + 8 <= n; i += 8) { uint64_t w; memcpy(&w, f + i, 8); x |= w; }
  for (; i < n; i++) x |= f[i];
  return x != 0;
}
ALWAYS int lacks_(At p, int64_t n) { return p.a->flags && any_(FLAGS_(p), n); }
PART int lacks_rows_(At p, int64_t n, int64_t more, int64_t step) {
  if (!p.a->flags) return 0;
  for (int64_t k = 0; k <= more; k++) if (any_(FLAGS_(p) + k * step, n)) return 1;
  return 0;
}
/* In front of the flags of tensors is a byte that says whether something was stored. */
#define STORED_(p) (((uint8_t *)(p).a->flags)[-1] = 1)
ALWAYS void given_(At p, int64_t n) { if (p.a->flags) { STORED_(p); memset(FLAGS_(p), 0, (size_t)n); } }
PART void given_rows_(At p, int64_t n, int64_t more, int64_t step) {
  if (!p.a->flags) return;
  STORED_(p);
  for (int64_t k = 0; k <= more; k++) memset(FLAGS_(p) + k * step, 0, (size_t)n);
}
/* A destination of which the data decide how much is written: what had no value still has none. */
ALWAYS void partly_given_(Core *m, At p, int site) { if (p.a->flags && p.a->space == GDRAM) suspect_(m, SCREEN_INIT, site); }
/* Rows of bytes move with their flags. */
PART void flags_move_(Core *m, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int site) {
  if (!d.a->flags) {
    if (lacks_rows_(s, n, rows - 1, fs)) suspect_(m, SCREEN_INIT, site);
    return;
  }
  if (!s.a->flags) { given_rows_(d, n, rows - 1, ts); return; }
  if (d.a->space == GDRAM) {
    if (lacks_rows_(s, n, rows - 1, fs)) suspect_(m, SCREEN_INIT, site);
    given_rows_(d, n, rows - 1, ts);
    return;
  }
  for (int64_t k = 0; k < rows; k++) memmove(FLAGS_(d) + k * ts, FLAGS_(s) + k * fs, (size_t)n);
}
typedef struct Piece_ { At at; int64_t bytes, size; } Piece_;
/* Some source lacks a value.  Lane by lane where each lane depends on its own sources (2: shorter ones again and again), otherwise
   all of *d* has none. */
COLD void flags_flow_(Core *m, int lanewise, int many, const Piece_ *s, Piece_ d, int site) {
  if (d.at.a->space == GDRAM || !d.at.a->flags) { suspect_(m, SCREEN_INIT, site); return; }
  uint8_t *to = FLAGS_(d.at);
  const int64_t lanes = d.bytes / d.size;
  for (int j = 0; j < many; j++) {
    const int same = s[j].at.a == d.at.a && s[j].at.o < d.at.o + d.bytes && d.at.o < s[j].at.o + s[j].bytes;
    const int64_t own = s[j].bytes / s[j].size;
    if ((own != lanes && (lanewise != 2 || own <= 0 || lanes % own)) || (same && (s[j].size != d.size || s[j].at.o != d.at.o || own != lanes))) lanewise = 0;
  }
  if (!lanewise) { memset(to, 1, (size_t)d.bytes); return; }
  uint8_t lane[1024];
  for (int64_t k = 0; k < lanes; k += 1024) {
    const int64_t n = lanes - k < 1024 ? lanes - k : 1024;
    memset(lane, 0, sizeof lane);
    for (int j = 0; j < many; j++) {
      if (!s[j].at.a->flags) continue;
      const uint8_t *from = FLAGS_(s[j].at) + k * s[j].size;
      const int64_t own = s[j].bytes / s[j].size;
      if (own != lanes) for (int64_t i = 0; i < n; i++) lane[i] |= any_(FLAGS_(s[j].at) + (k + i) % own * s[j].size, s[j].size);
      else if (s[j].size == 4) for (int64_t i = 0; i < n; i++) { uint32_t w; memcpy(&w, from + 4 * i, 4); lane[i] |= w != 0; }
      else if (s[j].size == 2) for (int64_t i = 0; i < n; i++) { uint16_t w; memcpy(&w, from + 2 * i, 2); lane[i] |= w != 0; }
      else for (int64_t i = 0; i < n; i++) lane[i] |= any_(from + s[j].size * i, s[j].size);
    }
    if (d.size == 4) for (int64_t i = 0; i < n; i++) { const uint32_t w = lane[i] * 0x01010101u; memcpy(to + 4 * (k + i), &w, 4); }
    else if (d.size == 2) for (int64_t i = 0; i < n; i++) { const uint16_t w = (uint16_t)(lane[i] * 0x0101u); memcpy(to + 2 * (k + i), &w, 2); }
    else for (int64_t i = 0; i < n; i++) memset(to + d.size * (k + i), lane[i], (size_t)d.size);
  }
}

/* ---- what is not over: as observe/races/pipes.py has it, in spans of bytes ---- */
typedef struct Span_ { int64_t alloc, low, high, writes; } Span_;
/* The last store of a place to a tensor of which some bytes have no value, and the one that went furthest; and all of them, of a launch. */
typedef struct Went_ { int64_t end, number; int32_t row, segment; } Went_;
typedef struct Stored_ { int64_t key, site; Went_ last, furthest; } Stored_;
/* An access to what is shared, by itself, where each is kept (`screen.SHARED`). */
typedef struct Shared_ { int64_t low, high, time, value; int32_t key, segment, site, row, kind, pipe, type, how; } Shared_;
typedef struct Stores_ { int64_t stored, number, unclear, alone, time, pipe, shared, most, many; Stored_ store[MOST_STORED]; int16_t store_at[2 * MOST_STORED]; } Stores_;
/* What a core has done since it has waited for all: an operand of an event in each row.  *met*: two of the events may be in no order; *shared*: on
   bytes of GDRAM; *unclear*: not all of them are here. */
typedef struct Noted_ { int64_t event, site, row, how, alloc, low, size, more, step; } Noted_;
typedef struct Window_ { int64_t many, events, met, shared, unclear, kept, again; Noted_ noted[MOST_NOTED], last[MOST_COMPARED]; } Window_;
typedef struct Again_ { int64_t change, site, times; } Again_; /* a test of values that has failed, and how often it has since */
typedef struct Typed_ { uint64_t address; int32_t dtype, site; uint8_t sample[SAMPLE]; } Typed_; /* of what type vectors wrote last (`engine.values.Types`) */
typedef struct Screen_ { int64_t n[LISTS]; Span_ span[LISTS][MOST_SPANS]; int64_t row; Stores_ *stores; Window_ *window; Again_ again[MOST_AGAIN]; Typed_ typed[MOST_TYPED]; } Screen_; /* *row* is at work */
#define SCREEN_(m) ((Screen_ *)(m)->screen)
#define WINDOW(m) UNLIKELY(SCREEN_(m)->window != 0)
#define PLACE_(m, p) ((int64_t)((p).a - (Alloc *)(m)->allocs))
PART int meets_(const Core *m, int list, int64_t alloc, int64_t low, int64_t high, int writes) {
  const Span_ *s = SCREEN_(m)->span[list], *end = s + SCREEN_(m)->n[list];
  for (; s < end; s++) if (s->alloc == alloc && low < s->high && s->low < high && (writes | s->writes)) return 1;
  return 0;
}
PART void keep_(Core *m, int list, int64_t alloc, int64_t low, int64_t high, int writes) {
  Span_ *first = SCREEN_(m)->span[list];
  int64_t n = SCREEN_(m)->n[list];
  for (Span_ *s = first + n - 1; s >= first; s--)
    if (s->alloc == alloc && s->writes == writes && low <= s->high && s->low <= high) {
      if (low < s->low) s->low = low;
      if (high > s->high) s->high = high;
      return;
    }
  if (n == MOST_SPANS) { /* fewer, wider ones: what lies between counts as touched, too */
    int64_t kept = 0;
    for (int64_t i = 0; i < n; i++) {
      int64_t j = 0;
      while (j < kept && (first[j].alloc != first[i].alloc || first[j].writes != first[i].writes)) j++;
      if (j == kept) { first[kept++] = first[i]; continue; }
      if (first[i].low < first[j].low) first[j].low = first[i].low;
      if (first[i].high > first[j].high) first[j].high = first[i].high;
    }
    if (kept == MOST_SPANS) { suspect_(m, SCREEN_RACE, m->site); return; }
    n = kept;
  }
  first[n] = (Span_){alloc, low, high, writes};
  SCREEN_(m)->n[list] = n + 1;
}
ALWAYS int busy_(const Core *m) { return (SCREEN_(m)->n[IN_IO] | SCREEN_(m)->n[IN_MOVE]) != 0; }
/* An access meets what is not over.  Where a window is kept, Python judges it when it ends; otherwise the run ends here. */
COLD void clashes_(Core *m, int space, int site) {
  Window_ *w = SCREEN_(m)->window;
  if (!w || w->unclear) { suspect_(m, SCREEN_RACE | (w ? 0 : WINDOW_MET), site); return; }
  w->shared |= space == GDRAM;
  if (w->met) return;
  w->met = 1;
  if (SCREEN_(m)->stores->alone) return;
  m->site = site;
  up_(m, UP_SUSPECT, WINDOW_MET, 0);
}
/* Whether the window is the last one again, elsewhere in its memories; off chip that does not count where nothing there is in no order. */
COLD int same_window_(const Core *m, const Window_ *w) {
  if (w->many != w->kept || w->unclear || w->shared) return 0;
  for (int64_t k = 0; k < w->many; k++) {
    const Noted_ *r = w->noted + k, *s = w->last + k;
    if (r->event != s->event || r->site != s->site || r->row != s->row || r->how != s->how || r->alloc != s->alloc || r->size != s->size || r->more != s->more || r->step != s->step) return 0;
    if (r->how & HOW_WAITS || (!w->shared && ((Alloc *)m->allocs)[r->alloc].space == GDRAM)) continue;
    int64_t j = 0;
    while (w->noted[j].alloc != r->alloc || w->noted[j].how & HOW_WAITS) j++;
    if (r->low - s->low != w->noted[j].low - w->last[j].low) return 0;
  }
  return 1;
}
PART void held_(Core *m, int list, At p, int64_t n, int writes, int site) {
  if (SCREEN_(m)->n[list] && meets_(m, list, PLACE_(m, p), p.o, p.o + n, writes)) clashes_(m, p.a->space, site);
}
COLD void window_ends_(Core *m) {
  Window_ *w = SCREEN_(m)->window;
  if (w->met && same_window_(m, w)) w->again++;
  else if (w->met) {
    up_(m, UP_SUSPECT, WINDOW_ENDS, 0);
    w->kept = SCREEN_(m)->stores->alone && !w->shared && w->many <= MOST_COMPARED ? w->many : 0;
    memcpy(w->last, w->noted, (size_t)w->kept * sizeof *w->last);
  }
  w->many = w->events = w->met = w->shared = w->unclear = 0;
}
/* The room for *many* operands of an event, which begins a window where nothing is left of the one before; 0 where there is none. */
PART Noted_ *happens_(Core *m, int many) {
  Window_ *w = SCREEN_(m)->window;
  int64_t held = 0;
  for (int k = 0; k < LISTS; k++) held |= SCREEN_(m)->n[k];
  if (!held && w->many) window_ends_(m);
  if (w->many + many > MOST_NOTED) { w->unclear = 1; return 0; }
  w->events++; w->many += many;
  return w->noted + w->many - many;
}
COLD void noted_(Core *m, int row, int how, At p, int64_t n, int site) {
  Noted_ *r = happens_(m, 1);
  if (r) *r = (Noted_){SCREEN_(m)->window->events, site, row, how, how & HOW_WAITS ? 0 : PLACE_(m, p), p.o, n, -1, 0};
}
PART void over_(Core *m, int lists) { for (int k = 0; k < LISTS; k++) if (lists >> k & 1) SCREEN_(m)->n[k] = 0; }
#define EVERY_LIST ((1 << LISTS) - 1)
/* A wait of *row*, after which the *lists* are over. */
ALWAYS void waits_(Core *m, int row, int lists) {
  if (WINDOW(m)) { if (lists == EVERY_LIST) window_ends_(m); else noted_(m, row, HOW_WAITS, (At){0}, 0, m->site); }
  over_(m, lists);
}

ALWAYS uint32_t spread_(uint32_t a, uint32_t b, uint32_t c) {
  uint64_t h = (a * UINT64_C(0x9e3779b97f4a7c15) ^ b) * UINT64_C(0x9e3779b97f4a7c15);
  h = (h ^ h >> 29 ^ c) * UINT64_C(0xbf58476d1ce4e5b9);
  return (uint32_t)(h >> 32);
}
/* Where the row is that fits, or its place in a table of numbers, which begin with 1; -1 where there is room for no more. */
#define LOOK_UP_(table, at, most, count, hash, fits) ({                                            \
    uint32_t k_ = (hash) & (2 * (most) - 1); int64_t found_ = -1;                                     \
    for (; (at)[k_]; k_ = (k_ + 1) & (2 * (most) - 1)) { const __typeof__(&(table)[0]) r = &(table)[(at)[k_] - 1]; if (fits) { found_ = (at)[k_] - 1; break; } } \
    int new_ = 0;                                                                                 \
    if (found_ < 0 && (count) < (most)) { found_ = (count)++; (at)[k_] = (int16_t)(found_ + 1); new_ = 1; } \
    is_new = new_; found_; })

/* ---- what is shared: rows of low, high, kind, segment of the task, key of the memory; they begin with their number ---- */
enum { READS_, CHANGES_, WRITES_ };
enum { R_LOW, R_HIGH, R_KIND, R_SEGMENT, R_KEY, R_COLUMNS };
#define SHARED(space) ((space) == GDRAM || (space) == SRAM)
PART void stored_(Core *m, int64_t key, int64_t end, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  int is_new;
  int64_t k = LOOK_UP_(t->store, t->store_at, MOST_STORED, t->stored, spread_((uint32_t)key, (uint32_t)site, 0), r->key == key && r->site == site);
  if (k < 0) { t->unclear = 1; return; }
  Stored_ *r = &t->store[k];
  if (is_new) *r = (Stored_){key, site, {0}, {-1, 0, 0, 0}};
  r->last = (Went_){end, ++t->number, (int32_t)SCREEN_(m)->row, (int32_t)m->segment};
  if (end > r->furthest.end) r->furthest = r->last;
}
/* An instruction of *row* begins that may touch what is shared. */
ALWAYS void begins_(Core *m, int row, int pipe) { Stores_ *t = SCREEN_(m)->stores; SCREEN_(m)->row = row; t->pipe = pipe; t->time++; }
COLD void keeps_shared_(Core *m, At p, int64_t n, int kind, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  if (t->many == t->most) suspect_(m, SCREEN_RACE, site);
  ((Shared_ *)t->shared)[t->many++] = (Shared_){p.o, p.o + n, t->time, 0, p.a->key, (int32_t)m->segment, site, (int32_t)SCREEN_(m)->row, kind, (int32_t)t->pipe, 0, 0};
}
/* What the last of them stores, where that is small. */
COLD void valued_(Core *m, int space, int type, const void *value, int64_t n) {
  Stores_ *t = SCREEN_(m)->stores;
  if (!t->shared || !SHARED(space) || n > 8) return;
  Shared_ *r = (Shared_ *)t->shared + t->many - 1;
  r->type = type;
  memcpy(&r->value, value, (size_t)n);
}
/* The last of them is an atomic, on one *word* or not, which others may take for a sign. */
COLD void orders_(Core *m, int space, int word) {
  const Screen_ *s = SCREEN_(m);
  if (!s->stores->shared || !SHARED(space)) return;
  int how = word ? HOW_WORD : 0;
  if (s->n[IN_STORES]) how |= HOW_PENDING;
  for (int list = IN_IO; list <= IN_MOVE; list++)
    for (int64_t k = 0; k < s->n[list]; k++)
      if (SHARED(((Alloc *)m->allocs)[s->span[list][k].alloc].space)) how |= list == IN_IO ? HOW_PENDING : HOW_UNCLEAR;
  ((Shared_ *)s->stores->shared)[s->stores->many - 1].how = how;
}
PART void share_(Core *m, At p, int64_t n, int kind, int site) {
  const int only_read = p.a->last_write < 0; /* by the type of the kernel's parameter */
  if (kind == READS_ && ((only_read && !SCREEN_(m)->stores->shared) || !p.a->writable)) return;
  if (kind != READS_ && UNLIKELY(only_read)) { m->site = site; up_(m, UP_SUSPECT, STORES_CONST, 0); }
  if (kind != READS_ && UNLIKELY(p.a->flags != 0) && p.a->space == GDRAM) stored_(m, p.a->key, p.o + n, site);
  if (UNLIKELY(SCREEN_(m)->stores->shared != 0)) { keeps_shared_(m, p, n, kind, site); return; }
  int64_t *table = (int64_t *)m->records;
  int32_t *last = kind == WRITES_ ? &p.a->last_write : &p.a->last_read;
  const int64_t low = p.o, high = p.o + n;
  if (*last) {
    int64_t *row = table + R_COLUMNS * (int64_t)*last;
    if (row[R_KEY] == p.a->key && row[R_KIND] == kind && row[R_SEGMENT] == m->segment && low <= row[R_HIGH] && row[R_LOW] <= high) {
      if (low < row[R_LOW]) row[R_LOW] = low;
      if (high > row[R_HIGH]) row[R_HIGH] = high;
      return;
    }
  }
  if (table[0] == table[1]) { m->site = site; up_(m, UP_SUSPECT, 0, 0); } /* Python makes room */
  *last = (int32_t)++table[0];
  int64_t *row = table + R_COLUMNS * (int64_t)*last;
  row[R_LOW] = low; row[R_HIGH] = high; row[R_KIND] = kind; row[R_SEGMENT] = m->segment; row[R_KEY] = p.a->key;
}

/* ---- which pointer variable has which part of an on-chip array (`programs.native_parts`) ---- */
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
/* The function is called at *site*; for an argument of the call, whose others are evaluated by then. */
PART void called_(Core *m, int site, int function) {
  Parts_ *t = PARTS(m);
  const int32_t outer = m->context;
  int is_new;
  int64_t k = LOOK_UP_(t->context, t->context_at, MOST_CONTEXTS, t->contexts, spread_(outer, site, function),
                       r->outer == outer && r->site == site && r->function == function);
  if (k < 0) { t->doubt = 1; return; }
  if (is_new) t->context[k] = (Context_){outer, site, function, 0};
  m->context = (int32_t)k + 1;
}
ALWAYS Core *entered_(Core *m, int site, int function) { if (FOLLOWS(m)) called_(m, site, function); return m; }
/* The pointer variable *local* holds *v* at *site*, where it is used, and what it is computed from *before*. */
PART void keeps_(Core *m, int site, int local, Ptr v, Ptr before) {
  Parts_ *t = PARTS(m);
  const int32_t context = m->context;
  if (!ON_CHIP(see(m, v).a->space)) return;
  int is_new;
  int64_t k = LOOK_UP_(t->keep, t->kept_at, MOST_KEPT, t->kept, spread_(context, local, site), r->context == context && r->local == local && r->site == site);
  if (k < 0) { t->doubt = 1; return; }
  if (is_new) t->keep[k] = (Kept_){context, local, site, 0, v, 0};
  else if (t->keep[k].first != v) t->keep[k].moved |= number_(t->keep[k].first) == number_(v) ? MOVED_ : ELSEWHERE_;
  if (before != v) t->keep[k].moved |= APART_;
}
/* The same in C as `memory.footprint`: who wrote each byte last, whose it was before, and where; of row *k* of what is touched.
   Python looks at what is read of bytes that another part wrote. */
PART void written_(Core *m, int64_t k, int64_t alloc, int64_t low, int64_t size, int64_t more, int64_t step, int kind, int site) {
  Parts_ *t = PARTS(m);
  const int64_t all = ((Alloc *)m->allocs)[alloc].nbytes;
  uint16_t *last = ((uint16_t **)t->bytes)[alloc];
  if (k >= t->known || !last) { t->doubt = 1; return; }
  const int32_t *first = (int32_t *)t->first + k;
  const Choice_ *c = (Choice_ *)t->choices + first[0], *end = (Choice_ *)t->choices + first[1], *chosen = end - 1;
  for (; c < end && c->offset <= low; c++) chosen = c;
  const uint16_t who = (uint16_t)chosen->part;
  uint16_t *lost = last + all;
  int32_t *where = (int32_t *)(lost + all);
  unsigned gone = 0;
  for (int64_t j = 0; j <= more; j++) {
    const int64_t from = low + j * step;
    uint16_t *const l = last + from, *const o = lost + from;
    if (kind == READS_) { for (int64_t i = 0; i < size; i++) gone |= (unsigned)(o[i] == who) & (unsigned)(l[i] != who); continue; }
    for (int64_t i = 0; i < size; i++) { const uint16_t was = l[i]; o[i] = was == who ? o[i] : was; l[i] = who; }
    for (int64_t i = 0; i < size; i++) where[from + i] = site;
  }
  if (LIKELY(!gone)) return;
  t->alloc = alloc; t->low = low; t->size = size; t->more = more; t->step = step; t->part = who;
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_PARTS, 0);
}
/* *size* bytes at *low*, and *more* times at distances of *step*, by argument *given* of *row*, which is -1 of a scalar access. */
PART void touched_(Core *m, int64_t alloc, int64_t low, int64_t size, int64_t more, int64_t step, int row, int given, int kind, int site) {
  Parts_ *t = PARTS(m);
  const int32_t context = m->context;
  const int64_t high = low + more * step + size;
  int is_new;
  int64_t k = LOOK_UP_(t->touch, t->touched_at, MOST_TOUCHED, t->touched, spread_(context * 64 + given, site * 1024 + row, (uint32_t)alloc * 2 + kind),
                       r->context == context && r->site == site && r->row == row && r->given == given && r->alloc == alloc && r->kind == kind);
  if (k < 0) { t->doubt = 1; return; }
  if (t->bytes) written_(m, k, alloc, low, size, more, step, kind, site);
  Touched_ *r = &t->touch[k];
  if (is_new) *r = (Touched_){context, site, row, given, (int32_t)alloc, kind, 0, 0, {{0}}};
  int64_t n = r->many;
  for (int64_t j = n - 1; j >= 0; j--)
    if (low <= r->span[j][1] && r->span[j][0] <= high) {
      if (low < r->span[j][0]) r->span[j][0] = low;
      if (high > r->span[j][1]) r->span[j][1] = high;
      return;
    }
  if (n < MOST_PIECES) { r->span[n][0] = low; r->span[n][1] = high; r->many++; return; }
  if (low < r->span[n - 1][0]) r->span[n - 1][0] = low; /* what lies between counts as touched, too */
  if (high > r->span[n - 1][1]) r->span[n - 1][1] = high;
}
/* What an instruction touches, *more* pieces beyond the first, by argument *given*.
   It is the one at *place* among the row's; with *shaped* it has distances, even if there is one piece. */
typedef struct Operand_ { At at; int64_t bytes, more, step; int given, reads, writes, place, shaped; } Operand_;
#define HEARS(m) UNLIKELY((m)->hears) /* parts, or a window, are kept */
PART void operands_(Core *m, int many, const Operand_ *o, int row, int how, int site) {
  Noted_ *r = WINDOW(m) ? happens_(m, many) : 0;
  if (r) for (int k = 0; k < many; k++)
    r[k] = (Noted_){SCREEN_(m)->window->events, site, row, how | o[k].reads * HOW_READS | o[k].writes * HOW_WRITES | o[k].place * HOW_PLACE,
                    PLACE_(m, o[k].at), o[k].at.o, o[k].bytes, o[k].shaped ? o[k].more : -1, o[k].more ? o[k].step : 0};
  if (!FOLLOWS(m)) return;
  for (int kind = READS_; kind <= WRITES_; kind += WRITES_ - READS_) /* it reads all before it writes */
    for (int k = 0; k < many; k++) {
      if (!(kind == READS_ ? o[k].reads : o[k].writes) || !ON_CHIP(o[k].at.a->space)) continue;
      touched_(m, PLACE_(m, o[k].at), o[k].at.o, o[k].bytes, o[k].more, o[k].step, row, o[k].given, kind, site);
    }
}
ALWAYS void element_(Core *m, At p, int64_t n, int kind, int site) {
  if (FOLLOWS(m) && ON_CHIP(p.a->space)) touched_(m, PLACE_(m, p), p.o, n, 0, 0, -1, -1, kind == READS_ ? READS_ : WRITES_, site);
}

/* ---- who does what ---- */
/* An operand of the vector unit. */
ALWAYS void computes_(Core *m, At p, int64_t n, int kind, int site) {
  if (!(m->screens & SCREEN_RACE)) return;
  if (UNLIKELY(busy_(m))) { held_(m, IN_IO, p, n, kind, site); held_(m, IN_MOVE, p, n, kind, site); }
#ifdef ASYNCHRONOUS
  keep_(m, IN_COMPUTE, PLACE_(m, p), p.o, p.o + n, kind != READS_);
#endif
}
/* A scalar access. */
ALWAYS void accesses_(Core *m, At p, int64_t n, int kind, int site) {
  if (UNLIKELY((p.a->address + (uint64_t)p.o) & (uint64_t)(n - 1)) || UNLIKELY(p.a->space == WRAM || (m->memory_core && p.a->space == NRAM)))
    suspect_(m, SCREEN_MEMORY, site);
  if (kind == READS_) { if (UNLIKELY(lacks_(p, n))) suspect_(m, SCREEN_INIT, site); }
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
/* The same of a variable that has an address, of which there are flags where it is declared without a value. */
ALWAYS void looks_(Core *m, At p, int64_t n, int kind, int site) {
  element_(m, p, n, kind, site);
  if (LIKELY(p.a->space < SPACES)) accesses_(m, p, n, kind, site);
  else if (UNLIKELY(p.a->flags != 0)) {
    if (kind != READS_) memset(FLAGS_(p), 0, (size_t)n);
    else if (any_(FLAGS_(p), n)) suspect_(m, SCREEN_INIT, site);
  }
}
/* The flags of such a variable, which say nothing before its declaration is met. */
PART uint8_t *flagged_(Core *m, Ptr p, int64_t size) {
  At q = see(m, p);
  q.a->flags = (uint8_t *)m->cell_flags + ((uint8_t *)q.a->raw - (uint8_t *)m->cells);
  memset(q.a->flags, 0, (size_t)size);
  return (uint8_t *)q.a->flags;
}
/* Rows of bytes that are shared, each by itself. */
PART void shares_rows_(Core *m, At p, int64_t n, int64_t rows, int64_t step, int kind, int site) {
  if (!SHARED(p.a->space) || !(m->screens & SCREEN_RACE)) return;
  for (int64_t k = 0; k < rows; k++) share_(m, (At){p.a, p.o + (step < 0 ? rows - 1 - k : k) * step}, n, kind, site); /* from the first byte on */
}
/* An operand of a copy, a fill or an atomic on *pipe* that waits for its end, *more* rows beyond the first; `blocked_` follows its last one. */
ALWAYS void blocks_(Core *m, At p, int64_t n, int64_t more, int64_t step, int kind, int pipe, int site) {
  if (!(m->screens & SCREEN_RACE)) return;
  held_(m, pipe == P_IO ? IN_MOVE : IN_IO, p, more * step + n, kind, site);
  held_(m, IN_STORES, p, more * step + n, kind, site);
  shares_rows_(m, p, n, more + 1, step, kind, site);
}
ALWAYS void blocked_(Core *m, int pipe) { over_(m, 1 << (pipe == P_IO ? IN_IO : IN_MOVE) | 1 << IN_COMPUTE | 1 << IN_SCALAR); }
/* An operand of an asynchronous copy on *pipe*. */
PART void flies_(Core *m, At p, int64_t n, int kind, int pipe, int site) {
  if (!(m->screens & SCREEN_RACE)) return;
  for (int list = 0; list < LISTS; list++) if (list != (pipe == P_IO ? IN_IO : IN_MOVE)) held_(m, list, p, n, kind, site);
}
/* A copy that waits for its end. */
PART void copies_(Core *m, int row, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int shaped, int pipe, int site) {
  if (HEARS(m)) operands_(m, 2, (Operand_[]){{d, n, rows - 1, ts, 0, 0, 1, 0, shaped}, {s, n, rows - 1, fs, 1, 1, 0, 1, shaped}}, row, HOW_PIPE * pipe, site);
  if (!(m->screens & SCREEN_RACE)) return;
  held_(m, pipe == P_IO ? IN_MOVE : IN_IO, s, (rows - 1) * fs + n, READS_, site);
  held_(m, pipe == P_IO ? IN_MOVE : IN_IO, d, (rows - 1) * ts + n, WRITES_, site);
  held_(m, IN_STORES, s, (rows - 1) * fs + n, READS_, site);
  held_(m, IN_STORES, d, (rows - 1) * ts + n, WRITES_, site);
  blocked_(m, pipe);
  begins_(m, row, pipe);
  shares_rows_(m, d, n, rows, ts, WRITES_, site);
  if (HEARS(m) && !shaped) valued_(m, d.a->space, TYPE_BYTES, (const uint8_t *)s.a->raw + s.o, n);
  shares_rows_(m, s, n, rows, fs, READS_, site);
}
/* One that does not. */
PART void copy_flies_(Core *m, int row, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int shaped, int pipe, int site) {
  if (HEARS(m)) operands_(m, 2, (Operand_[]){{d, n, rows - 1, ts, 0, 0, 1, 0, shaped}, {s, n, rows - 1, fs, 1, 1, 0, 1, shaped}}, row, HOW_PIPE * pipe | HOW_FLIES, site);
  if (!(m->screens & SCREEN_RACE)) return;
  flies_(m, s, (rows - 1) * fs + n, READS_, pipe, site);
  flies_(m, d, (rows - 1) * ts + n, WRITES_, pipe, site);
  keep_(m, pipe == P_IO ? IN_IO : IN_MOVE, PLACE_(m, s), s.o, s.o + (rows - 1) * fs + n, 0);
  keep_(m, pipe == P_IO ? IN_IO : IN_MOVE, PLACE_(m, d), d.o, d.o + (rows - 1) * ts + n, 1);
  begins_(m, row, pipe);
  if (UNLIKELY(d.a->flags != 0) && !SCREEN_(m)->stores->alone) SCREEN_(m)->stores->unclear = 1; /* others may land in between */
  shares_rows_(m, d, n, rows, ts, WRITES_, site);
  if (HEARS(m) && !shaped) valued_(m, d.a->space, TYPE_BYTES, (const uint8_t *)s.a->raw + s.o, n);
  shares_rows_(m, s, n, rows, fs, READS_, site);
}

/* ---- numbers that C changes without a word: Python keeps which, and of what ---- */
/* Whether *change*, which is no 0, is counted here because it has been at *site* before. */
COLD int counted_(Core *m, int64_t change, int site) {
  Again_ *again = &SCREEN_(m)->again[(change ^ site) & (MOST_AGAIN - 1)];
  if (again->change == change && again->site == site) { again->times++; return 1; }
  if (!again->change) *again = (Again_){change, site, 0};
  return 0;
}
COLD void changed_(Core *m, int change, Argument a, Argument b, int site) {
  if (!(m->screens & SCREEN_VALUE) || counted_(m, change + 1, site)) return;
  m->argv[0] = a; m->argv[1] = b;
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_VALUE, change + 1);
}
#define NUMBER_(z) ((__typeof__(z))-1 > 0 ? a_unsigned((int64_t)(z), -1) : a_integer((int64_t)(z), -1))
/* ``a op b`` as a *T*; a number that does not fit is changed.  An operand stands once in the text: twice would double it at each level. */
#define FITS_(T, op, a, b, change, site) ({ T z_; const __auto_type x_ = (a); const __auto_type y_ = (b); if (UNLIKELY(__builtin_##op##_overflow(x_, y_, &z_))) changed_(m, change, NUMBER_(x_), NUMBER_(y_), site); z_; })
/* The count of a shift of *bits* bits. */
#define SHIFT_(a, bits, change, site) ({ const __auto_type z_ = (a); if (UNLIKELY((uint64_t)(int64_t)z_ >= (uint64_t)(bits))) changed_(m, change, NUMBER_(z_), a_integer(0, -1), site); z_; })
/* A float that an integer type holds once its fraction is cut off. */
#define WITHIN_(T, a, inside, change, site) ({ T z_ = (a); if (UNLIKELY(!(inside))) changed_(m, change, a_float(z_, -1), a_float(0, -1), site); z_; })
/* A number of the type *T*, of which *half* is made of z_. */
#define HALF_(T, a, half, change, site) ({ const T z_ = (a); const f16 h_ = (half); if (UNLIKELY((h_ & 0x7fff) == 0x7c00) && z_ - z_ == 0) changed_(m, change, a_float((double)z_, -1), a_float(0, -1), site); h_; })
/* ``a op b`` as a float, which may be an infinity or a NaN of finite numbers. */
#define FLOAT_(T, op, a, b, change, site) ({ const T x_ = (a), y_ = (b); const float z_ = (float)(x_ op y_); if (UNLIKELY(z_ - z_ != 0) && x_ - x_ == 0 && y_ - y_ == 0) changed_(m, change, a_float((double)x_, -1), a_float((double)y_, -1), site); z_; })
/* ---- a variable to which nothing has been assigned ---- */
#define ASSIGNED_(unset, v, site) ({ if (UNLIKELY(unset)) suspect_(m, SCREEN_INIT, site); (v); })

/* ---- what vectors do to numbers (`engine.values`): Python says what it was ---- */
#define VECTORS(m) ((m)->screens & SCREEN_VECTORS)
/* Whether floats of W bytes are not all finite; the bits of their exponent are *ones*.  Where all are set, the lowest one carries into the sign. */
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
PART int odd_rows_(At p, int64_t n, int64_t more, int64_t step, int size, uint32_t ones) {
  int odd = 0;
  for (int64_t k = 0; k <= more; k++) odd |= odd_(at(p) + k * step, n, size, ones);
  return odd;
}
ALWAYS int overlap_(At a, int64_t n, At b, int64_t k) { return a.a == b.a && a.o < b.o + k && b.o < a.o + n; }
ALWAYS int is_odd_(double x) { return !(x - x == 0); }
COLD void made_(Core *m, int row, int rule, int many, int site) {
  if (counted_(m, MADE_ + RULES_ * (int64_t)row + rule, site)) return;
  m->argc = many;
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_VECTORS, RULES_ * row + rule + 1);
}
COLD void returned_(Core *m, int row, double value, int site) {
  m->argv[0] = a_integer(0, -1); m->argv[1] = a_float(value, -1);
  made_(m, row, 0, 2, site);
}
/* The first float of a result, whose type has the number *dtype*, that is not finite. */
COLD void not_finite_(Core *m, int row, At p, int64_t n, int64_t more, int64_t step, int size, uint32_t ones, int dtype, int site) {
  for (int64_t k = 0; k <= more; k++) for (int64_t i = 0; i < n; i += size) {
    const uint8_t *one = at(p) + k * step + i;
    if (!odd_(one, size, size, ones)) continue;
    uint32_t bits = 0;
    memcpy(&bits, one, (size_t)size);
    const int nan = (bits & (ones & -ones) - 1) != 0, negative = bits >> (8 * size - 1);
    m->argv[0] = a_integer((k * n + i) / size, -1);
    m->argv[1] = a_float(nan ? NAN : negative ? -INFINITY : INFINITY, dtype);
    made_(m, row, 0, 2, site);
    return;
  }
}
/* The first integer that does not fit, made of three numbers of the type *dtype* by the operation *op* of the row. */
COLD void wraps_(Core *m, int row, int64_t index, int64_t a, int64_t b, int64_t c, int64_t op, int dtype, int site) {
  m->argv[0] = a_integer(index, dtype); m->argv[1] = a_integer(a, -1); m->argv[2] = a_integer(b, -1);
  m->argv[3] = a_integer(c, -1); m->argv[4] = a_integer(op, -1);
  made_(m, row, 1, 5, site);
}
/* The type of bytes: *how* is its size, and 256 more of floats. */
ALWAYS Typed_ *typed_(const Core *m, At p) { return &SCREEN_(m)->typed[(uint32_t)((uint32_t)((p.a->address + (uint64_t)p.o) >> 5) * 0x9E3779B1u) >> 16 & (MOST_TYPED - 1)]; }
PART void wrote_(Core *m, At p, int64_t n, int dtype, int how, int site) {
  if (n < SAMPLE || p.a->space != NRAM) return;
  Typed_ *t = typed_(m, p);
  *t = (Typed_){p.a->address + (uint64_t)p.o, dtype | how << 8, site, {0}};
  memcpy(t->sample, at(p), SAMPLE);
}
COLD void retyped_(Core *m, int row, const Typed_ *t, int size, uint32_t ones, int dtype, int site) {
  uint8_t any = 0;
  for (int i = 0; i < SAMPLE; i++) any |= t->sample[i];
  if (!any) return;
  if (!(t->dtype >> 16) && (t->dtype >> 8 & 255) == size)
    for (int i = 0; i < SAMPLE; i += size) { uint32_t w = 0; memcpy(&w, t->sample + i, (size_t)size); if (w & ones) return; }
  m->argv[0] = a_integer(t->dtype & 255, -1); m->argv[1] = a_integer(dtype, -1); m->argv[2] = a_integer(t->site, -1);
  made_(m, row, 2, 3, site);
}
/* Floats are read, which may have been written as another type. */
PART void read_as_(Core *m, int row, At p, int64_t n, int size, uint32_t ones, int dtype, int site) {
  if (n < SAMPLE || p.a->space != NRAM) return;
  const Typed_ *t = typed_(m, p);
  if (t->address != p.a->address + (uint64_t)p.o || (t->dtype & 255) == dtype || memcmp(t->sample, at(p), SAMPLE)) return;
  retyped_(m, row, t, size, ones, dtype, site);
}
