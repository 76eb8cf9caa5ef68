"""Triton kernels as users write them: those of the tutorials, and one for each kind of operation."""

import triton
import triton.language as tl
from triton.language.extra import libdevice


@triton.jit
def cut(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.load(x + i).to(tl.float16, fp_downcast_rounding="rtz"))


@triton.jit
def library(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.5)
    y = tl.extra.mlu.libdevice.fast_tanh(v) + tl.extra.mlu.libdevice.fast_sigmoid(v)
    y += libdevice.pow(v, 2.0) + libdevice.atan(v) + tl.log(v + 1.0) + tl.log2(v + 1.0) + libdevice.exp10(v)
    tl.store(o + i, tl.where(tl.extra.mlu.libdevice.isnan(v), 7.0, y), mask=i < n)


@triton.jit
def random(words, expected, seed, B: tl.constexpr):
    i = tl.arange(0, B)
    r = tl.extra.mlu.libdevice.philox(B, seed, seed * 0, seed * 0 + 5, 0, 0, 0, 10)
    tl.store(words + i[:, None] * 4 + tl.arange(0, 4)[None, :], r.to(tl.int32, bitcast=True))
    a, b, c, d = tl.randint4x(seed, i + 5)
    tl.store(expected + i * 4, a.to(tl.int32, bitcast=True))
    tl.store(expected + i * 4 + 1, b.to(tl.int32, bitcast=True))
    tl.store(expected + i * 4 + 2, c.to(tl.int32, bitcast=True))
    tl.store(expected + i * 4 + 3, d.to(tl.int32, bitcast=True))


