"""Formulas as expressions: sizes in shape variables, element sizes and board constants; conditions and facts of rows.

An expression evaluates, prints the way design documents write formulas, and carries units, so that
elements cannot be added to bytes unnoticed.  Build one with ordinary operators::

    S, T = Var("S", "symbols"), Var("T", "frames")
    S * (T + 1)                                # S*(T+1)
    minimum(S, T) + 1                          # min(S,T)+1
    PAD_UP(S * sizeof(float32), nbytes(128))   # PAD_UP(S*sizeof(float),128)

``//`` is the integer division of the documents' ``/``; ``<=`` and ``<`` make a `Constraint`.
"""

from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import field, frozen

from mlusim.errors import UsageError

if TYPE_CHECKING:
    from mlusim.arch.dtypes import DType

INT32_MAX = 2**31 - 1  # counts and sizes of kernels are `int` in BANG C


class Unit(Enum):
    """The unit of a number: elements (or anything else countable), or bytes."""

    COUNT = "elements"
    BYTES = "bytes"


@frozen(eq=False)
class FormulaOp:
    """One operation: its name in a formula, its precedence, and its effect on integers.

    *source* and *vector* are the operation as Python source, for integers and for NumPy arrays; with them a
    plan becomes straight-line code (see `mlusim.formula.render`).
    """

    name: str
    level: int
    apply: Callable[[int, int], int]
    source: str
    vector: str


def _divide(a: int, b: int) -> int:
    if b == 0:
        raise UsageError("a size formula divides by zero; give the divisor's variable a larger value")
    return a // b


ADD = FormulaOp("+", 1, lambda a, b: a + b, "{} + {}", "{} + {}")
SUB = FormulaOp("-", 1, lambda a, b: a - b, "{} - {}", "{} - {}")
MUL = FormulaOp("*", 2, lambda a, b: a * b, "{} * {}", "{} * {}")
DIV = FormulaOp("/", 2, _divide, "{} // {}", "{} // {}")
# -(-a // b) rounds up and writes each operand once; (a + b - 1) // b would compute b twice.
CEIL = FormulaOp("CEIL_DIV", 4, lambda a, b: -_divide(-a, b), "-(-{} // {})", "-(-{} // {})")
MOD = FormulaOp("%", 2, lambda a, b: a - _divide(a, b) * b, "{} % {}", "{} % {}")
MIN = FormulaOp("min", 4, min, "min({}, {})", "np.minimum({}, {})")
MAX = FormulaOp("max", 4, max, "max({}, {})", "np.maximum({}, {})")
UP = FormulaOp("PAD_UP", 4, lambda a, b: -_divide(-a, b) * b, "-(-{0} // {1}) * {1}", "-(-{0} // {1}) * {1}")
DOWN = FormulaOp("PAD_DOWN", 4, lambda a, b: _divide(a, b) * b, "{0} // {1} * {1}", "{0} // {1} * {1}")

FUNCTIONS: tuple[FormulaOp, ...] = (CEIL, MIN, MAX, UP, DOWN)


