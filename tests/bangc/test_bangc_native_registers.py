"""Vectors in registers on both engines: every row with every element type, where registers are kept, what is refused."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

import mlusim
from mlusim.errors import Unsupported
from mlusim.isa.prototypes import prototypes
from mlusim.isa.table import ISA

TYPES = {
    "float": np.float32, "half": np.float16, "int32": np.int32, "uint32": np.uint32, "int16": np.int16, "uint16": np.uint16,
    "int8": np.int8, "uint8": np.uint8,
}  # fmt: skip
ROWS = [row for row in ISA.values() if row.name.startswith("vv_")]


def calls_of(row, name):
    """The calls of *row* that set register ``{to}``, one for each form with one element type; "bool": with masks alone."""
    for form in prototypes(row):
        types = [p.type for p in form.parameters]
        registers = {one.removesuffix(" &") for one in types if one.startswith("vv_")}
        # Numbers alone are no matter but for a move, and `char` is what `signed char` is.
        vectors = sum(one.startswith("vv_") or one.endswith("*") for one in types if one != "vv_bool")
        alone = vectors < 2 and row.name not in ("vv_move", "vv_index") and name != "bool"
        other = registers - {"vv_bool"} != {f"vv_{name}"} - {"vv_bool"}
        if registers and not (alone or other or "signed char *" in " ".join(types)):
            sources = iter("abab")
            call = f"{form.spelling}({', '.join(given_for(row, p, sources) for p in form.parameters)});"
            yield f"{call}{' __vv_select({to}, a, b, r);' * (types[0] == 'vv_bool &')}"


def given_for(row, p, sources):
    """What is given for a parameter: a register, a mask, a place, a count or a number."""
    divisor = row.name.startswith(("vv_div", "vv_rem")) and p.name == "src1"
    if p.type.endswith("&"):
        return "r" if p.type == "vv_bool &" else "{to}"
    if p.type == "vv_bool":
        return {"a": "p", "b": "q"}[next(sources)]
    if p.type.startswith("vv_"):
        return "odd" if divisor else next(sources)
    if p.type.endswith("*"):
        return f"({p.type.removeprefix('const ')})(buf + 256)"
    return "n" if p.name == "elem_count" else "k[5]" if divisor else "k[1]"


CPP = {
    "int32": "int",
    "uint32": "unsigned",
    "int16": "short",
    "uint16": "unsigned short",
    "int8": "signed char",
    "uint8": "unsigned char",
}


def some_calls(name):
    """A call of each row with registers of one element type, in one of its forms: with other types in the others."""
    at = [*TYPES].index(name)
    for row in ROWS:
        for kind in (name, "bool"):
            forms = [*calls_of(row, kind)]
            yield from forms[at % len(forms) :][:1] if forms else ()


def every_call(name):
    """The calls of all rows with registers of one element type, in all their forms."""
    return (call for row in ROWS for kind in (name, "bool") for call in calls_of(row, kind))


def source_of(calls):
    """A kernel that makes *calls*(name) with registers of the element type that is asked for, and keeps what each makes."""
    functions = []
    for name in TYPES:
        cpp = CPP.get(name, name)
        made = [call.replace("{to}", f"c[{n}]") for n, call in enumerate(calls(name))]
        functions.append(
            f"__mlu_func__ char *rows_{name}(char *to, const {cpp} *k, int n) {{ vv_{name} a, b, c[{len(made)}], odd; vv_bool p, q, r;\n"
            f"  __vv_index(a, k[0], k[1]); __vv_index(b, k[2], k[3]); __vv_index(odd, k[5], ({cpp})2); __vv_store(({cpp} *)(buf + 256), b);\n"
            f"  __vv_setp_ne(p, a, k[0]); __vv_setp_le(q, a, b); n = n * __vv_get_length() / 256;\n"
            f"  for (int i = 0; i < {len(made)}; i++) __vv_move(c[i], b);\n"
            + "\n".join(made)
            + f"\n  for (int i = 0; i < {len(made)}; i++, to += 256) __vv_store(({cpp} *)to, c[i]);\n  return to; }}\n"
        )
    cases = "".join(
        f"case {n}: end = rows_{name}(buf + 512, (const {CPP.get(name, name)} *)k, n); break;\n"
        for n, name in enumerate(TYPES)
    )
    return (
        f"#include <bang.h>\n__nram__ char buf[1 << 17];\n{''.join(functions)}"
        f"__mlu_global__ void K(char *o, const char *k, int n, int type) {{ char *end = buf; switch (type) {{\n{cases}}}\n"
        "  __memcpy(o, buf, end - buf, NRAM2GDRAM); }\n"
    )


def compare(kernel, name):
    """Call with random numbers of every size, infinities and NaN among them; integers are not divided by 0."""
    dtype = np.dtype(TYPES[name])
    given = np.random.default_rng(len(name)).integers(0, 256, 5 * dtype.itemsize, np.uint8).view(dtype)
    plain = np.array([3, 2, 5, 7, 1], dtype)
    odd = [0, np.inf, -0.0, np.nan, -1] if dtype.kind == "f" else [0, (1 << 15) - 1, 1, 2, 3]
    for k in (given, plain, np.array(odd).astype(dtype)):
        numbers = np.append(k, np.array([-1 if dtype.kind == "i" else 3], dtype))
        launch = alike(kernel, (np.zeros(1 << 15, np.float32), numbers, 9, [*TYPES].index(name)))
    return launch


@pytest.mark.parametrize("name", TYPES)
def test_every_row_of_registers(load_once, name):
    """Each with each element type, in one of its forms."""
    launch = compare(load_once(source_of(some_calls))["K"], name)

    called = {row.name for row in ROWS if [*calls_of(row, name), *calls_of(row, "bool")]}
    assert called <= {key.lstrip("_") for key in launch.instructions}


@pytest.mark.attack
@pytest.mark.parametrize("name", TYPES)
def test_every_form_of_every_row_of_registers(load_once, name):
    """Registers and numbers in each place."""
    assert compare(load_once(source_of(every_call))["K"], name).instructions["vv_add"]


def test_no_row_of_registers_is_left_out():
    """Every form is called with some element type, where a vector is in it; the length is what all others ask for."""
    calls = {call for name in TYPES for call in some_calls(name)}
    called = {row.name for row in ROWS for name in (*TYPES, "bool") if calls & {*calls_of(row, name)}}

    assert {row.name for row in ROWS} - {"vv_get_length"} == called


KEPT = """
#include <bang.h>
__nram__ float buf[512];
typedef vv_float (*Pass)(vv_float);
__mlu_func__ void add_to(vv_float &x, vv_float const &y) { __vv_add(x, x, y); }
__mlu_func__ void unseen(vv_float x) { __vv_add(x, x, 100.0f); }
__mlu_func__ vv_float filled(float s) { vv_float x; __vv_move(x, s); return x; }
__mlu_func__ vv_float twice(vv_float x) { __vv_add(x, x, x); return x; }
__mlu_func__ vv_float plus(vv_float x, vv_float y) { vv_float z; __vv_add(z, x, y); return z; }
__mlu_func__ void deep(int n, vv_float x) { __vv_add(x, x, (float)n); if (n) deep(n - 1, x); else __vv_store(buf, x, 3); }
template <typename V> __mlu_func__ void by_type(V &d, V &s) { __vv_mul(d, s, d); }
__mlu_global__ void K(float *o, int n) {
  vv_float a, b, array[4], *p = &array[1], (&all)[4] = array;
  __vv_index(a, 1.0f, 1.0f);
  b = a;
  unseen(a);
  add_to(b, a);
  vv_float c = filled(3.0f), e = c;
  __vv_add(c, c, 1.0f);
  by_type(e, c);
  Pass pass = twice;
  for (int i = 0; i < 4; i++) {
    vv_float t;
    __vv_move(t, (float)i);
    if (i) { __vv_add(array[i], array[i - 1], t); } else { array[i] = plus(twice(a), pass(twice(b))); }
  }
  __vv_mul(*p, p[1], all[3]);
  auto to_it = [](vv_float &x) { __vv_add(x, x, 2.0f); };
  auto captured = [&](float k) { __vv_add(a, a, k); };
  to_it(a); captured(4.0f); add_to(a, filled(0.5f));
  vv_float pair[2] = {a, b}, d = n > 2 ? pair[0] : pair[1];
  c = d = plus(d, pair[1]);
  __vv_store(buf + 3, b, 3); __vv_store(buf + 6, e, 3); __vv_store(buf + 9, array[1], 3); __vv_store(buf + 12, c, 3);
  __vv_store(buf + 15, a, n);
  deep(4, a);
  __asm__ volatile("index.vvr.f32 %[dst], %[base], 1;\\n\\t" : [dst] "+r"(d) : [base] "r"(n));
  __vv_store(buf + 18, d, 3);
  __memcpy(o, buf, 84, NRAM2GDRAM);
}
"""


def test_where_registers_are_kept(load):
    """In variables and arrays; passed, returned, referred to, pointed to, captured: a copy is a copy."""
    kernel = load(KEPT)["K"]
    alike(kernel, (np.zeros(21, np.float32), 3))
    _, (found,) = run(kernel, (np.zeros(21, np.float32), 3), NATIVE)

    a, b = np.arange(1, 4) + 6.5, np.arange(1, 4) * 2.0
    first = 2 * np.arange(1, 4) + 4 * b
    expected = [a + 10, b, np.full(3, 12.0), (first + 3) * (first + 6), a + b, a, np.arange(3, 6)]
    np.testing.assert_array_equal(np.concatenate(expected), found)


RECORDS = """
#include <bang.h>
__nram__ float buf[64];
struct Pair { vv_float x, y; int n; };
struct Two { int n; Pair pairs[1]; };
struct Sum {
  vv_float s;
  __mlu_func__ Sum() { __vv_move(s, 0.0f); }
  __mlu_func__ Sum &operator+=(const vv_float &v) { __vv_add(s, s, v); return *this; } };
