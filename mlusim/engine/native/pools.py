"""Bodies of the pooling rows in C: pictures in HWC order, as `isa.pool` has them."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from mlusim.arch.dtypes import DType, half
from mlusim.engine.native.expressions import expression
from mlusim.isa.declare import Intrinsic

Types = Mapping[str, DType]


def _strides(scalars: frozenset[str]) -> tuple[str, str]:
    """Return the distances of windows, down and to the right: without strides they lie side by side."""
    down = "kernel_height" if "stride_h" in scalars else "stride_h"
    return down, "kernel_width" if "stride_w" in scalars else "stride_w"


def pool(row: Intrinsic, types: Types, scalars: frozenset[str], combine: Any, mean: bool) -> str | None:
    """Render one number for each window and channel, the mean of *combine* or itself."""
    del row
    found = expression(combine, types["dst"].kind)
    down, right = _strides(scalars)
    # Sums of half have two accumulators, as kernels accepted on the card show (`isa.pool.TWO_SUMS`).
    if combine is np.add and not mean and types["dst"] is half:
        return _two_sums(down, right)
    rest = "U_$dst b = GET_$dst(PUT_$dst(kernel_height * kernel_width)); for (int64_t c = 0; c < channel; c++) to[c] = PUT_$dst(GET_$dst(to[c]) / b);"
    return (
        f"int64_t high = (height - (kernel_height - 1) * in_dh - 1) / {down} + 1, wide = (width - (kernel_width - 1) * in_dw - 1) / {right} + 1;\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) { T_$dst *to = dst + (y * wide + x) * channel;\n"
        f"    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < kernel_width; w++) {{ const T_$src *frm = src + ((y * {down} + h * in_dh) * width + x * {right} + w * in_dw) * channel;\n"
        "      if (!h && !w) memmove(to, frm, (size_t)channel * sizeof *to); else\n"
        f"      for (int64_t c = 0; c < channel; c++) {{ U_$dst a = GET_$dst(to[c]), b = GET_$dst(frm[c]); to[c] = PUT_$dst({found}); }} }}\n"
        f"    {rest if mean else ''} }}"
    )


def _two_sums(down: str, right: str) -> str:
    """Render sums of half: of even and of odd elements, then of the two, some channels at a time."""
    return (
        f"int64_t high = (height - (kernel_height - 1) * in_dh - 1) / {down} + 1, wide = (width - (kernel_width - 1) * in_dw - 1) / {right} + 1;\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) for (int64_t first = 0; first < channel; first += 64) {\n"
        "    const int64_t many = smaller_(channel - first, 64); T_$dst sums[2][64]; int64_t place = 0;\n"
        f"    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < kernel_width; w++, place++) {{ const T_$src *frm = src + ((y * {down} + h * in_dh) * width + x * {right} + w * in_dw) * channel + first;\n"
        "      T_$dst *to = sums[place & 1]; if (place < 2) memcpy(to, frm, (size_t)many * sizeof *to); else\n"
        "      for (int64_t c = 0; c < many; c++) to[c] = PUT_$dst(GET_$dst(to[c]) + GET_$src(frm[c])); }\n"
        "    T_$dst *to = dst + (y * wide + x) * channel + first;\n"
        "    for (int64_t c = 0; c < many; c++) to[c] = place < 2 ? sums[0][c] : PUT_$dst(GET_$dst(sums[0][c]) + GET_$dst(sums[1][c])); }"
    )


def _windows(scalars: frozenset[str]) -> str:
    """Render how many windows there are where the last of a row shrinks."""
    down, right = _strides(scalars)
    return (
        f"const int64_t down_ = {down}, right_ = {right}, high = (height - kernel_height) / down_ + 1;\n"
        "  const int64_t wide = smaller_(ceil_div(width - kernel_width, right_) + 1, (width - 1) / right_ + 1);"
    )


def largest(row: Intrinsic, types: Types, scalars: frozenset[str], values: bool) -> str:
    """Render the place of the largest number of each window, with *values* behind these; a NaN loses, of equals the first is taken."""
    del row
    size = types["src"].size
    value = f"dst[at_] = PUT_$dst(top); memcpy((uint8_t *)(dst + at_) + step_dst, &found, {size});"
    index = "dst[at_] = (T_$dst)place;"
    # The value of a window is stored before the next is read: in place, Python does it from a copy.
    beside = f"if ((const void *)dst == (const void *)src) SLOW;\n  uint{8 * size}_t found;" if values else ""
    return (
        f"{beside}{_windows(scalars)}\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) for (int64_t c = 0; c < channel; c++) {\n"
        "    int64_t place = 0, at_ = (y * wide + x) * channel + c; float best = NAN, top = NAN;\n"
        "    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < smaller_(kernel_width, width - x * right_); w++) {\n"
        "      float a = GET_$src(src[((y * down_ + h) * width + x * right_ + w) * channel + c]); top = FMAX_f32(top, a);\n"
        "      if (!IS_NAN(a) && !(a <= best)) { best = a; place = h * kernel_width + w; } }\n"
        f"    {f'found = (uint{8 * size}_t)place; {value}' if values else index} }}"
    )


def unpool(row: Intrinsic, types: Types, scalars: frozenset[str], add: bool) -> str:
    """Render numbers put or added back to their places in the windows; Python refuses a place outside of its window."""
    del row, types
    total = "PUT_$dst(GET_$dst(*to) + GET_$src(src[at_]))" if add else "src[at_]"
    each = "for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++) for (int64_t c = 0; c < channel; c++)"
    place = "int64_t at_ = (y * wide + x) * channel + c, p = (int64_t)index[at_], w = x * right_ + p % kernel_width;"
    return (
        f"{_windows(scalars)}\n"
        f"  {each} {{ {place} if (p < 0 || p >= kernel_height * kernel_width || w >= width) SLOW; }}\n"
        "  memset(dst, 0, (size_t)(height * width * channel) * sizeof *dst);\n"
        f"  {each} {{ {place} T_$dst *to = dst + ((y * down_ + p / kernel_width) * width + w) * channel + c; *to = {total}; }}"
    )


def shares(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """Render each window's share at each of its places, added up or the last one."""
    del row, types, scalars
    return (
        "if (overlap != 0 && overlap != 1) SLOW;\n"
        "  const int64_t high = (height - kernel_height) / stride_h + 1, wide = (width - kernel_width) / stride_w + 1;\n"
        "  const float many = GET_$dst(PUT_$dst(kernel_height * kernel_width)); memset(dst, 0, (size_t)(height * width * channel) * sizeof *dst);\n"
        "  for (int64_t y = 0; y < high; y++) for (int64_t x = 0; x < wide; x++)\n"
        "    for (int64_t h = 0; h < kernel_height; h++) for (int64_t w = 0; w < kernel_width; w++) for (int64_t c = 0; c < channel; c++) {\n"
        "      T_$dst share = PUT_$dst(GET_$src(src[(y * wide + x) * channel + c]) / many), *to = dst + ((y * stride_h + h) * width + x * stride_w + w) * channel + c;\n"
        "      *to = overlap ? share : PUT_$dst(GET_$dst(*to) + GET_$dst(share)); }"
    )


POOLS: Mapping[str, Callable[..., str | None]] = MappingProxyType(
    {"pool": pool, "largest": largest, "unpool": unpool, "shares": shares}
)
