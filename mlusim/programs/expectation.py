"""Comparison of what a kernel gives with what a function of Python or a file gives."""

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
"""The arrays and numbers that a call was made with, by name; asked for when its outputs are there."""
CLOSE = Thresholds(Criterion().diff1, Criterion().diff2)


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
        """Return the errors, verdict and the worst element."""
        a = self.accuracy
        index = None if a.worst_index is None else list(a.worst_index)
        worst = {"index": index, "got": self.got, "expected": self.expected}
        return {"diff1": a.diff1, "diff2": a.diff2, "diff3": a.diff3, "passed": a.passed, "worst": worst}


def wrong_in(judged: Mapping[str, Compared]) -> list[str]:
    """Return the name and the errors of each output that is not accurate."""
    return [f"{name}: {compared.told}" for name, compared in judged.items() if not compared.accuracy.passed]


def function_of(name: str | None, folder: str | None = None) -> Any:
    """Return the function that ``module:function`` names; modules are looked for in *folder*, or here, too.  None without a name.

    Raises `UsageError` where it is not found.
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
    """Let modules be imported from *folder* in the block."""
    sys.path.insert(0, folder)
    try:
        yield folder
    finally:
        # One entry of the folder, so that nested blocks of the same folder keep theirs.
        sys.path.remove(folder)


def file_module(path: str) -> Any:
    """Return the Python file *path* as a new module.  Raises `UsageError` where it is none, or ends with an error."""
    where = Path(path).absolute()
    refuse_no_file(path, "name a Python file")
    with importing_from(str(where.parent)) as folder:
        try:
            return module_of(where.stem, folder)
        except (Exception, SystemExit) as error:
            raise UsageError(f"{path} cannot be loaded: {type(error).__name__}: {said(error)}") from error


def module_of(name: str, folder: str | None) -> Any:
    """Return the module *name*; from a *folder* it is a new one, since several folders may each have a module of this name."""
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
    """The expected outputs of a call: a *function* of its inputs, *arrays* as ``--arg`` writes them, or both.

    *given* are those of a recording, which has them as they were.
    """

    name: str
    function: Callable[..., Any] | None
    arrays: Mapping[str, str]
    close: Thresholds = CLOSE
    supplied: Mapping[str, Array] = field(factory=dict)

    def compared(
        self, scope: ArgumentScope, inputs: Inputs, outputs: Mapping[str, Array]
    ) -> dict[str, Compared]:
        """Compare the *outputs* of a call by name; the rest is as in `expected`."""
        return {
            name: _compared(name, outputs[name], array, self.close, self._who(name))
            for name, array in self.expected(scope, inputs, tuple(outputs)).items()
        }

    def expected(self, scope: ArgumentScope, inputs: Inputs, outputs: Sequence[str]) -> dict[str, Array]:
        """Return the arrays that the *outputs* of a call are compared with, by name; *scope* and *inputs* are the call's.

        Raises `UsageError` where the function cannot be called with the inputs, and for what does not come back.
        """
        expected: dict[str, Any] = dict(self.supplied)
        for name, text in self.arrays.items():
            what = f"what {name} is compared with"
            value = value_of(text, what)
            # A value that comes back is an output itself, with nothing to compare with.
            if not value.form.goes_in or value.comes_back:
                raise UsageError(f"{what} is given {text!r}; it takes {spellings(ARRAYS)}")
            expected[name] = scope.array(name, value, what, legal=ARRAYS)
        if self.function is not None:
            # Both may be given, for different outputs.
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
        """Return the words for what gives the output *name*."""
        return "expect" if name in self.arrays or name in self.supplied else "the reference"


def expectation_of(criterion: Criterion, name: str) -> Expectation | None:
    """Return the expectation of *criterion*, called *name* where no function gives it one; None where it says nothing.

    Raises `UsageError` for a reference that is not found.
    """
    reference, expect = criterion.reference, criterion.expect
    if reference is None and not expect:
        return None
    close = Thresholds(criterion.diff1, criterion.diff2, criterion.diff3)
    return Expectation(reference or name, function_of(reference, criterion.folder), expect, close)


def _of_function(
    function: Callable[..., Any], inputs: Mapping[str, Any], outputs: Sequence[str]
) -> Mapping[str, Any]:
    """Return the results of *function* of *inputs*, arrays and numbers: a mapping by name, or the one output."""
    try:
        expected = function(**inputs)
    except Exception as error:
        raise UsageError(
            f"the reference, called with {', '.join(f'{name}=' for name in inputs)}, ended with {type(error).__name__}: "
            f"{said(error)}; it takes what goes in, and returns what comes back by name"
        ) from error
    if isinstance(expected, Mapping):
        return expected
    if len(outputs) != 1:
        raise UsageError("the reference gives one array and several come back; let it return a dict by name")
    # A reference of one output need not name it.
    return {outputs[0]: expected}


def _compared(name: str, output: Array, expected: Array, close: Thresholds, who: str) -> Compared:
    if expected.size != output.size or expected.dtype.kind not in "fiub":
        raise UsageError(
            f"{who} gives {expected.dtype}{list(expected.shape)} for {name}, and {output.dtype}"
            f"{list(output.shape)} comes back; legal: numbers, {output.size} of them"
        )
    # One may be flat: only the number of elements has to agree.
    return beside(output, expected.reshape(output.shape), close)


def beside(output: Array, expected: Array, close: Thresholds) -> Compared:
    """Compare *output* with *expected*, an array of the same shape."""
    accuracy = judge(output, expected, close)
    worst = accuracy.worst_index
    if worst is None:
        return Compared(accuracy)
    # Python's numbers, since JSON takes none of NumPy's.
    return Compared(accuracy, output[worst].item(), expected[worst].item())
