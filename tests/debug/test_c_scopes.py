"""A name of C means, at each line, the variable that is in scope there; what is not in scope is not listed."""

import pytest
from debug_tools import console_on, refuses, says

import mlusim
from mlusim import bangc
from mlusim.debug import values
from mlusim.errors import LaunchError

SOURCE = """\
__nram__ float b[64];
#define TWICE(K) do { int t = K * 2; b[0] = t; } while (0)
__mlu_func__ int inner(int lambda) {
  int in = lambda + 1; {
    int lambda = 7;
    b[3] = lambda;
  }
  return in;
}
__mlu_global__ void K(int n, int in) {
  int at = 7;
  for (int i = 0; i < n; ++i) {
    int at = i * 10;
    b[0] = at;
  }
  b[1] = at;
  for (int i = 10; i < n + 10; ++i) {
    if (i == 11) { int i = 99; b[0] = i; } else { int other = 5; b[0] = other; }
    b[2] = i;
  }
  TWICE(at);
  while (n > 0) { int at; b[4] = n;
    at = 3;
    b[5] = at; n--; }
  switch (n) {
    case 0: int late = 4;
    b[6] = late;
  }
  b[7] = inner(in);
}
"""


@pytest.fixture(scope="module")
def console(tmp_path_factory):
    """A console on the kernel."""
    path = tmp_path_factory.mktemp("c") / "k.mlu"
    path.write_text(SOURCE)
    kernel = bangc.load([path])["K"]

    def program(observe):
        mlusim.Device("MLU370-X4").launch(kernel, (1, 1, 1), mlusim.BLOCK, (3, 2), observe=observe)

    with console_on(program) as made:
        yield made


def listed(console):
    """What `info args` and `info locals` list, by name."""
    rows = says(console, "info args").splitlines() + says(console, "info locals").splitlines()
    return {row.split()[1]: row.split()[-1] for row in rows if "no variables yet" not in row}


@pytest.mark.parametrize(
    ("stops", "here"),
    [
        (["13", "c"], {"at": "7", "i": "1"}),  # its own declaration: the value of the turn before is dead
        (["14", "c"], {"at": "10", "i": "1"}),
        (["16"], {"at": "7"}),
        (["17"], {"at": "7"}),
        (["17", "c"], {"at": "7", "i": "10"}),  # at ++i
        (["19", "c"], {"at": "7", "i": "11"}),
        (["21"], {"at": "7"}),
        (["24"], {"at": "3"}),
        (["25"], {"at": "7", "n": "0"}),
        (["26"], {"at": "7", "n": "0"}),
        (["27"], {"at": "7", "n": "0", "late": "4"}),
        (["29"], {"at": "7", "n": "0"}),
    ],
)
def test_a_name_means_what_is_in_scope_at_the_line(console, stops, here):
    """Inner variables hide outer ones in their block, behind their declaration; dead ones are listed nowhere."""
    line, *more = stops
    says(console, f"break {line}", "run", *more, "delete")
    wanted = {"n": "3", "in": "2"} | here
    scopes = {s.kind: [v.name for v in s.variables] for s in values.scopes(console.session)}

    assert listed(console) == wanted
    assert scopes["arguments"] == ["n", "in"]
    assert scopes["locals"] == [name for name in wanted if name not in ("n", "in")]
    assert {name: says(console, f"p {name}").split()[-1] for name in wanted} == wanted


def test_names_of_the_translation_are_names_nowhere(console):
    """A variable that hides another, or is called as Python's keywords are, has its own name only."""
    says(console, "tbreak 14", "run")
    refused = [refuses(console, f"{word} at_2 == 1") for word in ("p", "tbreak 14 if", "watch b[0] if")]
    says(console, "tbreak 6 if in == 3 && lambda == 7", "c")

    assert refused == [
        "error: name 'at_2' is not defined; `info locals` lists what there is",
        "error: the condition names at_2, which K does not have; it has at, i, in, late, n, other, t",
        "error: the condition names at_2, which K does not have; it has at, i, in, lambda, late, n, other, t",
    ]
    assert listed(console) == {"lambda": "7", "in": "3"}
    assert says(console, "set var lambda = 8", "p lambda * in") == "lambda * in = 24"
    assert {"in", "lambda"} <= {*console.complete("watch ")}
    assert [] == [word for word in console.complete("watch ") if word.endswith("_2")]


def test_what_is_not_in_scope_is_said_with_its_line(console):
    """A name that is a variable elsewhere is refused with the line of that variable."""
    says(console, "tbreak 29", "run")

    assert refuses(console, "p i + 1") == (
        "error: 'i + 1' has no value in C: i of line 12 and of line 17 and of line 18 is not in scope here; "
        "`info locals` lists what is, `info locals all` the last values of the rest"
    )


def test_a_launch_with_too_few_arguments_names_the_parameters_of_the_source(tmp_path):
    """The sentence has the parameters as the source declares them."""
    (tmp_path / "k.mlu").write_text("__mlu_global__ void K(float *out, int in) { out[0] = in; }")
    device = mlusim.Device("MLU370-X4")

    with pytest.raises(LaunchError, match=r"^K\(float \* out, int in\) takes 2 and is given 1 argument$"):
        device.launch(bangc.load([tmp_path / "k.mlu"])["K"], args=(None,))


