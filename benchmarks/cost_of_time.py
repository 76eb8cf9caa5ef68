"""The cost of predicting the time, and of recording every instruction for traces and lines."""

import functools
import statistics
import time
from collections.abc import Iterator
from unittest import mock

import numpy as np

import ops
from benchmarks.timing import Row
from mlusim.machine.device import Device
from mlusim.machine.hub import EveryStep, Observer

LIMIT = 1.3
LIMIT_STEPS = 3.5


def cost_of_time() -> Iterator[Row]:
    """Yield the rows: border_align_backward at network scale, in turn with and without."""
    generator = np.random.default_rng(0)
    k, h, w = 300, 15, 20
    low = generator.uniform(0, min(h, w) / 2, (2, k, 2))
    inputs = {
        "grad_output": generator.standard_normal((2, k, 4, 256), np.float32),
        "boxes": np.concatenate([low, low + generator.uniform(1, min(h, w) / 2, (2, k, 2))], 2).astype(
            np.float32
        ),
        "argmax_idx": generator.integers(0, 11, (2, k, 4, 256)).astype(np.int32),
    }
    params = {"pool_size": 10, "height": h, "width": w}

    def seconds(*observe: Observer) -> float:
        start = time.process_time()
        ops.run("border_align_backward", inputs, params, board="MLU370-X4", observe=observe)
        return time.process_time() - start

    untimed = functools.partialmethod(Device.launch, timing=False)
    pairs = []
    for _ in range(5):
        on = seconds()
        with mock.patch.object(Device, "launch", untimed):
            pairs.append((on, seconds()))
    on, off = (statistics.median(p[n] for p in pairs) for n in (0, 1))
    detail = f"{on * 1e3:.0f} ms, off {off * 1e3:.0f} ms"
    yield Row(
        f"timing of border_align_backward [2,{k},4,256]",
        statistics.median(a / b for a, b in pairs),
        LIMIT,
        "x timing off",
        detail,
    )
    watched = [(seconds(EveryStep()), seconds()) for _ in range(3)]
    on, off = (statistics.median(p[n] for p in watched) for n in (0, 1))
    yield Row(
        f"every instruction of border_align_backward [2,{k},4,256]",
        statistics.median(a / b for a, b in watched),
        LIMIT_STEPS,
        "x not kept",
        f"{on * 1e3:.0f} ms, not kept {off * 1e3:.0f} ms",
    )
