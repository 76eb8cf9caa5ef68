"""Lowers a whole file: finds its functions and template instances, and lowers each."""

import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from mlusim.bangc import ir, types as t
from mlusim.bangc.errors import ERROR, Diagnostic, excerpt_of
from mlusim.bangc.form_checks import MOST_CONSTANT
from mlusim.bangc.ir.walk import falls, name_lines
from mlusim.bangc.lower import arguments, bits, calls, objects, places, statements
from mlusim.bangc.lower.conversions import convert, letters
from mlusim.bangc.lower.expressions import MAKERS
from mlusim.bangc.lower.places import settle
from mlusim.bangc.lower.scope import (
    Captures,
    FunctionScope,
    Surroundings,
    Untranslatable,
    first_at,
    fixed_words,
    local_value,
)
from mlusim.bangc.parse.nodes import Declaration, Node
from mlusim.bangc.parse.unit import ParsedFile, broken_in, referred
from mlusim.counted import counted

_NAMED = ("FUNCTION_DECL", "CXX_METHOD")  # host functions whose signatures a form has
_SPACES = ("nram", "wram", "sram", "ldram")


class LoweredFunction(FunctionScope):
    """A function during its lowering, with all kinds of expressions."""

    def value(self, node: Node) -> ir.Expr:
        """Return the value of *node*."""
        maker = MAKERS.get(node.kind)
        if maker is None:
            word = node.kind.removesuffix("_EXPR").removeprefix("CXX_").lower().replace("_", " ")
            return self.refuse(
                word, f"this kind of expression ({word}) is not supported; write it another way", node.span
            )
        value: ir.Expr = maker(self, node)
        return value

    def valued(self, node: Node, to: t.Type) -> ir.Expr:
        """Return the value of *node*, converted to type *to*."""
        return convert(self, self.value(node), to, node.span)

    def call(self, node: Node) -> ir.Expr:
        """Lower a call; its type is a reference if the function returns one."""
        return calls.call(self, node)

    def statement(self, node: Node) -> list[ir.Statement]:
        """Lower one statement."""
        return statements.statement(self, node)

    def loop_parts(self, node: Node) -> tuple[Node | None, Node | None, ir.Expr | None]:
        """Return the initialisation of a loop, its test, and its step, lowered."""
        return statements.loop_parts(self, node)


