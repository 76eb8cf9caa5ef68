/* What a core does in C: calls of Python, accounts, the log, what is in flight, barriers. */
/* Python executes a row; its result comes back in argv[0]. */
COLD Argument row_up(Core *m, int row, int site, int n, const Argument *given) {
  for (int i = 0; i < n; i++) m->argv[i] = given[i];
  m->argc = n; m->site = site;
  up_(m, UP_ROW, row, 0);
  return m->argv[0];
}
#define UP(m, row, site, ...) row_up(m, row, site, (int)(sizeof(Argument[]){__VA_ARGS__} / sizeof(Argument)), (Argument[]){__VA_ARGS__})
NOTED_(COLD Argument row_up_noted_(Core *m, int row, int site, int place, int idle, int n, const Argument *given) {
  const int plain = place >= 0 && place < n && given[place].dtype < 0;
  const int64_t lanes = !plain ? 0 : given[place].kind == IS_DIRECTION ? -1 - (int64_t)given[place].bits : given[place].kind == IS_INTEGER ? (int64_t)given[place].bits : 0;
  if (!(idle && m->memory_core)) begins_(m, site, row, lanes);
  return row_up(m, row, site, n, given);
})
#define UP_NOTED(m, row, site, place, idle, ...) row_up_noted_(m, row, site, place, idle, (int)(sizeof(Argument[]){__VA_ARGS__} / sizeof(Argument)), (Argument[]){__VA_ARGS__})
COLD Argument library_up(Core *m, int name, int site, int n, const Argument *given) {
  for (int i = 0; i < n; i++) m->argv[i] = given[i];
  m->argc = n; m->site = site;
  up_(m, UP_LIBRARY, name, 0);
  return m->argv[0];
}
#define CALL_UP(m, name, site, ...) library_up(m, name, site, (int)(sizeof(Argument[]){__VA_ARGS__} / sizeof(Argument)), (Argument[]){__VA_ARGS__})
ALWAYS double float_of(Argument a) { double f; memcpy(&f, &a.bits, 8); return f; }
/* Loops and calls let Python look after signals now and then: sooner where instructions are long. */
COLD void tick_(Core *m, int site) { m->fuel = FUEL; m->site = site; call_(m, m->look); }
#define TURN(m, site) do { if (UNLIKELY(((m)->fuel -= TURN_BYTES) < 0)) tick_(m, site); } while (0)

/* The memory of an array of a function.  The tasks of a chain mostly declare what the first did, in that order and so at the same
   bytes: Python hears of it where it is called for something else (machine/native/chain.py). */
COLD Ptr declared_(Core *m, int name, int site, int64_t place) {
  Chain *c = (Chain *)m->chain;
  if (c && c->met < c->known) {
    const int64_t *row = (const int64_t *)c->arrays + A_COLUMNS * c->met;
    if (row[A_PLACE] == place && row[A_SITE] == site) {
      Alloc *a = (Alloc *)m->allocs + number_((Ptr)row[A_WORD]);
      a->nbytes = row[A_NBYTES]; a->writable = 1;
      if (row[A_FILL] >= 0) memset((void *)(uintptr_t)row[A_RAW], (int)row[A_FILL], (size_t)row[A_NBYTES]);
      c->met++;
      return (Ptr)row[A_WORD];
    }
  }
  return (Ptr)CALL_UP(m, name, site, a_integer(place, -1)).bits;
}

#define FAR(space) ((space) == GDRAM || (space) == LDRAM)

