"""The declaration of an intrinsic: its name, operands, rules and cost.

A row is the only place where an intrinsic is described.  Execution, faults, counting, time,
the reference pages, the typed stub and the generic tests are derived from it.

A body is a function over NumPy views of exactly the declared operands::

    @intrinsic("__bang_transpose", writes={"dst": "height * width"}, reads={"src": "height * width"}, ...)
    def bang_transpose(dst: Tile, src: Tile, height: int, width: int) -> None:
        '''Transpose a matrix: ``dst[w][h] = src[h][w]``.'''
        np.copyto(dst.reshape(width, height), src.reshape(height, width).T)

The annotation of a parameter says how an engine passes it, and its C type: `Tile` is an operand in memory,
``int`` a count or a shape, `Value` a scalar of the element type, `TileOrValue` either an operand or a scalar.
A body that depends on the architecture takes a `Generation`, which the engine supplies. Other arguments are
passed unchanged; their C type is that of `bool`, ``str``, `Direction` or `Register`, or is given by `CType`
in the annotation.

A C type is text. Names in braces stand for element types: ``{T}`` for that of the row, ``{src}`` for that of
an operand.

Extents, steps, strides, costs and the conditions of rules are formulas (`mlusim.formula.parse`), parsed from
text when the row is declared; ``sizeof(T)`` in an extent is the bytes of one element of the operand.
"""

import functools
import inspect
import keyword
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from types import FunctionType, MappingProxyType
from typing import Annotated, Any, NamedTuple

import numpy as np
from attrs import evolve, field, fields, frozen

from mlusim.arch.board import Pipe
from mlusim.arch.dtypes import (
    DType,
    bfloat16,
    float32,
    half,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from mlusim.formula.expr import ONE, Expr
from mlusim.formula.parse import as_row_formula, names_in
from mlusim.memory.space import NRAM, Direction, Space
from mlusim.presenting import Presented

NO_DEFAULT = inspect.Parameter.empty

Tile = np.ndarray[Any, np.dtype[Any]]
Value = Annotated[Any, "a scalar of the element type of the row's first operand"]
TileOrValue = Annotated[Any, "an operand in memory, or a scalar of the element type"]
Generation = Annotated[int, "the generation of the architecture, 2 for MLU2xx; the door supplies it"]
MemoryCore = Annotated[bool, "whether the core is a memory core; the door supplies it"]
CoreMethod = Annotated[Callable[..., None], "the core's method of the parameter's name; the door supplies it"]


@frozen(init=False)
class CType:
    """The C types that a parameter may have, usually one; part of the parameter's annotation."""

    types: tuple[str, ...]

    def __init__(self, *types: str) -> None:
        object.__setattr__(self, "types", types)


Condition = Annotated[Any, CType("bool")]
Values = Annotated[Any, CType("...")]  # variable arguments, as of printf
Unsigned = Annotated[int, CType("unsigned int")]  # only for results; an unsigned parameter is a count
Pointer = Annotated[Any, CType("const void *")]
Unspelled = Annotated[Any, CType()]  # the C type is not public: the row has no C form with this parameter
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
        MemoryCore: "memory core",
        CoreMethod: "method",
    }
)
SUPPLIED = "generation", "memory core", "method"  # kinds of parameters that no kernel passes
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
    """A parameter in order: ``kind`` is "tile", "count", "value", "either", "rest", "any", or one in `SUPPLIED`.

    ``c`` has its possible C types; empty if no C form has the parameter, None for a tile, whose types follow
    from the operand. For "rest", each is a whole parameter list of one form of the row: "int stride, int
    count".
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


def parameters_of(body: Callable[..., Any], c: Mapping[str, str | tuple[str, ...]]) -> tuple[Parameter, ...]:
    """Return the parameters of *body*; *c* overrides C types by name."""
    parameters = []
    for p in _annotated(body)[0]:
        types = c.get(p.name) or c_types(p.annotation)
        kind = "rest" if p.rest else _KINDS.get(p.annotation, "any")
        parameters.append(Parameter(p.name, kind, p.default, (types,) if isinstance(types, str) else types))
    return tuple(parameters)


class _Taken(NamedTuple):
    """A parameter in the signature of a row's body."""

    name: str
    rest: bool
    default: Any
    annotation: Any


