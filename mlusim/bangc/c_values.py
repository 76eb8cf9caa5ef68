"""Evaluates C expressions in a frame of BANG C: C's types and conversions over the values of variables, and calls of functions without side effects."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from attrs import frozen

from mlusim.bangc import c_syntax, ir, names, scalars, types as t
from mlusim.bangc.ir.walk import innermost, walk
from mlusim.bangc.runtime.layouts import NULL, StructPointer
from mlusim.bangc.runtime.pointers import Address
from mlusim.bangc.runtime.resolve import layout
from mlusim.bangc.runtime.variables import Cell
from mlusim.counted import plural, with_article
from mlusim.errors import UsageError, shown_file
from mlusim.memory.pointer import Ptr

if TYPE_CHECKING:
    from mlusim.bangc.c_scope import FrameNames


@frozen
class RegisterAddress:
    """The address of a variable or member that a compiler keeps in a register instead of memory."""

    text: str
    type: str
    value: Any

    def __repr__(self) -> str:
        return f"&{self.text} ({self.type}, kept in a register): {self.value!r}"


class Truth(int):
    """A bool, shown as in C++."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "true" if self else "false"


class Letter(int):
    """A char, shown with its letter: ``97 'a'``."""

    __slots__ = ()
    _ESCAPES: ClassVar = {0: "\\0", 9: "\\t", 10: "\\n", 13: "\\r", 39: "\\'", 92: "\\\\"}

    @classmethod
    def of(cls, value: Any, kind: t.Type) -> Any:
        """Return *value* with its letter if *kind* is a char type and the value is a printable ASCII character, else *value*.

        Quantised numbers have type char too, so other values are shown as numbers only.
        """
        char = kind in (t.INT8, t.UINT8) and isinstance(value, int | np.integer)
        return cls(value) if char and (32 <= value < 127 or int(value) in cls._ESCAPES) else value

    def __repr__(self) -> str:
        return f"{int(self)} '{self._ESCAPES.get(int(self), chr(self))}'"


class Enumerator(int):
    """A value of an enumeration, with the name of its enumerator."""

    name = ""

    @classmethod
    def of(cls, value: Any, names: Mapping[str, int]) -> "Enumerator | int":
        """Return *value* with its name among *names*, or the plain number if it has none."""
        name = next((n for n, number in names.items() if number == value), None)
        if name is None:
            return int(value)
        enumerator = cls(value)
        enumerator.name = name
        return enumerator

    def __repr__(self) -> str:
        return f"{self.name} ({int(self)})"


@frozen
class Typed:
    """A value and its type; ``place`` is a pointer to it if it lies in memory, ``text`` the expression that named it."""

    value: Any
    type: t.Type
    place: Any = None
    text: str = ""

    @property
    def shown(self) -> Any:
        """The value in the form in which it is shown."""
        return Truth(self.value) if self.type == t.BOOL else Letter.of(self.value, self.type)

    @property
    def number(self) -> Any:
        """The value as a Python number."""
        if not isinstance(self.type, t.Arithmetic):
            return self.value
        convert = {"float": float, "bool": bool}.get(self.type.kind, int)
        return convert(self.value)


# -- the static type of a tree ------------------------------------------------------------------------


def static_type(tree: c_syntax.Tree, of: Callable[[str], t.Type | None]) -> t.Type | None:
    """Return the type of *tree*, or None if it is unknown; *of* returns the type of a variable.

    Raises `NoExpression` for an operation that these types do not allow: a missing member, an element of a
    number, a struct as an operand.
    """
    match tree:
        case c_syntax.Number():
            return tree.type
        case c_syntax.Name():
            kind = of(tree.text)
            return None if kind is None else t.referent(kind)
        case c_syntax.Prefix(op="&"):
            kind = static_type(tree.operand, of)
            return None if kind is None else t.Pointer(kind.of if isinstance(kind, t.Array) else kind)
        case c_syntax.Prefix(op="*"):
            return _element_type(static_type(tree.operand, of), "*")
        case c_syntax.Prefix():
            return _operand(static_type(tree.operand, of), tree.op)
        case c_syntax.Infix():
            _operand(static_type(tree.left, of), tree.op)
            _operand(static_type(tree.right, of), tree.op)
        case c_syntax.Choice():
            _operand(static_type(tree.test, of), "?")
            static_type(tree.then, of)
            static_type(tree.other, of)
        case c_syntax.Item():
            static_type(tree.index, of)
            return _element_type(static_type(tree.base, of), "[]")
        case c_syntax.MemberAccess():
            return _member_type(tree, static_type(tree.base, of))
    return None


