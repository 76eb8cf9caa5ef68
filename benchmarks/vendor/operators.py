"""Operators: an entry point of the library, a reference in NumPy, calls on shapes of our own and of the vendor's cases."""

import contextlib
import io
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, field

from benchmarks.vendor.board import CHECKERS
from benchmarks.vendor.entries import Call, Library, Watched
from benchmarks.vendor.prototxt import call_of, entry_of, parse
from benchmarks.vendor.sentences import sentence
from mlusim.errors import MlusimError

Given = dict[str, Any]
Reference = Callable[[Given], Given]
REFERENCES: dict[str, tuple[Reference, float]] = {}
WHOLE: set[str] = set()  # entry points whose tolerance is of all elements' root mean square
SAMPLES: dict[str, list[Callable[[np.random.Generator], tuple[Given, dict[str, str]]]]] = {}


def reference(name: str, tolerance: float = 1e-3, *, whole: bool = False) -> Callable[[Reference], Reference]:
    """Register what the entry point *name* is to give: tensors by the names of parameters.

    *tolerance* is of each element and 1, or with *whole* of the root mean square of all elements: every
    one is a sum of many that cancel.
    """

    def register(function: Reference) -> Reference:
        REFERENCES[name] = function, tolerance
        if whole:
            WHOLE.add(name)
        return function

    return register


def sample(name: str) -> Callable[[Any], Any]:
    """Register a function that makes the arguments of one call, and the layouts of tensors that are no arrays."""

    def register(function: Any) -> Any:
        SAMPLES.setdefault(name, []).append(function)
        return function

    return register


@define
class Outcome:
    """How one call went; *files* are those whose kernels it launched."""

    entry: str
    case: str
    status: str = ""
    kernels: list[str] = field(factory=list)
    files: list[str] = field(factory=list)
    right: bool | None = None
    difference: float | None = None
    checked: bool = False  # whether it was made a second time, under all checkers
    findings: dict[str, int] = field(factory=dict)
    examples: dict[str, str] = field(factory=dict)
    seconds: float = 0.0
    remark: str = ""


def cases(library: Library) -> list[tuple[str, str, Any]]:
    """Every call: entry point, name, and the path of the vendor's case or the function of ours."""
    paths = sorted(library.root.glob("test/mlu_op_gtest/pb_gtest/src/zoo/*/test*case/*.prototxt"))
    found: list[tuple[str, str, Any]] = [
        (entry_of(parse(p.read_text()), library), f"{p.parts[-3]}/{p.stem}", p) for p in paths
    ]
    for name, made in SAMPLES.items():
        found += [(name, f"ours {n}: {f.__doc__}", f) for n, f in enumerate(made)]
    return found


def outcome(
    library: Library,
    entry: str,
    case: str,
    source: Any,
    *,
    checked: bool = False,
    handle: Watched | None = None,
) -> Outcome:
    """Make one call and compare what it gives."""
    made, start = Outcome(entry, case), time.perf_counter()
    handle = handle or Watched(CHECKERS if checked else ())
    try:
        if isinstance(source, Path):
            call = call_of(source, library, handle)
        else:
            given, layouts = source(np.random.default_rng(1))
            call = Call(library, handle, entry, given, layouts)
        before = {k: call.logical(k, v.copy()) for k, v in call.given.items() if isinstance(v, np.ndarray)}
        with contextlib.redirect_stdout(io.StringIO()):
            status = call.run()
        made.status = getattr(status, "name", str(status))
        made.remark = handle.last_error
        if made.status == "MLUOP_STATUS_SUCCESS" and entry in REFERENCES:
            _compare(made, call, {**call.given, **before})
    except MlusimError as error:
        made.remark = f"{type(error).__name__}: {sentence(error, library.root, 300)}"
    except Exception as error:  # noqa: BLE001 - the table says what it was
        made.remark = f"not run: {type(error).__name__}: {str(error)[:200]}"
    root = str(library.root) + "/"
    made.files = sorted(f.removeprefix(root) for f in handle.files)
    made.kernels = sorted({launch.kernel for launch in handle.launches})
    found: Counter[str] = Counter()
    for launch in handle.launches:
        for finding in launch.findings:
            found[finding.id] += 1
            made.examples.setdefault(finding.id, str(finding).split("\n", 1)[0].removeprefix(root)[:300])
    made.findings, made.seconds = dict(found), time.perf_counter() - start
    return made


def _compare(made: Outcome, call: Call, given: Given) -> None:
    function, tolerance = REFERENCES[call.name]
    made.right, made.difference = True, 0.0
    with np.errstate(all="ignore"):
        wanted = function(given)
    for name, expected in wanted.items():
        found = call.result(name)
        if found.dtype == np.float16 or any(
            isinstance(v, np.ndarray) and v.dtype == np.float16 for v in given.values()
        ):
            tolerance = max(tolerance, 2e-2)
        wide = np.complex128 if found.dtype.kind == "c" else np.float64
        values = np.asarray(expected).astype(wide)
        if values.ndim == found.ndim and values.shape[1:] == found.shape[1:]:
            found = found[: len(values)]  # what is behind the rows that are wanted has no meaning
        found, values = found.astype(wide), values.reshape(found.shape)
        apart = np.where((found == values) | (np.isnan(found) & np.isnan(values)), 0, np.abs(found - values))
        sizes = np.abs(np.where(np.isfinite(values), values, 0))
        bound = tolerance * (np.sqrt((sizes**2).mean()) if call.name in WHOLE else 1 + sizes)
        right = bool(np.all(apart <= bound))
        made.difference = max(made.difference, float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0)))
        if not right:
            made.right = False
            wrong = ~(apart <= bound)
            at = tuple(int(n) for n in np.argwhere(wrong)[0])
            made.remark = f"{name}{list(at)} is {found[at]:.6g}, not {values[at]:.6g}; {int(wrong.sum())} of {wrong.size} are wrong"
