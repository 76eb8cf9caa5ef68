"""Inline assembly with operands: memory as the type of the mnemonic, numbers, results."""

import numpy as np
import pytest
from engines import NATIVE, alike

import mlusim
from mlusim import bangc
from mlusim.errors import Fault, Unsupported

SOURCE = r"""
#include "mlu.h"
__mlu_global__ void fused(float *out, const float *in, int n) {
  __nram__ float a[64];
  __nram__ float b[64];
  __memcpy(a, in, n * sizeof(float), GDRAM2NRAM);
  __asm__ volatile("fuse.nram.f32 [%[dst]], %[num], [%[src]], .mul(%[two]), .add([%[more]]);\n\t" ::[dst] "r"(b),
                   [num] "r"(n), [src] "r"(a), [two] "r"(2.0f), [more] "r"(a));
  __asm__ volatile("fuse.nram.s32 [%[dst]], %[num], [%[src]], .and(%[bits]);" ::[dst] "r"((int *)b), [num] "r"(n),
                   [src] "r"((int *)b), [bits] "r"(0x7fffffff));
  __asm__ volatile("sync;");
  __memcpy(out, b, n * sizeof(float), NRAM2GDRAM);
}
__mlu_global__ void highest(int *out, unsigned value) {
  unsigned found = 0;
  asm volatile("findlast1.gpr.b32 %[dst], %[src];\n\t" : [dst] "+&r"(found) : [src] "r"(value));
  out[0] = found;
}
__mlu_global__ void wrong(int n) {
  __nram__ float a[16];
  __asm__ volatile("sync;\n fuse.nram.f32 [%0], %1, [%0], .mul(%2);" ::"r"(a), "r"(n + 64), "r"(2.0f));
}
__mlu_global__ void strange() { asm volatile("frobnicate %0;" ::"r"(1)); }
"""


@pytest.fixture(name="module", scope="module")
def load(tmp_path_factory):
    """The kernels above."""
    path = tmp_path_factory.mktemp("assembly") / "assembly.mlu"
    path.write_text(SOURCE)
    return bangc.load(path, board="MLU370-X4")


def launched(module, name, out, *args):
    """What a kernel leaves in its first argument."""
    device = mlusim.Device("MLU370-X4")
    tensor = device.put(out)
    device.launch(
        module[name], args=(tensor, *(device.put(a) if isinstance(a, np.ndarray) else a for a in args))
    )
    return device.get(tensor)


def test_fused_instructions_work_on_memory_of_their_type(module):
    """Three times the number without its sign: a multiplication, an addition, and bits of integers."""
    values = np.linspace(-3, 3, 16).astype(np.float32)

    found = launched(module, "fused", np.zeros(16, np.float32), values, 16)

    assert np.abs(values * 2 + values).tolist() == found.tolist()


def test_a_result_is_stored_in_its_operand(module):
    """The highest bit of a number."""
    assert [10] == launched(module, "highest", np.zeros(1, np.int32), 1500).tolist()


@pytest.mark.parametrize("n", [16, 17])
def test_assembly_is_the_same_in_c(module, n):
    """Fused instructions and results that are stored, with their counts, times and sentences."""
    values = np.linspace(-3, 3, 64).astype(np.float32)
    assert NATIVE == alike(module["fused"], [np.zeros(64, np.float32), values, n]).engine
    assert NATIVE == alike(module["highest"], [np.zeros(1, np.int32), 1500 + n]).engine
    assert isinstance(alike(module["wrong"], [n]), Fault)


def test_an_unknown_instruction_is_a_fault_that_names_it(module):
    """With what is known, at its line."""
    with pytest.raises(Unsupported, match="`frobnicate` is not an instruction of assembly") as caught:
        mlusim.Device("MLU370-X4").launch(module["strange"])

    assert caught.value.file.endswith("assembly.mlu")


def test_a_fusor_is_a_chain_of_steps(load):
    """``bang::experimental::fusor``: each step reads what the one before left; values are numbers or vectors."""
    text = r"""
#include "bang_fusor.h"
__mlu_global__ void chain(float *out, float *in, int n) {
  __nram__ float a[64];
  __nram__ float b[64];
  __memcpy(a, in, n * sizeof(float), GDRAM2NRAM);
  bang::experimental::fusor<float>(b, a, n).mul(4.0f).sqrt().add(a).sub(1.0f);
  __memcpy(out, b, n * sizeof(float), NRAM2GDRAM);
}
"""
    values = np.array([1, 4, 9, 16], np.float32)

    found = launched(load(text), "chain", np.zeros(4, np.float32), values, 4)

    assert [2, 7, 14, 23] == found.tolist()