@triton.jit
def add(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    tl.store(o + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def softmax(o, x, M, N, BM: tl.constexpr, BN: tl.constexpr):
    for k in range(tl.program_id(0) * BM, M, tl.num_programs(0) * BM):
        r = k + tl.arange(0, BM)
        c = tl.arange(0, BN)
        at = r[:, None] * N + c[None, :]
        m = (r[:, None] < M) & (c[None, :] < N)
        v = tl.load(x + at, mask=m, other=-float("inf")).to(tl.float32)
        e = tl.exp(v - tl.max(v, axis=1)[:, None])
        tl.store(o + at, e / tl.sum(e, axis=1)[:, None], mask=m)


@triton.jit
def layer_norm(o, x, w, b, M, N, eps, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.arange(0, BN)
    m = (r[:, None] < M) & (c[None, :] < N)
    v = tl.load(x + r[:, None] * N + c[None, :], mask=m, other=0.0)
    mean = tl.sum(v, axis=1) / N
    d = tl.where(m, v - mean[:, None], 0.0)
    rstd = tl.rsqrt(tl.sum(d * d, axis=1) / N + eps)
    g = tl.load(w + c, mask=c < N, other=0.0)
    h = tl.load(b + c, mask=c < N, other=0.0)
    tl.store(o + r[:, None] * N + c[None, :], d * rstd[:, None] * g[None, :] + h[None, :], mask=m)


@triton.jit
def matmul(
    a,
    b,
    c,
    M,
    N,
    K,
    sam,
    sak,
    sbk,
    sbn,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    G: tl.constexpr,
):
    wide = G * tl.cdiv(N, BN)
    first = tl.program_id(0) // wide * G
    high = min(tl.cdiv(M, BM) - first, G)
    pm = first + tl.program_id(0) % wide % high
    pn = tl.program_id(0) % wide // high
    rm = (pm * BM + tl.arange(0, BM)) % M
    rn = (pn * BN + tl.arange(0, BN)) % N
    rk = tl.arange(0, BK)
    pa = a + rm[:, None] * sam + rk[None, :] * sak
    pb = b + rk[:, None] * sbk + rn[None, :] * sbn
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BK)):
        x = tl.load(pa, mask=rk[None, :] < K - k * BK, other=0.0)
        y = tl.load(pb, mask=rk[:, None] < K - k * BK, other=0.0)
        total = tl.dot(x, y, total)
        pa += BK * sak
        pb += BK * sbk
    om = pm * BM + tl.arange(0, BM)
    on = pn * BN + tl.arange(0, BN)
    tl.store(
        c + om[:, None] * N + on[None, :], total.to(tl.float16), mask=(om[:, None] < M) & (on[None, :] < N)
    )


@triton.jit
def attention(
    q, k, v, o, L, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, CAUSAL: tl.constexpr
):
    om = tl.program_id(0) * BM + tl.arange(0, BM)
    od = tl.arange(0, D)
    queries = tl.load(q + om[:, None] * D + od[None, :], mask=om[:, None] < L, other=0.0)
    most = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for s in range(0, L, BN):
        on = s + tl.arange(0, BN)
        keys = tl.load(k + on[None, :] * D + od[:, None], mask=on[None, :] < L, other=0.0)
        scores = tl.dot(queries, keys) * scale
        scores = tl.where(on[None, :] < L, scores, -float("inf"))
        if CAUSAL:
            scores = tl.where(om[:, None] >= on[None, :], scores, -float("inf"))
        now = tl.maximum(most, tl.max(scores, 1))
        p = tl.exp(scores - now[:, None])
        old = tl.exp(most - now)
        total = total * old + tl.sum(p, 1)
        values = tl.load(v + on[:, None] * D + od[None, :], mask=on[:, None] < L, other=0.0)
        acc = acc * old[:, None] + tl.dot(p.to(tl.float16), values)
        most = now
    tl.store(o + om[:, None] * D + od[None, :], (acc / total[:, None]).to(tl.float16), mask=om[:, None] < L)


@triton.jit
def embedding(o, index, table, D, B: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, B)
    at = tl.load(index + row)
    tl.store(o + row * D + c, tl.load(table + at * D + c, mask=c < D), mask=c < D)


@triton.jit
def permute(x, o, index, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    at = tl.load(index + i, mask=m, other=0)
    tl.store(o + at, tl.load(x + at, mask=m), mask=m)


@triton.jit
def histogram(x, o, index, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    at = tl.load(index + i, mask=m, other=0)
    tl.atomic_add(o + at, tl.load(x + i, mask=m, other=0.0), mask=m)


@triton.jit
def whole_numbers(x, y, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    a = tl.load(x + i, mask=m, other=1)
    b = tl.load(y + i, mask=m, other=1)
    r = a // b * 3 + a % b - (a & b) + ((a ^ b) << 2) + (a >> 1) + tl.minimum(a, b) * tl.maximum(a, b)
    tl.store(o + i, tl.where(a > b, r, -r), mask=m)


@triton.jit
def order(x, largest, sums, ordered, N, B: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, B)
    v = tl.load(x + r * N + c, mask=c < N, other=-1e9)
    tl.store(largest + r, tl.argmax(v, axis=0))
    tl.store(sums + r * N + c, tl.cumsum(tl.where(c < N, v, 0.0), axis=0), mask=c < N)
    tl.store(ordered + r * B + c, tl.sort(v))


@triton.jit
def strided(x, o, n, B: tl.constexpr):
    total = 0.0
    at = tl.program_id(0)
    while at < n:
        total += tl.load(x + at)
        at += tl.num_programs(0)
    v = tl.load(x + tl.arange(0, B) * 2, mask=tl.arange(0, B) * 2 < n, other=0.0)
    if tl.program_id(0) > 0:
        v = v + total
    else:
        v = v - total
    tl.store(o + tl.program_id(0) * B + tl.arange(0, B), v)


@triton.jit
def blocks(x, o, M, N, BM: tl.constexpr, BN: tl.constexpr):
    p = tl.make_block_ptr(x, (M, N), (N, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0))
    for j in range(0, tl.cdiv(N, BN)):
        c = j * BN + tl.arange(0, BN)
        r = tl.program_id(0) * BM + tl.arange(0, BM)
        v = tl.trans(tl.load(p, boundary_check=(0, 1), padding_option="zero"))
        v = (v * 2).to(p.type.element_ty)
        tl.store(o + c[:, None] * M + r[None, :], v, mask=(c[:, None] < N) & (r[None, :] < M))
        p = tl.advance(p, (0, BN))


@triton.jit
def no_other(x, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n)
    tl.store(o, tl.sum(v, axis=0))


@triton.jit
def no_mask(x, o, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    v = tl.load(x + i)
    tl.store(o + i, v * 2, mask=i < n)


@triton.jit
def programs(o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + tl.program_id(0) * B + i, i + tl.program_id(0) * 100 + tl.num_programs(0) * 10000)


@triton.jit
def wider(x, on, o, n, B: tl.constexpr):
    i = tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m, other=0).to(tl.int64)
    tl.store(o + i, tl.where(tl.load(on + i, mask=m, other=0), v, -1), mask=m)


@triton.jit
def word(x, long):
    tl.store(x, long)


@triton.jit
def stacked(x, y, o, B: tl.constexpr):
    i = tl.arange(0, B)
    s = tl.arange(0, 4)
    at = s[:, None, None] * B * B + i[None, :, None] * B + i[None, None, :]
    tl.store(o + at, tl.dot(tl.load(x + at), tl.load(y + at)))


@triton.jit
def odd_sizes(x, sums, o, A: tl.constexpr, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :])
    flat = tl.reshape(v, (A * B,))
    tl.store(sums + tl.arange(0, A), tl.sum(v, axis=1))
    i = 7 + tl.arange(0, A * B)
    tl.store(o + i - 7, tl.where(i < 12, flat, tl.sort(tl.arange(0, 4)).to(tl.float32).sum()))


@triton.jit
def views(x, o, M, N, sxm, sxn, som, son, low, high, every, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    c = tl.arange(0, BN)[None, :]
    m = (r < M) & (c < N) & (c >= low) & (r <= high)
    v = tl.load(x + r * sxm + c * sxn, mask=m, other=3)
    if every > 1:
        m = m & ((r + c) % every != 0)
    tl.store(o + r * som + c * son, tl.where(v > 0, v + v, v - 1), mask=m)


@triton.jit
def dropout(x, o, n, p, seed, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    m = i < n
    v = tl.load(x + i, mask=m, other=0.0)
    tl.store(o + i, tl.where(tl.rand(seed, i) > p, v / (1 - p), 0.0), mask=m)


@triton.jit
def told(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i, mask=i < n, other=0.0)
    tl.device_print("100%d of", v, n)
    tl.device_print("on", i < n)
    tl.device_assert(n < 10, "n is large")
    tl.device_assert(v < 10.0, "v is large")


@triton.jit
def persistent(
    a,
    b,
    c,
    M,
    N,
    K,
    BM: tl.constexpr,
    BN: tl.constexpr,
    BK: tl.constexpr,
    G: tl.constexpr,
    WRAPS: tl.constexpr,
):
    down, wide = tl.cdiv(M, BM), tl.cdiv(N, BN)
    rk = tl.arange(0, BK)
    for tile in tl.range(tl.program_id(0), down * wide, tl.num_programs(0), flatten=True):
        first = tile // (G * wide) * G
        high = min(down - first, G)
        m = (first + tile % (G * wide) % high) * BM
        n = tile % (G * wide) // high * BN
        rm, rn = m + tl.arange(0, BM), n + tl.arange(0, BN)
        if WRAPS == 1:
            rm, rn = rm % M, rn % N
        elif WRAPS == 2:
            rm, rn = tl.where(rm < M, rm, 0), tl.where(rn < N, rn, 0)
        rm = tl.max_contiguous(tl.multiple_of(rm, BM), BM)
        rn = tl.max_contiguous(tl.multiple_of(rn, BN), BN)
        total = tl.zeros((BM, BN), dtype=tl.float32)
        for k in range(0, tl.cdiv(K, BK)):
            at = k * BK + rk
            x = tl.load(a + rm[:, None] * K + at[None, :], mask=at[None, :] < K, other=0.0)
            y = tl.load(b + at[:, None] * N + rn[None, :], mask=at[:, None] < K, other=0.0)
            total = tl.dot(x, y, total)
        om, on = m + tl.arange(0, BM), n + tl.arange(0, BN)
        at = om[:, None] * N + on[None, :]
        tl.store(c + at, total.to(c.dtype.element_ty), mask=(om[:, None] < M) & (on[None, :] < N))


@triton.jit
def around(x, o, M, first, high, B: tl.constexpr, C: tl.constexpr):
    i, c = tl.arange(0, B), tl.arange(0, C)
    r = (first + i) % M
    b = tl.where(i < high, i, 1)
    x += M * C
    tl.store(o + i, tl.load(x + r, mask=i < high, other=-1))
    tl.store(o + B + i, tl.load(x + b))
    at = o + 2 * B + i[:, None] * C + c[None, :]
    tl.store(at, tl.load(x + r[:, None] * C + c[None, :], mask=c[None, :] < high, other=-2))
    at += B * C
    tl.store(at, tl.load(x + c[None, :] * M + r[:, None], mask=i[:, None] > 2, other=-3))
    at += B * C
    tl.store(at, tl.load(x + b[:, None] * C + c[None, :]))
    at += B * C
    tl.store(at, tl.load(x + b[:, None] + c[None, :] * B))
    at = o + 2 * B + 4 * B * C + c[:, None] * B + i[None, :]
    tl.store(at, tl.load(x + c[:, None] * M + r[None, :] * 2))
    at += B * C
    tl.store(at, tl.load(x + b[None, :] + c[:, None] * M))
    tl.store(o + 2 * B + 6 * B * C + M + r, i, mask=i < M)


@triton.jit
def choices(x, y, c, chosen, left, off, n, M: tl.constexpr, N: tl.constexpr):
    r, w = tl.arange(0, M)[:, None], tl.arange(0, N)[None, :]
    at = r * N + w
    a, b = tl.load(x + at), tl.load(y + at)
    on, first = tl.load(c + at) > 0, tl.load(c + r * N) > 0
    tl.store(chosen + at, tl.where(on, a, b))
    tl.store(left + at, tl.where(on & (w < n), a, 0) + tl.where(first, b, 3))
    tl.store(off + at, tl.where(on & first, 0, b))


@triton.jit
def words(x, wide, narrow, numbers, bits, n, s, M: tl.constexpr, N: tl.constexpr):
    r, w = tl.arange(0, M)[:, None], tl.arange(0, N)
    v = tl.load(x + w)
    tl.store(wide + w, v.to(tl.int64))
    tl.store(narrow + w, v.to(tl.int64).to(tl.int8))
    at = r * s + w[None, :] * 3 - n
    tl.store(numbers + r * N + w[None, :], tl.where(at % 2 > 0, at, r * N) + at * at)
    unsigned = v.to(tl.uint32, bitcast=True)
    tl.store(
        bits + w,
        (((v ^ 85) & w) | 6)
        + (v << 4) % 7 // 3
        + (unsigned >> 9).to(tl.int32)
        + (unsigned > 77).to(tl.int32),
    )


@triton.jit
def times(a, b):
    return a * b


@triton.jit
def folds(x, o, p, q, s, t, u, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr):
    a, b, c = tl.arange(0, A)[:, None, None], tl.arange(0, B)[None, :, None], tl.arange(0, C)[None, None, :]
    v = tl.load(x + (a * B + b) * C + c)
    tl.store(o + tl.arange(0, B)[:, None] * C + tl.arange(0, C)[None, :], tl.max(v, 0))
    middle = tl.sum(tl.sum(v, 2), 0)
    tl.store(p + tl.arange(0, A)[:, None] * C + tl.arange(0, C)[None, :], tl.reduce(v, 1, times))
    tl.store(q + tl.arange(0, A)[:, None] * B + tl.arange(0, B)[None, :], tl.sum(v, 2))
    tl.store(
        s + (a * B + b) * C + c, tl.cumsum(v, 1) + ((v > 1) & (v < 5)).to(tl.int32) + middle[None, :, None]
    )
    tl.store(t + (a * B + b) * C + c, tl.cumsum(v, 2, reverse=True) + tl.cumprod(v, 0))
    tl.store(u, tl.sum(tl.reshape(v, [A * B * C])))
