"""Expressions in the variables of a kernel: evaluating them changes nothing in the machine, and cannot access the system."""

import ast
import builtins
import sys
from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from attrs import define, field

from mlusim.arch.dtypes import DType
from mlusim.bangc import c_syntax
from mlusim.counted import plural
from mlusim.debug.run.output import unfiltered
from mlusim.debug.source.frames import variables_of
from mlusim.errors import Fault, MlusimError, OutOfBounds, UsageError, said
from mlusim.formula.parse import unwarned
from mlusim.kernel_frames import SCOPES
from mlusim.memory.allocation import Allocation
from mlusim.memory.pointer import Ptr, View

if TYPE_CHECKING:
    from mlusim.bangc.c_scope import FrameNames
    from mlusim.bangc.c_values import Typed
    from mlusim.bangc.types import Type
    from mlusim.machine.core import Core


# The names that an expression of the debugger may use: values of the program and pure functions, nothing
# that accesses the system.

PURE = (
    "abs all any bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset hash hex "
    "int isinstance issubclass iter len list map max min next oct ord pow range repr reversed round set slice sorted "
    "str sum tuple type zip True False None Ellipsis ArithmeticError Exception ValueError"
)
BUILTINS: Mapping[str, Any] = {name: getattr(builtins, name) for name in PURE.split()}
"""The builtins of an expression: they read no file, import nothing, and access no attribute by its name."""

# A frame or a generator leads to the interpreter's own builtins by one attribute.
_FRAMES = (
    "gi_frame gi_code gi_yieldfrom cr_frame cr_code cr_await ag_frame ag_code f_back f_builtins f_code "
    "f_globals f_locals f_trace tb_frame tb_next mro ctypes dump tofile format format_map"
)
FRAMES = frozenset(_FRAMES.split())
"""Attributes without an underscore that lead to the interpreter or to a file, and str methods that look up attributes by name."""

# Functions of NumPy that read or write files, or change settings of the process.
_NUMPY_OUT = (
    "DataSource ctypeslib f2py fromfile fromregex genfromtxt lib load loadtxt memmap save savetxt savez "
    "savez_compressed set_printoptions setbufsize seterr seterrcall show_config show_runtime test testing"
)
NUMPY_OUT = frozenset(_NUMPY_OUT.split())
PARTS = frozenset({"numpy.linalg", "numpy.fft", "numpy.random"})
MATHEMATICS = frozenset({"math", "cmath", "numpy"})
SURFACE = "mlusim.bang"


def check(tree: ast.AST) -> None:
    """Raise `UsageError` for an attribute or a name that leads from the program's values to the interpreter or the system."""
    for node in ast.walk(tree):
        used = ""
        if isinstance(node, ast.Attribute) and (node.attr.startswith("_") or node.attr in FRAMES):
            used = f".{node.attr}"
        elif isinstance(node, ast.Name) and node.id.startswith("__"):
            used = node.id
        if used:
            raise UsageError(
                f"an expression of the debugger cannot use {used}, which leads beyond the program's values"
            )