/* ---- accounts ---- */
#define COSTLY_ 16 /* functions and elements that are moved singly, in bytes of simple instructions: roughly */
#define COUNT(m, row) ((m)->counts[row]++)
ALWAYS void lines_(Core *m, int row, int64_t used, int64_t paid) {
  ((int64_t *)m->lines)[row] += paid;
  ((int64_t *)m->spare)[row] += -used & (VECTOR_BYTES - 1);
}
ALWAYS void vector_(Core *m, int row, int64_t used) {
  int64_t paid = (used + VECTOR_BYTES - 1) / VECTOR_BYTES;
  m->counts[row]++;
  m->fuel -= used;
  m->work[W_VECTOR] += paid + START;
  lines_(m, row, used, paid);
}
ALWAYS void passes_(Core *m, int row, int64_t used, int place) {
  m->work[place] += (used + VECTOR_BYTES - 1) / VECTOR_BYTES;
  m->fuel -= used * COSTLY_;
  vector_(m, row, used);
}
ALWAYS void transpose_(Core *m, int row, int64_t used, int64_t elements) {
  m->counts[row]++;
  m->fuel -= elements * COSTLY_;
  m->work[W_VECTOR] += START;
  m->work[W_TRANSPOSED] += elements;
  m->work[W_TRANSPOSITIONS]++;
  lines_(m, row, used, (used + VECTOR_BYTES - 1) / VECTOR_BYTES);
}
/* ---- the log ---- */
COLD void note_(Core *m, int kind, int64_t argument, int64_t l0, int64_t l1, int64_t l2, int64_t l3, int64_t l4) {
  if (!m->timing) return;
  NOTED_(owns_(m, kind, (const int64_t[]){l0, l1, l2, l3, l4});)
  int64_t *r = (int64_t *)m->log + (int64_t)COLUMNS * m->nlog++;
  r[0] = kind; r[1] = argument; r[2] = l0; r[3] = l1; r[4] = l2; r[5] = l3; r[6] = l4;
  memcpy(r + LOG_SUMS, m->work, sizeof(int64_t) * (COLUMNS - LOG_SUMS));
  if (m->nlog == LOG_ROWS) { up_(m, UP_LOG, 0, 0); m->nlog = 0; }
}
/* What a task loads before it can compute: see mlusim/time/quantities.py. */
COLD void head_ends_(Core *m) {
  m->head_transactions += m->work[W_TRANSACTIONS];
  m->head_transfers += (int)m->work[W_IO_STARTS];
  m->pending &= ~OPENING;
}
COLD void head_settles_(Core *m) {
  int begun = m->work[W_TRANSACTIONS] || m->head_transactions;
  if (begun && (m->work[W_VECTOR] || m->work[W_TENSOR_CYCLES] || m->work[W_IO_STARTS] >= LONGEST)) head_ends_(m);
}
ALWAYS void await_(Core *m, int waits) {
  if (m->pending & OPENING && waits & FOR_IO) head_ends_(m);
  if (m->pending & waits) { note_(m, K_WAIT, waits, 0, 0, 0, 0, 0); m->pending &= ~waits; }
  else if (waits & FOR_COMPUTE) { if (m->pending & FOR_ALL) note_(m, K_WAIT, waits, 0, 0, 0, 0, 0); else { m->fence = 1; NOTED_(fenced_(m);) } }
}

/* ---- bytes ---- */
/* Large pieces for GDRAM go past the caches: a line that is written as a whole need not be read first. */
#define STREAMED (1 << 15)
#define AHEAD (1 << 12)
#if defined(__AVX2__)
typedef long long W4_ __attribute__((vector_size(32)));
#if defined(__clang__)
#define PUT_PAST_(p, v) __builtin_nontemporal_store(v, p)
#else
#define PUT_PAST_(p, v) __builtin_ia32_movntdq256(p, v)
#endif
PART void stream_(uint8_t *t, const uint8_t *s, int64_t n) {
  int64_t i = -(int64_t)(uintptr_t)t & 31;
  memcpy(t, s, (size_t)i);
  for (; i + 64 <= n; i += 64) {
    W4_ a, b; memcpy(&a, s + i, 32); memcpy(&b, s + i + 32, 32);
    PUT_PAST_((W4_ *)(t + i), a); PUT_PAST_((W4_ *)(t + i + 32), b);
  }
  __builtin_ia32_sfence();
  memcpy(t + i, s + i, (size_t)(n - i));
}
#else
#define stream_(t, s, n) memcpy(t, s, (size_t)(n))
#endif
/* *n* bytes of a copy from src to dst. */
ALWAYS void carry_(int dst, int src, uint8_t *t, const uint8_t *s, int64_t n) {
  if (n >= STREAMED && FAR(dst) && !FAR(src)) stream_(t, s, n); else memmove(t, s, (size_t)n);
}
/* Ask the memory for *n* bytes of GDRAM, which an instruction is going to change. */
ALWAYS void ahead_(const Core *m, Ptr p, int64_t n) {
  At a = see(m, p);
  if (a.a->space == GDRAM && n <= AHEAD && !out(a, n)) for (int64_t i = 0; i < n; i += 64) __builtin_prefetch(at(a) + i, 1);
}

