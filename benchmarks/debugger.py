"""What it costs to run a program under the debugger, ready to go back anywhere, against a plain run."""

from collections.abc import Iterator
from typing import Any

import ops
from benchmarks.operators import BOARD
from benchmarks.timing import Row, ratio
from mlusim.debug import DebugSession
from mlusim.operators.registry import find_case, find_operator
from mlusim.operators.runner import case_generator

CASES = (
    ("mutual_information_backward", "network"),
    ("three_interpolate_backward", "case_2"),
    ("tin_shift_forward", "golden_document"),
)
LIMIT = 1.6


def debugger() -> Iterator[Row]:
    """A whole run under the debugger, without breakpoints, in plain runs."""
    for name, case in CASES:
        found = find_case(find_operator(name), case)
        inputs, params = found.make(case_generator(found))
        yield _row(name, case, inputs, params)


def _row(name: str, case: str, inputs: dict[str, Any], params: dict[str, Any]) -> Row:
    def plain() -> None:
        ops.run(name, inputs, params, board=BOARD)

    def debugged() -> None:
        session = DebugSession(lambda observe: ops.run(name, inputs, params, board=BOARD, observe=observe))
        session.forward()
        session.close()

    plain()
    measured, ours, raw = ratio(debugged, plain, 1)
    return Row(
        f"{name} {case} under the debugger",
        measured,
        LIMIT,
        "x a plain run",
        f"{ours * 1e3:.0f} ms, plain {raw * 1e3:.0f} ms",
    )
