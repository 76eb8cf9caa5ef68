"""The host side of a program: the namespaces of its functions, its memory and its driver."""

import contextlib
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from mlusim.arch.dtypes import DType, as_elements, int8, uint8
from mlusim.errors import Fault, LaunchError, MlusimError, RuleFault, Unsupported, UsageError
from mlusim.frontend.bangc import prelude, scalars
from mlusim.frontend.bangc.c_scope import Scopes
from mlusim.frontend.bangc.errors import excerpt_of
from mlusim.frontend.bangc.link import FilePart, LinkPlan, link
from mlusim.frontend.bangc.runtime.classes.catalog import CLASSES
from mlusim.frontend.bangc.runtime.classes.objects import ClassLayout, HostObject
from mlusim.frontend.bangc.runtime.classes.readers import StandardInput
from mlusim.frontend.bangc.runtime.classes.streams import MANIPULATORS, Stream
from mlusim.frontend.bangc.runtime.cnnl.calls import calls
from mlusim.frontend.bangc.runtime.constants import constant
from mlusim.frontend.bangc.runtime.core import by_zero, common
from mlusim.frontend.bangc.runtime.host_driver import Driver
from mlusim.frontend.bangc.runtime.host_library import CLibrary, ProgramExit
from mlusim.frontend.bangc.runtime.host_memory import POISON, HostBlock, HostMemory, HostPtr, float64
from mlusim.frontend.bangc.runtime.layouts import (
    ArrayLayout,
    Object,
    PointerArray,
    RecordLayout,
    RecordPointer,
)
from mlusim.frontend.bangc.runtime.leaving import Thrown, uncaught
from mlusim.frontend.bangc.runtime.pointers import Address, Items
from mlusim.frontend.bangc.runtime.resolve import HostTypes, resolve
from mlusim.frontend.bangc.runtime.variables import Cell
from mlusim.kernel_frames import SCOPES
from mlusim.machine.kernel import KINDS, Kernel
from mlusim.machine.launch import Launch
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.frontend.bangc.file import File
    from mlusim.machine.device import Device

_SUPPLIED = str(prelude.INCLUDE)
DEPTH = 12_000  # calls inside each other
_UNIONS: Mapping[int, int] = {1: 0, 4: 1, 8: 2, 16: 4, 32: 8, 64: 16}  # of cnrtFunctionType_t


