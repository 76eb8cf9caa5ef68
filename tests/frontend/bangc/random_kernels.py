"""Random kernels of BANG C: whole ones, and single statements that mostly are wrong.

`Writer` writes kernels that mix vectors, copies, scalars, loops, branches, syncs and barriers; `faulty` writes a kernel
whose argument ``which`` picks one of many statements, the others say where they lead.
"""

import random

FLOATS = ("float", "half")
TYPES = (*FLOATS, "int", "short", "unsigned int", "char")
SIZE = {"float": 4, "half": 2, "int": 4, "short": 2, "unsigned int": 4, "char": 1}
ELEMENTS = 256
HEAD = "".join(
    f"__nram__ {t} n_{t.split()[0][0]}{SIZE[t]}_{k}[{ELEMENTS}];\n" for t in TYPES for k in range(2)
)
NAMES = {t: [f"n_{t.split()[0][0]}{SIZE[t]}_{k}" for k in range(2)] for t in TYPES}
BINARY = (
    "add",
    "sub",
    "mul",
    "maxequal",
    "minequal",
    "nan_maximum",
    "nan_minimum",
    "lt",
    "le",
    "gt",
    "ge",
    "eq",
    "ne",
)
UNARY = ("abs", "square", "relu", "floor", "ceil", "trunc", "round", "sqrt", "rsqrt", "recip", "active_exp", "active_tanh",
         "active_sigmoid", "active_gelu")  # fmt: skip
OF_FLOAT = ("pow2", "log2", "sin", "cos")
REDUCE = ("sum", "reduce_sum")
CONVERSIONS = (
    ("half", "float", "__bang_half2float({d}, {s}, {n})"),
    ("float", "half", "__bang_float2half_{m}({d}, {s}, {n})"),
    ("float", "int", "__bang_float2int32_{m}({d}, {s}, {n}, 0)"),
    ("int", "float", "__bang_int322float({d}, {s}, {n}, 0)"),
    ("half", "short", "__bang_half2int16_{m}({d}, {s}, {n}, 1)"),
)


