"""Serialises a translated file: a table of strings, and a row of plain values for each node of its form.

Reading creates only nodes of the classes listed here. Names and operators, from which code is rendered later,
are validated: data that no translation can produce is refused.
"""

import builtins
import functools
import hashlib
import inspect
import json
import re
import types as builtin_types
import typing
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import attrs
from attrs import define, frozen

from mlusim.bangc import form_checks, ir, types as t
from mlusim.bangc.ir.walk import walk
from mlusim.bangc.scalars import BINARY, COMPARE
from mlusim.counted import counted

# The result of translating a file: its form, its templates, and the requested instantiations.


@frozen
class Template:
    """A function template of a file: its name, and whether it is a kernel."""

    name: str
    kernel: bool


@define(eq=False)
class Translated:
    """The form of a file, its templates, and the symbols of the requested template instantiations, by name."""

    form: ir.TranslationUnit
    templates: tuple[Template, ...]
    requested: dict[str, str]


MOST_BYTES = 256 << 20
"""Limit, in bytes, of the text of a form."""
MOST_NODES = 4_000_000
"""Limit of the nodes of a function, each counted as often as it is referenced."""
OPERATORS = frozenset(("~", "!", "&&", "||", *BINARY, *COMPARE))
# \Z instead of $, which would allow a line feed after a name. Names such as __class__ belong to Python.
_NAME = re.compile(rf"(?!__\w*__$)[^\W\d][\w{t.MARK}]*\Z")
_SYMBOL = re.compile(r"[\w$.@:#*&<>~,() \-]+\Z")
_WORDS = re.compile(r"[\w:<>~\[\]()+\-*/%=!&|^, .]+\Z")
_PATH = re.compile(r"[^\x00-\x1f]*\Z")
_TYPE = re.compile(r"[\w :<>~(),&*-]*\Z")  # an enumeration with its namespace; never rendered as code
_SPACES = re.compile(r"(nram|wram|sram|ldram|const|gdram|)\Z")
_OPERATOR = re.compile(f"({'|'.join(map(re.escape, sorted(OPERATORS)))})\\Z")
_CHECKED: Mapping[tuple[type, str], "re.Pattern[str]"] = {
    (ir.Span, "file"): _PATH,
    (ir.Local, "name"): _NAME,
    (ir.Local, "space"): _SPACES,
    (ir.Global, "name"): _NAME,
    (ir.Global, "symbol"): _SYMBOL,
    (ir.Global, "space"): _SPACES,
    (ir.Function, "symbol"): _SYMBOL,
    (ir.Function, "kind"): re.compile(r"(kernel|device|host)\Z"),
    (t.Field, "name"): _NAME,
    (t.Arithmetic, "name"): _TYPE,
    (t.Arithmetic, "kind"): re.compile(r"(bool|int|uint|float)\Z"),
    (ir.Builtin, "name"): _NAME,
    (ir.Unary, "op"): _OPERATOR,
    (ir.Binary, "op"): _OPERATOR,
    (ir.Compare, "op"): _OPERATOR,
    (ir.Logical, "op"): _OPERATOR,
    (ir.Update, "op"): _OPERATOR,
    (ir.Call, "symbol"): _SYMBOL,
    (ir.FunctionAddress, "symbol"): _SYMBOL,
    (ir.LibraryCall, "name"): _WORDS,
}
"""Patterns for the strings from which code is rendered, by class and field."""
_HELPER = re.compile(r"_c_[tb](_\d+)?\Z")  # locals that the rendering declares itself


class DataError(ValueError):
    """The data is not a valid form."""


def _classes() -> tuple[type, ...]:
    classes: dict[type, None] = {
        Translated: None,
        Template: None,
        ir.TranslationUnit: None,
        ir.Function: None,
    }
    for module in (ir, t):
        for value in vars(module).values():
            declared = isinstance(value, type) and value.__module__ == module.__name__
            if declared and not issubclass(value, Enum):
                classes[value] = None
    return tuple(classes)


