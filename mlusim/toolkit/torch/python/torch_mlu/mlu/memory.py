"""The bytes of a device's memory that are used and reserved."""

import pickle
from pathlib import Path
from typing import Any

from torch_mlu import _C
from torch_mlu.mlu.device import index_of


def memory_allocated(device: object = None) -> int:
    """Return the bytes of tensors on *device* now."""
    return int(_C.memory_stats(index_of(device))["allocated_bytes"][0])


def max_memory_allocated(device: object = None) -> int:
    """Return the peak of the bytes of tensors on *device* since the process began, or since `reset_peak_memory_stats`."""
    return int(_C.memory_stats(index_of(device))["allocated_bytes"][1])


memory_reserved = memory_cached = memory_allocated  # no memory is cached
max_memory_reserved = max_memory_cached = max_memory_allocated


def reset_peak_memory_stats(device: object = None) -> None:
    """Restart the measurement of the peak of *device*'s memory."""
    _C.forget_most(index_of(device))


reset_max_memory_allocated = reset_max_memory_cached = reset_peak_memory_stats


def reset_accumulated_memory_stats(device: object = None) -> None:
    """Restart the counts of allocated and freed memory."""
    _C.forget_calls(index_of(device))


def memory_stats(device: object = None) -> dict[str, int]:
    """Return counts of allocations and their bytes by PyTorch's names, such as ``allocated_bytes.all.current``.

    Each tensor is an allocation of the simulator, which caches nothing: there is one pool, and reserved memory is
    used memory.
    """
    stats = {}
    for name, counts in _C.memory_stats(index_of(device)).items():
        current, peak, allocated, freed = counts
        for pool in ("all", "large_pool", "small_pool"):
            metrics = {"current": current, "peak": peak, "allocated": allocated, "freed": freed}
            of_pool = metrics if pool != "small_pool" else dict.fromkeys(metrics, 0)
            stats |= {f"{name}.{pool}.{metric}": int(value) for metric, value in of_pool.items()}
    for name in ("inactive_split", "inactive_split_bytes"):
        stats |= {f"{name}.all.{metric}": 0 for metric in ("current", "peak", "allocated", "freed")}
    return dict(
        sorted((stats | {"num_alloc_retries": 0, "num_ooms": int(_C.refused(index_of(device)))}).items())
    )


def memory_stats_as_nested_dict(device: object = None) -> dict[str, Any]:
    """Return `memory_stats` with a dictionary for each part of a name."""
    nested: dict[str, Any] = {}
    for name, value in memory_stats(device).items():
        *groups, last = name.split(".")
        place = nested
        for group in groups:
            place = place.setdefault(group, {})
        place[last] = value
    return nested


def memory_summary(device: object = None, abbreviated: bool = False) -> str:  # noqa: ARG001 - one pool
    """Return a table of `memory_stats`."""
    rows = [f"| {'':24s} | {'current':>14s} | {'peak':>14s} | {'allocated':>14s} | {'freed':>14s} |"]
    stats = memory_stats(device)
    for name in ("allocated_bytes", "allocation"):
        numbers = (stats[f"{name}.all.{metric}"] for metric in ("current", "peak", "allocated", "freed"))
        rows.append(f"| {name:24s} | " + " | ".join(f"{number:14,d}" for number in numbers) + " |")
    return f"memory of mlu:{index_of(device)}\n" + "\n".join(rows) + "\n"


def memory_snapshot(device: object = None) -> list[dict[str, int]]:
    """Return the allocations of *device*: address and bytes."""
    return [
        {"address": a, "total_size": n, "device": index_of(device)}
        for a, n in _C.allocations(index_of(device))
    ]


def _snapshot(device: object = None) -> dict[str, Any]:
    """Return the allocations of *device* in the form of PyTorch's viewer: each is a segment of one block, without a history."""
    segments = []
    for address, size in _C.allocations(index_of(device)):
        block = {
            "address": address,
            "size": size,
            "requested_size": size,
            "state": "active_allocated",
            "frames": [],
        }
        counts = dict.fromkeys(("total_size", "allocated_size", "active_size", "requested_size"), size)
        kind = {"segment_type": "large", "device": index_of(device), "stream": 0, "address": address}
        segments.append(kind | counts | {"blocks": [block], "frames": []})
    return {"segments": segments, "device_traces": [[] for _ in range(_C.devices())]}


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Write `_snapshot` to a file."""
    Path(filename).write_bytes(pickle.dumps(_snapshot()))


def _record_memory_history(*_: object, **__: object) -> None:
    """Raise `NotImplementedError`: there is no history of allocations."""
    message = "the history of allocations is not recorded; `torch.mlu.memory._snapshot()` has those that live"
    raise NotImplementedError(message)


def set_per_process_memory_fraction(fraction: float, device: object = None) -> None:
    """Limit the tensors of this process to *fraction* of the memory of *device*.

    Raises `ValueError` if it is not between 0 and 1.
    """
    if not isinstance(fraction, float):
        message = f"a fraction is a float, not {type(fraction).__name__}"
        raise TypeError(message)
    if not 0 <= fraction <= 1:
        message = f"a fraction is between 0 and 1, not {fraction}"
        raise ValueError(message)
    _C.allow(index_of(device), int(fraction * mem_get_info(device)[1]))


def caching_allocator_alloc(size: int, device: object = None, stream: object = None) -> int:  # noqa: ARG001
    """Return the address of *size* bytes of *device*, to be freed by `caching_allocator_delete`."""
    return int(_C.new_bytes(size, index_of(device)))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Free memory from `caching_allocator_alloc`."""
    _C.end_bytes(mem_ptr)


def ipc_collect() -> None:
    """Do nothing: memory is not shared between processes."""


def empty_cache() -> None:
    """Do nothing: freed memory is returned at once."""


def mem_get_info(device: object = None) -> tuple[int, int]:
    """Return the free and the total bytes of the board."""
    free, total = _C.memory(index_of(device))
    return int(free), int(total)
