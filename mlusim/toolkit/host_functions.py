"""Host functions of a module, called from Python by name, in another process for which this process is the simulator.

``cncc`` compiles them to a library, without the bodies of functions that do not compile.
"""

import os
import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from attrs import define, evolve, field, frozen
from ml_dtypes import bfloat16

from mlusim.arch.dtypes import DType
from mlusim.bangc import ir, prelude, types as t
from mlusim.bangc.module import Module
from mlusim.counted import counted
from mlusim.errors import UsageError, shown_file
from mlusim.host.handle import Handle
from mlusim.host.library import Status, TensorDescriptor
from mlusim.machine.device import Device
from mlusim.machine.kernel import Kind
from mlusim.machine.launch import Launch
from mlusim.machine.tensor import DeviceTensor
from mlusim.memory.pointer import Ptr
from mlusim.toolkit.built import HostBuildError, HostSources, built
from mlusim.toolkit.server.called import CallAnswer, CallBytes, CalledServer, CallingProcess
from mlusim.toolkit.server.protocol import FORMATS, reader

# Host functions that do not compile: identified by the places of the compiler's errors, and removed from
# their files.

_ERROR = re.compile(
    r"^(?P<file>[^\n]+?):(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<message>.*)$", re.MULTILINE
)


@frozen
class BrokenFunction:
    """A host function that does not compile: the range of its body, and the compiler's first error in it."""

    name: str
    body: ir.Span
    said: str

    @property
    def sentence(self) -> str:
        """The reason why it cannot be called."""
        return f"{self.name} does not compile: {self.said}"


def broken_functions(functions: Iterable[ir.Function], said: str) -> list[BrokenFunction] | None:
    """Return the functions whose bodies contain the errors in the compiler's output *said*; None if an error is elsewhere."""
    hosted = [(f, f.hosted) for f in functions if f.hosted is not None]
    broken: dict[ir.Span, BrokenFunction] = {}
    for error in _ERROR.finditer(said):
        place = int(error["line"]), int(error["column"])
        file = os.path.realpath(error["file"])
        around = [
            (f, body)
            for f, body in hosted
            if (body.line, body.column) <= place <= (body.end_line, body.end_column)
            and os.path.realpath(body.file) == file
        ]
        if not around:
            return None
        function, body = max(around, key=lambda pair: pair[1][1:3])
        shown = f"{error['file']}:{error['line']}:{error['column']}: {error['message']}"
        broken.setdefault(body, BrokenFunction(function.name, body, shown))
    return [*broken.values()] or None


def first_error(said: str) -> str:
    """Return the first error in the compiler's output *said*, with its place; "" if there is none."""
    match = _ERROR.search(said)
    return "" if match is None else match[0].replace(": fatal error: ", ": ").replace(": error: ", ": ")


def without(broken: Sequence[BrokenFunction]) -> Mapping[str, str] | None:
    """Return the files of the *broken* functions, with bodies that report the error; None if a macro expands to a body."""
    texts: dict[str, bytes] = {}
    # From the last one on, so that the positions of the others stay valid.
    for function in sorted(broken, key=lambda function: function.body[1:3], reverse=True):
        body = function.body
        text = texts.get(body.file) or Path(body.file).read_bytes()
        first, end = _offset(text, body.line, body.column), _offset(text, body.end_line, body.end_column)
        if text[first : first + 1] != b"{" or text[end - 1 : end] != b"}":
            return None
        lines = b"\n" * text.count(b"\n", first, end)  # the line numbers of other functions stay the same
        sentence = b"".join(
            b"\\%03o" % byte if byte in b'"\\?' or not 32 <= byte < 127 else bytes((byte,))
            for byte in function.sentence.encode("utf-8", "surrogateescape")
        )
        texts[body.file] = b"%s{ __mlusim_broken(%s); %s}%s" % (
            text[:first],
            b'"%s"' % sentence,
            lines,
            text[end:],
        )
    return {file: text.decode("utf-8", "surrogateescape") for file, text in texts.items()}


