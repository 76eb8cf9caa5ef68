"""What several tests of border_align_backward share: small inputs, launches of any kernel, a recorder."""

import numpy as np

from mlusim import UNION1, Device, Observer
from mlusim.operators.accuracy import judge
from mlusim.operators.spec import Thresholds
from ops.border_align_backward.cases import CASES
from ops.border_align_backward.kernel import MLUUnion1BorderAlignBackward
from ops.border_align_backward.plan import PLAN
from ops.border_align_backward.reference import reference

NAME = "border_align_backward"
BOARDS = ("MLU370-X4", "MLU590-H8")


def named(name):
    """Return the case of that name."""
    return next(case for case in CASES if case.name == name)


def exact(images=2, size=(3, 4), channels=3, pool_size=4, *, dtype="float32", seed=0):
    """Make inputs whose sums are exact in every order: small integers, corners in quarters, P a power of two.

    Boxes lie up to a pixel outside features of *size* (H, W), and no two of them are alike.
    """
    rng = np.random.default_rng(seed)
    height, width = size
    count = height * width
    shape = (images, count, 4, channels)
    x = np.sort(rng.integers(-4, 4 * width, (images, count, 2)), axis=2) / 4
    y = np.sort(rng.integers(-4, 4 * height, (images, count, 2)), axis=2) / 4
    inputs = {
        "grad_output": rng.integers(1, 5, shape).astype(dtype),
        "boxes": np.stack([x[..., 0], y[..., 0], x[..., 1], y[..., 1]], axis=2).astype(dtype),
        "argmax_idx": rng.integers(0, pool_size, shape, endpoint=True).astype(np.int32),
    }
    return inputs, {"pool_size": pool_size, "height": height, "width": width}


def layout_of(channels, *, dtype="float", board="MLU370-X4", deal_num=None):
    """Return the NRAM layout for *channels*, or one with *deal_num* channels a pass."""
    if deal_num is None:
        return PLAN.describe(board, dtype=dtype, C=channels)
    return PLAN.layout(board, dtype=dtype, deal_num=deal_num, C=channels)


def launched(
    made, *, kernel=MLUUnion1BorderAlignBackward, last=None, start=0, board="MLU370-X4", clusters=1, **options
):
    """Launch *kernel* on *clusters* clusters; return (grad_input, launch).

    *last* is the kernel's last argument, by default the layout; *start* fills grad_input before.
    """
    inputs, params = made
    device = Device(board)
    grads = inputs["grad_output"]
    images, count, _, channels = grads.shape
    height, width = params["height"], params["width"]
    tensors = [device.put(inputs[name]) for name in ("grad_output", "boxes", "argmax_idx")]
    target = device.put(np.full((images, height, width, 4 * channels), start, grads.dtype))
    sizes = (images, count, height, width, channels)
    last = layout_of(channels, dtype=tensors[0].dtype.name, board=board) if last is None else last
    arguments = (*tensors, params["pool_size"], target, *sizes, last)
    cores = device.board.arch.cores_per_cluster
    launch = device.launch(kernel, (cores, clusters, 1), UNION1, arguments, **options)
    return device.get(target), launch


def expected_of(made):
    """Return grad_input by the definition."""
    return reference(*made)["grad_input"]


def is_right(found, made):
    """Return whether *found* is within the thresholds of the definition."""
    return judge(found, expected_of(made), Thresholds(diff1=3e-3, diff2=3e-3)).passed


class Recorder(Observer):
    """Notes for every task what it did, and the highest byte of NRAM that any instruction touched.

    A row is (instruction, bytes of the destination, then the first byte of each operand in GDRAM).
    """

    def __init__(self):
        self.rows = {}
        self.touched = 0

    def effect(self, effect):
        """Keep the instruction and what it touched."""
        for access in (*effect.reads, *effect.writes):
            if access.allocation.space.name == "NRAM":
                self.touched = max(self.touched, access.span[1])
        if effect.writes:
            remote = (a.start for a in effect.reads + effect.writes if a.allocation.space.name == "GDRAM")
            starts = tuple(dict.fromkeys(remote))  # an atomic reads and writes the same bytes
            row = (effect.name, effect.writes[0].nbytes, *starts)
            self.rows.setdefault(effect.core.place.task, []).append(row)
