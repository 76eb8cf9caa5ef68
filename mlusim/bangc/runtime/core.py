"""The names that translated code uses on one core while a task runs, including those for an observer that tracks scalars without a value."""

import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, FrameType, FunctionType, MethodType, TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from mlusim.arch.dtypes import DType, as_elements, uint8
from mlusim.bangc import names, scalars, types as t
from mlusim.bangc.ir.walk import DEEP
from mlusim.bangc.runtime.ended import ENDING
from mlusim.bangc.runtime.followed import (
    FOLLOWED,
    Value,
    asked,
    followed,
    following,
    like,
    place,
    plain,
)
from mlusim.bangc.runtime.layouts import (
    LEAVING,
    NULL,
    ArrayLayout,
    FieldPointer,
    FixedCell,
    Object,
    StructLayout,
    StructPointer,
    copy_as,
    fixed,
    fresh,
    lock,
    part_of,
)
from mlusim.bangc.runtime.library import LIBRARY
from mlusim.bangc.runtime.pointers import (
    Address,
    Items,
    Layout,
    NoStruct,
    Pointer,
    TextPointer,
    address_of,
    copy,
    inside,
    see,
    seen,
)
from mlusim.bangc.runtime.resolve import resolve
from mlusim.bangc.runtime.variables import Cell
from mlusim.engine.contract import BUILT_INS
from mlusim.errors import Fault, MemoryFault, RuleFault, Unsupported, UsageError
from mlusim.isa.declare import Intrinsic
from mlusim.isa.mlisa import Argument, Reference, assembly_calls
from mlusim.isa.table import ISA
from mlusim.isa.vv import Register
from mlusim.kernel_frames import SCOPES
from mlusim.machine.core import Core
from mlusim.machine.mlu import Mlu
from mlusim.machine.observed import Follower, Site, ValueChange
from mlusim.memory.pointer import Ptr
from mlusim.memory.space import (
    CODE_BASE,
    CODE_BYTES,
    DIRECTIONS,
    GDRAM,
    LDRAM,
    NRAM,
    WRAM,
    code_address,
    direction_of,
)

if TYPE_CHECKING:
    from mlusim.bangc.link import LinkPlan

_VALUES = ("any", "either", "value")  # parameter kinds of scalars with which an instruction computes
# Names in translated code that compute with numbers.
_ARITHMETIC = frozenset(
    f"_c_{name}" for name in ("f16", "bf16", "div", "long_div", "mod", "fdiv", "whole", "wrap", "long_to")
)
_OF_TASK = ("taskId", "taskIdX", "taskIdY", "taskIdZ", "coreId")  # those that differ between Block tasks


# The memories of a core, by the words of a declaration.
_MEMORIES = {"nram": NRAM, "wram": WRAM, "ldram": LDRAM, "stack": LDRAM}


@functools.cache
def common() -> Mapping[str, Any]:
    """Return the names common to all cores: arithmetic and objects that need no core."""
    return {
        **{d.name: d for d in DIRECTIONS},
        "_c_direction": direction_of,
        "_c_null": NULL,
        "_c_Cell": Cell,
        "_c_fixed_Cell": FixedCell,
        "_c_seen": seen,
        "_c_copy": copy,
        "_c_copy_as": copy_as,
        "_c_setattr": setattr,
        **scalars.HELPERS,
        # Python's remainder has the sign of the divisor, so this gives two's complement.
        "_c_wrap": lambda x, half: (x + half) % (2 * half) - half,
        "_c_long_to": _long_to,
        "_c_member": _member,
        "_c_part": part_of,
        "_c_inside": inside,
        "_c_address": address_of,
        "_c_text": TextPointer,
        "_c_pointer_at": _pointer_at,
        "_c_register_at": _register_at,
        **LEAVING,
        **ENDING,
        **{f"_c_lib_{name}": function for name, function in LIBRARY.items()},
    }


@functools.cache
def _followed() -> Mapping[str, Any]:
    """Return the replacements for names of `common` in a launch with an observer that tracks scalars."""
    return _following_arithmetic(common())


