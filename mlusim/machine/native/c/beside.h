/* Off-chip accesses of tasks in a launch in which several run at once: rows of low, high, kind, number of the task or union, key of the memory, as
   in screen.h; before them are their number and the capacity. Before bytes change, the first thread that changes their page copies it, once per
   launch. */
#define BESIDE_(...) __VA_ARGS__
enum { R_LOW, R_HIGH, R_KIND, R_SEGMENT, R_KEY, R_COLUMNS };
typedef struct Kept_ { uint8_t *copy; uint8_t state[]; } Kept_;
enum { UNKEPT, KEEPING, KEPT };
COLD void keep_page_(Kept_ *kept, const Alloc *a, int64_t page);
void touch_(Core *m, At p, int64_t n, int writes, int site);
ALWAYS void touches_(Core *m, At p, int64_t n, int writes, int site) { if (UNLIKELY(p.a->space == GDRAM)) touch_(m, p, n, writes, site); }
void touches_rows_(Core *m, At p, int64_t n, int64_t more, int64_t step, int writes, int site);
ALWAYS void touches_copy_(Core *m, At d, At s, int64_t n, int64_t rows, int64_t ts, int64_t fs, int site) {
  touches_rows_(m, s, n, rows - 1, fs, 0, site);
  touches_rows_(m, d, n, rows - 1, ts, 1, site);
}
