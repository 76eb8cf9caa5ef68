"""dynamic_scatter_backward (reduce = max) from its definition, in NumPy.

::

    from(m, c) = min { n : map[n] == m and feats[n, c] == voxel_feats[m, c] }
    grad_feats[from(m, c), c] = grad_voxel_feats[m, c]    for m < voxel_num where from exists
    grad_feats = 0 elsewhere

Equality is that of floats: NaN equals nothing, -0 equals +0, an infinity equals itself.  Points
whose voxel is negative or not below voxel_num belong to no voxel (the document defines -1 only).
"""

from typing import Any

import numpy as np

from mlusim.operators.spec import Arrays, Params, Theory


def reference(inputs: Arrays, params: Params) -> dict[str, np.ndarray[Any, Any]]:
    """Return {"grad_feats"}: float [N, C], every element defined, from [M, C] and [N, C] inputs."""
    del params  # reduce_type is "max" or the host has refused
    grads, feats = inputs["grad_voxel_feats"], inputs["feats"]
    points, width = feats.shape
    result = np.zeros((points, width), grads.dtype)
    winners = first_points(inputs)
    voxels, channels = np.nonzero(winners < points)
    result[winners[voxels, channels], channels] = grads[voxels, channels]
    return {"grad_feats": result}


def first_points(inputs: Arrays) -> np.ndarray[Any, Any]:
    """Return int64 [voxel_num, C]: the smallest point that gave each maximum, N if there is none."""
    feats, maxima, voxel_of = inputs["feats"], inputs["voxel_feats"], inputs["point2voxel_map"]
    voxels = int(np.clip(inputs["voxel_num"].flat[0], 0, len(maxima)))
    winners = np.full((voxels, feats.shape[1]), len(feats), np.int64)
    members = np.flatnonzero((voxel_of >= 0) & (voxel_of < voxels))[::-1]
    row, channel = np.nonzero(feats[members] == maxima[voxel_of[members]])
    # Members are in descending order, and for repeated indices the last assignment counts.
    winners[voxel_of[members[row]], channel] = members[row]
    return winners


def theory(inputs: Arrays, params: Params) -> Theory:
    """Return the vendor's counts, with M the rows of the padded voxel tensors, not voxel_num.

    ops: M*C comparisons and N*C moves; ios: bytes of all inputs and of the output.
    """
    del params
    points, width = inputs["feats"].shape
    voxels = len(inputs["voxel_feats"])
    ops = (voxels + points) * width
    return Theory(ops=ops, ios=4 * (2 * ops + points + voxels + 1))
