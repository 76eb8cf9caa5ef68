"""NRAM partition plans: regions with sizes as formulas, in stages; checked, solved, compared, placed."""

import warnings

from mlusim.arch.catalog import board_constants
from mlusim.arch.dtypes import bfloat16, float32, half, int8, int16, int32, int64, uint8, uint16, uint32
from mlusim.formula.expr import (
    CLUSTERS,
    CORES,
    NRAM,
    PAD_DOWN,
    PAD_UP,
    SRAM,
    WRAM,
    Constraint,
    ElementType,
    Expr,
    Var,
    ceil_div,
    maximum,
    minimum,
    nbytes,
    sizeof,
)
from mlusim.plan.check import PlanFinding
from mlusim.plan.claims import Claim, Comparison, Disagreement, ScaleLimit, Value, Verdict
from mlusim.plan.declare import Region, Stage
from mlusim.plan.layout import Layout, PlacedRegion, StageLayout
from mlusim.plan.plan import Plan, Regions, choose
from mlusim.plan.solver import Frontier, Largest

__all__ = [
    "CLUSTERS",
    "CORES",
    "NRAM",
    "PAD_DOWN",
    "PAD_UP",
    "SRAM",
    "WRAM",
    "Claim",
    "Comparison",
    "Constraint",
    "Disagreement",
    "ElementType",
    "Expr",
    "Frontier",
    "Largest",
    "Layout",
    "PlacedRegion",
    "Plan",
    "PlanFinding",
    "Region",
    "Regions",
    "ScaleLimit",
    "Stage",
    "StageLayout",
    "Value",
    "Var",
    "Verdict",
    "bfloat16",
    "board_constants",
    "ceil_div",
    "choose",
    "float32",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "maximum",
    "minimum",
    "nbytes",
    "sizeof",
    "uint8",
    "uint16",
    "uint32",
]

_RENAMED = {"Limit": "ScaleLimit", "Run": "Disagreement"}  # `mlusim.Limit` and `ops.run` are other things


def __getattr__(name: str) -> object:
    """Return the object under a former name in this package, with a warning."""
    if name not in _RENAMED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    warnings.warn(
        f"mlusim.plan.{name} is called {_RENAMED[name]}: import that", DeprecationWarning, stacklevel=2
    )
    return globals()[_RENAMED[name]]
