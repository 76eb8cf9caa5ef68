"""The state of lowering one function: its names, its locals, and its translation unit."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from attrs import define, field

from mlusim.bangc import ir, names, types as t
from mlusim.bangc.errors import excerpt_of
from mlusim.bangc.ir.walk import innermost
from mlusim.bangc.parse.nodes import CursorReader, Declaration, Node
from mlusim.bangc.parse.type_reader import ends
from mlusim.errors import shown_file

if TYPE_CHECKING:
    from mlusim.bangc.parse.unit import ParsedFile


MOST_ALIGN = 256  # bytes; allocations by host calls have no larger alignment


class Untranslatable(Exception):
    """A construct that the intermediate form lacks; it ends the lowering of the function."""

    def __init__(self, problem: ir.TranslationProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


@define(eq=False)
class Captures:
    """The captures of a lambda: the member names of its struct, by variable.

    The key of the captured ``this`` is None. Other keys are declarations, because a macro may declare several
    variables at one position.
    """

    members: dict[Declaration | None, str] = field(factory=dict)


@define(eq=False)
class Surroundings:
    """The state that all functions of a file share while they are lowered."""

    unit: "ParsedFile"
    need: Callable[[Declaration], str]  # requests a function, and returns its symbol
    variable: Callable[..., ir.Global]  # returns the variable of a declaration
    as_bytes: set[str]  # structs accessed as bytes
    hidden: set[str] = field(factory=set)  # functions that must be requested from the library by name
    dispatches: list[tuple[Any, ...]] = field(factory=list)  # virtual calls, with the class
    copying: dict[Any, bool] = field(factory=dict)  # whether copies of a class call functions
    closures: dict[str, Captures] = field(factory=dict)  # of lambdas, by the name of their struct
    # Static variables of functions, which are visible in lambdas and local classes.
    statics: dict[Declaration, ir.Local] = field(factory=dict)


@define(eq=False)
class FunctionScope(ABC):
    """A function during its lowering; the base class for the files that lower parts of it."""

    around: Surroundings
    result: t.Type
    symbol: str = ""
    this: ir.Local | None = None
    captures: Captures | None = None  # if the function is a lambda's body
    locals: list[ir.Local] = field(factory=list)
    hidden: list[ir.Declare] = field(factory=list)  # temporaries, declared at the start of the function
    loops: int = 0  # depth of loops around the current node
    kernel: bool = False
    owned: list[ir.Local] = field(factory=list)  # objects with destructors that belong to no block yet
    blocks: list[ir.Span] = field(factory=list)  # the enclosing statements that end the scope of a name
    # Temporary objects with destructors, which end with their full expression.
    loose: list[ir.Local] = field(factory=list)
    # Objects that may be the function's result, each with the flag that is set at run time if it is.
    elided: dict[ir.Local, ir.Local] = field(factory=dict)
    labels: list[list[str]] = field(factory=list)  # labels in each enclosing block
    bindings: dict[int, ir.Place] = field(factory=dict)  # places of structured bindings, by declaration
    _by_declaration: dict[int, ir.Local] = field(factory=dict)
    _names: set[str] = field(factory=set)

    @abstractmethod
    def value(self, node: Node) -> ir.Expr:
        """Return the value of *node*."""

    @abstractmethod
    def valued(self, node: Node, to: t.Type) -> ir.Expr:
        """Return the value of *node*, converted to type *to*."""

    @abstractmethod
    def call(self, node: Node) -> ir.Expr:
        """Lower a call; its type is a reference if the function returns one."""

    @abstractmethod
    def statement(self, node: Node) -> list[ir.Statement]:
        """Lower one statement."""

    @abstractmethod
    def loop_parts(self, node: Node) -> tuple[Node | None, Node | None, ir.Expr | None]:
        """Return the initialisation of a loop, its test, and its step, lowered."""

    @property
    def reader(self) -> CursorReader:
        """The reader of the file's libclang cursors."""
        return self.around.unit.reader

    def decided(self, test: Node) -> int | float | None:
        """Return the value of a constant test; None if it is not constant or has side effects."""
        value = self.reader.value(test)
        return None if value is None or self.acts(test) else value

    def acts(self, node: Node) -> bool:
        """Return whether *node* stores something or calls a function."""
        stores = node.op in ("=", "x++", "x--", "++x", "--x") or node.kind == "COMPOUND_ASSIGNMENT_OPERATOR"
        if stores or (node.kind == "CALL_EXPR" and self.reader.value(node) is None):
            return True
        return any(self.acts(child) for child in node.children)

    def refuse(self, construct: str, message: str, span: ir.Span) -> NoReturn:
        """Abort the lowering with a message about the construct at *span*."""
        text = self.around.unit.text_of(span.file) if span.file else ""
        raise Untranslatable(
            ir.TranslationProblem(construct, message, span, excerpt_of(text, span.line, span.column))
        )

    def calling(self, target: Declaration, arguments: Iterable[ir.Expr], span: ir.Span) -> ir.Call:
        """Return a call of a function of the sources."""
        return ir.Call(self.around.need(target), target.title, (*arguments,), target.result, span)

    def add(self, declaration: Declaration, *, parameter: bool = False) -> ir.Local:
        """Create the local that *declaration* declares."""
        kind = declaration.type
        self.refuse_class(kind, declaration.span)
        if parameter and ends(kind):
            if self.kernel:  # the host creates its objects
                self.refuse_destructor(kind, declaration.span)
            kind = t.Pointer(kind, reference=True)
        local = ir.Local(
            self._unique(names.free(declaration.name or "unnamed")),
            declaration.name,
            kind,
            declaration.spelling,
            declaration.span,
            parameter=parameter,
            block=self.blocks[-1] if self.blocks else None,
        )
        self._place(local, declaration)
        self._by_declaration[id(declaration)] = local
        self.locals.append(local)
        if not parameter and ends(t.element_of(kind)):
            if local.storage is ir.Storage.STATIC:
                self.refuse(
                    "destructor",
                    f"a static variable of {kind}, which has a destructor, is not supported; leave out static",
                    declaration.span,
                )
            self.owned.append(local)
        return local

    def in_gdram(self, declaration: Declaration) -> bool:
        """Return whether a local variable is ``__mlu_const__`` or ``__mlu_device__``; it is then bound to a global."""
        marks = {"device", "const"} & {*declaration.annotations}
        if not marks:
            return False
        symbol = f"{self.symbol}.{declaration.name}.{declaration.span.line}"
        try:
            variable = self.around.variable(declaration, symbol)
        except Untranslatable:
            if "const" in marks:  # a value known only in the call: the task has its own copy
                return False
            raise
        self.bindings[id(declaration)] = ir.GlobalPlace(variable, declaration.span)
        return bool(variable.space)

    def unnamed(self, declaration: Declaration) -> ir.Local:
        """Create a variable for the value of a structured binding."""
        kind = declaration.type
        self.refuse_destructor(kind, declaration.span)
        local = ir.Local(self._unique(f"{names.OWN}b"), "", kind, declaration.spelling, declaration.span)
        self._place(local, declaration)
        self.locals.append(local)
        return local

    def _place(self, local: ir.Local, declaration: Declaration) -> None:
        """Set the storage of a variable, as far as the declaration determines it."""
        words = [a for a in declaration.annotations if a in ("nram", "wram", "sram", "ldram")]
        if words:
            local.storage, local.space = ir.Storage.MEMORY, words[0]
        elif isinstance(local.type, t.Array):
            _in_array(local, local.type)
        elif isinstance(local.type, t.Struct | t.ClassType):
            local.storage = ir.Storage.CELL
        local.align = self.alignment(declaration)
        if declaration.kind == "VAR_DECL" and declaration.static:
            local.storage, local.stack = ir.Storage.STATIC, False
            local.home = f"{self.symbol}.{local.name}"
            if declaration.constant and not self.reader.mutable(local.type):
                local.fixed = fixed_words(declaration)
            self.around.statics[declaration] = local
        elif declaration.kind == "VAR_DECL" and declaration.constant:
            local.constant = fixed_words(declaration)

    def alignment(self, declaration: Declaration) -> int:
        """Return the alignment of a variable in bytes: its own, or that of its structure; else 1."""
        asked, leaf = declaration.alignment, t.element_of(declaration.type)
        if asked is None:
            text = f"the alignment of {declaration.name} is not a number that is written out; write it as in alignas(64)"
            self.refuse("alignment", text, declaration.span)
        asked = max(asked, leaf.align if isinstance(leaf, t.Struct) else 1)
        if asked > MOST_ALIGN:
            text = f"{declaration.name} has an alignment of {asked}; up to {MOST_ALIGN} are kept"
            self.refuse("alignment", text, declaration.span)
        return asked

    def local(self, declaration: Declaration) -> ir.Local | None:
        """Return the local of *declaration*, or None."""
        return self._by_declaration.get(id(declaration))

    def knows(self, declaration: Declaration) -> bool:
        """Return whether *declaration* is a variable of this function, or captured by this lambda."""
        held = self.captures is not None and declaration in self.captures.members
        return held or id(declaration) in self._by_declaration

    def static(self, declaration: Declaration) -> ir.Local | None:
        """Return a local for a static variable of the function around this lambda or local class."""
        home = self.around.statics.get(declaration)
        if home is None:
            return None
        local = ir.Local(
            self._unique(names.free(home.source_name)), home.source_name, home.type, home.spelling, home.span
        )
        local.storage, local.space, local.home = ir.Storage.STATIC, home.space, home.home
        local.fixed, local.align = home.fixed, home.align
        self._by_declaration[id(declaration)] = local
        self.locals.append(local)
        self.hidden.append(ir.Declare(local, None, home.span))  # the other function initialises it
        return local

    @property
    def this_type(self) -> t.Type | None:
        """The type of ``this`` as in the source."""
        if self.captures is None or self.this is None:
            return None if self.this is None else self.this.type
        name = self.captures.members.get(None)
        assert isinstance(self.this.type, t.Pointer)
        struct = self.this.type.to
        return struct.field(name).type if name is not None and isinstance(struct, t.Struct) else None

    def hold(self, kind: t.Type, span: ir.Span) -> ir.LocalStorage:
        """Create a variable without a source name, which is stored to before it is read."""
        local = ir.Local(self._unique(f"{names.OWN}t"), "", kind, str(kind), span)
        self.locals.append(local)
        return ir.LocalStorage(local, span)

    def kept(self, value: ir.Expr, before: list[ir.Expr]) -> ir.Load:
        """Append to *before* an assignment of *value* to a new variable, and return the variable's load."""
        held = self.hold(value.type, value.span)
        before.append(ir.Assign(held, value, value.span))
        return ir.Load(held, value.span)

    def temporary(self, kind: t.Type, span: ir.Span) -> ir.LocalStorage:
        """Create an object without a source name, declared at the start of the function."""
        held = self.hold(kind, span)
        held.local.storage = ir.Storage.CELL
        if isinstance(kind, t.Array):
            _in_array(held.local, kind)
        self.hidden.append(ir.Declare(held.local, None, span))
        return held

    def refuse_beside(self, kind: t.Type, base: t.Type, span: ir.Span) -> None:
        """Refuse access to an object as a base class other than the first, which lies elsewhere in the object."""
        if isinstance(kind, t.Struct) and base in kind.others:
            self.refuse(
                "inheritance",
                f"{base} is a base class of {kind} behind the first one, and has virtual methods or is virtual; make it the first one, or a member",
                span,
            )

    def refuse_class(self, kind: t.Type, span: ir.Span) -> None:
        """Refuse objects of classes of the C++ library, which the device does not have."""
        inner = t.element_of(kind)
        if isinstance(inner, t.ClassType) and inner.name.startswith("std::"):
            self.refuse("class", f"{inner.name} is of the host, not of the device; use an array", span)

    def refuse_destructor(self, kind: t.Type, span: ir.Span) -> None:
        """Refuse objects with a destructor: it would not be called."""
        inner = t.element_of(kind)
        if ends(inner):
            self.refuse(
                "destructor",
                f"the destructor of {inner} would not be called here; use a reference to an object with a name",
                span,
            )

    def forget(self, pointer: ir.Expr) -> None:
        """Remove the temporary at address *pointer*: a local takes its place."""
        assert isinstance(pointer, ir.AddressOf)
        assert isinstance(pointer.place, ir.LocalStorage)
        local = pointer.place.local
        self.hidden = [declared for declared in self.hidden if declared.local is not local]
        self.locals.remove(local)

    def refuse_loose(self, mark: int, span: ir.Span) -> None:
        """Refuse temporary objects with destructors, from index *mark* on, where they are not supported."""
        for local in self.loose[mark:]:
            self.refuse(
                "destructor",
                f"a temporary object of {local.type}, which has a destructor, is not supported here; give it a name",
                span,
            )

    def elide(self, local: ir.Local, span: ir.Span) -> ir.Local:
        """Return the flag that is set at run time if *local*, which has a destructor, is the function's result."""
        flag = self.elided.get(local)
        if flag is None:
            flag = self.elided[local] = self.hold(t.BOOL, span).local
            self.hidden.append(ir.Declare(flag, ir.Const(False, t.BOOL, span), span))
        return flag

    def _unique(self, name: str) -> str:
        chosen, n = name, 1
        while chosen in self._names:
            n += 1
            chosen = f"{name}_{n}"
        self._names.add(chosen)
        return chosen

    def address(self, place: ir.Place, kind: t.Type, span: ir.Span) -> ir.Expr:
        """Return a pointer to *place*; the local that contains it can no longer be a plain value."""
        base = innermost(place)
        if isinstance(base, ir.LocalStorage) and base.local.storage is ir.Storage.VALUE:
            base.local.storage = ir.Storage.CELL
        return ir.AddressOf(place, kind, span)


