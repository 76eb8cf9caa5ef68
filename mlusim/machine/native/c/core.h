/* A core's actions in C: calls of Python, accounts, the log, effects in flight, barriers. */
COLD Argument row_up(Core *m, int row, int site, int n, const Argument *given);
#define UP(m, row, site, ...) row_up(m, row, site, (int)(sizeof(Argument[]){__VA_ARGS__} / sizeof(Argument)), (Argument[]){__VA_ARGS__})
NOTED_(COLD Argument row_up_noted_(Core *m, int row, int site, int place, int idle, int n, const Argument *given);)
#define UP_NOTED(m, row, site, place, idle, ...) row_up_noted_(m, row, site, place, idle, (int)(sizeof(Argument[]){__VA_ARGS__} / sizeof(Argument)), (Argument[]){__VA_ARGS__})
COLD Argument library_up(Core *m, int name, int site, int n, const Argument *given);
#define CALL_UP(m, name, site, ...) library_up(m, name, site, (int)(sizeof(Argument[]){__VA_ARGS__} / sizeof(Argument)), (Argument[]){__VA_ARGS__})
ALWAYS double float_of(Argument a) { double f; memcpy(&f, &a.bits, 8); return f; }
COLD void tick_(Core *m, int site);
#define TURN(m, site) do { if (UNLIKELY(((m)->fuel -= TURN_BYTES) < 0)) tick_(m, site); } while (0)

enum { ALL_AT_ONCE = 0 SCREENED_(+ 1) }; /* a screen needs the memories' true sizes */
COLD Ptr declared_(Core *m, int name, int site, int64_t place);

/* Zeros for a large part of NRAM are owed: until they are stored, the memory ends before them for C, so that the check of an access detects the
   need, as with poison (`deepen_`). A load from off chip that follows stores its own bytes first of all, and only the zeros around them. */
#define OWED (1 << 12) /* the least bytes that are owed */
COLD void owe_(Core *m, At to, int64_t n);
COLD int pay_(Core *m);
COLD int lend_(Core *m, int dst, int src, Ptr to);
COLD void pay_around_(Core *m, int64_t o, int64_t stride, int64_t n, int64_t rows);
ALWAYS void zero_(Core *m, At to, int64_t n) {
  if (!ALL_AT_ONCE && n >= OWED && m->chain && !(m->pending & FOR_ALL) && !m->nflights) owe_(m, to, n); else memset(at(to), 0, (size_t)n);
}

#define FAR(space) ((space) == GDRAM || (space) == LDRAM)

/* Let C see more of the memories until *many* pointers have *n* elements there, of the bytes *size*; return whether that was needed, and is so. */
int reach_(Core *m, int64_t n, int many, const Ptr *p, const int *size);
/* Instructions that are performed together (machine/native/text/joined.py); one after the other without optimisation, as who steps through them expects. */
#ifdef __OPTIMIZE__
#define AT_ONCE_(joined) (joined)
#else
#define AT_ONCE_(joined) 0
#endif

/* ---- accounts ---- */
#define COSTLY_ 16 /* cost of functions and of elements moved singly, in bytes of simple instructions: roughly */
ALWAYS void lines_(Core *m, int row, int64_t used, int64_t paid) {
  ((int64_t *)m->lines)[row] += paid;
  ((int64_t *)m->spare)[row] += -used & (VECTOR_BYTES - 1);
}
/* Account for *many* equal instructions of *used* bytes. */
ALWAYS void vectors_(Core *m, int row, int64_t used, int64_t many) {
  int64_t paid = (used + VECTOR_BYTES - 1) / VECTOR_BYTES;
  m->counts[row] += many;
  m->fuel -= used * many;
  m->work[W_VECTOR] += (paid + START) * many;
  ((int64_t *)m->lines)[row] += paid * many;
  ((int64_t *)m->spare)[row] += (-used & (VECTOR_BYTES - 1)) * many;
}
ALWAYS void vector_(Core *m, int row, int64_t used) { vectors_(m, row, used, 1); }
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
COLD void note_(Core *m, int kind, int64_t argument, int64_t l0, int64_t l1, int64_t l2, int64_t l3, int64_t l4);
COLD void head_ends_(Core *m);
COLD void head_settles_(Core *m);
ALWAYS void await_(Core *m, int waits) {
  if (m->pending & OPENING && waits & FOR_IO) head_ends_(m);
  if (m->pending & waits) { note_(m, K_WAIT, waits, 0, 0, 0, 0, 0); m->pending &= ~waits; }
  else if (waits & FOR_COMPUTE) { if (m->pending & FOR_ALL) note_(m, K_WAIT, waits, 0, 0, 0, 0, 0); else { m->fence = 1; NOTED_(fenced_(m);) } }
}

