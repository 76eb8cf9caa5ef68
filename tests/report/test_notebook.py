"""Values show themselves in notebooks, as HTML with plain text beside it; the magics profile and check a cell."""

import linecache
import re

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, float32, kernel
from mlusim.bangc.errors import SourceError
from mlusim.errors import Fault, OutOfBounds, UsageError
from mlusim.isa.table import ISA
from ops.tin_shift.plan import FRAMES


@kernel
def load(mlu, src, count):
    """Load *count* elements."""
    b = mlu.nram(float32, count)
    mlu.memcpy(b, src, count * 4, GDRAM2NRAM)


def _values():
    device = mlusim.Device("MLU370-X4")
    full = device.put(np.arange(16, dtype=np.float32))
    with mlusim.profiled() as p:
        device.launch(load, args=(full, 16))
    with pytest.raises(Fault) as caught:
        device.launch(load, args=(full, 1 << 20))
    return {
        "launch": (p.launches[0], "because"),
        "device": (device, "MLU370-X4"),
        "tensor": (full, "[0.0, 1.0, 2.0"),
        "empty": (device.empty(4, "int16"), "[poison, poison, poison, poison]"),
        "pointer": (full.ptr + 12, "[12.0, 13.0, 14.0, 15.0]"),
        "board": (device.board, "8 clusters, 32 cores"),
        "intrinsic": (ISA["bang_add"], "__bang_add(dst, src0, src1, elem_count)"),
        "fault": (caught.value, "mlu.nram(float32, count)"),
        "plan": (FRAMES, FRAMES.name),
    }


@pytest.mark.parametrize("name", list(_values()))
def test_a_value_shows_itself(name):
    """Its bundle has text and HTML, and both say what matters."""
    value, words = _values()[name]
    bundle = value._repr_mimebundle_()

    assert words in bundle["text/plain"]
    assert "<pre" in bundle["text/html"]
    assert value._repr_html_() == bundle["text/html"]


def test_a_layout_shows_its_map():
    """The picture of the regions stands above the sentence."""
    layout = FRAMES.layout("MLU370-X4", FRAMES.example, dtype="float", G=1)
    shown = layout._repr_html_()

    assert shown.startswith("<svg")
    assert "bytes" in shown


def test_a_fault_ends_a_cell_in_its_sentence():
    """What IPython shows is the sentence and the kernel's line, nothing of mlusim's own."""
    fault, _ = _values()["fault"]
    lines = fault._render_traceback_()

    assert lines[0].startswith("OutOfMemory: NRAM declaration")
    assert lines[1].endswith("b = mlu.nram(float32, count)")
    assert 2 == len(lines)


class _Formatter:
    """As much of IPython's formatters as the magics ask for."""

    def __init__(self):
        self.type_printers = {}
        self.ipython_display_formatter = self

    def for_type(self, kind, printer):
        """Take the printer of *kind*."""
        self.type_printers[kind] = printer


class _Shell:
    """As much of an IPython shell as the magics use."""

    def __init__(self):
        self.magics = {}
        self.display_formatter = _Formatter()
        self.display_pub = self
        self.published = []
        self.execution_count = 3

    def publish(self, data):
        """Take what is displayed."""
        self.published.append(data)

    def register_magic_function(self, function, kind, name):
        """Keep it."""
        self.magics[name] = (kind, function)

    def push(self, names):
        """Keep names as of the notebook."""
        self.names = names

    def run_cell(self, cell):
        """Execute the cell, whose text tracebacks can find."""
        linecache.cache["<cell>"] = (len(cell), None, cell.splitlines(keepends=True), "<cell>")
        exec(compile(cell, "<cell>", "exec"), {"__name__": "__main__"})  # noqa: S102 - a cell


CELL = """import numpy as np, mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel

@kernel
def racing(mlu, x):
    b = mlu.nram(float32, 64)
    mlu.memcpy_async(b, x, 256, GDRAM2NRAM)
    mlu.bang_add(b, b, b, 64)
    mlu.memcpy(x, b, 256, NRAM2GDRAM)

device = mlusim.Device()
device.launch(racing, args=(device.put(np.ones(64, np.float32)),))
"""


