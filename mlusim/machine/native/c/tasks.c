/* The tasks of a launch, one after the other, at once, or meeting at barriers; and the functions called by Python. */
/* ---- unions whose cores meet in C (machine/native/team.py) ---- */
/* Each task that has begun is on a strand of Python's, and leaves it for another one when it waits. The next core is determined by one queue, as in
   machine/scheduling/scheduler.py: woken tasks come after those that were ready before. */
#define MEMBER_(t, i) ((int64_t *)(t)->table + M_COLUMNS * (i))
#define MEETING_(t, i, slot) ((int64_t *)(t)->meetings + ((i) / (t)->members * (t)->slots + (slot)) * ((t)->members + 1))
#define LEFT_(t, i) ((int64_t *)(t)->left)[(i) / (t)->members]
PART void team_adds_(Team *t, int64_t what) { ((int64_t *)t->queue)[(t->first + t->ready++) % t->room] = what; }
PART int64_t team_takes_(Team *t) {
  const int64_t what = ((int64_t *)t->queue)[t->first];
  t->first = (t->first + 1) % t->room; t->ready--;
  return what;
}
/* Return the next core, which stays first in the queue; if a union is next, it begins, and its cores are queued. */
PART int64_t team_next_(Team *t) {
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
/* Switch to the strand of the next core, or to one on which it begins; return the call's result when this strand is resumed. */
PART void *team_leaves_(Team *t) {
  void *(*call)(void *) = (void *(*)(void *))t->call;
  const int64_t next = team_next_(t), *row = MEMBER_(t, next);
  if (row[M_BEGUN]) { team_takes_(t); t->running = next; t->strand = row[M_STRAND]; }
  else if (t->idle_strands) t->strand = ((int64_t *)t->strands_left)[--t->idle_strands];
  else { t->strand = t->strands++; return call(t->more); }
  return call(((void **)t->switches)[t->strand]);
}
PART void team_parks_(Core *m, Team *t) {
  pay_(m);
  MEMBER_(t, t->running)[M_STRAND] = t->strand;
  void *done = team_leaves_(t);
  if (!done) { for_python_(m); longjmp(*(jmp_buf *)m->jump, 1); }
  ((void (*)(void *))t->drop)(done);
}
/* Meet the others at a barrier; return 0 if Python must handle it: it cannot complete, or Python has taken over. */
int team_meets_(Core *m, int row) {
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
  SCREENED_(tasks_meet_(m, many, (Core **)t->cores + first, expected + 1);)
  for (int64_t k = 1; k <= many; k++) {
    Core *other = ((Core **)t->cores)[first + expected[k]];
    other->met = number; other->many = many;
    if (other != m) { MEMBER_(t, first + expected[k])[M_SLOT] = -1; team_adds_(t, first + expected[k]); }
  }
  return 1;
}
/* Let the others run, because a condition they may wait for has changed; return 0 if Python must do so. */
int team_pauses_(Core *m) {
  Team *t = m->chain ? (Team *)((Chain *)m->chain)->team : 0;
  if (!t || t->called) return 0;
  if (t->ready) { team_adds_(t, t->running); team_parks_(m, t); }
  return 1;
}

/* ---- functions called by Python ---- */
#define GUARDED(m, what) jmp_buf outer; memcpy(outer, m->jump, sizeof outer); \
  if (!setjmp(*(jmp_buf *)m->jump)) { what; } memcpy(m->jump, outer, sizeof outer)
VISIBLE int64_t mlusim_sizeof(void) { return sizeof(Core); }
VISIBLE void mlusim_beside(Core *m, const uint64_t *words, void (*entry)(Core *, const uint64_t *)) {
  give_lock_(m);
  entry(m, words);
  take_lock_(m); /* if a call has raised an exception, the lock was acquired before */
}
/* Restore the full sizes of the memories of an ended task, with any contents. */
PART void restore_(Core *m, const Chain *c) {
  pay_(m);
  for (int64_t k = 0; k < c->poisoned; k++) {
    const int64_t *piece = (const int64_t *)c->pieces + P_COLUMNS * k;
    if (piece[P_NUMBER]) ((Alloc *)m->allocs)[piece[P_NUMBER]].nbytes = piece[P_BYTES];
  }
}
/* Record the results of a task of a chain, and let the next one begin as the first has begun. */
PART void chain_ends_(Core *m, Chain *c, int64_t met) {
  int64_t *done = (int64_t *)c->done + (TASK_PLACES + D_COLUMNS + c->given) * c->at;
  memcpy(done, m->work, sizeof(int64_t) * TASK_PLACES);
  done += TASK_PLACES;
  done[D_HEAD_TRANSACTIONS] = m->head_transactions; done[D_HEAD_TRANSFERS] = m->head_transfers; done[D_NLOG] = m->packed_rows + m->nlog; done[D_MET] = met; done[D_WHO] = c->who;
  done += D_COLUMNS;
  const Alloc *a = (const Alloc *)m->allocs;
  for (int64_t k = 0; k < c->given; k++) done[k] = a[k + 1].read;
  if (!m->packed_rows) { /* otherwise Python takes them */
    memcpy((int64_t *)c->rows + COLUMNS * c->nrows, m->log, sizeof(int64_t) * COLUMNS * (size_t)m->nlog);
    c->nrows += m->nlog;
  }
  restore_(m, c);
  ALL_ARE_PUT_();
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
    if (piece[P_NUMBER]) poison_(a + piece[P_NUMBER], piece[P_BYTES], ALL_AT_ONCE);
    else if (piece[P_CONTENT] == POISONED || piece[P_CONTENT] == ZEROS) memset(start, piece[P_CONTENT] == ZEROS ? 0 : POISON, (size_t)piece[P_BYTES]);
    else memcpy(start, (void *)(uintptr_t)piece[P_CONTENT], (size_t)piece[P_BYTES]);
  }
  memset(m->work, 0, sizeof(int64_t) * TASK_PLACES);
  memcpy(&m->lines, c->rest, (size_t)c->nrest);
  memcpy(m->globals, c->places, sizeof(uint64_t) * (size_t)c->nplaces);
  m->fuel = fuel; /* signals are handled as often as before */
  m->taskId = (int)task[T_TASKID]; m->taskIdX = (int)task[T_TASKIDX]; m->taskIdY = (int)task[T_TASKIDY]; m->taskIdZ = (int)task[T_TASKIDZ];
  m->coreId = (int)task[T_COREID]; m->segment = (int)task[T_SEGMENT];
  m->npast = smaller_(m->nloads, LOADS); m->nloads = 0;
  c->met = 0; m->packed_words = m->packed_rows = 0;
  SCREENED_(task_begins_(m);)
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
  restore_(m, c);
  if (beside) take_lock_(m);
}
/* Run the tasks of a chain from the current one on, and record the results of each, the last included. Returns 1 at the end, 0 if Python has to
   copy the rows of the logs first, -1 if the running task has called Python. */
