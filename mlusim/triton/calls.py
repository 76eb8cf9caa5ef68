"""A ``@triton.jit`` function of a Python file, called with arguments as text: it is compiled to a BANG C file that every verb reads."""

import functools
import inspect
import re
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import triton
from attrs import define, field, frozen
from triton.compiler import ASTSource
from triton.compiler.errors import CompilationError
from triton.runtime.autotuner import Autotuner
from triton.runtime.jit import JITFunction

from mlusim.arch.board import Board, FrozenMap
from mlusim.arch.dtypes import as_dtype
from mlusim.bangc.module import Module, load_module
from mlusim.errors import MlusimError, UsageError
from mlusim.files.arrays import read_array, read_member
from mlusim.machine.kernel import Kind
from mlusim.near import near
from mlusim.programs.argument_forms import ArgumentValue, AskedCall
from mlusim.programs.argument_values import ArgumentScope, value_of
from mlusim.programs.expectation import file_module
from mlusim.programs.kernel_call import KernelCall
from mlusim.triton import backend
from mlusim.triton.text import NRAM, estimate_of

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
NO_ARRAYS: Mapping[str, np.ndarray[Any, Any]] = MappingProxyType({})
OPTIONS = ("num_warps", "num_stages")
WORDS: Mapping[str, Any] = {"True": True, "False": False, "None": None}


@frozen
class TritonCall:
    """A Triton kernel compiled to BANG C: the file, the kernel's name, the remaining arguments, dim and kind, and its bytes of NRAM.

    ``estimate`` describes these bytes, and says whether they are close to the limit.
    """

    path: str
    kernel: str
    arguments: Mapping[str, str]
    dim: tuple[int, int, int]
    kind: Kind
    nram: int
    text: str
    estimate: str


@define(eq=False)
class TritonKernelCall(KernelCall):
    """A call of the kernel *triton* with arguments as *texts*; it is compiled to BANG C separately for each board."""

    triton: "TritonKernel" = field(kw_only=True)
    texts: Mapping[str, str] = field(kw_only=True)

    @property
    def module(self) -> Module:
        """Return the module with the kernel's text for the board."""
        if "module" not in self._kept:
            translation = self.triton.translated(self.texts, self.board, self.supplied)
            self._kept["module"] = load_module((translation.path,), (), {}, self.board)
        module: Module = self._kept["module"]
        return module


