"""A whole file: which functions it has, in which specialisations, and each of them lowered."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from mlusim.frontend.bangc import ir, types as t
from mlusim.frontend.bangc.errors import ERROR, Diagnostic, excerpt_of
from mlusim.frontend.bangc.ir.walk import falls
from mlusim.frontend.bangc.lower import arguments, calls, objects, places, statements
from mlusim.frontend.bangc.lower.conversions import convert, letters
from mlusim.frontend.bangc.lower.expressions import MAKERS
from mlusim.frontend.bangc.lower.places import settle
from mlusim.frontend.bangc.lower.scope import (
    Captures,
    FunctionScope,
    Surroundings,
    Untranslatable,
    element_of,
    fixed_words,
    number,
)
from mlusim.frontend.bangc.parse.nodes import Declaration, Node
from mlusim.frontend.bangc.parse.unit import ParsedFile, broken_in, referred

_NAMED = ("FUNCTION_DECL", "CXX_METHOD")  # what a form has the signatures of, on the host
_SPACES = ("nram", "wram", "sram", "ldram")


class LoweredFunction(FunctionScope):
    """One function while it is lowered, with all kinds of expressions."""

    def value(self, node: Node) -> ir.Expr:
        """Return the value of *node*."""
        maker = MAKERS.get(node.kind)
        if maker is None:
            word = node.kind.removesuffix("_EXPR").removeprefix("CXX_").lower().replace("_", " ")
            return self.refuse(
                word, f"this kind of expression ({word}) is not supported; write it another way", node.span
            )
        made: ir.Expr = maker(self, node)
        return made

    def valued(self, node: Node, to: t.Type) -> ir.Expr:
        """Return the value of *node* as one of type *to*."""
        return convert(self, self.value(node), to, node.span)

    def call(self, node: Node) -> ir.Expr:
        """Return a call; its type is a reference where the function returns one."""
        return calls.call(self, node)


class Lowering:
    """The lowering of one file."""

    def __init__(self, unit: ParsedFile) -> None:
        self.unit = unit
        types = unit.reader.types
        self.module = ir.TranslationUnit(
            unit.path, includes=unit.includes, records=types.records, enumerations=types.enumerations
        )
        self.as_bytes: set[str] = set()
        self._work: deque[Declaration] = deque()
        self._asked: set[str] = set()
        self._of_host: dict[int, Declaration] = {}  # functions that the host runs, by their identity
        self._without: dict[str, Untranslatable] = {}  # variables whose initial value does not translate
        self.around = Surroundings(unit, self.need, self.variable, self.as_bytes)

    def run(self) -> ir.TranslationUnit:
        """Lower the kernels and device functions of the file, those requested, and what they reach; of the host's the signatures."""
        for declaration in (*self.unit.functions, *self.unit.requested.values()):
            # Lambdas are among them: only the function around one knows what is captured.
            if kind_of(declaration) == "host":
                self._host(declaration)
            else:
                self.need(declaration)
        while self._work or arguments.fill_dispatches(self.around):
            while self._work:
                self._function(self._work.popleft())
        settle(self.module.functions.values(), self.as_bytes)
        return self.module

    def _host(self, first: Declaration) -> None:
        """Note *first* and the functions of the host that it reaches; have the kernels lowered that they launch."""
        work = [first]
        while work:
            declaration = work.pop()
            found = declaration.definition or declaration
            if id(found) in self._of_host:
                continue
            self._of_host[id(found)] = found
            kind = kind_of(found)
            if kind == "kernel":
                self.need(found)
                continue
            own = not found.of_lambda and not found.from_prelude and found.kind in _NAMED
            if kind == "host" and own and found.symbol not in self.module.functions:
                self.module.functions[found.symbol] = self._signature(found)
            work += referred(self.unit.reader, found)

    def _signature(self, declaration: Declaration) -> ir.Function:
        """Return a function of the host, which the compiler has the body of."""
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
        """Have a function lowered; its symbol."""
        found = declaration.definition or declaration  # calls may name a declaration before it
        if found.symbol not in self._asked:
            self._asked.add(found.symbol)
            self._work.append(found)
        return found.symbol

    # -- functions -----------------------------------------------------------------------------

    def _too_deep(self, span: ir.Span) -> ir.TranslationProblem:
        excerpt = excerpt_of(self.unit.text_of(span.file), span.line, span.column)
        return ir.TranslationProblem("nesting", "this function is nested too deeply", span, excerpt)

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
            parameters += [scope.add(p, parameter=True) for p in declaration.parameters]
            if broken is not None:
                problem = _problem(broken)
            elif not external and declaration.body is not None:
                first = _members(scope, declaration) if declaration.kind == "CONSTRUCTOR" else []
                body = (*first, *statements.body(scope, declaration.body))
                if declaration.kind == "DESTRUCTOR":
                    body = _ended(scope, body, declaration)
                body = (*scope.hidden, *body, *_unreturned(declaration, body))
        except Untranslatable as refused:
            problem, body = refused.problem, ()
        except RecursionError:  # this code goes as deep as the source is nested
            problem = self._too_deep(declaration.span)
        self.module.functions[declaration.symbol] = ir.Function(
            declaration.title,
            declaration.symbol,
            kind_of(declaration) if scope.captures is None else "device",
            tuple(parameters),
            tuple(scope.locals),
            declaration.result,
            body,
            declaration.span,
            problem,
            external,
            declaration.variadic,
            scope=declaration.scope,
        )

    def _captures(self, declaration: Declaration) -> Captures:
        """Return the captures of a lambda, known since the function around it was lowered."""
        parent = declaration.parent
        kind = parent.type if parent is not None else None
        known = self.around.closures.get(kind.name) if isinstance(kind, t.Record) else None
        return known or Captures()

    # -- variables at file scope ---------------------------------------------------------------

    def variable(self, declaration: Declaration) -> ir.Global:
        """Return the variable at file scope that *declaration* declares."""
        found = self.module.globals.get(declaration.symbol)
        if found is None:
            whole = declaration.definition or declaration
            space = next((a for a in whole.annotations if a in _SPACES), "")
            found = ir.Global(declaration.name, declaration.symbol, whole.type, space, whole.span)
            # A mutable member of a const object may be stored to.
            if "const" in whole.annotations or (whole.constant and not self.unit.reader.mutable(whole.type)):
                found.fixed = fixed_words(whole)
            found.alone = all(g.name != found.name for g in self.module.globals.values())
            self.module.globals[declaration.symbol] = found
            initial = whole.initialiser
            if initial is not None and not (space and self._default(initial)):
                try:
                    self._initial(found, initial)
                except Untranslatable as refused:
                    self._without[declaration.symbol] = refused
        if declaration.symbol in self._without:
            raise self._without[declaration.symbol]
        return found

    def _default(self, initial: Node) -> bool:
        """Return whether *initial* is the constructor that every class has, and gives no member a value."""
        target = initial.decl if initial.kind == "CALL_EXPR" and not initial.children else None
        if target is None or target.kind != "CONSTRUCTOR":
            return False
        kind = initial.type
        while isinstance(kind, t.Array):
            kind = kind.of
        return not arguments.acts(target) and not (
            isinstance(kind, t.Record) and self.unit.reader.member_values(kind)
        )

    def _initial(self, made: ir.Global, initial: Node) -> None:
        scope = LoweredFunction(self.around, t.VOID)
        if made.space == "sram" or (made.space and isinstance(element_of(made.type), t.Record)):
            what = (
                "a variable that cores share" if made.space == "sram" else "a structure in memory of a core"
            )
            scope.refuse(
                "initial value", f"{what} cannot have an initial value; assign it in the kernel", initial.span
            )
        if isinstance(made.type, t.Array | t.Record) and initial.kind == "INIT_LIST_EXPR":
            value: ir.Expr = objects.compose(scope, initial, made.type)
        else:
            value = arguments.argument(scope, initial, made.type)  # a reference is bound
        if scope.locals:
            value = self._function_of(made, scope, value)
        if isinstance(value, ir.Text) and isinstance(made.type, t.Array):
            if made.space:
                value = letters(value.value, made.type, made.span)
            else:
                # The last zero is every text's own.
                value.value = value.value.ljust(made.type.count - 1, "\0")
        flat = list(_flat(value, made.type))
        if all(v is not None for v in flat):
            made.initial = tuple(flat)
        elif made.space:
            scope.refuse(
                "initial value",
                f"{made.name} is in device memory; give it constants as initial values",
                initial.span,
            )
        else:
            self.module.initialisers[made.symbol] = value

    def _function_of(self, made: ir.Global, scope: FunctionScope, value: ir.Expr) -> ir.Call:
        """Return a call of a function that makes the value of a variable: one with objects that the source does not name."""
        symbol = f"{made.alias}_value"
        body: tuple[ir.Statement, ...] = (*scope.hidden, ir.Return(value, made.span))
        self.module.functions[symbol] = ir.Function(
            made.name, symbol, "device", (), tuple(scope.locals), made.type, body, made.span
        )
        return ir.Call(symbol, made.name, (), made.type, made.span)


