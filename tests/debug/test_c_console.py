"""What a user of gdb types in a kernel of BANG C: watches of values, calls, macros, types, forms, completion."""

import numpy as np
import pytest
from debug_tools import console_on, place, refuses, says

import mlusim
from mlusim import bangc

SOURCE = """\
#include <bang.h>
#define TILE 64
#define TWICE(x) ((x) * 2)
#define JOINED(a, b) a##b
struct Part { int first; float scale; };
__nram__ float row[TILE];
__mlu_func__ int square(int a) { return a * a; }
__mlu_func__ int deep(int n) { return n < 2 ? 1 : n * deep(n - 1); }
__mlu_func__ float of(const Part &part, float by) { float made = part.scale; made *= by; return made; }
__mlu_func__ void bump(int *count) { *count += 1; }
__mlu_func__ float cleared(int n) { __bang_write_zero(row, TILE); return row[n]; }
__mlu_func__ int grow(int start, int n) {
  int total = start;
  for (int i = 0; i < n; i++) {
    total += square(i);
  }
  return total;
}
__mlu_global__ void K(float *out, const float *in, int count) {
  Part part = {(int)taskId, 0.5f};
  int left = count;
  part.first = grow(1, 3) + 0 * deep(2) * (int)of(part, 1);
  for (int at = 0; at < count; at += TILE) {
    int size = left < TILE ? left : TILE;
    __memcpy(row, in + at, size * 4, GDRAM2NRAM);
    int first = (int)row[1];
    if (first > 7) {
      bump(&part.first);
      row[1] = cleared(2);
    }
    __memcpy(out + at, row, size * 4, NRAM2GDRAM);
    left -= size;
  }
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The kernel, translated once."""
    path = tmp_path_factory.mktemp("c") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load([path])["K"]


def _program(kernel):
    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out, data = device.empty((256,), np.float32), device.put(np.arange(256, dtype=np.float32))
        device.launch(kernel, (2, 1, 1), mlusim.BLOCK, (out, data, 200), observe=observe)

    return program


def test_a_watch_of_values(kernel):
    """A scalar, a member and a sum are watched by their values, forwards and back, and through a pointer in another function."""
    with console_on(_program(kernel)) as console:
        says(console, "break k.mlu:27 task 0", "run", "delete")
        assert says(console, "watch left") == "watchpoint 2: left changes in K of task 0"
        says(console, "watch part.first", "watch size + first")
        told = [says(console, "continue").splitlines()[0] for _ in range(5)]
        said = [line.partition(", by ")[0].removeprefix("Watchpoint ") for line in told]
        assert said == [
            "2, left: 200 -> 136",
            "4, size + first: 65 -> 129",
            "3, part.first: 6 -> 7",
            "2, left: 136 -> 72",
            "4, size + first: 129 -> 193",
        ]
        assert told[2].endswith("k.mlu:10")
        assert "3, part.first: 6 -> 7" in says(console, "delete 2 4", "reverse-continue")
        assert "out of scope" not in says(console, "info locals all")
        says(console, "delete", "tbreak k.mlu:24 task 0", "continue")
        assert "first of line" in refuses(console, "print first")
        assert "int first  65" in says(console, "info locals all").partition("out of scope")[2]
        assert "`watch` stops where its value changes" in refuses(console, "rwatch left")
        assert says(console, "advance grow").startswith("task ")


def test_all_tasks_of_a_watch(kernel):
    """With ``all`` every task counts; a value that changes in a function's last statement is seen after the function."""
    with console_on(_program(kernel)) as console:
        says(console, "break grow task 0", "run", "next", "delete", "watch total all")
        found = []
        while (text := says(console, "continue")).startswith("Watchpoint"):
            found.append(
                (place(console)[0], text.splitlines()[0].partition(", by ")[0].partition("total: ")[2])
            )
        assert found == [(task, f"{a} -> {b}") for task in ("task 0", "task 1") for a, b in ((1, 2), (2, 6))]


def test_start_and_a_condition_on_the_variable_of_a_loop(kernel):
    """`start` and steps pass the declarations at file scope; before its declaration a variable fails a condition."""
    with console_on(_program(kernel)) as console:
        says(console, "start")
        assert place(console)[:2] == ("task 0", 20)
        says(console, "next", "reverse-next")
        assert place(console)[:2] == ("task 0", 20)
        says(console, "break k.mlu:14 task 0 if i == 2", "continue")
        assert place(console)[:2] == ("task 0", 14)
        assert says(console, "print i") == "i = 2"
        assert [line.split()[1] for line in says(console, "info locals").splitlines()] == ["total", "i"]