CLASSES = _classes()
_NUMBERS: Mapping[type, int] = {cls: number for number, cls in enumerate(CLASSES)}
_BY_OBJECT = frozenset(
    cls
    for cls in CLASSES
    if vars(cls).get("__hash__", object.__hash__) is object.__hash__ and cls is not ir.Span
)
"""The classes whose nodes are compared by identity."""
_SPACE = {name: value for module in (typing, ir, t) for name, value in vars(module).items()}


@functools.cache
def _hints(cls: Any) -> tuple[tuple[str, Any], ...]:
    """Return the fields of *cls* with the types of their values."""
    hints = typing.get_type_hints(cls, {**_SPACE, "Mapping": Mapping})
    fields = cls._fields if issubclass(cls, ir.Span) else [f.name for f in attrs.fields(cls)]
    return tuple((name, hints[name]) for name in fields)


@functools.cache
def schema() -> str:
    """Return a digest of the classes and their fields, which changes with them."""
    unions = [
        (name, str(value))
        for name, value in _SPACE.items()
        if typing.get_origin(value) is builtin_types.UnionType
    ]
    shape = [(c.__name__, [(n, str(h)) for n, h in inspect.get_annotations(c).items()]) for c in CLASSES]
    return hashlib.blake2b(repr((unions, shape)).encode(), digest_size=8).hexdigest()


@functools.cache
def _parts(hint: object) -> tuple[Any, ...]:
    """Return the alternatives of a union type, flattened."""
    if isinstance(hint, builtin_types.UnionType) or typing.get_origin(hint) is typing.Union:
        return tuple(part for argument in typing.get_args(hint) for part in _parts(argument))
    return (hint,)


@functools.cache
def _inside(hint: object) -> Any:
    """Return the element type of a tuple type."""
    return typing.get_args(next(p for p in _parts(hint) if typing.get_origin(p) is tuple))[0]


# -- writing ---------------------------------------------------------------------------------------