@define(eq=False, slots=False)
class Process:
    """A program on the host: ``device`` is what its launches run on, ``launches`` those that it made.

    *kernel* finds a kernel by symbol; *options* go to every launch that the device makes.
    """

    files: "Sequence[File]"
    kernel: Callable[[str], Kernel]
    device: "Device"
    launches: list[Launch] = field(factory=list)
    options: Mapping[str, Any] = field(factory=dict)
    start: Callable[..., Launch] | None = None  # what launches instead of the device
    memory: HostMemory = field(factory=HostMemory)
    statics: dict[str, Any] = field(factory=dict)
    functions: dict[str, Callable[..., Any]] = field(factory=dict)
    plans: list[LinkPlan] = field(factory=list)  # of the functions that were asked for
    _spaces: dict[int, dict[str, Any]] = field(factory=dict)
    _declared: set[tuple[int, str]] = field(factory=set)
    _texts: dict[str, HostPtr] = field(factory=dict)

    def __attrs_post_init__(self) -> None:
        self.driver = Driver(self.device, self.memory)
        self.library = CLibrary(self.memory, _out, _err)
        self.types = HostTypes(float64, self._class)
        streams = {
            "cout": Stream(_out),
            "cerr": Stream(_err),
            "clog": Stream(_err),
            "cin": StandardInput(self.memory),
        }
        self._common = {
            **common(),
            **{f"_c_lib_{name}": f for name, f in self.library.functions().items()},
            **{f"_c_lib_{name}": f for name, f in self.driver.functions()},
            **{f"_c_lib_{name}": f for name, f in calls(self.driver)},
            **streams,
            **self.library.files,
            **MANIPULATORS,
            "_c_f32": scalars.single_rounder(),
            "_c_local": self.local,
            "_c_static": self.static,
            "_c_constant": self.constant,
            "_c_fixed": lambda made, _words: made,
            "_c_pointer_of": self.find,
            "_c_text": self.text,
            "_c_new": self.new,
            "_c_delete": self.delete,
            "_c_launch": self.launch,
        }

    # -- functions -------------------------------------------------------------------------------

    def function(self, file: "File", symbol: str) -> Callable[..., Any]:
        """The function called *symbol*, with everything that it reaches."""
        found = self.functions.get(symbol)
        if found is not None:
            return found
        plan = link(self.files, file, symbol)
        self.plans.append(plan)
        parts = [(part, self._space(part)) for part in plan.parts]
        self.functions.update({s: f for s, f in plan.absent.items() if s not in self.functions})
        for part, space in parts:
            for name, code in part.code.items():
                if name not in self.functions or name in plan.absent:
                    self.functions[name] = FunctionType(code, space, code.co_name)
        for _, space in parts:
            space.update(self.functions)
        for part, space in parts:
            for name, code in part.declarations.items():
                self._declare(part.file, name, code, space)
        return self.functions[symbol]

    def _space(self, part: FilePart) -> dict[str, Any]:
        space = self._spaces.get(id(part.file))
        if space is None:
            space = self._spaces[id(part.file)] = {**self._common, SCOPES: Scopes(self.plans)}
        space.update(resolve(part.layouts, self.find, self.types))
        return space

    def _declare(self, file: "File", name: str, code: CodeType, space: dict[str, Any]) -> None:
        if (id(file), name) not in self._declared:
            self._declared.add((id(file), name))
            exec(code, space)  # noqa: S102 - a declaration, at its own line

    def _class(self, name: str, arguments: tuple[Any, ...]) -> ClassLayout:
        def lacking(*_: Any) -> None:
            raise Unsupported(f"{name} is a class that mlusim does not have")

        return ClassLayout(CLASSES.get(name, lacking), self.memory, arguments, name)

    # -- memory ----------------------------------------------------------------------------------

    def local(self, _space: str, key: str, layout: Any, initial: Any = None) -> Any:
        """The bytes of a local."""
        return self._block(key.rpartition(".")[2], layout, initial, POISON)

    def _block(self, name: str, layout: Any, initial: Any, fill: int) -> Any:
        raw = bytearray(bytes([POISON if initial is None else 0] if fill else 1)) * layout.size
        block = HostBlock(self.memory, raw, f"{name} ({layout.size} bytes)")
        leaf = layout.leaf if isinstance(layout, ArrayLayout) else layout
        pointer = HostPtr(block.view(uint8)).cast(leaf)
        if initial is not None:
            _fill(pointer, layout, initial)
        return pointer

    def cell(self, layout: Any, value: Any) -> Cell:
        """A variable for a value that a reference refers to."""
        return Cell(layout, value)

    def static(self, key: str, make: Callable[[], Any]) -> Any:
        """A static local: made when it is met first, zero where it has no value."""
        if key not in self.statics:
            self.statics[key] = make()
        return self.statics[key]

    def constant(self, layout: Any, initial: tuple[Any, ...] | None) -> Any:
        """A variable at file scope: from its scalars in order, or zeros."""
        if isinstance(layout, ArrayLayout) and isinstance(layout.leaf, DType):
            return self._block("a variable at file scope", layout, initial, 0)
        if isinstance(layout, ClassLayout):
            return layout.make()
        return constant(layout, initial)

    def find(self, address: int, layout: Any) -> Any:
        """The pointer that an integer is."""
        address &= (1 << 64) - 1
        found: Any = (self.memory.at(address) or self.driver.find(address)) if address else None
        if found is None:
            return Address(address).cast(layout)
        return (
            found.cast(layout)
            if isinstance(layout, DType) or isinstance(found, HostPtr)
            else _seen(found, layout)
        )

    def text(self, text: str) -> HostPtr:
        """A string literal: the same bytes each time, which are constant."""
        found = self._texts.get(text)
        if found is None:
            block = HostBlock(
                self.memory, text.encode("utf-8", "surrogateescape") + b"\0", f"the text {text!r:.40}"
            )
            block.text = text
            found = self._texts[text] = HostPtr(block.view(int8))
        return found

    def new(self, layout: Any, count: int | None, zero: bool, *given: Any) -> Any:
        """``new T`` and, with a count, ``new T[count]``."""
        if not _bytes(layout):
            made = [layout.make(*given) for _ in range(1 if count is None else count)]
            return (
                made[0] if count is None and isinstance(made[0], HostObject | Object) else Items(made, layout)
            )
        how = "new" if count is None else "new[]"
        number = 1 if count is None else count
        if not 0 <= number < 1 << 40:
            raise RuleFault(f"new of {number} elements", hint="look for a negative count")
        return self.library.malloc(layout.size * number, 0 if zero else POISON, how).cast(layout)

    def delete(self, pointer: Any, array: bool) -> None:
        """``delete`` and ``delete[]``."""
        if not isinstance(pointer, HostObject | Object | Items):
            self.library.free(pointer, "new[]" if array else "new", "delete[]" if array else "delete")

    # -- launches --------------------------------------------------------------------------------

    def launch(self, symbol: str, dim: Any, kind: int, queue: Any, *arguments: Any) -> None:
        """``kernel<<<dim, kind, queue>>>(arguments)``: it runs here and now."""
        chosen = self.driver.queue(queue)
        kernel = self.kernel(symbol)
        unions = _UNIONS.get(kind)
        if unions is None:
            raise LaunchError(f"{kind} is no cnrtFunctionType_t that {self.device.board.name} launches")
        found = next(k for k in KINDS if k.unions == unions)
        given = [_argument(kernel, n, a) for n, a in enumerate(arguments)]
        self.driver.given(chosen, zip(given, _written(kernel), strict=False))
        since = self.library.clock()
        grid = (dim.x, dim.y, dim.z)
        if self.start is not None:
            launch = self.start(kernel, grid, found, given)
        else:
            launch = self.device.launch(kernel, grid, found, given, **self.options)
        self.library.clock.simulated(since, launch.time_us)
        chosen.us += launch.time_us
        self.launches.append(launch)


