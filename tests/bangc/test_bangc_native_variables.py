"""Pointers to variables that are not simulated memory: the same faults on both engines, and never a lost store."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

import mlusim
from mlusim import bangc
from mlusim.errors import OutOfBounds, UsageError

SOURCE = """\
__nram__ float buf[64];
struct Part { int head; float body[4]; float grid[2][3]; };

__mlu_func__ void put(float *x, int n, float v) { x[n] = v; }

__mlu_global__ void variables(float *out, int which, long n) {
  float *slot[2] = {buf, out};
  float **end = slot + 1;
  struct Part parts[3], one;
  struct Part *at = &one + n;
  float x = 1.0f;
  float *p = &x + n;
  int kept = 7;
  short *half_of = (short *)&kept;
  one.head = 3;
  if (which == 0) slot[n] = out;
  if (which == 1) end[n] = out;
  if (which == 2) parts[n].head = 2;
  if (which == 3) parts[1].body[n] = 2.0f;
  if (which == 4) parts[n].body[1 - n] = 2.0f;
  if (which == 5) { one.grid[n][0] = 2.0f; out[3] = one.grid[1][2]; }
  if (which == 6) at->head = 5;
  if (which == 7) put(&x, n, 2.0f);
  if (which == 8) *p = 2.0f;
  if (which == 9) half_of[n] = 2;
  if (which == 10) *(half_of + n) = 2;
  if (which == 11) __bang_write_value(p, 1, 2.0f);
  if (which == 12) out[3] = __is_nram(p) ? 1.0f : 2.0f;
  if (which == 13) ((float **)out)[0] = p;
  if (which == 14) out[3] = (float)(p - &x) + (p > &x ? 10.0f : 20.0f) + (float)(half_of + n > half_of);
  out[0] = x;
  out[1] = (float)kept;
  out[2] = (float)one.head;
}

__mlu_global__ void numbers(float *out, int which, long n) {
  struct Part one;
  struct Part *at = &one + n;
  int kept = 7;
  short *half_of = (short *)&kept;
  if (which == 0) one.grid[n][0] = 2.0f;
  if (which == 1) at->head = 5;
  if (which == 2) half_of[n] = 2;
  if (which == 3) out[3] = (float)((long)at - (long)&one);
  out[0] = (float)kept;
  out[1] = (float)(long)&kept;
}
"""
SENTENCES = {  # where the number is 5
    0: "element 5 of an array of 2 is accessed; legal: 0 to 1",
    1: "element 6 of an array of 2",
    2: "element 5 of an array of 3",
    3: "element 5 of an array of 4",
    4: "element 5 of an array of 3",
    5: "element 15 of an array of 6",
    6: "element 5 of a pointer to one variable is accessed; legal: element 0",
    9: "element 5 of a pointer to one variable",
    11: "dst is the address of a variable that lies in no memory of the board; legal: a pointer into",
    12: "pointer is the address of a variable that lies in no memory of the board",
    13: "the address of a variable that is kept in a register is wanted as a number",
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The module of the source."""
    path = tmp_path_factory.mktemp("variables") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path, board="MLU370-X4")


@pytest.mark.parametrize("which", range(15))
def test_faults_of_variables_are_the_same(kernels, which):
    """Inside, at the end, before, far away: elements of arrays, members of records, halves of a number, addresses."""
    arguments = {n: (np.zeros(4, np.float32), which, n) for n in (0, 1, 2, 5, -1, 1 << 62)}
    said = {n: str(alike(kernels["variables"], given)) for n, given in arguments.items()}

    assert SENTENCES.get(which, "") in said[5]


@pytest.mark.parametrize(
    ("which", "past"),
    [
        (0, "element 15 of an array of 6, the member grid of Part, is accessed"),
        (1, "bytes [220, 224) of LDRAM uint8 one[44]"),
        (2, "bytes [10, 12) of LDRAM int32 kept[1]"),
        (3, ""),
    ],
)
def test_variables_whose_address_is_a_number_lie_in_memory(kernels, which, past):
    """Faults name their bytes, and addresses are the same numbers on both engines."""
    arguments = {n: (np.zeros(4, np.float32), which, n) for n in (0, 1, 2, 5, -1)}
    said = {n: str(alike(kernels["numbers"], given)) for n, given in arguments.items()}

    assert past in said[5]


