"""Kernels that lead pointers to variables astray: `astray` writes one, a list of statements with random functions and numbers.

The pointers lead to variables of functions that have returned, of blocks that have ended, far away and back, and to bytes of other members.
"""

import random

HEAD = """\
struct Pair { int a; float b; };
struct Mixed { short s; long l; Pair pair; Mixed *next; int t[3]; };
struct Held { int *to; Pair *pair; };
struct Base { int m; __mlu_func__ virtual int get() { return m; } };
struct Derived : Base { int *to; __mlu_func__ int get() override { return m + *to; } };
__nram__ float near[64];

__mlu_func__ int *returned(int n) { int x = n; return &x; }
__mlu_func__ int *parameter(int n) { return &n; }
__mlu_func__ const int &temporary(int n) { return n + 1; }
__mlu_func__ Pair *record(int n) { Pair x = {n, 0.5f}; return &x; }
__mlu_func__ float **array(float *p) { float *x[2] = {p, p + 1}; return x; }
__mlu_func__ Held inside(int n) { int x = n; Held held = {&x, nullptr}; return held; }
__mlu_func__ void stored(int **to, int n) { int x = n; *to = &x; }
__mlu_func__ void kept(Held &to, int n) { Mixed x[2]; x[1].pair.a = n; to.pair = &x[1].pair; to.to = &x[0].t[1]; }
__mlu_func__ int *handed(int *p) { int *q = p; return q; }
__mlu_func__ int deep(int **to, int n) { int x = n; if (n == 2) *to = &x; return n > 0 ? deep(to, n - 1) + x : 0; }
__mlu_func__ int byte(void *p, int k) { return ((unsigned char *)p)[k]; }
__mlu_func__ void put(void *p, int k, int v) { ((short *)p)[k] = v; }
__mlu_func__ long led(void *p, int k) { return ((long *)p)[k]; }
__mlu_func__ Pair *pair(void *p, int k) { return (Pair *)((char *)p + k); }
__mlu_func__ int *pointer(void *p, int k) { return ((int **)p)[k]; }
__mlu_func__ int other(int n) { int y = n * 3; int *p = &y; *p += 1; Pair z = {y, 1}; Pair *q = &z; q->a += *p; return z.a; }

"""
LEADS = (  # what sets the pointer p, or q to a pair
    "p = returned({n});", "p = parameter({n});", "stored(&p, {n});", "held = inside({n}); p = held.to;", "q = record({n});",
    "kept(held, {n}); q = held.pair; p = held.to;", "out[6] += deep(&p, {n} & 7);", "p = handed(&x);", "p = handed(returned({n}));",
    "for (int i = 0; i < 3; ++i) {{ int y = i + {n}; if (i == {k}) p = &y; }}",
    "for (int i = 0; i < 3; ++i) {{ Pair y = {{i, 1}}; if (i == {k}) {{ q = &y; p = &y.a; }} }}",
    "for (int i = 0; i < 3; ++i) {{ int y = i; slots[i] = &y; }} p = slots[{k}];",
    "for (int i = 0; i < {many}; ++i) stored(&p, i);", "for (int i = 0; i < {many}; ++i) {{ stored(&slots[i % 3], i); p = slots[{k}]; }}",
    "p = &x; p += {far}; p += {far}; p -= {far}; p -= {far};", "p = t + 1; p -= {far}; p += {far};", "q = pairs; q += {far}; q -= {far};",
    "p = out; p += {far}; p += {far}; p += -{far}; p -= {far};", "p = &x + {k} - {k};", "q = pairs + {k};", "q = &mixed.pair + {k} - 1;",
    "p = &mixed.t[{k}]; p -= {k};", "p = &pairs[0].a + {k};", "p = out + {k};", "r = array(near); r += {far}; r -= {far};", "r = array(near);",
)  # fmt: skip
OBJECTS = (  # what is seen as something else: numbers, pointers and arrays that are variables, or members of one
    "&x", "&p", "slots", "&slots[1]", "r", "&r", "nullptr", "out", "&real[1]", "&pairs[0].b", "&derived.m", "&derived.to",
    "&mixed.s", "&mixed.l", "&mixed.pair.a", "&mixed.next", "&mixed.t[1]", "&held.to", "&held.pair",
)  # fmt: skip
USES = (
    "out[0] += *p;", "out[1] = p[{k}];", "*p = {n};", "*p += {n};", "out[2] = q->a;", "q->b = {n};", "out[3] = (p == &x) + 2 * (p != &pairs[0].a);",
    "out[4] = ((unsigned char *)p)[{k}];", "*((short *)p + {k}) = {n};", "pairs[1] = *q;", "*q = pairs[0];", "x = other({n});", "out[5] = (int)(p - p);",
    "for (int i = 0; i < 2; ++i) {{ int *w = &x; *w += i; }}", "out[7] = *handed(p);", "__memcpy(out, p, 4, LDRAM2GDRAM);", "out[0] = temporary({n});",
    "out[0] = byte({o}, {k});", "put({o}, {k}, {n});", "out[1] = (int)led({o}, {k});", "out[2] = pair({o}, {k} * 4)->a;",
    "*pair({o}, {k} * 4) = pairs[0];", "pairs[0] = *pair({o}, {k} * 8);", "out[3] = *pointer({o}, {k});", "p = pointer({o}, {k}); out[4] = p == &x;",
    "out[5] = (int)pair({o}, {k} * 4)[1].b;", "mixed.next = &mixed; out[2] = mixed.next->pair.a;",
    "*r = near;", "out[1] = *r == near;",
)  # fmt: skip


def astray(seed, statements=30):
    """A kernel of *statements* to choose from, of one lead or two and what uses them."""
    rng = random.Random(seed)
    body = ""
    for which in range(statements):
        leads = [rng.choice(LEADS) for _ in range(rng.randrange(1, 3))]
        parts = [*leads, *(rng.choice(USES) for _ in range(rng.randrange(1, 5)))]
        given = {
            "k": rng.randrange(4),
            "o": rng.choice(OBJECTS),
            "many": rng.choice((3, 40_000)),
            "far": rng.choice(("far", "3", "(1l << 41)", "(1l << 42)")),
        }
        text = " ".join(part.format(n=rng.choice(("n", "5", "-n")), **given) for part in parts)
        body += f"  if (which == {which}) {{ {text} }}\n"
    return (
        f"{HEAD}__mlu_global__ void kernel(int *out, int which, int n, long far) {{\n"
        "  int x = n, *p = &x, *slots[3] = {p, p, p}, t[4] = {1, 2, 3, 4}; Pair pairs[2] = {{1, 2}, {3, 4}}, *q = pairs; float **r = nullptr; double real[2] = {1, 2};\n"
        "  Mixed mixed = {1, 2, {3, 4}, nullptr, {5, 6, 7}}; Held held = {p, q}; Derived derived; Base *classed = &derived; derived.m = 5; derived.to = &x;\n"
        f"{body}  out[8] = x; out[9] = pairs[0].a + pairs[1].a; out[10] = mixed.t[0] + mixed.pair.a; out[11] = classed->get();\n}}\n"
    )
