/* Functions called by the copies, which are rendered from their recipes (machine/native/text/copies.py). */
ALWAYS int far_direction(int d) { return FAR(DIRECTION_SRC[d]) || FAR(DIRECTION_DST[d]); }
ALWAYS int in_sram(int d) { return (DIRECTION_SRC[d] == SRAM) + (DIRECTION_DST[d] == SRAM); }
ALWAYS int unaligned_(int d, int64_t to, int64_t frm, int64_t size) {
  if (DIRECTION_DST[d] == WRAM) return to % 8 || size % 16;
  return DIRECTION_SRC[d] == WRAM && (frm % 8 || size % 16);
}
ALWAYS void look_(Core *m, At dst, At src, int64_t nbytes, int small) {
  if (!SHARED(src.a->space) || SHARED(dst.a->space)) return;
  if (small) poll_copy(m, src.a->address + (uint64_t)src.o, nbytes); else poll_again(m, nbytes);
}
ALWAYS void remember_(Core *m, Ptr src_p, At dst, At src, int64_t nbytes, int small) {
  if (LIKELY(!small && (number_(src_p) != m->source || src.o != m->source_at))) { m->source = number_(src_p); m->source_at = src.o; }
  else look_(m, dst, src, nbytes, small);
}
