/* The functions declared in core.h: calls of Python, the log, effects in flight, barriers, polling. */
/* Let Python execute a row; the result is returned in argv[0]. */
Argument row_up(Core *m, int row, int site, int n, const Argument *given) {
  for (int i = 0; i < n; i++) m->argv[i] = given[i];
  m->argc = n; m->site = site;
  up_(m, UP_ROW, row, 0);
  return m->argv[0];
}
NOTED_(Argument row_up_noted_(Core *m, int row, int site, int place, int idle, int n, const Argument *given) {
  const int plain = place >= 0 && place < n && given[place].dtype < 0;
  const int64_t lanes = !plain ? 0 : given[place].kind == IS_DIRECTION ? -1 - (int64_t)given[place].bits : given[place].kind == IS_INTEGER ? (int64_t)given[place].bits : 0;
  if (!(idle && m->memory_core)) begins_(m, site, row, lanes);
  return row_up(m, row, site, n, given);
})
Argument library_up(Core *m, int name, int site, int n, const Argument *given) {
  for (int i = 0; i < n; i++) m->argv[i] = given[i];
  m->argc = n; m->site = site;
  up_(m, UP_LIBRARY, name, 0);
  return m->argv[0];
}
/* Called by loops and calls at intervals, so that Python handles signals; sooner if instructions are long. */
void tick_(Core *m, int site) { m->fuel = FUEL; m->site = site; call_(m, m->look); }
/* Of a memory that is poison when a task begins, FIRST_POISON bytes are filled, and four times as many at each request for more. */
PART void poison_(Alloc *a, int64_t nbytes, int at_once) {
  a->nbytes = at_once || nbytes < 2 * FIRST_POISON ? nbytes : FIRST_POISON;
  memset(a->raw, POISON, (size_t)a->nbytes);
}
PART int more_(Alloc *a, int64_t nbytes) {
  const int64_t before = a->nbytes;
  if (!before || before >= nbytes) return 0;
  a->nbytes = smaller_(4 * before, nbytes);
  memset((uint8_t *)a->raw + before, POISON, (size_t)(a->nbytes - before));
  return 1;
}
int deepen_(Core *m) {
  const Chain *c = (const Chain *)m->chain;
  Alloc *a = (Alloc *)m->allocs;
  int more = pay_(m);
  if (!c || more) return more;
  for (int64_t k = 0; k < c->poisoned; k++) {
    const int64_t *piece = (const int64_t *)c->pieces + P_COLUMNS * k;
    if (piece[P_NUMBER]) more |= more_(a + piece[P_NUMBER], piece[P_BYTES]);
  }
  for (int64_t k = 0; k < c->met; k++) {
    const int64_t *array = (const int64_t *)c->arrays + A_COLUMNS * k;
    more |= more_(a + number_((Ptr)array[A_WORD]), array[A_NBYTES]);
  }
  return more;
}
int reach_(Core *m, int64_t n, int many, const Ptr *p, const int *size) {
  int more = 0;
  for (int k = 0; k < many; k++)
    for (; out(see(m, p[k]), times_(n, size[k])); more = 1) if (!deepen_(m)) return 0;
  return more;
}
void owe_(Core *m, At to, int64_t n) {
  pay_(m);
  m->owed = to.a - (Alloc *)m->allocs; m->owed_at = to.o; m->owed_bytes = n; m->owed_of = to.a->nbytes;
  to.a->nbytes = to.o;
}
/* Store the zeros that are owed; return 0 if none are. */
int pay_(Core *m) {
  if (!m->owed) return 0;
  Alloc *a = (Alloc *)m->allocs + m->owed;
  a->nbytes = m->owed_of; m->owed = 0;
  memset((uint8_t *)a->raw + m->owed_at, 0, (size_t)m->owed_bytes);
  return 1;
}
/* Let a copy see the memory for which zeros are owed; return 0 if it is not a load into it. */
int lend_(Core *m, int dst, int src, Ptr to) {
  if (!m->owed || m->owed != number_(to) || FAR(dst) || !FAR(src)) return 0;
  ((Alloc *)m->allocs)[m->owed].nbytes = m->owed_of;
  return 1;
}
/* Store the zeros that are owed, but not where *rows* rows of *n* bytes are about to be stored, from byte *o* on. */
void pay_around_(Core *m, int64_t o, int64_t stride, int64_t n, int64_t rows) {
  if (!m->owed) return;
  uint8_t *raw = ((Alloc *)m->allocs)[m->owed].raw;
  int64_t from = m->owed_at;
  const int64_t to = from + m->owed_bytes;
  for (m->owed = 0; from < to; o += stride) {
    const int64_t end = rows-- > 0 && o < to ? o : to;
    if (end > from) memset(raw + from, 0, (size_t)(end - from));
    from = larger_(from, end == to ? to : o + n);
  }
}
/* The memory of an array of a function. The tasks of a chain usually make the declarations of the first, in the same order and so at the same
   addresses; Python gets them when it is called for another reason (machine/native/chain.py). */
