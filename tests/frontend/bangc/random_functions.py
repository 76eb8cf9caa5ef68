"""Random functions of C++ that have one meaning: no overflow but what wraps, no order but what the standard gives.

A batch is a source with functions ``f0`` to ``fN`` and a list of calls; `for_device` makes it a kernel that stores
each result, `for_host` a program that prints them.
"""

import random

WHOLE = (
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long",
    "unsigned long",
)
REAL = ("float", "double", "half")
LIMITS = {
    "signed char": (-128, 127),
    "unsigned char": (0, 255),
    "short": (-32768, 32767),
    "unsigned short": (0, 65535),
    "int": (-(2**31), 2**31 - 1),
    "unsigned int": (0, 2**32 - 1),
    "long": (-(2**63), 2**63 - 1),
    "unsigned long": (0, 2**64 - 1),
}
PRELUDE = """
struct Pair { int a; float b; unsigned char c; short d[3]; };
#define WHOLE(T, x) ((double)(x) >= 0.0 && (double)(x) < 100.0 ? (T)(x) : (T)7)
FN long bits(float x) { return x != x ? 12345L : (long)*(int *)&x; }
FN void bump(int &x, int by) { x += by; }
FN int twice(int *p) { *p = (int)((unsigned)*p * 2u); return *p; }
FN Pair made(int a, float b) { Pair p = {a, b, (unsigned char)(a * 3), {1, 2}}; p.d[2] = (short)(a >> 3); return p; }
FN int total(Pair p) { p.a += p.c; return p.a + p.d[0] + p.d[1] + p.d[2]; }
FN void change(Pair &p, int by) { p.a ^= by; p.d[1] += 3; p.c = (unsigned char)(p.c + by); }
template <typename T> FN T larger(T a, T b) { return a < b ? b : a; }
"""


