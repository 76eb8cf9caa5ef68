"""The NRAM plan of three_interpolate_backward: one tile of Co channels, No outputs, Mo features.

The accumulator has a spare row: contributions to features outside the tile are added there, so
grad_features holds Mo+1 rows of Co.  The box drawing of the design document puts that row behind
grad_output_transpose instead; `DRAWING` keeps that arrangement, to show its effect.
"""

from collections.abc import Callable, Mapping, Sequence

from mlusim.plan import (
    PAD_UP,
    ElementType,
    Expr,
    Plan,
    Region,
    Stage,
    Var,
    float32,
    half,
    int32,
    maximum,
    nbytes,
    sizeof,
)

T = ElementType("T", (float32, half))

ALIGN = nbytes(128) // sizeof(T)
"""Every tile is a multiple of this many elements."""

C = Var("C", "channels", low=1)
N = Var("N", "outputs of a channel", low=1)
M = Var("M", "features of a channel", low=1)
No = Var("No", "outputs per tile", low=1, tile=True, multiple_of=ALIGN, enough=PAD_UP(N, ALIGN))
Co = Var("Co", "channels per tile", low=1, tile=True, multiple_of=ALIGN, enough=PAD_UP(C, ALIGN))
Mo = Var("Mo", "features per tile", low=1, tile=True, multiple_of=ALIGN, enough=PAD_UP(M, ALIGN))


def growth_order(fits: Callable[[Mapping[str, int]], bool], values: Mapping[str, int]) -> Sequence[str]:
    """Return the document's order of growth: No first; then Co if all of N*C fits or C > N, otherwise Mo."""
    if not {"C", "N"} <= set(values):
        return ("No", "Co", "Mo")
    align = min(values[tile] for tile in ("No", "Co", "Mo"))  # tiles start at one alignment
    whole = {"Co": -(-values["C"] // align) * align, "No": -(-values["N"] // align) * align}
    if fits(whole) or values["C"] > values["N"]:
        return ("No", "Co", "Mo")
    return ("No", "Mo", "Co")


def _stage(transposed: Expr, features: Expr, *, drawing: bool) -> Stage:
    """Return all regions; the sizes of grad_output_transpose and grad_features decide the place of the spare row."""
    rows = (Mo + 1) * Co
    return Stage(
        "tile",
        [
            Region("grad_output", Co * No, T, "Co x No, times the weights of one neighbour"),
            Region(
                "grad_output_transpose",
                transposed,
                T,
                "No x Co: what is added, row by row",
                touches=No * Co if drawing else None,
            ),
            Region(
                "grad_features",
                features,
                T,
                "(Mo+1) x Co: sums, and a spare row for what belongs to other tiles",
                touches=rows if drawing else None,
            ),
            Region(
                "grad_features_transpose", maximum(Co * Mo, Co * No), T, "Co x Mo on the way out; scratch"
            ),
            Region("weights", No * 3, T, "No x 3"),
            Region("weights_transpose", No * 3, T, "3 x No"),
            Region("indices", No * 3, int32, "No x 3"),
            Region("indices_transpose", No * 3, int32, "3 x No"),
            Region("indices_transpose_addition", No, int32, "row offsets of one neighbour"),
            # The document's indices_transpose_float and _addition: comparisons stay int32 (TI-9).
            Region(
                "indices_transpose_inside", No, int32, "1 where an index of one neighbour lies in the tile"
            ),
            Region("indices_transpose_outside", No, int32, "1 where it does not; scratch before"),
        ],
    )


EXAMPLE = {"C": 512, "N": 64, "M": 16}

DRAWING = Plan(
    "three_interpolate_backward, as drawn",
    [_stage(No * Co + Co, Co * Mo, drawing=True)],
    example=EXAMPLE,
    grow=growth_order,
    notes="The document's table as printed: the spare Co elements stand behind grad_output_transpose.",
)

PLAN = Plan(
    "three_interpolate_backward",
    [_stage(No * Co, Co * Mo + Co, drawing=False)],
    example=EXAMPLE,
    grow=growth_order,
    drawings=[DRAWING],
    notes="Sizes as in the document's table, with the spare row where it is written to.",
)