Ptr declared_(Core *m, int name, int site, int64_t place) {
  Chain *c = (Chain *)m->chain;
  pay_(m);
  if (c && c->met < c->known) {
    const int64_t *row = (const int64_t *)c->arrays + A_COLUMNS * c->met;
    if (row[A_PLACE] == place && row[A_SITE] == site) {
      Alloc *a = (Alloc *)m->allocs + number_((Ptr)row[A_WORD]);
      a->nbytes = row[A_NBYTES]; a->writable = 1;
      if (row[A_FILL] == POISON) poison_(a, row[A_NBYTES], ALL_AT_ONCE);
      else if (row[A_FILL] >= 0) memset((void *)(uintptr_t)row[A_RAW], (int)row[A_FILL], (size_t)row[A_NBYTES]);
      c->met++;
      return (Ptr)row[A_WORD];
    }
  }
  return (Ptr)CALL_UP(m, name, site, a_integer(place, -1)).bits;
}
/* Store the rows of a full log: the first one, after the bits of the columns in which others differ, and these columns of all rows. */
PART void pack_(Core *m) {
  _Static_assert(COLUMNS < 64, "a word has a bit for each column");
  const int64_t *first = (const int64_t *)m->log;
  int64_t differ[COLUMNS] = {0}, *out = (int64_t *)m->packed + m->packed_words, *bits = out++;
  for (int64_t i = 1; i < LOG_ROWS; i++) for (int k = 0; k < COLUMNS; k++) differ[k] |= first[COLUMNS * i + k] ^ first[k];
  memcpy(out, first, sizeof(int64_t) * COLUMNS);
  out += COLUMNS; *bits = 0;
  for (int k = 0; k < COLUMNS; k++) {
    if (!differ[k]) continue;
    *bits |= INT64_C(1) << k;
    for (int64_t i = 0; i < LOG_ROWS; i++) *out++ = first[COLUMNS * i + k];
  }
  m->packed_words = out - (int64_t *)m->packed; m->packed_rows += LOG_ROWS;
}
/* Make room in a full log: that of a team which C runs is packed while Python gives space for it; the rows of any other are for Python. */
PART void full_(Core *m) {
  const Team *t = m->chain ? (const Team *)((const Chain *)m->chain)->team : 0;
  const int alone = t && !t->called;
  if (alone && m->packed_words + PACKED > m->packed_room) call_(m, t->longer);
  if (alone && m->packed_words + PACKED <= m->packed_room) pack_(m);
  else up_(m, UP_LOG, 0, 0);
  m->nlog = 0;
}
void note_(Core *m, int kind, int64_t argument, int64_t l0, int64_t l1, int64_t l2, int64_t l3, int64_t l4) {
  if (!m->timing) return;
  NOTED_(owns_(m, kind, (const int64_t[]){l0, l1, l2, l3, l4});)
  int64_t *r = (int64_t *)m->log + (int64_t)COLUMNS * m->nlog++;
  r[0] = kind; r[1] = argument; r[2] = l0; r[3] = l1; r[4] = l2; r[5] = l3; r[6] = l4;
  memcpy(r + LOG_SUMS, m->work, sizeof(int64_t) * (COLUMNS - LOG_SUMS));
  if (m->nlog == LOG_ROWS) full_(m);
}
/* Record the loads of a task before its first computation: see mlusim/time/quantities.py. */
void head_ends_(Core *m) {
  m->head_transactions += m->work[W_TRANSACTIONS];
  m->head_transfers += (int)m->work[W_IO_STARTS];
  m->pending &= ~OPENING;
}
void head_settles_(Core *m) {
  int begun = m->work[W_TRANSACTIONS] || m->head_transactions;
  if (begun && (m->work[W_VECTOR] || m->work[W_TENSOR_CYCLES] || m->work[W_IO_STARTS] >= LONGEST)) head_ends_(m);
}
/* Copies between GDRAM and on-chip memories: lines of the host's caches are prefetched before they are read, and large pieces are written past the
   caches, since a line that is written completely need not be read first. */