@functools.lru_cache(1)  # callers ask twice in a row for the same body
def _annotated(body: Callable[..., Any]) -> tuple[list[_Taken], Any]:
    """Return the parameters of *body* and the annotation of its result, ten times as fast as `inspect.signature`."""
    code, annotations = getattr(body, "__code__", None), getattr(body, "__annotations__", {})
    plain = (
        type(body) is FunctionType and not hasattr(body, "__signature__") and not hasattr(body, "__wrapped__")
    )
    if (
        not plain
        or code is None
        or code.co_kwonlyargcount
        or any(isinstance(a, str) for a in annotations.values())
    ):
        signature = inspect.signature(body, eval_str=True)
        every = signature.parameters.values()
        return [
            _Taken(p.name, p.kind is p.VAR_POSITIONAL, p.default, p.annotation) for p in every
        ], signature.return_annotation
    names = code.co_varnames[: code.co_argcount + bool(code.co_flags & inspect.CO_VARARGS)]
    defaults = getattr(body, "__defaults__", None) or ()
    late = code.co_argcount - len(defaults)
    taken = [
        _Taken(
            name,
            n == code.co_argcount,
            defaults[n - late] if late <= n < code.co_argcount else NO_DEFAULT,
            annotations.get(name, NO_DEFAULT),
        )
        for n, name in enumerate(names)
    ]
    return taken, annotations.get("return", NO_DEFAULT)


def result_of(body: Callable[..., Any], c: str | tuple[str, ...] | None) -> tuple[str, str]:
    """Return the name of the Python type that *body* returns, and the C type of the result; *c* overrides the latter."""
    annotation = _annotated(body)[1]
    annotation = None if annotation is inspect.Signature.empty else annotation
    types = (c,) if isinstance(c, str) else c or c_types(annotation)
    plain = getattr(annotation, "__origin__", annotation)
    return "None" if plain is None else getattr(plain, "__name__", "Any"), types[0] if types else "void"


def _range(low: float | None, high: float | None) -> str:
    if low is None:
        return "anywhere" if high is None else f"up to {high:g}"
    return f"from {low:g}" if high is None else f"from {low:g} to {high:g}"


@frozen
class Approximation:
    """The documented error of an approximate instruction; the simulator computes the exact formula.

    ``error`` is the average relative error for sources in ``ranges``: a (lowest, highest) pair per type, or
    None for no bound.
    """

    error: float
    ranges: Mapping[str, tuple[float | None, float | None]]

    def __str__(self) -> str:
        ranges = "; ".join(f"{name} {_range(*ends)}" for name, ends in self.ranges.items())
        return f"average relative error {self.error:g} ({ranges})"


FLOATS = (half, bfloat16, float32)
INTS = (int8, int16, int32, uint8, uint16, uint32)
NUMBERS = FLOATS + INTS
ANY = (*NUMBERS, int64, uint64)  # 64-bit integers are only moved; a row that computes with them lists them


class Flow(Enum):
    """How uninitialised bytes propagate: element by element, cyclically from shorter operands, or from any element to all."""

    LANEWISE = "lanewise"
    REPEATING = "repeating"
    MIXING = "mixing"


class Passes(Enum):
    """The number of passes of the vector unit over a line: one, several, or one per element."""

    ONE = "a cycle for each line"
    FUNCTION = "several cycles for each line, as functions take them"
    EXPONENTIAL = "several cycles for each line, as exponentials by table take them"
    REDUCTION = "several cycles for each line, as reductions and searches take them"
    FUSION = "two operations for each line"
    POOLING = "a line for each pixel of each window"
    TRANSPOSE = "a time for each element"


class CallStyle(Enum):
    """How an engine calls a body."""

    BODY = "body(parameters)"
    INTO = "ufunc(sources, destination)"
    ASSIGN = "destination[...] = ufunc(sources)"


READ_FIRST = MappingProxyType({372: 1024})
"""By ``__BANG_ARCH__``: for destinations up to this many bytes, an element-wise row reads its sources before it writes.

Prefix_sum_2D, a kernel accepted on MLU370, adds ``a`` to ``a + o`` in place for o = 1, 2, 4 ... 128 on 256
floats, and its scan is correct [C]. A longer destination may begin before its source, which is read in
ascending order: cumsum_reverse adds ``a + o`` to ``a`` of 4000 floats [C]. It is inferred that other rows
behave like ``__bang_add`` of floats.
"""


