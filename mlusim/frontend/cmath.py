"""Integer arithmetic as C does it, and the padding macros of the vendor's kernels."""


def cdiv(a: int, b: int) -> int:
    """``a / b`` of C integers: the quotient toward zero.  Raises `ZeroDivisionError` for b = 0."""
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def cmod(a: int, b: int) -> int:
    """``a % b`` of C integers: the remainder with the sign of *a*."""
    return a - b * cdiv(a, b)


def i32(value: int) -> int:
    """*value* wrapped to a signed 32-bit integer."""
    wrapped = int(value) & 0xFFFF_FFFF
    return wrapped - (1 << 32) if wrapped >> 31 else wrapped


def u32(value: int) -> int:
    """*value* wrapped to an unsigned 32-bit integer."""
    return int(value) & 0xFFFF_FFFF


def DIV_UP(x: int, y: int) -> int:
    """The quotient of non-negative integers, rounded up."""
    return (x + y - 1) // y


def PAD_UP(x: int, y: int) -> int:
    """*x* rounded up to a multiple of *y*."""
    return DIV_UP(x, y) * y


def PAD_DOWN(x: int, y: int) -> int:
    """*x* rounded down to a multiple of *y*."""
    return x // y * y
