"""Kernels of BANG C without a guard for memory cores: what they leave, in which order, and what is said of them."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.cli.main import main
from mlusim.engine.preference import MEMORY_CORES

SOURCE = """
#include <bang.h>
__mlu_entry__ void Count(int *to, const float *from, int guarded) {
  if (guarded && __is_mpu()) return;
  __nram__ float b[64];
  __memcpy(b, from + taskId * 64, 256, GDRAM2NRAM);
  __bang_gt_scalar(b, b, 0, 64);
  to[taskId] = __bang_count(b, 64);
}
__mlu_entry__ void Index(float *to, const float *score) {
  __nram__ int where[64];
  if (__is_ipu()) where[0] = 5;
  float at = score[where[0]];
  if (__is_ipu()) to[taskId] = at;
}
__mlu_entry__ void Copies(float *to) {
  __nram__ float b[64];
  if (__is_ipu()) __bang_write_value(b, 64, 2.0f);
  __memcpy(to + taskId * 64, b, 256, NRAM2GDRAM);
}
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    path = tmp_path_factory.mktemp("cores") / "k.mlu"
    path.write_text(SOURCE)
    return bangc.load(path)


def launched(kernels, name, *more, engine="python"):
    """What kernel *name* leaves in a union of two clusters, and its findings by id."""
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(512, np.int32 if name == "Count" else np.float32))
    given = [device.put(one) if isinstance(one, np.ndarray) else one for one in more]
    options = {"engine": engine, "observe": ["memcheck", "racecheck"]}
    launch = device.launch(kernels[name], (8, 1, 1), mlusim.UNION2, [out, *given], **options)
    return device.get(out), {finding.id: finding for finding in launch.findings}


@pytest.mark.parametrize("engine", ["python", "native"])
def test_an_unguarded_store_of_a_memory_core_comes_first_and_is_told(kernels, monkeypatch, engine):
    """The IPU core's value stays, unless memory cores are asked to be last; the finding is the same, and names the guard."""
    ones = np.ones(512, np.float32)
    first, found = launched(kernels, "Count", ones, 0, engine=engine)
    monkeypatch.setenv(MEMORY_CORES, "last")
    last, others = launched(kernels, "Count", ones, 0, engine=engine)
    _, guarded = launched(kernels, "Count", ones, 1, engine=engine)

    assert [64] * 8 == first[:8].tolist()
    assert [0, 64, 64, 64, 0, 64, 64, 64] == last[:8].tolist()
    assert {"memcheck-memory-core", "racecheck-tasks-write-write"} == found.keys() == others.keys()
    for finding in found.values():
        assert "`if (__is_mpu()) return;` before it (coreId is 0x80 there)" in finding.hint
    assert f"{MEMORY_CORES}=last" in found["racecheck-tasks-write-write"].note
    assert {} == guarded


@pytest.mark.parametrize(
    ("kind", "expected", "said"),
    [("union1", "zeros", True), ("union1", "ones", True), ("block", "zeros", False)],
)
def test_a_failed_comparison_says_that_it_depends_on_memory_cores(tmp_path, capsys, kind, expected, said):
    """Beside what differs, where the other order gives other bytes."""
    path = tmp_path / "k.mlu"
    path.write_text(SOURCE)
    arguments = ["--arg", "to=out:int32:8", "--arg", "from=ones:float32:512", "--arg", "guarded=0"]
    command = ["run", str(path), "--kernel", "Count", "--dim", "8", "--kind", kind, *arguments, "--expect"]

    assert 1 == main([*command, f"to={expected}:int32:8"])
    told = capsys.readouterr().out
    assert said == (f"with {MEMORY_CORES}=last it differs" in told)


@pytest.mark.parametrize("engine", ["python", "native"])
@pytest.mark.parametrize(("name", "line"), [("Index", 13), ("Copies", 19)])
def test_a_memory_core_that_needs_nram_is_told(kernels, engine, name, line):
    """It indexes with what it never wrote, or copies from there; the manual leaves that copy to other cores."""
    _, found = launched(kernels, name, *[np.zeros(64, np.float32)] * (name == "Index"), engine=engine)

    assert {"memcheck-memory-core": line} == {rule: finding.line for rule, finding in found.items()}
