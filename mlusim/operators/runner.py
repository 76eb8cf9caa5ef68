"""Running an operator on arrays, on one of its cases, or as a program that verbs can repeat, and judging its outputs.

The kernels are those in Python, or, on the native engine, those in BANG C from the file ``kernel.mlu`` beside them.
"""

import functools
import importlib.util
import inspect
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from attrs import evolve, field, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.engine.preference import AUTO, NATIVE, engine_of, preferred
from mlusim.errors import Fault, StatusError, UsageError
from mlusim.host.handle import Handle
from mlusim.host.library import LARGE_TENSOR, Status, TensorDescriptor
from mlusim.kernel_frames import show_kernel
from mlusim.machine.engine import Engine, PreparedLaunches
from mlusim.machine.hub import attendants, looks_inside
from mlusim.machine.kernel import UNION1, Kind
from mlusim.machine.launch import Launch
from mlusim.machine.limits import limit_of
from mlusim.machine.options import USUAL_OPTIONS, LaunchOptions
from mlusim.machine.tally import Instructions, Usage
from mlusim.operators.accuracy import Accuracy, judge, judge_dynamic
from mlusim.operators.registry import find_operator
from mlusim.operators.spec import Arrays, Case, Operator, Params, Tensor, policy_of
from mlusim.plan.layout import Layout
from mlusim.report.efficiency import STANDARD, Efficiency, Rule, efficiency

# -- the inputs and the expected results of a call, computed once for all boards, policies and engines ----

Outputs = Mapping[str, np.ndarray[Any, Any]]


