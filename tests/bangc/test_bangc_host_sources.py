"""What is in a source."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.bangc.survey import survey
from mlusim.errors import Unsupported

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


LAUNCHES = """\
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>
template <class T> __mlu_global__ void K(T *o) { o[0] = 1; }
template <class T> __mlu_global__ void Idle(T *o) { o[0] = 1; }
static const std::map<std::string, int> sizes = {{"a", 1}};
template <class T> struct Runner {
  T *p;
  void run(cnrtDim3_t d, cnrtQueue_t q) { K<T><<<d, cnrtFuncTypeBlock, q>>>(p); }
};
void (*table[])(double *) = {K<double>};
std::vector<int> go(cnrtDim3_t d, cnrtQueue_t q, void *p, const std::pair<int, std::string> &given) {
  Runner<int>{(int *)p}.run(d, q);
  auto launch = [&](auto x) { K<decltype(x)><<<d, cnrtFuncTypeBlock, q>>>((decltype(x) *)p); };
  std::variant<half, unsigned char> tag = (half)1;
  std::visit(launch, tag);
  std::vector<long> v(10, 3L);
  std::for_each(v.begin(), v.end(), launch);
  std::function<void(int)> f = [&](int) { K<bool><<<d, cnrtFuncTypeBlock, q>>>((bool *)p); };
  f(table[0] != nullptr);
  return {1, 2};
}
"""


def test_launches_of_the_host_say_which_instances_of_a_kernel_there_are(tmp_path):
    """In methods of templates, lambdas that the library calls, and tables; of its functions the form has signatures."""
    (tmp_path / "k.mlu").write_text(LAUNCHES)
    module = bangc.load(tmp_path / "k.mlu")

    wanted = ("int", "half", "unsigned char", "long", "bool", "double")
    assert {f"K<{kind}>" for kind in wanted} == set(module.kernels)
    assert ((), ["go"]) == (module.broken, list(module.functions))
    assert not any(function.body for _, function in module.functions_of("host"))


def test_a_function_of_the_host_is_none_of_the_device_of_another_file(tmp_path):
    """Its form has no body: a kernel that calls one of that name says that it is missing."""
    (tmp_path / "k.mlu").write_text(
        "__mlu_func__ int twice(int n);\n__mlu_entry__ void K(int *o) { o[0] = twice(3); }\n"
    )
    (tmp_path / "h.mlu").write_text("int twice(int n) { return 2 * n; }\n")
    kernel = bangc.load([tmp_path / "k.mlu", tmp_path / "h.mlu"])["K"]
    device = mlusim.Device()

    with pytest.raises(Unsupported, match="twice is not defined in any of the loaded files"):
        device.launch(kernel, 1, mlusim.BLOCK, (device.put(np.zeros(1, np.int32)),))