def names_in(code: CodeType) -> Iterator[str]:
    """Yield the names that *code* may look up, also in its comprehensions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from names_in(constant)


def vetted(name: str, value: object) -> Any:
    """Return *value*, or the part of it that an expression may access; raises `UsageError` if there is none."""
    if isinstance(value, ModuleType):
        return _Module(value)
    if callable(value) and not _pure(value):
        raise UsageError(f"{name} reaches the system; an expression of the debugger calls only what computes")
    return value


def _pure(value: object) -> bool:
    """Return whether a function or a class is the program's own, NumPy's, or a builtin that only computes."""
    home = str(getattr(value, "__module__", None) or "")
    if not home and getattr(value, "__name__", "") in FRAMES:  # a method in a variable of the program
        return False
    top = home.partition(".")[0]
    if top == "numpy":
        return getattr(value, "__name__", "") not in NUMPY_OUT
    if top == "builtins":
        return not isinstance(value, type(len)) or value in BUILTINS.values()
    if top == "mlusim":
        return not home.startswith(
            ("mlusim.files", "mlusim.cli", "mlusim.debug", "mlusim.check", "mlusim.operators")
        )
    # The user's own functions may do anything, as in the kernel; those of the standard library may not.
    return top in MATHEMATICS or top not in sys.stdlib_module_names or top == "__main__"


class _Module:
    """A module as visible to an expression: its plain values, and its functions that only compute."""

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
                raise UsageError(f"{home}.{name} is not a value; an expression of the debugger only computes")
            return _Module(value)
        return vetted(f"{home}.{name}", value)

    def __repr__(self) -> str:
        return repr(self._module)


CHANGES_NOTHING = "an expression of the debugger changes nothing in the machine"


class Probe:
    """The port of the debugger's own pointers: loads are not counted, and stores are refused."""

    place: Any = None
    machine: Any = None
    direct = False

    def __init__(self) -> None:
        self.loads: list[int] = []
        self.stores: list[int] = []

    def scalar_load(self, view: View, index: int, waits: int = 0) -> None:
        """Do nothing, since inspection has no cost."""

    def scalar_store(self, *_: object) -> None:
        """Refuse to store, since inspection changes nothing."""
        raise UsageError(CHANGES_NOTHING)

    def region_at(self, _allocation: Allocation, _offset: int) -> str:
        """Return "", since the debugger names regions itself."""
        return ""

    def placed(self, allocation: Allocation, start: int, plan: object) -> None:
        """Do nothing: an expression that places a plan only computes pointers."""

    def blame(self, fault: Fault) -> Fault:
        """Return *fault* unchanged: an expression's fault is not a core's."""
        return fault


def pointer_at(allocation: Allocation, offset: int, dtype: DType) -> Ptr:
    """Return a pointer of the debugger to byte *offset* of *allocation*."""
    index, phase = divmod(offset, dtype.size)
    return Ptr(View(allocation, dtype, Probe(), phase), index)


class _Refusing:
    """Replaces a core's announcer while an expression runs, and refuses every intrinsic."""

    def __getattr__(self, name: str) -> Any:
        raise UsageError("an expression of the debugger cannot execute intrinsics")


@contextmanager
def quiet(core: "Core | None", *, stores: bool = False) -> Iterator[None]:
    """Let *core*'s pointers load in the block uncounted, without waits and task switches; stores are allowed only with *stores*."""
    if core is None:
        yield
        return
    watch, core.mlu.watch = core.mlu.watch, _Refusing()
    direct, core.direct = core.direct, False
    refused = ("scalar_store", "wait", "barrier", "lock", "unlock", "declare", "declare_shared")
    allowed = ("scalar_load", "scalar_store") if stores else ("scalar_load",)
    passing = dict.fromkeys(refused, _no) | dict.fromkeys(allowed, _nothing)
    vars(core).update(passing)
    try:
        yield
    finally:
        core.mlu.watch, core.direct = watch, direct
        for name in passing:
            del vars(core)[name]


def _nothing(*_: object) -> None:
    """Do nothing, since inspection has no cost."""


def _no(*_: object) -> None:
    raise UsageError(CHANGES_NOTHING)


class BeyondMemory(UsageError):
    """An expression reads beyond the memory of its pointer, which no load of a kernel can."""


class NoValueYet(UsageError):
    """An expression names a variable that is not in scope now, but may be at another moment."""