class Lowering:
    """The lowering of one file."""

    def __init__(self, unit: ParsedFile) -> None:
        self.unit = unit
        types = unit.reader.types
        self.module = ir.TranslationUnit(
            unit.path, includes=unit.includes, structs=types.structs, enumerations=types.enumerations
        )
        self.as_bytes: set[str] = set()
        self._work: deque[Declaration] = deque()
        self._asked: set[str] = set()
        self._of_host: dict[int, Declaration] = {}  # host functions, by identity
        self._without: dict[str, Untranslatable] = {}  # variables whose initial value does not translate
        self.around = Surroundings(unit, self.need, self.variable, self.as_bytes)

    def run(self) -> ir.TranslationUnit:
        """Lower the file's kernels and device functions, the requested instances and everything they reach; of host functions the signatures."""
        for declaration in (*self.unit.functions, *self.unit.requested.values()):
            # Lambdas come last: their captures are known only after the enclosing function.
            if kind_of(declaration) == "host":
                self._host(declaration)
            else:
                self.need(declaration)
        while self._work or arguments.fill_dispatches(self.around):
            while self._work:
                self._function(self._work.popleft())
        settle(self.module.functions.values(), self.as_bytes)
        name_lines(
            self.module,
            {p: self.unit.text_of(p) for p in self.unit.includes if not self.unit.reader.is_prelude(p)},
        )
        return self.module

    def _host(self, first: Declaration) -> None:
        """Record *first* and the host functions that it reaches, and request the kernels that they launch."""
        work = [first]
        while work:
            declaration = work.pop()
            definition = declaration.definition or declaration
            if id(definition) in self._of_host:
                continue
            self._of_host[id(definition)] = definition
            kind = kind_of(definition)
            if kind == "kernel":
                self.need(definition)
                continue
            named = not definition.of_lambda and not definition.from_prelude and definition.kind in _NAMED
            if kind == "host" and named and definition.symbol not in self.module.functions:
                self.module.functions[definition.symbol] = self._signature(definition)
            work += referred(self.unit.reader, definition)

    def _signature(self, declaration: Declaration) -> ir.Function:
        """Return a host function's signature; the host compiler translates the body."""
        parameters = [
            ir.Local(p.name or "unnamed", p.name, p.type, p.spelling, p.span, parameter=True)
            for p in declaration.parameters
        ]
        if arguments.takes_this(declaration):
            parameters.insert(0, _this(LoweredFunction(self.around, t.VOID), declaration))
        broken = broken_in(declaration, self.unit.broken)
        return ir.Function(
            declaration.title,
            declaration.symbol,
            "host",
            tuple(parameters),
            (),
            declaration.result,
            (),
            declaration.span,
            None if broken is None else _problem(broken),
            declaration.body is None and not declaration.defined and broken is None,
            declaration.variadic,
            declaration.body_span,
            declaration.scope,
        )

    def need(self, declaration: Declaration) -> str:
        """Request the lowering of a function, and return its symbol."""
        definition = declaration.definition or declaration  # a call may refer to an earlier declaration
        if definition.symbol not in self._asked:
            self._asked.add(definition.symbol)
            self._work.append(definition)
        return definition.symbol

    # -- functions -----------------------------------------------------------------------------

    def _function(self, declaration: Declaration) -> None:
        scope = LoweredFunction(self.around, declaration.result, declaration.symbol)
        if declaration.of_lambda:
            scope.captures = self._captures(declaration)
        parameters: list[ir.Local] = []
        body: tuple[ir.Statement, ...] = ()
        problem: ir.TranslationProblem | None = None
        broken = broken_in(declaration, self.unit.broken)
        external = declaration.body is None and not declaration.defined and broken is None
        try:
            if arguments.takes_this(declaration):
                parameters.append(_this(scope, declaration))
            scope.kernel = kind_of(declaration) == "kernel"
            parameters += [scope.add(p, parameter=True) for p in declaration.parameters]
            if broken is not None:
                problem = _problem(broken)
            elif not external and declaration.body is not None:
                body = _body(scope, declaration, declaration.body)
        except Untranslatable as refused:
            problem, body = refused.problem, ()
        except RecursionError:  # this code recurses as deep as the source is nested
            span = declaration.span
            excerpt = excerpt_of(self.unit.text_of(span.file), span.line, span.column)
            problem = ir.TranslationProblem("nesting", "this function is nested too deeply", span, excerpt)
        self.module.functions[declaration.symbol] = ir.Function(
            declaration.title,
            declaration.symbol,
            kind_of(declaration) if scope.captures is None else "device",
            tuple(parameters),
            tuple(parameters if problem is not None else scope.locals),
            declaration.result,
            body,
            declaration.span,
            problem,
            external,
            declaration.variadic,
            scope=declaration.scope,
            end=(declaration.body_span or declaration.span).end_line,
        )

    def _captures(self, declaration: Declaration) -> Captures:
        """Return the captures of a lambda, known after the enclosing function was lowered."""
        parent = declaration.parent
        kind = parent.type if parent is not None else None
        captures = self.around.closures.get(kind.name) if isinstance(kind, t.Struct) else None
        return captures or Captures()

    # -- variables at file scope ---------------------------------------------------------------

    def variable(self, declaration: Declaration, symbol: str = "") -> ir.Global:
        """Return the variable of *declaration*, at file scope or in GDRAM; *symbol* is used if the declaration has none."""
        key = symbol or declaration.symbol
        variable = self.module.globals.get(key)
        if variable is None:
            variable = self._new_variable(declaration.definition or declaration, key)
        if key in self._without:
            raise self._without[key]
        return variable

    def _new_variable(self, whole: Declaration, symbol: str) -> ir.Global:
        space = next((a for a in whole.annotations if a in _SPACES), "")
        if not space and not whole.from_prelude and {"device", "const"} & {*whole.annotations}:
            space = ir.GDRAM if _has_bytes(whole.type) else ""  # else a constant, or refused below
        variable = ir.Global(whole.name, symbol, whole.type, space, whole.span)
        # A mutable member of a const object may be stored to.
        if "const" in whole.annotations or (whole.constant and not self.unit.reader.mutable(whole.type)):
            variable.fixed = fixed_words(whole)
        variable.copied = "const" in whole.annotations and (
            whole.initialiser is None or self._reaches_symbols
        )
        variable.alone = all(g.name != variable.name for g in self.module.globals.values())
        self.module.globals[symbol] = variable
        initial = whole.initialiser
        try:
            if not space and whole.type.size > MOST_CONSTANT:
                text = f"{whole.name} has {counted(whole.type.size, 'byte')}, more than the {MOST_CONSTANT:,} that code may hold; declare it __mlu_const__, or pass a pointer"
                LoweredFunction(self.around, t.VOID).refuse("variable", text, whole.span)
            _refuse_own(LoweredFunction(self.around, t.VOID), whole, variable)
            if space:
                variable.align = LoweredFunction(self.around, t.VOID).alignment(whole)
            if initial is not None and not (space and self._default(initial)):
                self._initial(variable, initial)
        except Untranslatable as refused:
            self._without[symbol] = refused
        return variable

    @cached_property
    def _reaches_symbols(self) -> bool:
        """Return whether the file's host code may copy to device variables or take their addresses."""
        paths = (path for path in self.unit.includes if not self.unit.reader.is_prelude(path))
        return any(re.search(r"\bcnrt\w+Symbol", self.unit.text_of(path)) for path in paths)

    def _default(self, initial: Node) -> bool:
        """Return whether *initial* calls the default constructor, and that gives no member a value."""
        target = initial.decl if initial.kind == "CALL_EXPR" and not initial.children else None
        if target is None or target.kind != "CONSTRUCTOR":
            return False
        kind = t.element_of(initial.type)
        return not arguments.acts(target) and not (
            isinstance(kind, t.Struct) and self.unit.reader.member_values(kind)
        )

    def _initial(self, variable: ir.Global, initial: Node) -> None:
        scope = LoweredFunction(self.around, t.VOID)
        on_core = variable.space and variable.space != ir.GDRAM
        if variable.space == "sram" or (on_core and isinstance(t.element_of(variable.type), t.Struct)):
            what = (
                "a variable that cores share"
                if variable.space == "sram"
                else "a structure in memory of a core"
            )
            scope.refuse(
                "initial value", f"{what} cannot have an initial value; assign it in the kernel", initial.span
            )
        value = objects.initial(scope, initial, variable.type)
        if scope.locals:
            value = self._function_of(variable, scope, value)
        if isinstance(value, ir.Text) and isinstance(variable.type, t.Array):
            if variable.space or variable.type.of.size > 1:
                value = letters(value.value, variable.type, variable.span)
            else:
                # The terminating zero belongs to every text.
                value.value = value.value.ljust(variable.type.count - 1, "\0")
        flat = _flat(value, variable.type)
        if all(v is not None for v in flat):
            variable.initial = tuple(flat)
        elif variable.space == ir.GDRAM and variable.fixed:
            # No task changes it, so each task may have a copy; it needs to be in GDRAM only if it is copied
            # from.
            variable.space, self.module.initialisers[variable.symbol] = "", value
        elif variable.space:
            scope.refuse(
                "initial value",
                f"{variable.name} is in device memory; give it constants as initial values",
                initial.span,
            )
        else:
            self.module.initialisers[variable.symbol] = value

    def _function_of(self, variable: ir.Global, scope: FunctionScope, value: ir.Expr) -> ir.Call:
        """Return a call of a generated function that computes a variable's value, which needs temporary objects."""
        symbol = f"{variable.alias}_value"
        body: tuple[ir.Statement, ...] = (*scope.hidden, ir.Return(value, variable.span))
        self.module.functions[symbol] = ir.Function(
            variable.name, symbol, "device", (), tuple(scope.locals), variable.type, body, variable.span
        )
        return ir.Call(symbol, variable.name, (), variable.type, variable.span)