INITIAL = """\
__mlu_global__ void initial(int *out, int n) {
  __nram__ int x = 4;
  int y = n;
  __bang_add(&x, &x, &x, 1);
  __bang_atomic_add(&x, out, 3);
  out[1] = x + y;
}
"""


def test_a_number_in_memory_begins_with_its_value(tmp_path):
    """A variable whose address an instruction takes lies in memory, on both engines."""
    (tmp_path / "k.mlu").write_text(INITIAL)

    launch = alike(bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["initial"], (np.zeros(2, np.int32), 5))

    assert launch.instructions["bang_add"] == 1


RESULTS = """\
__mlu_func__ int sign(int x) {
  if (x > 0) return 1;
  if (x < 0) { return -1; }
}
__mlu_global__ void signs(int *out, int x) {
  unsigned word = 0x01020304;
  unsigned char *part = (unsigned char *)&word;
  out[0] = sign(x);
  part[1] = 7;
  out[1] = part[0] + 10 * part[3] + word;
}
"""


def test_a_function_without_its_return_and_bytes_of_a_variable(tmp_path):
    """The missing result is one sentence at the function; every byte of a variable is there, loaded and stored."""
    path = tmp_path / "signs.mlu"
    path.write_text(RESULTS, encoding="utf-8")
    kernel = bangc.load(path, board="MLU370-X4")["signs"]
    for x, sign in ((5, 1), (-5, -1)):
        alike(kernel, (np.zeros(2, np.int32), x))
        assert [sign, 0x01020704 + 14] == run(kernel, (np.zeros(2, np.int32), x), "python")[1][0].tolist()

    said = str(alike(kernel, (np.zeros(2, np.int32), 0)))

    assert said.startswith("sign ends without a return of its int; return a value")


MANY = """\
__mlu_global__ void dumped(int *o, int a) {{ o[0] = a; __breakdump_scalar({}); }}
"""


@pytest.mark.parametrize("count", [23, 24, 25, 60])
def test_a_call_with_more_values_than_a_core_has_room_for(tmp_path, count):
    """24 values go up to Python; a kernel that gives more runs there as a whole, and "native" says why."""
    (tmp_path / "k.mlu").write_text(MANY.format(", ".join(f"a + {n}" for n in range(count))))
    kernel, data = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["dumped"], np.zeros(4, np.int32)
    outcome, stored = run(kernel, (data, 3), "auto")

    assert f"dump of {count} scalars: 3, 4" in str(outcome)
    assert stored[0][0] == 3
    if count > 24 and NATIVE == "native":
        with pytest.raises(UsageError, match=f"a call with {count} arguments"):
            raise run(kernel, (data, 3), NATIVE)[0]


FAR = """\
__mlu_global__ void back(int *o, long a) { int *p = o; p -= a; p += a; *p = 7; }
__mlu_global__ void and_back(int *o, long a) { int *p = o; p += a; p += -a; *p = 7; }
__mlu_global__ void at(int *o, long a) { int *p = &o[a]; p = &p[-a]; *p = 7; }
"""


@pytest.mark.parametrize("name", ["back", "and_back", "at"])
@pytest.mark.parametrize("elements", [5, (1 << 44) - 2048, -(1 << 44) + 2048])
def test_a_pointer_comes_back(tmp_path, name, elements):
    """From anywhere within its reach."""
    (tmp_path / "k.mlu").write_text(FAR)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name]

    alike(kernel, (np.zeros(64, np.int32), elements))


@pytest.mark.parametrize("name", ["back", "and_back", "at"])
@pytest.mark.parametrize("elements", [(1 << 44) + 1, -(1 << 44) - 1, 1 << 50, 1 << 62, -(1 << 63)])
def test_a_pointer_from_beyond_its_reach_stays_outside(tmp_path, name, elements):
    """It is a fault, never another element."""
    (tmp_path / "k.mlu").write_text(FAR)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name]
    given = np.zeros(64, np.int32), elements
    alike(kernel, given)
    outcome, stored = run(kernel, given, NATIVE)

    assert isinstance(outcome, OutOfBounds)
    assert not stored[0].any()


