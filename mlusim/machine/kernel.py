"""Kernels: the function that the machine runs, its launch kind and grid, and its source."""

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from attrs import frozen

from mlusim.arch.board import Arch, Board
from mlusim.arch.dtypes import DType
from mlusim.counted import counted, plural
from mlusim.engine.contract import BUILT_INS
from mlusim.errors import LaunchError, UsageError
from mlusim.memory.allocation import MemoryDeclaration, StackVariable

_LATER = (inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction)


@frozen(eq=False)
class DeviceVariable:
    """A variable at file scope in GDRAM, of which a device has one for all launches of the kernels that were loaded together.

    ``home`` is the file that it belongs to, ``symbol`` its name there; ``content`` are its first bytes, followed by
    zeros up to its ``nbytes``.
    """

    home: object
    symbol: str
    declared: MemoryDeclaration
    content: bytes
    nbytes: int


ESTIMATE = "an estimate of this lowering, not of the vendor's compiler"
"""The note on time and memory of a kernel in another language, from which BANG C was generated."""


def estimate_in(file: str) -> str:
    """Return the note on time and memory of a kernel of BANG C whose lines are those of *file*: `ESTIMATE` for a Python file, else ""."""
    # Only BANG C that was generated from another language names such a file by #line.
    return ESTIMATE if file.endswith(".py") else ""


