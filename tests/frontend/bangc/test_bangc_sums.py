"""Tuples, optionals, variants, queues and loops over classes of one's own: each answer is a C++ compiler's."""

import pytest

from mlusim import bangc
from mlusim.arch.catalog import find_board
from mlusim.frontend.bangc.survey import survey
from mlusim.programs.host_program import HostProgram
from mlusim.programs.kernel_call import Sources

SUMS = """\
#include <cstdio>
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <variant>
#include <vector>
struct NoDef { int a; std::vector<int> v; NoDef(int x) : a(x), v{x, x} {} NoDef() = delete; };
std::tuple<int, float, std::string> three() { return {1, 2.5f, "three"}; }
std::tuple<int, int> divmod(int a, int b) { return std::make_tuple(a / b, a % b); }
std::optional<NoDef> maybe(int k) { if (k) return NoDef(k); return std::nullopt; }
enum Status { OK = 0, BAD = 3 };
template <class T, class = std::enable_if_t<!std::is_same_v<T, Status>>> class Result {
  std::variant<Status, T> r;
 public:
  explicit Result(T v) : r(std::move(v)) {}
  Result(Status s) : r(s) {}
  Status status() const { return r.index() == 0 ? std::get<0>(r) : OK; }
  T take() { return std::move(std::get<1>(r)); }
  operator bool() const { return status() == OK; }
  T *operator->() { return &std::get<1>(r); }
};
Result<NoDef> make(int k) { if (k < 0) return BAD; return Result<NoDef>(NoDef(k)); }
int main() {
  auto [a, b, c] = three();
  printf("%d %f %s\\n", a, b, c.c_str());
  int q, r;
  std::tie(q, r) = divmod(17, 5);
  printf("%d %d\\n", q, r);
  auto o = maybe(4);
  if (o) printf("%d %d\\n", o->a, (int)o->v.size());
  printf("%d\\n", maybe(0).has_value());
  try { maybe(0).value(); } catch (const std::exception &e) { printf("%s\\n", e.what()); }
  Result<NoDef> n = make(5), m = make(-1);
  printf("%d %d %d\\n", (int)n.status(), n->a, (int)m.status());
  NoDef t = n.take();
  printf("%d\\n", t.v[1]);
  std::variant<int, double, std::string> v = 3;
  auto show = [](auto x) { return sizeof(x) > 0; };
  printf("%d\\n", (int)std::holds_alternative<int>(v));
  v = std::string("abc");
  printf("%zu %s\\n", v.index(), std::get<std::string>(v).c_str());
  v = 2.5;
  int size = std::visit([](auto &x) -> int { return (int)sizeof(x); }, v);
  printf("%d\\n", size);
  try { std::get<int>(v); } catch (std::bad_variant_access &) { printf("bad\\n"); }
  if (auto *d = std::get_if<double>(&v)) printf("%g\\n", *d);
  std::vector<std::tuple<int, std::string>> rows;
  rows.push_back({2, "two"});
  rows.push_back(std::make_tuple(1, std::string("one")));
  for (auto &[k, s] : rows) { k *= 10; printf("%d %s\\n", k, s.c_str()); }
  printf("%d\\n", std::get<0>(rows[0]));
  std::map<int, std::optional<int>> om;
  om[3] = 4;
  printf("%d %d\\n", (int)om[3].has_value(), (int)om[5].has_value());
  printf("%d\\n", std::apply([](int x, int y) { return x * y; }, std::make_tuple(6, 7)));
  printf("%d\\n", (int)(std::make_tuple(1, 2) < std::make_tuple(1, 3)));
  std::optional<int> oi; oi = 5; oi.reset(); printf("%d\\n", oi.value_or(-1));
  oi = std::nullopt;
  return 0;
}
"""
SAID_OF_SUMS = """\
1 2.500000 three
3 2
4 2
0
bad optional access
0 5 3
5
1
2 abc
8
bad
2.5
20 two
10 one
20
1 0
42
1
-1
"""
QUEUES = """\
#include <cstdio>
#include <deque>
#include <list>
#include <mutex>
#include <queue>
#include <stack>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
size_t length(std::string_view s) { return s.size(); }
int main() {
  std::deque<int> d{1, 2};
  d.push_front(0);
  d.push_back(3);
  d.pop_front();
  for (int x : d) printf("%d ", x);
  printf("%zu %d\\n", d.size(), d.front() + d.back() + d[1]);
  std::queue<std::string> q;
  q.push("a"); q.push("b"); q.pop();
  printf("%s %zu\\n", q.front().c_str(), q.size());
  std::stack<float> s;
  s.push(1.5f); s.push(2.5f);
  float top = s.top(); s.pop();
  printf("%g %g\\n", top, s.top());
  std::priority_queue<std::pair<float, int>> p;
  p.push({0.5f, 1}); p.push({2.5f, 2}); p.push({1.5f, 3});
  while (!p.empty()) { printf("%d ", p.top().second); p.pop(); }
  std::priority_queue<int, std::vector<int>, std::greater<int>> m;
  for (int v : {3, 1, 2}) m.push(v);
  printf("%d\\n", m.top());
  std::mutex lock;
  { std::lock_guard<std::mutex> held(lock); printf("%zu\\n", length("abc")); }
  std::list<int> l;
  l.push_back(4); l.push_front(3);
  for (auto v : l) printf("%d ", v);
  printf("\\n");
  return 0;
}
"""
SAID_OF_QUEUES = """\
1 2 3 3 6
b 1
2.5 1.5
2 3 1 1
3
3 4
"""
NUMBERS = """\
#include <cmath>
#include <cstdio>
#include <vector>
#include <string>
int main() {
  std::vector<int> a{1, 2, 3}, b{1, 2, 4};
  printf("%d %d %d %d\\n", a == b, a != b, a < b, b < a);
  std::vector<std::string> s{"a"}, t{"a"};
  printf("%d\\n", s == t);
  float x = 3.f; int n = 2; long l = 3;
  printf("%g %g %g %g\\n", pow(n, x), std::pow(x, n), std::pow(2.0, l), pow(2, floor(x) + 1));
  printf("%d\\n", (int)pow(2, floor(log2(17)) + 1));
  printf("%g %g %ld %g\\n", std::copysign(2.0, -0.0), std::hypot(3.f, 4.f), lround(-2.5), asinh(0.5));
  return 0;
}
"""
SAID_OF_NUMBERS = """\
0 1 1 0
1
8 9 8 16
32
-2 5 -3 0.481212
"""
LOOPS = """\
#include <cstdio>
struct Row { int v[4] = {1,2,3,4}; int *begin() { return v; } int *end() { return v + 4; } };
template <class T> struct Box { T v[3] = {5,6,7}; const T *begin() const { return v; } const T *end() const { return v + 3; } };
int main() { Row r; for (int &x : r) x *= 2; for (auto x : r) printf("%d ", x); Box<float> b; for (auto x : b) printf("%g ", x); printf("\\n"); return 0; }
"""
SAID_OF_LOOPS = """\
2 4 6 8 5 6 7
"""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SUMS, SAID_OF_SUMS),
        (QUEUES, SAID_OF_QUEUES),
        (NUMBERS, SAID_OF_NUMBERS),
        (LOOPS, SAID_OF_LOOPS),
    ],
    ids=["sums", "queues", "numbers", "loops"],
)
def test_a_program_prints_what_it_does_elsewhere(text, said, tmp_path, capsys):
    """Values that are one of several, containers that rest on vectors, comparisons of vectors, mixed powers."""
    path = tmp_path / "lab.cpp"
    path.write_text(text)

    HostProgram(Sources((str(path),), find_board("MLU370-X4")), ()).run(())

    assert said.split() == capsys.readouterr().out.split()


def test_what_is_in_a_source_leaves_out_the_supplied_headers(tmp_path):
    """Functions of the library that a program uses are not its own."""
    path = tmp_path / "lab.cpp"
    path.write_text(LOOPS + "#include <tuple>\nint first() { return std::get<0>(std::make_tuple(1, 2)); }\n")

    (facts,) = survey(bangc.load(path))

    assert {"main", "first", "begin", "end"} == set(facts.functions)