class Writer:
    """Writes one function."""

    def __init__(self, rng, name, earlier):
        self.rng = rng
        self.name = name
        self.earlier = earlier  # (name, parameter types) of functions that return long
        self.names = {}  # variables in scope, by name their type
        self.count = 0
        self.depth = 0
        self.loops = 0
        self.fixed = set()  # counters, which nothing but their loop may change
        self.arrays = {}
        self.pairs = []
        self.pointers = {}

    def fresh(self, prefix):
        """A name that nothing has."""
        self.count += 1
        return f"{prefix}{self.count}"

    # -- expressions ---------------------------------------------------------------------------

    def literal(self, kind):
        """A constant of a type."""
        rng = self.rng
        if kind == "bool":
            return rng.choice(("true", "false"))
        if kind in REAL:
            value = rng.choice((0.5, 1.0, 2.0, -1.5, 0.1, 3.25, 100.0, 7.0, -0.3))
            return f"(({kind}){value}f)" if kind != "double" else f"({value})"
        low, high = LIMITS[kind]
        value = rng.choice(
            (0, 1, 2, 3, 5, 7, 10, 31, 100, low, high, rng.randint(low, high), rng.randint(max(low, -99), 99))
        )
        if value == -(2**63):
            value += 1
        text = f"{value}{'UL' if value > 2**63 - 1 else 'L' if abs(value) > 2**31 - 1 else ''}"
        return f"(({kind}){text})"

    def whole(self, depth):
        """An integer of some type."""
        return self.expression(self.rng.choice(WHOLE), depth)

    def expression(self, kind, depth):  # noqa: C901 - one branch for each kind of expression
        """An expression that converts to *kind* without doubt."""
        rng = self.rng
        if depth <= 0 or rng.random() < 0.12:
            return self.leaf(kind)
        if kind == "bool":
            return self.test(depth)
        if kind in REAL:
            return self.real(kind, depth)
        pick = rng.randrange(14)
        if pick < 5:
            op = rng.choice(("+", "-", "*", "&", "|", "^"))
            return f"({self.whole(depth - 1)} {op} {self.expression(kind, depth - 1)})"
        if pick < 6:
            op = rng.choice(("/", "%"))
            return f"({self.whole(depth - 1)} {op} (({self.whole(depth - 2)} & 15) + 1))"
        if pick < 8:
            op = rng.choice(("<<", ">>"))
            return f"({self.expression(kind, depth - 1)} {op} ({self.whole(depth - 2)} & 7))"
        if pick < 9:
            return f"({rng.choice('-~!+')}({self.expression(kind, depth - 1)}))"
        if pick < 10:
            return f"({self.test(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.whole(depth - 1)})"
        if pick < 11:
            return f"(({rng.choice(WHOLE)}){self.whole(depth - 1)})"
        if pick < 12:
            return f"WHOLE({kind}, {self.expression(rng.choice(REAL), depth - 2)})"
        if pick < 13:
            return f"larger<{kind}>({self.whole(depth - 1)}, {self.whole(depth - 1)})"
        return self.call(depth)

    def call(self, depth):
        """A call of an earlier function."""
        if not self.earlier or self.depth > 0 or self.loops > 0:
            return self.leaf("int")
        name, kinds = self.rng.choice(self.earlier)
        return f"{name}({', '.join(self.expression(k, depth - 2) for k in kinds)})"

    def real(self, kind, depth):
        """A floating expression."""
        rng = self.rng
        pick = rng.randrange(8)
        if pick < 4:
            op = rng.choice("+-*/")
            return f"({self.expression(kind, depth - 1)} {op} {self.expression(kind, depth - 1)})"
        if pick < 5:
            return f"(-({self.expression(kind, depth - 1)}))"
        if pick < 6:
            return f"({self.test(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.expression(kind, depth - 1)})"
        if pick < 7:
            return f"(({kind}){self.expression(rng.choice(REAL), depth - 1)})"
        narrow = rng.choice(("int", "short", "unsigned char", "long", "unsigned int"))
        return f"(({kind})({self.expression(narrow, depth - 1)}))"

    def test(self, depth):
        """A condition."""
        rng = self.rng
        pick = rng.randrange(6)
        if pick < 3:
            kind = rng.choice((*WHOLE, "float", "double", "half"))
            op = rng.choice(("<", ">", "<=", ">=", "==", "!="))
            other = kind if kind in REAL else rng.choice(WHOLE)
            return f"({self.expression(kind, depth - 1)} {op} {self.expression(other, depth - 1)})"
        if pick < 5:
            return (
                f"({self.test(depth - 1)} {rng.choice(('&&', '||'))} {self.test(depth - 1)})"
                if depth > 1
                else self.leaf("bool")
            )
        return f"(!{self.expression('bool', depth - 1)})"

    def leaf(self, kind):
        """A variable or a constant."""
        rng = self.rng
        same = [n for n, k in self.names.items() if k == kind]
        others = [n for n, k in self.names.items() if k in WHOLE]
        pick = rng.random()
        if same and pick < 0.5:
            return rng.choice(same)
        if kind in WHOLE:
            if others and pick < 0.7:
                return rng.choice(others)
            if self.arrays and pick < 0.8:
                return self.element()
            if self.pairs and pick < 0.88:
                name = rng.choice(self.pairs)
                return rng.choice(
                    (f"{name}.a", f"{name}.c", f"{name}.d[{rng.randrange(3)}]", f"total({name})")
                )
            if self.pointers and pick < 0.94:
                return f"*{rng.choice(list(self.pointers))}"
        if kind == "float" and self.pairs and pick < 0.7:
            return f"{rng.choice(self.pairs)}.b"
        return self.literal(kind)

    def element(self):
        """An element of an array."""
        name = self.rng.choice(list(self.arrays))
        return f"{name}[({self.leaf('int')}) & 3]"

    # -- statements ----------------------------------------------------------------------------

    def block(self, count, indent):
        """Statements in braces."""
        saved = dict(self.names), dict(self.arrays), list(self.pairs), dict(self.pointers)
        self.depth += 1
        lines = [line for _ in range(count) for line in self.statement(indent)]
        self.depth -= 1
        self.names, self.arrays, self.pairs, self.pointers = saved
        return lines

    def statement(self, indent):
        """One statement, as lines."""
        rng = self.rng
        pad = "  " * indent
        choices = [self.declare, self.assign, self.assign, self.compound, self.step, self.structured]
        if self.depth < 3:
            choices += [self.branch, self.loop, self.switch]
        return [pad + line for line in rng.choice(choices)()]

    def changeable(self, kinds):
        """Variables of some types that may be stored to."""
        return [n for n, k in self.names.items() if k in kinds and n not in self.fixed]

    def declare(self):
        """A declaration."""
        rng = self.rng
        pick = rng.random()
        if pick < 0.12:
            name, kind = self.fresh("t"), rng.choice(("int", "short", "unsigned char", "long"))
            values = ", ".join(self.literal(kind) for _ in range(rng.randrange(1, 5)))
            self.arrays[name] = kind
            return [f"{kind} {name}[4] = {{{values}}};"]
        if pick < 0.22:
            name = self.fresh("p")
            text = f"Pair {name} = made(({self.expression('int', 1)}), {self.expression('float', 1)});"
            self.pairs.append(name)
            return [text]
        targets = self.changeable(("int",))
        if pick < 0.32 and targets:
            name = self.fresh("q")
            self.pointers[name] = "int"
            return [f"int *{name} = &{rng.choice(targets)};"]
        kind = rng.choice((*WHOLE, *REAL, "bool"))
        name = self.fresh("v")
        text = f"{kind} {name} = {self.expression(kind, 3)};"
        self.names[name] = kind
        return [text]

    def assign(self):
        """An assignment."""
        rng = self.rng
        targets = self.changeable((*WHOLE, *REAL, "bool"))
        if not targets:
            return self.declare()
        name = rng.choice(targets)
        kind = self.names[name]
        if self.arrays and rng.random() < 0.2:
            return [f"{self.element()} = {self.whole(3)};"]
        if kind in WHOLE and rng.random() < 0.12:
            other = rng.choice(self.changeable(WHOLE))
            return [f"{name} = {other} = {self.whole(2)};"]
        return [f"{name} = {self.expression(kind, 3)};"]

    def compound(self):
        """A compound assignment."""
        rng = self.rng
        targets = self.changeable((*WHOLE, *REAL))
        if not targets:
            return self.declare()
        name = rng.choice(targets)
        kind = self.names[name]
        if kind in REAL:
            return [f"{name} {rng.choice('+-*')}= {self.expression(kind, 2)};"]
        pick = rng.random()
        if pick < 0.2:
            return [f"{name} {rng.choice(('<<', '>>'))}= ({self.whole(1)} & 7);"]
        if pick < 0.35:
            return [f"{name} {rng.choice('/%')}= (({self.whole(1)} & 15) + 1);"]
        if pick < 0.5 and self.arrays:
            return [f"{self.element()} {rng.choice('+-*&|^')}= {self.whole(2)};"]
        return [f"{name} {rng.choice('+-*&|^')}= {self.whole(2)};"]

    def step(self):
        """An increment or a decrement."""
        rng = self.rng
        targets = self.changeable(WHOLE)
        if not targets:
            return self.declare()
        name = rng.choice(targets)
        others = [n for n in self.changeable(WHOLE) if n != name]
        mark = rng.choice(("++", "--"))
        if others and rng.random() < 0.5:
            text = f"{name}{mark}" if rng.random() < 0.5 else f"{mark}{name}"
            return [f"{rng.choice(others)} = {text};"]
        if self.arrays and rng.random() < 0.4:
            return [f"{rng.choice(list(self.arrays))}[{name}{mark} & 3] = {self.literal('int')};"]
        return [f"{name}{mark};"]

    def structured(self):
        """A statement about a record, a pointer or a reference."""
        rng = self.rng
        targets = self.changeable(("int",))
        pick = rng.random()
        if self.pairs and pick < 0.4:
            name = rng.choice(self.pairs)
            other = rng.choice(self.pairs)
            return [
                rng.choice(
                    (
                        f"change({name}, {self.expression('int', 1)});",
                        f"{name}.a += {self.whole(2)};",
                        f"{name}.d[{rng.randrange(3)}] = {self.whole(2)};",
                        f"{name} = {other};",
                        f"{name}.b = {self.expression('float', 2)};",
                    )
                )
            ]
        if self.pointers and pick < 0.6:
            name = rng.choice(list(self.pointers))
            return [
                rng.choice((f"*{name} = {self.whole(2)};", f"*{name} += {self.whole(1)};", f"(*{name})++;"))
            ]
        if targets:
            name = rng.choice(targets)
            return [
                rng.choice((f"bump({name}, {self.expression('int', 1)});", f"{name} = twice(&{name}) ^ 5;"))
            ]
        return self.declare()

    def branch(self):
        """An if."""
        lines = [f"if ({self.expression('bool', 3)}) {{", *self.block(self.rng.randrange(1, 4), 1)]
        if self.rng.random() < 0.5:
            lines += ["} else {", *self.block(self.rng.randrange(1, 3), 1)]
        return [*lines, "}"]

    def loop(self):
        """A loop that ends, sometimes with a break or a continue."""
        rng = self.rng
        name = self.fresh("i")
        kind = rng.choice(("int", "unsigned int", "short", "long"))
        self.names[name] = kind
        self.fixed.add(name)
        self.loops += 1
        inner = self.block(rng.randrange(1, 4), 1)
        leave = self.expression("bool", 2)
        if rng.random() < 0.5:
            at = rng.randrange(len(inner) + 1)
            if at == len(inner) or (inner[at].startswith("  ") and not inner[at].startswith("   ")):
                inner.insert(
                    at,
                    f"  if ({leave}) {rng.choice(('break', 'continue'))};",
                )
        self.loops -= 1
        pick = rng.random()
        count = rng.randrange(1, 6)
        del self.names[name]
        if pick < 0.6:
            return [f"for ({kind} {name} = 0; {name} < {count}; ++{name}) {{", *inner, "}"]
        if pick < 0.8:
            return [f"{kind} {name} = {count};", f"while ({name}-- > 0) {{", *inner, "}"]
        return [f"{kind} {name} = 0;", "do {", *inner, f"}} while (++{name} < {count});"]

    def switch(self):
        """A switch, sometimes with fallthrough."""
        rng = self.rng
        lines = [f"switch (({self.whole(2)}) & 3) {{"]
        labels = rng.sample(range(4), rng.randrange(1, 5))
        default = rng.randrange(len(labels) + 1) if rng.random() < 0.7 else -1
        for n, label in enumerate(labels):
            if n == default:
                lines.append("  default:")
            lines += [f"  case {label}: {{", *self.block(rng.randrange(1, 3), 2), "  }"]
            if rng.random() < 0.6:
                lines.append("  break;")
            elif rng.random() < 0.3:
                lines.append(f"  if ({self.expression('bool', 2)}) break;")
        if default == len(labels):
            lines += ["  default: {", *self.block(1, 2), "  }"]
        return [*lines, "}"]

    def function(self):
        """The function's text and the types of its parameters."""
        rng = self.rng
        kinds = [rng.choice((*WHOLE, *REAL, "bool")) for _ in range(rng.randrange(1, 4))]
        parameters = [f"a{n}" for n in range(len(kinds))]
        self.names.update(zip(parameters, kinds, strict=True))
        head = ", ".join(f"{k} {n}" for k, n in zip(kinds, parameters, strict=True))
        lines = [line for _ in range(rng.randrange(3, 9)) for line in self.statement(1)]
        parts = []
        for name, kind in list(self.names.items()):
            parts.append(f"bits((float){name})" if kind in REAL else f"(long){name}")
        parts += [f"(long){n}[{i}]" for n in self.arrays for i in range(4)]
        parts += [f"(long)total({n}) + bits({n}.b)" for n in self.pairs]
        body = [f"  long result = {rng.randrange(100)};"]
        body += [f"  result = result * 31 + ({part});" for part in parts]
        text = [f"FN long {self.name}({head}) {{", *lines, *body, "  return result;", "}"]
        return "\n".join(text), kinds


