"""Members of a record behind a pointer: a variable's, in memory, or nowhere; the same on both engines."""

import numpy as np
import pytest
from engines import NATIVE, alike, run

import mlusim
from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.bangc import types
from mlusim.bangc.runtime import layouts
from mlusim.bangc.runtime.pointers import Address
from mlusim.errors import MemoryFault

SOURCE = """\
struct Inner { half weight; bool on; };
struct Shape { int rows; struct Inner inner; float *data; unsigned char tag; };

__nram__ float nram[64];
__nram__ long bytes[16];

__mlu_func__ float sum(const struct Shape &shape, int times) {
  float total = 0.0f;
  for (int i = 0; i < times; ++i) {
    total += shape.data[i] * shape.rows + (float)shape.inner.weight;
    if (shape.inner.on) total += shape.tag;
  }
  return total;
}
__mlu_func__ int through(struct Shape *shape, struct Shape *other) {
  int before = shape->rows;
  other->rows = 9;  // the same record, in some calls
  other->inner.on = !other->inner.on;
  return before * 100 + shape->rows * 10 + shape->inner.on;
}
__mlu_func__ int along(struct Shape *shape) {
  int first = shape->rows;
  shape += 1;
  return first * 10 + shape->rows + shape->tag;
}

__mlu_global__ void records(float *out, int which, int n) {
  struct Shape one[2];
  for (int i = 0; i < 2; ++i) {
    one[i].rows = i + 2;
    one[i].inner.weight = (half)0.5;
    one[i].inner.on = i == 0;
    one[i].data = nram + i;
    one[i].tag = 200;
  }
  __bang_write_value(nram, 64, 3.0f);
  struct Shape *none = 0, *kept = (struct Shape *)bytes;
  if (which == 0) out[0] = sum(one[n], 4);
  if (which == 1) out[0] = through(one, one);
  if (which == 2) out[0] = through(one, one + 1);
  if (which == 3) out[0] = along(one);
  if (which == 4) { kept[1].rows = 4; kept[1].tag = 1; kept[1].inner.on = false; out[0] = through(kept + 1, kept + n); }
  if (which == 5) out[0] = through(one + n, one);
  if (which == 6) out[0] = through(none, one);
}
"""
RESULTS = {0: 4 * (3 * 2 + 0.5 + 200), 1: 290, 2: 221, 3: 2 * 10 + 3 + 200, 4: 491, 5: 290}
NOWHERE = """\
struct S { int a; float b[4]; struct { int c; } in; int *to; struct S *next; bool on; };
__mlu_global__ void members_of_null(float *out, int which) {
  struct S *p = 0;
  if (which == 0) out[0] = p->a;
  if (which == 1) p->a = 3;
  if (which == 2) out[0] = p->b[1];
  if (which == 3) p->b[1] = 3;
  if (which == 4) out[0] = p->in.c;
  if (which == 5) p->in.c = 4;
  if (which == 6) p->a += 2;
  if (which == 7) p->a++;
  if (which == 8) { float *q = p->b; out[0] = 3; }
  if (which == 9) { float *q = p->b + 1; out[0] = *q; }
  if (which == 10) { int *q = &p->a; *q = 1; }
  if (which == 11) out[0] = *p->to;
  if (which == 12) out[0] = p->next->a;
  if (which == 13) out[0] = p->on;
  if (which == 14) out[0] = p[2].a;
  if (which == 15) out[0] = (p + 3)->b[2];
  if (which == 16) p->next = p;
  if (which == 17) { struct S *q = (struct S *)(long)64; out[0] = q->in.c; }
  if (which == 18) out[0] = (float)(long)&p->in.c;
  if (which == 19) p[1].b[9] = 1;
}
"""
WHOLE = """\
struct S { int a; float b[4]; struct { int c; } in; };
struct T { struct S s; int n; };
__mlu_func__ int taken(struct S s) { return s.a; }
__mlu_func__ int refd(const struct S &s) { return s.a + s.in.c; }
__mlu_global__ void whole(float *out, int which) {
  struct S *p = 0; struct S mine; mine.a = 1; mine.in.c = 2;
  struct T *t = 0; struct T have;
  if (which == 0) { mine = *p; out[0] = mine.a; }
  if (which == 1) *p = mine;
  if (which == 2) out[0] = taken(*p);
  if (which == 3) out[0] = refd(*p);
  if (which == 4) have.s = t->s;
  if (which == 5) t->s = mine;
  if (which == 6) out[0] = t->s.in.c;
  if (which == 7) { struct S copy = p[1]; out[0] = copy.a; }
  if (which == 8) { struct S *q = &t->s; out[0] = q->in.c; }
  if (which == 9) { have.n = 3; out[0] = have.n + sizeof(*p); }
  if (which == 10) { struct S &r = *p; r.a = 2; }
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "records.mlu"
    path.write_text(SOURCE)
    return bangc.load([path])["records"]


@pytest.mark.parametrize("which", range(7))
@pytest.mark.parametrize("n", [0, 1, 2, -1])
def test_members_are_read_where_the_record_is(kernel, which, n):
    """A variable, another one beside it, NRAM, no memory at all: bytes, counts and faults are the same."""
    alike(kernel, [np.zeros(4, np.float32), which, n])


@pytest.mark.parametrize("which", RESULTS)
def test_values_of_members_are_those_of_c(kernel, which):
    _, (out,) = run(kernel, [np.zeros(4, np.float32), which, int(which == 4)], NATIVE)
    assert RESULTS[which] == out[0]


def test_a_record_is_looked_up_once(kernel):
    """Where a function begins; not where its parameter changes."""
    text = kernel.native.program(find_board("MLU370-X4").arch).text
    assert 2 == text.count("= record_(m, v_")
    assert "record_(m, v_shape, 24, w_" in text


@pytest.fixture(scope="module")
def memberless(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "nowhere.mlu"
    path.write_text(NOWHERE)
    return bangc.load([path])["members_of_null"]


@pytest.mark.parametrize("which", range(20))
def test_members_of_no_record_have_addresses_and_no_values(memberless, which):
    done = alike(memberless, [np.zeros(4, np.float32), which])
    assert (which in (8, 18)) == hasattr(done, "engine")


@pytest.mark.parametrize("which", range(11))
def test_no_record_is_copied(tmp_path, which):
    """Records as a whole are Python's; a load or a store that is refused, and nothing from the inside."""
    path = tmp_path / "whole.mlu"
    path.write_text(WHOLE)
    done, _ = run(bangc.load([path])["whole"], [np.zeros(4, np.float32), which], "auto")
    assert (which == 9) == hasattr(done, "engine")
    if which != 9:
        verb = "a store through" if which in (1, 5, 10) else "a load through"
        assert str(done).startswith(verb)


