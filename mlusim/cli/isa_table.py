"""``mlusim isa`` with the table loaded: the list, one row, and words that are not intrinsics.

Such words are built-in variables, memories and copy directions, functions of the helper library, and parts of names.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.text import Text

from mlusim.arch.board import Board, Pipe
from mlusim.arch.catalog import ARCHES, BOARDS, find_board
from mlusim.cli.isa import USUAL, keep, page_told, unmarked
from mlusim.document import Document, members
from mlusim.engine.copies import routes
from mlusim.errors import UsageError
from mlusim.formula.render import to_python
from mlusim.isa.declare import Intrinsic, Operand, Passes
from mlusim.isa.table import ISA, find_intrinsic, is_intrinsic
from mlusim.lazy import lazy
from mlusim.machine.mlu import Mlu
from mlusim.memory.space import DIRECTIONS, Direction
from mlusim.near import near
from mlusim.text_grid import facts, table
from mlusim.time.rates import MARKS, PASSES, VECTOR_LINE, VECTOR_START, series_of

if TYPE_CHECKING:
    from mlusim import bang
else:  # the helper library, which a page of an intrinsic does not need
    (bang,) = lazy("mlusim.bang")

CERTAINTY = {"C": "certain", "D": "derived", "I": "inferred", "U": "unknown, a default was chosen"}


def told(name: str | None) -> Document:
    """Return the list, or the answer about *name*; pages of all rows are cached for the next call."""
    if name is None:
        return Document(lambda: {"intrinsics": [row_facts(row) for row in ISA.values()]}, _list)
    about = word_of(name)
    if about is not None:
        return Document(lambda: about, lambda: _word(about))
    if not is_intrinsic(name):
        return matches_told(name)
    page = page_told(page_of(find_intrinsic(name)))
    # Cached for the next call, since loading the table takes longer than printing a page.
    keep({row.name: page_of(row) for row in ISA.values()})
    return page


def page_of(row: Intrinsic) -> dict[str, Any]:
    """Return everything that a page shows of *row*, as plain data."""
    return {
        "document": row_facts(row),
        "same": list(row.same),
        "aligned": bool(row.aligned),
        "copies": row.form == "copy",
        "since": row.since,
        "approximation": "" if row.approximation is None else str(row.approximation),
    }


def _word(about: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text(about["name"], style="bold")
    yield ""
    yield unmarked(about["doc"])
    yield ""
    yield facts([(what, about[what]) for what in ("kind", "python", "c")])


def _operand(row: Intrinsic, o: Operand) -> dict[str, Any]:
    return {
        "name": o.name,
        "access": o.access,
        "extent": to_python(o.extent),
        "spaces": [space.name for space in o.spaces],
        "dtypes": [str(dtype) for dtype in o.dtypes],
        "partial": o.partial,
        # 372: on that architecture short element-wise arithmetic allows the most overlap, and the list has
        # one word for all.
        "overlap": row.overlap_on(o.name, 372) if o.name in row.overlap else None,
    }


def row_facts(row: Intrinsic) -> dict[str, Any]:
    """Return all facts in *row*."""
    return {
        **members(row, "name", "spelling", "signature", "summary", "doc"),
        "operands": [_operand(row, o) for o in row.operands.values()],
        "rules": [
            {"fails": to_python(r.fails), "message": r.sentence, **members(r, "legal", "generations")}
            for r in row.rules
        ],
        "pipe": row.pipe.value,
        "flow": row.flow.value,
        "cost": None
        if row.cost is None
        else {"extent": to_python(row.cost.extent), "operand": row.cost.operand},
        "cycles": cycles_of(row),
        "approximation": None
        if row.approximation is None
        else {
            "average_relative_error": row.approximation.error,
            "ranges": {name: list(ends) for name, ends in row.approximation.ranges.items()},
        },
        "architectures": [arch.name for arch in ARCHES.values() if row.available(arch.bang_arch)],
        "directions": [
            {"name": token.name, "number": token.value, "pipe": pipe, "forms": forms}
            for token, (pipe, forms) in (directions_of(row.name) if row.form == "copy" else {}).items()
        ],
        "memory_core": row.memory_core,
        "certainty": CERTAINTY.get(row.certainty, row.certainty),
        "source": row.source,
    }


def cycles_of(row: Intrinsic) -> list[dict[str, Any]]:
    """Return the vector unit's cycles of *row*, per call and per line (or element), and the boards that have these."""
    if row.pipe is not Pipe.VECTOR or row.cost is None:
        return []
    rate = PASSES.get(row.passes.name)
    of = "element" if row.passes is Passes.TRANSPOSE else "line"
    boards: dict[tuple[float, str], list[Board]] = {}
    for board in BOARDS.values():
        if row.available(board.arch.bang_arch):
            there = VECTOR_LINE.usual if rate is None else rate.on(board)
            boards.setdefault((1 if rate is None else there.value, there.mark), []).append(board)
    start = {"call": VECTOR_START.value, "call_certainty": MARKS[VECTOR_START.mark]}
    return [
        {**start, of: cycles, "certainty": MARKS[mark], "on": _named(there, len(boards))}
        for (cycles, mark), there in boards.items()
    ]