def _member_type(tree: c_syntax.MemberAccess, kind: t.Type | None) -> t.Type | None:
    kind = kind.to if tree.arrow and isinstance(kind, t.Pointer) else kind
    if isinstance(kind, t.Struct):
        return _member(kind, tree.name).type
    if isinstance(kind, t.Arithmetic | t.Array | t.Pointer):
        raise c_syntax.NoExpression(f"a value of type {kind} has no member {tree.name}")
    return None


def _element_type(kind: t.Type | None, what: str) -> t.Type | None:
    if isinstance(kind, t.Array | t.Pointer):
        return kind.of if isinstance(kind, t.Array) else kind.to
    if isinstance(kind, t.Arithmetic | t.Struct):
        raise c_syntax.NoExpression(f"a value of type {kind} is not a pointer, as {what} wants")
    return None


def _operand(kind: t.Type | None, op: str) -> t.Type | None:
    if isinstance(kind, t.Struct):
        raise c_syntax.NoExpression(
            f"{op} takes numbers and pointers, and this is a {kind.name}; name one of its members"
        )
    return None


# -- the value of a tree ----------------------------------------------------------------------------


def value_of(tree: c_syntax.Tree, scope: "FrameNames") -> Typed:
    """Return the value of *tree*. Raises `NoExpression` or `UsageError` if it has none."""
    match tree:
        case c_syntax.Number():
            return Typed(tree.value, tree.type)
        case c_syntax.Name():
            return scope.find(tree.text)
        case c_syntax.Prefix():
            return _prefix(tree, scope)
        case c_syntax.Infix():
            return _infix(tree, scope)
        case c_syntax.Choice():
            chosen = tree.then if _truth(value_of(tree.test, scope)) else tree.other
            return value_of(chosen, scope)
        case c_syntax.Cast() | c_syntax.CSizeOf():
            return _of_type(tree, scope)
        case c_syntax.Item():
            index = decayed(value_of(tree.index, scope))
            return _item(decayed(value_of(tree.base, scope)), index, "[]")
        case c_syntax.MemberAccess():
            return _part(tree, scope)
        case c_syntax.CallOf():
            return scope.call(tree)


def _of_type(tree: c_syntax.Cast | c_syntax.CSizeOf, scope: "FrameNames") -> Typed:
    if isinstance(tree, c_syntax.Cast):
        return _cast(value_of(tree.operand, scope), named_type(tree.type, scope))
    what = tree.what
    kind = named_type(what, scope) if isinstance(what, c_syntax.TypeName) else value_of(what, scope).type
    # sizeof gives a size_t of 8 bytes, so that the arithmetic around it is unsigned.
    return Typed(kind.size, t.UINT64)


def _prefix(tree: c_syntax.Prefix, scope: "FrameNames") -> Typed:
    if tree.op == "&":
        return _address(value_of(tree.operand, scope))
    operand = decayed(value_of(tree.operand, scope))
    if tree.op == "*":
        return _item(operand, Typed(0, t.INT32), "*")
    if tree.op == "!":
        return Typed(not _truth(operand), t.BOOL)
    # C++ computes in int or wider: a char is promoted before it is negated.
    kind = scalars.promoted(_scalar(operand, tree.op))
    value = scalars.converted(operand.number, kind)
    if tree.op == "~":
        if not kind.whole:
            raise c_syntax.NoExpression(f"~ takes an integer, and {operand.type} is not one")
        return Typed(kind.wrapped(~value), kind)
    return Typed(scalars.converted(-value if tree.op == "-" else value, kind), kind)


def _infix(tree: c_syntax.Infix, scope: "FrameNames") -> Typed:
    left = decayed(value_of(tree.left, scope))
    if tree.op in ("&&", "||"):
        # As in C++, the right side is not evaluated if the left side decides.
        decided = _truth(left) == (tree.op == "||")
        return Typed(_truth(left) if decided else _truth(value_of(tree.right, scope)), t.BOOL)
    right = decayed(value_of(tree.right, scope))
    if isinstance(left.type, t.Pointer) or isinstance(right.type, t.Pointer):
        return _of_pointers(tree.op, left, right)
    a, b = _scalar(left, tree.op), _scalar(right, tree.op)
    if tree.op in scalars.SHIFTS:
        within = scalars.promoted(a)
        result = scalars.compute(tree.op, scalars.converted(left.number, within), right.number, within)
    else:
        within = scalars.usual(a, b)
        x, y = scalars.converted(left.number, within), scalars.converted(right.number, within)
        if tree.op in scalars.COMPARE:
            return Typed(scalars.compare(tree.op, x, y), t.BOOL)
        if within.kind == "float" and scalars.BINARY[tree.op].real is None:
            raise c_syntax.NoExpression(f"{tree.op} takes integers, and {within} is not one")
        result = scalars.compute(tree.op, x, y, within)
    if result is None:
        raise UsageError(f"{left.number} {tree.op} {right.number} is undefined in C")
    return Typed(result, within)


