"""The published rows whose kernels are public: unmodified device code of a checkout, launched as its host code launches it.

``MLUSIM_CHECKOUTS`` names a folder of checkouts, each named like its repository and with its history: ``mlu-ops``
(revision 73adc65, or that of a row's own pull request) and ``AICS-openoperator``, where each row is a commit.  No
part of them is stored here.
"""

import io
import os
import re
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from attrs import frozen

import mlusim
from mlusim import bangc
from mlusim.arch.board import Board
from mlusim.machine.launch import Launch

PLACE = "MLUSIM_CHECKOUTS"
MLU_OPS, CONTEST = "mlu-ops", "AICS-openoperator"
X4 = "MLU370-X4"
_OLD = "bangc-ops"  # the library's folder until 2023

_DEVICE = re.compile(r"^(?:__mlu_entry__|__mlu_func__)[^;{]*\{.*?^\}", re.MULTILINE | re.DOTALL)
_MACRO = re.compile(r"^#define(?:.*\\\n)*.*\n", re.MULTILINE)


def checkout(repository: str) -> Path | None:
    """Return the folder of *repository*, or None if there is none."""
    place = os.environ.get(PLACE)
    found = Path(place) / repository if place else None
    return found if found is not None and found.is_dir() else None


def device_code(text: str) -> str:
    """Return the macros and device functions of a source whose host part needs torch."""
    found = sorted([*_MACRO.finditer(text), *_DEVICE.finditer(text)], key=lambda match: match.start())
    return "\n".join(["#include <bang.h>", *(match[0].rstrip() for match in found), ""])


@cache
def _contest_module(commit: str, path: str, cut: tuple[str, int] | None = None) -> Any:
    root = checkout(CONTEST)
    git = ("git", "-C", str(root), "show", f"{commit}:{path}")
    text = subprocess.run(git, capture_output=True, check=True, text=True).stdout  # noqa: S603 - git with a commit of ours
    if cut is not None:
        name, number = cut
        text, times = re.subn(rf"(?m)^#define {name} .*$", f"#define {name} {number}", text)
        assert times == 1
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path
        file.write_text(device_code(text))
        return bangc.load([file], board=X4)


@cache
def _vendor_module(path: str, commit: str, board: Board) -> Any:
    """Return the module of a file of mlu-ops; an older *commit* may have the library in ``bangc-ops``."""
    root = checkout(MLU_OPS)
    assert root is not None
    if not commit:
        return bangc.load([root / path], include=[root], define={"NDEBUG": None}, board=board)
    with tempfile.TemporaryDirectory() as folder:
        git = ("git", "-C", str(root), "archive", commit, _OLD)
        packed = subprocess.run(git, capture_output=True, check=True).stdout  # noqa: S603 - git with a commit of ours
        with tarfile.open(fileobj=io.BytesIO(packed)) as files:
            files.extractall(folder, filter="data")
        old = Path(folder) / _OLD
        return bangc.load([old / path], include=[old], define={"NDEBUG": None}, board=board)


@frozen
class Public:
    """One kernel of a checkout: ``path`` in it, at ``commit`` (without one, mlu-ops as checked out).

    ``arguments`` makes the arguments on a device.  The host code launches with ``dim`` and ``kind``; *dim* is a
    function of the board if the host takes all clusters.  ``loop`` names a macro that sets the length of the kernel's
    outer loop, with two short lengths and the source's own: the time is a + b n of it.  The host launches ``before``
    first; ``instead`` is a macro with another value.
    """

    repository: str
    path: str
    kernel: str
    arguments: Callable[[mlusim.Device], Sequence[Any]]
    dim: int | Callable[[mlusim.Device], tuple[int, int, int]]
    kind: str = mlusim.BLOCK
    commit: str = ""
    loop: tuple[str, int, int, int] | None = None
    before: "tuple[Public, ...]" = ()
    instead: tuple[str, int] | None = None

    @property
    def there(self) -> bool:
        """Return whether the checkout exists."""
        return checkout(self.repository) is not None

    def launch(self, board: str, length: int = 0) -> Launch:
        """Run it on *board*, with its loop cut to *length*."""
        device = mlusim.Device(board)
        if self.repository == CONTEST:
            module = _contest_module(
                self.commit, self.path, (self.loop[0], length) if self.loop and length else self.instead
            )
        else:
            module = _vendor_module(self.path, self.commit, device.board)
        dim = self.dim if isinstance(self.dim, int) else self.dim(device)
        return device.launch(module[self.kernel], dim, self.kind, tuple(self.arguments(device)))


