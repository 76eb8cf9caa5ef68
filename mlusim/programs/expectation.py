"""Comparing a kernel's outputs with those of a Python function or of a file."""

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import field, frozen

from mlusim.errors import UsageError, said
from mlusim.files.reading import refuse_no_file
from mlusim.operators.accuracy import Accuracy, judge
from mlusim.operators.spec import Thresholds
from mlusim.programs.argument_forms import ARRAYS, Criterion, spellings
from mlusim.programs.argument_values import ArgumentScope, value_of

Array = np.ndarray[Any, Any]
Inputs = Callable[[], Mapping[str, Any]]
"""A function that returns the input arrays and numbers of a call by name; called when its outputs exist."""
CLOSE = Thresholds(Criterion().diff1, Criterion().diff2)


@frozen
class Compared:
    """An output compared with its reference; ``got`` and ``expected`` are the elements at the accuracy's worst index."""

    accuracy: Accuracy
    got: Any = None
    expected: Any = None

    @property
    def worst(self) -> str:
        """The largest error as a phrase; "" if every value is equal."""
        if self.accuracy.worst_index is None:
            return ""
        place = ", ".join(map(str, self.accuracy.worst_index))
        return f"worst at [{place}]: {self.got:.6g}, the reference has {self.expected:.6g}"

    @property
    def told(self) -> str:
        """The errors and the verdict as a phrase, and for a failure the largest error."""
        a = self.accuracy
        line = f"diff1 {a.diff1:.3g}, diff2 {a.diff2:.3g}, {'passed' if a.passed else 'FAILED'}"
        return f"{line}; {self.worst}" if not a.passed and self.worst else line

    def to_json(self) -> dict[str, Any]:
        """Return the errors, verdict and the worst element."""
        a = self.accuracy
        index = None if a.worst_index is None else list(a.worst_index)
        worst = {"index": index, "got": self.got, "expected": self.expected}
        return {"diff1": a.diff1, "diff2": a.diff2, "diff3": a.diff3, "passed": a.passed, "worst": worst}


def wrong_in(judged: Mapping[str, Compared]) -> list[str]:
    """Return the name and the errors of each output that is not accurate."""
    return [f"{name}: {compared.told}" for name, compared in judged.items() if not compared.accuracy.passed]


def function_of(name: str | None, folder: str | None = None) -> Any:
    """Return the function ``module:function``; modules are searched in *folder*, or else in the current one.  None stays None.

    Raises `UsageError` if the function does not exist.
    """
    if name is None:
        return None
    module, colon, function = name.partition(":")
    if not colon:
        raise UsageError(f"reference {name!r} names no function; write module:function")
    with importing_from(str(Path.cwd()) if folder is None else str(Path(folder).absolute())) as place:
        try:
            return getattr(module_of(module, place if folder is not None else None), function)
        except (ImportError, AttributeError) as error:
            raise UsageError(f"reference {name} is not found: {error}") from None


@contextlib.contextmanager
def importing_from(folder: str) -> Iterator[str]:
    """Let modules be imported from *folder* during the block."""
    sys.path.insert(0, folder)
    try:
        yield folder
    finally:
        # Remove only one entry, so that nested blocks of the same folder keep theirs.
        sys.path.remove(folder)


def file_module(path: str) -> Any:
    """Import the Python file *path* as a new module.  Raises `UsageError` if it is no Python file, or raises an exception."""
    where = Path(path).absolute()
    refuse_no_file(path, "name a Python file")
    with importing_from(str(where.parent)) as folder:
        try:
            return module_of(where.stem, folder)
        except (Exception, SystemExit) as error:
            raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {said(error)}") from error