GIVEN = """\
__mlu_func__ void kept(int *o, float f, half h, long l, char c, bool t, int *p) {
  __memcpy(o, &f, 4, LDRAM2GDRAM);
  __memcpy(o + 2, &l, 8, LDRAM2GDRAM);
  __memcpy(o + 4, &h, 2, LDRAM2GDRAM);
  __memcpy(o + 5, &c, 1, LDRAM2GDRAM);
  __memcpy(o + 6, &t, 1, LDRAM2GDRAM);
  p[7] = 9;
}
__mlu_func__ int deep(int *o, int n) {
  if (n == 0) { return 0; }
  __memcpy(o + n, &n, 4, LDRAM2GDRAM);
  return deep(o, n - 1) + n;
}
__mlu_global__ void taken(int *o, int n) { __memcpy(&n, o, 4, GDRAM2LDRAM); o[1] = n; }
__mlu_global__ void stored(int *o, int n) { n += 3; __memcpy(o, &n, 4, LDRAM2GDRAM); }
__mlu_global__ void types(int *o, int n) { kept(o, n + 0.5f, n, n * 10000000000l, n, n, o); }
__mlu_global__ void recursive(int *o, int n) { o[20] = deep(o, n); }
"""


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("taken", [100, 100]),
        ("stored", [8, 101]),
        ("types", [0x40B00000, 101, 0xA43B7400 - (1 << 32), 11, 0x4500, 5, 1, 9]),
        ("recursive", [100, 1, 2, 3, 4, 5]),
    ],
)
def test_an_instruction_takes_the_address_of_a_parameter(tmp_path, name, expected):
    """It lies in memory then, with the value that was given."""
    (tmp_path / "k.mlu").write_text(GIVEN)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")[name]
    data = np.arange(100, 132, dtype=np.int32)
    data[4:7] = 0

    assert alike(kernel, (data, 5)).engine == NATIVE
    assert expected == run(kernel, (data, 5), NATIVE)[1][0].tolist()[: len(expected)]


KEPT = """\
__mlu_global__ void kept(float *out, float *in, int turns) {
  __nram__ float *into;
  __nram__ float *end;
  __nram__ float one[64];
  __nram__ float two[64];
  end = two + 64;
  for (int i = 0; i < turns; ++i) {
    into = i % 2 == 0 ? one : two;
    __memcpy(into, in + i * 64, 64 * sizeof(float), GDRAM2NRAM);
    __memcpy(out + i * 64, into, 64 * sizeof(float), NRAM2GDRAM);
  }
  out[0] = (float)(end - into) + end[-1];
}
"""


def test_a_pointer_that_is_kept_in_memory_leads_to_the_array_that_begins_there(tmp_path):
    """Not to the one that ends there; behind the last one it is the end of that."""
    (tmp_path / "k.mlu").write_text(KEPT)
    given = np.arange(256, dtype=np.float32)
    launch, (out, _) = run(
        bangc.load(tmp_path / "k.mlu")["kept"], (np.zeros(256, np.float32), given, 4), "python"
    )

    alike(bangc.load(tmp_path / "k.mlu")["kept"], (np.zeros(256, np.float32), given, 4))
    assert out.tolist() == [64 + 255, *given[1:]], launch


