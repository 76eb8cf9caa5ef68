"""Triton kernels with loops that can be pipelined, and with others."""

import triton
import triton.language as tl


@triton.jit
def copied(o, x, M, N, B: tl.constexpr):
    for k in range(tl.program_id(0), M, tl.num_programs(0)):
        c = tl.arange(0, B)
        tl.store(o + k * N + c, tl.load(x + k * N + c, mask=c < N, other=3.0), mask=c < N)


@triton.jit
def heavy(o, x, M, N, B: tl.constexpr):
    for k in range(tl.program_id(0), M, tl.num_programs(0)):
        c = tl.arange(0, B)
        v = tl.load(x + k * N + c, mask=c < N, other=0.0)
        for _ in tl.static_range(4):
            v = tl.exp(-v * v)
        tl.store(o + k * N + c, v, mask=c < N)


@triton.jit
def followed(x, order, o, n, B: tl.constexpr):
    at = 0
    for k in range(0, n, B):
        i = at + tl.arange(0, B)
        v = tl.load(x + i, mask=i < n, other=0.0)
        tl.store(o + k + tl.arange(0, B), v, mask=k + tl.arange(0, B) < n)
        at = tl.load(order + k)


@triton.jit
def in_place(x, order, o, n, B: tl.constexpr):
    for k in range(0, n, B):
        i = k + tl.arange(0, B)
        before = tl.load(x + i - B, mask=(i < n) & (i >= B), other=0.0)
        tl.store(x + i, tl.load(x + i, mask=i < n, other=0.0) + before, mask=i < n)


@triton.jit
def counted(x, order, o, n, B: tl.constexpr):
    k = 0
    while k < n:
        i = k + tl.arange(0, B)
        tl.store(o + i, tl.load(x + i, mask=i < n, other=0.0) + 1, mask=i < n)
        k += B
