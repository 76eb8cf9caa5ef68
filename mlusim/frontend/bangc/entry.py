"""A function of the sources as a kernel: its parameters behind ``mlu``, its name, its file and line."""

import inspect
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import repeat
from types import FunctionType
from typing import TYPE_CHECKING, Any

from mlusim.arch.board import Arch
from mlusim.arch.dtypes import DType
from mlusim.errors import LaunchError, shown_file
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.declared_memory import StackFrames, declared_memory
from mlusim.frontend.bangc.fitting import Fitting, check_structure, made_structure
from mlusim.frontend.bangc.ir.walk import branches, steps
from mlusim.frontend.bangc.link import LinkPlan
from mlusim.frontend.bangc.native.form import BangForm
from mlusim.frontend.bangc.runtime.core import Task, translating_faults
from mlusim.frontend.bangc.runtime.layouts import NULL, Object
from mlusim.frontend.bangc.runtime.pointers import see
from mlusim.frontend.bangc.runtime.resolve import layout
from mlusim.frontend.bangc.scalars import converted
from mlusim.kernel_frames import SCOPES, own_file
from mlusim.lazy import lazy
from mlusim.machine.kernel import Kernel
from mlusim.memory.declaration import StackVariable

if TYPE_CHECKING:
    from mlusim.frontend.bangc import c_scope
else:
    (c_scope,) = lazy("mlusim.frontend.bangc.c_scope")


class Body:
    """The function that the machine calls for each task.

    For tools that ask where the kernel is, ``__wrapped__`` is a function of its code, whose globals have
    those of every function that it reaches; nothing runs in them.
    """

    def __init__(self, form: ir.Function, plan: LinkPlan, bang_arch: int) -> None:
        self.form = form
        self.plan = plan
        self.bang_arch = bang_arch
        self.__name__ = self.__qualname__ = form.name
        self.__doc__ = None
        names = ("mlu", *(p.name for p in form.parameters))
        # C has no arguments by name.
        parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
        self.__signature__ = inspect.Signature(parameters)

    @cached_property
    def __wrapped__(self) -> Any:
        """The function of its code, made when a tool asks: a kernel that runs in C needs none."""
        return _shown(self.plan)

    @property
    def __code__(self) -> Any:
        """The code of the function, at its file and line."""
        return self.__wrapped__.__code__

    @property
    def __globals__(self) -> dict[str, Any]:
        """The functions that it reaches, by symbol."""
        found: dict[str, Any] = self.__wrapped__.__globals__
        return found

    @cached_property
    def _coverable(self) -> dict[str, tuple[set[tuple[int, int]], set[tuple[int, int]]]]:
        """The answer of `coverable`, found once.

        That is what is in all that the function reaches, and in the kernels and device functions beside it.
        """
        found: dict[str, tuple[set[tuple[int, int]], set[tuple[int, int]]]] = {}
        for part in self.plan.parts:
            for function in part.file.form.functions.values():
                span = function.span
                beside = span.file == part.file.form.path and function.kind in ("kernel", "device")
                if function.symbol in part.code or (beside and not function.external):
                    for n, spans in enumerate(([span, *steps(function.body)], branches(function.body))):
                        for at in spans:
                            found.setdefault(at.file, (set(), set()))[n].add((at.line, at.column))
        return {file: both for file, both in found.items() if not own_file(file)}

    def coverable(self) -> dict[str, tuple[set[tuple[int, int]], set[tuple[int, int]]]]:
        """Return what may run, by file: the places of statements and of tests, each by its line and column."""
        return self._coverable

    def __call__(self, mlu: object, *arguments: object) -> None:
        """Run the function on the core of *mlu*."""
        self.prepared(mlu, arguments)()

    def prepared(self, mlu: Any, arguments: Sequence[Any]) -> "RepeatedRun":
        """Return the function on the core of *mlu*, to be called for one task after another with the same *arguments*."""
        if self.bang_arch != mlu.BANG_ARCH:  # sources are parsed with the macros of one architecture
            raise LaunchError(
                f"{self.form.name} was loaded for __BANG_ARCH__ {self.bang_arch} and this board has {mlu.BANG_ARCH}; "
                "give the board to mlusim.bangc.load(board=...)"
            )
        plan, scopes = self.plan, self.__globals__[SCOPES]
        hub = mlu.core.session.hub
        checked, covered = (
            hub.value is not None or hub.taken is not None,
            (hub.branch is not None or hub.passed is not None),
        )
        if checked or covered:
            plan = plan.watched(checked=checked, covered=covered)
            scopes = _scopes(plan)
        return RepeatedRun(Task(mlu, plan, scopes), arguments, self.form.parameters)


