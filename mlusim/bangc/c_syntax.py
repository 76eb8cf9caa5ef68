"""Parser for C expressions that a user of the debugger types: from text to a tree."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from attrs import define, frozen

from mlusim.bangc import types as t


class NoExpression(Exception):
    """The text is not a C expression; the message says why."""


class NotInScope(NoExpression):
    """A variable that is not in scope or has no value yet; it may have one at another moment."""


class Foreign(NoExpression):
    """The expression names something that C does not know; it may be a Python name with a value."""


@frozen
class Number:
    """A numeric literal of C."""

    value: Any
    type: t.Arithmetic | t.Pointer


@frozen
class Name:
    """A variable by its name."""

    text: str


@frozen
class Prefix:
    """A prefix operation: ``-x``, ``!x``, ``*p``, ``&x`` and so on."""

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
    """A type: its name and the number of stars after it."""

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
    """A call of a function or a macro; ``texts`` are its arguments as text."""

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
"""The arithmetic types by their names in sources."""

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
    # Longer operators first: a regular expression takes the first alternative that matches.
    r"|(?P<op>->|<<|>>|<=|>=|==|!=|&&|\|\||\+\+|--|[-+*/%&|^<>=!~?:.,()\[\]]))"
)
# From lowest to highest precedence, all left-associative. The comma is not an operator here: it only separates
# arguments.
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<", ">>"), ("+", "-"),
    ("*", "/", "%"),
)  # fmt: skip
_ESCAPES: Mapping[str, int] = {"n": 10, "t": 9, "r": 13, "0": 0, "\\": 92, "'": 39}


def parse_c(text: str, structs: Callable[[str], bool] = lambda _: False) -> Tree:
    """Parse *text* as a C expression; *structs* says whether a name is a struct. Raises `NoExpression`."""
    try:
        # By recursive descent: the grammar has ten levels, and the errors can say which token is missing.
        reader = _Reader(list(_tokens(text)), structs)
        tree = reader.expression()
    except RecursionError:
        raise NoExpression("it is nested too deeply") from None
    reader.end()
    return tree


def parse_type(text: str, types: Callable[[str], bool] = lambda _: False) -> TypeName | None:
    """Parse *text* as a type such as ``unsigned int`` or ``Part *``; None if it is not one. *types* says whether a name is a type."""
    try:
        reader = _Reader([("op", "("), *_tokens(text), ("op", ")")], types)
        named = reader.in_parentheses() if reader.begins_type() else None
        reader.end()
    except NoExpression:
        return None
    return named


def guess_c(text: str) -> Tree:
    """Parse an expression without known structs: a name in parentheses is a type only if it cannot be anything else."""
    try:
        return parse_c(text)  # parses (x) * y as a product
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
    """Recursive-descent parser over a list of tokens."""

    tokens: list[tuple[str, str]]
    structs: Callable[[str], bool]
    at: int = 0

    def peek(self, ahead: int = 0) -> tuple[str, str]:
        """Return the token *ahead* positions from here, without consuming it."""
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ("end", "")

    def take(self, op: str = "") -> str:
        """Consume and return the next token, which must be *op* if that is given."""
        kind, word = self.peek()
        if kind == "end" or (op and word != op):
            raise NoExpression(
                f"{op or 'an operand'} is missing" + (f" before {word!r}" if word else " at its end")
            )
        self.at += 1
        return word

    def end(self) -> None:
        """Raise `NoExpression` if tokens are left."""
        kind, word = self.peek()
        if kind != "end":
            changes = word in ("=", "++", "--")
            raise NoExpression(
                "an expression of the debugger changes nothing" if changes else f"{word!r} is too much"
            )

    def expression(self) -> Tree:
        """Parse a complete expression."""
        test = self.level(0)
        if self.peek()[1] != "?":
            return test
        self.take("?")
        then = self.expression()
        self.take(":")
        # Right-associative: in C, a ? b : c ? d : e is a ? b : (c ? d : e).
        return Choice(test, then, self.expression())

    def level(self, n: int) -> Tree:
        """Parse the left-associative operators of precedence level *n*."""
        if n == len(_LEVELS):
            return self.prefixed()
        left = self.level(n + 1)
        while self.peek()[0] == "op" and self.peek()[1] in _LEVELS[n]:
            op = self.take()
            left = Infix(op, left, self.level(n + 1))
        return left

    def prefixed(self) -> Tree:
        """Parse prefix operators and casts."""
        kind, word = self.peek()
        if kind == "op" and word in "-+!~*&":
            self.take()
            return Prefix(word, self.prefixed())
        if word == "sizeof":  # of a type, or of an expression that is not evaluated
            self.take()
            if self.peek()[1] == "(" and self.begins_type():
                return CSizeOf(self.in_parentheses())
            return CSizeOf(self.prefixed())
        if word == "(" and self.begins_type():
            return Cast(self.in_parentheses(), self.prefixed())
        return self.behind(self.primary())

    def behind(self, base: Tree) -> Tree:
        """Parse the subscripts, member accesses and calls that follow *base*."""
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
        """Parse a call whose opening parenthesis has been consumed."""
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
        """Parse a literal, a name, or an expression in parentheses."""
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

    def begins_type(self) -> bool:
        """Return whether a type begins at the token after this one."""
        kind, word = self.peek(1)
        return kind == "name" and (word in _WORDS or self.structs(word))

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
    # In 0x1f, the f is a digit.
    plain = word if word[:2] in ("0x", "0X") else word.rstrip("uUlLfF")
    plain = plain.rstrip("uUlL")
    suffix = word[len(plain) :].lower()
    if word[:2] not in ("0x", "0X") and ("f" in suffix or any(c in plain for c in ".eE")):
        kind = t.FLOAT if "f" in suffix else t.DOUBLE
        return Number(float(plain), kind)
    value = int(plain, 8 if len(plain) > 1 and plain[0] == "0" and plain.isdigit() else 0)
    # As in C, a literal has the first of int and long that can represent it.
    wide = "l" in suffix or value > (t.UINT32.high if "u" in suffix else t.INT32.high)
    if "u" in suffix:
        return Number(value, t.UINT64 if wide else t.UINT32)
    return Number(value, t.INT64 if wide else t.INT32)


def names_of_tree(tree: object) -> Iterator[str]:
    """Yield the names of the variables in *tree*."""
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
