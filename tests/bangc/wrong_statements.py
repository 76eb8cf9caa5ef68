"""Kernels of single statements that mostly are wrong: `faulty` writes one, whose argument ``which`` picks a statement.

The other arguments, drawn by `hostile`, say where the statement leads: out of bounds, nowhere, to what is gone.
"""

import random

from random_calls import MEETINGS, any_call, rows

BUFFERS = (
    "out",
    "in",
    "buf",
    "other",
    "wbuf",
    "lbuf",
    "local",
    "null",
    "wild",
    "stale()",
    "((float *)q)",
    "sbuf",
)
DIRECTIONS = ("GDRAM2NRAM", "NRAM2GDRAM", "NRAM2NRAM", "GDRAM2GDRAM", "LDRAM2NRAM", "NRAM2LDRAM", "GDRAM2SRAM", "NRAM2WRAM",
              "GDRAM2WRAM", "WRAM2NRAM")  # fmt: skip
OFFSETS = ("", " + a", " + b", " - a", " + q", " + 63")
INDICES = ("a", "b", "n", "q", "a * b")
SEEN = ("long", "int", "short", "char", "half", "float", "unsigned long")
MEMORY = ("buf", "other", "out")
COUNTS = ("n", "a", "64", "1", "n + b", "-1", "0")
FAULTY_HEAD = """\
__nram__ float buf[64];
__nram__ float other[64];
__wram__ float wbuf[64];
__ldram__ float lbuf[64];
__mlu_shared__ float sbuf[128];
__nram__ unsigned places[64];
struct Part { int head; float body[4]; };

__mlu_func__ int deep(int n) { int kept[8]; kept[n & 7] = n; return deep(n + 1) + kept[0]; }
__mlu_func__ int large(int n) { int kept[50000]; kept[n & 7] = n; return n > 40 ? kept[0] : large(n + 1) + kept[1]; }
__mlu_func__ float *stale() { float gone[4]; gone[1] = 2.0f; return gone; }
__mlu_func__ void put(float &to, float x) { to = x; }

"""
FAULTY = (
    "{p}[{i}] = 1.0f;",
    "x += {p}[{i}];",
    "*({t} *)((char *)({p}) + {i}) = ({t})a;",
    "x += (float)*({t} *)((char *)({p}) + {i});",
    "put({p}[{i}], x);",
    "put(*({p}{o}), 2.0f);",
    "slot[0] = {p} + a; x += slot[0][{i}];",
    "slot[1] = {p}{o}; *slot[1] = x;",
    "(*(float **)({p}{o}))[1] = x;",
    "((struct Part *)({m}{o}))->head = a; x += ((struct Part *)({m}{o}))->body[1];",
    "x += (float)(({p} + b) - ({s} - a)); x += ({p} + a) < ({s}) ? 1.0f : 2.0f;",
    "__bang_add({p}{o}, {s}{r}, {u}, {n});",
    "__bang_mul_scalar({p}{o}, {s}{r}, x, {n});",
    "__bang_active_exp({p}{o}, {s}{r}, {n});",
    "__bang_float2half_rd((half *)({p}{o}), {s}{r}, {n});",
    "__bang_transpose({p}{o}, {s}{r}, {n}, a);",
    "__bang_reduce_sum({p}{o}, {s}{r}, {n});",
    "__bang_write_value({p}{o}, {n}, x);",
    "__bang_tiling_2d_b32({p}{o}, {s}{r}, {n}, a, b, 4);",
    "__bang_maxpool({p}{o}, {s}{r}, {n}, a, b, 2, 2);",
    "__bang_fusion(FUSION_FMA, {p}{o}, {s}{r}, {u}, x, {n}, {n});",
    "__memcpy({p}{o}, {s}{r}, {n}, {d});",
    "__memcpy({p}{o}, {s}{r}, {n}, {d}, a, b, 3);",
    "__memcpy({p}{o}, {s}{r}, 4, {d}, q, 8, a);",
    "__memcpy_async({p}{o}, {s}{r}, {n}, {d}); __sync();",
    "__memcpy_async({p}{o}, {s}{r}, {n}, {d}, a, b, 2); __sync_io();",
    "__bang_atomic_add({p}{o}, {s}{r}, {u}, {n});",
    "__bang_atomic_add({p}{o}, {s}{r}, x, {n});",
    "__nramset({p}{o}, {n}, x);",
    "x += (float)(7 / (a - b)) + (float)(q % (long)n);",
    "x += (float)deep(a);",
    "x += (float)large(a);",
    "local[{i}] = x; x += local[{i}];",
    "__gather({p}{o}, {s}{r}, (unsigned *)({u}), {n}, {d}, a, b);",
    "__scatter({p}{o}, {s}{r}, (unsigned *)({m}), {n}, {d}, a, b);",
    "__bang_discrete_atomic_add({p}{o}, {s}{r}, (int *)({u}), x, {n});",
    "__bang_atomic_reduce_add({p}{o}, {s}{r}, {n}, a, b, 3, 4, 4, 4);",
    "slot[{i}] = {p}; x += 1.0f;",
    "x += *slot[{i}];",
    "parts[{i}].body[b] = x; x += (float)parts[a].head;",
    "one.body[{i}] = x; x += one.body[a];",
    "*(&kept + {i}) = a; x += (float)kept;",
    "*((short *)&kept + {i}) = 3; x += (float)kept;",
    "struct Part *at = &one + b; at->head = a; x += (float)(at - &one);",
    "x += (float)(long)&kept;",
    "x += (float)(__is_nram({p}{o}) + __is_dram({s}) + __is_sram(&kept));",
)


