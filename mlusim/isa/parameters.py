"""The parameters of a row: what each is to the door, and its C type.

The annotation of a parameter of a body says both.  `Tile` is an operand in memory, ``int`` a count or a shape,
`Value` a scalar of the element type, `TileOrValue` an operand that may be either; a body that behaves
differently on different architectures takes a `Generation`, which no caller gives.  All else is passed as it
is; its C type is that of `bool`, ``str``, `Direction` and `Register`, or what `CType` in the annotation says.

A C type is text.  In braces stand element types: ``{T}`` that of the row, ``{src}`` that of an operand.
"""

import functools
import inspect
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
from attrs import frozen

from mlusim.memory.space import Direction

NO_DEFAULT = inspect.Parameter.empty

Tile = np.ndarray[Any, np.dtype[Any]]
Value = Annotated[Any, "a scalar of the element type of the row's first operand"]
TileOrValue = Annotated[Any, "an operand in memory, or a scalar of the element type"]
Generation = Annotated[int, "the generation of the architecture, 2 for MLU2xx; the door supplies it"]


@frozen(init=False)
class CType:
    """The C types that a parameter may have, the only one as a rule; stands in its annotation."""

    types: tuple[str, ...]

    def __init__(self, *types: str) -> None:
        object.__setattr__(self, "types", types)


Condition = Annotated[Any, CType("bool")]
Values = Annotated[Any, CType("...")]  # as printf takes them
Unsigned = Annotated[int, CType("unsigned int")]  # a result; as a parameter it would be a count
Pointer = Annotated[Any, CType("const void *")]
Unspelled = Annotated[Any, CType()]  # what C calls its type is not public: no form in C has it
FusionOp = Annotated[Any, CType("mluFusionOp_t")]
FuseOp = Annotated[str, CType("const char *")]
Comparison = Annotated[Any, CType("mluCmp_t")]
Overlap = Annotated[Any, CType("mluOverlap_t")]

_KINDS: Mapping[Any, str] = MappingProxyType(
    {
        Tile: "tile",
        int: "count",
        int | None: "count",
        Value: "value",
        TileOrValue: "either",
        Generation: "generation",
    }
)
_C_TYPES: Mapping[Any, tuple[str, ...]] = MappingProxyType(
    {
        int: ("int",),
        int | None: ("int",),
        bool: ("bool",),
        str: ("const char *",),
        Direction: ("mluMemcpyDirection_t",),
        Value: ("{T}",),
        None: ("void",),
        np.float16: ("half",),
        np.float32: ("float",),
        Any: ("{T}",),
    }
)


@frozen
class Parameter:
    """A parameter in order: ``kind`` is "tile", "count", "value", "either", "generation", "rest" or "any".

    ``c`` are the C types that it may have, none where no form in C has it; of a tile (None) they follow from
    the operand.  Those of "rest" are whole lists of parameters, one for each form of the row: "int stride, int count".
    """

    name: str
    kind: str
    default: Any = NO_DEFAULT
    c: tuple[str, ...] | None = None


def c_types(annotation: Any) -> tuple[str, ...] | None:
    """Return the C types that an annotation stands for; None for a tile."""
    for mark in getattr(annotation, "__metadata__", ()):
        if isinstance(mark, CType):
            return mark.types
    return _C_TYPES.get(annotation)


def parameters_of(
    body: Callable[..., Any], *, control: bool, c: Mapping[str, str | tuple[str, ...]]
) -> tuple[Parameter, ...]:
    """Return the parameters of *body*, without the core that a *control* row is handed; *c* overrides their C types."""
    # A bool as a number: True skips the core.
    return tuple(_parameter(p, c.get(p.name)) for p in _annotated(body)[0][control:])


class _Taken(NamedTuple):
    """A parameter as a body has it."""

    name: str
    rest: bool
    default: Any
    annotation: Any


@functools.lru_cache(1)  # what is asked for twice is asked for at once
def _annotated(body: Callable[..., Any]) -> tuple[list[_Taken], Any]:
    """Return the parameters of *body*, and the annotation of its result: as `inspect.signature` has them, which takes ten times as long."""
    code, given = getattr(body, "__code__", None), getattr(body, "__annotations__", {})
    plain = (
        type(body) is FunctionType and not hasattr(body, "__signature__") and not hasattr(body, "__wrapped__")
    )
    if not plain or code is None or code.co_kwonlyargcount or any(isinstance(a, str) for a in given.values()):
        found = inspect.signature(body, eval_str=True)
        every = found.parameters.values()
        return [
            _Taken(p.name, p.kind is p.VAR_POSITIONAL, p.default, p.annotation) for p in every
        ], found.return_annotation
    names = code.co_varnames[: code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
    defaults = getattr(body, "__defaults__", None) or ()
    late = code.co_argcount - len(defaults)
    taken = [
        _Taken(
            name,
            n == code.co_argcount,
            defaults[n - late] if late <= n < code.co_argcount else NO_DEFAULT,
            given.get(name, NO_DEFAULT),
        )
        for n, name in enumerate(names)
    ]
    return taken, given.get("return", NO_DEFAULT)


def _parameter(p: _Taken, c: str | tuple[str, ...] | None) -> Parameter:
    kind = "rest" if p.rest else _KINDS.get(p.annotation, "any")
    types = (c,) if isinstance(c, str) else c or c_types(p.annotation)
    return Parameter(p.name, kind, p.default, types)


def result_of(body: Callable[..., Any], c: str | tuple[str, ...] | None) -> tuple[str, str]:
    """Return the name of the Python type that *body* returns, and the C type of the result, *c* if given."""
    annotation = _annotated(body)[1]
    annotation = None if annotation is inspect.Signature.empty else annotation
    types = (c,) if isinstance(c, str) else c or c_types(annotation)
    plain = getattr(annotation, "__origin__", annotation)
    return "None" if plain is None else getattr(plain, "__name__", "Any"), types[0] if types else "void"