SOURCE = """__mlu_entry__ void Twice(float *x) {
  __nram__ float b[64];
  __memcpy(b, x, 256, GDRAM2NRAM);
  __bang_add(b, b, b, 64);
  __memcpy(x, b, 256, NRAM2GDRAM);
}
"""


def test_a_cell_of_bang_c():
    """`%%mlu` gives the notebook a module; what is wrong with a cell or with its name is told."""
    pytest.importorskip("clang")
    shell = _Shell()
    mlusim.load_ipython_extension(shell)
    magic = shell.magics["mlu"][1]
    magic("twice MLU370-X4", SOURCE)
    device = mlusim.Device()
    x = device.put(np.ones(64, np.float32))
    device.launch(shell.names["twice"]["Twice"], args=(x,))

    assert device.get(x).tolist() == [2.0] * 64
    assert "<module of In [3] with the kernels Twice>" == repr(shell.names["twice"])
    shell.execution_count = 4
    # The magic is the first line of the cell.
    with pytest.raises(SourceError, match=r"^In \[4\]:2:1: expected") as caught:
        magic("twice", "this is not C")
    few = device.put(np.ones(32, np.float32))
    with pytest.raises(OutOfBounds, match=r"\(In \[3\]:4, task 0\)") as fault:
        device.launch(shell.names["twice"]["Twice"], args=(few,))
    assert "  4 |   __memcpy(b, x, 256, GDRAM2NRAM);" in fault.value._render_traceback_()
    assert caught.value._render_traceback_() == str(caught.value).splitlines()
    magic("", SOURCE)
    launch = shell.names["Twice"][4, "block"](x)
    assert launch.dim == (4, 1, 1)
    assert ">stack</text>" in launch._repr_html_()  # the same map as of a plan
    for line in ("--twice", "twice MLU370-X4 more"):
        with pytest.raises(UsageError, match="write %%mlu, %%mlu NAME"):
            magic(line, SOURCE)
    with pytest.raises(UsageError, match="no board is called 'two-times'") as wrong:
        magic("two-times", SOURCE)
    assert wrong.value._render_traceback_()[1:] == [f'  {wrong.tb.tb_lineno} | magic("two-times", SOURCE)']


def test_magics_profile_and_check_a_cell(capsys):
    """`%%mlusim_profile` shows the launches of the cell as values show themselves, with their pipes; `%%mlusim_check` the findings."""
    shell = _Shell()
    mlusim.load_ipython_extension(shell)
    shell.magics["mlusim_profile"][1]("", CELL)
    (profile,) = shell.published
    shell.magics["mlusim_check"][1]("racecheck", CELL)
    check = capsys.readouterr().out

    assert {"cell"} == {kind for kind, _ in shell.magics.values()}
    assert profile["text/plain"].startswith("racing on MLU370-X4")
    assert "racing on MLU370-X4" in profile["text/html"]
    assert "<svg" in profile["text/html"]
    assert "racecheck" in check
    assert "checked by racecheck" in check


def test_a_launch_on_a_grid_shows_a_card():
    """`kernel[dim, kind](...)` is a launch on the tensors' device; its card has time, cause, line, help and memory."""
    device = mlusim.Device("MLU370-X4")
    full = device.put(np.arange(16, dtype=np.float32))
    with mlusim.profiled():
        launch = load[4, 2, mlusim.BLOCK](full, 16)
    card = launch._repr_html_().partition("<pre")[0]

    assert ((4, 2, 1), "BLOCK") == (launch.dim, launch.kind)
    assert (8, 1, 1) == load[8](full, 16).dim
    assert (2, 3, 1) == load[(2, 3), device](full.ptr, 16).dim
    assert "load on MLU370-X4, 4,2,1 BLOCK: " in card
    assert f"{launch.time_us:,.2f} us (" in card
    assert "b (line " in card
    assert re.search(r"NRAM: 64 of [\d,]+ bytes", card)
    with pytest.raises(UsageError, match=r"pass one of device\.put\(\), or write load\[\.\.\., device\]"):
        load[8](16)
