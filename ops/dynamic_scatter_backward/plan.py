"""The NRAM plans of dynamic_scatter_backward (max): one stage for each of its two kernels.

`PLAN` is the plan of the document's second scheme, `DIRECT` of its first, which keeps no row of results on chip.
"""

from mlusim.plan import NRAM, Plan, Region, Stage, Value, Var, float32, int32, sizeof

N = Var("N", "points of one task", low=1)
M = Var("M", "voxels of one task", low=1)
C = Var("C", "channels", low=1)
n = Var("n", "points per pass", low=1, tile=True, enough=N)
m = Var("m", "voxels per pass", low=1, tile=True, enough=M)

MASKS = (
    Region("index_mask", n * C, int32, "index of its point in every element"),
    Region("feats", n * C, float32, "features of the points"),
    Region("reduce_feats", n * C, float32, "features of the points' voxels"),
    Region("value_mask", n * C, int32, "point index where they are equal, else the sentinel"),
    Region("tmp_mask", n * C, int32, "sentinel where they differ"),
    Region("reduce_offset", n, int32, "voxel of every point"),
)

POINTS = Stage(
    "points",
    [
        *MASKS,
        Region("result", C, int32, "smallest index so far of one voxel; before that, what its flag was"),
    ],
)

VOXELS = Stage(
    "voxels",
    [
        Region("scatter_to", m * C, int32, "point that gets the gradient of every voxel and channel"),
        Region("grad_reduced_feats", m * C, float32, "gradients of the voxels"),
        Region("rest", C, int32, "1 where the gradient of one voxel is still to be stored"),
        Region("mask", C, int32, "all bits where it belongs to one point"),
        Region("grad", C, float32, "gradient of that point"),
    ],
)

PLAN = Plan(
    "dynamic_scatter_backward",
    [POINTS, VOXELS],
    claims=[
        Value(
            "points per pass",
            "n",
            (NRAM - C * sizeof(int32)) // (5 * C * sizeof(float32) + sizeof(int32)),
            over="C",
            source="chunk size of the design document's plan",
        )
    ],
    example={"N": 17176, "M": 13743, "C": 128},
    notes="The regions of the first kernel are the document's; it gives none for the second.",
)

DIRECT = Plan(
    "dynamic_scatter_backward, atomic minimum",
    [Stage(POINTS.name, MASKS), VOXELS],
    example={"N": 17176, "M": 13743, "C": 128},
    notes="The document's first scheme: the minimum is taken in GDRAM, without a flag and a row of results.",
)

PLANS = {plan.name: plan for plan in (PLAN, DIRECT)}