FOUND = """\
struct P { int a; float b[3]; };
const float table[4] = {1.5f, 2.5f, -3.5f, 4.0f};
const P rows[2] = {{1, {2.0f}}, {3, {4.0f, 5.0f}}};
static int counter = 7;
__mlu_func__ float kept(int which, long n) {
  static float sums[4] = {1, 2};
  static P last = {4, {1.0f}};
  static int calls;
  if (which == 0) sums[n] += 1;
  if (which == 1) last.b[n] += 1;
  calls += 1;
  return sums[1] + last.b[0] + calls;
}
__mlu_func__ float seen(const float &x, long n) { return (&x)[n]; }
__mlu_global__ void found(float *out, int which, long n) {
  __nram__ float a[64];
  out[0] = kept(-1, n) + kept(which, n) + kept(-1, n);
  if (which == 2) out[1] = table[n];
  if (which == 3) out[1] = rows[n].b[0];
  if (which == 4) out[1] = rows[1].b[n];
  if (which == 5) out[1] = (float)(&counter)[n];
  if (which == 6) out[1] = seen(out[0] * 2, n);
  if (which == 7) __memcpy(a, table, n * sizeof(float), GDRAM2NRAM);
  if (which == 8) out[1] = (float)(long)table;
  const float *p = table + n;
  if (which == 9) out[1] = *p;
  counter += 1;
  out[2] = (float)counter;
}
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The kernel of constants and statics, translated once."""
    path = tmp_path_factory.mktemp("found") / "k.mlu"
    path.write_text(FOUND)
    return bangc.load(path)["found"]


@pytest.mark.parametrize("which", range(-1, 10))
@pytest.mark.parametrize("n", [1, 5, -2])
def test_constants_and_statics_are_the_same_on_both_engines(found, which, n):
    """Their values, and the faults beside them; two tasks have each their own."""
    alike(found, (np.zeros(8, np.float32), which, n), dim=(2, 1, 1))


COMPARED = """\
struct Pair { int first, second; };
__mlu_global__ void compared(int *out, Pair *pairs, float **table, int which) {
  int x = 1, found = 0;
  Pair one = {1, 2};
  int *p = which ? (int *)0 : out, *to_x = &x, *to_first = &one.first;
  Pair *all = &one, *none = which ? (Pair *)0 : pairs;
  if (which < 2) found = (p == to_x) + 2 * (to_x != p) + 4 * (p == to_first) + 8 * (none == all) + 16 * (all == none);
  if (which == 2) found = (to_first + 1 - 1 == to_first) + 2 * (to_first + 1 > to_first) + 4 * *(1 + to_first - 1);
  if (which == 3) found = (all <= all) + 2 * (all < all + 1) + 4 * (int)(all + 1 - all);
  if (which == 4) found = (table < table + 2) + 2 * (int)(table + 2 - table) + 8 * (1 + table >= table);
  if (which == 5) found = (pairs < pairs + 2) + 2 * (int)(pairs + 2 - pairs) + 8 * (pairs - 1 + 1 == pairs);
  out[0] = found;
}
"""


@pytest.mark.parametrize(("which", "expected"), [(0, 2), (1, 2), (2, 7), (3, 7), (4, 13), (5, 13)])
def test_pointers_of_every_kind_move_and_compare(tmp_path, which, expected):
    """To a number, a member, a record, in registers or in memory, to pointers; with the null pointer, too."""
    (tmp_path / "k.mlu").write_text(COMPARED)
    kernel = bangc.load(tmp_path / "k.mlu")["compared"]
    given = (np.zeros(1, np.int32), np.zeros(16, np.uint8), np.zeros(16, np.uint8), which)
    _, (out, *_) = run(kernel, given, "python")

    alike(kernel, given)
    assert [expected] == out.tolist()


