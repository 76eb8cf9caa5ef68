"""Where instructions are, whatever stands between them and the kernel."""

from pathlib import Path

import mlusim
from mlusim.bang import NRAM2GDRAM, float32, kernel
from mlusim.kernel_frames import OWN, own_file
from mlusim.machine.hub import Observer

HELPERS = """
def copied(mlu, out, buffer):
    mlu.memcpy(out, buffer, 32, direction)

def summed(mlu, out, buffer):
    mlu.bang_add(buffer, buffer, buffer, 8)
    buffer[0] = 1.0
    copied(mlu, out, buffer)
"""


class _Sites(Observer):
    def __init__(self):
        self.seen = []

    def issue(self, effect):
        self.seen.append((effect.name, effect.site.line))


def _helper():
    """The function of a file of mlusim's own."""
    names = {"direction": NRAM2GDRAM}
    exec(compile(HELPERS, f"{OWN}helpers.py", "exec"), names)  # noqa: S102 - a file of mlusim's as it might be
    return names["summed"]


def test_helpers_of_mlusim_do_not_hide_the_kernel():
    """Instructions, copies and scalar accesses of a helper are at the kernel's line, also when they come again."""
    summed = _helper()

    @kernel
    def twice(mlu, out):
        buffer = mlu.nram(float32, 8)
        for _ in range(2):
            summed(mlu, out, buffer)
        summed(mlu, out, buffer)

    device, sites = mlusim.Device(), _Sites()
    device.launch(twice, 1, args=(device.empty(8, float32),), observe=(sites, mlusim.EveryStep()))
    first = twice.body.__code__.co_firstlineno + 4
    lines = [first] * 2 + [first + 1]

    assert [(n, line) for line in lines for n in ("bang_add", "scalar store", "memcpy")] == sites.seen


def test_installed_operators_are_kernels():
    """Files of mlusim are its own, those of the operators in an installed one are not."""
    assert own_file(OWN + "bang.py")
    assert not own_file(str(Path(OWN, "ops", "div", "kernel.py")))
