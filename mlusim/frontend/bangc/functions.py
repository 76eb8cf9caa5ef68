"""Host functions of a module: ``main``, and those that Python calls by name."""

import sys
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

from mlusim.errors import UsageError
from mlusim.frontend.bangc import ir, prelude
from mlusim.frontend.bangc.errors import SourceError, diagnostic_of
from mlusim.frontend.bangc.given import GivenArguments, result_of
from mlusim.frontend.bangc.runtime.host import host_code
from mlusim.frontend.bangc.runtime.host_library import ProgramExit
from mlusim.host.handle import Handle
from mlusim.machine.device import Device
from mlusim.machine.tensor import DeviceTensor

if TYPE_CHECKING:
    from mlusim.frontend.bangc.file import File
    from mlusim.frontend.bangc.module import Module


class HostFunctions(Mapping[str, "HostFunction"]):
    """The host functions of a module by name; ``functions["f<float>"]`` instantiates a template."""

    def __init__(self, module: "Module") -> None:
        self._module = module

    def _all(self) -> "Iterator[tuple[File, ir.Function]]":
        supplied = str(prelude.INCLUDE)
        for file, function in self._module.functions_of("host"):
            first = function.parameters[0].name if function.parameters else ""
            method = first == "this" or function.name.startswith("lambda:")
            if not method and function.name != "main" and not function.span.file.startswith(supplied):
                yield file, function

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(function.name for _, function in self._all()))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> "HostFunction":
        """The function called *name*.  Raises `UsageError` for a name that no source has."""
        if not self._found(name):
            self._module.instantiate(name, f"host function {name!r}", list(self))
        return HostFunction(self._module, name, tuple(self._found(name)))

    def _found(self, name: str) -> "list[tuple[File, ir.Function]]":
        plain = name.replace(" ", "")
        return [(file, f) for file, f in self._all() if f.name.replace(" ", "") == plain]


@frozen(eq=False)
class HostFunction:
    """A host function, or several that share a name and differ in how many arguments they take."""

    module: "Module"
    name: str
    forms: "tuple[tuple[File, ir.Function], ...]"

    def __call__(self, *arguments: Any) -> Any:
        """Call it: tuples are ``cnrtDim3_t``, kinds or vendor names ``cnrtFunctionType_t``, None a queue or null.

        Pointers take device tensors, pointers, NumPy arrays (memory of the host) and None, enumerations a number or the
        name of an enumerator, ``mluOpHandle_t`` and ``mluOpTensorDescriptor_t`` what `mlusim.host` has.  Launches run on
        the device that comes first, on that of a handle, or on that of a tensor.  Raises `UsageError` for arguments
        that do not fit, `SourceError` for a function that does not translate, and `Fault` as kernels do.  Why a check of
        parameters did not hold is in ``handle.last_error``.
        """
        device, handle, given = _where(self.name, arguments)
        file, function = self._fitting(len(given))
        if function.problem is not None:
            raise SourceError((diagnostic_of(function),))
        process = self.module.process_on(device)
        process.start = None if handle is None else handle.launch
        taken = GivenArguments(process, file.form, function)
        process.library.refusal = ""
        with host_code():
            try:
                values = [taken.value(p, a) for p, a in zip(function.parameters, given, strict=True)]
                return result_of(function, process.function(file, function.symbol)(*values))
            except ProgramExit as ended:
                raise UsageError(f"{self.name} ends the program with exit({ended.code})") from None
            finally:
                if handle is not None:
                    refusal = process.library.refusal
                    handle.last_error = f"{self.name}: {refusal}" if refusal else ""
                sys.stdout.flush()

    def _fitting(self, count: int) -> "tuple[File, ir.Function]":
        found = [form for form in self.forms if len(form[1].parameters) == count]
        if len(found) == 1:
            return found[0]
        shown = " or ".join(_signature(function) for _, function in found or self.forms)
        if found:
            raise UsageError(f"{self.name} is ambiguous for {count} arguments: {shown}")
        raise UsageError(f"{self.name} does not take {count} arguments; it is {shown}")

    def __repr__(self) -> str:
        return f"<host function {_signature(self.forms[0][1])}>"


def _signature(function: ir.Function) -> str:
    parameters = ", ".join(f"{p.spelling} {p.source_name}".strip() for p in function.parameters)
    return f"{function.name}({parameters})"


def _where(name: str, arguments: tuple[Any, ...]) -> tuple[Device, Handle | None, tuple[Any, ...]]:
    """The device, the handle where one is given, and the arguments of the function itself."""
    if arguments and isinstance(arguments[0], Device):
        return arguments[0], None, arguments[1:]
    handle = next((a for a in arguments if isinstance(a, Handle)), None)
    if handle is not None:
        return handle.device, handle, arguments
    tensor = next((a for a in arguments if isinstance(a, DeviceTensor)), None)
    if tensor is None:
        raise UsageError(
            f"{name} needs a device to launch on; give one as the first argument, before its own"
        )
    return tensor.device, None, arguments
