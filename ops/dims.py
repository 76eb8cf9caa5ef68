"""Task dimensions shared by several host functions."""

from mlusim.host import Handle


def union1_dims(handle: Handle, items: int) -> tuple[int, int, int]:
    """Return the task dimensions of a Union1 launch with one item per core and no more clusters than *items* need."""
    cores = handle.cores_per_cluster
    return (cores, min(handle.clusters, -(-items // cores)), 1)
