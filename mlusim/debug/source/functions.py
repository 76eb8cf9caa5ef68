"""The functions that a kernel can reach: for breakpoints by function and by line, and for completion."""

import dis
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

from attrs import frozen

from mlusim.debug.source.frames import Owned
from mlusim.errors import UsageError, shown_file


@frozen
class UserFunction:
    """A function of the user: its name and its code."""

    name: str
    code: CodeType

    @property
    def lines(self) -> frozenset[int]:
        """The lines with code, without the line of the ``def`` unless it is the only one."""
        return frozenset(line for code in nested(self.code) for line in _lines(code))


def reachable(body: object, owned: Owned) -> list[UserFunction]:
    """Return the kernel *body* and every user function that it refers to, directly or indirectly."""
    return [UserFunction(f.__name__, f.__code__) for f in functions_of(body, owned)]


def functions_of(body: object, owned: Owned) -> list[FunctionType]:
    """Return the functions of `reachable` as Python function objects."""
    functions: dict[CodeType, FunctionType] = {}
    waiting = [body]
    while waiting:
        function = _function(waiting.pop(0))
        if function is None or function.__code__ in functions or not owned(function.__code__.co_filename):
            continue
        functions[function.__code__] = function
        waiting += _named(function)
    return list(functions.values())


PLAIN: tuple[type, ...] = (str, bytes, int, float, tuple, list, dict, set, frozenset, type(None))
PLAIN += (ModuleType, BuiltinFunctionType)
"""Types of values that refer to no user function."""


def _function(value: object) -> FunctionType | None:
    """Return the plain function inside a kernel, a wrapper or a method."""
    for _ in range(8):
        if isinstance(value, FunctionType):
            return value
        if isinstance(value, PLAIN):  # most values of a large program, recognized at once
            return None
        value = _own(value, "body") or _own(value, "__wrapped__") or _own(value, "__func__")
    return None


def _own(value: object, name: str) -> Any:
    """Return an attribute of *value*, else None, without calling a ``__getattr__`` of the user, which may do anything."""
    kinds = (*type(value).__mro__, *(value.__mro__ if isinstance(value, type) else ()))
    try:
        if any(name in vars(kind) for kind in kinds) or name in object.__getattribute__(value, "__dict__"):
            return getattr(value, name)
    except Exception:  # noqa: BLE001, S110 - it has no dictionary, or a property of it raises
        pass
    return None


def _named(function: FunctionType) -> Iterator[Any]:
    """Yield the values that *function* refers to in its module and its closure, and the members of modules and classes among them."""
    names = sorted({name for code in nested(function.__code__) for name in code.co_names})
    values = [function.__globals__[name] for name in names if name in function.__globals__]
    values += [cell.cell_contents for cell in function.__closure__ or () if _filled(cell)]
    for value in values:
        yield value
        if isinstance(value, ModuleType | type):
            yield from (getattr(value, name) for name in names if hasattr(value, name))
            if isinstance(value, type):
                yield from (m.fget if isinstance(m, property) else m for m in vars(value).values())


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def nested(code: CodeType) -> Iterator[CodeType]:
    """Yield *code*, and the code of functions defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from nested(constant)


def _lines(code: CodeType) -> set[int]:
    """Return the lines of *code* without its first, unless that is its only one, as in a function on one line."""
    lines = {line for _, _, line in code.co_lines() if line is not None}
    return lines - {code.co_firstlineno} or lines


def lines_naming(name: str, functions: Iterable[UserFunction]) -> frozenset[tuple[str, int]]:
    """Return the file and line of every use of *name* in *functions*."""
    return frozenset(
        (code.co_filename, instruction.positions.lineno)
        for function in functions
        for code in nested(function.code)
        for instruction in dis.get_instructions(code)
        if instruction.argval == name and instruction.positions and instruction.positions.lineno
    )


# -- functions and lines by the user's words ---------------------------------------------------------


def find_function(name: str, near: Iterable[UserFunction], owned: Owned) -> UserFunction:
    """Return the function *name* among *near*, else from any loaded module of the user.

    The name of a template stands for its only instantiation.
    """
    functions = find_functions(name, near, owned)
    if len(functions) > 1:
        names = ", ".join(f.name for f in functions)
        raise UsageError(f"{name} is a template, instantiated as {names}; name one of them")
    return functions[0]


def find_functions(name: str, near: Iterable[UserFunction], owned: Owned) -> list[UserFunction]:
    """Return the functions that `find_function` would choose from; for a template's name, all instantiations."""
    near = list(near)
    instances = [f for f in near if f.name.partition("<")[0] == name]
    named = [f for f in near if f.name == name] or instances or [f for f in _loaded(owned) if f.name == name]
    if not named:
        raise UsageError(
            f"there is no function, intrinsic or file {name!r}; `info functions` lists the kernel's functions, "
            "`mlusim isa` the intrinsics"
        )
    files = {f.code.co_filename for f in named}
    if len(files) > 1:
        raise UsageError(f"{name} is in {', '.join(sorted(files))}; name the line instead, as FILE:LINE")
    return list({f.name: f for f in reversed(named)}.values())[::-1]


