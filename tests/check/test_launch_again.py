"""Launches that are kept and made again: the same bytes, on a device of their own."""

import numpy as np
import pytest

import mlusim
from mlusim.errors import Fault
from mlusim.machine.hub import attending
from mlusim.programs.launch_again import LaunchKeeper

SOURCE = """\
struct Given { float *to; int n; const float *from[2]; };
__nram__ float near_[64];
__mlu_entry__ void Add(Given g, float *out, half by) {
  __memcpy(near_, g.from[1], g.n * 4, GDRAM2NRAM);
  g.to[0] += near_[g.n - 1] + (float)by;
  out[0] = g.to[0];
  if (g.n > 64) __bang_printf("%f", g.to[g.n]);
}
"""


@pytest.fixture
def kernel(tmp_path):
    """The kernel."""
    (tmp_path / "add.mlu").write_text(SOURCE)
    return mlusim.bangc.load(tmp_path / "add.mlu")["Add"]


def test_a_launch_is_made_again_with_what_it_began_with(kernel):
    """Pointers into tensors and in structures lead to copies; what the program has stays as it is."""
    device, keeper = mlusim.Device(), LaunchKeeper()
    to, out = device.put(np.array([1, 2], np.float32)), device.empty(4, "float32")
    source = device.put(np.arange(8, dtype=np.float32))
    with attending([keeper]):
        for _ in range(3):
            device.launch(kernel, args=[(to + 1, 4, (None, source + 2)), out + 3, 0.5])
        device.launch(kernel, args=[(to + 1, 4, (None, source)), out, 0.5], dim=(2, 1, 1))
    first, second = keeper.launches.values()

    assert [2 + 3 * 5.5 + 2 * 3.5] == device.get(to)[1:].tolist()
    assert (1, 1, 1) == first.dim
    assert (2, 1, 1) == second.dim
    for _ in range(2):
        stored = Stored()
        assert {"GDRAM": 2} == first.run([stored]).launch.scalar_stores
        assert [7.5, 7.5] == stored.made
    assert [2 + 3 * 5.5 + 2 * 3.5] == device.get(to)[1:].tolist()


class Stored(mlusim.Observer):
    """Hears what is stored to GDRAM."""

    def __init__(self):
        self.made = []

    def effect(self, effect):
        """Keep the store's allocation for its value."""
        self.made += [a for a in effect.writes if a.allocation.space.name == "GDRAM"]

    def launch_end(self, launch):
        """Read the values."""
        del launch
        self.made = [float(a.allocation.raw[a.start : a.start + 4].view(np.float32)[0]) for a in self.made]


def test_a_launch_with_a_fault_is_not_kept(kernel):
    """It would come to no end again."""
    device, keeper = mlusim.Device(), LaunchKeeper()
    x = device.put(np.ones(4, np.float32))
    with attending([keeper]), pytest.raises(Fault):
        device.launch(kernel, args=[(x, 60, (None, x)), x, 0.5])

    assert {} == keeper.launches
