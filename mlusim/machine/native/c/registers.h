/* Vector registers: bytes in a variable's cell. An unwritten register begins with a mark that no instruction produces. */
ALWAYS void unset_(uint8_t *r) { memcpy(r, UNSET_, sizeof UNSET_); }
ALWAYS int is_set_(const uint8_t *r) { return memcmp(r, UNSET_, sizeof UNSET_) != 0; }
ALWAYS Argument a_register(const uint8_t *r, int dtype) { return (Argument){IS_REGISTER, dtype, (uint64_t)(uintptr_t)r}; }
ALWAYS void unset_all_(uint8_t *r, int64_t count) { for (int64_t i = 0; i < count; i++) unset_(r + i * REGISTER_BYTES); }
/* Return the register of a pointer; Python rejects a pointer to anything else. */
ALWAYS uint8_t *register_(Core *m, Ptr p, int site) {
  At q = see(m, p);
  if (UNLIKELY(q.a->space < CELL || out(q, REGISTER_BYTES))) access_up(m, 0, p, 0, -1, a_integer(0, -1), site);
  return at(q);
}
PART void of_registers_(Core *m, int row) {
  const int64_t lines = REGISTER_BYTES / VECTOR_BYTES;
  m->counts[row]++;
  m->fuel -= REGISTER_BYTES;
  m->work[W_VECTOR] += lines + START;
  ((int64_t *)m->lines)[row] += lines;
}
enum { ALL_LANES_, KEEPS_LANES_, CLEARS_LANES_, CHOOSES_LANES_ };  /* the lanes that a mask has not set are all written, kept, cleared, or as the row says */
enum { ABSENT_ = 2 };  /* a mask's lane is a byte, 0 or 1, or this value in registers of wider elements, which have fewer lanes */
ALWAYS int has_lanes_(const uint8_t *mask, int lanes) { return is_set_(mask) && !memchr(mask, ABSENT_, (size_t)lanes); }
/* Return whether Python has to report an error, and has done so; a row's arguments are the destination, its sources and its mask. */
PART int of_python_(Core *m, int row, int site, int good, Argument d, const Argument *sources, const uint8_t *mask, int how, int lanes) {
  good &= !m->memory_core && (how != KEEPS_LANES_ || is_set_((const uint8_t *)(uintptr_t)d.bits)) && (!mask || has_lanes_(mask, lanes));
  Argument given[5] = {d};
  int count = 1;
  for (int i = 0; i < 3 && sources[i].bits; i++) {
    good &= is_set_((const uint8_t *)(uintptr_t)sources[i].bits);
    given[count++] = sources[i];
  }
  if (LIKELY(good)) return 0;
  if (mask) given[count++] = a_register(mask, -1);
  row_up(m, row, site, count, given);
  return 1;
}
ALWAYS void lane_moved_(uint8_t *to, const uint8_t *from, int64_t i, int size) {
  if (size == 4) ((i32_u *)to)[i] = ((const i32_u *)from)[i];
  else if (size == 2) ((i16_u *)to)[i] = ((const i16_u *)from)[i];
  else to[i] = from[i];
}
/* Set those of the first lanes whose mask is set; the others stay or become 0. */
PART void lanes_of_(uint8_t *d, const uint8_t *from, const uint8_t *mask, int how, int size, int64_t count) {
  if (how == CLEARS_LANES_) memset(d, 0, REGISTER_BYTES);
  for (int64_t i = 0; i < count; i++) if (mask[i]) lane_moved_(d, from, i, size);
}
/* One instruction: its sources are registers, or numbers used in every lane. */
#define REGISTER_HEAD(NAME, S, MADE, GOOD)                                                                            \
  PART void NAME##_##S(Core *m, int row, int site, int dtype, uint8_t *d, const uint8_t *r0, const uint8_t *r1, const uint8_t *r2, const uint8_t *mask, int how) { \
    const int lanes = REGISTER_BYTES / (int)sizeof(T_##S);                                                              \
    const Argument sources[3] = {a_register(r0, dtype), a_register(r1, dtype), a_register(r2, dtype)};                  \
    const T_##S *a_ = (const T_##S *)r0, *b_ = (const T_##S *)r1, *c_ = (const T_##S *)r2;                              \
    (void)a_; (void)b_; (void)c_;                                                                                     \
    if (UNLIKELY(of_python_(m, row, site, GOOD, a_register(d, MADE), sources, mask, how, lanes))) return;
#define REGISTER_ROW(NAME, S, VALUE) CHECKED_ROW(NAME, S, 1, VALUE)
#define CHECKED_ROW(NAME, S, GOOD, VALUE)                                                                             \
  REGISTER_HEAD(NAME, S, dtype, GOOD)                                                                                 \
    uint8_t room[REGISTER_BYTES];                                                                                     \
    const int masked = how == KEEPS_LANES_ || how == CLEARS_LANES_;                                                     \
    T_##S *to = (T_##S *)(masked ? room : d);                                                                         \
    for (int i = 0; i < lanes; i++) to[i] = PUT_##S(VALUE);                                                             \
    if (masked) lanes_of_(d, room, mask, how, (int)sizeof(T_##S), lanes);                                                   \
    of_registers_(m, row);                                                                                            \
  }
#define SETP_ROW(NAME, S, SIGN)                                                                                       \
  REGISTER_HEAD(vv_setp_##NAME, S, -1, 1)                                                                             \
    for (int i = 0; i < lanes; i++) d[i] = LANE_(S, a_) SIGN LANE_(S, b_);                                              \
    memset(d + lanes, ABSENT_, (size_t)(REGISTER_BYTES - lanes));                                                       \
    of_registers_(m, row);                                                                                            \
  }
#define COMPARED_ROWS(NAME, S, SIGN)                                                                                  \
  REGISTER_ROW(vv_##NAME, S, LANE_(S, a_) SIGN LANE_(S, b_)) SETP_ROW(NAME, S, SIGN)
/* Rows of masks: a lane absent in one of the sources is absent in the result. */
#define MASK_ROW(NAME, VALUE)                                                                                         \
  PART void NAME##_mask(Core *m, int row, int site, int dtype, uint8_t *d, const uint8_t *a_, const uint8_t *b_, const uint8_t *r2, const uint8_t *mask, int how) { \
    const Argument sources[3] = {a_register(a_, dtype), a_register(b_, dtype), a_register(r2, dtype)};                  \
    if (UNLIKELY(of_python_(m, row, site, 1, a_register(d, dtype), sources, mask, how, REGISTER_BYTES))) return;        \
    for (int i = 0; i < REGISTER_BYTES; i++) d[i] = (a_[i] | (b_ ? b_[i] : 0)) & ABSENT_ ? ABSENT_ : (VALUE);           \
    of_registers_(m, row);                                                                                            \
  }
MASK_ROW(vv_move, a_[i]) MASK_ROW(vv_not, !a_[i]) MASK_ROW(vv_and, a_[i] & b_[i]) MASK_ROW(vv_or, a_[i] | b_[i]) MASK_ROW(vv_xor, a_[i] ^ b_[i])
#define LANE_(S, r) GET_##S(r[i])
#define TRUE_(S, r) (LANE_(S, r) != 0)
#define REGISTER_ROWS(S)                                                                                              \
  PART uint8_t *lanes_##S(uint8_t *r, T_##S v) { for (int i = 0; i < REGISTER_BYTES / (int)sizeof v; i++) ((T_##S *)r)[i] = v; return r; } \
  REGISTER_ROW(vv_move, S, LANE_(S, a_))                                                                              \
  REGISTER_ROW(vv_add, S, LANE_(S, a_) + LANE_(S, b_))                                                                \
  REGISTER_ROW(vv_sub, S, LANE_(S, a_) - LANE_(S, b_))                                                                \
  REGISTER_ROW(vv_neg, S, -LANE_(S, a_))                                                                              \
  REGISTER_ROW(vv_mul, S, LANE_(S, a_) * LANE_(S, b_))                                                                \
  REGISTER_ROW(vv_land, S, TRUE_(S, a_) && TRUE_(S, b_))                                                              \
  REGISTER_ROW(vv_lor, S, TRUE_(S, a_) || TRUE_(S, b_))                                                               \
  REGISTER_ROW(vv_lxor, S, TRUE_(S, a_) != TRUE_(S, b_))                                                              \
  REGISTER_ROW(vv_lnot, S, !TRUE_(S, a_))                                                                             \
  COMPARED_ROWS(eq, S, ==) COMPARED_ROWS(ne, S, !=) COMPARED_ROWS(lt, S, <)                                           \
  COMPARED_ROWS(le, S, <=) COMPARED_ROWS(gt, S, >) COMPARED_ROWS(ge, S, >=)                                           \
  REGISTER_ROW(vv_select, S, LANE_(S, (mask[i] ? a_ : b_)))                                                           \
  REGISTER_ROW(vv_index, S, LANE_(S, a_) + GET_##S(PUT_##S(GET_##S(PUT_##S(i)) * LANE_(S, b_))))
#define REAL_ROWS(S) REGISTER_ROWS(S) REGISTER_ROW(vv_div, S, LANE_(S, a_) / LANE_(S, b_))
/* An unsigned count of all bits or more shifts all of them out. */
#define SHIFT_(N, TYPE, SIGN, PAST) ((uint##N##_t)b_[i] < N ? (TYPE)a_[i] SIGN b_[i] : (PAST))
/* Python rejects divisors of 0 in active lanes; in others the divisor 1 serves. */
#define DIVISOR_(WIDE, i) ((WIDE)(b_[i] ? b_[i] : 1))
#define DIVIDED_ROW(NAME, S, WIDE, SIGN)                                                                              \
  CHECKED_ROW(NAME, S, divides_##S(b_, mask, lanes), (WIDE)a_[i] SIGN DIVISOR_(WIDE, i))
#define WHOLE_ROWS(S, N, WIDE)                                                                                        \
  REGISTER_ROWS(S)                                                                                                    \
  ALWAYS int divides_##S(const T_##S *b, const uint8_t *mask, int lanes) { int good = 1; for (int i = 0; i < lanes; i++) good &= b[i] != 0 || (mask && mask[i] != 1); return good; } \
  DIVIDED_ROW(vv_div, S, WIDE, /) DIVIDED_ROW(vv_rem, S, WIDE, %)                                                      \
  REGISTER_ROW(vv_mulh, S, ((WIDE)a_[i] * (WIDE)b_[i]) >> (8 * sizeof(T_##S)))                                        \
  REGISTER_ROW(vv_and, S, a_[i] & b_[i])                                                                              \
  REGISTER_ROW(vv_or, S, a_[i] | b_[i])                                                                               \
  REGISTER_ROW(vv_not, S, ~a_[i])                                                                                     \
  REGISTER_ROW(vv_xor, S, a_[i] ^ b_[i])                                                                              \
  REGISTER_ROW(vv_sll, S, SHIFT_(N, uint##N##_t, <<, 0))                                                              \
  REGISTER_ROW(vv_srl, S, SHIFT_(N, uint##N##_t, >>, 0))                                                              \
  REGISTER_ROW(vv_sra, S, SHIFT_(N, int##N##_t, >>, (int##N##_t)a_[i] < 0 ? -1 : 0))                                   \
  REGISTER_ROW(vv_trixor, S, a_[i] ^ b_[i] ^ c_[i])
REAL_ROWS(f32) REAL_ROWS(f16)
WHOLE_ROWS(i8, 8, int64_t) WHOLE_ROWS(u8, 8, uint64_t)
WHOLE_ROWS(i16, 16, int64_t) WHOLE_ROWS(u16, 16, uint64_t) WHOLE_ROWS(i32, 32, int64_t) WHOLE_ROWS(u32, 32, uint64_t)
ALWAYS int64_t paid_(int64_t count, int size) { return count * (size == 1 ? 2 : size); } /* single bytes count as two to a lane */
/* Store the first elements of a register, *size* bytes each, to NRAM; *same*: both have the same element type. */
PART void vv_store_(Core *m, int row, int site, int same, int size, Argument to, Argument from, int64_t count, int given) {
  At d = see(m, to.bits);
  const uint8_t *r = (const uint8_t *)(uintptr_t)from.bits;
  const int64_t bytes = count * size;
  if (UNLIKELY(m->memory_core || !same || count < 1 || count > REGISTER_BYTES / size || d.a->space != NRAM || out(d, bytes) || !is_set_(r))) {
    if (deepen_(m)) { vv_store_(m, row, site, same, size, to, from, count, given); return; }
    Argument all[3] = {to, from, a_integer(count, -1)};
    row_up(m, row, site, 2 + given, all);
    return;
  }
  memcpy(at(d), r, (size_t)bytes);
  vector_(m, row, paid_(count, size));
}
/* Load the first elements of a register from NRAM; the following ones become 0. */
PART void vv_load_(Core *m, int row, int site, int same, int size, Argument to, Argument from, int64_t count, int given) {
  At s = see(m, from.bits);
  uint8_t *r = (uint8_t *)(uintptr_t)to.bits;
  const int64_t bytes = count * size;
  if (UNLIKELY(m->memory_core || !same || count < 1 || count > REGISTER_BYTES / size || s.a->space != NRAM || out(s, bytes))) {
    if (deepen_(m)) { vv_load_(m, row, site, same, size, to, from, count, given); return; }
    Argument all[3] = {to, from, a_integer(count, -1)};
    row_up(m, row, site, 2 + given, all);
    return;
  }
  memcpy(r, at(s), (size_t)bytes);
  memset(r + bytes, 0, (size_t)(REGISTER_BYTES - bytes));
  vector_(m, row, paid_(count, size));
}
/* Load or store the first elements of a register where the mask is set. */
PART void vv_masked_(Core *m, int row, int site, int same, int size, Argument to, Argument from, int64_t count, int given, const uint8_t *mask, int how) {
  const int load = how != ALL_LANES_, lanes = REGISTER_BYTES / size;
  At q = see(m, load ? from.bits : to.bits);
  uint8_t *r = (uint8_t *)(uintptr_t)(load ? to.bits : from.bits);
  if (UNLIKELY(m->memory_core || !same || count < 1 || count > lanes || q.a->space != NRAM || out(q, count * size) || !has_lanes_(mask, lanes) || (how != CLEARS_LANES_ && !is_set_(r)))) {
    if (deepen_(m)) { vv_masked_(m, row, site, same, size, to, from, count, given, mask, how); return; }
    Argument all[4] = {to, from, a_integer(count, -1)};
    all[2 + given] = a_register(mask, -1);
    row_up(m, row, site, 3 + given, all);
    return;
  }
  lanes_of_(load ? r : at(q), load ? at(q) : r, mask, how, size, count);
  vector_(m, row, paid_(count, size));
}
