"""A design document's listing beside the BANG C kernel that was written from it, statement by statement.

A file ``listing.txt`` beside ``kernel.mlu`` holds the statements that the document prints.  For each it says which
statements of the kernel correspond to it, and why they differ or are missing.  Each line begins with one sign:

====  ==================================================================================================
``%``  a remark about the whole listing
``[``  ``[TITLE = FUNCTION, ...]``: a part of the listing and the kernel's functions for it (``[F]``: of that name)
``:``  ``KERNEL is DOCUMENT or DOCUMENT``: a name of the kernel that differs, for this part, or for all if before the first
``|``  a line of the listing
``>``  a sentence of the document, where it has no code
``&``  another line or sentence, taken together with the one above
``=``  a piece of the kernel's statement for the lines above; ``PIECE .. PIECE`` a range of statements, ``FUNCTION()`` all of it
``+``  the same for statements of the kernel that the document does not have
``!``  ``MARK, MARK: WHY``: the reasons of a difference; a mark is explained on the operator's page
``#``  a comment
====  ==================================================================================================

A line without ``=`` and ``!`` is in the kernel unchanged.  `read_listing` checks that every line of the listing and
every statement of these functions is covered, and that every difference has a mark.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path

from attrs import evolve, field, frozen, mutable

from mlusim.errors import UsageError

SOURCE = "kernel.mlu"
AS_C = "C"
"""The mark of what a compiler requires and pseudocode omits: types, arguments, conversions."""
_SIGNS = "%[:|>&=+!#"
_FUNCTION = re.compile(r"^(?:template <[^>]*>\s*)?__mlu_(?:func|global|entry)__[^;{]*?(\w+)\(", re.MULTILINE)
_NOISE = re.compile(r"\bconst\b|\((?:T|float|void|char|int|int8_t|int16_t|int32_t) ?\*\)|[{}]")
_MARK = re.compile(r"\b[A-Z]{2}-(?:\d+|[A-Z])\b")
_MARKS = re.compile(
    rf"^((?:[A-Z]{{2}}-(?:\d+|[A-Z])|{AS_C})(?:, (?:[A-Z]{{2}}-(?:\d+|[A-Z])|{AS_C}))*)(?:: (.*))?$"
)
_COMMENT = re.compile(r"//.*|/\*.*?\*/")


@frozen
class KernelStatement:
    """A statement of the kernel: its first and last line, its text without blanks, and the marks in its comments."""

    first: int
    last: int
    text: str
    function: str
    marks: tuple[str, ...] = ()


@frozen
class Row:
    """Lines of the listing and the lines of the kernel that correspond to them.

    ``kernel`` are line numbers, from 1; empty if the kernel has no such statement.  ``lines`` is empty if the
    document has none.  With ``prose`` the lines are a sentence of the document, not code.  With ``again`` the lines
    of the kernel were shown beside another line already.
    """

    lines: tuple[str, ...]
    kernel: tuple[int, ...]
    marks: tuple[str, ...] = ()
    why: str = ""
    prose: bool = False
    again: bool = False

    @property
    def sign(self) -> str:
        """Return ``=`` for equal, ``~`` for different, ``-`` for only in the document, ``+`` for only in the kernel."""
        if not self.lines:
            return "+"
        if not self.kernel and self.marks:
            return "-"
        return "~" if self.marks or self.why else "="


@frozen
class Part:
    """A function of the listing, or another part that has a title."""

    title: str
    functions: tuple[str, ...]
    rows: tuple[Row, ...]


@frozen
class DocumentListing:
    """A document's listing with its kernel; ``rest`` are the lines of the kernel that belong to no part."""

    about: tuple[str, ...]
    source: Path
    text: tuple[str, ...]
    parts: tuple[Part, ...]
    rest: tuple[int, ...]

    @property
    def marks(self) -> tuple[str, ...]:
        """Every mark, in the order of their first use."""
        return tuple(dict.fromkeys(mark for part in self.parts for row in part.rows for mark in row.marks))

    def shown(self, row: Row) -> Iterator[tuple[int, str]]:
        """Yield the kernel's lines of *row* with their numbers; continuation lines of a statement are indented by four more blanks."""
        base, whole = 0, True
        for number in row.kernel:
            line = self.text[number - 1]
            if whole:
                base = len(line) - len(line.lstrip())
            yield number, line if whole else f"{'':{base + 4}}{line.strip()}"
            code = line.partition("//")[0].rstrip()
            whole = not code or code.endswith((";", "{", "}", ":", "*/", ">"))