def _of_pointers(op: str, left: Typed, right: Typed) -> Typed:
    if op in scalars.COMPARE:
        if op in ("==", "!=") and (_nowhere(left) or _nowhere(right)):
            return Typed((left.value is right.value) == (op == "=="), t.BOOL)
        return Typed(scalars.compare(op, _address_value(left), _address_value(right)), t.BOOL)
    both = isinstance(left.type, t.Pointer) and isinstance(right.type, t.Pointer)
    if both and op == "-":
        return Typed(left.value - right.value, t.INT64)
    # In C, n + p equals p + n.
    if op == "+" and isinstance(right.type, t.Pointer) and not both:
        left, right = right, left
    if both or op not in "+-" or not isinstance(left.type, t.Pointer):
        raise c_syntax.NoExpression(f"{op} takes no pointers")
    # A pointer of the run-time library counts innermost elements.
    count = int(right.number) * t.elements_in(left.type.to)
    return Typed(left.value + count if op == "+" else left.value - count, left.type)


def _nowhere(operand: Typed) -> bool:
    """Return whether *operand* is a pointer to a value in a register, which equals only itself."""
    value = operand.value
    return (
        isinstance(operand.type, t.Pointer)
        and value is not None
        and not isinstance(value, Ptr | Address | StructPointer)
    )


def _address_value(pointer: Typed) -> int:
    return 0 if pointer.value is None else int(getattr(pointer.value, "address", pointer.value))


def decayed(operand: Typed) -> Typed:
    """Return an array as a pointer to its first element; other operands unchanged."""
    if isinstance(operand.type, t.Array):
        return Typed(operand.value, t.Pointer(operand.type.of), None, operand.text)
    return operand


def _item(base: Typed, index: Typed, what: str) -> Typed:
    if not isinstance(base.type, t.Pointer):
        raise _refused(
            base, f"{base.text or 'the operand'} of type {base.type} is not a pointer, as {what} wants"
        )
    if base.value is None or not isinstance(index.number, int):
        raise UsageError("an element of the null pointer" if base.value is None else "an index is an integer")
    kind = base.type.to
    # The address &x of a variable in a register can be dereferenced, but has no neighbouring elements.
    if isinstance(base.value, RegisterAddress) and not index.number:
        return Typed(base.value.value, kind, None, base.value.text)
    if isinstance(base.value, RegisterAddress):
        raise UsageError(f"{base.value.text} is kept in a register, and nothing is beside it")
    text = f"{base.text}[{index.number}]" if what == "[]" else f"*{base.text}"
    if isinstance(kind, t.Void):
        raise c_syntax.NoExpression("a void * has no elements; cast it")
    place = base.value + index.number * t.elements_in(kind) if index.number else base.value
    if isinstance(kind, t.Array):
        return Typed(place, kind, place, text)
    if isinstance(kind, t.Struct):
        # A pointer to structs points to their bytes; `here` is the struct that they contain.
        here = getattr(place, "here", place)
        return Typed(here, kind, place, text)
    return Typed(base.value[index.number], kind, place, text)


def _part(tree: c_syntax.MemberAccess, scope: "FrameNames") -> Typed:
    base = value_of(tree.base, scope)
    kind = base.type
    if tree.arrow and isinstance(kind, t.Pointer):
        kind = kind.to
    if not isinstance(kind, t.Struct):
        raise _refused(base, f"{base.text or 'the operand'} of type {base.type} has no members")
    member = _member(kind, tree.name)
    holder = getattr(base.value, "here", base.value)
    if holder is None:
        raise UsageError("a member of the null pointer")
    attribute = t.attribute_of(member.name)
    value = getattr(holder, attribute)
    raw = holder.field(attribute) if hasattr(holder, "field") else None
    text = f"{base.text}{'->' if tree.arrow else '.'}{tree.name}"
    return Typed(value, member.type, raw, text)


def _member(kind: t.Struct, name: str) -> t.Field:
    """Return the member called *name*. Raises `NoExpression` if there is none."""
    member = next((f for f in kind.fields if f.name == name), None)
    if member is None:
        raise c_syntax.NoExpression(
            f"{kind.name} has no member {name}; its members: {', '.join(f.name for f in kind.fields)}"
        )
    return member


