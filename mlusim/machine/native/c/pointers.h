/* A core in C: pointers, checks, calls of Python. */
#include <string.h>
#include <setjmp.h>
#include <math.h>
extern int sched_yield(void); /* declared here, because the rest of its header is slow to compile */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define SLOW goto slow
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define COLD __attribute__((cold)) /* declares rare functions, compiled once for all kernels (run.py) */
#define ALWAYS __attribute__((always_inline, unused)) static inline
#define PART __attribute__((unused)) static
#define VISIBLE __attribute__((visibility("default")))
#pragma GCC visibility push(hidden) /* up to the end of scalars.h: the called functions are in the same library */
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#define IN_REGISTERS _Pragma("clang loop unroll(full)")
#else
#define INDEPENDENT _Pragma("GCC ivdep") _Pragma("GCC unroll 4")
#define IN_REGISTERS _Pragma("GCC unroll 8") /* a loop whose array fits in registers */
/* Passes that take a sixth of the compilation time and make no kernel of ops faster; the other flags stay as they are. */
#pragma GCC optimize("no-gcse", "no-schedule-insns2", "no-tree-pre", "no-code-hoisting", "no-thread-jumps")
#endif

/* A pointer: the number of its allocation in the upper 16 bits, a signed offset in bytes below. */
typedef uint64_t Ptr;
typedef struct At { Alloc *a; int64_t o; } At;

ALWAYS int64_t number_(Ptr p) { return (int64_t)((p + (1ull << (OFFSET_BITS - 1))) >> OFFSET_BITS); }
ALWAYS int64_t offset_(Ptr p) { return (int64_t)(p << (64 - OFFSET_BITS)) >> (64 - OFFSET_BITS); }
ALWAYS At see(const Core *m, Ptr p) { return (At){(Alloc *)m->allocs + number_(p), offset_(p)}; }
/* Return whether a piece begins or ends outside; one of the three is negative then, so that a single branch tests all. */
ALWAYS int out(At p, int64_t bytes) {
  uint64_t left = (uint64_t)p.a->nbytes - (uint64_t)p.o;
  return (int64_t)((uint64_t)p.o | left | (left - (uint64_t)bytes)) < 0;
}
ALWAYS uint8_t *at(At p) { return (uint8_t *)p.a->raw + p.o; }
/* Return whether two pieces overlap, with *exact* in any other way than by beginning at one place. */
ALWAYS int laps(At t, int64_t tb, At s, int64_t sb, int exact) {
  return t.a == s.a && (uint64_t)(t.o - s.o + tb - 1) < (uint64_t)(tb + sb - 1) && !(exact && t.o == s.o);
}
ALWAYS int64_t smaller_(int64_t a, int64_t b) { return a < b ? a : b; }
ALWAYS int64_t larger_(int64_t a, int64_t b) { return a > b ? a : b; }
/* Python's // and %, and a product that is limited to more than any memory. */
enum { KIND_INT, KIND_UINT, KIND_FLOAT };
ALWAYS int64_t floor_div(int64_t a, int64_t b) { if (b == 0) return -1; int64_t q = a / b; return q - ((a % b != 0) & ((a < 0) != (b < 0))); }
ALWAYS int64_t floor_mod(int64_t a, int64_t b) { if (b == 0) return 1; int64_t r = a % b; return r && ((r < 0) != (b < 0)) ? r + b : r; }
ALWAYS int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }
ALWAYS int64_t either(int64_t a, int64_t b) { return a ? a : b; }
#define least smaller_
#define most larger_
ALWAYS int64_t times_(int64_t a, int64_t b) { int64_t r; return __builtin_mul_overflow(a, b, &r) || r > 1ll << 50 || r < -(1ll << 50) ? 1ll << 50 : r; }

/* ---- calls of Python, which does rare work; if it raises an exception, the kernel ends ---- */
COLD void take_lock_(Core *m);
COLD void give_lock_(Core *m);
COLD void for_python_(Core *m);
COLD void call_(Core *m, void *object);
/* Return a digest of the kernel's state in C's own variables: its stack, and the registers that calls preserve, at C's call of Python. Equal
   numbers of one core mean unchanged variables. A deep stack is not read; its number is new each time. */
#define DEEP_STACK (1 << 16)
typedef uint64_t __attribute__((may_alias)) Word_;
COLD uint64_t mixed_(const Word_ *from, const Word_ *to);
COLD void state_now_(Core *m);
/* Calls that may poll memory store the state, but for atomics, which have done so before they are charged; inside of Python's own calls it is that of C's call. */
#define MAY_LOOK(why) ((why) == UP_SPIN || (why) == UP_ROW || (why) == UP_ACCESS || (why) == UP_LIBRARY)
COLD int64_t up_(Core *m, int64_t why, int64_t a, int64_t b);
/* Large memories become poison as far as a task accesses them; for C they end there, so that the check of an access detects the need. After a
   failed check more of the memory becomes poison and the check is repeated: returns 0 if there is no more. Python sees the whole memory. */
COLD int deepen_(Core *m);
ALWAYS Argument a_pointer(Ptr p, int dtype) { return (Argument){IS_POINTER, dtype, p}; }
ALWAYS Argument a_integer(int64_t i, int dtype) { return (Argument){IS_INTEGER, dtype, (uint64_t)i}; }
ALWAYS Argument a_unsigned(int64_t i, int dtype) { return (Argument){IS_UNSIGNED, dtype, (uint64_t)i}; }
ALWAYS Argument a_float(double f, int dtype) { Argument a = {IS_FLOAT, dtype, 0}; memcpy(&a.bits, &f, 8); return a; }
ALWAYS Argument a_direction(int64_t d) { return (Argument){IS_DIRECTION, -1, (uint64_t)d}; }
ALWAYS Argument a_text(int number) { return (Argument){IS_TEXT, -1, (uint64_t)number}; }
