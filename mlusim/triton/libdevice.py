"""The device library of the card, ``tl.extra.mlu.libdevice``: its functions by name, and Philox; the names are those of its public half."""

from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from triton.language import core
from triton.language.extra.cuda import libdevice as other

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
    *("fast_tanhf", "fast_tanh", "fast_erf", "fast_gelu", "fast_silu", "fast_sigmoid"),
)
TWO = ("div_rn", "div_rz", "fast_dividef", "pow", "fast_powf", "fmod", "atan2", "copysign")
TESTS = ("isnan", "isinf", "finitef", "signbit")
FLOATS = (core.float32, core.float16, core.bfloat16)


def _function(name: str, operands: int, *, tests: bool = False) -> Callable[..., Any]:
    symbols = {(kind,) * operands: (f"__cn_{name}", core.int1 if tests else kind) for kind in FLOATS}

    @core.extern  # type: ignore[untyped-decorator]
    def function(*arguments: Any, _semantic: Any = None) -> Any:
        return core.extern_elementwise("", "", [*arguments], symbols, is_pure=True, _semantic=_semantic)

    plain: Callable[..., Any] = function
    return plain


globals().update({name: _function(name, 1) for name in ONE})
globals().update({name: _function(name, 2) for name in TWO})
globals().update({name: _function(name, 1, tests=True) for name in TESTS})


# Beyond these Triton's own symbols, which the lowering knows or refuses by name.
def __getattr__(name: str) -> object:
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
    """Return four random words for each of *count* counters, of which the first counts on from *c0*: a tensor of (count, 4)."""
    first = c0.to(tl.uint32) + tl.arange(0, count).to(tl.uint32)
    same = tl.zeros([count], tl.uint32)
    a, b, c, d = tl.philox_impl(
        first, same + c1, same + c2, same + c3, seed_low.to(tl.uint32), seed_high.to(tl.uint32), rounds
    )
    return tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (count, 4))
