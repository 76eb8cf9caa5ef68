"""Structures of host programs: members that are arrays, a base class, the driver's memory in a member."""

import pytest

from mlusim import bangc
from mlusim.errors import UsageError

SOURCE = """\
#include <cstdio>
#include <stdint.h>
#include <vector>
#include "cnrt.h"
struct Base { int dim; cnrtDim3_t grid; int get() const { return dim; } void set(int d) { dim = d; } };
template <int N> struct Mid { int dim; int wide[N]; Mid(int d) { dim = d; wide[0] = N; } int twice() { return 2 * dim; } };
struct Leaf : public Mid<3> { int more; Leaf(int d) : Mid(d), more(7) {} };
struct Made { Made(int a, int b = 0) { sum = a + b; } int kind = 4; int sum; };
struct Taken : public Made { using Made::Made; };
template <int N> struct Divided {
  int limit = 7; int share;
  Divided(int n, int more = 1) { share = n / N + more; }
  Divided(int *n, int) { share = *n; }
  Divided(float *n, int) { share = (int)*n + 100; }
};
struct Small : public Divided<8> { using Divided::Divided; int more = 5; };
struct Plain : public Base { double last = 2.5; };
struct Shape { int64_t dims[4]; uint64_t total = 1; bool ok = 1; };
struct Desc { int n; int pad[3]; int sub = 4; int *factors; };
int main() {
  Shape shape;
  shape.dims[1] = 3;
  Desc *desc = new Desc();
  Leaf leaf(5);
  Plain plain;
  plain.set(9);
  leaf.dim += 1;
  std::vector<int> values = {1, 2};
  values.insert(values.begin() + 1, 2, 8);
  cnrtHostMalloc((void **)&(desc->factors), 3 * sizeof(int));
  desc->factors[2] = 6;
  printf("%ld %ld %d %d\\n", shape.dims[1], shape.total, desc->pad[2], desc->sub);
  printf("%d %d %d %d %d %g\\n", leaf.dim, leaf.wide[0], leaf.more, leaf.twice(), plain.get(), plain.last);
  printf("%d %d %d %d\\n", (int)values.size(), values[1], values[3], desc->factors[2]);
  Taken taken(3, 4);
  printf("%d %d %d\\n", (int)sizeof(Leaf), taken.kind, taken.sum);
  float real = 4;
  Small small(64), other(&real, 0), *kept = new Small(80, 2);
  printf("%d %d %d %d %d\\n", small.limit, small.share, small.more, other.share, kept->share + kept->more);
  delete kept;
  cnrtFreeHost(desc->factors);
  delete desc;
  return 0;
}
"""


def test_members_of_a_base_and_arrays_with_defaults_beside_them(tmp_path, capsys):
    """What a member is declared with is its value, and the bound of an array is none."""
    path = tmp_path / "structures.cpp"
    path.write_text(SOURCE)
    status = bangc.load(path).run_main()

    assert 0 == status
    assert [
        "3 1 0 4",
        "6 3 7 12 9 2.5",
        "4 8 2 6",
        "20 4 7",
        "7 9 5 104 17",
    ] == capsys.readouterr().out.splitlines()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (
            "struct A { int a; }; struct B { int b; }; struct C : A, B {}; int main() { C c; c.b = 1; return c.b; }",
            "b is a member of a base class",
        ),
        (
            "template <int N> struct A { A(int n) { a = n; } int a; };\ntemplate <int N> struct B : A<N> { using A<N>::A; };\nint main() { return B<3>(4).a; }",
            "A is inherited by a using that is not followed",
        ),
        (
            "struct A { A(int n) { a = n; } int a; };\nstruct B : A { using A::A; int b = 3; };\nstruct C : B { using B::B; };\nint main() { return C(4).b; }",
            "A is inherited by a using that is not followed",
        ),
    ],
)
def test_what_is_not_known_of_a_base_is_refused(tmp_path, source, said):
    """Nothing is zero that is not."""
    path = tmp_path / "two.cpp"
    path.write_text(source)

    with pytest.raises(UsageError, match=said):
        bangc.load(path).run_main()


MAKER = """\
#include <new>
struct Held { float factor = 1; bool on = false; };
typedef struct Held *Handle;
int MakeHeld(Handle *where) { *where = new (std::nothrow) Held(); return 0; }
void SetHeld(Handle held, const void *value) { held->factor = *((float *)value); }
float Factor(Handle held) { return held->factor; }
"""
USER = """\
typedef struct Held *Handle;
int MakeHeld(Handle *where);
void SetHeld(Handle held, const void *value);
float Factor(Handle held);
int main() {
  Handle held;
  float value = 2.5f;
  MakeHeld(&held);
  SetHeld(held, &value);
  return (int)(Factor(held) * 4);
}
"""


def test_a_record_that_one_file_only_declares_passes_through_it(tmp_path):
    """The file that defines it finds its members again."""
    paths = [tmp_path / "user.cpp", tmp_path / "maker.cpp"]
    for path, source in zip(paths, (USER, MAKER), strict=True):
        path.write_text(source)

    assert 10 == bangc.load(paths).run_main()


LISTED = """\
#include <cstdarg>
struct Described { int layout; int count; };
typedef struct Described *Handle;
int Total(int many, ...) {
  va_list rest;
  va_start(rest, many);
  int total = 0;
  for (int n = 0; n < many; ++n) total += va_arg(rest, Handle)->count;
  va_end(rest);
  return total;
}
"""
LISTING = """\
struct Described { int layout; int count; };
int Total(int many, ...);
int main() {
  Described a = {7, 2}, b = {8, 3};
  return Total(2, &a, &b);
}
"""


def test_a_record_with_a_member_that_is_called_layout_goes_to_another_file(tmp_path):
    """Through the arguments of a call that takes any number of them."""
    paths = [tmp_path / "listing.cpp", tmp_path / "listed.cpp"]
    for path, source in zip(paths, (LISTING, LISTED), strict=True):
        path.write_text(source)

    assert 5 == bangc.load(paths).run_main()
