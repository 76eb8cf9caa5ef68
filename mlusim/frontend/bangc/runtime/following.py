"""The names of translated code in a launch of which an observer follows scalars without a value."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mlusim.arch.dtypes import DType
from mlusim.frontend.bangc.runtime.followed import FOLLOWED, asked, followed, following, like, place, plain
from mlusim.frontend.bangc.runtime.layouts import Object, RecordLayout, RecordPointer
from mlusim.frontend.bangc.runtime.pointers import Value, copy

if TYPE_CHECKING:
    from mlusim.isa.declare import Intrinsic
    from mlusim.machine.core import Core
    from mlusim.machine.events import Follower

_VALUES = ("any", "either", "value")  # kinds of parameters that an instruction computes with
_ARITHMETIC = frozenset(
    f"_c_{name}" for name in ("f16", "bf16", "div", "long_div", "mod", "fdiv", "whole", "wrap", "long_to")
)


def arithmetic(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the replacements for those of *names* that compute with numbers."""
    return {
        name: following(value)
        for name, value in names.items()
        if name in _ARITHMETIC or name.startswith("_c_lib_")
    }


class Following:
    """The names of translated code in a launch of which an observer follows scalars, on *core*."""

    def __init__(self, core: "Core") -> None:
        self.core = core
        self._typed: Follower | None = (
            None  # of the last number that got its type before it is given to an instruction
        )

    def names(self, space: Mapping[str, Any], rows: Mapping[str, "Intrinsic"], number: str) -> dict[str, Any]:
        """Return the replacements for names of *space*: conversions, the *rows* by their names, types named *number*...

        Those for arithmetic are the same on each core: `arithmetic`.
        """
        made: dict[str, Any] = {"int": self._as(int), "float": self._as(float), "bool": self._as(bool)}
        made["_c_got"], made["_c_asked"], made["_c_place"] = self.got, asked, place
        made["_c_unset"] = self.unset
        for name, value in space.items():
            if name.startswith(number):
                made[name] = self._typing(value)
        made["_c_f32"] = _rounding(space["_c_f32"])
        made["_c_copy"] = self._copy
        # Taken now: space has the replacements later.
        pointer_of, direction = space["_c_pointer_of"], space["_c_direction"]
        made["_c_pointer_of"] = lambda address, layout: pointer_of(place(address), layout)
        made["_c_direction"] = lambda value: direction(asked(value))
        for name in ("_c_local", "_c_constant_local"):
            made[name] = _initial(space[name])
        for name, row in rows.items():
            made[name] = self._issuing(row, space[name])
        return made

    def got(self, value: object) -> Any:
        """*value*, which code has just loaded and keeps: followed where it has no value."""
        taken = self.core.hub.taken
        assert taken is not None
        follower = None if value.__class__ in FOLLOWED else taken(self.core, value)
        return value if follower is None else followed(value, follower)

    def unset(self, value: object, name: str) -> Any:
        """*value*, a number or a record that the variable *name* holds before anything is assigned to it."""
        if isinstance(value, Object):
            for field, (layout, _) in type(value).layout.fields.items():
                inner = value.__dict__.get(field)
                if isinstance(layout, DType):
                    value.__dict__[field] = self.unset(inner, f"{name}.{field}")
                elif isinstance(layout, RecordLayout) and not layout.union:
                    self.unset(inner, f"{name}.{field}")
            return value
        taken = self.core.hub.taken
        assert taken is not None
        follower = taken(self.core, value, name)
        return value if follower is None else followed(value, follower)

    def _copy(self, value: object) -> Any:
        return value.copied(self.got) if value.__class__ is RecordPointer else copy(value)

    def _as(self, kind: Any) -> Callable[[Any], Any]:
        core, taken = self.core, self.core.hub.taken
        assert taken is not None

        def convert(value: Value) -> Any:
            if value.__class__ in FOLLOWED:
                return followed(kind(plain(value)), value.follower)
            follower = taken(core, value)
            return kind(value) if follower is None else followed(kind(value), follower)

        return convert

    def _typing(self, kind: Any) -> Callable[[Any], Any]:
        def typed(value: Value) -> Any:
            if value.__class__ in FOLLOWED:
                self._typed = value.follower
                return kind(plain(value))
            return kind(value)

        return typed

    def _issuing(self, row: "Intrinsic", call: Callable[..., Any]) -> Callable[..., Any]:
        """*call*, which issues *row*: what has no value is handed to it, or used by it as a count or a place."""

        def issue(*arguments: Any) -> Any:
            if self._typed is None and not any(a.__class__ in FOLLOWED for a in arguments):
                return call(*arguments)
            handed, self._typed = self._typed, None
            for n, argument in enumerate(arguments):
                if argument.__class__ in FOLLOWED:
                    parameter = row.given[n] if n < len(row.given) else None
                    if parameter is not None and parameter.kind in _VALUES:
                        handed = argument.follower
                    else:
                        what = (
                            "an argument"
                            if parameter is None or parameter.kind == "rest"
                            else f"the {parameter.name}"
                        )
                        argument.follower.used(f"{what} of {row.spelling}")
            if handed is not None:
                handed.handed(row.name)
            return call(*map(plain, arguments))

        return issue


def _rounding(rounder: Callable[[float], float]) -> Callable[[float], float]:
    def rounded(x: float) -> float:
        return rounder(x) if x.__class__ is float else like(rounder(plain(x)), x)

    return rounded


def _initial(local: Callable[..., Any]) -> Callable[..., Any]:
    """`Task.local`, where what an array begins with is told: it goes to memory all at once."""

    def declared(*arguments: object) -> Any:
        for value in getattr(arguments[-1], "items", ()):
            if value.__class__ in FOLLOWED:
                value.follower.used("an array")
        return local(*arguments)

    return declared
