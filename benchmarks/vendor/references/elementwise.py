"""Operators on elements."""

from math import lgamma
from typing import Any

import numpy as np

from benchmarks.vendor.operators import Given, reference


@reference("mluOpAbs", 1e-5)
def absolute(g: Given) -> Given:
    """Absolute values."""
    return {"y": np.abs(g["x"])}


@reference("mluOpLog", 1e-4)
def logarithm(g: Given) -> Given:
    """Logarithms to three bases."""
    base = (
        int(g["base"])
        if not isinstance(g["base"], str)
        else 2
        if "10" in g["base"]
        else int("2" in g["base"])
    )
    return {"y": (np.log, np.log2, np.log10)[base](g["x"].astype(float))}


@reference("mluOpSqrt", 1e-5)
def root(g: Given) -> Given:
    """Square roots."""
    return {"y": np.sqrt(g["x"].astype(float))}


@reference("mluOpSqrtBackward", 1e-4)
def root_gradient(g: Given) -> Given:
    """The slope of the square root."""
    return {"diff_x": 0.5 * g["diff_y"].astype(float) / g["y"].astype(float)}


@reference("mluOpDiv", 1e-5)
def divide(g: Given) -> Given:
    """Quotients."""
    return {"z": g["x"].astype(float) / g["y"].astype(float)}


@reference("mluOpLgamma", 2e-3)
def log_gamma(g: Given) -> Given:
    """Logarithms of the gamma function."""
    x = g["x"].astype(float)
    wanted = [np.inf if v <= 0 and v == int(v) else lgamma(v) for v in x.ravel()]
    return {"y": np.array(wanted).astype(g["x"].dtype)}


@reference("DriveAdamW", 1e-4)
def adam_w(g: Given) -> Given:
    """One step with decoupled weight decay; NaN in gradients counts as zero where that is asked for."""
    grad: Any = g["grad"].astype(float)
    grad = np.nan_to_num(grad) if g["need_remove_nan"] else grad
    grad = grad / g["scale"]
    m = g["beta1"] * g["momentum"] + (1 - g["beta1"]) * grad
    v = g["beta2"] * g["velocity"] + (1 - g["beta2"]) * grad * grad
    short = (
        g["step"].dtype.itemsize == 2
    )  # then it is the parameter in bfloat16, and the biases are arguments
    bias1, bias2 = (g[f"bias{n}"] if short else 1 - g[f"beta{n}"] ** g["step"].astype(float) for n in (1, 2))
    moved = g["lr"] * m / bias1 / (np.sqrt(v / bias2) + g["epsilon"])
    param = g["param"] * (1 - g["lr"] * g["weight_decay"]) - moved
    found = {"param": param, "momentum": m, "velocity": v}
    return found | {"step": param.astype(g["step"].dtype)} if short else found


@reference("DriveAdamWLight", 1e-4)
def adam_w_light(g: Given) -> Given:
    """The same, of the light library."""
    found = adam_w({**g, "step": g["paramh"]})
    return {k.replace("step", "paramh"): v for k, v in found.items()}