@mutable
class _Entry:
    """One or more lines of the file that are matched together: prose, or code."""

    line: int
    lines: list[str] = field(factory=list)
    prose: bool = False
    added: bool = False
    pieces: list[str] = field(factory=list)
    marks: list[str] = field(factory=list)
    why: str = ""


@mutable
class _Part:
    title: str
    functions: list[str]
    line: int
    names: list[tuple[str, tuple[str, ...], tuple[str, ...]]] = field(factory=list)
    entries: list[_Entry] = field(factory=list)


def read_listing(path: Path) -> DocumentListing:
    """Return the listing of the file *path*, beside which ``kernel.mlu`` stands.

    Raises `UsageError` with the file and line of anything that is not covered.
    """
    source = path.with_name(SOURCE)
    text = tuple(source.read_text(encoding="utf-8").splitlines())
    about, parts = _parsed(path)
    functions = _statements(text)
    matched, used = [], set[int]()
    for part in parts:
        missing = [name for name in part.functions if name not in functions]
        if missing:
            raise _error(path, part.line, f"{SOURCE} has no function {missing[0]!r}")
        statements = [s for name in part.functions for s in functions[name]]
        used.update(n for name in part.functions for n in _lines_of(text, functions[name]))
        rows = list(_Pairing(path, part, statements, text).rows())
        matched.append(Part(part.title, tuple(part.functions), tuple(_closed(text, rows))))
    rest = tuple(
        n for n, line in enumerate(text, 1) if n not in used and line.strip() and not _is_brace(line)
    )
    return DocumentListing(tuple(about), source, text, tuple(matched), rest)


# -- the file ----------------------------------------------------------------------------------------


def _error(path: Path, line: int, words: str) -> UsageError:
    return UsageError(f"{path}:{line}: {words}")


def _parsed(path: Path) -> tuple[list[str], list[_Part]]:
    about: list[str] = []
    parts: list[_Part] = []
    everywhere = _Part("", [], 0)
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        # Blank lines and comments are for readers of the file, and belong to no part.
        if not line.strip() or line.startswith("#"):
            continue
        sign, rest = line[0], line[2:].rstrip()
        if sign not in _SIGNS:
            raise _error(path, number, f"a line begins with one of {' '.join(_SIGNS)}")
        if sign == "%":
            about.append(rest)
        elif sign == "[":
            title, _, names = line.strip()[1:-1].partition(" = ")
            parts.append(_Part(title, re.split(r", *", names or title), number, list(everywhere.names)))
        elif sign == ":":
            (parts[-1] if parts else everywhere).names.append(_name(path, number, rest))
        elif not parts:
            raise _error(path, number, "it stands before the first part, which begins with [")
        else:
            _told(path, number, sign, rest, parts[-1].entries)
    return about, parts


