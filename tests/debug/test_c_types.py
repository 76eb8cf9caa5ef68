"""Types and values of C as gdb shows them: records, arrays, enumerations, forms, what has no function around it."""

import numpy as np
import pytest
from debug_tools import console_on, refuses, says

import mlusim
from mlusim import bangc
from mlusim.toolkit.image import device_side

SOURCE = """\
#include <bang.h>
#define TILE 16
typedef struct { int a; float b[3]; } Part;
enum Mode { PLAIN = 0, HEAVY = 3 };
enum class Deep { A, B = 7 };
using Real = float;
__mlu_func__ int two(int a, Part *p) { return a * 2 + p->a; }
__nram__ Part parts[3];
__mlu_entry__ void K(float *out, int n) {
  Part p;
  p.a = n; p.b[0] = 1.5f; p.b[1] = 2; p.b[2] = 3;
  Mode m = HEAVY;
  Deep d = Deep::B;
  int arr[5];
  Part *pp = &p;
  Real r = 2.5f;
  bool flag = n > 2;
  int8_t tiny = -3;
  parts[1].a = 9;
  for (int i = 0; i < 5; i++) { arr[i] = two(i, pp); }
  out[1] = arr[2] + m + (int)d + r + flag + tiny;
}
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The kernel, translated once."""
    path = tmp_path_factory.mktemp("c") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load([path])["K"]


def launching(kernel):
    """Return a program that launches the kernel on a host's bytes."""

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(32, np.uint8))
        device.launch(kernel, (1, 1, 1), mlusim.BLOCK, (out.ptr, 4), observe=observe)

    return program


@pytest.fixture(scope="module")
def stopped(kernel):
    """A console that stands at the last line, of a launch whose host has only bytes."""
    with console_on(launching(kernel)) as console:
        says(console, "break k.mlu:21", "run")
        yield console


SHOWN = {
    "p p": "p = {a = 4, b = {1.5, 2.0, 3.0}}",
    "p p.b": "p.b = {1.5, 2.0, 3.0}",
    "p p.b[1]@2": "p.b[1]@2 = {2.0, 3.0}",
    "p/x p": "p = {a = 0x4, b = {0x1, 0x2, 0x3}}",
    "p parts[1]": "parts[1] = {a = 9, b = {poison, poison, poison}}",
    "p parts[1].b": "parts[1].b = float * NRAM 0x200014 parts[20]: poison, poison, poison",
    "p parts[1].a@1": "parts[1].a@1 = {9}",
    "p parts[0]@2": "parts[0]@2 = {{a = -1?, b = {poison, poison, poison}}, {a = 9, b = {poison, poison, poison}}}",
    "p arr@n": "arr@n = {4, 6, 8, 10}",
    "p/x arr": "arr = {0x4, 0x6, 0x8, 0xa, 0xc}",
    "p/o arr[2]": "arr[2] = 010",
    "p/z tiny": "tiny = 0xfd",
    "p/x tiny": "tiny = 0xfd",
    "p m": "m = HEAVY (3)",
    "p (Mode)3": "(Mode)3 = HEAVY (3)",
    "p d == Deep::B": "d == Deep::B = true",
    "p sizeof(Part)": "sizeof(Part) = 16",
    "p *(&n)": "*(&n) = 4",
    "ptype Part": "type = struct Part {\n  int a;  // offset 0\n  float b[3];  // offset 4\n}  // 16 bytes",
    "ptype pp": "type = struct Part {\n  int a;  // offset 0\n  float b[3];  // offset 4\n} *  // to 16 bytes",
    "ptype Mode": "type = enum Mode {PLAIN = 0, HEAVY = 3}",
    "ptype Real": "type = float",
    "ptype unsigned int *": "type = unsigned int *",
    "ptype two": "type = int (int, Part *)",
    "whatis two(1, pp)": "two(1, pp): int",
    "info args n": "int n  4",
}


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_shows_values_of_c_types(stopped, command):
    """What a command says, to the letter."""
    assert SHOWN[command] == says(stopped, command)


