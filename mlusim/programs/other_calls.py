"""Calls of kernels in Python and of host functions, with arguments that are given as text, as a kernel of BANG C is called."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, evolve, field, frozen

from mlusim.arch.board import Board
from mlusim.arch.dtypes import DType
from mlusim.errors import StatusError, UsageError, shown_file
from mlusim.frontend.bangc import ir, types as t
from mlusim.host.handle import Handle
from mlusim.host.library import Status, TensorDescriptor
from mlusim.machine.device import Device
from mlusim.machine.kernel import Kernel, Kind
from mlusim.machine.scheduling.schedule import EFFECTS, Director, directing
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr
from mlusim.programs.argument_values import ArgumentScope
from mlusim.programs.expectation import file_module

if TYPE_CHECKING:
    from mlusim.frontend.bangc.module import Module
    from mlusim.programs.kernel_call import Sources

Array = np.ndarray[Any, Any]
DIM, KIND, QUEUE = "cnrtDim3_t", "cnrtFunctionType_t", "cnrtQueue_t"
HANDLE, DESCRIPTOR = "mluOpHandle_t", "mluOpTensorDescriptor_t"
BY_ITSELF = (DIM, KIND, QUEUE, HANDLE, DESCRIPTOR)
"""Types of a host function's parameters that are known from the rest of a call."""
RUNTIME_STATUS = "cnrtRet_t"
"""The type of what the functions of the runtime return: 0 where all went well."""


@frozen(eq=False)
class Came:
    """The outputs of a call, by the name of the argument."""

    outputs: Mapping[str, Array]
    findings: tuple[Any, ...] = ()
    launches: int = 1  # of kernels
    returned: Any = None  # by a host function