def _offset(text: bytes, line: int, column: int) -> int:
    start = 0
    for _ in range(line - 1):
        start = text.index(b"\n", start) + 1
    return start + column - 1


# The library of the functions that Python may call, and its processes.

PUBLIC = Path("mluops")
"""The folder of the toolkit's headers with those of the public library."""


def host_functions(module: Module) -> Iterator[tuple[int, ir.Function]]:
    """Yield the host functions that Python may call, each with the number of its file: neither methods nor ``main``."""
    supplied = str(prelude.INCLUDE)
    for number, file in enumerate(module.files):
        for function in file.form.functions.values():
            first = function.parameters[0].name if function.parameters else ""
            method = first == "this" or function.name.startswith("lambda:")
            if (
                function.kind == "host"
                and not function.external
                and not method
                and function.name != "main"
                and not function.span.file.startswith(supplied)
            ):
                yield number, function


def passes(function: ir.Function) -> bool:
    """Return whether Python can pass its arguments and receive its result: numbers, pointers and structures of these."""
    kinds = [p.type for p in function.parameters]
    return (
        not function.variadic
        and all(map(_plain, kinds))
        and (_plain(function.result) or isinstance(function.result, t.Void))
    )


def _plain(kind: t.Type) -> bool:
    """Return whether the front end knows the layout of *kind*, also behind a reference; it does not know that of library classes."""
    if isinstance(kind, t.Pointer):
        return not kind.reference or _plain(kind.to)
    if isinstance(kind, t.Array):
        return _plain(kind.of)
    if isinstance(kind, t.Struct):
        return not kind.destroyed and not kind.virtual and all(_plain(f.type) for f in kind.fields)
    return isinstance(kind, t.Arithmetic)


@define(eq=False)
class HostCalls:
    """The library of a module's host functions, and the processes that call them, one for each device."""

    module: Module
    symbols: dict[tuple[str, str, int], str] = field(factory=dict)
    # The functions that do not compile, by the ranges of their bodies.
    broken: dict[ir.Span, BrokenFunction] = field(factory=dict)
    _library: Path | None = None
    _processes: dict[int, CallingProcess] = field(factory=dict)

    def process_on(self, device: Device, launches: list[Launch]) -> CallingProcess:
        """Return the process that makes calls for *device*; variables at file scope keep their values in it.  Raises as `built` does."""
        process = self._processes.get(id(device))
        if process is None:
            if self._library is None:
                self._library = self._built()
            process = self._processes[id(device)] = CallingProcess(self._library, device, launches)
        return process

    def _built(self) -> Path:
        options = self.module.options
        by_file: dict[int, list[ir.Function]] = {n: [] for n in range(len(self.module.paths))}
        shared: dict[str, int] = {}
        for number, function in host_functions(self.module):
            shared[function.scope + function.name] = shared.get(function.scope + function.name, 0) + 1
            if passes(function):
                by_file[number].append(function)
        texts = []
        for number, path in enumerate(self.module.paths):
            texts.append((f"calls-{number}.mlu", self._text(number, path, by_file[number], shared)))
        include = tuple(str(Path(folder).resolve()) for folder in options.include)
        return self._whole(
            HostSources(
                (), options.board, include, options.define, tuple(texts), library=True, first=str(PUBLIC)
            )
        )

    def _whole(self, sources: HostSources) -> Path:
        """Build the library of *sources*, without the bodies of functions that do not compile.

        Raises `HostBuildError`, with the first error, if one is outside of functions' bodies.
        """
        forms = [f for file in self.module.files for f in file.form.functions.values()]
        while True:
            try:
                return built(sources)
            except HostBuildError as error:
                more = broken_functions(forms, error.shown)
                # The body was removed already: removing it again changes nothing.
                if more is None or any(function.body in self.broken for function in more):
                    raise self._refused(error) from None
                self.broken.update({function.body: function for function in more})
                instead = without([*self.broken.values()])
                if instead is None:
                    raise self._refused(error) from None
                sources = evolve(sources, instead=tuple(instead.items()))

    def _refused(self, error: HostBuildError) -> HostBuildError:
        first = first_error(error.shown)
        names = ", ".join(map(shown_file, self.module.paths))
        refusal = HostBuildError(f"host functions of {names} cannot be called: {first or error}")
        refusal.shown = error.shown
        return refusal

    def _text(
        self, number: int, path: str, functions: Sequence[ir.Function], shared: Mapping[str, int]
    ) -> str:
        lines = [
            '#include "mlusim_calls.h"',
            f'#include "{path}"',
            "#ifdef __mlusim_native__",
            'extern "C" {',
        ]
        for n, function in enumerate(functions):
            symbol = f"mlusim_call_{number}_{n}"
            self.symbols[function.definition] = symbol
            # C++ cannot name an anonymous namespace, but finds its members unqualified.
            name = f"{function.scope}{function.name}".replace("(anonymous namespace)::", "")
            what = f"&{name}"
            if shared[function.scope + function.name] > 1:  # overloads: the cast selects one
                kinds = ", ".join(p.spelling for p in function.parameters)
                what = f"static_cast<{function.result} (*)({kinds})>({what})"
            lines.append(
                f'__attribute__((visibility("default"))) void {symbol}(void **at, void *result) '
                f"{{ mlusim_calls::call({what}, at, result); }}"
            )
        return "\n".join([*lines, "}", "#endif", ""])