def module_of(name: str, folder: str | None) -> Any:
    """Return the module *name*; with *folder* it is imported again, since several folders may each have a module of this name."""
    path = None if folder is None else Path(folder, *name.split(".")).with_suffix(".py")
    if path is None or not path.is_file():
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@frozen
class Expectation:
    """The expected outputs of a call: a *function* of its inputs, *arrays* in the forms of ``--arg``, or both.

    *given* are the expected arrays in a recording.
    """

    name: str
    function: Callable[..., Any] | None
    arrays: Mapping[str, str]
    close: Thresholds = CLOSE
    supplied: Mapping[str, Array] = field(factory=dict)

    def compared(
        self, scope: ArgumentScope, inputs: Inputs, outputs: Mapping[str, Array]
    ) -> dict[str, Compared]:
        """Compare the *outputs* of a call by name; the other parameters are those of `expected`."""
        return {
            name: _compared(name, outputs[name], array, self.close, self._who(name))
            for name, array in self.expected(scope, inputs, tuple(outputs)).items()
        }

    def expected(self, scope: ArgumentScope, inputs: Inputs, outputs: Sequence[str]) -> dict[str, Array]:
        """Return the expected arrays of *outputs*, by name; *scope* and *inputs* are those of the call.

        Raises `UsageError` if the function does not accept the inputs, and for a name that is not an output.
        """
        expected: dict[str, Any] = dict(self.supplied)
        for name, text in self.arrays.items():
            what = f"what {name} is compared with"
            value = value_of(text, what)
            # A value that is itself an output is nothing to compare with.
            if not value.form.goes_in or value.comes_back:
                raise UsageError(f"{what} is given {text!r}; it takes {spellings(ARRAYS)}")
            expected[name] = scope.array(name, value, what, legal=ARRAYS)
        if self.function is not None:
            # A function and arrays may both be given, for different outputs.
            computed = _of_function(self.function, inputs(), outputs)
            twice = next((name for name in computed if name in expected), None)
            if twice is not None:
                raise UsageError(f"expect and reference both give {twice!r}; leave it out of one")
            expected |= computed
        unknown = next((name for name in expected if name not in outputs), None)
        if unknown is not None:
            legal = ", ".join(outputs) or "nothing"
            raise UsageError(
                f"{self._who(unknown)} gives {unknown!r}, which does not come back; {legal} does"
            )
        return {name: np.asarray(array) for name, array in expected.items()}

    def _who(self, name: str) -> str:
        """Return a phrase for the origin of the expected output *name*."""
        return "expect" if name in self.arrays or name in self.supplied else "the reference"


def expectation_of(criterion: Criterion, name: str) -> Expectation | None:
    """Return the expected outputs by *criterion*, called *name* if they have no function; None if there are none.

    Raises `UsageError` if the reference does not exist.
    """
    reference, expect = criterion.reference, criterion.expect
    if reference is None and not expect:
        return None
    close = Thresholds(criterion.diff1, criterion.diff2, criterion.diff3)
    return Expectation(reference or name, function_of(reference, criterion.folder), expect, close)


def _of_function(
    function: Callable[..., Any], inputs: Mapping[str, Any], outputs: Sequence[str]
) -> Mapping[str, Any]:
    """Call *function* with *inputs*, arrays and numbers, and return its results by name; a single output may be unnamed."""
    try:
        expected = function(**inputs)
    except Exception as error:
        arguments = ", ".join(f"{name}={_shown(value)}" for name, value in inputs.items())
        raise UsageError(
            f"the reference, called with {arguments}, ended with {type(error).__name__}: "
            f"{said(error)}; it takes what goes in, and returns what comes back by name"
        ) from error
    if isinstance(expected, Mapping):
        return expected
    if len(outputs) != 1:
        raise UsageError("the reference gives one array and several come back; let it return a dict by name")
    # A reference with one output need not name it.
    return {outputs[0]: expected}


def _shown(value: object) -> str:
    """Return the number *value*, or the type and the sizes of an array, which has too many."""
    return f"{value.dtype}{list(value.shape)}" if isinstance(value, np.ndarray) else f"{value!s:.40}"


def _compared(name: str, output: Array, expected: Array, close: Thresholds, who: str) -> Compared:
    if expected.size != output.size or expected.dtype.kind not in "fiub":
        raise UsageError(
            f"{who} gives {expected.dtype}{list(expected.shape)} for {name}, and {output.dtype}"
            f"{list(output.shape)} comes back; legal: numbers, {output.size} of them"
        )
    # One of them may be flat: only the number of elements has to agree.
    return beside(output, expected.reshape(output.shape), close)


def beside(output: Array, expected: Array, close: Thresholds) -> Compared:
    """Compare *output* with *expected*, of the same shape."""
    accuracy = judge(output, expected, close)
    worst = accuracy.worst_index
    if worst is None:
        return Compared(accuracy)
    # Converted to Python's numbers, since JSON has none of NumPy's.
    return Compared(accuracy, output[worst].item(), expected[worst].item())
