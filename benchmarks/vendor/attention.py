"""Kernels of losses and sequences."""

import numpy as np

import mlusim
from benchmarks.vendor.bench import Bench, case


@case("kernels/focal_loss_sigmoid/focal_loss_sigmoid_forward_union1.mlu")
def focal_loss(b: Bench) -> None:
    """The loss of each class of each sample."""
    x, target, p, hit, alpha, gamma = scores(b)
    out = b.zeros(x.shape, np.float32)
    sizes = (*x.shape, alpha, gamma)
    b.union("MLUUnion1KernelFocalLossSigmoidForward<float>", 0, b.put(x), b.put(target), None, *sizes, out)
    wanted = np.where(hit, -alpha * (1 - p) ** gamma * np.log(p), -(1 - alpha) * p**gamma * np.log(1 - p))
    b.expect(out, wanted, 1e-4)


@case("kernels/focal_loss_sigmoid/focal_loss_sigmoid_backward_union1.mlu")
def focal_loss_gradient(b: Bench) -> None:
    """The gradient of the loss."""
    x, target, p, hit, alpha, gamma = scores(b)
    out = b.zeros(x.shape, np.float32)
    n, c = x.shape
    name = "MLUUnion1KernelFocalLossSigmoidBackward<float>"
    b.union(name, b.put(x), b.put(target), None, gamma, alpha, n, 64, c, out)
    mine = -alpha * (1 - p) ** gamma * (1 - p - gamma * p * np.log(p))
    others = -(1 - alpha) * p**gamma * (gamma * (1 - p) * np.log(1 - p) - p)
    b.expect(out, np.where(hit, mine, others), 1e-4)


def scores(b: Bench):
    """Scores, targets (one class more than there are), probabilities, which are hit."""
    n, c = 21, 7
    x = b.random.normal(size=(n, c)).astype(np.float32)
    target = b.random.integers(0, c + 1, n).astype(np.int32)
    p = 1 / (1 + np.exp(-x.astype(float)))
    return x, target, p, np.arange(c)[None] == target[:, None], 0.25, 2.0


def lattice(b: Bench):
    """Random steps along both axes, and the logarithms of the sums over all paths."""
    batch, s, t = 3, 5, 7
    px = b.random.normal(size=(batch, s, t + 1)).astype(np.float32)
    py = b.random.normal(size=(batch, s + 1, t)).astype(np.float32)
    sums = b.wanted("mluOpMutualInformationForward", px=px, py=py, opt_boundary=None)["p"]
    return px, py, sums, (batch, s, t)


@case("kernels/mutual_information/mutual_information_forward/mutual_information_forward_3pipeline_block.mlu")
def mutual_information(b: Bench) -> None:
    """The sums over all paths through the lattice."""
    px, py, sums, (batch, s, t) = lattice(b)
    p, answer = b.zeros(sums.shape, np.float32), b.zeros(batch, np.float32)
    given = (batch, s, t, b.put(px), b.put(py), False, None, p, answer)
    b.launch("mluBlock3PipelineMutualInformationForward", *given, dim=(batch, 1, 1), kind=mlusim.BLOCK)
    b.expect(p, sums, 1e-3)
    b.expect(answer, sums[:, s, t], 1e-3)


@case(
    "kernels/mutual_information/mutual_information_backward/mutual_information_backward_3pipeline_block.mlu"
)
def mutual_information_gradient(b: Bench) -> None:
    """How much each step has to do with the answer."""
    px, py, sums, (batch, s, t) = lattice(b)
    gx, gy = b.zeros(px.shape, np.float32), b.zeros(py.shape, np.float32)
    given = (batch, s, t, b.put(px), b.put(py), False, None, b.put(sums.astype(np.float32)), True)
    answer = b.put(np.ones(batch, np.float32))
    name = "mluBlock3PipelineMutualInformationBackward"
    b.launch(name, *given, answer, gx, gy, dim=(batch, 1, 1), kind=mlusim.BLOCK)
    wx, wy = shares(b, px, py, sums)
    b.expect(gx, wx, 1e-3)
    b.expect(gy, wy, 1e-3)


def shares(b: Bench, px, py, sums):
    """How much each step along either axis has to do with the answer."""
    found = b.wanted("mluOpMutualInformationBackward", px=px, py=py, p=sums, ans_grad=np.ones(len(px)))
    return found["px_grad"], found["py_grad"]


def tiles(s, t, size):
    """The diagonals of a lattice in tiles: how many tiles lie on each, and how many there are along both axes."""
    down, right = -(-(s + 1) // size), -(-(t + 1) // size)
    counts = [min(i + 1, down, right, down + right - 1 - i) for i in range(down + right - 1)]
    return counts, (down, right, size, size)


@case("kernels/mutual_information/mutual_information_forward/mutual_information_forward_default_block.mlu")
def mutual_information_in_tiles(b: Bench) -> None:
    """The sums over all paths, a diagonal of tiles at a launch."""
    px, py, sums, (batch, s, t) = lattice(b)
    p, answer = b.zeros(sums.shape, np.float32), b.zeros(batch, np.float32)
    given = (b.put(px), b.put(py), False, None, p, answer)
    counts, grid = tiles(s, t, 3)
    for step, count in enumerate(counts):
        jobs = batch * count
        name = "mluBlockDefaultMutualInformationForward"
        b.block(name, batch, s, t, step, jobs, *grid, *given, dim=(jobs, 1, 1))
    b.expect(p, sums, 1e-3)
    b.expect(answer, sums[:, s, t], 1e-3)


@case("kernels/mutual_information/mutual_information_backward/mutual_information_backward_default_block.mlu")
def mutual_information_gradient_in_tiles(b: Bench) -> None:
    """How much each step has to do with the answer, a diagonal of tiles at a launch."""
    px, py, sums, (batch, s, t) = lattice(b)
    gx, gy, workspace = (b.zeros(a.shape, np.float32) for a in (px, py, sums))
    answer = b.put(np.ones(batch, np.float32))
    given = (
        b.put(px),
        b.put(py),
        False,
        None,
        b.put(sums.astype(np.float32)),
        True,
        answer,
        gx,
        gy,
        workspace,
    )
    counts, grid = tiles(s, t, 3)
    for step, count in enumerate(counts):
        jobs = batch * count
        name = "mluBlockDefaultMutualInformationBackward"
        b.block(name, batch, s, t, step, jobs, *grid, *given, dim=(jobs, 1, 1))
    wx, wy = shares(b, px, py, sums)
    b.expect(gx, wx, 1e-3)
    b.expect(gy, wy, 1e-3)