class Expr:
    """A formula.  Immutable, hashable, compared by structure with ``==``."""

    __slots__ = ()

    @property
    def parts(self) -> "tuple[Expr, ...]":
        """The operands of the formula; empty for a leaf."""
        return ()

    def __add__(self, other: "Size") -> "Expr":
        return Operation(ADD, (self, as_expr(other)))

    def __radd__(self, other: "Size") -> "Expr":
        return Operation(ADD, (as_expr(other), self))

    def __sub__(self, other: "Size") -> "Expr":
        return Operation(SUB, (self, as_expr(other)))

    def __rsub__(self, other: "Size") -> "Expr":
        return Operation(SUB, (as_expr(other), self))

    def __mul__(self, other: "Size") -> "Expr":
        return Operation(MUL, (self, as_expr(other)))

    def __rmul__(self, other: "Size") -> "Expr":
        return Operation(MUL, (as_expr(other), self))

    def __floordiv__(self, other: "Size") -> "Expr":
        return Operation(DIV, (self, as_expr(other)))

    def __rfloordiv__(self, other: "Size") -> "Expr":
        return Operation(DIV, (as_expr(other), self))

    def __neg__(self) -> "Expr":
        return Operation(SUB, (Amount(0), self))

    def __truediv__(self, other: "Size") -> NoReturn:
        raise UsageError("sizes are whole numbers: write // for integer division, or ceil_div(a, b)")

    def __le__(self, other: "Size") -> "Constraint":
        return Constraint(self, as_expr(other))

    def __ge__(self, other: "Size") -> "Constraint":
        return Constraint(as_expr(other), self)

    def __lt__(self, other: "Size") -> "Constraint":
        # For integers, a < b is a + 1 <= b; the 1 is applied to the constant side, where it reads best.
        right = as_expr(other)
        if isinstance(right, Amount):
            return Constraint(self, Amount(right.value - 1, right.unit))
        return Constraint(self + Amount(1), right)

    def __gt__(self, other: "Size") -> "Constraint":
        return as_expr(other) < self

    def __bool__(self) -> NoReturn:
        # Python's min and max test truth values, which cannot be overloaded (decision 0010).
        raise UsageError(f"{self} has no truth value; for min and max of formulas use minimum and maximum")

    def __repr__(self) -> str:
        return text(self)

    def __str__(self) -> str:
        return text(self)

    def evaluate(self, env: Mapping[str, int]) -> int:
        """Return the formula's value; *env* maps variable names, ``sizeof_T`` and board constants to integers.

        Raises `UsageError` for a name that *env* lacks and for a division by zero.
        """
        key = symbol(self)
        if key not in env:
            raise UsageError(f"the formula needs a value for {self}; give {key}=...")
        return env[key]


Size = Expr | int


@frozen(repr=False, order=False)
class Amount(Expr):
    """A constant: elements unless *unit* says bytes."""

    value: int
    unit: Unit = Unit.COUNT

    def evaluate(self, env: Mapping[str, int]) -> int:
        """Return the constant itself."""
        del env
        return self.value


def _step(value: Size) -> Expr:
    step = as_expr(value)
    for part in walk(step):
        if isinstance(part, Var):
            raise UsageError(f"a variable's step must not depend on {part}; use constants and sizeof")
    return step


@frozen(repr=False, order=False)
class Var(Expr):
    """A shape variable, or (``tile=True``) a tile size that mlusim may choose.

    *low* and *high* bound its legal values, *multiple_of* its step; *enough* is the value beyond
    which a larger tile buys nothing (a tile that already covers the whole dimension).
    """

    name: str = field()
    meaning: str = field(default="", eq=False)
    low: int = field(default=0, kw_only=True, eq=False)
    high: int = field(default=INT32_MAX, kw_only=True, eq=False)
    multiple_of: Expr = field(default=Amount(1), kw_only=True, eq=False, converter=_step)
    tile: bool = field(default=False, kw_only=True, eq=False)
    enough: Expr | None = field(default=None, kw_only=True, eq=False)

    @name.validator
    def _is_a_name(self, _: object, value: str) -> None:
        # Environments store the sizes of types under names that begin with sizeof_, see `symbol`.
        if not value.isidentifier() or value in RESERVED or value.startswith("sizeof_"):
            raise UsageError(f"{value!r} cannot name a variable of a plan; use an identifier that is free")


@frozen(repr=False, order=False)
class ElementType:
    """A type parameter of a kernel (the documents' ``T``): one of *choices*, the first by default."""

    name: str
    choices: "tuple[DType, ...]"

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@frozen(repr=False, order=False)
class SizeOf(Expr):
    """``sizeof(type)``: bytes per element."""

    type: "DType | ElementType"

    def evaluate(self, env: Mapping[str, int]) -> int:
        """Return the size in bytes; the size of a type parameter is taken from *env*."""
        return Expr.evaluate(self, env) if isinstance(self.type, ElementType) else self.type.size


@frozen(repr=False, order=False)
class BoardConst(Expr):
    """A constant of the board, such as ``NRAM``; *meaning* describes it, *unit* is its unit."""

    name: str
    unit: Unit = Unit.BYTES
    meaning: str = field(default="", eq=False)


# `compiled` looks up every operation to write it once; without the cached hash each look-up would hash the
# whole subtree.
@frozen(repr=False, order=False, cache_hash=True)
class Operation(Expr):
    """An operation on formulas; ``min`` and ``max`` take two or more arguments, all others two."""

    op: FormulaOp
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The arguments of the operation."""
        return self.args

    def evaluate(self, env: Mapping[str, int]) -> int:
        """Return the operation's result."""
        result, *values = [a.evaluate(env) for a in self.args]
        for value in values:
            result = self.op.apply(result, value)
        return result