/* ---- what is in flight: copies of rows of bytes, and what Python issued (a row of numbers) ---- */
COLD void land_(Core *m, const Flight *f) {
  if (!f->rows) return;
  if (f->number >= 0) { up_(m, UP_LAND, f->number, 0); return; }
  const Alloc *dst = (Alloc *)m->allocs + f->dst, *src = (Alloc *)m->allocs + f->src;
  uint8_t *d = (uint8_t *)dst->raw + f->to, *s = (uint8_t *)src->raw + f->frm;
  SCREENED_(flags_move_(m, (At){(Alloc *)dst, f->to}, (At){(Alloc *)src, f->frm}, f->size, f->rows, f->to_stride, f->from_stride, m->site);)
  for (int64_t k = 0; k < f->rows; k++) carry_(dst->space, src->space, d + k * f->to_stride, s + k * f->from_stride, f->size);
}
COLD void drain_(Core *m, int pipes) {
  int keep = 0;
  for (int i = 0; i < m->nflights; i++) {
    Flight f = ((Flight *)m->flights)[i];
    if (f.pipe & pipes) land_(m, &f); else ((Flight *)m->flights)[keep++] = f;
  }
  m->nflights = keep;
}
COLD void settle_now_(Core *m, int pipe) {
  if (m->pending & OPENING) head_settles_(m);
  if (m->pending & FOR_ALL) { await_(m, pipe); if (m->nflights) drain_(m, pipe); }
}
ALWAYS void settle_(Core *m, int pipe) { if (UNLIKELY(m->pending)) settle_now_(m, pipe); }
/* As Core._land_inside of machine/core.py: the last effect in flight lands where no other one on its pipe waits. */
ALWAYS int inside_(Core *m, const Flight *f) {
  const Alloc *a = (Alloc *)m->allocs;
  return f->pipe == P_MOVE && (f->number >= 0 ? f->size != 0 : a[f->dst].space == NRAM && a[f->src].space == NRAM);
}
COLD void land_inside_(Core *m) {
  Flight *f = (Flight *)m->flights, *last = f + m->nflights - 1;
  for (; f < last; f++) if (f->pipe == P_MOVE && f->rows) return;
  land_(m, last);
  last->rows = 0;
}
COLD void fly_(Core *m, Flight f, int64_t l0, int64_t l1, int64_t l2, int64_t l3, int64_t l4) {
  if (m->fence) { m->fence = 0; note_(m, K_WAIT, FOR_COMPUTE, 0, 0, 0, 0, 0); }
  note_(m, f.pipe == P_IO ? K_IO : K_MOVE, 0, l0, l1, l2, l3, l4);
  m->pending |= f.pipe;
  if (m->pending & OPENING) { m->head_transactions += l0 - l2; if (l0 > l2 && !m->head_transfers) m->head_transfers = 1; }
  if (m->nflights == m->most_flights) up_(m, UP_GROW, 0, 0);
  ((Flight *)m->flights)[m->nflights++] = f;
  if (!m->late) drain_(m, f.pipe);
  else if (m->compiled && inside_(m, &f)) land_inside_(m);
}
ALWAYS void wait_(Core *m, int row, int pipes) {
  NOTED_(begins_(m, m->site, row, 0);)
  m->counts[row]++; await_(m, pipes); if (m->nflights) drain_(m, pipes);
  SCREENED_(waits_(m, row, row == ROW_sync ? EVERY_LIST : row == ROW_sync_io ? 1 << IN_IO : row == ROW_sync_move ? 1 << IN_MOVE : 0);)
}

/* ---- unions whose cores meet in C (machine/native/team.py) ---- */
/* Each task that has begun is on a strand of Python's, and leaves it for another one where it waits.  Who is next follows from one
   queue, as in machine/scheduling/scheduler.py: woken tasks come behind those that were ready before. */