def test_a_wrong_command_gets_one_sentence(stopped):
    """One sentence says what is wrong, and which command does it."""
    assert "two is a function, int (int, Part *)" in refuses(stopped, "p two")
    assert "name 'nosuch' is not defined" in refuses(stopped, "p sizeof(nosuch)")
    assert "`set var n = n + 1` does" in refuses(stopped, "p n++")
    assert "no values are kept under $" in refuses(stopped, "p $1")
    assert "give 1 to 3 elements" in refuses(stopped, "p p.b@4")
    assert "takes no 'nosuch'; its arguments: out, n" in refuses(stopped, "info args nosuch")
    assert "nosuch" in refuses(stopped, "display nosuch")
    assert "print/q is not a form" in refuses(stopped, "p/q n")


def test_variables_unfold(stopped):
    """An editor opens records and arrays part by part, each with the expression that gives it again."""
    found = {v.name: v for s in mlusim.debug.values.scopes(stopped.session) for v in s.variables}
    whole = mlusim.debug.values.parts(found["p"])
    inner = mlusim.debug.values.parts(whole[1])

    assert [("a", "4", "p.a"), ("b", "{1.5, 2.0, 3.0}", "p.b")] == [(v.name, v.text, v.path) for v in whole]
    assert [("[0]", "1.5", "p.b[0]")] == [(v.name, v.text, v.path) for v in inner[:1]]
    assert [("a", "pp->a")] == [(v.name, v.path) for v in mlusim.debug.values.parts(found["pp"])[:1]]


def test_display_takes_forms(stopped):
    """A display has forms and counts as print has them, and says briefly where it has no value."""
    shown = says(stopped, "display/x arr@2")
    later = says(stopped, "goto end", "display i")

    assert "1: /x arr@2 = {0x4, 0x6}" == shown
    assert "2: i = <i is a variable of K, and no task is in a function here>" == later.splitlines()[1]


def test_without_a_function(kernel):
    """Before a launch has begun and behind it types, macros and enumerators are known; tensors have the type that the kernel gives them."""
    with console_on(launching(kernel)) as console:
        says(console, "run")
        value, origin = says(console, "p out[1]"), says(console, "who-wrote out[1]")
        kind, size, macro = (
            says(console, "ptype Mode"),
            says(console, "p sizeof(Part) + TILE"),
            says(console, "info macro TILE"),
        )
        reason = refuses(console, "p *pp")

    assert "out[1] = 18.5 (float32)" == value
    assert "k.mlu:21" in origin.splitlines()[0]
    assert ("type = enum Mode {PLAIN = 0, HEAVY = 3}", "sizeof(Part) + TILE = 32") == (kind, size)
    assert macro.endswith("#define TILE 16")
    assert "pp is a variable of K, and no task is in a function here" in reason


def test_completion(stopped):
    """Names of types, enumerators and macros are completed too, and nothing of mlusim's own."""
    says(stopped, "goto begin", "tbreak k.mlu:21", "run")

    assert ["p Mode", "p HEAVY", "p TILE", "p p.b"] == [
        f"p {stopped.complete(text)[0]}" for text in ("ptype Mo", "p HEA", "display/x TI", "p p.b")
    ]
    assert [] == stopped.complete("p _c")


def test_a_record_keeps_types(kernel):
    """The device's side of a program has the types that its variables have: the debugger shows them there too."""
    form = device_side(kernel.plan.parts[0].file.form)

    assert ["Part"] == list(form.structs)
    assert {"PLAIN": 0, "HEAVY": 3} == form.enumerations["Mode"]


def test_list_goes_on(stopped):
    """Like gdb: `list` shows the lines behind what it showed, with - those before; places stand on either side of a comma."""

    def numbers(command):
        text = says(stopped, command)
        return [int(word) for line in text.splitlines() if (word := line[3:8].strip()).isdigit()]

    says(stopped, "goto begin", "tbreak k.mlu:21", "run")
    first, behind, before = numbers("list 3,4"), numbers("list"), numbers("list -")

    assert [3, 4] == first
    assert [*range(5, 15)] == behind
    assert [*range(1, 5)] == before[-4:]
    assert [*range(18, 23)] == numbers("list 18,")
    assert [*range(3, 13)] == numbers("list ,12")
    assert [*range(7, 10)] == numbers("list two,K")
    assert "names no lines" in refuses(stopped, "list 9,3")
    assert "list takes lines or functions" in refuses(stopped, "list &")
    assert "`why n` follows" in refuses(stopped, "who-wrote n")