class Expected:
    """The references of one call of *operator* on *inputs* with all *params*, defaults included.

    A reference is computed when it is first needed.
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
        """The reference before rounding, if the operator has one; else the reference."""
        exact = self._operator.exact
        return self.reference if exact is None else exact(*self._call)

    @cached_property
    def device(self) -> Outputs:
        """The reference as another device computes it."""
        device = self._operator.device
        return self.reference if device is None else device(*self._call)

    def judged(self, outputs: Outputs) -> dict[str, Accuracy]:
        """Return the accuracy of those *outputs* that have thresholds and a reference."""
        accuracy = {}
        for name, thresholds in self._operator.thresholds.items():
            if name not in outputs:
                continue
            if thresholds.dynamic is not None and name in self.exact:
                accuracy[name] = judge_dynamic(
                    outputs[name],
                    thresholds.dynamic,
                    self.exact[name],
                    lambda name=name: self.device[name],  # type: ignore[misc]
                    lambda name=name: self.reference[name],  # type: ignore[misc]
                )
            elif thresholds.dynamic is None and name in self.reference:
                accuracy[name] = judge(outputs[name], self.reference[name], thresholds)
        return accuracy


SUCCESS = Status.MLUOP_STATUS_SUCCESS


@frozen(eq=False)
class Run:
    """The outcome of one call of an operator.

    ``inputs`` describes the input arrays, ``params`` holds every parameter, defaults
    included.  ``accuracy`` is empty until the run is judged; ``efficiency`` is None if nothing was
    launched, and otherwise computed by ``rate`` from the launches' predicted time at its first use.  ``workspace`` is in bytes; ``layouts`` are the NRAM plans in use.  ``policy`` is the
    requested one; None: the operator's usual one.
    """

    operator: str
    board: str
    status: Status
    outputs: Mapping[str, np.ndarray[Any, Any]]
    launches: tuple[Launch, ...]
    rate: Callable[[float], Efficiency] | None = field(repr=False)
    case: str | None = None
    message: str = ""
    accuracy: Mapping[str, Accuracy] = field(factory=dict)
    expected: Status = SUCCESS
    inputs: Mapping[str, TensorDescriptor] = field(factory=dict)
    params: Mapping[str, Any] = field(factory=dict)
    workspace: int = 0
    layouts: tuple[Layout, ...] = ()
    policy: str | None = None
    group: str | None = None
    rule: Rule = STANDARD

    @cached_property
    def efficiency(self) -> Efficiency | None:
        """The efficiency of the call; None if nothing was launched."""
        return None if self.rate is None else self.rate(sum([launch.time_us for launch in self.launches]))

    @property
    def passed(self) -> bool:
        """True where the status is the expected one and every judged output is accurate enough."""
        return self.status == self.expected and all(a.passed for a in self.accuracy.values())

    @property
    def instructions(self) -> Instructions:
        """The counts of the intrinsics over all launches."""
        return Instructions(_added(launch.instructions for launch in self.launches))

    @property
    def traffic(self) -> dict[str, int]:
        """Bytes by copy direction over all launches."""
        return _added(launch.traffic for launch in self.launches)

    @property
    def memory(self) -> dict[str, Usage]:
        """Capacity and highest high-water mark of each on-chip memory over all launches."""
        merged: dict[str, Usage] = {}
        for launch in self.launches:
            for space, usage in launch.memory.items():
                highest = merged.get(space, usage)
                merged[space] = Usage(usage.capacity, max(highest.high_water, usage.high_water))
        return merged

    @property
    def findings(self) -> tuple[Any, ...]:
        """The findings of all launches."""
        return tuple(finding for launch in self.launches for finding in launch.findings)


def _added(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in parts:
        for key, number in part.items():
            total[key] = total.get(key, 0) + number
    return total


def run(
    operator: str | Operator,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    *,
    board: str | Board = "MLU370-X4",
    observe: Iterable[Any] = (),
    seed: int | None = None,
    effects: str = "late",
    policy: str | None = None,
    engine: str = "auto",
    reference: bool = False,
) -> Run:
    """Run an operator on *inputs* (arrays by name) and *params* and return the outcome.

    With *reference* the outputs are judged against the operator's reference.  *policy* is one of those that the
    operator declares.  *engine* executes the kernels: "auto", "python" or "native", which runs ``kernel.mlu``; "auto"
    runs ``kernel.py``, whose NRAM and lanes are those of the plan.  Raises `UsageError` for missing or unknown names,
    and `StatusError` if the host interface does not return success.
    """
    spec = _operator(operator)
    done = attempt(
        spec,
        inputs,
        params,
        board=board,
        policy=policy,
        options=LaunchOptions(observe, seed, effects, engine),
    )
    if done.status != SUCCESS:
        raise StatusError(done.status, f"{done.status.name}: {done.message}")
    return judged(done, inputs, params or {}, spec) if reference else done


def run_case(
    operator: str | Operator,
    case: Case,
    *,
    board: str | Board = "MLU370-X4",
    observe: Iterable[Any] = (),
    seed: int | None = None,
    effects: str = "late",
    policy: str | None = None,
    engine: str = "auto",
    reference: bool = True,
    prepared: "Made | None" = None,
    options: LaunchOptions | None = None,
) -> Run:
    """Run *case* of an operator, judge its outputs, and compare its status with the expected one.

    *options* replace *observe*, *seed*, *effects* and *engine*.  *prepared* is the result of `made_of` for a case
    that runs several times.  A case that takes a second or more in Python runs ``kernel.mlu`` if *engine* leaves that
    open (`takes_source`).
    """
    spec = _operator(operator).called_as(case)
    inputs, params, expected = prepared or made_of(spec, case)
    options = options or LaunchOptions(observe, seed, effects, engine)
    done = attempt(
        spec,
        inputs,
        params,
        board=board,
        policy=policy,
        options=options,
        handle=source_handle(board, policy, options) if case.slow else None,
    )
    done = evolve(done, case=case.name, expected=expected_status(spec, case, board), group=case.group)
    judge = reference and done.status == SUCCESS
    return evolve(done, accuracy=expected.judged(done.outputs)) if judge else done


class Made(NamedTuple):
    """The inputs of a case and the results expected from the operator: the same on every board."""

    inputs: Mapping[str, Any]
    params: Mapping[str, Any]
    expected: Expected


def made_of(operator: str | Operator, case: Case) -> Made:
    """Make the inputs of *case*, the same in every run, and its references, which are computed when an output is judged."""
    spec = _operator(operator).called_as(case)
    inputs, params = case.make(case_generator(case))
    return Made(inputs, params, Expected(spec, inputs, _complete(spec, params)))


def expected_status(operator: Operator, case: Case, board: str | Board) -> Status:
    """Return the status that the host function must give for *case*: ARCH_MISMATCH where the operator does not support the board."""
    supported = operator.runs_on(find_board(board).arch.name)
    return case.status if supported else Status.MLUOP_STATUS_ARCH_MISMATCH


def _operator(operator: str | Operator) -> Operator:
    return operator if isinstance(operator, Operator) else find_operator(operator)


def case_generator(case: Case) -> np.random.Generator:
    """Return the generator that makes the inputs of *case*: the same in every run."""
    # crc32, since hash() of a text differs between processes.
    return np.random.default_rng(zlib.crc32(case.name.encode()))


def judged(
    done: Run, inputs: Mapping[str, Any], params: Mapping[str, Any], operator: Operator | None = None
) -> Run:
    """Return *done* with its outputs compared to the reference of *operator* (None: the registered one)."""
    spec = operator or find_operator(done.operator)
    expected = Expected(spec, inputs, _complete(spec, params))
    return evolve(done, accuracy=expected.judged(done.outputs))


_prepared: dict[Board, PreparedLaunches] = {}
"""The launches that the last call on each board has prepared, for the next one."""


def attempt(
    operator: str | Operator,
    inputs: Mapping[str, Any],
    params: Mapping[str, Any] | None = None,
    *,
    board: str | Board = "MLU370-X4",
    policy: str | None = None,
    options: LaunchOptions = USUAL_OPTIONS,
    handle: Handle | None = None,
    outputs: bool = True,
) -> Run:
    """Call the host interface, with *handle* or a new one with *options*, and return the outcome, whatever the status; with *outputs* unless it fails."""
    spec = _operator(operator)
    arrays = _arrays(spec, inputs)
    complete = _complete(spec, {} if params is None else params)
    if policy is not None:
        policy_of(spec.name, spec.policies, policy)
    handle = handle or _handle(board, policy, options)
    tensors, descriptors = _tensors(spec, handle, arrays, complete)
    # Not in a function of its own: each frame between would appear in the traceback that is shown.
    try:
        status = spec.call(handle, tensors, descriptors, complete)
    except Fault as fault:
        show_kernel(fault)
        raise
    return Run(
        operator=spec.name,
        board=handle.board.name,
        status=status,
        outputs=_taken(spec, handle, tensors) if outputs and status == SUCCESS else {},
        launches=tuple(handle.launches),
        rate=_rate(spec, handle, arrays, complete),
        message=handle.last_error,
        inputs={name: desc for name in arrays if (desc := descriptors[name]) is not None},
        params=complete,
        workspace=spec.workspace(arrays, complete) if status == SUCCESS else 0,
        layouts=tuple(handle.layouts),
        policy=handle.policy,
        rule=spec.rule,
    )


@frozen(eq=False)
class OperatorProgram:
    """One call of an operator as a program; a successful run is judged against the reference."""

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
        """The operator's name, followed by the case's."""
        return self.operator.name + (f" {self.case}" if self.case else "")

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        """Return inputs and reference under the names ``input.NAME`` and ``reference.NAME``, for comparisons."""
        if not self._arrays:
            self._arrays.update({f"input.{name}": np.asarray(value) for name, value in self.inputs.items()})
            self._arrays.update({f"reference.{name}": array for name, array in self._expected().items()})
        return self._arrays

    def recorded(self) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
        """Return the call for a recording: facts, and the input arrays."""
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


def _handle(board: str | Board, policy: str | None, options: LaunchOptions) -> Handle:
    """Return a handle whose launches have *options*, with those in C that the last call has prepared."""
    chosen = Engine.asked(options.engine).at_hand()
    kind = SourceHandle if chosen == NATIVE else Handle
    handle = kind(board, policy=policy, options=evolve(options, engine=chosen))
    earlier = _prepared.pop(handle.board, None)
    if earlier is not None:
        handle.device.preparations.take(earlier)
    _prepared[handle.board] = handle.device.preparations
    return handle


def _arrays(spec: Operator, inputs: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    names = [t.name for t in spec.inputs]
    if not isinstance(inputs, Mapping):
        raise UsageError(f"{spec.name} takes its inputs by name: {{'{names[0]}': array, ...}}")
    unknown = [name for name in inputs if name not in names]
    if unknown:
        raise UsageError(f"{spec.name} has no input {unknown[0]!r}; its inputs are {', '.join(names)}")
    missing = [t.name for t in spec.inputs if not t.optional and inputs.get(t.name) is None]
    if missing:
        raise UsageError(f"{spec.name} needs the input {missing[0]!r}; its inputs are {', '.join(names)}")
    # None means that an optional input is omitted, like a null descriptor in C.
    return {name: _array(spec, name, value) for name, value in inputs.items() if value is not None}


def _array(spec: Operator, name: str, value: object) -> np.ndarray[Any, Any]:
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise UsageError(f"{spec.name}: the input {name} is not an array: {error}") from None
    if array.dtype.hasobject or array.dtype.names or array.dtype.kind in "SU":
        raise UsageError(f"{spec.name}: the input {name} has elements of {array.dtype}; give numbers")
    return array


def _complete(spec: Operator, params: Mapping[str, Any]) -> dict[str, Any]:
    names = [p.name for p in spec.params]
    if not isinstance(params, Mapping):
        raise UsageError(f"{spec.name} takes its parameters by name, in a dictionary, not {params!r:.80}")
    unknown = [name for name in params if name not in names]
    if unknown:
        legal = ", ".join(names) or "it has none"
        raise UsageError(f"{spec.name} has no parameter {unknown[0]!r}; its parameters: {legal}")
    complete: dict[str, Any] = {}
    for p in spec.params:
        if p.name not in params and p.default is None:
            raise UsageError(f"{spec.name} needs the parameter {p.name!r} ({p.meaning})")
        complete[p.name] = _converted(spec, p.name, p.type, params.get(p.name, p.default))
    return complete


def _converted(spec: Operator, name: str, kind: type, value: object) -> Any:
    # Not by int(value): 2.7 would become 2, but C would refuse it.
    if kind is int and isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if kind is bool and isinstance(value, bool | np.bool_):
        return bool(value)
    if kind is str and isinstance(value, str):
        return value
    if kind is float and isinstance(value, int | float | np.number) and not isinstance(value, bool):
        return float(value)
    raise UsageError(f"{spec.name}: parameter {name} = {value!r} must be of type {kind.__name__}")


def _tensors(
    spec: Operator, handle: Handle, arrays: Mapping[str, np.ndarray[Any, Any]], params: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, TensorDescriptor | None]]:
    """Make device tensors and descriptors by name; inputs share the caller's memory, in/out ones are copied."""
    tensors: dict[str, Any] = {}
    descriptors: dict[str, TensorDescriptor | None] = {}
    written = {t.name for t in spec.outputs}
    for t in spec.inputs:
        array = arrays.get(t.name)
        if array is None:
            tensors[t.name] = descriptors[t.name] = None
            continue
        descriptor = _descriptor(array.shape, array.dtype, t.layout)
        # A dtype that no board has stays a word in the descriptor, for the host function to refuse by its
        # status; the tensor has its bytes.
        if isinstance(descriptor.dtype, str):
            array = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        tensors[t.name] = handle.device.put(array) if t.name in written else handle.device.share(array)
        descriptors[t.name] = descriptor
    shapes = _output_shapes(spec, arrays, params)
    for t in spec.outputs:
        if t.name not in tensors:
            _check_sizes(spec, t.name, shapes[t.name][0], params)
            tensors[t.name], descriptors[t.name] = _output(handle, t, *shapes[t.name])
    return tensors, descriptors