def _name(path: Path, number: int, text: str) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Return a pattern of the kernel's name, the document's names for it, and the marks that explain the difference."""
    said, _, marks = text.partition(" ! ")
    kernel, is_, document = said.partition(" is ")
    if not is_:
        raise _error(path, number, "it has to say `KERNEL is DOCUMENT`")
    pattern = _plain(kernel)
    # Whole words: `n` must not be replaced within `nram`.
    bound = rf"(?<!\w){re.escape(pattern)}(?!\w)" if pattern[-1].isalnum() else re.escape(pattern)
    return bound, tuple(_plain(each) for each in document.split(" or ")), tuple(_MARK.findall(marks))


def _told(path: Path, number: int, sign: str, rest: str, entries: list[_Entry]) -> None:
    """Read a line with one of the signs that belong to entries."""
    last = entries[-1] if entries else None
    if sign in "|>":
        entries.append(_Entry(number, [rest], prose=sign == ">"))
    elif sign == "+":
        if last is None or not last.added or last.marks or last.why:
            entries.append(_Entry(number, added=True))
        entries[-1].pieces.append(rest)
    elif last is None:
        raise _error(path, number, "there is no line above that it belongs to")
    elif sign == "&":
        last.lines.append(rest)
    elif sign == "=":
        last.pieces.append(rest)
    else:
        marked = _MARKS.match(rest)
        if marked is None:
            raise _error(
                path, number, f"it has to name its mark, as MI-1, or {AS_C}, and then a colon and why"
            )
        last.marks += [mark for mark in re.split(", ", marked[1]) if mark not in last.marks]
        last.why = " ".join(filter(None, (last.why, marked[2])))


# -- the kernel --------------------------------------------------------------------------------------


def _plain(text: str) -> str:
    """Return a statement without comments, braces, qualifiers that change nothing, and blanks except between words."""
    return re.sub(r" ?([^\w ]) ?", r"\1", " ".join(_NOISE.sub(" ", _COMMENT.sub("", text)).split()))


def _is_brace(line: str) -> bool:
    """Return whether *line* is only a closing brace."""
    return line.strip() in {"}", "};"}


def _statements(text: Sequence[str]) -> dict[str, list[KernelStatement]]:
    """Return the statements of every function, its head first; functions that share a name are concatenated."""
    whole = "\n".join(text)
    by_function: dict[str, list[KernelStatement]] = {}
    for head in _FUNCTION.finditer(whole):
        first = whole.count("\n", 0, head.start())
        body = []
        for line in text[first:]:
            body.append(line)
            if line.startswith("}") or (
                line.endswith(";") and not line.startswith(" ") and "{" not in "".join(body)
            ):
                break
        if "{" in "".join(body):
            by_function.setdefault(head[1], []).extend(_split(head[1], body, first + 1))
    return by_function


def _split(function: str, lines: Sequence[str], start: int) -> Iterator[KernelStatement]:
    """Yield the statements; each ends at a semicolon, a brace or the colon of a label outside of parentheses."""
    depth, begun, text = 0, 0, ""
    marks: list[str] = []
    above: list[str] = []
    for number, line in enumerate(lines, start):
        code, comment = _COMMENT.sub("", line), "".join(_COMMENT.findall(line))
        if not code.strip():
            above += _MARK.findall(comment)
            continue
        if code.lstrip().startswith("#"):
            continue
        for sign in code:
            if sign.strip() and not begun:
                begun, marks, above = number, above, []
            depth += (sign == "(") - (sign == ")")
            text += sign
            if depth == 0 and (
                sign in ";{}" or (sign == ":" and re.match(r"\s*(?:case \w+|default):$", text))
            ):
                if _plain(text).strip(";"):
                    named = (*marks, *_MARK.findall(comment))
                    yield KernelStatement(begun, number, _plain(text), function, tuple(dict.fromkeys(named)))
                begun, text = 0, ""
        text += " " if text else ""


def _lines_of(text: Sequence[str], statements: Sequence[KernelStatement]) -> Iterator[int]:
    """Yield every line of the functions that contain *statements*, from the comment above the head to the last brace."""
    heads = [
        k
        for k, s in enumerate(statements)
        if "__mlu_" in s.text.split("(")[0] or s.text.startswith("template")
    ]
    for at, head in enumerate(heads):
        end = heads[at + 1] if at + 1 < len(heads) else len(statements)
        first, last = statements[head].first, statements[end - 1].last
        while first > 1 and text[first - 2].startswith("//"):
            first -= 1
        while last < len(text) and not text[last - 1].startswith("}"):
            last += 1
        yield from range(first, last + 1)


# -- the listing with the kernel ----------------------------------------------------------------------


@mutable
class _Pairing:
    """The lines of a *part* of the listing, in the file *path*, paired with the *statements* of the kernel's *text*."""

    path: Path
    part: _Part
    statements: Sequence[KernelStatement]
    text: Sequence[str]
    shown: set[int] = field(factory=set)  # the kernel's lines that are in a row already

    def rows(self) -> Iterator[Row]:
        """Yield the document's lines in order, and between them statements that only the kernel has."""
        matched = self._matches()
        claimed = {k for places, _ in matched for k in places}
        seen: set[int] = set()
        at = 0
        for entry, (places, marks) in zip(self.part.entries, matched, strict=True):
            if places and places[0] >= at:
                yield from self._between(range(at, places[0]), claimed)
                at = places[-1] + 1
            again = bool(places) and set(places) <= seen
            seen.update(places)
            lines = self._numbers(places, set() if again else self.shown)
            if not places and not marks:
                lines = self._brace()
            yield Row(tuple(entry.lines), lines, marks, entry.why, entry.prose, again)
        yield from self._between(range(at, len(self.statements)), claimed)

    def _error(self, entry: _Entry, words: str) -> UsageError:
        return _error(self.path, entry.line, words)

    # -- the lines of rows -------------------------------------------------------------------------

    def _brace(self) -> tuple[int, ...]:
        """Return the line of the next closing brace in the kernel, if the next line is one."""
        after = max(self.shown, default=len(self.text)) + 1
        if after > len(self.text) or not _is_brace(self.text[after - 1]):
            return ()
        self.shown.add(after)
        return (after,)

    def _between(self, places: Iterable[int], claimed: set[int]) -> Iterator[Row]:
        """Yield rows of statements that no line of the listing corresponds to; a comment on each has to name its mark."""
        for place in places:
            if place in claimed:
                continue
            statement = self.statements[place]
            if not statement.marks:
                said = self.text[statement.first - 1].strip()
                raise UsageError(
                    f"{self.path.with_name(SOURCE)}:{statement.first}: no line of {self.path.name} is of this statement, and no mark: {said}"
                )
            numbers = self._numbers((place,), self.shown)
            if numbers:
                yield Row((), numbers, statement.marks)

    def _numbers(self, places: Iterable[int], shown: set[int]) -> tuple[int, ...]:
        """Return the lines of statements and of the comments right above them, without the lines in *shown*."""
        numbers: list[int] = []
        for place in places:
            statement = self.statements[place]
            first = statement.first
            # A comment on a line of its own, and a closing brace, are shown with the statement below it.
            while first > 1 and first - 1 not in shown:
                line = self.text[first - 2]
                if not line.lstrip().startswith(("//", "/*", "#")) and not _is_brace(line):
                    break
                first -= 1
            numbers += [n for n in range(first, statement.last + 1) if n not in shown and n not in numbers]
        if not numbers:
            wholes = (self.statements[place] for place in places)
            numbers = [n for whole in wholes for n in range(whole.first, whole.last + 1)]
        shown.update(numbers)
        return tuple(dict.fromkeys(numbers))

    # -- the statements of entries -----------------------------------------------------------------

    def _matches(self) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
        """Return for each entry the indices of its statements, and its marks."""
        matches: list[tuple[tuple[int, ...], tuple[str, ...]]] = []
        at = 0
        for entry in self.part.entries:
            places: tuple[int, ...] = ()
            marks = tuple(entry.marks)
            if entry.pieces:
                named = (k for piece in entry.pieces for k in self._find(entry, piece, at))
                places = tuple(dict.fromkeys(named))
                said = _plain(" ".join(self.statements[k].text for k in places))
                same = self._same(said, _plain("".join(line + "\n" for line in entry.lines)))
                if same is None and not marks and not entry.prose and not entry.added:
                    raise self._error(
                        entry, f"the kernel's statement is another, and no mark argues it: {said}"
                    )
                marks += tuple(mark for mark in same or () if mark not in marks)
            elif not marks and _plain("\n".join(entry.lines)).strip(";"):
                if entry.prose:
                    raise self._error(entry, "nothing says where the kernel does this, or why it does not")
                places, marks = self._as_it_is(entry, at)
            if entry.added and not marks and not all(self.statements[k].marks for k in places):
                raise self._error(entry, "no mark argues why the kernel has this")
            if entry.added:
                marks += tuple(m for k in places for m in self.statements[k].marks if m not in marks)
            at = places[-1] + 1 if places else at
            matches.append((places, marks))
        return matches

    def _find(self, entry: _Entry, piece: str, at: int) -> Sequence[int]:
        """Return the indices of the statements that *piece* names, searched from *at* on and then from the start."""
        texts = [statement.text for statement in self.statements]
        if re.fullmatch(r"\w+\(\)", piece):
            places = [k for k, statement in enumerate(self.statements) if statement.function == piece[:-2]]
            if places:
                return places
        first, _, last = (_plain(each) for each in piece.partition(" .. "))
        order = [*range(at, len(texts)), *range(at)]
        begin = next((k for k in order if first in texts[k]), None)
        if begin is None:
            raise self._error(entry, f"no statement of {SOURCE} has {piece!r}")
        if not last:
            return (begin,)
        end = next((k for k in range(begin, len(texts)) if last in texts[k]), None)
        if end is None:
            raise self._error(entry, f"no statement behind {first!r} has {last!r}")
        return range(begin, end + 1)

    def _as_it_is(self, entry: _Entry, at: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
        """Return the indices of statements whose text equals the lines of *entry*, and the marks of the names in them."""
        wanted = _plain("".join(line + "\n" for line in entry.lines))
        many = len(self.statements)
        for begin in [*range(at, many), *range(at)]:
            said = ""
            for end in range(begin, min(begin + 8, many)):
                said = _plain(f"{said} {self.statements[end].text}")
                marks = self._same(said, wanted)
                if marks is not None:
                    return tuple(range(begin, end + 1)), marks
        functions = ", ".join(self.part.functions)
        raise self._error(entry, f"no statement of {functions} is this line: {entry.lines[0].strip()}")

    def _same(self, said: str, wanted: str) -> tuple[str, ...] | None:
        """Return the marks of the names by whose replacement the kernel's text *said* becomes *wanted*; None if it does not."""
        used = [name for name in self.part.names if re.search(name[0], said)]
        for choice in product(*(documents for _, documents, _ in used)):
            text = said
            for (pattern, _, _), document in zip(used, choice, strict=True):
                text = re.sub(pattern, document.replace("\\", r"\\"), text)
            if text == wanted:
                return tuple(dict.fromkeys(mark for _, _, marks in used for mark in marks))
        return () if said == wanted else None


def _closed(text: Sequence[str], rows: list[Row]) -> Iterator[Row]:
    """Yield the rows with each closing brace at the end of the row that opened the block, not at the start of the next row."""
    shown = {n for row in rows for n in row.kernel}
    for at, row in enumerate(rows):
        begin = next((k for k, n in enumerate(row.kernel) if not _is_brace(text[n - 1])), 0)
        if begin and at and rows[at - 1].kernel and row.lines != ("}",):
            rows[at - 1] = evolve(rows[at - 1], kernel=(*rows[at - 1].kernel, *row.kernel[:begin]))
            rows[at] = evolve(row, kernel=row.kernel[begin:])
    for row in rows:
        more: list[int] = []
        after = row.kernel[-1] + 1 if row.kernel and not row.again else 0
        while 0 < after <= len(text) and after not in shown and _is_brace(text[after - 1]):
            shown.add(after)
            more.append(after)
            after += 1
        yield evolve(row, kernel=(*row.kernel, *more))
