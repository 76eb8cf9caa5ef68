/* Vector registers: 2048 bytes in a variable's cell.  One that nothing has written begins with a mark that no instruction makes. */
ALWAYS void unset_(uint8_t *r) { memcpy(r, UNSET_, sizeof UNSET_); }
ALWAYS int is_set_(const uint8_t *r) { return memcmp(r, UNSET_, sizeof UNSET_) != 0; }
ALWAYS Argument a_register(const uint8_t *r, int dtype) { return (Argument){IS_REGISTER, dtype, (uint64_t)(uintptr_t)r}; }
ALWAYS void unset_all_(uint8_t *r, int64_t count) { for (int64_t i = 0; i < count; i++) unset_(r + i * REGISTER_BYTES); }
/* The register that a pointer leads to; what leads to none is refused by Python. */
ALWAYS uint8_t *register_(Core *m, Ptr p, int site) {
  At q = see(m, p);
  if (UNLIKELY(q.a->space != CELL || out(q, REGISTER_BYTES))) access_up(m, 0, p, 0, -1, a_integer(0, -1), site);
  return at(q);
}
PART void of_registers_(Core *m, int row) {
  const int64_t lines = REGISTER_BYTES / VECTOR_BYTES;
  m->counts[row]++;
  m->fuel -= REGISTER_BYTES;
  m->work[W_VECTOR] += lines + START;
  ((int64_t *)m->lines)[row] += lines;
}
/* One instruction: its sources are registers, or numbers that stand in every lane of one. */
#define REGISTER_ROW(NAME, S, VALUE)                                                                                  \
  PART void NAME##_##S(Core *m, int row, int site, int dtype, uint8_t *d, const uint8_t *r0, const uint8_t *r1, const uint8_t *r2) { \
    if (UNLIKELY(m->memory_core || !is_set_(r0) || (r1 && !is_set_(r1)) || (r2 && !is_set_(r2)))) {                     \
      Argument given[4] = {a_register(d, dtype), a_register(r0, dtype), a_register(r1, dtype), a_register(r2, dtype)};  \
      row_up(m, row, site, r2 ? 4 : r1 ? 3 : 2, given);                                                               \
      return;                                                                                                         \
    }                                                                                                                 \
    T_##S *to = (T_##S *)d;                                                                                           \
    const T_##S *a_ = (const T_##S *)r0, *b_ = (const T_##S *)r1, *c_ = (const T_##S *)r2;                              \
    (void)b_; (void)c_;                                                                                               \
    for (int i = 0; i < REGISTER_BYTES / (int)sizeof(T_##S); i++) to[i] = PUT_##S(VALUE);                               \
    of_registers_(m, row);                                                                                            \
  }
#define LANE_(S, r) GET_##S(r[i])
#define REGISTER_ROWS(S)                                                                                              \
  PART uint8_t *lanes_##S(uint8_t *r, T_##S v) { for (int i = 0; i < REGISTER_BYTES / (int)sizeof v; i++) ((T_##S *)r)[i] = v; return r; } \
  REGISTER_ROW(vv_move, S, LANE_(S, a_))                                                                              \
  REGISTER_ROW(vv_add, S, LANE_(S, a_) + LANE_(S, b_))                                                                \
  REGISTER_ROW(vv_sub, S, LANE_(S, a_) - LANE_(S, b_))                                                                \
  REGISTER_ROW(vv_neg, S, -LANE_(S, a_))                                                                              \
  REGISTER_ROW(vv_mul, S, LANE_(S, a_) * LANE_(S, b_))                                                                \
  REGISTER_ROW(vv_index, S, LANE_(S, a_) + GET_##S(PUT_##S(GET_##S(PUT_##S(i)) * LANE_(S, b_))))
#define WHOLE_ROWS(S, WIDE)                                                                                           \
  REGISTER_ROWS(S)                                                                                                    \
  REGISTER_ROW(vv_mulh, S, ((WIDE)a_[i] * (WIDE)b_[i]) >> (8 * sizeof(T_##S)))                                        \
  REGISTER_ROW(vv_and, S, a_[i] & b_[i])                                                                              \
  REGISTER_ROW(vv_or, S, a_[i] | b_[i])                                                                               \
  REGISTER_ROW(vv_not, S, ~a_[i])                                                                                     \
  REGISTER_ROW(vv_xor, S, a_[i] ^ b_[i])                                                                              \
  REGISTER_ROW(vv_trixor, S, a_[i] ^ b_[i] ^ c_[i])
REGISTER_ROWS(f32) REGISTER_ROWS(f16)
WHOLE_ROWS(i16, int64_t) WHOLE_ROWS(u16, uint64_t) WHOLE_ROWS(i32, int64_t) WHOLE_ROWS(u32, uint64_t)
/* The first elements of a register, *size* bytes each, to NRAM; *same*: both are of one element type. */
PART void vv_store_(Core *m, int row, int site, int same, int size, Argument to, Argument from, int64_t count, int given) {
  At d = see(m, to.bits);
  const uint8_t *r = (const uint8_t *)(uintptr_t)from.bits;
  const int64_t bytes = count * size;
  if (UNLIKELY(m->memory_core || !same || count < 1 || count > REGISTER_BYTES / size || d.a->space != NRAM || out(d, bytes) || !is_set_(r))) {
    Argument all[3] = {to, from, a_integer(count, -1)};
    row_up(m, row, site, 2 + given, all);
    return;
  }
  memcpy(at(d), r, (size_t)bytes);
  vector_(m, row, bytes);
}
