"""Transposition of a matrix."""

from mlusim.isa.declare import NUMBERS, Flow, Passes, intrinsic
from mlusim.isa.parameters import Tile
from mlusim.isa.rules import at_least, demand

_ROWS = "rows and columns of multiples of 128 bytes on MLU2xx"


@intrinsic(
    "__bang_transpose",
    writes={"dst": "height * width"},
    reads={"src": "height * width"},
    dtypes=NUMBERS,
    in_place=False,
    flow=Flow.MIXING,
    passes=Passes.TRANSPOSE,
    rules=(
        at_least("height", 1),
        at_least("width", 1),
        demand(
            "height * sizeof(src) % 128",
            "a column of {height} elements is no multiple of 128 bytes",
            _ROWS,
            (2,),
        ),
        demand(
            "width * sizeof(src) % 128",
            "a row of {width} elements is no multiple of 128 bytes",
            _ROWS,
            (2,),
        ),
    ),
    source="vendor declaration header, shapes",
    native=(
        "for (int64_t h = 0; h < height; h += 16) for (int64_t w = 0; w < width; w += 16) { int64_t "
        "hh = smaller_(height, h + 16), ww = smaller_(width, w + 16); for (int64_t y = w; y < ww; "
        "y++) for (int64_t x = h; x < hh; x++) dst[y * height + x] = src[x * width + y]; }"
    ),
)
def bang_transpose(dst: Tile, src: Tile, height: int, width: int) -> None:
    """Transpose a matrix of *height* rows: ``dst[w][h] = src[h][w]``.

    *dst* must not overlap *src*.
    """
    dst.reshape(width, height)[...] = src.reshape(height, width).T
