"""What is in a source."""

from mlusim import bangc
from mlusim.frontend.bangc.survey import survey

LOOPS = """\
#include <cstdio>
struct Row { int v[4] = {1,2,3,4}; int *begin() { return v; } int *end() { return v + 4; } };
template <class T> struct Box { T v[3] = {5,6,7}; const T *begin() const { return v; } const T *end() const { return v + 3; } };
int main() { Row r; for (int &x : r) x *= 2; for (auto x : r) printf("%d ", x); Box<float> b; for (auto x : b) printf("%g ", x); printf("\\n"); return 0; }
"""


def test_what_is_in_a_source_leaves_out_the_supplied_headers(tmp_path):
    """Functions of the library that a program uses are not its own."""
    path = tmp_path / "lab.cpp"
    path.write_text(LOOPS + "#include <tuple>\nint first() { return std::get<0>(std::make_tuple(1, 2)); }\n")

    (facts,) = survey(bangc.load(path))

    assert {"main", "first", "begin", "end"} == set(facts.functions)