VISIBLE int64_t mlusim_again(Core *m, const uint64_t *words, void (*entry)(Core *, const uint64_t *)) {
  Chain *c = (Chain *)m->chain;
  if (!c->at) {
    memset(m->traffic, 0, sizeof m->traffic); memset(m->counts, 0, sizeof m->counts);
    memset(m->lines, 0, 2 * sizeof m->counts); /* the spare bytes follow the lines */
  }
  for (c->called = c->nrows = 0;;) {
    chain_begins_(m, c, c->at);
    entry(m, words);
    pay_(m); /* Python may let the core run further tasks */
    if (c->called) return -1;
    if (m->nflights) drain_(m, FOR_ALL);
    chain_ends_(m, c, c->met);
    if (++c->at == c->many) return 1;
    if (c->nrows > CHAIN_ROWS) return 0;
  }
}
/* Let a core of a team run its task from beginning to end; return 0 if Python has taken over, or has to. */
PART int team_runs_(Team *t, int64_t who, void (*entry)(Core *, const uint64_t *)) {
  int64_t *row = MEMBER_(t, who);
  Core *m = ((Core **)t->cores)[who], *lead = ((Core **)t->cores)[0];
  Chain *c = (Chain *)m->chain, *ledger = (Chain *)t->ledger;
  if (m != lead) memcpy((Alloc *)m->allocs + t->tensor, (Alloc *)lead->allocs + t->tensor, sizeof(Alloc) * (size_t)(c->given + 1 - t->tensor));
  c->called = 0; row[M_BEGUN] = 1;
  chain_begins_(m, c, row[M_TASK]);
  entry(m, (const uint64_t *)t->words);
  pay_(m);
  if (c->called || t->called) return 0;
  if (m->nflights) drain_(m, FOR_ALL);
  /* Cores that wait for it, or for each other, wait for ever. */
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
/* Run tasks of a team on a strand, as other strands do. Returns 0 if no task is left on it, 1 if Python has to continue its task, -1 after an
   exception between two tasks. */
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
      if (((Chain *)t->ledger)->nrows <= CHAIN_ROWS && !((Core **)t->cores)[next]->packed_rows) continue;
      done = ((void *(*)(void *))t->call)(t->taken);
    }
    if (!done) return -1;
    ((void (*)(void *))t->drop)(done);
  }
  return 0;
}
/* Set the queue of a team, and reset its counts, at the beginning of a launch; and add up the counts of its cores into the first core's. */
VISIBLE void mlusim_team_begins(Team *t) {
  t->first = t->strand = t->idle_strands = t->called = 0; t->strands = 1;
  t->admitted = t->ready = smaller_(t->sets, t->unions); t->idle_sets = t->sets;
  for (int64_t k = 0; k < t->ready; k++) ((int64_t *)t->queue)[k] = -1 - k;
  for (int64_t k = 0; k < t->sets; k++) ((int64_t *)t->sets_left)[k] = k;
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
/* Write the non-zero counts of a launch as pairs of a position, in the consecutive bytes by direction, instructions, lines and spare bytes, and the
   count. Returns the number of words. */
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
/* Run tasks of a chain that several threads take one by one, until none is left, or one of them calls Python. The launching thread waits a while
   for the others to end. */
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
  restore_(m, c);
  if (c->who) __atomic_sub_fetch(SHARED_(c, CREW_RUNNING), 1, __ATOMIC_SEQ_CST);
  else if (m->thread) {
    __atomic_store_n(SHARED_(c, CREW_OVER), 1, __ATOMIC_SEQ_CST); /* threads that arrive from here on find nothing */
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
