"""One call of an operator as a program."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.arch.board import Board
from mlusim.machine.options import LaunchOptions
from mlusim.operators.runner import SUCCESS, attempt, judged
from mlusim.operators.spec import Operator


@frozen(eq=False)
class OperatorProgram:
    """One call of an operator; its run is judged against the reference where it succeeds."""

    operator: Operator
    inputs: Mapping[str, np.ndarray[Any, Any]]
    params: Mapping[str, Any]
    board: str | Board = "MLU370-X4"
    seed: int | None = None
    effects: str = "late"
    case: str | None = None
    checks: tuple[str, ...] = field(default=())
    _arrays: dict[str, np.ndarray[Any, Any]] = field(factory=dict, init=False, repr=False)

    @property
    def name(self) -> str:
        """The operator's name, and the case's."""
        return self.operator.name + (f" {self.case}" if self.case else "")

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return inputs and reference under the names ``input.NAME`` and ``reference.NAME``, for comparisons."""
        if not self._arrays:
            self._arrays.update({f"input.{name}": np.asarray(value) for name, value in self.inputs.items()})
            self._arrays.update({f"reference.{name}": array for name, array in self._expected().items()})
        return self._arrays

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return what a recording holds of it: facts, and the inputs as arrays beside them."""
        facts = {
            "kind": "operator",
            "operator": self.operator.name,
            "params": dict(self.params),
            "board": str(getattr(self.board, "name", self.board)),
            "seed": self.seed,
            "effects": self.effects,
            "case": self.case,
            "checks": list(self.checks),
        }
        return facts, {f"input.{name}": np.asarray(value) for name, value in self.inputs.items()}

    def _expected(self) -> dict[str, np.ndarray[Any, Any]]:
        params = {p.name: self.params.get(p.name, p.default) for p in self.operator.params}
        try:
            expected = self.operator.reference(self.inputs, params)
        except Exception:  # noqa: BLE001 - inputs that the host interface refuses have no reference
            return {}
        return {name: np.asarray(value) for name, value in expected.items()}

    def run(self, observe: Iterable[Any]) -> Any:
        """Call the host interface."""
        inputs = {name: np.array(value) for name, value in self.inputs.items()}
        done = attempt(
            self.operator,
            inputs,
            self.params,
            board=self.board,
            options=LaunchOptions((*self.checks, *observe), self.seed, self.effects),
        )
        return judged(done, self.inputs, self.params) if done.status == SUCCESS else done
