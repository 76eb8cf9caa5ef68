"""The document's two schemes for lowering the result of a voxel to a point's row, as policies."""

from mlusim.operators.spec import Policy, policy_of
from mlusim.plan import Plan
from .plan import DIRECT, PLAN


def flags() -> Plan:
    """Return the plan of scheme 2: load, minimum and store, under a flag for each voxel."""
    return PLAN


def atomic() -> Plan:
    """Return the plan of scheme 1: atomic minima in GDRAM."""
    return DIRECT


POLICIES = (
    Policy("flags", "scheme 2 and listing of the document: a flag for each voxel guards its row", flags),
    Policy("atomic", "scheme 1 of the document: atomic minima straight into GDRAM", atomic),
)


def plan_of(policy: str | None) -> Plan:
    """Return the NRAM plan of the scheme called *policy*; None means the scheme of the listing."""
    plan: Plan = policy_of("dynamic_scatter_backward", POLICIES, policy).rule()
    return plan
