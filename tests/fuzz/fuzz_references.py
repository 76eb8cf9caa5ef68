"""What the kernels of ``historic_kinds.mlu`` should give."""

import numpy as np


def pairs(x, rows, cols):
    return x + x


def pipeline(x, steps):
    return x * 2


def kept(scores, k):
    return scores


def nearest(x, n):
    return np.rint(x)


def blocks(rows, cols):
    return np.array([(rows * cols + 1023) // 1024])


def weighted(x, weight, n):
    return x if weight is None else x * weight


def lookup(table, at, entries, n):
    low = np.maximum(at - 1, 0)
    return (table[low] + table[np.minimum(low + 2, entries - 1)]) * np.float32(0.5)