def _refuse_own(scope: FunctionScope, declaration: Declaration, variable: ir.Global) -> None:
    """Refuse a __mlu_device__ variable that cannot lie in device memory: every task would have its own copy."""
    if (
        variable.space
        or variable.fixed
        or declaration.from_prelude
        or "device" not in declaration.annotations
    ):
        return
    text = f"{variable.name} is in device memory, where a {variable.type} cannot lie; declare numbers, pointers or plain structures of them"
    scope.refuse("device variable", text, declaration.span)


def _has_bytes(kind: t.Type) -> bool:
    """Return whether values of *kind* are stored as bytes in memory."""
    inner = t.element_of(kind)
    if isinstance(inner, t.Struct):
        return not inner.virtual and all(_has_bytes(f.type) for f in inner.fields)
    return isinstance(inner, t.Arithmetic) or (isinstance(inner, t.Pointer) and not inner.reference)


def _flat(value: ir.Expr | None, kind: t.Type) -> list[Any]:
    """Return the leading scalars of a value in order of memory (the rest are zeros); None stands for a scalar that is not constant."""
    if not isinstance(kind, t.Array | t.Struct):
        return [] if value is None else [value.value if isinstance(value, ir.Const) else None]
    if (isinstance(kind, t.Struct) and kind.union) or not isinstance(value, ir.Compose | None):
        return [None]
    scalars: list[Any] = []
    before = 0
    for n, element in enumerate(() if value is None else value.values):
        part = kind.of if isinstance(kind, t.Array) else kind.fields[n].type
        scalars += [0] * (before - len(scalars))
        scalars += _flat(element, part)
        before += _scalars_of(part)
    return scalars