class Refused(Exception):
    """Raised by a body if the data of an operand are illegal; the engine turns it into a fault.

    ``needs`` is the number of elements that *operand* would need.
    """

    def __init__(
        self, sentence: str, *, operand: str | None = None, legal: str | None = None, needs: int | None = None
    ) -> None:
        super().__init__(sentence)
        self.operand = operand
        self.legal = legal
        self.needs = needs


def refuse_zero(divisor: Tile, among: Tile | bool = True) -> None:
    """Raise `Refused` if *divisor*, a vector or a scalar, is 0 in one of the active lanes *among*."""
    zeros = np.flatnonzero(np.equal(divisor, 0) & among)
    if zeros.size:
        where = f"src1[{zeros[0]}]" if np.ndim(divisor) else "src1"
        raise Refused(
            f"{where} is 0, and integers cannot be divided by it", operand="src1", legal="any other divisor"
        )


def _pairs(value: Iterable[tuple[str | Expr, str | Expr]]) -> tuple[tuple[Expr, Expr], ...]:
    return tuple((as_row_formula(stride), as_row_formula(more)) for stride, more in value)


@frozen
class Operand:
    """One operand in memory.

    ``extent`` is the number of elements as a formula of the row's integer parameters; ``access`` is "read",
    "write" or "update"; ``partial`` marks a write whose size depends on the data: only the elements that are
    actually written must fit the allocation. ``step`` is the distance, in elements, between accessed
    elements; it may depend on ``generation``. ``strides`` are expressions of the strided form, outermost
    first: (distance in bytes, repetitions beyond the first).
    """

    name: str
    access: str
    extent: Expr = field(converter=as_row_formula)
    dtypes: tuple[DType, ...]
    spaces: tuple[Space, ...] = (NRAM,)
    partial: bool = False
    dtypes_2xx: tuple[DType, ...] = ()
    step: Expr = field(default=ONE, converter=as_row_formula)
    strides: tuple[tuple[Expr, Expr], ...] = field(default=(), converter=_pairs)

    @property
    def stride_names(self) -> frozenset[str]:
        """The parameters that exist in the strided form only."""
        return frozenset(name for pair in self.strides for name in names_in(*pair))

    def step_on(self, generation: int, itemsize: int) -> int:
        """Return the distance, in elements of *itemsize* bytes, between accessed elements."""
        return self.step.evaluate({"generation": generation, "sizeof_T": itemsize})

    def dtypes_on(self, generation: int) -> tuple[DType, ...]:
        """Return the element types that are legal on an architecture of *generation*."""
        return self.dtypes_2xx if generation == 2 else self.dtypes


@frozen
class OperandRule:
    """A rule that the operands must satisfy.

    ``fails`` is an expression over the row's parameters that is true if the rule is broken; ``sentence`` is
    formatted with the parameters. ``generations`` limits the rule (empty: all).
    """

    fails: Expr = field(converter=as_row_formula)
    sentence: str
    legal: str
    generations: tuple[int, ...] = ()


@frozen
class Cost:
    """A quantity of work on a pipe, never a time: ``extent`` elements of ``operand``'s size."""

    extent: Expr = field(converter=as_row_formula)
    operand: str


@frozen
class Offsets:
    """Declares that *operand* lies at the byte offsets in the operand ``offset``; the other side of the copy is contiguous.

    ``directions`` are the legal copy directions. A row that *waits* is complete when it returns; others are
    asynchronous.
    """

    operand: str
    directions: tuple[Direction, ...] = ()
    waits: bool = True


@frozen
class Columns:
    """The columns that a row takes unchanged from its declaration.

    ``overload`` names a longer row and its additional operand: a call with that operand belongs to that row.
    ``native`` is the body in C, as text or as a template with its mode (`machine.native.text.templates`); a
    row whose body is a ufunc needs no C text.
    """

    spelling: str
    rules: tuple[OperandRule, ...] = ()
    pipe: Pipe = Pipe.VECTOR
    flow: Flow = Flow.LANEWISE
    since: int = 0  # a ``__BANG_ARCH__``, as in *not_on*
    not_on: tuple[int, ...] = ()
    memory_core: bool = False
    atomic: bool = False
    control: bool = False
    form: str = "dense"  # "strided": the operands in *strides* always have strides
    certainty: str = "C"  # C certain, D derived, I inferred, U unknown with a default chosen
    source: str = ""
    approximation: Approximation | None = None
    overload: tuple[str, str] | None = None
    elements: tuple[DType, ...] = ()  # for a row without operands
    offsets: Offsets | None = None  # for a row with an operand whose address depends on data
    native: Any = ""
    passes: Passes = Passes.ONE  # the cost of a line on the vector unit


