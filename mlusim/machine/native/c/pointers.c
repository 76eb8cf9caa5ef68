/* The functions declared in pointers.h: calls of Python. */
/* Python has one lock. A core that runs at the same time as others releases it, keeps the state of its thread in `thread`, and acquires the lock
   for its calls. Other threads may read what it has stored from then on, or when its task has ended: what was written past the caches is in memory. */
void take_lock_(Core *m) {
  void *thread = m->thread;
  m->thread = 0;
  ALL_ARE_PUT_();
  if (thread) ((void (*)(void *))m->restore)(thread);
}
void give_lock_(Core *m) { m->thread = ((void *(*)(void))m->save)(); }
/* Python has work for the running task, after which nothing follows in C alone. */
void for_python_(Core *m) {
  Chain *c = (Chain *)m->chain;
  if (c) c->called = 1;
  if (c && c->team) ((Team *)c->team)->called = 1;
}
void call_(Core *m, void *object) { /* exceptions, including interrupts, are raised at the call of C */
  pay_(m);
  const int gave = m->thread != 0;
  if (gave) take_lock_(m);
  void *done = ((void *(*)(void *))m->call)(object);
  if (!done) {
    for_python_(m);
    longjmp(*(jmp_buf *)m->jump, 1);
  }
  ((void (*)(void *))m->drop)(done);
  if (gave) give_lock_(m);
}
uint64_t mixed_(const Word_ *from, const Word_ *to) {
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (; from < to; from++) { h = (h ^ *from) * UINT64_C(0x9e3779b97f4a7c15); h ^= h >> 32; }
  return h;
}
void state_now_(Core *m) {
  jmp_buf here;
  memset(&here, 0, sizeof here);
  if (setjmp(here)) return;
  if (m->base - (uint64_t)(uintptr_t)&here > DEEP_STACK) m->state++;
  else m->state = mixed_((const Word_ *)&here, (const Word_ *)(uintptr_t)m->base);
}
int64_t up_(Core *m, int64_t why, int64_t a, int64_t b) {
  int inside = m->inside;
  if (!inside && MAY_LOOK(why)) state_now_(m);
  /* A request for space in a record does not concern the task. */
  if (why != UP_SUSPECT || a) for_python_(m);
  if (why != UP_LOG && why != UP_STEPS) while (deepen_(m));
  m->asked[0] = why; m->asked[1] = a; m->asked[2] = b;
  m->inside = 1;
  call_(m, m->up);
  m->inside = inside;
  return 0;
}