def _flat(value: ir.Expr | None, kind: t.Type) -> list[Any]:
    """Return the scalars of a value in order of memory; None for one that is no constant."""
    if isinstance(kind, t.Record) and kind.union:
        return [None]
    if isinstance(kind, t.Array | t.Record):
        parts = [kind.of] * kind.count if isinstance(kind, t.Array) else [f.type for f in kind.fields]
        if value is not None and not isinstance(value, ir.Compose):
            return [None]
        given = () if value is None else value.values
        flat: list[Any] = []
        for n, part in enumerate(parts):
            flat += _flat(given[n] if n < len(given) else None, part)
        return flat
    if value is None:
        return [0]
    return [value.value if isinstance(value, ir.Const) else None]


def _problem(broken: Diagnostic) -> ir.TranslationProblem:
    """Return an error of the compiler as the problem of the function that it is in."""
    file, line, column = broken.file, broken.line, broken.column
    return ir.TranslationProblem(
        ERROR, broken.message, ir.Span(file, line, column, line, column), broken.below
    )


def kind_of(declaration: Declaration) -> str:
    """Return one of "kernel", "device" and "host"."""
    if "global" in declaration.annotations:
        return "kernel"
    return "device" if "device" in declaration.annotations else "host"


def _unreturned(declaration: Declaration, body: tuple[ir.Statement, ...]) -> tuple[ir.Statement, ...]:
    """Return the fault of a function whose result is missing, where its end may be reached: C++ leaves that undefined."""
    kind = declaration.result
    # C++ lets main end without a return.
    special = declaration.title == "main" or declaration.kind in ("CONSTRUCTOR", "DESTRUCTOR")
    if special or isinstance(kind, t.Void) or not falls(body):
        return ()
    file, _, _, line, column = declaration.span
    span = ir.Span(file, line, max(1, column - 1), line, column)  # the brace at the end
    text = ir.Text(f"{declaration.title} ends without a return of its {kind}", t.Pointer(t.INT8), span)
    return (ir.Evaluate(ir.LibraryCall("__mlusim_unreturned", (text,), t.VOID, span), span),)


