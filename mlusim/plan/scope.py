"""The names of a plan and their legal values: what it may be asked with, and the sentence when not."""

from collections.abc import Iterable, Mapping

import numpy as np
from attrs import frozen

from mlusim.arch.board import Board
from mlusim.arch.dtypes import DType, as_dtype
from mlusim.errors import UsageError
from mlusim.formula.boards import board_constants
from mlusim.formula.expr import Constraint, ElementType, Var, walk


@frozen
class PlanScope:
    """The variables of a plan by name, and its element type if it has one."""

    plan: str
    variables: Mapping[str, Var]
    element: ElementType | None

    def dtype(self, dtype: object) -> DType | None:
        """Return the dtype that *dtype* names, or the only one; None when the plan has no element type."""
        if self.element is None:
            if dtype is not None:
                raise UsageError(f"plan {self.plan} has no element type to choose; leave dtype out")
            return None
        choices = self.element.choices
        names = " or ".join(c.name for c in choices)
        if dtype is None and len(choices) > 1:
            raise UsageError(f"plan {self.plan} holds elements of type {self.element}; give dtype={names}")
        chosen = choices[0] if dtype is None else as_dtype(dtype)
        if chosen not in choices:
            raise UsageError(f"plan {self.plan} holds {names}, not {chosen.name}")
        return chosen

    def env(
        self, values: Mapping[str, int], dtype: DType | None, board: Board | str | None
    ) -> dict[str, int]:
        """Return everything that has a value: board constants, the sizeof, and *values*, checked."""
        env = {} if board is None else dict(board_constants(board))
        if dtype is not None and self.element is not None:
            env[f"sizeof_{self.element.name}"] = dtype.size
        for name, value in values.items():
            env[name] = self.legal(name, value)
        if board is not None:  # a step may be made of the board's constants
            for name in values:
                self._stepped(self.variables[name], env)
        return env

    def _stepped(self, variable: Var, env: Mapping[str, int]) -> None:
        """Raise `UsageError` when the value is no multiple of the variable's step."""
        step = variable.multiple_of
        width, value = step.evaluate(env), env[variable.name]
        if value % width:
            below, above = value // width * width, -(-value // width) * width
            near = f"{below} or {above}" if below >= variable.low else str(above)
            raise UsageError(
                f"{variable.name} of plan {self.plan} is {value}; "
                f"give a multiple of {step}, which is {width} here, such as {near}"
            )

    def variable(self, name: str) -> Var:
        """Return the variable called *name*; raises `UsageError` with the names that exist."""
        if name not in self.variables:
            known = ", ".join(self.variables) or "none"
            raise UsageError(f"plan {self.plan} has no variable {name!r}; its variables are {known}")
        return self.variables[name]

    def legal(self, name: str, value: object) -> int:
        """Return *value* as an integer; raises `UsageError` when *name* cannot take it."""
        variable = self.variable(name)
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"{name} of plan {self.plan} is {value!r}; give a whole number")
        if not variable.low <= value <= variable.high:
            raise UsageError(f"{name} of plan {self.plan} is {value}; give {variable.low} to {variable.high}")
        return int(value)

    def need(self, names: Iterable[str], env: Mapping[str, int]) -> None:
        """Raise `UsageError` for the first of *names* that *env* lacks."""
        for name in names:
            if name not in env:
                meaning = self.variables[name].meaning
                told = f" ({meaning})" if meaning else ""
                raise UsageError(f"plan {self.plan} needs a value for {name}{told}; give {name}=...")


def smallest(variable: Var, env: Mapping[str, int]) -> int:
    """Return the smallest legal value of *variable*: its low end, rounded up to its step."""
    step = variable.multiple_of.evaluate(env)
    return -(-variable.low // step) * step


def is_known(constraint: Constraint, names: Iterable[str]) -> bool:
    """Return whether every variable of *constraint* is among *names*."""
    given = set(names)
    sides = (constraint.left, constraint.right)
    return all(e.name in given for side in sides for e in walk(side) if isinstance(e, Var))
