"""The inputs and the expected results of a call: made once for all boards, policies and engines that it runs on."""

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np

from mlusim.operators.accuracy import Accuracy, judge
from mlusim.operators.dynamic import judge_dynamic
from mlusim.operators.spec import Arrays, Operator, Params

Outputs = Mapping[str, np.ndarray[Any, Any]]


class Expected:
    """The references of one call: of *operator* on *inputs* with *params*, all of them, defaults included.

    A reference is computed when an output is first judged by it.
    """

    def __init__(self, operator: Operator, inputs: Arrays, params: Params) -> None:
        self._operator = operator
        self._call = (inputs, params)

    @cached_property
    def reference(self) -> Outputs:
        """The operator's reference, in the types of the outputs."""
        return self._operator.reference(*self._call)

    @cached_property
    def exact(self) -> Outputs:
        """The reference before it is rounded, where the operator has one."""
        exact = self._operator.exact
        return self.reference if exact is None else exact(*self._call)

    @cached_property
    def device(self) -> Outputs:
        """The definition as another device computes it."""
        device = self._operator.device
        return self.reference if device is None else device(*self._call)

    def judged(self, outputs: Outputs) -> dict[str, Accuracy]:
        """Return the accuracy of those *outputs* that have thresholds and a reference."""
        accuracy = {}
        for name, thresholds in self._operator.thresholds.items():
            if name not in outputs:
                continue
            if thresholds.dynamic is not None and name in self.exact:
                exact = self.exact[name]
                other, cpu = partial(self._other, name), partial(self._rounded, name)
                accuracy[name] = judge_dynamic(outputs[name], thresholds.dynamic, exact, other, cpu)
            elif thresholds.dynamic is None and name in self.reference:
                accuracy[name] = judge(outputs[name], self.reference[name], thresholds)
        return accuracy

    def _other(self, name: str) -> np.ndarray[Any, Any]:
        return self.device[name]

    def _rounded(self, name: str) -> np.ndarray[Any, Any]:
        return self.reference[name]
