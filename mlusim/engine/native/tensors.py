"""Bodies of the tensor unit's rows in C; what they do is in ``c/tensor.h``, which a kernel that multiplies has."""

from collections.abc import Callable, Mapping
from pathlib import Path

from mlusim.arch.dtypes import DType
from mlusim.isa.declare import Intrinsic
from mlusim.isa.factors import EXACT, TOGETHER, beside

Types = Mapping[str, DType]

MARK = "Tensor_"  # in the text of each row that needs the header


def header() -> str:
    """Return the C that stands before the rows."""
    text = (Path(__file__).with_name("c") / "tensor.h").read_text(encoding="utf-8")
    return f"#include <stdlib.h>\nenum {{ EXACT = {EXACT}, TOGETHER = {TOGETHER} }};\n{text}"


def _weight(name: str, count: str, terms: str) -> str:
    """Render the filters in the operand *name*, and how they are multiplied."""
    near = f"generation == 3 ? {beside(3)} : {beside(5)}"
    return (
        f"({MARK}){{.weight = {name}, .size = sizeof *{name}, .count = {count}, .terms = {terms}, .near = {near}, "
        f".kind = generation >= 5 && E_${name} == E_f32 ? E_tf32 : E_${name}}}"
    )


def matmul(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """Render a product of matrices."""
    del row, types, scalars
    return f"if (!matmul_(m, {_weight('right', 'n', 'k')}, dst, E_$dst, left, m_, fix_pos)) SLOW;"


def mlp(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """Render a fully connected layer."""
    del row, types, scalars
    return f"if (!mlp_(m, {_weight('weight', 'outputs', 'inputs')}, dst, E_$dst, src, bias, E_$bias, fix_pos)) SLOW;"


def conv(row: Intrinsic, types: Types, scalars: frozenset[str]) -> str:
    """Render a convolution; with four numbers at its end the first of them is the dilation down, and none scales."""
    del types
    down, power = ("dilation_h", "fix_pos") if "out_dw" in scalars else ("fix_pos", "0")
    bias = "bias, E_$bias" if "bias" in row.operands else "0, 0"
    weight = _weight("weight", "co", "kernel_height * kernel_width * ci")
    return (
        f"const int64_t down_ = {down}, high_ = (height - (kernel_height - 1) * down_ - 1) / stride_h + 1, wide_ = (width - (kernel_width - 1) * dilation_w - 1) / stride_w + 1;\n"
        "  const Windows_ windows_ = {height, width, ci, high_, wide_, kernel_height, kernel_width, stride_h, stride_w, down_, dilation_w};\n"
        f"  if (!conv_(m, {weight}, windows_, dst, E_$dst, src, {bias}, {power})) SLOW;"
    )


TENSORS: Mapping[str, Callable[..., str]] = {"matmul": matmul, "mlp": mlp, "conv": conv}
