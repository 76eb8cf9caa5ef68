"""Operators whose kernels run from kernel.mlu in place of kernel.py: what each of both did, to compare."""

import numpy as np

from mlusim import Observer
from mlusim.host import Handle
from mlusim.machine.native.build import available
from mlusim.operators.registry import find_operator
from mlusim.operators.runner import SourceHandle, attempt, case_generator
from mlusim.time.log import LOADS, STORES, loads_of

OPERATORS = (
    "border_align_backward",
    "three_interpolate_backward",
    "tin_shift_forward",
    "tin_shift_backward",
    "dynamic_scatter_backward",
    "mutual_information_backward",
)
NATIVE = "native" if available() is not None else "python"  # without a compiler there is one engine
BOARDS = ("MLU370-X4", "MLU590-H8")


SCALARS = 0.15
"""How far the times of both sources may lie apart: C says what waits for a scalar load, a kernel in Python does not (docs/operators/index.md)."""


def steps(log):
    """Return the rows of a core's log, with scalar loads by their memory alone and not by what waits for them."""
    rows = np.concatenate([*log]).astype(np.int64)
    loads = loads_of(rows).sum(axis=1)
    rows[:, LOADS:STORES] = 0
    rows[:, LOADS : LOADS + loads.shape[1]] = loads
    return rows.tolist()


class Sequence(Observer):
    """A digest for each task of each launch, over its instructions and scalar accesses in their order.

    An entry has the name, each operand's space, bytes and strides, and its place where that is GDRAM.
    """

    def __init__(self):
        self.launches = []

    def launch_begin(self, _launch):
        """Begin the digests of a launch."""
        self.launches.append({})

    def effect(self, effect):
        """Take one instruction in."""
        step = effect.step
        entry = (step.name, tuple(map(seen, step.reads)), tuple(map(seen, step.writes)))
        digests = self.launches[-1]
        task = effect.core.place.task
        digests[task] = hash((digests.get(task), entry))


def seen(access):
    """What is compared of an operand: layouts on chip may differ, tensors lie alike."""
    space = access.allocation.space.name
    place = access.allocation.address + access.start if space == "GDRAM" else None
    return space, place, access.size, access.steps


def performed(operator, case, board, *, source, observe=(), engine="auto", policy=None):
    """Run a case from kernel.py or, with *source*, from kernel.mlu."""
    spec = find_operator(operator)
    options = {"observe": observe, "policy": policy}
    handle = SourceHandle(board, engine=engine, **options) if source else Handle(board, **options)
    inputs, params = case.make(case_generator(case))
    return attempt(spec, inputs, params, handle=handle)
