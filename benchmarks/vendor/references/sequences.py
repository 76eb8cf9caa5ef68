"""Paths through lattices, points in voxels, corners in order."""

from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample

Array = Any


def _diagonals(s: int, t: int) -> Any:
    for d in range(1, s + t + 1):
        i = np.arange(max(0, d - t), min(s, d) + 1)
        yield i, d - i


@reference("mluOpMutualInformationForward", 2e-3)
def mutual_information(g: Given) -> Given:
    """The logarithm of the sum over all paths to each point of a lattice."""
    px, py = g["px"].astype(float), g["py"].astype(float)
    if g["opt_boundary"] is not None:  # of each lattice only a part: first and last row and column
        parts = [
            (px[n : n + 1, a:c, b : d + 1], py[n : n + 1, a : c + 1, b:d])
            for n, (a, b, c, d) in enumerate(g["opt_boundary"])
        ]
        ends = [mutual_information({"px": x, "py": y, "opt_boundary": None})["ans"] for x, y in parts]
        return {"ans": np.concatenate(ends)}
    batch, s, t = px.shape[0], px.shape[1], py.shape[2]
    sums = np.full((batch, s + 1, t + 1), -np.inf)
    sums[:, 0, 0] = 0
    px, py = np.pad(px, ((0, 0), (1, 0), (0, t + 1 - px.shape[2]))), np.pad(py, ((0, 0), (0, 0), (1, 0)))
    for i, j in _diagonals(s, t):
        down = np.where(i > 0, sums[:, i - 1, j] + px[:, i, j], -np.inf)
        right = np.where(j > 0, sums[:, i, j - 1] + py[:, i, j], -np.inf)
        sums[:, i, j] = np.logaddexp(down, right)
    return {"p": sums, "ans": sums[:, s, t]}


@reference("mluOpMutualInformationBackward", 2e-3)
def mutual_information_gradient(g: Given) -> Given:
    """How much each step has to do with the answer."""
    px, py, p = (g[n].astype(float) for n in ("px", "py", "p"))
    batch, s, t = px.shape[0], px.shape[1], py.shape[2]
    to_px, to_py = np.zeros(px.shape), np.zeros(py.shape)
    weight = np.zeros((batch, s + 1, t + 1))
    weight[:, s, t] = g["ans_grad"].astype(float)
    for d in reversed(range(s + t)):
        i = np.arange(max(0, d - t), min(s, d) + 1)
        j = d - i
        a, b = i[i < s], j[i < s]
        to_px[:, a, b] = np.exp(p[:, a, b] + px[:, a, b] - p[:, a + 1, b]) * weight[:, a + 1, b]
        weight[:, a, b] += to_px[:, a, b]
        a, b = i[j < t], j[j < t]
        to_py[:, a, b] = np.exp(p[:, a, b] + py[:, a, b] - p[:, a, b + 1]) * weight[:, a, b + 1]
        weight[:, a, b] += to_py[:, a, b]
    return {"px_grad": to_px, "py_grad": to_py}


def _lattice(s: int, t: int) -> Any:
    def made(random: np.random.Generator) -> Any:
        px, py = (
            random.normal(size=(1, s, t + 1)).astype(np.float32),
            random.normal(size=(1, s + 1, t)).astype(np.float32),
        )
        sums = mutual_information({"px": px, "py": py, "opt_boundary": None})["p"].astype(np.float32)
        given = {
            "px": px,
            "py": py,
            "opt_boundary": None,
            "p": sums,
            "ans_grad": np.ones(1, np.float32),
            "overwrite_ans_grad": True,
        }
        return {**given, "px_grad": np.zeros_like(px), "py_grad": np.zeros_like(py)}, {}

    made.__doc__ = f"a lattice of {s} x {t}"
    return made


def _sums(s: int, t: int) -> Any:
    def made(random: np.random.Generator) -> Any:
        given, layouts = _lattice(s, t)(random)
        given = {n: given[n] for n in ("px", "py", "opt_boundary")}
        return {
            **given,
            "p": np.zeros((1, s + 1, t + 1), np.float32),
            "ans": np.zeros(1, np.float32),
        }, layouts

    made.__doc__ = f"a lattice of {s} x {t}"
    return made


for _size in ((6, 9), (700, 60)):
    sample("mluOpMutualInformationForward")(_sums(*_size))
    sample("mluOpMutualInformationBackward")(_lattice(*_size))


def _voxels(g: Given) -> tuple[Array, Array, Array]:
    coors = g["coors"].copy()
    coors[(coors < 0).any(1)] = -1
    rows, which, often = np.unique(coors, axis=0, return_inverse=True, return_counts=True)
    first = int(len(rows) > 0 and rows[0, 0] < 0)
    return rows[first:], which.ravel() - first, often[first:]


