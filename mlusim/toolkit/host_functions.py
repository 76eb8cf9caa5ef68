"""Host functions of a module by name, called from Python: compiled by ``cncc``, in a process whose simulator this one is."""

from collections.abc import Iterator, Mapping
from typing import Any

from attrs import frozen

from mlusim.counted import counted
from mlusim.errors import UsageError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.module import Module
from mlusim.host.handle import Handle
from mlusim.machine.device import Device
from mlusim.machine.tensor import DeviceTensor
from mlusim.toolkit.given import GivenArguments, result_of
from mlusim.toolkit.host_calls import HostCalls, host_functions


class HostFunctions(Mapping[str, "HostFunction"]):
    """The host functions of a module by name; ``functions["f<float>"]`` instantiates a template."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def __iter__(self) -> Iterator[str]:
        # Overloads share a name.
        return iter(dict.fromkeys(function.name for _, function in host_functions(self._module)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> "HostFunction":
        """Return the function called *name*.  Raises `UsageError` for a name that no source has."""
        if not self._found(name):
            # The module has the instance from then on.
            self._module.instantiate(name, f"host function {name!r}", list(self))
        return HostFunction(self._module, name, tuple(self._found(name)))

    def _found(self, name: str) -> list[ir.Function]:
        plain = name.replace(" ", "")  # as in f<float, int> and f<float,int>
        return [f for _, f in host_functions(self._module) if f.name.replace(" ", "") == plain]


@frozen(eq=False)
class HostFunction:
    """A host function, or several that share a name and differ in how many arguments they take."""

    module: Module
    name: str
    forms: tuple[ir.Function, ...]

    def __call__(self, *arguments: object) -> Any:
        """Call it: tuples are ``cnrtDim3_t``, kinds or vendor names ``cnrtFunctionType_t``, None a queue or null.

        Pointers take device tensors, pointers, NumPy arrays (memory of the host), addresses and None, enumerations a number
        or the name of an enumerator, ``mluOpHandle_t`` and ``mluOpTensorDescriptor_t`` what `mlusim.host` has.  Launches run
        on the device of the first argument that has one: a device, a handle or a tensor.  Raises `UsageError` for arguments that
        do not fit and sources that do not compile, and `Fault` as kernels do, and where the function crashes.  Why a check
        of parameters did not hold is in ``handle.last_error``.
        """
        device, handle, given = _where(self.name, arguments)
        function = self._fitting(len(given))
        calls = _calls_of(self.module)
        process = calls.process_on(device, self.module.launches)
        broken = None if function.hosted is None else calls.broken.get(function.hosted)
        if broken is not None:
            raise UsageError(broken.sentence)
        symbol = calls.symbols.get(function.definition)
        if symbol is None:
            raise UsageError(
                f"{_signature(function)} takes or returns what Python cannot give: numbers, pointers and plain structures pass"
            )
        session = process.session()
        taken = GivenArguments(session, [file.form for file in self.module.files], function)
        answer = process.call(self.name, taken.call(symbol, given), None if handle is None else handle.launch)
        taken.store(answer)
        if handle is not None:
            handle.last_error = f"{self.name}: {answer.refusal}" if answer.refusal else ""
        return result_of(function, answer.value, session)

    def _fitting(self, count: int) -> ir.Function:
        found = [form for form in self.forms if len(form.parameters) == count]
        if len(found) == 1:
            return found[0]
        shown = " or ".join(_signature(function) for function in found or self.forms)
        if found:
            raise UsageError(f"{self.name} is ambiguous for {counted(count, 'argument')}: {shown}")
        raise UsageError(f"{self.name} does not take {counted(count, 'argument')}; it is {shown}")

    def __repr__(self) -> str:
        return f"<host function {_signature(self.forms[0])}>"


def _calls_of(module: Module) -> HostCalls:
    if module.host_calls is None:
        module.host_calls = HostCalls(module)
    found: HostCalls = module.host_calls
    return found


def _signature(function: ir.Function) -> str:
    parameters = ", ".join(f"{p.spelling} {p.source_name}".strip() for p in function.parameters)
    return f"{function.name}({parameters})"


def _where(name: str, arguments: tuple[Any, ...]) -> tuple[Device, Handle | None, tuple[Any, ...]]:
    """Return the device, the handle where one is given, and the arguments of the function itself."""
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
    assert isinstance(tensor.device, Device)
    return tensor.device, None, arguments
