"""`set var` in frames of BANG C: variables, members and elements get what C converts a value to."""

import numpy as np
import pytest
from debug_tools import console_on, says

import mlusim
from mlusim import bangc

SOURCE = """\
struct Point { int x; float y; };
__mlu_global__ void K(float *out, int n) {
  __nram__ float room[64];
  __nram__ float other[64];
  int count = n;
  int *to = &count;
  Point p = {1, 2.5f};
  Point *at = &p;
  unsigned char small = 3;
  half h = (half)1.5f;
  float taps[4] = {1.f, 2.f, 3.f, 4.f};
  char *bytes = (char *)room;
  *to += 1;
  for (int i = 0; i < 8; i++) {
    ((float *)bytes)[i] = taps[i & 3] * at->y + p.x + small;
    ((float *)bytes)[i] += 1.f;
  }
  other[8] = (float)count + (float)h;
  __memcpy(out, room, 16 * sizeof(float), NRAM2GDRAM);
  __memcpy(out + 16, other, 16 * sizeof(float), NRAM2GDRAM);
}
"""


@pytest.fixture
def stopped(tmp_path):
    """A console that stands behind the declarations; what the kernel gives is the program's result."""
    path = tmp_path / "k.mlu"
    path.write_text(SOURCE)
    kernel = bangc.load([path])["K"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(32, np.float32))
        device.launch(kernel, 1, args=(out, 5), observe=observe)
        return device.get(out)

    with console_on(program) as console:
        says(console, "break k.mlu:13", "run")
        yield console


def result(console):
    says(console, "delete", "continue")
    return console.session.host.result


@pytest.mark.parametrize(
    ("target", "value", "became"),
    [
        ("count", "40", "40"),
        ("*to", "40.9", "40"),
        ("small", "300", "44 ','"),
        ("h", "0.1", "0.0999755859375"),
        ("p.x", "-7", "-7"),
        ("at->y", "1.0 / 4", "0.25"),
        ("taps[2]", "n * 10", "50.0"),
        ("*at", "p", "{x = 1, y = 2.5}"),
        ("to", "0", "nullptr"),
    ],
)
def test_a_value_is_converted_as_c_does(stopped, target, value, became):
    """The reply, and what the debugger shows from then on, is what the variable holds."""
    assert f"{target} = {became}" == says(stopped, f"set var {target} = {value}").splitlines()[0]
    assert f"{target} = {became}" == says(stopped, f"print {target}").removesuffix(" (float32)")


def test_the_kernel_goes_on_with_what_was_given(stopped):
    """Variables whose addresses are taken, members, and elements of a local array; nothing of it counts."""
    for words in ("count = 40", "p.x = -7", "at->y = 0.25", "taps[2] = 50", "small = 300", "h = 0.1"):
        says(stopped, f"set var {words}")
    out = result(stopped)

    assert np.float32(50 * 0.25 - 7 + 44 + 1) == out[2]
    assert np.float32(41 + 0.0999755859375) == out[24]


def test_a_pointer_that_is_changed_is_cast_anew(stopped):
    """The kernel keeps a cast that is wanted in each turn of a loop; it is that of the new pointer."""
    says(stopped, "break k.mlu:16", "continue", "set var bytes = (char *)other")
    out = result(stopped)

    assert 3.5 + 3 == out[0]
    assert np.isnan(out[1])
    assert np.float32(2 * 2.5 + 1 + 3 + 1) == out[17]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("to = 5", "to has type int *, and the value int"),
        ("to = room", "to has type int *, and the value float *; cast it"),
        ("p = 3", "p has type Point, and the value int"),
        ("taps = room", "taps is an array; give its elements values, as taps[0]"),
        ("taskId = 3", "there is no variable taskId here"),
        ("taps[9] = 3", "k.mlu:11 reach 24 bytes past its end"),
        ("n + 1 = 3", "only a variable, an element or a member is given a value"),
    ],
)
def test_what_c_refuses_is_refused_in_a_sentence(stopped, words, sentence):
    """Nothing is changed, and the launch does not fork."""
    before = stopped.session.digest()

    reply = stopped.execute(f"set var {words}")
    assert not reply.ok
    assert sentence in reply.text
    assert before == stopped.session.digest()
