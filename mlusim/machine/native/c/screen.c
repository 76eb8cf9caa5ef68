/* The functions declared in screen.h. */
#include <stdlib.h>
void suspect_(Core *m, int why, int site) {
  if (!(m->screens & why)) return;
  m->site = site;
  up_(m, UP_SUSPECT, why, 0);
}
static uint8_t *flags_at_(uint8_t *flags, int64_t low, int64_t n, int change);
static uint8_t *flags_say_(At p, int64_t n, int change);
/* Return the number of the place where lanes were mixed on the way of the byte of flag *f*, following it back as `observe.value_flow.trail` does;
   NOT_MIXED_ if nowhere, or UNCLEAR_ if the records here do not show it. */
enum { NOT_MIXED_ = -1, UNCLEAR_ = -2 };
static int mixed_on_way_(const Stores_ *t, const uint8_t *f) {
  int64_t number = INT64_MAX;
  for (int hop = 0; hop < HOPS_; hop++) {
    const Lacking_ *w = 0;
    for (const Lacking_ *k = t->lack, *end = k + t->lacking; k < end; k++) {
      if (f < k->low || f >= k->high) continue;
      if (k->number > number) return UNCLEAR_;
      if (k->number < number && (!w || k->number > w->number)) w = k;
    }
    if (!w) return NOT_MIXED_;
    if (w->mixes) return w->site;
    if (!w->clear) return UNCLEAR_;
    const uint8_t *from = 0;
    int itself = 0;
    for (int k = 0; k < w->many && !from; k++) {
      const Source_ s = w->source[k];
      if (!s.flags || !any_lacks_(s.flags, s.low, s.bytes)) continue;
      const uint8_t *first = flags_at_(s.flags, s.low, s.bytes, 0), *at = first + (f - w->low) * s.bytes / (w->high - w->low);
      if (!*at) at = memchr(first, 1, (size_t)s.bytes);
      if (at == f) itself = 1; else from = at;
    }
    if (!from && !itself) return NOT_MIXED_;
    if (from ? from >= w->low && from < w->high : !w->itself) return UNCLEAR_;
    if (from) f = from;
    number = w->number;
  }
  return NOT_MIXED_;
}
/* Python is called once for *what* at *site*; repetitions are counted. */
static void escapes_at_(Core *m, int what, int why, int site) {
  if (counted_(m, what, site)) return;
  m->site = site;
  up_(m, UP_SUSPECT, why, 0);
}
/* Return where lanes were mixed on the way of the first uninitialized byte of *rows* rows of *n* bytes. */
static int mixed_before_(const Core *m, At s, int64_t n, int64_t rows, int64_t step) {
  const Stores_ *t = SCREEN_(m)->stores;
  const uint8_t *f = 0;
  if (LIKELY(!t->mixes)) return NOT_MIXED_;
  for (int64_t k = 0; k < rows && !f; k++) f = memchr(flags_say_((At){s.a, s.o + k * step}, n, 0), 1, (size_t)n);
  return !f || t->odd || SHARED(s.a->space) ? UNCLEAR_ : mixed_on_way_(t, f);
}
/* Record that uninitialized bytes are stored to GDRAM at *site*. */
static void escapes_(Core *m, At s, int64_t n, int64_t rows, int64_t step, int site) {
  if (!(m->screens & SCREEN_INIT)) return;
  const int mixed = mixed_before_(m, s, n, rows, step);
  if (mixed == UNCLEAR_) SCREEN_(m)->stores->guessed = 1;
  if (mixed >= 0) escapes_at_(m, MIXED_ESCAPES_, MIXED_ESCAPED, mixed);
  else escapes_at_(m, ESCAPES_, ESCAPED, site);
}
void loads_none_(Core *m, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  if (!t->decided) suspect_(m, SCREEN_INIT, site);
  t->decided = 0;
}
/* Record that a number loaded at *site* is uninitialized, and a condition there depends on it. */
void decides_(Core *m, At p, int64_t n, int site) {
  if (!(m->screens & SCREEN_INIT) || m->nflights || busy_(m) || SHARED(p.a->space)) return;
  const int mixed = mixed_before_(m, p, n, 1, 0);
  if (mixed == UNCLEAR_) return;
  SCREEN_(m)->stores->decided = 1;
  if (mixed >= 0) escapes_at_(m, MIXED_ESCAPES_, MIXED_ESCAPED, mixed);
  else escapes_at_(m, DECISIONS_, DECIDED, site);
}
/* The same of a number that a variable holds: tests that depend on it alone are recorded when they are made, any other use is a suspicion. */
void holds_(Core *m, At p, int64_t n, int site, Held_ *h) {
  if (!(m->screens & SCREEN_INIT) || m->nflights || busy_(m) || SHARED(p.a->space)) return;
  const int mixed = mixed_before_(m, p, n, 1, 0);
  if (mixed == UNCLEAR_) return;
  SCREEN_(m)->stores->decided = 1;
  *h = (Held_){site + 1, mixed};
}
void decides_late_(Core *m, Held_ h, int site) {
  if (!(m->screens & SCREEN_INIT)) return;
  if (h.mixed >= 0) escapes_at_(m, MIXED_ESCAPES_, MIXED_ESCAPED, h.mixed);
  else if (h.loaded - 1 == site) escapes_at_(m, DECISIONS_, DECIDED, site);
  else if (!counted_(m, DECISIONS_LATE_ + h.loaded - 1, site)) { m->site = site; up_(m, UP_SUSPECT, DECIDED, h.loaded); }
}
void used_late_(Core *m, int site) { suspect_(m, SCREEN_INIT, site); }
/* Record that a statement at *site* has written uninitialized bytes: [low, high) of the flags; its sources follow. */
static Lacking_ *leaves_(Core *m, At d, int64_t whole, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  const uint8_t *low = FLAGS_(d);
  int64_t k = 0, mixes = 0;
  for (; k < t->lacking && (t->lack[k].site != site || t->lack[k].low != low); k++) mixes |= t->lack[k].site == site && t->lack[k].mixes;
  if (k == MOST_LACKING || SHARED(d.a->space)) { t->odd = 1; return 0; }
  Lacking_ *w = &t->lack[k];
  if (k == t->lacking) { t->lacking++; w->mixes = (int32_t)mixes; }
  w->low = low; w->high = low + whole; w->number = ++t->writes; w->site = site;
  w->clear = w->itself = w->many = 0;
  return w;
}
static void out_of_(Lacking_ *w, At s, int64_t bytes) {
  if (w->many == MOST_SOURCES || SHARED(s.a->space)) { w->clear &= s.a->flags == 0; return; }
  w->source[w->many++] = (Source_){(uint8_t *)s.a->flags, s.o, bytes};
}
/* Initialized rows surround bytes that others left uninitialized: the records do not show the last write there. */
static void around_(Core *m, At d, int64_t n, int64_t far) {
  Stores_ *t = SCREEN_(m)->stores;
  const uint8_t *low = FLAGS_(d) + (far < 0 ? far : 0), *high = FLAGS_(d) + n + (far < 0 ? 0 : far);
  for (const Lacking_ *w = t->lack, *end = w + t->lacking; w < end; w++) if (w->low < high && low < w->high) t->odd = 1;
}
void partly_given_(Core *m, At p, int site) {
  if (!p.a->flags) return;
  if (p.a->space == GDRAM) suspect_(m, SCREEN_INIT, site);
  SCREEN_(m)->stores->guessed = 1;
}
int any_of_(const uint8_t *f, int64_t n) {
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
/* Return whether any of *n* lines, with summaries from *f* on, may have uninitialized bytes; 8 bytes are read even if *n* is less. The next
   function sets the summaries to initialized. */
static inline int said_(const uint8_t *f, int64_t n) {
  uint64_t x = 0, w;
  memcpy(&w, f, 8);
  if (n <= 8) return (w & ~UINT64_C(0) >> (64 - 8 * n)) != 0;
  if (n > 64) return any_of_(f, n);
  for (int64_t i = 0; i + 8 < n; i += 8) { memcpy(&w, f + i, 8); x |= w; }
  memcpy(&w, f + n - 8, 8);
  return (x | w) != 0;
}
static inline void say_nothing_(uint8_t *f, int64_t n) {
  const uint64_t w = 0x0101010101010101u * ALL_HAVE;
  if (n < 8) { for (int64_t i = 0; i < n; i++) f[i] = ALL_HAVE; return; }
  if (n > 64) { memset(f, ALL_HAVE, (size_t)n); return; }
  for (int64_t i = 0; i + 8 < n; i += 8) memcpy(f + i, &w, 8);
  memcpy(f + n - 8, &w, 8);
}
int any_lacks_(const uint8_t *flags, int64_t low, int64_t n) {
  if (n <= 0) return 0;
  const int64_t first = LINE_OF_(low), last = LINE_OF_(low + n - 1);
  if (LIKELY(!said_(&LINE_(flags, last), last - first + 1))) return 0;
  for (int64_t k = first; k <= last; k++) {
    if (LINE_(flags, k) == NONE_HAS) return 1;
    const int64_t from = larger_(low, k * FLAG_LINE);
    if (LINE_(flags, k) == FLAGS_SAY && any_(flags + from, smaller_(low + n, (k + 1) * FLAG_LINE) - from)) return 1;
  }
  return 0;
}
/* Make the flags of a piece valid, whatever the summaries of its lines; if the flags are about to change, the summaries refer to them from now on. */
static uint8_t *flags_at_(uint8_t *flags, int64_t low, int64_t n, int change) {
  for (int64_t k = LINE_OF_(low); n > 0 && k <= (low + n - 1) / FLAG_LINE; k++) {
    if (LINE_(flags, k) != FLAGS_SAY) memset(flags + k * FLAG_LINE, LINE_(flags, k), FLAG_LINE);
    if (change) LINE_(flags, k) = FLAGS_SAY;
  }
  return flags + low;
}
static uint8_t *flags_say_(At p, int64_t n, int change) { return flags_at_((uint8_t *)p.a->flags, p.o, n, change); }
/* Mark a part of one line as initialized. */
static void part_has_(uint8_t *flags, int64_t low, int64_t high) {
  const int64_t k = LINE_OF_(low);
  if (LINE_(flags, k) == ALL_HAVE) return;
  if (LINE_(flags, k) == NONE_HAS) { memset(flags + k * FLAG_LINE, 1, FLAG_LINE); LINE_(flags, k) = FLAGS_SAY; }
  memset(flags + low, 0, (size_t)(high - low));
  if (!any_(flags + k * FLAG_LINE, FLAG_LINE)) LINE_(flags, k) = ALL_HAVE;
}
void all_have_(uint8_t *flags, int64_t low, int64_t n) {
  const int64_t high = low + n, first = LINE_OF_(low + FLAG_LINE - 1), end = LINE_OF_(high);
  if (n <= 0) return;
  if (first > end) { part_has_(flags, low, high); return; }
  if (low < first * FLAG_LINE) part_has_(flags, low, first * FLAG_LINE);
  if (first < end) say_nothing_(&LINE_(flags, end - 1), end - first);
  if (end * FLAG_LINE < high) part_has_(flags, end * FLAG_LINE, high);
}
int lacks_rows_(At p, int64_t n, int64_t more, int64_t step) {
  if (!p.a->flags) return 0;
  for (int64_t k = 0; k <= more; k++) if (any_lacks_((const uint8_t *)p.a->flags, p.o + k * step, n)) return 1;
  return 0;
}
void given_rows_(Core *m, At p, int64_t n, int64_t more, int64_t step) {
  if (!p.a->flags) return;
  STORED_(p);
  for (int64_t k = 0; k <= more; k++) all_have_((uint8_t *)p.a->flags, p.o + k * step, n);
  if (UNLIKELY(SCREEN_(m)->stores->lacking) && more && p.a->space != GDRAM) around_(m, p, n, more * step);
}
/* Move the flags of rows of bytes with the bytes. */
void flags_move_(Core *m, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int flies, int site) {
  const int lacks = lacks_rows_(s, n, rows - 1, fs);
  if (lacks && s.a->space == GDRAM) SCREEN_(m)->stores->far = 1;
  if (lacks && d.a->space == GDRAM) escapes_(m, s, n, flies ? 0 : rows, fs, site);
  else if (lacks && !d.a->flags) suspect_(m, SCREEN_INIT, site);
  if (!lacks || d.a->space == GDRAM) { given_rows_(m, d, n, rows - 1, ts); return; }
  if (!d.a->flags) return;
  Lacking_ *w = leaves_(m, d, (rows - 1) * ts + n, site);
  if (w && rows == 1 && !flies) { w->clear = 1; out_of_(w, s, n); }
  for (int64_t k = 0; k < rows; k++) {
    const uint8_t *from = flags_say_((At){s.a, s.o + k * fs}, n, 0);
    memmove(flags_say_((At){d.a, d.o + k * ts}, n, 1), from, (size_t)n);
  }
}
/* Return whether *n* lanes from *k* on of any of *many* pieces have an uninitialized byte. */
static int pieces_lack_(int many, const Piece_ *s, int64_t k, int64_t n) {
  for (int j = 0; j < many; j++) if (lacks_((At){s[j].at.a, s[j].at.o + k * s[j].size}, n * s[j].size)) return 1;
  return 0;
}
/* Propagate flags if some source is uninitialized: lane by lane if each lane depends on its own sources (2: shorter sources repeat; 3: one source
   may settle the lane), otherwise all of *d* becomes uninitialized. */
void flags_flow_(Core *m, int lanewise, int many, const Piece_ *s, Piece_ d, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  const int64_t lanes = d.bytes / d.size;
  const int sure = lanewise == 1;
  int itself = -1, lacks = -1;
  for (int j = 0; j < many; j++) {
    const int same = s[j].at.a == d.at.a && s[j].at.o < d.at.o + d.bytes && d.at.o < s[j].at.o + s[j].bytes;
    const int64_t own = s[j].bytes / s[j].size;
    if ((own != lanes && (lanewise != 2 || own <= 0 || lanes % own)) || (same && (s[j].size != d.size || s[j].at.o != d.at.o || own != lanes))) lanewise = 0;
    t->far |= s[j].at.a->space == GDRAM && s[j].at.a->flags;
    if (same) itself = j;
    if (lacks < 0 && lacks_(s[j].at, s[j].bytes)) lacks = j;
  }
  if (!sure || !lanewise) t->guessed = 1;
  if (d.at.a->space == GDRAM && sure && lanewise) { escapes_(m, s[lacks].at, s[lacks].bytes, 1, 0, site); given_(d.at, d.bytes); return; }
  if (d.at.a->space == GDRAM || !d.at.a->flags) { suspect_(m, SCREEN_INIT, site); return; }
  for (int j = 0; j < many && !(sure && lanewise); j++) if (s[j].at.a->flags) flags_say_(s[j].at, s[j].bytes, 0);
  Lacking_ *w = leaves_(m, d.at, d.bytes, site);
  if (w && sure && lanewise) {
    w->clear = 1;
    w->itself = itself >= 0 && !memchr(flags_say_(s[itself].at, s[itself].bytes, 0), 0, (size_t)s[itself].bytes);
    for (int j = 0; j < many; j++) out_of_(w, s[j].at, s[j].bytes);
  }
  uint8_t *to = FLAGS_(d.at);
  if (!sure || !lanewise) flags_say_(d.at, d.bytes, 1);
  if (!lanewise) { memset(to, 1, (size_t)d.bytes); return; }
  /* Where each lane depends on its own sources, most pieces of them have all values: these are taken as large as they are. */
  uint8_t lane[1024];
  int64_t n, next = sure ? lanes : 1024;
  for (int64_t k = 0; k < lanes; k += n) {
    int none = 0;
    n = smaller_(next, lanes - k);
    while (sure && !(none = !pieces_lack_(many, s, k, n)) && n > 64) n = (n / 2 + 63) / 64 * 64;
    if (none) { all_have_((uint8_t *)d.at.a->flags, d.at.o + k * d.size, n * d.size); next = 2 * n; continue; }
    if (sure) next = 64;
    if (sure) {
      for (int j = 0; j < many; j++) if (s[j].at.a->flags) flags_say_((At){s[j].at.a, s[j].at.o + k * s[j].size}, n * s[j].size, 0);
      flags_say_((At){d.at.a, d.at.o + k * d.size}, n * d.size, 1);
    }
    memset(lane, 0, (size_t)n);
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
/* ---- the result of a row from uninitialized bytes ---- */
static int64_t reach_of_(const Operand_ *o) { return o->more * o->step + o->bytes; }
void forgets_(const Asked_ *q) { free(q->all); }
static const uint8_t *held_at_(const Operand_ *o) { return (const uint8_t *)o->at.a->raw + o->at.o; }
/* Return the operand whose bytes are the last content of operand *k*: another source, or itself. */
static int twin_of_(int many, const Operand_ *o, int k) {
  int twin = 0;
  while (twin < many && (twin == k || !o[twin].reads)) twin++;
  return twin < many ? twin : k;
}
/* Find the first and the last uninitialized byte of operand *k*, whose flags are valid from now on. */
static void spans_lacking_(Asked_ *q, const Operand_ *o, int k) {
  const int64_t n = reach_of_(o + k);
  q->low[k] = q->high[k] = 0;
  if (!o[k].reads || !lacks_(o[k].at, n)) return;
  const uint8_t *flags = flags_say_(o[k].at, n, 0), *first = memchr(flags, 1, (size_t)n);
  if (!first) return;
  q->flags[k] = flags; q->low[k] = first - flags; q->high[k] = n;
  while (q->high[k] - 64 > q->low[k] && !any_(flags + q->high[k] - 64, 64)) q->high[k] -= 64;
}
/* Allocate space for the copies of *many* operands, in the order of the row, and copy the sources. The last content of a single source is its own:
   the row's run on the operands themselves shows that result, unless *every* content needs copies. If each *line* of that many
   bytes depends on the same line of the sources only, the body runs on those that have uninitialized bytes; otherwise *line* is 0. */
void asks_(Asked_ *q, int64_t line, int every, int many, const Operand_ *o) {
  int64_t size = 0, low = INT64_MAX, high = 0;
  int sources = 0, only = 0;
  for (int k = 0; k < many; k++) {
    size += (reach_of_(o + k) + 127) / 64 * 64 * (o[k].writes ? 3 : 1);
    if (o[k].reads) { sources++; only = k; }
  }
  for (int k = 0; k < many; k++) if (k != only && o[k].writes && o[k].at.a == o[only].at.a) sources++;
  q->last = sources == 1 && !every ? CONTENTS_ - 2 : CONTENTS_ - 1;
  for (int k = 0; k < many; k++) {
    spans_lacking_(q, o, k);
    if (!q->high[k]) continue;
    low = smaller_(low, q->low[k]); high = larger_(high, q->high[k]);
  }
  q->begin = line && high ? low / line * line : 0;
  q->bytes = line ? smaller_((high + line - 1) / line * line, reach_of_(o + only)) - q->begin : INT64_MAX;
  uint8_t *next = q->all = malloc((size_t)size);
  for (int k = 0; k < many; k++) {
    const int64_t n = reach_of_(o + k), room = (n + 127) / 64 * 64;
    q->room[k] = next; next += room;
    if (o[k].reads && !o[k].writes) memcpy(q->room[k] + q->begin, held_at_(o + k) + q->begin, (size_t)smaller_(n, q->bytes));
    if (!o[k].writes) continue;
    q->first[k] = next; q->answer[k] = next + room; next += 2 * room;
  }
}
/* The end of the bytes of an operand that reaches to *n* on which the body runs. */
static int64_t end_of_(const Asked_ *q, int64_t n) { return q->bytes < n - q->begin ? q->begin + q->bytes : n; }
/* The contents given to uninitialized bytes in turn: zero, not a number, huge, small; pseudo-random; another source. */
static const uint8_t FILLING_[] = {0x00, 0xFF, 0x7F, 0x3C};
enum { FILLINGS_ = 4, RANDOM_ = 4, TWIN_ = 5, DIFFERS_ = 1 << FILLINGS_, EACH_FILLING_ = DIFFERS_ - 1, LEFT_ = 2 * DIFFERS_ };
static const uint8_t BEFORE_[] = {0x5A, 0xA5}; /* of a destination, to find the bytes that a row leaves unchanged */
void fills_(Asked_ *q, int many, const Operand_ *o, int content) {
  const int again = content == UNCHANGED_;
  if (again) content = 0;
  for (int k = 0; k < many; k++) {
    if (o[k].partial) memset(q->room[k], BEFORE_[again], (size_t)reach_of_(o + k));
    if (!o[k].reads) continue;
    if (o[k].writes) memcpy(q->room[k], held_at_(o + k), (size_t)reach_of_(o + k));
    if (!q->high[k]) continue;
    const int twin = twin_of_(many, o, k);
    const uint8_t *other = held_at_(o + twin), *flags = q->flags[k], *end = flags + q->high[k], *stop;
    const int64_t length = reach_of_(o + twin);
    for (const uint8_t *from = flags + q->low[k]; from < end && (from = memchr(from, 1, (size_t)(end - from))); from = stop) {
      stop = memchr(from, 0, (size_t)(end - from));
      if (!stop) stop = end;
      uint8_t *to = q->room[k];
      if (content < FILLINGS_) memset(to + (from - flags), FILLING_[content], (size_t)(stop - from));
      else for (int64_t i = from - flags; i < stop - flags; i++) to[i] = content == RANDOM_ ? (uint8_t)((uint32_t)i * 2654435761u >> 21) : other[i % length];
    }
  }
}
/* Compare the result of the body for one content. Of the run with another destination, only bytes that a row leaves unchanged differ. */
typedef uint8_t Bytes_ __attribute__((vector_size(16), aligned(1), may_alias));
void takes_(Asked_ *q, int many, const Operand_ *o, int content) {
  for (int k = 0; k < many; k++) {
    if (!o[k].writes) continue;
    const uint8_t *now = q->room[k], *first = q->first[k];
    uint8_t *answer = q->answer[k];
    const int64_t n = reach_of_(o + k), step = o[k].more ? o[k].step : n, end = end_of_(q, n);
    if (content == 0) { first = now; q->room[k] = q->first[k]; q->first[k] = (uint8_t *)first; }
    const uint8_t byte = content < FILLINGS_ ? FILLING_[content] : 0, bit = (uint8_t)(content < FILLINGS_ ? 1 << content : 0);
    const uint8_t other = content == UNCHANGED_ ? LEFT_ : DIFFERS_;
    for (int64_t r = q->begin; r < end; r += step)
      for (int64_t i = r; i < r + o[k].bytes; i += (int64_t)sizeof(Bytes_)) { /* the space extends further */
        const Bytes_ is = *(const Bytes_ *)(now + i);
        *(Bytes_ *)(answer + i) = (content ? *(Bytes_ *)(answer + i) : (Bytes_){0}) | ((Bytes_)(is != *(const Bytes_ *)(first + i)) & other) | ((Bytes_)(is == byte) & bit);
      }
  }
}
/* Set the flags of the written bytes: a byte is initialized if every content leads to the same value. Bytes that are left unchanged keep theirs,
   unless the destination is also a source. */
void answers_(Core *m, Asked_ *q, int many, const Operand_ *o, int lanewise, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  int moved = 1;
  if (q->last < TWIN_) {
    for (int k = 0; k < many; k++) {
      const int64_t end = end_of_(q, reach_of_(o + k));
      if (o[k].writes && q->begin < end) memcpy(q->room[k] + q->begin, held_at_(o + k) + q->begin, (size_t)(end - q->begin));
    }
    takes_(q, many, o, TWIN_);
  }
  for (int k = 0; k < many; k++) t->far |= o[k].reads && o[k].at.a->space == GDRAM && o[k].at.a->flags;
  for (int k = 0; k < many; k++) {
    if (!o[k].writes) continue;
    const int64_t far = o[k].more * o[k].step, end = end_of_(q, reach_of_(o + k));
    int itself = 0, lacks = 0, kept = o[k].partial ? LEFT_ : 0;
    for (int j = 0; j < many; j++) {
      if (o[j].reads && o[j].at.a == o[k].at.a && o[j].at.o == o[k].at.o && o[j].bytes == o[k].bytes) kept = 0;
      if (!o[j].reads || o[j].at.a != o[k].at.a || o[j].at.o >= o[k].at.o + far + o[k].bytes || o[k].at.o >= o[j].at.o + o[j].bytes) continue;
      itself = o[j].at.a->flags && !memchr(flags_say_(o[j].at, o[j].bytes, 0), 0, (size_t)o[j].bytes);
    }
    for (int64_t r = 0; r <= far; r += o[k].step ? o[k].step : 1) {
      uint8_t *flags = o[k].at.a->flags ? flags_say_((At){o[k].at.a, o[k].at.o + r}, o[k].bytes, 1) : 0;
      for (int64_t i = 0; i < o[k].bytes; i++) {
        const uint8_t answer = r >= q->begin && r < end ? q->answer[k][r + i] : 0, differs = (answer & DIFFERS_) != 0;
        if (answer & kept) { lacks |= flags && flags[i]; continue; }
        if (differs && (answer & EACH_FILLING_) != EACH_FILLING_) moved = 0;
        if (flags) flags[i] = differs;
        lacks |= differs;
      }
    }
    if (lacks && (!o[k].at.a->flags || o[k].at.a->space == GDRAM)) suspect_(m, SCREEN_INIT, site);
    if (!o[k].at.a->flags) continue;
    if (o[k].more && !lacks) around_(m, o[k].at, o[k].bytes, far);
    Lacking_ *w = lacks ? leaves_(m, o[k].at, far + o[k].bytes, site) : 0;
    if (!w) continue;
    w->clear = !o[k].more;
    w->itself = itself;
    for (int j = 0; j < many; j++) if (o[j].reads) out_of_(w, o[j].at, o[j].bytes);
  }
  if (!lanewise && !moved) {
    t->mixes = 1;
    for (int64_t k = 0; k < t->lacking; k++) if (t->lack[k].site == site) t->lack[k].mixes = 1;
  } else t->turned |= !lanewise;
  forgets_(q);
}
int meets_(const Core *m, int list, int64_t alloc, int64_t low, int64_t high, int writes) {
  const Span_ *s = SCREEN_(m)->span[list], *end = s + SCREEN_(m)->n[list];
  for (; s < end; s++) if (s->alloc == alloc && low < s->high && s->low < high && (writes | s->writes)) return 1;
  return 0;
}
void keep_(Core *m, int list, int64_t alloc, int64_t low, int64_t high, int writes) {
  Span_ *first = SCREEN_(m)->span[list];
  int64_t n = SCREEN_(m)->n[list];
  for (Span_ *s = first + n - 1; s >= first; s--)
    if (s->alloc == alloc && s->writes == writes && low <= s->high && s->low <= high) {
      if (low < s->low) s->low = low;
      if (high > s->high) s->high = high;
      return;
    }
  if (n == MOST_SPANS) { /* fewer, wider ones: the bytes between count as accessed, too */
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
/* An access overlaps a pending one. With a window, Python judges it at the window's end; otherwise the run ends here. */
void clashes_(Core *m, int space, int site) {
  Window_ *w = SCREEN_(m)->window;
  if (!w || w->unclear) { suspect_(m, SCREEN_RACE | (w ? 0 : WINDOW_MET), site); return; }
  w->shared |= space == GDRAM;
  if (w->met) return;
  w->met = 1;
  if (SCREEN_(m)->stores->alone) return;
  m->site = site;
  up_(m, UP_SUSPECT, WINDOW_MET, 0);
}
/* Return whether the window equals the previous one, at other offsets in its memories; off-chip offsets do not count if no off-chip access is
   unordered. */
int same_window_(const Core *m, const Window_ *w) {
  if (w->many != w->kept || w->unclear || w->shared) return 0;
  for (int64_t k = 0; k < w->many; k++) {
    const Noted_ *r = w->noted + k, *s = w->last + k;
    if (r->event != s->event || r->site != s->site || r->row != s->row || r->how != s->how || r->alloc != s->alloc || r->size != s->size || r->more != s->more || r->step != s->step || r->rows != s->rows || r->far != s->far) return 0;
    if (r->how & HOW_WAITS || (!w->shared && ((Alloc *)m->allocs)[r->alloc].space == GDRAM)) continue;
    int64_t j = 0;
    while (w->noted[j].alloc != r->alloc || w->noted[j].how & HOW_WAITS) j++;
    if (r->low - s->low != w->noted[j].low - w->last[j].low) return 0;
  }
  return 1;
}
void meets_held_(Core *m, int list, At p, int64_t n, int writes, int site) {
  if (meets_(m, list, PLACE_(m, p), p.o, p.o + n, writes)) clashes_(m, p.a->space, site);
}
void window_ends_(Core *m) {
  Window_ *w = SCREEN_(m)->window;
  if (w->met && same_window_(m, w)) w->again++;
  else if (w->met) {
    up_(m, UP_SUSPECT, WINDOW_ENDS, 0);
    w->kept = SCREEN_(m)->stores->alone && !w->shared && w->many <= MOST_COMPARED ? w->many : 0;
    memcpy(w->last, w->noted, (size_t)w->kept * sizeof *w->last);
  }
  w->many = w->events = w->met = w->shared = w->unclear = 0;
}
/* Return the space for *many* operands of an event, in a new window if the previous one is over; 0 if there is none. */
Noted_ *happens_(Core *m, int many) {
  Window_ *w = SCREEN_(m)->window;
  int64_t held = 0;
  for (int k = 0; k < LISTS; k++) held |= SCREEN_(m)->n[k];
  if (!held && w->many) window_ends_(m);
  if (w->many + many > MOST_NOTED) { w->unclear = 1; return 0; }
  w->events++; w->many += many;
  return w->noted + w->many - many;
}
void noted_(Core *m, int row, int how, At p, int64_t n, int site) {
  Noted_ *r = happens_(m, 1);
  if (r) *r = (Noted_){SCREEN_(m)->window->events, site, row, how, how & HOW_WAITS ? 0 : PLACE_(m, p), p.o, n, -1, 0};
}
/* C itself begins a task, or lets tasks meet: that is written down, as -1, or as how many and which, by the order in which they have begun. */
static void put_(Stores_ *t, int64_t word) {
  if (t->many_met < t->most_met) ((int64_t *)t->met)[t->many_met] = word;
  t->many_met++;
}
void task_begins_(Core *m) {
  Stores_ *t = SCREEN_(m)->stores;
  over_(m, EVERY_LIST);
  if (VECTORS(m)) memset(SCREEN_(m)->typed, 0, sizeof SCREEN_(m)->typed);
  SCREEN_(m)->begun = t->begun++;
  m->segment = (int32_t)t->segments++;
  put_(t, -1);
}
void tasks_meet_(Core *m, int64_t many, Core *const *all, const int64_t *who) {
  Stores_ *t = SCREEN_(m)->stores;
  if (many < 2) return;
  put_(t, many);
  for (int64_t k = 0; k < many; k++) {
    Core *other = all[who[k]];
    put_(t, SCREEN_(other)->begun);
    other->segment = (int32_t)t->segments++;
  }
}
void stored_(Core *m, int64_t key, int64_t end, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  int is_new;
  int64_t k = LOOK_UP_(t->store, t->store_at, MOST_STORED, t->stored, spread_((uint32_t)key, (uint32_t)site, 0), r->key == key && r->site == site);
  if (k < 0) { t->unclear = 1; return; }
  Stored_ *r = &t->store[k];
  if (is_new) *r = (Stored_){key, site, {0}, {-1, 0, 0, 0}};
  r->last = (Went_){end, ++t->number, (int32_t)SCREEN_(m)->row, (int32_t)m->segment};
  if (end > r->furthest.end) r->furthest = r->last;
}
void keeps_shared_(Core *m, At p, int64_t n, int kind, int site) {
  Stores_ *t = SCREEN_(m)->stores;
  if (UNLIKELY(t->many == t->most)) {
    m->site = site; up_(m, UP_SUSPECT, SHARED_FULL, 0);
    if (!t->shared) return; /* it need not be complete */
  }
  ((Shared_ *)t->shared)[t->many++] = (Shared_){p.o, p.o + n, t->time, 0, p.a->key, (int32_t)m->segment, site, (int32_t)SCREEN_(m)->row, kind, (int32_t)t->pipe, 0, 0};
}
/* Record the value stored by the last access, if it is small. */
void valued_(Core *m, int space, int type, const void *value, int64_t n) {
  Stores_ *t = SCREEN_(m)->stores;
  if (!t->shared || !SHARED(space) || n > 8) return;
  Shared_ *r = (Shared_ *)t->shared + t->many - 1;
  r->type = type;
  memcpy(&r->value, value, (size_t)n);
}
/* Record that the last access is an atomic, on one *word* or not, which others may use as a signal. */
void orders_(Core *m, int space, int word) {
  const Screen_ *s = SCREEN_(m);
  if (!s->stores->shared || !SHARED(space)) return;
  int how = word ? HOW_WORD : 0;
  if (s->n[IN_STORES]) how |= HOW_PENDING;
  for (int list = IN_IO; list <= IN_MOVE; list++)
    for (int64_t k = 0; k < s->n[list]; k++)
      if (SHARED(((Alloc *)m->allocs)[s->span[list][k].alloc].space)) how |= list == IN_IO ? HOW_PENDING : HOW_UNCLEAR;
  ((Shared_ *)s->stores->shared)[s->stores->many - 1].how = how;
}
void shares_more_(Core *m, At p, int64_t n, int kind, int site) {
  const int only_read = p.a->last_write < 0; /* by the type of the kernel's parameter */
  if (kind == READS_ && ((only_read && !SCREEN_(m)->stores->shared) || !p.a->writable)) return;
  if (kind != WRITES_ && UNLIKELY(p.a->last_read < 0)) { /* it was only written so far */
    p.a->last_read = 0; m->argv[0] = a_integer(PLACE_(m, p), -1); m->site = site;
    up_(m, UP_SUSPECT, READ_FIRST, 0);
  }
  if (kind != READS_ && UNLIKELY(only_read)) { m->site = site; up_(m, UP_SUSPECT, STORES_CONST, 0); }
  if (kind != READS_ && UNLIKELY(p.a->flags != 0) && p.a->space == GDRAM) stored_(m, p.a->key, p.o + n, site);
  if (UNLIKELY(SCREEN_(m)->stores->shared != 0)) keeps_shared_(m, p, n, kind, site);
  int64_t *table = (int64_t *)m->records;
  int32_t *last = kind == WRITES_ ? &p.a->last_write : &p.a->last_read;
  const int64_t low = p.o, high = p.o + n;
  Recent_ *recent = RECENT_(m, p, kind);
  if (recent->low <= low && high <= recent->high && recent->key == p.a->key && recent->kind == kind && recent->segment == m->segment) return;
  *recent = (Recent_){low, high, (int32_t)p.a->key, kind, (int32_t)m->segment, 0};
  if (*last && *last <= table[0]) { /* after Python has made space it may be another row, or none */
    int64_t *row = table + R_COLUMNS * (int64_t)*last;
    if (row[R_KEY] == p.a->key && row[R_KIND] == kind && row[R_SEGMENT] == m->segment && low <= row[R_HIGH] && row[R_LOW] <= high) {
      if (low < row[R_LOW]) row[R_LOW] = low;
      if (high > row[R_HIGH]) row[R_HIGH] = high;
      return;
    }
  }
  if (table[0] == table[1]) { m->site = site; up_(m, UP_SUSPECT, 0, 0); } /* Python makes space */
  *last = (int32_t)++table[0];
  int64_t *row = table + R_COLUMNS * (int64_t)*last;
  row[R_LOW] = low; row[R_HIGH] = high; row[R_KIND] = kind; row[R_SEGMENT] = m->segment; row[R_KEY] = p.a->key;
}
/* Record a return from the kernel, or from a function below it that reaches a barrier. */
void returns_(Core *m, int number) {
  Leaving_ *l = LEAVING(m);
  if (!l) return;
  if (!l->calls) { l->returned = number + 1; return; }
  if (l->calls > MOST_CALLS) { l->unclear = 1; return; }
  const int call = l->call[l->calls - 1], outermost = l->call[0];
  Returned_ *r = l->row, *end = r + l->many;
  while (r < end && (r->number != number || r->call != call || r->outermost != outermost)) r++;
  if (r < end) r->times++;
  else if (l->many == MOST_LEFT) l->unclear = 1;
  else { *r = (Returned_){number, call, outermost, 1}; l->many++; }
}
/* Record that the function is called at *site*; used as an argument of the call, whose other arguments are evaluated before. */
void called_(Core *m, int site, int function) {
  Parts_ *t = PARTS(m);
  const int32_t outer = m->context;
  int is_new;
  int64_t k = LOOK_UP_(t->context, t->context_at, MOST_CONTEXTS, t->contexts, spread_(outer, site, function),
                       r->outer == outer && r->site == site && r->function == function);
  if (k < 0) { t->doubt = 1; return; }
  if (is_new) t->context[k] = (Context_){outer, site, function, 0};
  m->context = (int32_t)k + 1;
}
/* Record that the pointer variable *local* holds *v* at its use at *site*, and *before*, the value from which it is computed. */
void keeps_(Core *m, int site, int local, Ptr v, Ptr before) {
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
/* The same in C as `memory.footprint`: the last writer of each byte, the previous one, and the places; for row *k* of the accesses. Python is
   called for reads of bytes that another part wrote. */
void written_(Core *m, int64_t k, int64_t alloc, int64_t low, int64_t size, int64_t more, int64_t step, int kind, int site) {
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
/* Record an access to *size* bytes at *low*, and *more* further pieces at distances of *step*, by argument *given* of *row*, which is -1 for a
   scalar access. */
void touched_(Core *m, int64_t alloc, int64_t low, int64_t size, int64_t more, int64_t step, int row, int given, int kind, int site) {
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
  if (low < r->span[n - 1][0]) r->span[n - 1][0] = low; /* the bytes between count as accessed, too */
  if (high > r->span[n - 1][1]) r->span[n - 1][1] = high;
}
void operands_(Core *m, int many, const Operand_ *o, int row, int how, int site) {
  Noted_ *r = WINDOW(m) ? happens_(m, many) : 0;
  if (r) for (int k = 0; k < many; k++)
    r[k] = (Noted_){SCREEN_(m)->window->events, site, row, how | o[k].reads * HOW_READS | o[k].writes * HOW_WRITES | o[k].place * HOW_PLACE,
                    PLACE_(m, o[k].at), o[k].at.o, o[k].bytes, o[k].shaped ? o[k].more : -1, o[k].more ? o[k].step : 0};
  if (!FOLLOWS(m)) return;
  for (int kind = READS_; kind <= WRITES_; kind += WRITES_ - READS_) /* it reads everything before it writes */
    for (int k = 0; k < many; k++) {
      if (!(kind == READS_ ? o[k].reads : o[k].writes) || !ON_CHIP(o[k].at.a->space)) continue;
      touched_(m, PLACE_(m, o[k].at), o[k].at.o, o[k].bytes, o[k].more, o[k].step, row, o[k].given, kind, site);
    }
}
/* Return the flags of such a variable, which have no meaning before its declaration. */
uint8_t *flagged_(Core *m, Ptr p, int64_t size) {
  At q = see(m, p);
  q.a->flags = (uint8_t *)m->cell_flags + ((uint8_t *)q.a->raw - (uint8_t *)m->cells);
  memset(q.a->flags, 0, (size_t)size);
  return (uint8_t *)q.a->flags;
}
/* Record accesses to rows of shared bytes, each row separately. */
void shares_each_(Core *m, At p, int64_t n, int64_t rows, int64_t step, int kind, int site) {
  for (int64_t k = 0; k < rows; k++) share_(m, (At){p.a, p.o + (step < 0 ? rows - 1 - k : k) * step}, n, kind, site); /* beginning with the first byte */
}
/* Record an operand of an asynchronous copy on *pipe*. */
void flies_(Core *m, At p, int64_t n, int kind, int pipe, int site) {
  if (!(m->screens & SCREEN_RACE)) return;
  for (int list = 0; list < LISTS; list++) if (list != (pipe == P_IO ? IN_IO : IN_MOVE)) held_(m, list, p, n, kind, site);
}
/* Record a copy that waits for its end. */
void copies_(Core *m, int row, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int shaped, int pipe, int site) {
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
/* Record a copy that does not wait. */
void copy_flies_(Core *m, int row, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int shaped, int pipe, int site) {
  if (HEARS(m)) operands_(m, 2, (Operand_[]){{d, n, rows - 1, ts, 0, 0, 1, 0, shaped}, {s, n, rows - 1, fs, 1, 1, 0, 1, shaped}}, row, HOW_PIPE * pipe | HOW_FLIES, site);
  if (!(m->screens & SCREEN_RACE)) return;
  flies_(m, s, (rows - 1) * fs + n, READS_, pipe, site);
  flies_(m, d, (rows - 1) * ts + n, WRITES_, pipe, site);
  keep_(m, pipe == P_IO ? IN_IO : IN_MOVE, PLACE_(m, s), s.o, s.o + (rows - 1) * fs + n, 0);
  keep_(m, pipe == P_IO ? IN_IO : IN_MOVE, PLACE_(m, d), d.o, d.o + (rows - 1) * ts + n, 1);
  begins_(m, row, pipe);
  if (UNLIKELY(d.a->flags != 0) && d.a->space == GDRAM && !SCREEN_(m)->stores->alone) SCREEN_(m)->stores->unclear = 1; /* others may land in between */
  shares_rows_(m, d, n, rows, ts, WRITES_, site);
  if (HEARS(m) && !shaped) valued_(m, d.a->space, TYPE_BYTES, (const uint8_t *)s.a->raw + s.o, n);
  shares_rows_(m, s, n, rows, fs, READS_, site);
}
/* Return whether *change* (not 0) is a repetition at *site*, counted here. */
int counted_(Core *m, int64_t change, int site) {
  Again_ *again = &SCREEN_(m)->again[(change ^ site) & (MOST_AGAIN - 1)];
  if (again->change == change && again->site == site) { again->times++; return 1; }
  if (!again->change) *again = (Again_){change, site, 0};
  return 0;
}
/* Python is called for these two once per place, with their details. */
void misplaced_(Core *m, At p, int kind, int dtype, int site) {
  const int store = kind != READS_;
  if (!(m->screens & SCREEN_MEMORY) || counted_(m, MISPLACED_ + store, site)) return;
  m->argv[0] = a_integer(PLACE_(m, p), dtype); m->argv[1] = a_integer(p.o, -1);
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_MEMORY, 1 + store);
}
void met_alone_(Core *m, int row, int site) {
  if (!(m->screens & SCREEN_SYNC) || counted_(m, ALONE_ + row, site)) return;
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_SYNC, 1 + row);
}
void changed_(Core *m, int change, Argument a, Argument b, int site) {
  if (!(m->screens & SCREEN_VALUE) || counted_(m, change + 1, site)) return;
  m->argv[0] = a; m->argv[1] = b;
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_VALUE, change + 1);
}
int odd_rows_(At p, int64_t n, int64_t more, int64_t step, int size, uint32_t ones) {
  int odd = 0;
  for (int64_t k = 0; k <= more; k++) odd |= odd_(at(p) + k * step, n, size, ones);
  return odd;
}
void made_(Core *m, int row, int rule, int many, int site) {
  if (counted_(m, MADE_ + RULES_ * (int64_t)row + rule, site)) return;
  m->argc = many;
  m->site = site;
  up_(m, UP_SUSPECT, SCREEN_VECTORS, RULES_ * row + rule + 1);
}
void returned_(Core *m, int row, double value, int site) {
  m->argv[0] = a_integer(0, -1); m->argv[1] = a_float(value, -1);
  made_(m, row, 0, 2, site);
}
/* Report the first non-finite float of a result, whose type has the number *dtype*. */
void not_finite_(Core *m, int row, At p, int64_t n, int64_t more, int64_t step, int size, uint32_t ones, int dtype, int site) {
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
/* Report the first integer that does not fit, computed from three numbers of the type *dtype* by the operation *op* of the row. */
void wraps_(Core *m, int row, int64_t index, int64_t a, int64_t b, int64_t c, int64_t op, int dtype, int site) {
  m->argv[0] = a_integer(index, dtype); m->argv[1] = a_integer(a, -1); m->argv[2] = a_integer(b, -1);
  m->argv[3] = a_integer(c, -1); m->argv[4] = a_integer(op, -1);
  made_(m, row, 1, 5, site);
}
/* Report the first float that does not fit into the integers of the type *dtype*, rounded to *whole*. */
void saturates_(Core *m, int row, int64_t index, double whole, int dtype, int site) {
  m->argv[0] = a_integer(index, dtype); m->argv[1] = a_float(whole, -1);
  made_(m, row, 1, 2, site);
}
void wrote_(Core *m, At p, int64_t n, int dtype, int how, int site) {
  if (n < SAMPLE || p.a->space != NRAM) return;
  Typed_ *t = typed_(m, p);
  *t = (Typed_){p.a->address + (uint64_t)p.o, dtype | how << 8, site, {0}};
  memcpy(t->sample, at(p), SAMPLE);
}
void retyped_(Core *m, int row, const Typed_ *t, int size, uint32_t ones, int dtype, int site) {
  uint8_t any = 0;
  for (int i = 0; i < SAMPLE; i++) any |= t->sample[i];
  if (!any) return;
  if (!(t->dtype >> 16) && (t->dtype >> 8 & 255) == size)
    for (int i = 0; i < SAMPLE; i += size) { uint32_t w = 0; memcpy(&w, t->sample + i, (size_t)size); if (w & ones) return; }
  m->argv[0] = a_integer(t->dtype & 255, -1); m->argv[1] = a_integer(dtype, -1); m->argv[2] = a_integer(t->site, -1);
  made_(m, row, 2, 3, site);
}
/* Check floats that are read but may have been written as another type. */
void read_as_(Core *m, int row, At p, int64_t n, int size, uint32_t ones, int dtype, int site) {
  if (n < SAMPLE || p.a->space != NRAM) return;
  const Typed_ *t = typed_(m, p);
  if (t->address != p.a->address + (uint64_t)p.o || (t->dtype & 255) == dtype || memcmp(t->sample, at(p), SAMPLE)) return;
  retyped_(m, row, t, size, ones, dtype, site);
}
