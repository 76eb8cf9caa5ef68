"""Expressions of C as a user of the debugger writes them: text to a tree."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, frozen

from mlusim.frontend.bangc import types as t


class NoExpression(Exception):
    """A text is not an expression of C; the message says why."""


class NotInScope(NoExpression):
    """A variable that the function declares elsewhere, or that has no value yet: it may have one at another moment."""


class Foreign(NoExpression):
    """It names what C does not know: something of Python's, which may give it a value."""


@frozen
class Number:
    """A literal of C, a number."""

    value: Any
    type: t.Arithmetic | t.Pointer


@frozen
class Name:
    """A variable by its name."""

    text: str


@frozen
class Prefix:
    """``-x``, ``!x``, ``*p``, ``&x`` and their like."""

    op: str
    operand: "Tree"


@frozen
class Infix:
    """An operator between two operands."""

    op: str
    left: "Tree"
    right: "Tree"


@frozen
class Choice:
    """``test ? then : other``."""

    test: "Tree"
    then: "Tree"
    other: "Tree"


@frozen
class TypeName:
    """A type: its name and how many stars are behind it."""

    name: str
    stars: int


@frozen
class Cast:
    """A cast, ``(type)operand``, of C."""

    type: TypeName
    operand: "Tree"


@frozen
class CSizeOf:
    """``sizeof`` of a type or an expression."""

    what: "Tree | TypeName"


@frozen
class Item:
    """An element, ``base[index]``, of an array."""

    base: "Tree"
    index: "Tree"


@frozen
class MemberAccess:
    """``base.name``, with *arrow* ``base->name``."""

    base: "Tree"
    name: str
    arrow: bool


@frozen
class CallOf:
    """A call of a function or a macro; ``texts`` are its arguments as they were written."""

    name: str
    arguments: "tuple[Tree, ...]"
    texts: tuple[str, ...]


Tree = Number | Name | Prefix | Infix | Choice | Cast | CSizeOf | Item | MemberAccess | CallOf

SCALARS: Mapping[str, t.Arithmetic] = {
    **{kind.name: kind for kind in t.SCALARS},
    **{f"{sign}int{kind.size * 8}_t": kind for kind in t.SCALARS for sign, word in (("", "int"), ("u", "uint")) if kind.kind == word},
    "char": t.INT8, "int8": t.INT8, "signed": t.INT32, "unsigned": t.UINT32, "short int": t.INT16,
    "unsigned short int": t.UINT16, "long int": t.INT64, "long long": t.INT64, "unsigned long long": t.UINT64,
    "size_t": t.UINT64, "uint": t.UINT32, "bfloat16": t.BFLOAT16,
}  # fmt: skip
"""The number types by the names that sources give them."""

_WORDS = frozenset(word for name in SCALARS for word in name.split()) | {
    "const",
    "volatile",
    "void",
    *(_TAGS := ("struct", "enum", "union", "class")),
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+[uUlL]*|(?:\d+\.\d*|\.\d+|\d+)(?:[eE][+-]?\d+)?[uUlLfF]*)"
    r"|(?P<name>[A-Za-z_]\w*(?:::\w+)*)"
    r"|(?P<char>'(?:\\.|[^'\\])')"
    # Longer operators first: of the alternatives the first that matches is taken.
    r"|(?P<op>->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^<>=!~?:.,()\[\]]))"
)
# From the loosest to the tightest, each from the left.  No comma: it only separates arguments here.
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_ESCAPES: Mapping[str, int] = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39}


def parse_c(text: str, records: Callable[[str], bool] = lambda _: False) -> Tree:
    """Return the tree of an expression; *records* says whether a name is a struct's.  Raises `NoExpression`."""
    try:
        # By recursive descent: the grammar of expressions has ten levels, and errors can say what is missing.
        reader = _Reader(list(_tokens(text)), records)
        tree = reader.expression()
    except RecursionError:
        raise NoExpression("it is nested too deeply") from None
    reader.end()
    return tree


def parse_type(text: str, types: Callable[[str], bool] = lambda _: False) -> TypeName | None:
    """Return the type that *text* is, as ``unsigned int`` or ``Part *``; *types* says whether a name is one.  None for a text that is not a type."""
    try:
        reader = _Reader([("op", "("), *_tokens(text), ("op", ")")], types)
        named = reader.in_parentheses() if reader.begins_type(1) else None
        reader.end()
    except NoExpression:
        return None
    return named


def guess_c(text: str) -> Tree:
    """Return the tree of an expression where no struct is known: a name in parentheses is a type only where it must be one."""
    try:
        return parse_c(text)  # (x) * y parses so, as a product
    except NoExpression:
        return parse_c(text, str.isidentifier)


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    at = 0
    text = text.strip()
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise NoExpression(f"{text[at]!r} is not a part of an expression of C")
        at = token.end()
        assert token.lastgroup is not None
        yield token.lastgroup, token[token.lastgroup]