@frozen(repr=False, order=False)
class Constraint:
    """``left <= right``, with an optional *name* for reports."""

    left: Expr
    right: Expr
    name: str = ""

    def __bool__(self) -> NoReturn:
        raise UsageError(
            f"'{self}' is a constraint, not a truth value; for min and max of formulas use minimum and maximum"
        )

    def __str__(self) -> str:
        return f"{self.left} <= {self.right}"

    __repr__ = __str__

    def called(self, name: str) -> "Constraint":
        """Return the same constraint under *name*."""
        return Constraint(self.left, self.right, name)

    def holds(self, env: Mapping[str, int]) -> bool:
        """Return whether the comparison holds for the values in *env*."""
        return self.left.evaluate(env) <= self.right.evaluate(env)


# The board's constants, and the parameter names of the methods that take a plan's variables as keywords.
RESERVED = frozenset({"NRAM", "SRAM", "WRAM", "CLUSTERS", "CORES", "base", "board", "dtype", "self"})

NRAM = BoardConst("NRAM", meaning="bytes of NRAM that a kernel may use on one core")
SRAM = BoardConst("SRAM", meaning="bytes of SRAM that a kernel may use in one cluster")
WRAM = BoardConst("WRAM", meaning="bytes of WRAM of one core")
CLUSTERS = BoardConst("CLUSTERS", Unit.COUNT, meaning="clusters of the board")
CORES = BoardConst("CORES", Unit.COUNT, meaning="cores of one cluster")


def as_expr(value: Size) -> Expr:
    """Return *value* as a formula: itself, or an integer as a constant count; raises `UsageError` for anything else."""
    if isinstance(value, Expr):
        return value
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{value!r} is not a size; a size is a formula or a whole number")
    return Amount(int(value))


def nbytes(count: int) -> Expr:
    """Return *count* bytes as a formula, for constants that documents give in bytes (headers, alignments)."""
    return Amount(int(count), Unit.BYTES)


def sizeof(type_: "DType | ElementType") -> Expr:
    """Return ``sizeof(type)``, an amount in bytes."""
    return SizeOf(type_)


def _join(op: FormulaOp, args: tuple[Size, ...]) -> Expr:
    if len(args) < 2:
        raise UsageError(f"{op.name} compares two sizes or more")
    return Operation(op, tuple(as_expr(a) for a in args))


def minimum(*args: Size) -> Expr:
    """Return the smallest of the arguments."""
    return _join(MIN, args)


def maximum(*args: Size) -> Expr:
    """Return the largest of the arguments."""
    return _join(MAX, args)


def ceil_div(a: Size, b: Size) -> Expr:
    """Return *a* divided by *b*, rounded up."""
    return Operation(CEIL, (as_expr(a), as_expr(b)))


def PAD_UP(a: Size, b: Size) -> Expr:
    """Return *a* rounded up to a multiple of *b* (the vendor's macro)."""
    return Operation(UP, (as_expr(a), as_expr(b)))


def PAD_DOWN(a: Size, b: Size) -> Expr:
    """Return *a* rounded down to a multiple of *b* (the vendor's macro)."""
    return Operation(DOWN, (as_expr(a), as_expr(b)))


def symbol(leaf: Expr) -> str:
    """Return the name under which an environment holds the value of a variable, a sizeof or a constant."""
    if isinstance(leaf, Var | BoardConst):
        return leaf.name
    if isinstance(leaf, SizeOf):
        return f"sizeof_{leaf.type.name}"
    raise UsageError(f"{leaf} is not a symbol")


def is_symbol(expr: Expr, name: str) -> bool:
    """Return whether *expr* is the variable, the sizeof or the constant that environments call *name*."""
    return not isinstance(expr, Operation | Amount) and symbol(expr) == name


def walk(expr: Expr) -> Iterator[Expr]:
    """Return the formula and every formula inside it, outermost first."""
    yield expr
    for part in expr.parts:
        yield from walk(part)


def _level(expr: Expr) -> int:
    if isinstance(expr, Operation):
        return expr.op.level
    return 1 if isinstance(expr, Amount) and expr.value < 0 else 4