def _scalars_of(kind: t.Type) -> int:
    """Return the number of numbers and pointers in a value of *kind*."""
    if isinstance(kind, t.Array):
        return kind.count * _scalars_of(kind.of)
    return sum(_scalars_of(f.type) for f in kind.fields) if isinstance(kind, t.Struct) else 1


def _problem(broken: Diagnostic) -> ir.TranslationProblem:
    """Return a compiler error as the problem of the function that contains it."""
    file, line, column = broken.file, broken.line, broken.column
    return ir.TranslationProblem(
        ERROR, broken.message, ir.Span(file, line, column, line, column), broken.below
    )


def kind_of(declaration: Declaration) -> str:
    """Return whether a declaration is for "kernel", "device" or "host"."""
    if "global" in declaration.annotations:
        return "kernel"
    return "device" if "device" in declaration.annotations else "host"


def _body(scope: FunctionScope, declaration: Declaration, node: Node) -> tuple[ir.Statement, ...]:
    """Lower the body *node* of a function, with what it does before and after its statements."""
    first = _members(scope, declaration) if declaration.kind == "CONSTRUCTOR" else []
    body = (*first, *statements.body(scope, node))
    if declaration.kind == "DESTRUCTOR":
        body = _ended(scope, body, declaration)
    return (*scope.hidden, *body, *_unreturned(declaration, body))