def find_line(file: str, line: int, near: Iterable[UserFunction], owned: Owned) -> tuple[str, int]:
    """Return the full name of the file *file*, if its *line* has code.

    Raises `UsageError` for an unknown or ambiguous file and for a line without code.
    """
    by_file = _lines_by_file(file, near, owned)
    if not by_file:
        raise UsageError(f"no loaded file is called {file}; `info functions` lists the kernel's files")
    if len(by_file) > 1:
        raise UsageError(
            f"{file} may be {' or '.join(map(shown_file, sorted(by_file)))}; write more of the path"
        )
    path, lines = by_file.popitem()
    if line not in lines:
        behind = min((n for n in lines if n > line), default=None)
        last = f"the last line with code is {max(lines, default=0)}"
        hint = f"the next line with code is {behind}" if behind else last
        raise UsageError(f"there is no code of a function at {shown_file(file)}:{line}; {hint}")
    return path, line


def line_within(file: str, line: int, functions: Iterable[UserFunction]) -> int:
    """Return *line*, or if it has no code, the next line with code in the innermost function of *file* that contains it."""
    around = [
        (code.co_firstlineno, sorted(_lines(code)))
        for f in functions
        for code in nested(f.code)
        if ends_with(code.co_filename, file)
    ]
    inside = [(first, lines) for first, lines in around if first <= line <= lines[-1]]
    _, lines = max(inside, default=(0, []))
    return next((n for n in lines if n >= line), line)


def code_lines(name: str, near: Iterable[UserFunction], owned: Owned) -> list[int]:
    """Return the lines with code in the loaded file *name*, ascending; [] if none of its code is loaded."""
    return sorted(set().union(*_lines_by_file(name, near, owned).values()))


def _lines_by_file(name: str, near: Iterable[UserFunction], owned: Owned) -> dict[str, set[int]]:
    """Return the lines with code of each loaded file called *name*; if functions in *near* match, only of their files."""
    of_file = [f for f in near if ends_with(f.code.co_filename, name)]
    of_file = of_file or [f for f in _loaded(owned, name) if ends_with(f.code.co_filename, name)]
    lines: dict[str, set[int]] = {f.code.co_filename: set() for f in of_file}
    for function in (*of_file, *(f for file in lines for f in _loaded(owned, file))):
        if function.code.co_filename in lines:
            lines[function.code.co_filename] |= function.lines
    return lines


def ends_with(path: str, name: str) -> bool:
    """Return whether *path* ends with the components of *name*."""
    parts, wanted = Path(path).parts, Path(name).parts
    return parts[-len(wanted) :] == wanted


def _loaded(owned: Owned, name: str = "") -> Iterator[UserFunction]:
    """Yield every top-level function of the user's loaded modules, and every method of their classes.

    With *name* only modules in files of that name are searched, since examining every value of a large program takes
    seconds.
    """
    end = Path(name).name
    modules = [(getattr(module, "__file__", None), vars(module)) for module in tuple(sys.modules.values())]
    for file, names in [*modules, (owned.kernel_file, owned.names)]:
        if not isinstance(file, str) or not file.endswith(end) or not owned(file):
            continue
        for value in tuple(names.values()):
            members: tuple[Any, ...] = (value,)
            if isinstance(value, type):  # the functions of an imported class are in another file
                here = value.__module__ == names.get("__name__", value.__module__)
                members = tuple(vars(value).values()) if here else ()
            for member in members:
                function = _function(member.fget if isinstance(member, property) else member)
                if function is not None and function.__code__.co_filename == file:
                    yield UserFunction(function.__name__, function.__code__)