def _ended(
    scope: FunctionScope, body: tuple[ir.Statement, ...], declaration: Declaration
) -> tuple[ir.Statement, ...]:
    """Return the body of a destructor, and the ends of the members behind it."""
    assert scope.this is not None
    kind, span = scope.this.type, declaration.span
    assert isinstance(kind, t.Pointer)
    assert isinstance(kind.to, t.Record)
    last = objects.ending_of_parts(scope, kind.to, _object(scope.this, kind, span), span)
    body = (*becoming(scope, kind, declaration), *body)
    return (ir.Finally(body, last, span),) if last else body


def _this(scope: FunctionScope, declaration: Declaration) -> ir.Local:
    parent = declaration.parent
    kind = parent.type if parent is not None else t.VOID
    local = ir.Local("this", "this", t.Pointer(kind), f"{kind} *", declaration.span, parameter=True)
    scope.locals.append(local)
    scope.this = local
    return local


def _object(this: ir.Local, kind: t.Pointer, span: ir.Span) -> ir.Element:
    """Return the object that ``this``, of type *kind*, points to."""
    return ir.Element(
        ir.Load(ir.LocalStorage(this, kind, span), kind, span), number(0, t.INT64, span), kind.to, span
    )


def _members(scope: FunctionScope, declaration: Declaration) -> list[ir.Statement]:
    """Lower the base and the members of an object that a constructor makes, as it says or as they are declared."""
    assert scope.this is not None
    kind = scope.this.type
    assert isinstance(kind, t.Pointer)
    assert isinstance(kind.to, t.Record)
    scope.refuse_hidden(kind.to, declaration.span)
    parent = declaration.parent
    own: dict[str, Node] = {}
    made: list[ir.Statement] = []
    nodes = iter(declaration.initialisers)
    for node in nodes:
        if node.kind == "CALL_EXPR":
            # It delegates to another constructor of the class, which does all.
            if node.decl is not None and node.decl.parent is parent:
                return _base(scope, node)
            made += _base(scope, node)
            continue
        if node.kind == "INIT_LIST_EXPR" and isinstance(node.type, t.Record):
            made += _plain_base(scope, node, node.type)
            continue
        value = next(nodes, None) if node.kind == "MEMBER_REF" else None
        if value is None:
            scope.refuse(
                "member initialiser",
                "this member initialiser is not supported; assign the member in the body",
                node.span,
            )
        own[scope.around.unit.reader.text(node)] = value
    base = kind.to.bases[0] if kind.to.bases else None
    constructor = None if base is None or made else objects.constructor_of(scope, base)
    if constructor is not None:
        span = declaration.span
        here = ir.Load(ir.LocalStorage(scope.this, kind, span), kind, span)
        made.append(ir.Evaluate(objects.construct(scope, constructor, here, span), span))
    initialised = bool(made)
    made += becoming(scope, kind, declaration)
    done = {f.name for f in base.fields} if base is not None and initialised else set()
    return [*made, *_assigned(scope, kind, own, done, declaration.span)]


