"""The tensor unit: products of matrices, convolutions, fully connected layers, with weights in WRAM.

WRAM has 64 lanes. The filters of a weight have the layout of ``__bang_reshape_filter``: filter ``b * 64 + l``
is the b-th of lane l, so a weight of n filters of K elements is ``[64][n / 64][K]``. A linear copy to WRAM
gives every lane its part (the layout is inferred from that instruction). On MLU3xx four lanes are
interleaved, ``[16][n / 64][4][K]``: Dilated_conv_2D, a kernel accepted on MLU370, lays out 128 filters in
this way without that instruction.

Sums are computed in float and rounded once at the end; from MLU5xx on, float operands are first rounded to
tf32, with 10 bits of mantissa (both inferred). Sums of integers are exact and saturate (unknown, default
chosen).
"""

from typing import Any

import numpy as np

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import bfloat16, float32, half, int8, int16, int32
from mlusim.isa.declare import (
    Cost,
    Flow,
    Generation,
    OperandRule,
    Tile,
    at_least,
    between,
    demand,
    intrinsic,
    multiple_of,
)
from mlusim.isa.factors import EXACT, LANES, PAD, TOGETHER, WEIGHTS, factor, sums_type
from mlusim.memory.space import WRAM

# The operand in WRAM of each row, and the parameter with its number of filters.
FILTERS = {
    "bang_matmul": ("right", "n"),
    "bang_conv": ("weight", "co"),
    "bang_conv_bias": ("weight", "co"),
    "bang_mlp": ("weight", "outputs"),
    "bang_mlp_bias": ("weight", "outputs"),
}
INPUTS = (half, bfloat16, float32, int8, int16)
OUTPUTS = (float32, half, bfloat16, int32)
OLD = (half, float32, int8, int16, int32)
CERTAINTY: dict[str, Any] = {
    "certainty": "I",
    "source": "vendor kernels, matrix products and convolutions",
    "pipe": Pipe.TENSOR,
    "flow": Flow.MIXING,
    "in_place": False,
    "aligned": False,
    "dtypes_2xx": OLD,
}

# With out_dw, the three parameters before it are the dilations of height and width, and out_dh.
_DOWN = "(dilation_h if out_dw is None else fix_pos)"
# max(1, ...): the extents are computed before a rule can refuse a stride of 0.
_HIGH = f"((height - ((kernel_height - 1) * {_DOWN} + 1)) // max(1, stride_h) + 1)"
_WIDE = "((width - ((kernel_width - 1) * dilation_w + 1)) // max(1, stride_w) + 1)"


def _weight(count: str, run: str, runs: str = "1") -> str:
    """Return the formula for the extent (elements) of *count* filters, each of *runs* runs of *run* elements; see `padded_filters`."""
    step = f"(PAD_UP({run} * sizeof(T), {PAD}) // sizeof(T))"
    lanes = f"PAD_UP({count}, {LANES}) * {runs} * {step}"
    few = f"({count} * {runs} - 1) * {step} + {run}"
    return f"{count} * {runs} * {run} if {count} % {LANES} == 0 else {few} if {count} < {LANES} else {lanes}"


def _whole_lanes(count: str) -> tuple[OperandRule, ...]:
    """Return the rules for a number of filters; from MLU3xx on the compiler fills up the lanes (inferred)."""
    return at_least(count, 1), multiple_of(count, LANES, (2,))


def finish(sums: Tile, dtype: np.dtype[Any], *, whole: bool = False) -> Tile:
    """Return *sums* as elements of *dtype*; *whole*: the sums are integers."""
    if dtype.kind == "i":
        limits = np.iinfo(dtype)
        # Sums that float32 represents exactly are below EXACT, and so in range for such a type.
        if whole and sums.dtype == np.float32 and limits.max >= EXACT:
            return sums.astype(dtype)
        # NaN becomes 0; an infinity is clipped.
        sums = np.clip(np.rint(np.nan_to_num(sums)), limits.min, limits.max)
    return sums.astype(dtype, copy=False)


def _sums_type(values: Tile, weight: Tile, terms: int, *, whole: bool) -> Any:
    """Return the type for sums of *terms* products; *whole*: the result stays an integer, without scaling or a bias."""
    if values.dtype.kind == "i" and not whole:
        return np.float64
    return sums_type(values, weight, terms)