# -- arguments ---------------------------------------------------------------------------------------


def _random(*shape: int, dtype: Any = np.float16) -> np.ndarray[Any, Any]:
    return np.random.default_rng(0).random(shape, np.float32).astype(dtype)


def tensors(
    *made: tuple[tuple[int, ...], Any], more: Sequence[Any] = ()
) -> Callable[[mlusim.Device], Sequence[Any]]:
    """Return a function that makes tensors of random values between 0 and 1 by shape and type, then *more* unchanged."""
    return lambda device: [*(device.put(_random(*shape, dtype=dtype)) for shape, dtype in made), *more]


def _contest(
    commit: str, path: str, kernel: str, dim: int, *made: tuple[tuple[int, ...], Any], **given: Any
) -> Public:
    kind = given.pop("kind", mlusim.BLOCK)
    grid: Any = given.pop("grid", dim)
    loop, before, instead = given.pop("loop", None), given.pop("before", ()), given.pop("instead", None)
    arguments = given.pop("arguments", None) or tensors(*made, **given)
    return Public(CONTEST, f"{path}.mlu", kernel, arguments, grid, kind, commit, loop, before, instead)


def normal(*made: tuple[tuple[int, ...], Any]) -> Callable[[mlusim.Device], Sequence[Any]]:
    """Return a function that makes tensors of normal values by shape and type, for kernels whose time depends on the values."""
    generator = np.random.default_rng(0)
    return lambda device: [
        device.put(generator.standard_normal(shape, np.float32).astype(dtype)) for shape, dtype in made
    ]


def positive(count: int, side: int) -> Callable[[mlusim.Device], Sequence[Any]]:
    """Return a function that makes *count* symmetric positive definite matrices, and space for their factors."""
    half = np.random.default_rng(0).standard_normal((count, side, side), np.float32)
    square = half @ half.transpose(0, 2, 1) / side + np.eye(side, dtype=np.float32)
    return lambda device: [
        device.put(square.astype(np.float16)),
        device.put(np.zeros(square.shape, np.float16)),
    ]


HALF, FLOAT = np.float16, np.float32
_MATMUL = "Matmul_with_transposed_both"
_SOFTMAX = "softmax_16x16384_half_kernel"
_TRANSPOSED = (((4096, 1024), HALF), ((2048, 4096), HALF), ((1024, 2048), FLOAT))
_ROW = ((16, 16384), HALF)
_UNION = {"kind": mlusim.UNION1}
_CONV = "conv_standard_2D__square_input__square_kernel"
_CONV_IN = ((16, 3, 256, 256), HALF)
_CONV_OUT = ((16, 64, 254, 254), FLOAT)
_ACROSS = {"grid": lambda _: (32, 1, 1), **_UNION}
_POOLED = (((16, 32, 128, 128), HALF), ((16, 32, 64, 64), HALF))
_IMAGES = ((16, 64, 256, 256), HALF)
_IRREGULAR = (((8205, 2949), HALF), ((2949, 5921), HALF), ((8205, 5921), FLOAT))
_TILES = ("K0", 133, 261, 2949)  # lengths: one whole tile and the rest, two, all 23
_OUTER = (((16384, 32), HALF), ((32, 16384), HALF), ((16384, 16384), FLOAT))
_PACKED = ((3 * 16 * 256 * 128,), HALF)
_SMALL = "Matmul_with_small_K_dimension_"
_THREE = "3D_tensor_matrix_multiplication"
_LARGE = "Matmul_with_large_K_dimension_"
_POOL = "Max_Pooling_2D"

