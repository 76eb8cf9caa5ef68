"""Convolutions of the occupied cells of a grid: which input meets which output at each tap, and the sums over the pairs."""

import itertools
from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample


def _met(g: Given) -> tuple[list[list[tuple[int, tuple[int, ...]]]], list[tuple[int, ...]]]:
    """For each tap the inputs in order with the cells that they reach; the cells that are outputs."""
    taps: list[list[tuple[int, tuple[int, ...]]]] = []
    occupied = [tuple(int(v) for v in row) for row in g["indices"]]
    for tap in itertools.product(*(range(n) for n in g["filter_space"])):
        reached = []
        for n, (batch, *place) in enumerate(occupied):
            moved = [p + a - t * d for p, a, t, d in zip(place, g["pad"], tap, g["dilation"], strict=True)]
            cell = [m // s for m, s in zip(moved, g["stride"], strict=True)]
            fits = all(
                m % s == 0 and 0 <= c < o
                for m, s, c, o in zip(moved, g["stride"], cell, g["output_space"], strict=True)
            )
            if fits and (not g["sub_m"] or (batch, *cell) in occupied):
                reached.append((n, (batch, *cell)))
        taps.append(reached)
    cells = occupied if g["sub_m"] else sorted({cell for reached in taps for _, cell in reached})
    return taps, cells


@reference("DriveIndicePairs", 0)
def pairs(g: Given) -> Given:
    """Inputs and outputs of each tap, as many as there are, and the cells of the outputs."""
    taps, cells = _met(g)
    found = np.full(g["indice_pairs"].shape, -1)
    for k, reached in enumerate(taps):
        for n, (source, cell) in enumerate(reached):
            found[k, :, n] = source, cells.index(cell)
    return {
        "indice_num": np.array([len(r) for r in taps]),
        "out_indices": np.array(cells),
        "indice_pairs": found,
    }


def _grid(sub_m: int, stride: int, pad: int) -> Any:
    def made(random: np.random.Generator) -> Any:
        space, kernel = np.array([5, 6, 7], np.int32), np.array([3, 3, 3], np.int32)
        out = ((space + 2 * pad - kernel) // stride + 1).astype(np.int32)
        cells = random.permutation(2 * int(space.prod()))[:40]
        indices = np.stack(np.unravel_index(np.sort(cells), (2, *space)), 1).astype(np.int32)
        given: Given = {"batch": 2, "sub_m": sub_m, "indices": indices, "indice_num": np.zeros(27, np.int32)}
        sizes = {"pad": [pad] * 3, "stride": [stride] * 3, "dilation": [1] * 3}
        given |= {k: np.array(v, np.int32) for k, v in sizes.items()}
        given |= {"input_space": space, "filter_space": kernel, "output_space": out}
        rows = 40 if sub_m else min(40 * 27, 2 * int(out.prod()))
        return given | {
            "indice_pairs": np.zeros((27, 2, 40), np.int32),
            "out_indices": np.zeros((rows, 4), np.int32),
        }, {}

    made.__doc__ = f"40 cells, taps 3 x 3 x 3, stride {stride}, pad {pad}, sub_m {sub_m}"
    return made


for _how in ((0, 1, 0), (0, 2, 1), (1, 1, 1)):
    sample("DriveIndicePairs")(_grid(*_how))


def _taps(g: Given) -> Any:
    """Each tap's number, and its pairs."""
    for k, (count, both) in enumerate(zip(g["indice_num"], g["indice_pairs"], strict=True)):
        yield k, both[0, : int(count)], both[1, : int(count)]


def _filters(array: Any) -> Any:
    return array.reshape(-1, *array.shape[-2:]).astype(float)


@reference("mluOpIndiceConvolutionForward")
def forward(g: Given) -> Given:
    """Each input times its tap's filter, added to its output."""
    out = np.zeros(g["features_out"].shape)
    for k, source, target in _taps(g):
        np.add.at(out, target, g["features"][source].astype(float) @ _filters(g["filters"])[k])
    return {"features_out": out}


@reference("mluOpIndiceConvolutionBackwardData")
def data(g: Given) -> Given:
    """Each output's gradient back through its tap's filter."""
    out = np.zeros(g["input_grad"].shape)
    for k, source, target in _taps(g):
        np.add.at(out, source, g["output_grad"][target].astype(float) @ _filters(g["filters"])[k].T)
    return {"input_grad": out}


@reference("mluOpIndiceConvolutionBackwardFilter")
def filters(g: Given) -> Given:
    """Products of inputs and of gradients, summed over the pairs of a tap."""
    found = [g["features"][s].T.astype(float) @ g["output_grad"][t] for _, s, t in _taps(g)]
    return {"filters_grad": np.stack(found).reshape(g["filters_grad"].shape)}


@sample("mluOpIndiceConvolutionForward")
@sample("mluOpIndiceConvolutionBackwardData")
@sample("mluOpIndiceConvolutionBackwardFilter")
def _convolution(random: np.random.Generator) -> Any:
    """20 inputs of 6, 15 outputs of 5, taps 3 x 1 x 2."""
    counts = random.integers(3, 11, 6)
    both = np.full((6, 2, 20), -1, np.int32)
    for k, count in enumerate(counts):
        both[k, 0, :count], both[k, 1, :count] = (
            random.permutation(20)[:count],
            random.permutation(15)[:count],
        )
    shapes = {"features": (20, 6), "filters": (3, 1, 2, 6, 5), "output_grad": (15, 5)}
    given: Given = {k: random.normal(size=s).astype(np.float32) for k, s in shapes.items()}
    zeros = {"features_out": (15, 5), "input_grad": (20, 6), "filters_grad": (3, 1, 2, 6, 5)}
    given |= {k: np.zeros(s, np.float32) for k, s in zeros.items()}
    return given | {
        "indice_pairs": both,
        "indice_num": counts.astype(np.int64),
        "num_act_out": 15,
        "subm": 0,
        "inverse": 0,
        "sub_m": 0,
    }, {}