_AS_GIVEN = tuple(column.name for column in fields(Columns))


@frozen(kw_only=True)
class Intrinsic(Columns, Presented):
    """One row of the instruction set."""

    parameters: tuple[Parameter, ...]
    operands: Mapping[str, Operand]
    body: Callable[..., Any]
    _doc: str
    cost: Cost | None
    same: tuple[str, ...]
    overlap: Mapping[str, str]
    void: Mapping[str, str]
    call: CallStyle
    returns: str
    result: str
    aligned: tuple[str, ...]
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        bare = self.spelling.lstrip("_")
        object.__setattr__(self, "name", bare + "_" * keyword.iskeyword(bare))

    @property
    def doc(self) -> str:
        """The documentation, without source indentation."""
        return inspect.cleandoc(self._doc)

    @property
    def summary(self) -> str:
        """The first line of the documentation."""
        return self.doc.split("\n", 1)[0]

    @property
    def polls(self) -> bool:
        """True if a task may poll with this row, because it returns or stores a value from shared memory."""
        hands_back = self.form == "discrete" or any(o.access == "write" for o in self.operands.values())
        return self.form == "load" or (self.atomic and (hands_back or self.returns != "None"))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations of the body's parameters, by name."""
        parameters = (
            inspect.signature(self.body, eval_str=True).parameters if self.call is CallStyle.BODY else {}
        )
        return MappingProxyType({name: p.annotation for name, p in parameters.items()})

    def available(self, bang_arch: int) -> bool:
        """Return whether the architecture with this ``__BANG_ARCH__`` has the instruction."""
        return bang_arch >= self.since and bang_arch not in self.not_on

    @property
    def reads_first(self) -> bool:
        """True for element-wise arithmetic, which reads a short row completely before it writes (see `READ_FIRST`)."""
        return self.call is not CallStyle.BODY and isinstance(self.body, np.ufunc)

    def overlap_on(self, source: str, bang_arch: int) -> str:
        """Return how *source* may overlap the destination on this ``__BANG_ARCH__``: a word of `overlap`, or "early"."""
        how = self.overlap.get(source, "free")
        return "early" if how == "exact" and self.reads_first and bang_arch in READ_FIRST else how

    @property
    def signature(self) -> str:
        """A C-like signature with the vendor's spelling."""
        types = {
            "tile": "T* ",
            "count": "int ",
            "value": "T ",
            "either": "T* or T ",
            "any": "",
            "rest": "...",
        }
        return f"{self.spelling}({', '.join(self._shown(p, types[p.kind]) for p in self.given)})"

    @staticmethod
    def _shown(p: Parameter, type_name: str) -> str:
        if p.kind == "rest":
            return "..."
        if p.default is None:
            return f"[{type_name}{p.name}]"
        default = "" if p.default is inspect.Parameter.empty else f" = {p.default!r}"
        return f"{type_name}{p.name}{default}"

    @property
    def given(self) -> tuple[Parameter, ...]:
        """The parameters that a caller passes."""
        return tuple(p for p in self.parameters if p.kind not in SUPPLIED)

    @property
    def typing(self) -> frozenset[int]:
        """The indices, in `given`, of the arguments whose types decide the element type of an untyped operand."""
        named = set(self.void.values())
        return frozenset(n for n, p in enumerate(self.given) if p.name in named)


