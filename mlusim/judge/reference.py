"""The reference's file, by which candidates are judged: inputs, drawn again for each call, expected outputs, and tolerances.

Two forms.  Functions of NumPy: ``inputs(rng, case)`` gives arrays and numbers by name, ``reference(**inputs)`` the output.
A model of PyTorch: ``Model`` with ``get_init_inputs()`` and ``get_inputs()``.  Both may have ``cases``, ``launch``,
``outputs``, ``bind``, ``tolerance``, ``operations`` and ``host_work``; see the how-to on judging many candidates.
"""

import hashlib
import inspect
import random
import runpy
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from attrs import asdict, evolve, frozen

from mlusim.arch.dtypes import as_dtype
from mlusim.errors import UsageError, said
from mlusim.files.reading import read_bytes
from mlusim.near import near
from mlusim.operators.accuracy import judge
from mlusim.operators.spec import Thresholds

Array = np.ndarray[Any, Any]


# -- comparison of an output with the reference, element by element ------------------------------------
#
# An element is right within ``rtol x max(|r|, m) + atol`` of its reference r, where m is the median magnitude
# of the reference's non-zero elements.  A constant near the mean or an omitted tail is therefore wrong, and
# neither a scale nor an outlier can widen the tolerance.  Integers and booleans are right if they are equal,
# NaN and infinities if they match.

# Relative tolerances of elements of two bytes, and of longer ones.
HALF, SINGLE = 1e-2, 1e-3


@frozen
class Tolerance:
    """The largest error of an element: *rtol* times the greater of its magnitude and the median one, plus *atol*."""

    rtol: float
    atol: float = 0.0


