"""Sums of atomics without a result in launches with several tasks at once: see ``c/sums.h``."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from mlusim.arch.dtypes import DType
from mlusim.isa.declare import Intrinsic
from mlusim.machine.native.text.templates import SUFFIX, RowCall, body

AT_ONCE, LATER, IN_THE_RECORD = range(3)
"""The manners of a thread's sums: added, recorded for later, or added and recorded as reads and writes."""
MARK = "sums_later_("  # occurs in the text of each row that needs the header
SUMMED = "mlusim_add_up"


def adds(row: Intrinsic) -> bool:
    """Return whether *row* adds to memory off chip and returns nothing."""
    return bool(row.native == ("reduction", np.add))


def later(extent: str, dtype: int, text: str, *, scalar: bool) -> Iterator[str]:
    """Render the sum of *extent* bytes of *dtype* to ``dst``: *text*, or a record for later."""
    yield f"  if (sums_later_(m, a_dst, {extent}, site)) {{"
    source = "&src, sizeof src" if scalar else "(const uint8_t *)src"
    yield f"    {'add_same_later_' if scalar else 'add_later_'}(m, a_dst, {extent}, {source}, {dtype}, site);"
    yield f"  }} else {{ {text} }}"


def header(sums: Iterable[tuple[Intrinsic, DType]], numbers: Mapping[DType, int]) -> str:
    """Return the C before the rows; a thread's records of *sums* are added by `SUMMED`, with *numbers* for types."""
    lines, cases = [(Path(__file__).parents[1] / "c" / "sums.h").read_text(encoding="utf-8")], []
    for dtype, row in {dtype: row for row, dtype in sums}.items():
        text = body(RowCall(row, {"dst": dtype, "src": dtype}))
        if text is not None:
            kind = f"T_{SUFFIX[dtype.name]}"
            lines.append(
                f"PART void sum_{numbers[dtype]}_({kind} *restrict dst, const {kind} *restrict src, int64_t elem_count) {{ {text} }}"
            )
            cases.append(
                f"    case {numbers[dtype]}: sum_{numbers[dtype]}_(({kind} *)to, (const {kind} *)from, added.nbytes / (int64_t)sizeof({kind})); break;"
            )
    lines.append(_ADD_UP.replace("CASES", "\n".join(cases)))
    return "\n".join(lines)


_ADD_UP = f"""\
/* Add what is written down from each of *many* places to another, in that order. */
VISIBLE void {SUMMED}(const Target_ *targets, uint8_t *const *places, int64_t many) {{
  uint8_t from[KEPT_PAGE + EIGHT] __attribute__((aligned(64)));
  for (int64_t k = 0; k < many; k++) for (const uint8_t *at = places[2 * k]; at < places[2 * k + 1];) {{
    Added_ added; memcpy(&added, at, sizeof added);
    const uint8_t *mask = at + sizeof added;
    const int64_t eights = (added.nbytes + EIGHT - 1) / EIGHT;
    at = SPREAD_ALL(from, mask, mask + eights, eights);
    const Target_ *target = targets + added.key;
    const int64_t page = added.at / KEPT_PAGE;
    if (target->kept && __atomic_load_n(target->kept->state + page, __ATOMIC_ACQUIRE) != KEPT) {{
      const Alloc whole = {{.raw = target->raw, .nbytes = target->nbytes}};
      keep_page_(target->kept, &whole, page);
    }}
    uint8_t *to = (uint8_t *)target->raw + added.at;
    switch (added.dtype) {{
CASES
    }}
  }}
}}
"""