def _long_to(x: int, name: str) -> float:
    """Return a 64-bit integer as a shorter float, rounded once; bfloat16 is rounded through float, as everywhere."""
    # NumPy rounds directly to float; float(x) would round to double first.
    wide = np.int64(x) if x < 1 << 63 else np.uint64(x)
    if name == "float":
        return float(np.float32(wide))
    # The largest half is 65504; doubles represent all integers far beyond that.
    return scalars.to_half(float(wide)) if name == "half" else scalars.to_bfloat16(float(np.float32(wide)))


def _member(struct: Any, name: str) -> Any:
    if isinstance(struct, NoStruct):
        return struct[name]
    return struct.field(name) if isinstance(struct, StructPointer) else FieldPointer(struct, name)


def _pointer_at(pointer: Pointer, i: int, layout: Layout) -> Any:
    element = pointer[i]
    return see(element, layout) if isinstance(element, Ptr | Address) else element


def _register_at(pointer: Pointer) -> Any:
    """Return the register at *pointer*."""
    register = pointer.here
    if isinstance(register, NoStruct):
        pointer.refuse("a load")
    return register


_CODE = FunctionType, MethodType, BuiltinFunctionType, type  # what a name at file scope always stands for


class Task:
    """Translated code on one core: declares its memory, and resolves integers to pointers."""

    def __init__(self, mlu: Mlu, plan: "LinkPlan", scopes: object) -> None:
        self.mlu = mlu
        self.core: Core = mlu.core
        self.plan = plan
        self.scopes = scopes  # gives a debugger the names of frames
        self.locals: dict[Any, Any] = {}  # by name; in recursive functions, with the depth
        self.statics: dict[str, Any] = {}
        self.constants: dict[Any, Any] = {}  # initial values of locals, by name
        self._function: Callable[..., Any] | None = None
        self._spaces: list[dict[str, Any]] = []
        self._pointed: list[Callable[..., Any]] = []  # functions whose address is taken

    def function(self) -> Callable[..., Any]:
        """Return the kernel's function in the namespace of its file, prepared for a task that starts on the core."""
        if self._function is None:
            self._function = self._linked()
        else:
            mlu = self.mlu
            for space in self._spaces:
                for name in _OF_TASK:
                    space[name] = getattr(mlu, name)
            self.locals.clear()
            self.statics.clear()
        for part, space in zip(self.plan.parts, self._spaces, strict=True):
            for code in part.declarations.values():
                exec(code, space)  # noqa: S102 - a declaration, at its own line
        return self._function

    def _linked(self) -> Callable[..., Any]:
        plan = self.plan
        self._spaces = spaces = [self._namespace(part.layouts) for part in plan.parts]
        functions: dict[str, Callable[..., Any]] = dict(plan.absent)
        for part, space in zip(plan.parts, spaces, strict=True):
            for symbol, code in part.code.items():
                functions[symbol] = FunctionType(code, space, code.co_name)
        for space in spaces:  # a file calls functions of other files by name
            space.update((names.of_function(symbol), function) for symbol, function in functions.items())
        for number, symbol in enumerate(plan.pointed):
            functions[symbol].address = code_address(number)  # type: ignore[attr-defined]  # a function takes any
            self._pointed.append(functions[symbol])
        return functions[plan.symbol]

    def _namespace(self, layouts: Mapping[str, t.Type]) -> dict[str, Any]:
        mlu = self.mlu
        space = dict(common())  # a copy, because it receives the variables at file scope
        for name in BUILT_INS:
            space[name] = getattr(mlu, name)
        for name in self.plan.rows:
            space[ISA[name].spelling] = getattr(mlu, name)
        space.update(resolve(layouts, self.find))
        space["_c_f32"] = scalars.single_rounder()  # it owns the buffer in which it rounds
        space["_c_local"] = self.local
        space["_c_static"] = self.static
        space["_c_declare"] = self.declare
        space["_c_device_variable"] = self.device_variable
        space["_c_constant"] = constant
        space["_c_fixed"] = fixed
        space["_c_pointer_of"] = self.find
        space["_c_asm"] = self.asm
        space["_c_deeper"] = self.deeper
        hub = self.core.machine.hub
        if hub.value is not None or hub.taken is not None:
            space["_c_changed"] = self.changed
            space["_c_divided"] = self.divided
            space["_c_single"], space["_c_quotient"] = self.single, self.quotient
            self._rounded = space["_c_f32"]
            # Does nothing, unless values are tracked.
            space.update(
                dict.fromkeys(("_c_got", "_c_asked", "_c_place", "_c_unset"), lambda value, *_: value)
            )
            space["_c_constant_local"] = self.constant_local
        if hub.branch is not None or hub.passed is not None:
            space["_c_branch"], space["_c_passed"] = self.branch, self.passed
        if hub.taken is not None:
            rows = {ISA[name].spelling: ISA[name] for name in self.plan.rows}
            space.update(_followed())
            space.update(_FollowingNames(self.core).names(space, rows, names.NUMBER))
        if hub.value is not None:
            space["_c_f16"] = self.half
        space[SCOPES] = self.scopes
        return space

    def may_change(self) -> list[dict[Any, Any]]:
        """Return what of it a kernel can change, by which two of its states are compared."""
        fixed = common()
        variables = (
            {n: v for n, v in space.items() if v is not fixed.get(n) and not isinstance(v, _CODE)}
            for space in self._spaces
        )
        return [self.locals, self.statics, *variables]

    # -- values --------------------------------------------------------------------------------

    def passed(self, place: tuple[str, int, int]) -> None:
        """Report to observers that control has reached the statement at *place*."""
        tell = self.core.machine.hub.passed
        if tell is not None:
            tell(self.core, place)

    def branch(self, outcome: object, place: tuple[str, int, int]) -> Any:
        """Report the *outcome* of the test at *place* to observers, and return it."""
        tell = self.core.machine.hub.branch
        if tell is not None:
            tell(self.core, place, bool(outcome))
        return outcome

    def changed(self, value: float, rule: str, have: str, to: str, low: int, high: int) -> int:
        """Convert *value*, which does not fit type *to*, as C does, and report a `ValueChange` to observers."""
        if value.__class__ in FOLLOWED:  # its value has no meaning
            return like(scalars.kept(plain(value), rule, low, high), value)  # type: ignore[no-any-return]
        converted = scalars.kept(value, rule, low, high)
        self._tell(ValueChange(rule, value, have, converted, to, high - low + 1), sys._getframe(1))  # noqa: SLF001 - the line is the caller's
        return converted

    def half(self, value: float) -> float:
        """Return *value* rounded to half; report a `ValueChange` if a finite number becomes infinite."""
        if value.__class__ in FOLLOWED:
            return following(scalars.to_half)(value)  # type: ignore[no-any-return]
        rounded = scalars.to_half(value)
        if rounded - rounded != 0 and math.isfinite(value):
            self._tell(ValueChange("half-overflow", value, "float", rounded, "half", 0), sys._getframe(1))  # noqa: SLF001 - the line is the caller's
        return rounded

    def single(self, value: float) -> float:
        """Return *value* rounded to float; report a `ValueChange` if a finite number becomes infinite."""
        if value.__class__ in FOLLOWED:
            return like(self._rounded(plain(value)), value)  # type: ignore[no-any-return]
        rounded: float = self._rounded(value)
        if rounded - rounded != 0 and math.isfinite(value):
            self._tell(_overflowed(value, rounded), sys._getframe(1))  # noqa: SLF001 - the same
        return rounded

    def quotient(self, left: float, right: float) -> float:
        """Return ``left / right`` of floats; report an infinity or NaN from finite operands."""
        if left.__class__ in FOLLOWED or right.__class__ in FOLLOWED:
            return self.single(following(scalars.real_divide)(left, right))
        value = scalars.real_divide(left, right)
        rounded: float = self._rounded(value)
        if rounded - rounded != 0 and math.isfinite(left) and math.isfinite(right):
            self._tell(_overflowed(value, rounded), sys._getframe(1))  # noqa: SLF001 - the same
        return rounded

    def divided(self, op: str, left: int, right: int, name: str, high: int) -> int:
        """Return ``left op right`` of signed integers; report the smallest integer divided by -1, which C leaves undefined."""
        if left.__class__ in FOLLOWED or right.__class__ in FOLLOWED:
            return following(scalars.int_divide if op == "/" else scalars.remainder)(left, right)  # type: ignore[no-any-return]
        if right == -1 and left < -high:
            self._tell(ValueChange("overflow", -left, name, left, name, 2 * (high + 1)), sys._getframe(1))  # noqa: SLF001 - the same
            return left if op == "/" else 0
        return (scalars.divide if op == "/" else scalars.remainder)(left, right)

    def _tell(self, change: ValueChange, frame: FrameType) -> None:
        """Announce *change* at the current line of *frame*."""
        tell = self.core.machine.hub.value
        if tell is not None:
            tell(self.core, change, Site(frame.f_code.co_filename, frame.f_lineno))

    # -- memory --------------------------------------------------------------------------------

    def declare(self, variable: tuple[str, str, int], layout: Layout, initial: Any = None) -> Any:
        """Allocate the memory of a *variable* (space, name, alignment in bytes): poison, or its *initial* scalars followed by zeros."""
        space, name, align = variable
        leaf, elements = _leaf(layout)
        # Structs and pointers are stored in memory as bytes.
        dtype = leaf if hasattr(leaf, "dtype") and hasattr(leaf, "kind") else "uint8"
        number = elements if dtype is leaf else elements * leaf.size
        if space == "sram":
            return see(self.core.declare_shared(dtype, number, name, align=align), leaf)
        stack = space == "stack"
        return see(
            self.core.declare(_MEMORIES[space], dtype, number, initial, name, stack=stack, align=align), leaf
        )

    def device_variable(self, number: int, layout: Layout) -> Any:
        """Return a pointer to variable *number* of the kernel's GDRAM variables."""
        tensor = self.core.machine.request.variables[number]
        return see(self.core.bind(tensor.allocation, tensor.dtype), _leaf(layout)[0])

    def local(
        self, variable: tuple[str, str, int], key: object, layout: Layout, initial: object = None
    ) -> Any:
        """Return the memory of a local: the same bytes in every call, initialised again if it has *initial* values."""
        memory = self.locals.get(key)
        if memory is None:
            memory = self.locals[key] = self.declare(variable, layout)
        if initial.__class__ is tuple and memory.__class__ is Ptr:
            constants = self.constants.get(key)
            if constants is None:  # the values followed by zeros, kept for later calls
                constants = self.constants[key] = np.zeros(memory.view.size, memory.dtype.dtype)
                constants[: len(initial)] = as_elements(initial, memory.dtype)
            self.core.restart(memory, constants)
        elif initial is not None:
            self._fill(memory, layout, initial)
        return memory

    def constant_local(
        self, variable: tuple[str, str, int], key: object, layout: Layout, initial: object
    ) -> Any:
        """Return the memory of a const local, like `local`; a store to it through a cast is a fault."""
        earlier = self.locals.get(key)
        if isinstance(earlier, Ptr):
            lock(earlier, writable=True)  # while it is initialised again
        memory = self.local(variable, key, layout, initial)
        if isinstance(memory, Ptr):
            lock(memory)
        return memory

    def _fill(self, pointer: Pointer, layout: Layout, initial: Value) -> None:
        if isinstance(pointer, Ptr):
            values = getattr(initial, "items", (initial,))
            self.core.restart(pointer, values)
        elif isinstance(layout, StructLayout):
            pointer.assign(initial)
        else:
            for n, value in enumerate(initial.items):
                (pointer + n).assign(value)

    def static(self, key: str, make: Callable[[], Any]) -> Any:
        """Return a static local, created when its declaration is first reached."""
        if key not in self.statics:
            self.statics[key] = make()
        return self.statics[key]

    def find(self, address: int, layout: Layout) -> Any:
        """Return the pointer with the integer *address*."""
        address &= (1 << 64) - 1  # a negative integer is an address too
        number, rest = divmod(address - CODE_BASE, CODE_BYTES)
        if 0 <= number < len(self._pointed) and not rest:
            return self._pointed[number]
        behind = None  # the end of one allocation may be the start of the next
        for allocation in self._allocations() if address else ():
            at = address - allocation.address
            if 0 <= at < allocation.nbytes:
                return see(self.core.bind(allocation, uint8, 0, at), layout)
            if at == allocation.nbytes and behind is None:
                behind = allocation
        if behind is not None:
            return see(self.core.bind(behind, uint8, 0, behind.nbytes), layout)
        return Address(address).cast(layout)

    def _allocations(self) -> Iterator[Any]:
        for arena in self.core.arenas.values():
            yield from arena.allocations
        if self.core.cluster is not None:
            yield from self.core.cluster.sram.allocations
        heaps: dict[Any, None] = {}
        for allocation in self.core.machine.given:
            if allocation.space is GDRAM:
                yield allocation
                heaps[allocation.heap] = None
        for heap in heaps:
            yield from () if heap is None else tuple(heap.kept.values())

    def deeper(self) -> int:
        """Return the recursion depth of the current call; raise the fault if it is too large."""
        depth, frame, deep = 0, sys._getframe(1), self.plan.deep  # noqa: SLF001 - the callers of this method
        while frame is not None:
            depth += frame.f_code in deep
            frame = frame.f_back  # type: ignore[assignment]
        if depth > DEEP:
            raise too_deep()
        return depth

    def asm(self, text: str, names: tuple[str, ...], operands: tuple[Any, ...]) -> None:
        """Execute a statement of inline assembly."""
        run_assembly(self.mlu, text, dict(zip(names, operands, strict=True)))


