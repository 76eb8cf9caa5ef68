"""The NRAM plan of border_align_backward: one box and deal_num channels of one border.

`PLAN` follows the five buffers of the pseudocode.  `FIGURE` is the partition of the figure, which
has one buffer less and whose first release computed its size with PAD_UP; see its claim.
"""

from mlusim.plan import (
    NRAM,
    PAD_DOWN,
    PAD_UP,
    ElementType,
    Plan,
    Region,
    Stage,
    Value,
    Var,
    float32,
    half,
    int32,
    nbytes,
    sizeof,
)

T = ElementType("T", (float32, half))

BOX_BYTES = nbytes(128)
NFU_ALIGN_SIZE = nbytes(128)
NFU_ALIGN_NUM = NFU_ALIGN_SIZE // sizeof(T)

C = Var("C", "channels of a border", low=1)
deal_num = Var(
    "deal_num",
    "channels per pass",
    low=1,
    tile=True,
    multiple_of=NFU_ALIGN_NUM,
    enough=PAD_UP(C, NFU_ALIGN_NUM),
)
figure_deal_num = Var("deal_num", "channels per pass", low=1, tile=True, multiple_of=128)

box = Region("box", BOX_BYTES, T, "x0, y0, x1, y1")
grad_output = Region("grad_output", deal_num, T, "gradient of one border")
grad_input = Region("grad_input", deal_num, T, "times the weight of one tap")
grad_output_temp = Region("grad_output_temp", deal_num, T, "masked: what is added to GDRAM")
argmax_temp = Region(
    "argmax_temp", deal_num, T, "mask: all bits where argmax is the current point, else none"
)
argmax = Region("argmax", deal_num, int32, "point of each channel's maximum")

FIGURE = Plan(
    "border_align_backward, figure",
    [
        Stage(
            "border",
            [
                box,
                Region("grad_output", figure_deal_num, T, "gradient of one border"),
                Region("grad_input", figure_deal_num, T, "times the weight of one tap"),
                Region("argmax_temp", figure_deal_num, T, "mask of the current point"),
                Region("argmax", figure_deal_num, int32, "point of each channel's maximum"),
            ],
        )
    ],
    claims=[
        Value(
            "deal_num with PAD_UP",
            "deal_num",
            PAD_UP((NRAM - BOX_BYTES - NFU_ALIGN_SIZE) // (3 * sizeof(T) + sizeof(int32)), 128),
            source="figure of the design document, as the first release of the kernel sized it",
        )
    ],
    notes="The partition of the figure, not used by the kernel: kept for what its size formula teaches.",
)

PLAN = Plan(
    "border_align_backward",
    [Stage("border", [box, grad_output, grad_input, grad_output_temp, argmax_temp, argmax])],
    claims=[
        Value(
            "deal_num with PAD_DOWN",
            "deal_num",
            PAD_DOWN((NRAM - BOX_BYTES - NFU_ALIGN_SIZE) // (4 * sizeof(T) + sizeof(int32)), NFU_ALIGN_NUM),
            source="design document of border_align_backward, pseudocode",
        )
    ],
    example={"C": 256},
    drawings=[FIGURE],
    notes="Five buffers of deal_num channels behind the box; C larger than deal_num goes in passes.",
)