def _place(rng):
    """A pointer; most lead to memory of the board, so that more than the kind of memory is wrong."""
    return rng.choice(BUFFERS if rng.random() < 0.4 else MEMORY)


def _filled(rng, text):
    """A statement with places, counts and types."""
    given = {name: _place(rng) for name in "psu"} | {name: rng.choice(OFFSETS) for name in "or"}
    given |= {"m": rng.choice(MEMORY), "n": rng.choice(COUNTS), "i": rng.choice(INDICES)}
    return text.format(**given, d=rng.choice(DIRECTIONS), t=rng.choice(SEEN))


def faulty(seed, statements=40):
    """A kernel of *statements* to choose from: of those above, of cores that meet, and calls of the rows in turn."""
    rng = random.Random(seed)
    meeting, calls, every = statements // 8, statements // 2, rows()
    cases = [
        _filled(rng, text)
        for text in (*rng.sample(FAULTY, statements - meeting - calls), *rng.sample(MEETINGS, meeting))
    ]
    cases += [any_call(rng, every[(seed * calls + n) % len(every)]) for n in range(calls)]
    body = "".join(f"  if (which == {n}) {{ {case} }}\n" for n, case in enumerate(cases))
    return (
        f"{FAULTY_HEAD}__mlu_global__ void kernel(float *out, float *in, int which, int a, int b, int n, long q) {{\n"
        "  float local[4] = {1.0f, 2.0f, 3.0f, 4.0f}, x = 0.5f; float *null = nullptr;\n"
        "  float *wild = (float *)((unsigned long)buf * 3); float *slot[2] = {buf, out}; int kept = a;\n"
        "  struct Part parts[3], one;\n"
        "  for (int i = 0; i < 64; ++i) places[i] = (unsigned)(i * (b & 7));\n"
        f"{body}  out[0] = x;\n}}\n"
    )


def hostile(rng):
    """Values for ``a, b, n, q``."""
    few = (0, 1, 2, 3, 5, 16, 31, 32, 63, 64, 65, -1, -2, -64, 100, 256)
    large = (4096, 1 << 20, 1 << 24, (1 << 31) - 1, -(1 << 31), 1 << 30)
    far = (
        0,
        1,
        4,
        63,
        -1,
        1 << 31,
        1 << 40,
        -(1 << 40),
        1 << 46,
        (1 << 47) - 1,
        1 << 47,
        1 << 48,
        -(1 << 48),
        1 << 62,
    )
    drawn = (
        rng.choice((rng.choice(few), rng.choice(few), rng.randint(-70, 140), rng.choice(large)))
        for _ in range(3)
    )
    q = rng.choice((*far, (1 << 63) - 1, -(1 << 63), rng.randint(-(1 << 63), (1 << 63) - 1)))
    return (*drawn, q)
