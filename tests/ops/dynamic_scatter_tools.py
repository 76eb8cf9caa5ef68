"""What several tests of dynamic_scatter_backward share: small inputs, a recorder, the first kernel on its own."""

import numpy as np

from mlusim import UNION1, Device, Observer
from mlusim.operators.accuracy import bit_equal
from ops.dynamic_scatter_backward.host import workspace_bytes
from ops.dynamic_scatter_backward.kernel import FREE
from ops.dynamic_scatter_backward.plan import PLAN
from ops.dynamic_scatter_backward.reference import first_points, reference

MAX = {"reduce_type": "max"}


def maxima(feats, voxel_of, rows):
    """Return [rows, C]: the maximum of each voxel's points, -inf where it has none."""
    result = np.full((rows, feats.shape[1]), -np.inf, np.float32)
    for point, voxel in enumerate(voxel_of):
        if voxel >= 0:
            result[voxel] = np.fmax(result[voxel], feats[point])
    return result


def inputs_of(voxel_of, width, rows=None, *, voxels=None, levels=3, seed=0):
    """Make inputs for the map *voxel_of*: features of few *levels*, so that points share maxima."""
    rng = np.random.default_rng(seed)
    voxel_of = np.array(voxel_of, np.int32)
    rows = int(voxel_of.max()) + 1 if rows is None else rows
    feats = rng.integers(0, levels, (len(voxel_of), width)).astype(np.float32)
    return {
        "grad_voxel_feats": rng.standard_normal((rows, width), np.float32),
        "feats": feats,
        "voxel_feats": maxima(feats, voxel_of, rows),
        "point2voxel_map": voxel_of,
        "voxel_points_count": np.bincount(voxel_of[voxel_of >= 0], minlength=rows).astype(np.int32),
        "voxel_num": np.array([rows if voxels is None else voxels], np.int32),
    }


def is_right(run, inputs):
    """Return whether the gradients of *run* have the bits of the definition."""
    return bit_equal(reference(inputs, MAX)["grad_feats"], run.outputs["grad_feats"])


def winners_of(kernel, inputs, points_per_pass, *, clusters=1, filled=True, flags=None, **options):
    """Run *kernel*, a form of the first one, and return what it leaves in reduce_from [M, C].

    *filled* says whether the sentinel is there before; *flags* how many voxels have a flag.
    """
    device = Device("MLU370-X4")
    n, c = inputs["feats"].shape
    rows = len(inputs["voxel_feats"])
    feats, voxel_feats, coors_map = (
        device.put(inputs[name]) for name in ("feats", "voxel_feats", "point2voxel_map")
    )
    result = device.put(np.full((rows, c), n, np.int32)) if filled else device.empty((rows, c), "int32")
    is_occupy = device.put(np.full(rows if flags is None else flags, FREE, np.int32))
    layout = PLAN.layout("MLU370-X4", {"N": n, "C": c, "n": points_per_pass, "m": 1})
    arguments = (feats, voxel_feats, result, coors_map, is_occupy, n, c, layout)
    device.launch(kernel, (4, clusters, 1), UNION1, arguments, **options)
    return device.get(result)


def expected_winners(inputs):
    """Return the smallest point of each voxel and channel, N where there is none, by the definition."""
    return first_points(inputs)


def workspace_of(device, inputs):
    """Return a workspace of just the bytes that these inputs need, and their number."""
    size = workspace_bytes(*inputs["voxel_feats"].shape)
    return device.empty(size, "int8"), size


class Recorder(Observer):
    """Notes for every launch and task what was issued: (name, bytes written), copies with their direction.

    Scalar accesses are left out; ``highest`` is the byte behind the last one touched, by memory.
    """

    def __init__(self):
        self.launches = []
        self.highest = []

    def launch_begin(self, launch):
        """Begin the notes of another launch."""
        del launch
        self.launches.append({})
        self.highest.append({})

    def issue(self, effect):
        """Note the instruction and how far it reaches."""
        highest = self.highest[-1]
        for access in (*effect.reads, *effect.writes):
            space = access.allocation.space.name
            highest[space] = max(highest.get(space, 0), access.span[1])
        if effect.step.row is None:
            return
        name, nbytes = effect.name, sum(access.nbytes for access in effect.writes)
        if name.startswith("memcpy"):
            name += f" {effect.reads[0].allocation.space}2{effect.writes[0].allocation.space}"
        self.launches[-1].setdefault(effect.core.place.task, []).append((name, nbytes))

    def sync(self, sync):
        """Note that the core waited for its pipes."""
        self.launches[-1].setdefault(sync.core.place.task, []).append((sync.name, 0))
