"""`mlusim.profiled` collects launches; a launch shows itself, and writes its trace and page."""

import json

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, float32, kernel
from mlusim.errors import UsageError


@kernel
def double(mlu, x):
    """Double 64 elements."""
    b = mlu.nram(float32, 64)
    mlu.memcpy(b, x, 256, GDRAM2NRAM)
    mlu.bang_add(b, b, b, 64)
    mlu.memcpy(x, b, 256, NRAM2GDRAM)


def _launch(**options):
    device = mlusim.Device("MLU370-X4")
    return device.launch(double, args=(device.put(np.ones(64, np.float32)),), **options)


def test_launches_inside_are_collected_and_no_others():
    """Each launch inside is kept, in its order, with its lines; those outside are as ever."""
    _launch()
    with mlusim.profiled() as p:
        first, second = _launch(), _launch(timing=False)
    last = _launch()

    assert [first, second] == p.launches
    assert first.lines
    assert not last.timeline.named


def test_checkers_and_lines_on_request():
    """Checkers that are named watch too; without lines nothing is kept of instructions."""
    with mlusim.profiled(lines=False, check=["memcheck"]) as p:
        _launch()

    assert ["memcheck", "profile"] == [observer.name for observer in p.launches[0].observers]
    assert not p.launches[0].timeline.named


def test_a_launch_shows_itself(capsys, tmp_path):
    """What is printed begins with the kernel and says why; the files hold the same launch."""
    with mlusim.profiled() as p:
        launch = _launch()
    launch.show()
    shown = capsys.readouterr().out
    unfolded = " ".join(shown.split())
    launch.trace(str(tmp_path / "t.json"))
    launch.html(str(tmp_path / "p.html"))

    assert shown.startswith("double on MLU370-X4, 1,1,1 BLOCK: ")
    assert all(f"because {words}" in unfolded for words in launch.because)
    assert "test_profiled.py:" in shown
    assert ["double"] == json.loads((tmp_path / "t.json").read_text())["otherData"]["kernels"]
    assert "mlu.bang_add(b, b, b, 64)" in (tmp_path / "p.html").read_text()
    assert pytest.approx(launch.time_us) == p.time_us


def test_a_launch_without_timing_says_so(capsys, tmp_path):
    """It is shown without times; of a trace it has nothing."""
    launch = _launch(timing=False)
    launch.show()

    assert "not timed" in capsys.readouterr().out
    assert () == launch.because
    with pytest.raises(UsageError, match="without timing"):
        launch.trace(str(tmp_path / "t.json"))


def test_nothing_collected_is_said(capsys, tmp_path):
    """An empty profile says that nothing was launched."""
    with mlusim.profiled() as p:
        pass
    p.show()

    assert "nothing was launched\n" == capsys.readouterr().out
    with pytest.raises(UsageError, match="nothing was launched"):
        p.trace(str(tmp_path / "t.json"))