def _same_kind(weight: str) -> OperandRule:
    whole = "kind(dst) == 'int' and kind({0}) != 'int'"
    return demand(
        whole.format(weight),
        "an integer dst for sources of floats",
        "an integer dst for integers, a float type for anything",
    )


@intrinsic(
    "__bang_matmul",
    writes={"dst": "m * n"},
    reads={"left": "m * k", "right": _weight("n", "k")},
    dtypes={"dst": (*OUTPUTS, int16), "left": INPUTS, "right": INPUTS},
    spaces={"right": (WRAM,)},
    same=("left", "right"),
    cost=Cost(f"m * PAD_UP(n, {LANES}) * k", "left"),
    native=("matmul",),
    rules=(
        at_least("m", 1),
        at_least("k", 1),
        *_whole_lanes("n"),
        between("fix_pos", -127, 127),
        _same_kind("left"),
    ),
    **CERTAINTY
    | {"certainty": "C", "source": f"{CERTAINTY['source']}; fused_matmul_fwd, accepted on MLU370"},
)
def bang_matmul(
    dst: Tile, left: Tile, right: Tile, m: int, k: int, n: int, generation: Generation, fix_pos: int = 0
) -> None:
    """Multiply matrices: ``dst[i][j] = 2^fix_pos * sum over x of left[i][x] * filter[j][x]``, dst of *m* rows of *n*.

    *left* has *m* rows of *k*; *right*, in WRAM, *n* filters of *k* elements, as ``__bang_reshape_filter``
    lays them out. If *n* is not a multiple of 64, the compiler pads, as a published kernel for MLU370
    requires: each filter begins at a multiple of 64 bytes (inferred), and lanes without a filter do nothing.
    *fix_pos* is 0 in the only kernel that passes it (fused_matmul_fwd, accepted on MLU370); that it scales as
    in ``__bang_conv`` is inferred.
    """
    whole = left.dtype.kind == "i" and not fix_pos
    wide = _sums_type(left, right, k, whole=whole)
    rows, taps = (
        factor(left.reshape(m, k), generation, wide),
        WEIGHTS.rows(right, n, k, 1, generation, wide).T,
    )
    # No rounding is left: the product goes into dst without a copy.
    if dst.dtype == wide and not fix_pos:
        np.matmul(rows, taps, out=dst.reshape(m, n))
        return
    sums = rows @ taps
    dst.reshape(m, n)[...] = finish(sums * 2.0**fix_pos if fix_pos else sums, dst.dtype, whole=whole)


_CONV_RULES = (
    at_least("ci", 1),
    at_least("kernel_height", 1),
    at_least("kernel_width", 1),
    between("stride_w", 1, 1023),
    between("stride_h", 1, 1023),
    at_least("dilation_w", 1),
    at_least("dilation_h", 1),
    between("fix_pos", -127, 127),
    demand("out_dw is not None and fix_pos < 1", "in_dh = {fix_pos} is too small", "1 or more"),
    demand(
        "out_dw is not None and (dilation_h != 1 or out_dw != 1)",
        "out_dh = {dilation_h}, out_dw = {out_dw}: what other numbers than 1 mean is not public",
        "1 and 1",
    ),
    *_whole_lanes("co"),
    demand(
        f"(kernel_height - 1) * {_DOWN} >= height",
        "the kernel is higher than {height} rows",
        "a kernel that fits",
    ),
    demand(
        "(kernel_width - 1) * dilation_w >= width",
        "the kernel is wider than {width} columns",
        "a kernel that fits",
    ),
    _same_kind("src"),
)
# The unit reads the channels of a pixel in runs of 64 bytes, like weights in WRAM: a convolution of 3
# channels of half takes as long as one of 32 on MLU370-X4 (inferred).
_TAKEN = f"(PAD_UP(ci * sizeof(T), {PAD}) // sizeof(T))"
_CONV: dict[str, Any] = {
    "writes": {"dst": f"co * {_HIGH} * {_WIDE}"},
    "spaces": {"weight": (WRAM,)},
    "same": ("src", "weight"),
    "native": ("conv",),
    "cost": Cost(f"PAD_UP(co, {LANES}) * {_HIGH} * {_WIDE} * kernel_height * kernel_width * {_TAKEN}", "src"),
    "rules": _CONV_RULES,
}
_CONV_READS = {"src": "ci * height * width", "weight": _weight("co", "ci", "kernel_height * kernel_width")}