def _unreturned(declaration: Declaration, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return the fault of a function that may end without a result, which is undefined in C++."""
    kind = declaration.result
    # C++ allows main to end without a return.
    special = declaration.title == "main" or declaration.kind in ("CONSTRUCTOR", "DESTRUCTOR")
    if special or isinstance(kind, t.Void) or not falls(body):
        return ()
    file, _, _, line, column = declaration.span
    span = ir.Span(file, line, max(1, column - 1), line, column)  # the closing brace
    text = ir.Text(f"{declaration.title} ends without a return of its {kind}", span)
    return (ir.Evaluate(ir.LibraryCall("__mlusim_unreturned", (text,), t.VOID, span), span),)


def _ended(
    scope: FunctionScope, body: tuple[ir.Statement, ...], declaration: Declaration
) -> tuple[ir.Statement, ...]:
    """Return the body of a destructor, followed by the destructors of members and bases."""
    this, kind, span = _object(scope, declaration.span)
    last = objects.ending_of_parts(scope, kind, first_at(this, span), span)
    body = (*_becoming(this, kind, span), *body)
    return (ir.Finally(body, last, span),) if last else body


def _this(scope: FunctionScope, declaration: Declaration) -> ir.Local:
    parent = declaration.parent
    kind = parent.type if parent is not None else t.VOID
    local = ir.Local("this", "this", t.Pointer(kind), f"{kind} *", declaration.span, parameter=True)
    scope.locals.append(local)
    scope.this = local
    return local


def _object(scope: FunctionScope, span: ir.Span) -> tuple[ir.Expr, t.Struct, ir.Span]:
    """Return ``this``, the class of its object, and *span*."""
    assert scope.this is not None
    assert isinstance(scope.this.type, t.Pointer)
    assert isinstance(scope.this.type.to, t.Struct)
    return local_value(scope.this, span), scope.this.type.to, span


def _members(scope: FunctionScope, declaration: Declaration) -> list[ir.Statement]:
    """Lower the initialisers of a constructor: of the base and the members, as listed or as declared in the class."""
    this, kind, span = _object(scope, declaration.span)
    values: dict[str, Node] = {}
    steps: list[ir.Statement] = []
    nodes = iter(declaration.initialisers)
    for node in nodes:
        beside = _beside(kind, node)
        if beside is not None:
            values[beside.name] = node
            continue
        if node.kind == "CALL_EXPR":
            steps += _base(scope, node)
            # A delegating constructor leaves everything to another constructor.
            if node.decl is not None and node.decl.parent is declaration.parent:
                return steps
            continue
        if node.kind == "INIT_LIST_EXPR" and isinstance(node.type, t.Struct):
            steps += _plain_base(scope, node, node.type)
            continue
        value = next(nodes, None) if node.kind == "MEMBER_REF" else None
        if value is None:
            scope.refuse(
                "member initialiser",
                "this member initialiser is not supported; assign the member in the body",
                node.span,
            )
        values[kind.called(scope.reader.text(node))] = value
    constructor = None if not kind.bases or steps else objects.constructor_of(scope, kind.bases[0])
    if constructor is not None:
        steps.append(ir.Evaluate(objects.construct(scope, constructor, this, span), span))
    fields = kind.own_fields if steps else kind.fields  # members of an initialised base are done
    return [*steps, *_becoming(this, kind, span), *_assigned(scope, fields, values, span)]


def _beside(kind: t.Struct, node: Node) -> t.Field | None:
    """Return the member that stands for a base class other than the first, if *node* initialises one; else None."""
    base = node.type if node.kind in ("CALL_EXPR", "INIT_LIST_EXPR") else None
    path = kind.part(base) if isinstance(base, t.Struct) else None
    return path[0] if path else None


def _becoming(this: ir.Expr, kind: t.Struct, span: ir.Span) -> list[ir.Statement]:
    """Set the object's class at the start of a constructor or destructor, although it may be a base of another object."""
    return [ir.Evaluate(arguments.become(this, kind, span), span)] if kind.virtual else []


def _assigned(
    scope: FunctionScope, fields: Iterable[t.Field], values: Mapping[str, Node], span: ir.Span
) -> Iterator[ir.Statement]:
    """Yield the initialisation of the members of ``this``, with *values* or with the values of their declarations."""
    this, kind, _ = _object(scope, span)
    usual = scope.reader.member_values(kind)
    for part in kind.bitfields:
        if part.name in values:
            yield from bits.begun(scope, first_at(this, span), part, values[part.name])
    for field in fields:
        node = values.get(field.name, usual.get(field.name))
        if node is not None:
            span = node.span
            first = arguments.argument(scope, node, field.type)  # a reference is bound
        elif objects.has_values(scope, field.type):
            first = objects.default_value(scope, field.type, span)
        else:
            continue
        at = ir.Member(first_at(_object(scope, span)[0], span), field, span)
        yield from (ir.Evaluate(store, span) for store in objects.member_stores(scope, at, first, span))


def _base(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower the call of a base class's constructor; the base shares the object's members."""
    target, nodes = node.decl, [c for c in node.children if c.type is not None]
    this, _, span = _object(scope, node.span)
    if target is None:
        return []
    if target.makes_copy and target.implicit:
        to = first_at(convert(scope, this, t.Pointer(node.type), span), span)
        copying = objects.Copying(scope, span, target.takes_temporary)
        return [ir.Evaluate(e, span) for e in copying.each(to, places.place(scope, nodes[0]), node.type)]
    if not arguments.acts(target):
        return []
    values = arguments.passed(scope, node, target, nodes)
    return [ir.Evaluate(scope.calling(target, (this, *values), span), span)]


def _plain_base(scope: FunctionScope, node: Node, kind: t.Struct) -> list[ir.Statement]:
    """Lower the initialisation of a base class without constructor: each of its members is initialised in the object."""
    this, _, span = _object(scope, node.span)
    whole = objects.compose(scope, node, kind)
    assert isinstance(whole, ir.Compose)
    return [
        ir.Evaluate(ir.Assign(ir.Member(first_at(this, span), field, span), value, span), span)
        for field, value in zip(kind.fields, whole.values, strict=False)
    ]


def lower(unit: ParsedFile) -> tuple[ir.TranslationUnit, set[str]]:
    """Return *unit* in the intermediate form, and the structs whose template destructors must be requested.

    A function that does not translate has a ``problem`` instead of a body.
    """
    lowering = Lowering(unit)
    return lowering.run(), lowering.around.hidden
