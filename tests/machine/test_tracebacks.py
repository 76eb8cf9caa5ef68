"""Where tracebacks end: in the kernel's frame, for people and for post-mortem debuggers."""

import subprocess
import sys
import textwrap
import traceback

import numpy as np
import pytest

import mlusim
import ops
from mlusim.bang import NRAM2GDRAM, float32, kernel
from mlusim.errors import Fault
from mlusim.kernel_frames import FULL

OWN = mlusim.__file__.removesuffix("__init__.py")
PROGRAM = textwrap.dedent(
    """
    import mlusim
    from mlusim.bang import float32, kernel

    def added(mlu, buffer, count):
        mlu.bang_add(buffer, buffer, buffer, count)

    @kernel
    def summed(mlu, wanted):
        if mlu.taskId == 1:
            added(mlu, mlu.nram(float32, 8), wanted)

    def test_it():
        mlusim.Device().launch(summed, 2, args=(80,))

    if __name__ == "__main__":
        test_it()
    """
)


def _helper(mlu, buffer):
    mlu.bang_add(buffer, buffer, buffer, 80)


@kernel
def _vector(mlu, out):
    if mlu.is_ipu():
        _helper(mlu, mlu.nram(float32, 8))


@kernel
def _copy(mlu, out):
    mlu.memcpy(out, mlu.nram(float32, 64), 256, NRAM2GDRAM)


@kernel
def _scalar(mlu, out):
    out[99] = 1.0


@kernel
def _barrier(mlu, out):
    if mlu.taskId != 1:
        mlu.sync_all()


@kernel
def _own(mlu, out):
    raise KeyError("the kernel's own")


@kernel
def _conversion(mlu, out):
    mlu.nram(float32, 8) - out


LAST = {
    _vector: "_helper",
    _copy: "_copy",
    _scalar: "_scalar",
    _barrier: "_barrier",
    _own: "_own",
    _conversion: "_conversion",
}


def _frames(body):
    """The functions in the traceback of a launch of *body*."""
    device = mlusim.Device()
    try:
        device.launch(body, 4, mlusim.UNION1, (device.empty(8, float32),))
    except Exception as error:  # noqa: BLE001 - of any kind
        return traceback.extract_tb(error.__traceback__)
    raise AssertionError("it raised nothing")


@pytest.mark.parametrize("body", LAST, ids=lambda body: body.name)
def test_a_traceback_goes_from_the_launch_to_the_kernel(body):
    """No frame of mlusim is left, whatever went wrong; the last one is where the fault says it is."""
    frames = _frames(body)

    assert {__file__} == {frame.filename for frame in frames}
    assert ["_frames", LAST[body]] == [frames[0].name, frames[-1].name]


def test_all_frames_are_shown_on_request(monkeypatch):
    """For work on mlusim itself."""
    monkeypatch.setenv(FULL, "full")

    assert "<mlusim mtp_372 bang_add>" == _frames(_vector)[-1].filename


class _Count:
    """A count of elements that cannot be read."""

    def __index__(self):
        raise ZeroDivisionError


@kernel
def _count(mlu, out):
    mlu.nram(float32, _Count())


def test_an_error_behind_the_kernel_keeps_its_frames():
    """An error that mlusim does not raise on purpose is shown to where it came from."""
    frames = _frames(_count)

    assert ["_frames", "_count", "nram", "__index__"] == [frames[n].name for n in (0, 1, 2, -1)]


def test_an_operators_fault_ends_in_its_kernel(monkeypatch):
    """Of mlusim only `run` itself is left, which was called."""
    inputs = {
        "grad_output": np.ones((1, 4, 4), np.float32),
        "indices": np.zeros((1, 4, 3), np.int32),
        "weights": np.ones((1, 4, 3), np.float32),
    }
    planted = "ops.three_interpolate_backward.kernel.clear_features"
    monkeypatch.setattr(planted, lambda mlu, *_: mlu.nram(float32, 8)[99])
    frames = []
    try:
        ops.run("three_interpolate_backward", inputs, {"m": 8})
    except Fault as fault:
        frames = traceback.extract_tb(fault.__traceback__)

    assert ["run"] == [frame.name for frame in frames if frame.filename.startswith(OWN)]
    assert __file__ == frames[-1].filename


@pytest.mark.parametrize(
    ("command", "before"),
    [
        (["-m", "pdb", "program.py"], "c\n"),
        (["-m", "pytest", "-q", "--pdb", "-p", "no:cacheprovider", "program.py"], ""),
    ],
    ids=["pdb", "pytest"],
)
def test_post_mortem_debuggers_open_the_failing_function(tmp_path, command, before):
    """What docs/how-to/debug-with-pdb.md says: the function's variables, the failing task, the kernel above."""
    (tmp_path / "program.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, *command],
        input=f"{before}p count, mlu\nup\np 'above', wanted\nq\nq\n",
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert "(80, <Mlu task 1 of 2>)" in done.stdout
    assert "('above', 80)" in done.stdout


def test_the_switch_of_the_page_shows_all_frames(tmp_path):
    """`MLUSIM_TRACEBACK=full python script.py`."""
    (tmp_path / "program.py").write_text(PROGRAM)
    shown = [
        subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        ).stderr.count("\n  File ")
        for environment in ({}, {FULL: "full"})
    ]

    assert shown[0] == 4
    assert shown[1] > 8


def test_an_instruction_of_no_line_is_shown_at_its_function():
    def plain(mlu):
        mlu.bang_add(mlu.nram(float32, 8), mlu.nram(float32, 8), mlu.nram(float32, 8), 80)

    first = plain.__code__.co_firstlineno
    plain.__code__ = plain.__code__.replace(co_linetable=b"")
    with pytest.raises(Fault) as caught:
        mlusim.Device().launch(kernel(plain), 1)
    assert [line for _, line in traceback.walk_tb(caught.value.__traceback__)][-1] == first
