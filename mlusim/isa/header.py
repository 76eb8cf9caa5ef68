"""The C++ header of the instruction set: enumerators, registers, and a prototype of every form of every row.

It presupposes the types ``half`` and ``bfloat16_t`` and wants to be included once.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from mlusim.isa import fusion, pool, select
from mlusim.isa.prototypes import all_prototypes
from mlusim.isa.register import BYTES
from mlusim.isa.vv import ELEMENTS
from mlusim.memory.direction import DIRECTIONS

MARK = "mlusim_intrinsic"  # the annotation of every prototype
ANNOTATION = "__mlusim_intrinsic__"  # what carries it, before the type of each

ENUMERATORS: Mapping[str, Mapping[str, int]] = MappingProxyType(
    {
        "mluMemcpyDirection_t": {d.name: d.value for d in DIRECTIONS},
        "mluFusionOp_t": {name: value for name, value in vars(fusion).items() if name.startswith("FUSION_")},
        "mluCmp_t": {name: value for name, value in vars(select).items() if name.startswith("CMP_")},
        "mluOverlap_t": {name: value for name, value in vars(pool).items() if name.startswith("OVERLAP_")},
    }
)


def header_lines() -> Iterator[str]:
    """Yield the header, line by line; each prototype is a line of its own."""
    yield "#pragma once"
    for name, values in ENUMERATORS.items():
        yield f"typedef enum {{ {', '.join(f'{n} = {v}' for n, v in values.items())} }} {name};"
    for dtype in ELEMENTS:
        yield f"struct vv_{dtype.name} {{ unsigned char bytes[{BYTES}]; }};"
    yield f'#define {ANNOTATION} __attribute__((device, annotate("{MARK}")))'
    for prototype in all_prototypes():
        text = str(prototype)
        head, sep, rest = text.partition("> ") if text.startswith("template") else ("", "", text)
        yield f"{head}{sep}{ANNOTATION} {rest};"


def header_text() -> str:
    """Return the header as one text."""
    return "\n".join(header_lines()) + "\n"