class Batch:
    """*count* functions with calls of each."""

    def __init__(self, seed, count, calls=3):
        rng = random.Random(seed)
        self.functions = []
        self.calls = []
        earlier = []
        for n in range(count):
            text, kinds = Writer(rng, f"f{n}", earlier).function()
            self.functions.append(text)
            earlier = [*earlier[-3:], (f"f{n}", kinds)]
            for _ in range(calls):
                plain = Writer(rng, "", ())
                self.calls.append(f"f{n}({', '.join(plain.literal(k) for k in kinds)})")

    def for_device(self):
        """A source with a kernel that stores the result of each call."""
        stores = "\n".join(f"  out[{n}] = {call};" for n, call in enumerate(self.calls))
        head = "#define FN __mlu_func__\n"
        return f"{head}{PRELUDE}\n{chr(10).join(self.functions)}\n__mlu_global__ void Run(long *out) {{\n{stores}\n}}\n"

    def for_host(self):
        """A program that prints the result of each call."""
        stores = "\n".join(f'  printf("%ld\\n", {call});' for call in self.calls)
        head = "#include <stdio.h>\n#include <immintrin.h>\n" + HALF + "#define FN static\n"
        return f"{head}{PRELUDE}\n{chr(10).join(self.functions)}\nint main() {{\n{stores}\n}}\n"


