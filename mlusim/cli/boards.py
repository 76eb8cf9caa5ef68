"""``mlusim boards``: the boards, and the source of each of their numbers."""

import argparse
from collections.abc import Iterator
from typing import Any

from attrs import asdict
from rich.console import RenderableType

from mlusim.arch.board import SOURCES, Arch, Board, is_inferred, numeric_fields
from mlusim.arch.catalog import BOARDS, DEFAULT_BOARDS, find_board
from mlusim.cli.show import kib, say
from mlusim.counted import counted
from mlusim.document import Document
from mlusim.text_grid import facts, table

# NRAM and SRAM in this list are the hardware's sizes; a kernel may use Arch.max_nram and max_sram.
UNITS = {
    "nram": "bytes per core",
    "wram": "bytes per core",
    "sram": "bytes per cluster",
    "vector_ops": "results per cycle and core",
    "vector_flops": "flop per cycle and core",
    "tensor_macs": "MACs per cycle and core",
    "vector_bytes_per_cycle": "bytes",
    "clock_mhz": "MHz",
    "bandwidth": "bytes per second",
    "memory_bus_bits": "bits",
    "l2": "bytes",
    "gdram": "bytes",
}


def run(args: argparse.Namespace) -> int:
    """List the boards, or show one."""
    if args.name is not None:
        board = find_board(args.name)
        told = Document(lambda: board_facts(board), lambda: _about(board))
    else:
        told = Document(
            lambda: {"boards": [board_facts(board) for board in BOARDS.values()], "defaults": DEFAULT_BOARDS},
            _list,
        )
    say(told, json=args.json)
    return 0


def board_facts(board: Board) -> dict[str, Any]:
    """Return all facts about *board*: its numbers, derived numbers, and their sources."""
    arch = board.arch
    # Without recursion, which would convert the architecture and its sources twice.
    numbers = asdict(board, recurse=False)
    numbers["arch"] = asdict(arch, recurse=False)
    derived = {
        "cores": board.cores,
        "max_nram": arch.max_nram,
        "max_wram": arch.max_wram,
        "max_sram": arch.max_sram,
        "max_union": board.max_union,
        "io_bandwidth_gbs": board.io_bandwidth_gbs,
        "compute_force": {dtype: board.compute_force(dtype) for dtype in ("half", "float")},
    }
    return numbers | derived


def _list() -> Iterator[RenderableType]:
    numbers = ("clusters", "cores", "MHz", "NRAM", "WRAM", "SRAM", "GB/s", "Tops")
    shown = table("board", "arch", *numbers, right=numbers)
    for board in BOARDS.values():
        arch = board.arch
        shown.add_row(
            board.name,
            arch.name,
            str(board.clusters),
            str(board.cores),
            str(board.clock_mhz),
            kib(arch.nram),
            kib(arch.wram),
            kib(arch.sram),
            # A bandwidth that no document states is marked in the list, since the efficiencies depend on it.
            f"{board.io_bandwidth_gbs:g}" + ("*" if is_inferred(board.sources["bandwidth"]) else ""),
            f"{board.compute_force('float') / 1e12:.2f}",
        )
    yield shown
    yield (
        "NRAM and WRAM: KiB per core, SRAM: KiB per cluster, as the hardware has them; a kernel may use 128 KiB "
        "less of NRAM and SRAM.  Tops: 10^12 operations a second on float, by the vendor's count; half does twice "
        "that.  *: inferred.  `mlusim boards NAME` gives the source of each number."
    )


def _about(board: Board) -> Iterator[RenderableType]:
    half, single = (board.compute_force(dtype) / 1e12 for dtype in ("half", "float"))
    arch = board.arch
    usable = (
        f"NRAM {arch.max_nram}, WRAM {arch.max_wram} bytes per core, SRAM {arch.max_sram} bytes per cluster"
    )
    yield facts(
        [
            ("board", board.name),
            ("architecture", f"{arch.name} (__BANG_ARCH__ {arch.bang_arch})"),
            ("IPU cores", f"{board.cores}: {counted(board.clusters, 'cluster')} of {arch.cores_per_cluster}"),
            ("memory cores", str(board.clusters if arch.memory_core else 0)),
            ("a kernel may use", usable),
            ("task types", "BLOCK" if not board.max_union else f"BLOCK, UNION1 to UNION{board.max_union}"),
            ("bandwidth", f"{board.io_bandwidth_gbs:g} GB/s"),
            ("compute force", f"float {single:.3f}, half {half:.3f} x 10^12 operations a second"),
        ]
    )
    yield ""
    for spec in (board, board.arch):
        yield _numbers(spec)
        yield ""
    # Below the tables, only sources that these numbers have are explained.
    named = {source for spec in (board, arch) for source in spec.sources.values()}
    names = sorted(name for name in SOURCES if any(source.startswith(name) for source in named))
    yield facts([(name, SOURCES[name]) for name in names])


def _numbers(spec: Board | Arch) -> Any:
    shown = table(
        "number",
        "value",
        "source",
        title=f"{type(spec).__name__.lower()} {spec.name}",
        fold=("value", "source"),
    )
    for name in numeric_fields(type(spec)):
        value = getattr(spec, name)
        text = ", ".join(f"{k} {v}" for k, v in value.items()) if hasattr(value, "items") else str(value)
        shown.add_row(name, f"{text} {UNITS.get(name, '')}".strip(), spec.sources[name])
    return shown
