"""The candidate's own process: it translates the file, and calls its kernel or host function with each draw under all checkers."""

import contextlib
import gc
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.arch.dtypes import as_dtype
from mlusim.bangc import ir
from mlusim.bangc.errors import SourceError, diagnostic_of
from mlusim.bangc.module import BangKernel, Module, load_module
from mlusim.bangc.prelude import INCLUDE
from mlusim.document import members
from mlusim.errors import Fault, LimitReached, MlusimError, UsageError, shown_file
from mlusim.judge import binding
from mlusim.judge.confine import room_for_device
from mlusim.judge.origins import Origins
from mlusim.judge.seccomp import filtered
from mlusim.judge.wire import Array, ArrayMessage
from mlusim.machine.device import Device
from mlusim.machine.hub import attending
from mlusim.machine.launch import Launch
from mlusim.machine.limits import Limit, limiting
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.allocation import POISON, Allocation
from mlusim.observe.collect import collecting
from mlusim.observe.finding import Finding
from mlusim.programs.kernel_call import kind_of
from mlusim.report.advice import advice
from mlusim.report.explain import because
from mlusim.report.figures import achieved
from mlusim.report.profiled import Profiled


@frozen(eq=False)
class LeftOutput:
    """An output in memory: elements of *dtype* from byte *offset* of *allocation* on, *strides* in bytes."""

    allocation: Allocation
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    @classmethod
    def whole(cls, tensor: DeviceTensor) -> Self:
        """Return all of *tensor* as an output."""
        strides, at = [], tensor.dtype.size
        for size in reversed(tensor.shape):
            strides.append(at)
            at *= size
        return cls(tensor.allocation, 0, tensor.shape, tuple(reversed(strides)), tensor.dtype.dtype)

    @property
    def nbytes(self) -> int:
        """The bytes of its elements."""
        return int(np.prod(self.sizes, dtype=np.int64)) * self.dtype.itemsize

    def picked(self, of: Array) -> Array:
        """Return the output's part of *of*, an array with one element for each byte of the allocation; the last axis is the bytes of one element."""
        shape, strides = (*self.sizes, self.dtype.itemsize), (*self.strides, 1)
        return np.lib.stride_tricks.as_strided(of[self.offset :], shape, strides, writeable=False)

    def array(self) -> Array:
        """Copy the elements out of the allocation, whose contents the next call changes."""
        raw = self.picked(self.allocation.raw).copy().reshape(-1)
        return raw.view(self.dtype).reshape(self.sizes)


class MissingPart(UsageError):
    """The file translates but cannot be called here, for example because PyTorch is not installed."""


# Imported by name: a candidate that is a kernel needs no compiler.
BUILT, CALLED = "mlusim.toolkit.built", "mlusim.toolkit.server.called"
SIDE, TORCH = "mlusim.judge.judged_server", "mlusim.judge.torch_candidate"
_TORCH = re.compile(r"^\s*#\s*include\s*[<\"](?:torch|ATen|framework/core)/", re.MULTILINE)
_COUNT = re.compile(r"0x[0-9a-f]+|\d+(,\d{3})*")
HOST = "bang_func"  # the name of host functions in contests
PLACED = ("file", "line", "column", "message")  # the parts of a compiler's error
MOST_FINDINGS = 50
MOST_SHOWN = 2000  # characters of the compiler's output that a verdict shows
GROWTH = 256 << 20  # bytes that one launch may accumulate until its end


@define
class Judged:
    """The results of a candidate: *facts* of each call, the *arrays* of its outputs, its *findings*, and its *dearest* launch."""

    facts: dict[str, Any]
    arrays: dict[str, Array] = field(factory=dict)
    findings: list[Finding] = field(factory=list)
    dearest: Launch | None = None