def text(expr: Expr) -> str:
    """Return the formula as a document writes it: ``S*(T+1)``, ``min(S,T)+1``, ``PAD_UP(n,128)``."""
    if isinstance(expr, Amount):
        return str(expr.value)
    if isinstance(expr, Var | BoardConst):
        return expr.name
    if isinstance(expr, SizeOf):
        return f"sizeof({expr.type.name})"
    if not isinstance(expr, Operation):
        return repr(expr)  # a formula of a row; `mlusim.formula.render` writes these
    if expr.op in FUNCTIONS:
        return f"{expr.op.name}({','.join(text(a) for a in expr.args)})"
    left, right = expr.args
    first = text(left) if _level(left) >= expr.op.level else f"({text(left)})"
    # a+(b-c) is a+b-c, but a-(b+c), a*(b/c) and a/(b*c) keep their parentheses
    loose = _level(right) > expr.op.level or (expr.op is ADD and _level(right) == 1)
    second = text(right) if loose and not text(right).startswith("-") else f"({text(right)})"
    return f"{first}{expr.op.name}{second}"


# -- conditions, choices and facts about operands ----------------------------------------------------

# A condition evaluates to 0 or 1; any value but 0 counts as true. `Logic` returns one of its parts, as Python
# does, so that ``stride or width`` is the width where the stride is missing or 0.

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
FACTS = ("phase", "kind", "pointer")


def _known(env: Mapping[str, Any], key: str) -> Any:
    # A KeyError would name a dictionary key, but the reader of the message knows parameters.
    if key not in env:
        raise UsageError(f"the formula needs a value for {key}")
    return env[key]


@frozen(order=False)
class Word(Expr):
    """A kind of element type: ``int``, ``uint`` or ``float``."""

    word: str

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the word as it stands."""
        del env
        return self.word


@frozen(order=False)
class Fact(Expr):
    """A fact about an operand.

    ``phase`` is its address modulo the size of an element (bytes); ``kind`` the kind of its element type;
    ``pointer`` whether it is a pointer, where a scalar is allowed too.
    """

    what: str
    operand: str

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the value of ``phase_dst`` or a similar name in *env*."""
        return _known(env, f"{self.what}_{self.operand}")


@frozen(order=False)
class Given(Expr):
    """The test whether an optional parameter was passed."""

    name: Var

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 0 if the parameter is None in *env*, else 1."""
        return int(_known(env, self.name.name) is not None)


@frozen(order=False)
class ComparisonChain(Expr):
    """A chain of comparisons: ``1 <= segnum <= 4096``."""

    signs: tuple[str, ...]
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The expressions that are compared."""
        return self.args

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 1 if all comparisons hold, else 0."""
        values = [a.evaluate(env) for a in self.args]
        pairs = zip(self.signs, values, values[1:], strict=False)
        return int(all(COMPARISONS[sign](left, right) for sign, left, right in pairs))


@frozen(order=False)
class Logic(Expr):
    """Parts joined by ``and`` or by ``or``; evaluation stops at the first part that decides."""

    word: str
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The conditions that are joined."""
        return self.args

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the first part that decides the result, as Python does: the first true part of ``or``, the first false part of ``and``."""
        value: Any = 0
        # A part behind the deciding one is not evaluated: it may have no value, as a stride that was left
        # out.
        for arg in self.args:
            value = arg.evaluate(env)
            if bool(value) is (self.word == "or"):
                return value
        return value


@frozen(order=False)
class Not(Expr):
    """The negation of a condition."""

    arg: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The condition that is negated."""
        return (self.arg,)

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 1 for 0 and 0 for everything else."""
        return int(not self.arg.evaluate(env))


@frozen(order=False)
class IfElse(Expr):
    """``then if test else other``."""

    test: Expr
    then: Expr
    other: Expr

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The test and the two alternatives."""
        return self.test, self.then, self.other

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the value of the alternative that the test selects."""
        return (self.then if self.test.evaluate(env) else self.other).evaluate(env)


def is_condition(expr: Expr) -> bool:
    """Return whether the form of *expr* guarantees that its value is 0 or 1."""
    if isinstance(expr, Logic):
        return all(is_condition(arg) for arg in expr.args)
    return isinstance(expr, ComparisonChain | Not | Given) or (
        isinstance(expr, Fact) and expr.what == "pointer"
    )


ONE = Amount(1)
