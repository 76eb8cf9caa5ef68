"""Fourier transforms, along one axis and two, of complex numbers and of real ones."""

from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference, sample


@reference("DriveFFT", 4e-3, whole=True)  # a product's operands have 10 bits of fraction at 592
def transform(g: Given) -> Given:
    """The transform of the last *rank* axes; a real input has half the results, a real output comes of half."""
    x, out, rank, n = g["input"], g["output"], int(g["rank"]), g["n"]
    n = [int(v) for v in (n if isinstance(n, list | tuple | np.ndarray) else [n])]
    axes = tuple(range(-rank, 0))
    if x.dtype.kind == "f":
        found = np.fft.rfftn(x.astype(float), n, axes)
    elif out.dtype.kind == "f":
        found = np.fft.irfftn(x.astype(complex), n, axes) * np.prod(n)
    elif int(g["direction"]):
        found = np.fft.ifftn(x.astype(complex), n, axes) * np.prod(n)
    else:
        found = np.fft.fftn(x.astype(complex), n, axes)
    return {"output": found * float(g["scale_factor"])}


def _made(kind: str, batch: int, n: tuple[int, ...], direction: int) -> Any:
    half = (*n[:-1], n[-1] // 2 + 1)

    def made(random: np.random.Generator) -> Any:
        def numbers(shape: tuple[int, ...], real: bool) -> Any:
            values = random.normal(size=(batch, *shape)).astype(np.float32)
            return (
                values if real else (values + 1j * random.normal(size=(batch, *shape))).astype(np.complex64)
            )

        source = numbers(half if kind == "c2r" else n, kind == "r2c")
        if kind == "c2r":  # what a real signal gives
            axes = tuple(range(-len(n), 0))
            source = np.fft.rfftn(random.normal(size=(batch, *n)), n, axes).astype(np.complex64)
        out = np.zeros(
            (batch, *(half if kind == "r2c" else n)), np.float32 if kind == "c2r" else np.complex64
        )
        given = {
            "input": source,
            "output": out,
            "rank": len(n),
            "n": list(n),
            "scale_factor": 1.0,
            "direction": direction,
        }
        return given, {}

    made.__doc__ = f"{kind} of {batch} x {n}, direction {direction}"
    return made


for _kind, _batch, _n, _direction in (
    ("c2c", 4, (64,), 0), ("c2c", 2, (400,), 1), ("c2c", 3, (4096,), 0), ("r2c", 4, (64,), 0), ("r2c", 2, (1200,), 0), ("c2r", 4, (64,), 1),
    ("c2r", 2, (1200,), 1), ("c2c", 2, (16, 24), 0), ("r2c", 2, (16, 24), 0), ("c2r", 2, (16, 24), 1), ("c2c", 2, (127,), 0), ("c2c", 1, (128, 128), 0),
    ("c2c", 2, (200, 240), 0), ("r2c", 2, (200, 240), 0), ("c2r", 2, (200, 240), 1),
    ("c2c", 2, (4288,), 0), ("c2c", 1, (4099,), 0),
):  # fmt: skip
    sample("DriveFFT")(_made(_kind, _batch, _n, _direction))
