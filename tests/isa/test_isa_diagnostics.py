"""Dumps that end the kernel, assertions, and the older syncs of one direction."""

import numpy as np
import pytest
from isa_rows import BOARDS, on_core

import mlusim
from mlusim.bang import GDRAM2NRAM, NRAM2GDRAM, NRAM2NRAM, NRAM2SRAM, SRAM2NRAM, float32, half, kernel
from mlusim.errors import RuleFault
from mlusim.isa.table import ISA
from mlusim.memory.space import GDRAM, NRAM, SRAM, WRAM


def test_a_dump_of_scalars_shows_values_and_bits():
    """The kernel ends at the dump, in the file and line of the call."""
    reached = []

    def body(mlu, _):
        mlu.breakdump_scalar(np.float32(1.5), half(2), 7)
        reached.append(1)

    with pytest.raises(RuleFault, match=r"dump of 3 scalars: 1.5 \(3fc00000\), 2.0 \(4000\), 7") as caught:
        on_core(body)

    assert "__breakdump_scalar" == caught.value.intrinsic
    assert __file__ == caught.value.file
    assert not reached


def test_a_dump_of_memory_shows_its_bytes():
    """As many bytes as asked, from where the pointer leads, in the order of their addresses."""

    def body(mlu, _):
        memory = mlu.nram(float32, 4, [1, 2, 3, 4])
        mlu.breakdump_vector(memory + 1, 8, NRAM)

    with pytest.raises(RuleFault, match="dump of 8 bytes of NRAM from 0x200004 on: 00000040 00004040"):
        on_core(body)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (lambda p: (p, 17), "size = 17; legal: 1 to 16 bytes"),
        (lambda p: (p, 0), "size = 0"),
        (lambda p: (p - 1, 4), "size = 4"),
        (lambda p: (p, 4, WRAM), "pointer leads into NRAM; legal: WRAM"),
        (lambda p: (p, 4, SRAM), "pointer leads into NRAM; legal: SRAM"),
        (lambda p: (None, 4, GDRAM), "pointer is None, which is not a pointer"),
    ],
)
def test_a_dump_of_what_is_not_there_is_refused(arguments, said):
    """Beyond the memory, in another memory, no pointer."""
    with pytest.raises(RuleFault, match=said):
        on_core(lambda mlu, _: mlu.breakdump_vector(*arguments(mlu.nram(float32, 4))))


def test_an_empty_dump_is_refused():
    """There has to be something to show."""
    with pytest.raises(RuleFault, match="nothing to show"):
        on_core(lambda mlu, _: mlu.breakdump_scalar())


OLD = [name for name in ISA if name.startswith("sync_copy_")]


@kernel
def three_stages(mlu, out, source, syncs):
    s = mlu.shared(float32, 32)
    if mlu.coreId == 0:
        a, b = mlu.nram(float32, 32), mlu.nram(float32, 32)
        mlu.memcpy_async(a, source, 128, GDRAM2NRAM)
        mlu.sync_copy_gdram_to_nram() if syncs else None
        mlu.memcpy_async(s, a, 128, NRAM2SRAM)
        mlu.sync_copy_nram_to_sram() if syncs else None
        mlu.memcpy_async(b, s, 128, SRAM2NRAM)
        mlu.sync_copy_sram_to_nram() if syncs else None
        mlu.memcpy_async(a, b, 128, NRAM2NRAM)
        mlu.sync_copy_nram_to_nram() if syncs else None
        mlu.memcpy_async(out, a, 128, NRAM2GDRAM)
        mlu.sync_copy_nram_to_gdram()


@pytest.mark.parametrize("board", BOARDS.values())
def test_old_syncs_order_copies_of_their_direction(board):
    """With them every copy sees the one before; without them the race check says so."""
    device = mlusim.Device(board)
    source, out = device.put(np.arange(32, dtype=np.float32)), device.empty(32, float32)
    options = {"dim": (4, 1, 1), "kind": mlusim.UNION1, "observe": ["racecheck"]}

    launch = device.launch(three_stages, args=(out, source, True), **options)

    assert () == launch.findings
    assert list(range(32)) == device.get(out).tolist()
    assert device.launch(three_stages, args=(out, source, False), **options).findings


@pytest.mark.parametrize("name", OLD)
def test_an_old_sync_waits_for_the_pipe_of_its_direction(name):
    """Off the chip the IO-DMA, on it the move-DMA; the other pipe goes on."""
    *_, frm, _, to = name.split("_")
    off_chip = {"gdram", "ldram", "dram"} & {frm, to}

    def run(mlu, heap):
        memory, near, on_chip = (
            mlu.core.bind(heap.allocation, float32),
            mlu.nram(float32, 8),
            mlu.nram(float32, 8),
        )
        mlu.memcpy_async(near, memory, 32, GDRAM2NRAM)
        mlu.memcpy_async(on_chip, on_chip + 4, 16, NRAM2NRAM)
        getattr(mlu, name)()
        return {flight.pipe.value for flight in mlu.core.flights}

    assert {"move-DMA" if off_chip else "IO-DMA"} == on_core(run, effects="late")


def test_there_is_one_for_every_direction_of_asynchronous_copies():
    """The directions of the one-dimensional asynchronous copy, WRAM to GDRAM, and six that are called DRAM."""
    assert 14 + 1 + 6 == len(OLD)
    for name in OLD:
        assert "I" == ISA[name].certainty


@kernel
def behind(mlu, out, source, sync):
    a, b = mlu.nram(float32, 32, [0]), mlu.nram(float32, 32)
    mlu.memcpy_async(b, source, 128, GDRAM2NRAM)
    mlu.memcpy_async(out, a, 128, NRAM2GDRAM)
    getattr(mlu, sync)()
    mlu.bang_add(a, b, b, 32)


@pytest.mark.parametrize(
    ("sync", "rules"),
    [
        ("sync_copy_gdram_to_nram", {"racecheck-write-after-read"}),
        ("sync_copy_nram_to_gdram", set()),
        ("sync_copy_sram_to_gdram", {"racecheck-read-after-write"}),
        ("sync_copy_nram_to_sram", {"racecheck-read-after-write"}),
    ],
)
def test_copies_of_another_direction_are_not_waited_for(sync, rules):
    """What was issued behind the last copy of the direction is still on its way; what was before it is not."""
    device = mlusim.Device("MLU370-X4")
    source, out = device.put(np.ones(32, np.float32)), device.empty(32, float32)

    launch = device.launch(behind, args=(out, source, sync), observe=["racecheck"])

    assert rules == {finding.id for finding in launch.findings}
