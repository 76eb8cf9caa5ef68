"""Conditions, choices and what is known of operands: what the rows of the instruction set say besides sizes.

A condition is 0 or 1, and any number but 0 is true.  `Logic` gives one of its parts as Python does, so that
``stride or width`` is the width where the stride is missing or 0.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.formula.expr import Expr, Var

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = MappingProxyType(
    {
        "<": lambda a, b: a < b,
        "<=": lambda a, b: a <= b,
        ">": lambda a, b: a > b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
        "!=": lambda a, b: a != b,
    }
)
FACTS = ("phase", "kind", "pointer")


def _known(env: Mapping[str, Any], key: str) -> Any:
    # A KeyError would name the key of a dictionary; the reader of the sentence knows parameters.
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

    ``phase``: bytes by which its address is no multiple of its elements; ``kind``: of its element type; ``pointer``:
    whether it is one, where a scalar may stand as well.
    """

    what: str
    operand: str

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return what *env* has as ``phase_dst`` and so on."""
        return _known(env, f"{self.what}_{self.operand}")


@frozen(order=False)
class Given(Expr):
    """The question whether a parameter that may be left out was given."""

    name: Var

    def evaluate(self, env: Mapping[str, Any]) -> int:
        """Return 0 where *env* has None, else 1."""
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
        """Return 1 where all comparisons hold."""
        values = [a.evaluate(env) for a in self.args]
        pairs = zip(self.signs, values, values[1:], strict=False)
        return int(all(COMPARISONS[sign](left, right) for sign, left, right in pairs))


@frozen(order=False)
class Logic(Expr):
    """Parts joined by ``and`` or by ``or``; evaluation stops at the part that decides."""

    word: str
    args: tuple[Expr, ...]

    @property
    def parts(self) -> tuple[Expr, ...]:
        """The conditions that are joined."""
        return self.args

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return the part that decides."""
        value: Any = 0
        # A part behind the one that decides is not evaluated: it may have no value there, as a stride that was left out.
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
        """The test, and what is chosen from."""
        return self.test, self.then, self.other

    def evaluate(self, env: Mapping[str, Any]) -> Any:
        """Return what the test chooses."""
        return (self.then if self.test.evaluate(env) else self.other).evaluate(env)


def is_condition(expr: Expr) -> bool:
    """Return whether *expr* is 0 or 1 by its form."""
    if isinstance(expr, Logic):
        return all(is_condition(arg) for arg in expr.args)
    return isinstance(expr, ComparisonChain | Not | Given) or (
        isinstance(expr, Fact) and expr.what == "pointer"
    )
