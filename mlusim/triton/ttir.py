"""Parses the text of TTIR, Triton's first intermediate form, to a tree of operations."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from attrs import define, field, frozen

from mlusim.errors import UsageError


class SourceLine(NamedTuple):
    """A line of the user's Python file."""

    file: str
    line: int


@define
class TtirOperation:
    """One operation: its results and operands by name, its types in order, and the text between them (attributes).

    *arguments* are the block arguments of its *regions*, one list per region.
    """

    name: str
    results: list[str]
    operands: list[str]
    types: list[str]
    attributes: str
    place: SourceLine | None
    regions: list[list["TtirOperation"]] = field(factory=list)
    arguments: list[list[str]] = field(factory=list)

    def number(self, name: str) -> int:
        """Return the integer attribute *name*. Raises `UsageError` if it is missing."""
        match = re.search(rf"\b{name} = (-?\d+)", self.attributes)
        if match is None:
            raise UsageError(
                f"{self.name} has no attribute {name}; this version of Triton writes it otherwise"
            )
        return int(match[1])

    def word(self, pattern: str) -> str:
        """Return the first group of *pattern* in the attributes, or ""."""
        match = re.search(pattern, self.attributes)
        return match[1] if match else ""


@frozen
class JitFunction:
    """A function of TTIR: its name, its parameters with their types, its operations, and the line of its ``def``."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    body: tuple[TtirOperation, ...]
    place: SourceLine | None


# As text, because Triton's Python bindings expose no attributes and no locations.
_TYPE = re.compile(
    r"tensor<[^<>]*(?:<[^<>]*(?:<[^<>]*>)?[^<>]*>)?[^<>]*>|!tt\.ptr<(?:[^<>]|<[^<>]*>)*>|\b(?:i1|i8|i16|i32|i64|f16|bf16|f32|f64|index)\b"
)
_PLACE = re.compile(r'\s*loc\((?:#loc\d*|unknown|"[^"]*"(?:\((?:#loc\d*)\))?)\)')
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_NAME = r"%([\w.$-]+(?:#\d+)?)"


def read(text: str) -> JitFunction:
    """Return the only public function in *text*, a module as Triton prints it. Raises `UsageError` for other text."""
    return _Reader(text).function()


class _Reader:
    """A parser over the lines of a module."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()
        self._at = 0
        self._place = _places(text)

    def function(self) -> JitFunction:
        head = next((n for n, line in enumerate(self._lines) if "tt.func public" in line), None)
        if head is None:
            raise UsageError("this is not a TTIR: it has no public function")
        # The parameters of an expanded tensor descriptor have dots in their names, which C does not allow.
        dotted = re.findall(r"%([\w$-]+\.[\w.$-]+): ", self._lines[head])
        if dotted:
            names = re.compile(f"%({'|'.join(map(re.escape, dotted))})(?![\\w.$-])")
            self._lines = [names.sub(lambda m: "%" + m[1].replace(".", "_"), line) for line in self._lines]
        line = _PLACE.sub("", self._lines[head])
        name = re.search(r"@([\w$.]+)\(", line)
        assert name is not None  # Triton names every function
        inside = line[name.end() : line.index(") attributes" if ") attributes" in line else ") {")]
        parameters = re.findall(rf"{_NAME}: (!tt\.ptr<[^>]*>|[\w.!<>]+)", inside)
        self._at = head + 1
        body, end = self._block()
        body = _without_jumps(body)
        place = self._place_of(end) or self._place_of(self._lines[head])
        return JitFunction(name[1], tuple((n, kind) for n, kind in parameters), tuple(body), place)

    def _block(self) -> tuple[list[TtirOperation], str]:
        """Return the operations up to the end of a block, and the line that ends it."""
        operations: list[TtirOperation] = []
        while True:
            line = self._lines[self._at].strip()
            self._at += 1
            if line.startswith("}"):
                return operations, line
            if line.startswith("^"):
                label = line[: re.search(r"\W", line[1:]).start() + 1]  # type: ignore[union-attr]  # a colon ends it
                operations.append(
                    TtirOperation("^", [], [], [], label, None, [], [re.findall(rf"{_NAME}:", line)])
                )
            elif line:
                operations.append(self._operation(line))

    def _operation(self, line: str) -> TtirOperation:
        place = self._place_of(line)
        bare = _PLACE.sub("", line)
        results: list[str] = []
        split = re.match(rf"((?:{_NAME}(?::\d+)?(?:, )?)+) = (.*)", bare)
        if split is not None:
            results, bare = [*_results(split[1])], split[split.lastindex or 0]
        name = re.match(r'"?([\w.]+)"?', bare)
        assert name is not None
        rest = bare[name.end() :]
        if bare.rstrip().endswith("{"):
            return self._with_regions(TtirOperation(name[1], results, [], [], rest, place))
        front, _, back = ("", "", rest) if name[1].startswith("cf.") else rest.rpartition(" : ")
        operands = re.findall(_NAME, _STRING.sub("", front or rest))
        return TtirOperation(name[1], results, operands, _TYPE.findall(back), front or rest, place)

    def _with_regions(self, operation: TtirOperation) -> TtirOperation:
        """Parse the regions of *operation*, whose attributes contain its first line."""
        first: list[str] = []
        if operation.name == "scf.for":
            first, operation.operands = _loop_head(operation.attributes)
        elif operation.name == "scf.while":
            pairs = re.findall(rf"{_NAME} = {_NAME}", operation.attributes)
            first, operation.operands = [a for a, _ in pairs], [b for _, b in pairs]
        else:
            operation.operands = re.findall(_NAME, operation.attributes)
        while True:
            block, end = self._block()
            arguments = block.pop(0).arguments[0] if block and block[0].name == "^" else first
            operation.regions.append(_without_jumps(block))
            operation.arguments.append(arguments)
            first = []
            if end.startswith(("} else {", "} do {", "}, {")):
                continue
            operation.place = self._place_of(end) or operation.place
            # Types stand before the regions (scf) or after them (tt.reduce).
            behind = _PLACE.sub("", end).rpartition(" : ")[2]
            operation.types = _TYPE.findall(behind) or _TYPE.findall(operation.attributes.rpartition("->")[2])
            operation.attributes += f" {end}"
            return operation

    def _place_of(self, line: str) -> SourceLine | None:
        places = re.findall(r"loc\((#loc\d*)\)", line)
        return self._place(places[-1]) if places else None