@frozen
class Difference:
    """An output compared with its reference: how many elements are ``wrong``, and the one that exceeds its tolerance most.

    ``got``, ``expected``, ``allowed`` and ``largest``, the absolute difference, belong to the element at ``index``;
    None if all elements are equal.  ``typical`` is the median relative error of non-zero elements; ``diff1``,
    ``diff2`` and ``diff3`` are the vendor's metrics.
    """

    wrong: int
    elements: int
    index: tuple[int, ...] | None
    got: float | None
    expected: float | None
    largest: float
    allowed: float
    typical: float
    diff1: float
    diff2: float
    diff3: float

    @property
    def right(self) -> bool:
        """Return whether every element is right."""
        return self.wrong == 0

    @property
    def excess(self) -> float:
        """The largest difference divided by the allowed one; infinite for NaN, and where no difference is allowed."""
        if np.isnan(self.largest):
            return float("inf")
        return self.largest / self.allowed if self.allowed else float("inf") if self.largest else 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the comparison as plain data."""
        return asdict(self) | {"right": self.right}


def usual(dtype: np.dtype[Any]) -> Tolerance:
    """Return the tolerance of elements of *dtype* if the reference declares none."""
    if dtype.kind in "iub":
        return Tolerance(0.0)
    return Tolerance(HALF if dtype.itemsize <= 2 else SINGLE)


def compared(output: Array, expected: Array, tolerance: Tolerance) -> Difference:
    """Compare *output* with *expected*.  Raises `UsageError` if their shapes differ."""
    if output.shape != expected.shape:
        raise UsageError(f"an output of shape {list(output.shape)} where {list(expected.shape)} was expected")
    accuracy = judge(output, expected, Thresholds())
    figures = {"diff1": accuracy.diff1, "diff2": accuracy.diff2, "diff3": accuracy.diff3}
    o, r = (a.reshape(-1) for a in (output, expected))
    o, r = (a if a.dtype.kind in "iub" else a.astype(np.float64) for a in (o, r))
    exact = output.dtype.kind in "iub"
    same = o == r
    if not exact:
        same |= np.isnan(o) & np.isnan(r)
    if same.all():
        return Difference(0, o.size, None, None, None, 0.0, 0.0, 0.0, **figures)
    with np.errstate(all="ignore"):
        distance = np.abs(o.astype(np.float64) - r.astype(np.float64))
        magnitude = np.abs(r.astype(np.float64))
        allowed = tolerance.rtol * np.maximum(magnitude, _median(magnitude)) + tolerance.atol
        beyond = distance - allowed
        relative = distance[magnitude > 0] / magnitude[magnitude > 0]
    special = ~same & ~(np.isfinite(o) & np.isfinite(r)) if not exact else np.zeros(o.size, bool)
    wrong = ~same & (special | ~(beyond <= 0))
    score = np.where(special, np.inf, np.where(same, -np.inf, beyond))
    at = int(np.argmax(score))
    return Difference(
        int(np.count_nonzero(wrong)),
        o.size,
        tuple(int(i) for i in np.unravel_index(at, expected.shape)),
        o[at].item(),
        r[at].item(),
        float(distance[at]),
        0.0 if special[at] else float(allowed[at]),
        _median(relative, zero=True),
        **figures,
    )


def _median(values: Array, *, zero: bool = False) -> float:
    """Return the median of the finite positive *values*, or with *zero* of all finite ones."""
    told = values[np.isfinite(values) & ((values > 0) | zero)]
    return float(np.median(told)) if told.size else 0.0


def tolerances(declared: object, outputs: Mapping[str, Array]) -> dict[str, Tolerance]:
    """Return the tolerance of each of *outputs*; *declared* is None, a number, a mapping with "rtol" and "atol", or a mapping by output."""
    if isinstance(declared, Mapping) and not set(declared) <= {"rtol", "atol"}:
        unknown = next((name for name in declared if name not in outputs), None)
        if unknown is not None:
            raise UsageError(
                f"tolerance names {unknown!r}, which is not an output; there are {', '.join(outputs)}"
            )
        return {name: _tolerance(declared.get(name), array) for name, array in outputs.items()}
    return {name: _tolerance(declared, array) for name, array in outputs.items()}


def _tolerance(declared: Any, array: Array) -> Tolerance:
    if declared is None:
        return usual(array.dtype)
    parts = declared if isinstance(declared, Mapping) else {"rtol": declared}
    try:
        rtol, atol = float(parts.get("rtol", 0)), float(parts.get("atol", 0))
    except (TypeError, ValueError):
        rtol = atol = -1.0
    if not set(parts) <= {"rtol", "atol"} or not (0 <= rtol < 1 and 0 <= atol < np.inf):
        raise UsageError(
            f"tolerance = {declared!r:.80} is not a tolerance; give a number from 0 to 1, or {{'rtol': 1e-3, 'atol': 1e-5}}"
        )
    return Tolerance(rtol, atol)


# -- the file ------------------------------------------------------------------------------------------

FORMS = (
    "write `def inputs(rng, case)` and `def reference(...)` of NumPy, or a class Model of torch.nn with get_inputs() and "
    "get_init_inputs()"
)
OUTPUT = "out"  # the name of an output if the file declares none


@frozen(eq=False)
class Draw:
    """The inputs and the expected outputs of one call: arrays and numbers by name, and the grid of the launch.

    ``weights`` names the inputs that are a model's own parameters, which a candidate may omit; ``number`` counts the
    draws of a case from 1; ``operations`` is the least number of operations of the case, if the file declares it;
    ``host_work`` says whether host functions may compute.
    """

    case: str
    number: int
    inputs: Mapping[str, Array]
    numbers: Mapping[str, float]
    expected: Mapping[str, Array]
    tolerance: Mapping[str, Tolerance]
    dim: tuple[int, int, int]
    kind: str
    operations: int | None
    host_work: bool = False
    weights: tuple[str, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes that any kernel has to move: all inputs and outputs."""
        return sum(a.nbytes for a in (*self.inputs.values(), *self.expected.values()))