/* ---- bytes ---- */
#define AHEAD (1 << 12)
#define STREAMED (1 << 14) /* instructions of at least this many bytes are written past the caches, in pieces of at least SEGMENT */
#define SEGMENT (1 << 9)
#define HOST_LINE 64
#define FETCHED 2048 /* bytes of prefetching, into the second level of caches, for which more lines are in transit than for the first */
#define FETCH_(s) __builtin_prefetch(s, 0, 2)
#if defined(__AVX2__)
typedef long long W4_ __attribute__((vector_size(32)));
#if defined(__clang__)
#define PUT_PAST_(p, v) __builtin_nontemporal_store(v, p)
#else
#define PUT_PAST_(p, v) __builtin_ia32_movntdq256(p, v)
#endif
#define ALL_ARE_PUT_() __builtin_ia32_sfence()
#define STREAMS 1
#else
typedef long long W4_ __attribute__((vector_size(16)));
#define PUT_PAST_(p, v) (*(p) = (v))
#define ALL_ARE_PUT_()
#define STREAMS 0
#endif
enum { HALF_ = sizeof(W4_) };
/* Write a line past the caches. */
ALWAYS void line_past_(uint8_t *t, const uint8_t *s) {
  for (int k = 0; k < HOST_LINE; k += HALF_) { W4_ w; memcpy(&w, s + k, HALF_); PUT_PAST_((W4_ *)(t + k), w); }
}
void carry_far_(Core *m, int dst, int src, uint8_t *t, int64_t ts, const uint8_t *s, int64_t fs, int64_t n, int64_t rows);
/* Copy *n* bytes from src to dst, or *rows* rows of *n* bytes. */
ALWAYS void carry_(Core *m, int dst, int src, uint8_t *t, const uint8_t *s, int64_t n) {
  if (n >= AHEAD && FAR(dst) != FAR(src)) carry_far_(m, dst, src, t, 0, s, 0, n, 1); else memmove(t, s, (size_t)n);
}
ALWAYS void carry_rows_(Core *m, int dst, int src, uint8_t *t, int64_t ts, const uint8_t *s, int64_t fs, int64_t n, int64_t rows) {
  if (n >= SEGMENT && FAR(dst) != FAR(src)) carry_far_(m, dst, src, t, ts, s, fs, n, rows);
  /* With a size known at compile time, memcpy is not a call. */
  else if (n == 4) for (int64_t k = 0; k < rows; k++) memcpy(t + k * ts, s + k * fs, 4);
  else for (int64_t k = 0; k < rows; k++) memmove(t + k * ts, s + k * fs, (size_t)n);
}
/* Prefetch *n* bytes of GDRAM that an instruction is about to change. */
ALWAYS void ahead_(const Core *m, Ptr p, int64_t n) {
  At a = see(m, p);
  if (a.a->space == GDRAM && n <= AHEAD && !out(a, n)) for (int64_t i = 0; i < n; i += 64) __builtin_prefetch(at(a) + i, 1);
}

/* ---- effects in flight: copies of rows of bytes, and effects issued by Python (a row of numbers) ---- */
COLD void land_(Core *m, const Flight *f);
COLD void drain_(Core *m, int pipes);
COLD void settle_now_(Core *m, int pipe);
ALWAYS void settle_(Core *m, int pipe) { if (UNLIKELY(m->pending)) settle_now_(m, pipe); }
/* Return whether something is pending when an instruction settles its pipe that is performed together with others. */
ALWAYS int pends_(Core *m) { if (m->pending & OPENING) head_settles_(m); return m->pending != 0; }
/* Like Core._land_inside of machine/core.py: the last effect in flight lands if no other one on its pipe waits. */
ALWAYS int inside_(Core *m, const Flight *f) {
  const Alloc *a = (Alloc *)m->allocs;
  return f->pipe == P_MOVE && (f->number >= 0 ? f->size != 0 : a[f->dst].space == NRAM && a[f->src].space == NRAM);
}
COLD void land_inside_(Core *m);
COLD void fly_(Core *m, Flight f, int64_t l0, int64_t l1, int64_t l2, int64_t l3, int64_t l4);
ALWAYS void wait_(Core *m, int row, int pipes) {
  NOTED_(begins_(m, m->site, row, 0);)
  m->counts[row]++; await_(m, pipes); if (m->nflights) drain_(m, pipes);
  SCREENED_(waits_(m, row, row == ROW_sync ? EVERY_LIST : row == ROW_sync_io ? 1 << IN_IO : row == ROW_sync_move ? 1 << IN_MOVE : 0);)
}

/* ---- barriers ---- */
COLD int team_meets_(Core *m, int row);
COLD int team_pauses_(Core *m);
void atomic_step_(Core *m, int unchanged);
void meet_(Core *m, int row, int site, int passes);
void wait_compute_(Core *m, int row);

/* ---- distinguishing polls from reads, as Polls of engine/contract.py does ---- */
#define SHARED(space) ((space) == GDRAM || (space) == SRAM)
COLD void poll_load(Core *m, uint64_t address);
COLD void poll_again(Core *m, int64_t nbytes);
COLD void poll_copy(Core *m, uint64_t address, int64_t nbytes);
