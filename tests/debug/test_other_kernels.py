"""Breakpoints in kernels that the program launches later, or never."""

from types import SimpleNamespace

import numpy as np
import pytest
from debug_tools import console_on, refuses, says

import mlusim
from mlusim import bangc
from mlusim.debug.dap.stopping import HANDLERS
from mlusim.debug.session import DebugSession

SOURCE = """\
__mlu_global__ void A(float *p) {
  __nram__ float x[16];
  __memcpy(x, p, 64, GDRAM2NRAM);
}

template <typename T> __mlu_global__ void LaterB(T *p) {
  __nram__ T x[16];

  __memcpy(x, p, 32, GDRAM2NRAM);
}
template __mlu_global__ void LaterB<float>(float *);
template __mlu_global__ void LaterB<half>(half *);
"""
OTHER = "__mlu_global__ void LaterC(float *p) {\n  p[0] = 1;\n  p[1] = 2;\n}\n"


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """A program of two modules: it launches ``A``, two instantiations of ``LaterB``, and the other's ``LaterC``."""
    tmp_path = tmp_path_factory.mktemp("later")
    for name, text in (("later_one.mlu", SOURCE), ("later_two.mlu", OTHER)):
        (tmp_path / name).write_text(text)
    one, two = bangc.load(tmp_path / "later_one.mlu"), bangc.load(tmp_path / "later_two.mlu")

    def run(observe):
        device = mlusim.Device("MLU370-X4")
        for kernel in (one["A"], one["LaterB<float>"], one["LaterB<half>"], two["LaterC"]):
            dtype = np.float16 if "half" in kernel.name else np.float32
            device.launch(
                kernel, (1, 1, 1), mlusim.BLOCK, (device.put(np.zeros(16, dtype)),), observe=observe
            )

    return run


@pytest.mark.parametrize(
    ("place", "stops"),
    [
        ("later_one.mlu:9", ["LaterB<float> at later_one.mlu:9", "LaterB<half> at later_one.mlu:9"]),
        ("LaterB", ["LaterB<float> at later_one.mlu:7", "LaterB<half> at later_one.mlu:7"]),
        ("LaterB<half>", ["LaterB<half> at later_one.mlu:7"]),
        ("LaterC", ["LaterC at later_two.mlu:2"]),
        ("later_two.mlu:3", ["LaterC at later_two.mlu:3"]),
    ],
)
def test_a_breakpoint_binds_in_every_kernel_of_the_program(program, place, stops):
    """By line and by name, in another file, and in each instantiation of a template, before any of it is launched."""
    with console_on(program) as console:
        says(console, f"break {place}")
        said = [console.execute("continue").text for _ in range(len(stops) + 1)]

    assert [f"in {stop}" in text for stop, text in zip(stops, said, strict=False)] == [True] * len(stops)
    assert "Breakpoint" not in said[-1]


def test_a_place_without_code_is_never_another_functions(program):
    """The console refuses it; an editor's moves to the next line of its own function alone."""
    with console_on(program) as console:
        assert "there is no code of a function at later_one.mlu:5" in refuses(
            console, "break later_one.mlu:5"
        )
    session = DebugSession(program)
    state = SimpleNamespace(session=session, asked={})
    path = str(next(f.code.co_filename for f in session.functions))
    lines = [{"line": line} for line in (5, 8, 9, 40)]

    found = HANDLERS["setBreakpoints"](state, {"source": {"path": path}, "breakpoints": lines})["breakpoints"]

    assert [one["verified"] for one in found] == [False, True, True, False]
    assert [one["line"] for one in found[1:3]] == [9, 9]