@frozen(eq=False)
class JudgeReference:
    """An executed reference file."""

    path: str
    names: Mapping[str, Any]
    cases: Mapping[str, Mapping[str, Any]]
    bind: Mapping[str, str]

    def draws(self, seed: int, count: int, chosen: Sequence[str] = ()) -> tuple[list[Draw], list[str]]:
        """Return *count* draws of each of the *chosen* cases (empty: all), and sentences about weaknesses of the reference.

        The same *seed* gives the same draws.  Raises `UsageError` for a file that has no draws.
        """
        for name in chosen:
            if name not in self.cases:
                close = near(name, list(self.cases), 3)
                raise UsageError(
                    f"{self.path} has no case {name!r}; there are {', '.join(close or self.cases)}"
                )
        drawn = []
        for place, (name, case) in enumerate(self.cases.items()):
            if not chosen or name in chosen:
                drawn += self._of_case(name, case, [seed, place], count)
        return drawn, list(_weaknesses(drawn))

    def _of_case(self, name: str, case: Mapping[str, Any], seed: list[int], count: int) -> list[Draw]:
        drawn: list[Draw] = []
        for number in range(1, count + 1):
            rng = np.random.default_rng([*seed, number])
            arrays, numbers = self._given(rng, case)
            before = drawn[-1].inputs if drawn else {}
            arrays = _apart(arrays, before, rng)
            numbers = {**{str(n): v for n, v in case.items() if isinstance(v, int | float)}, **numbers}
            drawn.append(self._drawn(name, number, case, arrays, numbers))
        return drawn

    def _drawn(
        self,
        name: str,
        number: int,
        case: Mapping[str, Any],
        arrays: dict[str, Array],
        numbers: dict[str, float],
    ) -> Draw:
        model = self._model() if self._modelled else None
        weights, sizes = ({}, {}) if model is None else self._of_model(model, arrays)
        expected = self._expected(arrays, numbers, case, model)
        arrays, numbers = {**arrays, **weights}, {**sizes, **numbers}
        launch = (
            self._called("launch", case)
            if callable(self.names.get("launch"))
            else self.names.get("launch", {})
        )
        if not isinstance(launch, Mapping) or not set(launch) <= {"dim", "kind"}:
            raise UsageError(
                f"{self.path}: launch = {launch!r:.80} is not a launch; write {{'dim': (4, 1, 1), 'kind': 'union1'}}"
            )
        operations = self._called("operations", case) if "operations" in self.names else None
        if operations is not None and (not isinstance(operations, int | np.integer) or operations < 0):
            raise UsageError(
                f"{self.path}: operations(case) gives {operations!r:.40}; it gives a number of operations"
            )
        return Draw(
            name,
            number,
            MappingProxyType(arrays),
            MappingProxyType(numbers),
            MappingProxyType(expected),
            tolerances(self.names.get("tolerance"), expected),
            _dim(self.path, launch.get("dim", 1)),
            str(launch.get("kind", "block")),
            None if operations is None else int(operations),
            bool(self.names.get("host_work", False)),
            tuple(weights),
        )

    # -- the values of the file ----------------------------------------------------------------------

    def _given(
        self, rng: np.random.Generator, case: Mapping[str, Any]
    ) -> tuple[dict[str, Array], dict[str, float]]:
        seed = int(rng.integers(1 << 31))
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002 - for files written elsewhere that draw from NumPy's global generator
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.manual_seed(seed)
        drawn = self.names.get("inputs") is not None
        inputs = self._called("inputs", rng, case) if drawn else self._called("get_inputs")
        if not isinstance(inputs, Mapping):
            inputs = dict(zip(self._parameters(len(inputs)), inputs, strict=True))
        arrays, numbers = {}, {}
        for name, value in inputs.items():
            array = _array(value)
            if array is None:
                raise UsageError(
                    f"{self.path}: the input {name} is {type(value).__name__}; legal: arrays, tensors and numbers"
                )
            if array.ndim or hasattr(value, "ndim"):
                arrays[str(name)] = np.ascontiguousarray(array).reshape(array.shape)
                as_dtype(array.dtype)
            else:
                numbers[str(name)] = array.item()
        return arrays, numbers

    def _parameters(self, count: int) -> list[str]:
        """Return names for unnamed inputs: the names of the reference's parameters."""
        function = self.names["Model"].forward if self._modelled else self.names["reference"]
        names = [name for name in inspect.signature(function).parameters if name != "self"]
        return [*names[:count], *(f"input{n}" for n in range(len(names), count))]

    @property
    def _modelled(self) -> bool:
        return "reference" not in self.names

    def _expected(
        self,
        arrays: Mapping[str, Array],
        numbers: Mapping[str, float],
        case: Mapping[str, Any],
        model: object,
    ) -> dict[str, Array]:
        if model is not None:
            results = self._by_model(model, arrays, numbers)
        else:
            wanted = inspect.signature(self.names["reference"]).parameters
            every = any(p.kind is p.VAR_KEYWORD for p in wanted.values())
            values = {**case, **numbers, **{n: a.copy() for n, a in arrays.items()}}
            results = self._called("reference", **{n: v for n, v in values.items() if every or n in wanted})
        named = self.names.get("outputs", OUTPUT)
        kinds = named if isinstance(named, Mapping) else {}
        results = _by_name(results, [named] if isinstance(named, str) else list(named))
        widest = max(
            (a.dtype for a in arrays.values() if as_dtype(a.dtype).kind == "float"),
            default=np.dtype("f4"),
            key=lambda d: d.itemsize,
        )
        outputs = {}
        for name, value in results.items():
            array = _array(value)
            if array is None:
                raise UsageError(
                    f"{self.path}: the reference gives {type(value).__name__} for {name}; it gives arrays"
                )
            kind = widest if array.dtype == np.float64 else array.dtype
            if name in kinds:
                kind = as_dtype(kinds[name]).dtype
            with np.errstate(over="ignore"):
                outputs[str(name)] = np.ascontiguousarray(array.astype(kind)).reshape(array.shape)
        if not outputs:
            raise UsageError(
                f"{self.path}: the reference gives no output; it returns an array, or arrays by name"
            )
        return outputs

    def _model(self) -> Any:
        inputs = self._called("get_init_inputs") if "get_init_inputs" in self.names else []
        return self._guarded("Model", self.names["Model"], *inputs).eval()

    def _of_model(
        self, model: object, arrays: Mapping[str, Array]
    ) -> tuple[dict[str, Array], dict[str, float]]:
        """Return the weights of *model*, and the numbers that it was constructed with, by name.

        A weight is called by the last part of its name, as ``weight_ih_l0``, or by all of it, as ``conv1_weight``, if
        several layers have that part.
        """
        state = model.state_dict() if hasattr(model, "state_dict") else {}
        last = Counter(key.rpartition(".")[2] for key in state)
        weights = {}
        for key, value in state.items():
            short, array = key.rpartition(".")[2], _array(value)
            name = short if last[short] == 1 and short not in arrays else key.replace(".", "_")
            if array is not None and array.ndim and name not in arrays:
                weights[name] = np.ascontiguousarray(array).copy()
        inputs = self.names["get_init_inputs"]() if "get_init_inputs" in self.names else []
        names = [n for n in inspect.signature(self.names["Model"]).parameters if n != "self"]
        numbers = {n: v for n, v in zip(names, inputs, strict=False) if isinstance(v, int | float)}
        return weights, numbers

    def _by_model(self, model: Any, arrays: Mapping[str, Array], numbers: Mapping[str, float]) -> Any:
        torch = sys.modules["torch"]
        names = self._parameters(len(arrays) + len(numbers))
        inputs = [torch.from_numpy(arrays[n].copy()) if n in arrays else numbers[n] for n in names]
        with torch.no_grad():
            return self._guarded("Model.forward", model, *inputs)

    def _called(self, name: str, *words: object, **named: object) -> Any:
        return self._guarded(name, self.names[name], *words, **named)

    def _guarded(self, name: str, function: Callable[..., Any], *words: object, **named: object) -> Any:
        try:
            return function(*words, **named)
        except Exception as error:
            raise UsageError(f"{name} of {self.path} ended with {_sentence(error, self.path)}") from error


