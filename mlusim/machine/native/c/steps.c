/* The functions declared in steps.h. */
uint32_t *step_place_(const Steps *t, const int64_t *step) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (int k = 0; k < STEP_WORDS; k++) { h = (h ^ (uint64_t)step[k]) * UINT64_C(0x9e3779b97f4a7c15); h ^= h >> 32; }
  for (;; h++) {
    uint32_t *place = (uint32_t *)t->hash + (h & (uint64_t)t->mask);
    if (!*place || !memcmp((const int64_t *)t->rows + STEP_WORDS * (int64_t)(*place - 1), step, sizeof(int64_t) * STEP_WORDS)) return place;
  }
}
/* Return the number of a step, which may be new. */
int64_t step_(Core *m, const int64_t *step) {
  Steps *t = (Steps *)OWN_STEPS_(m)->table;
  uint32_t *place = step_place_(t, step);
  if (!*place && t->many == t->places) { up_(m, UP_STEPS, 0, 0); place = step_place_(t, step); }
  if (!*place) {
    memcpy((int64_t *)t->rows + STEP_WORDS * t->many, step, sizeof(int64_t) * STEP_WORDS);
    *place = (uint32_t)++t->many;
  }
  return (int64_t)*place - 1;
}
void counts_step_(Core *m, int64_t number) {
  Noted *n = OWN_STEPS_(m);
  if (UNLIKELY(number >= n->room)) up_(m, UP_STEPS, 1, 0);
  ((int64_t *)n->more)[number]++;
}
/* Return the step of the core's current instruction with these additions; usually it is the last one of its line. */
int64_t step_now_(Core *m, int64_t issued, const int64_t *added) {
  Noted *n = OWN_STEPS_(m);
  Steps *t = (Steps *)n->table;
  int64_t step[STEP_WORDS] = {[S_SITE] = n->site, [S_NUMBER] = n->number, [S_LANES] = n->lanes, [S_ISSUED] = issued};
  step[S_NBYTES] = added[W_IO] + added[W_MOVE]; step[S_COLUMNS] = K_END;
  memcpy(step + S_COLUMNS + R_SUMS, added, sizeof(int64_t) * PLACES);
  uint32_t *last = (uint32_t *)t->last + (n->site - NO_SITE);
  if (*last && !memcmp((const int64_t *)t->rows + STEP_WORDS * (int64_t)(*last - 1), step, sizeof step)) return (int64_t)*last - 1;
  const int64_t number = step_(m, step);
  *last = (uint32_t)number + 1;
  return number;
}
int64_t step_of_row_(Core *m, int64_t site, int64_t number, int64_t lanes, int64_t issued, int64_t nbytes, int64_t kind, const int64_t *load) {
  int64_t step[STEP_WORDS] = {[S_SITE] = site, [S_NUMBER] = number, [S_LANES] = lanes, [S_ISSUED] = issued, [S_NBYTES] = nbytes};
  step[S_COLUMNS] = kind;
  memcpy(step + S_COLUMNS + R_OWN, load, sizeof(int64_t) * (R_SUMS - R_OWN));
  return step_(m, step);
}
/* Attribute the additions since then to the core's current instruction. */
void steps_settle_(Core *m) {
  Noted *n = OWN_STEPS_(m);
  int64_t added[PLACES], changed = 0;
  n->open = 0;
  for (int k = 0; k < PLACES; k++) { added[k] = m->work[k] - n->added_up[k]; changed |= added[k]; n->added_up[k] = m->work[k]; }
  if (changed && n->flies) { /* after a flight only bytes are added */
    ((uint32_t *)n->owners)[n->ncuts - 1] =
      (uint32_t)step_of_row_(m, n->site, n->number, n->lanes, n->flight_issued, added[W_IO] + added[W_MOVE], n->flight_kind, n->flight_load);
    n->flies = 0;
    return;
  }
  n->flies = 0;
  if (!changed && !n->fresh) return;
  const int64_t issued = n->fresh;
  n->fresh = 0;
  keeps_(m, step_now_(m, issued, added));
}
uint32_t access_(Core *m, int site, int counter) {
  const int store = counter >= LOAD_PLACES;
  int64_t step[STEP_WORDS] = {[S_SITE] = site, [S_NUMBER] = store ? N_STORE : N_LOAD, [S_ISSUED] = 1};
  step[S_COLUMNS] = K_END;
  step[S_COLUMNS + R_LOADS + counter] = 1; /* those of stores follow those of loads */
  const uint32_t number = (uint32_t)step_(m, step) + 1;
  ((uint32_t *)((Steps *)OWN_STEPS_(m)->table)->accesses)[ACCESSES * (int64_t)site + counter] = number;
  return number;
}
void fenced_(Core *m) {
  Noted *n = OWN_STEPS_(m);
  n->fenced = 1; n->fence_site = n->site; n->fence_number = n->number; n->fence_lanes = n->lanes;
}
/* Record the step of a row that is about to be written to the log. */
void owns_(Core *m, int kind, const int64_t *load) {
  Noted *n = OWN_STEPS_(m);
  if (kind == K_END || memcmp(m->work, n->added_up, sizeof n->added_up)) steps_settle_(m);
  n->flies = 0;
  int64_t site = n->site, number = n->number, lanes = n->lanes, issued = n->fresh;
  if (kind == K_WAIT && n->fenced) { site = n->fence_site; number = n->fence_number; lanes = n->fence_lanes; issued = n->fenced = 0; }
  else if (kind == K_END) { site = NO_SITE; number = N_LEAVE; lanes = 0; }
  else n->fresh = 0;
  const int64_t owner = step_of_row_(m, site, number, lanes, issued, 0, kind, load);
  if (n->ncuts < MOST_CUTS) {
    ((uint32_t *)n->cuts)[n->ncuts] = (uint32_t)n->nturns;
    ((uint32_t *)n->owners)[n->ncuts++] = (uint32_t)owner;
    if (kind == K_IO || kind == K_MOVE) {
      n->flies = 1; n->flight_issued = issued; n->flight_kind = kind;
      memcpy(n->flight_load, load, sizeof n->flight_load);
    }
  } else counts_step_(m, owner);
  n->open = 1;
}
