"""What holds for compiled code (BANG C) and not for kernels in Python: memory cores without guards, whole memories."""

import numpy as np
import pytest

import mlusim
from mlusim.bang import GDRAM2NRAM, GDRAM2SRAM, NRAM2GDRAM, NRAM2NRAM, SRAM2NRAM, float32, int8, kernel
from mlusim.errors import OutOfMemory, Unsupported
from mlusim.machine.kernel import Kernel

N = 64


class Compiled(Kernel):
    """A kernel as the front end of BANG C makes one."""

    compiled = True


def unguarded(mlu, dst, src):
    """The way of vendor kernels: every core runs everything."""
    shared, own = mlu.shared(float32, N), mlu.nram(float32, N)
    mlu.memcpy(shared, src, 4 * N, GDRAM2SRAM)
    mlu.sync_cluster()
    mlu.memcpy(own, shared, 4 * N, SRAM2NRAM)
    mlu.bang_add_scalar(own, own, 1, N)
    own[0] = own[0] + mlu.bang_count(own, N)
    if mlu.coreId == 0:
        mlu.memcpy(dst, own, 4 * N, NRAM2GDRAM)


def launched(body, *, made=Compiled, checks=(), **options):
    """The tensor that *body* fills from 0, 1, 2, ..., and the launch."""
    device = mlusim.Device("MLU590-H8")
    src, dst = device.put(np.arange(N, dtype=np.float32)), device.empty(N, np.float32)
    options = {"dim": (4, 1, 1), "kind": mlusim.UNION1} | options
    launch = device.launch(made(body), args=(dst, src), observe=list(checks), **options)
    return device.get(dst), launch


def test_vector_code_on_a_memory_core_has_no_effect():
    """Without a guard the results are those of the IPU cores; the one finding names the guard and all lines that need it."""
    checks = ("memcheck", "initcheck", "racecheck", "synccheck")

    found, launch = launched(unguarded, checks=checks)

    assert [1 + N, *range(2, N + 1)] == found.tolist()
    (finding,) = launch.findings
    assert "memcheck-memory-core" == finding.id
    assert "`if mlu.is_mpu(): return`" in finding.hint
    assert ["mlu.bang_add_scalar there, too", "scalar load there, too"] == [
        p.message for p in finding.places
    ][:2]


def test_a_union_copies_between_gdram_and_sram_once():
    """Five cores run the copy, the memory core does it; the others' copies are not counted."""
    _, launch = launched(unguarded)

    assert 4 * N == launch.traffic["GDRAM2SRAM"]
    assert 4 * 4 * N == launch.traffic["SRAM2NRAM"]
    assert 4 == launch.instructions["__bang_add_scalar"]


def test_numbers_of_a_memory_core_stay_there():
    """Its declarations begin as zeros, its stores reach nothing that others see, and results are 0."""
    seen = []

    def body(mlu, dst, _):
        own, weights = mlu.nram(float32, N), mlu.wram(float32, N)
        if mlu.is_mpu():
            own[1] = 5
            seen.extend([own[0], own[1], weights[0], mlu.bang_sum(own, N)])
        elif mlu.coreId == 0:
            own.view.array[:] = 2
            mlu.memcpy(dst, own, 4 * N, NRAM2GDRAM)

    found, _ = launched(body)

    assert [0, 5, 0, 0] == seen
    assert [2] * N == found.tolist()


def test_a_kernel_in_python_is_told():
    """There a missing guard is a fault, as before."""
    with pytest.raises(Unsupported, match="memory core"):
        launched(unguarded, made=kernel)


def test_compiled_code_may_declare_a_whole_memory():
    """All of NRAM and SRAM; kernels in Python are held to what the library leaves to them."""
    arch = mlusim.Device("MLU590-H8").board.arch

    def whole(mlu, dst, _):
        if mlu.is_ipu():
            mlu.nram(int8, arch.nram)
        mlu.shared(int8, arch.sram)

    launched(whole)
    with pytest.raises(OutOfMemory, match=f"{arch.nram} bytes does not fit: {arch.max_nram} of"):
        launched(lambda mlu, dst, _: mlu.nram(int8, arch.nram), made=kernel)
    with pytest.raises(OutOfMemory, match=f"{arch.sram} bytes does not fit"):
        launched(whole, made=kernel)
    with pytest.raises(OutOfMemory, match="1 byte does not fit"):
        launched(lambda mlu, dst, _: (mlu.nram(int8, arch.nram), mlu.nram(int8, 1)))


def inside(mlu, dst, src):
    """A copy inside NRAM that is waited for with the compute stream, as vendor kernels do."""
    first, second = mlu.nram(float32, N), mlu.nram(float32, N)
    mlu.memcpy(first, src, 4 * N, GDRAM2NRAM)
    mlu.memcpy_async(second, first, 4 * N, NRAM2NRAM)
    mlu.sync_compute()
    mlu.bang_add_scalar(second, second, 1, N)
    mlu.memcpy(dst, second, 4 * N, NRAM2GDRAM)


@pytest.mark.parametrize("effects", ["late", "eager"])
def test_a_copy_inside_nram_completes_for_a_wait_for_computing(effects):
    """Right results with late effects too, and no race."""
    found, launch = launched(
        inside, made=kernel, dim=(1, 1, 1), kind=mlusim.BLOCK, checks=("racecheck",), effects=effects
    )

    assert list(range(1, N + 1)) == found.tolist()
    assert [] == list(launch.findings)


def test_other_copies_of_the_move_dma_do_not():
    """One from SRAM behind the one inside NRAM is still on its way: a race, and late effects show it."""

    def body(mlu, dst, _):
        shared = mlu.shared(float32, N)
        if mlu.is_mpu():
            return
        first, second, third = (mlu.nram(float32, N) for _ in range(3))
        mlu.bang_write_value(first, N, np.float32(3))
        mlu.bang_write_value(third, N, np.float32(7))
        mlu.sync_compute()
        mlu.memcpy_async(second, first, 4 * N, NRAM2NRAM)
        mlu.memcpy_async(third, shared, 4 * N, SRAM2NRAM)
        mlu.sync_compute()
        mlu.bang_add(second, second, third, N)
        mlu.sync()
        if mlu.coreId == 0:
            mlu.memcpy(dst, second, 4 * N, NRAM2GDRAM)

    found, launch = launched(body, made=kernel, checks=("racecheck",))

    assert [10] * N == found.tolist()
    assert ["racecheck-read-after-write"] == sorted({f.id for f in launch.findings})
