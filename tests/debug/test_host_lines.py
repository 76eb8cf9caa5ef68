"""Stops in host functions of a program with ``main``: breakpoints, steps into and out of launches, values, the way back."""

import pytest

from mlusim.arch.catalog import find_board
from mlusim.debug import Console, DebugSession
from mlusim.programs.host_program import HostProgram
from mlusim.programs.kernel_call import Sources

LAB = """#include <bang.h>
#include <cnrt.h>
#include <map>
#include <string>
#include <vector>
struct Options { int n; float scale; };
__mlu_global__ void Scale(float *out, const float *in, int n, float scale) {
  __nram__ float tile[64];
  __memcpy(tile, in, n * sizeof(float), GDRAM2NRAM);
  __bang_mul_scalar(tile, tile, scale, 64);
  __memcpy(out, tile, n * sizeof(float), NRAM2GDRAM);
}
static float scaled(float x, const Options &o) {
  float y = x * o.scale;
  return y;
}
int main(int argc, char **argv) {
  Options options = {argc > 1 ? 32 : 16, 3.0f};
  Options *p = &options;
  std::vector<float> in(p->n), out(p->n);
  std::map<std::string, int> counts;
  for (int i = 0; i < p->n; i++) in[i] = i;
  float *device_in, *device_out;
  cnrtMalloc((void **)&device_in, p->n * sizeof(float));
  cnrtMalloc((void **)&device_out, p->n * sizeof(float));
  cnrtMemcpy(device_in, in.data(), p->n * sizeof(float), cnrtMemcpyHostToDev);
  cnrtDim3_t dim = {1, 1, 1};
  Scale<<<dim, cnrtFuncTypeBlock, nullptr>>>(device_out, device_in, p->n, p->scale);  // launch
  cnrtMemcpy(out.data(), device_out, p->n * sizeof(float), cnrtMemcpyDevToHost);  // back
  counts["wrong"] = 0;
  for (int i = 0; i < p->n; i++)
    if (out[i] != scaled(in[i], options)) counts["wrong"]++;  // compare
  return counts["wrong"];  // end
}
"""
QUIET = "int twice(int x) { return 2 * x; }\nint main() {\n  int y = twice(4);\n  return y - 8;\n}\n"


def line(text):
    return next(n for n, one in enumerate(LAB.splitlines(), 1) if text in one)


def program(folder, text):
    path = folder / "lab.mlu"
    path.write_text(text, encoding="utf-8")
    return HostProgram(Sources((str(path),), find_board("MLU370-X4")))


@pytest.fixture
def lab(tmp_path):
    session = DebugSession(program(tmp_path, LAB))
    yield Console(session)
    session.close()


def say(console, *commands):
    replies = [console.execute(one) for one in commands]
    assert all(r.ok for r in replies), replies
    return replies[-1].text


def test_a_breakpoint_in_main_begins_the_program_again_and_shows_its_variables(lab):
    """`break main` and `run` stop at its first line; later lines show values with their types of C."""
    assert "in a host function" not in lab.stop_text()
    begun = say(lab, "break main", "run")
    assert begun.startswith("Breakpoint 1, main\nhost in main at ")
    assert f":{line('Options options')}\n" in begun
    found = " ".join(say(lab, f"until {line('// launch')}", "info locals").split())

    assert "Options *p" in found
    assert "std::vector<float> in {0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, ... 16 elements}" in found
    assert "float *device_in float * GDRAM" in found
    assert "in_2" not in found
    assert "p->n * 2 = 32" == say(lab, "print p->n * 2")
    assert "in[3] = 3.0" == say(lab, "print in[3]")
    assert "options: Options" == say(lab, "whatis options")
    assert lab.execute("print in[16]").text == "error: in has 16 elements, and no element 16"


def test_steps_lead_from_the_launch_into_the_kernel_and_back_to_the_host(lab):
    """`step` enters the kernel from `<<<>>>`, and the host behind its end; `next` passes over the launch."""
    say(lab, f"break lab.mlu:{line('// launch')}", "run")
    assert "task 0 in Scale" in say(lab, "step")
    assert "host in main" in say(lab, "next", "next", "next", "next", "next")
    assert f":{line('// back')}\n" in lab.stop_text()
    again = say(lab, "run", "next")

    assert f":{line('// back')}\n" in again
    assert "task 0 in Scale" in say(lab, "reverse-step")
    assert "the program has ended" in say(lab, "delete", "continue")


def test_conditions_callers_and_results_of_host_functions(lab):
    """A condition is C in the host's variables; `where`, `up`, `finish` work as in kernels; the kernel's stop, too."""
    stop = say(lab, "break scaled if x == 2", "break Scale", "run")
    assert "Breakpoint 2, Scale\ntask 0 in Scale" in stop
    assert "Breakpoint 1, scaled\nhost in scaled" in say(lab, "continue")
    assert "x = 2.0" == say(lab, "print x")
    assert "0  scaled at" in say(lab, "where")
    assert "i = 2" == say(lab, "up", "print i")
    assert say(lab, "down", "finish").endswith("value returned: 6.0")
    said = lab.execute("info tasks").text

    assert said.startswith("error: the program is in a host function, where no task runs")


def test_what_a_host_function_has_is_changed_by_hand(lab):
    """Numbers, members, elements and what pointers lead to, as C converts them; the program goes on with them."""
    say(lab, f"break lab.mlu:{line('// launch')}", "run")
    assert "options.scale = 2.0" == say(lab, "set var options.scale = 2")
    assert "in[5] = 0.5" == say(lab, "set var in[5] = 1.0 / 2")
    assert "p->n = 12" == say(lab, "set var p->n = 12.9")
    wrong = lab.execute("set var device_in = 3").text
    assert "error: device_in cannot be given 3: device_in has type float *, and the value int" == wrong
    assert "no variable of the host" in lab.execute("set var taskId = 3").text
    say(lab, "delete", f"break lab.mlu:{line('return counts')}", "continue")

    assert "out[11] = 22.0" == say(lab, "print out[11]")
    assert "out[12] = 0.0" == say(lab, "print out[12]")
    assert "in[5] = 0.5" == say(lab, "print in[5]")
    assert 'counts["wrong"]' in say(lab, "list")
    assert "the program has ended" in say(lab, "continue")


def test_a_program_that_launches_nothing_can_be_stepped(tmp_path):
    """Without any launch there are lines of the host, and the end of the program."""
    session = DebugSession(program(tmp_path, QUIET))
    console = Console(session)
    assert "host in twice" in say(console, "break twice", "run")
    assert "value returned: 8" in say(console, "finish")
    assert "y = 8" == say(console, "print y")
    assert "the program has ended" in say(console, "continue")
    session.close()


def test_a_fault_of_the_host_is_said_with_its_sentence(tmp_path):
    """A program that frees twice before any launch ends with what ``run`` says of it, and its line once."""
    text = (
        "#include <cstdlib>\nint main() {\n  void *p = malloc(8);\n  free(p);\n  free(p);\n  return 0;\n}\n"
    )
    session = DebugSession(program(tmp_path, text))
    said = Console(session).execute("run").text
    session.close()

    assert "the program has launched no kernel" in said
    assert "it has ended with MemoryFault: free of 8 bytes from malloc" in said
    assert 1 == said.count("lab.mlu:5")
