"""Objects of host programs: destructors, exceptions, virtual methods, gotos; what g++ 12 printed is beside the source."""

import pytest

from mlusim import Device
from mlusim.cli.main import main
from mlusim.errors import MlusimError

PROGRAM = r"""
#include <cnrt.h>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <vector>
struct Guard {
  int n;
  Guard(int k) : n(k) { printf("+%d ", n); }
  ~Guard() { printf("-%d ", n); }
};
struct Owner { Guard a{8}; Guard b{9}; };
template <typename T> class Buffer {
 public:
  explicit Buffer(size_t n) : n_(n) { cnrtMalloc((void **)&p_, n * sizeof(T)); }
  ~Buffer() { printf("free "); cnrtFree(p_); }
  void put(const T *h) { cnrtMemcpy(p_, (void *)h, n_ * sizeof(T), cnrtMemcpyHostToDev); }
  std::vector<T> get() const {
    std::vector<T> h(n_);
    cnrtMemcpy(h.data(), p_, n_ * sizeof(T), cnrtMemcpyDevToHost);
    return h;
  }
 private:
  T *p_ = nullptr;
  size_t n_;
};
struct Op {
  virtual ~Op() {}
  virtual int run(int x) = 0;
  virtual const char *name() const { return "op"; }
};
struct Add : Op { int run(int x) override { return x + 1; } };
struct Mul : Add {
  int k;
  Mul(int n) : k(n) {}
  int run(int x) override { return Add::run(x) * k; }
  const char *name() const override { return "mul"; }
};
struct Loud : Op { int run(int x) override { return x; } ~Loud() { printf("loud "); } };
int applied(Op &op) { return op.run(1); }
struct Once { static int made; Once() { made++; } };
int Once::made = 0;
void once() { static Once o; }
int leave(int how) {
  Guard a(1);
  if (how == 0) return how;
  for (int i = 0; i < 3; ++i) {
    Guard b(10 + i);
    if (i == how) break;
    if (how == 5) throw std::runtime_error("bad " + std::to_string(how));
    if (how == 6) throw 7;
  }
  return 2;
}
template <typename... A> void show(A... a) { ((std::cout << a << ' '), ...); }
int jumps(int n) {
  int tries = 0;
again:
  tries++;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (i * j == 6) goto found;
      if (tries == 1 && i == 1) goto again;
    }
  }
  return -tries;
found:
  return tries;
}
int main() {
  for (int how : {0, 1, 5, 6}) {
    try {
      printf("%d ", leave(how));
    } catch (const std::logic_error &e) {
      puts("no");
    } catch (const std::exception &e) {
      printf("[%s] ", e.what());
    } catch (...) {
      puts("other");
    }
  }
  { Owner o; puts("owned"); }
  {
    Buffer<float> buffer(4);
    float given[4] = {1, 2, 3, 4};
    buffer.put(given);
    printf("%g\n", buffer.get()[2]);
  }
  std::vector<std::unique_ptr<Op>> ops;
  ops.push_back(std::make_unique<Add>());
  ops.push_back(std::unique_ptr<Op>(new Mul(3)));
  for (auto &op : ops) printf("%s %d\n", op->name(), applied(*op));
  Mul mul(5);
  Op *op = &mul;
  printf("%d %d\n", applied(mul), dynamic_cast<Mul *>(op)->k);
  op = new Loud;
  printf("%d ", dynamic_cast<Mul *>(op) == nullptr);
  delete op;
  once(); once();
  show("shown", 1, 2.5);
  std::vector<std::vector<int>> rows = {{1, 2}, {3}};
  printf("%d %zu %d\n", Once::made, rows[0].size(), rows[1][0]);
  { std::ofstream out("numbers.txt"); out << 1 << " " << 2.5; }
  std::ifstream in("numbers.txt");
  int whole; double real;
  in >> whole >> real;
  printf("%d %g %d %d\n", whole, real, jumps(2), jumps(4));
  if (int rest = whole & 1) return rest + 1;
  return 0;
}
"""
PRINTED = """\
+1 -1 0 +1 +10 -10 +11 -11 -1 2 +1 +10 -10 -1 [bad 5] +1 +10 -10 -1 other
+8 +9 owned
-9 -8 3
free op 2
mul 6
10 5
1 loud shown 1 2.5 1 2 3
1 2.5 -2 2
"""


def test_objects_end_are_thrown_and_choose_their_methods(tmp_path, monkeypatch, capsys):
    """One program that uses all of it prints what g++ printed, the driver's calls apart."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lab.mlu").write_text(PROGRAM)

    assert 2 == main(["run", "lab.mlu"])
    assert PRINTED == capsys.readouterr().out


def test_what_nothing_catches_is_a_fault(load):
    """One sentence at the line that throws, with what it says."""
    module = load('#include <stdexcept>\nvoid Run() {\n  throw std::out_of_range("row 9");\n}\n')

    with pytest.raises(MlusimError, match=r"std::out_of_range is not caught: 'row 9'; .*k.mlu:3"):
        module.functions["Run"](Device())


def test_a_copy_of_a_structure_points_to_the_same_object(load):
    """What a member points to, or refers to, is not copied with it."""
    module = load(
        "struct D { int n; };\nstruct H { D &d; H(D &e) : d(e) {} };\n"
        "int Run() { D d = {0}; H a(d); H b = a; b.d.n = 5; return d.n; }\n"
    )

    assert 5 == module.functions["Run"](Device())
