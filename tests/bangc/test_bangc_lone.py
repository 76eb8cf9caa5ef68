"""What compiled code relies on that a kernel in Python is not given: SRAM of a lone Block task, signed built-in variables."""

import numpy as np
import pytest

import mlusim
from mlusim import bangc
from mlusim.errors import Unsupported

SOURCE = """\
__mlu_shared__ int flag[4];
__nram__ int row[16];
__mlu_global__ void Lone(int *out, int copies) {
  flag[1] = 7;
  if (copies) __memcpy(flag, row, 16, NRAM2SRAM);
  out[0] = flag[1] + 1;
}
__mlu_func__ int later(const int &start, const int &step) { return start * 10 + step; }
__mlu_global__ void Refers(int *out) {
  const int &mine = taskId;
  out[taskId] = later(taskId, taskDim) + 100 * mine;
}
__mlu_global__ void Shares(int *out, int left) {
  int start = taskId - left <= 0 ? taskId * 2 : left * 2 + (taskId - left);
  out[taskId] = start + (taskIdX - 5) / 2 + (coreId - (int)coreDim < 0) * 100;
}
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory):
    """The source, loaded once."""
    path = tmp_path_factory.mktemp("lone") / "lone.mlu"
    path.write_text(SOURCE)
    return bangc.load(path)


@pytest.mark.parametrize("engine", ["python", "native"])
def test_sram_of_a_lone_block_task_is_its_own(module, engine):
    """It is stored to and loaded from; copies to it, and SRAM of more tasks, are refused."""
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(1, np.int32))
    device.launch(module["Lone"], dim=1, kind=mlusim.BLOCK, engine=engine, args=(out, 0))

    assert [8] == device.get(out).tolist()
    with pytest.raises(Unsupported, match="a Block task cannot copy NRAM2SRAM"):
        device.launch(module["Lone"], dim=1, kind=mlusim.BLOCK, engine=engine, args=(out, 1))
    with pytest.raises(Unsupported, match="a Block task shares no SRAM"):
        device.launch(module["Lone"], dim=2, kind=mlusim.BLOCK, engine=engine, args=(out, 0))


@pytest.mark.parametrize("engine", ["python", "native"])
def test_built_in_variables_are_signed(module, engine):
    """A difference of one may be below zero; a constant reference to one has its value."""
    device = mlusim.Device("MLU370-X4")
    out = device.put(np.zeros(4, np.int32))
    device.launch(module["Shares"], dim=4, kind=mlusim.BLOCK, engine=engine, args=(out, 3))

    assert [98, 100, 103, 105] == device.get(out).tolist()
    device.launch(module["Refers"], dim=4, kind=mlusim.BLOCK, args=(out,))

    assert [4, 114, 224, 334] == device.get(out).tolist()