def _address(operand: Typed) -> Typed:
    """Return ``&x``, the address of an operand that has one."""
    if isinstance(operand.type, t.Array | t.Struct) and operand.value is not None:
        kind = operand.type.of if isinstance(operand.type, t.Array) else operand.type
        return Typed(operand.value, t.Pointer(kind))
    if operand.place is not None:
        return Typed(operand.place, t.Pointer(operand.type))
    if not operand.text:
        raise c_syntax.NoExpression("& takes a variable, an element or a member")
    return Typed(RegisterAddress(operand.text, str(operand.type), operand.value), t.Pointer(operand.type))


def named_type(name: c_syntax.TypeName, scope: "FrameNames") -> t.Type:
    """Return the type called *name*. Raises `NoExpression` if there is none."""
    words = name.name
    # C++ allows the words of a type in any order; the table has one order.
    ordered = " ".join(sorted(words.split(), key=lambda w: w not in ("signed", "unsigned")))
    plain = ordered.removeprefix("signed ") if ordered not in c_syntax.SCALARS else ordered
    kind: t.Type | None = (
        t.VOID
        if words == "void"
        else c_syntax.SCALARS.get(plain.removesuffix(" int") if plain not in c_syntax.SCALARS else plain)
    )
    kind = kind or scope.type_called(words)
    if kind is None:
        raise c_syntax.NoExpression(f"{words} is not a type that the debugger knows")
    for _ in range(name.stars):
        kind = t.Pointer(kind)
    return kind


def _cast(operand: Typed, to: t.Type) -> Typed:
    operand = decayed(operand)
    if isinstance(to, t.Arithmetic):
        if isinstance(operand.type, t.Pointer):
            return Typed(scalars.converted(_address_value(operand), to), to)
        return Typed(scalars.converted(operand.number, to) if _scalar(operand, "a cast") else None, to)
    if not isinstance(to, t.Pointer) or not isinstance(operand.type, t.Pointer):
        raise c_syntax.NoExpression(f"{operand.type} is not cast to {to} here")
    # A cast to void * or of null keeps the value: there are no elements to reinterpret.
    if isinstance(to.to, t.Void) or operand.value is None or isinstance(operand.value, RegisterAddress):
        return Typed(operand.value, to, None, operand.text)
    seen = layout(to.to, lambda address, _: address, {})
    caster = getattr(seen, "of", None)
    return Typed(
        operand.value.cast(seen) if caster is None else caster(operand.value), to, None, operand.text
    )


def _refused(operand: Typed, reason: str) -> c_syntax.NoExpression:
    """Return the error for *operand*: `Foreign` for a Python value, with which Python may be able to compute."""
    return c_syntax.Foreign(reason) if isinstance(operand.type, t.Void) else c_syntax.NoExpression(reason)


def _truth(operand: Typed) -> bool:
    return bool(decayed(operand).value)


def _scalar(operand: Typed, op: str) -> t.Arithmetic:
    if not isinstance(operand.type, t.Arithmetic):
        raise _refused(
            operand,
            f"{op} takes numbers, and {operand.text or 'its operand'} is {with_article(str(operand.type))}",
        )
    return operand.type


# Calls of the sources' functions in debugger expressions; only functions that change nothing but their own
# variables may be called.


def functions_called(name: str, form: ir.TranslationUnit) -> list[ir.Function]:
    """Return the device functions to which a call of *name* may refer."""
    return [
        f
        for f in form.functions.values()
        if f.kind != "host" and (name in (f.name, f.scope + f.name) or f.name.partition("<")[0] == name)
    ]


