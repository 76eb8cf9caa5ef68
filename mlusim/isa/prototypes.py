"""The C prototypes of every row, for C++ front ends and for the reference pages.

A `Form` is one parameter list with open element types, as a page shows it; it has one prototype for each
choice of these types. Both are derived from the row alone.
"""

import functools
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

from attrs import evolve, frozen

from mlusim.arch.dtypes import DType, boolean, int8
from mlusim.formula.render import to_python
from mlusim.isa import fusion, pool, select
from mlusim.isa.declare import NO_DEFAULT, Intrinsic, Operand, Parameter
from mlusim.isa.table import ISA
from mlusim.isa.vv import BYTES, ELEMENTS
from mlusim.memory.space import DIRECTIONS

LEAD = "T"
ASSEMBLY = "__mlisa_"  # prefix of the names of inline assembly instructions
ANY_TYPE = "Offset"  # the template parameter for any integer type
CHARS: Mapping[DType, tuple[str, str]] = {int8: ("signed char", "char")}  # two C++ types for int8
KEYWORDS = frozenset(  # keywords of C++ that are legal names in Python
    re.findall(
        r"\w+",
        "alignas alignof asm auto bool case catch char concept const default delete do double enum explicit "
        "export extern false float friend goto inline int long mutable namespace new operator private "
        "protected public register requires short signed sizeof static struct switch template this throw true "
        "typedef typeid typename union unsigned using virtual void volatile xor",
    )
)


@frozen
class CParameter:
    """One parameter of a prototype: its name (not a C++ keyword), its C type, and its default as C text."""

    name: str
    type: str
    default: str = ""

    def __str__(self) -> str:
        if self.type == "...":
            return "..."
        gap = "" if self.type.endswith(("*", "&")) else " "
        return f"{self.type}{gap}{self.name}" + (f" = {self.default}" if self.default else "")


@frozen
class Prototype:
    """One declaration in C++; a call of it executes the row named ``row``."""

    row: str
    spelling: str
    result: str
    parameters: tuple[CParameter, ...]

    def __str__(self) -> str:
        generic = any(ANY_TYPE in p.type.split() for p in self.parameters)
        head = f"template <typename {ANY_TYPE}> " if generic else ""
        return f"{head}{self.result} {self.spelling}({', '.join(map(str, self.parameters))})"

    @property
    def types(self) -> tuple[str, ...]:
        """The C types of the parameters, in order."""
        return tuple(p.type for p in self.parameters)


@frozen
class Form:
    """A prototype with open element types: ``elements`` has the choices for each name in braces."""

    row: str
    spelling: str
    result: str
    parameters: tuple[CParameter, ...]
    elements: tuple[tuple[str, tuple[DType, ...]], ...]

    def prototypes(self) -> Iterator[Prototype]:
        """Yield the prototype of every choice of element types."""
        choices = [[(d, c) for d in dtypes for c in CHARS.get(d, (d.c,))] for _, dtypes in self.elements]
        for chosen in itertools.product(*choices):
            yield self._filled({name: c for (name, _), c in zip(self.elements, chosen, strict=True)})

    def generic(self) -> str:
        """Return the declaration with ``T`` in place of open element types."""
        names: dict[str, tuple[Any, str]] = {}
        for variable, dtypes in self.elements:
            text = variable if variable == LEAD else f"{LEAD}_{variable}"
            names[variable] = (None, text) if len(dtypes) > 1 else (dtypes[0], dtypes[0].c)
        return str(self._filled(names))

    def _filled(self, chosen: Mapping[str, tuple[DType | None, str]]) -> Prototype:
        text = {name: c for name, (_, c) in chosen.items()}
        dtype = chosen.get(LEAD, (None, ""))[0]
        text["vv"] = f"vv_{LEAD if dtype is None else dtype.name}"
        parameters = tuple(
            CParameter(p.name, p.type.format_map(text), p.default.format_map(text)) for p in self.parameters
        )
        return Prototype(self.row, self.spelling, self.result.format_map(text), parameters)


def forms(row: Intrinsic) -> tuple[Form, ...]:
    """Return the C forms of *row*; a longer form, such as ``bang_conv_bias``, has the name of the shorter one."""
    return tuple(dict.fromkeys(_forms(row, _shorter_names().get(row.name, row.spelling))))


def prototypes(row: Intrinsic) -> tuple[Prototype, ...]:
    """Return the C prototypes of *row*, without duplicates."""
    return tuple(dict.fromkeys(p for form in forms(row) for p in form.prototypes()))


@functools.cache
def all_prototypes() -> tuple[Prototype, ...]:
    """Return the prototypes of all rows that C calls by name, in the order of the table; inline assembly has no prototypes."""
    rows = (row for row in ISA.values() if not row.spelling.startswith(ASSEMBLY))
    return tuple(p for row in rows for p in prototypes(row))


@functools.cache
def _shorter_names() -> Mapping[str, str]:
    """Return, for each row that is the longer form of another row, their common name in C."""
    return {row.overload[0]: row.spelling for row in ISA.values() if row.overload is not None}


