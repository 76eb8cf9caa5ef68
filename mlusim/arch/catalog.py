"""The boards and architectures, one row each; look-up by name, and the constants that formulas use."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from attrs import evolve

from mlusim.arch.board import KIB, Arch, Board, FrozenMap, numeric_fields
from mlusim.errors import UsageError
from mlusim.lazy import lazy

if TYPE_CHECKING:
    import difflib
else:  # needed only to suggest a board for a misspelt name
    (difflib,) = lazy("difflib")

MIB = 1024 * KIB
GIB = 1024 * MIB

_ARCH_SOURCES: Mapping[str, str] = FrozenMap(
    {
        "bang_arch": "vendor target header",
        "nram": "vendor target header",
        "wram": "vendor target header",
        "sram": "vendor target header",
        "cores_per_cluster": "driver table",
        "memory_core": "develop guide",
        "nram_base": "vendor function header",
        "wram_base": "vendor function header",
        "sram_base": "vendor function header",
        "vector_ops": "mlu-ops executor.h: the CT constants, the same on every chip",
        "vector_flops": "driver table",
        "vector_bytes_per_cycle": "develop guide 5.3.4",
        "tensor_macs": "driver table",
        "max_dim": "inferred from the MLU590 that was probed",
    }
)
_NO_REMARKS: Mapping[str, str] = FrozenMap({})
# The types for which the driver's device_computing_power has a column.
_TENSOR_TYPES = ("int4", "int8", "int16", "half", "bfloat16", "float")


def _arch(
    name: str,
    kib: tuple[int, int, int],
    flops: tuple[int, int],
    macs: tuple[int, ...],
    *,
    cores: int = 4,
    remarks: Mapping[str, str] = _NO_REMARKS,
) -> Arch:
    """Return the architecture of one row; *remarks* has the sources that differ from `_USUAL`.

    *kib* is NRAM, WRAM and SRAM in KiB, *flops* the vector rate of half and float, *macs* the tensor
    rates in the order of `_TENSOR_TYPES`; types for which the driver lists no rate are left out at the end.
    """
    nram, wram, sram = (size * KIB for size in kib)
    return Arch(
        name=name,
        bang_arch=int(name.rpartition("_")[2]),
        nram=nram,
        wram=wram,
        sram=sram,
        cores_per_cluster=cores,
        memory_core=sram > 0,
        # "other" is 64 for every element size: mlu-ops has no separate constant for int8.
        vector_ops={"half": 64, "float": 32, "other": 64},
        vector_flops=dict(zip(("half", "float"), flops, strict=True)),
        tensor_macs=dict(zip(_TENSOR_TYPES, macs, strict=False)),
        sources={**_ARCH_SOURCES, **remarks},
    )


_WINDOW_592 = "inferred: the window of the earlier architectures"

_ARCH_ROWS = (
    _arch("mtp_220", (512, 512, 2048), (64, 32), (4096, 2048, 1024)),
    _arch("mtp_270", (512, 1024, 2048), (64, 32), (8192, 4096, 2048)),
    _arch("mtp_290", (512, 512, 2048), (64, 32), (8192, 4096, 2048)),
    _arch(
        "tp_322",
        (768, 1024, 0),
        (128, 64),
        (4096, 2048, 1024),
        cores=1,
        remarks={
            "cores_per_cluster": "inferred from CORE_DIM 1 in the kernel.h of mlu-ops",
            "memory_core": "inferred: no SRAM to serve",
            "sram": "vendor target header; the vendor function header has a window of 1536 KiB, which conflicts",
        },
    ),
    _arch(
        "mtp_372",
        (768, 1024, 4096),
        (128, 64),
        (4096, 4096, 2048, 1536, 1536, 384),
        remarks={"tensor_macs": "driver table; mlu-ops has 8192 for int4"},
    ),
    _arch(
        "mtp_592",
        (512, 512, 2048),
        (128, 64),
        (8192, 4096, 1024, 2048, 2048, 512),
        remarks={
            **dict.fromkeys(("nram_base", "wram_base", "sram_base"), _WINDOW_592),
            "max_dim": "board probe",
        },
    ),
)

ARCHES: Mapping[str, Arch] = FrozenMap({arch.name: arch for arch in _ARCH_ROWS})
"""The architectures by name, such as "mtp_372"."""


def _usual_gdram(bus_bits: int) -> tuple[int, str]:
    """Return an inferred memory size (bytes) and its source, for a board whose memory size is not published."""
    stacks, rest = divmod(bus_bits, 1024)
    if rest:
        return bus_bits * GIB // 16, "inferred: 1 GiB per 16 bits of bus, as on MLU370-X4"
    return stacks * 16 * GIB, "inferred: 16 GiB per stack of 1024 bits, as on MLU590-M9"


def _board(
    name: str,
    arch: str,
    clusters: int,
    union_limit: int,
    clock_mhz: int,
    gb_per_s: float,
    bus_bits: int,
    l2_mib: int,
    gdram_gib: int = 0,
    remarks: Mapping[str, str] = _NO_REMARKS,
) -> Board:
    """Return the board of one row; *remarks* has the sources other than the driver table."""
    usual, why = _usual_gdram(bus_bits)
    return Board(
        name=name,
        arch=ARCHES[arch],
        clusters=clusters,
        union_limit=union_limit,
        clock_mhz=clock_mhz,
        bandwidth=round(gb_per_s * 1e9),
        memory_bus_bits=bus_bits,
        l2=l2_mib * MIB,
        gdram=gdram_gib * GIB or usual,
        sources={**dict.fromkeys(numeric_fields(Board), "driver table"), "gdram": why, **remarks},
    )


_MARKETED: Mapping[str, str] = FrozenMap({"gdram": "inferred from marketing: 24 GB"})
_EDGE: Mapping[str, str] = FrozenMap(
    {
        "bandwidth": "inferred: the driver asks the board; the default is that of MLU220",
        "memory_bus_bits": "inferred: the default is that of MLU220",
        "l2": "inferred: the driver lists none",
    }
)

_OF_M2 = {"bandwidth": "driver table; mlu-ops computes with 25.6 GB/s"}
_OF_M5 = {"bandwidth": "driver table; mlu-ops computes with 1024 GB/s", "gdram": "vendor press"}
_OF_X8 = {"clock_mhz": "driver table, and published logs of this board; the develop guide says 1300"}
_OF_M9DG = {
    **dict.fromkeys(("clusters", "union_limit", "clock_mhz", "memory_bus_bits"), "board probe"),
    "bandwidth": "board probe: 5120 bits at 1800 MHz, twice a cycle",
    "l2": "inferred: that of the other boards with a bus of 5120 bits",
    "gdram": "inferred from MLU590-M9D, for which users report 80 GiB",
}

# name, architecture, clusters, union limit, MHz, GB/s, bus bits, L2 MiB, GDRAM GiB (0: not published)
_BOARD_ROWS = (
    _board("MLU220-M2", "mtp_220", 1, 1, 500, 29.86, 64, 1, remarks=_OF_M2),
    _board("MLU270-S4", "mtp_270", 4, 4, 1000, 102.4, 256, 1),
    _board("MLU270-D4", "mtp_270", 2, 1, 1000, 102.4, 256, 1),
    _board("MLU290-M5", "mtp_290", 16, 16, 1000, 1228.8, 4096, 2, 32, remarks=_OF_M5),
    _board("MLU370-S4", "mtp_372", 6, 4, 1000, 307.2, 384, 2, 24, remarks=_MARKETED),
    _board("MLU370-X4", "mtp_372", 8, 8, 1000, 307.2, 384, 2, 24, remarks=_MARKETED),
    _board("MLU370-X8", "mtp_372", 4, 4, 1000, 307.2, 384, 2, remarks=_OF_X8),
    _board("MLU370-M8", "mtp_372", 8, 8, 1300, 307.2, 384, 2),
    _board("MLU365-D2", "mtp_372", 2, 2, 1000, 153.6, 192, 1),
    _board("MLU590-H8", "mtp_592", 12, 8, 1500, 2048, 5120, 40),
    _board("MLU590-M9", "mtp_592", 12, 8, 1600, 2764.8, 6144, 48, 96, remarks={"gdram": "user reports"}),
    _board("MLU590-M9DG", "mtp_592", 8, 8, 1850, 2304, 5120, 40, 80, remarks=_OF_M9DG),
    _board("MLU590-M9B", "mtp_592", 12, 8, 1600, 2048, 5120, 40),
    _board("MLU590-M9C", "mtp_592", 10, 8, 1600, 2048, 5120, 40),
    _board("MLU585", "mtp_592", 10, 8, 1500, 2048, 5120, 40),
    _board("MLU580-H5", "mtp_592", 8, 8, 1500, 1228.8, 3072, 24),
    _board("MLU580", "mtp_592", 12, 8, 1500, 768, 384, 96),  # C50S in the driver's tables: without HBM
    _board("MLU570", "mtp_592", 10, 8, 1600, 640, 320, 80),
    _board("MLU560", "mtp_592", 10, 8, 1500, 384, 192, 48),
    _board("CE3226-V101", "tp_322", 1, 0, 1000, 29.86, 64, 0, remarks=_EDGE),
    _board("CE3226-D2D", "tp_322", 2, 0, 1200, 29.86, 64, 0, remarks=_EDGE),
)

# Boards that the driver describes with another board's row, some at another clock (MHz).
_TWINS = (
    ("MLU220-EVB", "MLU220-M2", 500),
    ("MLU220-EDGE", "MLU220-M2", 800),
    ("MLU220-SOM", "MLU220-M2", 800),
    ("MLU270-F4", "MLU270-S4", 1000),
    ("MLU270-V4", "MLU270-S4", 1000),
    ("MLU270-X5K", "MLU270-S4", 1100),
    ("MLU370-X4K", "MLU370-X4", 1000),
    ("MLU370-X4L", "MLU370-X4", 1000),
    ("MLU590-M9U", "MLU590-M9", 1600),
    ("MLU590-M9L", "MLU590-M9", 1600),
)


def _twin(name: str, row: Board, clock_mhz: int) -> Board:
    """Return *row* under another name; its memory size is then marked as inferred from the row."""
    gdram = row.sources["gdram"]
    if not gdram.startswith("inferred"):
        gdram = f"inferred from {row.name}"
    return evolve(row, name=name, clock_mhz=clock_mhz, sources={**row.sources, "gdram": gdram})


def _all_boards() -> Mapping[str, Board]:
    rows = {board.name: board for board in _BOARD_ROWS}
    rows |= {name: _twin(name, rows[twin], mhz) for name, twin, mhz in _TWINS}
    # MLU boards by number, then the edge chips.
    ordered = sorted(rows, key=lambda name: (not name.startswith("MLU"), name))
    return FrozenMap({name: rows[name] for name in ordered})


BOARDS: Mapping[str, Board] = _all_boards()
"""Every board by name, such as "MLU370-X4"."""

DEFAULT_BOARDS: tuple[str, ...] = ("MLU370-X4", "MLU590-H8")
DEVICES = "MLUSIM_DEVICES"
"""The environment variable that says how many boards a report compares when only one is named."""

FAMILIES: Mapping[str, str] = FrozenMap(
    {
        "MLU220": "MLU220-M2",
        "MLU270": "MLU270-S4",
        "MLU290": "MLU290-M5",
        "MLU365": "MLU365-D2",
        "MLU370": "MLU370-X4",
        "MLU590": "MLU590-H8",
        "CE3226": "CE3226-V101",
    }
)
"""The board that stands for a family when only the family is named."""

_BY_UPPER: Mapping[str, Board] = FrozenMap(
    {name.upper(): board for name, board in BOARDS.items()}
    | {family.upper(): BOARDS[name] for family, name in FAMILIES.items()}
)


def find_board(name: str | Board) -> Board:
    """Return the board called *name* in any case, or *name* itself when it is a `Board`.

    The name of a family stands for one of its boards, as `FAMILIES` says: "MLU370" is MLU370-X4,
    "MLU590" is MLU590-H8.  Raises `UsageError` for any other name.
    """
    if isinstance(name, Board):
        return name
    if not isinstance(name, str):
        raise UsageError(f"{name!r} is not a board; give a Board or a name such as {DEFAULT_BOARDS[0]!r}")
    wanted = name.strip().upper()
    if (board := _BY_UPPER.get(wanted)) is not None:
        return board
    near = difflib.get_close_matches(wanted, _BY_UPPER, n=1)
    nearest = f"the nearest is {_BY_UPPER[near[0]].name}" if near else f"try {' or '.join(DEFAULT_BOARDS)}"
    raise UsageError(f"no board is called {name!r}; {nearest}, and `mlusim boards` lists them all")


def named_boards(names: str) -> list[str]:
    """Return the board names in the comma-separated *names*; with ``MLUSIM_DEVICES=N`` a single board is repeated N times.

    Raises `UsageError` if N is not a positive integer, or if several boards are named and N is not their
    number.
    """
    boards, setting = [name.strip() for name in names.split(",")], os.environ.get(DEVICES)
    if not setting:
        return boards
    count = int(setting) if setting.isdecimal() else 0
    if count < 1 or len(boards) not in (1, count):
        raise UsageError(
            f"{DEVICES}={setting} goes with {len(boards)} board{'s' * (len(boards) > 1)} ({names}): give a number from 1 and one board, or as many"
        )
    return boards if len(boards) == count else boards * count


def board_constants(board: Board | str) -> Mapping[str, int]:
    """Return ``NRAM``, ``SRAM``, ``WRAM`` in usable bytes, ``CLUSTERS``, and ``CORES`` of one cluster.

    Raises `UsageError` for a name that is not a board.
    """
    board = find_board(board)
    return {
        "NRAM": board.arch.max_nram,
        "SRAM": board.arch.max_sram,
        "WRAM": board.arch.max_wram,
        "CLUSTERS": board.clusters,
        "CORES": board.arch.cores_per_cluster,
    }


def constant_ranges() -> Mapping[str, tuple[int, int]]:
    """Return the smallest and largest value of each constant over all boards."""
    rows = [board_constants(board) for board in BOARDS.values()]
    return {name: (min(r[name] for r in rows), max(r[name] for r in rows)) for name in rows[0]}