_descriptor = functools.lru_cache(maxsize=64)(TensorDescriptor)
"""Return the descriptor of a shape, an element type and a layout; it is a value, which calls on many boards share."""


def _check_sizes(spec: Operator, name: str, shape: tuple[int, ...], params: Mapping[str, Any]) -> None:
    """Refuse a negative size, for which the library makes no descriptor."""
    if min(shape, default=0) < 0:
        status = Status.MLUOP_STATUS_BAD_PARAM
        values = ", ".join(f"{key} = {value}" for key, value in params.items())
        raise StatusError(
            status,
            f"{status.name}: {spec.name}: {name} would be {list(shape)} with {values}; give sizes of 0 or more",
        )


def _output_shapes(
    spec: Operator, arrays: Mapping[str, np.ndarray[Any, Any]], params: Mapping[str, Any]
) -> Mapping[str, tuple[tuple[int, ...], str]]:
    """Return the outputs' shapes, or empty ones if the inputs lack the dimensions, so that the checks can go on."""
    try:
        return spec.shapes(arrays, params)
    except (IndexError, ValueError):
        return {t.name: ((0,), t.dtypes[0]) for t in spec.outputs}


def _output(handle: Handle, t: Tensor, shape: tuple[int, ...], dtype: str) -> tuple[Any, TensorDescriptor]:
    """Return the tensor of an output; if the checks will refuse its dtype or its size, a substitute."""
    descriptor = _descriptor(tuple(shape), dtype, t.layout)
    of_board = not isinstance(descriptor.dtype, str)
    # Nothing is allocated for a tensor that is refused by its size.
    if descriptor.size >= LARGE_TENSOR:
        return handle.device.empty((0,), "uint8"), descriptor
    return handle.device.empty(shape, descriptor.dtype if of_board else "uint8"), descriptor


