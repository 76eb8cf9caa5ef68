"""Batch normalisation over several devices: its statistics, itself and its gradients; channels are the last axis."""

from typing import Any

import numpy as np

from mlusim.frontend.bangc.runtime.cnnl.places import put
from mlusim.frontend.bangc.runtime.cnnl.tensors import Argument, Array, StandInDevice, dtype_of, store, values


def _wide(desc: object, pointer: object) -> Array:
    return values(desc, pointer).astype(np.float64)  # a sum of halves would lose what is added


def _or(desc: object, pointer: object, other: float) -> Any:
    """Return a tensor that may be absent."""
    return _wide(desc, pointer) if pointer else other


def _rows(array: Array) -> Array:
    return array.reshape(-1, array.shape[-1])


def stats(
    driver: StandInDevice,
    _handle: object,
    x_desc: object,
    x: object,
    _work: object,
    _size: int,
    *given: object,
) -> int:
    """``cnnlSyncBatchNormStats_v2``: mean and ``1 / sqrt(variance + eps)`` of each channel."""
    eps, mean_desc, mean, invstd_desc, invstd = given
    rows = _rows(_wide(x_desc, x))
    store(driver, mean_desc, mean, rows.mean(0))
    return store(driver, invstd_desc, invstd, 1 / np.sqrt(rows.var(0) + eps))


def gather_stats(driver: StandInDevice, _handle: Argument, *given: Argument) -> int:
    """``cnnlSyncBatchNormGatherStatsWithCounts``: statistics of all devices, of theirs and how many each counted."""
    means_desc, means, invstds_desc, invstds, running_desc, running, spread_desc, spread = given[:8]
    momentum, eps, counts_desc, counts, mean_desc, mean, invstd_desc, invstd = given[8:]
    each, often = _wide(means_desc, means), _wide(counts_desc, counts).reshape(-1, 1)
    variances = _wide(invstds_desc, invstds) ** -2.0 - eps  # back from 1 / sqrt(variance + eps)
    total = often.sum()
    middle = (often * each).sum(0) / total
    # Around the mean of all: each device's variance and the square of how far its mean is from that.
    squares = (often * (variances + (each - middle) ** 2)).sum(0)
    for desc, pointer, now in (
        (running_desc, running, middle),
        (spread_desc, spread, squares / (total - 1)),  # unbiased, as frameworks keep it
    ):
        if pointer:
            store(driver, desc, pointer, (1 - momentum) * _wide(desc, pointer) + momentum * now)
    store(driver, mean_desc, mean, middle)
    return store(driver, invstd_desc, invstd, 1 / np.sqrt(squares / total + eps))


def elemt(driver: StandInDevice, _handle: object, *given: object) -> int:
    """``cnnlSyncBatchNormElemt``: ``(x - mean) * invstd * filter + bias``; the last two may be absent."""
    x_desc, x, mean_desc, mean, invstd_desc, invstd, filter_desc, filter_, bias_desc, bias, y_desc, y = given
    result = (_wide(x_desc, x) - _wide(mean_desc, mean)) * _wide(invstd_desc, invstd)
    return store(driver, y_desc, y, result * _or(filter_desc, filter_, 1) + _or(bias_desc, bias, 0))


def backward_reduce(driver: StandInDevice, _handle: object, *given: object) -> int:
    """``cnnlSyncBatchnormBackwardReduce_v2``: sums of the gradient, alone and times ``x - mean``; what is wanted of them."""
    dz_desc, dz, x_desc, x, mean_desc, mean, invstd_desc, invstd, _work, _size = given[:10]
    dfilter_desc, dfilter, dbias_desc, dbias, sum_desc, sum_dy, product_desc, product = given[10:18]
    of_input, of_filter, of_bias = given[18:]
    gradient = _wide(dz_desc, dz)
    plain = _rows(gradient).sum(0)
    times = _rows(gradient * (_wide(x_desc, x) - _wide(mean_desc, mean))).sum(0)
    for wanted, desc, pointer, result in (
        (of_input, sum_desc, sum_dy, plain),
        (of_input, product_desc, product, times),
        (of_filter, dfilter_desc, dfilter, times * _wide(invstd_desc, invstd)),
        (of_bias, dbias_desc, dbias, plain),
    ):
        if wanted and pointer:
            put(driver, pointer, result.astype(dtype_of(desc)))
    return 0


def backward_elemt(driver: StandInDevice, _handle: object, *given: object) -> int:
    """``cnnlSyncBatchNormBackwardElemt`` and its ``V2``: the gradient of x, of means or of sums with counts."""
    dy_desc, dy, x_desc, x, mean_desc, mean, invstd_desc, invstd, filter_desc, filter_ = given[:10]
    plain_desc, plain, times_desc, times, *counts, dx_desc, dx = given[10:]
    total = _wide(*counts).sum() if counts else 1.0  # without counts they are means
    scale = _wide(invstd_desc, invstd)
    slope = _wide(times_desc, times) / total * scale**2
    centred = _wide(dy_desc, dy) - _wide(plain_desc, plain) / total
    result = centred - (_wide(x_desc, x) - _wide(mean_desc, mean)) * slope
    return store(driver, dx_desc, dx, result * scale * _or(filter_desc, filter_, 1))