def loaded(path: str) -> JudgeReference:
    """Execute the file *path*.  Raises `UsageError`, with the line, if it is not a reference's file."""
    if not Path(path).is_file():
        raise UsageError(f"there is no file {path}; --reference takes a file of Python: {FORMS}")
    sys.path.insert(0, str(Path(path).resolve().parent))
    try:
        names = runpy.run_path(path, run_name="reference")
    except SystemExit as leaving:
        raise UsageError(f"{path} ends the program with exit code {said(leaving)}") from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        raise UsageError(f"{path} ends with {_sentence(error, path)}") from error
    finally:
        sys.path.pop(0)
    whole = callable(names.get("reference")) and (
        callable(names.get("inputs")) or callable(names.get("get_inputs"))
    )
    model = isinstance(names.get("Model"), type) and callable(names.get("get_inputs"))
    if not whole and not model:
        raise UsageError(f"{path} has no reference with inputs; {FORMS}")
    bind = names.get("bind", {})
    if not isinstance(bind, Mapping) or not all(isinstance(w, str) for pair in bind.items() for w in pair):
        raise UsageError(
            f"{path}: bind = {bind!r:.80} does not name inputs and outputs; write {{'parameter': 'input or output'}}"
        )
    return JudgeReference(path, MappingProxyType(names), _cases(path, names.get("cases", [{}])), bind)


def digest(path: str) -> str:
    """Return a hash of the bytes of the file *path*.  Raises `UsageError` if it cannot be read."""
    return hashlib.sha256(read_bytes(path)).hexdigest()[:16]


def _cases(path: str, declared: object) -> Mapping[str, Mapping[str, Any]]:
    if isinstance(declared, Mapping):
        named = {str(name): case for name, case in declared.items()}
    else:
        listed = list(declared) if isinstance(declared, list | tuple) else [None]
        named = {
            ",".join(f"{k}={v}" for k, v in case.items()) or "default": case
            for case in listed
            if isinstance(case, Mapping)
        }
        if len(named) != len(listed):
            raise UsageError(
                f"{path}: cases are mappings that differ, as [{{'n': 1024}}, {{'n': 4099}}], or mappings by name"
            )
    if not named or not all(isinstance(case, Mapping) for case in named.values()):
        raise UsageError(f"{path}: cases = {declared!r:.80} has none; write [{{'n': 1024}}, {{'n': 4099}}]")
    return MappingProxyType(named)