def called(name: str, arguments: Sequence[Typed], scope: "FrameNames") -> Typed | None:
    """Call the function *name* of the source and return its result; None if there is no such function.

    Raises `NoExpression` if no function of that name takes these arguments, and `UsageError` if the function
    has side effects or is not reached from the kernel.
    """
    every = functions_called(name, scope.module)
    if not every:
        return None
    fitting = [f for f in every if len(f.parameters) == len(arguments)]
    if not fitting:
        counts = " or ".join(dict.fromkeys(str(len(f.parameters)) for f in every))
        raise c_syntax.NoExpression(
            f"{name} takes {counts} {plural(len(every[0].parameters), 'argument')}, not {len(arguments)}"
        )
    best = min(_distance(f, arguments) for f in fitting)
    chosen = [f for f in fitting if _distance(f, arguments) == best]
    if len(chosen) > 1:
        where = ", ".join(f"{shown_file(f.span.file)}:{f.span.line}" for f in chosen)
        raise c_syntax.NoExpression(f"{name} may be any of the functions at {where}; cast the arguments")
    function = chosen[0]
    # The text of the function decides, not a trial call, whose changes to the machine could not be undone.
    reason = _effect(function, scope.module, set())
    if reason:
        raise UsageError(f"{function.name} {reason}; an expression of the debugger changes nothing")
    code = scope.frame.f_globals.get(names.of_function(function.symbol))
    if code is None:
        raise UsageError(f"the kernel does not reach {function.name}, so it cannot be called here")
    values = [_argument(argument, p) for argument, p in zip(arguments, function.parameters, strict=True)]
    value = code(*values)
    kind = function.result
    if t.refers(kind):
        kind, value = kind.to, value[0]
    return Typed(value, kind, value if isinstance(kind, t.Struct) else None, f"{name}()")


def _distance(function: ir.Function, arguments: Sequence[Typed]) -> int:
    """Return how many arguments differ in type from their parameter."""
    return sum(
        str(decayed(argument).type) != str(t.referent(p.type))
        for argument, p in zip(arguments, function.parameters, strict=True)
    )


def _argument(argument: Typed, parameter: ir.Local) -> Any:
    """Return *argument* converted to the type of *parameter*."""
    to = parameter.type
    reference, kind, argument = t.refers(to), t.referent(to), decayed(argument)
    name = parameter.source_name or parameter.name
    if isinstance(kind, t.Arithmetic) and isinstance(argument.type, t.Arithmetic):
        value = scalars.converted(argument.number, kind)
        return Cell(layout(kind, lambda address, _: address, {}), value) if reference else value
    if isinstance(kind, t.Struct) and isinstance(argument.type, t.Struct) and kind.name == argument.type.name:
        return argument.value
    same = isinstance(kind, t.Pointer) and isinstance(argument.type, t.Pointer)
    if same and not reference and (kind == argument.type or isinstance(kind.to, t.Void)):  # type: ignore[union-attr]
        return NULL if argument.value is None else argument.value
    raise c_syntax.NoExpression(
        f"parameter {name} has type {parameter.spelling}, and the value {argument.type}; cast it"
    )


# -- functions without side effects ------------------------------------------------------------------


def _effect(function: ir.Function, form: ir.TranslationUnit, asked: set[str]) -> str:
    """Return a description of the first side effect of *function*, with its line; "" if it has none."""
    asked.add(function.symbol)
    if function.problem is not None or function.external:
        return "is not defined in a file that was loaded"
    for node in walk(function.body):
        what = _changes(node, form, asked)
        if what:
            return what if " of " in what else f"{what} at {shown_file(node.span.file)}:{node.span.line}"
    return ""


def _changes(node: object, form: ir.TranslationUnit, asked: set[str]) -> str:
    """Return a description of the side effect of one node, or ""."""
    match node:
        case ir.Assign() | ir.Update():
            return "" if _own(node.place) else "stores to what is not its own"
        case ir.Declare():
            in_memory = node.local.storage in (ir.Storage.STATIC, ir.Storage.MEMORY)
            return f"declares memory, {node.local.source_name}," if in_memory else ""
        case ir.Call():
            callee = form.functions.get(node.symbol)
            if callee is None:
                return f"calls {node.name}, which is in another file,"
            # A recursive call adds nothing: the function is already being examined.
            return "" if callee.symbol in asked else _effect(callee, form, asked)
        case ir.LibraryCall():
            # Functions of numbers only compute; a function with a pointer parameter or no result has side
            # effects.
            numbers = all(isinstance(a.type, t.Arithmetic) for a in node.arguments)
            plain = numbers and not isinstance(node.type, t.Void)
            return "" if plain else f"calls {node.name}"
        case ir.IntrinsicCall():
            return f"executes {node.row}"
        case ir.Invoke() | ir.Dispatch() | ir.Asm():
            return "calls what is known only as it runs"
    return ""


def _own(place: ir.Place) -> bool:
    """Return whether *place* is a variable of the function, or a member of such a variable."""
    whole = innermost(place)
    if not isinstance(whole, ir.LocalStorage):
        return False
    local = whole.local
    reference = isinstance(local.type, t.Pointer) and local.type.reference
    # The caller's own struct, which the debugger passes by reference.
    from_caller = whole is not place and local.parameter
    return not (reference or from_caller) and local.storage in (ir.Storage.VALUE, ir.Storage.CELL)
