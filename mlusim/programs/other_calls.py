"""Calls of Python kernels and of host functions with arguments in text form, like calls of BANG C kernels."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
from attrs import define, frozen

from mlusim.bangc import ir, types as t
from mlusim.errors import StatusError, UsageError, shown_file
from mlusim.host.handle import Handle
from mlusim.host.library import Status, TensorDescriptor
from mlusim.machine.device import Device
from mlusim.machine.kernel import Kernel
from mlusim.machine.scheduling.schedule import EFFECTS, Director, directing
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr
from mlusim.programs.argument_values import ArgumentScope
from mlusim.programs.expectation import file_module
from mlusim.programs.kernel_call import CallProgram, SourceCall

Array = np.ndarray[Any, Any]
DIM, KIND, QUEUE = "cnrtDim3_t", "cnrtFunctionType_t", "cnrtQueue_t"
HANDLE, DESCRIPTOR = "mluOpHandle_t", "mluOpTensorDescriptor_t"
BY_ITSELF = (DIM, KIND, QUEUE, HANDLE, DESCRIPTOR)
"""Types of parameters of a host function whose values follow from the rest of a call."""
RUNTIME_STATUS = "cnrtRet_t"
"""The type that functions of the runtime return: 0 for success."""


@frozen(eq=False)
class Came:
    """The outputs of a call, by argument."""

    outputs: Mapping[str, Array]
    findings: tuple[Any, ...] = ()
    launches: int = 1  # of kernels
    returned: Any = None  # by a host function


# -- kernels in Python -----------------------------------------------------------------------------


@define(eq=False)
class PythonCall(CallProgram):
    """A call of a kernel in a Python file; the name may be omitted if the file has one kernel."""

    # A Python file is the same for every board.
    LOADED = frozenset({"program", "kernel"})

    @property
    def name(self) -> str:
        """The kernel's name, or the file's."""
        kernel: Kernel | None = self._kept.get("kernel")
        return super().name if kernel is None else kernel.name

    def loaded(self) -> Kernel:
        """Return the kernel from the file, which is loaded once.  Raises `UsageError` if it does not exist."""
        if "kernel" not in self._kept:
            self._kept["kernel"] = _kernel_of(self.asked.file, self.asked.kernel)
        kernel: Kernel = self._kept["kernel"]
        return kernel

    def parameters(self) -> tuple[str, ...]:
        """Return the parameters of the kernel after ``mlu``."""
        return tuple(self.loaded().parameters)

    def needed(self) -> tuple[str, ...]:
        """Return the parameters without a default."""
        declared = inspect.signature(self.loaded().body).parameters
        return tuple(name for name in self.parameters() if declared[name].default is inspect.Parameter.empty)

    def run(self, observe: Iterable[Any]) -> Came:
        """Launch the kernel once on a new device."""
        kernel, scope, device = self.loaded(), self.scope(), Device(self.board)
        signature = inspect.signature(kernel.body).parameters
        values = {name: self._value(device, scope, signature[name]) for name in self.parameters()}
        device.launch(
            kernel,
            self.dim,
            self.kind,
            [*values.values()],
            observe=tuple(observe),
            seed=self.asked.seed,
            effects=self.asked.effects,
        )
        return Came(self.outputs(device, scope, values))

    def _value(self, device: Device, scope: ArgumentScope, parameter: inspect.Parameter) -> Any:
        name = parameter.name
        what = f"{name} of {self.loaded().name} ({shown_file(self.asked.file)})"
        if name not in self.arguments:
            if parameter.default is not inspect.Parameter.empty:
                return parameter.default
            raise UsageError(f"{what} has no value; give one, as --arg {name}=1 or {name}=out:float32:1024")
        value = scope.value(name, what)
        if value.is_array or value.is_null or parameter.annotation in (Ptr, "Ptr"):
            return self.tensor(device, scope, name, what)
        self._plain[name] = _number(scope, name, what, real=parameter.annotation in (float, "float"))
        return self._plain[name]


def _kernel_of(path: str, name: str | None) -> Kernel:
    """Return the kernel *name* of the Python file *path*; None: its only kernel."""
    module = file_module(path)
    kernels = {
        n: value
        for n, value in vars(module).items()
        if isinstance(value, Kernel) and value.body.__module__ == module.__name__
    }
    if name is None and len(kernels) != 1:
        what = f"{', '.join(kernels)} are in it" if kernels else "it has none"
        raise UsageError(f"name the kernel of {path} with --kernel; {what}")
    kernel = next(iter(kernels.values())) if name is None else kernels.get(name)
    if kernel is None:
        legal = ", ".join(kernels) or "it has none"
        raise UsageError(f"{path} has no kernel {name!r}; its kernels: {legal}")
    return kernel


def _number(scope: ArgumentScope, name: str, what: str, *, real: bool) -> Any:
    """Return a number: a float if *real* or if the text has a point, otherwise an integer."""
    text = scope.texts[name]
    if real or "." in text:
        try:
            return float(text)
        except ValueError:
            if not real:
                raise UsageError(f"{what} is given {text!r}; give a number") from None
    return float(scope.whole(name, what)) if real else scope.whole(name, what)


# -- host functions --------------------------------------------------------------------------------


@define(eq=False)
class HostFunctionCall(SourceCall):
    """A call of a host function of BANG C sources.

    Values of grid, task type, queue, handle and tensor descriptors are supplied automatically.  The device, and with
    it the process that makes the call, is reused from run to run.
    """

    @property
    def name(self) -> str:
        """The function's name."""
        return self.asked.function or ""

    def form(self) -> ir.Function:
        """Return the function.  Raises `UsageError` if several functions or none have the name."""
        function = self.module.functions[self.name]
        if len(function.forms) != 1:
            raise UsageError(
                f"several functions are called {self.name}; give the one that is meant a name of its own"
            )
        form: ir.Function = function.forms[0]
        return form

    def formals(self) -> Sequence[ir.Local]:
        """Return the parameters of the function."""
        return self.form().parameters

    def parameters(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(p.source_name for p in self.formals())

    def needed(self) -> tuple[str, ...]:
        """Return the parameters whose values do not follow from the rest of the call."""
        return tuple(p.source_name for p in self.form().parameters if by_itself(p) is None)

    def run(self, observe: Iterable[Any]) -> Came:
        """Call the function.  Raises `StatusError` if it returns a status other than success."""
        del observe  # attending observers observe the launches of a program
        form, scope = self.form(), self.scope()
        handle = self._kept.setdefault("handle", Handle(self.board))
        device = handle.device
        tensors: dict[str, DeviceTensor | Array | None] = {}
        try:
            for p in form.parameters:
                if by_itself(p) is None and isinstance(p.type, t.Pointer):
                    name = self._needed_name(p)
                    tensors[name] = self._pointed(device, scope, p)
            values = [self._value(scope, p, tensors, handle) for p in form.parameters]
            first: tuple[Any, ...] = () if handle in values else (device,)
            with self._directed():
                status = self.module.functions[self.name](*first, *values)
            if isinstance(status, Status) and status != Status.MLUOP_STATUS_SUCCESS:
                raise StatusError(status, f"{status.name}: {handle.last_error or self.name}")
            if getattr(form.result, "name", "") == RUNTIME_STATUS and status:
                raise StatusError(status, f"{self._status_name(status)}: {self.name}")
            launches = len(self.module.launches)
            return Came(self.outputs(device, scope, tensors), launches=launches, returned=status)
        finally:
            handle.launches.clear()
            self.module.launches.clear()
            # The device is reused from run to run, so that allocations would add up.
            for tensor in tensors.values():
                if isinstance(tensor, DeviceTensor):
                    device.free(tensor)

    def _directed(self) -> AbstractContextManager[Any]:
        """Impose the requested schedule on launches; the usual one needs no director, and C has none."""
        if self.asked.seed is None and self.asked.effects == EFFECTS[0]:
            return nullcontext()
        director = Director(self.asked.seed)
        director.effects = self.asked.effects
        return directing(director)

    def _status_name(self, status: object) -> str:
        """Return the name of a status of the runtime, or its number as text."""
        names = (file.form.enumerations.get(RUNTIME_STATUS, {}) for file in self.module.files)
        return next(
            (name for enumerators in names for name, number in enumerators.items() if number == status),
            str(status),
        )

    def _pointed(self, device: Device, scope: ArgumentScope, p: ir.Local) -> DeviceTensor | Array | None:
        """Return the target of a pointer: a tensor, or a host array.  Raises `UsageError` for a tensor in place of a size."""
        name, what, usual = p.source_name, self._what(p), t.pointed_dtype(p.type)
        value, only = scope.value(name, what), p.points_to_const
        if value.on_host:
            return scope.host_array(name, what, usual, read_only=only)
        if value.is_array and p.spelling.replace("const", "").replace(" ", "") == "size_t*":
            raise UsageError(
                f"{what} is a pointer to memory of the host, and is given {value.text!r}; write host: before it, as "
                f"--arg {name}=host:out:uint64:1"
            )
        return self.tensor(device, scope, name, what, usual, read_only=only)

    def _what(self, parameter: ir.Local) -> str:
        span = parameter.span
        return f"{parameter.spelling} {parameter.source_name} of {self.name} ({shown_file(span.file)}:{span.line})"

    def _needed_name(self, parameter: ir.Local) -> str:
        name = parameter.source_name
        if name not in self.arguments:
            raise UsageError(
                f"{self._what(parameter)} has no value; give one, as --arg {name}=out:float32:1024"
            )
        return name

    def _value(
        self,
        scope: ArgumentScope,
        parameter: ir.Local,
        tensors: Mapping[str, DeviceTensor | Array | None],
        handle: Handle,
    ) -> Any:
        """Return the value of a parameter; a tensor is taken from *tensors*."""
        name, kind = parameter.source_name, by_itself(parameter)
        if kind is not None and name not in self.arguments:
            makers: Mapping[str, Callable[[], Any]] = {
                DIM: lambda: self.dim,
                KIND: lambda: self.kind,
                QUEUE: lambda: None,
                HANDLE: lambda: handle,
                DESCRIPTOR: lambda: self._described(parameter, tensors),
            }
            return makers[kind]()
        if name in tensors:
            return tensors[name]
        text = self.arguments[self._needed_name(parameter)]
        if isinstance(parameter.type, t.Struct):
            self._plain[name] = tuple(float(w) if "." in w else int(w, 0) for w in text.split(","))
        elif text.isidentifier() and text not in scope.texts and text not in ("true", "false"):
            self._plain[name] = text  # an enumerator
        else:
            real = isinstance(parameter.type, t.Arithmetic) and parameter.type.kind == "float"
            self._plain[name] = _number(scope, name, self._what(parameter), real=real)
        return self._plain[name]

    def _described(
        self, parameter: ir.Local, tensors: Mapping[str, DeviceTensor | Array | None]
    ) -> TensorDescriptor | None:
        """Return the descriptor of the tensor that *parameter* is named after, as ``x_desc`` after ``x``, or of the next tensor."""
        names = [p.source_name for p in self.form().parameters]
        name = parameter.source_name
        # The vendor's functions name a descriptor after its tensor, or put it before the tensor.
        named = [
            other for other in tensors if name.lower() in (f"{other}_desc".lower(), f"{other}desc".lower())
        ]
        behind = [other for other in names[names.index(name) + 1 :] if other in tensors]
        meant = next(iter(named + behind), None)
        if meant is None:
            raise UsageError(
                f"{self._what(parameter)} describes no tensor of the call; no pointer stands behind it"
            )
        tensor = tensors[meant]
        return None if tensor is None else TensorDescriptor(tensor.shape, tensor.dtype)


def by_itself(parameter: ir.Local) -> str | None:
    """Return the type in `BY_ITSELF` of a host function's parameter; None for other parameters."""
    words = parameter.spelling.replace("*", " * ").replace("&", " ").split()
    return None if "*" in words else next((kind for kind in BY_ITSELF if kind in words), None)