@define
class _Reader:
    """Reads tokens by precedence."""

    tokens: list[tuple[str, str]]
    records: Callable[[str], bool]
    at: int = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        """Return the next token, which stays."""
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ("end", "")

    def take(self, op: str = "") -> str:
        """Take the next token, which must be *op* where one is given."""
        kind, word = self.peek()
        if kind == "end" or (op and word != op):
            raise NoExpression(
                f"{op or 'an operand'} is missing" + (f" before {word!r}" if word else " at its end")
            )
        self.at += 1
        return word

    def end(self) -> None:
        """Raise `NoExpression` where tokens are left."""
        kind, word = self.peek()
        if kind != "end":
            changes = word in ("=", "++", "--")
            raise NoExpression(
                "an expression of the debugger changes nothing" if changes else f"{word!r} is too much"
            )

    def expression(self) -> Tree:
        """Parse an expression to its end."""
        test = self.level(0)
        if self.peek()[1] != "?":
            return test
        self.take("?")
        then = self.expression()
        self.take(":")
        # From the right: a ? b : c ? d : e is a ? b : (c ? d : e) in C.
        return Choice(test, then, self.expression())

    def level(self, n: int) -> Tree:
        """Parse operators of one precedence, from the left."""
        if n == len(_LEVELS):
            return self.prefixed()
        left = self.level(n + 1)
        while self.peek()[0] == "op" and self.peek()[1] in _LEVELS[n]:
            op = self.take()
            left = Infix(op, left, self.level(n + 1))
        return left

    def prefixed(self) -> Tree:
        """Parse operators in front, and casts."""
        kind, word = self.peek()
        if kind == "op" and word in "-+!~*&":
            self.take()
            return Prefix(word, self.prefixed())
        if word == "sizeof":  # of a type or of an expression, which is not evaluated
            self.take()
            if self.peek()[1] == "(" and self.begins_type(1):
                return CSizeOf(self.in_parentheses())
            return CSizeOf(self.prefixed())
        if word == "(" and self.begins_type(1):
            return Cast(self.in_parentheses(), self.prefixed())
        return self.behind(self.primary())

    def behind(self, base: Tree) -> Tree:
        """Return a primary expression with its subscripts and member accesses."""
        while self.peek()[1] in ("[", ".", "->", "("):
            op = self.take()
            if op == "(":
                base = self._call(base)
            elif op == "[":
                base = Item(base, self.expression())
                self.take("]")
            elif self.peek()[0] == "name":
                base = MemberAccess(base, self.take(), op == "->")
            else:
                raise NoExpression(f"a member is missing behind {op}")
        return base

    def _call(self, function: Tree) -> CallOf:
        """Return a call, whose opening parenthesis has been taken."""
        if not isinstance(function, Name):
            raise NoExpression("only a function or a macro is called by its name, no method and no pointer")
        arguments: list[Tree] = []
        texts: list[str] = []
        while self.peek()[1] != ")":
            if arguments:
                self.take(",")
            begun = self.at
            arguments.append(self.expression())
            texts.append(" ".join(word for _, word in self.tokens[begun : self.at]))
        self.take(")")
        return CallOf(function.text, tuple(arguments), tuple(texts))

    def primary(self) -> Tree:
        """Return a literal, a name, or parentheses."""
        kind, word = self.peek()
        if word == "(":
            self.take()
            inner = self.expression()
            self.take(")")
            return inner
        if kind == "number":
            return _number(self.take())
        if kind == "char":
            word = self.take()[1:-1]
            return Number(_ESCAPES.get(word[1:], 0) if word[0] == "\\" else ord(word), t.INT8)
        if kind != "name":
            raise NoExpression("an operand is missing" + (f" before {word!r}" if word else " at its end"))
        self.take()
        if word in ("true", "false"):
            return Number(word == "true", t.BOOL)
        if word in ("nullptr", "NULL"):
            return Number(None, t.Pointer(t.VOID))
        return Name(word)

    def begins_type(self, ahead: int) -> bool:
        """Return whether a type begins at the token that is so far *ahead*."""
        kind, word = self.peek(ahead)
        return kind == "name" and (word in _WORDS or self.records(word))

    def in_parentheses(self) -> TypeName:
        """Parse a type between parentheses."""
        self.take("(")
        words = []
        while self.peek()[0] == "name":
            words.append(self.take())
        stars = 0
        while self.peek()[1] in ("*", "const"):
            stars += self.take() == "*"
        self.take(")")
        return TypeName(" ".join(w for w in words if w not in ("const", "volatile", *_TAGS)), stars)


def _number(word: str) -> Number:
    # The f of 0x1f is a digit.
    plain = word if word[:2] in ("0x", "0X") else word.rstrip("uUlLfF")
    plain = plain.rstrip("uUlL")
    suffix = word[len(plain) :].lower()
    if word[:2] not in ("0x", "0X") and ("f" in suffix or any(c in plain for c in ".eE")):
        kind = t.FLOAT if "f" in suffix else t.DOUBLE
        return Number(float(plain), kind)
    value = int(plain, 8 if len(plain) > 1 and plain[0] == "0" and plain.isdigit() else 0)
    # A literal has the first of int and long that holds it, as in C.
    wide = "l" in suffix or value > (t.UINT32.high if "u" in suffix else t.INT32.high)
    if "u" in suffix:
        return Number(value, t.UINT64 if wide else t.UINT32)
    return Number(value, t.INT64 if wide else t.INT32)


def names_of_tree(tree: object) -> Iterator[str]:
    """Yield the variables that *tree* names."""
    if isinstance(tree, Name):
        yield tree.text
    elif isinstance(tree, tuple):
        for part in tree:
            yield from names_of_tree(part)
    elif isinstance(tree, CallOf):
        yield tree.name
        yield from names_of_tree(tree.arguments)
    elif hasattr(tree, "__attrs_attrs__"):
        for field in tree.__attrs_attrs__:
            yield from names_of_tree(getattr(tree, field.name))