@define(eq=False)
class Expression:
    """An expression of the user, compiled as Python if it is Python; in a frame of BANG C it is parsed as C first."""

    text: str
    code: CodeType | None
    reason: str = ""  # the reason why it is not Python
    _trees: "dict[int, c_syntax.Tree | c_syntax.NoExpression]" = field(factory=dict)

    def tree(self, scope: "FrameNames") -> c_syntax.Tree:
        """Return the tree of a C expression, in which structs of *scope* are types.  Raises `NoExpression`."""
        known = self._trees.get(id(scope.module))
        if known is None:
            try:
                known = c_syntax.parse_c(self.text, scope.is_type)
            except c_syntax.NoExpression as refused:
                known = refused
            self._trees[id(scope.module)] = known
        if isinstance(known, c_syntax.NoExpression):
            raise known
        return known

    @property
    def names(self) -> Collection[str]:
        """The names that the expression refers to."""
        if self.code is not None:
            return [n for n in self.code.co_names if not _is_attribute(self.text, n)]
        return list(c_syntax.names_of_tree(c_syntax.guess_c(self.text)))


def parse(text: str) -> Expression:
    """Parse an expression of Python or C; raises `UsageError` for any other text."""
    try:
        with unwarned():
            tree = ast.parse(text.strip(), "<expression>", "eval")
            check(tree)
            return Expression(text.strip(), compile(tree, "<expression>", "eval"))
    except (SyntaxError, ValueError) as error:
        reason = f"{text.strip()!r} is not an expression: {getattr(error, 'msg', None) or str(error)}"
        try:
            c_syntax.guess_c(text)
        except c_syntax.NoExpression:
            raise UsageError(reason) from None
        return Expression(text.strip(), None, reason)
    except (RecursionError, MemoryError, OverflowError):
        raise UsageError(
            f"the expression has {len(text)} {plural(len(text), 'character')} and is nested too deeply; split it into smaller ones"
        ) from None


@define(eq=False)
class Answer:
    """The answer to an expression: ``typed`` is its value in C, which *scope* gave; in Python it is None, and `value` is evaluated when it is needed.

    ``foreign`` is the reason why an expression in a frame of BANG C can only be Python.
    """

    _expression: Expression
    _frame: FrameType | None
    _core: "Core | None"
    _extra: Mapping[str, Any] | None
    scope: "FrameNames | None"
    typed: "Typed | None" = None
    foreign: c_syntax.Foreign | None = None

    @property
    def value(self) -> Any:
        """The value.  Raises `UsageError` with the reason if the expression raises an exception in Python."""
        if self.typed is not None:
            return self.typed.shown
        expression, frame = self._expression, self._frame
        if expression.code is None:
            raise UsageError(expression.reason)
        code = expression.code
        known: ChainMap[str, Any] = ChainMap({}, {**(self._extra or {})}, {"np": np})
        if frame is not None:
            known.maps[:1] = [variables_of(frame), frame.f_globals]
        names = {name: vetted(name, known[name]) for name in names_in(code) if name in known}
        if self.foreign is not None and any(
            name not in names and name not in BUILTINS for name in expression.names
        ):
            raise UsageError(str(self.foreign))
        names["__builtins__"] = dict(BUILTINS)
        with reasons(self._core):
            return eval(code, names)  # noqa: S307 - checked as it was parsed, and without the builtins that do anything

    @property
    def type(self) -> "Type | None":
        """The type in C; None in Python."""
        return None if self.typed is None else self.typed.type


def ask(
    expression: Expression,
    frame: FrameType | None,
    core: "Core | None",
    extra: Mapping[str, Any] | None = None,
    *,
    beyond: bool = False,
) -> Answer:
    """Return the value of *expression* in the variables of *frame*; *extra* has values of names that the frame lacks.

    With *beyond* a C variable that is no longer in scope has its last value.

    In a frame of BANG C the value has a C type; text that is not a C expression there, such as a call, is evaluated
    as Python.  Only builtins that compute are available, and nothing that accesses the system.  Raises `UsageError`
    with the reason if the expression has no value in C.
    """
    scope = c_scope(frame, extra, beyond=beyond)
    answer = Answer(expression, frame, core, extra, scope)
    if scope is None:
        return answer
    try:
        tree = expression.tree(scope)
    except c_syntax.NoExpression as refused:
        if expression.code is None:
            raise UsageError(f"{expression.text!r} is not an expression of C: {refused}") from None
        return answer
    try:
        with reasons(core):
            answer.typed = scope.value_of(tree)
    except c_syntax.NoExpression as refused:
        if not isinstance(refused, c_syntax.Foreign) or expression.code is None:
            kind = NoValueYet if isinstance(refused, c_syntax.NotInScope) else UsageError
            raise kind(f"{expression.text!r} has no value in C: {refused}") from None
        answer.foreign = refused
    return answer


