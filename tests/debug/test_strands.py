"""Strands that are resumed from anywhere: NumPy looks at the C stack, and must find the strand's own."""

import gc
import subprocess
import sys
import threading

from greenlet import greenlet

import mlusim

WALK = """
import random
import numpy as np
from mlusim.machine.scheduling.carrier import Carriers, Strand
from contextvars import Context

def deeper(draw, depth, act):
    if depth == 0:
        return act()
    below = lambda _: deeper(draw, depth - 1, act) or 0
    return draw.choice([
        lambda: max([0], key=below),
        lambda: sorted([0], key=below),
        lambda: list(map(below, [0])),
        lambda: eval("below(0)", {"below": below}),
    ])()

def body():
    large = np.ones(1 << 16)
    for _ in range(40):
        result.append(float(((large * 2 + 1) - (large + 3) * 2)[0]))
        strand.pause()

for seed in range(25):
    draw, result = random.Random(seed), []
    strand = Strand(INNER)
    for _ in range(40):
        deeper(draw, draw.randrange(12), strand.resume)
    assert result == [-5.0] * 40
print("done")
"""


def walked(inner):
    """What a process says whose strands run *inner*."""
    text = WALK.replace("INNER", inner)
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, timeout=300
    )
    return done.returncode, done.stdout, done.stderr


def test_numpy_on_a_strand_that_is_resumed_from_anywhere():
    """Large temporaries in a strand's own code, as in a program after its first launch."""
    assert (0, "done\n", "") == walked("body")


def test_numpy_on_a_core_that_is_resumed_from_anywhere():
    """The same on a carrier inside the strand, as in a kernel that the debugger has stopped."""
    assert (0, "done\n", "") == walked("lambda: Carriers(Context()).carry(body).resume()")


def test_a_thread_leaves_no_strand():
    """Strands outlive a launch in the main thread only: nothing could end them when another one is over."""
    device = mlusim.Device("MLU370-X4")
    device.launch(lambda mlu: None, 2)
    before = _strands()
    thread = threading.Thread(target=device.launch, args=(lambda mlu: None, 2))
    thread.start()
    thread.join()

    assert before == _strands()


def _strands():
    """Greenlets but those that threads begin on, which greenlet frees some time after a thread is joined."""
    gc.collect()
    found = [
        one for one in gc.get_objects() if issubclass(type(one), greenlet)
    ]  # not by ``__class__``, of which others make what they like
    return sum(one.parent is not None for one in found)
