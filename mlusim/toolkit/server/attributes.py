"""The attributes of a board that a program asks for by name; one row each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mlusim.arch.board import Board

MOST = (1 << 31) - 1
Answer = Callable[[Board], int]

# The name of the run-time, that of the driver behind its prefix, the value.
_BOTH: tuple[tuple[str, str, Answer], ...] = (
    ("cnrtAttrClusterCount", "MAX_CLUSTER_COUNT", lambda b: b.clusters),
    ("cnrtAttrMcorePerCluster", "MAX_CORE_COUNT_PER_CLUSTER", lambda b: b.arch.cores_per_cluster),
    ("cnrtAttrNramSizePerMcore", "NRAM_SIZE_PER_CORE", lambda b: b.arch.nram),
    ("cnrtAttrWeightRamSizePerMcore", "WEIGHT_RAM_SIZE_PER_CORE", lambda b: b.arch.wram),
    ("cnrtAttrSramSizePerMcluster", "MAX_SHARED_RAM_SIZE_PER_CLUSTER", lambda b: b.arch.sram),
    ("cnrtAttrMaxUnionTypePerTask", "MAX_CLUSTER_COUNT_PER_UNION_TASK", lambda b: b.max_union),
    ("cnrtAttrComputeCapabilityMajor", "COMPUTE_CAPABILITY_MAJOR", lambda b: b.arch.bang_arch // 100),
    ("cnrtAttrComputeCapabilityMinor", "COMPUTE_CAPABILITY_MINOR", lambda b: b.arch.bang_arch // 10 % 10),
    ("cnrtAttrISAVersion", "MLU_ISA_VERSION", lambda b: b.arch.bang_arch),
    ("cnrtAttrClusterClockRate", "CLUSTER_CLOCK_RATE", lambda b: b.clock_mhz * 1000),  # kHz
    # In kHz; the bus moves its bits twice a cycle, as MLU590-M9DG reports its own.
    ("cnrtAttrMemClockRate", "MEMORY_CLOCK_RATE", lambda b: b.bandwidth * 8 // b.memory_bus_bits // 2000),
    ("cnrtAttrGmemBusWidth", "GLOBAL_MEMORY_BUS_WIDTH", lambda b: b.memory_bus_bits),
    ("cnrtAttrMaxL2CacheSize", "MAX_L2_CACHE_SIZE", lambda b: b.l2),
    ("cnrtAttrMaxDimX", "MAX_BLOCK_TASK_DIM_X", lambda b: b.max_dim[0]),
    ("cnrtAttrMaxDimY", "MAX_BLOCK_TASK_DIM_Y", lambda b: b.max_dim[1]),
    ("cnrtAttrMaxDimZ", "MAX_BLOCK_TASK_DIM_Z", lambda b: b.max_dim[2]),
    ("cnrtAttrTotalMemSize", "GLOBAL_MEMORY_TOTAL_SIZE", lambda b: min(b.gdram >> 20, MOST)),  # MiB
    ("cnrtAttrMaxQueueCount", "MAX_QUEUE_COUNT", lambda _: MOST),
    ("cnrtAttrMaxNotifierCount", "MAX_NOTIFIER_COUNT", lambda _: MOST),
    ("cnrtAttrPciBusId", "PCI_BUS_ID", lambda _: 0),
    ("cnrtAttrPciDeviceId", "PCI_DEVICE_ID", lambda _: 0),
    ("cnrtAttrPciDomainId", "PCI_DOMAIN_ID", lambda _: 0),
)
_DRIVER = "CN_DEVICE_ATTRIBUTE_"

ATTRIBUTES: Mapping[str, Answer] = MappingProxyType(
    {
        **{name: answer for name, _, answer in _BOTH},
        **{_DRIVER + name: answer for _, name, answer in _BOTH},
        _DRIVER + "MAX_PERSISTING_L2_CACHE_SIZE": lambda b: b.l2 // 2,  # inferred
        # Otherwise a program would take all memory that there is for its pool.
        _DRIVER + "LINEAR_MAPPING_SUPPORTED": lambda _: 0,
        _DRIVER + "LINEAR_RECOMMEND_GRANULARITY": lambda _: 2 << 20,  # inferred
        "mlusimBandwidthMB": lambda b: b.bandwidth // 1_000_000,  # of GDRAM, MB/s
    }
)