def _convolved(
    src: Tile,
    weight: Tile,
    outputs: int,
    kernel: tuple[int, int],
    strides: tuple[int, int],
    dilations: tuple[int, int],
    generation: int,
    *,
    whole: bool,
) -> Tile:
    """Return the sums of a convolution in HWC order; *src* is HWC, *weight* has *outputs* filters, pairs are (height, width).

    *whole* sums are integers to their end, neither scaled nor added to a bias.

    The inputs of each result are made contiguous, so that whole lines of the picture are one matrix product.
    """
    (height, width, channels), (kernel_height, kernel_width) = src.shape, kernel
    (stride_h, stride_w), (dilation_h, dilation_w) = strides, dilations
    taps = kernel_height * kernel_width
    dtype = _sums_type(src, weight, taps * channels, whole=whole)
    picture, rows = (
        factor(src, generation, dtype),
        WEIGHTS.rows(weight, outputs, channels, taps, generation, dtype),
    )
    high = (height - (kernel_height - 1) * dilation_h - 1) // stride_h + 1
    wide = (width - (kernel_width - 1) * dilation_w - 1) // stride_w + 1
    line, pixel, channel = picture.strides
    windows = np.lib.stride_tricks.as_strided(
        picture,
        (high, wide, kernel_height, kernel_width, channels),
        (stride_h * line, stride_w * pixel, dilation_h * line, dilation_w * pixel, channel),
        writeable=False,
    )
    sums = np.empty((high, wide, len(rows)), picture.dtype)
    # The copy of the windows that reshape creates stays in the cache.
    lines = max(1, TOGETHER // (wide * rows.shape[1]))
    for at in range(0, high, lines):
        part = windows[at : at + lines].reshape(-1, rows.shape[1])
        np.matmul(part, rows.T, out=sums[at : at + lines].reshape(-1, len(rows)))
    return sums


@intrinsic(
    "__bang_conv",
    reads=_CONV_READS,
    dtypes={"dst": OUTPUTS, "src": INPUTS, "weight": INPUTS},
    overload=("bang_conv_bias", "bias"),
    **_CONV,
    **CERTAINTY
    | {
        "certainty": "C",
        "source": "vendor kernels; conv_standard_1D, conv_standard_2D__square_input__square_kernel and Dilated_conv_2D, accepted on MLU370",
    },
)
def bang_conv(
    dst: Tile,
    src: Tile,
    weight: Tile,
    ci: int,
    height: int,
    width: int,
    kernel_height: int,
    kernel_width: int,
    stride_w: int,
    stride_h: int,
    co: int,
    generation: Generation,
    fix_pos: int = 0,
    dilation_w: int = 1,
    dilation_h: int = 1,
    out_dw: int | None = None,
) -> None:
    """Convolve: ``dst[y][x][o] = 2^fix_pos * sum of src[y * sh + i * dh][x * sw + j * dw][c] * weight[o][i][j][c]``.

    *src* is HWC, *dst* HWC with *co* channels, *weight* in WRAM: *co* filters as ``__bang_reshape_filter``
    lays them out; if *co* is not a multiple of 64, the compiler pads, as a published kernel for MLU370
    requires: the channels of each position in each filter begin at a multiple of 64 bytes (inferred). **Width
    comes before height** among the strides. A call with *bias* after *weight* is a call of
    ``__bang_conv_bias``.

    Four arguments at the end are ``in_dh, in_dw, out_dh, out_dw``: the dilations of height and width, and 1,
    1 (Dilated_conv_2D, a kernel accepted on MLU370); such a call has no fixed-point position. Products of
    half with sums in float are known from conv_standard_1D and conv_standard_2D__square_input__square_kernel,
    accepted there; other types and the fixed-point position are inferred.
    """
    down, scale = (dilation_h, 2.0**fix_pos) if out_dw is None else (fix_pos, 1.0)
    whole = src.dtype.kind == "i" and scale == 1
    sizes = (kernel_height, kernel_width), (stride_h, stride_w), (down, dilation_w)
    sums = _convolved(src.reshape(height, width, ci), weight, co, *sizes, generation, whole=whole)
    dst[...] = finish(sums if scale == 1 else sums * scale, dst.dtype, whole=whole).reshape(-1)


@intrinsic(
    "__bang_conv_bias",
    reads=_CONV_READS | {"bias": "co"},
    dtypes={"dst": OUTPUTS, "src": INPUTS, "weight": INPUTS, "bias": OUTPUTS},
    **_CONV,
    **CERTAINTY,
)
def bang_conv_bias(
    dst: Tile,
    src: Tile,
    weight: Tile,
    bias: Tile,
    ci: int,
    height: int,
    width: int,
    kernel_height: int,
    kernel_width: int,
    stride_w: int,
    stride_h: int,
    co: int,
    generation: Generation,
    fix_pos: int = 0,
    dilation_w: int = 1,
    dilation_h: int = 1,
    out_dw: int | None = None,
) -> None:
    """Convolve and add: ``dst[y][x][o] = 2^fix_pos * sum of src[y * sh + i * dh][x * sw + j * dw][c] * weight[o][i][j][c] + bias[o]``.

    The form of ``__bang_conv`` with *bias* (*co* elements) after *weight*; everything else is as there.
    """
    down, scale = (dilation_h, 2.0**fix_pos) if out_dw is None else (fix_pos, 1.0)
    sizes = (kernel_height, kernel_width), (stride_h, stride_w), (down, dilation_w)
    sums = _convolved(src.reshape(height, width, ci), weight, co, *sizes, generation, whole=False) * scale
    dst[...] = finish(sums + bias.astype(sums.dtype), dst.dtype).reshape(-1)


_MLP: dict[str, Any] = {
    "writes": {"dst": "outputs"},
    "spaces": {"weight": (WRAM,)},
    "same": ("src", "weight"),
    "cost": Cost(f"PAD_UP(outputs, {LANES}) * inputs", "src"),
    "rules": (
        at_least("inputs", 1),
        *_whole_lanes("outputs"),
        between("fix_pos", -127, 127),
        _same_kind("src"),
    ),
}
_MLP_READS = {"src": "inputs", "weight": _weight("outputs", "inputs")}


@intrinsic(
    "__bang_mlp",
    reads=_MLP_READS,
    dtypes={"dst": OUTPUTS, "src": INPUTS, "weight": INPUTS},
    overload=("bang_mlp_bias", "bias"),
    native=("mlp",),
    **_MLP,
    **CERTAINTY | {"source": "public kernels for MLU370"},
)
def bang_mlp(
    dst: Tile, src: Tile, weight: Tile, outputs: int, inputs: int, generation: Generation, fix_pos: int = 0
) -> None:
    """Apply a fully connected layer: ``dst[o] = 2^fix_pos * sum over x of src[x] * weight[o][x]``.

    *weight* is in WRAM: *outputs* filters of *inputs* elements as ``__bang_reshape_filter`` lays them out,
    padded if they are not multiples of 64, as in ``__bang_matmul``. A call with *bias* before *weight* is a
    call of ``__bang_mlp_bias``.
    """
    wide = _sums_type(src, weight, inputs, whole=False)
    sums = WEIGHTS.rows(weight, outputs, inputs, 1, generation, wide) @ factor(src, generation, wide)
    dst[...] = finish(sums * 2.0**fix_pos, dst.dtype)


@intrinsic(
    "__bang_mlp_bias",
    reads={"src": "inputs", "bias": "outputs", "weight": _MLP_READS["weight"]},
    dtypes={"dst": OUTPUTS, "src": INPUTS, "bias": OUTPUTS, "weight": INPUTS},
    native=("mlp",),
    **_MLP,
    **CERTAINTY,
)
def bang_mlp_bias(
    dst: Tile, src: Tile, bias: Tile, weight: Tile, outputs: int, inputs: int, generation: Generation,
    fix_pos: int = 0,
) -> None:  # fmt: skip
    """Apply a fully connected layer and add: ``dst[o] = 2^fix_pos * sum over x of src[x] * weight[o][x] + bias[o]``.

    The form of ``__bang_mlp`` with *bias* (*outputs* elements) before *weight*; everything else is as there.
    """
    wide = _sums_type(src, weight, inputs, whole=False)
    sums = WEIGHTS.rows(weight, outputs, inputs, 1, generation, wide) @ factor(src, generation, wide)
    dst[...] = finish(sums * 2.0**fix_pos + bias.astype(sums.dtype), dst.dtype)
