"""The NRAM plans of tin_shift, forward and backward: one for each of the three regimes.

The first regime that fits is used, equality included: a channel that fills NRAM to the last
byte is still stored whole.  A region is padded to 128 bytes, the unit of a fill on MLU2xx; NRAM is a
multiple of that, so the limits are those of the data.
"""

from mlusim.plan import PAD_UP, ElementType, Plan, Region, Stage, Var, float32, half, nbytes, sizeof

DTYPE = ElementType("Dtype", (float32, half))
ALIGN = nbytes(128) // sizeof(DTYPE)

T = Var("T", "frames of a channel", low=1)
HW = Var("HW", "elements of a frame", low=1)
G = Var("G", "frames per pass", low=1, tile=True, enough=T)
CHUNK = Var("chunk", "elements per pass", low=1, tile=True, enough=HW)

FRAMES_NAME, CHUNK_NAME = G.name, CHUNK.name

LARGE_TENSOR = (T * HW < 2**31).called("large tensor")

WHOLE_CHANNEL = Plan(
    "tin_shift, whole channel",
    [Stage("shift", [Region("data", PAD_UP(T * HW, ALIGN), DTYPE, "every frame of one channel, shifted")])],
    requires=[LARGE_TENSOR],
    example={"T": 8, "HW": 3136},
    notes="Regime 1: all T frames of a channel are on chip at once.",
)

FRAMES = Plan(
    "tin_shift, frames",
    [Stage("shift", [Region("data", PAD_UP(G * HW, ALIGN), DTYPE, "G frames of one channel")])],
    requires=[LARGE_TENSOR],
    example={"T": 15, "HW": 45435},
    notes="Regime 2: a channel is too large, a frame is not; as many frames per pass as fit.",
)

PIXELS = Plan(
    "tin_shift, pixels",
    [Stage("shift", [Region("data", PAD_UP(CHUNK, ALIGN), DTYPE, "a part of one frame")])],
    requires=[LARGE_TENSOR],
    example={"T": 16, "HW": 262144},
    notes="Regime 3: not even one frame fits; as many of its elements per pass as fit.",
)

PLANS = (WHOLE_CHANNEL, FRAMES, PIXELS)