class Writer:
    """Writes one kernel ``void kernel(float *out, const float *in, int a, int b, float f)``."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.loops = 0

    def count(self):
        """A number of elements: whole lines, tails, now and then an argument."""
        return self.rng.choice(("64", "128", "1", "3", "33", "61", "(a & 63) + 1", "(b & 31) + 1"))

    def at(self, kind):
        """Somewhere in a buffer of NRAM, with room for 128 elements."""
        name = self.rng.choice(NAMES[kind])
        return (
            name
            if self.rng.random() < 0.6
            else f"{name} + {self.rng.choice((1, 7, 32, 64, '(a & 63)', '(b & 15)'))}"
        )

    def number(self):
        """A float."""
        return self.rng.choice(
            ("f", "0.5f", "-2.0f", "x", "(float)a", "(float)(b & 7)", "1e-3f", "x * f + 0.25f")
        )

    def whole(self):
        """An integer."""
        ops = ("+", "-", "*", "&", "|", "^")
        leaf = self.rng.choice
        terms = ("a", "b", "s", "7", "taskId", "coreId", "13", "(int)x")
        return f"({leaf(terms)} {leaf(ops)} ({leaf(terms)} {leaf(ops)} {leaf(terms)}))"

    def kernel(self, statements=24):
        """The whole source."""
        body = "".join(f"  {line}\n" for _ in range(statements) for line in self.statement())
        return (
            f"{HEAD}__mlu_global__ void kernel(float *out, const float *in, int a, int b, float f) {{\n"
            "  int s = taskId + 1; float x = f;\n"
            f"  __memcpy({NAMES['float'][0]}, in, 1024, GDRAM2NRAM);\n"
            f"  __memcpy({NAMES['float'][1]}, in + 256, 1024, GDRAM2NRAM);\n{self._fill()}{body}"
            f"  __sync();\n  out[taskId * 512 + 511] = x + (float)s;\n"
            f"  __memcpy(out + taskId * 512, {NAMES['float'][0]}, 1024, NRAM2GDRAM);\n"
            f"  __memcpy(out + taskId * 512 + 256, {NAMES['half'][0]}, 512, NRAM2GDRAM);\n}}\n"
        )

    @staticmethod
    def _fill():
        return "".join(
            f"  __bang_write_value({name}, {ELEMENTS}, ({kind})3);\n"
            for kind in TYPES[1:]
            for name in NAMES[kind]
        )

    def statement(self):
        """One statement, as lines."""
        made = self.rng.choice(
            (
                self.binary,
                self.binary,
                self.scalar,
                self.unary,
                self.convert,
                self.copy,
                self.flight,
                self.access,
                self.arithmetic,
                self.loop,
                self.branch,
                self.atomic,
                self.sync,
                self.reduce,
                self.fill,
            )
        )
        return made()

    def binary(self):
        """Two sources."""
        kind = self.rng.choice(FLOATS)
        name, d = self.rng.choice(BINARY), self.at(kind)
        a = self.rng.choice((d, self.at(kind)))
        return [f"__bang_{name}({d}, {a}, {self.at(kind)}, {self.count()});"]

    def scalar(self):
        """A source and a number."""
        kind, name = self.rng.choice(FLOATS), self.rng.choice(("add", "sub", "mul"))
        return [
            f"__bang_{name}_scalar({self.at(kind)}, {self.at(kind)}, ({kind}){self.number()}, {self.count()});"
        ]

    def unary(self):
        """One source."""
        kind = self.rng.choice(FLOATS)
        name = self.rng.choice(UNARY if kind == "half" else (*UNARY, *OF_FLOAT))
        return [f"__bang_{name}({self.at(kind)}, {self.at(kind)}, {self.count()});"]

    def convert(self):
        """From one type to another."""
        frm, to, text = self.rng.choice(CONVERSIONS)
        mode = self.rng.choice(("tz", "rd", "up", "dn", "rn"))
        return [text.format(d=self.at(to), s=self.at(frm), n=64, m=mode) + ";"]

    def copy(self):
        """A blocking copy, in rows now and then."""
        near, far = self.at("float"), f"in + {self.rng.choice((0, 5, 64, '(a & 63)'))}"
        size = self.rng.choice((4, 64, 128, 256, "4 * (b & 31) + 4"))
        if self.rng.random() < 0.3:
            return [f"__memcpy({near}, {far}, 16, GDRAM2NRAM, 32, {self.rng.choice((16, 64, 0))}, 3);"]
        if self.rng.random() < 0.5:
            return [f"__memcpy({near}, {far}, {size}, GDRAM2NRAM);"]
        return [
            f"__memcpy(out + taskId * 512 + {self.rng.choice((0, 64, 100))}, {near}, {size}, NRAM2GDRAM);"
        ]

    def flight(self):
        """An asynchronous copy."""
        if self.rng.random() < 0.5:
            return [
                f"__memcpy_async({self.at('float')}, in + {self.rng.choice((0, 3, 256))}, 256, GDRAM2NRAM);"
            ]
        return [
            f"__memcpy_async({NAMES['float'][0]}, {NAMES['float'][1]} + {self.rng.choice((0, 9))}, 256, NRAM2NRAM);"
        ]

    def sync(self):
        """A wait, or a barrier that all reach."""
        return [
            self.rng.choice(
                (
                    "__sync();",
                    "__sync_io();",
                    "__sync_move();",
                    "__sync_compute();",
                    "__sync_copy_gdram_to_nram();",
                )
            )
        ]

    def access(self):
        """Scalar accesses."""
        kind = self.rng.choice(("float", "int", "half", "short"))
        name, at = self.rng.choice(NAMES[kind]), self.rng.choice(("a & 255", "b & 127", "s & 63", "17"))
        if self.rng.random() < 0.5:
            return [f"x += (float){name}[{at}];", f"s += (int)in[{at}] & 3;"]
        return [f"{name}[{at}] = ({kind}){self.rng.choice(('x', 's', '(s & 15)'))};"]

    def arithmetic(self):
        """Scalars."""
        if self.rng.random() < 0.5:
            return [f"s {self.rng.choice(('+', '^', '-'))}= {self.whole()};"]
        return [
            f"x = x * {self.number()} {self.rng.choice('+-')} {self.number()};",
            "if (!(x > -1e6f && x < 1e6f)) x = 1.5f;",
        ]

    def loop(self):
        """A few turns."""
        if self.loops > 1:
            return self.arithmetic()
        self.loops += 1
        inner = [line for _ in range(2) for line in self.statement()]
        self.loops -= 1
        i = f"i{self.loops}"
        return [f"for (int {i} = 0; {i} < (a & 3) + 2; ++{i}) {{", *inner, f"if ({i} + s == 40) break; }}"]

    def branch(self):
        """One way or the other."""
        return [
            f"if ({self.whole()} > {self.rng.choice(('0', 'b', 'a'))}) {{",
            *self.unary(),
            "} else {",
            *self.scalar(),
            "}",
        ]

    def atomic(self):
        """An atomic on a place of its own task."""
        return [
            f"__bang_atomic_add({NAMES['float'][1]}, out + taskId * 512 + {self.rng.choice((480, 500))}, {NAMES['float'][0]}, 8);"
        ]

    def reduce(self):
        """A sum of each line."""
        return [f"__bang_reduce_sum({NAMES['float'][0]}, {NAMES['float'][1]}, 64);"]

    def fill(self):
        """One value everywhere."""
        kind = self.rng.choice(TYPES)
        return [f"__bang_write_value({self.at(kind)}, {self.count()}, ({kind})(s & 7));"]


# -- statements that mostly are wrong ----------------------------------------------------------------

BUFFERS = ("out", "in", "buf", "other", "wbuf", "lbuf", "local", "null", "wild", "stale()", "((float *)q)")
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
)


def _place(rng):
    """A pointer; most lead to memory of the board, so that more than the kind of memory is wrong."""
    return rng.choice(BUFFERS if rng.random() < 0.4 else MEMORY)


def faulty(seed, statements=40):
    """A kernel of *statements* to choose from."""
    rng = random.Random(seed)
    cases = []
    for number in range(statements):
        text = FAULTY[number % len(FAULTY)] if number < len(FAULTY) else rng.choice(FAULTY)
        given = {name: _place(rng) for name in "psu"} | {name: rng.choice(OFFSETS) for name in "or"}
        given |= {"m": rng.choice(MEMORY), "n": rng.choice(COUNTS), "i": rng.choice(INDICES)}
        cases.append(text.format(**given, d=rng.choice(DIRECTIONS), t=rng.choice(SEEN)))
    body = "".join(f"  if (which == {n}) {{ {case} }}\n" for n, case in enumerate(cases))
    return (
        f"{FAULTY_HEAD}__mlu_global__ void kernel(float *out, float *in, int which, int a, int b, int n, long q) {{\n"
        "  float local[4] = {1.0f, 2.0f, 3.0f, 4.0f}, x = 0.5f; float *null = nullptr;\n"
        "  float *wild = (float *)((unsigned long)buf * 3); float *slot[2] = {buf, out};\n"
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
