"""What names mean in a frame of BANG C: locals and variables at file scope, with their types of C."""

from collections.abc import Iterable, Mapping
from types import FrameType
from typing import Any

from attrs import define, field

from mlusim.arch.dtypes import DType
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc import types as t
from mlusim.frontend.bangc.c_stores import Assignment, Bind, assignment, in_cell
from mlusim.frontend.bangc.c_syntax import Foreign, Tree
from mlusim.frontend.bangc.c_values import Typed, value_of
from mlusim.frontend.bangc.link import LinkPlan
from mlusim.frontend.bangc.runtime.variables import Cell
from mlusim.memory.pointer import Ptr


@define(eq=False)
class FrameNames:
    """What names mean in a frame: the locals and the variables at file scope, with their types of C."""

    frame: FrameType
    function: ir.Function
    module: ir.TranslationUnit
    extra: Mapping[str, Any] = field(factory=dict)

    def record(self, name: str) -> t.Record | None:
        """The struct called *name*."""
        found = self.module.records.get(name)
        if found is not None:
            return found
        return next((r for r in self.module.records.values() if r.name.partition("<")[0] == name), None)

    def types(self) -> dict[str, str]:
        """The types of the locals as the source writes them, by the names that they have in the frame."""
        return {v.name: v.spelling for v in self.function.locals if v.source_name}

    def source_names(self, names: Iterable[str]) -> dict[str, str]:
        """Those of the frame's *names* that a name of the source means here, and that name.

        Of several variables of one name it is the innermost that is alive.
        """
        written = {v.name: v.source_name or v.name for v in self.function.locals}
        meant = {name: self.local(written.get(name, name)) for name in names}
        return {name: written.get(name, name) for name, v in meant.items() if v is None or v.name == name}

    def value_of(self, tree: Tree) -> Typed:
        """The value of *tree* here."""
        return value_of(tree, self)

    def assignment(self, tree: Tree, value: Typed, bind: Bind) -> Assignment:
        """What gives *tree*, a variable, an element or a member, the value of *value* (`c_stores.assignment`)."""
        return assignment(tree, value, self, bind)

    @staticmethod
    def of_python(value: Any, text: str = "") -> Typed:
        """A value of Python with the type that it has in C."""
        return Typed(value, _type_of(value), None, text)

    def find(self, name: str) -> Typed:
        """A variable.  Raises `NoExpression` where there is none of that name."""
        local = self.local(name)
        if local is not None:
            raw = self.frame.f_locals[local.name]
            value = raw.v if in_cell(raw, local.type, local) else raw
            return _held(value, local.type, local.source_name)
        value = self.frame.f_globals.get(name)
        known = next((g for g in self.module.globals.values() if g.name == name), None)
        if known is not None and value is not None:
            return _held(value.v if isinstance(value, Cell) else value, known.type, name)
        if value is None or callable(value):
            value = self.extra.get(name)
        if value is None:
            raise Foreign(f"name {name!r} is not defined; `info locals` lists what there is")
        return self.of_python(value, name)

    def local(self, name: str) -> ir.Local | None:
        """The innermost local of that name that is alive."""
        alive = [
            v
            for v in self.function.locals
            if name in (v.source_name, v.name) and v.name in self.frame.f_locals
        ]
        before = [v for v in alive if v.span.line <= self.frame.f_lineno] or alive
        return max(before, key=lambda v: v.span[1:3], default=None)


def scope_of(plans: Iterable[LinkPlan], frame: FrameType, extra: Mapping[str, Any]) -> FrameNames | None:
    """The scope of a frame that is one of the functions of *plans*; None of any other."""
    for part in (part for plan in plans for part in plan.parts):
        for symbol, code in part.code.items():
            if code is frame.f_code:
                return FrameNames(frame, part.file.form.functions[symbol], part.file.form, extra)
    return None


def _held(value: Any, kind: t.Type, text: str) -> Typed:
    """What a variable holds: that of a reference is what it refers to, that of an array its first element's place."""
    if isinstance(kind, t.Pointer) and kind.reference:
        if isinstance(kind.to, t.Record | t.ClassType):
            return Typed(value, kind.to, value, text)
        if isinstance(value, Ptr):
            return Typed(value[0], kind.to, value, text)
        return Typed(value.v if isinstance(value, Cell) else _shown(value, kind.to), kind.to, None, text)
    if isinstance(kind, t.Array | t.Record | t.ClassType):
        return Typed(value, kind, value, text)
    if isinstance(value, Ptr) and isinstance(kind, t.Arithmetic):
        return Typed(value[0], kind, value, text)
    return Typed(_shown(value, kind), kind, None, text)


def _shown(value: Any, kind: t.Type) -> Any:
    return value[0] if not isinstance(kind, t.Pointer) and hasattr(value, "here") else value


def _type_of(value: Any) -> t.Type:
    """The type of C that a value of Python has."""
    if isinstance(value, bool):
        return t.BOOL
    if isinstance(value, int):
        return t.INT32 if t.INT32.low <= value <= t.INT32.high else t.INT64
    if isinstance(value, float):
        return t.FLOAT
    if isinstance(value, Ptr):
        return t.Pointer(_scalar_of(value.dtype))
    return t.VOID


def _scalar_of(dtype: DType) -> t.Arithmetic:
    return next(
        kind for kind, found in t.DTYPE_OF.items() if found is dtype and kind not in (t.BOOL, t.DOUBLE)
    )
