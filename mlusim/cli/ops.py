"""``mlusim ops``: the operators, their arguments, and the cases by which they are judged."""

import argparse
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from attrs import asdict, frozen
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from mlusim.cli.show import say
from mlusim.document import Document, members
from mlusim.errors import UsageError
from mlusim.host.library import Status
from mlusim.operators.listing import AS_C, SOURCE, DocumentListing, Row, read_listing
from mlusim.operators.registry import find_operator, operators
from mlusim.operators.spec import Case, Operator, Thresholds
from mlusim.text_grid import facts, table


def run(args: argparse.Namespace) -> int:
    """List the operators, or show one."""
    if args.listing:
        told = _listing(args.name)
    elif args.name is not None:
        operator = find_operator(args.name)
        told = Document(lambda: operator_facts(operator), lambda: _about(operator))
    else:
        told = Document(
            lambda: {"operators": [operator_facts(operator) for operator in operators().values()]}, _list
        )
    say(told, json=args.json)
    return 0


def _listing(name: str | None) -> Document:
    """Return the listing of operator *name*.  Raises `UsageError` if it has none."""
    if name is None:
        raise UsageError("--listing shows the listing of one operator; name it: mlusim ops OP --listing")
    operator = find_operator(name)
    if operator.listing is None:
        with_one = ", ".join(name for name, other in operators().items() if other.listing is not None)
        raise UsageError(f"{name} declares no listing of its document; these do: {with_one or 'none'}")
    listing = read_listing(operator.listing)
    return Document(lambda: listing_facts(name, listing), lambda: [BesideKernel(name, listing)])


def operator_facts(operator: Operator) -> dict[str, Any]:
    """Return everything that *operator* declares, except its functions."""
    return {
        "name": operator.name,
        "summary": operator.summary,
        "inputs": [asdict(t) for t in operator.inputs],
        "params": [
            {"name": p.name, "type": p.type.__name__, "meaning": p.meaning, "default": p.default}
            for p in operator.params
        ],
        "outputs": [asdict(t) for t in operator.outputs],
        "thresholds": {name: asdict(limits) for name, limits in operator.thresholds.items()},
        "limits": operator.limits,
        "architectures": list(operator.architectures),
        "rule": asdict(operator.rule),
        "plans": [plan.name for plan in operator.plans],
        "policies": [members(policy, "name", "meaning") for policy in operator.policies],
        "cases": [
            members(c, "name", "group") | {"status": c.status.name} | members(c, "boards", "effort", "note")
            for c in operator.cases
        ],
    }


def _list() -> Iterator[RenderableType]:
    shown = table("operator", "cases", "what it does", right=("cases",), fold=("what it does",))
    for operator in operators().values():
        shown.add_row(operator.name, str(len(operator.cases)), operator.summary)
    yield shown


def _about(operator: Operator) -> Iterator[RenderableType]:
    yield Text(operator.name, style="bold")
    yield operator.summary
    yield ""
    arguments = table(
        "argument", "", "dimensions or meaning", "types", fold=("dimensions or meaning", "types")
    )
    inputs, outputs = ({t.name for t in tensors} for tensors in (operator.inputs, operator.outputs))
    for kind, tensors in (("input", operator.inputs), ("output", operator.outputs)):
        for t in tensors:
            # An in/out tensor is one argument of the host function, and has one line.
            if kind == "input" or t.name not in inputs:
                role = f"{kind}, optional" if t.optional else kind
                role = "in/out" if kind == "input" and t.name in outputs else role
                arguments.add_row(t.name, role, t.dims, ", ".join(t.dtypes))
    for p in operator.params:
        default = "" if p.default is None else f" = {p.default}"
        arguments.add_row(p.name, "parameter", p.meaning, f"{p.type.__name__}{default}")
    yield arguments
    yield ""
    about = [("rule", f"{operator.rule.words} ({operator.rule.source})")]
    about += [("architectures", ", ".join(operator.architectures) or "all")]
    about += [("limit", limit) for limit in operator.limits]
    # Outputs with the same limits share a line; most operators have the same limits for all.
    alike: dict[str, list[str]] = {}
    for name, limits in operator.thresholds.items():
        alike.setdefault(_accuracy(limits), []).append(name)
    about += [("accuracy", f"{', '.join(names)}: {told}") for told, names in alike.items()]
    about += [("plan", plan.name) for plan in operator.plans]
    about += [("policy", f"{policy.name}: {policy.meaning}") for policy in operator.policies]
    if operator.listing is not None:
        about.append(("listing", f"beside the kernel: mlusim ops {operator.name} --listing"))
    yield facts(about)
    yield ""
    yield _cases(operator.cases)


def _accuracy(limits: Thresholds) -> str:
    judged = [
        f"{name} <= {limit:g}"
        for name, limit in asdict(limits).items()
        # The limit of diff4 is printed with the dynamic limits, which are the only ones that use it.
        if isinstance(limit, float) and name != "diff4"
    ]
    told = ", ".join(judged) or "not judged"
    dynamic = limits.dynamic
    if dynamic is None:
        return told
    signs = ", diff4 of both signs" if dynamic.diff4 is not None else ""
    again = "; else, in cpu mode, the latter alone" if dynamic.cpu_mode else ""
    times = (
        f"{dynamic.diff1:g}" if dynamic.diff1 == dynamic.diff2 else f"{dynamic.diff1:g} and {dynamic.diff2:g}"
    )
    least = f"{dynamic.half:g} for half and {dynamic.single:g} for float"
    if dynamic.half == dynamic.single:
        least = f"{dynamic.half:g}"
    return (
        f"dynamic: diff1 and diff2 at most {times} times those of another device, or {least}{signs}{again}; "
        f"between schedules {told}"
    )