def run(
    request: Mapping[str, Any], draws: Sequence[tuple[Mapping[str, Any], Mapping[str, Array]]]
) -> ArrayMessage:
    """Translate the candidate of *request*, call it with each of *draws*, and return everything that a verdict needs.

    Any mistake of the candidate is a fact of the document, not an exception.
    """
    judged = Judged(
        {"translated": False, "errors": [], "includes": [], "calls": [], "error": None, "fault": None}
    )
    try:
        with limiting(Limit(seconds=request["seconds"], growth=GROWTH)):
            _translated_and_called(request, draws, judged)
    except SourceError as error:
        judged.facts["errors"] = [members(d, *PLACED) for d in error.diagnostics[:MOST_FINDINGS]]
        judged.facts["error"] = str(error.args[0])
    except LimitReached as reached:
        where = "" if reached.file is None else f" ({shown_file(reached.file)}:{reached.line})"
        hint = "look for a loop that does not end, or raise --seconds"
        judged.facts["error"], judged.facts["fault"] = f"{reached.message}; {hint}{where}", "limit"
    except Fault as fault:
        judged.facts["error"], judged.facts["fault"] = str(fault), type(fault).__name__
    except MissingPart as error:
        judged.facts |= {"translated": True, "error": str(error)}
    except MlusimError as error:
        judged.facts["error"] = " ".join(filter(None, (str(error.args[0]), error.shown.strip()[:MOST_SHOWN])))
    except MemoryError:
        judged.facts["error"], judged.facts["fault"] = ("it takes more memory than --memory allows", "memory")
    except RecursionError:
        judged.facts["error"] = "its functions call each other too deeply"
    sys.stdout.flush()
    judged.facts["dearest"] = _dearest(judged.dearest)
    judged.facts["findings"] = [f.to_json() for f in judged.findings[:MOST_FINDINGS]]
    judged.facts["more_findings"] = max(0, len(judged.findings) - MOST_FINDINGS)
    return ArrayMessage(judged.facts, judged.arrays)


def _translated_and_called(
    request: Mapping[str, Any], draws: Sequence[tuple[Mapping[str, Any], Mapping[str, Array]]], judged: Judged
) -> None:
    board = find_board(request["board"])
    module = load_module(request["path"], request["include"], dict(request["define"]), board)
    subject = _subject(module, request)
    judged.facts |= {"translated": True, "subject": subject.name, "host": subject.host}
    # The files that it includes besides its own file and the supplied headers.
    files = {name for unit in module.units for name in unit.form.includes} - {request["path"]}
    judged.facts["includes"] = sorted(name for name in files if not name.startswith(str(INCLUDE)))
    memory = _Memory(Device(board))
    for facts, inputs in draws:
        judged.facts["calls"].append(_call(subject, memory, facts, inputs, judged))
        gc.collect(1)


class _Memory:
    """The tensors of the calls on the device.

    The tensors of one case keep their addresses from draw to draw, with new contents, so that a result cached by
    pointer is wrong.
    """

    def __init__(self, device: Device) -> None:
        self.device = device
        self._case = ""
        self._tensors: dict[str, DeviceTensor] = {}

    def place(
        self, facts: Mapping[str, Any], inputs: Mapping[str, Array]
    ) -> tuple[dict[str, DeviceTensor], dict[str, DeviceTensor]]:
        """Return the inputs and the outputs of a call on the device; outputs that are no inputs are poisoned."""
        device, fresh = self.device, facts["case"] != self._case
        if fresh:
            for tensor in self._tensors.values():
                device.free(tensor)
            self._tensors = {n: device.put(a) for n, a in inputs.items()}
            self._case = facts["case"]
        placed = {n: self._tensors[n] for n in inputs}
        if not fresh:
            for name, tensor in placed.items():
                _renew(tensor.allocation, np.frombuffer(inputs[name].tobytes(), np.uint8), filled=True)
        outputs = {}
        for name, dtype, shape in facts["outputs"]:
            if name not in self._tensors:
                self._tensors[name] = device.empty(tuple(shape), as_dtype(dtype))
            elif name not in placed:
                _renew(self._tensors[name].allocation, POISON, filled=False)
            outputs[name] = self._tensors[name]
        for name, tensor in self._tensors.items():
            tensor.allocation.declared = evolve(tensor.allocation.declared, name=name)
        return placed, outputs


def _renew(allocation: Allocation, content: Any, *, filled: bool) -> None:
    """Set the contents of *allocation* as if it were newly allocated."""
    allocation.raw[:] = content
    allocation.filled, allocation.given, allocation.shadow, allocation.launches = (filled, (), None, 0)


