"""Transposition of a matrix."""

from mlusim.isa.declare import NUMBERS, Flow, Passes, Tile, at_least, demand, intrinsic

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
            "width * sizeof(src) % 128", "a row of {width} elements is no multiple of 128 bytes", _ROWS, (2,)
        ),
    ),
    source="vendor declaration header, shapes",
    native=("transpose",),
)
def bang_transpose(dst: Tile, src: Tile, height: int, width: int) -> None:
    """Transpose a matrix of *height* rows: ``dst[w][h] = src[h][w]``.

    *dst* must not overlap *src*.
    """
    dst.reshape(width, height)[...] = src.reshape(height, width).T
