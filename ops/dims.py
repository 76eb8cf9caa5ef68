"""The task dimensions that several host functions launch with."""

from mlusim.host import Handle


def union1_dims(handle: Handle, items: int) -> tuple[int, int, int]:
    """Return the task dimensions of a Union1 launch: no more clusters than *items* give work to, one item a core."""
    cores = handle.cores_per_cluster
    return (cores, min(handle.clusters, -(-items // cores)), 1)