CONTESTED: dict[str, Public] = {
    kernel.commit: kernel
    for kernel in (
        _contest("bdbed09", "conv_standard_1D", "k2", 0, ((16, 3, 512), HALF), ((6144,), HALF), ((16, 64, 510), HALF), grid=lambda _: (4, 4, 1), **_UNION),
        _contest("a250ffb", "conv_standard_2D__square_input__square_kernel", "k1", 0, ((16, 3, 256, 256), HALF), ((36864,), HALF), ((16, 64, 254, 254), FLOAT), grid=lambda _: (32, 1, 1), **_UNION),
        _contest("775eec8", "Matmul_with_large_K_dimension_", "k0", 16, ((256, 131072), HALF), ((131072, 256), HALF), ((256, 256), FLOAT)),
        _contest("072a4da", _MATMUL, "k0", 32, *_TRANSPOSED),
        _contest("2d03f8c", _MATMUL, "k0", 32, *_TRANSPOSED),
        _contest("762d632", _MATMUL, "k0", 32, *_TRANSPOSED),
        _contest("281170d", "ELU", "elu_half_kernel", 32, _ROW),
        _contest("cf28d57", "HardTanh", "hardtanh_half_kernel", 8, _ROW),
        _contest("9790c83", "L1Norm_", "l1_norm_tick_kernel", 1),
        _contest("f901327", "L1Norm_", "kernel", 32, _ROW),
        _contest("13ec36b", "GroupNorm_", "k0", 64, ((16, 64, 256, 256), HALF), ((16, 64, 256, 256), HALF)),
        _contest("620eab9", "Softmax", _SOFTMAX, 16, _ROW, _ROW),
        _contest("db17d69", "Softmax", _SOFTMAX, 16, _ROW, _ROW),
        _contest("ec4f3d0", "compute_agg", "k0", 1, ((1024,), np.int32), ((1024,), np.int32)),
        _contest("bd429aa", "ElementwiseAdd", "k0", 32, ((1024, 4096), HALF), ((1024, 4096), HALF), ((1024, 4096), HALF)),
        _contest("d7cd707", "Matrix_trace", "k0", 32, ((32, 512, 512), HALF), ((32,), FLOAT)),
        _contest("caac6aa", "Add_RMSNorm", "k0", 32, *[((32, 128, 512), HALF)] * 4, more=(1e-5,)),
        _contest("afd6d91", "Attention_with_temperature", "k0", 32, ((2, 8, 128, 64), HALF), ((2, 8, 128, 64), FLOAT)),
        _contest("ef1d96c", "Unfold", "k0", 64, ((16, 3, 256, 256), HALF), ((16, 27, 254 * 254), HALF)),
        _contest("04cd3b1", _LARGE, "k1", 32, ((2, 256, 256), FLOAT), ((256, 256), FLOAT), before=(
            _contest("04cd3b1", _LARGE, "k0", 32, ((256, 131072), HALF), ((131072, 256), HALF), ((2, 256, 256), FLOAT)),
        )),
        _contest("9251e09", _MATMUL, "k0", 32, *_TRANSPOSED),
        _contest("0a43980", "4D_tensor_matrix_multiplication", "k0", 32, ((2048 * 64, 256), HALF), ((256, 768), HALF), ((2048 * 64, 768), FLOAT), loop=("TR", 1024, 2048, 32768)),
        _contest("24089ac", _CONV, "k1", 0, _CONV_IN, ((36864,), HALF), _CONV_OUT, loop=("E0", 1, 2, 16), **_ACROSS),
        _contest("713400f", _CONV, "k1", 0, _CONV_IN, ((1728,), HALF), _CONV_OUT, **_ACROSS),
        _contest("9ea131d", _CONV, "k1", 0, _CONV_IN, ((18432,), HALF), _CONV_OUT, **_ACROSS),
        _contest("dbe2262", _CONV, "k1", 0, _CONV_IN, ((1728,), HALF), _CONV_OUT, **_ACROSS),
        _contest("684372e", "conv_standard_1D", "k2", 0, ((16, 3, 512), HALF), ((6144,), HALF), ((16, 64, 510), FLOAT), **_ACROSS),
        _contest("3240c1f", "Attention_with_temperature", "k0", 0, grid=lambda _: (16, 2, 1), arguments=normal(((2, 8, 128, 64), HALF), ((2, 8, 128, 64), FLOAT))),
        _contest("8f347a7", "Matrix_trace", "k0", 32, ((32, 512, 512), HALF), ((32,), FLOAT)),
        _contest("f71d2c6", "cumprod", "k0", 32, ((128, 4000), HALF), ((128, 4000), HALF)),
        _contest("23bb814", "BatchNorm", "k1", 128, _IMAGES, ((64,), FLOAT), _IMAGES, before=(
            _contest("23bb814", "BatchNorm", "k0", 32, _IMAGES, ((64,), FLOAT), kind=mlusim.UNION8),
        )),
        _contest("65a6eda", "SVD_decomposition", "k0", 8, arguments=normal(((8, 128, 64), HALF), ((8, 128, 64), FLOAT), ((8, 64), FLOAT), ((8, 64, 64), FLOAT))),
        # The source reads past the end of its buffer, which has 64 more elements here.
        _contest("81a99b4", "Depthwise_conv_2D", "k0", 32, ((16 * 64 * 128 * 128,), HALF), ((576,), HALF), ((16, 64, 128, 128), HALF), instead=("E2", 16964)),
        _contest("256ae0f", "Matmul_with_irregular_shapes_", "k0", 16, *_IRREGULAR, loop=_TILES),
        _contest("c3d6b01", "Matmul_with_irregular_shapes_", "k0", 128, *_IRREGULAR, loop=_TILES),
        _contest("9266954", _POOL, "k0", 32, *_POOLED),
        _contest("f38306a", _POOL, "k0", 16, *_POOLED),
        _contest("37e9be3", _POOL, "k0", 32, *_POOLED),
        _contest("506bd02", "Max_Pool_2D_with_indices", "k0", 128, *_POOLED),
        _contest("8b96134", "Cholesky_decomposition", "k0", 8, arguments=positive(8, 64)),
        _contest("3242526", "cumsum_reverse", "k0", 128, ((128, 4000), HALF), ((128, 4000), FLOAT)),
        # Kernels of the class "fourth".
        _contest("585ae85", _SMALL, "k0", 32, *_OUTER),
        _contest("6c1e425", _SMALL, "k0", 32, *_OUTER),
        _contest("a0ea046", "4D_tensor_matrix_multiplication", "k0", 32, ((2048 * 64, 256), HALF), ((256, 768), HALF), ((2048 * 64, 768), FLOAT), loop=("TR", 1024, 2048, 32768)),
        _contest("048862b", "Square_matrix_multiplication_", "k0", 32, *[((2048, 2048), HALF)] * 2, ((2048, 2048), FLOAT)),
        _contest("7f27faa", _THREE, "k0", 96, ((16384, 2048), HALF), _PACKED, ((16384, 768), FLOAT), before=(
            _contest("7f27faa", _THREE, "kprep", 32, ((2048, 768), HALF), _PACKED),
        )),
        _contest("38f05c5", _MATMUL, "k0", 32, *_TRANSPOSED),
        _contest("fe8e690", _CONV, "k1", 0, _CONV_IN, ((36864,), HALF), _CONV_OUT, **_ACROSS),
        _contest("db267a5", _CONV, "k1", 0, _CONV_IN, ((18432,), HALF), _CONV_OUT, **_ACROSS),
        _contest("765e697", _CONV, "k1", 0, _CONV_IN, ((18432,), HALF), ((16, 64, 254, 254), HALF), **_ACROSS),
        _contest("76ca885", "conv_standard_1D", "k2", 0, ((16, 3, 512), HALF), ((6144,), HALF), ((16, 64, 510), FLOAT), **_ACROSS),
        _contest("0c0ef5f", "conv_standard_1D", "k0", 32, ((16, 3, 512), HALF), ((576,), HALF), ((16, 64, 510), HALF)),
        _contest("1b6bfd3", "Matmul_with_irregular_shapes_", "k0", 64, *_IRREGULAR, loop=_TILES),
        _contest("2750088", "BatchNorm", "k1", 0, _IMAGES, ((64,), FLOAT), _IMAGES, grid=lambda _: (32, 8, 1), before=(
            _contest("2750088", "BatchNorm", "k0", 32, _IMAGES, ((64,), FLOAT), kind=mlusim.UNION8),
        )),
        _contest("1882ca3", "LocalResponseNorm", "k0", 32, ((32 * 100352,), HALF)),
        _contest("12f777a", "FrobeniusNorm_", "k", 32, ((8 * 8388608,), HALF), **_UNION),
        _contest("edf469e", "Unfold", "k0", 0, ((16, 3, 256, 256), HALF), ((16, 27, 254 * 254), HALF), grid=lambda _: (16, 4, 1)),
        _contest("e9e1400", "Add_RMSNorm", "k0", 0, *[((32, 128, 512), HALF)] * 4, more=(1e-5,), grid=lambda _: (8, 4, 1)),
        _contest("752c947", "Matrix_trace", "k0", 32, ((32, 512, 512), HALF), ((32,), FLOAT)),
        _contest("2fdb998", "Max_Pooling_3D", "k0", 0, ((16, 32, 64, 64, 64), HALF), ((16, 32, 30, 30, 30), HALF), grid=lambda _: (4, 8, 1), **_UNION),
        _contest("146afcd", _POOL, "k0", 64, *_POOLED),
        _contest("6c31a6c", _POOL, "k0", 128, *_POOLED),
        _contest("591eb06", "Max_Pool_2D_with_indices", "k0", 128, *_POOLED),
        _contest("4ec1b0c", "SVD_decomposition", "k0", 8, arguments=normal(((8, 128, 64), HALF), ((8, 128, 64), FLOAT), ((8, 64), FLOAT), ((8, 64, 64), FLOAT))),
        _contest("842c19a", "Cholesky_decomposition", "k0", 0, arguments=positive(8, 64), grid=lambda _: (4, 8, 1), **_UNION),
        _contest("ae8dbd8", "cumprod", "k0", 32, ((128, 4000), HALF), ((128, 4000), HALF)),
        _contest("9b995cf", "compute_agg", "k0", 1, ((1024,), np.int32), ((1024,), np.int32)),
        _contest("aba7906", "L1Norm_", "l1_norm_scale_kernel", 64, _ROW),
        _contest("127db26", "L1Norm_", "l1_norm_scale_kernel", 32, _ROW),
        _contest("918bdf7", "Batch_norm_1D", "k2", 32, ((256, 512), HALF), ((512,), HALF), ((512,), HALF), ((256, 512), HALF), kind=mlusim.UNION8),
    )
}  # fmt: skip
"""The kernels of the contest by commit."""