def _named(boards: Sequence[Board], groups: int) -> str:
    """Return a phrase for *boards*: whole series, or names; or that they are all boards, if there is only one of *groups*."""
    if groups == 1:
        return "every board that has it"
    series = {series_of(board) for board in boards}
    whole = sum(series_of(board) in series for board in BOARDS.values()) == len(boards)
    return ", ".join(sorted(series) if whole else [board.name for board in boards])


def _list() -> Iterator[RenderableType]:
    shown = table("intrinsic", "pipe", "", "what it does", fold=("what it does",))
    for row in ISA.values():
        shown.add_row(
            row.spelling, row.pipe.value, "" if row.certainty == "C" else row.certainty, unmarked(row.summary)
        )
    yield shown
    yield (
        f"{len(ISA)} intrinsics.  D: derived, I: inferred, U: unknown with a default chosen; the others are certain.  "
        "`mlusim isa NAME` shows one in full."
    )


# -- words of kernels that are not intrinsics -----------------------------------------------------------

BUILT_IN: Mapping[str, str] = vars(Mlu)["__slots__"]
MEMORIES: Mapping[str, tuple[str, str]] = {
    "nram": ("__nram__", "NRAM"),
    "wram": ("__wram__", "WRAM"),
    "ldram": ("__ldram__", "LDRAM"),
    "shared": ("__mlu_shared__", "SRAM"),
}


def word_of(name: str) -> dict[str, Any] | None:
    """Return the meaning of the word *name*, in any case, with or without underscores; None if it is not such a word."""
    bare = name.strip("_").lower()
    for word, meaning in BUILT_IN.items():
        if bare == word.lower():
            return {
                "name": word,
                "kind": "built-in variable",
                "python": f"mlu.{word}",
                "c": f"__{word}__" if word.isupper() else word,
                "doc": f"{meaning}.",
            }
    for word, (spelling, space) in MEMORIES.items():
        if bare in (word, spelling.strip("_"), space.lower()):
            method = getattr(Mlu, word)
            parameters = ", ".join(str(p) for p in list(inspect.signature(method).parameters)[1:])
            return {
                "name": word,
                "kind": f"declaration of {space}",
                "python": f"name = mlu.{word}({parameters})",
                "c": f"{spelling} T name[count];",
                "doc": inspect.getdoc(method) or "",
            }
    for token in DIRECTIONS:
        if bare == token.name.lower():
            return _direction(token)
    return None


def _direction(token: Direction) -> dict[str, Any]:
    blocking, starting = directions_of("memcpy"), directions_of("memcpy_async")
    forms = [f"__memcpy in {' '.join(blocking[token][1])}"]
    if token in starting:
        forms.append(f"__memcpy_async in {' '.join(starting[token][1])}")
    return {
        "name": token.name,
        "kind": "copy direction",
        "python": f"mlu.memcpy(dst, src, size, {token})",
        "c": f"__memcpy(dst, src, size, {token})",
        "doc": f"Number {token.value}: from {token.src} to {token.dst}, "
        f"on the {blocking[token][0]} pipe; {', '.join(forms)}.",
    }


def directions_of(name: str) -> dict[Direction, tuple[str, list[str]]]:
    """Return the directions that the copy *name* accepts on an MLU370-X4: the pipe of each, and its forms."""
    routing = routes(find_board(USUAL).arch, memory_core=False, block=False)
    forms = {
        form: routing.form(numbers, name.endswith("_async"))
        for form, numbers in (("1-D", 0), ("2-D", 3), ("3-D", 8))
    }
    every = [token for token in DIRECTIONS if any(token in lanes for lanes in forms.values())]
    return {
        token: (
            next(lanes[token].value for lanes in forms.values() if token in lanes),
            [form for form, lanes in forms.items() if token in lanes],
        )
        for token in every
    }