@frozen
class TritonKernel:
    """A function of a Python file, with the constants, grid and options shared by its calls; it can be sent to other processes.

    *constants* are texts, as for ``--constexpr``; *grid* is up to three integers or formulas of arguments and
    constants; *options* are ``num_warps`` and ``num_stages``.
    """

    path: str
    name: str | None
    constants: Mapping[str, str] = field(converter=FrozenMap[str])
    grid: str = "1"
    options: Mapping[str, int] = field(factory=dict, converter=FrozenMap[int])

    @property
    def function(self) -> Any:
        """The JIT function. Raises `UsageError` if it does not exist."""
        return _function(self.path, Path(self.path).stat().st_mtime_ns, self.name)

    @property
    def called(self) -> str:
        """The name of the function."""
        return str(self.function.__name__)

    def parameters(self) -> tuple[str, ...]:
        """Return the names of its parameters."""
        return tuple(self.function.arg_names)

    def constexprs(self) -> frozenset[str]:
        """Return the names of the parameters declared ``tl.constexpr``."""
        return frozenset(p.name for p in self.function.params if p.is_constexpr)

    def configurations(self) -> list[list[tuple[str, Any]]]:
        """Return the settings of each configuration of ``triton.autotune``, by name; empty without that decorator."""
        around = vars(file_module(self.path)).get(self.called)
        while around is not None and not isinstance(around, JITFunction | Autotuner):
            around = getattr(around, "fn", None)
        if not isinstance(around, Autotuner):
            return []
        return [
            [*configuration.kwargs.items(), *((name, getattr(configuration, name)) for name in OPTIONS)]
            for configuration in around.configs
        ]

    def defaults(self) -> frozenset[str]:
        """Return the names of the parameters with a default."""
        return frozenset(p.name for p in self.function.params if p.has_default)

    def words(self) -> list[str]:
        """Return the command line words for the kernel, without its arguments."""
        words = [self.path, "--kernel", self.called, "--grid", self.grid]
        for name, text in self.constants.items():
            words += ["--constexpr", f"{name}={text}"]
        for name, value in self.options.items():
            words += ["--" + name.replace("_", "-"), str(value)]
        return words

    def translated(
        self,
        arguments: Mapping[str, str],
        board: Board,
        supplied: Mapping[str, np.ndarray[Any, Any]] = NO_ARRAYS,
        seed: int | None = None,
        *,
        advised: bool = False,
    ) -> TritonCall:
        """Compile the kernel to BANG C for *board*, for a call with *arguments* as for ``--arg``.

        Pointers have the element types of the arrays in *arguments* or *supplied*; an integer 1 becomes a
        constant, as in Triton's launcher. Raises `UsageError` for an unknown parameter and for code that
        Triton refuses, `Unsupported` for operations that cannot be lowered, and `OutOfNram`, which names
        (with *advised*) constants that fit.
        """
        function = self.function
        signature, fixed = _signature(function, arguments, self.constants, supplied)
        kind, dim = backend.kind_and_dim(board, self._grid(arguments, board, supplied, seed or 0))
        try:
            compiled = _compiled(function, signature, fixed, board, self.options)
        except backend.OutOfNram as error:
            error.detail += self._fitting(function, signature, fixed, board) if advised else ""
            raise
        text = compiled.asm[backend.BACKEND].decode()
        # A constant may also be the size of an array, such as n in x=randn:float32:n.
        words = set(re.findall(r"\b[A-Za-z_]\w*", " ".join(arguments.values())))
        every = {**self.constants, **arguments}
        left = {n: v for n, v in every.items() if signature.get(n) != "constexpr" or n in words}
        name = compiled.metadata.name
        nram = compiled.metadata.nram
        told = estimate_of(nram, board.arch.limits(compiled=True)[NRAM])
        return TritonCall(str(backend.kept_text(name, text)), name, left, dim, kind, nram, text, told)

    def call(
        self,
        arguments: Mapping[str, str],
        board: Board,
        supplied: Mapping[str, np.ndarray[Any, Any]] = NO_ARRAYS,
        **around: Any,
    ) -> KernelCall:
        """Return the launch with *arguments* on *board*; *around* are further fields of `AskedCall`. Raises like `translated`."""
        translation = self.translated(arguments, board, supplied, around.get("draws") or around.get("seed"))
        asked = AskedCall(
            (translation.path,),
            translation.kernel,
            dim=translation.dim,
            kind=translation.kind.name,
            arguments=translation.arguments,
            board=board.name,
            **around,
        )
        return TritonKernelCall(asked, supplied, triton=self, texts=arguments)

    def _grid(
        self, arguments: Mapping[str, str], board: Board, supplied: Mapping[str, Any], seed: int
    ) -> tuple[int, int, int]:
        # The spelling of Triton's users; the formula language uses another word.
        text = re.sub(r"\b(?:triton\.)?cdiv\(", "CEIL_DIV(", self.grid)
        scope = ArgumentScope({**self.constants, **arguments}, {}, board, seed, supplied)
        try:
            sizes = scope.numbers(text, "--grid")
        except UsageError as error:
            raise UsageError(str(error).replace("CEIL_DIV", "cdiv")) from None
        if len(sizes) > 3:
            raise UsageError(
                f"--grid {self.grid} has {len(sizes)} sizes; write X,Y,Z, as 'cdiv(n, BLOCK)' or 4,8,1"
            )
        x, y, z = (*sizes, 1, 1)[:3]
        return x, y, z

    def _fitting(
        self, function: JITFunction, signature: Mapping[str, str], fixed: Mapping[str, Any], board: Board
    ) -> str:
        """Return, for the message about a kernel that does not fit, the largest value of each constant that fits."""
        # By trial: only the lowering knows the effect of a constant on each block.
        told = []
        for name in self.constants:
            value = fixed.get(name)
            while type(value) is int and value > 1 and value & (value - 1) == 0:
                value //= 2
                try:
                    _compiled(function, signature, {**fixed, name: value}, board, self.options)
                except backend.OutOfNram:
                    continue
                except MlusimError:  # the kernel may not compile with a smaller value
                    break
                told.append(f"{name}={value}")
                break
        return f"; it fits with {' or '.join(told)}" if told else ""