def _clusters(device: mlusim.Device) -> tuple[int, int, int]:
    return device.board.arch.cores_per_cluster, device.board.clusters, 1


EXPERTS = 2


def _dispatched(
    samples: int, hidden: int, capacity: int, *, gate: bool
) -> Callable[[mlusim.Device], Sequence[Any]]:
    """Return a function that makes the arguments of the backward of a dispatch of *samples* of *hidden* floats, all valid."""

    def make(device: mlusim.Device) -> Sequence[Any]:
        every = np.arange(samples, dtype=np.int32)
        where = [device.put(every % EXPERTS), device.put(every // EXPERTS)]
        rows = device.put(_random(samples, hidden, dtype=FLOAT))
        sent = device.put(_random(EXPERTS * capacity, hidden, dtype=FLOAT))
        sizes = samples, capacity, hidden, EXPERTS
        gates = device.put(_random(samples, dtype=FLOAT))
        return [*where, rows, sent, *sizes, gates] if gate else [gates, *where, sent, *sizes, rows]

    return make


def _balls(
    batches: int, n: int, m: int, samples: int, radius: float, dtype: Any = FLOAT
) -> Callable[[mlusim.Device], Sequence[Any]]:
    """Return a function that makes the arguments of a search among *n* points uniform in a cube of side 1."""

    def make(device: mlusim.Device) -> Sequence[Any]:
        points = _random(batches, n, 3, dtype=dtype)
        found = device.put(np.zeros((batches, m, samples), np.int32))
        queries = device.put(points[:, :m].copy())
        return [batches, n, m, 0.0, radius, samples, queries, device.put(points), found]

    return make


_QUERY = "kernels/ball_query/ball_query_union1.mlu"


def ball_query(*sizes: Any, dtype: Any = FLOAT) -> Public:
    """Return the vendor's search for points within a radius, as in its first pull request, from which the printed rows come."""
    kernel = f"MLUUnion1KernelBallQuery<{'half' if dtype is HALF else 'float'}>"
    arguments = _balls(*sizes, dtype)
    return Public(MLU_OPS, _QUERY, kernel, arguments, _clusters, mlusim.UNION1, "2db31448")


def dispatch(which: str, samples: int = 4608, hidden: int = 1024, capacity: int = 2880) -> Public:
    """Return the vendor's second kernel of the backward of a dispatch: *which* is "data" or "gate"."""
    folder = f"moe_dispatch_backward_{which}"
    kernel = f"MLUKernelMoeDispatchBwd{which.title()}2<float>"
    path = f"kernels/moe_dispatch/{folder}/{folder}_union1.mlu"
    arguments = _dispatched(samples, hidden, capacity, gate=which == "gate")
    return Public(MLU_OPS, path, kernel, arguments, _clusters, mlusim.UNION1)
