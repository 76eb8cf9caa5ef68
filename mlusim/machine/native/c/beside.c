/* The functions declared in beside.h. */
void keep_page_(Kept_ *kept, const Alloc *a, int64_t page) {
  uint8_t *state = kept->state + page, unkept = UNKEPT;
  if (__atomic_compare_exchange_n(state, &unkept, KEEPING, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    const int64_t low = page * KEPT_PAGE;
    memcpy(kept->copy + low, (const uint8_t *)a->raw + low, (size_t)(a->nbytes - low < KEPT_PAGE ? a->nbytes - low : KEPT_PAGE));
    __atomic_store_n(state, KEPT, __ATOMIC_RELEASE);
  } else while (__atomic_load_n(state, __ATOMIC_ACQUIRE) != KEPT) {}
}
void touch_(Core *m, At p, int64_t n, int writes, int site) {
  const int64_t low = p.o, high = p.o + n;
  if (n <= 0 || (!writes && (!p.a->writable || p.a->key < 0))) return;
  if (p.a->key < 0) { m->site = site; up_(m, UP_SUSPECT, 1, 0); } /* a const argument of the kernel */
  if (writes && p.a->flags) {
    Kept_ *kept = (Kept_ *)p.a->flags;
    for (int64_t page = low / KEPT_PAGE; page <= (high - 1) / KEPT_PAGE; page++)
      if (UNLIKELY(__atomic_load_n(kept->state + page, __ATOMIC_ACQUIRE) != KEPT)) keep_page_(kept, p.a, page);
  }
  int64_t *table = (int64_t *)m->records;
  int32_t *last = writes ? &p.a->last_write : &p.a->last_read;
  int64_t *row = table + R_COLUMNS * (int64_t)*last;
  if (row[R_KEY] == p.a->key && row[R_KIND] == writes && row[R_SEGMENT] == m->segment && low <= row[R_HIGH] && row[R_LOW] <= high) {
    if (low < row[R_LOW]) row[R_LOW] = low;
    if (high > row[R_HIGH]) row[R_HIGH] = high;
    return;
  }
  if (table[0] == table[1]) { m->site = site; up_(m, UP_SUSPECT, 0, 0); } /* Python makes space */
  *last = (int32_t)++table[0];
  row = table + R_COLUMNS * (int64_t)*last;
  row[R_LOW] = low; row[R_HIGH] = high; row[R_KIND] = writes; row[R_SEGMENT] = m->segment; row[R_KEY] = p.a->key;
}
void touches_rows_(Core *m, At p, int64_t n, int64_t more, int64_t step, int writes, int site) {
  if (p.a->space == GDRAM) for (int64_t k = 0; k <= more; k++) touch_(m, (At){p.a, p.o + k * step}, n, writes, site);
}