def _compiled(
    function: JITFunction,
    signature: Mapping[str, str],
    fixed: Mapping[str, Any],
    board: Board,
    options: Mapping[str, int],
) -> Any:
    """Return Triton's compilation of *function*. Raises `UsageError`, with the line, for code that it refuses."""
    # With the types, because 1, 1.0 and True are equal but different constants.
    constants = tuple((name, type(value), value) for name, value in fixed.items())
    return _specialised(
        function, tuple(signature.items()), constants, board.name, tuple(sorted(options.items()))
    )


@functools.lru_cache(maxsize=64)
def _specialised(
    function: JITFunction,
    signature: tuple[tuple[str, str], ...],
    constants: tuple[tuple[str, type, Any], ...],
    board: str,
    options: tuple[tuple[str, int], ...],
) -> Any:
    backend.activate(board)
    places = {(function.arg_names.index(name),): value for name, _, value in constants}
    try:
        return triton.compile(ASTSource(function, dict(signature), places), options=dict(options))
    except CompilationError as error:
        raise UsageError(backend.refusal_of(function, error)) from None


@functools.lru_cache(maxsize=8)
def _function(path: str, changed: int, kernel: str | None) -> Any:
    """Return the JIT function called *kernel* without tuning decorators; *changed* is the file's modification time, as a cache key."""
    del changed
    kernels = {
        name: plain
        for name, global_ in vars(file_module(path)).items()
        if (plain := backend.plain_function(global_)) is not None
    }
    if kernel is None:
        if len(kernels) == 1:
            return next(iter(kernels.values()))
        raise UsageError(f"name the kernel of {path} with --kernel; {', '.join(kernels) or 'it has none'}")
    if kernel not in kernels:
        meant = near(kernel, kernels)
        hint = f" (meant: {' or '.join(meant)})" if meant else ""
        raise UsageError(
            f"{path} has no Triton kernel {kernel!r}{hint}; its kernels: {', '.join(kernels) or 'none'}"
        )
    return kernels[kernel]


def _signature(
    function: JITFunction,
    arguments: Mapping[str, str],
    constants: Mapping[str, str],
    supplied: Mapping[str, np.ndarray[Any, Any]],
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the types of the parameters by name, and the values of those that are constant."""
    parameters = inspect.signature(function.fn).parameters
    odd = next((name for name in constants if name not in parameters), None)
    if odd is not None:
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
            signature[name] = _type(name, arguments[name], fixed, supplied.get(name))
        elif parameter.default is not inspect.Parameter.empty:
            signature[name], fixed[name] = "constexpr", parameter.default
        else:
            option = f"--constexpr {name}=1024" if name in constant else f"--arg {name}=..."
            raise UsageError(f"{name} of {function.__name__} has no value; give one, as {option}")
    return signature, fixed


def constant_of(text: str) -> Any:
    """Return a constant: a Python word such as True, a number, or the text itself."""
    if text in WORDS:
        return WORDS[text]
    for kind in (lambda word: int(word, 0), float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _type(name: str, text: str, fixed: dict[str, Any], array: np.ndarray[Any, Any] | None) -> str:
    """Return Triton's type of an argument; the value of a constant is added to *fixed*."""
    value = value_of(text, name)
    if value.is_null:
        fixed[name] = None
        return "constexpr"
    if value.is_array:
        return f"*{_element_type(value, name, array)}"
    # Formulas of other arguments are integers, which the call evaluates later.
    number = constant_of(text)
    if isinstance(number, float):
        return "fp32"
    if number == 1:  # as in Triton's launcher: a stride of 1 becomes a constant
        fixed[name] = 1
        return "constexpr"
    return "i64" if isinstance(number, int) and not -(1 << 31) <= number < 1 << 31 else "i32"


def _element_type(value: ArgumentValue, name: str, array: np.ndarray[Any, Any] | None) -> str:
    if array is not None:
        dtype = as_dtype(array.dtype)
    elif value.dtype is not None:
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
