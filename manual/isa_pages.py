"""The pages of the instruction set in the site of the documentation, written from the table; ``make site`` makes them."""

import re
from collections.abc import Iterator, Mapping

from manual.coverage_page import coverage_page
from mlusim.arch.board import Pipe
from mlusim.arch.catalog import ARCHES
from mlusim.cli.isa import cycles_told
from mlusim.cli.isa_table import cycles_of
from mlusim.formula.expr import ONE
from mlusim.formula.render import to_python
from mlusim.isa.declare import Intrinsic, Operand, Passes
from mlusim.isa.prototypes import Form, forms
from mlusim.isa.table import FAMILIES, ISA, Family
from mlusim.machine.engine import Engine

CERTAINTY: Mapping[str, str] = {
    "C": "certain",
    "D": "derived",
    "I": "inferred",
    "U": "unknown, a default was chosen",
}
OVERLAP: Mapping[str, str] = {
    "exact": "may be exactly",
    "whole": "may be exactly and as long as",
    "tail": "may have in its end, ending with it or before,",
    "piece": "may be exactly, or exactly a piece as long as itself of,",
    "disjoint": "must not overlap",
    "free": "may overlap",
}


def isa_pages() -> dict[str, str]:
    """Return every page as Markdown, by file name."""
    return {"coverage.md": coverage_page()} | {f"{family.name}.md": _page(family) for family in FAMILIES}


def families(folder: str) -> str:
    """Return the table of families, with links to each intrinsic on the pages in *folder*."""
    lines = ["| family | intrinsics |", "| --- | --- |"]
    for family in FAMILIES:
        page = f"{folder}/{family.name}.md"
        rows = ", ".join(f"[{row.name}]({page}#{_anchor(row)})" for row in family.rows)
        lines.append(f"| [{family.name}]({page}): {_markdown(family.title.rstrip('.'))} | {rows} |")
    return "\n".join(lines) + "\n"


def _page(family: Family) -> str:
    heading, _, rest = family.title.rstrip(".").partition(": ")
    opening = f"{rest[0].upper()}{rest[1:]}.\n" if rest else ""
    parts = [
        f"# {_markdown(heading)}\n",
        opening and _markdown(opening),
        _markdown(family.text) + "\n" * bool(family.text),
    ]
    parts += ["\n".join(_row(row)) for row in family.rows]
    return "\n".join(part for part in parts if part)


def _row(row: Intrinsic) -> Iterator[str]:
    yield f"## `{row.spelling}`\n"
    yield "| C | Python |"
    yield "| --- | --- |"
    yield from (f"| `{form.generic()}` | `{_python(form)}` |" for form in forms(row))
    yield ""
    yield _markdown(row.doc) + "\n"
    if row.operands:
        yield "| operand | | elements | memory | types |"
        yield "| --- | --- | --- | --- | --- |"
        yield from (_operand(row, o) for o in row.operands.values())
        yield ""
    yield from (f"* {fact}" for fact in _facts(row))
    yield ""


def _python(form: Form) -> str:
    """Return the call of *form* in a Python kernel."""
    call = f"mlu.{form.row}({', '.join('*values' if p.type == '...' else p.name for p in form.parameters)})"
    return call if form.result == "void" else f"result = {call}"


def _operand(row: Intrinsic, o: Operand) -> str:
    spaces = ", ".join(space.name for space in o.spaces)
    return f"| {o.name} | {_access(o)} | {_footprint(o)} | {spaces} | {_types(row, o)} |"


def _access(o: Operand) -> str:
    word = {"read": "read", "write": "written", "update": "read and written"}[o.access]
    return f"{word}, as far as the data say" if o.partial else word


def _footprint(o: Operand) -> str:
    text = f"`{to_python(o.extent)}`"
    if o.step != ONE:
        text += f", every `{to_python(o.step)}`"
    for stride, more in reversed(o.strides):
        text += f", `{to_python(more)} + 1` times at `{to_python(stride)}` bytes"
    return text


def _types(row: Intrinsic, o: Operand) -> str:
    if o.name in row.void:
        how = row.void[o.name]
        return (
            # A void pointer has the type that another parameter names, or has always one type.
            f"by the type of {how}" if any(p.name == how for p in row.parameters) else f"any, seen as {how}"
        )
    text = ", ".join(d.name for d in o.dtypes)
    old = ", ".join(d.name for d in o.dtypes_2xx)
    # 270 stands for MLU2xx: its set of types is shown only if the row exists there.
    return f"{text}; MLU2xx: {old}" if row.available(270) and old != text else text


def _facts(row: Intrinsic) -> Iterator[str]:
    for rule in row.rules:
        where = f" (generation {', '.join(map(str, rule.generations))})" if rule.generations else ""
        yield f'rule: {rule.legal}{where}; else: "{rule.sentence}"'
    for source, how in row.overlap.items():
        early = row.reads_first and how == "exact"
        spaces = set(row.operands[source].spaces)
        # Operands in different memories never overlap.
        targets = [o.name for o in row.operands.values() if o.access != "read" and spaces & set(o.spaces)]
        more = (
            ", on mtp_372 may begin in front of it, and up to 1024 bytes may overlap it anyhow"
            if early
            else ""
        )
        yield f"overlap: {', '.join(targets)} {OVERLAP[how]} {source}{more}"
    yield f"pipe: {row.pipe.value}; cost: {_cost(row)}; definedness travels {row.flow.value}"
    if row.overload is not None:
        longer, operand = ISA[row.overload[0]], row.overload[1]
        yield f"a call with *{operand}*: that of [`{longer.spelling}`](#{_anchor(longer)})"
    if row.approximation is not None:
        yield f"the hardware approximates: {row.approximation}"
    architectures = ", ".join(a.name for a in ARCHES.values() if row.available(a.bang_arch))
    architectures = architectures or f"none of the catalogue, those from `__BANG_ARCH__` {row.since} on"
    yield f"architectures: {architectures}{'; on memory cores too' if row.memory_core else ''}"
    yield f"native engine: {'C' if any(Engine.performs(row, arch) for arch in ARCHES.values()) else 'Python executes it'}"
    yield f"certainty: {CERTAINTY[row.certainty]}; source: {row.source}"


def _cost(row: Intrinsic) -> str:
    if row.cost is None:
        return "one scalar operation" if row.pipe is Pipe.SCALAR and not row.control else "none of its own"
    # A cost counts elements of one operand, so T is the type of that one.
    extent = to_python(row.cost.extent).replace("sizeof(T)", f"sizeof({row.cost.operand})")
    nbytes = f"({extent}) * sizeof({row.cost.operand}[0])"
    if row.pipe is Pipe.VECTOR:
        cycles = cycles_of(row)
        amount = f"`{extent}` elements" if row.passes is Passes.TRANSPOSE else f"`ceil({nbytes} / 128)` lines"
        return "; cycles: ".join(filter(None, (amount, "; ".join(map(cycles_told, cycles)))))
    if row.pipe is Pipe.TENSOR:
        return f"`{extent}` multiply-adds"
    return f"`{nbytes}` bytes" if row.pipe in (Pipe.IO, Pipe.MOVE) else "one scalar access"


def _markdown(text: str) -> str:
    """Return the text with reStructuredText markup replaced by Markdown."""
    code = re.sub(r"``(.+?)``", lambda m: f"`{m[1]}`".replace("\n", " "), text, flags=re.DOTALL)
    return code.replace("::\n", ":\n")


def _anchor(row: Intrinsic) -> str:
    return row.spelling
