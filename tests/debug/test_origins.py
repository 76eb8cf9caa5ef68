"""Who wrote a byte, across several launches on one tensor and one device; the host is not followed."""

import numpy as np
import pytest
from debug_kernels import scale_program
from debug_tools import console_on, refuses, says
from hypothesis import given, strategies as st

import mlusim
from mlusim import bangc
from mlusim.bang import NRAM2GDRAM, Mlu, Ptr, float32, kernel
from mlusim.isa import pool

COUNT = 16


@kernel
def filling(mlu: Mlu, out: Ptr, value: float) -> None:
    """Store one value everywhere."""
    buffer = mlu.nram(float32, COUNT)
    mlu.bang_write_value(buffer, COUNT, float32(value))
    mlu.memcpy(out, buffer, 4 * COUNT, NRAM2GDRAM)


@kernel
def looking(mlu: Mlu, out: Ptr) -> None:
    """Do nothing with a tensor."""
    mlu.sync()
    del out


def after(prepare):
    """A program that fills a tensor, lets *prepare* give the tensor for the second launch, and looks at that."""

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        out = device.put(np.zeros(COUNT, np.float32))
        device.launch(filling, args=(out, 3.0), observe=observe)
        other, second = prepare(device, out)
        other.launch(looking, args=(second,), observe=observe)

    return program


def told(prepare, **options):
    """What is said about the first element of the second launch's tensor."""
    with console_on(after(prepare), **options) as console:
        says(console, "run")
        assert "launch 2 (looking)" in console.stop_text()
        return says(console, "who-wrote out[0]").splitlines()


def test_the_launch_before_wrote_the_tensor():
    """Its intrinsic, moment and line, and on to its sources."""
    lines = told(lambda device, out: (device, out))

    assert "written at launch 1, moment 3 by task 0, __memcpy" in lines[0]
    assert "__bang_write_value" in lines[1]


def test_what_the_host_has_changed_since():
    """The launch before wrote another value there."""

    def prepare(device, out):
        device.set(out, 0)
        return device, out

    assert ["out[0]: the host has changed it between launch 1 and launch 2"] == told(prepare)


def test_a_tensor_of_another_device_at_the_same_address():
    """Addresses of two devices mean different bytes."""

    def prepare(device, out):
        other = mlusim.Device("MLU370-X4")
        return other, other.put(np.full(COUNT, 3, np.float32))

    assert ["out[0]: as the host gave it to the device"] == told(prepare)


def test_what_is_behind_the_history():
    """The chain ends there, and says how to keep more."""
    with console_on(scale_program, history=0) as console:
        says(console, "break scale", "run", "delete", "tbreak scaled", "goto end", "c", "who-wrote nram+0")
        lines = says(console, "who-wrote nram+0").splitlines()

        assert "launch 1 is no longer in the debugger's history" in lines[-1]


def test_moments_of_launches_that_had_another_tensor():
    """A comparison with them would compare with something else, and is refused."""

    def prepare(device, out):
        other = mlusim.Device("MLU370-X4")
        return other, other.put(np.full(COUNT, 3, np.float32))

    with console_on(after(prepare)) as console:
        says(console, "run")
        assert "launch 1 was not given the tensor that out is in" in refuses(console, "diff out @1:end")
        assert "no difference" in says(console, "diff out @begin")
    with console_on(after(lambda device, out: (device, out))) as console:
        says(console, "run")
        assert "no difference" in says(console, "diff out @1:end")
        assert "16 of 16 elements differ" in says(console, "diff out @1:begin")


POOL = """\
__nram__ char pool[1024];
__mlu_entry__ void Pooled(float *out) {
  float *left = (float *)pool, *right = (float *)(pool + 256);
  __bang_write_value(left, 32, 1.0f);
  __bang_add(right, left, left, 32);
  __bang_maxpool(left + 32, right, 4, 4, 2, 2, 2);
  __memcpy(out, left + 32, 32, NRAM2GDRAM);
}
"""


