"""Records as one self-contained HTML page: tables and inline pictures, no script, nothing fetched."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from attrs import frozen

from mlusim.arch.board import Board
from mlusim.arch.catalog import find_board
from mlusim.errors import UsageError
from mlusim.report.acceptance import headline, verdicts
from mlusim.report.explain import explained, waves
from mlusim.report.page.excerpt import pipe_picture
from mlusim.report.page.figure import require
from mlusim.report.page.memory_map import map_picture
from mlusim.report.page.pictures import color, memory, off_chip_directions, roofline, traffic
from mlusim.report.page.source_heat import listings, worth_showing
from mlusim.report.page.tasks import timeline
from mlusim.report.quantities import count, error, microseconds, percent, share, size, times, whole
from mlusim.report.record import Record
from mlusim.report.summary import Summary, summaries
from mlusim.report.tables.records import verdict
from mlusim.report.tables.whatif import WhatIfStudy

SPACES = ("NRAM", "SRAM", "WRAM")


@frozen
class BoardPart:
    """What the page says about one board."""

    board: Board
    records: tuple[Record, ...]
    roofline: str
    traffic: str
    memory: str


def html_text(records: Sequence[Record], version: str, studies: Sequence[WhatIfStudy] = ()) -> str:
    """The page, with the *studies* of other boards.  Raises `UsageError` where jinja2 or matplotlib is not installed."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(
            "the HTML report needs jinja2; install it with `pip install 'mlusim[report]'`"
        ) from None
    require()
    environment = Environment(
        loader=PackageLoader("mlusim.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    words = {"us": microseconds, "share": share, "size": size, "count": count, "error": error}
    words |= {"percent": percent, "times": times, "whole": whole}
    environment.filters |= words | {"verdict": verdict, "explained": explained, "waves": waves}
    environment.filters |= {
        "worth_showing": worth_showing,
        "listings": listings,
        "pipe_picture": pipe_picture,
    }
    template = environment.get_template("report.html.j2")
    page: str = template.render(**_contents(records), version=version, studies=studies)
    return page


def _contents(records: Sequence[Record]) -> dict[str, Any]:
    operators = list(dict.fromkeys(record.operator for record in records))
    colors = {operator: color(position) for position, operator in enumerate(operators)}
    directions = off_chip_directions(records)
    boards = [find_board(name) for name in dict.fromkeys(record.board for record in records)]
    totals: list[Summary] = summaries(records)
    return {
        "summaries": totals,
        "boards": [_board_part(records, board, colors, directions) for board in boards],
        "colors": colors,
        "directions": {name: color(position) for position, name in enumerate(directions)},
        "groups": [(name, list(own)) for name, own in groupby(records, key=lambda record: record.operator)],
        "spaces": [
            n
            for n in SPACES
            if n == SPACES[0] or any(n in r.memory and r.memory[n].high_water for r in records)
        ],
        "verdicts": verdicts(records),
        "headline": headline(verdicts(records)),
        "clean": sum(record.clean for record in records),
        "total": len(records),
        "draw_layout": map_picture,
        "draw_timeline": lambda record: timeline(record, find_board(record.board)),
        "pipes": {
            name: color(n) for n, name in enumerate(("scalar", "vector", "tensor", "IO-DMA", "move-DMA"))
        },
        "over": any(r.efficiency is not None and r.efficiency.io_efficiency > 1 for r in records),
    }


def _board_part(
    records: Sequence[Record], board: Board, colors: Mapping[str, str], directions: Sequence[str]
) -> BoardPart:
    own = tuple(record for record in records if record.board == board.name)
    return BoardPart(board, own, roofline(own, board, colors), traffic(own, directions), memory(own))
