"""Kernels that work element by element."""

import math

import numpy as np

from benchmarks.vendor.bench import FLOATS, NAMES, Bench, case
from mlusim.arch.dtypes import bfloat16

COUNTS = (7, 1000, 30001)


def of_type(base, dtype, *suffixes):
    """The names of specialisations whose base ends in the type: ``AbsFloat<float, float, 0>``."""
    c = NAMES[np.dtype(dtype)]
    suffix = suffixes[np.dtype(dtype) == np.float16]
    return base + suffix, c


@case("kernels/abs/abs_block.mlu")
def absolute(b: Bench) -> None:
    """abs of float and half; of complex numbers."""
    for dtype in FLOATS:
        base, c = of_type("MLUBlockKernel3StagePipelineAbs", dtype, "Float", "HalfBfloat16")
        for n in COUNTS:
            x, y = b.random.normal(size=n).astype(dtype), b.zeros(n, dtype)
            b.block(f"{base}<{c}, {c}, 0>", b.put(x), y, n)
            b.expect(y, np.abs(x))
    n = 5000
    x = (b.random.normal(size=n) + 1j * b.random.normal(size=n)).astype(np.complex64)
    y = b.zeros(n, np.float32)
    name = "MLUBlockKernel3StagePipelineComplexAbsComplexFloat<double, float, 0>"
    b.block(name, b.put(x.view(np.float32)), y, n)
    b.expect(y, np.abs(x), 1e-5)


@case("kernels/log/log_union1.mlu")
def logarithm(b: Bench) -> None:
    """Natural logarithm, as a multiple of the binary one."""
    for dtype, tolerance in ((np.float32, 1e-5), (np.float16, 5e-3)):
        base, c = of_type("MLUBlockKernel3StagePipelineLog", dtype, "Float", "Half")
        for n in COUNTS:
            x, y = b.random.uniform(0.1, 4, n).astype(dtype), b.zeros(n, dtype)
            b.union(f"{base}<{c}, {c}, 0>", b.put(x), y, n, math.log(2))
            b.expect(y, np.log(x.astype(float)), tolerance)


@case("kernels/sqrt/sqrt_union1.mlu")
def root(b: Bench) -> None:
    """Square root and its derivative."""
    kinds = ((np.float32, "Fast", 1e-6), (np.float16, "HighAcc", 2e-3))
    for dtype, how, tolerance in kinds:
        c = NAMES[np.dtype(dtype)]
        for n in COUNTS:
            x, y = b.random.uniform(0.1, 4, n).astype(dtype), b.zeros(n, dtype)
            b.union(f"MLUBlockKernel3StagePipelineSqrt{how}<{c}, {c}, 0>", b.put(x), y, n)
            b.expect(y, np.sqrt(x.astype(float)), tolerance)
        n = 5000
        y, dy = b.random.uniform(0.5, 3, n).astype(dtype), b.random.normal(size=n).astype(dtype)
        dx = b.zeros(n, dtype)
        name = f"MLUBlockKernel3StagePipelineSqrtBackward{how}<{c}, {c}, {c}, 0>"
        b.union(name, b.put(y), b.put(dy), dx, n)
        b.expect(dx, 0.5 * dy.astype(float) / y.astype(float), 5 * tolerance)


@case("kernels/lgamma/lgamma_block.mlu")
def log_gamma(b: Bench) -> None:
    """The logarithm of the absolute value of the gamma function."""
    for dtype, tolerance in ((np.float32, 1e-3), (np.float16, 2e-2)):
        base, c = of_type("MLUBlockKernel3StagePipelineLgamma", dtype, "Float", "Half")
        n = 3000
        x, y = b.random.uniform(-4.5, 20, n).astype(dtype), b.zeros(n, dtype)
        b.block(f"{base}<{c}, {c}, 0>", b.put(x), y, n)
        wanted = [math.inf if v <= 0 and v == int(v) else math.lgamma(v) for v in x.astype(float)]
        b.expect(y, np.array(wanted).astype(dtype), tolerance)


@case("kernels/logspace/logspace_block.mlu")
def logspace(b: Bench) -> None:
    """Powers of a base, the exponents evenly spaced."""
    for dtype, tolerance in ((np.float32, 1e-4), (np.float16, 1e-2)):
        y = b.zeros(500, dtype)
        b.block(f"MLUKernelLogspace<{NAMES[np.dtype(dtype)]}>", 0.0, 3.0, 500, 2.0, y)
        b.expect(y, np.logspace(0, 3, 500, base=2), tolerance)


@case("kernels/div/div_union1.mlu")
def divide(b: Bench) -> None:
    """Quotients, through SRAM in five stages, without a guard for the memory core."""
    for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 2e-3)):
        base, c = of_type("MLUBlockKernel5StagePipelineDiv", dtype, "Float", "Half")
        for n in (1000, 300001):
            x, y = b.random.normal(size=n).astype(dtype), b.random.uniform(1, 2, n).astype(dtype)
            z = b.zeros(n, dtype)
            b.union(f"{base}<{c}, {c}, {c}, 0>", b.put(x), b.put(y), z, n)
            b.expect(z, x.astype(float) / y.astype(float), tolerance)


@case("kernels/adam_w/adam_w_union1.mlu")
def adam_w(b: Bench) -> None:
    """One step of Adam with decoupled weight decay, NaN removed."""
    step(b, "unionApplyAdamWRemoveNan<float>", np.full(3000, 3, np.float32), np.float32)


@case("kernels_light/adam_w_light/adam_w_light_union1.mlu")
def adam_w_light(b: Bench) -> None:
    """The same step on gradients of bfloat16, without NaN and with them."""
    for name in ("unionApplyAdamW", "unionApplyAdamWRemoveNan"):
        step(b, f"{name}<bfloat16_t>", np.zeros(3000, bfloat16.dtype), bfloat16.dtype)


def step(b: Bench, name, kept, dtype) -> None:
    """Run one step on 3000 parameters, with gradients of *dtype*, and compare them and both moments."""
    n = 3000
    grad, param, momentum = (b.random.normal(size=n).astype(np.float32) for _ in range(3))
    velocity = b.random.uniform(0.1, 1, n).astype(np.float32)
    lr, beta1, beta2, epsilon, decay, scale = 0.01, 0.9, 0.99, 1e-6, 0.02, 2.0
    bias1, bias2 = 1 - beta1**3, 1 - beta2**3  # the kernel makes them itself, of the step
    grad = grad.astype(dtype)
    given = [b.put(a) for a in (kept, grad, param, momentum, velocity)]
    numbers = (lr, beta1, beta2, bias1, bias2, epsilon, decay, scale, False, n * 4)
    b.union(name, *given, *numbers)
    g = grad.astype(np.float32).astype(float) / scale
    m = beta1 * momentum + (1 - beta1) * g
    v = beta2 * velocity + (1 - beta2) * g * g
    wanted = param * (1 - lr * decay) - lr * m / bias1 / (np.sqrt(v / bias2) + epsilon)
    for tensor, expected in zip(given[2:], (wanted, m, v), strict=True):
        b.expect(tensor, expected, 1e-4)