# Conversion of Python values to bytes for host functions, and of their results to Python values.

# cnrtFunctionType_t by the number of unions.
_KINDS: Mapping[int, int] = {0: 1, 1: 4, 2: 8, 4: 16, 8: 32, 16: 64}
_DTYPES: Mapping[str, str] = {
    "half": "HALF", "bfloat16": "BFLOAT16", "float": "FLOAT", "double": "DOUBLE", "float64": "DOUBLE",
    "complex64": "COMPLEX_FLOAT", "bool": "BOOL",
    **{f"{sign}int{bits}": f"{sign}INT{bits}".upper() for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip


Linked = tuple[bytes, Sequence[tuple[int, int]]]
"""The bytes of a value, and the addresses in it that the call fills in: offsets, and the numbers of the pieces."""


@define(eq=False)
class GivenArguments:
    """The arguments of one call of *function*; *server* finds the device's pointers, and *forms* are the module's."""

    server: CalledServer
    forms: Sequence[ir.TranslationUnit]
    function: ir.Function
    pieces: list[bytes] = field(factory=list)
    links: list[tuple[int, int, int]] = field(factory=list)
    arrays: list[tuple[int, "np.ndarray[Any, Any]"]] = field(factory=list)

    def call(self, symbol: str, values: Sequence[Any]) -> CallBytes:
        """Return the call with the arguments *values*.  Raises `UsageError` for a value that does not fit its parameter."""
        arguments = [self._argument(p, a) for p, a in zip(self.function.parameters, values, strict=True)]
        return CallBytes(symbol, self.pieces, arguments, self.links)

    def store(self, answer: CallAnswer) -> None:
        """Copy the contents that the function has stored to the caller's arrays."""
        for number, array in self.arrays:
            content = np.frombuffer(answer.pieces[number], np.uint8)
            if content.tobytes() != array.tobytes():
                array[...] = content.view(array.dtype).reshape(array.shape)

    def _argument(self, parameter: ir.Local, argument: object) -> int:
        kind = parameter.type
        if isinstance(kind, t.Pointer) and kind.reference:
            if isinstance(argument, np.ndarray):
                return self._array(parameter, kind.to, argument)
            kind = kind.to
        content, links = self._value(parameter, kind, argument)
        return self._piece(content, links)

    def _piece(self, content: bytes, links: Sequence[tuple[int, int]] = ()) -> int:
        number = len(self.pieces)
        self.pieces.append(content)
        self.links += [(number, offset, to) for offset, to in links]
        return number

    def _unfit(self, parameter: ir.Local, argument: object, wanted: str) -> UsageError:
        what = f"{parameter.spelling} {parameter.source_name} of {self.function.name}"
        return UsageError(f"{what} is given {argument!r:.80}; it takes {wanted}")

    def _value(self, parameter: ir.Local, kind: t.Type, argument: object) -> Linked:
        if isinstance(kind, t.Arithmetic):
            return self._number(parameter, kind, argument), ()
        if isinstance(kind, t.Struct):
            return self._record(parameter, kind, argument)
        if isinstance(kind, t.Pointer):
            return self._pointer(parameter, kind.to, argument)
        raise self._unfit(parameter, argument, "nothing that Python could give")

    # -- numbers and structs ---------------------------------------------------------------------

    def _names(self, kind: str) -> Mapping[str, int] | None:
        return next((f.enumerations[kind] for f in self.forms if kind in f.enumerations), None)

    def _number(self, parameter: ir.Local, kind: t.Arithmetic, argument: object) -> bytes:
        names = self._names(kind.name)
        if isinstance(argument, Kind) and names is not None:
            argument = _KINDS[argument.unions]
        elif isinstance(argument, str) and names is not None:
            if argument not in names:
                raise self._unfit(parameter, argument, f"one of {', '.join(names)}")
            argument = names[argument]
        value = argument.item() if isinstance(argument, np.generic) else argument
        if not isinstance(value, int | float) or (isinstance(value, float) and kind.whole):
            wanted = "a number" if kind.kind == "float" else "an integer"
            raise self._unfit(
                parameter, argument, wanted if names is None else f"{wanted} or one of {', '.join(names)}"
            )
        if kind.whole and kind.kind != "bool" and not kind.low <= value <= kind.high:
            raise self._unfit(parameter, argument, f"{kind.low} to {kind.high}")
        return packed(kind, value)

    def _record(self, parameter: ir.Local, kind: t.Struct, argument: object) -> Linked:
        members = kind.paired(argument)
        if members is None:
            raise self._unfit(parameter, argument, kind.as_tuple)
        content, links = bytearray(kind.size), []
        for member, value in members:
            name = f"{parameter.source_name}.{member.name}"
            part = ir.Local(member.name, name, member.type, str(member.type), parameter.span)
            some, more = self._value(part, member.type, value)
            content[member.offset : member.offset + len(some)] = some
            links += [(member.offset + offset, to) for offset, to in more]
        return bytes(content), links

    # -- pointers --------------------------------------------------------------------------------

    def _pointer(self, parameter: ir.Local, to: t.Type, argument: object) -> Linked:
        if isinstance(argument, DeviceTensor):
            argument = argument.ptr
        if isinstance(argument, Ptr):
            return struct.pack("<Q", self.server.lend(argument)), ()
        if argument is None or (
            isinstance(argument, int) and not isinstance(argument, bool)
        ):  # True is not an address
            return struct.pack("<Q", argument or 0), ()
        if isinstance(argument, Handle):
            piece = self._object(to, handle_fields(argument))
        elif isinstance(argument, TensorDescriptor):
            piece = self._object(to, self._descriptor_fields(parameter, argument))
        elif isinstance(argument, str) and isinstance(to, t.Arithmetic) and to.size == 1:
            piece = self._piece(argument.encode("utf-8", "surrogateescape") + b"\0")
        elif isinstance(argument, np.ndarray):
            piece = self._array(parameter, to, argument)
        else:
            raise self._unfit(parameter, argument, "a device tensor, a pointer, a NumPy array or None")
        return bytes(8), [(0, piece)]

    def _array(self, parameter: ir.Local, to: t.Type, array: "np.ndarray[Any, Any]") -> int:
        wanted = numpy_type(to)
        # Signed and unsigned integers of one size have the same bytes; a bool is an integer of one byte.
        same = wanted is None or (
            array.dtype.kind in "biu" and wanted.kind in "iu" and array.dtype.itemsize == wanted.itemsize
        )
        if not same and wanted != array.dtype:
            raise self._unfit(parameter, f"an array of {array.dtype}", f"an array of {wanted}")
        number = self._piece(array.tobytes())
        if array.flags.writeable:
            self.arrays.append((number, array))
        return number

    def _object(self, to: t.Type, values: Mapping[str, Any]) -> int:
        """Return a struct with *values*; names that the struct lacks are ignored."""
        name = getattr(to, "name", "")
        candidates = [to, *(form.structs.get(name) for form in self.forms)]
        struct = next((r for r in candidates if isinstance(r, t.Struct) and r.fields), None)
        if struct is None:
            return self._piece(bytes(256))  # no loaded file knows its layout, so that none reads it
        content = bytearray(struct.size)
        for member in struct.fields:
            value = values.get(member.name)
            if value is None:
                continue
            listed = list(value) if isinstance(member.type, t.Array) else [value]
            element = member.type.of if isinstance(member.type, t.Array) else member.type
            for n, item in enumerate(listed):
                some = packed(element, item)
                at = member.offset + n * len(some)
                content[at : at + len(some)] = some
        return self._piece(bytes(content))

    def _descriptor_fields(self, parameter: ir.Local, descriptor: TensorDescriptor) -> dict[str, Any]:
        size = (
            descriptor.dtype.size
            if isinstance(descriptor.dtype, DType)
            else np.dtype(descriptor.dtype).itemsize
        )
        strides = descriptor.strides or _dense(descriptor.shape)
        word = _DTYPES.get(str(descriptor.dtype), str(descriptor.dtype).upper())
        return {
            "dim": len(descriptor.shape),
            "dims": descriptor.shape,
            "strides": strides,
            "dtype": self._enumerator(parameter, "mluOpDataType_t", f"MLUOP_DTYPE_{word}"),
            "onchip_dtype": 0,
            "layout": self._enumerator(parameter, "mluOpTensorLayout_t", f"MLUOP_LAYOUT_{descriptor.layout}"),
            "total_element_num": descriptor.size,
            "total_tensor_size": descriptor.size * size,
        }

    def _enumerator(self, parameter: ir.Local, kind: str, name: str) -> int:
        names = self._names(kind) or {}
        if names and name not in names:
            raise self._unfit(parameter, name, f"what {kind} has: {', '.join(names)}")
        return names.get(name, 0)


def packed(kind: t.Type, value: object) -> bytes:
    """Return the bytes of a number of type *kind*, or of an address."""
    if not isinstance(kind, t.Arithmetic):
        return struct.pack("<Q", value)
    if kind == t.BFLOAT16:
        return np.asarray(value, bfloat16).tobytes()
    return struct.pack(FORMATS[kind.kind, kind.size], value)


def numpy_type(kind: t.Type) -> "np.dtype[Any] | None":
    """Return the NumPy dtype for elements of *kind*; None if any dtype is accepted."""
    if not isinstance(kind, t.Arithmetic):
        return None
    if kind == t.BFLOAT16:
        half: np.dtype[Any] = np.dtype(bfloat16)
        return half
    dtype: np.dtype[Any] = np.dtype(FORMATS[kind.kind, kind.size])
    return dtype


def handle_fields(handle: Handle) -> dict[str, Any]:
    """Return the values for the fields of the vendor's context that describe a board."""
    board = handle.board
    arch = board.arch
    return {
        "queue": 0,
        "arch": arch.bang_arch,
        "cluster_num": board.clusters,
        "core_num_per_cluster": arch.cores_per_cluster,
        "nram_size": arch.max_nram,
        "wram_size": arch.max_wram,
        "sram_size": arch.max_sram,
        "capability_cluster_num": board.clusters,
        "capability_job_limit": _KINDS[max((n for n in _KINDS if n <= board.max_union), default=0)],
        "clock_rate": board.clock_mhz * 1000,  # kHz, as in the driver
    }


def _dense(shape: Sequence[int]) -> tuple[int, ...]:
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def result_of(function: ir.Function, value: bytes, server: CalledServer) -> Any:
    """Return the result of a host function: a `Status`, a number, a pointer or an address, or a structure as a tuple."""
    kind = function.result
    if isinstance(kind, t.Void):
        return None
    # An address of the host, which belongs to no tensor, stays a number.
    result = reader(kind, lambda address: server.pointing(address) or address or None)(value, 0)
    if isinstance(kind, t.Arithmetic) and kind.name == "mluOpStatus_t":
        return {s.value: s for s in Status}.get(result, result)
    return result


class HostFunctions(Mapping[str, "HostFunction"]):
    """The host functions of a module by name; ``functions["f<float>"]`` instantiates a template."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def __iter__(self) -> Iterator[str]:
        # Overloads have one name.
        return iter(dict.fromkeys(function.name for _, function in host_functions(self._module)))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __getitem__(self, name: str) -> "HostFunction":
        """Return the function *name*.  Raises `UsageError` for an unknown name."""
        if not self._found(name):
            # From now on the module has the instance.
            self._module.instantiate(name, f"host function {name!r}", list(self))
        return HostFunction(self._module, name, tuple(self._found(name)))

    def _found(self, name: str) -> list[ir.Function]:
        plain = name.replace(" ", "")  # as in f<float, int> and f<float,int>
        return [f for _, f in host_functions(self._module) if f.name.replace(" ", "") == plain]


@frozen(eq=False)
class HostFunction:
    """A host function, or several with one name that differ in the number of arguments."""

    module: Module
    name: str
    forms: tuple[ir.Function, ...]

    def __call__(self, *arguments: object) -> Any:
        """Call the function: tuples are converted to ``cnrtDim3_t``, kinds or vendor names to ``cnrtFunctionType_t``, None to a queue or null.

        Pointer parameters accept device tensors, pointers, NumPy arrays (memory of the host), addresses and None;
        enumerations a number or the name of an enumerator; ``mluOpHandle_t`` and ``mluOpTensorDescriptor_t`` the
        classes in `mlusim.host`.  Launches run on the device of the first argument that has one: a device, a handle
        or a tensor.  Raises `UsageError` for arguments that do not fit and sources that do not compile, and `Fault`
        for faults of kernels and a crash of the function.  The reason of a failed parameter check is in
        ``handle.last_error``.
        """
        device, handle, values = _where(self.name, arguments)
        function = self._fitting(len(values))
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
        server = process.server()
        taken = GivenArguments(server, [file.form for file in self.module.files], function)
        answer = process.call(
            self.name, taken.call(symbol, values), None if handle is None else handle.launch
        )
        taken.store(answer)
        if handle is not None:
            handle.last_error = f"{self.name}: {answer.refusal}" if answer.refusal else ""
        return result_of(function, answer.value, server)

    def _fitting(self, count: int) -> ir.Function:
        fitting = [form for form in self.forms if len(form.parameters) == count]
        if len(fitting) == 1:
            return fitting[0]
        shown = " or ".join(_signature(function) for function in fitting or self.forms)
        if fitting:
            raise UsageError(f"{self.name} is ambiguous for {counted(count, 'argument')}: {shown}")
        raise UsageError(f"{self.name} does not take {counted(count, 'argument')}; it is {shown}")

    def __repr__(self) -> str:
        return f"<host function {_signature(self.forms[0])}>"


def _calls_of(module: Module) -> HostCalls:
    if module.host_calls is None:
        module.host_calls = HostCalls(module)
    calls: HostCalls = module.host_calls
    return calls


def _signature(function: ir.Function) -> str:
    parameters = ", ".join(f"{p.spelling} {p.source_name}".strip() for p in function.parameters)
    return f"{function.name}({parameters})"


def _where(name: str, arguments: tuple[Any, ...]) -> tuple[Device, Handle | None, tuple[Any, ...]]:
    """Return the device, the handle if one is passed, and the arguments for the function itself."""
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