@frozen
class RowDeclaration(Columns):
    """The columns of a row as its file declares them; called with the body, it returns the `Intrinsic`.

    *writes*, *reads* and *updates* give each operand's extent in elements. The sources in *in_place* (True:
    all) may start exactly at the destination. The sources in *whole* may do so if they end there too. The
    narrower sources in *tail* may lie at the end of the destination. The destination may be one of the equal
    pieces of a source in *pieces*. The sources in *overlap_free* may overlap in any way; any other overlap is
    a fault.
    """

    writes: Mapping[str, str] | None = None
    reads: Mapping[str, str] | None = None
    updates: Mapping[str, str] | None = None
    dtypes: tuple[DType, ...] | Mapping[str, tuple[DType, ...]] = FLOATS  # of all operands, or by operand
    dtypes_2xx: tuple[DType, ...] | None = None  # types on MLU2xx; default: all but bfloat16
    spaces: Mapping[str, tuple[Space, ...]] | None = None
    same: bool | tuple[str, ...] = True  # the operands that share one dtype; True: all
    in_place: tuple[str, ...] | bool = True
    whole: tuple[str, ...] = ()
    tail: tuple[str, ...] = ()
    pieces: tuple[str, ...] = ()
    overlap_free: tuple[str, ...] = ()
    partial: tuple[str, ...] = ()  # operands whose written size depends on the data
    steps: Mapping[str, str] | None = None  # operands of which only every n-th element is written
    # Operands that repeat if a call passes strides.
    strides: Mapping[str, tuple[tuple[str, str], ...]] | None = None
    # Untyped pointers, with the scalar or the dtype name that decides their type.
    void: Mapping[str, str] | None = None
    cost: Cost | None = None
    # Operands that MLU2xx requires at 64-byte addresses, in multiples of 128 bytes.
    aligned: tuple[str, ...] | bool = True
    # C types that cannot be derived from the annotation of a parameter.
    c: Mapping[str, str | tuple[str, ...]] | None = None

    def __call__(self, body: Callable[..., Any]) -> Intrinsic:
        """Return the row whose effect is *body*."""
        operands = self._operands(parameters := parameters_of(body, self.c or {}))
        returns, result = result_of(body, (self.c or {}).get("return"))
        ways = {"whole": self.whole, "tail": self.tail, "piece": self.pieces, "free": self.overlap_free}
        return Intrinsic(
            parameters=parameters,
            operands=MappingProxyType(operands),
            body=body,
            doc=body.__doc__ or "",
            cost=self.cost or _default_cost(operands),
            same=tuple(operands) if self.same is True else (self.same or ()),
            overlap=_overlap(operands, self.in_place, ways),
            void=MappingProxyType(dict(self.void or {})),
            call=CallStyle.BODY,
            returns=returns,
            result=result,
            aligned=tuple(operands) if self.aligned is True else (self.aligned or ()),
            **{name: getattr(self, name) for name in _AS_GIVEN},
        )

    def _operands(self, parameters: Iterable[Parameter]) -> dict[str, Operand]:
        """Return the operands in the order of the parameters."""
        extents = {n: ("write", e) for n, e in (self.writes or {}).items()}
        extents |= {n: ("read", e) for n, e in (self.reads or {}).items()}
        extents |= {n: ("update", e) for n, e in (self.updates or {}).items()}
        operands = {}
        for name in (p.name for p in parameters if p.name in extents):
            access, extent = extents[name]
            types = self.dtypes if isinstance(self.dtypes, tuple) else self.dtypes[name]
            listed = self.dtypes_2xx
            # No 2xx has bfloat16: the driver lists a rate for it only from 3xx on.
            old = tuple(d for d in types if d is not bfloat16 and (listed is None or d in listed))
            where = (self.spaces or {}).get(name, (NRAM,))
            step, rows = (self.steps or {}).get(name, ONE), (self.strides or {}).get(name, ())
            operands[name] = Operand(
                name, access, extent, types, where, name in self.partial, old, step, rows
            )
        return operands


intrinsic = RowDeclaration  # name for files of rows: ``@intrinsic("__bang_add", ...)``


def alias(spelling: str, row: Intrinsic) -> Intrinsic:
    """Return *row* with an older spelling."""
    return evolve(row, spelling=spelling, doc=f"{row.doc}\n\nThe older spelling of ``{row.spelling}``.")


def _default_cost(operands: Mapping[str, Operand]) -> Cost | None:
    """Return the default cost: the elements of the first source, or of the destination if there is no source."""
    for operand in operands.values():
        if operand.access == "read":
            return Cost(operand.extent, operand.name)
    return next((Cost(o.extent, o.name) for o in operands.values()), None)


def _overlap(
    operands: Mapping[str, Operand], in_place: tuple[str, ...] | bool, other: Mapping[str, tuple[str, ...]]
) -> Mapping[str, str]:
    """Return, for each source that could overlap a destination, "exact" (may start there), "disjoint" or one of *other*."""
    words = {name: how for how, names in other.items() for name in names}
    exact = tuple(operands) if in_place is True else (in_place or ())
    targets = {space for o in operands.values() if o.access != "read" for space in o.spaces}
    overlaps = {
        name: words.get(name, "exact" if name in exact else "disjoint")
        for name, operand in operands.items()
        if operand.access == "read" and targets.intersection(operand.spaces)
    }
    return MappingProxyType(overlaps)


