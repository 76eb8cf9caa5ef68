"""What a board answers when a program asks for an attribute by name; one row each."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from mlusim.arch.board import Board

MOST = (1 << 31) - 1
Answer = Callable[[Board], int]

ATTRIBUTES: Mapping[str, Answer] = MappingProxyType(
    {
        "cnrtAttrClusterCount": lambda b: b.clusters,
        "cnrtAttrMcorePerCluster": lambda b: b.arch.cores_per_cluster,
        "cnrtAttrNramSizePerMcore": lambda b: b.arch.nram,
        "cnrtAttrWeightRamSizePerMcore": lambda b: b.arch.wram,
        "cnrtAttrSramSizePerMcluster": lambda b: b.arch.sram,
        "cnrtAttrMaxUnionTypePerTask": lambda b: b.max_union,
        "cnrtAttrComputeCapabilityMajor": lambda b: b.arch.bang_arch // 100,
        "cnrtAttrComputeCapabilityMinor": lambda b: b.arch.bang_arch // 10 % 10,
        "cnrtAttrISAVersion": lambda b: b.arch.bang_arch,
        "cnrtAttrClusterClockRate": lambda b: b.clock_mhz * 1000,
        "cnrtAttrMemClockRate": lambda b: b.bandwidth // (b.memory_bus_bits // 8) // 2000,
        "cnrtAttrGmemBusWidth": lambda b: b.memory_bus_bits,
        "cnrtAttrMaxL2CacheSize": lambda b: b.l2,
        "cnrtAttrMaxDimX": lambda b: b.max_dim[0],
        "cnrtAttrMaxDimY": lambda b: b.max_dim[1],
        "cnrtAttrMaxDimZ": lambda b: b.max_dim[2],
        "cnrtAttrTotalMemSize": lambda b: min(b.gdram >> 20, MOST),  # MiB
        "cnrtAttrMaxQueueCount": lambda _: MOST,
        "cnrtAttrMaxNotifierCount": lambda _: MOST,
        "cnrtAttrPciBusId": lambda _: 0,
        "cnrtAttrPciDeviceId": lambda _: 0,
        "cnrtAttrPciDomainId": lambda _: 0,
    }
)
