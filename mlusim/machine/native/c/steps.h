/* Every instruction of a core, recorded beside its log in the form of NotedLog in mlusim/time/log.py, which describes each part. The distinct steps
   belong to the launch; Python makes space when there is too little (machine/native/steps.py). */
#define NOTED_(...) __VA_ARGS__
enum { STEP_WORDS = S_COLUMNS + COLUMNS, NO_SITE = -1 };
#define OWN_STEPS_(m) ((Noted *)(m)->steps)
COLD uint32_t *step_place_(const Steps *t, const int64_t *step);
COLD int64_t step_(Core *m, const int64_t *step);
COLD void counts_step_(Core *m, int64_t number);
ALWAYS void keeps_(Core *m, int64_t number) {
  Noted *n = OWN_STEPS_(m);
  if (UNLIKELY(n->whole < 0)) {
    Steps *t = (Steps *)n->table;
    if (n->nturns < MOST_STEPS && t->room > 0) { ((uint32_t *)n->turns)[n->nturns++] = (uint32_t)number; t->room--; return; }
    n->whole = n->ncuts;
  }
  if (LIKELY(number < n->room)) ((int64_t *)n->more)[number]++; else counts_step_(m, number);
}
COLD int64_t step_now_(Core *m, int64_t issued, const int64_t *added);
COLD int64_t step_of_row_(Core *m, int64_t site, int64_t number, int64_t lanes, int64_t issued, int64_t nbytes, int64_t kind, const int64_t *load);
COLD void steps_settle_(Core *m);
PART void begins_(Core *m, int site, int number, int64_t lanes) {
  Noted *n = OWN_STEPS_(m);
  if (n->open) steps_settle_(m);
  n->site = site; n->number = number; n->lanes = lanes; n->fresh = n->open = 1;
}
COLD uint32_t access_(Core *m, int site, int counter);
ALWAYS void accesses_(Core *m, int site, int counter) {
  Noted *n = OWN_STEPS_(m);
  if (UNLIKELY(n->open)) steps_settle_(m);
  uint32_t number = ((uint32_t *)((Steps *)n->table)->accesses)[ACCESSES * (int64_t)site + counter];
  if (UNLIKELY(!number)) number = access_(m, site, counter);
  keeps_(m, (int64_t)number - 1);
}
COLD void fenced_(Core *m);
COLD void owns_(Core *m, int kind, const int64_t *load);
