"""What programs use of the C and C++ libraries beside memory and printing: each answer is a C++ compiler's."""

import pytest

from mlusim.arch.catalog import find_board
from mlusim.errors import MlusimError
from mlusim.programs.host_program import HostProgram
from mlusim.programs.kernel_call import Sources


@pytest.fixture
def execute(tmp_path, capsys):
    """Execute a program: ``execute(text)`` gives what it printed."""

    def executed(text):
        path = tmp_path / "lab.cpp"
        path.write_text(text)
        program = HostProgram(Sources((str(path),), find_board("MLU370-X4")), ())
        program.run(())
        return capsys.readouterr().out

    return executed


def test_lambdas_capture_by_value_and_by_reference(execute):
    """Named and implied captures, those of objects and of lambdas, auto parameters, and pointers to functions."""
    printed = execute("""\
#include <cstdio>
#include <functional>
#include <vector>
struct Owner { int k; int run(int x) { auto g = [this, x](int y) { return k + x + y; }; return g(2); } };
template <class F> int apply(F f, int n) { return f(n); }
template <class T> T scaled(T v) { T by = 2; auto f = [=](T w) { return w * by; }; return f(v); }
int main() {
  int a = 3; float b = 2.5f; std::vector<int> v;
  auto f = [a, &b, &v](int x) -> int { b += x; v.push_back(x); return a + x; };
  auto g = [=](auto x) { return x * a; };
  auto h = [&]() { a++; auto inner = [&] { a += 10; }; inner(); };
  auto k = [q = a + 1](int z) mutable { q += z; return q; };
  int (*p)(int) = [](int x) { return x + 1; };
  std::function<int(int)> s = [a](int x) { return a - x; };
  int r = f(4); h(); int first = k(2);
  printf("%d %g %zu %d %g\\n", r, b, v.size(), g(5), g(0.5));
  printf("%d %d %d %d %d %d\\n", a, first, k(2), p(7), Owner{5}.run(1), apply(s, 1));
  printf("%g %d\\n", scaled(1.5f), scaled(4));
}""")

    assert "7 6.5 1 15 1.5\n14 6 8 8 8 2\n3 8\n" == printed


def test_functions_take_any_number_of_arguments(execute):
    """va_list: walked over, copied, and given on to vprintf and its like."""
    printed = execute("""\
#include <cstdarg>
#include <cstdio>
static void log_(const char *form, ...) { va_list a; va_start(a, form); vprintf(form, a); va_end(a); }
static double mix(int n, ...) {
  va_list a, c; va_start(a, n); double d = va_arg(a, double); const char *t = va_arg(a, const char *);
  va_copy(c, a); unsigned u = va_arg(a, unsigned); u += va_arg(c, unsigned); va_end(a);
  return d + t[0] + u;
}
int main() { log_("%d %s %.2f\\n", 3, "abc", 2.5f); printf("%g\\n", mix(3, 0.5, "A", 7u)); }""")

    assert "3 abc 2.50\n79.5\n" == printed


@pytest.mark.parametrize("call", ["f(1)", "f(1, 2.5)"])
def test_a_wrong_argument_of_va_arg_is_a_fault(execute, call):
    """One that is missing, and one of another type."""
    text = f"""\
#include <cstdarg>
int f(int n, ...) {{ va_list a; va_start(a, n); return va_arg(a, int); }}
int main() {{ return {call}; }}"""
    with pytest.raises(MlusimError, match=r"va_arg takes .*lab\.cpp:2"):
        execute(text)


def test_algorithms_take_functions(execute):
    """Sorting, searching, transforming and removing with lambdas, functions and objects; insertions of many values."""
    printed = execute("""\
#include <algorithm>
#include <cstdio>
#include <functional>
#include <numeric>
#include <vector>
struct Box { float score; int id; };
struct Shape { int n; Shape(int a, int b) : n(a * b) {} };
struct Falling { bool operator()(const Box &a, const Box &b) const { return a.score > b.score; } };
bool by_id(const Box &a, const Box &b) { return a.id < b.id; }
int main() {
  std::vector<Box> v; for (int i = 0; i < 6; i++) v.push_back({(float)((i * 7) % 5), i});
  std::stable_sort(v.begin(), v.end(), Falling()); for (auto &b : v) printf("%d ", b.id);
  std::sort(v.begin(), v.end(), by_id); printf("%d\\n", v[0].id);
  std::vector<int> x(10), order(10); std::iota(x.begin(), x.end(), 1); std::iota(order.begin(), order.end(), 0);
  std::sort(x.begin(), x.end(), std::greater<int>());
  std::sort(order.begin(), order.end(), [&x](int a, int b) { return x[a] < x[b]; });
  std::vector<float> y(10); std::transform(x.begin(), x.end(), y.begin(), [](int a) { return a * 0.5f; });
  x.insert(x.begin() + 2, 3, 77); x.insert(x.end(), {1, 2});
  auto end = std::remove_if(x.begin(), x.end(), [](int a) { return a == 77; });
  printf("%d %g %zu %d\\n", order[0], y[3], x.size(), (int)(end - x.begin()));
  printf("%d %d\\n", std::accumulate(x.begin(), end, 1, [](int a, int b) { return a ^ b; }), std::min({3, 1, 2}));
  std::vector<Shape> s = {{1, 2}, {3, 4}}; auto [score, id] = v[1]; printf("%d %g %d\\n", s[1].n, score, id);
}""")

    assert "2 4 1 3 0 5 0\n9 3.5 15 12\n9 1\n12 2 1\n" == printed