class FormWriter:
    """Converts nodes to rows; equal values share a row, other nodes have one row per object."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []
        self.strings: dict[str, int] = {}
        self._numbers: dict[Any, int] = {}

    def _key(self, node: object) -> Any:
        return id(node) if type(node) in _BY_OBJECT else node

    def add(self, root: object) -> int:
        """Return the row number of *root*; rows follow the rows to which they refer."""
        structs, stack, open_ = [], [root], set()
        while stack:
            node = stack[-1]
            key = self._key(node)
            if key in self._numbers:
                stack.pop()
                continue
            if id(node) in open_:
                stack.pop()
                self._numbers[key] = len(self.rows)
                self.rows.append(self._row(node))
                continue
            open_.add(id(node))
            if isinstance(node, t.Struct):  # a struct may refer to itself
                self._numbers[key] = len(self.rows)
                self.rows.append([])
                structs.append(node)
            kind: Any = type(node)
            children = (child for name, _ in _hints(kind) for child in _nodes(getattr(node, name)))
            stack += [child for child in children if self._key(child) not in self._numbers]
        for struct in structs:
            self.rows[self._numbers[id(struct)]] = self._row(struct)
        return self._numbers[self._key(root)]

    def _row(self, node: object) -> list[Any]:
        kind: Any = type(node)
        return [_NUMBERS[kind], *(self._value(getattr(node, name), hint) for name, hint in _hints(kind))]

    def _value(self, value: object, hint: object) -> Any:
        parts = _parts(hint)
        if type(value) in _NUMBERS:
            return self._numbers[self._key(value)]
        if isinstance(value, Enum):
            return value.value
        if Any in parts:
            return [self._value(element, Any) for element in value] if isinstance(value, tuple) else value
        if isinstance(value, str):
            return self.strings.setdefault(value, len(self.strings))
        if isinstance(value, tuple):
            inside = _inside(hint)
            return [self._value(element, inside) for element in value]
        if isinstance(value, Mapping):
            inside = typing.get_args(parts[0])[1]
            return [[self._value(k, str), self._value(v, inside)] for k, v in value.items()]
        if isinstance(value, int) and not isinstance(value, bool) and len(parts) > 1 and int in parts:
            return [value]  # in a list, because a plain number is a row number
        return value


def _nodes(value: object) -> Iterator[Any]:
    if type(value) in _NUMBERS:
        yield value
    elif isinstance(value, tuple):
        for part in value:
            yield from _nodes(part)
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _nodes(part)


def write(translated: Translated) -> bytes:
    """Return *translated* as compressed bytes."""
    writer = FormWriter()
    root = writer.add(translated)
    document = {"schema": schema(), "root": root, "strings": list(writer.strings), "rows": writer.rows}
    # Level 6 is a fifth smaller but takes four times as long.
    return zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 1)


# -- reading ---------------------------------------------------------------------------------------

Reader = Callable[[Any], Any]


class FormReader:
    """Restores the nodes of a document."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._strings: list[str] = document["strings"]
        self._rows: list[list[Any]] = document["rows"]
        if not all(type(text) is str for text in self._strings):
            raise DataError("a string is not text")
        self.nodes: list[Any] = [None] * len(self._rows)
        self._checked: dict[tuple[int, re.Pattern[str] | None], bool] = {}
        self._readers = {
            number: [self._reader(hint, _CHECKED.get((cls, name))) for name, hint in _hints(cls)]
            for cls, number in _NUMBERS.items()
        }

    def read(self, root: Any) -> Translated:
        """Return the translated file in row number *root*. Raises `DataError` if the document is not a valid form."""
        struct = _NUMBERS[t.Struct]
        for number, row in enumerate(self._rows):
            if row[0] == struct:
                self.nodes[number] = t.Struct("")  # filled in below: structs may refer to themselves
        # Forty rows that each refer twice to the previous row would be a tree of 2**40 nodes.
        weights = [1] * len(self._rows)
        for number, row in enumerate(self._rows):
            if row[0] != struct:
                self.nodes[number] = CLASSES[row[0]](*self._values(row))
                weights[number] = self._weight(row, weights)
        for number, row in enumerate(self._rows):
            if row[0] == struct:
                for (name, _), value in zip(_hints(t.Struct), self._values(row), strict=True):
                    setattr(self.nodes[number], name, value)
        translated = self.nodes[root]
        if type(translated) is not Translated:
            raise DataError("the first row is not a file")
        return translated

    def _weight(self, row: Sequence[Any], weights: Sequence[int]) -> int:
        total = 1
        for n in self._references[row[0]]:
            value = row[n]
            if type(value) is int:
                total += weights[value]
            elif type(value) is list:
                total += sum(weights[reference] for reference in value if type(reference) is int)
        if total > MOST_NODES:
            raise DataError("it refers to itself too often")
        return total

    @functools.cached_property
    def _references(self) -> list[list[int]]:
        """Return, for each class, which values of its rows are row numbers of expressions and statements."""
        wanted = {*typing.get_args(ir.Statement), *typing.get_args(ir.Expr), *typing.get_args(ir.Place)}
        wanted |= {ir.Section, ir.AsmOperand}
        return [
            [n for n, (_, hint) in enumerate(_hints(cls), 1) if not wanted.isdisjoint(_deep(hint))]
            for cls in CLASSES
        ]

    def _values(self, row: Sequence[Any]) -> list[Any]:
        readers = self._readers[row[0]]
        if len(row) != len(readers) + 1:
            raise DataError(f"a {CLASSES[row[0]].__name__} has {counted(len(row) - 1, 'value')}")
        return [read(value) for read, value in zip(readers, row[1:], strict=True)]

    def _reader(self, hint: object, pattern: "re.Pattern[str] | None" = None) -> Reader:
        parts = _parts(hint)
        if Any in parts:
            return _plain
        if str in parts and len(parts) == 1:
            return functools.partial(self._text, pattern)
        classes = frozenset(part for part in parts if part in _NUMBERS)
        if classes:
            return self._node_reader(classes, parts)
        first = parts[0]
        origin = typing.get_origin(first)
        if origin is tuple:
            return self._tuple_reader(self._reader(typing.get_args(first)[0]), type(None) in parts)
        if origin is not None:
            return self._mapping_reader(self._reader(typing.get_args(first)[1]))
        if isinstance(first, type) and issubclass(first, Enum):
            return first
        allowed = frozenset(parts)

        def read(value: object) -> Any:
            if type(value) in allowed:
                return value
            raise DataError(f"{value!r:.40} is misplaced")

        return read

    def _text(self, pattern: "re.Pattern[str] | None", number: object) -> str:
        if type(number) is not int or number < 0:  # isinstance would accept True
            raise DataError("the number of a string is not a number")
        text = self._strings[number]
        if pattern is not None and (number, pattern) not in self._checked:
            if not pattern.match(text):
                raise DataError(f"{text!r:.40} is not a name")
            self._checked[number, pattern] = True
        return text

    def _node_reader(self, classes: frozenset[type], parts: tuple[Any, ...]) -> Reader:
        nodes, empty, number = self.nodes, type(None) in parts, int in parts

        def read(value: object) -> Any:
            if type(value) is int and value >= 0:  # a negative number would count from the end
                node = nodes[value]
                if type(node) in classes:
                    return node
            elif value is None and empty:
                return None
            elif number and type(value) is list and len(value) == 1 and type(value[0]) is int:
                return value[0]
            raise DataError(f"row {value!r:.40} is not what is wanted there")

        return read

    def _tuple_reader(self, inside: Reader, empty: bool) -> Reader:
        def read(value: object) -> Any:
            if value is None and empty:
                return None
            if type(value) is not list:
                raise DataError(f"{value!r:.40} is not a list")
            return tuple(map(inside, value))

        return read

    def _mapping_reader(self, inside: Reader) -> Reader:
        def read(value: Any) -> Any:
            return {self._text(None, key): inside(entry) for key, entry in value}

        return read


