"""The room of a kernel's functions: their values on the stack, and their variables with addresses."""

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from mlusim.counted import plural
from mlusim.engine.native.layout import CELL_BYTES, MOST_CELLS
from mlusim.engine.native.stack import CIRCLES, FRAMES
from mlusim.frontend.bangc import ir
from mlusim.frontend.bangc.circles import DEEP
from mlusim.frontend.bangc.native.numbers import NoForm, in_frame

RECORDS = re.compile(r"\bR_(\d+)\b")  # where C holds a record of so many bytes by value


def check_room(
    forms: Sequence[ir.Function],
    bodies: Sequence[str],
    deep: AbstractSet[str],
    more: Sequence[tuple[str, int]],
) -> None:
    """Raise `NoForm` where *bodies*, the C of *forms*, may need more than there is.

    Each mention of a record is one on the stack and one on its way to a call; functions in *deep* are inside
    themselves as often as calls can be.  *more* are further variables with addresses: a function of each, "" for none,
    and the bytes.
    """
    sizes = {f.symbol: [int(n) for n in RECORDS.findall(text)] for f, text in zip(forms, bodies, strict=True)}
    plain = sum(2 * sum(found) for symbol, found in sizes.items() if symbol not in deep)
    level = sum(2 * sum(sizes[symbol]) for symbol in deep)
    if max(plain, level) > FRAMES or level * DEEP > CIRCLES:
        largest = max(n for found in sizes.values() for n in found)
        raise NoForm(f"records by value of {largest} {plural(largest, 'byte')}, which fill the stack")
    cells = [(f.symbol in deep, p.type.size + 15) for f in forms for p in f.locals if in_frame(p)]
    cells += [(symbol in deep, size + 15) for symbol, size in more]
    nbytes = sum(size * (DEEP if inside else 1) for inside, size in cells)
    if nbytes > CELL_BYTES or sum(DEEP if inside else 1 for inside, _ in cells) > MOST_CELLS:
        raise NoForm(
            f"variables with addresses of {nbytes} {plural(nbytes, 'byte')} in functions that are inside each other"
        )