@define(eq=False)
class TextCall:
    """A call with launch dimensions and arguments that are texts, in the forms of `mlusim.programs.argument_forms`; a `Program`.

    *given* are arrays by the name of an argument, which stand for those that *arguments* read or draw.
    """

    board: Board
    dim: tuple[int, int, int]
    kind: Kind
    arguments: Mapping[str, str]
    seed: int | None = None
    effects: str = "late"
    given: Mapping[str, Array] = field(factory=dict)
    macros: Mapping[str, str | None] = field(factory=dict)
    # The texts that arguments had before others of their values took their place.
    formulas: tuple[str, ...] = ()
    _arrays: dict[str, Array] = field(factory=dict, init=False)
    _plain: dict[str, Any] = field(factory=dict, init=False)

    @property
    def name(self) -> str:
        """The name of what is called."""
        raise NotImplementedError

    @property
    def called(self) -> str:
        """The name of what is called, as its sources have it."""
        return self.name

    def parameters(self) -> tuple[str, ...]:
        """Return the names of what it takes."""
        raise NotImplementedError

    def needed(self) -> tuple[str, ...]:
        """Return those that have no value by themselves."""
        return self.parameters()

    def usual(self) -> Mapping[str, DType]:
        """Return the element types that its pointers point to, where these say so."""
        return {}

    def arrays(self) -> dict[str, Array]:
        """Return the arrays that went in, under ``input.NAME``."""
        return self._arrays

    def plain(self) -> dict[str, Any]:
        """Return the arguments of the last run that are no tensors, by name."""
        return self._plain

    def scope(self) -> ArgumentScope:
        """Return the arguments, read together.  Raises `UsageError` for a name that is misspelt."""
        around = (self.macros, self.board, self.seed or 0, self.given, self._arrays)
        found = ArgumentScope(self.arguments, *around)
        found.refuse_misspelt(self.name, self.parameters(), self.needed(), self.formulas)
        return found

    def recorded(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Raise `UsageError`: recordings are made of other programs."""
        raise UsageError(f"a call of {self.name} by --arg is not recorded; launch it from a script")

    def run(self, observe: Iterable[Any]) -> Came:
        """Run the call once."""
        raise NotImplementedError

    def given_arrays(
        self, arguments: Mapping[str, str], arrays: Mapping[str, Array], **around: Any
    ) -> "TextCall":
        """Return the same call with other *arguments*, whose files stand for *arrays*; *around* changes the rest."""
        return evolve(self, arguments=dict(arguments), given=dict(arrays), **around)

    def tensor(
        self,
        device: Device,
        scope: ArgumentScope,
        name: str,
        what: str,
        usual: DType | None = None,
        *,
        read_only: bool = False,
    ) -> DeviceTensor | None:
        """Return the tensor that argument *name* makes, of *usual* elements where it does not say; None for a null pointer."""
        if scope.value(name, what).is_null:
            self._plain[name] = None
            return None
        return scope.tensor(device, name, what, usual, read_only=read_only)

    def came_back(self, device: Device, scope: ArgumentScope, tensors: Mapping[str, Any]) -> Came:
        """Return the outputs among *tensors*."""
        back = {n: made for n, made in tensors.items() if isinstance(made, DeviceTensor | np.ndarray)}
        return Came(
            {
                # Of a device that nothing uses again.
                n: made if isinstance(made, np.ndarray) else device.elements(made)
                for n, made in back.items()
                if scope.value(n, n).comes_back
            }
        )


# -- kernels in Python -----------------------------------------------------------------------------


@define(eq=False)
class PythonCall(TextCall):
    """A kernel of the Python file *path*; *kernel* may be left out where it has one."""

    path: str = field(kw_only=True)
    kernel: str | None = field(default=None, kw_only=True)
    _loaded: list[Kernel] = field(factory=list)

    @property
    def name(self) -> str:
        """The kernel's name, or the file's."""
        return self._loaded[0].name if self._loaded else self.kernel or Path(self.path).name

    def loaded(self) -> Kernel:
        """Return the kernel, from the file, which is loaded once.  Raises `UsageError` where it is not there."""
        if not self._loaded:
            module = file_module(self.path)
            own = {n: one for n, one in vars(module).items() if isinstance(one, Kernel)}
            found = {n: one for n, one in own.items() if one.body.__module__ == module.__name__}
            if self.kernel is None and len(found) != 1:
                what = f"{', '.join(found)} are in it" if found else "it has none"
                raise UsageError(f"name the kernel of {self.path} with --kernel; {what}")
            one = next(iter(found.values())) if self.kernel is None else found.get(self.kernel)
            if one is None:
                legal = ", ".join(found) or "it has none"
                raise UsageError(f"{self.path} has no kernel {self.kernel!r}; its kernels: {legal}")
            self._loaded.append(one)
        return self._loaded[0]

    def parameters(self) -> tuple[str, ...]:
        """Return what the kernel takes after ``mlu``."""
        return tuple(self.loaded().parameters)

    def needed(self) -> tuple[str, ...]:
        """Return those without a default."""
        given = inspect.signature(self.loaded().body).parameters
        return tuple(name for name in self.parameters() if given[name].default is inspect.Parameter.empty)

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
            seed=self.seed,
            effects=self.effects,
        )
        return self.came_back(device, scope, values)

    def _value(self, device: Device, scope: ArgumentScope, parameter: inspect.Parameter) -> Any:
        name = parameter.name
        what = f"{name} of {self.loaded().name} ({shown_file(self.path)})"
        if name not in self.arguments:
            if parameter.default is not inspect.Parameter.empty:
                return parameter.default
            raise UsageError(f"{what} has no value; give one, as --arg {name}=1 or {name}=out:float32:1024")
        value = scope.value(name, what)
        if value.is_array or value.is_null or parameter.annotation in (Ptr, "Ptr"):
            return self.tensor(device, scope, name, what)
        self._plain[name] = _number(scope, name, what, real=parameter.annotation in (float, "float"))
        return self._plain[name]


def _number(scope: ArgumentScope, name: str, what: str, *, real: bool) -> Any:
    """Return a number: a real one where it is wanted or written, else a whole one."""
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
class HostFunctionCall(TextCall):
    """The host function called *function* of BANG C sources.

    Grid, task type, queue, handle and descriptors of tensors are given by themselves.  The device, and with it the process that
    calls, is kept from run to run.
    """

    sources: "Sources" = field(kw_only=True)
    function: str = field(kw_only=True)
    _kept: dict[str, Any] = field(factory=dict)

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function

    @property
    def module(self) -> "Module":
        """The sources, loaded once."""
        if "module" not in self._kept:
            self._kept["module"] = self.sources.load()
        found: Module = self._kept["module"]
        return found

    def form(self) -> ir.Function:
        """Return the function.  Raises `UsageError` where several share the name, or none has it."""
        found = self.module.functions[self.function]
        if len(found.forms) != 1:
            raise UsageError(
                f"several functions are called {self.function}; give the one that is meant a name of its own"
            )
        form: ir.Function = found.forms[0]
        return form

    def formals(self) -> Sequence[ir.Local]:
        """Return the parameters of the function."""
        return self.form().parameters

    def parameters(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(p.source_name for p in self.formals())

    def with_values(
        self, arguments: Mapping[str, str], macros: Mapping[str, str], dim: tuple[int, int, int] | None = None
    ) -> "HostFunctionCall":
        """Return the same call with other values of *arguments*, of *macros*, for which the sources are loaded again, and of *dim*."""
        formulas = self.formulas or tuple(self.arguments.values())
        found = evolve(
            self,
            arguments={**self.arguments, **arguments},
            formulas=formulas,
            dim=self.dim if dim is None else dim,
        )
        if not macros:
            return found
        define = {**self.macros, **macros}
        return evolve(found, macros=define, sources=evolve(self.sources, define=define), kept={})

    def needed(self) -> tuple[str, ...]:
        """Return those that are not known from the rest of the call."""
        return tuple(p.source_name for p in self.form().parameters if by_itself(p) is None)

    def usual(self) -> Mapping[str, DType]:
        """Return those of pointers that are no ``void *``."""
        found = ((p.source_name, t.pointed_dtype(p.type)) for p in self.formals())
        return {name: dtype for name, dtype in found if dtype is not None}

    def run(self, observe: Iterable[Any]) -> Came:
        """Call it.  Raises `StatusError` where it returns a status other than success."""
        del observe  # launches of a program are watched by those that attend
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
                status = self.module.functions[self.function](*first, *values)
            if isinstance(status, Status) and status != Status.MLUOP_STATUS_SUCCESS:
                raise StatusError(status, f"{status.name}: {handle.last_error or self.function}")
            if getattr(form.result, "name", "") == RUNTIME_STATUS and status:
                raise StatusError(status, f"{self._status_name(status)}: {self.function}")
            launches = len(self.module.launches)
            return evolve(self.came_back(device, scope, tensors), launches=launches, returned=status)
        finally:
            handle.launches.clear()
            self.module.launches.clear()
            # The device is kept from run to run, so that what each allocates would add up.
            for made in tensors.values():
                if isinstance(made, DeviceTensor):
                    device.free(made)

    def _directed(self) -> AbstractContextManager[Any]:
        """Let launches take the schedule that is asked for; the usual one needs no director, and C has none."""
        if self.seed is None and self.effects == EFFECTS[0]:
            return nullcontext()
        director = Director(self.seed)
        director.effects = self.effects
        return directing(director)

    def _status_name(self, status: object) -> str:
        """Return the name of a status of the runtime, or its number."""
        names = (file.form.enumerations.get(RUNTIME_STATUS, {}) for file in self.module.files)
        return next(
            (name for found in names for name, number in found.items() if number == status), str(status)
        )

    def _pointed(self, device: Device, scope: ArgumentScope, p: ir.Local) -> DeviceTensor | Array | None:
        """Return what a pointer points to: a tensor, or an array of the host.  Raises `UsageError` for a tensor where a size goes."""
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
        return f"{parameter.spelling} {parameter.source_name} of {self.function} ({shown_file(span.file)}:{span.line})"

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
        """Return the value of a parameter; that of a tensor is in *tensors*."""
        name, kind = parameter.source_name, by_itself(parameter)
        if kind is not None and name not in self.arguments:
            known: Mapping[str, Callable[[], Any]] = {
                DIM: lambda: self.dim,
                KIND: lambda: self.kind,
                QUEUE: lambda: None,
                HANDLE: lambda: handle,
                DESCRIPTOR: lambda: self._described(parameter, tensors),
            }
            return known[kind]()
        if name in tensors:
            return tensors[name]
        text = self.arguments[self._needed_name(parameter)]
        if isinstance(parameter.type, t.Record):
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
        """Return the descriptor of the tensor whose name that of *parameter* has, as ``x_desc`` of ``x``, or of the next one."""
        names = [p.source_name for p in self.form().parameters]
        name = parameter.source_name
        # The vendor's functions name a descriptor after its tensor, or have it in front of the tensor.
        own = [one for one in tensors if name.lower() in (f"{one}_desc".lower(), f"{one}desc".lower())]
        behind = [one for one in names[names.index(name) + 1 :] if one in tensors]
        meant = next(iter(own + behind), None)
        if meant is None:
            raise UsageError(
                f"{self._what(parameter)} describes no tensor of the call; no pointer stands behind it"
            )
        made = tensors[meant]
        return None if made is None else TensorDescriptor(made.shape, made.dtype)


def by_itself(parameter: ir.Local) -> str | None:
    """Return the type of `BY_ITSELF` that a parameter of a host function has; None for others."""
    words = parameter.spelling.replace("*", " * ").replace("&", " ").split()
    return None if "*" in words else next((kind for kind in BY_ITSELF if kind in words), None)