def _deep(hint: object) -> Iterator[Any]:
    for part in _parts(hint):
        yield part
        for inner in typing.get_args(part):
            yield from _deep(inner)


def _declared(function: ir.Function) -> None:
    """Refuse a function that uses a Python built-in as the name of a variable that it does not declare."""
    risky = [local for local in function.locals if hasattr(builtins, local.name)]
    used = [n for n in walk(function.body) if type(n) is ir.LocalStorage]
    outside = {id(local) for local in (*function.locals, *function.parameters)}
    if any(id(node.local) not in outside and not _HELPER.match(node.local.name) for node in used):
        raise DataError(f"{function.name!r:.40} uses a variable of another function")
    there = {id(p) for p in function.parameters}
    there |= {id(node.local) for node in walk(function.body) if type(node) is ir.Declare} if risky else set()
    if any(id(local) not in there for local in risky):
        raise DataError(f"{function.name!r:.40} does not declare a variable")


def _plain(value: object) -> Any:
    """Return a constant: a number, a string, None, or a tuple of constants."""
    return tuple(map(_plain, value)) if type(value) is list else value


def read(content: bytes) -> Translated:
    """Return the translated file that `write` serialised as *content*. Raises `DataError` for anything else."""
    try:
        return _read(content)
    except DataError:
        raise
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        ArithmeticError,
        zlib.error,
        RecursionError,
    ) as error:
        raise DataError(f"it is damaged: {type(error).__name__}") from None


def _read(content: bytes) -> Translated:
    decompressor = zlib.decompressobj()
    text = decompressor.decompress(content, MOST_BYTES)  # and no more, whatever a few bytes unpack to
    if not decompressor.eof:
        raise DataError("it does not end")
    document = json.loads(text)
    if document["schema"] != schema():
        raise DataError("it was written by another version of mlusim")
    reader = FormReader(document)
    translated = reader.read(document["root"])
    # Check what the classes cannot express: impossible layouts, names that no function declares.
    for problem in form_checks.problems(reader.nodes):
        raise DataError(problem)
    for function in translated.form.functions.values():
        _declared(function)
    return translated
