"""A Triton kernel for each group of the language: products, extremes, scans, what only moves, conversions, atomics, ways through."""

import triton
import triton.language as tl


@triton.jit
def places(M: tl.constexpr, N: tl.constexpr):
    return tl.arange(0, M)[:, None] * N + tl.arange(0, N)[None, :]


@triton.jit
def extremes(x, o, v, M: tl.constexpr, N: tl.constexpr):
    a = tl.load(x + places(M, N))
    r, c = tl.arange(0, M), tl.arange(0, N)
    tl.store(o + r, tl.argmax(a, 1))
    tl.store(o + M + r, tl.argmin(a, 1))
    tl.store(o + 2 * M + c, tl.argmax(a, 0))
    tl.store(o + 2 * M + N + c, tl.argmin(a, 0))
    largest, at = tl.max(a, 1, return_indices=True)
    smallest, _ = tl.min(a, 1, return_indices=True)
    tl.store(o + 2 * M + 2 * N + r, at)
    tl.store(v + r, largest)
    tl.store(v + M + r, smallest)


@triton.jit
def products(
    x, y, o, low, S: tl.constexpr, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr, P: tl.constexpr
):
    s = tl.arange(0, S)[:, None, None]
    a = tl.load(x + s * M * K + places(M, K)[None, :, :])
    b = tl.load(y + s * K * N + places(K, N)[None, :, :])
    at = o + s * M * N + places(M, N)[None, :, :]
    tl.store(at, tl.dot(a, b, tl.load(at), input_precision=P))
    first = tl.dot(tl.load(x + places(M, K)), tl.load(y + places(K, N)), input_precision=P)
    tl.store(low + places(M, N), first.to(tl.float16))