def test_parts_of_a_pool_have_the_names_of_their_pointers(tmp_path):
    """Beside the bytes of the pool, of which each pointer has a part."""
    (tmp_path / "pool.mlu").write_text(POOL)
    kernel = bangc.load(tmp_path / "pool.mlu")["Pooled"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        device.launch(kernel, args=(device.empty((8,), np.float32),), observe=observe)

    with console_on(program) as console:
        says(console, "run")
        told = [line.partition(": ")[0].strip() for line in says(console, "who-wrote out[1]").splitlines()]

    assert [
        "out[1]",
        "from pool[132:136] (left + 32, bytes 4:8)",
        "from pool[260:264], 2 times, every 16 bytes (right, bytes 4:8), mixed",
        *["from pool[4:8] (left, bytes 4:8)"] * 2,
        "from pool[292:296], 2 times, every 16 bytes (right, bytes 36:40), mixed",
        *["from pool[36:40] (left, bytes 36:40)"] * 2,
    ] == told


WINDOWS = """\
__nram__ float own[48], largest[32];
__mlu_entry__ void Rows(float *out, const float *x) {
  for (int row = 0; row < 6; row++) __memcpy(own + 8 * row, x + 8 * row, 32, GDRAM2NRAM);
  POOL;
  __memcpy(out, largest, 32, NRAM2GDRAM);
}
"""


@pytest.mark.parametrize(
    ("call", "element", "rows"),
    [
        ("__bang_maxpool(largest, own, 1, 6, 8, 2, 2)", 5, ["own[18:20]", "own[26:28]"]),
        ("__bang_avgpool(largest, own, 1, 6, 8, 2, 3, 5, 3)", 3, ["own[29:32]", "own[37:40]"]),
        (
            "__bang_maxpool_value_index(largest, own, 1, 6, 8, 2, 3, 3, 4, 64)",
            5,
            ["own[38:40]", "own[46:48]"],
        ),
    ],
)
def test_who_wrote_names_the_window_of_a_pool(tmp_path, call, element, rows):
    """Each row of it, with what wrote that: not the whole operand."""
    (tmp_path / "rows.mlu").write_text(WINDOWS.replace("POOL", call))
    kernel = bangc.load(tmp_path / "rows.mlu")["Rows"]

    def program(observe):
        device = mlusim.Device("MLU370-X4")
        tensors = device.empty((8,), np.float32), device.put(np.arange(48, dtype=np.float32))
        device.launch(kernel, args=tensors, observe=observe)

    with console_on(program) as console:
        says(console, "run")
        told = says(console, f"who-wrote out[{element}]").splitlines()

    heads = [line.strip().partition(": ")[0] for line in told]
    assert [f"from {row}, mixed" for row in rows] == [head for head in heads if head.endswith("mixed")]
    assert [f"from x{row[3:].partition(':')[0]}]" for row in rows] == [
        head for head in heads if head.startswith("from x[")
    ]


@given(st.data())
def test_a_window_is_what_its_result_is_made_of(data):
    """Of any picture, window, strides and dilations: the sums of what is named are the results."""
    channel, rows, columns, down, right, below, beside = (data.draw(st.integers(1, 3)) for _ in range(7))
    height = data.draw(st.integers((rows - 1) * below + 1, 9))
    width = data.draw(st.integers((columns - 1) * beside + 1, 9))
    src = np.arange(channel * height * width, dtype=np.float32)
    high, wide = (
        (height - (rows - 1) * below - 1) // down + 1,
        (width - (columns - 1) * beside - 1) // right + 1,
    )
    sums = np.empty(high * wide * channel, np.float32)
    words = (channel, height, width, rows, columns, right, down, below, beside)
    names = [
        "channel",
        "height",
        "width",
        "kernel_height",
        "kernel_width",
        "stride_w",
        "stride_h",
        "in_dh",
        "in_dw",
    ]
    pool.bang_sumpool.body(sums, src, *words)
    sizes = dict(zip(names, words, strict=True))

    assert sums.tolist() == [
        sum(src[row].sum() for row in map(list, pool.window_rows(sizes, n, len(sums))))
        for n in range(len(sums))
    ]


def test_every_pool_is_known_by_its_windows():
    """But for those that give numbers back to the places of windows."""
    back = ("bang_unpool", "bang_maxpool_bp", "bang_avgpool_bp")
    assert {row for row in vars(pool) if row.startswith("bang_") and row not in back} == pool.BY_WINDOWS