TAKEN = sorted({"name", "owner", "shown", "words", "from", "is", "lambda", *types.RECORD_ATTRIBUTES})
LIKE_OURS = f"""\
struct Named {{ {" ".join(f"int {name};" for name in TAKEN)} }};
__nram__ struct Named table[2];
__mlu_global__ void named(int *out, struct Named given) {{
  struct Named one;
  struct Named *there = table + 1;
  {" ".join(f"one.{name} = {n}; there->{name} = 100 + {n};" for n, name in enumerate(TAKEN))}
  struct Named copy = one;
  table[0] = *there;
  struct Named *again = &copy;
  {" ".join(f"out[{n}] = again->{name}; out[{100 + n}] = table[0].{name} + given.{name};" for n, name in enumerate(TAKEN))}
}}
"""


def test_members_may_be_called_as_attributes_of_records_in_python_are(tmp_path):
    """Each member keeps its number in a register, in NRAM, in copies and as an argument, whatever it is called."""
    path = tmp_path / "named.mlu"
    path.write_text(LIKE_OURS)
    kernel = bangc.load([path])["named"]
    numbers = np.arange(len(TAKEN))
    arguments = [np.zeros(200, np.int32), tuple(1000 * n for n in range(len(TAKEN)))]
    alike(kernel, arguments)
    _, [out] = run(kernel, arguments, "python")
    np.testing.assert_array_equal(out[: len(TAKEN)], numbers)
    np.testing.assert_array_equal(out[100 : 100 + len(TAKEN)], 100 + 1001 * numbers)


def test_the_names_that_records_take_are_all_known():
    """Each attribute of a record and of a pointer to one is among those that members must not hide."""
    kinds = (layouts.Object, layouts.StructPointer)
    attributes = {name for kind in kinds for name in dir(kind) if not name.startswith("__")}
    assert attributes == types.RECORD_ATTRIBUTES


UNSET = """
struct List { void *address[5]; };
__mlu_entry__ void first(List list, int n) { float *p = (float *)list.address[n]; p[1] = p[0] + 1; }
"""


@pytest.mark.parametrize("engine", ["python", NATIVE])
def test_a_structure_may_hold_pointers_that_lead_to_nothing(load, engine):
    """As a host leaves them behind those that it sets; who uses one has a fault."""
    kernel, device = load(f"#include <bang.h>{UNSET}")["first"], mlusim.Device()
    tensor = device.put(np.full(2, 5, np.float32))
    unset = Address(0x5A5A5A5A5A5A5A5A)
    device.launch(kernel, args=(((tensor.ptr, *[unset] * 4),), 0), engine=engine)

    assert [5, 6] == device.get(tensor).tolist()
    with pytest.raises(MemoryFault, match="the address of nothing"):
        device.launch(kernel, args=(((tensor.ptr, *[unset] * 4),), 3), engine=engine)


BITS = """\
struct Bits { unsigned a : 3; int b : 9; };
union Word { Bits bits; unsigned whole; };
__mlu_entry__ void K(int *out) {
  Word word; __nram__ Bits near;
  word.whole = 0;
  word.bits.a = 11; near.a = 5; near.b = word.bits.b = -3;
  near.a++; word.whole, near.b;
  out[0] = word.whole; out[1] = near.a + near.b;
}
"""


def test_what_nothing_uses_is_not_loaded(tmp_path):
    """The value of an assignment to a bit field, or behind a comma: both engines count the same loads."""
    (tmp_path / "k.mlu").write_text(BITS)
    launch = alike(bangc.load(tmp_path / "k.mlu", board="MLU370-X4")["K"], (np.zeros(2, np.int32),))

    assert {"LDRAM": 6, "NRAM": 8} == launch.scalar_loads