def _forms(row: Intrinsic, spelling: str) -> Iterator[Form]:
    variables = _variables(row)
    for declared in _lists(row.given):
        for parameters in itertools.product(*(_choices(row, p) for p in declared)):
            flat = tuple(c for part in parameters for c in part)
            if not _counted(row, flat):
                continue
            used = set(re.findall(r"\{(\w+)\}", " ".join(p.type for p in flat) + row.result))
            used |= {LEAD} if "vv" in used else set()
            elements = tuple((name, dtypes) for name, dtypes in variables.items() if name in used)
            if any(p.type == f"{{{LEAD}}}" for p in flat):  # a scalar cannot be a mask
                elements = tuple(
                    (name, tuple(d for d in dtypes if d is not boolean)) for name, dtypes in elements
                )
            # C++ allows a default only if all later parameters have one too.
            last = max((n for n, p in enumerate(flat) if not p.default), default=-1)
            flat = tuple(evolve(p, default="") if n < last else p for n, p in enumerate(flat))
            yield Form(row.name, spelling, row.result, flat, elements)


def _counted(row: Intrinsic, parameters: tuple[CParameter, ...]) -> bool:
    """Return whether the row has a count exactly if one of its operands that may be scalars is a vector."""
    eithers = {
        p.name: to_python(row.operands[p.name].extent)
        for p in row.given
        if p.kind == "either" and p.name in row.operands
    }
    optional = {p.name for p in row.given if p.default is None} & set(eithers.values())
    vectors = {eithers[p.name] for p in parameters if p.name in eithers and p.type.endswith("*")}
    return optional & vectors == optional & {p.name for p in parameters}


def _variables(row: Intrinsic) -> dict[str, tuple[DType, ...]]:
    """Return the names of open element types, each with its possible types."""
    variables: dict[str, tuple[DType, ...]] = {LEAD: row.elements} if row.elements else {}
    for o in row.operands.values():
        name = _variable(row, o)
        variables[name] = tuple(d for d in variables.get(name, o.dtypes) if d in o.dtypes)
    return variables


def _variable(row: Intrinsic, o: Operand) -> str:
    lead = row.same[0] if row.same else next(iter(row.operands))
    return LEAD if o.name == lead or o.name in row.same else o.name


def _lists(parameters: tuple[Parameter, ...]) -> Iterator[tuple[Parameter, ...]]:
    """Yield the parameter lists: parameters with default None are all present or all absent."""
    at = next((n for n, p in enumerate(parameters) if p.default is None), None)
    if at is not None:
        yield parameters[:at]
    yield parameters


def _choices(row: Intrinsic, p: Parameter) -> Iterator[tuple[CParameter, ...]]:
    """Return the C forms of a parameter: one parameter, or a list of parameters for "rest"."""
    if p.kind == "rest":
        for text in p.c or ():
            yield tuple(_parsed(part) for part in text.split(", ")) if text else ()
        return
    for text in _of_operand(row, p) if p.c is None else p.c:
        yield (CParameter(f"{p.name}_" if p.name in KEYWORDS else p.name, text, _default(p)),)


def _of_operand(row: Intrinsic, p: Parameter) -> Iterator[str]:
    o = row.operands.get(p.name)
    if o is None:
        yield "void *" if p.name == "dst" else "const void *"
        return
    const = "const " if o.access == "read" else ""
    element = f"{{{_variable(row, o)}}}"
    yield f"{const}{'void' if o.name in row.void else element} *"
    if p.kind == "either":
        yield element


def _parsed(text: str) -> CParameter:
    """Parse a parameter that a row gives as text, such as ``const void *mask`` or ``...``."""
    name = text if text == "..." else re.split(r"[ *&]", text)[-1]
    return CParameter(name, "..." if text == "..." else text[: -len(name)].strip())


def _default(p: Parameter) -> str:
    value = p.default
    if value is NO_DEFAULT or value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else str(value)


# -- the C++ header: enumerators, registers, and a prototype for every form of every row -----------
#
# It requires the types ``half`` and ``bfloat16_t`` and has no include guard but `#pragma once`.

MARK = "mlusim_intrinsic"  # the annotation of every prototype
ANNOTATION = "__mlusim_intrinsic__"  # the macro for the annotation, before the type of each prototype

ENUMERATORS: Mapping[str, Mapping[str, int]] = {
    "mluMemcpyDirection_t": {d.name: d.value for d in DIRECTIONS},
    "mluFusionOp_t": {name: value for name, value in vars(fusion).items() if name.startswith("FUSION_")},
    "mluCmp_t": {name: value for name, value in vars(select).items() if name.startswith("CMP_")},
    "mluOverlap_t": {name: value for name, value in vars(pool).items() if name.startswith("OVERLAP_")},
}


def header_lines() -> Iterator[str]:
    """Yield the header line by line, with one prototype per line."""
    yield "#pragma once"
    for name, values in ENUMERATORS.items():
        yield f"typedef enum {{ {', '.join(f'{n} = {v}' for n, v in values.items())} }} {name};"
    for dtype in (*ELEMENTS, boolean):
        yield f"struct vv_{dtype.name} {{ unsigned char bytes[{BYTES}]; }};"
    yield f'#define {ANNOTATION} __attribute__((device, annotate("{MARK}")))'
    for prototype in all_prototypes():
        text = str(prototype)
        head, sep, rest = text.partition("> ") if text.startswith("template") else ("", "", text)
        yield f"{head}{sep}{ANNOTATION} {rest};"


def header_text() -> str:
    """Return the header as one text."""
    return "\n".join(header_lines()) + "\n"