MEMBERS = """\
struct Part { int a[4]; int b; };
struct Whole { int k; Part parts[2]; float grid[2][3]; int *slots[2]; int z; };
struct Tail { int n; int data[1]; };
template <class T, int N> struct Numbers { T all[N]; int pad; __mlu_func__ T &operator[](int i) { return all[i]; } };

__mlu_entry__ void members(int *out, int which, int i) {
  __nram__ Part near[2];
  __nram__ Whole whole;
  __nram__ Numbers<int, 4> numbers;
  Part local[2];
  Numbers<int, 4> own;
  Part *there = (Part *)out;
  switch (which) {
    case 0: near[0].a[i] = 1; break;
    case 1: near[0].a[i] += 1; break;
    case 2: near[0].a[i]++; break;
    case 3: local[0].a[i] = 1; break;
    case 4: there->a[i] = 1; break;
    case 5: out[7] = there->a[i - 8] + there->a[i]; break;
    case 6: numbers[i] = 3; break;
    case 7: own[i] = 3; break;
    case 8: whole.parts[i - 2].b = 2; break;
    case 9: whole.parts[i - 2] = local[0]; break;
    case 10: whole.grid[1][i - 1] = 2; break;
    case 11: whole.grid[i - 2][0] = 2; break;
    case 12: whole.grid[0][i + 1] = 2; break;
    case 13: whole.slots[i - 2] = out; break;
    case 14: ((Tail *)out)->data[i] = 2; break;
    case 15: out[7] = (int)(&near[0].a[i] - near[0].a); break;
  }
}
"""
PAST = {
    **dict.fromkeys(
        (0, 1, 2, 3, 4, 5), "element 4 of an array of 4, the member a of Part, is accessed; legal: 0 to 3"
    ),
    **dict.fromkeys((6, 7), "element 4 of an array of 4, the member all of Numbers<int, 4>, is accessed"),
    **dict.fromkeys((8, 9), "element 2 of an array of 2, the member parts of Whole, is accessed"),
    **dict.fromkeys((10, 11), "element 6 of an array of 6, the member grid of Whole, is accessed"),
    13: "element 2 of an array of 2, the member slots of Whole, is accessed",
    5: "element -4 of an array of 4, the member a of Part, is accessed",
}  # where the number is 4; the others are right: rows that are run through, an open array, an address


def test_an_index_does_not_leave_an_array_in_a_record(tmp_path):
    """Wherever the record lies; neither at its last element nor one past, by an index, an update or a reference."""
    (tmp_path / "k.mlu").write_text(MEMBERS)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["members"]
    said = {
        (w, i): alike(kernel, (np.zeros(12, np.int32), w, i))
        for w in range(16)
        for i in (3, 4)
        if (w, i) != (5, 3)
    }

    assert not [key for key, outcome in said.items() if key[1] == 3 and isinstance(outcome, Exception)]
    assert all(PAST.get(w, "") in str(said[w, 4]) for w in range(16))
    assert {w for w in range(16) if isinstance(said[w, 4], OutOfBounds)} == set(PAST)


FARTHER = """\
__mlu_entry__ void far(long *out, long n, int how) {
  int *p = (int *)out;
  if (how == 0) out[0] = (long)(p + n) - (long)p;
  if (how == 1) { int *q = p + n; q -= n; q[0] = 7; }
  if (how == 2) out[0] = (p + n > p ? 1 : 2) + 10 * (p + n - p);
  if (how == 3) out[0] = (long)(p - n) - (long)p;
}
"""
MOST = (1 << 44) - 1  # ints that a pointer moves by and comes back


@pytest.mark.parametrize("n", [MOST, MOST + 2, 1 << 62, -MOST, -MOST - 2, -(1 << 63)])
def test_a_pointer_that_is_moved_too_far_is_the_same_on_both_engines(tmp_path, n):
    """Up to the limit it comes back and is a number; beyond, it neither comes back nor is one."""
    (tmp_path / "k.mlu").write_text(FARTHER)
    kernel = bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["far"]
    given = [alike(kernel, (np.zeros(2, np.int64), n, how)) for how in range(4)]
    faults = [type(outcome).__name__ for outcome in given if isinstance(outcome, Exception)]

    assert faults == ([] if abs(n) <= MOST else ["MemoryFault", "OutOfBounds", "MemoryFault"])


ALIGNED = """
#define LINE 64
struct alignas(32) Wide { int a; };
__nram__ char first[3];
alignas(LINE) __nram__ float line[4];
__nram__ char second[1];
__nram__ __attribute__((aligned(LINE / 2))) char half_line[5];
alignas(128) __mlu_shared__ int shared[3];
__mlu_entry__ void K(long *out) {
  alignas(0) __nram__ char x[3];
  alignas(sizeof(float) * 32) __nram__ half z[3];
  alignas(256) int on_stack[3];
  alignas(double) static __nram__ char kept[3];
  alignas(64) int number = 1;
  __nram__ Wide wide[2];
  x[0] = first[0] = second[0] = 1;
  long all[] = {(long)line % 64, (long)half_line % 32, (long)shared % 128, (long)z % 128, (long)on_stack % 256, (long)kept % 8,
                (long)&number % 64, (long)wide % 32, (long)first, (long)line, (long)second, (long)half_line};
  for (int n = 0; n < 12; ++n) out[12 * taskId + n] = all[n];
}
"""


