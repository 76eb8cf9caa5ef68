"""Kernels that fill the memories of the chip, which an observer looks at when a task ends."""

import numpy as np

from benchmarks.vendor.bench import Bench, case
from mlusim.machine.hub import Observer
from mlusim.memory.space import NRAM, WRAM

FOLDER = "test/mlu_op_gtest/pb_gtest/src/internal_kernel"
PATTERNS = ((np.uint16, 0xFFFF), (np.uint32, 0x7FC00000), (np.uint16, 0xFC00), (np.uint32, 0x7F800000))


class Memories(Observer):
    """Keeps what the cores' own memories hold when their tasks end."""

    name = "memories"

    def __init__(self) -> None:
        self.kept: list[np.ndarray] = []

    def task_end(self, core) -> None:
        """Copy the declared bytes of NRAM and WRAM."""
        if not core.place.memory_core:
            self.kept += [a.raw.copy() for s in (NRAM, WRAM) for a in core.arenas[s].allocations]


@case(f"{FOLDER}/fill_ram/fill_ram_device.mlu")
def fill_ram(b: Bench) -> None:
    """NaN or infinity of half or float in every word of NRAM and of WRAM."""
    for number, (word, pattern) in enumerate(PATTERNS):
        memories = Memories()
        b.union("MLUBlockKernelFillRam", number, watching=[memories])
        for held in memories.kept:
            words = held.view(word)
            b.compare(words, np.full(words.shape, pattern))
