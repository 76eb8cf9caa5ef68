"""Names in a frame of BANG C, for the debugger: locals, file-scope variables and macros with their C types, and assignments by the user."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen

from mlusim.bangc import c_syntax, ir, scalars, types as t
from mlusim.bangc.c_values import (
    RegisterAddress,
    Typed,
    called,
    decayed,
    functions_called,
    static_type,
    value_of,
)
from mlusim.bangc.ir.walk import walk
from mlusim.bangc.render.emit import kept_casts
from mlusim.bangc.runtime.layouts import NULL
from mlusim.bangc.runtime.resolve import layout
from mlusim.bangc.runtime.variables import Cell
from mlusim.counted import plural
from mlusim.errors import UsageError
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.bangc.link import LinkPlan


# Macros of the sources of a translation unit, for the debugger: their definitions and the expansion of an
# invocation.

# The parameters directly follow the name: after a space, a parenthesis belongs to the body.
_DEFINITION = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?P<name>\w+)(?P<parameters>\([^)\n]*\))?(?P<body>(?:.*\\\n)*.*)$",
    re.MULTILINE,
)
_COMMENT = re.compile(r"//.*|/\*.*?\*/", re.DOTALL)


@frozen
class Macro:
    """One macro definition: ``parameters`` is None for an object-like macro; ``body`` is one line without comments."""

    name: str
    parameters: tuple[str, ...] | None
    body: str
    file: str
    line: int

    def __str__(self) -> str:
        taken = "" if self.parameters is None else f"({', '.join(self.parameters)})"
        return f"#define {self.name}{taken} {self.body}".rstrip()

    def expanded(self, arguments: Sequence[str] = ()) -> str:
        """Return the expansion of an invocation. Raises `NoExpression` for a wrong number of arguments, and for ``#`` in the body."""
        parameters = self.parameters or ()
        if len(arguments) != len(parameters) or "..." in parameters:
            raise c_syntax.NoExpression(
                f"{self.name} takes {len(parameters)} {plural(len(parameters), 'argument')}, not {len(arguments)}"
            )
        if "#" in self.body:
            raise c_syntax.NoExpression(
                f"{self.name} joins or quotes tokens, which the debugger does not expand"
            )
        texts = dict(zip(parameters, arguments, strict=True))
        # Macros in the result are expanded when the text is evaluated.
        return re.sub(r"\b[A-Za-z_]\w*\b", lambda word: texts.get(word[0], word[0]), self.body)


@lru_cache(maxsize=16)
def macros_of(form: ir.TranslationUnit) -> Mapping[str, tuple[Macro, ...]]:
    """Return all macro definitions in the file of *form* and its includes, by name, in order of the text."""
    definitions: dict[str, tuple[Macro, ...]] = {}
    for path in dict.fromkeys((*form.includes, form.path)):
        try:
            text = Path(path).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        for match in _DEFINITION.finditer(text):
            body = " ".join(_COMMENT.sub(" ", match["body"].replace("\\\n", " ")).split())
            taken = match["parameters"]
            names = None if taken is None else tuple(p.strip() for p in taken[1:-1].split(",") if p.strip())
            macro = Macro(match["name"], names, body, path, text.count("\n", 0, match.start()) + 1)
            definitions[macro.name] = (*definitions.get(macro.name, ()), macro)
    return definitions


def macro_at(form: ir.TranslationUnit, name: str, file: str, line: int) -> Macro | None:
    """Return the definition of *name* that is valid at a line: the last one before it in its file, else the last in another file."""
    definitions = macros_of(form).get(name, ())
    here = [m for m in definitions if m.file == file and m.line < line]
    elsewhere = [m for m in definitions if m.file != file]
    candidates = here or elsewhere
    return candidates[-1] if candidates else None


# Assignments by the user to variables in a frame of BANG C, with C's conversions.

Bind = Callable[[FrameType, str, Any], None]
"""Sets a local of a frame to a value."""


@frozen
class Assignment:
    """An assignment that C allows: ``value`` is the new value of the target, ``make`` performs the assignment."""

    value: Typed
    make: Callable[[], None]