__mlu_func__ void unseen(Pair p) { __vv_add(p.x, p.x, 99.0f); p.n = 7; }
__mlu_func__ void grow(Pair *p, float by) { __vv_add(p->x, p->y, by); p->n++; }
__mlu_func__ Pair both(const vv_float &v) { Pair p; p.x = v; __vv_add(p.y, v, v); p.n = 0; return p; }
__mlu_func__ float lane(const vv_float &v, int at) { __vv_store(buf, v, 32); return buf[at]; }
__mlu_entry__ void K(float *o, int n) {
  Pair p = {}, many[2];
  if (n == 1) { lane(p.y, 1); }
  if (n == 2) { lane(many[1].x, 1); }
  __vv_index(p.x, 1.0f, 1.0f);
  if (n == 3) { Pair part{p.x}; lane(part.x, 1); lane(part.y, 1); }
  __vv_move(p.y, 0.5f);
  unseen(p);
  grow(&p, 3.0f);
  many[1] = p;
  Two two;
  two.pairs[0] = many[1];
  __vv_mul(two.pairs[0].y, two.pairs[0].x, 2.0f);
  auto captured = [=](float by) { vv_float z; __vv_add(z, p.x, by); return z; };
  Sum sum;
  sum += two.pairs[0].y;
  sum += both(p.y).y;
  o[0] = lane(many[1].x, 3); o[1] = lane(two.pairs[0].y, 4); o[2] = lane(captured(0.25f), 5);
  o[3] = lane(sum.s, 6); o[4] = many[1].n;
  for (int i = 0; i < 2; i++) {
    Pair t;
    if (n == 4 && i) { __vv_add(t.x, t.x, 1.0f); }
    __vv_move(t.x, (float)i);
    o[5 + i] = lane(t.x, 0);
  }
}
"""


def test_registers_in_records(load):
    """Members of records, of records in these, of classes and of what a lambda captured; one that nothing has written is refused."""
    kernel = load(RECORDS)["K"]
    _, (found,) = run(kernel, (np.zeros(7, np.float32), 0), NATIVE)
    alike(kernel, (np.zeros(7, np.float32), 0))

    np.testing.assert_array_equal([3.5, 7, 3.75, 8, 1, 0, 1], found)
    for n, row in ((1, "__vv_store"), (2, "__vv_store"), (3, "__vv_store"), (4, "__vv_add")):
        wrong = str(alike(kernel, (np.zeros(7, np.float32), n)))
        assert wrong.startswith(row)
        assert "nothing has written" in wrong


WRONG = """
#include <bang.h>
__nram__ float buf[512];
__mlu_global__ void K(float *o, int n) {
  vv_float a, b, array[2], *p = nullptr, *q = &a;
  vv_int32 count; vv_bool mask, all, left;
  __vv_move(a, 1.0f); __vv_index(count, -3, 1); __vv_setp_eq(mask, a, 1.0f); __vv_setp_le(all, count, 9); __vv_setp_ne(left, count, 0);
  switch (n) {
    case 0: __vv_add(a, a, b); break;
    case 1: __vv_store(buf, array[1], 4); break;
    case 2: __vv_move(array[n], a); break;
    case 3: __vv_move(*p, a); break;
    case 4: __vv_move(q[n], a); break;
    case 5: __vv_store(buf + 510, a, n); break;
    case 6: __vv_store(buf, a, 100 * n); break;
    case 7: __vv_store(o, a, 4); break;
    case 8: __vv_store_m(o, a, mask); break;
    case 9: __vv_rem_m(count, count, count, all); break;
    case 10: __vv_rem_m(count, count, count, left); break;
    case 11: __vv_store_m(buf, a, 65, mask); break;
  }
}
"""
SENTENCES = (
    "src1 is a register that nothing has written",
    "register is one that nothing has written",
    "element 2 of an array of 2 is accessed",
    "a load through the null pointer",
    "element 4 of a pointer to one variable is accessed",
    "reach 12 bytes past its end",
    "elem_count = 600 is out of range",
    "dst points into GDRAM",
    "dst points into GDRAM; legal: NRAM; write it there, and copy it on with __memcpy",
    "src1[3] is 0",
    "engine='native'",  # a lane that is left out does not count
    "elem_count = 65 is out of range",
)


def test_what_is_no_register(load):
    """Each is one fault, at its line."""
    kernel = load(WRONG)["K"]

    for n, sentence in enumerate(SENTENCES):
        assert sentence in str(alike(kernel, (np.zeros(8, np.float32), n)))


def test_memory_is_no_register(load):
    """A cast says so where it is met, in Python; C has none."""
    kernel = load(
        "#include <bang.h>\n__nram__ float buf[512];\n"
        "__mlu_global__ void K(float *o) { vv_float *p = (vv_float *)buf; __vv_move(*p, 1.0f); }\n"
    )["K"]
    fault, _ = run(kernel, (np.zeros(8, np.float32),), "python")

    assert "memory is seen as a register of float" in str(fault)


ABSENT = """
__nram__ float buf[64];
__mlu_global__ void Absent(float *dst) {
  vv_float v;
  __vv_move(v, 1.0f);
  __vv_store(buf, v);
  __memcpy(dst, buf, 256, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize("board", ["CE3226-V101", "MLU270-S4"])
def test_c_has_no_registers_for_a_board_that_has_none(load_once, board):
    """Python says that the board lacks them; C would execute them."""
    kernel, arch = load_once(ABSENT, board=board)["Absent"], mlusim.find_board(board).arch
    fault, _ = run(kernel, [np.zeros(64, np.float32)], "auto", board=board)

    assert isinstance(fault, Unsupported)
    assert f"__vv_move: {arch.name} does not have it" in str(fault)
    assert kernel.native.program(arch) is None
    assert f"__vv_move, which {arch.name} does not have" == kernel.native.problem
