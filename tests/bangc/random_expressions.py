"""Random expressions of C++ that have one meaning: no overflow but what wraps, no order but what the standard gives."""

WHOLE = (
    "signed char",
    "unsigned char",
    "short",
    "unsigned short",
    "int",
    "unsigned int",
    "long",
    "unsigned long",
    "char",
    "long long",
    "unsigned long long",
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
    "char": (-128, 127),
    "long long": (-(2**63), 2**63 - 1),
    "unsigned long long": (0, 2**64 - 1),
}
WIDE = ("long", "unsigned long", "long long", "unsigned long long")
PRELUDE = """
struct Pair { int a; float b; unsigned char c; short d[3]; };
struct Deep {
  Pair p; Pair q[2]; long n; half h; unsigned short u;
  METHOD long sum() const { return p.a + q[0].c * 3 + q[1].d[2] + n + u; }
  METHOD void grow(int by) { n += by; q[1].d[2] ^= by; u -= by; }
};
struct Point {
  int x, y;
  METHOD Point(int a = 1, int b = -2) : x(a), y(b) {}
  METHOD Point operator+(const Point &o) const { return Point(x + o.x, y ^ o.y); }
  METHOD bool operator<(const Point &o) const { return x < o.x || (x == o.x && y < o.y); }
  METHOD Point &operator+=(int by) { x += by; y -= by; return *this; }
};
union Both { int i; float f; unsigned char c[4]; };
enum Shade { LOW = -3, MID = 5, HIGH };
enum class Kind : unsigned char { A, B = 200, C };
static const int TABLE[8] = {3, -1, 2147483647, 0, 77, -2147483647, 12, 5};
#define WHOLE(T, x, low, high) ((double)(x) >= low && (double)(x) <= high ? (T)(x) : (T)7)
FN long bits(float x) { return x != x ? 12345L : (long)*(int *)&x; }
FN int kind(bool) { return 1; }
FN int kind(signed char) { return 2; }
FN int kind(unsigned char) { return 3; }
FN int kind(short) { return 4; }
FN int kind(unsigned short) { return 5; }
FN int kind(int) { return 6; }
FN int kind(unsigned int) { return 7; }
FN int kind(long) { return 8; }
FN int kind(unsigned long) { return 9; }
FN int kind(float) { return 10; }
FN int kind(double) { return 11; }
FN int kind(half) { return 12; }
FN int kind(char) { return 13; }
FN int kind(long long) { return 14; }
FN int kind(unsigned long long) { return 15; }
FN void bump(int &x, int by) { x += by; }
FN int twice(int *p) { *p = (int)((unsigned)*p * 2u); return *p; }
FN Pair made(int a, float b) { Pair p = {a, b, (unsigned char)(a * 3), {1, 2}}; p.d[2] = (short)(a >> 3); return p; }
FN int total(Pair p) { p.a += p.c; return p.a + p.d[0] + p.d[1] + p.d[2]; }
FN void change(Pair &p, int by) { p.a ^= by; p.d[1] += 3; p.c = (unsigned char)(p.c + by); }
FN long gcd(long a, unsigned b) { return b == 0 ? a : gcd(b, (unsigned)(a % (long)b)); }
FN int depth(int n, int by = 3) { if (n <= 0 || n > 40) return n; return depth(n - by) + (n & by); }
FN int &pick(int *p, int at) { return p[at & 1]; }
template <typename R, typename T> FN R real(T x) { return x; }
template <typename T> FN T larger(T a, T b) { return a < b ? b : a; }
template <typename T> FN void swapped(T &a, T &b) { T c = a; a = b; b = c; }
template <typename T> FN long four(const T *p) { long s = 0; for (int i = 0; i < 4; ++i) s = s * 3 + p[i]; return s; }
template <typename T> FN long ahead(const T *p, const T *end) { long s = end - p; while (p < end) s += *p++; return s; }
template <typename T> FN void mix(T *p, T by) { T *e = p + 3; do { *e -= by; *p ^= *e; } while (p != e--); }
template <int N, typename T> FN auto scaled(T x) { if constexpr (N > 2) return x * N; else return x; }
typedef int (*Step)(int);
FN int more(int x) { return (int)((unsigned)x + 1u); }
FN int flipped(int x) { return ~x; }
FN int tripled(int x) { return (int)((unsigned)x * 3u); }
static const Step STEPS[3] = {more, flipped, tripled};
FN int through(Step f, int x) { return f ? f(x) : 7; }
template <Step F> FN int fixed(int x) { return F(x) ^ 1; }
template <typename F> FN int any(F f, int x) { return f(x & 255) + 1; }
static const char *const NAMES[4] = {"one", "three", "", "\\377x"};
FN int letter(const char *s, int at) { int n = 0; while (s[n]) n++; return s[(at & 15) % (n + 1)] + n; }
struct Shape {
  int a;
  METHOD Shape(int x) : a(x) {}
  METHOD virtual int area(int k) { return (int)((unsigned)a + (unsigned)k); }
  METHOD virtual int both() { return area(2) ^ 2; }
  METHOD virtual ~Shape() {}
};
struct Square : Shape {
  short b;
  METHOD Square(int x) : Shape(x), b((short)(x >> 2)) {}
  METHOD int area(int k) override { return a ^ (b + (k & 255)); }
};
struct Cube : Square {
  METHOD Cube(int x) : Square(x) { b ^= (short)area(1); }
  METHOD int both() override { return 1 ^ Square::both(); }
};
FN int area(Shape *s, int k) { return s->area(k) ^ s->both(); }
FN int sliced(Shape s, int k) { return s.area(k); }
struct Ends {
  int *at, by;
  METHOD Ends(int *p, int x) : at(p), by(x) {}
  METHOD ~Ends() { *at ^= by; }
};
template <typename T> struct Traits { static const int size = sizeof(T); METHOD static T low(T x) { return x & 1; } };
"""