class RepeatedRun:
    """A function on one core: what is the same for all tasks that the core runs is made once."""

    def __init__(self, task: Task, arguments: Sequence[Any], parameters: Sequence[ir.Local]) -> None:
        self._task, self._arguments, self._parameters = task, arguments, parameters
        self._given: tuple[Any, ...] | None = None

    def __call__(self) -> None:
        """Run it for the task that the core has now."""
        task = self._task
        with translating_faults(task.core):
            function = task.function()
            given = self._given
            if given is None:
                given = tuple(map(_given, repeat(task), self._arguments, self._parameters))
                if not any(isinstance(value, Object) for value in given):  # which a task may change
                    self._given = given
            function(*given)


def _scopes(plan: LinkPlan) -> Any:
    return c_scope.Scopes((plan,))


def _shown(plan: LinkPlan) -> FunctionType:
    space: dict[str, Any] = {"__builtins__": __builtins__, SCOPES: _scopes(plan)}
    for part in plan.parts:
        for symbol, code in part.code.items():
            space[symbol] = FunctionType(code, space, code.co_name)
    found: FunctionType = space[plan.symbol]
    return found


class BangKernel(Kernel):
    """A kernel of BANG C sources: ``form`` is its intermediate form, ``plan`` what it reaches."""

    compiled = True

    def __init__(self, form: ir.Function, plan: LinkPlan, bang_arch: int) -> None:
        super().__init__(Body(form, plan, bang_arch))
        self.form = form
        self.plan = plan
        self.native = BangForm(form, lambda: plan, bang_arch)
        self._oversize: dict[str, str | None] = {}
        self._fittings = [Fitting(parameter) for parameter in form.parameters]

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return [p.source_name or p.name for p in self.form.parameters]

    @cached_property
    def element_types(self) -> Mapping[str, DType]:
        """The types that its pointers to numbers lead to, by the names of the parameters."""
        given = [(p.source_name or p.name, p.type) for p in self.form.parameters]
        pointers = [
            (n, k.to) for n, k in given if isinstance(k, t.Pointer) and isinstance(k.to, t.Arithmetic)
        ]
        return {name: t.DTYPE_OF[to] for name, to in pointers if to in t.DTYPE_OF}

    @cached_property
    def on_stack(self) -> tuple[StackVariable, ...]:
        """The local variables on the stack that are alive at once, where they take most."""
        reached = {s: part.file.form.functions[s] for part in self.plan.parts for s in part.code}
        return StackFrames(reached).most(self.form.symbol)[1]

    def oversize(self, arch: Arch) -> str | None:
        """Return why *arch* has too little memory for what the kernel declares; None where it has enough."""
        if arch.name not in self._oversize:
            told = next(declared_memory(self.plan).too_large(self.name, arch), None)
            span = self.form.span
            self._oversize[arch.name] = told and f"{told} ({shown_file(span.file)}:{span.line})"
        return self._oversize[arch.name]

    def complaint(self, arguments: tuple[Any, ...]) -> str | None:
        """Return why the arguments do not fit: their number, or what one is for its parameter; None where they do."""
        wanted = self.form.parameters
        if len(arguments) != len(wanted):
            declared = ", ".join(f"{p.spelling} {p.source_name}" for p in wanted)
            many = f"{len(arguments)} argument{'s' * (len(arguments) != 1)}"
            return f"{self.name}({declared}) takes {len(wanted)} and is given {many}"
        for argument, fitting in zip(arguments, self._fittings, strict=True):
            parameter = fitting.parameter
            if isinstance(parameter.type, t.Record):
                check_structure(argument, parameter)
                continue
            given = fitting.misfit(argument)
            if given is not None:
                what = f"{parameter.spelling} {parameter.source_name} of {self.name} ({parameter.span.file}:{parameter.span.line})"
                return f"{what} is given {given}"
        return None


def _given(task: Task, argument: object, parameter: ir.Local) -> Any:
    """Return a kernel's argument as its code wants it."""
    kind = parameter.type
    if isinstance(kind, t.Pointer):
        if argument is None:
            return NULL
        if isinstance(kind.to, t.Void) or not hasattr(argument, "cast"):
            return argument
        return see(argument, layout(kind.to, task.find, {}))
    if isinstance(kind, t.Arithmetic):
        value = argument.item() if hasattr(argument, "item") else argument
        if not isinstance(value, int | float):
            raise LaunchError(
                f"{parameter.source_name} of {parameter.type} at {parameter.span} is given {argument!r:.80}; give a number"
            )
        return converted(value, kind)
    if isinstance(kind, t.Record):
        return made_structure(argument, kind, layout(kind, task.find, {}))
    return argument