# -- parts of names ------------------------------------------------------------------------------------


def matches_told(name: str) -> Document:
    """Return the answer about the helper *name*, or a list of everything whose name contains *name*.

    Raises `UsageError` with similar names if there is nothing.
    """
    matching = matches(name)
    if is_helper(name) and (known_helper(name) or not matching):
        helper = find_helper(name)
        return Document(lambda: helper_facts(helper), lambda: _helper(helper))
    if not matching or (len(matching) == 1 and is_intrinsic(matching[0][0])):
        return page_told(page_of(find_intrinsic(matching[0][0] if matching else name)))
    every = [{"name": name, "kind": kind, "summary": doc} for name, kind, doc in matching]
    return Document(lambda: {"found": every}, lambda: _found(name, matching))


def _found(part: str, matching: list[tuple[str, str, str]]) -> Iterator[RenderableType]:
    shown = table("name", "pipe or kind", "what it does", fold=("what it does",))
    for name, kind, summary in matching:
        shown.add_row(name, kind, unmarked(summary))
    yield shown
    yield (f"{len(matching)} with {part!r} in their names.  `mlusim isa NAME` shows one in full.")


def matches(part: str) -> list[tuple[str, str, str]]:
    """Return the spelling, kind and summary of everything whose name contains *part*, in any case."""
    wanted = part.strip("_").lower()
    if not wanted:
        return []
    matching = [
        (row.spelling, row.pipe.value, row.summary) for name, row in ISA.items() if wanted in name.lower()
    ]
    helpers = (name for name in bang.__all__ if name.startswith(PREFIX) and wanted in name)
    matching += [(f"__{name}", "helper", helper_facts(getattr(bang, name))["summary"]) for name in helpers]
    matching += [(word, "variable", f"{doc}.") for word, doc in BUILT_IN.items() if wanted in word.lower()]
    words = [*MEMORIES, *(token.name for token in DIRECTIONS)]
    for word in (word for word in words if wanted in word.lower()):
        about = word_of(word) or {}
        matching.append((word, about["kind"].partition(" of ")[0], about["doc"].splitlines()[0]))
    return matching


# -- the helper library, which is code without rows ----------------------------------------------------

PREFIX = "mluop_"
PAGE = "docs/reference/helpers.md"


def is_helper(name: str) -> bool:
    """Return whether *name* has the prefix of the helper library."""
    return name.lstrip("_").lower().startswith(PREFIX)


def known_helper(name: str) -> bool:
    """Return whether the helper *name* exists, in any case, with or without leading underscores."""
    return _bare(name) in bang.__all__


def _bare(name: str) -> str:
    """Return the exported spelling of *name*, which may be in any case, with or without leading underscores."""
    wanted = name.lstrip("_").lower()
    return next((exported for exported in bang.__all__ if exported.lower() == wanted), wanted)


def find_helper(name: str) -> Callable[..., Any]:
    """Return the helper called *name*, with or without leading underscores.

    Raises `UsageError` with the nearest names for an unknown one.
    """
    bare = _bare(name)
    helpers = [n for n in bang.__all__ if n.startswith(PREFIX)]
    if bare not in helpers:
        guesses = near(bare, helpers)
        hint = f"did you mean {', '.join(guesses)}?" if guesses else f"{PAGE} lists them"
        raise UsageError(f"there is no helper {name!r}; {hint}")
    helper: Callable[..., Any] = getattr(bang, bare)
    return helper


def helper_facts(helper: Callable[..., Any]) -> dict[str, Any]:
    """Return the name, spelling, signature and documentation of *helper* as plain data."""
    doc = inspect.getdoc(helper) or ""
    parameters = list(inspect.signature(helper).parameters)
    return {
        "name": helper.__name__,
        "spelling": f"__{helper.__name__}",
        "signature": f"{helper.__name__}({', '.join(parameters)})",
        "parameters": parameters,
        "summary": doc.split("\n", 1)[0],
        "doc": doc,
        "import": f"from mlusim.bang import {helper.__name__}",
    }


def _helper(helper: Callable[..., Any]) -> Iterator[RenderableType]:
    about = helper_facts(helper)
    yield Text(about["signature"], style="bold")
    yield ""
    # One line for each paragraph and item, since the terminal wraps lines.
    yield unmarked(about["doc"])
    yield ""
    yield f"import: {about['import']}"
    yield f"all helpers: {PAGE}"