def _written(kernel: Any) -> list[bool]:
    """Whether *kernel* may write through each of its parameters."""
    return ["const" not in parameter.spelling for parameter in kernel.form.parameters]


def _argument(kernel: Any, n: int, value: Any) -> Any:
    parameter = kernel.form.parameters[n]
    if isinstance(value, RecordPointer | PointerArray):
        value = value.raw
    if isinstance(value, Address) and not value:
        return None
    if isinstance(value, HostPtr | Items | Cell | HostObject | Address):
        what = f"{parameter.spelling} {parameter.source_name} of {kernel.name}"
        raise LaunchError(
            f"{what} is given a pointer of the host ({value!r:.80}); copy the data with cnrtMemcpy first"
        )
    return value


def _seen(pointer: Ptr, layout: Any) -> Any:
    caster = getattr(layout, "of", None)
    return pointer if caster is None else caster(pointer)


def _bytes(layout: Any) -> bool:
    """Whether values of a type are bytes."""
    if isinstance(layout, ArrayLayout):
        return _bytes(layout.leaf)
    if isinstance(layout, RecordLayout):
        return not layout.virtual and all(_bytes(inner) for inner, _ in layout.fields.values())
    return not isinstance(layout, ClassLayout)


def _fill(pointer: Any, layout: Any, initial: Any) -> None:
    """Give a variable its value: numbers in order, a text, or a record."""
    if isinstance(initial, HostPtr):
        raw = initial.view.block.raw
        kept = min(len(raw), layout.size)
        pointer.span(kept, "store")[:] = raw[:kept]
    elif isinstance(layout, RecordLayout):
        pointer.assign(initial)
    elif isinstance(layout, DType):
        pointer[0] = initial
    else:
        values = initial if isinstance(initial, tuple) else initial.items
        if isinstance(pointer, HostPtr):
            dtype = pointer.dtype
            np.frombuffer(pointer.view.block.raw, dtype.dtype)[: len(values)] = as_elements(values, dtype)
            return
        for n, value in enumerate(values):
            if isinstance(pointer, RecordPointer):
                (pointer + n).assign(value)
            else:
                pointer[n] = value


def _out(text: str) -> None:
    sys.stdout.write(text)


def _err(text: str) -> None:
    sys.stderr.write(text)


@contextlib.contextmanager
def host_code() -> Iterator[None]:
    """What goes wrong in a host function is an error of mlusim at the function's own line."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEPTH))
    try:
        yield
    except ZeroDivisionError as error:
        raise _at(by_zero(), error.__traceback__) from None
    except RecursionError as error:
        text = f"the function calls itself without end: {DEPTH} calls are inside each other"
        raise _at(RuleFault(text, hint="look at the condition that ends it"), error.__traceback__) from None
    except Thrown as thrown:
        raise _at(uncaught(thrown), thrown.__traceback__) from None
    except Fault as fault:
        raise (fault if fault.file is not None else _at(fault, fault.__traceback__)) from None
    except UsageError as error:
        raise _usage(error, error.__traceback__) from None
    except (MlusimError, ProgramExit):
        raise
    except KeyboardInterrupt as stop:
        site = _site(stop.__traceback__)
        if site is not None and not hasattr(stop, "__notes__"):  # of a launch it is said where that is
            stop.add_note(f"at {site[0]}:{site[1]} of the host")
        raise
    except Exception as error:  # noqa: BLE001 - what the run-time lacks is said at the line that wants it
        raise _at(_lacking(error), error.__traceback__) from None
    finally:
        sys.setrecursionlimit(limit)


def _lacking(error: Exception) -> Unsupported:
    if isinstance(error, NameError):
        name = str(getattr(error, "name", "")).removeprefix("_c_lib_")
        return Unsupported(f"a call of {name}, a function of the library that mlusim does not have")
    text = (
        f"this line wants something of the host that mlusim does not have ({type(error).__name__}: {error})"
    )
    return Unsupported(text)


def _site(traceback: TracebackType | None) -> tuple[str, int] | None:
    """The innermost line of the sources, not of the headers that mlusim supplies."""
    found = None
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if not name.startswith(("<", _SUPPLIED)) and not name.endswith(".py"):
            found = name, traceback.tb_lineno
        traceback = traceback.tb_next
    return found


def _at(fault: Fault, traceback: TracebackType | None) -> Fault:
    site = _site(traceback)
    if site is not None:
        fault.file, fault.line = site
    return fault


def _usage(error: UsageError, traceback: TracebackType | None) -> UsageError:
    site = _site(traceback)
    if site is None or type(error) not in (UsageError, LaunchError):
        return error
    file, line = site
    found = type(error)(f"{error} ({file}:{line})")
    text = linecache.getline(file, line)
    found.shown = error.shown or excerpt_of(text, 1, len(text) - len(text.lstrip()) + 1)
    return found