def becoming(scope: FunctionScope, kind: t.Pointer, declaration: Declaration) -> list[ir.Statement]:
    """Set the object's class where a constructor or a destructor begins, whatever class is around it."""
    assert isinstance(kind.to, t.Record)
    if not kind.to.virtual:
        return []
    assert scope.this is not None
    span = declaration.span
    here = ir.Load(ir.LocalStorage(scope.this, kind, span), kind, span)
    return [ir.Evaluate(arguments.become(here, kind.to, span), span)]


def _assigned(
    scope: FunctionScope, kind: t.Pointer, own: Mapping[str, Node], done: set[str], span: ir.Span
) -> Iterator[ir.Statement]:
    """Yield the assignments to the members of ``this`` that are not *done*: their values in *own*, or where they are declared."""
    assert scope.this is not None
    assert isinstance(kind.to, t.Record)
    usual = scope.around.unit.reader.member_values(kind.to)
    for field in kind.to.fields:
        given = own.get(field.name, usual.get(field.name))
        if field.name in done or (given is None and not objects.has_values(scope, field.type)):
            continue
        if given is None:
            first = objects.made(scope, field.type, span)
        else:
            span = given.span
            first = arguments.argument(scope, given, field.type)  # a reference is bound
        at = ir.Member(_object(scope.this, kind, span), field.name, field.offset, field.type, span)
        yield ir.Evaluate(ir.Assign(at, first, field.type, span), span)


def _base(scope: FunctionScope, node: Node) -> list[ir.Statement]:
    """Lower the constructor of a base class, which has the same object: its members lie in it."""
    target, this = node.decl, scope.this
    assert this is not None
    if target is None:
        return []
    if target.makes_copy and target.implicit:
        return _copied_base(scope, node, moved=target.takes_temporary)
    if not arguments.acts(target):
        return []
    given = arguments.passed(scope, node, target, [c for c in node.children if c.type is not None])
    here = ir.Load(ir.LocalStorage(this, this.type, node.span), this.type, node.span)
    made = ir.Call(scope.around.need(target), target.title, (here, *given), t.VOID, node.span)
    return [ir.Evaluate(made, node.span)]


def _copied_base(scope: FunctionScope, node: Node, *, moved: bool) -> list[ir.Statement]:
    """Lower a base class that the compiler copies: its members, which lie in the object."""
    this, span = scope.this, node.span
    assert this is not None
    here = convert(
        scope, ir.Load(ir.LocalStorage(this, this.type, span), this.type, span), t.Pointer(node.type), span
    )
    to = ir.Element(here, number(0, t.INT64, span), node.type, span)
    given = next(c for c in node.children if c.type is not None)
    made = objects.filled_by_copy(scope, to, places.place(scope, given), node.type, span, moved=moved)
    return [ir.Evaluate(one, span) for one in made]


def _plain_base(scope: FunctionScope, node: Node, kind: t.Record) -> list[ir.Statement]:
    """Lower a base class without a constructor: the values of its members, which lie in the object."""
    given = objects.compose(scope, node, kind)
    assert isinstance(given, ir.Compose)
    assert scope.this is not None
    of, made = scope.this.type, list[ir.Statement]()
    assert isinstance(of, t.Pointer)
    for field, value in zip(kind.fields, given.values, strict=False):
        at = ir.Member(_object(scope.this, of, node.span), field.name, field.offset, field.type, node.span)
        made.append(ir.Evaluate(ir.Assign(at, value, field.type, node.span), node.span))
    return made


def lower(unit: ParsedFile) -> tuple[ir.TranslationUnit, set[str]]:
    """*unit* in the intermediate form, and the records whose destructors, of templates, are to be asked for.

    What does not translate has a problem and no body.
    """
    lowering = Lowering(unit)
    return lowering.run(), lowering.around.hidden