@triton.jit
def halves(x, y, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = tl.load(x + places(M, K)), tl.load(y + places(K, N))
    start = tl.load(o + places(M, N))
    tl.store(o + places(M, N), tl.dot(a, b, start, out_dtype=tl.float16))
    tl.store(o + M * N + places(M, N), tl.dot(a, b, out_dtype=tl.float16))


@triton.jit
def short_floats(x, y, o, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
    a, b = tl.load(x + places(M, K)).to(tl.bfloat16), tl.load(y + places(K, N)).to(tl.bfloat16)
    tl.store(o + places(M, N), tl.dot(a, b))


@triton.jit
def linear(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def largest(a, b):
    return tl.maximum(a, b)


@triton.jit
def scans(x, o, w, M: tl.constexpr, N: tl.constexpr):
    at = places(M, N)
    v = tl.load(x + at)
    tl.store(o + at, tl.cumsum(v, 1))
    tl.store(o + M * N + at, tl.cumsum(v, 0, reverse=True))
    tl.store(o + 2 * M * N + at, tl.cumprod(v, 1, reverse=True))
    tl.store(o + 3 * M * N + at, tl.associative_scan(v, 0, largest))
    _, carried = tl.associative_scan((v * 0.1, v), 1, linear)
    tl.store(o + 4 * M * N + at, carried)
    tl.store(o + 5 * M * N + tl.arange(0, M), tl.reduce(v, 1, largest))
    tl.store(w + at, tl.cumsum((v * 10).to(tl.int8), 1))


@triton.jit
def moved(x, index, o, bins, M: tl.constexpr, N: tl.constexpr):
    at = places(M, N)
    v, k = tl.load(x + at), tl.load(index + at)
    tl.store(o + at, tl.gather(v, k % M, 0))
    tl.store(o + M * N + at, tl.gather(v, k, 1))
    tl.store(o + 2 * M * N + at, tl.flip(v, 0) + tl.flip(v, 1))
    both = tl.interleave(v, v * 2)
    tl.store(o + 3 * M * N + places(M, 2 * N), both)
    one, two = tl.split(tl.reshape(both, (M, N, 2)))
    tl.store(o + 5 * M * N + at, one - two)
    tl.store(o + 6 * M * N + places(N, M), tl.permute(tl.reshape(v, (M, N, 1)), (1, 0, 2)).reshape(N, M))
    flat = tl.ravel(k)
    tl.store(bins + tl.arange(0, N), tl.histogram(flat, N))
    tl.store(bins + N + tl.arange(0, N), tl.histogram(flat, N, mask=flat % 2 == 0))


@triton.jit
def converted(x, narrow, h, w, f, B: tl.constexpr):
    i = tl.arange(0, B)
    v, b = tl.load(x + i), tl.load(narrow + i)
    tl.store(h + i, v.to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(h + B + i, v.to(tl.float16, fp_downcast_rounding="rtne"))
    tl.store(h + 2 * B + i, tl.full((B,), 0.1, tl.float32).to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(h + 3 * B, tl.load(x).to(tl.float16, fp_downcast_rounding="rtz"))
    tl.store(w + i, v.to(tl.bfloat16, fp_downcast_rounding="rtz").to(tl.int16, bitcast=True))
    tl.store(w + B + i, (v.to(tl.int32, bitcast=True) & 0x7FFFFFFF) >> 3)
    tl.store(w + 2 * B + i, b.to(tl.uint8, bitcast=True).to(tl.int32) + b.to(tl.int64) * 100)
    scalar = tl.load(x + 1).to(tl.int32, bitcast=True) & 0x7FFFFFFF
    tl.store(f + i, scalar.to(tl.float32, bitcast=True) + b.to(tl.float32))


@triton.jit
def atomics(x, y, s, before, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    m = i > 2
    for number in tl.static_range(7):
        at = y + number * B + i
        if number == 0:
            old = tl.atomic_add(at, v, mask=m)
        elif number == 1:
            old = tl.atomic_max(at, v, mask=m)
        elif number == 2:
            old = tl.atomic_min(at, v, mask=m)
        elif number == 3:
            old = tl.atomic_and(at, v, mask=m)
        elif number == 4:
            old = tl.atomic_or(y + number * B + (B - 1 - i), v, mask=m)
        elif number == 5:
            old = tl.atomic_xor(at, v, mask=m)
        else:
            old = tl.atomic_xchg(at, v, mask=m)
        tl.store(before + number * B + i, tl.where(m, old, 0))
    tl.store(before + 7 * B + i, tl.atomic_cas(x + i, v, v + 1))
    while tl.atomic_cas(s, 0, 1) == 1:
        pass
    tl.atomic_xchg(s, tl.atomic_cas(s, 5, 6) + 8)


@triton.jit
def float_atomics(x, y, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    tl.atomic_max(y + i, v, mask=i > 1)
    tl.atomic_min(y + B + i, v)
    tl.atomic_add(y + 2 * B + i % 4, v)


@triton.jit
def ways(x, o, n, B: tl.constexpr):
    tl.assume(n > 0)
    tl.static_assert(B > 1)
    if tl.program_id(0) > 1:
        return
    i = tl.max_contiguous(tl.multiple_of(tl.arange(0, B), B), B)
    v = tl.load(x + i, cache_modifier=".cg", eviction_policy="evict_first", volatile=True)
    if tl.program_id(0) == 1:
        if n > 3:
            tl.store(o + B + i, v * 3)
            return
        v += 1
    for k in tl.static_range(3):
        v += k
    for k in tl.range(0, n, 4, num_stages=2):
        v += k
    for k in range(n, 0, -3):
        v -= k
    j = 0
    while j < n:
        v *= 1.5
        j += 5
    tl.debug_barrier()
    tl.store(o + i, v, cache_modifier=".wb")


@triton.jit
def steps(a):
    if a > 0:
        return a * 2
    return a - 1


@triton.jit
def mapped(x, o, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(o + i, tl.map_elementwise(steps, tl.load(x + i)))


@triton.jit
def assembly(x, B: tl.constexpr):
    v = tl.load(x + tl.arange(0, B))
    tl.store(x + tl.arange(0, B), tl.inline_asm_elementwise("nop $0,$1;", "=r,r", [v], tl.int32, True, 1))


@triton.jit
def eight_bits(x, B: tl.constexpr):
    tl.store(x, tl.sum(tl.load(x + tl.arange(0, B)).to(tl.float8e5).to(tl.float32)))


@triton.jit
def pointers(x, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x, tl.sum(tl.load(tl.where(i < 3, x + i, x))))


@triton.jit
def double_words(x, B: tl.constexpr):
    tl.atomic_add(x + tl.arange(0, B), 1)


@triton.jit(noinline=True)
def apart(a):
    return a + 1


@triton.jit
def called(x, B: tl.constexpr):
    tl.store(x, apart(tl.load(x)))


@triton.jit
def wide_floats(x, B: tl.constexpr):
    tl.store(x, tl.load(x))


@triton.jit
def described(x, index, o, s, M, N, BM: tl.constexpr, BN: tl.constexpr):
    d = tl.make_tensor_descriptor(x, [M, N], [N, 1], [BM, BN])
    e = tl.make_tensor_descriptor(o, [M, N], [N, 1], [BM, BN], padding_option="nan")
    for i in range(0, M, BM):
        for j in range(0, N, BN):
            e.store([i, j], d.load([i, j]) * 2)
    rows = tl.make_tensor_descriptor(x, [M, N], [N, 1], [1, BN])
    k = tl.load(index + tl.arange(0, 8))
    found = rows.gather(k, BN)
    tl.store(s + places(8, BN), found)
    tl.store(s + 8 * BN + places(BM, BN), e.load([BM, BN]))
    scattered = tl.make_tensor_descriptor(s + (8 + BM) * BN, [M, N], [N, 1], [1, BN])
    scattered.scatter(found, k, BN)


@triton.jit
def passed(d, e, k, M, N, BM: tl.constexpr, BN: tl.constexpr):
    for i in range(0, M, BM):
        for j in range(0, N, BN):
            e.store([i, j], d.load([i, j]) + k)
    e.atomic_add([BM, 0], d.load([0, 0]))


@triton.jit
def quick(x, o, h, B: tl.constexpr):
    i = tl.arange(0, B)
    v = tl.load(x + i)
    p = tl.abs(v) + 0.5
    tl.store(o + i, tl.extra.mlu.libdevice.fast_sqrt(p))
    tl.store(o + B + i, tl.extra.mlu.libdevice.fast_rcp(p))
    tl.store(o + 2 * B + i, tl.extra.mlu.libdevice.fast_log2f(p) + tl.extra.mlu.libdevice.fast_log(p))
    tl.store(o + 3 * B + i, tl.extra.mlu.libdevice.fast_max(v, p - 1) - tl.extra.mlu.libdevice.fast_min(v, p))
    tl.store(o + 4 * B + i, tl.extra.mlu.libdevice.fast_silubp(v))
    tl.store(o + 5 * B + i, tl.extra.mlu.libdevice.ultra_sigmoid(v) + tl.extra.mlu.libdevice.ultra_tanh(v))
    tl.store(
        o + 6 * B + i, tl.extra.mlu.libdevice.fast_powi(v, i % 4) + tl.extra.mlu.libdevice.fast_exp10f(v)
    )
    tl.store(o + 7 * B + i, tl.extra.mlu.libdevice.pow(v, 3) + tl.extra.mlu.libdevice.pow(2, v))
    tl.store(h + i, tl.extra.mlu.libdevice.ultra_silu_float2half(v))


@triton.jit
def unknown(x, B: tl.constexpr):
    tl.store(x, tl.extra.mlu.libdevice.fast_tahn(tl.load(x)))


@triton.jit
def whole_root(x, B: tl.constexpr):
    tl.store(x, tl.extra.mlu.libdevice.sqrt(tl.load(x)))


@triton.jit
def another(x, B: tl.constexpr):
    tl.store(x, tl.extra.mlu.libdevice.erfinv(tl.load(x)))


@triton.jit
def selected(x, m, o, c, M: tl.constexpr, N: tl.constexpr):
    i = places(M, N)
    values, number = tl.masked_select(tl.load(x + i), tl.load(m + i) > 0)
    j = tl.arange(0, M * N)
    tl.store(o + j, values, mask=j < number)
    tl.store(c, number)