#define MEMBER_(t, i) ((int64_t *)(t)->table + M_COLUMNS * (i))
#define MEETING_(t, i, slot) ((int64_t *)(t)->meetings + ((i) / (t)->members * (t)->slots + (slot)) * ((t)->members + 1))
#define LEFT_(t, i) ((int64_t *)(t)->left)[(i) / (t)->members]
COLD void team_adds_(Team *t, int64_t what) { ((int64_t *)t->queue)[(t->first + t->ready++) % t->room] = what; }
COLD int64_t team_takes_(Team *t) {
  const int64_t what = ((int64_t *)t->queue)[t->first];
  t->first = (t->first + 1) % t->room; t->ready--;
  return what;
}
/* The core that is next stays in front of the queue; where a union is next, it begins, and its cores are. */
COLD int64_t team_next_(Team *t) {
  const int64_t what = ((int64_t *)t->queue)[t->first];
  if (what >= 0) return what;
  team_takes_(t);
  const int64_t set = ((int64_t *)t->sets_left)[--t->idle_sets], first = set * t->members;
  for (int64_t k = 0; k < t->sram; k++) {
    const int64_t *piece = (int64_t *)t->pieces + 2 * (set * t->sram + k);
    memset((void *)(uintptr_t)piece[0], POISON, (size_t)piece[1]);
  }
  for (int64_t k = 0; k < t->slots; k++) MEETING_(t, first, k)[0] = 0;
  ((int64_t *)t->met)[set] = 0; ((int64_t *)t->left)[set] = t->members;
  for (int64_t k = t->members - 1; k >= 0; k--) {
    const int64_t core = first + ((int64_t *)t->order)[k];
    int64_t *row = MEMBER_(t, core);
    row[M_TASK] = (-1 - what) * t->members + ((int64_t *)t->order)[k];
    row[M_BEGUN] = row[M_ENDED] = 0; row[M_SLOT] = -1;
    t->first = (t->first + t->room - 1) % t->room; t->ready++;
    ((int64_t *)t->queue)[t->first] = core;
  }
  return ((int64_t *)t->queue)[t->first];
}
/* Leave the strand for the one of the core that is next, or for one on which that begins; what the call returns when it is come back to. */
COLD void *team_leaves_(Team *t) {
  void *(*call)(void *) = (void *(*)(void *))t->call;
  const int64_t next = team_next_(t), *row = MEMBER_(t, next);
  if (row[M_BEGUN]) { team_takes_(t); t->running = next; t->strand = row[M_STRAND]; }
  else if (t->idle_strands) t->strand = ((int64_t *)t->strands_left)[--t->idle_strands];
  else { t->strand = t->strands++; return call(t->more); }
  return call(((void **)t->switches)[t->strand]);
}
COLD void team_parks_(Core *m, Team *t) {
  MEMBER_(t, t->running)[M_STRAND] = t->strand;
  void *done = team_leaves_(t);
  if (!done) { for_python_(m); longjmp(*(jmp_buf *)m->jump, 1); }
  ((void (*)(void *))t->drop)(done);
}
/* Meet the others at a barrier; 0 where Python has to see to it: it cannot complete, or Python has taken over. */
COLD int team_meets_(Core *m, int row) {
  Team *t = m->chain ? (Team *)((Chain *)m->chain)->team : 0;
  if (!t || t->called) return 0;
  const int64_t me = t->running, set = me / t->members, first = set * t->members;
  const int64_t slot = ((int64_t *)t->slot)[((int64_t *)t->scopes)[row] * t->members + me - first];
  if (slot < 0) return 1;
  const int64_t *expected = (int64_t *)t->expected + slot * (t->members + 1);
  int64_t *meeting = MEETING_(t, me, slot), many = expected[0];
  for (int64_t k = 1; k <= many; k++) if (MEMBER_(t, first + expected[k])[M_ENDED]) return 0;
  if (meeting[0] + 1 < many) {
    if (!t->ready) return 0;
    meeting[++meeting[0]] = me - first;
    MEMBER_(t, me)[M_SLOT] = slot;
    team_parks_(m, t);
    return 1;
  }
  meeting[0] = 0;
  const int64_t number = ++((int64_t *)t->met)[set];
  for (int64_t k = 1; k <= many; k++) {
    Core *other = ((Core **)t->cores)[first + expected[k]];
    other->met = number; other->many = many;
    if (other != m) { MEMBER_(t, first + expected[k])[M_SLOT] = -1; team_adds_(t, first + expected[k]); }
  }
  return 1;
}
/* Let the others run, for what they may wait for has changed; 0 where that is Python's. */
COLD int team_pauses_(Core *m) {
  Team *t = m->chain ? (Team *)((Chain *)m->chain)->team : 0;
  if (!t || t->called) return 0;
  if (t->ready) { team_adds_(t, t->running); team_parks_(m, t); }
  return 1;
}
/* Behind an atomic that others may wait for. */
PART void atomic_step_(Core *m, int unchanged) { if (unchanged || !team_pauses_(m)) up_(m, UP_ATOMIC, unchanged, 0); }