def _call(
    subject: "CalledSubject",
    memory: _Memory,
    facts: Mapping[str, Any],
    inputs: Mapping[str, Array],
    judged: Judged,
) -> dict[str, Any]:
    device = memory.device
    placed, outputs = memory.place(facts, inputs)
    bound = binding.bound(
        subject.parameters, binding.offered_of(facts["offered"]), subject.name, returns=subject.returns
    )
    profile = Profiled(lines=True)
    numbers = [parameter.value for parameter in bound if parameter.role == binding.NUMBER]
    origins = Origins(placed, numbers) if subject.host else None
    left = {name: LeftOutput.whole(tensor) for name, tensor in outputs.items()}
    with collecting() as collector, attending((profile, *([origins] if origins else []))):
        try:
            left |= subject.call(device, facts, [_argument(b, placed, outputs) for b in bound])
        except Fault as fault:
            collector.add(fault)
            raise
        finally:
            collector.close()
            _keep(judged.findings, collector.found)
            # Comments in a candidate that allow findings are ignored.
            _keep(judged.findings, [a.finding for a in collector.allowed])
    about: dict[str, Any] = {
        "case": facts["case"],
        "draw": facts["draw"],
        "launches": _launches(profile.launches, facts, judged),
    }
    inputs_only = {n: t.allocation.raw for n, t in placed.items() if n not in outputs}
    about["wrote"] = [n for n, raw in inputs_only.items() if raw.tobytes() != inputs[n].tobytes()]
    if origins is not None:
        about |= origins.facts(left, list(placed))
    sys.stdout.writelines(text for launch in profile.launches for text in launch.printed)
    for name, output in left.items():
        judged.arrays[f"{facts['case']}/{facts['draw']}/{name}"] = output.array()
    return about


def _keep(findings: list[Finding], fresh: Sequence[Finding]) -> None:
    """Append those of *fresh* that *findings* lacks: each call of a kernel repeats its findings, with other sizes and places."""
    mistakes = {_mistake(f) for f in findings}
    for finding in fresh:
        if _mistake(finding) not in mistakes:
            mistakes.add(_mistake(finding))
            findings.append(finding)


def _mistake(finding: Finding) -> tuple[str, str | None, int | None, str]:
    return finding.id, finding.file, finding.line, _COUNT.sub("", finding.message)


def _argument(
    what: binding.GivenParameter, inputs: Mapping[str, DeviceTensor], outputs: Mapping[str, DeviceTensor]
) -> Any:
    if what.role in (binding.INPUT, binding.BOTH):
        return inputs[what.name]
    if what.role == binding.OUTPUT:
        return outputs[what.name]
    assert what.role in (binding.NUMBER, binding.NOTHING)
    return what.value if what.role == binding.NUMBER else None


def _launches(launches: Sequence[Launch], facts: Mapping[str, Any], judged: Judged) -> list[dict[str, Any]]:
    """Return the facts of *launches* for the verdict: counts, and for the first draw of a case also the times."""
    told = [{"kernel": launch.kernel, "instructions": dict(launch.instructions)} for launch in launches]
    if facts["draw"] != 1:
        return told
    for launch in launches:
        if judged.dearest is None or launch.time_us > judged.dearest.time_us:
            judged.dearest = launch
    return [
        counts
        | {
            "time_us": launch.time_us,
            "time_band": list(launch.time_band),
            "achieved": [part.to_json() for part in achieved([launch])],
            "lines": [members(line, "file", "line", "time_us") for line in launch.lines],
        }
        for counts, launch in zip(told, launches, strict=True)
    ]


def _dearest(launch: Launch | None) -> dict[str, Any]:
    """Return what bounds the time of *launch*, the slowest one, and advice for it."""
    if launch is None:
        return {"bound": None, "because": [], "advice": []}
    return {
        "bound": launch.bound,
        "because": list(because(launch)),
        "advice": [a.to_json() for a in advice(launch)],
    }


# -- the kernel or function that is called ----------------------------------------------------------


class CalledSubject(Protocol):
    """A kernel or function of a candidate; ``host`` is true for a function of the host, ``returns`` if it returns its outputs."""

    host: bool
    returns: bool
    name: str
    parameters: Sequence[ir.Local]

    def call(self, device: Device, facts: Any, arguments: list[Any]) -> dict[str, LeftOutput]: ...