def _leaf(layout: Layout) -> tuple[Any, int]:
    if isinstance(layout, ArrayLayout):
        return layout.leaf, layout.size // layout.leaf.size
    return layout, 1


def _overflowed(value: float, result: float) -> ValueChange:
    """Return the change for *result*, an infinity or NaN as float, computed from finite numbers as *value*."""
    return ValueChange(scalars.BEYOND, value, "float", result, "float", 0)


def by_zero() -> Fault:
    """Return the fault of an integer division by zero."""
    return RuleFault("a division of integers by zero", hint="test the divisor first")


def no_code() -> Fault:
    """Return the fault of a call through a pointer to no function, or to a function of another type."""
    return MemoryFault(
        "a call through a pointer that leads to no function of its type",
        legal="the address of a function with these parameters and this result",
    )


def too_deep() -> Fault:
    """Return the fault of calls that are nested too deeply."""
    return RuleFault(
        f"calls are more than {DEEP:,} deep inside of each other, or fill the stack of mlusim's own thread",
        hint="see whether the recursion ends; what the stack of a card holds is not published",
    )


class room_for_recursion:  # noqa: N801 - reads as what it does
    """Raises Python's recursion limit while a recursive function runs.

    The limit is global, and code that parses or evaluates beside a kernel relies on the usual one. Tasks take
    turns, so the last task that leaves restores it.
    """

    _inside = 0
    _before = 0

    def __enter__(self) -> None:
        """Raise the limit if this is the first entry."""
        cls = room_for_recursion
        if not cls._inside:
            cls._before = sys.getrecursionlimit()
            sys.setrecursionlimit(max(cls._before, 4 * DEEP))
        cls._inside += 1

    def __exit__(self, *_: object) -> None:
        """Restore the limit if this is the last exit."""
        cls = room_for_recursion
        cls._inside -= 1
        if not cls._inside:
            sys.setrecursionlimit(cls._before)