/* A barrier: wait for the own pipes, then for the other cores; Python knows who they are, and which meeting that was. */
PART void meet_(Core *m, int row, int site, int passes) {
  NOTED_(begins_(m, site, row, 0);)
  m->counts[row]++;
  if (passes) return;
  await_(m, FOR_ALL);
  if (m->nflights) { m->site = site; drain_(m, FOR_ALL); }
  SCREENED_(waits_(m, row, EVERY_LIST); if (!m->clusterDim && CLUSTER_ROW(row)) suspect_(m, SCREEN_SYNC, site);)
  if (!m->clusterDim) return; /* a Block task has no others */
  m->site = site; m->met = 0;
  if (!team_meets_(m, row)) up_(m, UP_MEET, row, 0);
  if (m->met) note_(m, K_MEET, m->met, m->many, 0, 0, 0, 0);
}

/* Wait for the compute stream, and for the copies inside NRAM with what the move-DMA does before them. */
PART void wait_compute_(Core *m, int row) {
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

/* ---- telling polling from reading, as Polls of engine/contract.py does ---- */
#define SHARED(space) ((space) == GDRAM || (space) == SRAM)
COLD void looked_(Core *m, int64_t looks) {
  const int64_t others = m->work[W_IO] + m->work[W_MOVE] + m->stores[GDRAM] + m->stores[SRAM] - m->looked;
  const int waits = others == m->others || looks % PATIENCE == 0;
  m->others = others;
  if (waits) up_(m, UP_SPIN, 0, 0);
}
ALWAYS int known_(Core *m, uint64_t address) { for (int i = 0; i < m->nseen; i++) if (m->seen[i] == address) return 1; return 0; }
COLD void poll_load(Core *m, uint64_t address) {
  if (known_(m, address)) { if (++m->polls % SPIN_LOADS == 0) looked_(m, m->polls); }
  else if (m->nseen < POLLED) m->seen[m->nseen++] = address;
  else { m->seen[0] = address; m->nseen = 1; m->polls = 0; }
}
COLD void poll_again(Core *m, int64_t nbytes) { m->looked += nbytes; if (++m->looks % POLL_COPIES == 0) looked_(m, m->looks); }
COLD void poll_copy(Core *m, uint64_t address, int64_t nbytes) {
  if (known_(m, address)) poll_again(m, nbytes);
  else if (m->nseen < POLLED) m->seen[m->nseen++] = address;
  else { m->seen[0] = address; m->nseen = 1; }
}

/* ---- what Python calls ---- */
VISIBLE int64_t mlusim_sizeof(void) { return sizeof(Core); }
#define GUARDED(m, what) jmp_buf outer; memcpy(outer, m->jump, sizeof outer); \
  if (!setjmp(*(jmp_buf *)m->jump)) { what; } memcpy(m->jump, outer, sizeof outer)
VISIBLE void mlusim_beside(Core *m, const uint64_t *words, void (*entry)(Core *, const uint64_t *)) {
  give_lock_(m);
  entry(m, words);
  take_lock_(m); /* where a call has raised something, it was taken before */
}
/* Write down what a task of a chain did, and let the next one begin as the first has begun. */
PART void chain_ends_(Core *m, Chain *c, int64_t met) {
  int64_t *done = (int64_t *)c->done + (TASK_PLACES + D_COLUMNS + c->given) * c->at;
  memcpy(done, m->work, sizeof(int64_t) * TASK_PLACES);
  done += TASK_PLACES;
  done[D_HEAD_TRANSACTIONS] = m->head_transactions; done[D_HEAD_TRANSFERS] = m->head_transfers; done[D_NLOG] = m->nlog; done[D_MET] = met; done[D_WHO] = c->who;
  done += D_COLUMNS;
  const Alloc *a = (const Alloc *)m->allocs;
  for (int64_t k = 0; k < c->given; k++) done[k] = a[k + 1].read;
  memcpy((int64_t *)c->rows + COLUMNS * c->nrows, m->log, sizeof(int64_t) * COLUMNS * (size_t)m->nlog);
  c->nrows += m->nlog;
}
PART void chain_begins_(Core *m, Chain *c, int64_t number) {
  Alloc *a = (Alloc *)m->allocs;
  const int64_t *task = (const int64_t *)c->tasks + T_COLUMNS * number, fuel = m->fuel;
  for (int64_t k = 1; k <= c->given; k++) a[k].read = 0;
  for (int64_t k = 0; k < c->known; k++) {
    Alloc *array = a + number_((Ptr)((const int64_t *)c->arrays)[A_COLUMNS * k + A_WORD]);
    array->nbytes = 0; array->read = 0;
  }
  if (m->most_cells) memset(a + (1 << (64 - OFFSET_BITS)) - m->most_cells, 0, sizeof(Alloc) * (size_t)m->most_cells);
  for (int64_t k = 0; k < c->poisoned; k++) {
    const int64_t *piece = (const int64_t *)c->pieces + P_COLUMNS * k;
    void *start = (void *)(uintptr_t)piece[P_START];
    if (piece[P_CONTENT] == POISONED || piece[P_CONTENT] == ZEROS) memset(start, piece[P_CONTENT] == ZEROS ? 0 : POISON, (size_t)piece[P_BYTES]);
    else memcpy(start, (void *)(uintptr_t)piece[P_CONTENT], (size_t)piece[P_BYTES]);
  }
  memset(m->work, 0, sizeof(int64_t) * TASK_PLACES);
  memcpy(&m->lines, c->rest, (size_t)c->nrest);
  memcpy(m->globals, c->places, sizeof(uint64_t) * (size_t)c->nplaces);
  m->fuel = fuel; /* it is looked after signals as often as ever */
  m->taskId = (int)task[T_TASKID]; m->taskIdX = (int)task[T_TASKIDX]; m->taskIdY = (int)task[T_TASKIDY]; m->taskIdZ = (int)task[T_TASKIDZ];
  m->coreId = (int)task[T_COREID]; m->segment = (int)task[T_SEGMENT];
  c->met = 0;
}
/* Run the tasks of a chain up to the first that Python has to end. */
VISIBLE void mlusim_chain(Core *m, const uint64_t *words, void (*entry)(Core *, const uint64_t *), int64_t beside) {
  Chain *c = (Chain *)m->chain;
  if (beside) give_lock_(m);
  for (;;) {
    entry(m, words);
    if (c->called || c->at + 1 >= c->many || m->nflights || c->nrows + m->nlog > CHAIN_ROWS) break;
    chain_ends_(m, c, c->met); c->at++; chain_begins_(m, c, c->at);
  }
  if (beside) take_lock_(m);
}
/* Run the tasks of a chain from the one that it is at, and write down what each did, the last too.  Returns 1 at the end, 0 where Python
   has to take the rows of the logs first, -1 where the running task has called for Python. */
VISIBLE int64_t mlusim_again(Core *m, const uint64_t *words, void (*entry)(Core *, const uint64_t *)) {
  Chain *c = (Chain *)m->chain;
  if (!c->at) {
    memset(m->traffic, 0, sizeof m->traffic); memset(m->counts, 0, sizeof m->counts);
    memset(m->lines, 0, 2 * sizeof m->counts); /* the spare bytes lie behind the lines */
  }
  for (c->called = c->nrows = 0;;) {
    chain_begins_(m, c, c->at);
    entry(m, words);
    if (c->called) return -1;
    if (m->nflights) drain_(m, FOR_ALL);
    chain_ends_(m, c, c->met);
    if (++c->at == c->many) return 1;
    if (c->nrows > CHAIN_ROWS) return 0;
  }
}
/* Let a core of a team run its task from beginning to end; 0 where Python has taken over, or has to. */
PART int team_runs_(Team *t, int64_t who, void (*entry)(Core *, const uint64_t *)) {
  int64_t *row = MEMBER_(t, who);
  Core *m = ((Core **)t->cores)[who], *lead = ((Core **)t->cores)[0];
  Chain *c = (Chain *)m->chain, *ledger = (Chain *)t->ledger;
  if (m != lead) memcpy((Alloc *)m->allocs + t->tensor, (Alloc *)lead->allocs + t->tensor, sizeof(Alloc) * (size_t)(c->given + 1 - t->tensor));
  c->called = 0; row[M_BEGUN] = 1;
  chain_begins_(m, c, row[M_TASK]);
  entry(m, (const uint64_t *)t->words);
  if (c->called || t->called) return 0;
  if (m->nflights) drain_(m, FOR_ALL);
  /* Others that wait for it, or for each other, wait for ever. */
  for (int64_t slot = 0; slot < t->slots; slot++) {
    const int64_t *expected = (int64_t *)t->expected + slot * (t->members + 1);
    if (MEETING_(t, who, slot)[0]) for (int64_t k = 1; k <= expected[0]; k++) if (expected[k] == who % t->members) return 0;
  }
  if (!t->ready && (LEFT_(t, who) > 1 || (t->idle_sets + 1 < t->sets && t->admitted == t->unions))) return 0;
  ledger->who = row[M_TASK];
  chain_ends_(m, ledger, c->met);
  ledger->at++; row[M_ENDED] = 1;
  if (!--LEFT_(t, who)) {
    ((int64_t *)t->sets_left)[t->idle_sets++] = who / t->members;
    if (t->admitted < t->unions) team_adds_(t, -1 - t->admitted++);
  }
  return 1;
}
/* Run the tasks of a team on a strand, as others do on theirs.  Returns 0 where no task is on it any more, 1 where Python has to go on
   with the task that is, -1 where something was raised between two tasks. */
VISIBLE int64_t mlusim_team(Team *t, void (*entry)(Core *, const uint64_t *)) {
  const int64_t own = t->strand;
  while (!t->called && t->ready) {
    const int64_t next = team_next_(t);
    void *done = t;
    if (MEMBER_(t, next)[M_BEGUN]) {
      ((int64_t *)t->strands_left)[t->idle_strands++] = own;
      done = team_leaves_(t);
    } else {
      t->running = team_takes_(t);
      if (!team_runs_(t, next, entry)) return 1;
      if (((Chain *)t->ledger)->nrows <= CHAIN_ROWS) continue;
      done = ((void *(*)(void *))t->call)(t->taken);
    }
    if (!done) return -1;
    ((void (*)(void *))t->drop)(done);
  }
  return 0;
}
/* Let a team begin a launch: nothing is counted yet.  And add up what its cores have counted, for the first of them. */
VISIBLE void mlusim_team_begins(Team *t) {
  for (int64_t k = 0; k < t->sets * t->members; k++) {
    Core *m = ((Core **)t->cores)[k];
    memset(m->traffic, 0, sizeof m->traffic); memset(m->counts, 0, sizeof m->counts);
    MEMBER_(t, k)[M_TASK] = -1;
    if (!k) memset(m->lines, 0, 2 * sizeof m->counts);
  }
}
VISIBLE void mlusim_team_ends(Team *t) {
  Core *lead = ((Core **)t->cores)[0];
  for (int64_t k = 1; k < t->sets * t->members; k++) {
    const Core *m = ((Core **)t->cores)[k];
    if (MEMBER_(t, k)[M_TASK] < 0) continue;
    for (size_t i = 0; i < sizeof m->traffic / sizeof *m->traffic; i++) lead->traffic[i] += m->traffic[i];
    for (size_t i = 0; i < ROWS; i++) lead->counts[i] += m->counts[i];
  }
}
/* Write down what a launch has counted where it is not 0, as pairs: the place in the bytes by direction, the instructions, the lines and
   the spare bytes of each, one behind the other; and that.  Returns the number of words. */
PART int64_t *pairs_(int64_t *out, const int64_t *counts, int64_t many, int64_t before) {
  for (int64_t k = 0; k < many; k++) if (counts[k]) { *out++ = before + k; *out++ = counts[k]; }
  return out;
}
VISIBLE int64_t mlusim_counted(Core *m, int64_t *out) {
  enum { DIRECTIONS_ = sizeof m->traffic / sizeof *m->traffic };
  int64_t *end = pairs_(out, m->traffic, DIRECTIONS_, 0);
  end = pairs_(end, m->counts, ROWS, DIRECTIONS_);
  end = pairs_(end, (const int64_t *)m->lines, ROWS, DIRECTIONS_ + ROWS);
  return pairs_(end, (const int64_t *)m->spare, ROWS, DIRECTIONS_ + 2 * ROWS) - out;
}
/* Run tasks of a chain that several threads take one by one, until none is left, or one of them calls for Python.  The thread that
   launches waits for the others, for a while in which they may end. */
enum { CREW_NEXT, CREW_RUNNING, CREW_OVER, CREW_LOOKS = 1 << 12 };
#define SHARED_(c, place) ((int64_t *)(c)->crew + (place))
VISIBLE void mlusim_crew(Core *m, const uint64_t *words, void (*entry)(Core *, const uint64_t *)) {
  Chain *c = (Chain *)m->chain;
  give_lock_(m);
  if (c->who) __atomic_add_fetch(SHARED_(c, CREW_RUNNING), 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(SHARED_(c, CREW_OVER), __ATOMIC_SEQ_CST)) {
    const int64_t next = __atomic_fetch_add(SHARED_(c, CREW_NEXT), 1, __ATOMIC_SEQ_CST);
    if (next >= c->many) break;
    c->at = next;
    chain_begins_(m, c, c->at);
    entry(m, words);
    if (c->called || m->nflights || c->nrows + m->nlog > CHAIN_ROWS) {
      c->called = 1;
      __atomic_store_n(SHARED_(c, CREW_OVER), 1, __ATOMIC_SEQ_CST);
      break;
    }
    chain_ends_(m, c, c->met);
  }
  if (c->who) __atomic_sub_fetch(SHARED_(c, CREW_RUNNING), 1, __ATOMIC_SEQ_CST);
  else if (m->thread) {
    __atomic_store_n(SHARED_(c, CREW_OVER), 1, __ATOMIC_SEQ_CST); /* who comes from here on finds nothing */
    for (int k = 0; k < CREW_LOOKS && __atomic_load_n(SHARED_(c, CREW_RUNNING), __ATOMIC_SEQ_CST); k++) sched_yield();
  }
  take_lock_(m);
}
VISIBLE void mlusim_drain(Core *m, int64_t pipes) { GUARDED(m, drain_(m, (int)pipes)); }
VISIBLE void mlusim_land_inside(Core *m, int64_t unused) { (void)unused; GUARDED(m, land_inside_(m)); }
VISIBLE void mlusim_poll_load(Core *m, uint64_t address) { GUARDED(m, poll_load(m, address)); }
VISIBLE void mlusim_poll_copy(Core *m, uint64_t address, int64_t nbytes) { GUARDED(m, poll_copy(m, address, nbytes)); }
VISIBLE void mlusim_poll_again(Core *m, int64_t nbytes) { GUARDED(m, poll_again(m, nbytes)); }
NOTED_(VISIBLE void mlusim_noted(Core *m, const int64_t *row) { GUARDED(m, owns_(m, (int)row[0], row + 1)); }
VISIBLE void mlusim_fenced(Core *m) { fenced_(m); }
VISIBLE void mlusim_rehash(Steps *t) { for (int64_t k = 0; k < t->many; k++) *step_place_(t, (const int64_t *)t->rows + STEP_WORDS * k) = (uint32_t)k + 1; })