def _in_array(local: ir.Local, kind: t.Array) -> None:
    """Set the storage of a local array: arrays of device numbers lie in memory."""
    inner = t.element_of(kind)
    local.stack = isinstance(inner, t.Arithmetic) and inner != t.DOUBLE
    local.storage = ir.Storage.MEMORY if local.stack else ir.Storage.CELL
    local.space = "ldram" if local.stack else ""


def number(value: float, kind: t.Type, node: "Node | ir.Span") -> ir.Const:
    """Return a constant at the location of *node*."""
    return ir.Const(value, kind, node if isinstance(node, ir.Span) else node.span)


def local_value(local: ir.Local, span: ir.Span) -> ir.Load:
    """Return the value of a local."""
    return ir.Load(ir.LocalStorage(local, span), span)


def first_at(pointer: ir.Expr, span: ir.Span) -> ir.Element:
    """Return the element to which *pointer* points."""
    return ir.Element(pointer, number(0, t.INT64, span), span)


def followed(at: ir.Place, span: ir.Span) -> ir.Place:
    """Return a place; if it holds a reference, the place to which it refers."""
    return first_at(ir.Load(at, span), span) if t.refers(at.type) else at


def sequence(steps: Sequence[ir.Expr], last: ir.Expr, span: ir.Span, kind: t.Type | None = None) -> ir.Expr:
    """Return an expression that evaluates *steps*, then *last*, and has the value of *last*, with type *kind* if given."""
    for step in reversed(steps):
        last = ir.Comma(step, last, kind or last.type, span)
    return last


def fixed_words(declaration: Declaration) -> str:
    """Return the words that describe a constant in the message for a refused store."""
    span = declaration.span
    return f"{declaration.name}, a constant declared at {shown_file(span.file)}:{span.line}"