def assignment(target: c_syntax.Tree, assigned: Typed, scope: "FrameNames", bind: Bind) -> Assignment:
    """Return the assignment of *assigned* to *target*, converted to the target's type as in C; nothing is stored yet.

    *bind* sets a local of the frame. Raises `NoExpression` or `UsageError` if *target* is not a variable,
    element or member, or if the types do not fit; `Foreign` if the name is not a variable of the source.
    """
    match target:
        case c_syntax.Name():
            return _variable(target.text, assigned, scope, bind)
        case c_syntax.Item() | c_syntax.Prefix(op="*"):
            element = value_of(target, scope)
            return _through(element.place, assigned, element)
        case c_syntax.MemberAccess():
            return _member(target, assigned, scope)
    raise c_syntax.NoExpression("only a variable, an element or a member is given a value")


def in_cell(raw: object, kind: t.Type, local: ir.Local | None) -> bool:
    """Return whether *raw* is the cell of the variable *local*; a plain pointer variable may hold the cell to which it points."""
    plain = isinstance(kind, t.Pointer) and local is not None and local.storage is ir.Storage.VALUE
    return isinstance(raw, Cell) and not plain


def _variable(name: str, assigned: Typed, scope: "FrameNames", bind: Bind) -> Assignment:
    held, local = scope.find(name), scope.local(name)
    variable = scope.variable(name)
    if local is not None:
        space, held_as = scope.frame.f_locals, local.name
    elif variable is not None:
        space, held_as = scope.frame.f_globals, variable.called
    else:
        raise c_syntax.Foreign(f"{name} is not a variable of the source")
    raw = space[held_as]
    reference = local is not None and t.refers(local.type)
    aside = held.place is not None or in_cell(raw, held.type, local)
    # A value with storage of its own keeps the storage, so that pointers to it see the new value.
    if isinstance(held.type, t.Struct) or reference or aside:
        return _through(raw, assigned, held)
    value = _fit(assigned, held)

    def put() -> None:
        if local is None:
            space[held_as] = value
            return
        bind(scope.frame, local.name, value)
        # The cached casts belong to the old value; None makes the code cast again.
        for cast in kept_casts(local.name, list(space)):
            bind(scope.frame, cast, None)

    return Assignment(evolve(held, value=value), put)


def _through(pointer: Any, assigned: Typed, target: Typed) -> Assignment:
    """Return the assignment to the target of *pointer*."""
    value = _fit(assigned, target)

    def put() -> None:
        if isinstance(target.type, t.Struct):
            getattr(pointer, "here", pointer).assign(value)
        else:
            pointer[0] = value

    return Assignment(evolve(target, value=value), put)


def _member(target: c_syntax.MemberAccess, assigned: Typed, scope: "FrameNames") -> Assignment:
    member, base = value_of(target, scope), value_of(target.base, scope).value
    if isinstance(member.type, t.Struct):
        return _through(member.value, assigned, member)
    value = _fit(assigned, member)
    attribute = t.attribute_of(target.name)
    return Assignment(
        evolve(member, value=value), lambda: setattr(getattr(base, "here", base), attribute, value)
    )


def _fit(assigned: Typed, target: Typed) -> Any:
    """Return *assigned* converted to the type of *target*."""
    to, assigned = target.type, decayed(assigned)
    if isinstance(to, t.Arithmetic) and isinstance(assigned.type, t.Arithmetic):
        return scalars.converted(assigned.number, to)
    if isinstance(to, t.Pointer) and isinstance(assigned.type, t.Pointer):
        return _pointer(assigned, to, target)
    if isinstance(to, t.Struct) and isinstance(assigned.type, t.Struct) and to.name == assigned.type.name:
        return assigned.value
    if isinstance(to, t.Array):
        raise c_syntax.NoExpression(
            f"{target.text} is an array; give its elements values, as {target.text}[0]"
        )
    if isinstance(to, t.Pointer) and isinstance(assigned.type, t.Arithmetic) and assigned.number == 0:
        return _null(to)
    raise c_syntax.NoExpression(f"{target.text} has type {to}, and the value {assigned.type}")


