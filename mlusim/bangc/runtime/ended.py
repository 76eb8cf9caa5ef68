"""Variables outside simulated memory that have ended, with their function or their block: every use of a pointer to one is a fault.

The compiled code registers the variables whose addresses may outlive them (`ir.leaving`), and ends them.
"""

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from mlusim.bangc.runtime.layouts import ArrayLayout, FixedCell, Object, StructLayout
from mlusim.bangc.runtime.pointers import Items, Pointer, VariableAddress, gone
from mlusim.bangc.runtime.variables import Cell

TEMPORARY = "a temporary value"  # how a fault names one
BLOCK, FUNCTION = "{} is accessed after its block has ended", "{} is accessed after {} has returned"


class _Refusing:
    """The common part of ended variables."""

    __slots__ = ()
    words: str

    def _refuse(self, *_: object) -> NoReturn:
        raise gone(self.words)

    __getitem__ = __setitem__ = leaf = part = assign = copied = exists = _refuse
    v = here = property(_refuse, _refuse)

    @property
    def shown(self) -> str:
        """The text that a debugger shows in place of the value."""
        return "(ended)"


class EndedCell(_Refusing, Cell):
    """A variable with one value that has ended; the words of the fault are where the value was."""

    __slots__ = ()
    words = vars(Cell)["v"]  # the slot


class EndedConstant(_Refusing, FixedCell):
    """The same of a constant."""

    __slots__ = ()


class EndedObject(_Refusing, Object):
    """A struct that has ended."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_c_") or name in ("address", "copied"):
            return super().__getattr__(name)
        raise gone(self.words)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("_c_"):
            raise gone(self.words)
        super().__setattr__(name, value)


class EndedVariable(VariableAddress):
    """A pointer to a variable of C code that has ended."""

    __slots__ = ("words",)

    def __init__(self, words: str) -> None:
        self.words = words

    def __getitem__(self, i: int) -> NoReturn:
        raise gone(self.words)

    def __setitem__(self, i: int, value: object) -> NoReturn:
        raise gone(self.words)


class _Elements(list[Any]):
    """The elements of an array that may end before the pointers to it; ``words`` are those of the fault once it has ended."""

    __slots__ = ("words",)

    def __init__(self, items: list[Any]) -> None:
        super().__init__(items)
        self.words = ""


Frame = dict[str, tuple[Any, str]]
"""Variables whose addresses may leave a function that is running, and their names in the source."""


def register(frame: Frame, variable: Any, key: str, name: str) -> Any:
    """Add *variable* to *frame* and return it; the one that *key* had before ends, because its block has."""
    before = frame.get(key)
    if before is not None:
        end(before[0], BLOCK.format(name))
    _prepare(variable)
    frame[key] = variable, name
    return variable


def end_all(frame: Frame, function: str) -> None:
    """End the variables of *frame*, because *function* returns."""
    for variable, name in frame.values():
        end(variable, FUNCTION.format(name, function))


def _prepare(variable: Pointer) -> None:
    if isinstance(variable, Items):
        variable.items = _Elements(variable.items)
    for part in _parts(variable):
        _prepare(part)


def _parts(variable: Pointer) -> list[Any]:
    """Return the structs and arrays inside *variable*."""
    if isinstance(variable, Items):
        return variable.items if isinstance(variable.layout, StructLayout) else []
    if not isinstance(variable, Object):
        return []
    fields = type(variable).layout.fields.items()
    return [
        variable.__dict__[name] for name, (kind, _) in fields if isinstance(kind, StructLayout | ArrayLayout)
    ]


def end(variable: Pointer, words: str) -> None:
    """Let every later access to *variable* be a fault with *words*."""
    for part in _parts(variable):
        end(part, words)
    if isinstance(variable, Items):
        variable.items.words = words  # type: ignore[attr-defined]
        variable.items.clear()
    elif isinstance(variable, Object):
        variable.__dict__.clear()
        variable.__class__ = type(variable).layout.variant(words, EndedObject)
    elif isinstance(variable, FixedCell):
        variable.words = words
        variable.__class__ = EndedConstant
    elif isinstance(variable, Cell):
        variable.v = words
        variable.__class__ = EndedCell


ENDING: Mapping[str, Callable[..., Any]] = {"_c_register": register, "_c_end_all": end_all}
