/* The copies without a cluster of their own: one segment, and rows of segments. */
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
PART void memcpy_1d(Core *m, int row, Ptr dst_p, Ptr src_p, int64_t size, int64_t direction, int dd, int sd, int site) {
  At dst = see(m, dst_p), src = see(m, src_p);
  int d = (int)direction;
  if (UNLIKELY(direction < 0 || direction >= 24 || !(m->directions >> d & 1) || size <= 0 || out(dst, size) || out(src, size) ||
               dst.a->space != DIRECTION_DST[d] || src.a->space != DIRECTION_SRC[d] || !dst.a->writable || unaligned_(d, dst.o, src.o, size) ||
               laps(dst, size, src, size, 1))) {
    UP(m, row, site, a_pointer(dst_p, dd), a_pointer(src_p, sd), a_integer(size, -1), a_direction(direction));
    return;
  }
  m->site = site;
  SCREENED_(copies_(m, row, dst, src, size, 1, 0, 0, far_direction(d) ? P_IO : P_MOVE, site);)
  BESIDE_(touches_copy_(m, dst, src, size, 1, 0, 0, site);)
  settle_(m, far_direction(d) ? P_IO : P_MOVE);
  SCREENED_(flags_move_(m, dst, src, size, 1, 0, 0, site);)
  carry_(DIRECTION_DST[d], DIRECTION_SRC[d], at(dst), at(src), size);
  m->counts[row]++;
  m->traffic[d] += size;
  src.a->read += size;
  if (far_direction(d)) io_line(m, FAR(DIRECTION_SRC[d]), FAR(DIRECTION_DST[d]), dst.o, src.o, size);
  else move_line(m, in_sram(d), size);
  remember_(m, src_p, dst, src, size);
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
PART void memcpy_rows(Core *m, int row, Ptr dst_p, Ptr src_p, int64_t size, int64_t direction, int64_t ts, int64_t fs, int64_t more, int dd, int sd, int site) {
  At dst = see(m, dst_p), src = see(m, src_p);
  int d = (int)direction;
  if (UNLIKELY(direction < 0 || direction >= 24 || !(m->rows_directions >> d & 1) || size <= 0 || ts < 0 || (more && size > ts) || ts > 1ll << 31 || fs > 1ll << 31 || fs < 0 ||
               more < 0 || more > 65535 || out(dst, more * ts + size) || out(src, more * fs + size) || dst.a->space != DIRECTION_DST[d] ||
               src.a->space != DIRECTION_SRC[d] || !dst.a->writable || laps(dst, more * ts + size, src, more * fs + size, 0))) {
    UP(m, row, site, a_pointer(dst_p, dd), a_pointer(src_p, sd), a_integer(size, -1), a_direction(direction), a_integer(ts, -1), a_integer(fs, -1), a_integer(more, -1));
    return;
  }
  int64_t rows = more + 1, nbytes = size * rows, l[5];
  m->site = site;
  SCREENED_(copies_(m, row, dst, src, size, rows, ts, fs, far_direction(d) ? P_IO : P_MOVE, site);)
  BESIDE_(touches_copy_(m, dst, src, size, rows, ts, fs, site);)
  settle_(m, far_direction(d) ? P_IO : P_MOVE);
  SCREENED_(flags_move_(m, dst, src, size, rows, ts, fs, site);)
  m->counts[row]++;
  m->traffic[d] += nbytes;
  m->fuel -= nbytes + rows * COSTLY_;
  rows_load_(d, dst.o & (UNIT - 1), ts, src.o & (UNIT - 1), fs, size, rows, l);
  if (far_direction(d)) { m->work[W_IO] += nbytes; m->work[W_IO_STARTS]++; m->work[W_TRANSACTIONS] += l[0]; m->work[W_SEGMENTS] += l[3]; }
  else { m->work[W_MOVE] += nbytes; m->work[W_MOVE_STARTS]++; m->work[W_LINES] += l[3]; m->work[W_SRAM_BYTES] += l[4]; }
  src.a->read += nbytes;
  uint8_t *t = at(dst), *s = at(src);
  if (size == 4) for (int64_t k = 0; k < rows; k++) memcpy(t + k * ts, s + k * fs, 4);
  else for (int64_t k = 0; k < rows; k++) memcpy(t + k * ts, s + k * fs, (size_t)size);
}
PART void memcpy_start(Core *m, int row, Ptr dst_p, Ptr src_p, int64_t size, int64_t direction, int shaped, int64_t ts, int64_t fs, int64_t more, int dd, int sd, int site) {
  At dst = see(m, dst_p), src = see(m, src_p);
  int d = (int)direction;
  if (UNLIKELY(direction < 0 || direction >= 24 || !(m->async_directions >> d & 1) || size <= 0 || more < 0 || more > 65535 ||
               (more && (size > ts || ts > 1ll << 31 || fs > 1ll << 31 || fs < 0)) || out(dst, (more ? more * ts : 0) + size) ||
               out(src, (more ? more * fs : 0) + size) || dst.a->space != DIRECTION_DST[d] || src.a->space != DIRECTION_SRC[d] || !dst.a->writable ||
               laps(dst, (more ? more * ts : 0) + size, src, (more ? more * fs : 0) + size, 0))) {
    if (shaped) UP(m, row, site, a_pointer(dst_p, dd), a_pointer(src_p, sd), a_integer(size, -1), a_direction(direction), a_integer(ts, -1), a_integer(fs, -1), a_integer(more, -1));
    else UP(m, row, site, a_pointer(dst_p, dd), a_pointer(src_p, sd), a_integer(size, -1), a_direction(direction));
    return;
  }
  if (!more) ts = fs = 0;
  int pipe = far_direction(d) ? P_IO : P_MOVE;
  int64_t rows = more + 1, nbytes = size * rows, l[5];
  m->site = site;
  SCREENED_(copy_flies_(m, row, dst, src, size, rows, ts, fs, pipe, site);)
  BESIDE_(touches_copy_(m, dst, src, size, rows, ts, fs, site);)
  rows_load_(d, dst.o, ts, src.o, fs, size, rows, l);
  fly_(m, (Flight){number_(dst_p), number_(src_p), dst.o, src.o, size, ts, fs, rows, pipe, -1}, l[0], l[1], l[2], l[3], l[4]);
  m->work[pipe == P_IO ? W_IO : W_MOVE] += nbytes;
  m->counts[row]++;
  m->traffic[d] += nbytes;
  m->fuel -= nbytes + rows * COSTLY_;
  src.a->read += nbytes;
  remember_(m, src_p, dst, src, shaped ? POLL_BYTES + 1 : size);
}
