"""``--reference module:function``: what a kernel gives, compared with what a function of Python gives."""

import importlib
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import frozen

from mlusim.errors import UsageError, said
from mlusim.operators.accuracy import Accuracy, judge
from mlusim.operators.spec import Thresholds

if TYPE_CHECKING:
    from mlusim.programs.kernel_call import Called, KernelCall

Array = np.ndarray[Any, Any]
CLOSE = Thresholds(diff1=3e-3, diff2=3e-3)  # the vendor's usual ones


@frozen
class Compared:
    """An output beside its reference; ``got`` and ``expected`` are the elements at the accuracy's worst index."""

    accuracy: Accuracy
    got: Any = None
    expected: Any = None

    @property
    def worst(self) -> str:
        """The largest error as a phrase; empty where every value is equal."""
        if self.accuracy.worst_index is None:
            return ""
        place = ", ".join(map(str, self.accuracy.worst_index))
        return f"worst at [{place}]: {self.got:.6g}, the reference has {self.expected:.6g}"

    @property
    def told(self) -> str:
        """Errors and verdict as a phrase; the largest error of what failed."""
        a = self.accuracy
        line = f"diff1 {a.diff1:.3g}, diff2 {a.diff2:.3g}, {'passed' if a.passed else 'FAILED'}"
        return f"{line}; {self.worst}" if not a.passed and self.worst else line

    def to_json(self) -> dict[str, Any]:
        """Errors, verdict and the worst element."""
        a = self.accuracy
        index = None if a.worst_index is None else list(a.worst_index)
        worst = {"index": index, "got": self.got, "expected": self.expected}
        return {"diff1": a.diff1, "diff2": a.diff2, "diff3": a.diff3, "passed": a.passed, "worst": worst}


def reference_of(name: str | None) -> Any:
    """The function that ``module:function`` names; modules are looked for here, too.  None without a name."""
    if name is None:
        return None
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(f"--reference {name!r} names no function; write module:function")
    sys.path.insert(0, str(Path.cwd()))
    try:
        return getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--reference {name} is not found: {error}") from None
    finally:
        sys.path.pop(0)


def compared_with(reference: Any, call: "KernelCall", done: "Called") -> dict[str, Compared]:
    """Compare what came back with ``reference(**inputs and numbers)``: a mapping by name, or the one output.

    Raises `UsageError` where the reference cannot be called so, or gives something that does not come back.
    """
    given: dict[str, Any] = {name.removeprefix("input."): a for name, a in call.arrays().items()}
    for name, text in call.arguments.items():
        if name not in given and not text.startswith("out:"):
            given[name] = None if text in ("null", "nullptr") else _plain(text)
    try:
        expected = reference(**given)
    except Exception as error:
        raise UsageError(
            f"the reference, called with {', '.join(f'{name}=' for name in given)}, ended with {type(error).__name__}: "
            f"{said(error)}; it takes what goes in, and returns what comes back by name"
        ) from error
    if not isinstance(expected, Mapping):
        if len(done.outputs) != 1:
            raise UsageError(
                "the reference gives one array and several come back; let it return a dict by name"
            )
        expected = {next(iter(done.outputs)): expected}
    unknown = next((name for name in expected if name not in done.outputs), None)
    if unknown is not None:
        legal = ", ".join(done.outputs) or "nothing"
        raise UsageError(f"the reference gives {unknown!r}, which does not come back; {legal} does")
    return {name: _compared(name, done.outputs[name], np.asarray(array)) for name, array in expected.items()}


def _compared(name: str, output: Array, expected: Array) -> Compared:
    if expected.size != output.size or expected.dtype.kind not in "fiub":
        raise UsageError(
            f"the reference gives {expected.dtype}{list(expected.shape)} for {name}, and {output.dtype}"
            f"{list(output.shape)} comes back; legal: numbers, {output.size} of them"
        )
    expected = expected.reshape(output.shape)
    accuracy = judge(output, expected, CLOSE)
    worst = accuracy.worst_index
    if worst is None:
        return Compared(accuracy)
    return Compared(accuracy, output[worst].item(), expected[worst].item())


def _plain(text: str) -> float:
    try:
        return int(text, 0)
    except ValueError:
        return float(text)