def test_a_char_is_shown_with_its_letter(tmp_path):
    """A char is shown with its letter, where it has one, as a variable, a member, an element and an argument."""
    (tmp_path / "c.mlu").write_text(
        "#include <bang.h>\nstruct Tag { char letter; int n; };\n__nram__ char text[64];\n"
        "__mlu_global__ void K(char sign, int8_t *out) {\n"
        "  Tag tag = {'p', 1};\n  unsigned char quote = '\\'';\n  char low = -3;\n  text[0] = 'z';\n  out[0] = low;\n}\n"
    )
    kernel = bangc.load([tmp_path / "c.mlu"])["K"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        device.launch(kernel, (1, 1, 1), mlusim.BLOCK, (10, device.empty((4,), np.int8)), observe=observe)

    with console_on(program) as console:
        says(console, "break c.mlu:9", "run")
        assert says(console, "print tag") == "tag = {letter = 112 'p', n = 1}"
        assert says(console, "print text[0]") == "text[0] = 122 'z'"
        assert [row.split("  ")[-1].strip() for row in says(console, "info locals").splitlines()][1:] == [
            "39 '\\''",
            "-3",
        ]
        assert says(console, "why tag.letter").startswith("tag.letter = 112 'p': set at moment")
        says(console, "watch low")
        assert says(console, "info watchpoints") == "watchpoint 2: low changes in K of task 0"
        assert says(console, "info args sign") == "char sign  10 '\\n'"


@pytest.fixture(scope="module")
def stopped(kernel):
    """A console that stands in the loop of task 0, in its second turn; from here on no other session follows lines."""
    with console_on(_program(kernel)) as console:
        says(console, "break k.mlu:27 if square(at) > TILE", "run")
        yield console


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("square(3) + 1", "10"),
        ("deep(5)", "120"),
        ("of(part, 4)", "2.0"),
        ("grow(1, 3)", "6"),
        ("TILE / 2", "32"),
        ("TWICE(size + 1)", "130"),
        ("max(size, 3)", "64"),
        ("row[1]@2", "{65, 66}"),
        ("*row@2", "{64, 65}"),
    ],
)
def test_calls_and_macros(stopped, text, value):
    """Functions of the source are called, macros are expanded, and what C does not know is Python's."""
    assert says(stopped, f"print {text}") == f"{text} = {value}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("bump(&part.first)", "bump stores to what is not its own at k.mlu:10"),
        ("cleared(1)", "cleared executes bang_write_zero at k.mlu:11"),
        ("square(1, 2)", "square takes 1 argument, not 2"),
        ("square(part)", "parameter a has type int, and the value Part"),
        ("TWICE(1, 2)", "TWICE takes 1 argument, not 2"),
        ("JOINED(at, left)", "joins or quotes tokens"),
    ],
)
def test_refused_calls(stopped, text, reason):
    """What would change the machine is refused, with the line that does."""
    assert reason in refuses(stopped, f"print {text}").replace(str(stopped.session.site()[0]), "k.mlu")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("print/x 255", "255 = 0xff"),
        ("print/x -1", "-1 = 0xffffffff"),
        ("print/t size", "size = 0b1000000"),
        ("print/d row[1]@2", "row[1]@2 = {65, 66}"),
        ("print/c 65", "65 = 65 'A'"),
        ("whatis part", "part: Part"),
        (
            "ptype Part",
            "type = struct Part {\n  int first;  // offset 0\n  float scale;  // offset 4\n}  // 8 bytes",
        ),
        ("list 2,3", "       2  #define TILE 64\n       3  #define TWICE(x) ((x) * 2)"),
    ],
)
def test_forms_and_types(stopped, text, answer):
    """The letters of ``print``, types with their members, and lines from one to another."""
    assert says(stopped, text) == answer


def test_arguments_tasks_and_macros_are_shown(stopped):
    """Arguments, tasks by gdb's name, and macros with their place."""
    assert [line.split()[0] for line in says(stopped, "info args").splitlines()] == ["float", "const", "int"]
    assert says(stopped, "info threads") == says(stopped, "info tasks")
    assert says(stopped, "thread 0").startswith("task 0")
    assert says(stopped, "info macro TWICE").endswith("k.mlu:3  #define TWICE(x) ((x) * 2)")
    assert "TILE" in says(stopped, "info macro")
    assert "did you mean TILE" in refuses(stopped, "info macro TIL")


def test_names_and_members_of_c_are_completed(stopped):
    """Names of C are completed after an operator, and members after a dot."""
    assert stopped.complete("print 1+squ") == ["1+square"]
    assert stopped.complete("print part.") == ["part.first", "part.scale"]
    assert stopped.complete("print TW") == ["TWICE"]
    assert stopped.complete("info macro T") == ["TILE", "TWICE"]
    assert stopped.complete("info args c") == ["count"]


def test_completion_of_a_condition(stopped):
    """Behind ``if`` stand the names that are in scope at the breakpoint's place, wherever the task stands."""
    assert stopped.complete("break k.mlu:15 task 0 if n > 1 && t") == ["total"]
    assert stopped.complete("break grow if t") == []
    assert stopped.complete("break k.mlu:24 if fi") == []
    assert stopped.complete("condition 1 1+fi") == ["1+first"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("k.mlu:22 if first == 1", "first of line 26 is not in scope at line 22"),
        ("grow if total == 1", "total of line 13 is not in scope at the first line of grow"),
        ("k.mlu:27 if part.second == 1", "Part has no member second; its members: first, scale"),
        ("k.mlu:27 if part == 1", "== takes numbers and pointers, and this is a Part"),
        ("k.mlu:27 if size[1] == 1", "a value of type int is not a pointer, as [] wants"),
        ("k.mlu:27 if !(in->second)", "a value of type float has no member second"),
    ],
)
def test_refused_conditions(stopped, text, reason):
    """A condition that can never be evaluated is refused when the breakpoint is set, and sets none."""
    before = says(stopped, "info breakpoints")
    assert reason in refuses(stopped, f"break {text}")
    assert says(stopped, "info breakpoints") == before
