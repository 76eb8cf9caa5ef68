"""The NRAM plan of mutual_information_backward: one batch entry on chip, in three stages.

All regions are float.  Strides inside a region: term1 and p_grad have rows of T+1, term2 of T.
"""

from mlusim.plan import NRAM, Plan, Region, ScaleLimit, Stage, Var, float32, minimum, sizeof

S = Var("S", "symbols", low=0)
T = Var("T", "frames", low=0)

DIAGONAL = minimum(S, T) + 1
"""Cells on the longest diagonal of the (S+1) x (T+1) grid."""

term1 = Region("term1", S * (T + 1), float32, "px, turned into term1 in place, then into px_grad")
term2 = Region("term2", (S + 1) * T, float32, "py, turned into term2 in place, then into py_grad")
p_grad = Region("p_grad", (S + 1) * (T + 1), float32, "gradient of every grid cell")

FLOATS = NRAM // sizeof(float32)

DOCUMENT_LIMIT = ScaleLimit(
    "scale limit",
    (
        (T * (S + 1) + (T + 1) * S + 5 * T <= FLOATS).called("I1"),
        (T * (S + 1) + (T + 1) * S + (T + 1) * (S + 1) + 3 * minimum(S, T) + 1 <= FLOATS).called("I2"),
    ),
    over=("S", "T"),
    source="design document of mutual_information_backward, scale limits",
)

DRAWING = Plan(
    "mutual_information_backward, as drawn",
    [
        Stage("terms", [term1, term2]),
        Stage(
            "p_grad",
            [
                p_grad,
                Region("cur_term1", DIAGONAL, float32, "term1 along one diagonal"),
                Region("cur_term2", DIAGONAL, float32, "term2 along one diagonal"),
                Region(
                    "cur_p_grad",
                    minimum(S, T),
                    float32,
                    "p_grad along one diagonal; min(S,T)+2 elements are set to 0",
                    touches=minimum(S, T) + 2,
                ),
            ],
            keeps=(term1, term2),
        ),
    ],
    example={"S": 15, "T": 104},
    notes="The document's second drawing as printed: one cell of a diagonal short.",
)

PLAN = Plan(
    "mutual_information_backward",
    [
        Stage(
            "terms",
            [
                term1,
                term2,
                Region("cur_p", T + 1, float32, "row s of p"),
                Region("next_p", T + 1, float32, "row s+1 of p; read with cur_p in one copy"),
                Region("large_neg", 2 * (T + 1), float32, "-1e30, the floor of both rows"),
                Region("mask", T + 1, float32, "lanes that are finite"),
            ],
        ),
        Stage(
            "p_grad",
            [
                p_grad,
                Region("cur_term1", DIAGONAL, float32, "term1 along one diagonal"),
                Region("zero", 1, float32, "the missing neighbour above the first lane of cur_term2"),
                Region("cur_term2", DIAGONAL, float32, "term2 along one diagonal"),
                Region("cur_p_grad", DIAGONAL, float32, "p_grad of the previous diagonal"),
            ],
            keeps=(term1, term2),
        ),
        Stage("gradients", [], keeps=(term1, term2, p_grad)),
    ],
    requires=[
        (S * (T + 1) < 2**31).called("large tensor px"),
        ((S + 1) * T < 2**31).called("large tensor py"),
        ((S + 1) * (T + 1) < 2**31).called("large tensor p"),
    ],
    claims=[DOCUMENT_LIMIT],
    example={"S": 15, "T": 104},
    drawings=[DRAWING],
    notes="Sizes as in the box drawings, with the diagonal buffers at the length that diagonals have.",
)