class translating_faults:  # noqa: N801 - reads as what it does
    """Converts exceptions that Python raises for undefined behaviour of C into faults of *core* at the source line."""

    __slots__ = ("_core",)

    def __init__(self, core: Core) -> None:
        self._core = core

    def __enter__(self) -> None:
        """Enter the block; nothing to prepare."""

    def __exit__(self, _: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if isinstance(error, ZeroDivisionError):
            raise _fault(self._core, by_zero(), traceback) from None
        if isinstance(error, RecursionError):
            raise _fault(self._core, too_deep(), traceback) from None
        if isinstance(error, TypeError) and str(error).endswith(_NO_CODE) and _translated(traceback):
            raise _fault(self._core, no_code(), traceback) from None
        if isinstance(error, Fault) and error.file is None:
            raise _fault(self._core, error, traceback) from None


_NO_CODE = "object is not callable"  # Python's message for a call through such a pointer


def _translated(traceback: TracebackType | None) -> bool:
    """Return whether an exception was raised by translated code itself."""
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback is not None and SCOPES in traceback.tb_frame.f_globals


def _fault(core: Core, fault: Fault, traceback: TracebackType | None) -> Fault:
    """Return *fault* with the task and the innermost source line added."""
    fault.task = core.place.task
    while traceback is not None:
        # Recognised by its globals, not its file name: a #line may name a Python file.
        if SCOPES in traceback.tb_frame.f_globals:
            fault.file, fault.line = traceback.tb_frame.f_code.co_filename, traceback.tb_lineno
        traceback = traceback.tb_next
    return fault


def constant(layout: Layout, initial: tuple[Any, ...] | None) -> Any:
    """Return a variable at file scope outside device memory, with its scalars in order, or zeros."""
    values = None if initial is None else iter(initial)
    value = _built(layout, values)
    return value if isinstance(value, Items | Object) else Cell(layout, value)


def _built(layout: Layout, values: Iterator[Any] | None) -> Any:
    if isinstance(layout, ArrayLayout):
        return layout.make(*(_built(layout.element, values) for _ in range(layout.count)))
    if isinstance(layout, StructLayout):
        return layout.make(*(_built(inner, values) for inner, _ in layout.fields.values()))
    # After the last scalar, all values are zero.
    value = next(values, _ZERO) if values is not None else _ZERO
    return fresh(layout) if value is _ZERO else value


_ZERO = object()


# Inline assembly: each instruction of its text is a call of its row.

_calls = functools.cache(assembly_calls)  # each text is parsed once


def run_assembly(mlu: object, text: str, operands: dict[str, Any]) -> None:
    """Execute the assembly *text*; *operands* has, by name, pointers to outputs and values of inputs.

    Raises `Unsupported` for an unknown instruction.
    """
    try:
        calls = _calls(text)
    except UsageError as error:
        raise Unsupported(str(error), hint="call the intrinsic that does the same") from None
    for call in calls:
        result = getattr(mlu, call.row)(*(_operand(argument, operands) for argument in call.arguments))
        if call.result is not None:
            operands[call.result.name][0] = result


def _operand(argument: Argument, operands: dict[str, Any]) -> Any:
    """Return the operand to which *argument* refers: memory cast to the required type, a register, or a number."""
    if not isinstance(argument, Reference):
        return argument
    value = operands[argument.name]
    if argument.memory:
        return value if argument.dtype is None else value.cast(argument.dtype)
    if isinstance(value, Register | int | float) or not hasattr(value, "__getitem__"):
        return value
    return value[0]


# Names for a launch with an observer that tracks scalars without a value.


def _following_arithmetic(names: Mapping[str, Any]) -> dict[str, Any]:
    """Return replacements for those of *names* that compute with numbers."""
    return {
        name: following(value)
        for name, value in names.items()
        if name in _ARITHMETIC or name.startswith("_c_lib_")
    }


class _FollowingNames:
    """The names in translated code on *core*, for a launch with an observer that tracks scalars."""

    def __init__(self, core: Core) -> None:
        self.core = core
        # The follower of the last number converted to a C type, until an instruction takes that number.
        self._typed: Follower | None = None

    def names(self, space: Mapping[str, Any], rows: Mapping[str, Intrinsic], number: str) -> dict[str, Any]:
        """Return replacements for names in *space*: conversions, the *rows*, and the types named *number*...

        Replacements for arithmetic are the same on every core: `_following_arithmetic`.
        """
        replacements: dict[str, Any] = {
            "int": self._as(int),
            "float": self._as(float),
            "bool": self._as(bool),
        }
        replacements["_c_got"], replacements["_c_asked"], replacements["_c_place"] = self.got, asked, place
        replacements["_c_unset"] = self.unset
        for name, value in space.items():
            if name.startswith(number):
                replacements[name] = self._typing(value)
        replacements["_c_f32"] = _rounding(space["_c_f32"])
        replacements["_c_copy"] = lambda value: (
            value.copied(self.got) if value.__class__ is StructPointer else copy(value)
        )
        # Look them up now: later, space contains the replacements.
        pointer_of, direction = space["_c_pointer_of"], space["_c_direction"]
        replacements["_c_pointer_of"] = lambda address, layout: pointer_of(place(address), layout)
        replacements["_c_direction"] = lambda value: direction(asked(value))
        for name in ("_c_local", "_c_constant_local"):
            replacements[name] = _initial(space[name])
        for name, row in rows.items():
            replacements[name] = self._issuing(row, space[name])
        return replacements

    def got(self, value: object) -> Any:
        """Return the loaded *value*, as a tracked number if the observer says that it has no value."""
        taken = self.core.hub.taken
        assert taken is not None
        follower = None if value.__class__ in FOLLOWED else taken(self.core, value)
        return value if follower is None else followed(value, follower)

    def unset(self, value: object, name: str) -> Any:
        """Return the initial content of the uninitialised variable *name*, tracked if the observer wants that."""
        if isinstance(value, Object):
            for field, (layout, _) in type(value).layout.fields.items():
                inner = value.__dict__.get(field)
                if isinstance(layout, DType):
                    value.__dict__[field] = self.unset(inner, f"{name}.{field.rstrip(t.MARK)}")
                elif isinstance(layout, StructLayout) and not layout.union:
                    self.unset(inner, f"{name}.{field.rstrip(t.MARK)}")
            return value
        taken = self.core.hub.taken
        assert taken is not None
        follower = taken(self.core, value, name)
        return value if follower is None else followed(value, follower)

    def _as(self, kind: Any) -> Callable[[Any], Any]:
        core, taken = self.core, self.core.hub.taken
        assert taken is not None

        def convert(value: Value) -> Any:
            if value.__class__ in FOLLOWED:
                return followed(kind(plain(value)), value.follower)
            follower = taken(core, value)
            return kind(value) if follower is None else followed(kind(value), follower)

        return convert

    def _typing(self, kind: Any) -> Callable[[Any], Any]:
        def typed(value: Value) -> Any:
            if value.__class__ in FOLLOWED:
                self._typed = value.follower
                return kind(plain(value))
            return kind(value)

        return typed

    def _issuing(self, row: Intrinsic, call: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap *call*, which issues *row*, to report numbers without a value: as an operand, or as a count or an address."""

        def issue(*arguments: Any) -> Any:
            if self._typed is None and not any(a.__class__ in FOLLOWED for a in arguments):
                return call(*arguments)
            handed, self._typed = self._typed, None
            for n, argument in enumerate(arguments):
                if argument.__class__ in FOLLOWED:
                    parameter = row.given[n] if n < len(row.given) else None
                    if parameter is not None and parameter.kind in _VALUES:
                        handed = argument.follower
                    else:
                        what = (
                            "an argument"
                            if parameter is None or parameter.kind == "rest"
                            else f"the {parameter.name}"
                        )
                        argument.follower.used(f"{what} of {row.spelling}")
            if handed is not None:
                handed.handed(row.name)
            return call(*map(plain, arguments))

        return issue


def _rounding(rounder: Callable[[float], float]) -> Callable[[float], float]:
    def rounded(x: float) -> float:
        return rounder(x) if x.__class__ is float else like(rounder(plain(x)), x)

    return rounded


def _initial(local: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap `Task.local` to report tracked initial values of an array as used, because they are stored all at once."""

    def declared(*arguments: object) -> Any:
        for value in getattr(arguments[-1], "items", ()):
            if value.__class__ in FOLLOWED:
                value.follower.used("an array")
        return local(*arguments)

    return declared