# -- rules for rows; each has one sentence that says what is wrong, and the legal range ----------------


def multiple_of(name: str, divisor: str | int, generations: tuple[int, ...] = ()) -> OperandRule:
    """Return the rule that *name* must be a multiple of *divisor* (a number or a parameter)."""
    shown = f"{divisor} ({{{divisor}}})" if isinstance(divisor, str) else str(divisor)
    return OperandRule(
        # Another rule reports a divisor of 0; this one must not divide by it.
        f"{name} % {divisor} != 0"
        if not isinstance(divisor, str)
        else f"{divisor} > 0 and {name} % {divisor} != 0",
        f"{name} = {{{name}}} is not a multiple of {shown}",
        f"multiples of {divisor}",
        generations,
    )


def between(name: str, low: int, high: int) -> OperandRule:
    """Return the rule that *name* must lie in [low, high]."""
    fails = f"not {low} <= {name} <= {high}"
    return OperandRule(fails, f"{name} = {{{name}}} is out of range", f"{low} to {high}")


def at_least(name: str, low: int) -> OperandRule:
    """Return the rule that *name* must be *low* or more."""
    return OperandRule(f"{name} < {low}", f"{name} = {{{name}}} is too small", f"{low} or more")


# Any other rule: the condition under which it is broken, its sentence, and the legal values.
demand = OperandRule


def not_in_memory(value: object) -> tuple[str, str | None]:
    """Return how a message shows *value*, which should be a pointer into memory, and what to do instead, if that is known."""
    # C pointers that lead to no memory bring their own text; their class belongs to a higher layer.
    why, instead = getattr(value, "outside", (", which is not a pointer", None))
    return f"{value!r:.80}{why}", instead


def number(value: Any, dtype: DType) -> Any:
    """Return *value* as a number of *dtype*, converted as C converts an argument."""
    try:
        if isinstance(value, (int, float, np.generic)):
            return dtype.dtype.type(value)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Refused(f"value is {value!r}", operand="value", legal=f"a number that {dtype} can hold")


# -- the regular families: rows with one NumPy function and one line of documentation each ------------

# The body of such a row is a ufunc, which the door calls without another frame; a function gives the
# parameters.

# NumPy casts the bools of predicates piece by piece into out=: 64 floats take 1.7 us, but 1.1 us by
# assignment.
PREDICATES = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
    np.logical_and,
    np.logical_or,
    np.logical_xor,
    np.logical_not,
)


def _of_ufunc(
    shape: Callable[..., None],
    spelling: str,
    ufunc: Callable[..., Any],
    doc: str,
    dtypes: tuple[DType, ...] = FLOATS,
    **properties: Any,
) -> Intrinsic:
    """Declare a row with the parameters of *shape* and the body *ufunc*, called in the fastest way that NumPy allows.

    The result of a predicate is assigned, and so becomes 1 or 0 in the destination's type.
    """
    sources = [name for name in inspect.signature(shape).parameters if name.startswith("src")]
    row = intrinsic(
        spelling,
        writes={"dst": "elem_count"},
        reads=dict.fromkeys(sources, "elem_count"),
        dtypes=dtypes,
        # Columns that the row declares itself take precedence.
        **{"source": "vendor declaration header, arithmetic"} | properties,
    )(shape)
    return evolve(row, body=ufunc, doc=doc, call=CallStyle.ASSIGN if ufunc in PREDICATES else CallStyle.INTO)


def _binary(dst: Tile, src0: Tile, src1: Tile, elem_count: int) -> None: ...
def _unary(dst: Tile, src: Tile, elem_count: int) -> None: ...
def _with_scalar(dst: Tile, src: Tile, value: Value, elem_count: int) -> None: ...


# Parameters: spelling, ufunc, documentation, element types, and other columns of the row.
binary = functools.partial(_of_ufunc, _binary)
unary = functools.partial(_of_ufunc, _unary)
with_scalar = functools.partial(
    _of_ufunc, _with_scalar
)  # the scalar is converted to the element type, as C does