def test_maps_and_sets_are_walked_over_in_order(execute):
    """By pairs, by names and by iterators, with erasures on the way."""
    printed = execute("""\
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>
int main() {
  std::map<std::string, int> m = {{"c", 3}, {"a", 1}}; m["b"] = 2; m.insert({"a", 9}); m.emplace("d", 4);
  for (auto &p : m) p.second *= 2;
  for (auto &[name, n] : m) printf("%s%d ", name.c_str(), n);
  for (auto it = m.begin(); it != m.end();) it = it->second == 4 ? m.erase(it) : ++it;
  printf("%zu %d\\n", m.size(), m.find("b") == m.end());
  std::unordered_map<int, std::vector<int>> g; g[1].push_back(4); g[1].push_back(5);
  for (const auto &e : g) for (int x : e.second) printf("%d:%d ", e.first, x);
  std::set<int> s{3, 1, 2, 3}; s.erase(2); for (int x : s) printf("%d ", x); printf("%d\\n", *s.lower_bound(2));
}""")

    assert "a2 b4 c6 d8 3 1\n1:4 1:5 1 3 3\n" == printed


def test_files_are_written_and_read(execute, tmp_path):
    """By the C library, by streams, by formats and by lines; one that is not there is a null pointer."""
    printed = execute(f"""\
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>
int main() {{
  std::string at = "{tmp_path}/"; float w[4] = {{1, 2, 3, 4.5f}};
  FILE *f = fopen((at + "raw").c_str(), "wb"); fwrite(w, sizeof(float), 4, f); fclose(f);
  f = fopen((at + "raw").c_str(), "rb"); fseek(f, 0, SEEK_END); long n = ftell(f); rewind(f);
  std::vector<float> r(n / 4); size_t got = fread(r.data(), 4, r.size(), f); fclose(f); printf("%ld %zu %g\\n", n, got, r[3]);
  {{ std::ofstream o(at + "text"); o << "3 4.5 word\\n" << 7 << "\\n"; }}
  std::ifstream in(at + "text"); int a, q; float b; std::string s, line; in >> a >> b >> s; printf("%d %g %s\\n", a, b, s.c_str());
  while (std::getline(in, line)) printf("[%s]", line.c_str());
  f = fopen((at + "text").c_str(), "r"); char text[64]; q = fscanf(f, "%d", &a); fgets(text, 64, f); printf("%d<%s>\\n", q, text); fclose(f);
  unsigned x; double d; int k = sscanf("12 0x1f,2.5 z", "%d %x,%lf %d", &a, &x, &d, &q); printf("%d %d %u %g\\n", k, a, x, d);
  std::stringstream parts("1,2,3"); int t = 0; while (std::getline(parts, line, ',')) t += std::stoi(line); printf("%d\\n", t);
  printf("%d %d\\n", fopen("{tmp_path}/none/x", "r") == NULL, !std::ifstream("{tmp_path}/none/x"));
}}""")

    assert "16 4 4.5\n3 4.5 word\n[][7]1< 4.5 word\n>\n3 12 31 2.5\n6\n1 1\n" == printed


def test_owners_and_pointers_to_functions(execute):
    """unique_ptr and shared_ptr, of arrays too, and functions in variables, arrays and arguments."""
    printed = execute("""\
#include <cstdio>
#include <memory>
struct Shape { int n; Shape(int a, int b) : n(a * b) {} int size() const { return n; } };
typedef int (*Op)(int, int);
static int add(int a, int b) { return a + b; }
static int mul(int a, int b) { return a * b; }
static int use(Op op, int a) { return op(a, 10); }
int main() {
  std::unique_ptr<float[]> many(new float[4]); many[2] = 2.5f; auto one = std::make_shared<Shape>(4, 5);
  std::unique_ptr<Shape> none; Op ops[2] = {add, mul}; Op op = &mul;
  printf("%g %d %d %d %d %d\\n", many[2], one->size(), none ? 1 : 0, ops[0](3, 4), (*op)(5, 6), use(mul, 7));
}""")

    assert "2.5 20 0 7 30 70\n" == printed
