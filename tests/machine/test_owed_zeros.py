"""Large fills with zeros, which C stores when the memory is next used: whatever uses it finds them, on both engines."""

import re

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import MlusimError
from mlusim.machine.native.build import available

pytestmark = pytest.mark.skipif(available() is None, reason="no C compiler")

MANY = 8192
SOURCE = f"""\
#define MANY {MANY}
__nram__ float wide[MANY];
__nram__ float other[MANY];
__mlu_global__ void zeros(float *out, const float *in, int from, int many, int to, int n, int stride, int rows, int how) {{
  __bang_write_value(wide, MANY, 3.0f);
  __bang_write_value(other, MANY, 5.0f);
  __bang_write_zero(wide + from, many);
  if (how == 1) {{ __memcpy(wide + to, in, n * 4, GDRAM2NRAM); }}
  if (how == 2) {{ __memcpy(wide + to, in + 1, n * 4, GDRAM2NRAM, stride * 4, n * 4, rows); }}
  if (how == 3) {{ __memcpy_async(wide + to, in, n * 4, GDRAM2NRAM); __sync(); }}
  if (how == 4) {{ wide[to] = wide[from] + 1.0f; }}
  if (how == 5) {{ __bang_write_zero(wide + to, n); __memcpy(wide + from, in, n * 4, GDRAM2NRAM); }}
  if (how == 6) {{ __memcpy(wide + to, other, n * 4, NRAM2NRAM); }}
  if (how == 7 && taskId == 1) {{ __memcpy(wide + to, in, MANY * 4, GDRAM2NRAM); }}
  if (how == 8 && taskId == 1) {{ __bang_printf("%f %f", wide[to], wide[from]); }}
  if (how == 9) {{ __bang_add(other, wide, other, MANY); __bang_mul(wide, other, other, MANY); }}
  if (how == 10) {{ __memcpy(other + to, in, n * 4, GDRAM2NRAM); __memcpy(wide + to, other + to, n * 4, NRAM2NRAM); }}
  if (how == 11) {{ return; }}
  if (how == 12) {{ __sync_cluster(); __memcpy(wide + to, in, n * 4, GDRAM2NRAM); }}
  if (how == 13) {{ __memcpy(wide + to, in, n * 4, GDRAM2NRAM, stride * 4, n * 4, rows); __bang_write_zero(wide + to, n); }}
  if (how == 14 && taskId == 2) {{ __memcpy(wide + to, in + (1 << 20), n * 4, GDRAM2NRAM); }}
  __memcpy(out + taskId * MANY, wide, MANY * 4, NRAM2GDRAM);
}}
"""
PLACES = (
    (0, MANY, 0, 512, 600, 3),
    (0, MANY, 1024, 512, 512, 4),
    (512, 2048, 0, 700, 900, 5),  # the first row begins before the zeros, the last ends behind them
    (512, 2048, 4096, 128, 128, 2),
    (1024, 1024, 1000, 1100, 1100, 1),
    (0, 64, 0, 64, 64, 1),
)
ENDING = """\
__nram__ float few[1024];
__nram__ float others[1024];
__mlu_global__ void ending(float *out, long *places, int says) {
  if (says == 1 && taskId == 0) { __bang_printf("ends"); __bang_write_zero(others, 1024); return; }
  places[taskId] = (long)(others + 3);
  float *third = (float *)places[taskId];
  *third = 5.0f;
  out[taskId] = *third + others[3];
  out[taskDim + taskId] = others[7];
}
"""
ADDRESS = re.compile("0x1[0-9a-f]{9}")  # an address in GDRAM, which is another one in each launch


@pytest.fixture(scope="module")
def zeros(tmp_path_factory):
    """Return the kernel."""
    path = tmp_path_factory.mktemp("zeros") / "zeros.mlu"
    path.write_text(SOURCE)
    return bangc.load([path], board="MLU370-X4")["zeros"]


def told(device, kernel, engine, kind, numbers):
    """Launch; return what it says of itself, or its fault, and what it has stored."""
    given = device.put(np.arange(MANY, dtype=np.float32) + 1)
    out = device.put(np.zeros(4 * MANY, np.float32))
    try:
        launch = device.launch(kernel, 4, kind, (out, given, *numbers), engine=engine)
    except MlusimError as fault:
        return ADDRESS.sub("", str(fault)), device.get(out).tobytes()
    return launch.printed, launch.instructions, launch.traffic, launch.time_us, device.get(out).tobytes()


@pytest.mark.parametrize("how", range(15))
def test_what_follows_a_fill_with_zeros_finds_them(zeros, how):
    """Copies over all of them, over some or beside them, scalars, fills, faults, prints and the end of a task."""
    kind = mlusim.UNION1 if how == 12 else mlusim.BLOCK
    for places in PLACES:
        device = mlusim.Device("MLU370-X4")
        expected = told(mlusim.Device("MLU370-X4"), zeros, "python", kind, (*places, how))

        assert [expected] * 3 == [told(device, zeros, "native", kind, (*places, how)) for _ in range(3)]


def test_a_prepared_launch_finds_the_zeros_of_another_place(zeros):
    """Its later launches have other arguments, with faults in between."""
    device = mlusim.Device("MLU370-X4")
    calls = [(*places, how) for places in PLACES for how in (2, 7, 1, 11, 14, 9)]
    expected = [told(mlusim.Device("MLU370-X4"), zeros, "python", mlusim.BLOCK, numbers) for numbers in calls]

    assert expected == [told(device, zeros, "native", mlusim.BLOCK, numbers) for numbers in calls]


@pytest.mark.parametrize("kind", [mlusim.BLOCK, mlusim.UNION1])
def test_the_task_behind_one_that_ended_with_zeros_owed_has_its_own_memory(tmp_path, kind):
    """The first has called Python, which lets the core run the others; one finds the address of its memory."""
    (tmp_path / "ending.mlu").write_text(ENDING)
    kernel = bangc.load([tmp_path / "ending.mlu"], board="MLU370-X4")["ending"]

    def seen(device, says, engine):
        out, places = device.put(np.zeros(8, np.float32)), device.put(np.zeros(5, np.int64))
        try:
            printed = device.launch(kernel, 4, kind, (out, places, says), engine=engine).printed
        except MlusimError as fault:
            return str(fault)
        return printed, device.get(out).tobytes()

    expected = [seen(mlusim.Device("MLU370-X4"), says, "python") for says in (0, 0, 1, 0)]
    device = mlusim.Device("MLU370-X4")

    assert expected == [seen(device, says, "native") for says in (0, 0, 1, 0)]
