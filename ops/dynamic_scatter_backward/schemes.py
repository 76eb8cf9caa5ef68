"""The document's two schemes for taking a point's row into the result of its voxel, as policies."""

from mlusim.operators.spec import Policy, policy_of
from mlusim.plan import Plan
from .plan import DIRECT, PLAN


def flags() -> Plan:
    """The plan of scheme 2: load, minimum and store, under a flag for each voxel."""
    return PLAN


def atomic() -> Plan:
    """The plan of scheme 1: atomic minima in GDRAM."""
    return DIRECT


POLICIES = (
    Policy("flags", "scheme 2 and listing of the document: a flag for each voxel guards its row", flags),
    Policy("atomic", "scheme 1 of the document: atomic minima straight into GDRAM", atomic),
)


def plan_of(policy: str | None) -> Plan:
    """The NRAM plan of the scheme called *policy*; None: the listing's."""
    plan: Plan = policy_of("dynamic_scatter_backward", POLICIES, policy).rule()
    return plan