class Expressions:
    """Writes expressions of the names that are in scope."""

    def __init__(self, rng, earlier, *, everything=True):
        self.rng = rng
        self.everything = (
            everything  # also tables at file scope and objects with operators, which have no form in C
        )
        self.earlier = earlier  # (name, parameter types) of functions that return long
        self.names = {}  # variables in scope, by name their type
        self.depth = 0
        self.loops = 0
        self.arrays = {}
        self.pairs = []
        self.deeps = []
        self.points = []
        self.pointers = {}  # by name the type of what it points to
        self.steps = []  # pointers to functions
        self.texts = []
        self.shapes = {}  # objects with virtual methods, by name their class

    def literal(self, kind):
        """A constant of a type."""
        rng = self.rng
        if kind == "bool":
            return rng.choice(("true", "false"))
        if kind in REAL:
            value = rng.choice((0.5, 1.0, 2.0, -1.5, 0.1, 3.25, 100.0, 7.0, -0.3, 6.1e-5, 1e-7, 60000.0))
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

    def expression(self, kind, depth):
        """An expression that converts to *kind* without doubt."""
        if depth <= 0 or self.rng.random() < 0.12:
            return self.leaf(kind)
        if kind == "bool":
            return self.test(depth)
        if kind in REAL:
            return self.real(kind, depth)
        return self.rng.choices(
            (self._sum, self._quotient, self._shift, self._sign, self._choice, self._cast, self._rounded, self._called, self._kind),
            (5, 1, 2, 1, 1, 1, 1, 2, 0.4),
        )[0](kind, depth)  # fmt: skip

    def _sum(self, kind, depth):
        op = self.rng.choice(("+", "-", "*", "&", "|", "^"))
        return f"({self.whole(depth - 1)} {op} {self.expression(kind, depth - 1)})"

    def _quotient(self, _kind, depth):
        divisor = f"(({self.whole(depth - 2)} & 15) + 1)"
        if self.rng.random() < 0.3:
            divisor = f"(({self.whole(depth - 2)} & 15) - 17)"
        return f"({self.whole(depth - 1)} {self.rng.choice('/%')} {divisor})"

    def _shift(self, kind, depth):
        op, by = self.rng.choice(("<<", ">>")), self.whole(depth - 2)
        return f"(({kind}){self.expression(kind, depth - 1)} {op} ({by} & {63 if kind in WIDE else 31}))"

    def _sign(self, kind, depth):
        return f"({self.rng.choice('-~!+')}({self.expression(kind, depth - 1)}))"

    def _choice(self, kind, depth):
        return f"({self.test(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.whole(depth - 1)})"

    def _cast(self, _kind, depth):
        return f"(({self.rng.choice(WHOLE)}){self.whole(depth - 1)})"

    def rounded(self, kind, real, depth):
        """A floating expression made an integer, where it fits one."""
        low, high = LIMITS[kind]
        if kind in WIDE:
            low, high = max(low, -(2**62)), 2**62
        return f"WHOLE({kind}, {self.expression(real, depth)}, {low}.0, {high}.0)"

    def _rounded(self, kind, depth):
        return self.rounded(kind, self.rng.choice(REAL), depth - 2)

    def _called(self, kind, depth):
        rng = self.rng
        pick = rng.random()
        if pick < 0.3:
            return f"larger<{kind}>({self.whole(depth - 1)}, {self.whole(depth - 1)})"
        if pick < 0.36:
            return f"scaled<{rng.choice((1, 2, 3, 5))}>({self.whole(depth - 1)})"
        if pick < 0.4:
            return f"gcd({self.whole(1)} & 1023, {self.whole(1)} & 255)"
        if pick < 0.44:
            return f"depth({self.whole(1)} & 31{rng.choice(('', ', 1', ', 7'))})"
        if pick < 0.5:
            return f"(Traits<{kind}>::low({self.whole(depth - 1)}) + Traits<{kind}>::size)"
        if pick < 0.55:
            return f"({self.leaf(kind)}, {self.whole(depth - 1)})"
        if self.arrays and pick < 0.65:
            name = rng.choice(list(self.arrays))
            return rng.choice((f"four({name})", f"ahead({name} + {rng.randrange(4)}, {name} + 4)"))
        return self.call(depth)

    def _kind(self, _kind, depth):
        one = self.expression(self.rng.choice((*WHOLE, *REAL, "bool")), depth - 1)
        return f"{self.rng.choice(('kind', '(int)sizeof'))}({one})"

    def call(self, depth):
        """A call of an earlier function."""
        if not self.earlier or self.depth > 0 or self.loops > 0:
            return self.leaf("int")
        name, kinds = self.rng.choice(self.earlier)
        return f"{name}({', '.join(self.expression(k, depth - 2) for k in kinds)})"

    def real(self, kind, depth):
        """A floating expression."""
        rng = self.rng
        pick = rng.randrange(10)
        if pick < 4:
            op = rng.choice("+-*/")
            return f"({self.expression(kind, depth - 1)} {op} {self.expression(kind, depth - 1)})"
        if pick < 5:
            other = rng.choice((*REAL, *WHOLE, "bool"))
            op = rng.choice("+-*") if other in REAL else "*"  # g++ takes 0 - x for -x where 0 is an integer
            pair = [self.expression(kind, depth - 1), self.expression(other, depth - 1)]
            if other not in REAL and kind == "half":
                pair[1] = f"real<half>({pair[1]})"
            rng.shuffle(pair)
            return f"({pair[0]} {op} {pair[1]})"
        if pick < 6:
            return f"({rng.choice('-+')}({self.expression(kind, depth - 1)}))"
        if pick < 7:
            return f"({self.test(depth - 1)} ? {self.expression(kind, depth - 1)} : {self.expression(kind, depth - 1)})"
        if pick < 8:
            return f"(({kind}){self.expression(rng.choice(REAL), depth - 1)})"
        if pick < 9 and kind == "float":
            call = rng.choice(("fabsf", "floorf", "ceilf", "truncf", "roundf"))
            return f"{call}({self.expression(kind, depth - 1)})"
        inner = self.expression(rng.choice((*WHOLE, "bool")), depth - 1)
        return f"real<{kind}>({inner})"  # g++ folds an integer that it sees as if 0 - 0 were -0 and half had no infinity

    def test(self, depth):
        """A condition."""
        rng = self.rng
        pick = rng.randrange(7)
        if pick < 3:
            kind = rng.choice((*WHOLE, *REAL))
            op = rng.choice(("<", ">", "<=", ">=", "==", "!="))
            other = (
                rng.choice((*WHOLE, *REAL))
                if rng.random() < 0.2
                else kind
                if kind in REAL
                else rng.choice(WHOLE)
            )
            both = [self.expression(kind, depth - 1), self.expression(other, depth - 1)]
            if "half" in (kind, other) and (kind in WHOLE or other in WHOLE):
                both = [
                    e if k in REAL else f"real<half>({e})" for e, k in zip(both, (kind, other), strict=True)
                ]
            return f"({both[0]} {op} {both[1]})"
        if pick < 5 and depth > 1:
            return f"({self.test(depth - 1)} {rng.choice(('&&', '||'))} {self.test(depth - 1)})"
        if pick < 5:
            return self.leaf("bool")
        if pick < 6:
            return (
                f"({rng.choice(('!!', '(bool)'))}({self.expression(rng.choice((*WHOLE, *REAL)), depth - 1)}))"
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
            return self._whole_leaf(kind, pick, others)
        if kind == "half" and self.deeps and pick < 0.7:
            return f"{rng.choice(self.deeps)}.h"
        if kind == "float" and self.pairs and pick < 0.7:
            return f"{rng.choice(self.pairs)}.b"
        return self.literal(kind)

    def _whole_leaf(self, kind, pick, others):
        rng = self.rng
        if others and pick < 0.62:
            return rng.choice(others)
        if self.arrays and pick < 0.74:
            return self.element()
        if self.pairs and pick < 0.80:
            name = rng.choice(self.pairs)
            return rng.choice((f"{name}.a", f"{name}.c", f"{name}.d[{rng.randrange(3)}]", f"total({name})"))
        if self.deeps and pick < 0.84:
            name = rng.choice(self.deeps)
            return rng.choice(
                (
                    f"{name}.sum()",
                    f"{name}.q[{self.leaf('int')} & 1].c",
                    f"{name}.u",
                    f"{name}.p.a",
                    f"{name}.n",
                )
            )
        if self.points and pick < 0.87:
            one, two = rng.choice(self.points), rng.choice(self.points)
            return rng.choice((f"{one}.x", f"({one} + {two}).y", f"({one} < {two})"))
        if self.pointers and pick < 0.94:
            return f"*{rng.choice(list(self.pointers))}"
        if pick > 0.985:
            return rng.choice(("(int)HIGH", "(int)LOW", "(int)Kind::C", "sizeof(Deep)", "'a'"))
        if pick > 0.97 and self.everything:
            return f"TABLE[{self.leaf('int')} & 7]"
        return self.literal(kind)

    def element(self):
        """An element of an array."""
        name = self.rng.choice(list(self.arrays))
        if self.rng.random() < 0.2:
            return f"*({name} + ({self.leaf('int')} & 3))"
        return f"{name}[({self.leaf('int')}) & 3]"