@pytest.mark.parametrize("board", ["MLU370-X4", "MLU590-H8"])
def test_a_variable_lies_at_its_own_alignment(load, board):
    """In each memory and each task, on both engines, by a macro, a size and a structure too; others lie as close as before."""
    kernel = load(f"#include <bang.h>\n{ALIGNED}", board=board)["K"]
    for engine in ("python", NATIVE):
        _, (out,) = run(
            kernel, [np.zeros(48, np.int64)], engine, dim=(4, 1, 1), kind=mlusim.UNION1, board=board
        )
        found = out.reshape(4, 12)

        assert not found[:, :8].any()
        assert [[0, 64, 80, 96]] * 4 == (found[:, 8:] - found[:, 8:9]).tolist()


NEIGHBOURS = """\
struct Part { int a; int b; float f[4]; int c; short h[3]; double d[2]; int *q; };
struct Whole { int x; Part one; Part two[2]; long y; };
__mlu_global__ void members(int *out, int which, int n) {
  Whole w{};
  Part s{1, 2, {3, 4, 5, 6}, 7, {8, 9, 10}, {1.5, 2.5}}, row[3] = {{1}, {2}, {3}};
  w.one.b = 4; w.two[0].a = 9;
  int *a = &s.a, *b = &s.b, *inner = &w.one.a, *second = &row[1].a;
  float *f = s.f;
  short *h = s.h;
  double *d = s.d;
  Part *part = &w.one;
  if (which == 0) { out[0] = a[n]; a[n] = 7; }
  if (which == 1) { out[0] = b[-n]; b[-n] = 7; }
  if (which == 2) { out[0] = (int)f[n]; f[n] = 2; }
  if (which == 3) { out[0] = h[n]; h[n] = 2; }
  if (which == 4) { out[0] = (int)(d[n] * 2); d[n] = 3; }
  if (which == 5) { out[0] = inner[n]; inner[n] = 5; }
  if (which == 6) { out[0] = part[n].a; part[n].b = 3; }
  if (which == 7) { out[0] = second[n]; second[n] = 3; }
  if (which == 8) { out[0] = ((char *)f)[n]; ((char *)f)[n] = 1; }
  if (which == 9) { out[0] = (int)(b - a) + (a < b) + (a + 1 == b) + (int)(second - &row[0].a) + (part + 1 == w.two) + (h + n > s.h); }
  out[1] = s.a + 10 * s.b; out[2] = (int)(s.f[0] + s.f[3]) + s.c; out[3] = s.h[0] + s.h[2] + (int)s.d[0];
  out[4] = w.one.a + w.one.b + w.one.c; out[5] = w.two[0].a + w.two[0].b + w.two[1].b + w.x; out[6] = row[0].a + row[1].b + row[2].a;
}
"""
OTHERS = {(2, 13), (4, 2), (6, 3), (7, -1)}  # bytes of a pointer, and of what is no such struct


@pytest.fixture(scope="module")
def neighbours(tmp_path_factory):
    """The kernel of pointers to members."""
    path = tmp_path_factory.mktemp("neighbours") / "k.mlu"
    path.write_text(NEIGHBOURS)
    return bangc.load(path, board="MLU370-X4")["members"]


@pytest.mark.parametrize("which", range(10))
def test_a_pointer_leads_from_one_member_to_the_next(neighbours, which):
    """As far as the variable reaches, through numbers, arrays and structs in it, and to a fault of the same words behind it."""
    for n in (0, 1, 2, 3, 4, 5, 7, 13, 40, -1, -3, 1 << 20):
        if (which, n) not in OTHERS:
            alike(neighbours, (np.zeros(8, np.int32), which, n))
