/* What the copies call, which are rendered from their recipes (engine/native/copies.py). */
ALWAYS int far_direction(int d) { return FAR(DIRECTION_SRC[d]) || FAR(DIRECTION_DST[d]); }
ALWAYS int in_sram(int d) { return (DIRECTION_SRC[d] == SRAM) + (DIRECTION_DST[d] == SRAM); }
ALWAYS int unaligned_(int d, int64_t to, int64_t frm, int64_t size) {
  if (DIRECTION_DST[d] == WRAM) return to % 8 || size % 16;
  return DIRECTION_SRC[d] == WRAM && (frm % 8 || size % 16);
}
ALWAYS void look_(Core *m, At dst, At src, int64_t size) {
  if (!SHARED(src.a->space) || !src.a->writable || SHARED(dst.a->space)) return;
  if (size > POLL_BYTES) poll_again(m); else poll_copy(m, src.a->address + (uint64_t)src.o);
}
ALWAYS void remember_(Core *m, Ptr src_p, At dst, At src, int64_t size) {
  if (LIKELY(size > POLL_BYTES && (number_(src_p) != m->source || src.o != m->source_at))) { m->source = number_(src_p); m->source_at = src.o; }
  else look_(m, dst, src, size);
}
ALWAYS int64_t place_(int64_t start, int64_t spread) {
  if (spread % UNIT == 0) return start % UNIT;
  int64_t grain = spread | start | UNIT;
  return UNIT - (grain & -grain);
}
/* Transactions and segments that lie apart, or lines and bytes of SRAM, of rows of segments. */
ALWAYS void rows_load_(int d, int64_t to, int64_t ts, int64_t frm, int64_t fs, int64_t size, int64_t rows, int64_t *l) {
  l[0] = l[1] = l[2] = l[3] = l[4] = 0;
  if (rows == 1) ts = fs = 0; /* the strides of a single segment do not matter */
  if (!far_direction(d)) { l[3] = rows * ((size + LINE - 1) / LINE); l[4] = rows * size * in_sram(d); return; }
  if (FAR(DIRECTION_SRC[d])) l[0] = rows * ((place_(frm, fs) + size + UNIT - 1) / UNIT);
  if (FAR(DIRECTION_DST[d])) {
    int64_t p = place_(to, ts);
    l[2] = rows * ((p + size + UNIT - 1) / UNIT + read_first_(p, size));
    l[0] += l[2];
  }
  if (rows > 1 && ((FAR(DIRECTION_SRC[d]) && fs != size) || (FAR(DIRECTION_DST[d]) && ts != size))) l[3] = rows;
}
