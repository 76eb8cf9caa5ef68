"""A ``@triton.jit`` function of a Python file, called with arguments that are texts, as a BANG C file that every verb reads."""

import inspect
import re
from collections.abc import Mapping
from typing import Any

import triton
from attrs import frozen
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.runtime.jit import JITFunction

from mlusim.arch.board import Board
from mlusim.arch.dtypes import as_dtype
from mlusim.errors import MlusimError, UsageError
from mlusim.files.arrays import read_array, read_member
from mlusim.machine.kernel import Kind
from mlusim.near import near
from mlusim.programs.argument_forms import ArgumentValue
from mlusim.programs.argument_values import value_of
from mlusim.programs.expectation import file_module
from mlusim.triton import backend

_TYPES = {
    "half": "fp16",
    "bfloat16": "bf16",
    "float": "fp32",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
}
WORDS: Mapping[str, Any] = {"True": True, "False": False, "None": None}


@frozen
class TritonCall:
    """A Triton kernel as BANG C: the file, the kernel's name in it, its arguments that are left, its dim and kind, and its bytes of NRAM."""

    path: str
    kernel: str
    arguments: Mapping[str, str]
    dim: tuple[int, int, int]
    kind: Kind
    nram: int


def translated(
    path: str,
    kernel: str | None,
    arguments: Mapping[str, str],
    constants: Mapping[str, str],
    board: Board,
    grid: tuple[int, int, int] = (1, 1, 1),
    **options: int,
) -> TritonCall:
    """Translate the function *kernel* of the Python file *path* for *board*; *options* are ``num_warps`` and ``num_stages``.

    Pointers have the element types of the arrays that *arguments* give, as ``--arg`` writes them; a whole number 1 is a constant, as for
    Triton's launcher.  Raises `UsageError` for a function or a parameter that is not there, and `MlusimError` for what Triton refuses.
    """
    function = _function(path, kernel)
    signature, fixed = _signature(function, arguments, constants)
    backend.activate(board.name)
    source = ASTSource(function, signature, {(function.arg_names.index(n),): v for n, v in fixed.items()})
    try:
        compiled = triton.compile(source, options=options)
    except CompilationError as error:
        raise MlusimError(f"Triton does not compile {function.__name__}: {error}") from None
    text = compiled.asm["mlu"].decode()
    kind, dim = backend.kind_and_dim(board, grid)
    # A constant may still be the size of an array, as n of x=randn:float32:n.
    others = " ".join(arguments.values())
    left = {
        n: v
        for n, v in arguments.items()
        if signature.get(n) != "constexpr" or re.search(rf"\b{n}\b", others)
    }
    name = compiled.metadata.name
    return TritonCall(str(backend.kept(name, text)), name, left, dim, kind, compiled.metadata.nram)


def _function(path: str, kernel: str | None) -> Any:
    """Return the JIT function, without what tunes around it."""
    found = {
        name: plain for name, one in vars(file_module(path)).items() if (plain := _plain(one)) is not None
    }
    if kernel is None:
        if len(found) == 1:
            return next(iter(found.values()))
        raise UsageError(f"name the kernel of {path} with --kernel; {', '.join(found) or 'it has none'}")
    if kernel not in found:
        meant = near(kernel, found)
        hint = f" (meant: {' or '.join(meant)})" if meant else ""
        raise UsageError(
            f"{path} has no Triton kernel {kernel!r}{hint}; its kernels: {', '.join(found) or 'none'}"
        )
    return found[kernel]


def _plain(value: Any) -> Any:
    # autotune and heuristics stand around the function that they call.
    while not isinstance(value, JITFunction) and type(value).__module__.startswith("triton."):
        value = getattr(value, "fn", None)
    return value if isinstance(value, JITFunction) else None


def _signature(
    function: Any, arguments: Mapping[str, str], constants: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the types of the parameters by name, and the values of those that are constants."""
    parameters = inspect.signature(function.fn).parameters
    for given, option in ((arguments, "--arg"), (constants, "--constexpr")):
        odd = next((name for name in given if name not in parameters), None)
        if odd is not None and option == "--constexpr":
            raise UsageError(
                f"{function.__name__} has no parameter {odd}; its parameters: {', '.join(parameters)}"
            )
    signature: dict[str, str] = {}
    fixed: dict[str, Any] = {}
    constant = {p.name for p in function.params if p.is_constexpr}
    for name, parameter in parameters.items():
        text = constants.get(name, arguments.get(name) if name in constant else None)
        if text is not None:
            signature[name], fixed[name] = "constexpr", constant_of(text)
        elif name in arguments:
            signature[name] = _type(name, arguments[name], fixed)
        elif parameter.default is not inspect.Parameter.empty:
            signature[name], fixed[name] = "constexpr", parameter.default
        else:
            option = f"--constexpr {name}=1024" if name in constant else f"--arg {name}=..."
            raise UsageError(f"{name} of {function.__name__} has no value; give one, as {option}")
    return signature, fixed


def constant_of(text: str) -> Any:
    """Return a constant: a word of Python, a number, or the text itself."""
    if text in WORDS:
        return WORDS[text]
    for kind in (lambda word: int(word, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _type(name: str, text: str, fixed: dict[str, Any]) -> str:
    """Return Triton's type of an argument; what is a constant for it goes to *fixed*."""
    value = value_of(text, name)
    if value.is_null:
        fixed[name] = None
        return "constexpr"
    if value.is_array:
        return f"*{_element_type(value, name)}"
    # Formulas of other arguments are whole numbers, whose value the call computes later.
    number = constant_of(text)
    if isinstance(number, float):
        return "fp32"
    if number == 1:  # as Triton's launcher has it: a stride of 1 is known
        fixed[name] = 1
        return "constexpr"
    return "i64" if isinstance(number, int) and not -(1 << 31) <= number < 1 << 31 else "i32"


def _element_type(value: ArgumentValue, name: str) -> str:
    if value.dtype is not None:
        dtype = as_dtype(value.dtype)
    elif value.file is not None:
        what = f"the value of {name}"
        array = (
            read_array(value.file, what)
            if value.member is None
            else read_member(value.file, value.member, what)
        )
        dtype = as_dtype(array.dtype)
    else:
        dtype = as_dtype("int32")
    if dtype.name not in _TYPES:
        raise UsageError(f"{name} has elements of {dtype}, which Triton kernels do not take")
    return _TYPES[dtype.name]
