"""The names that an expression of the debugger may use: values of the program and pure functions, nothing that reaches the system."""

import ast
import builtins
import sys
from collections.abc import Iterator, Mapping
from types import CodeType, MappingProxyType, ModuleType
from typing import Any

from mlusim.errors import UsageError

PURE = (
    "abs all any bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset hash hex "
    "int isinstance issubclass iter len list map max min next oct ord pow range repr reversed round set slice sorted "
    "str sum tuple type zip True False None Ellipsis ArithmeticError Exception ValueError"
)
BUILTINS: Mapping[str, Any] = MappingProxyType({name: getattr(builtins, name) for name in PURE.split()})
"""The builtins of an expression: they read no file, import nothing, and reach no attribute by its name."""

# From a frame or a generator the interpreter's own builtins are one attribute away.
FRAMES = frozenset(
    [
        "gi_frame",
        "gi_code",
        "gi_yieldfrom",
        "cr_frame",
        "cr_code",
        "cr_await",
        "ag_frame",
        "ag_code",
        "f_back",
        "f_builtins",
        "f_code",
        "f_globals",
        "f_locals",
        "f_trace",
        "tb_frame",
        "tb_next",
        "mro",
        "ctypes",
        "dump",
        "tofile",
    ]
)
"""Attributes without an underscore that lead to the interpreter, or to a file."""

# Functions of NumPy that read or write files, or change settings of the process.
NUMPY_OUT = frozenset(
    [
        "DataSource",
        "ctypeslib",
        "f2py",
        "fromfile",
        "fromregex",
        "genfromtxt",
        "lib",
        "load",
        "loadtxt",
        "memmap",
        "save",
        "savetxt",
        "savez",
        "savez_compressed",
        "set_printoptions",
        "setbufsize",
        "seterr",
        "seterrcall",
        "show_config",
        "show_runtime",
        "test",
        "testing",
    ]
)
PARTS = frozenset({"numpy.linalg", "numpy.fft", "numpy.random"})
MATHEMATICS = frozenset({"math", "cmath", "numpy"})
SURFACE = "mlusim.bang"


def check(tree: ast.AST) -> None:
    """Raise `UsageError` for an attribute or a name that leads behind the values of the program."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in FRAMES):
            raise UsageError(f"an expression of the debugger cannot use .{node.attr}")
        if isinstance(node, ast.Name) and node.id.startswith("__"):
            raise UsageError(f"an expression of the debugger cannot use {node.id}")


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names that *code* may look up, in its comprehensions too."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def vetted(name: str, value: object) -> Any:
    """Return *value*, or the part of it that an expression may see; raises `UsageError` where there is none."""
    if isinstance(value, ModuleType):
        return _Module(value)
    if callable(value) and not _pure(value):
        raise UsageError(f"{name} reaches the system; an expression of the debugger calls only what computes")
    return value


def _pure(value: object) -> bool:
    """Return whether a function or a class is the program's own, NumPy's, or one of the builtins that only compute."""
    home = str(getattr(value, "__module__", None) or "")
    top = home.partition(".")[0]
    if top == "numpy":
        return getattr(value, "__name__", "") not in NUMPY_OUT
    if top == "builtins":
        return not isinstance(value, type(len)) or value in BUILTINS.values()
    if top == "mlusim":
        return not home.startswith(
            ("mlusim.files", "mlusim.cli", "mlusim.debug", "mlusim.check", "mlusim.operators")
        )
    # A function of the user's own may do anything, as it may in the kernel; the standard library may not.
    return top in MATHEMATICS or top not in sys.stdlib_module_names or top == "__main__"


class _Module:
    """A module as an expression sees it: what it computes with, and its values."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        module = self._module
        home = module.__name__
        top = home.partition(".")[0]
        if top in sys.stdlib_module_names and top not in MATHEMATICS and top != "__main__":
            raise UsageError(
                f"{home} reaches the system; an expression of the debugger names values that compute"
            )
        if top == "numpy" and name in NUMPY_OUT:
            raise UsageError(f"{home}.{name} reaches the system; an expression of the debugger only computes")
        value = getattr(module, name)
        if isinstance(value, ModuleType):
            inner = value.__name__
            if (top == "numpy" and inner not in PARTS) or (top == "mlusim" and inner != SURFACE):
                raise UsageError(f"{home}.{name} is no value; an expression of the debugger only computes")
            return _Module(value)
        return vetted(f"{home}.{name}", value)

    def __repr__(self) -> str:
        return repr(self._module)