HALF = """
// half for a compiler that has none: computes in float and rounds, as compilers do with _Float16.
struct half {
  unsigned short v;
  half() = default;
  half(float x) : v(_cvtss_sh(x, 0)) {}
  half(double x);
  half(bool x) : half((float)x) {}
  half(int x) : half((double)x) {}
  half(unsigned x) : half((double)x) {}
  half(long x) : half((double)x) {}
  half(unsigned long x) : half((double)x) {}
  operator float() const { return _cvtsh_ss(v); }
};
// A double rounded once: to odd in float first.
inline half::half(double x) {
  float f = (float)x;
  if ((double)f != x && f - f == 0) {
    unsigned u = *(unsigned *)&f;
    bool away = (double)(f < 0 ? -f : f) > (x < 0 ? -x : x);
    if (away) u -= 1;
    u |= 1;
    f = *(float *)&u;
  }
  v = _cvtss_sh(f, 0);
}
inline half operator+(half a, half b) { return half((float)a + (float)b); }
inline half operator-(half a, half b) { return half((float)a - (float)b); }
inline half operator*(half a, half b) { return half((float)a * (float)b); }
inline half operator/(half a, half b) { return half((float)a / (float)b); }
inline half operator-(half a) { return half(-(float)a); }
inline half &operator+=(half &a, half b) { return a = a + b; }
inline half &operator-=(half &a, half b) { return a = a - b; }
inline half &operator*=(half &a, half b) { return a = a * b; }
inline bool operator<(half a, half b) { return (float)a < (float)b; }
inline bool operator>(half a, half b) { return (float)a > (float)b; }
inline bool operator<=(half a, half b) { return (float)a <= (float)b; }
inline bool operator>=(half a, half b) { return (float)a >= (float)b; }
inline bool operator==(half a, half b) { return (float)a == (float)b; }
inline bool operator!=(half a, half b) { return (float)a != (float)b; }
"""