def _cases(cases: tuple[Case, ...]) -> Any:
    shown = table("case", "group", "remarks", fold=("remarks",))
    for case in cases:
        remarks = [case.note] if case.note else []
        if case.status is not Status.MLUOP_STATUS_SUCCESS:
            remarks.append(f"refused: {case.status.name.removeprefix('MLUOP_STATUS_')}")
        if case.boards:
            remarks.append(f"on {', '.join(case.boards)}")
        if case.long:
            remarks.append(f"about {case.effort:.0f} s in Python; check takes it when named, or with --long")
        shown.add_row(case.name, case.group, "; ".join(remarks))
    return shown


# -- ``--listing``: a document's listing beside its kernel, for a terminal of any width and as data ----

SIGNS = "= the same   ~ another, by its mark   - only in the document   + only in the kernel"
_LEFT = {"=": "", "~": "yellow", "-": "red", "+": ""}
_RIGHT = {"=": "", "~": "yellow", "-": "", "+": "green"}
NARROW = 72  # columns that are needed to show code side by side


@frozen
class BesideKernel:
    """The *listing* of operator *name* beside its kernel, drawn for the available width, since wrapping would break its columns."""

    name: str
    listing: DocumentListing

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Render the lines one by one."""
        for line in listing_lines(self.name, self.listing, options.max_width):
            line.no_wrap, line.overflow = True, "ignore"
            yield line


def listing_facts(name: str, listing: DocumentListing) -> dict[str, Any]:
    """Return the listing of operator *name* as plain data."""
    return {
        "operator": name,
        "about": list(listing.about),
        "source": listing.source.as_posix(),
        "marks": list(listing.marks),
        "parts": [
            {
                "title": part.title,
                "functions": list(part.functions),
                "rows": [_row_facts(row, listing) for row in part.rows],
            }
            for part in listing.parts
        ],
        "rest": [{"line": n, "text": listing.text[n - 1]} for n in listing.rest],
    }


def _row_facts(row: Row, listing: DocumentListing) -> dict[str, Any]:
    return {
        "sign": row.sign,
        "listing": list(row.lines),
        "prose": row.prose,
        "kernel": [{"line": n, "text": listing.text[n - 1]} for n in row.kernel],
        **members(row, "again", "marks", "why"),
    }


def listing_lines(name: str, listing: DocumentListing, width: int) -> Iterator[Text]:
    """Yield the lines that show *listing* in *width* columns."""
    yield from _folded(f"{name}: the document's listing, and {SOURCE}", width, "bold")
    yield from _folded(" ".join(listing.about), width, "")
    yield from _folded(SIGNS, width, "dim")
    for part in listing.parts:
        yield Text()
        names = ", ".join(part.functions)
        title = part.title if part.title == names else f"{part.title}: {names}"
        yield from _folded(title, width, "bold")
        for row in part.rows:
            yield from _shown(row, listing, width)
    yield Text()
    yield from _folded(
        f"{AS_C}: what a compiler asks for and pseudocode leaves out: types, arguments, conversions.  The other marks are "
        f"explained in docs/operators/{listing.source.parent.name}.md; what is left of {SOURCE} is declarations and helpers "
        "that the document does not speak of.",
        width,
        "dim",
    )


def _folded(text: str, width: int, style: str, indent: str = "") -> Iterator[Text]:
    for line in textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent):
        yield Text(line, style=style)


def _shown(row: Row, listing: DocumentListing, width: int) -> Iterator[Text]:
    """Yield a row: code on both sides with the marks between, and the reason below."""
    left, right = _LEFT[row.sign], "dim" if row.again else _RIGHT[row.sign]
    marks = [f"{row.sign} {mark}" for mark in row.marks[:1]] or [row.sign]
    marks += [f"  {mark}" for mark in row.marks[1:]]
    if width < NARROW:
        for line in _code(row.lines, width, prose=row.prose):
            yield Text(line, style=left)
        for number, line in _kernel(row, listing, width - 6):
            yield Text.assemble((f"{number:>5} ", "dim"), (line, right))
    else:
        room = (width - 7 - 6) // 2  # without the marks and the line numbers
        ours, theirs = _code(row.lines, room, prose=row.prose), _kernel(row, listing, width - 13 - room)
        for said, mark, there in zip_longest(ours, marks, theirs):
            number, line = there or ("", "")
            yield Text.assemble(
                ((said or "").ljust(room), left),
                (f" {mark or '':<7}", "bold"),
                (f"{number:>4} ", "dim"),
                (line, right),
            )
    if row.why:
        yield from _folded(f"{', '.join(row.marks)}: {row.why}", width, "italic", "    ")


def _code(lines: Sequence[str], width: int, *, prose: bool) -> list[str]:
    return [piece for line in lines for piece in _wrapped(line, width, hanging=0 if prose else 4)]


def _kernel(row: Row, listing: DocumentListing, width: int) -> list[tuple[str, str]]:
    """Return the lines, wrapped to the width, each with its number at its first part."""
    numbered = []
    for number, line in listing.shown(row):
        pieces = _wrapped(line, width, hanging=4)
        numbered += [(f"{number}" if k == 0 else "", piece) for k, piece in enumerate(pieces)]
    return numbered


def _wrapped(line: str, width: int, *, hanging: int) -> list[str]:
    """Wrap a line of code, with its indentation kept."""
    indent = min(len(line) - len(line.lstrip()), width // 3)
    return textwrap.wrap(
        line.strip(),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + hanging),
        break_on_hyphens=False,
    ) or [""]