def c_scope(
    frame: FrameType | None, extra: Mapping[str, Any] | None = None, *, beyond: bool = False
) -> "FrameNames | None":
    """Return the names in scope in a frame of BANG C, with *beyond* also those that no longer are; None in a Python frame.

    Without a frame, or during the initialization at file scope, those of the kernel's file: types, macros and
    functions.
    """
    scopes = (extra or {}).get(SCOPES) if frame is None else frame.f_globals.get(SCOPES)
    if scopes is None:
        return None
    names: FrameNames | None = None if frame is None else scopes.frame(frame, extra, beyond=beyond)
    return names or scopes.outside(extra)


def members_of(text: str, frame: FrameType | None, core: "Core | None") -> list[str]:
    """Return the members of the struct *text*, or of the struct that *text* points to, in a frame of BANG C; none for other values."""
    try:
        kind = ask(parse(text), frame, core).type
    except UsageError:
        return []
    kind = getattr(kind, "to", kind)
    return [field.name for field in getattr(kind, "fields", ())]


@contextmanager
def reasons(core: "Core | None", *, stores: bool = False) -> Iterator[None]:
    """Let the block evaluate without changes in the machine, except *stores*; an exception becomes a `UsageError` with its reason."""
    try:
        with quiet(core, stores=stores), unfiltered(), np.errstate(all="ignore"):
            yield
    except c_syntax.NoExpression:
        raise
    except MlusimError as error:
        if isinstance(error, Fault):  # the expression's own fault has no line in the kernel
            error.file = error.task = None
        if isinstance(error, OutOfBounds):
            raise BeyondMemory(str(error)) from None
        raise UsageError(str(error)) from None
    except NameError as error:
        raise UsageError(f"{error}; `info locals` lists what there is") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the user's expression may raise anything
        raise UsageError(f"the expression raises {type(error).__name__}: {said(error)}") from None


def condition(text: str) -> Any:
    """Return a function that evaluates *text* on a core and a frame; it returns the truth, or a note if evaluation fails."""
    code = parse(text)

    def test(core: "Core | None", frame: FrameType | None) -> bool | str:
        try:
            value = ask(code, frame, core).value
        except NoValueYet:
            return False  # as i in `i == 2`, at the head of the loop that declares it
        except UsageError as error:
            return f" (its condition cannot be evaluated: {error})"
        try:
            return bool(value)
        except Exception as error:  # noqa: BLE001 - the truth of an array raises, and other operations may
            return f" (its condition has no truth value: {said(error)})"

    return test


def names_of_code(code: CodeType, module: Mapping[str, Any]) -> list[str]:
    """Return the variables of a function of *module*, as spelled in its source."""
    names = module[SCOPES].function(code) if SCOPES in module else None
    if names is not None:
        return list(names.written)
    return [*code.co_varnames, *code.co_freevars, *code.co_cellvars]


def unknown_names(text: str, codes: Iterable[CodeType], module: Mapping[str, Any]) -> list[str]:
    """Return the names in *text* that are unknown in all functions *codes*, in their *module* and in Python."""
    known: set[str] = {"np", *module, *BUILTINS}
    for code in codes:
        known |= {*names_of_code(code, module), *code.co_names}
    scopes = module.get(SCOPES)
    return [
        name
        for name in parse(text).names
        if name not in known and not (scopes is not None and scopes.knows(name))
    ]


def _is_attribute(text: str, name: str) -> bool:
    """Return whether *name* occurs in *text* only after a dot."""
    with unwarned():
        tree = ast.parse(text.strip(), mode="eval")
    return not any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(tree))
