"""What declared an allocation travels as a value; the sentence is made of it."""

import numpy as np

import mlusim
from mlusim.bang import float32, kernel
from mlusim.memory.allocation import MemoryDeclaration
from mlusim.memory.space import GDRAM, NRAM


def test_a_declaration_of_a_kernel():
    """Space, type, count, file and line of the statement; in words the file without its folders."""
    found = []

    def declares(mlu):
        found.append(mlu.nram(float32, 128).view.allocation.declared)

    mlusim.Device().launch(kernel(declares))
    line = declares.__code__.co_firstlineno + 1

    assert [MemoryDeclaration(NRAM, float32, 128, __file__, line)] == found
    assert f"NRAM float[128] declared at tests/memory/test_declaration.py:{line}" == str(found[0])


def test_a_declaration_of_the_host():
    """A tensor has its shape, and says whether a kernel may write it."""
    device = mlusim.Device()
    array = np.zeros((2, 3), np.float32)
    tensor, lent = device.put(array).allocation, device.share(array).allocation

    assert MemoryDeclaration(GDRAM, float32, 6, shape=(2, 3)) == tensor.declared
    assert ("tensor float[2, 3]", "const tensor float[2, 3]") == (tensor.site, lent.site)