def _taken(spec: Operator, handle: Handle, tensors: Mapping[str, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Move the outputs from the device, and return them by name."""
    names = [t.name for t in spec.outputs if tensors[t.name] is not None]
    return {name: handle.device.take(tensors[name]) for name in names}


def _rate(
    spec: Operator, handle: Handle, arrays: Mapping[str, np.ndarray[Any, Any]], params: Mapping[str, Any]
) -> Callable[[float], Efficiency] | None:
    if not handle.launches:
        return None
    theory = spec.theory(arrays, params)
    dtype = str(TensorDescriptor((), arrays[spec.primary].dtype).dtype)
    return functools.partial(efficiency, handle.board, dtype, theory.ops, theory.ios)


# -- kernels in BANG C in place of those in Python, for the native engine

SOURCE = ".mlu"  # kernel.mlu beside kernel.py
PARSER = "clang"  # the package that parses kernel.mlu; an extra


def takes_source(options: LaunchOptions) -> bool:
    """Return whether a call runs from ``kernel.mlu``: the caller chose no engine, and nothing observes the launch.

    False if there is no C compiler or no parser for BANG C.
    """
    # An engine that the caller chose is not replaced.
    if engine_of(options.engine) != AUTO or preferred() != AUTO:
        return False
    watched = bool(options.observe) or options.seed is not None or looks_inside(attendants())
    if watched or limit_of(None).instructions is not None:
        return False
    return source_compiles()


def source_compiles() -> bool:
    """Return whether ``kernel.mlu`` can run on the native engine: there are a C compiler and a parser for BANG C."""
    return Engine.asked().compiler is not None and importlib.util.find_spec(PARSER) is not None


def source_handle(board: str | Board, policy: str | None, options: LaunchOptions) -> "Handle | None":
    """Return a handle that launches ``kernel.mlu`` where `takes_source` says so, else None."""
    return SourceHandle(board, policy=policy, options=options) if takes_source(options) else None


class SourceHandle(Handle):
    """Launches kernels of ``kernel.mlu`` in place of those of ``kernel.py``, which do the same.

    A parameter has the value of the Python kernel's parameter of the same name, otherwise that of the layout's entry;
    the template's type is the first tensor's.  If the file or an instance for this type is missing, the Python kernel
    is launched.
    """

    def launch(
        self, kernel: Any, dim: Sequence[int], kind: Kind = UNION1, args: Sequence[Any] = ()
    ) -> Launch:
        """Launch the BANG C kernel of the same name, and append the result to ``launches`` under that name."""
        code = getattr(getattr(kernel, "body", None), "__code__", None)
        dtype = next((a.dtype.c for a in args if hasattr(a, "dtype")), "")
        twin = None if code is None else _source_kernel(code.co_filename, self.board, kernel.name, dtype)
        if twin is None:
            return self._launched_in_python(kernel, dim, kind, args)
        layouts = [a for a in args if isinstance(a, Layout)]
        values = layouts[0].values if layouts else {}
        self.layouts.extend(a for a in layouts if a not in self.layouts)
        places = _places(twin, kernel.body, len(args))
        launch = super().launch(
            twin, dim, kind, [args[p] if isinstance(p, int) else values[p] for p in places]
        )
        self.launches[-1] = named = evolve(launch, kernel=kernel.name)
        return named

    def _launched_in_python(
        self, kernel: object, dim: Sequence[int], kind: Kind, args: Sequence[Any]
    ) -> Launch:
        options = self.options
        self.options = evolve(options, engine="python")
        try:
            return super().launch(kernel, dim, kind, args)
        finally:
            self.options = options


@functools.lru_cache(maxsize=256)
def _source_kernel(python: str, board: object, name: str, dtype: str) -> Any:
    """Return the kernel of BANG C that does what the kernel *name* in the file *python* does, for *dtype* if it is a template; None if there is none."""
    path = Path(python).with_suffix(SOURCE)
    if not path.is_file():
        return None
    sources = _sources(path, board)
    for spelled in (name, f"{name}<{dtype}>"):
        try:
            return sources[spelled]
        except UsageError:
            continue
    return None


@functools.lru_cache(maxsize=256)
def _places(twin: Any, body: Callable[..., Any], many: int) -> tuple[int | str, ...]:
    """Return for each parameter of *twin* which of the *many* arguments of *body* behind its first it takes, or the name of a layout's value."""
    parameters = tuple(inspect.signature(body).parameters)[1:]
    numbers = dict(zip(parameters, range(many), strict=True))
    return tuple(numbers.get(p.source_name, p.source_name) for p in twin.form.parameters)


@functools.lru_cache(maxsize=64)
def _sources(path: Path, board: object) -> Any:
    """Return the kernels of *path* for *board*; the front end is imported only here, since its parser is an extra."""
    return importlib.import_module("mlusim.bangc").load([path], board=board)