def test_commands_as_other_debuggers_have_them(console):
    """Elements behind a place, `info b`, and a function without a result, which has returned no value."""
    says(console, "tbreak 24", "run", "break 8")

    assert says(console, "p b[0]@3") == "b[0]@3 = {14, 7, 12}"
    assert says(console, "p b@2") == "b@2 = {14, 7}"
    assert refuses(console, "p b[60]@5") == "error: b[60]@5 reaches beyond its memory; give 1 to 4 elements"
    assert says(console, "info b") == says(console, "info breakpoints")
    assert "value returned: 3" in says(console, "c", "finish")


def test_a_function_without_a_result_returns_no_value(tmp_path):
    """`finish` shows none, not Python's None."""
    (tmp_path / "k.mlu").write_text(
        "__mlu_func__ void set(int *p) {\n  *p = 3;\n}\n__mlu_global__ void K() {\n  int n = 1;\n  set(&n);\n  n++;\n}\n"
    )
    kernel = bangc.load([tmp_path / "k.mlu"])["K"]
    with console_on(lambda observe: mlusim.Device("MLU370-X4").launch(kernel, observe=observe)) as console:
        assert says(console, "break 2", "run", "finish").splitlines()[1:] == ["7\t  n++;"]


def test_a_lambda_is_called_by_its_line_and_files_by_their_short_names(tmp_path, monkeypatch):
    """The library's name of its class has the whole path of the file, and so has the file of a line without code."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.mlu").write_text(
        "__mlu_global__ void K(int *o) {\n  int n = 1;\n  auto f = [&](int x) { return x + n; };\n  o[0] = f(2);\n}\n"
    )
    kernel = bangc.load([tmp_path / "k.mlu"])["K"]
    device = mlusim.Device("MLU370-X4")
    with console_on(
        lambda observe: device.launch(kernel, args=[device.empty(1, "int32")], observe=observe)
    ) as console:
        shown = says(console, "break 4", "run", "info locals")
        assert "lambda:3 f" in shown
        assert str(tmp_path) not in shown
        assert refuses(console, "break 9") == (
            "error: there is no code of a function at k.mlu:9; the last line with code is 4"
        )


def test_a_line_of_no_file_is_refused_where_nothing_is_loaded():
    """A program that has launched nothing has no file that a line could be of."""
    with console_on(lambda observe: None) as console:
        assert refuses(console, "break 3") == (
            "error: no function is loaded in which line 3 could be; write the line as FILE:3"
        )


def test_a_breakpoint_on_a_function_stops_where_checkers_of_values_watch(tmp_path):
    """Its kernel is rendered a second time for them."""
    (tmp_path / "k.mlu").write_text(
        "__mlu_func__ int twice(int n) {\n  return 2 * n;\n}\n"
        "__mlu_entry__ void K(int *out) {\n  out[0] = twice(3);\n}\n"
    )
    kernel = bangc.load(tmp_path / "k.mlu")["K"]

    def program(observe):
        device = mlusim.Device()
        device.launch(kernel, args=[device.empty(1, "int32")], observe=[*observe, "valuecheck"])

    with console_on(program) as console:
        stopped = says(console, "break twice", "run")

        assert "Breakpoint 1, twice" in stopped
        assert "n = 3" == says(console, "print n")


def test_a_function_that_stands_on_one_line_has_that_line(tmp_path):
    """A breakpoint stops in a kernel and in a function of one line; its variables are there."""
    path = tmp_path / "one.mlu"
    path.write_text(
        "__mlu_func__ int twice(int m) { return 2 * m; }\n__mlu_global__ void K(int n) { n = twice(n); }\n"
    )
    kernel = bangc.load([path])["K"]

    def program(observe):
        mlusim.Device("MLU370-X4").launch(kernel, (1, 1, 1), mlusim.BLOCK, (3,), observe=observe)

    with console_on(program) as console:
        says(console, "break one.mlu:2", "break one.mlu:1")

        assert "task 0 in K at" in says(console, "continue")
        assert "task 0 in twice at" in says(console, "continue")
        assert "m = 3" == says(console, "p m")


def test_two_debuggers_stop_at_their_lines_in_turn(tmp_path):
    """One that is paused at a line leaves the lines of the other's program alone, and goes on with its own."""
    text = "__mlu_global__ void K() {\n  int n = 1;\n  n += 2;\n  n += 3;\n}\n"

    def program(name):
        (tmp_path / name).write_text(text)
        kernel = bangc.load([tmp_path / name])["K"]
        return lambda observe: mlusim.Device("MLU370-X4").launch(kernel, observe=observe)

    with console_on(program("one.mlu")) as one, console_on(program("other.mlu")) as other:
        assert "one.mlu:3" in says(one, "break one.mlu:3", "run")
        assert "other.mlu:3" in says(other, "break other.mlu:3", "run")
        assert "4\t" in says(one, "next")
        assert "4\t" in says(other, "next")
        assert "n = 3" in says(one, "print n")
        assert "has ended" in says(other, "continue")
        assert "has ended" in says(one, "continue")
