"""A function of the sources as a kernel: its parameters behind ``mlu``, its name, its file and line."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from mlusim.errors import LaunchError
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.file import layout
from mlusim.frontend.bangc.link import Plan
from mlusim.frontend.bangc.native.form import BangForm
from mlusim.frontend.bangc.runtime.core import Task, translating_faults
from mlusim.frontend.bangc.runtime.layouts import NULL
from mlusim.frontend.bangc.runtime.pointers import see
from mlusim.frontend.bangc.scalars import converted
from mlusim.machine.kernel import Kernel


class BangKernel(Kernel):
    """A kernel of BANG C sources: ``form`` is its intermediate form, ``plan()`` what it reaches."""

    compiled = True

    def __init__(self, form: ir.Function, plan: Callable[[], Plan], bang_arch: int) -> None:
        super().__init__(_body(form, plan, bang_arch))
        self.form = form
        self.plan = plan
        self.native = BangForm(form, plan, bang_arch)


def _body(form: ir.Function, plan: Callable[[], Plan], bang_arch: int) -> Callable[..., Any]:
    def run(mlu: Any, *arguments: Any) -> None:
        if bang_arch != mlu.BANG_ARCH:
            raise LaunchError(
                f"{form.name} was loaded for __BANG_ARCH__ {bang_arch} and this board has {mlu.BANG_ARCH}; "
                "give the board to mlusim.bangc.load(board=...)"
            )
        task = Task(mlu, plan())
        with translating_faults(mlu.core):
            function = task.function()
            function(*(_given(task, a, p) for a, p in zip(arguments, form.parameters, strict=True)))

    named = FunctionType(run.__code__, run.__globals__, form.name, None, run.__closure__)
    named.__qualname__ = form.name
    names = ("mlu", *(p.name for p in form.parameters))
    parameters = [inspect.Parameter(n, inspect.Parameter.POSITIONAL_ONLY) for n in names]
    named.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return named


def _given(task: Task, argument: Any, parameter: ir.Local) -> Any:
    """A kernel's argument as its code wants it."""
    kind = parameter.type
    if isinstance(kind, t.Pointer):
        if argument is None:
            return NULL
        if isinstance(kind.to, t.Void) or not hasattr(argument, "cast"):
            return argument
        return see(argument, layout(kind.to, task.find, {}))
    if isinstance(kind, t.Scalar):
        value = argument.item() if hasattr(argument, "item") else argument
        if not isinstance(value, int | float):
            raise LaunchError(
                f"{parameter.source_name} of {parameter.type} at {parameter.span} is given {argument!r:.80}; give a number"
            )
        return converted(value, kind)
    return argument