def _dim(path: str, declared: object) -> tuple[int, int, int]:
    sizes = (
        [declared]
        if isinstance(declared, int)
        else list(declared)
        if isinstance(declared, tuple | list)
        else []
    )
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) for n in sizes):
        raise UsageError(f"{path}: dim = {declared!r:.40} is not a grid; write (x, y, z), as (4, 8, 1)")
    x, y, z = [*sizes, 1, 1][:3]
    return x, y, z


def _array(value: Any) -> Array | None:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        if str(value.dtype) == "torch.bfloat16":
            return np.asarray(value.float().numpy()).astype(as_dtype("bfloat16").dtype)
        value = value.numpy()
    array = np.asarray(value)
    return array if array.dtype.kind in "fiubV" and array.dtype.names is None else None


def _sentence(error: BaseException, path: str) -> str:
    """Return the message of *error*, with the line of the file *path* that raised it."""
    text = " ".join(said(error).split())
    if isinstance(error, SyntaxError):
        return f"SyntaxError in line {error.lineno}: {error.msg}"
    file = Path(path).resolve()
    lines = [
        f.lineno for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).resolve() == file
    ]
    where = f" in line {lines[-1]}" if lines else ""
    return f"{type(error).__name__}{where}: {text}"


# -- inputs that differ ----------------------------------------------------------------------------


def _apart(
    arrays: dict[str, Array], before: Mapping[str, Array], rng: np.random.Generator
) -> dict[str, Array]:
    """Return *arrays*; a float array that equals another one, or its own of the draw *before*, is shuffled.

    A file may use one tensor for three inputs, or seed its own generator: a candidate that swaps inputs, or caches a
    result, would then pass.  Integers may be indices, whose order matters.
    """
    apart: dict[str, Array] = {}
    for name, array in arrays.items():
        others = [*apart.values(), *([before[name]] if name in before else [])]
        if as_dtype(array.dtype).kind == "float" and any(_same(array, other) for other in others):
            array = rng.permutation(array.reshape(-1)).reshape(array.shape)  # noqa: PLW2901
        apart[name] = array
    return apart


def _same(a: Array, b: Array) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a.size > 1 and a.tobytes() == b.tobytes()


def _weaknesses(draws: Sequence[Draw]) -> Iterator[str]:
    """Yield sentences about weaknesses of a reference that let a wrong candidate pass."""
    shapes = {tuple((n, a.shape) for n, a in d.inputs.items()) for d in draws}
    if len(shapes) == 1:
        yield "every call has the same shapes, so that a kernel for one shape alone would pass; give cases of other shapes"
    by_case: dict[str, list[Draw]] = {}
    for draw in draws:
        by_case.setdefault(draw.case, []).append(draw)
    told: set[str] = set()
    for several in by_case.values():
        first = several[0]
        for name, expected in first.expected.items():
            if len(several) > 1 and all(_same(expected, d.expected[name]) for d in several[1:]):
                told.add(f"the reference gives the same {name} for each draw, so that a constant would pass")
            equal = next((n for n, a in first.inputs.items() if _same(a, expected)), None)
            if equal is not None:
                told.add(f"the reference gives its input {equal} as {name}")
        for name, array in first.inputs.items():
            equal = next((n for n, a in first.inputs.items() if n != name and _same(a, array)), None)
            if equal is not None and name < equal:
                told.add(
                    f"the inputs {name} and {equal} are equal, so that a kernel that swaps them would pass"
                )
    if any(len(several) == 1 for several in by_case.values()):
        told.add(
            "each case is drawn once, so that a candidate that keeps its result would pass; give --draws 2 or more"
        )
    yield from sorted(told)


def with_launch(draw: Draw, dim: tuple[int, int, int] | None, kind: str | None) -> Draw:
    """Return *draw* with the grid *dim* and the *kind* of the command line, where they are not None."""
    return evolve(draw, dim=dim or draw.dim, kind=kind or draw.kind)


def _by_name(results: object, names: list[str]) -> Mapping[Any, Any]:
    """Return the *results* of a reference by name; they may be one output, a sequence, or a mapping."""
    if isinstance(results, Mapping):
        return results
    several = list(results) if isinstance(results, tuple | list) else [results]
    if len(names) != len(several):
        names = [f"{OUTPUT}{n}" for n in range(len(several))]
    return dict(zip(names, several, strict=True))
