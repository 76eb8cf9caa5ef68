"""The NRAM plan of dynamic_scatter_backward (max): n points of C channels at a time."""

from mlusim.plan import NRAM, Plan, Region, Stage, Value, Var, float32, int32, sizeof

N = Var("N", "points", low=1)
C = Var("C", "channels", low=1)
n = Var("n", "points per pass", low=1, tile=True, enough=N)

PLAN = Plan(
    "dynamic_scatter_backward",
    [
        Stage(
            "points",
            [
                Region("index_mask", n * C, int32, "row number of every element"),
                Region("feats", n * C, float32, "features of the points"),
                Region("reduce_feats", n * C, float32, "features of the points' voxels"),
                Region("value_mask", n * C, int32, "point index where they are equal, else the sentinel"),
                Region("tmp_mask", n * C, int32, "sentinel where they differ"),
                Region("reduce_offset", n, int32, "voxel of every point"),
                Region("result", C, int32, "smallest index so far of one voxel"),
            ],
        )
    ],
    claims=[
        Value(
            "points per pass",
            "n",
            (NRAM - C * sizeof(int32)) // (5 * C * sizeof(float32) + sizeof(int32)),
            over="C",
            source="chunk size of the design document's plan",
        )
    ],
    example={"N": 17176, "C": 128},
    notes="The document's plan: nothing of it grows with the number of points.",
)