class _KernelSubject:
    """A kernel that is launched on the grid of the reference's file."""

    host = returns = False

    def __init__(self, kernel: BangKernel) -> None:
        self._kernel = kernel
        self.name = kernel.name
        self.parameters: Sequence[ir.Local] = kernel.form.parameters

    def call(self, device: Device, facts: Mapping[str, Any], arguments: list[Any]) -> dict[str, LeftOutput]:
        """Launch the kernel with the draw's arguments."""
        device.launch(self._kernel, tuple(facts["dim"]), kind_of(facts["kind"]), arguments, engine="python")
        # Checkers hear that the results are fetched: what no task has stored may equal the poison.
        for tensor in (a for a in arguments if isinstance(a, DeviceTensor)):
            device.elements(tensor)
        return {}


class _HostSubject:
    """A host function, which makes its own launches: compiled by ``cncc``, called in a process of its own."""

    host, returns = True, False

    def __init__(self, module: Module, name: str) -> None:
        confine_calls(module.options.board)
        self._function = module.functions[name]
        self.name = name
        if len(self._function.forms) != 1:
            raise UsageError(f"{name} has several forms; leave one of them in the file")
        self.parameters = self._function.forms[0].parameters

    def call(self, device: Device, facts: Mapping[str, Any], arguments: list[Any]) -> dict[str, LeftOutput]:
        """Call the host function with the draw's arguments."""
        del facts
        self._function(device, *arguments)
        return {}


def confine_calls(board: Board) -> None:
    """Confine the processes that call native code of the candidate: they may not start others, and may map the memory of a device."""
    room_for_device(2 * board.gdram)
    process = importlib.import_module(CALLED).CallingProcess
    process.first, process.side = _filtered, importlib.import_module(SIDE).JudgedServer


def _filtered() -> None:
    filtered(os.getpid())


def prepare(board: str, path: str) -> None:
    """Prepare the folder that host functions of the file *path* are compiled with, which a candidate's process may not write."""
    if needs_torch(path):
        importlib.import_module(TORCH).prepare(find_board(board).name, path)
        return
    with contextlib.suppress(MlusimError):  # the candidate reports it
        importlib.import_module(BUILT).prepare_toolkit(find_board(board))


def needs_torch(path: str) -> bool:
    """Return whether the source at *path* is written for PyTorch's headers."""
    text = Path(path).read_text(encoding="utf-8", errors="replace")
    return _TORCH.search(text) is not None


def _host_subject(module: Module, name: str, request: Mapping[str, Any]) -> CalledSubject:
    """Return the host function *name*, which may take PyTorch tensors."""
    if not needs_torch(request["path"]):
        return _HostSubject(module, name)
    confine_calls(module.options.board)
    forms = [f for _, f in module.functions_of("host") if f.name == name]
    if len(forms) != 1:
        what = "several forms" if forms else "no form in the file"
        raise UsageError(f"the host function {name} has {what}; it has one")
    subject: CalledSubject = importlib.import_module(TORCH).TorchSubject(forms[0], request)
    return subject


def _subject(module: Module, request: Mapping[str, Any]) -> CalledSubject:
    """Choose the function of the file to call: the requested one, ``bang_func``, or the only kernel."""
    if request["function"] is not None:
        return _host_subject(module, request["function"], request)
    if request["kernel"] is not None:
        return _KernelSubject(module[request["kernel"]])
    hosts = [f for _, f in module.functions_of("host") if f.name == HOST]
    if hosts:
        return _host_subject(module, HOST, request)
    kernels = list(module.kernels)
    if len(kernels) == 1:
        return _KernelSubject(module[kernels[0]])
    absent = [f for _, f in module.functions_of("kernel") if f.problem is not None]
    if absent and not kernels:
        raise SourceError(tuple(diagnostic_of(f) for f in absent))
    what = f"it has {', '.join(kernels)}" if kernels else "it has no kernel"
    raise UsageError(f"name what is judged with --kernel or --function; {what}, and no host function {HOST}")


def quiet(printed: int) -> None:
    """Send the candidate's output to the file *printed*, since the judge's standard output is for verdicts."""
    null = os.open(os.devnull, os.O_RDONLY)
    for number, file in ((0, null), (1, printed), (2, printed)):
        os.dup2(file, number)
    os.close(null)
    os.close(printed)