enum { FETCHED_ROWS = 2, AT_ONCE = 8, EXPECTED = 1 << 18 /* the most bytes of a load that are prefetched before it */ };
/* Return *p*, but later: a processor that meets prefetches as fast as it decodes them has more in transit than it can, and drops some or lets
   stores wait. Two products for each line leave it time for what memory delivers meanwhile. */
ALWAYS uint64_t later_(uint64_t p) {
  uint64_t one = 1;
  for (int k = 0; k < 2; k++) { __asm__ volatile("" : "+r"(one), "+r"(p)); p *= one; }
  return p;
}
/* Write *n* bytes past the caches, and meanwhile prefetch *ahead* bytes at *next*. */
PART void put_past_(uint8_t *t, const uint8_t *s, int64_t n, uint64_t next, int64_t ahead) {
  int64_t i = smaller_(-(int64_t)(uintptr_t)t & (HOST_LINE - 1), n);
  memcpy(t, s, (size_t)i);
  for (; i + HOST_LINE <= smaller_(n, ahead); i += HOST_LINE) {
    FETCH_((const void *)(uintptr_t)next);
    next = later_(next) + HOST_LINE;
    line_past_(t + i, s + i);
  }
  for (; i + HOST_LINE <= n; i += HOST_LINE) line_past_(t + i, s + i);
  memcpy(t + i, s + i, (size_t)(n - i));
}
/* Note a load: the next one is expected where the task before went on from the same load, if that was right for this one; otherwise a step behind it,
   as two loads in a row were, until two in a row are not. */
