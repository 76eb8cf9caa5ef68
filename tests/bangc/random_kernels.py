"""Random kernels of BANG C: vectors, copies, scalars, loops, branches, syncs, and cores that meet, in any order."""

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


TASKS = 8  # at most
SHARED = TASKS * 512  # where in ``out`` the tasks meet: a sum, and behind it a flag for each meeting
FLAGS = 16
OUT = SHARED + FLAGS


class Writer:
    """Writes one kernel ``void kernel(float *out, const float *in, int a, int b, float f)``."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.loops = 0
        self.flags = 0

    def count(self):
        """A number of elements: whole lines, tails, now and then an argument."""
        return self.rng.choice(("64", "128", "1", "3", "33", "61", "(a & 63) + 1", "(b & 31) + 1"))

    def at(self, kind, apart_from=None):
        """Somewhere in a buffer of NRAM with room for 128 elements: there, or in another buffer, nearly always."""
        names = NAMES[kind]
        if apart_from is not None and self.rng.random() < 0.98:
            if self.rng.random() < 0.3:
                return apart_from
            names = [name for name in names if not apart_from.startswith(name)]
        name = self.rng.choice(names)
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
        body = "".join(f"  {line}\n" for _ in range(statements) for line in self.topmost())
        return (
            f"{HEAD}__mlu_shared__ float shared[512];\n__mlu_global__ void kernel(float *out, const float *in, int a, int b, float f) {{\n"
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

    def topmost(self):
        """A statement that every core reaches: cores may meet there."""
        return self.meeting() if self.flags < FLAGS - 1 and self.rng.random() < 0.2 else self.statement()

    def meeting(self):
        """Barriers, the memory core, polls, atomics and locks of all cores, something said."""
        self.flags += 1
        near, core, at = NAMES["float"][0], self.rng.randrange(4), 128 * self.rng.randrange(4)
        kind, flag = self.rng.choice(("", "_async")), SHARED + self.flags
        written = self.rng.choice(
            (f"if (coreId == {core}) __memcpy(shared + {at}, {near}, 512, NRAM2SRAM);",
             f"if (__is_mpu()) __memcpy{kind}(shared + {at}, in + {self.rng.choice((0, 64))}, 512, GDRAM2SRAM);")
        )  # fmt: skip
        look = self.rng.choice(
            (f"while (out[{flag}] == 0.0f) {{ ++s; s &= 7; }}",
             f"do {{ __memcpy({near}, out + {flag}, 4, GDRAM2NRAM); }} while (__is_ipu() && {near}[0] == 0.0f);")
        )  # fmt: skip
        return self.rng.choice(
            (
                ["__sync_cluster();"],
                ["__sync_all();"],
                [f"__sync_cluster_arrive({core}, 5);", *self.statement(), f"__sync_cluster_wait({core}, 5);"],
                [written, "__sync_cluster();", f"__memcpy{kind}({near}, shared + {at} + 8 * coreId, 256, SRAM2NRAM);", "__sync_cluster();"],
                [f"if (taskId == {core}) {{", *self.statement(), f"out[{flag}] = 1.0f; }} else {{ {look} }}"],
                [f"if (__is_ipu()) __bang_atomic_add({NAMES['float'][1]}, out + {SHARED}, {near}, 1);"],
                ["if (__is_ipu()) { __bang_lock(0, 0);", f"out[{SHARED}] = out[{SHARED}] * 0.5f + (float)taskId;", "__bang_unlock(0, 0); }"],
                ['if (__is_ipu()) __bang_printf("%d %d %f", taskId, s, x);'],
            )
        )  # fmt: skip

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
        return [f"__bang_{name}({d}, {self.at(kind, d)}, {self.at(kind, d)}, {self.count()});"]

    def scalar(self):
        """A source and a number."""
        kind, name = self.rng.choice(FLOATS), self.rng.choice(("add", "sub", "mul"))
        d = self.at(kind)
        return [f"__bang_{name}_scalar({d}, {self.at(kind, d)}, ({kind}){self.number()}, {self.count()});"]

    def unary(self):
        """One source."""
        kind = self.rng.choice(FLOATS)
        name = self.rng.choice(UNARY if kind == "half" else (*UNARY, *OF_FLOAT))
        d = self.at(kind)
        return [f"__bang_{name}({d}, {self.at(kind, d)}, {self.count()});"]

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