@reference("mluOpDynamicPointToVoxelForward", 1e-4)
def to_voxels(g: Given) -> Given:
    """The largest or the mean features of the points of each voxel."""
    rows, which, often = _voxels(g)
    feats = g["feats"].astype(float)
    out = np.full((len(rows), feats.shape[1]), -np.inf if g["reduce_type"] == "MLUOP_REDUCE_DMAX" else 0.0)
    kept = which >= 0
    if g["reduce_type"] == "MLUOP_REDUCE_DMAX":
        np.maximum.at(out, which[kept], feats[kept])
    else:
        np.add.at(out, which[kept], feats[kept])
        out /= often[:, None]
    made = {"voxel_feats": out, "voxel_coors": rows, "point2voxel_map": which, "voxel_points_count": often}
    return {**made, "voxel_num": [len(rows)]}


@reference("mluOpDynamicPointToVoxelBackward", 1e-5)
def from_voxels(g: Given) -> Given:
    """Gradients to the first point that has a voxel's largest value."""
    out, which = np.zeros(g["feats"].shape), g["point2voxel_map"]
    count = int(g["voxel_num"][0])
    taken = np.zeros((count, out.shape[1]), bool)
    for n, voxel in enumerate(which):
        if 0 <= voxel < count:
            hit = (g["feats"][n] == g["voxel_feats"][voxel]) & ~taken[voxel]
            out[n][hit] = g["grad_voxel_feats"][voxel][hit]
            taken[voxel] |= hit
    return {"grad_feats": out}


def _cloud(random: np.random.Generator) -> Given:
    coors = random.integers(-1, 4, (60, 3)).astype(np.int32)
    return {
        "feats": random.normal(size=(60, 5)).astype(np.float32),
        "coors": coors,
        "reduce_type": "MLUOP_REDUCE_DMAX",
    }


def _scattered(kind: str) -> Any:
    def made(random: np.random.Generator) -> Any:
        given = {**_cloud(random), "reduce_type": kind, "voxel_feats": np.zeros((60, 5), np.float32)}
        given |= {n: np.zeros(60, np.int32) for n in ("point2voxel_map", "voxel_points_count")}
        return {**given, "voxel_coors": np.zeros((60, 3), np.int32), "voxel_num": np.zeros(1, np.int32)}, {}

    made.__doc__ = kind
    return made


for _kind in ("MLUOP_REDUCE_DMAX", "MLUOP_REDUCE_DMEAN"):
    sample("mluOpDynamicPointToVoxelForward")(_scattered(_kind))


@sample("mluOpDynamicPointToVoxelBackward")
def _back(random: np.random.Generator) -> Any:
    """60 points."""
    given = _cloud(random)
    made = to_voxels(given)
    count = len(made["voxel_feats"])
    given |= {
        "voxel_feats": np.zeros((60, 5), np.float32),
        "point2voxel_map": made["point2voxel_map"].astype(np.int32),
    }
    given["voxel_feats"][:count] = made["voxel_feats"]
    given["voxel_points_count"] = np.resize(made["voxel_points_count"].astype(np.int32), 60)
    given |= {"voxel_num": np.array([count], np.int32), "grad_feats": np.zeros((60, 5), np.float32)}
    return {**given, "grad_voxel_feats": random.normal(size=(60, 5)).astype(np.float32)}, {}


def _before(a: Array, b: Array) -> bool:
    """Whether one corner comes before another, counterclockwise from the right.

    A corner on the axis is before none and behind none: the operator is defined by this comparison, which has no
    case for it.
    """
    if abs(a - b).max() < 1e-8:
        return False
    if a[1] > 0 > b[1] or a[1] < 0 < b[1]:
        return bool(a[1] > 0)
    if a[1] * b[1] <= 0:
        return False
    square = [abs(v[0]) * v[0] / (v[0] ** 2 + v[1] ** 2 + 1e-8) for v in (a, b)]
    return bool(square[0] - square[1] > 1e-8 if a[1] > 0 else square[0] - square[1] < 1e-8)


@reference("mluOpDiffIouRotatedSortVerticesForward", 0)
def sort_vertices(g: Given) -> Given:
    """The valid corners in order, the first again behind the last, then one that is not valid."""
    out = np.zeros(g["idx"].shape, int)
    for b, n in np.ndindex(*out.shape[:2]):
        points, mask, count = g["vertices"][b, n], g["mask"][b, n], int(g["num_valid"][b, n])
        spare = next((k for k in range(8, len(mask)) if not mask[k]), 0)
        out[b, n] = spare
        if count < 3:
            continue
        last = np.array([1, -1e-8])
        for place in range(count):
            best, chosen = np.array([1, -1e-8]), 0
            for k in np.flatnonzero(mask):
                if _before(points[k], best) and (place == 0 or _before(last, points[k])):
                    best, chosen = points[k], k
            out[b, n, place], last = chosen, points[chosen]
        out[b, n, count] = out[b, n, 0]
        if count == 8 and sum(int(k in out[b, n, 4:8]) for k in out[b, n, :4]) == 4:  # the same box twice
            out[b, n, 4], out[b, n, 5:] = out[b, n, 0], spare
    return {"idx": out}
