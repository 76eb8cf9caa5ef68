"""The card's device library ``tl.extra.mlu.libdevice``: its functions by name, and Philox; the names are those of its public part."""

from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from triton.language import core
from triton.language.extra.cuda import libdevice as other

from mlusim.near import near

ONE = (
    *(
        "sqrt",
        "sqrt_rn",
        "rsqrt",
        "cbrt",
        "exp",
        "exp2",
        "exp10",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "erf",
        "erfc",
        "lgamma",
    ),
    *("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh"),
    *(
        "floor",
        "ceil",
        "trunc",
        "rint",
        "nearbyint",
        "round",
        "fast_expf",
        "fast_exp2f",
        "fast_logf",
        "fast_sinf",
        "fast_cosf",
    ),
    *("fast_tanhf", "fast_tanh", "fast_erf", "fast_gelu", "fast_silu", "fast_silubp", "fast_sigmoid"),
    *("fast_sqrt", "fast_rcp", "fast_log", "fast_log2f", "fast_log10f", "fast_exp10f"),
    *("ultra_gelu", "ultra_silu", "ultra_silubp", "ultra_sigmoid", "ultra_tanh"),
)
TWO = (
    *("div_rn", "fast_dividef", "pow", "fast_powf", "ultra_pow", "fmod", "atan2", "copysign"),
    *("fast_max", "fast_min"),
)
SHORTER = {"half": core.float16, "bfloat16": core.bfloat16}
"""Types of results that are shorter than float, as of ``ultra_silu_float2half``."""
TESTS = ("isnan", "isinf", "finitef", "signbit")
FLOATS = (core.float32, core.float16, core.bfloat16)


def _function(name: str, operands: int, *, tests: bool = False) -> Callable[..., Any]:
    return _of_types({(kind,) * operands: (f"__cn_{name}", core.int1 if tests else kind) for kind in FLOATS})


def _of_types(symbols: dict[tuple[core.dtype, ...], tuple[str, core.dtype]]) -> Callable[..., Any]:
    """Return a function that selects, by the types of its operands, one of *symbols*: a symbol and a result type."""

    @core.extern  # type: ignore[untyped-decorator]
    def function(*arguments: object, _semantic: Any = None) -> Any:
        operands = [_semantic.to_tensor(argument) for argument in arguments]
        # The card's Triton first gives two operands a common type if no symbol takes their types; later
        # versions look up the symbol first.
        if len(operands) == 2 and _types(operands) not in symbols:
            operands = [*_semantic.binary_op_type_checking_impl(*operands)]
        if _types(operands) not in symbols:
            name = next(iter(symbols.values()))[0].removeprefix("__cn_")
            legal = " or ".join(", ".join(map(str, types)) for types in symbols)
            raise ValueError(
                f"libdevice.{name} takes {legal}, not {', '.join(map(str, _types(operands)))}; convert with .to(tl.float32)"
            )
        return core.extern_elementwise("", "", operands, symbols, is_pure=True, _semantic=_semantic)

    plain: Callable[..., Any] = function
    return plain


def _types(operands: list[Any]) -> tuple[core.dtype, ...]:
    return tuple(operand.dtype for operand in operands)


globals().update({name: _function(name, 1) for name in ONE})
globals().update({name: _function(name, 2) for name in TWO})
globals().update({name: _function(name, 1, tests=True) for name in TESTS})


globals().update(
    {
        f"{name}_float2{word}": _of_types({(core.float32,): (f"__cn_{name}", kind)})
        for name in ("ultra_silu", "ultra_silubp")
        for word, kind in SHORTER.items()
    }
)
fast_powi = _of_types({(kind, core.int32): ("__cn_fast_powf", kind) for kind in FLOATS})


# For other names use Triton's own symbols, which the lowering supports or refuses by name.
def __getattr__(name: str) -> object:
    if not hasattr(other, name):
        meant = near(name, (*ONE, *TWO, *TESTS))
        hint = f"; did you mean {' or '.join(meant)}?" if meant else "; write it with operations of tl"
        raise AttributeError(f"libdevice has no function {name}{hint}")
    return getattr(other, name)


@triton.jit  # type: ignore[untyped-decorator]
def philox(  # type: ignore[no-untyped-def]  # noqa: ANN201 - Triton reads the annotations, and knows its own alone
    count: tl.constexpr,
    seed_low,  # noqa: ANN001
    seed_high,  # noqa: ANN001
    c0,  # noqa: ANN001
    c1,  # noqa: ANN001
    c2,  # noqa: ANN001
    c3,  # noqa: ANN001
    rounds: tl.constexpr,
):
    """Return four random words for each of *count* counters, as a tensor of (count, 4); the first counter word starts at *c0*."""
    first = c0.to(tl.uint32) + tl.arange(0, count).to(tl.uint32)
    same = tl.zeros([count], tl.uint32)
    a, b, c, d = tl.philox_impl(
        first, same + c1, same + c2, same + c3, seed_low.to(tl.uint32), seed_high.to(tl.uint32), rounds
    )
    return tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (count, 4))
