"""What several tests of three_interpolate_backward share: small inputs, launches with chosen tiles, a recorder."""

import numpy as np

from mlusim import UNION1, Device, Observer
from mlusim.memory.space import Direction
from mlusim.operators.accuracy import judge
from mlusim.operators.spec import Thresholds
from ops.three_interpolate_backward.kernel import MLUUnion1ThreeInterpolateBackward
from ops.three_interpolate_backward.plan import PLAN
from ops.three_interpolate_backward.reference import reference

UNIT = {"float32": 32, "float16": 64}  # elements of 128 bytes


def integers(shape, *, dtype="float32", seed=0):
    """Make inputs for *shape* (B, C, N, M) of small integers, so that every order of summation is exact."""
    b, c, n, m = shape
    rng = np.random.default_rng(seed)
    return {
        "grad_output": rng.integers(-4, 5, (b, c, n)).astype(dtype),
        "indices": rng.integers(0, m, (b, n, 3)).astype(np.int32),
        "weights": rng.integers(-3, 4, (b, n, 3)).astype(dtype),
    }


def layout_of(tiles, *, dtype="float32", board="MLU370-X4", plan=PLAN):
    """Lay out NRAM for *tiles* = (Co, No, Mo)."""
    return plan.layout(board, dict(zip(("Co", "No", "Mo"), tiles, strict=True)), dtype=dtype)


def launched(inputs, m, tiles, *, board="MLU370-X4", clusters=1, plan=PLAN, **options):
    """Run the kernel with *tiles* = (Co, No, Mo) on *clusters* clusters; return (grad_features, launch).

    The output starts as sevens, so that an element that is never written shows.
    """
    device = Device(board)
    grad = inputs["grad_output"]
    b, c, n = grad.shape
    tensors = [device.put(inputs[name]) for name in ("grad_output", "indices", "weights")]
    target = device.put(np.full((b, c, m), 7, grad.dtype))
    layout = layout_of(tiles, dtype=grad.dtype.name, board=board, plan=plan)
    launch = device.launch(
        MLUUnion1ThreeInterpolateBackward,
        (4, clusters, 1),
        UNION1,
        (*tensors, target, b, c, n, m, layout),
        **options,
    )
    return device.get(target), launch


def expected_of(inputs, m):
    """Return grad_features by the definition."""
    return reference(inputs, {"m": m})["grad_features"]


def is_right(found, inputs, m):
    """Return whether *found* is within the document's thresholds of the definition."""
    return judge(found, expected_of(inputs, m), Thresholds(diff1=3e-3, diff2=3e-3)).passed


def directions(effect):
    """Return the direction of a copy, as a list of one; of anything else none."""
    return [argument for argument in effect.arguments if isinstance(argument, Direction)]


class Recorder(Observer):
    """Notes for every task what it did: (name, bytes written), copies with their direction."""

    def __init__(self):
        self.rows = {}
        self.effects = []

    def effect(self, effect):
        """Keep the instruction, and its row without addresses."""
        name = " ".join([effect.name, *(d.name for d in directions(effect))])
        nbytes = sum(access.nbytes for access in effect.writes or effect.reads)
        self.rows.setdefault(effect.core.place.task, []).append((name, nbytes))
        self.effects.append(effect)

    def highest(self, space):
        """Return the byte behind the last one that an instruction touched in *space*."""
        ends = [
            access.span[1]
            for effect in self.effects
            for access in (*effect.reads, *effect.writes)
            if access.allocation.space.name == space
        ]
        return max(ends)