def _pointer(assigned: Typed, to: t.Pointer, target: Typed) -> Any:
    if isinstance(assigned.value, RegisterAddress):
        raise UsageError(f"{assigned.value.text} is kept in a register, so that nothing can point to it here")
    if assigned.value is None:
        return _null(to)
    assert isinstance(assigned.type, t.Pointer)
    if assigned.type.to != to.to and not isinstance(to.to, t.Void):
        raise c_syntax.NoExpression(f"{target.text} has type {to}, and the value {assigned.type}; cast it")
    return assigned.value


def _null(to: t.Pointer) -> Any:
    return (
        NULL.cast(layout(to.to, lambda address, _: address, {})) if isinstance(to.to, t.Arithmetic) else NULL
    )


_NOTHING = object()  # the value of a name that has no value in a frame
Position = tuple[int, int]  # a line and a column, which count from 1


@define(eq=False, slots=False)
class FunctionNames:
    """A function of the sources and the scopes of its names, shared by all of its frames."""

    function: ir.Function
    module: ir.TranslationUnit

    @property
    def returns_nothing(self) -> bool:
        """True for a function that returns ``void``."""
        return isinstance(self.function.result, t.Void)

    @cached_property
    def written(self) -> dict[str, list[ir.Local]]:
        """The variables by their names in the source, in the order of the source."""
        by_name: dict[str, list[ir.Local]] = {}
        for local in sorted(self.function.locals, key=lambda v: v.span[1:3]):
            if local.source_name:
                by_name.setdefault(local.source_name, []).append(local)
        return by_name

    def lines_of(self, name: str) -> list[int]:
        """Return the lines that declare a variable called *name*."""
        return sorted({v.span.line for v in self.written.get(name, ())})

    @cached_property
    def _declared(self) -> dict[ir.Local, ir.Span]:
        return {s.local: s.span for s in walk(self.function.body) if isinstance(s, ir.Declare)}

    def meant(self, frame: FrameType) -> dict[str, ir.Local]:
        """Return the variable to which each name refers at the position of *frame*: in scope, and already declared, as in C.

        While the declaration of a variable is executed, its name still refers to an outer variable.
        """
        # There is one entry per code unit of two bytes; f_lasti is -1 before the first.
        place = next(islice(frame.f_code.co_positions(), max(frame.f_lasti, 0) // 2, None))
        line, end_line, column, end_column = (number or 0 for number in place)
        at = (line or frame.f_lineno, column + 1)  # columns of Python count from 0
        end = (end_line or at[0], end_column + 1)
        # Of the variables in scope, the innermost comes last.
        return {name: v for name, vs in self.written.items() for v in vs if self._reaches(v, at, end)}

    def at_line(self, code: CodeType, line: int | None) -> dict[str, ir.Local]:
        """Return the variable to which each name refers somewhere on *line*, or at the start of the function (None)."""
        if line is None:
            return {name: v for name, vs in self.written.items() for v in vs if v.parameter}
        places = {p for p in code.co_positions() if p[0] == line and p[2] is not None}
        ends = [((p[0] or 0, (p[2] or 0) + 1), (p[1] or 0, (p[3] or 0) + 1)) for p in places]
        pairs = [(name, v) for name, vs in self.written.items() for v in vs]
        return {name: v for name, v in pairs if any(self._reaches(v, at, end) for at, end in ends)}

    def _reaches(self, local: ir.Local, at: Position, end: Position) -> bool:
        """Return whether *local* is in scope in the text from *at* to *end*."""
        if local.parameter:
            return True
        block, declared = local.block, self._declared.get(local, local.span)
        if block is not None and not block[1:3] <= at < block[3:5]:
            return False
        # The whole expansion of a macro has the position of its invocation.
        in_macro = block == declared and (at, end) == (declared[1:3], declared[3:5])
        return in_macro or at >= declared[3:5]


_names_of = lru_cache(maxsize=64)(FunctionNames)


@define(eq=False, slots=False)
class FrameNames:
    """The names in a frame: locals and variables at file scope, with their C types.

    With *beyond*, locals that are no longer in scope are included with their last value.
    """

    frame: FrameType
    names: FunctionNames
    extra: Mapping[str, Any] = field(factory=dict)
    beyond: bool = False

    @property
    def module(self) -> ir.TranslationUnit:
        """The translation unit that contains the function."""
        return self.names.module

    @cached_property
    def _meant(self) -> dict[str, ir.Local]:
        meant = self.names.meant(self.frame)
        if not self.beyond:
            return meant
        held = self.frame.f_locals
        return {n: v for n, vs in self.names.written.items() for v in vs if v.name in held} | meant

    def struct(self, name: str) -> t.Struct | None:
        """Return the struct called *name*."""
        structs = self.module.structs
        # The name may be that of a template without its arguments.
        named = (r for r in structs.values() if r.name.partition("<")[0] == name)
        return structs[name] if name in structs else next(named, None)

    def is_type(self, name: str) -> bool:
        """Return whether *name* is a type in the source."""
        return self.type_called(name) is not None

    def type_called(self, name: str) -> t.Type | None:
        """Return the type called *name*: a struct, an enumeration, or the type of a variable that was declared with this name."""
        struct = self.struct(name)
        if struct is not None:
            return struct
        numbers = self.module.enumerations.get(name)
        if numbers is not None:
            return t.Arithmetic(name, "int" if min(numbers.values(), default=0) < 0 else "uint", 4)
        # A typedef's name is only found in the declarations that use it.
        every = (v for f in self.module.functions.values() for v in f.locals)
        return next((v.type for v in every if v.spelling.removeprefix("const ") == name), None)

    def functions(self, name: str) -> list[ir.Function]:
        """Return the functions of the source called *name*."""
        return functions_called(name, self.module)

    def types(self) -> dict[str, str]:
        """Return the types of the variables that have a value here, as spelled in the source, by source name."""
        held = self.frame.f_locals
        return {name: v.spelling for name, v in self._meant.items() if v.name in held}

    def values(self) -> dict[str, Any]:
        """Return the values of these variables, by source name."""
        held = self.frame.f_locals
        return {name: held[v.name] for name, v in self._meant.items() if v.name in held}

    def value_of(self, tree: c_syntax.Tree) -> Typed:
        """Return the value of the expression *tree* in this frame."""
        return value_of(tree, self)

    def assignment(self, tree: c_syntax.Tree, value: Typed, bind: Bind) -> Assignment:
        """Return the assignment of *value* to the target *tree*: a variable, an element or a member."""
        return assignment(tree, value, self, bind)

    @staticmethod
    def of_python(value: object, text: str = "") -> Typed:
        """Return a Python value with its C type."""
        return Typed(value, _type_of(value), None, text)

    def find(self, name: str) -> Typed:
        """Return the variable called *name*. Raises `NoExpression` if there is none."""
        local = self.local(name)
        if local is not None:
            raw = self.frame.f_locals.get(local.name, _NOTHING)
            if raw is _NOTHING:
                raise c_syntax.NotInScope(f"{name} has no value yet")
            value = raw.v if in_cell(raw, local.type, local) else raw
            return _held(value, local.type, local.source_name)
        variable = self.variable(name)
        value = self.frame.f_globals.get(name if variable is None else variable.called)
        if variable is not None and value is not None:
            return _held(value.v if isinstance(value, Cell) else value, variable.type, name)
        if value is None or callable(value):
            value = self.extra.get(name)
        return self._without_place(name) if value is None else self.of_python(value, name)

    def variable(self, name: str) -> ir.Global | None:
        """Return the variable at file scope called *name*, or None."""
        return next((g for g in self.module.globals.values() if g.name == name), None)

    def _without_place(self, name: str) -> Typed:
        """Return the value of *name* as a macro or an enumerator. Raises `NoExpression` that explains any other name."""
        lines = self.names.lines_of(name)
        if lines:
            raise c_syntax.NotInScope(self._out_of_scope(name, lines))
        macro = self.macro(name)
        if macro is not None and macro.parameters is None and macro.body:
            return self.value_of(self._parsed(macro.expanded()))
        number = self._enumerator(name)
        if number is not None:
            return number
        if self.functions(name):
            types = " and ".join(dict.fromkeys(function_type(f) for f in self.functions(name)))
            raise c_syntax.NoExpression(f"{name} is a function, {types}; call it with its arguments")
        raise c_syntax.Foreign(f"name {name!r} is not defined; `info locals` lists what there is")

    def _out_of_scope(self, name: str, lines: Sequence[int]) -> str:
        where = " and of line ".join(map(str, lines))
        return (
            f"{name} of line {where} is not in scope here; `info locals` lists what is, "
            "`info locals all` the last values of the rest"
        )

    def _enumerator(self, name: str) -> Typed | None:
        """Return the value of an enumerator, named as ``HEAVY``, ``Mode::HEAVY`` or ``ns::HEAVY``; None for another name."""
        within, _, plain = name.rpartition("::")
        for kind, numbers in self.module.enumerations.items():
            if plain in numbers and (
                not within or within in (kind, kind.rpartition("::")[0]) or kind.endswith(f"::{within}")
            ):
                return Typed(numbers[plain], self.type_called(kind) or t.INT32)
        return None

    def call(self, tree: c_syntax.CallOf) -> Typed:
        """Return the result of a function call or macro invocation. Raises `Foreign` if the source has neither."""
        if any(f.name == tree.name for f in self.module.functions.values()) or self.macro(tree.name) is None:
            result = called(tree.name, [self.value_of(a) for a in tree.arguments], self)
            if result is not None:
                return result
        macro = self.macro(tree.name)
        if macro is None or macro.parameters is None:
            raise c_syntax.Foreign(f"the source has no function {tree.name!r}; `info functions` lists them")
        return self.value_of(self._parsed(macro.expanded(tree.texts)))

    def macro(self, name: str) -> Macro | None:
        """Return the macro called *name* as defined at the position of the frame."""
        return macro_at(self.module, name, self.frame.f_code.co_filename, self.frame.f_lineno)

    def _parsed(self, text: str) -> c_syntax.Tree:
        return c_syntax.parse_c(text, self.is_type)

    def local(self, name: str) -> ir.Local | None:
        """Return the local to which *name* refers here, or None."""
        return self._meant.get(name)


class FileNames(FrameNames):
    """The names of the kernel's file while no function is running: types, enumerators, macros, functions."""

    def __init__(self, names: FunctionNames, extra: Mapping[str, Any]) -> None:
        code = SimpleNamespace(co_filename=names.module.path)
        nowhere: Any = SimpleNamespace(f_locals={}, f_globals={}, f_code=code, f_lineno=1 << 30)
        super().__init__(nowhere, names, extra)

    @property
    def _meant(self) -> dict[str, ir.Local]:
        return {}

    def _out_of_scope(self, name: str, lines: Sequence[int]) -> str:
        del lines
        return f"{name} is a variable of {self.names.function.name}, and no task is in a function here"


@frozen(eq=False)
class Scopes:
    """Resolves names in the functions of *plans*; plans may be added later."""

    plans: "Sequence[LinkPlan]"

    def function(self, code: CodeType) -> FunctionNames | None:
        """Return the names of the function whose code object is *code*; None if it is in no plan."""
        for part in (part for plan in self.plans for part in plan.parts):
            for symbol, compiled in part.code.items():
                if compiled is code:
                    return _names_of(part.file.form.functions[symbol], part.file.form)
        return None

    def visible(self, code: CodeType, line: int | None) -> list[str]:
        """Return the variables in scope on *line* of a function, or at its start (None), and those at file scope."""
        names = self.function(code)
        if names is None:
            return []
        return [*names.at_line(code, line), *(g.name for g in names.module.globals.values())]

    def refused(self, text: str, code: CodeType, line: int | None) -> str:
        """Return the reason why the C expression *text* cannot have a value on *line* of a function (None: its start), or ""."""
        names = self.function(code)
        if names is None:
            return ""
        here, outside = names.at_line(code, line), FileNames(names, {})

        def of(name: str) -> t.Type | None:
            outer = next((g.type for g in names.module.globals.values() if g.name == name), None)
            if name in here or outer is not None:
                return here[name].type if name in here else outer
            lines = names.lines_of(name)
            if not lines:
                return None
            where = f"line {line}" if line is not None else f"the first line of {names.function.name}"
            raise c_syntax.NotInScope(
                f"{name} of line {' and of line '.join(map(str, lines))} is not in scope at {where}"
            )

        try:
            static_type(c_syntax.parse_c(text, outside.is_type), of)
        except c_syntax.Foreign:
            return ""
        except c_syntax.NoExpression as reason:
            return str(reason)
        return ""

    def outside(self, extra: Mapping[str, Any] | None = None) -> FileNames | None:
        """Return the names of the kernel's file, with the additional names *extra*."""
        for plan in self.plans:
            for part in plan.parts:
                kernel = part.file.form.functions.get(plan.symbol)
                if kernel is not None:
                    return FileNames(_names_of(kernel, part.file.form), extra or {})
        return None

    def knows(self, name: str) -> bool:
        """Return whether the sources have a function, a macro or an enumerator called *name*."""
        forms = (part.file.form for plan in self.plans for part in plan.parts)
        return any(
            name in macros_of(form)
            or functions_called(name, form)
            or any(name.rpartition("::")[2] in numbers for numbers in form.enumerations.values())
            for form in forms
        )

    def names(self) -> Iterator[str]:
        """Yield the names of callable functions, of types and enumerators, and of macros in the sources' own files."""
        for form in (part.file.form for plan in self.plans for part in plan.parts):
            yield from (f.name for f in form.functions.values() if f.kind == "device" and not f.external)
            yield from (
                name for name, definitions in macros_of(form).items() if definitions[-1].file == form.path
            )
            yield from (*form.structs, *form.enumerations)
            yield from (name for numbers in form.enumerations.values() for name in numbers)

    def frame(
        self, frame: FrameType, extra: Mapping[str, Any] | None = None, *, beyond: bool = False
    ) -> FrameNames | None:
        """Return the names in a *frame* of a function of the sources, with those of *extra*; None for other frames."""
        names = self.function(frame.f_code)
        return None if names is None else FrameNames(frame, names, extra or {}, beyond)


def function_type(function: ir.Function) -> str:
    """Return the type of a function as C writes it: ``int (int, Part *)``."""
    return f"{function.result} ({', '.join(p.spelling for p in function.parameters) or 'void'})"


def _held(value: object, kind: t.Type, text: str) -> Typed:
    """Return the content of a variable: of a reference its referent, of an array a pointer to its first element."""
    if t.refers(kind):
        if isinstance(kind.to, t.Struct | t.ClassType):
            return Typed(value, kind.to, value, text)
        if isinstance(value, Ptr):
            return Typed(value[0], kind.to, value, text)
        return Typed(value.v if isinstance(value, Cell) else _shown(value, kind.to), kind.to, None, text)
    if isinstance(kind, t.Array | t.Struct | t.ClassType):
        return Typed(value, kind, value, text)
    if isinstance(value, Ptr) and isinstance(kind, t.Arithmetic):
        return Typed(value[0], kind, value, text)
    return Typed(_shown(value, kind), kind, None, text)


def _shown(value: Any, kind: t.Type) -> Any:
    return value[0] if not isinstance(kind, t.Pointer) and hasattr(value, "here") else value


def _type_of(value: object) -> t.Type:
    """Return the C type of a Python value."""
    if isinstance(value, bool):
        return t.BOOL
    if isinstance(value, int):
        return t.INT32 if t.INT32.low <= value <= t.INT32.high else t.INT64
    if isinstance(value, float):
        return t.FLOAT
    if isinstance(value, Ptr):
        numbers = (kind for kind, dtype in t.DTYPE_OF.items() if dtype is value.dtype and kind is not t.BOOL)
        return t.Pointer(next(numbers))
    return t.VOID