class Kernel:
    """A function that the machine runs once per task as ``body(mlu, *args)``.

    A kernel is also callable, so that one kernel may use another as a device function.  ``compiled`` says that it
    comes from BANG C: it may declare all of a memory, and an instruction that one kind of core lacks has no effect
    there, as with the vendor's compiler (see decision 0016 and `engine.issue`).
    """

    compiled = False
    estimate = ""
    """The note on its time and memory if it was written in another language: `ESTIMATE`."""

    def __init__(self, body: Callable[..., Any]) -> None:
        if not callable(body):
            raise UsageError(f"{body!r} is not a function; a kernel is a function of mlu and its arguments")
        functools.update_wrapper(self, body)
        self.body = body
        # Its program in C, if it has one (`machine.native.run`).
        self.native: Any = getattr(body, "native", None)
        # If set, it makes from an mlu and arguments a function that one core calls for each of its tasks.
        self.prepared: Callable[[Any, Sequence[Any]], Callable[[], None]] | None = getattr(
            body, "prepared", None
        )
        self.name: str = getattr(body, "__name__", type(body).__name__)
        if not self.compiled and any(test(body) for test in _LATER):
            raise UsageError(
                f"{self.name} is a generator or a coroutine, whose body does not run when it is called; "
                "write the kernel without yield and async"
            )

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Run the body as a device function on the calling core: ``kernel(mlu, ...)`` inside another kernel.

        Raises `UsageError` without an mlu, as in a call from the host.
        """
        if not hasattr(args[0] if args else kwargs.get("mlu"), BUILT_INS[0]):
            raise UsageError(
                f"{self.name} is a kernel, called without an mlu; on the host launch it, "
                f"device.launch({self.name}, args=(...)), inside a kernel pass the mlu: {self.name}(mlu, ...)"
            )
        return self.body(*args, **kwargs)

    def __getitem__(self, grid: object) -> "KernelOnGrid":
        """Return the kernel on a grid: ``kernel[8](z, x, n)``, ``kernel[8, UNION1]``, ``kernel[(4, 2, 1), UNION1, device]``.

        A call of the result launches it on the device of the tensors, or on the one in the brackets, and returns the
        launch.
        """
        return KernelOnGrid.of(self, grid if isinstance(grid, tuple) else (grid,))

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"

    def __reduce__(self) -> str:
        """Return its name in its module, by which another process finds the kernel as it finds a function."""
        return str(getattr(self, "__qualname__", self.name))

    def refuse_later(self, result: object) -> None:
        """Raise `UsageError` for a body that returned a generator or coroutine instead of doing its work."""
        if inspect.isgenerator(result) or inspect.iscoroutine(result) or inspect.isasyncgen(result):
            if inspect.iscoroutine(result):
                result.close()  # otherwise Python would warn that it was never awaited
            raise UsageError(
                f"{self.name} returns a generator or a coroutine, whose body has not run; "
                "write the kernel without yield and async"
            )

    @property
    def on_stack(self) -> tuple[StackVariable, ...]:
        """Return the local variables on the stack that are alive at the moment of its largest size; none for a kernel in Python."""
        return ()

    @functools.cached_property
    def _signature(self) -> inspect.Signature:
        """Return the signature of the body; computed once, because a kernel may be launched again and again."""
        return inspect.signature(self.body)

    @property
    def element_types(self) -> Mapping[str, DType]:
        """Return the element types of its pointer parameters by name; empty in Python, where the arguments have types."""
        return {}

    @property
    def parameters(self) -> list[str]:
        """Return the names of the parameters after ``mlu``, as in the source of the body; none if it does not name them."""
        try:
            return list(self._signature.parameters)[1:]
        except (TypeError, ValueError):  # some callables have none
            return []

    @functools.cached_property
    def _counts(self) -> range:
        """Return the numbers of positional arguments that certainly fit; empty if only the signature can decide."""
        parameters = list(self._signature.parameters.values())
        if any(p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters):
            return range(0)
        return range(sum(p.default is p.empty for p in parameters), len(parameters) + 1)

    @property
    def variables(self) -> tuple[DeviceVariable, ...]:
        """Return the variables in GDRAM that it uses; none for a kernel in Python, whose tensors are arguments."""
        return ()

    def oversize(self, _arch: Arch) -> str | None:
        """Return why an architecture has too little memory for the kernel; None if only a run shows it, as in Python."""
        return None

    def complaint(self, arguments: tuple[Any, ...]) -> str | None:
        """Return why the kernel cannot be called with *arguments* after ``mlu``; None if it can."""
        try:
            signature = self._signature
        except (TypeError, ValueError):  # some callables have none
            return None
        if 1 + len(arguments) in self._counts:
            return None
        try:
            signature.bind(None, *arguments)
        except TypeError as error:
            count = len(arguments)
            if next(iter(signature.parameters), None) != "mlu":
                return (
                    f"{self.name}{signature} does not take the {count} {plural(count, 'argument')} with mlu before them; a kernel's "
                    f"first parameter is mlu, as in def {self.name}(mlu, ...)"
                )
            return f"{self.name}{signature} does not fit the {count} {plural(count, 'argument')} given behind mlu: {error}"
        return None


@frozen
class Kind:
    """How tasks are grouped: ``unions`` is the N of UnionN, 0 for a Block task."""

    name: str
    unions: int

    def __repr__(self) -> str:
        return self.name


BLOCK = Kind("BLOCK", 0)
UNION1 = Kind("UNION1", 1)
UNION2 = Kind("UNION2", 2)
UNION4 = Kind("UNION4", 4)
UNION8 = Kind("UNION8", 8)
UNION16 = Kind("UNION16", 16)
KINDS = (BLOCK, UNION1, UNION2, UNION4, UNION8, UNION16)


def kind_called(kind: Kind | str) -> Kind:
    """Return the task type *kind*, or the one with that name in any case; vendor names too.  Raises `UsageError` for any other."""
    if isinstance(kind, Kind):
        return kind
    name = kind.upper().removeprefix("CNRTFUNCTYPE")
    named = next((member for member in KINDS if member.name == name), None)
    if named is None:
        raise UsageError(f"kind {kind!r} is unknown; use one of {', '.join(k.name.lower() for k in KINDS)}")
    return named


@frozen
class KernelOnGrid:
    """A kernel with the grid and the kind of its launches, and the device if it is named; calling it launches."""

    kernel: Kernel
    dim: Any
    kind: Kind
    device: Any = None

    @classmethod
    def of(cls, kernel: Kernel, words: tuple[Any, ...]) -> "KernelOnGrid":
        """Return ``kernel[words]``: *words* are numbers of tasks, then a kind or its name, then a device."""
        rest = list(words)
        # Its class is defined in a higher layer.
        device = rest.pop() if rest and hasattr(rest[-1], "launch") else None
        kind = kind_called(rest.pop()) if rest and isinstance(rest[-1], Kind | str) else BLOCK
        dim = rest[0] if len(rest) == 1 else (*rest, *(1,) * (3 - len(rest)))
        if isinstance(dim, tuple):
            dim = (*dim, *(1,) * (3 - len(dim)))
        return cls(kernel, dim, kind, device)

    def __call__(self, *args: object, **options: object) -> Any:
        """Launch with *args*; *options* are those of `Device.launch`.  Raises `UsageError` if no device is known."""
        devices = (getattr(argument, "device", None) for argument in args)
        device = self.device or next((d for d in devices if hasattr(d, "launch")), None)
        if device is None:
            raise UsageError(
                f"{self.kernel.name} has no tensor among its arguments that says on which device it runs; pass one of device.put(), or write "
                f"{self.kernel.name}[..., device](...)"
            )
        return device.launch(self.kernel, self.dim, self.kind, args, **options)


def kernel(body: Callable[..., Any]) -> Kernel:
    """Make a function a kernel: ``body(mlu, *args)`` runs once per task of a launch."""
    return Kernel(body)


# The grids of tasks that a board accepts.


def grid_of(board: Board, dim: int | Sequence[int], kind: Kind) -> tuple[int, int, int]:
    """Return the three sizes of the grid *dim* of tasks of a *kind*.  Raises `LaunchError` for one that *board* does not accept."""
    if not isinstance(kind, Kind) or kind not in KINDS:
        names = ", ".join(k.name for k in KINDS)
        raise LaunchError(f"kind = {kind!r} is not a task type; use one of {names}")
    sizes = tuple(dim) if isinstance(dim, Iterable) else (dim, 1, 1)
    if len(sizes) != 3 or not all(isinstance(n, int | np.integer) for n in sizes):
        raise LaunchError(f"dim = {dim!r} is not a grid; give three integers (x, y, z)")
    for axis, size, limit in zip("xyz", sizes, board.max_dim, strict=True):
        if not 1 <= size <= limit:
            raise LaunchError(f"dim.{axis} = {size} is out of range; {board.name} takes 1 to {limit}")
    if kind.unions:
        _check_union(board, int(sizes[0]), kind)
    return int(sizes[0]), int(sizes[1]), int(sizes[2])


def _check_union(board: Board, x: int, kind: Kind) -> None:
    if kind.unions > board.max_union:
        most = f"UNION{board.max_union}" if board.max_union else "BLOCK"
        raise LaunchError(
            f"{kind} needs {counted(kind.unions, 'cluster')} at once; {board.name} allows up to {most}"
        )
    width = kind.unions * board.arch.cores_per_cluster
    if x % width:
        raise LaunchError(
            f"dim.x = {x} is not a multiple of {width}; a {kind} task on {board.name} takes {width} cores"
        )
