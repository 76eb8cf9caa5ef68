"""Numbers that an observer tracks: a result computed from a scalar without a value has no value either.

An observer's `taken` returns a `Follower` for such a scalar. The number then has a class of this module. It
passes the follower to results computed from it, and notifies the follower when control or an address depends
on the number.
"""

import functools
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlusim.machine.observed import Follower

Value = Any
"""A C value in Python: a number, a pointer, or the object of a struct."""

ADDRESS = "an address"
TEST = "a test"


class _Followed:
    """The common part of numbers with a `Follower`."""

    follower: "Follower"

    def __index__(self) -> int:
        """Return the number as an address or a count of elements; translated code calls this at most once per use."""
        self.follower.used(ADDRESS)
        return int(self)

    def handed(self) -> Any:
        """Return the plain number for the scalar store that follows."""
        self.follower.handed("scalar store")
        return plain(self)


class FollowedInt(_Followed, int):
    """An integer that is tracked."""


class FollowedFloat(_Followed, float):
    """A tracked floating-point number."""


# Tested by class: every number of a watched kernel goes through `x.__class__ in FOLLOWED`.
FOLLOWED: frozenset[Any] = frozenset((FollowedInt, FollowedFloat))


def followed(value: Value, follower: "Follower") -> Any:
    """Return *value*, a Python or NumPy number, as a number tracked by *follower*."""
    real = isinstance(value, float) or getattr(getattr(value, "dtype", None), "kind", "i") not in "iub"
    number = FollowedFloat(value) if real else FollowedInt(value)
    number.follower = follower
    return number


def plain(value: Value) -> Any:
    """Return *value*, with a tracked number converted to a plain Python number."""
    if value.__class__ is FollowedInt:
        return int.__int__(value)
    return float.__float__(value) if value.__class__ is FollowedFloat else value


def like(value: Value, *sources: Any) -> Any:
    """Return *value*, computed from *sources*, as a tracked number if a source is tracked."""
    for source in sources:
        if source.__class__ in FOLLOWED:
            return value if value.__class__ in FOLLOWED else followed(value, source.follower)
    return value


def following(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a *function* of numbers so that its result is tracked if an argument is."""

    def called(*arguments: Any) -> Any:
        for argument in arguments:
            if argument.__class__ in FOLLOWED:
                try:
                    result = function(*map(plain, arguments))
                except ZeroDivisionError:
                    argument.follower.used("a division")
                    raise
                return followed(result, argument.follower) if isinstance(result, int | float) else result
        return function(*arguments)

    return called


def _both(op: Callable[[Any, Any], Any], *, swapped: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: object) -> Any:
        if not isinstance(other, int | float):
            return NotImplemented
        mine, others = plain(self), plain(other)
        try:
            result = op(others, mine) if swapped else op(mine, others)
        except ZeroDivisionError:
            self.follower.used("a division")
            raise
        return followed(result, self.follower)

    return method


def _unary(op: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: followed(op(plain(self)), self.follower)


for _kind in (FollowedInt, FollowedFloat):
    for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor", "lshift", "rshift"):
        if hasattr(_kind, f"__{_name}__"):
            _op = getattr(operator, f"__{_name}__")
            setattr(_kind, f"__{_name}__", _both(_op))
            setattr(_kind, f"__r{_name}__", _both(_op, swapped=True))
    for _name in ("lt", "le", "eq", "ne", "gt", "ge"):
        setattr(_kind, f"__{_name}__", _both(getattr(operator, _name)))
    for _name in ("neg", "pos", "invert", "abs"):
        if hasattr(_kind, f"__{_name}__"):
            setattr(_kind, f"__{_name}__", _unary(getattr(operator, f"__{_name}__")))
    # Python drops the hash of a class that defines __eq__; restore that of int or float.
    _kind.__hash__ = _kind.__mro__[2].__hash__  # type: ignore[assignment]


def used(what: str, value: Value) -> Any:
    """Return *value* as a plain Python number; if it is tracked, report its use as *what*."""
    if value.__class__ in FOLLOWED:
        value.follower.used(what)
        return plain(value)
    return value


asked = functools.partial(used, TEST)  # for the outcome of a comparison, or a tested number
place = functools.partial(used, ADDRESS)  # for a number used as an address or an index