MOST_COPIES = 200
"""Limit of copies of blocks for a function with returns in branches; a block is copied once per path to it."""
_TARGET = re.compile(r"(\^\w+)(?:\(([^)]*)\))?")


def _without_jumps(body: list[TtirOperation]) -> list[TtirOperation]:
    """Return *body* with branches instead of jumps, which a return inside an ``if`` creates.

    All jumps lead forward, so the code after a jump can be copied into its branch. Raises `UsageError` for
    too many paths.
    """
    blocks: dict[str, tuple[list[str], list[TtirOperation]]] = {"": ([], [])}
    operations = blocks[""][1]
    for operation in body:
        if operation.name == "^":
            blocks[operation.attributes] = operation.arguments[0], (operations := [])
        else:
            operations.append(operation)
    left = MOST_COPIES

    def ways(operations: list[TtirOperation]) -> list[TtirOperation]:
        last = operations[-1] if operations else None
        if last is None or last.name not in ("cf.br", "cf.cond_br"):
            return operations
        targets = [_arrival(last, name, passed) for name, passed in _TARGET.findall(last.attributes)]
        branches = [[arrival, *ways(blocks[name][1])] for name, arrival in targets]
        if last.name == "cf.br":
            return [*operations[:-1], *branches[0]]
        return [
            *operations[:-1],
            TtirOperation("scf.if", [], last.operands[:1], [], "", last.place, branches, [[], []]),
        ]

    def _arrival(jump: TtirOperation, name: str, passed: str) -> tuple[str, TtirOperation]:
        nonlocal left
        left -= 1
        if left < 0:
            raise UsageError(
                "a function with this many returns in branches has no form here; return once, at its end"
            )
        return name, TtirOperation("cf.pass", blocks[name][0], re.findall(_NAME, passed), [], "", jump.place)

    return ways(operations if len(blocks) == 1 else blocks[""][1])


def _results(text: str) -> Iterator[str]:
    for word in text.split(", "):
        name, _, count = word[1:].partition(":")
        yield from (f"{name}#{k}" for k in range(int(count))) if count else (name,)


def _loop_head(text: str) -> tuple[list[str], list[str]]:
    """Return the names inside a loop (its counter first), and its operands: low, high, step, carried values."""
    head = re.match(rf"\s*(?:unsigned )?{_NAME} = {_NAME} to {_NAME} step {_NAME}", text)
    assert head is not None
    carried = re.search(r"iter_args\(([^)]*)\)", text)
    pairs = re.findall(rf"{_NAME} = {_NAME}", carried[1]) if carried else []
    return [head[1], *(a for a, _ in pairs)], [*head.groups()[1:], *(b for _, b in pairs)]


def _places(text: str) -> Callable[[str], SourceLine | None]:
    """Return a function that resolves ``#loc7`` to a line of the kernel; within Triton's library, to the line of the call."""
    table = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.MULTILINE))

    # A call site leads outwards: a line of Triton's own library does not help the user.
    def place(name: str, depth: int = 0) -> SourceLine | None:
        body = table.get(name, "")
        if plain := re.match(r'"([^"]+)":(\d+):', body):
            return SourceLine(plain[1], int(plain[2]))
        outer = re.match(r"callsite\(.* at (#loc\d*)\)$", body) or re.search(r"\((#loc\d*)\)$", body)
        return place(outer[1], depth + 1) if outer is not None and depth < 40 else None

    return place


# -- types -------------------------------------------------------------------------------------------------


def is_tensor(kind: str) -> bool:
    """Return whether *kind* is a tensor type."""
    return kind.startswith("tensor<")


def shape_and_element(kind: str) -> tuple[tuple[int, ...], str]:
    """Return the shape and the element type of a tensor type."""
    inside = kind[len("tensor<") : kind.rindex(">")]
    sizes = re.match(r"(?:\d+x)*", inside)
    assert sizes is not None
    shape = tuple(int(word) for word in sizes[0].split("x") if word)
    return shape, inside[sizes.end() :].partition(", #")[0]


def pointed(kind: str) -> str:
    """Return the target type of a pointer type."""
    return kind.removeprefix("!tt.ptr<").rstrip(">").partition(",")[0]


def count(shape: Sequence[int]) -> int:
    """Return the number of elements of *shape*."""
    product = 1
    for size in shape:
        product *= size
    return product