PART void expect_(Core *m, const uint8_t *s, int64_t fs, int64_t n, int64_t rows) {
  const int64_t apart = (int64_t)((uint64_t)(uintptr_t)s - m->loaded);
  if (apart == m->step) m->missed = 0;
  else if (apart == m->apart) { m->step = apart; m->missed = 0; }
  else if (m->missed++) m->step = 0;
  const int64_t nth = m->nloads++;
  if (m->guess) m->sure = m->guess == (uint64_t)(uintptr_t)s;
  m->guess = nth + 1 < m->npast ? (uint64_t)(uintptr_t)s + m->past[nth + 1] - m->past[nth] : 0;
  if (m->guess) m->guess_rows = m->past_rows[nth + 1];
  if (nth < LOADS) { m->past[nth] = (uint64_t)(uintptr_t)s; m->past_rows[nth] = rows; }
  m->apart = apart; m->loaded = (uint64_t)(uintptr_t)s; m->loaded_size = n; m->loaded_rows = rows; m->loaded_stride = fs;
}
/* Write rows past the caches, and meanwhile prefetch those of the expected load, if any; its address need not exist. */
PART void put_rows_past_(const Core *m, uint8_t *t, int64_t ts, const uint8_t *s, int64_t fs, int64_t n, int64_t rows) {
  const int sure = m->sure && m->guess;
  const uint64_t next = sure ? m->guess : m->loaded + (uint64_t)m->step;
  const int64_t most = sure ? m->guess_rows : m->loaded_rows, expected = (sure || m->step) && m->loaded_size * most <= EXPECTED ? most : 0;
  for (int64_t k = 0; k < rows; k++)
    put_past_(t + k * ts, s + k * fs, n, next + (uint64_t)(k * m->loaded_stride), k < expected ? m->loaded_size : 0);
}
ALWAYS void move_line_(uint8_t *t, const uint8_t *s) {
  for (int k = 0; k < HOST_LINE; k += HALF_) { W4_ w; memcpy(&w, s + k, HALF_); memcpy(t + k, &w, HALF_); }
}
PART void fetch_(uint8_t *t, const uint8_t *s, int64_t n) {
  /* A long copy moves four parts at once, on separate pages, so that more lines are in transit. */
  const int64_t part = n >= 4 * AHEAD ? n / 4 & -(int64_t)HOST_LINE : 0;
  int64_t i = 0;
  for (; i < part; i += HOST_LINE) for (int k = 0; k < 4; k++) { FETCH_(s + k * part + i + FETCHED); move_line_(t + k * part + i, s + k * part + i); }
  for (i = 4 * part; i + HOST_LINE <= n; i += HOST_LINE) { FETCH_(s + i + FETCHED); move_line_(t + i, s + i); }
  memcpy(t + i, s + i, (size_t)(n - i));
}
/* Load rows shorter than AHEAD, a line of each of some in turn: the host's own prefetching goes on along all of them. */
PART void gather_(uint8_t *t, int64_t ts, const uint8_t *s, int64_t fs, int64_t n, int64_t rows) {
  const int64_t whole = n & -(int64_t)HOST_LINE;
  for (; rows > 0; rows -= AT_ONCE, t += AT_ONCE * ts, s += AT_ONCE * fs) {
    const int64_t some = smaller_(rows, AT_ONCE);
    for (int64_t i = 0; i < whole; i += HOST_LINE) for (int64_t k = 0; k < some; k++) move_line_(t + k * ts + i, s + k * fs + i);
    for (int64_t k = 0; k < some; k++) memcpy(t + k * ts + whole, s + k * fs + whole, (size_t)(n - whole));
  }
}
void carry_far_(Core *m, int dst, int src, uint8_t *t, int64_t ts, const uint8_t *s, int64_t fs, int64_t n, int64_t rows) {
  if (STREAMS && dst == GDRAM && n * rows >= STREAMED) {
    put_rows_past_(m, t, ts, s, fs, n, rows);
    return;
  }
  if (FAR(src)) expect_(m, s, fs, n, rows);
  if (FAR(src) && rows > 1 && n < AHEAD) { gather_(t, ts, s, fs, n, rows); return; }
  const int64_t head = FAR(src) ? smaller_(n, AHEAD) : 0;
  for (int64_t k = 0; k < smaller_(rows, FETCHED_ROWS); k++) for (int64_t i = 0; i < head; i += HOST_LINE) FETCH_(s + k * fs + i);
  for (int64_t k = 0; k < rows; k++, t += ts, s += fs) {
    if (k + FETCHED_ROWS < rows) for (int64_t i = 0; i < head; i += HOST_LINE) FETCH_(s + FETCHED_ROWS * fs + i);
    if (head && n >= AHEAD) fetch_(t, s, n); else memcpy(t, s, (size_t)n);
  }
}
void land_(Core *m, const Flight *f) {
  if (!f->rows) return;
  if (f->number >= 0) { up_(m, UP_LAND, f->number, 0); return; }
  const Alloc *dst = (Alloc *)m->allocs + f->dst, *src = (Alloc *)m->allocs + f->src;
  uint8_t *d = (uint8_t *)dst->raw + f->to, *s = (uint8_t *)src->raw + f->frm;
  SCREENED_(flags_move_(m, (At){(Alloc *)dst, f->to}, (At){(Alloc *)src, f->frm}, f->size, f->rows, f->to_stride, f->from_stride, 1, f->site);)
  carry_rows_(m, dst->space, src->space, d, f->to_stride, s, f->from_stride, f->size, f->rows);
}
void drain_(Core *m, int pipes) {
  int keep = 0;
  for (int i = 0; i < m->nflights; i++) {
    Flight f = ((Flight *)m->flights)[i];
    if (f.pipe & pipes) land_(m, &f); else ((Flight *)m->flights)[keep++] = f;
  }
  m->nflights = keep;
}
void settle_now_(Core *m, int pipe) {
  if (m->pending & OPENING) head_settles_(m);
  if (m->pending & FOR_ALL) { await_(m, pipe); if (m->nflights) drain_(m, pipe); }
}
void land_inside_(Core *m) {
  Flight *f = (Flight *)m->flights, *last = f + m->nflights - 1;
  for (; f < last; f++) if (f->pipe == P_MOVE && f->rows) return;
  land_(m, last);
  last->rows = 0;
}
void fly_(Core *m, Flight f, int64_t l0, int64_t l1, int64_t l2, int64_t l3, int64_t l4) {
  if (m->fence) { m->fence = 0; note_(m, K_WAIT, FOR_COMPUTE, 0, 0, 0, 0, 0); }
  note_(m, f.pipe == P_IO ? K_IO : K_MOVE, 0, l0, l1, l2, l3, l4);
  m->pending |= f.pipe;
  if (m->pending & OPENING) { m->head_transactions += l0 - l2; if (l0 > l2 && !m->head_transfers) m->head_transfers = 1; }
  if (m->nflights == m->most_flights) up_(m, UP_GROW, 0, 0);
  ((Flight *)m->flights)[m->nflights++] = f;
  if (!m->late) drain_(m, f.pipe);
  else if (m->compiled && inside_(m, &f)) land_inside_(m);
}
/* Called after an atomic for which other tasks may wait. */
void atomic_step_(Core *m, int unchanged) { if (unchanged || !team_pauses_(m)) up_(m, UP_ATOMIC, unchanged, 0); }
/* A barrier: wait for the core's own pipes, then for the other cores; Python knows the cores, and the number of the meeting. */
void meet_(Core *m, int row, int site, int passes) {
  NOTED_(begins_(m, site, row, 0);)
  m->counts[row]++;
  if (passes) return;
  await_(m, FOR_ALL);
  if (m->nflights) { m->site = site; drain_(m, FOR_ALL); }
  SCREENED_(waits_(m, row, EVERY_LIST); if (!m->clusterDim && CLUSTER_ROW(row)) met_alone_(m, row, site);)
  if (!m->clusterDim) return; /* a Block task has no other cores */
  m->site = site; m->met = 0;
  if (!team_meets_(m, row)) up_(m, UP_MEET, row, 0);
  if (m->met) note_(m, K_MEET, m->met, m->many, 0, 0, 0, 0);
}
/* Wait for the compute stream, and for the copies inside NRAM together with the move-DMA's earlier effects. */
void wait_compute_(Core *m, int row) {
  NOTED_(begins_(m, m->site, row, 0);)
  m->counts[row]++;
  SCREENED_(waits_(m, row, 1 << IN_COMPUTE);)
  await_(m, FOR_COMPUTE);
  int last = -1, keep = 0, left = 0;
  Flight *f = (Flight *)m->flights;
  for (int i = 0; i < m->nflights; i++) if (inside_(m, f + i)) last = i;
  if (last < 0) return;
  await_(m, FOR_MOVE);
  for (int i = 0; i < m->nflights; i++) {
    Flight one = ((Flight *)m->flights)[i];
    if (one.pipe == P_MOVE && i <= last) land_(m, &one);
    else { left |= one.pipe == P_MOVE; ((Flight *)m->flights)[keep++] = one; }
  }
  m->nflights = keep;
  if (left) m->pending |= P_MOVE;
}
PART int known_(Core *m, uint64_t address) { for (int i = 0; i < m->nseen; i++) if (m->seen[i] == address) return 1; return 0; }
/* Whether a core that has looked so often lets others run. What grows with each look is on no stack when Python is called, however little is optimised:
   a state with it would never come again. */
PART int lets_others_(Core *m, int64_t *looks, int64_t turn) {
  if (++*looks % turn) return 0;
  const int64_t before = m->others;
  m->others = m->work[W_IO] + m->work[W_MOVE] + m->stores[GDRAM] + m->stores[SRAM] - m->looked;
  return m->others == before || *looks % PATIENCE == 0;
}
void poll_load(Core *m, uint64_t address) {
  if (known_(m, address)) { if (lets_others_(m, &m->polls, SPIN_LOADS)) up_(m, UP_SPIN, 0, 0); }
  else if (m->nseen < POLLED) m->seen[m->nseen++] = address;
  else { m->seen[0] = address; m->nseen = 1; m->polls = 0; }
}
void poll_again(Core *m, int64_t nbytes) { m->looked += nbytes; if (lets_others_(m, &m->looks, POLL_COPIES)) up_(m, UP_SPIN, 0, 0); }
void poll_copy(Core *m, uint64_t address, int64_t nbytes) {
  if (known_(m, address)) poll_again(m, nbytes);
  else if (m->nseen < POLLED) m->seen[m->nseen++] = address;
  else { m->seen[0] = address; m->nseen = 1; }
}
